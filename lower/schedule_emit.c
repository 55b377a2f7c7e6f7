/* Loops for a computation, from the inside out. See schedule.h. */
#include "lower/schedule.h"

#define SCATTER_LANES 8 /* strided lanes stored by a loop rather than one by one */

const char *split_name(Ctx *ctx, const Expr *var, const char *suffix) {
  return intern_str(ctx, arena_printf(ctx->arena, "%s%s", var->name, suffix));
}

static Stmt *wrap(Ctx *ctx, LoopKind kind, const Expr *var, Stmt *body) {
  return var ? stmt_loop(ctx, kind, var, body) : body;
}

/* The loops over a tile around one store. */
static Stmt *tile_store(Schedule *s, const Expr *row, const Expr *lane, Access target, const Scalar *value,
                        const Args *args) {
  Stmt *store = stmt_store(s->ctx, target, value, args->access, args->n);
  return wrap(s->ctx, LOOP_UNROLL, row, wrap(s->ctx, LOOP_VECTOR, lane, store));
}

Access vars_local(Schedule *s, const char *name, DType dtype, const Expr *const *vars, int n) {
  Ctx *ctx = s->ctx;
  int64_t shape[WEFT_MAX_RANK];
  if (s->n_locals++)
    name = arena_printf(ctx->arena, "%s.%d", name, s->n_locals - 1);
  const Expr **at = ARENA_ARRAY(ctx->arena, const Expr *, n);
  for (int k = 0; k < n; k++) {
    shape[k] = vars[k] ? var_extent(ctx, vars[k]) : 1;
    at[k] = vars[k] ? expr_sub(ctx, vars[k], vars[k]->a) : expr_const(ctx, 0);
  }
  return (Access){local_buffer(ctx, name, dtype, n, shape), at};
}

static Access tile_local(Schedule *s, const char *name, DType dtype, const Expr *row, const Expr *lane) {
  const Expr *vars[2] = {row, lane};
  return vars_local(s, name, dtype, vars, 2);
}

/* The final store of a tile. Lanes that lie apart in the target, where rows do too, go through a local array and plain
 * loops: as fast as one extracted lane after the other, and a fraction of the code. Where enough rows are neighbours in
 * the target the code generator transposes the tile. */
static Stmt *emit_finish(Schedule *s, const Computation *c, const Expr *row, const Expr *lane, const Args *args) {
  Ctx *ctx = s->ctx;
  if (!lane || var_extent(ctx, lane) < SCATTER_LANES || access_move(ctx, c->target, lane) != MOVE_STRIDED ||
      (row && (!c->reduces || var_extent(ctx, row) >= TRANSPOSED_ROWS) &&
       access_move(ctx, c->target, row) == MOVE_UNIT))
    return tile_store(s, row, lane, c->target, c->value, args);
  Access out = tile_local(s, "out", c->value->dtype, row, lane);
  Stmt *body = stmt_local(ctx, out.buffer);
  stmt_append(&body, tile_store(s, row, lane, out, c->value, args));
  Stmt *scatter = stmt_store(ctx, c->target, scalar_arg_typed(ctx, 0, c->value->dtype), &out, 1);
  stmt_append(&body, wrap(ctx, LOOP_FOR, row, stmt_loop(ctx, LOOP_FOR, lane, scatter)));
  return body;
}

static Args prepend(Access first, const Args *rest) {
  Args all = {.n = 1, .access = {first}};
  WEFT_ASSERT(rest->n < COMPUTATION_MAX_ARGS);
  for (int k = 0; k < rest->n; k++)
    all.access[all.n++] = rest->access[k];
  return all;
}

/* True where a binding's value changes with the reduction: directly, or through an earlier binding. */
static bool uses_reduction(const Computation *c, const Binding *b) {
  for (int k = 0; k < c->n_reds; k++)
    if (args_use(&b->args, c->reds[k]))
      return true;
  for (const Binding *before = c->bindings; before < b; before++)
    if (args_use(&b->args, before->var) && uses_reduction(c, before))
      return true;
  return false;
}

static Stmt *emit_binding(Ctx *ctx, const Binding *b) {
  return stmt_index(ctx, b->var, b->value, b->args.access, b->args.n);
}

/* The loops of the reductions around acc = step(acc, ...). */
static Stmt *emit_steps(Schedule *s, const Computation *c, Access acc, const Expr *row, const Expr *lane) {
  Ctx *ctx = s->ctx;
  Args step = prepend(acc, &c->step_args);
  Stmt *reduce = NULL;
  for (int k = 0; k < c->n_bindings; k++)
    if (uses_reduction(c, &c->bindings[k]))
      stmt_append(&reduce, emit_binding(ctx, &c->bindings[k]));
  stmt_append(&reduce, tile_store(s, row, lane, acc, c->step, &step));
  for (int k = c->n_reds; k-- > 0;)
    reduce = stmt_loop(ctx, LOOP_FOR, c->reds[k], reduce);
  return reduce;
}

/* One tile: row in 0..rows and lane in 0..lanes are what is left of the axes (NULL: one). */
static Stmt *emit_tile(Schedule *s, const Computation *c, const Expr *row, const Expr *lane) {
  Ctx *ctx = s->ctx;
  if (!c->reduces)
    return emit_finish(s, c, row, lane, &c->args);
  if (c->in_place)
    return emit_steps(s, c, c->target, row, lane);
  Access acc = tile_local(s, "acc", c->init->dtype, row, lane);
  Stmt *body = stmt_local(ctx, acc.buffer);
  stmt_append(&body, tile_store(s, row, lane, acc, c->init, &c->init_args));
  stmt_append(&body, emit_steps(s, c, acc, row, lane));

  Args finish = prepend(acc, &c->args);
  stmt_append(&body, emit_finish(s, c, row, lane, &finish));
  return body;
}

/* What remains to be tiled of one axis: count blocks of size points from start on. */
typedef struct {
  int64_t start, count, size;
} Blocks;

/* Replaces axis k of c by blocks: *outer the loop over blocks (NULL: one), *inner the point in the block (NULL: one).
 */
static Computation take_blocks(Ctx *ctx, const Computation *c, int k, Blocks b, const Expr **outer,
                               const Expr **inner) {
  const Expr *zero = expr_const(ctx, 0), *var = c->axes[k], *to = expr_const(ctx, b.start);
  *outer = *inner = NULL;
  if (b.count > 1) {
    *outer = expr_var(ctx, split_name(ctx, var, "o"), zero, expr_const(ctx, b.count));
    to = expr_add(ctx, to, expr_mul_const(ctx, *outer, b.size));
  }
  if (b.size > 1) {
    *inner = expr_var(ctx, split_name(ctx, var, "i"), zero, expr_const(ctx, b.size));
    to = expr_add(ctx, to, *inner);
  }
  return computation_replace_axis(ctx, c, k, to, NULL, 0);
}

/* Cuts a variable's constant range into whole blocks of `size`, then one of a multiple of `unit`, then the rest. */
static int cut_blocks(const Expr *var, int64_t size, int64_t unit, Blocks out[3]) {
  int64_t start = expr_value(var->a), extent = expr_value(var->b) - start;
  int n = 0;
  if (extent >= size) {
    out[n++] = (Blocks){start, extent / size, size};
    start += extent / size * size;
    extent %= size;
  }
  if (extent >= unit && unit < size) {
    out[n++] = (Blocks){start, 1, extent / unit * unit};
    start += extent / unit * unit;
    extent %= unit;
  }
  if (extent > 0)
    out[n++] = (Blocks){start, 1, extent};
  return n;
}

/* The blocks along one of the two axes of a computation. */
typedef struct {
  bool lanes; /* the vector axis; else the tile axis */
  int axis, n;
  Blocks blocks[3];
} Cut;

/* Tiles for the cuts from `cut` to `end`, one loop over blocks in the other. */
static Stmt *emit_cuts(Schedule *s, const Computation *c, const Cut *cut, const Cut *end, const Expr *row,
                       const Expr *lane) {
  if (cut == end)
    return emit_tile(s, c, row, lane);
  Stmt *all = NULL;
  for (int k = 0; k < cut->n; k++) {
    const Expr *outer, *inner;
    int axis = c->n_axes == 1 ? 0 : cut->axis;
    Computation part = take_blocks(s->ctx, c, axis, cut->blocks[k], &outer, &inner);
    Stmt *body = emit_cuts(s, &part, cut + 1, end, cut->lanes ? row : inner, cut->lanes ? inner : lane);
    stmt_append(&all, wrap(s->ctx, LOOP_FOR, outer, body));
  }
  return all;
}

/* All tiles over axes vector and tile (-1: none), which are all the axes of c and have constant bounds that nothing
 * depends on. Rows run inside columns, which keeps a column's weights in the cache; where no loops stand around they
 * run outside, to be shared among threads. */
static Stmt *emit_tiles(Schedule *s, const Computation *c, int vector, int tile) {
  if (vector < 0)
    return emit_tile(s, c, NULL, NULL);
  int64_t width = vector_lanes(s, c);
  Tile size = choose_tile_size(s, c, vector, tile);
  Cut cuts[2];
  int n = 0, lanes = s->rows_outside && tile >= 0 ? 1 : 0;
  if (tile >= 0) {
    Cut *rows = &cuts[1 - lanes];
    *rows = (Cut){.axis = tile};
    rows->n = cut_blocks(c->axes[tile], size.rows, size.rows, rows->blocks);
    n++;
  }
  cuts[lanes] = (Cut){.lanes = true, .axis = vector};
  cuts[lanes].n = cut_blocks(c->axes[vector], size.vectors * width, width, cuts[lanes].blocks);
  n++;
  return emit_cuts(s, c, cuts, cuts + n, NULL, NULL);
}

Computation without_axis(const Computation *c, int k) {
  Computation r = *c;
  memmove(r.axes + k, r.axes + k + 1, (size_t)(r.n_axes - k - 1) * sizeof *r.axes);
  r.n_axes--;
  return r;
}

/* Axis k by a plain loop around the rest. */
static Stmt *emit_walk(Schedule *s, const Computation *c, int k) {
  Computation rest = without_axis(c, k);
  return stmt_loop(s->ctx, LOOP_FOR, c->axes[k], schedule_emit(s, &rest));
}

/* [lo, hi) of axis k, walked point by point. */
static Stmt *emit_border(Schedule *s, const Computation *c, int k, int64_t lo, int64_t hi) {
  if (lo >= hi)
    return NULL;
  Computation part = computation_restrict_axis(s->ctx, c, k, expr_const(s->ctx, lo), expr_const(s->ctx, hi));
  part = computation_drop_unit_loops(s->ctx, &part);
  return hi - lo == 1 ? schedule_emit(s, &part) : emit_walk(s, &part, k);
}

Stmt *emit_inner(Schedule *s, const Computation *c, int vector, int tile) {
  Ctx *ctx = s->ctx;
  int k = vector >= 0 && computation_bounds_use(c, vector) ? vector
          : tile >= 0 && computation_bounds_use(c, tile)   ? tile
                                                           : -1;
  if (k < 0)
    return emit_tiles(s, c, vector, tile);
  int64_t lo, hi;
  if (!find_interior(c, k, &lo, &hi))
    return emit_walk(s, c, k);
  Computation part = computation_restrict_axis(ctx, c, k, expr_const(ctx, lo), expr_const(ctx, hi));
  part = computation_fix_bounds(ctx, &part, k, expr_const(ctx, lo));
  Stmt *all = emit_border(s, c, k, expr_value(c->axes[k]->a), lo);
  stmt_append(&all, emit_inner(s, &part, vector, tile));
  stmt_append(&all, emit_border(s, c, k, hi, expr_value(c->axes[k]->b)));
  return all;
}

Stmt *schedule_emit(Schedule *s, const Computation *c) {
  Inner chosen = choose_inner(s, c), at = {.vector = -1, .tile = -1, .weave = -1, .panel = chosen.panel};
  if (!chosen.panel)
    chosen.weave = -1;
  Fold fold;
  choose_vector_or_fold(s, c, &fold);
  Fold folded = {fold.red, -1};
  Computation inner = *c;
  const Expr *outer[COMPUTATION_MAX_VARS];
  int n_outer = 0, n_inner = 0;
  for (int k = 0; k < c->n_axes; k++) {
    int *place = k == fold.rows       ? &folded.rows
                 : k == chosen.vector ? &at.vector
                 : k == chosen.tile   ? &at.tile
                 : k == chosen.weave  ? &at.weave
                                      : NULL;
    if (!place) {
      outer[n_outer++] = c->axes[k];
      continue;
    }
    *place = n_inner;
    inner.axes[n_inner++] = c->axes[k];
  }
  inner.n_axes = n_inner;
  Stmt *body = NULL;
  for (int k = 0; k < c->n_bindings; k++)
    if (!uses_reduction(c, &c->bindings[k]))
      stmt_append(&body, emit_binding(s->ctx, &c->bindings[k]));
  inner.n_bindings = 0;
  for (int k = 0; k < c->n_bindings; k++)
    if (uses_reduction(c, &c->bindings[k]))
      inner.bindings[inner.n_bindings++] = c->bindings[k];
  stmt_append(&body, fold.red >= 0 ? emit_folded(s, &inner, folded)
                     : at.panel    ? emit_panel(s, &inner, at)
                                   : emit_inner(s, &inner, at.vector, at.tile));
  while (n_outer-- > 0)
    body = stmt_loop(s->ctx, LOOP_FOR, outer[n_outer], body);
  return body;
}
