/* Tables of resampling. See resize_table.h for the formulas, which are those of the ONNX operator Resize (version 19).
 */
#include <math.h>

#include "ir/resize_table.h"

/* ---- names ---- */

static int find_word(const char *const *words, int n, const char *name, size_t len) {
  for (int k = 0; k < n; k++)
    if (strlen(words[k]) == len && memcmp(words[k], name, len) == 0)
      return k;
  return -1;
}

int resize_mode_find(const char *name, size_t len) {
  static const char *const words[] = {"nearest", "linear", "cubic"};
  return find_word(words, 3, name, len);
}

int resize_coordinates_find(const char *name, size_t len) {
  static const char *const words[] = {
      [RESIZE_HALF_PIXEL] = "half_pixel",
      [RESIZE_HALF_PIXEL_SYMMETRIC] = "half_pixel_symmetric",
      [RESIZE_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
      [RESIZE_ALIGN_CORNERS] = "align_corners",
      [RESIZE_ASYMMETRIC] = "asymmetric",
      [RESIZE_TF_HALF_PIXEL_FOR_NN] = "tf_half_pixel_for_nn",
      [RESIZE_TF_CROP_AND_RESIZE] = "tf_crop_and_resize",
  };
  return find_word(words, (int)(sizeof words / sizeof *words), name, len);
}

int resize_rounding_find(const char *name, size_t len) {
  static const char *const words[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  return find_word(words, 4, name, len);
}

/* ---- positions ---- */

typedef struct {
  ResizeCoordinates coordinates;
  double in, out, scale, start, end;
} Axis;

static double position(const Axis *a, double o) {
  double length = a->scale * a->in, last = a->in - 1, half_pixel = (o + 0.5) / a->scale - 0.5;
  switch (a->coordinates) {
  case RESIZE_HALF_PIXEL:
    return half_pixel;
  case RESIZE_HALF_PIXEL_SYMMETRIC:
    return a->in / 2 * (1 - a->out / length) + half_pixel;
  case RESIZE_PYTORCH_HALF_PIXEL:
    return length > 1 ? half_pixel : 0;
  case RESIZE_ALIGN_CORNERS:
    return length == 1 ? 0 : o * last / (length - 1);
  case RESIZE_ASYMMETRIC:
    return o / a->scale;
  case RESIZE_TF_HALF_PIXEL_FOR_NN:
    return (o + 0.5) / a->scale;
  case RESIZE_TF_CROP_AND_RESIZE:
    return length == 1 ? (a->start + a->end) / 2 * last
                       : a->start * last + o * (a->end - a->start) * last / (length - 1);
  }
  WEFT_UNREACHABLE();
}

/* A scale that is a float stands for a number within half a unit in its last place; a position as near as that to a
 * multiple of 1/2, where rounding changes, is taken to be there. */
static double settle(const Axis *a, double p) {
  double nearest = floor(2 * p + 0.5) / 2, error = (fabs(p) + 0.5) * 0x1.01p-24;
  return (double)(float)a->scale == a->scale && fabs(p - nearest) <= error ? nearest : p;
}

/* ---- weights ---- */

#define FARTHEST_TAP ((int64_t)1 << 40) /* more than any table has */

static double kernel(const ResizeSpec *spec, double x) {
  double a = spec->cubic_a;
  x = fabs(x);
  if (spec->mode == RESIZE_LINEAR)
    return x < 1 ? 1 - x : 0;
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double stretch(const ResizeSpec *spec, double scale) {
  return spec->antialias && scale < 1 ? scale : 1;
}

/* The first tap, counted from base: taps are first .. 1 - first. */
static int64_t first_tap(const ResizeSpec *spec, double scale) {
  double reach = spec->mode == RESIZE_LINEAR ? 1 : 2, first = floor(-reach / stretch(spec, scale)) + 1;
  return first < -FARTHEST_TAP ? -FARTHEST_TAP : (int64_t)first;
}

int64_t resize_taps(const ResizeSpec *spec, double scale) {
  return spec->mode == RESIZE_NEAREST ? 1 : 2 - 2 * first_tap(spec, scale);
}

static int64_t clamp(int64_t index, int64_t in) {
  return index < 0 ? 0 : index >= in ? in - 1 : index;
}

static int64_t round_position(ResizeRounding rounding, double p) {
  switch (rounding) {
  case RESIZE_ROUND_PREFER_FLOOR:
    return (int64_t)ceil(p - 0.5);
  case RESIZE_ROUND_PREFER_CEIL:
    return (int64_t)floor(p + 0.5);
  case RESIZE_FLOOR:
    return (int64_t)floor(p);
  case RESIZE_CEIL:
    return (int64_t)ceil(p);
  }
  WEFT_UNREACHABLE();
}

/* One row of the table: taps at base + first + t. */
static void fill_row(const ResizeSpec *spec, double scale, int64_t in, double p, int64_t taps, int64_t *indices,
                     double *weights) {
  double base = ceil(p) - 1, sum = 0, by = stretch(spec, scale);
  int64_t first = first_tap(spec, scale);
  for (int64_t t = 0; t < taps; t++) {
    int64_t index = (int64_t)base + first + t;
    weights[t] = kernel(spec, by * ((double)(first + t) - (p - base)));
    if (spec->exclude_outside && (index < 0 || index >= in))
      weights[t] = 0;
    indices[t] = clamp(index, in);
    sum += weights[t];
  }
  if (sum != 0 && (by < 1 || spec->exclude_outside))
    for (int64_t t = 0; t < taps; t++)
      weights[t] /= sum;
}

static void mark_outside(Ctx *ctx, ResizeTable *table, int64_t o) {
  if (!table->outside)
    table->outside = ARENA_ARRAY(ctx->arena, bool, table->outputs);
  table->outside[o] = true;
}

ResizeTable resize_table(Ctx *ctx, const ResizeSpec *spec, int64_t in, int64_t out, double scale, double start,
                         double end) {
  WEFT_ASSERT(in >= 1 && out >= 1 && scale > 0);
  Axis axis = {spec->coordinates, (double)in, (double)out, scale, start, end};
  ResizeTable table = {.outputs = out, .taps = resize_taps(spec, scale)};
  size_t n = (size_t)(out * table.taps);
  table.indices = ARENA_ARRAY(ctx->arena, int64_t, n);
  if (spec->mode != RESIZE_NEAREST)
    table.weights = ARENA_ARRAY(ctx->arena, double, n);
  for (int64_t o = 0; o < out; o++) {
    double p = position(&axis, (double)o);
    if (spec->coordinates == RESIZE_TF_CROP_AND_RESIZE && (p < 0 || p > axis.in - 1))
      mark_outside(ctx, &table, o);
    p = p < -axis.in ? -axis.in : p > 2 * axis.in ? 2 * axis.in : p; /* far outside: the nearest element alone */
    if (spec->mode == RESIZE_NEAREST)
      table.indices[o] = clamp(round_position(spec->rounding, settle(&axis, p)), in);
    else
      fill_row(spec, scale, in, p, table.taps, table.indices + o * table.taps, table.weights + o * table.taps);
  }
  return table;
}
