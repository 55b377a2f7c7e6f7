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

/* The longest run [*lo, *hi) of axis k in which no reduction's bound that uses it changes, whatever the other variables
 * are; false where there is none of two points. */
bool find_interior(const Computation *c, int k, int64_t *lo, int64_t *hi);
/* True where the bounds of another axis use axis k. */
bool axis_bounds_use(const Computation *c, int k);
/* Lanes of one vector: its bytes by those of the widest value a lane holds. */
int64_t vector_lanes(const Schedule *s, const Computation *c);
/* For a computation that reads an operand across the order in which it writes: the axis along which the operand is
 * contiguous, and the one along which the target is. A tile of both is transposed in registers. */
bool choose_transpose(const Schedule *s, const Computation *c, int *vector, int *tile);
/* Reduction number `red` by lanes, -1: none, for several points of axis `rows` (-1: none) at a time. */
typedef struct {
  int red, rows;
} Fold;
/* Steps of the reduction, an upper estimate; 1 without one. */
double reduction_steps(Ctx *ctx, const Computation *c);
/* The axis to run vectors along, -1: none, and then *fold (not NULL) says whether the reduction goes by lanes. */
int choose_vector_or_fold(const Schedule *s, const Computation *c, Fold *fold);
int choose_vector(const Schedule *s, const Computation *c);
/* The axis to tile beside it, along which an operand of the reduction stays, -1: none. */
int choose_tile(const Schedule *s, const Computation *c, int vector);

/* The axes of the inner loops, -1: none. Where the target is strided along the vectors, tiles go to a local array, the
 * panel, which is stored in the target's order when all are there: along the tile axis, or along the woven one, an axis
 * of few points such as the phases of a transposed convolution. */
typedef struct {
  int vector, tile, weave;
  bool panel, panel_wanted; /* wanted: it is but too large */
} Inner;
#define TRANSPOSED_ROWS 16 /* elements that must lie together in the target for a transposition to be worth its code   \
                            */
Inner choose_inner(const Schedule *s, const Computation *c);

/* Register tile: vectors across, rows down. */
typedef struct {
  int64_t vectors, rows;
} Tile;
/* The register tile for axes vector and tile (-1: none) of c. */
Tile choose_tile_size(const Schedule *s, const Computation *c, int vector, int tile);

/* ---- schedule_emit.c: loops ---- */

/* Loops for all axes of c, none of them parallel. */
Stmt *schedule_emit(Schedule *s, const Computation *c);
/* The same for a c that has no axes but the vector and the tile axis. */
Stmt *emit_inner(Schedule *s, const Computation *c, int vector, int tile);
Computation without_axis(const Computation *c, int k);
/* A local array with an axis for each variable (NULL: one of a single point), and its element there. */
Access vars_local(Schedule *s, const char *name, DType dtype, const Expr *const *vars, int n);
/* The name of a variable made from var by splitting. */
const char *split_name(Ctx *ctx, const Expr *var, const char *suffix);

/* ---- schedule_fold.c: reductions in lockstep ---- */

/* Where it costs less than `best` per point. */
Fold choose_fold(const Schedule *s, const Computation *c, double best);
/* Loops for a c that has no axes but `rows`. */
Stmt *emit_folded(Schedule *s, const Computation *c, Fold fold);
#define FOLDED_ROWS 4

/* ---- schedule_cut.c: axes in parts ---- */

typedef VEC(Computation) Pieces;
#define MAX_REGIONS 64 /* of one computation: then it is cut no further */

/* c with the axes that the target's layout splits into digits split alike; what is left over of them by itself. */
void schedule_split_digits(Ctx *ctx, const Computation *c, Pieces *out);
/* Axis k cut into blocks of `size`, their number an axis of its own in front, and a rest. */
void schedule_cut_blocks(Ctx *ctx, const Computation *c, int k, int64_t size, Pieces *out);
/* Axis k cut into what is in front of [lo, hi), that, in which bounds of reductions do not change, and what is behind.
 */
void schedule_cut_borders(Ctx *ctx, const Computation *c, int k, int64_t lo, int64_t hi, Pieces *out);

/* ---- schedule_pieces.c: what becomes a piece of its own ---- */

/* Moves the axes that an operand depends on which is too large for the cache to the front, so that a part of it that
 * fits serves all the others. Vectors that are more than a tile's become an axis of tiles and the vectors of one. */
void schedule_block_operand(const Schedule *s, const Computation *c, Pieces *out);
/* Where tiles are to be gathered in a panel that is too large, cuts the vectors, then the rows, to what fits; rows only
 * where no reduction's bound uses them. */
void schedule_fit_panel(const Schedule *s, const Computation *c, Pieces *out);
/* Cuts c where its loops alone would not occupy the threads: borders off the interior, then panels into blocks of rows,
 * or without a panel the rows (without a tile axis the lanes) that do not fill a tile. What is left has one loop over
 * blocks outermost. */
void schedule_share(const Schedule *s, const Computation *c, Pieces *out);
/* Iterations of the loops around the tiles, or around the panel; at least 1, ENOUGH_ITERATIONS where not constant. */
int64_t outer_iterations(Ctx *ctx, const Computation *c, Inner inner);
#define ENOUGH_ITERATIONS 8 /* outer loops with fewer are not enough to share */

/* ---- schedule_panel.c: tiles stored together ---- */

#define MAX_PANEL 65536 /* bytes */
#define MAX_WOVEN 16
int64_t panel_bytes(const Schedule *s, const Computation *c, Inner inner);
/* Loops for a c that has no axes but those of `inner`. */
Stmt *emit_panel(Schedule *s, const Computation *c, Inner inner);

#endif
