/* Elementwise ops: the row's expression at every index. */
#include "lower/lower_op.h"

bool lower_elementwise(LowerCtx *lc, const Group *group);

bool lower_elementwise(LowerCtx *lc, const Group *group) {
  const Op *op = group->root;
  const Expr *vars[WEFT_MAX_RANK];
  lower_axis_vars(lc, op->result->type, vars);
  Args args = {0};
  const Scalar *operands[OP_MAX_OPERANDS];
  for (int k = 0; k < op->def->n_operands; k++)
    operands[k] = lower_value(lc, op->operands[k], vars, &args, 0); /* few operands: there is room */
  return lower_pointwise(lc, group, vars, op_scalar(lc->ctx, op, operands), &args);
}
