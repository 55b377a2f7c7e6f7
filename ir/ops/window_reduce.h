/* Windows of pools, for their two files (ir/ops and lower/ops). Along a spatial axis, window o has the taps
 * k in 0..K at o*stride - begin + k*dilation; those inside the data are reduced. */
#ifndef WEFT_IR_OPS_WINDOW_REDUCE_H
#define WEFT_IR_OPS_WINDOW_REDUCE_H

#include "ir/ops/ops.h"

typedef struct {
  int64_t kernel, stride, dilation, begin, end; /* begin, end: padding */
} Window;

/* Along spatial axis k. */
Window window_of(const Op *op, int k);
/* Axis o's first tap and the end of its taps inside the data of this extent, and the end of those inside the data and
 * the padding behind it. first is never larger than what is left of the padding in front. */
typedef struct {
  const Expr *at; /* the position of tap 0 */
  const Expr *lo, *hi, *padded_hi;
} WindowTaps;
WindowTaps window_taps(Ctx *ctx, const Window *w, Dim extent, const Expr *o);
/* The result of the op, of this element type: data's extents along N and C, the number of windows along the others. NULL
 * after reporting. */
const Type *window_result(Ctx *ctx, const Op *op, DType dtype);
/* True where the op divides by the taps in the padding too. */
bool window_counts_padding(const Op *op);

#endif
