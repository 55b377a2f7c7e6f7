/* scatter_nd: the last axis of indices, of extent d, holds places along the first d axes of data, and updates a part of
 * data for each: to(p.., s..) = (indices[p.., 0], .., indices[p.., d - 1], s..). updates have the extents of indices
 * but for the last, then those of data behind the first d. See scatter.h. */
#include "ir/ops/scatter.h"

/* d, or 0 where indices have no such axis. */
static int depth_of(const Op *op) {
  const Type *indices = op->operands[SCATTER_INDICES]->type;
  int64_t depth = 0;
  if (indices->rank > 0)
    expr_is_const(indices->dims[indices->rank - 1], &depth);
  return depth >= 1 && depth <= op->operands[SCATTER_DATA]->type->rank ? (int)depth : 0;
}

static bool fits(const Op *op, int depth) {
  const Type *data = op->operands[SCATTER_DATA]->type, *indices = op->operands[SCATTER_INDICES]->type;
  const Type *updates = op->operands[SCATTER_UPDATES]->type;
  int places = indices->rank - 1;
  bool ok = depth > 0 && updates->rank == places + data->rank - depth;
  for (int k = 0; ok && k < updates->rank; k++)
    ok = updates->dims[k] == (k < places ? indices->dims[k] : data->dims[depth + k - places]);
  return ok;
}

const Type *scatter_nd_infer(Ctx *ctx, const Op *op) {
  const Type *data = op->operands[SCATTER_DATA]->type;
  if (!scatter_check(ctx, op))
    return NULL;
  if (!fits(op, depth_of(op))) {
    diag_error(
        ctx->diags, WEFT_MALFORMED, op->loc,
        "scatter_nd: indices are %s and updates %s, which does not fit data, %s; expected a last axis of indices "
        "of extent d, 1 to data's rank, and updates of the other extents of indices, then data's behind the "
        "first d",
        type_text(ctx, op->operands[SCATTER_INDICES]->type), type_text(ctx, op->operands[SCATTER_UPDATES]->type),
        type_text(ctx, data));
    return NULL;
  }
  return op_result_type(ctx, op, data->dtype, data->rank, data->dims);
}

void scatter_nd_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  (void)op;
  scatter_plan(ctx, plan);
}

static bool place(Ctx *ctx, const Op *op, const Tensor *const *in, const int64_t *at, int64_t *to) {
  const Tensor *data = in[SCATTER_DATA], *indices = in[SCATTER_INDICES];
  int places = indices->rank - 1, depth = (int)indices->shape[places];
  int64_t row = 0;
  for (int k = 0; k < places; k++)
    row = row * indices->shape[k] + at[k];
  for (int k = 0; k < depth; k++)
    if (!op_read_index(ctx, op, indices, row * depth + k, k, data->shape[k], &to[k]))
      return false;
  for (int k = depth; k < data->rank; k++)
    to[k] = at[places + k - depth];
  return true;
}

void scatter_nd_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  scatter_run(ctx, op, in, out, place);
}
