/* What scatter_elements and scatter_nd share. See scatter.h. */
#include "ir/ops/scatter.h"
#include "ir/reduction.h"

bool scatter_check(Ctx *ctx, const Op *op) {
  const Type *data = op->operands[SCATTER_DATA]->type, *updates = op->operands[SCATTER_UPDATES]->type;
  return op_expect_indices(ctx, op, SCATTER_INDICES) &&
         (data->dtype == updates->dtype ||
          diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: operand 'updates' is %s, but operand 'data' is %s",
                     op->def->name, type_text(ctx, updates), type_text(ctx, data)));
}

const Scalar *scatter_step(Ctx *ctx, const Op *op, const Scalar *element, const Scalar *update) {
  /* By number of the word; of numbers and of bool. */
  static const Reduction *const steps[][2] = {{NULL, NULL},
                                              {&reduction_sum, &reduction_max},
                                              {&reduction_product, &reduction_min},
                                              {&reduction_max, &reduction_max},
                                              {&reduction_min, &reduction_min}};
  const Reduction *r = steps[op_int(op, "reduction")][update->dtype == DT_BOOL];
  return r ? reduction_step(ctx, r, element, update) : update;
}

void scatter_plan(Ctx *ctx, LayoutPlan *plan) {
  plan->result = layout_with_pad(ctx, plan->operand[SCATTER_DATA], PAD_ANY);
  plan->why = "as its data is";
}

void scatter_run(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out, ScatterPlace *place) {
  const Tensor *data = in[SCATTER_DATA], *updates = in[SCATTER_UPDATES];
  DType type = dtype_compute(out->dtype);
  const Scalar *step = scatter_step(ctx, op, scalar_arg_typed(ctx, 0, type), scalar_arg_typed(ctx, 1, type));
  int64_t at[WEFT_MAX_RANK] = {0}, to[WEFT_MAX_RANK];
  if (data->n)
    memcpy(out->data, data->data, (size_t)data->n * dtype_size(data->dtype));
  for (int64_t u = 0; u < updates->n; u++) {
    int64_t offset = 0;
    if (!place(ctx, op, in, at, to))
      return;
    for (int k = 0; k < out->rank; k++)
      offset = offset * out->shape[k] + to[k];
    ScalarValue both[2] = {tensor_value(out, offset), tensor_value(updates, u)};
    tensor_set_value(out, offset, scalar_eval_reference(step, both));
    tensor_next_index(updates, at);
  }
}
