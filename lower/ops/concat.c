/* concat: one copy per part, into its own stretch of the result. */
#include "lower/lower_op.h"

bool lower_concat(LowerCtx *lc, const Group *group);

bool lower_concat(LowerCtx *lc, const Group *group) {
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  int64_t axis = op_int(op, "axis");
  axis += axis < 0 ? op->result->type->rank : 0;
  const Expr *begin = expr_const(ctx, 0);
  for (int k = 0; k < op->n_operands; k++) {
    const Value *part = op->operands[k];
    const Expr *vars[WEFT_MAX_RANK], *at[WEFT_MAX_RANK];
    lower_axis_vars(lc, part->type, vars);
    memcpy(at, vars, sizeof at);
    at[axis] = expr_add(ctx, vars[axis], begin);
    begin = expr_add(ctx, begin, part->type->dims[axis]);
    Computation c = {.n_axes = part->type->rank};
    memcpy(c.axes, vars, (size_t)c.n_axes * sizeof *vars);
    args_add(&c.args, lower_read(lc, part, vars));
    if (!lower_move(lc, group, &c, at, scalar_arg_typed(ctx, 0, access_dtype(c.args.access[0]))))
      return false;
  }
  return true;
}
