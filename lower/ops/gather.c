/* gather: the index read from memory is bound to a variable (lower/computation.h), outside of the loops that do not
 * change it. */
#include "lower/lower_op.h"

bool lower_gather(LowerCtx *lc, const Group *group);

bool lower_gather(LowerCtx *lc, const Group *group) {
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  const Value *data = op->operands[0], *indices = op->operands[1];
  int64_t axis = op_int(op, "axis");
  axis += axis < 0 ? data->type->rank : 0;
  const Expr *vars[WEFT_MAX_RANK], *at[WEFT_MAX_RANK];
  lower_axis_vars(lc, op->result->type, vars);
  Computation c = {.n_axes = op->result->type->rank, .n_bindings = 1};
  memcpy(c.axes, vars, (size_t)c.n_axes * sizeof *vars);
  c.bindings[0] = lower_index(lc, "j", lower_read(lc, indices, vars + axis), data->type->dims[axis]);
  for (int k = 0; k < data->type->rank; k++)
    at[k] = k < axis ? vars[k] : k == axis ? c.bindings[0].var : vars[k - 1 + indices->type->rank];
  args_add(&c.args, lower_read(lc, data, at));
  return lower_move(lc, group, &c, vars, scalar_arg_typed(ctx, 0, access_dtype(c.args.access[0])));
}
