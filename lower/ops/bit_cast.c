/* bit_cast: element by element. */
#include "ir/ops/bit_cast.h"
#include "lower/lower_op.h"

bool lower_bit_cast(LowerCtx *lc, const Group *group);

bool lower_bit_cast(LowerCtx *lc, const Group *group) {
  const Value *x = group->root->operands[0];
  const Expr *vars[WEFT_MAX_RANK];
  lower_axis_vars(lc, x->type, vars);
  Args args = {0};
  args_add(&args, lower_read(lc, x, vars));
  const Scalar *value = scalar_arg_typed(lc->ctx, 0, access_dtype(args.access[0]));
  value = bit_cast_scalar(lc->ctx, value, x->type->dtype, group->root->result->type->dtype);
  return lower_pointwise(lc, group, vars, value, &args);
}
