/* Operators of signal processing. */
#include "frontend/onnx_ops.h"

#include <math.h>

/* ---- windows ---- */

/* a0 - a1 cos(w) + a2 cos(2w), w = 2 pi k / N, N the size, or one less where the window is not periodic. */
static bool cosine_window(ImportNode *n, double a0, double a1, double a2) {
  const Tensor *size = node_need_known(n, 0, "size");
  bool periodic = node_flag(n, "periodic", true);
  DType to = node_dtype(n, node_int(n, "output_datatype", 1), "attribute 'output_datatype'");
  if (n->failed)
    return false;
  int64_t count = size->n == 1 && dtype_is_int(size->dtype) ? (int64_t)tensor_get(size, 0) : -1;
  if (count < 0)
    return node_error(n, WEFT_MALFORMED, "the size is no number from 0");
  if (!node_spend(n, count))
    return false;
  Tensor *t = tensor_new(n->im->ctx, to, 1, &count);
  double whole = (double)(periodic ? count : count - 1);
  for (int64_t k = 0; k < count; k++) {
    double w = whole > 0 ? 2 * M_PI * (double)k / whole : 0;
    tensor_set(t, k, a0 - a1 * cos(w) + a2 * cos(2 * w));
  }
  return node_result(n, 0, node_constant(n, t));
}

bool onnx_hann_window(ImportNode *n) {
  return cosine_window(n, 0.5, 0.5, 0);
}

bool onnx_hamming_window(ImportNode *n) {
  return cosine_window(n, 25.0 / 46, 21.0 / 46, 0);
}

bool onnx_blackman_window(ImportNode *n) {
  return cosine_window(n, 0.42, 0.5, 0.08);
}
