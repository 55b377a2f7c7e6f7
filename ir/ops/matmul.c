/* matmul: result[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]; the axes in front are equal. Integers wrap. */
#include "ir/ops/ops.h"

enum { MATMUL_A, MATMUL_B };

static bool check_operands(Ctx *ctx, const Op *op) {
  const Type *a = op->operands[MATMUL_A]->type, *b = op->operands[MATMUL_B]->type;
  if (!op_expect_types(ctx, op, "fi"))
    return false;
  if (a->rank < 2 || a->rank != b->rank)
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                      "matmul: a is %s and b is %s, expected equal ranks of at least 2", type_text(ctx, a),
                      type_text(ctx, b));
  for (int k = 0; k < a->rank - 1; k++) {
    bool inner = k == a->rank - 2;
    int64_t of_a, of_b;
    if (!expr_is_const(a->dims[inner ? k + 1 : k], &of_a) || !expr_is_const(b->dims[k], &of_b) || of_a == of_b)
      continue;
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                      "matmul: axis %d of a has extent %lld, axis %d of b %lld, expected equal ones; a is %s, b is %s",
                      inner ? k + 1 : k, (long long)of_a, k, (long long)of_b, type_text(ctx, a), type_text(ctx, b));
  }
  return true;
}

const Type *matmul_infer(Ctx *ctx, const Op *op) {
  if (!check_operands(ctx, op))
    return NULL;
  const Type *a = op->operands[MATMUL_A]->type, *b = op->operands[MATMUL_B]->type;
  Dim dims[WEFT_MAX_RANK];
  memcpy(dims, a->dims, (size_t)a->rank * sizeof *dims);
  dims[a->rank - 1] = b->dims[a->rank - 1];
  return op_result_type(ctx, op, a->dtype, a->rank, dims);
}

#define ENOUGH_ROWS 8 /* of a, that a copy of b pays */

/* Vectors run along n: it lies last in the result and in b, where b is a constant or read so often that a copy pays. */
void matmul_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  int rank = op->result->type->rank;
  const Layout *row_major = layout_row_major(ctx, rank);
  bool often = op->operands[MATMUL_A]->type->dims[rank - 2]->lo >= ENOUGH_ROWS;
  if (plan->constant[MATMUL_B] || (often && layout_innermost_axis(plan->operand[MATMUL_B]) != rank - 1)) {
    plan->operand[MATMUL_B] = row_major;
    plan->reads[MATMUL_B] = "as its inner loop reads it";
  }
  plan->result = row_major;
  plan->why = "row-major: vectors along its last axis";
}

/* Elements of a tensor of floats, in double. */
static const double *doubles(Arena *arena, const Tensor *t) {
  double *all = ARENA_ARRAY(arena, double, t->n);
  for (int64_t i = 0; i < t->n; i++)
    all[i] = tensor_get(t, i);
  return all;
}

/* By rows of b, so that each element's terms come in the order of k. */
static void float_eval(const Tensor *a, const Tensor *b, int64_t rows, int64_t n, int64_t k_extent, Tensor *out) {
  Arena *arena = arena_create();
  const double *x = doubles(arena, a), *y = doubles(arena, b);
  double *sum = ARENA_ARRAY(arena, double, n);
  for (int64_t row = 0; n > 0 && row < out->n / n; row++) {
    const double *from = y + row / rows * k_extent * n;
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t k = 0; k < k_extent; k++) {
      const double *restrict line = from + k * n;
      double factor = x[row * k_extent + k], *restrict to = sum;
      for (int64_t j = 0; j < n; j++)
        to[j] += factor * line[j];
    }
    for (int64_t j = 0; j < n; j++)
      tensor_set(out, row * n + j, sum[j]);
  }
  arena_destroy(arena);
}

void matmul_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx, (void)op;
  const Tensor *a = in[MATMUL_A], *b = in[MATMUL_B];
  int64_t rows = out->shape[out->rank - 2], n = out->shape[out->rank - 1], k_extent = a->shape[out->rank - 1];
  if (dtype_is_float(out->dtype)) {
    float_eval(a, b, rows, n, k_extent, out);
    return;
  }
  for (int64_t i = 0; i < out->n; i++) {
    int64_t row = i / n, at_b = row / rows * k_extent * n + i % n;
    uint64_t sum = 0; /* wraps: the low bits are those of the result */
    for (int64_t k = 0; k < k_extent; k++)
      sum += (uint64_t)tensor_value(a, row * k_extent + k).i * (uint64_t)tensor_value(b, at_b + k * n).i;
    tensor_set_value(out, i, (ScalarValue){.i = (int64_t)sum});
  }
}
