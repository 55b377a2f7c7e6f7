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

bool onnx_max_pool(ImportNode *n) {
  static const OpCode codes[] = {OP_MAX_POOL1D, OP_MAX_POOL2D, OP_MAX_POOL3D};
  Window w;
  bool ceil, new = n->im->opset >= 10;
  if (!read_pool(n, &w, new, new, &ceil))
    return false;
  if (n->im->opset >= 8)
    node_flag(n, "storage_order", false); /* of the indices, which are not made */
  return node_result(n, 0, node_finish(n, pool_op(n, codes, &w, ceil)));
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
