/* The shared part of scatters. See scatter_lower.h. */
#include "lower/ops/scatter_lower.h"

#include "ir/ops/scatter.h"

bool scatter_lower(LowerCtx *lc, const Group *group, Computation *c, const Expr *const *at, const Expr *const *to) {
  const Op *op = group->root;
  const Value *data = op->operands[SCATTER_DATA];
  const Expr *vars[WEFT_MAX_RANK];
  DType type = dtype_compute(data->type->dtype);
  lower_axis_vars(lc, data->type, vars);
  Args from = {0};
  args_add(&from, lower_read(lc, data, vars));
  if (!lower_pointwise(lc, group, vars, scalar_arg_typed(lc->ctx, 0, type), &from))
    return false;
  c->reduces = c->in_place = true;
  c->target = lower_target(lc, group, to);
  args_add(&c->step_args, lower_read(lc, op->operands[SCATTER_UPDATES], at));
  c->step = scatter_step(lc->ctx, op, scalar_arg_typed(lc->ctx, 0, type), scalar_arg_typed(lc->ctx, 1, type));
  schedule_computation(lc, group, c);
  return true;
}
