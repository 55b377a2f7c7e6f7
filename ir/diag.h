/* Diagnostics with locations. A user's error is recorded and returned, never fatal; the command prints all of them and
 * exits with the worst status. The first line of each is complete in itself:
 *   FILE:LINE:COL: error: ...              (node 'NAME': follows where a node is known)
 *   FILE: node 'NAME': error: ...          (where there is no line)
 * The source line with a caret and notes may follow. */
#ifndef WEFT_IR_DIAG_H
#define WEFT_IR_DIAG_H

#include "ir/base.h"

/* Where something was written by the user. file NULL: nowhere. line 0: no line (a binary file); lines and columns
 * count from 1, columns in characters. node: the user's name of the node, or NULL. Strings are interned in the Ctx or
 * static. */
typedef struct {
  const char *file;
  int line, col;
  const char *node;
} Loc;

#define LOC_NONE ((Loc){0})

typedef struct Diags Diags;

Diags *diags_create(Arena *arena);

/* Records an error; status is one of WEFT_USAGE.. WEFT_MISSING, or WEFT_BUG. Always returns false, so that a caller may
 * `return diag_error(...)`. */
bool diag_error(Diags *diags, Status status, Loc loc, const char *fmt, ...) WEFT_PRINTF(4, 5);
/* Adds a note to the error recorded last. loc may be LOC_NONE. */
void diag_note(Diags *diags, Loc loc, const char *fmt, ...) WEFT_PRINTF(3, 4);
void diag_warning(Diags *diags, Loc loc, const char *fmt, ...) WEFT_PRINTF(3, 4);

/* What has been reported turns out to be a fault of weft, not of the user: the status becomes WEFT_BUG, and a note asks
 * for a report. */
void diag_internal(Diags *diags);

size_t diag_count(const Diags *diags);  /* errors so far */
Status diag_status(const Diags *diags); /* of the first error; WEFT_OK where there is none */

/* The text of all diagnostics in order, each line ended by '\n'. with_source: adds the source line and a caret where
 * the file can be read. Lives in the arena. */
const char *diag_text(const Diags *diags, bool with_source);

#endif
