/* resample: along one axis, each element of the result is a weighted sum of elements of data that a table names.
 *
 *   result[.., o, ..] = sum over t of  weights[o, t] * data[.., indices[o, t], ..]
 *
 * Without weights they are 1: with one index an output, a selection. The sum is made in f64 where data or weights are
 * f64, else in f32 (without weights: in data's type), and converted to data's type at the end. An index outside of the
 * axis is a fault of the run. ir/resize_table.h makes tables for every kind of interpolation. */
#include <math.h>

#include "ir/ops/resample.h"

DType resample_type(const Op *op) {
  DType data = op->operands[RESAMPLE_DATA]->type->dtype;
  const Value *weights = op->operands[RESAMPLE_WEIGHTS];
  if (!weights)
    return dtype_compute(data);
  return data == DT_F64 || weights->type->dtype == DT_F64 ? DT_F64 : DT_F32;
}

static bool check_table(Ctx *ctx, const Op *op) {
  const Type *indices = op->operands[RESAMPLE_INDICES]->type;
  const Value *weights = op->operands[RESAMPLE_WEIGHTS];
  if (!op_expect_rank(ctx, op, RESAMPLE_INDICES, 2))
    return false;
  if (indices->dtype != DT_I32 && indices->dtype != DT_I64)
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "resample: operand 'indices' is %s, expected i32 or i64",
                      type_text(ctx, indices));
  if (!weights)
    return true;
  if (weights->type->dtype != DT_F32 && weights->type->dtype != DT_F64)
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "resample: operand 'weights' is %s, expected f32 or f64",
                      type_text(ctx, weights->type));
  if (weights->type->rank != 2 || weights->type->dims[0] != indices->dims[0] ||
      weights->type->dims[1] != indices->dims[1])
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                      "resample: operand 'weights' is %s, expected the shape of 'indices', which is %s",
                      type_text(ctx, weights->type), type_text(ctx, indices));
  return true;
}

const Type *resample_infer(Ctx *ctx, const Op *op) {
  const Type *data = op->operands[RESAMPLE_DATA]->type, *indices = op->operands[RESAMPLE_INDICES]->type;
  int axis;
  if (!check_table(ctx, op) || !op_expect_axis(ctx, op, "axis", data->rank, &axis))
    return NULL;
  int64_t taps;
  bool copies = !op->operands[RESAMPLE_WEIGHTS] && expr_is_const(indices->dims[1], &taps) && taps == 1;
  if (data->dtype == DT_BOOL && !copies) {
    diag_error(ctx->diags, WEFT_UNSUPPORTED, op->loc,
               "resample: operand 'data' has element type bool; where it is summed this op takes floats and integers");
    return NULL;
  }
  Dim dims[WEFT_MAX_RANK];
  memcpy(dims, data->dims, (size_t)data->rank * sizeof *dims);
  dims[axis] = indices->dims[0];
  return op_result_type(ctx, op, data->dtype, data->rank, dims);
}

void resample_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  (void)op;
  plan->result = layout_with_pad(ctx, plan->operand[RESAMPLE_DATA], PAD_ANY);
  plan->why = "follows %";
  plan->leader = RESAMPLE_DATA;
}

/* The index in row o, column t of the table, or -1 after reporting. */
static int64_t table_index(Ctx *ctx, const Op *op, const Tensor *indices, int64_t at, int64_t extent) {
  int64_t index = tensor_value(indices, at).i;
  if (index >= 0 && index < extent)
    return index;
  diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "resample: index %lld is out of range: the axis has extent %lld",
             (long long)index, (long long)extent);
  return -1;
}

void resample_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  const Tensor *data = in[RESAMPLE_DATA], *indices = in[RESAMPLE_INDICES], *weights = in[RESAMPLE_WEIGHTS];
  int axis = 0;
  WEFT_ASSERT(op_expect_axis(ctx, op, "axis", data->rank, &axis));
  int64_t inner = 1, taps = indices->shape[1], outputs = out->shape[axis], extent = data->shape[axis];
  for (int k = axis + 1; k < data->rank; k++)
    inner *= data->shape[k];
  for (int64_t i = 0; i < out->n; i++) {
    int64_t column = i % inner, o = i / inner % outputs, outer = i / inner / outputs;
    double sum = 0;
    uint64_t whole = 0; /* of integers, without weights: wraps */
    for (int64_t t = 0; t < taps; t++) {
      int64_t index = table_index(ctx, op, indices, o * taps + t, extent);
      if (index < 0)
        return;
      int64_t at = (outer * extent + index) * inner + column;
      if (dtype_is_float(data->dtype) || weights)
        sum += tensor_get(data, at) * (weights ? tensor_get(weights, o * taps + t) : 1.0);
      else
        whole += (uint64_t)tensor_value(data, at).i;
    }
    if (dtype_is_float(data->dtype) || weights)
      tensor_set(out, i, dtype_is_float(data->dtype) ? sum : trunc(sum));
    else
      tensor_set_value(out, i, (ScalarValue){.i = (int64_t)whole});
  }
}
