/* top_k: the places along an axis of its k largest elements (largest = 0: smallest), those first that come first in
 * this order: the larger (smaller) element, of equal ones that of the lower index. A NaN counts as larger than all
 * numbers, and 0 and -0 are equal. Indices are i64. The elements themselves are gathered by them. */
#include <stdlib.h>

#include "ir/ops/top_k.h"

const Type *top_k_infer(Ctx *ctx, const Op *op) {
  const Type *x = op->operands[0]->type;
  int64_t k = op_int(op, "k");
  int axis;
  if (!op_expect_types(ctx, op, "fi") || !op_expect_axis(ctx, op, "axis", x->rank, &axis))
    return NULL;
  if (k < 0 || !expr_prove_nonneg(ctx, expr_add_const(ctx, x->dims[axis], -k))) {
    diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
               "top_k: attribute 'k' is %lld, expected 0 to the extent of axis %d of x, which is %s", (long long)k,
               axis, type_text(ctx, x));
    return NULL;
  }
  Dim dims[WEFT_MAX_RANK];
  memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  dims[axis] = expr_const(ctx, k);
  return op_result_type(ctx, op, DT_I64, x->rank, dims);
}

/* The axis has another extent, so blocks of it end. */
void top_k_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  int axis = 0;
  bool changed[WEFT_MAX_RANK] = {false};
  WEFT_ASSERT(op_expect_axis(ctx, op, "axis", op->result->type->rank, &axis));
  changed[axis] = true;
  plan->result = layout_unsplit_axes(ctx, layout_with_pad(ctx, plan->operand[0], PAD_ANY), changed);
  plan->why = "as its operand is";
}

const Scalar *top_k_before(Ctx *ctx, const Op *op, const Scalar *a, const Scalar *b) {
  return op_int(op, "largest") ? op_larger(ctx, a, b) : op_larger(ctx, b, a);
}

typedef struct {
  ScalarValue value;
  int64_t index;
} Element;

static int compare(const void *pa, const void *pb, void *before) {
  const Element *a = pa, *b = pb;
  const ScalarValue ab[2] = {a->value, b->value}, ba[2] = {b->value, a->value};
  if (scalar_eval_reference(before, ab).i)
    return -1;
  if (scalar_eval_reference(before, ba).i)
    return 1;
  return a->index < b->index ? -1 : 1;
}

void top_k_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  const Tensor *x = in[0];
  DType type = dtype_compute(x->dtype);
  const Scalar *before = top_k_before(ctx, op, scalar_arg_typed(ctx, 0, type), scalar_arg_typed(ctx, 1, type));
  int axis = 0;
  WEFT_ASSERT(op_expect_axis(ctx, op, "axis", x->rank, &axis));
  int64_t n = x->shape[axis], k = out->shape[axis], outer = 1, inner = 1;
  for (int j = 0; j < x->rank; j++)
    *(j < axis ? &outer : &inner) *= j == axis ? 1 : x->shape[j];
  Element *row = ARENA_ARRAY(ctx->arena, Element, n);
  for (int64_t o = 0; o < outer && k > 0; o++)
    for (int64_t i = 0; i < inner; i++) {
      for (int64_t j = 0; j < n; j++)
        row[j] = (Element){tensor_value(x, (o * n + j) * inner + i), j};
      qsort_r(row, (size_t)n, sizeof *row, compare, (void *)(uintptr_t)before);
      for (int64_t j = 0; j < k; j++)
        tensor_set_value(out, (o * k + j) * inner + i, (ScalarValue){.i = row[j].index});
    }
}
