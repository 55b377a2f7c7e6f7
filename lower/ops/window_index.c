/* max_poolNd_indices: each window is walked in order with the best element and its place so far, in two locals. Taps
 * that lie inside the data are the bounds of the tap loops, as in lower/ops/window_reduce.c. */
#include "ir/ops/window_reduce.h"
#include "lower/lower_op.h"

bool lower_window_index(LowerCtx *lc, const Group *group);

static Access local(LowerCtx *lc, const char *name, DType dtype) {
  return (Access){local_buffer(lc->ctx, name, dtype, 0, NULL), NULL};
}

/* One tap: the element x at place `place` of the data is taken where there is none yet or it is larger. */
static Stmt *take_larger(LowerCtx *lc, Access best, Access found, Access x, const Expr *place) {
  Ctx *ctx = lc->ctx;
  DType type = access_dtype(x);
  const Expr **index = ARENA_ARRAY(ctx->arena, const Expr *, 1);
  *index = place;
  Access number = {NULL, index};
  const Scalar *at = scalar_arg_typed(ctx, 0, DT_I64), *here = scalar_arg_typed(ctx, 1, DT_I64);
  const Scalar *larger = op_larger(ctx, scalar_arg_typed(ctx, 2, type), scalar_arg_typed(ctx, 3, type));
  const Scalar *none = scalar_make2(ctx, SC_LT, at, scalar_const_int(ctx, DT_I64, 0));
  const Scalar *take = scalar_make3(ctx, SC_SELECT, scalar_make2(ctx, SC_OR, none, larger), here, at);
  const Scalar *taken = scalar_make2(ctx, SC_EQ, at, here);
  const Scalar *value =
      scalar_make3(ctx, SC_SELECT, taken, scalar_arg_typed(ctx, 2, type), scalar_arg_typed(ctx, 3, type));
  const Access args[4] = {found, number, x, best};
  Stmt *body = stmt_store(ctx, found, take, args, 4);
  stmt_append(&body, stmt_store(ctx, best, value, args, 4));
  return body;
}

bool lower_window_index(LowerCtx *lc, const Group *group) {
  static const char *const axis_names[3] = {"x", "y", "z"}, *const tap_names[3] = {"kx", "ky", "kz"};
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  const Type *data = op->operands[0]->type, *result = op->result->type;
  int d = op->def->spatial;
  const Expr *zero = expr_const(ctx, 0), *axes[WEFT_MAX_RANK], *from[WEFT_MAX_RANK], *taps[3];
  from[0] = axes[0] = expr_var(ctx, "n", zero, data->dims[0]);
  from[1] = axes[1] = expr_var(ctx, "c", zero, data->dims[1]);
  const Expr *place = expr_add(ctx, expr_mul(ctx, axes[0], data->dims[1]), axes[1]);
  for (int k = 0; k < d; k++) {
    Window w = window_of(op, k);
    axes[2 + k] = expr_var(ctx, axis_names[d - 1 - k], zero, result->dims[2 + k]);
    WindowTaps t = window_taps(ctx, &w, data->dims[2 + k], axes[2 + k]);
    taps[k] = expr_var(ctx, tap_names[d - 1 - k], t.lo, t.hi);
    from[2 + k] = expr_add(ctx, t.at, expr_mul_const(ctx, taps[k], w.dilation));
    place = expr_add(ctx, expr_mul(ctx, place, data->dims[2 + k]), from[2 + k]);
  }
  DType type = dtype_compute(data->dtype);
  Access best = local(lc, "best", type), found = local(lc, "found", DT_I64);
  Stmt *search = take_larger(lc, best, found, lower_read(lc, op->operands[0], from), place);
  for (int k = d; k-- > 0;)
    search = stmt_loop(ctx, LOOP_FOR, taps[k], search);
  Stmt *body = stmt_local(ctx, best.buffer);
  stmt_append(&body, stmt_store(ctx, best, scalar_const_typed(ctx, type, 0), NULL, 0));
  stmt_append(&body, stmt_local(ctx, found.buffer));
  stmt_append(&body, stmt_store(ctx, found, scalar_const_int(ctx, DT_I64, -1), NULL, 0));
  stmt_append(&body, search);
  stmt_append(&body, stmt_store(ctx, lower_target(lc, group, axes), scalar_arg_typed(ctx, 0, DT_I64), &found, 1));
  for (int k = d + 2; k-- > 0;)
    body = stmt_loop(ctx, k == d + 1 ? LOOP_FOR : LOOP_PARALLEL, axes[k], body);
  loops_add_nest(lc->program, group->result->name, group->what, op->loc)->body = body;
  return true;
}
