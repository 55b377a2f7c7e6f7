/* pad: x with elements added at the ends of its axes, or cropped where a number is negative. Index i of an axis of
 * extent d, counted from the first element of x, reads
 *
 *   constant   the value, outside of 0..d-1
 *   edge       the nearest element
 *   wrap       i mod d
 *   reflect    with m = i mod (2*d - 2):  m or 2*d - 2 - m, the smaller: mirrored at the first and last element, which
 *              are not repeated */
#include "ir/ops/pad.h"
#include "ir/ops/ops.h"
#include <math.h>

static bool check_padding(Ctx *ctx, const Op *op) {
  const Type *x = op->operands[0]->type;
  const Attr *padding = op_attr(op, "padding");
  if (padding->n != 2 * x->rank)
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                      "pad: attribute 'padding' has %d numbers, expected %d: begins, then ends, of all axes of x, %s",
                      padding->n, 2 * x->rank, type_text(ctx, x));
  for (int k = 0; k < padding->n; k++)
    if (padding->ints[k] < -WEFT_MAX_ELEMENTS || padding->ints[k] > WEFT_MAX_ELEMENTS)
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                        "pad: attribute 'padding' holds %lld, expected %lld to %lld", (long long)padding->ints[k],
                        -(long long)WEFT_MAX_ELEMENTS, (long long)WEFT_MAX_ELEMENTS);
  double value = op_attr(op, "value")->f;
  if (dtype_is_float(x->dtype) || (isfinite(value) && value == floor(value)))
    return true;
  return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "pad: attribute 'value' is %g, expected an integer: x is %s",
                    value, type_text(ctx, x));
}

const Type *pad_infer(Ctx *ctx, const Op *op) {
  const Type *x = op->operands[0]->type;
  if (!check_padding(ctx, op))
    return NULL;
  const int64_t *padding = op_attr(op, "padding")->ints;
  Dim dims[WEFT_MAX_RANK];
  for (int k = 0; k < x->rank; k++) {
    dims[k] = expr_add_const(ctx, x->dims[k], padding[k] + padding[x->rank + k]);
    if (op_int(op, "mode") != PAD_MODE_CONSTANT && x->dims[k]->lo == 0 && dims[k]->hi > 0) {
      diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                 "pad: axis %d of x, which is %s, may have no elements to fill the padding with", k, type_text(ctx, x));
      return NULL;
    }
  }
  return op_result_type(ctx, op, x->dtype, x->rank, dims);
}

void pad_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  bool changed[WEFT_MAX_RANK];
  for (int k = 0; k < op->result->type->rank; k++)
    changed[k] = op->result->type->dims[k] != op->operands[0]->type->dims[k];
  plan->result = layout_unsplit_axes(ctx, layout_with_pad(ctx, plan->operand[0], PAD_ANY), changed);
  plan->why = "follows %";
}

/* The index read along an axis of extent d, -1: the value. */
static int64_t read_at(int64_t mode, int64_t i, int64_t d) {
  if (i >= 0 && i < d)
    return i;
  switch (mode) {
  case PAD_MODE_EDGE:
    return i < 0 ? 0 : d - 1;
  case PAD_MODE_WRAP:
    return floormod_i64(i, d);
  case PAD_MODE_REFLECT:
    i = d == 1 ? 0 : floormod_i64(i, 2 * d - 2);
    return i < d ? i : 2 * d - 2 - i;
  default:
    return -1;
  }
}

void pad_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx;
  const int64_t *padding = op_attr(op, "padding")->ints;
  int64_t mode = op_int(op, "mode"), index[WEFT_MAX_RANK] = {0};
  Tensor *value = tensor_new(ctx, out->dtype, 0, NULL);
  tensor_set(value, 0, op_attr(op, "value")->f);
  for (int64_t i = 0; i < out->n; i++) {
    int64_t at = 0;
    for (int k = 0; k < out->rank && at >= 0; k++) {
      int64_t own = read_at(mode, index[k] - padding[k], in[0]->shape[k]);
      at = own < 0 ? -1 : at * in[0]->shape[k] + own;
    }
    tensor_copy_element(out, i, at < 0 ? value : in[0], at < 0 ? 0 : at);
    tensor_next_index(out, index);
  }
}

/* Adds elements of its value, and removes none. */
static bool only_adds(const Op *op) {
  const Attr *padding = op_attr(op, "padding");
  for (int k = 0; k < padding->n; k++)
    if (padding->ints[k] < 0)
      return false;
  return op_int(op, "mode") == PAD_MODE_CONSTANT;
}

/* Nothing added is x; padding around padding of the same value is one. */
Value *pad_simplify(Module *m, Function *f, Op *op) {
  (void)f;
  const Attr *padding = op_attr(op, "padding");
  int64_t sum[2 * WEFT_MAX_RANK];
  bool none = true;
  for (int k = 0; k < padding->n; k++)
    none = none && padding->ints[k] == 0;
  if (none)
    return op->operands[0];
  const Op *inner = op_repeated(op);
  if (!inner || !only_adds(op) || !only_adds(inner) ||
      memcmp(&op_attr(op, "value")->f, &op_attr(inner, "value")->f, sizeof(double)) != 0)
    return NULL;
  for (int k = 0; k < padding->n; k++)
    sum[k] = padding->ints[k] + op_attr(inner, "padding")->ints[k];
  op_set_ints(m->ctx, op, "padding", sum, padding->n);
  op->operands[0] = inner->operands[0];
  return op->result;
}
