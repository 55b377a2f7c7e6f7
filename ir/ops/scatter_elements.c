/* scatter_elements: each update changes the element of data at its own index, with the one along `axis` replaced by the
 * element of indices there: to(i0, .., ia, ..) = (i0, .., indices[i0, .., ia, ..], ..). See scatter.h. */
#include "ir/ops/scatter.h"

static bool fits(Ctx *ctx, const Op *op, int axis) {
  const Type *data = op->operands[SCATTER_DATA]->type, *indices = op->operands[SCATTER_INDICES]->type;
  bool ok = type_same_extents(indices, op->operands[SCATTER_UPDATES]->type) && indices->rank == data->rank;
  for (int k = 0; ok && k < data->rank; k++)
    ok = k == axis || expr_prove_nonneg(ctx, expr_sub(ctx, data->dims[k], indices->dims[k]));
  return ok;
}

const Type *scatter_elements_infer(Ctx *ctx, const Op *op) {
  const Type *data = op->operands[SCATTER_DATA]->type;
  int axis;
  if (!scatter_check(ctx, op) || !op_expect_axis(ctx, op, "axis", data->rank, &axis))
    return NULL;
  if (!fits(ctx, op, axis)) {
    diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
               "scatter_elements: indices are %s and updates %s; expected equal shapes of data's rank, no larger than "
               "data, which is %s, but along axis %d",
               type_text(ctx, op->operands[SCATTER_INDICES]->type), type_text(ctx, op->operands[SCATTER_UPDATES]->type),
               type_text(ctx, data), axis);
    return NULL;
  }
  return op_result_type(ctx, op, data->dtype, data->rank, data->dims);
}

void scatter_elements_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  (void)op;
  scatter_plan(ctx, plan);
}

static bool place(Ctx *ctx, const Op *op, const Tensor *const *in, const int64_t *at, int64_t *to) {
  const Tensor *data = in[SCATTER_DATA], *indices = in[SCATTER_INDICES];
  int axis = 0;
  int64_t offset = 0;
  WEFT_ASSERT(op_expect_axis(ctx, op, "axis", data->rank, &axis));
  for (int k = 0; k < data->rank; k++) {
    offset = offset * indices->shape[k] + at[k];
    to[k] = at[k];
  }
  return op_read_index(ctx, op, indices, offset, axis, data->shape[axis], &to[axis]);
}

void scatter_elements_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  scatter_run(ctx, op, in, out, place);
}
