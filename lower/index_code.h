/* Index expressions compiled to straight-line code over integer slots, for the interpreter and for the checker's
 * enumeration of small spaces.
 *
 * Code lies in levels, one per open loop (level 0: outside of all). An expression's instructions go to the outermost
 * level at which all its variables have values, and equal nodes share a slot: loop-invariant code motion and common
 * subexpressions come with the form. To run: set the slot of a level's variable, then run that level's code; slots of
 * outer levels stay valid.
 *
 * Arithmetic wraps like machine integers, division by a divisor <= 0 gives 0: total, whatever the text said. */
#ifndef WEFT_LOWER_INDEX_CODE_H
#define WEFT_LOWER_INDEX_CODE_H

#include "ir/expr.h"

typedef enum {
  IX_CONST, /* dst = k */
  IX_AXPY,  /* dst = a * k + b */
  IX_SCALE, /* dst = a * k + c */
  IX_MUL,
  IX_DIV,
  IX_MOD,
  IX_MIN,
  IX_MAX,
  IX_DIGIT /* dst = b + (0 <= a < k ? a * c : INDEX_OUTSIDE) */
} IndexOp;

/* What an index outside its extent adds to an offset: offsets are below 2^44, so that any such one makes the sum of up
 * to WEFT_MAX_DIGITS contributions negative, and no sum overflows. */
#define INDEX_OUTSIDE (-((int64_t)1 << 57))

typedef struct {
  IndexOp op;
  int dst, a, b;
  int64_t k, c;
} IndexInstr;

typedef VEC(IndexInstr) IndexInstrs;

typedef struct IndexCode IndexCode;

IndexCode *index_code_create(Arena *arena);
/* Opens a level for this variable and returns the variable's slot; its code grows in *instrs until the level is left.
 */
int index_code_enter(IndexCode *c, const Expr *var, IndexInstrs *instrs);
void index_code_leave(IndexCode *c);
/* The slot that holds e, or -1 where e uses a symbol or a variable that is not open. Code goes to the open levels. */
int index_code_slot(IndexCode *c, const Expr *e);
/* The slot of the element offset of an access with these indices, extents and strides, or -1 as above. The offset is
 * negative where an index is outside its extent. */
int index_code_offset(IndexCode *c, const Expr *const *index, const int64_t *extents, const int64_t *strides, int n);
/* The code of level 0. */
const IndexInstrs *index_code_outer(const IndexCode *c);
int index_code_slots(const IndexCode *c); /* how many there are so far */

void index_code_run(const IndexInstrs *code, int64_t *slots);

#endif
