/* Tables for resampling one axis (the op `resample`), as the ONNX operator Resize defines them: for each output index,
 * which inputs it is made of and with what weights.
 *
 * Coordinates. Output o comes from the position p in the input, with `in` the input's extent, s the scale, and
 * length = s * in, which need not be integral (so the operator's reference has it for align_corners and
 * tf_crop_and_resize):
 *
 *   half_pixel            p = (o + 0.5)/s - 0.5
 *   half_pixel_symmetric  p = in/2 * (1 - out/length) + (o + 0.5)/s - 0.5
 *   pytorch_half_pixel    p = (o + 0.5)/s - 0.5, 0 where length <= 1
 *   align_corners         p = o * (in - 1)/(length - 1), 0 where length = 1
 *   asymmetric            p = o/s
 *   tf_half_pixel_for_nn  p = (o + 0.5)/s
 *   tf_crop_and_resize    p = start*(in - 1) + o*(end - start)*(in - 1)/(length - 1), where length = 1 the middle of
 * the region (start + end)/2 * (in - 1)
 *
 * Interpolation. With base the largest integer less than p and r = p - base in (0, 1]:
 *
 *   nearest   one tap: p itself where integral, else base or base + 1 by the rounding mode
 *   linear    taps base, base + 1 with weights 1 - r, r
 *   cubic     taps base - 1 .. base + 2 with weights K(r + 1), K(r), K(1 - r), K(2 - r)
 *             K(x) = (a + 2)x^3 - (a + 3)x^2 + 1 for x <= 1;  a x^3 - 5a x^2 + 8a x - 4a for 1 < x < 2  (Keys 1981)
 *   antialias with s < 1: taps base + i for all i in the kernel's reach R/s (R = 1 linear, 2 cubic) with weights
 *             proportional to kernel(s*(i - r)), the linear one being max(0, 1 - |x|), normalised to the sum 1
 *
 * Taps outside of the input read its nearest element; with exclude_outside their weight becomes 0 and the others are
 * normalised. For tf_crop_and_resize, positions outside of 0..in-1 are marked: the importer puts the extrapolation
 * value there.
 *
 * Positions are computed in double. For nearest, where a scale that is a float makes a position integral (or a half)
 * but for the scale's own rounding, it is so: 3/0.3f is taken to be 10. */
#ifndef WEFT_IR_RESIZE_TABLE_H
#define WEFT_IR_RESIZE_TABLE_H

#include "ir/ctx.h"

typedef enum { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC } ResizeMode;
typedef enum {
  RESIZE_HALF_PIXEL,
  RESIZE_HALF_PIXEL_SYMMETRIC,
  RESIZE_PYTORCH_HALF_PIXEL,
  RESIZE_ALIGN_CORNERS,
  RESIZE_ASYMMETRIC,
  RESIZE_TF_HALF_PIXEL_FOR_NN,
  RESIZE_TF_CROP_AND_RESIZE
} ResizeCoordinates;
typedef enum { RESIZE_ROUND_PREFER_FLOOR, RESIZE_ROUND_PREFER_CEIL, RESIZE_FLOOR, RESIZE_CEIL } ResizeRounding;

/* The attributes. Names as the standard writes them; -1 for another. */
int resize_mode_find(const char *name, size_t len);        /* nearest, linear, cubic */
int resize_coordinates_find(const char *name, size_t len); /* half_pixel, ... */
int resize_rounding_find(const char *name, size_t len);    /* round_prefer_floor, ... */

typedef struct {
  ResizeMode mode;
  ResizeCoordinates coordinates;
  ResizeRounding rounding; /* nearest */
  double cubic_a;          /* cubic: -0.75 by default */
  bool exclude_outside;    /* linear and cubic */
  bool antialias;          /* linear and cubic */
} ResizeSpec;

typedef struct {
  int64_t outputs, taps;
  int64_t *indices; /* [outputs][taps], each in 0..in-1 */
  double *weights;  /* likewise; NULL for nearest */
  bool *outside;    /* [outputs]; NULL where none is outside */
} ResizeTable;

/* The number of taps of each output. */
int64_t resize_taps(const ResizeSpec *spec, double scale);
/* in and out at least 1, scale > 0, and outputs * taps what memory bears (the caller's to check). start, end: the
 * region, fractions of the axis, for tf_crop_and_resize. */
ResizeTable resize_table(Ctx *ctx, const ResizeSpec *spec, int64_t in, int64_t out, double scale, double start,
                         double end);

#endif
