/* relayout: the same tensor in the layout of the result's type. Logically nothing happens. */
#include "ir/ops/ops.h"

const Type *relayout_infer(Ctx *ctx, const Op *op) {
  const Type *x = op->operands[0]->type;
  return op_result_type(ctx, op, x->dtype, x->rank, x->dims);
}

void relayout_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  (void)ctx;
  plan->result = op->result->type->layout;
  plan->why = "its result's layout is what it is for";
}

void relayout_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx;
  (void)op;
  memcpy(out->data, in[0]->data, (size_t)out->n * dtype_size(out->dtype));
}

/* A relayout into the layout that x has is x, and one of a relayout copies what that one copies. */
Value *relayout_simplify(Module *m, Function *f, Op *op) {
  (void)m, (void)f;
  if (op->operands[0]->type == op->result->type)
    return op->operands[0];
  const Op *inner = op_repeated(op);
  if (!inner)
    return NULL;
  op->operands[0] = inner->operands[0];
  return op->result;
}
