/* broadcast: axis k of x is axis axes[k] of a result of the given shape. An extent of 1 stretches, axes of the result
 * that x lacks repeat. A view: readers drop or zero indices, nothing is copied. */
#include "ir/ops/ops.h"

const Type *broadcast_infer(Ctx *ctx, const Op *op) {
  const Type *x = op->operands[0]->type;
  const Attr *axes = op_attr(op, "axes"), *shape = op_attr(op, "shape");
  Dim dims[WEFT_MAX_RANK];
  bool taken[WEFT_MAX_RANK] = {false};
  if (shape->n > WEFT_MAX_RANK) {
    diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
               "broadcast: attribute 'shape' has %d extents, at most %d are possible", shape->n, WEFT_MAX_RANK);
    return NULL;
  }
  if (axes->n != x->rank) {
    diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
               "broadcast: attribute 'axes' has %d numbers, expected %d: one for each axis of x, which is %s", axes->n,
               x->rank, type_text(ctx, x));
    return NULL;
  }
  for (int k = 0; k < shape->n; k++) {
    if (shape->ints[k] < 0 || shape->ints[k] > WEFT_MAX_ELEMENTS) {
      diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                 "broadcast: attribute 'shape' holds %lld, expected an extent from 0 to %lld",
                 (long long)shape->ints[k], (long long)WEFT_MAX_ELEMENTS);
      return NULL;
    }
    dims[k] = expr_const(ctx, shape->ints[k]);
  }
  for (int k = 0; k < axes->n; k++) {
    int64_t a = axes->ints[k], extent;
    if (a < 0 || a >= shape->n || taken[a]) {
      diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                 "broadcast: attribute 'axes' holds %lld, expected different axes of a result of rank %d", (long long)a,
                 shape->n);
      return NULL;
    }
    taken[a] = true;
    if (x->dims[k] != dims[a] && !(expr_is_const(x->dims[k], &extent) && extent == 1)) {
      diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                 "broadcast: axis %d of x, which is %s, cannot stretch to %lld, the extent of axis %lld of the result",
                 k, type_text(ctx, x), (long long)shape->ints[a], (long long)a);
      return NULL;
    }
  }
  return op_result_type(ctx, op, x->dtype, shape->n, dims);
}

void broadcast_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  plan->result = layout_row_major(ctx, op->result->type->rank);
  plan->why = "a view that is never stored";
}

/* 0 along stretched axes. A stretched extent is a constant 1; so is an unstretched one of 1, whose index is 0 anyway.
 */
void broadcast_view_index(Ctx *ctx, const Op *op, const Expr *const *result, const Expr **operand) {
  const Type *x = op->operands[0]->type;
  const Attr *axes = op_attr(op, "axes");
  for (int k = 0; k < x->rank; k++) {
    int64_t extent;
    bool one = expr_is_const(x->dims[k], &extent) && extent == 1;
    operand[k] = one ? expr_const(ctx, 0) : result[axes->ints[k]];
  }
}

void broadcast_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx;
  const Attr *axes = op_attr(op, "axes");
  int64_t step[WEFT_MAX_RANK] = {0}, index[WEFT_MAX_RANK] = {0}, stride = 1;
  for (int k = in[0]->rank - 1; k >= 0; k--) {
    step[axes->ints[k]] = in[0]->shape[k] == 1 ? 0 : stride;
    stride *= in[0]->shape[k];
  }
  for (int64_t i = 0; i < out->n; i++) {
    int64_t at = 0;
    for (int k = 0; k < out->rank; k++)
      at += index[k] * step[k];
    tensor_copy_element(out, i, in[0], at);
    tensor_next_index(out, index);
  }
}

/* A broadcast of a broadcast is one. */
Value *broadcast_simplify(Module *m, Function *f, Op *op) {
  (void)f;
  const Op *inner = op_repeated(op);
  if (!inner)
    return NULL;
  const Attr *outer_axes = op_attr(op, "axes"), *inner_axes = op_attr(inner, "axes");
  int64_t axes[WEFT_MAX_RANK];
  for (int k = 0; k < inner_axes->n; k++)
    axes[k] = outer_axes->ints[inner_axes->ints[k]];
  op_set_ints(m->ctx, op, "axes", axes, inner_axes->n);
  op->operands[0] = inner->operands[0];
  return op->result;
}
