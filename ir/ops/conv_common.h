/* What convNd and convNd_transpose share: reading and checking attributes and operands, layouts, loops over up to three
 * spatial axes by one code path. Private to ir/ops. */
#ifndef WEFT_IR_OPS_CONV_COMMON_H
#define WEFT_IR_OPS_CONV_COMMON_H

#include "ir/ops/ops.h"

/* Operand numbers. */
enum { CONV_DATA, CONV_KERNEL, CONV_BIAS };

/* Attributes, as given. */
typedef struct {
  int spatial;
  const int64_t *strides, *dilation, *begin, *end; /* one per spatial axis */
  const int64_t *output_padding;                   /* NULL: the op has none */
  int64_t groups;
} ConvAttrs;

ConvAttrs conv_attrs(const Op *op);
/* Operand ranks and element types, attribute ranges, kernel extents of at least 1. False after reporting. */
bool conv_check(Ctx *ctx, const Op *op, const ConvAttrs *a);
/* Reports unless extent is `expected`, or one of them is not constant. `of` names what extent is, `because` where
 * expected comes from. */
bool conv_expect_extent(Ctx *ctx, const Op *op, Dim extent, Dim expected, const char *of, const char *because);
/* x * factor in bounds of what an extent may be: NULL after reporting otherwise. factor > 0. */
Dim conv_scale(Ctx *ctx, const Op *op, Dim x, int64_t factor);
/* The result's type from its extents; an extent that is or may be negative is reported, naming the axis. */
const Type *conv_result(Ctx *ctx, const Op *op, const Dim *dims);
/* kernel_perm: the memory order of a constant kernel that the innermost loops read best. */
void conv_plan(Ctx *ctx, const Op *op, LayoutPlan *plan, const int *kernel_perm);

/* A convolution in concrete numbers, always of three spatial axes: missing ones stand in front, with extent 1, stride
 * 1, dilation 1 and no padding. data is the operand of the op, out its result. */
typedef struct {
  int64_t n, groups;
  int64_t in_channels, out_channels; /* per group */
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
} ConvNumbers;

ConvNumbers conv_numbers(const Op *op, const Tensor *const *in, const Tensor *out);
/* One tap: step q along spatial axis k meets position first[k] + q*stride[k], which exists for lo[k] <= q < hi[k]. */
typedef struct {
  int64_t first[3], lo[3], hi[3];
} ConvTap;

/* All taps of the kernel in row-major order, for n[k] steps over positions of extents `extent`. */
const ConvTap *conv_taps(Arena *arena, const ConvNumbers *c, const int64_t *n, const int64_t *extent);
int64_t conv_tap_count(const ConvNumbers *c);
/* The elements of a tensor of floats. */
const double *conv_doubles(Arena *arena, const Tensor *t);

#endif
