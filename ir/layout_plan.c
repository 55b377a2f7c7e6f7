/* The start of a layout plan. See layout_plan.h. */
#include "ir/layout_plan.h"

LayoutPlan layout_plan_of(Ctx *ctx, const Op *op) {
  LayoutPlan plan = {.result = op->result->type->layout};
  plan.constant = ARENA_ARRAY(ctx->arena, bool, op->n_operands);
  plan.operand = ARENA_ARRAY(ctx->arena, const Layout *, op->n_operands);
  plan.reads = ARENA_ARRAY(ctx->arena, const char *, op->n_operands);
  for (int k = 0; k < op->n_operands; k++) {
    const Value *v = op->operands[k];
    plan.operand[k] = v ? v->type->layout : NULL;
    plan.constant[k] = v && v->def && v->def->def->code == OP_CONSTANT;
  }
  return plan;
}
