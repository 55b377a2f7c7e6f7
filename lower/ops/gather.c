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
  Dim extent = data->type->dims[axis];
  const Expr *vars[WEFT_MAX_RANK], *at[WEFT_MAX_RANK];
  lower_axis_vars(lc, op->result->type, vars);
  const Expr *j = expr_var(ctx, "j", expr_const(ctx, 0), extent);

  Computation c = {.n_axes = op->result->type->rank, .n_bindings = 1};
  memcpy(c.axes, vars, (size_t)c.n_axes * sizeof *vars);
  Binding *b = &c.bindings[0];
  b->var = j;
  args_add(&b->args, lower_read(lc, indices, vars + axis));
  const Expr **size = ARENA_ARRAY(ctx->arena, const Expr *, 1);
  *size = extent;
  int n = args_add(&b->args, (Access){NULL, size});
  const Scalar *given = scalar_cast(ctx, scalar_arg_typed(ctx, 0, access_dtype(b->args.access[0])), DT_I64);
  b->value = scalar_make3(ctx, SC_SELECT, scalar_make2(ctx, SC_LT, given, scalar_const_int(ctx, DT_I64, 0)),
                          scalar_make2(ctx, SC_ADD, given, scalar_arg_typed(ctx, n, DT_I64)), given);
  for (int k = 0; k < data->type->rank; k++)
    at[k] = k < axis ? vars[k] : k == axis ? j : vars[k - 1 + indices->type->rank];
  args_add(&c.args, lower_read(lc, data, at));
  return lower_move(lc, group, &c, vars, scalar_arg_typed(ctx, 0, access_dtype(c.args.access[0])));
}
