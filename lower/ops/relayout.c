/* relayout: a copy by logical index. A result whose padding lanes must hold zeros has its storage cleared first. */
#include "lower/lower_op.h"

bool lower_relayout(LowerCtx *lc, const Group *group);

static void clear_storage(LowerCtx *lc, const Group *group) {
  Ctx *ctx = lc->ctx;
  const Type *type = group->target->type;
  Computation c = {.n_axes = type->layout->n, .value = scalar_const_typed(ctx, dtype_compute(type->dtype), 0.0)};
  const Expr **digits = ARENA_ARRAY(ctx->arena, const Expr *, c.n_axes);
  for (int k = 0; k < c.n_axes; k++) {
    Dim extent = layout_extent(ctx, type->layout, type->dims, k);
    digits[k] = c.axes[k] = expr_var(ctx, arena_printf(ctx->arena, "p%d", k), expr_const(ctx, 0), extent);
  }
  c.target = (Access){group->target, digits};
  schedule_computation(lc, group, &c);
}

bool lower_relayout(LowerCtx *lc, const Group *group) {
  if (group->target->type->layout->pad != PAD_ANY)
    clear_storage(lc, group);
  const Expr *vars[WEFT_MAX_RANK];
  lower_axis_vars(lc, group->root->result->type, vars);
  Args args = {0};
  args_add(&args, lower_read(lc, group->root->operands[0], vars));
  return lower_pointwise(lc, group, vars, scalar_arg_typed(lc->ctx, 0, access_dtype(args.access[0])), &args);
}
