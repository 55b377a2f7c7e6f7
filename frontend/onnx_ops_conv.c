/* Convolutions, transposed convolutions and pools: what they share is the window. `auto_pad` and `output_shape` become
 * numbers here; where the standard's text is vague ONNX Runtime's behaviour holds.
 *
 * With window w = dilation * (kernel - 1) + 1 and stride s, along one axis of extent i:
 *   convolution, pool  SAME_*: total = max(0, (ceil(i / s) - 1) * s + w - i)
 *   transposed         full = s * (i - 1) + output_padding + w, total = max(0, full - wanted), wanted = output_shape,
 * or i * s for SAME_*; what is wanted beyond `full` is appended at the end and of an odd total the larger half lies at
 * the end for SAME_UPPER, else at the begin. VALID: no padding. */
#include "frontend/onnx_ops.h"

#define MAX_SPATIAL 3
#define LIMIT ((int64_t)1 << 31) /* of attributes, to keep sums of products far from overflow */

typedef enum { PAD_NOTSET, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID } AutoPad;

typedef struct {
  int spatial;
  AutoPad auto_pad;
  int64_t in[MAX_SPATIAL], kernel[MAX_SPATIAL], strides[MAX_SPATIAL], dilation[MAX_SPATIAL], pads[2 * MAX_SPATIAL];
  bool has_pads;
} Window;

/* One number an axis, `otherwise` where absent, each in lo..LIMIT. */
static void read_spatial(ImportNode *n, const char *name, const Window *w, int64_t otherwise, int64_t lo,
                         int64_t *out) {
  Ints given = node_ints(n, name, w->spatial);
  for (int k = 0; k < w->spatial; k++) {
    out[k] = given.given ? given.v[k] : otherwise;
    if (out[k] < lo || out[k] > LIMIT) {
      node_error(n, WEFT_MALFORMED, "attribute '%s' holds %lld, expected %lld to %lld", name, (long long)out[k],
                 (long long)lo, (long long)LIMIT);
      out[k] = otherwise;
    }
  }
}

/* The attributes that all windows have; kernel is set by the caller. False after a fault. */
static bool read_window(ImportNode *n, Window *w) {
  Value *x = node_in(n, 0);
  if (node_expect_rank(n, 0, 3, WEFT_MAX_RANK) && node_rank(x) > MAX_SPATIAL + 2)
    node_error(n, WEFT_UNSUPPORTED, "%s is %s; windows of 1 to 3 spatial axes are supported", node_in_text(n, 0),
               type_text(n->im->ctx, x->type));
  if (n->failed)
    return false;
  *w = (Window){.spatial = node_rank(x) - 2};
  for (int k = 0; k < w->spatial; k++)
    w->in[k] = node_extent(x, k + 2);
  w->auto_pad = (AutoPad)node_word(n, "auto_pad", "NOTSET|SAME_UPPER|SAME_LOWER|VALID");
  read_spatial(n, "strides", w, 1, 1, w->strides);
  Ints pads = node_ints(n, "pads", 2 * w->spatial);
  for (int k = 0; k < 2 * w->spatial && pads.given && !n->failed; k++) {
    w->pads[k] = pads.v[k];
    w->has_pads = w->has_pads || pads.v[k] != 0;
    if (pads.v[k] < -LIMIT || pads.v[k] > LIMIT)
      return node_error(n, WEFT_MALFORMED, "attribute 'pads' holds %lld", (long long)pads.v[k]);
  }
  if (w->auto_pad != PAD_NOTSET && w->has_pads)
    return node_error(n, WEFT_MALFORMED, "attributes 'pads' and 'auto_pad' contradict one another");
  return !n->failed;
}

static void read_dilation(ImportNode *n, Window *w) {
  read_spatial(n, "dilations", w, 1, 1, w->dilation);
}

/* kernel_shape against the operand that is the kernel. */
static bool read_kernel(ImportNode *n, Window *w, int operand) {
  Value *kernel = node_in(n, operand);
  if (!node_expect_rank(n, operand, w->spatial + 2, w->spatial + 2))
    return false;
  Ints given = node_ints(n, "kernel_shape", w->spatial);
  for (int k = 0; k < w->spatial && !n->failed; k++) {
    w->kernel[k] = node_extent(kernel, k + 2);
    if (given.given && given.v[k] != w->kernel[k])
      return node_error(n, WEFT_MALFORMED, "attribute 'kernel_shape' holds %lld along spatial axis %d, but %s is %s",
                        (long long)given.v[k], k, node_in_text(n, operand), type_text(n->im->ctx, kernel->type));
  }
  return !n->failed;
}

static int64_t reach(const Window *w, int k) {
  return w->dilation[k] * (w->kernel[k] - 1) + 1;
}

static void distribute(Window *w, int k, int64_t total) {
  int64_t less = total / 2;
  w->pads[k] = w->auto_pad == PAD_SAME_UPPER ? less : total - less;
  w->pads[w->spatial + k] = total - w->pads[k];
}

static void pad_same(Window *w) {
  for (int k = 0; k < w->spatial; k++) {
    int64_t total = (ceildiv_i64(w->in[k], w->strides[k]) - 1) * w->strides[k] + reach(w, k) - w->in[k];
    distribute(w, k, total > 0 ? total : 0);
  }
}

static bool is_same(const Window *w) {
  return w->auto_pad == PAD_SAME_UPPER || w->auto_pad == PAD_SAME_LOWER;
}

static void set_window(ImportNode *n, Op *op, const Window *w) {
  op_set_ints(n->im->ctx, op, "strides", w->strides, w->spatial);
  op_set_ints(n->im->ctx, op, "dilation", w->dilation, w->spatial);
  op_set_ints(n->im->ctx, op, "padding", w->pads, 2 * w->spatial);
}

/* ---- convolutions ---- */

static Op *conv_op(ImportNode *n, const OpCode *codes, const Window *w, Value *data, Value *kernel, Value *bias) {
  Op *op = NODE_OP(n, codes[w->spatial - 1], data, kernel, bias);
  set_window(n, op, w);
  op_set_int(op, "groups", node_int(n, "group", 1));
  return op;
}

Value *node_conv(ImportNode *n, Value *data, int k, Value *kernel, Value *bias) {
  static const OpCode codes[] = {OP_CONV1D, OP_CONV2D, OP_CONV3D};
  Window w;
  if (!read_window(n, &w))
    return NULL;
  read_dilation(n, &w);
  if (!read_kernel(n, &w, k))
    return NULL;
  if (is_same(&w))
    pad_same(&w);
  return node_finish(n, conv_op(n, codes, &w, data, kernel, bias));
}

bool onnx_conv(ImportNode *n) {
  return node_result(n, 0, node_conv(n, node_in(n, 0), 1, node_in(n, 1), node_in(n, 2)));
}

/* Sets pads from the wanted extents of the result. */
static void solve_pads(Window *w, const int64_t *output_padding, const int64_t *wanted) {
  for (int k = 0; k < w->spatial; k++) {
    int64_t full = w->strides[k] * (w->in[k] - 1) + output_padding[k] + reach(w, k);
    int64_t want = wanted ? wanted[k] : w->in[k] * w->strides[k];
    int64_t total = full - want;
    distribute(w, k, total > 0 ? total : 0);
    if (total < 0 && wanted)
      w->pads[w->spatial + k] = total;
  }
}

bool onnx_conv_transpose(ImportNode *n) {
  static const OpCode codes[] = {OP_CONV1D_TRANSPOSE, OP_CONV2D_TRANSPOSE, OP_CONV3D_TRANSPOSE};
  Window w;
  int64_t output_padding[MAX_SPATIAL];
  if (!read_window(n, &w))
    return false;
  read_dilation(n, &w);
  read_spatial(n, "output_padding", &w, 0, 0, output_padding);
  Ints wanted = node_ints(n, "output_shape", w.spatial);
  for (int k = 0; k < wanted.n && !n->failed; k++)
    if (wanted.v[k] < 0 || wanted.v[k] > LIMIT)
      return node_error(n, WEFT_MALFORMED, "attribute 'output_shape' holds %lld", (long long)wanted.v[k]);
  if (!read_kernel(n, &w, 1))
    return false;
  for (int k = 0; k < w.spatial; k++) /* extents are at most 2^40, attributes 2^31: the products fit together */
    if (w.in[k] > LIMIT || w.kernel[k] > LIMIT)
      return node_error(n, WEFT_MALFORMED, "spatial axis %d has extent %lld, the kernel %lld; expected at most %lld", k,
                        (long long)w.in[k], (long long)w.kernel[k], (long long)LIMIT);
  if (wanted.given || is_same(&w))
    solve_pads(&w, output_padding, wanted.given ? wanted.v : NULL);
  Op *op = conv_op(n, codes, &w, node_in(n, 0), node_in(n, 1), node_in(n, 2));
  op_set_ints(n->im->ctx, op, "output_padding", output_padding, w.spatial);
  return node_result(n, 0, node_finish(n, op));
}

/* ---- pools ---- */

static bool read_pool(ImportNode *n, Window *w, bool dilations, bool ceil_mode, bool *ceil) {
  if (!read_window(n, w))
    return false;
  if (!node_attr(n, "kernel_shape"))
    return node_error(n, WEFT_MALFORMED, "attribute 'kernel_shape' is missing");
  read_spatial(n, "kernel_shape", w, 1, 1, w->kernel);
  for (int k = 0; k < w->spatial; k++)
    w->dilation[k] = 1;
  if (dilations)
    read_dilation(n, w);
  *ceil = ceil_mode && node_flag(n, "ceil_mode", false);
  if (!n->failed && is_same(w))
    pad_same(w);
  return !n->failed;
}

static Op *pool_op(ImportNode *n, const OpCode *codes, const Window *w, bool ceil) {
  Op *op = NODE_OP(n, codes[w->spatial - 1], node_in(n, 0));
  set_window(n, op, w);
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
  set_window(n, op, &w);
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
