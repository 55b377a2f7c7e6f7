/* gather: axis `axis` of data is replaced by the axes of indices; result[.., i.., ..] = data[.., indices[i..], ..]. An
 * index in -d..-1 counts from the end of the axis of extent d; another outside of 0..d-1 is a fault of the run. */
#include "ir/ops/ops.h"

enum { GATHER_DATA, GATHER_INDICES };

const Type *gather_infer(Ctx *ctx, const Op *op) {
  const Type *data = op->operands[GATHER_DATA]->type, *indices = op->operands[GATHER_INDICES]->type;
  int axis;
  if (!op_expect_indices(ctx, op, GATHER_INDICES) || !op_expect_axis(ctx, op, "axis", data->rank, &axis))
    return NULL;
  int rank = data->rank - 1 + indices->rank;
  if (rank > WEFT_MAX_RANK) {
    diag_error(ctx->diags, WEFT_UNSUPPORTED, op->loc, "gather: the result has rank %d, at most %d is possible", rank,
               WEFT_MAX_RANK);
    return NULL;
  }
  Dim dims[WEFT_MAX_RANK];
  int n = 0;
  for (int k = 0; k < axis; k++)
    dims[n++] = data->dims[k];
  for (int k = 0; k < indices->rank; k++)
    dims[n++] = indices->dims[k];
  for (int k = axis + 1; k < data->rank; k++)
    dims[n++] = data->dims[k];
  return op_result_type(ctx, op, data->dtype, rank, dims);
}

/* As data lies, with the axes of indices in the place of the one that they replace. */
void gather_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  const Layout *data = plan->operand[GATHER_DATA];
  int axis = 0, perm[WEFT_MAX_RANK], n = 0, more = op->operands[GATHER_INDICES]->type->rank;
  WEFT_ASSERT(op_expect_axis(ctx, op, "axis", data->rank, &axis));
  for (int k = 0; k < data->n; k++) {
    Digit d = data->digits[k];
    if (d.size != 0)
      continue;
    if (d.axis != axis)
      perm[n++] = d.axis < axis ? d.axis : d.axis - 1 + more;
    for (int j = 0; d.axis == axis && j < more; j++)
      perm[n++] = axis + j;
  }
  plan->result = layout_permutation(ctx, n, perm);
  plan->why = "follows %";
  plan->leader = GATHER_DATA;
}

void gather_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  const Tensor *data = in[GATHER_DATA], *indices = in[GATHER_INDICES];
  int axis = 0;
  WEFT_ASSERT(op_expect_axis(ctx, op, "axis", data->rank, &axis));
  int64_t outer = 1, inner = (int64_t)dtype_size(out->dtype), extent = data->shape[axis];
  for (int k = 0; k < axis; k++)
    outer *= data->shape[k];
  for (int k = axis + 1; k < data->rank; k++)
    inner *= data->shape[k];
  if (out->n == 0)
    return;
  char *to = out->data;
  for (int64_t i = 0; i < outer; i++)
    for (int64_t j = 0; j < indices->n; j++, to += inner) {
      int64_t at;
      if (!op_read_index(ctx, op, indices, j, axis, extent, &at))
        return;
      memcpy(to, (const char *)data->data + (i * extent + at) * inner, (size_t)inner);
    }
}

#define MAX_INDICES 65536 /* looked at */

/* The indices as numbers from 0. False where they are not known, too many, or out of range. */
static bool known_indices(Ctx *ctx, const Value *v, int64_t extent, const int64_t **out, int64_t *n) {
  const Constant *c = op_root_constant(v);
  if (!c || v->type->rank != 1 || !layout_is_row_major(c->type->layout))
    return false;
  *n = expr_value(v->type->dims[0]);
  if (*n < 1 || *n > MAX_INDICES)
    return false;
  int64_t *at = ARENA_ARRAY(ctx->arena, int64_t, *n);
  for (int64_t k = 0; k < *n; k++) {
    at[k] = dtype_load(c->type->dtype, c->data, k).i;
    at[k] += at[k] < 0 ? extent : 0;
    if (at[k] < 0 || at[k] >= extent)
      return false;
  }
  *out = at;
  return true;
}

/* Indices that are known and evenly spaced make a slice, which is a view. */
Value *gather_simplify(Module *m, Function *f, Op *op) {
  const Type *data = op->operands[GATHER_DATA]->type;
  const int64_t *at;
  int64_t n, extent;
  int axis = 0;
  WEFT_ASSERT(op_expect_axis(m->ctx, op, "axis", data->rank, &axis));
  if (!expr_is_const(data->dims[axis], &extent) ||
      !known_indices(m->ctx, op->operands[GATHER_INDICES], extent, &at, &n))
    return NULL;
  int64_t step = n > 1 ? at[1] - at[0] : 1, end = at[n - 1] + (step > 0 ? 1 : -1);
  for (int64_t k = 1; k < n; k++)
    if (step == 0 || at[k] - at[k - 1] != step)
      return NULL;
  Op *slice = op_create(m->ctx, &op_table[OP_SLICE], &op->operands[GATHER_DATA], 1, op->loc);
  op_set_ints(m->ctx, slice, "begins", at, 1);
  op_set_ints(m->ctx, slice, "ends", (int64_t[]){end < 0 ? -extent - 1 : end}, 1);
  op_set_ints(m->ctx, slice, "axes", (int64_t[]){axis}, 1);
  op_set_ints(m->ctx, slice, "steps", &step, 1);
  return op_finish(m, f, slice, op, op->result->name, NULL);
}
