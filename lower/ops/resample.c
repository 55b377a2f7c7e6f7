/* Resampling: the index read from the table is a binding, along which data is read; the reduction runs over the row of
 * the table. A table of one column without weights is a selection, and no reduction. */
#include "ir/ops/resample.h"
#include "lower/lower_op.h"

bool lower_resample(LowerCtx *lc, const Group *group);

static const Scalar *typed_arg(Ctx *ctx, const Args *args, int k, int first, DType type) {
  return scalar_cast(ctx, scalar_arg_typed(ctx, first + k, access_dtype(args->access[k])), type);
}

bool lower_resample(LowerCtx *lc, const Group *group) {
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  const Value *data = op->operands[RESAMPLE_DATA], *indices = op->operands[RESAMPLE_INDICES];
  const Value *weights = op->operands[RESAMPLE_WEIGHTS];
  DType type = resample_type(op), stored = dtype_compute(data->type->dtype);
  const Expr *zero = expr_const(ctx, 0), *to[WEFT_MAX_RANK], *from[WEFT_MAX_RANK], *at[2];
  int64_t taps, axis = op_int(op, "axis");
  axis += axis < 0 ? data->type->rank : 0;
  bool selects = !weights && expr_is_const(indices->type->dims[1], &taps) && taps == 1;

  Computation c = {.n_axes = data->type->rank, .reduces = !selects};
  lower_axis_vars(lc, op->result->type, to);
  memcpy(c.axes, to, (size_t)c.n_axes * sizeof *to);
  memcpy(from, to, (size_t)c.n_axes * sizeof *to);
  at[0] = to[axis];
  at[1] = selects ? zero : expr_var(ctx, "t", zero, indices->type->dims[1]);
  Binding *binding = &c.bindings[c.n_bindings++];
  from[axis] = binding->var = expr_var(ctx, "j", zero, data->type->dims[axis]);
  args_add(&binding->args, lower_read(lc, indices, at));
  binding->value = typed_arg(ctx, &binding->args, 0, 0, DT_I64);

  const Scalar *root;
  if (selects) {
    int arg = args_add(&c.args, lower_read(lc, data, from));
    root = typed_arg(ctx, &c.args, arg, 0, stored);
  } else {
    c.reds[c.n_reds++] = at[1];
    const Scalar *acc = scalar_arg_typed(ctx, 0, type);
    int of_data = args_add(&c.step_args, lower_read(lc, data, from));
    const Scalar *x = typed_arg(ctx, &c.step_args, of_data, 1, type);
    c.init = scalar_const_typed(ctx, type, 0);
    c.step = scalar_make2(ctx, SC_ADD, acc, x);
    if (weights) {
      int of_weights = args_add(&c.step_args, lower_read(lc, weights, at));
      c.step = scalar_make3(ctx, SC_FMA, typed_arg(ctx, &c.step_args, of_weights, 1, type), x, acc);
    }
    root = scalar_cast(ctx, acc, stored);
  }
  c.value = lower_chain(lc, group, to, root, &c.args, selects ? 0 : 1);
  if (!c.value)
    return false;
  c.target = lower_target(lc, group, to);
  schedule_computation(lc, group, &c);
  return true;
}
