/* transpose: axis k of the result is axis perm[k] of x. A view; and where the result takes the layout that permutes its
 * axes likewise, result and operand are the same memory. */
#include "ir/ops/ops.h"

const Type *transpose_infer(Ctx *ctx, const Op *op) {
  const Type *x = op->operands[0]->type;
  const Attr *perm = op_attr(op, "perm");
  Dim dims[WEFT_MAX_RANK];
  bool taken[WEFT_MAX_RANK] = {false};
  if (perm->n != x->rank) {
    diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
               "transpose: attribute 'perm' has %d numbers, expected %d: one for each axis of x, which is %s", perm->n,
               x->rank, type_text(ctx, x));
    return NULL;
  }
  for (int k = 0; k < x->rank; k++) {
    int64_t a = perm->ints[k];
    if (a < 0 || a >= x->rank || taken[a]) {
      diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                 "transpose: attribute 'perm' holds %lld, expected a permutation of 0 to %d", (long long)a,
                 x->rank - 1);
      return NULL;
    }
    taken[a] = true;
    dims[k] = x->dims[a];
  }
  return op_result_type(ctx, op, x->dtype, x->rank, dims);
}

void transpose_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  const Attr *perm = op_attr(op, "perm");
  int axes[WEFT_MAX_RANK];
  for (int k = 0; k < perm->n; k++)
    axes[k] = (int)perm->ints[k];
  plan->result = layout_permute_axes(ctx, layout_with_pad(ctx, plan->operand[0], PAD_ANY), axes);
  plan->why = "the memory of % with its axes renamed";
}

void transpose_view_index(Ctx *ctx, const Op *op, const Expr *const *result, const Expr **operand) {
  (void)ctx;
  const Attr *perm = op_attr(op, "perm");
  for (int k = 0; k < perm->n; k++)
    operand[perm->ints[k]] = result[k];
}

void transpose_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx;
  const Attr *perm = op_attr(op, "perm");
  int64_t stride[WEFT_MAX_RANK], index[WEFT_MAX_RANK] = {0}, n = 1;
  for (int k = in[0]->rank - 1; k >= 0; k--) {
    stride[k] = n;
    n *= in[0]->shape[k];
  }
  for (int64_t i = 0; i < out->n; i++) {
    int64_t at = 0;
    for (int k = 0; k < out->rank; k++)
      at += index[k] * stride[perm->ints[k]];
    tensor_copy_element(out, i, in[0], at);
    tensor_next_index(out, index);
  }
}

/* A transpose of a transpose is one. */
Value *transpose_simplify(Module *m, Function *f, Op *op) {
  (void)f;
  const Op *inner = op_repeated(op);
  if (!inner)
    return NULL;
  const Attr *outer_perm = op_attr(op, "perm"), *inner_perm = op_attr(inner, "perm");
  int64_t perm[WEFT_MAX_RANK];
  for (int k = 0; k < outer_perm->n; k++)
    perm[k] = inner_perm->ints[outer_perm->ints[k]];
  op_set_ints(m->ctx, op, "perm", perm, outer_perm->n);
  op->operands[0] = inner->operands[0];
  return op->result;
}
