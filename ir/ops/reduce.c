/* reduce_sum, _mean, _max, _min, _prod: x reduced over the axes named (none: a copy), in any order. keepdims leaves
 * them with extent 1, else they go. The steps are those of ir/reduction.h. */
#include "ir/ops/ops.h"
#include "ir/reduction.h"

/* Which axes go; false after reporting. */
static bool reduced_axes(Ctx *ctx, const Op *op, bool reduced[WEFT_MAX_RANK]) {
  const Attr *axes = op_attr(op, "axes");
  const Type *x = op->operands[0]->type;
  memset(reduced, 0, WEFT_MAX_RANK * sizeof *reduced);
  for (int k = 0; k < axes->n; k++) {
    int64_t a = axes->ints[k];
    if (a < 0 || a >= x->rank || reduced[a])
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                        "%s: attribute 'axes' holds %lld%s, expected different axes of x, which is %s", op->def->name,
                        (long long)a, a >= 0 && a < x->rank ? " twice" : "", type_text(ctx, x));
    reduced[a] = true;
  }
  return true;
}

const Type *reduce_infer(Ctx *ctx, const Op *op) {
  const Type *x = op->operands[0]->type;
  bool reduced[WEFT_MAX_RANK], keep = op_int(op, "keepdims") != 0;
  if (!reduction_expect_type(ctx, op) || !reduced_axes(ctx, op, reduced))
    return NULL;
  Dim dims[WEFT_MAX_RANK];
  int rank = 0;
  for (int k = 0; k < x->rank; k++)
    if (!reduced[k] || keep)
      dims[rank++] = reduced[k] ? expr_const(ctx, 1) : x->dims[k];
  return op_result_type(ctx, op, x->dtype, rank, dims);
}

/* The result lies as x does, without the digits of axes that are gone or have extent 1 now. */
void reduce_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  const Layout *x = plan->operand[0];
  bool reduced[WEFT_MAX_RANK], keep = op_int(op, "keepdims") != 0;
  WEFT_ASSERT(reduced_axes(ctx, op, reduced));
  int number[WEFT_MAX_RANK], rank = 0, n = 0;
  for (int k = 0; k < x->rank; k++)
    number[k] = !reduced[k] || keep ? rank++ : -1;
  Digit digits[WEFT_MAX_DIGITS];
  for (int k = 0; k < x->n; k++) {
    Digit d = x->digits[k];
    if (number[d.axis] < 0 || (reduced[d.axis] && d.size != 0))
      continue;
    digits[n++] = (Digit){number[d.axis], reduced[d.axis] ? 1 : d.div, d.size};
  }
  plan->result = layout_get(ctx, rank, digits, n, PAD_ANY);
  plan->why = "follows %, without the reduced axes";
}

void reduce_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  const Tensor *x = in[0];
  bool reduced[WEFT_MAX_RANK];
  WEFT_ASSERT(reduced_axes(ctx, op, reduced));
  /* x's axes, those kept in front, with their strides */
  int64_t extent[WEFT_MAX_RANK], stride[WEFT_MAX_RANK], step = 1, count = 1;
  int n_kept = 0, n = x->rank;
  for (int k = 0; k < n; k++)
    n_kept += !reduced[k];
  for (int k = n - 1, kept = n_kept, gone = n; k >= 0; k--) {
    int at = reduced[k] ? --gone : --kept;
    extent[at] = x->shape[k];
    stride[at] = step;
    step *= x->shape[k];
    count *= reduced[k] ? x->shape[k] : 1;
  }
  Reducer r = reducer_new(ctx, reduction_of(op->def), dtype_compute(x->dtype));
  int64_t index[WEFT_MAX_RANK] = {0}, at = 0;
  for (int64_t i = 0; i < out->n; i++) {
    reducer_begin(&r);
    for (int64_t j = 0; j < count; j++) {
      reducer_add(&r, tensor_value(x, at));
      for (int k = n - 1; k >= n_kept; k--) {
        at += stride[k];
        if (++index[k] < extent[k])
          break;
        at -= extent[k] * stride[k];
        index[k] = 0;
      }
    }
    tensor_set_value(out, i, reducer_end(&r, count));
    for (int k = n_kept - 1; k >= 0; k--) {
      at += stride[k];
      if (++index[k] < extent[k])
        break;
      at -= extent[k] * stride[k];
      index[k] = 0;
    }
  }
}
