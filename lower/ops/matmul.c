/* Matrix product: axes are those of the result, the reduction runs along k. */
#include "lower/lower_op.h"

bool lower_matmul(LowerCtx *lc, const Group *group);

bool lower_matmul(LowerCtx *lc, const Group *group) {
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  const Type *a = op->operands[0]->type;
  int rank = a->rank;
  DType type = dtype_compute(a->dtype);
  const Expr *to[WEFT_MAX_RANK], *at_a[WEFT_MAX_RANK], *at_b[WEFT_MAX_RANK];
  Computation c = {.n_axes = rank, .n_reds = 1, .reduces = true};
  lower_axis_vars(lc, op->result->type, to);
  const Expr *k = expr_var(ctx, "k", expr_const(ctx, 0), a->dims[rank - 1]);
  for (int j = 0; j < rank; j++)
    c.axes[j] = at_a[j] = at_b[j] = to[j];
  c.reds[0] = at_a[rank - 1] = at_b[rank - 2] = k;
  args_add(&c.step_args, lower_read(lc, op->operands[0], at_a));
  int b = args_add(&c.step_args, lower_read(lc, op->operands[1], at_b)); /* 0 for the square of one value's element */
  const Scalar *acc = scalar_arg_typed(ctx, 0, type);
  const Scalar *x = scalar_arg_typed(ctx, 1, type), *y = scalar_arg_typed(ctx, 1 + b, type);
  c.init = scalar_const_typed(ctx, type, 0);
  c.step = dtype_is_float(type) ? scalar_make3(ctx, SC_FMA, x, y, acc)
                                : scalar_make2(ctx, SC_ADD, acc, scalar_make2(ctx, SC_MUL, x, y));
  c.identity = c.init;
  c.fold = scalar_make2(ctx, SC_ADD, acc, x);
  c.value = lower_chain(lc, group, to, acc, &c.args, 1);
  if (!c.value)
    return false;
  c.target = lower_target(lc, group, to);
  schedule_computation(lc, group, &c);
  return true;
}
