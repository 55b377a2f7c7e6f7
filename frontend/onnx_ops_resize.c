/* Resize and Upsample: each axis whose size or positions change is resampled by a table (ir/resize_table.h), which
 * makes N dimensions out of one, as the standard's interpolation does. Upsample and Resize of opset 10 have one kind of
 * positions, asymmetric, and nearest rounds down. */
#include "frontend/onnx_ops.h"
#include "ir/resize_table.h"

#include <math.h>

#define MAX_TABLE ((int64_t)1 << 22) /* entries */

typedef struct {
  ResizeSpec spec;
  double extrapolation;
  int rank;
  int64_t in[WEFT_MAX_RANK], out[WEFT_MAX_RANK];
  double scale[WEFT_MAX_RANK], start[WEFT_MAX_RANK], end[WEFT_MAX_RANK];
} Resize;

static const char mode_words[] = "nearest|linear|cubic";
static const char coordinate_words[] = "half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|"
                                       "tf_half_pixel_for_nn|tf_crop_and_resize";
static const char rounding_words[] = "round_prefer_floor|round_prefer_ceil|floor|ceil";
_Static_assert(RESIZE_CUBIC == 2 && RESIZE_TF_CROP_AND_RESIZE == 6 && RESIZE_CEIL == 3, "in the order of the words");

static bool begin(ImportNode *n, Resize *r) {
  Value *x = node_in(n, 0);
  *r = (Resize){.rank = node_rank(x)};
  r->spec = (ResizeSpec){.coordinates = RESIZE_ASYMMETRIC, .rounding = RESIZE_FLOOR, .cubic_a = -0.75};
  node_shape(x, r->in);
  for (int k = 0; k < r->rank; k++) {
    r->out[k] = r->in[k];
    r->scale[k] = 1;
    r->end[k] = 1;
  }
  return !n->failed;
}

static void set_out(ImportNode *n, Resize *r, int axis, double extent) {
  if (!(extent >= 0 && extent <= (double)MAX_TABLE))
    node_error(n, WEFT_MALFORMED, "axis %d would have the extent %g", axis, extent);
  else if (extent > 0 && r->in[axis] == 0)
    node_error(n, WEFT_MALFORMED, "axis %d has no elements to interpolate", axis);
  else
    r->out[axis] = (int64_t)extent;
}

/* The scale of one axis. In float, as exporters and other engines have it: 10 * 0.7f is 7. */
static void set_scale(ImportNode *n, Resize *r, int axis, double scale) {
  if (!(scale > 0) || isinf(scale))
    node_error(n, WEFT_MALFORMED, "a scale is %g, expected more than 0", scale);
  r->scale[axis] = scale;
  set_out(n, r, axis, (double)floorf((float)r->in[axis] * (float)scale));
}

static Value *resample(ImportNode *n, Resize *r, Value *x, int axis, const bool **outside) {
  int64_t in = r->in[axis], out = r->out[axis], taps = resize_taps(&r->spec, r->scale[axis]);
  if (n->failed || out == 0)
    return x;
  if (taps > MAX_TABLE / out) {
    node_error(n, WEFT_UNSUPPORTED, "axis %d takes %lld times %lld weights, at most %lld are supported", axis,
               (long long)out, (long long)taps, (long long)MAX_TABLE);
    return NULL;
  }
  if (!node_spend(n, out * taps))
    return NULL;
  ResizeTable table = resize_table(n->im->ctx, &r->spec, in, out, r->scale[axis], r->start[axis], r->end[axis]);
  int64_t shape[2] = {table.outputs, table.taps};
  Tensor *indices = tensor_new(n->im->ctx, DT_I64, 2, shape);
  memcpy(indices->data, table.indices, (size_t)indices->n * sizeof *table.indices);
  Value *weights = NULL;
  if (table.weights) {
    Tensor *t = tensor_new(n->im->ctx, x->type->dtype == DT_F64 ? DT_F64 : DT_F32, 2, shape);
    for (int64_t k = 0; k < t->n; k++)
      tensor_set(t, k, table.weights[k]);
    weights = node_constant(n, t);
  }
  *outside = table.outside;
  Op *op = NODE_OP(n, OP_RESAMPLE, x, node_constant(n, indices), weights);
  op_set_int(op, "axis", axis);
  return node_finish(n, op);
}

/* Puts the extrapolation value where positions along an axis are outside of the input. */
static Value *extrapolate(ImportNode *n, const Resize *r, Value *x, int axis, const bool *outside) {
  if (n->failed || !outside)
    return x;
  Tensor *t = tensor_new(n->im->ctx, DT_BOOL, 1, &r->out[axis]);
  for (int64_t k = 0; k < t->n; k++)
    ((uint8_t *)t->data)[k] = outside[k];
  Value *mask = node_along(n, node_constant(n, t), axis, r->rank);
  return NODE_MAKE(n, OP_WHERE, mask, node_number(n, x, r->extrapolation), x);
}

static bool changes(const Resize *r, int axis) {
  bool same = r->in[axis] == r->out[axis] && r->scale[axis] == 1;
  return !same || r->spec.coordinates == RESIZE_TF_CROP_AND_RESIZE ||
         r->spec.coordinates == RESIZE_TF_HALF_PIXEL_FOR_NN;
}

/* Of integers and bool, only the end result is one, not what is between two axes. */
static bool finish(ImportNode *n, Resize *r) {
  Value *given = node_in(n, 0), *x = r->spec.mode == RESIZE_NEAREST ? given : node_as_floats(n, given);
  const bool *outside[WEFT_MAX_RANK] = {NULL};
  for (int k = 0; k < r->rank; k++)
    if (changes(r, k))
      x = resample(n, r, x, k, &outside[k]);
  for (int k = 0; k < r->rank; k++)
    x = extrapolate(n, r, x, k, outside[k]);
  return node_result(n, 0, n->failed ? NULL : node_cast(n, x, given->type->dtype));
}

/* One scale for each axis of x. */
static bool all_scales(ImportNode *n, Resize *r, Floats scales) {
  if (!n->failed && scales.n != r->rank)
    return node_error(n, WEFT_MALFORMED, "'scales' has %d numbers, expected %d: %s is %s", scales.n, r->rank,
                      node_in_text(n, 0), type_text(n->im->ctx, node_in(n, 0)->type));
  for (int k = 0; k < r->rank && !n->failed; k++)
    set_scale(n, r, k, scales.v[k]);
  return !n->failed;
}

/* Upsample, and Resize of opset 10. */
bool onnx_upsample(ImportNode *n) {
  Resize r;
  if (!begin(n, &r))
    return false;
  r.spec.mode = (ResizeMode)node_word(n, "mode", "nearest|linear");
  if (n->im->opset >= 9)
    return all_scales(n, &r, node_known_floats(n, 1, "scales")) && finish(n, &r);
  const OnnxAttribute *a = node_attr(n, "scales");
  size_t count = a ? a->floats.n : 0;
  double scales[WEFT_MAX_RANK];
  for (size_t k = 0; k < count && k < WEFT_MAX_RANK; k++) {
    float f;
    memcpy(&f, a->floats.items + k * sizeof f, sizeof f);
    scales[k] = (double)f;
  }
  return all_scales(n, &r, (Floats){true, count > WEFT_MAX_RANK ? -1 : (int)count, scales}) && finish(n, &r);
}

/* Which axis number k of scales, sizes or roi is for. */
static bool resized_axes(ImportNode *n, const Resize *r, int *axes, int *count) {
  Ints given = n->im->opset >= 18 ? node_ints(n, "axes", -1) : (Ints){0};
  bool taken[WEFT_MAX_RANK] = {false};
  *count = given.given ? given.n : r->rank;
  if (!n->failed && *count > r->rank)
    return node_error(n, WEFT_MALFORMED, "attribute 'axes' has %d numbers, but the rank is %d", *count, r->rank);
  for (int k = 0; k < *count && !n->failed; k++) {
    axes[k] = given.given ? node_axis(n, given.v[k], r->rank, "axes") : k;
    if (!n->failed && taken[axes[k]])
      return node_error(n, WEFT_MALFORMED, "'axes' names axis %d twice", axes[k]);
    taken[axes[k]] = true;
  }
  return !n->failed;
}

/* The size of each axis is given; with a policy that keeps the proportions they only bound one common scale. */
static void set_sizes(ImportNode *n, Resize *r, const int *axes, Ints sizes, int policy) {
  double common = policy == 1 ? INFINITY : 0;
  for (int k = 0; k < sizes.n && !n->failed; k++) {
    int axis = axes[k];
    set_out(n, r, axis, (double)sizes.v[k]);
    r->scale[axis] = r->in[axis] ? (double)sizes.v[k] / (double)r->in[axis] : 1;
    common = policy == 1 ? fmin(common, r->scale[axis]) : fmax(common, r->scale[axis]);
  }
  for (int k = 0; k < sizes.n && policy && !n->failed; k++) {
    r->scale[axes[k]] = common;
    set_out(n, r, axes[k], floor(common * (double)r->in[axes[k]] + 0.5));
  }
}

static void read_spec(ImportNode *n, Resize *r) {
  r->spec.mode = (ResizeMode)node_word(n, "mode", mode_words);
  r->spec.coordinates = (ResizeCoordinates)node_word(n, "coordinate_transformation_mode", coordinate_words);
  r->spec.rounding = (ResizeRounding)node_word(n, "nearest_mode", rounding_words);
  r->spec.cubic_a = node_float(n, "cubic_coeff_a", -0.75);
  r->spec.exclude_outside = node_flag(n, "exclude_outside", false);
  r->spec.antialias = n->im->opset >= 18 && node_flag(n, "antialias", false);
  r->extrapolation = node_float(n, "extrapolation_value", 0);
}

static void read_region(ImportNode *n, Resize *r, const int *axes, int count) {
  if (r->spec.coordinates != RESIZE_TF_CROP_AND_RESIZE) /* of no matter then, known or not */
    return;
  Floats roi = node_known_floats(n, 1, "roi");
  if (!n->failed && roi.n != 2 * count)
    node_error(n, WEFT_MALFORMED, "'roi' has %d numbers, expected %d: starts, then ends, of the axes", roi.n,
               2 * count);
  for (int k = 0; k < count && !n->failed; k++) {
    r->start[axes[k]] = roi.v[k];
    r->end[axes[k]] = roi.v[count + k];
  }
}

bool onnx_resize(ImportNode *n) {
  Resize r;
  int axes[WEFT_MAX_RANK], count;
  if (!begin(n, &r))
    return false;
  read_spec(n, &r);
  int policy = n->im->opset >= 18 ? node_word(n, "keep_aspect_ratio_policy", "stretch|not_larger|not_smaller") : 0;
  Floats scales = node_known_floats(n, 2, "scales");
  Ints sizes = node_known_ints(n, 3, "sizes");
  if (!resized_axes(n, &r, axes, &count))
    return false;
  read_region(n, &r, axes, count);
  if (!n->failed && (scales.n > 0) == (sizes.n > 0) && count > 0)
    return node_error(n, WEFT_MALFORMED, "expected either 'scales' or 'sizes'");
  int got = scales.n ? scales.n : sizes.n;
  if (!n->failed && got != count)
    return node_error(n, WEFT_MALFORMED, "'%s' has %d numbers, expected %d", scales.n ? "scales" : "sizes", got, count);
  for (int k = 0; k < scales.n && !n->failed; k++)
    set_scale(n, &r, axes[k], scales.v[k]);
  set_sizes(n, &r, axes, sizes, policy);
  return finish(n, &r);
}
