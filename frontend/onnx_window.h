/* The window that convolutions, transposed convolutions and pools have in common: read from the attributes of a node,
 * `auto_pad` as numbers. With window w = dilation * (kernel - 1) + 1 and stride s, along one axis of extent i, a
 * convolution or pool with SAME_* has
 *
 *   total = max(0, (ceil(i / s) - 1) * s + w - i)
 *
 * elements of padding; of an odd total the larger half lies at the end for SAME_UPPER, else at the begin. VALID: none.
 */
#ifndef WEFT_FRONTEND_ONNX_WINDOW_H
#define WEFT_FRONTEND_ONNX_WINDOW_H

#include "frontend/onnx_ops.h"

#define WINDOW_MAX_SPATIAL 3
#define WINDOW_LIMIT ((int64_t)1 << 31) /* of attributes, to keep sums of products far from overflow */

typedef enum { PAD_NOTSET, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID } AutoPad;

typedef struct {
  int spatial;
  AutoPad auto_pad;
  int64_t in[WINDOW_MAX_SPATIAL], kernel[WINDOW_MAX_SPATIAL], strides[WINDOW_MAX_SPATIAL];
  int64_t dilation[WINDOW_MAX_SPATIAL], pads[2 * WINDOW_MAX_SPATIAL];
  bool has_pads;
} Window;

/* The attributes that all windows have; kernel is set by the caller. False after a fault. */
bool window_read(ImportNode *n, Window *w);
/* One number an axis, `otherwise` where absent, each in lo..WINDOW_LIMIT. */
void window_read_spatial(ImportNode *n, const char *name, const Window *w, int64_t otherwise, int64_t lo, int64_t *out);
void window_read_dilation(ImportNode *n, Window *w);
/* kernel_shape against the operand that is the kernel. */
bool window_read_kernel(ImportNode *n, Window *w, int operand);
/* dilation * (kernel - 1) + 1 along axis k. */
int64_t window_reach(const Window *w, int k);
bool window_is_same(const Window *w);
/* Sets pads along axis k to so many elements. */
void window_distribute(Window *w, int k, int64_t total);
/* Sets all pads as SAME_* says. */
void window_pad_same(Window *w);
/* strides, dilation and padding of an op. */
void window_set(ImportNode *n, Op *op, const Window *w);

#endif
