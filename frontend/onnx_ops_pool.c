/* Pools and norms over windows and over all spatial axes. */
#include "frontend/onnx_window.h"

static bool read_pool(ImportNode *n, Window *w, bool dilations, bool ceil_mode, bool *ceil) {
  if (!window_read(n, w))
    return false;
  if (!node_attr(n, "kernel_shape"))
    return node_error(n, WEFT_MALFORMED, "attribute 'kernel_shape' is missing");
  window_read_spatial(n, "kernel_shape", w, 1, 1, w->kernel);
  for (int k = 0; k < w->spatial; k++)
    w->dilation[k] = 1;
  if (dilations)
    window_read_dilation(n, w);
  *ceil = ceil_mode && node_flag(n, "ceil_mode", false);
  if (!n->failed && window_is_same(w))
    window_pad_same(w);
  return !n->failed;
}

static Op *pool_op(ImportNode *n, const OpCode *codes, const Window *w, bool ceil) {
  Op *op = NODE_OP(n, codes[w->spatial - 1], node_in(n, 0));
  window_set(n, op, w);
  op_set_ints(n->im->ctx, op, "kernel", w->kernel, w->spatial);
  op_set_int(op, "ceil_mode", ceil);
  return op;
}

static Value *number(ImportNode *n, int64_t v) {
  return node_ints_value(n, &v, 1, 0);
}

/* Places in x, row-major over all axes, counted with the first spatial axis innermost instead; those below 0 stay. */
static Value *column_major(ImportNode *n, Value *places, const Value *x) {
  int64_t plane = 1, stride = 1;
  int rank = node_rank(x);
  for (int k = 2; k < rank; k++)
    plane *= node_extent(x, k);
  Value *in_plane = NODE_MAKE(n, OP_FLOOR_MOD, places, number(n, plane));
  Value *v = NODE_MAKE(n, OP_SUB, places, in_plane);
  for (int k = 2; k < rank; k++) {
    int64_t extent = node_extent(x, k);
    plane = extent ? plane / extent : 0; /* of the axes behind */
    Value *at = NODE_MAKE(n, OP_FLOOR_MOD, NODE_MAKE(n, OP_DIV, in_plane, number(n, plane)), number(n, extent));
    v = NODE_MAKE(n, OP_ADD, v, NODE_MAKE(n, OP_MUL, at, number(n, stride)));
    stride *= extent;
  }
  return NODE_MAKE(n, OP_WHERE, NODE_MAKE(n, OP_LESS, places, number(n, 0)), places, v);
}

bool onnx_max_pool(ImportNode *n) {
  static const OpCode codes[] = {OP_MAX_POOL1D, OP_MAX_POOL2D, OP_MAX_POOL3D};
  static const OpCode index_codes[] = {OP_MAX_POOL1D_INDICES, OP_MAX_POOL2D_INDICES, OP_MAX_POOL3D_INDICES};
  Window w;
  bool ceil, new = n->im->opset >= 10;
  if (!read_pool(n, &w, new, new, &ceil))
    return false;
  bool columns = n->im->opset >= 8 && node_flag(n, "storage_order", false);
  if (n->n_outputs > 1) {
    Value *places = node_finish(n, pool_op(n, index_codes, &w, ceil));
    node_result(n, 1, columns ? column_major(n, places, node_in(n, 0)) : places);
  }
  return node_result(n, 0, node_finish(n, pool_op(n, codes, &w, ceil)));
}

/* The extents that x, the result of a pool, was made of as far as the window tells, and what `wanted` (or NULL) has
 * beyond them. False where there are none; *size: the product. */
static bool unpooled_shape(const Value *x, const Window *w, const int64_t *wanted, int64_t *shape, int64_t *beyond,
                           int64_t *size) {
  *size = 1;
  for (int k = 0; k < w->spatial + 2; k++) {
    int j = k - 2;
    shape[k] = node_extent(x, k);
    if (k >= 2 && shape[k] > WINDOW_LIMIT)
      return false;
    if (k >= 2)
      shape[k] = (shape[k] - 1) * w->strides[j] + w->kernel[j] - w->pads[j] - w->pads[w->spatial + j];
    beyond[k] = wanted ? wanted[k] - shape[k] : 0;
    if (shape[k] < 0 || beyond[k] < 0 || !mul_i64(*size, shape[k], size) || *size > WEFT_MAX_ELEMENTS)
      return false;
  }
  return true;
}

/* Zeros but for the elements of x at their places, row-major in a tensor of the extents that the window tells; zeros
 * beyond it where a larger shape is given. */
bool onnx_max_unpool(ImportNode *n) {
  Window w;
  bool ceil;
  if (node_attr(n, "auto_pad"))
    return node_error(n, WEFT_MALFORMED, "attribute 'auto_pad' is none of this operator");
  if (!read_pool(n, &w, false, false, &ceil))
    return false;
  Value *x = node_in(n, 0), *places = node_in(n, 1);
  Ints wanted = node_known_ints(n, 2, "output_shape");
  int64_t shape[WEFT_MAX_RANK], padding[2 * WEFT_MAX_RANK] = {0}, size, count = 1;
  int rank = node_rank(x);
  if (n->failed)
    return false;
  if (!type_same_extents(x->type, places->type) || (wanted.given && wanted.n != rank))
    return node_error(n, WEFT_MALFORMED,
                      "the operands are %s and %s, 'output_shape' has %d numbers; expected equal shapes "
                      "and a number for each axis, or none",
                      type_text(n->im->ctx, x->type), type_text(n->im->ctx, places->type), wanted.n);
  if (!unpooled_shape(x, &w, wanted.v, shape, padding + rank, &size))
    return node_error(n, WEFT_MALFORMED, "%s cannot be unpooled to %s", type_text(n->im->ctx, x->type),
                      wanted.given ? "'output_shape'" : "what the attributes say");
  for (int k = 0; k < rank; k++)
    count *= node_extent(x, k);
  Value *flat = node_filled(n, x->type->dtype, 0, &size, 1);
  Value *at = node_reshape(n, places, (int64_t[]){count, 1}, 2);
  Value *v = NODE_MAKE(n, OP_SCATTER_ND, flat, at, node_reshape(n, x, &count, 1));
  Op *pad = NODE_OP(n, OP_PAD, node_reshape(n, v, shape, rank));
  op_set_ints(n->im->ctx, pad, "padding", padding, 2 * rank);
  return node_result(n, 0, node_finish(n, pad));
}

bool onnx_average_pool(ImportNode *n) {
  static const OpCode codes[] = {OP_AVG_POOL1D, OP_AVG_POOL2D, OP_AVG_POOL3D};
  Window w;
  bool ceil;
  if (!read_pool(n, &w, n->im->opset >= 19, n->im->opset >= 10, &ceil))
    return false;
  Op *op = pool_op(n, codes, &w, ceil);
  op_set_int(op, "count_include_pad", node_flag(n, "count_include_pad", false));
  return node_result(n, 0, node_finish(n, op));
}

bool onnx_global_pool(ImportNode *n) {
  Value *x = node_in(n, 0);
  int64_t axes[WEFT_MAX_RANK];
  if (!node_expect_rank(n, 0, 3, WEFT_MAX_RANK))
    return false;
  for (int k = 2; k < node_rank(x); k++)
    axes[k - 2] = k;
  Op *op = NODE_OP(n, n->row->code, x);
  op_set_ints(n->im->ctx, op, "axes", axes, node_rank(x) - 2);
  return node_result(n, 0, node_finish(n, op));
}

/* ---- norms over windows ---- */

static int64_t norm_order(ImportNode *n) {
  int64_t p = node_int(n, "p", 2);
  if (p < 1)
    node_error(n, WEFT_MALFORMED, "attribute 'p' is %lld, expected at least 1", (long long)p);
  return p < 1 ? 1 : p;
}

/* (sum of |x|^p)^(1/p): the sum is the mean, padding counted, times the number of taps. */
bool onnx_lp_pool(ImportNode *n) {
  static const OpCode codes[] = {OP_AVG_POOL1D, OP_AVG_POOL2D, OP_AVG_POOL3D};
  Window w;
  bool ceil, new = n->im->opset >= 18;
  int64_t p = norm_order(n);
  if (!read_pool(n, &w, new, new, &ceil))
    return false;
  if (ceil)
    return node_error(n, WEFT_UNSUPPORTED, "attribute 'ceil_mode' is 1, only 0 is supported");
  Value *x = node_in(n, 0);
  double taps = 1;
  for (int k = 0; k < w.spatial; k++)
    taps *= (double)w.kernel[k];
  Op *op =
      NODE_OP(n, codes[w.spatial - 1], NODE_MAKE(n, OP_POW, NODE_MAKE(n, OP_ABS, x), node_number(n, x, (double)p)));
  window_set(n, op, &w);
  op_set_ints(n->im->ctx, op, "kernel", w.kernel, w.spatial);
  op_set_int(op, "count_include_pad", 1);
  Value *sum = NODE_MAKE(n, OP_MUL, node_finish(n, op), node_number(n, x, taps));
  return node_result(n, 0, NODE_MAKE(n, OP_POW, sum, node_number(n, x, 1.0 / (double)p)));
}

bool onnx_global_lp_pool(ImportNode *n) {
  Value *x = node_in(n, 0);
  int64_t p = norm_order(n), axes[WEFT_MAX_RANK];
  if (!node_expect_rank(n, 0, 3, WEFT_MAX_RANK))
    return false;
  for (int k = 2; k < node_rank(x); k++)
    axes[k - 2] = k;
  Value *v = NODE_MAKE(n, OP_POW, NODE_MAKE(n, OP_ABS, x), node_number(n, x, (double)p));
  v = node_reduce(n, OP_REDUCE_SUM, v, axes, node_rank(x) - 2, true);
  return node_result(n, 0, NODE_MAKE(n, OP_POW, v, node_number(n, x, 1.0 / (double)p)));
}
