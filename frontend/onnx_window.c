/* Windows of ONNX nodes. See onnx_window.h. */
#include "frontend/onnx_window.h"

void window_read_spatial(ImportNode *n, const char *name, const Window *w, int64_t otherwise, int64_t lo,
                         int64_t *out) {
  Ints given = node_ints(n, name, w->spatial);
  for (int k = 0; k < w->spatial; k++) {
    out[k] = given.given ? given.v[k] : otherwise;
    if (out[k] < lo || out[k] > WINDOW_LIMIT) {
      node_error(n, WEFT_MALFORMED, "attribute '%s' holds %lld, expected %lld to %lld", name, (long long)out[k],
                 (long long)lo, (long long)WINDOW_LIMIT);
      out[k] = otherwise;
    }
  }
}

bool window_read(ImportNode *n, Window *w) {
  Value *x = node_in(n, 0);
  if (node_expect_rank(n, 0, 3, WEFT_MAX_RANK) && node_rank(x) > WINDOW_MAX_SPATIAL + 2)
    node_error(n, WEFT_UNSUPPORTED, "%s is %s; windows of 1 to 3 spatial axes are supported", node_in_text(n, 0),
               type_text(n->im->ctx, x->type));
  if (n->failed)
    return false;
  *w = (Window){.spatial = node_rank(x) - 2};
  for (int k = 0; k < w->spatial; k++)
    w->in[k] = node_extent(x, k + 2);
  w->auto_pad = (AutoPad)node_word(n, "auto_pad", "NOTSET|SAME_UPPER|SAME_LOWER|VALID");
  window_read_spatial(n, "strides", w, 1, 1, w->strides);
  Ints pads = node_ints(n, "pads", 2 * w->spatial);
  for (int k = 0; k < 2 * w->spatial && pads.given && !n->failed; k++) {
    w->pads[k] = pads.v[k];
    w->has_pads = w->has_pads || pads.v[k] != 0;
    if (pads.v[k] < -WINDOW_LIMIT || pads.v[k] > WINDOW_LIMIT)
      return node_error(n, WEFT_MALFORMED, "attribute 'pads' holds %lld", (long long)pads.v[k]);
  }
  if (w->auto_pad != PAD_NOTSET && w->has_pads)
    return node_error(n, WEFT_MALFORMED, "attributes 'pads' and 'auto_pad' contradict one another");
  return !n->failed;
}

void window_read_dilation(ImportNode *n, Window *w) {
  window_read_spatial(n, "dilations", w, 1, 1, w->dilation);
}

bool window_read_kernel(ImportNode *n, Window *w, int operand) {
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

int64_t window_reach(const Window *w, int k) {
  return w->dilation[k] * (w->kernel[k] - 1) + 1;
}

void window_distribute(Window *w, int k, int64_t total) {
  int64_t less = total / 2;
  w->pads[k] = w->auto_pad == PAD_SAME_UPPER ? less : total - less;
  w->pads[w->spatial + k] = total - w->pads[k];
}

void window_pad_same(Window *w) {
  for (int k = 0; k < w->spatial; k++) {
    int64_t total = (ceildiv_i64(w->in[k], w->strides[k]) - 1) * w->strides[k] + window_reach(w, k) - w->in[k];
    window_distribute(w, k, total > 0 ? total : 0);
  }
}

bool window_is_same(const Window *w) {
  return w->auto_pad == PAD_SAME_UPPER || w->auto_pad == PAD_SAME_LOWER;
}

void window_set(ImportNode *n, Op *op, const Window *w) {
  op_set_ints(n->im->ctx, op, "strides", w->strides, w->spatial);
  op_set_ints(n->im->ctx, op, "dilation", w->dilation, w->spatial);
  op_set_ints(n->im->ctx, op, "padding", w->pads, 2 * w->spatial);
}
