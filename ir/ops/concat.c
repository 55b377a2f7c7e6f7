/* concat: the parts one after the other along an axis; their other extents are the same. */
#include "ir/ops/ops.h"

const Type *concat_infer(Ctx *ctx, const Op *op) {
  const Type *first = op->operands[0]->type;
  int axis;
  Dim dims[WEFT_MAX_RANK];
  if (!op_expect_axis(ctx, op, "axis", first->rank, &axis))
    return NULL;
  memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
  for (int k = 1; k < op->n_operands; k++) {
    const Type *type = op->operands[k]->type;
    bool fits = type->rank == first->rank && type->dtype == first->dtype;
    for (int j = 0; fits && j < first->rank; j++)
      fits = j == axis || type->dims[j] == first->dims[j];
    if (!fits) {
      diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                 "concat: part %d is %s, which does not fit part 0, %s: all but the extent of axis %d must agree", k,
                 type_text(ctx, type), type_text(ctx, first), axis);
      return NULL;
    }
    dims[axis] = expr_add(ctx, dims[axis], type->dims[axis]);
  }
  return op_result_type(ctx, op, first->dtype, first->rank, dims);
}

/* Follows the first part that is computed. An axis whose blocks a part would start within is not split. */
void concat_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  int leader = 0, axis = 0;
  WEFT_ASSERT(op_expect_axis(ctx, op, "axis", op->result->type->rank, &axis));
  while (leader + 1 < op->n_operands && plan->constant[leader])
    leader++;
  const Layout *layout = layout_with_pad(ctx, plan->operand[leader], PAD_ANY);
  bool within[WEFT_MAX_RANK] = {false};
  int64_t extent, block = layout_block(layout, axis);
  for (int k = 0; k + 1 < op->n_operands && block > 1; k++)
    if (!expr_is_const(op->operands[k]->type->dims[axis], &extent) || extent % block != 0)
      within[axis] = true;
  plan->result = layout_unsplit_axes(ctx, layout, within);
  plan->why = "follows %";
  plan->leader = leader;
}

void concat_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  int axis = 0;
  WEFT_ASSERT(op_expect_axis(ctx, op, "axis", out->rank, &axis));
  int64_t outer = 1, inner = (int64_t)dtype_size(out->dtype);
  for (int k = 0; k < axis; k++)
    outer *= out->shape[k];
  for (int k = axis + 1; k < out->rank; k++)
    inner *= out->shape[k];
  if (out->n == 0)
    return;
  char *to = out->data;
  for (int64_t i = 0; i < outer; i++)
    for (int k = 0; k < op->n_operands; k++) {
      size_t bytes = (size_t)(in[k]->shape[axis] * inner);
      if (bytes)
        memcpy(to, (const char *)in[k]->data + (size_t)i * bytes, bytes);
      to += bytes;
    }
}

/* Parts without elements add nothing, and a single part is the result. */
Value *concat_simplify(Module *m, Function *f, Op *op) {
  (void)f;
  int axis = 0, n = 0;
  WEFT_ASSERT(op_expect_axis(m->ctx, op, "axis", op->result->type->rank, &axis));
  Value **parts = ARENA_ARRAY(m->ctx->arena, Value *, op->n_operands);
  for (int k = 0; k < op->n_operands; k++) {
    int64_t extent;
    if (!expr_is_const(op->operands[k]->type->dims[axis], &extent) || extent != 0)
      parts[n++] = op->operands[k];
  }
  if (op->n_operands == 1 || n == 0)
    return op->operands[0];
  if (n == op->n_operands)
    return NULL;
  op_set_operands(m->ctx, op, parts, n);
  return op->result;
}
