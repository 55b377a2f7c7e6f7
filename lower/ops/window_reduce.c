/* Pools: the taps of a window that lie inside the data are the bounds of the tap loops, as in lower/ops/conv.c, so that
 * padding is never read and needs no predicate. */
#include "ir/ops/window_reduce.h"
#include "ir/reduction.h"
#include "lower/lower_op.h"

bool lower_window_reduce(LowerCtx *lc, const Group *group);

/* What the mean divides by: a constant, or where windows differ the value of an index expression. */
static const Scalar *divisor(LowerCtx *lc, const Expr *count, DType type, Args *args) {
  Ctx *ctx = lc->ctx;
  int64_t number;
  if (expr_is_const(count, &number))
    return scalar_const_typed(ctx, type, (double)number);
  const Expr **index = ARENA_ARRAY(ctx->arena, const Expr *, 1);
  index[0] = count;
  int arg = args_add(args, (Access){NULL, index});
  return scalar_cast(ctx, scalar_arg_typed(ctx, 1 + arg, DT_I64), type);
}

bool lower_window_reduce(LowerCtx *lc, const Group *group) {
  static const char *const axis_names[3] = {"x", "y", "z"}, *const tap_names[3] = {"kx", "ky", "kz"};
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  const Type *data = op->operands[0]->type, *result = op->result->type;
  const Reduction *reduction = reduction_of(op->def);
  DType type = dtype_compute(data->dtype);
  const Expr *zero = expr_const(ctx, 0), *count = expr_const(ctx, 1), *from[WEFT_MAX_RANK];
  Computation c = {.reduces = true};
  from[0] = c.axes[c.n_axes++] = expr_var(ctx, "n", zero, data->dims[0]);
  from[1] = c.axes[c.n_axes++] = expr_var(ctx, "c", zero, data->dims[1]);
  for (int k = 0; k < op->def->spatial; k++) {
    int name = op->def->spatial - 1 - k;
    Window w = window_of(op, k);
    const Expr *o = expr_var(ctx, axis_names[name], zero, result->dims[2 + k]);
    WindowTaps t = window_taps(ctx, &w, data->dims[2 + k], o);
    const Expr *tap = expr_var(ctx, tap_names[name], t.lo, t.hi);
    from[2 + k] = expr_add(ctx, t.at, expr_mul_const(ctx, tap, w.dilation));
    count = expr_mul(ctx, count, window_counts_padding(op) ? t.padded_hi : expr_sub(ctx, t.hi, t.lo));
    c.axes[c.n_axes++] = o;
    c.reds[c.n_reds++] = tap;
  }
  args_add(&c.step_args, lower_read(lc, op->operands[0], from));

  const Scalar *acc = scalar_arg_typed(ctx, 0, type);
  c.init = reduction_start(ctx, reduction, type);
  c.step = reduction_step(ctx, reduction, acc, scalar_arg_typed(ctx, 1, type));
  c.identity = c.init;
  c.fold = c.step;
  const Scalar *root = reduction->mean ? reduction_finish(ctx, reduction, acc, divisor(lc, count, type, &c.args)) : acc;
  c.value = lower_chain(lc, group, c.axes, root, &c.args, 1);
  if (!c.value)
    return false;
  c.target = lower_target(lc, group, c.axes);
  schedule_computation(lc, group, &c);
  return true;
}
