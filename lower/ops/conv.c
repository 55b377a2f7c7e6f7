/* Convolution: output o along a spatial axis sums over the taps k with input i = o*s + k*d - p inside -l <= i < I + h,
 * where the data has the halo (l, h), which is
 *   max(0, ceil((p - l - o*s)/d)) <= k < min(K, floor((I + h - 1 + p - o*s)/d) + 1):
 * the bounds of the tap loop, so that no predicate is needed. A halo that covers the padding makes them 0 and K. */
#include "lower/ops/conv_lower.h"

bool lower_conv(LowerCtx *lc, const Group *group);

/* The taps that read inputs -halo.lo <= i < input + halo.hi where tap 0 reads `at`. */
static const Expr *taps_inside(Ctx *ctx, const char *name, Dim kernel, const Expr *at, int64_t dilation, Dim input,
                               Halo halo) {
  const Expr *first = expr_sub(ctx, expr_const(ctx, -halo.lo), at);
  const Expr *last = expr_sub(ctx, expr_add_const(ctx, input, halo.hi - 1), at);
  const Expr *lo = expr_max(ctx, expr_const(ctx, 0), expr_ceildiv_const(ctx, first, dilation));
  const Expr *hi = expr_min(ctx, kernel, expr_add_const(ctx, expr_floordiv_const(ctx, last, dilation), 1));
  return expr_var(ctx, name, lo, hi);
}

bool lower_conv(LowerCtx *lc, const Group *group) {
  static const char *const axis_names[3] = {"x", "y", "z"}, *const tap_names[3] = {"kx", "ky", "kz"};
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  const Type *data = op->operands[0]->type, *kernel = op->operands[1]->type, *result = op->result->type;
  const int64_t *strides = op_attr(op, "strides")->ints, *dilation = op_attr(op, "dilation")->ints;
  const int64_t *padding = op_attr(op, "padding")->ints;
  ConvShape shape =
      conv_shape(lc, op, kernel->dims[1], expr_floordiv_const(ctx, kernel->dims[0], op_int(op, "groups")));
  const Expr *zero = expr_const(ctx, 0), *axes[3], *taps[3], *inner[3], *in[3];
  Halo halo[3];
  conv_data_halo(lc, op, halo);
  for (int k = 0; k < shape.spatial; k++) {
    int name = shape.spatial - 1 - k;
    const Expr *o = expr_var(ctx, axis_names[name], zero, result->dims[2 + k]);
    const Expr *at = expr_add_const(ctx, expr_mul_const(ctx, o, strides[k]), -padding[k]); /* of tap 0 */
    axes[k] = o;
    taps[k] = taps_inside(ctx, tap_names[name], kernel->dims[2 + k], at, dilation[k], data->dims[2 + k], halo[k]);
    inner[k] = taps_inside(ctx, tap_names[name], kernel->dims[2 + k], at, dilation[k], data->dims[2 + k], (Halo){0, 0});
    in[k] = expr_add(ctx, at, expr_mul_const(ctx, taps[k], dilation[k]));
  }
  return conv_finish(lc, group, &shape, axes, shape.spatial, taps, inner, shape.spatial, true, axes, in, taps, false);
}
