/* The parts of scheduling; private to lower/schedule*.c. schedule.c has the overview. */
#ifndef WEFT_LOWER_SCHEDULE_H
#define WEFT_LOWER_SCHEDULE_H

#include "lower/lower_op.h"

typedef struct {
  LowerCtx *lc;
  Ctx *ctx;
  int n_locals;      /* so far, for their names */
  bool rows_outside; /* the loop over rows of tiles is outermost, to be shared among threads */
} Schedule;

/* ---- schedule_choose.c: what is fast ---- */

/* How an access moves along a variable: not at all, by one element, otherwise. */
typedef enum { MOVE_NONE, MOVE_UNIT, MOVE_STRIDED } Move;
Move access_move(Ctx *ctx, Access access, const Expr *var);

/* The longest run [*lo, *hi) of axis k in which no reduction's bound that uses it changes; false where there is none of
 * two points. */
bool find_interior(const Computation *c, int k, int64_t *lo, int64_t *hi);
/* True where the bounds of another axis use axis k. */
bool axis_bounds_use(const Computation *c, int k);
/* Lanes of one vector: its bytes by those of the widest value a lane holds. */
int64_t vector_lanes(const Schedule *s, const Computation *c);
/* The axis to run vectors along, -1: none. */
int choose_vector(const Schedule *s, const Computation *c);
/* The axis to tile beside it, along which an operand of the reduction stays, -1: none. */
int choose_tile(const Schedule *s, const Computation *c, int vector);

/* Register tile: vectors across, rows down. */
typedef struct {
  int64_t vectors, rows;
} Tile;
/* The register tile for axes vector and tile (-1: none) of c. */
Tile choose_tile_size(const Schedule *s, const Computation *c, int vector, int tile);

/* ---- schedule_emit.c: loops ---- */

/* Loops for all axes of c, none of them parallel. */
Stmt *schedule_emit(Schedule *s, const Computation *c);
/* The name of a variable made from var by splitting. */
const char *split_name(Ctx *ctx, const Expr *var, const char *suffix);

#endif
