/* What the lowerings of convolution and transposed convolution share: the axes that are not spatial, and the end. */
#ifndef WEFT_LOWER_OPS_CONV_LOWER_H
#define WEFT_LOWER_OPS_CONV_LOWER_H

#include "lower/lower_op.h"

typedef struct {
  int spatial;
  int64_t groups;
  Dim group_in, group_out;   /* channels per group */
  const Expr *n, *g, *oc;    /* axes: batch, group, output channel within the group */
  const Expr *ic;            /* reduction: input channel within the group */
  const Op *op;
} ConvShape;

/* The halo around the data that taps may read, one pair per spatial axis. */
void conv_data_halo(LowerCtx *lc, const Op *op, Halo *halo);
ConvShape conv_shape(LowerCtx *lc, const Op *op, Dim group_in, Dim group_out);
/* Completes and schedules the computation: spatial axes and taps of each output point, `out` their index in the
 * output, `in` in the input, `tap` in the kernel (n of each). taps may be empty (n_taps 0): the bias alone. inner_taps
 * are those that read elements and not the halo, as far as their bounds differ. kernel_index orders the kernel's first
 * two axes. */
bool conv_finish(LowerCtx *lc, const Group *group, const ConvShape *shape, const Expr *const *axes, int n_axes,
                 const Expr *const *taps, const Expr *const *inner_taps, int n_taps, bool any_taps, const Expr *const *out, const Expr *const *in,
                 const Expr *const *tap, bool kernel_input_first);

#endif
