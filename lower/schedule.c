/* From a computation to loops.
 *
 *   1. Axes that the target's layout splits into digits are split alike, so that div and mod cancel; likewise those that
 *      a reshape in front splits (split_digits).
 *   2. A vector axis is chosen by cost, and for reductions a tile axis: a register tile of MR x NV vectors accumulates
 *      MR * NV vectors and reads MR broadcasts and NV vectors per step, or the other way round; MR*NV + NV + 1
 * registers.
 *   3. The other axes become outer loops in the order of the target's strides, the outermost ones parallel.
 *   4. Where the bounds of a reduction (valid taps) use the vector or tile axis, that axis is cut into border, interior
 * and border; in the interior the bounds are constants, borders are walked one by one (find_interior).
 *      Where the outer loops are too few to share among threads, these cuts are made first, each piece a nest of its
 * own, so that the blocks of the interior are a parallel loop (cut_pieces).
 *   5. Extents that are no multiple of the tile get smaller tiles at the end; nothing is computed outside the extents,
 * so padding lanes are never written and never trusted. */
#include "lower/schedule.h"

#define MAX_REGIONS 64         /* of one computation: then it is cut no further */
#define PARALLEL_ITERATIONS 64 /* outer loops become parallel until there are so many iterations */
#define ENOUGH_ITERATIONS 8    /* outer loops with fewer are not enough to share */
#define SMALL_WORK 50000       /* operations of a piece that gets no nest of its own: a few microseconds */

typedef VEC(Computation) Pieces;

/* ---- digits of the target ---- */

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t t = a % b;
    a = b;
    b = t;
  }
  return a < 0 ? -a : a;
}

/* The largest factor by which var must be split for a div or mod in e to cancel; 1: none. */
static int64_t split_factor(const Expr *e, const Expr *var) {
  int64_t factor = 1;
  switch (e->kind) {
  case EX_DIV:
  case EX_MOD: {
    int64_t divisor, coef;
    factor = split_factor(e->a, var);
    if (expr_is_const(e->b, &divisor) && expr_linear(e->a, var, &coef) && coef != 0) {
      int64_t own = divisor / gcd(divisor, coef);
      factor = own > factor ? own : factor;
    }
    return factor;
  }
  case EX_SUM:
    for (int k = 0; k < e->n; k++) {
      int64_t f = split_factor(e->terms[k].atom, var);
      factor = f > factor ? f : factor;
    }
    return factor;
  default:
    return 1;
  }
}

/* Axis k as start + size*outer + inner; size divides the extent. */
static Computation split_axis(Ctx *ctx, const Computation *c, int k, int64_t start, int64_t count, int64_t size) {
  const Expr *zero = expr_const(ctx, 0), *var = c->axes[k];
  const Expr *outer = expr_var(ctx, split_name(ctx, var, "o"), zero, expr_const(ctx, count));
  const Expr *inner = expr_var(ctx, split_name(ctx, var, "i"), zero, expr_const(ctx, size));
  const Expr *to = expr_add_const(ctx, expr_add(ctx, expr_mul_const(ctx, outer, size), inner), start);
  const Expr *vars[2] = {outer, inner};
  Computation r = computation_replace_axis(ctx, c, k, to, vars, 2);
  return computation_drop_unit_loops(ctx, &r);
}

/* The largest factor by which axis k must be split for a div or mod in the target's index to cancel, or where there is
 * none in an index that is read, as behind a reshape, and it divides the extent; 1: none. */
static int64_t axis_factor(const Computation *c, int k, int64_t extent) {
  const Expr *var = c->axes[k];
  int64_t factor = 1;
  for (int d = 0; d < access_digits(c->target); d++) {
    int64_t f = split_factor(c->target.index[d], var);
    factor = f > factor ? f : factor;
  }
  for (int j = 0; factor == 1 && j < c->args.n; j++)
    for (int d = 0; d < access_digits(c->args.access[j]); d++) {
      int64_t f = split_factor(c->args.access[j].index[d], var);
      factor = f > factor && extent % f == 0 ? f : factor;
    }
  return factor;
}

static void split_digits(Ctx *ctx, const Computation *c, Pieces *regions) {
  for (int k = 0; k < c->n_axes && regions->len < MAX_REGIONS; k++) {
    const Expr *var = c->axes[k];
    int64_t start, extent = var_extent(ctx, var), factor = axis_factor(c, k, extent);
    if (factor == 1 || extent <= factor || !expr_is_const(var->a, &start) || computation_bounds_use(c, k))
      continue;
    int64_t count = extent / factor, done = start + count * factor;
    Computation whole = split_axis(ctx, c, k, start, count, factor);
    split_digits(ctx, &whole, regions);
    if (done < start + extent) {
      Computation rest = computation_restrict_axis(ctx, c, k, expr_const(ctx, done), expr_const(ctx, start + extent));
      split_digits(ctx, &rest, regions);
    }
    return;
  }
  vec_push(ctx->arena, regions, *c);
}

/* Sorts axes by the stride of the target, largest first; axes whose bounds are used by others stay in front of them. */
static void sort_axes(Ctx *ctx, Computation *c) {
  const Expr *offset = access_offset(ctx, c->target);
  int64_t key[COMPUTATION_MAX_VARS];
  for (int k = 0; k < c->n_axes; k++) {
    int64_t coef;
    key[k] = axis_bounds_use(c, k)                    ? EXPR_MAX
             : expr_linear(offset, c->axes[k], &coef) ? (coef < 0 ? -coef : coef)
                                                      : EXPR_MAX - 1;
  }
  for (int k = 1; k < c->n_axes; k++)
    for (int j = k; j > 0 && key[j - 1] < key[j]; j--) {
      int64_t t = key[j];
      key[j] = key[j - 1];
      key[j - 1] = t;
      const Expr *v = c->axes[j];
      c->axes[j] = c->axes[j - 1];
      c->axes[j - 1] = v;
    }
}

/* Makes the outermost loops parallel, as long as they are alone in their block, do not depend on each other, and have
 * not enough iterations yet. Loops alone in their block run over axes, which are independent: a reduction always stands
 * between the accumulator's declaration and its store. */
static void mark_parallel(Schedule *s, Stmt *body) {
  const Expr *above[COMPUTATION_MAX_VARS];
  int n = 0;
  int64_t iterations = 1;
  for (Stmt *l = body; l && l->kind == ST_LOOP && l->loop == LOOP_FOR && !l->next; l = l->body) {
    if (iterations >= PARALLEL_ITERATIONS)
      return;
    for (int k = 0; k < n; k++)
      if (expr_uses(l->var->a, above[k]) || expr_uses(l->var->b, above[k]))
        return;
    l->loop = LOOP_PARALLEL;
    above[n++] = l->var;
    int64_t extent = var_extent(s->ctx, l->var);
    iterations *= extent > 0 && extent < PARALLEL_ITERATIONS ? extent : PARALLEL_ITERATIONS;
  }
}

/* ---- pieces: what becomes a nest ---- */

/* Iterations of the loops around the tiles; at least 1, large where not constant. */
static int64_t outer_iterations(Ctx *ctx, const Computation *c, int vector, int tile) {
  int64_t product = 1;
  for (int k = 0; k < c->n_axes; k++) {
    int64_t extent = k == vector || k == tile ? 1 : var_extent(ctx, c->axes[k]);
    product *= extent >= 0 && extent < ENOUGH_ITERATIONS ? extent : ENOUGH_ITERATIONS;
    if (product >= ENOUGH_ITERATIONS)
      return ENOUGH_ITERATIONS;
  }
  return product;
}

static Computation restricted(Ctx *ctx, const Computation *c, int k, int64_t lo, int64_t hi) {
  Computation part = computation_restrict_axis(ctx, c, k, expr_const(ctx, lo), expr_const(ctx, hi));
  return computation_drop_unit_loops(ctx, &part);
}

/* Cuts c where its loops alone would not occupy the threads: borders off the interior, then the rows (without a tile
 * axis the lanes) that do not fill a tile. What is left has one loop over blocks outermost. */
static void cut_pieces(const Schedule *s, const Computation *c, Pieces *out) {
  Ctx *ctx = s->ctx;
  int vector = choose_vector(s, c), tile = choose_tile(s, c, vector);
  if (vector >= 0 && out->len < MAX_REGIONS && outer_iterations(ctx, c, vector, tile) < ENOUGH_ITERATIONS) {
    int k = tile >= 0 && computation_bounds_use(c, tile) ? tile : computation_bounds_use(c, vector) ? vector : -1;
    int64_t lo, hi, begin = 0, end = 0;
    if (k >= 0 && find_interior(c, k, &lo, &hi)) {
      begin = expr_value(c->axes[k]->a);
      end = expr_value(c->axes[k]->b);
    } else if (k < 0) {
      k = tile >= 0 ? tile : vector;
      Tile size = choose_tile_size(s, c, vector, tile);
      int64_t block = tile >= 0 ? size.rows : size.vectors * vector_lanes(s, c);
      begin = lo = expr_value(c->axes[k]->a);
      end = expr_value(c->axes[k]->b);
      hi = lo + (end - lo) / block * block;
    }
    int64_t cuts[4] = {begin, lo, hi, end};
    if (end > begin && hi > lo && (lo > begin || hi < end)) {
      for (int part = 0; part < 3; part++)
        if (cuts[part] < cuts[part + 1]) {
          Computation piece = restricted(ctx, c, k, cuts[part], cuts[part + 1]);
          cut_pieces(s, &piece, out);
        }
      return;
    }
  }
  vec_push(ctx->arena, out, *c);
}

/* Loops for pieces: a nest each, but one for all that are too small to be worth a thread's waking. */
static void emit_pieces(Schedule *s, const Group *group, const Pieces *pieces) {
  LoopProgram *p = s->lc->program;
  Loc loc = group->root ? group->root->loc : group->result->loc;
  Stmt *small = NULL;
  for (size_t k = 0; k < pieces->len; k++) {
    const Computation *c = &pieces->data[k];
    int vector = choose_vector(s, c), tile = choose_tile(s, c, vector);
    s->rows_outside = outer_iterations(s->ctx, c, vector, tile) < ENOUGH_ITERATIONS;
    Nest nest = {.body = schedule_emit(s, c)};
    bool binds = nest.body && nest.body->kind == ST_INDEX; /* a variable for all that follows in its block */
    if (pieces->len > 1 && !binds && nest_work(s->ctx, &nest) < SMALL_WORK) {
      stmt_append(&small, nest.body);
      continue;
    }
    mark_parallel(s, nest.body);
    loops_add_nest(p, group->result->name, group->what, loc)->body = nest.body;
  }
  if (small)
    loops_add_nest(p, group->result->name, group->what, loc)->body = small;
}

void schedule_computation(LowerCtx *lc, const Group *group, const Computation *c) {
  Ctx *ctx = lc->ctx;
  for (int k = 0; k < c->n_axes; k++)
    if (expr_sub(ctx, c->axes[k]->b, c->axes[k]->a)->hi <= 0)
      return; /* an empty tensor */
  Schedule s = {.lc = lc, .ctx = ctx};
  Pieces regions = {0}, pieces = {0};
  Computation whole = computation_drop_unit_loops(ctx, c);
  split_digits(ctx, &whole, &regions);
  for (size_t k = 0; k < regions.len; k++) {
    sort_axes(ctx, &regions.data[k]);
    cut_pieces(&s, &regions.data[k], &pieces);
  }
  emit_pieces(&s, group, &pieces);
}
