/* constant: a constant of the module as a value. Its type, layout included, is the constant's. */
#include "ir/ops/ops.h"

const Type *constant_infer(Ctx *ctx, const Op *op) {
  (void)ctx;
  return op_attr(op, "value")->constant->type;
}

void constant_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  (void)ctx;
  plan->result = op_attr(op, "value")->constant->type->layout;
  plan->why = "as the constant is stored";
}

/* A derived constant is its root in another layout: logically the same tensor. */
void constant_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx;
  (void)in;
  const Constant *root = op_attr(op, "value")->constant;
  while (root->base)
    root = root->base;
  tensor_from_storage(out, root->type, root->data);
}
