/* Sampling at the points of a grid, for its two files (ir/ops and lower/ops).
 *
 * Along a spatial axis of extent N, the grid's number g names the position
 *   p = ((g + 1) N - 1) / 2, or with align_corners (g + 1) (N - 1) / 2
 * which the taps first..first+T-1 interpolate: nearest round(p), ties to even; linear floor(p) and the next one,
 * weights 1 - |p - i|; cubic floor(p) - 1 and three more, weights by the cubic convolution kernel with a = -0.75. A tap
 * i outside of 0..N-1 is 0, that of the border, or the one that i is reflected to: at -1/2 and N - 1/2, with
 * align_corners at 0 and N - 1, as often as it takes. */
#ifndef WEFT_IR_OPS_GRID_SAMPLE_H
#define WEFT_IR_OPS_GRID_SAMPLE_H

#include "ir/ops/ops.h"

enum { GRID_DATA, GRID_POINTS };
typedef enum { GRID_LINEAR, GRID_NEAREST, GRID_CUBIC } GridMode;
typedef enum { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION } GridPadding;

#define GRID_CUBIC_A (-0.75)
/* Positions are limited to so many points beyond the axis (reflection: from 0), where they no longer matter: what is
 * not finite becomes a position, too. */
#define GRID_BEYOND 8.0
#define GRID_FARTHEST 1e9

typedef struct {
  GridMode mode;
  GridPadding padding;
  bool align_corners;
  int spatial, taps; /* taps: along each axis */
} GridSpec;

GridSpec grid_spec(const Op *op);

#endif
