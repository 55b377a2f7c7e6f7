/* Convolutions and transposed convolutions. `auto_pad` and `output_shape` become numbers here; where the standard's
 * text is vague ONNX Runtime's behaviour holds. Of a transposed one, with window w and stride s along an axis of extent
 * i,
 *
 *   full = s * (i - 1) + output_padding + w, total = max(0, full - wanted), wanted = output_shape, or i * s for SAME_*
 *
 * elements are cropped; what is wanted beyond `full` is appended at the end, and an odd total lies as in onnx_window.h.
 */
#include "frontend/onnx_window.h"

static Op *conv_op(ImportNode *n, const OpCode *codes, const Window *w, Value *data, Value *kernel, Value *bias) {
  Op *op = NODE_OP(n, codes[w->spatial - 1], data, kernel, bias);
  window_set(n, op, w);
  op_set_int(op, "groups", node_int(n, "group", 1));
  return op;
}

Value *node_conv(ImportNode *n, Value *data, int k, Value *kernel, Value *bias) {
  static const OpCode codes[] = {OP_CONV1D, OP_CONV2D, OP_CONV3D};
  Window w;
  if (!window_read(n, &w))
    return NULL;
  window_read_dilation(n, &w);
  if (!window_read_kernel(n, &w, k))
    return NULL;
  if (window_is_same(&w))
    window_pad_same(&w);
  return node_finish(n, conv_op(n, codes, &w, data, kernel, bias));
}

bool onnx_conv(ImportNode *n) {
  return node_result(n, 0, node_conv(n, node_in(n, 0), 1, node_in(n, 1), node_in(n, 2)));
}

/* Sets pads from the wanted extents of the result. */
static void solve_pads(Window *w, const int64_t *output_padding, const int64_t *wanted) {
  for (int k = 0; k < w->spatial; k++) {
    int64_t full = w->strides[k] * (w->in[k] - 1) + output_padding[k] + window_reach(w, k);
    int64_t want = wanted ? wanted[k] : w->in[k] * w->strides[k];
    int64_t total = full - want;
    window_distribute(w, k, total > 0 ? total : 0);
    if (total < 0 && wanted)
      w->pads[w->spatial + k] = total;
  }
}

bool onnx_conv_transpose(ImportNode *n) {
  static const OpCode codes[] = {OP_CONV1D_TRANSPOSE, OP_CONV2D_TRANSPOSE, OP_CONV3D_TRANSPOSE};
  Window w;
  int64_t output_padding[WINDOW_MAX_SPATIAL];
  if (!window_read(n, &w))
    return false;
  window_read_dilation(n, &w);
  window_read_spatial(n, "output_padding", &w, 0, 0, output_padding);
  Ints wanted = node_ints(n, "output_shape", w.spatial);
  for (int k = 0; k < wanted.n && !n->failed; k++)
    if (wanted.v[k] < 0 || wanted.v[k] > WINDOW_LIMIT)
      return node_error(n, WEFT_MALFORMED, "attribute 'output_shape' holds %lld", (long long)wanted.v[k]);
  if (!window_read_kernel(n, &w, 1))
    return false;
  for (int k = 0; k < w.spatial; k++) /* extents are at most 2^40, attributes 2^31: the products fit together */
    if (w.in[k] > WINDOW_LIMIT || w.kernel[k] > WINDOW_LIMIT)
      return node_error(n, WEFT_MALFORMED, "spatial axis %d has extent %lld, the kernel %lld; expected at most %lld", k,
                        (long long)w.in[k], (long long)w.kernel[k], (long long)WINDOW_LIMIT);
  if (wanted.given || window_is_same(&w))
    solve_pads(&w, output_padding, wanted.given ? wanted.v : NULL);
  Op *op = conv_op(n, codes, &w, node_in(n, 0), node_in(n, 1), node_in(n, 2));
  op_set_ints(n->im->ctx, op, "output_padding", output_padding, w.spatial);
  return node_result(n, 0, node_finish(n, op));
}
