/* Halos of the data of convNd and convNd_transpose (ir/layout.h): zeros around it that stand for the padding, so that
 * every tap of every output reads an element and no loop needs a bound. The price is the taps that multiply a zero. */
#ifndef WEFT_IR_OPS_CONV_HALO_H
#define WEFT_IR_OPS_CONV_HALO_H

#include "ir/module.h"

struct LayoutPlan;

/* Convolution and transposed convolution along one spatial axis, in numbers. */
typedef struct {
  int64_t stride, dilation, pad, kernel, input, output;
} HaloAxis;

/* The halo of the input with which every tap of every output reads a place of it; none where there is one output, of a
 * phase if transposed: its taps that read elements are known. There is an output. */
Halo conv_halo_axis(const HaloAxis *axis, bool transposed);
/* Taps of all outputs with that halo, and those of them that read an element of the input. The tap k of output o reads
 * input i with  o*s + k*d - p = i,  transposed  i*s + k*d - p = o. */
void conv_halo_taps(const HaloAxis *axis, bool transposed, double *all, double *valid);

/* Answers plan->halo and plan->halo_work for the op's data, where plan->halo is asked for. */
void conv_plan_halo(const Op *op, struct LayoutPlan *plan, bool transposed);
/* True where a zero of the halo times an element of the kernel is zero: the kernel is a constant without infinities and
 * NaNs, or a view of one. Else the taps that read a halo must stay away. */
bool conv_may_read_halo(const Op *op);

#endif
