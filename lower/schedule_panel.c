/* Panels: tiles computed in one order and stored in another.
 *
 * With channels in lockstep and pixels contiguous in the target, each vector of a tile would be scattered, and the
 * phases of a transposed convolution each write every s-th element of a row. Instead all tiles of a row of the target
 * go to a local array that stays in the cache, and a copy brings them to the target in its own order, whole cache lines
 * at a time. The copy is a computation like any other, scheduled as such: by tiles that are transposed in registers. */
#include "lower/schedule.h"

int64_t panel_bytes(const Schedule *s, const Computation *c, Inner inner) {
  int64_t bytes = (int64_t)dtype_size(c->value->dtype);
  const int axes[3] = {inner.vector, inner.tile, inner.weave};
  for (int k = 0; k < 3; k++)
    if (axes[k] >= 0 && !mul_i64(bytes, var_extent(s->ctx, c->axes[axes[k]]), &bytes))
      return INT64_MAX;
  return bytes;
}

/* Where the rows move in the target by as many elements as the woven axis has points, both together are one axis of
 * neighbours. */
static Computation join_woven(Schedule *s, const Computation *copy, Inner inner) {
  Ctx *ctx = s->ctx;
  const Expr *woven = copy->axes[inner.weave], *row = copy->axes[inner.tile];
  int64_t points = var_extent(ctx, woven), step;
  if (!expr_linear(access_offset(ctx, copy->target), row, &step) || step != points)
    return *copy;
  const Expr *end = expr_const(ctx, points * var_extent(ctx, row));
  const Expr *run = expr_var(ctx, split_name(ctx, row, "w"), expr_const(ctx, 0), end);
  const Expr *in = expr_add(ctx, expr_mod_const(ctx, run, points), woven->a);
  const Expr *by = expr_add(ctx, expr_floordiv_const(ctx, run, points), row->a);
  Computation r = computation_replace_axis(ctx, copy, inner.weave, in, NULL, 0);
  return computation_replace_axis(ctx, &r, inner.tile - (inner.weave < inner.tile), by, &run, 1);
}

/* Copies the panel, which has an element for each point of the axes of c, to the target of c. */
static Stmt *store_panel(Schedule *s, const Computation *c, Access panel, Inner inner) {
  Computation copy = {.n_axes = c->n_axes,
                      .value = scalar_arg_typed(s->ctx, 0, access_dtype(panel)),
                      .args = {.n = 1, .access = {panel}},
                      .target = c->target};
  memcpy(copy.axes, c->axes, (size_t)c->n_axes * sizeof *c->axes);
  if (inner.weave >= 0 && inner.tile >= 0)
    copy = join_woven(s, &copy, inner);
  return schedule_emit(s, &copy);
}

Stmt *emit_panel(Schedule *s, const Computation *c, Inner inner) {
  int weave = inner.weave;
  const Expr *woven = weave < 0 ? NULL : c->axes[weave];
  const Expr *vars[3] = {woven, inner.tile < 0 ? NULL : c->axes[inner.tile], c->axes[inner.vector]};
  Access panel = vars_local(s, "panel", c->value->dtype, vars, 3);
  Computation part = weave < 0 ? *c : without_axis(c, weave);
  part.target = panel;
  Stmt *tiles = emit_inner(s, &part, inner.vector - (weave >= 0 && weave < inner.vector),
                           inner.tile - (weave >= 0 && weave < inner.tile));
  Stmt *body = stmt_local(s->ctx, panel.buffer);
  stmt_append(&body, woven ? stmt_loop(s->ctx, LOOP_FOR, woven, tiles) : tiles);
  stmt_append(&body, store_panel(s, c, panel, inner));
  return body;
}
