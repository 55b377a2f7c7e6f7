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

/* ---- Fourier transforms, as products with a matrix ---- */

static bool spend_table(ImportNode *n, const int64_t shape[2]) {
  int64_t size;
  return node_spend(n, mul_i64(shape[0], shape[1], &size) ? size : INT64_MAX);
}

typedef struct {
  int64_t length; /* N of the definition */
  bool inverse, onesided;
} Transform;

/* With w = 2 pi k n / N and a complex number as the pair of its parts:
 *
 *   forward  out[k] = sum over n of x[n] * (cos w, -sin w)          inverse  out[k] = 1/N sum of x[n] * (cos w, sin w)
 *
 * onesided keeps k = 0..N/2 of a forward one. An inverse one takes those as its input and gives the real part alone:
 * the others are their conjugates, so that each counts twice but for n = 0 and n = N/2. The matrix has rows (n, part)
 * for n < inputs and columns (k, part) for k < outputs. */
static Value *transform_matrix(ImportNode *n, Transform t, int64_t inputs, int parts, int64_t outputs, int out_parts,
                               DType dtype) {
  int64_t shape[2] = {inputs * parts, outputs * out_parts};
  if (!spend_table(n, shape))
    return NULL;
  Tensor *m = tensor_new(n->im->ctx, dtype, 2, shape);
  for (int64_t i = 0; i < inputs; i++)
    for (int64_t k = 0; k < outputs; k++) {
      double w = 2 * M_PI * (double)(k * i % t.length) / (double)t.length;
      double scale = t.inverse ? 1 / (double)t.length : 1, sine = t.inverse ? sin(w) : -sin(w);
      if (t.inverse && t.onesided && i > 0 && 2 * i != t.length)
        scale *= 2;
      const double part[2][2] = {{cos(w), sine}, {-sine, cos(w)}}; /* 1 and i, times the root of unity */
      for (int a = 0; a < parts; a++)
        for (int b = 0; b < out_parts; b++)
          tensor_set(m, (i * parts + a) * shape[1] + k * out_parts + b, scale * part[a][b]);
    }
  return node_constant(n, m);
}

/* x with axis `from` in place `to`, the others in their order. */
static Value *move_axis(ImportNode *n, Value *x, int from, int to) {
  int64_t perm[WEFT_MAX_RANK];
  for (int k = 0, next = 0; k < node_rank(x); k++) {
    next += next == from;
    perm[k] = k == to ? from : next++;
  }
  return node_transpose(n, x, perm);
}

/* x's last axis is the parts of complex numbers, one or two. */
static Value *transform(ImportNode *n, Value *x, int axis, Transform t) {
  int64_t shape[WEFT_MAX_RANK], rows = 1;
  int rank = node_rank(x), last = rank - 1;
  if (n->failed)
    return NULL;
  int parts = (int)node_extent(x, last), out_parts = t.inverse && t.onesided ? 1 : 2;
  int64_t half = t.length / 2 + 1, wanted = out_parts == 1 ? half : t.length;
  int64_t outputs = t.onesided && !t.inverse ? half : t.length;
  if (node_extent(x, axis) > wanted)
    x = node_slice(n, x, axis, 0, wanted);
  int64_t inputs = node_extent(x, axis);
  DType own = x->type->dtype, work = own == DT_F64 ? DT_F64 : DT_F32;
  x = move_axis(n, node_cast(n, x, work), axis, last - 1);
  node_shape(x, shape);
  for (int k = 0; k < last - 1; k++)
    rows *= shape[k];
  Value *m = transform_matrix(n, t, inputs, parts, outputs, out_parts, work);
  x = node_matmul(n, node_reshape(n, x, (int64_t[]){rows, inputs * parts}, 2), m);
  shape[last - 1] = outputs;
  shape[last] = out_parts;
  x = move_axis(n, node_reshape(n, x, shape, rank), last - 1, axis);
  return node_cast(n, x, own);
}

/* Operand k, one known number from `least` on; `otherwise` where it is omitted. */
static int64_t known_count(ImportNode *n, int k, const char *what, int64_t least, int64_t otherwise) {
  Ints given = node_known_ints(n, k, what);
  int64_t v = given.given && given.n == 1 ? given.v[0] : otherwise;
  if (!n->failed && ((given.given && given.n != 1) || v < least || v > WEFT_MAX_ELEMENTS))
    node_error(n, WEFT_MALFORMED, "'%s' is %lld, expected one number from %lld on", what, (long long)v,
               (long long)least);
  return n->failed ? least : v;
}

static bool expect_parts(ImportNode *n, const Value *x) {
  int64_t parts = node_extent(x, node_rank(x) - 1);
  if (!n->failed && (!dtype_is_float(x->type->dtype) || (parts != 1 && parts != 2)))
    node_error(n, WEFT_MALFORMED, "%s is %s, expected floats, the last axis of extent 1 or 2: the parts of a number",
               node_in_text(n, 0), type_text(n->im->ctx, x->type));
  return !n->failed;
}

bool onnx_dft(ImportNode *n) {
  Value *x = node_in(n, 0);
  int rank = node_rank(x);
  bool new = n->im->opset >= 20;
  Transform t = {.inverse = node_flag(n, "inverse", false), .onesided = node_flag(n, "onesided", false)};
  int64_t given = new ? -2 : node_int(n, "axis", 1);
  if (new && node_has(n, 2)) {
    Ints v = node_known_ints(n, 2, "axis");
    given = v.n == 1 ? v.v[0] : rank;
  }
  if (!node_expect_rank(n, 0, 2, WEFT_MAX_RANK) || !expect_parts(n, x))
    return false;
  int axis = node_axis(n, given, rank, "axis");
  if (!n->failed && axis == rank - 1)
    return node_error(n, WEFT_MALFORMED, "'axis' is %lld, the parts of a number, expected another axis of %s",
                      (long long)given, type_text(n->im->ctx, x->type));
  int64_t extent = node_extent(x, axis), whole = t.inverse && t.onesided ? 2 * (extent - 1) : extent;
  t.length = known_count(n, 1, "dft_length", 1, whole);
  return node_result(n, 0, transform(n, x, axis, t));
}

/* Frames of the signal [batch, length, parts], each times the window, then transformed. */
bool onnx_stft(ImportNode *n) {
  Value *x = node_in(n, 0), *window = node_in(n, 2);
  if (!node_expect_rank(n, 0, 3, 3) || (window && !node_expect_rank(n, 2, 1, 1)) || !expect_parts(n, x))
    return false;
  int64_t extent = node_extent(x, 1), step = known_count(n, 1, "frame_step", 1, 0);
  int64_t length = known_count(n, 3, "frame_length", 1, window ? node_extent(window, 0) : extent);
  Transform t = {.length = length, .onesided = node_flag(n, "onesided", true)};
  if (!n->failed && (length > extent || (window && node_extent(window, 0) != length)))
    return node_error(n, WEFT_MALFORMED, "frames of %lld elements do not fit the signal, %s, or the window",
                      (long long)length, type_text(n->im->ctx, x->type));
  int64_t frames = n->failed ? 0 : (extent - length) / step + 1;
  int64_t shape[2] = {frames, length};
  if (!spend_table(n, shape))
    return false;
  Tensor *at = tensor_new(n->im->ctx, DT_I64, 2, shape);
  for (int64_t k = 0; k < at->n; k++)
    ((int64_t *)at->data)[k] = k / length * step + k % length;
  Op *gather = NODE_OP(n, OP_GATHER, x, node_constant(n, at));
  op_set_int(gather, "axis", 1);
  Value *v = node_finish(n, gather);
  if (window)
    v = NODE_MAKE(n, OP_MUL, v, node_along(n, window, 2, 4));
  return node_result(n, 0, transform(n, v, 2, t));
}

/* ---- mel scale: mel(f) = 2595 log10(1 + f / 700) ---- */

/* One weight of a band that rises from bin `left` to 1 at `center` and falls to bin `right`. */
static double band_weight(int64_t bin, int64_t left, int64_t center, int64_t right) {
  if (bin >= center && bin < right)
    return (double)(right - bin) / (double)(right - center);
  if (bin >= left && bin <= center)
    return left == center ? 1 : (double)(bin - left) / (double)(center - left);
  return 0;
}

/* Bands whose edges are evenly spaced on the mel scale, as bins of a one-sided spectrum. */
bool onnx_mel_weight_matrix(ImportNode *n) {
  int64_t bands = known_count(n, 0, "num_mel_bins", 1, 0), length = known_count(n, 1, "dft_length", 1, 0);
  int64_t rate = known_count(n, 2, "sample_rate", 1, 0), bins = length / 2 + 1;
  double lower = node_known_number(n, 3, "lower_edge_hertz"), upper = node_known_number(n, 4, "upper_edge_hertz");
  DType to = node_dtype(n, node_int(n, "output_datatype", 1), "attribute 'output_datatype'");
  if (!n->failed && !(lower >= 0 && upper >= lower && upper <= (double)rate / 2))
    return node_error(n, WEFT_MALFORMED,
                      "edges of %g and %g Hz, expected 0 <= lower <= upper <= %g, half the sample rate", lower, upper,
                      (double)rate / 2);
  int64_t shape[2] = {bins, bands};
  if (!spend_table(n, shape))
    return false;
  double low = 2595 * log10(1 + lower / 700), step = (2595 * log10(1 + upper / 700) - low) / (double)(bands + 2);
  int64_t *edge = ARENA_ARRAY(n->im->ctx->arena, int64_t, bands + 2);
  for (int64_t k = 0; k < bands + 2; k++)
    edge[k] =
        (int64_t)floor((double)(length + 1) * 700 * (pow(10, (low + step * (double)k) / 2595) - 1) / (double)rate);
  Tensor *t = tensor_new(n->im->ctx, to, 2, shape);
  for (int64_t bin = 0; bin < bins; bin++)
    for (int64_t k = 0; k < bands; k++)
      tensor_set(t, bin * bands + k, band_weight(bin, edge[k], edge[k + 1], edge[k + 2]));
  return node_result(n, 0, node_constant(n, t));
}
