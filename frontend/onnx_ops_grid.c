/* GridSample and AffineGrid. */
#include "frontend/onnx_ops.h"

#define MAX_SPATIAL 3

bool onnx_grid_sample(ImportNode *n) {
  static const OpCode codes[] = {OP_GRID_SAMPLE1D, OP_GRID_SAMPLE2D, OP_GRID_SAMPLE3D};
  Value *x = node_in(n, 0), *grid = node_in(n, 1);
  int mode = node_word(n, "mode", n->im->opset < 20 ? "bilinear|nearest|bicubic" : "linear|nearest|cubic");
  int padding = node_word(n, "padding_mode", "zeros|border|reflection");
  bool align = node_flag(n, "align_corners", false);
  if (!node_expect_rank(n, 0, 3, WEFT_MAX_RANK))
    return false;
  int spatial = node_rank(x) - 2;
  if (spatial > MAX_SPATIAL)
    return node_error(n, WEFT_UNSUPPORTED, "%s is %s; 1 to %d spatial axes are supported", node_in_text(n, 0),
                      type_text(n->im->ctx, x->type), MAX_SPATIAL);
  Op *op = NODE_OP(n, codes[spatial - 1], x, grid);
  op_set_word(op, "mode", mode);
  op_set_word(op, "padding", padding);
  op_set_int(op, "align_corners", align);
  return node_result(n, 0, node_finish(n, op));
}

/* Point i of an axis of this extent, from -1 to 1. */
static double place(int64_t i, int64_t extent, bool align) {
  if (!align)
    return (double)(2 * i + 1) / (double)extent - 1;
  return extent > 1 ? (double)(2 * i) / (double)(extent - 1) - 1 : -1;
}

/* All points as [points, spatial + 1], innermost axis first, then 1. */
static Value *all_points(ImportNode *n, DType dtype, const int64_t *extents, int spatial, bool align) {
  int64_t shape[2] = {1, spatial + 1}, cost;
  for (int k = 0; k < spatial; k++)
    if (extents[k] < 0 || !mul_i64(shape[0], extents[k], &shape[0])) {
      node_error(n, WEFT_MALFORMED, "'size' holds %lld", (long long)extents[k]);
      return NULL;
    }
  if (!mul_i64(shape[0], shape[1], &cost) || !node_spend(n, cost))
    return NULL;
  Tensor *t = tensor_new(n->im->ctx, dtype, 2, shape);
  for (int64_t point = 0; point < shape[0]; point++) {
    int64_t rest = point;
    for (int k = spatial - 1; k >= 0; k--) {
      tensor_set(t, point * shape[1] + spatial - 1 - k, place(rest % extents[k], extents[k], align));
      rest /= extents[k];
    }
    tensor_set(t, point * shape[1] + spatial, 1);
  }
  return node_constant(n, t);
}

/* Each point, with a 1, times the rows of theta. */
bool onnx_affine_grid(ImportNode *n) {
  Value *theta = node_in(n, 0);
  Ints size = node_known_ints(n, 1, "size");
  bool align = node_flag(n, "align_corners", false);
  int spatial = size.n - 2;
  if (n->failed)
    return false;
  if (spatial < 2 || spatial > MAX_SPATIAL || node_rank(theta) != 3 || node_extent(theta, 0) != size.v[0] ||
      node_extent(theta, 1) != spatial || node_extent(theta, 2) != spatial + 1)
    return node_error(n, WEFT_MALFORMED,
                      "'size' has %d numbers and %s is %s, expected [N,2,3] or [N,3,4] of 4 or 5 numbers", size.n,
                      node_in_text(n, 0), type_text(n->im->ctx, theta->type));
  Value *points = all_points(n, theta->type->dtype, size.v + 2, spatial, align);
  if (n->failed)
    return false;
  Op *op = NODE_OP(n, OP_EINSUM, points, theta);
  op_set_text(n->im->ctx, op, "equation", "pk,nik->npi");
  int64_t shape[WEFT_MAX_RANK] = {size.v[0]};
  memcpy(shape + 1, size.v + 2, (size_t)spatial * sizeof *shape);
  shape[spatial + 1] = spatial;
  return node_result(n, 0, node_reshape(n, node_finish(n, op), shape, spatial + 2));
}
