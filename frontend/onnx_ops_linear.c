/* Matrix products. weft's matmul takes equal ranks and equal axes in front; numpy's rules end here. */
#include "frontend/onnx_ops.h"

#include <math.h>

/* The axes in front of the last two, both broadcast to the same. False after reporting. */
static bool batch_shape(ImportNode *n, const Value *a, const Value *b, int64_t *shape, int *rank) {
  *rank = node_rank(a) > node_rank(b) ? node_rank(a) : node_rank(b);
  for (int k = 0; k < *rank - 2; k++) {
    int ka = k - (*rank - node_rank(a)), kb = k - (*rank - node_rank(b));
    int64_t of_a = ka < 0 ? 1 : node_extent(a, ka), of_b = kb < 0 ? 1 : node_extent(b, kb);
    if (of_a != of_b && of_a != 1 && of_b != 1)
      return node_error(n, WEFT_MALFORMED, "%s and %s cannot be broadcast together", type_text(n->im->ctx, a->type),
                        type_text(n->im->ctx, b->type));
    shape[k] = of_a == 1 ? of_b : of_a;
  }
  return true;
}

static Value *to_batch(ImportNode *n, Value *v, const int64_t *batch, int rank) {
  int64_t shape[WEFT_MAX_RANK];
  memcpy(shape, batch, (size_t)(rank - 2) * sizeof *shape);
  shape[rank - 2] = node_extent(v, node_rank(v) - 2);
  shape[rank - 1] = node_extent(v, node_rank(v) - 1);
  return node_broadcast(n, v, shape, rank);
}

/* Operands of rank 2 and more. A matrix on the right takes all rows of a at once. */
static Value *matmul(ImportNode *n, Value *a, Value *b) {
  int64_t shape[WEFT_MAX_RANK];
  int rank;
  if (n->failed)
    return NULL;
  if (node_rank(b) == 2 && node_rank(a) > 2) {
    int last = node_rank(a) - 1;
    node_shape(a, shape);
    int64_t rows[2] = {1, shape[last]};
    for (int k = 0; k < last; k++)
      rows[0] *= shape[k];
    shape[last] = node_extent(b, 1);
    return node_reshape(n, NODE_MAKE(n, OP_MATMUL, node_reshape(n, a, rows, 2), b), shape, last + 1);
  }
  if (!batch_shape(n, a, b, shape, &rank))
    return NULL;
  return NODE_MAKE(n, OP_MATMUL, to_batch(n, a, shape, rank), to_batch(n, b, shape, rank));
}

/* numpy's matmul: a vector on the left is a row, on the right a column, and that axis goes from the result. */
Value *node_matmul(ImportNode *n, Value *a, Value *b) {
  int64_t shape[WEFT_MAX_RANK];
  if (n->failed)
    return NULL;
  if (node_rank(a) == 0 || node_rank(b) == 0) {
    node_error(n, WEFT_MALFORMED, "the operands are %s and %s, expected at least rank 1",
               type_text(n->im->ctx, a->type), type_text(n->im->ctx, b->type));
    return NULL;
  }
  bool row = node_rank(a) == 1, column = node_rank(b) == 1;
  if (row)
    a = node_reshape(n, a, (int64_t[]){1, node_extent(a, 0)}, 2);
  if (column)
    b = node_reshape(n, b, (int64_t[]){node_extent(b, 0), 1}, 2);
  Value *v = matmul(n, a, b);
  if (n->failed || (!row && !column))
    return v;
  int rank = 0;
  for (int k = 0; k < node_rank(v); k++)
    if (!(row && k == node_rank(v) - 2) && !(column && k == node_rank(v) - 1))
      shape[rank++] = node_extent(v, k);
  return node_reshape(n, v, shape, rank);
}

bool onnx_matmul(ImportNode *n) {
  return node_result(n, 0, node_matmul(n, node_in(n, 0), node_in(n, 1)));
}

static Value *transposed(ImportNode *n, int k, const char *attr) {
  static const int64_t perm[2] = {1, 0};
  bool turn = node_flag(n, attr, false);
  Value *v = node_in(n, k);
  if (!node_expect_rank(n, k, 2, 2))
    return NULL;
  return turn ? node_transpose(n, v, perm) : v;
}

static Value *scaled(ImportNode *n, Value *v, double factor) {
  return factor == 1 || n->failed ? v : NODE_MAKE(n, OP_MUL, v, node_number(n, v, factor));
}

/* alpha * A * B + beta * C, A and B perhaps transposed, C stretched to the result. */
bool onnx_gemm(ImportNode *n) {
  Value *a = transposed(n, 0, "transA"), *b = transposed(n, 1, "transB"), *c = node_in(n, 2);
  double alpha = node_float(n, "alpha", 1), beta = node_float(n, "beta", 1);
  Value *v = NODE_MAKE(n, OP_MATMUL, a, b);
  if (n->failed)
    return false;
  DType own = v->type->dtype;
  if (alpha != trunc(alpha) || beta != trunc(beta)) {
    v = node_as_floats(n, v);
    c = node_as_floats(n, c);
  }
  v = scaled(n, v, alpha);
  if (!c || n->failed || beta == 0)
    return node_result(n, 0, node_cast(n, v, own));
  Value *sum = NODE_MAKE(n, OP_ADD, v, scaled(n, c, beta));
  if (!n->failed && !type_same_shape(sum->type, v->type))
    return node_error(n, WEFT_MALFORMED, "%s is %s, which cannot be stretched to %s", node_in_text(n, 2),
                      type_text(n->im->ctx, c->type), type_text(n->im->ctx, v->type));
  return node_result(n, 0, node_cast(n, sum, own));
}
