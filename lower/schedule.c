/* From a computation to loops.
 *
 *   1. Axes that the target's layout splits into digits are split alike, so that div and mod cancel; likewise those
 * that a reshape in front splits (schedule_split_digits).
 *   2. A vector axis is chosen by cost, and for reductions a tile axis: a register tile of MR x NV vectors accumulates
 *      MR * NV vectors and reads MR broadcasts and NV vectors per step, or the other way round; MR*NV + NV + 1
 * registers.
 *   3. The other axes become outer loops in the order of the target's strides, the outermost ones parallel.
 *   4. Where the bounds of a reduction (valid taps) use the vector or tile axis, that axis is cut into border, interior
 * and border; in the interior the bounds are constants, borders are walked one by one (find_interior).
 *      Where the outer loops are too few to share among threads, these cuts are made first, each piece a nest of its
 * own, so that the blocks of the interior are a parallel loop (schedule_share).
 *   5. An operand too large for the cache, and read again and again, is gone through part by part: the axes that it
 * depends on become the outer ones (schedule_block_operand).
 *   6. Where vectors lie across the target, tiles are gathered in a panel that fits the cache (schedule_panel.c).
 *   7. Extents that are no multiple of the tile get smaller tiles at the end; nothing is computed outside the extents,
 * so padding lanes are never written and never trusted. */
#include "lower/schedule.h"

#define PARALLEL_ITERATIONS 64 /* outer loops become parallel until there are so many iterations */
#define SMALL_WORK 50000       /* operations of a piece that gets no nest of its own: a few microseconds */

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

static bool is_reduction(const Computation *c, const Expr *var) {
  for (int k = 0; k < c->n_reds; k++)
    if (c->reds[k] == var)
      return true;
  return false;
}

/* Makes the outermost loops parallel, as long as they are alone in their block, run over axes, do not depend on each
 * other, and have not enough iterations yet. */
static void mark_parallel(const Schedule *s, const Computation *c, Stmt *body) {
  const Expr *above[COMPUTATION_MAX_VARS];
  int n = 0;
  int64_t iterations = 1;
  for (Stmt *l = body; l && l->kind == ST_LOOP && l->loop == LOOP_FOR && !l->next; l = l->body) {
    if (iterations >= PARALLEL_ITERATIONS || is_reduction(c, l->var))
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

/* Bounds that do not change along axis k (-1: none), by what other variables they use, say so. */
static void fix_bounds(Ctx *ctx, Computation *c, int k) {
  int64_t lo, hi;
  if (k >= 0 && computation_bounds_use(c, k) && find_interior(c, k, &lo, &hi) && lo == expr_value(c->axes[k]->a) &&
      hi == expr_value(c->axes[k]->b))
    *c = computation_fix_bounds(ctx, c, k, c->axes[k]->a);
}

/* Of the bounds that a reduction may have, the wide ones are constant along the vector and the tile axis, where the
 * narrow ones would cut a border off; along other axes the narrow ones spare steps and cost nothing. */
static void choose_bounds(const Schedule *s, Computation *c) {
  int vector = choose_vector(s, c), tile = choose_tile(s, c, vector);
  for (int k = 0; k < c->n_reds; k++) {
    const Expr *tight = c->tight[k];
    bool cuts = tight && ((vector >= 0 && var_bounds_use(tight, c->axes[vector])) ||
                          (tile >= 0 && var_bounds_use(tight, c->axes[tile])));
    if (tight && !cuts)
      computation_tighten(s->ctx, c, k);
    c->tight[k] = NULL;
  }
  fix_bounds(s->ctx, c, vector);
  fix_bounds(s->ctx, c, tile);
}

/* Loops for pieces: a nest each, but one for all that are too small to be worth a thread's waking. */
static void emit_pieces(Schedule *s, const Group *group, const Pieces *pieces) {
  LoopProgram *p = s->lc->program;
  Loc loc = group->root ? group->root->loc : group->result->loc;
  Stmt *small = NULL;
  for (size_t k = 0; k < pieces->len; k++) {
    const Computation *c = &pieces->data[k];
    s->rows_outside = outer_iterations(s->ctx, c, choose_inner(s, c)) < ENOUGH_ITERATIONS;
    Nest nest = {.body = schedule_emit(s, c)};
    bool binds = nest.body && nest.body->kind == ST_INDEX; /* a variable for all that follows in its block */
    if (pieces->len > 1 && !binds && nest_work(s->ctx, &nest) < SMALL_WORK) {
      stmt_append(&small, nest.body);
      continue;
    }
    mark_parallel(s, c, nest.body);
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
  Pieces regions = {0}, blocked = {0}, fitting = {0}, pieces = {0};
  Computation whole = computation_drop_unit_loops(ctx, c);
  schedule_split_digits(ctx, &whole, &regions);
  for (size_t k = 0; k < regions.len; k++) {
    sort_axes(ctx, &regions.data[k]);
    choose_bounds(&s, &regions.data[k]);
    schedule_block_operand(&s, &regions.data[k], &blocked);
  }
  for (size_t k = 0; k < blocked.len; k++)
    schedule_fit_panel(&s, &blocked.data[k], &fitting);
  for (size_t k = 0; k < fitting.len; k++)
    schedule_share(&s, &fitting.data[k], &pieces);
  emit_pieces(&s, group, &pieces);
}
