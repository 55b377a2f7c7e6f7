/* convNd: correlation of data (N, C, spatial) with a kernel (O, I = C/groups, spatial).
 *
 *   out[n, o, q] = bias[o] + sum over i, k of  x[n, g*I + i, q*stride - pad + k*dilation] * w[o, i, k],  g = o div
 * (O/groups)
 *
 * where terms outside of x are absent. Negative padding crops. Extents: floor((X + pads - d*(K-1) - 1) / s) + 1. */
#include "ir/ops/conv_common.h"

const Type *conv_infer(Ctx *ctx, const Op *op) {
  ConvAttrs a = conv_attrs(op);
  if (!conv_check(ctx, op, &a))
    return NULL;
  const Type *data = op->operands[CONV_DATA]->type, *kernel = op->operands[CONV_KERNEL]->type;
  int64_t channels, outputs;
  if (expr_is_const(data->dims[1], &channels) && channels % a.groups != 0) {
    diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
               "%s: data has %lld channels, which %lld groups do not divide; it is %s", op->def->name,
               (long long)channels, (long long)a.groups, type_text(ctx, data));
    return NULL;
  }
  if (expr_is_const(kernel->dims[0], &outputs) && outputs % a.groups != 0) {
    diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
               "%s: the kernel has %lld output channels (axis O), which %lld groups do not divide; it is %s",
               op->def->name, (long long)outputs, (long long)a.groups, type_text(ctx, kernel));
    return NULL;
  }
  const char *because = arena_printf(ctx->arena, "the channels of data, which is %s, divided by %lld group%s",
                                     type_text(ctx, data), (long long)a.groups, a.groups == 1 ? "" : "s");
  if (!conv_expect_extent(ctx, op, kernel->dims[1], expr_floordiv_const(ctx, data->dims[1], a.groups),
                          "the kernel's number of input channels (axis I)", because))
    return NULL;
  if (op->operands[CONV_BIAS] && !conv_expect_extent(ctx, op, op->operands[CONV_BIAS]->type->dims[0], kernel->dims[0],
                                                     "the bias's extent", "the output channels"))
    return NULL;
  Dim dims[WEFT_MAX_RANK] = {data->dims[0], kernel->dims[0]};
  for (int k = 0; k < a.spatial; k++) {
    Dim reach = conv_scale(ctx, op, expr_add_const(ctx, kernel->dims[k + 2], -1), a.dilation[k]);
    if (!reach)
      return NULL;
    Dim room = expr_sub(ctx, expr_add_const(ctx, data->dims[k + 2], a.begin[k] + a.end[k] - 1), reach);
    dims[k + 2] = expr_add_const(ctx, expr_floordiv_const(ctx, room, a.strides[k]), 1);
  }
  return conv_result(ctx, op, dims);
}

void conv_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  static const int perm[4][5] = {{0}, {2, 1, 0}, {2, 3, 1, 0}, {2, 3, 4, 1, 0}};
  conv_plan(ctx, op, plan, perm[op->def->spatial]);
}

/* The sum over one group's input channels and all taps, at one output position. */
static double conv_at(const ConvNumbers *c, const double *x, const double *w, const int64_t *q) {
  double sum = 0;
  for (int64_t i = 0; i < c->in_channels; i++)
    for (int64_t k0 = 0; k0 < c->kernel[0]; k0++)
      for (int64_t k1 = 0; k1 < c->kernel[1]; k1++)
        for (int64_t k2 = 0; k2 < c->kernel[2]; k2++, w++) {
          int64_t i0 = q[0] * c->stride[0] - c->pad[0] + k0 * c->dilation[0];
          int64_t i1 = q[1] * c->stride[1] - c->pad[1] + k1 * c->dilation[1];
          int64_t i2 = q[2] * c->stride[2] - c->pad[2] + k2 * c->dilation[2];
          if (i0 >= 0 && i0 < c->in[0] && i1 >= 0 && i1 < c->in[1] && i2 >= 0 && i2 < c->in[2])
            sum += x[((i * c->in[0] + i0) * c->in[1] + i1) * c->in[2] + i2] * *w;
        }
  return sum;
}

void conv_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx;
  if (out->n == 0)
    return;
  ConvNumbers c = conv_numbers(op, in, out);
  int64_t channels = c.groups * c.out_channels;
  int64_t per_group = c.in_channels * c.in[0] * c.in[1] * c.in[2];
  int64_t per_output = c.in_channels * c.kernel[0] * c.kernel[1] * c.kernel[2];
  Arena *arena = arena_create();
  const double *x = conv_doubles(arena, in[CONV_DATA]), *w = conv_doubles(arena, in[CONV_KERNEL]);
  int64_t y = 0;
  for (int64_t n = 0; n < c.n; n++)
    for (int64_t o = 0; o < channels; o++) {
      const double *from = x + (n * c.groups + o / c.out_channels) * per_group;
      double bias = in[CONV_BIAS] ? tensor_get(in[CONV_BIAS], o) : 0;
      int64_t q[3];
      for (q[0] = 0; q[0] < c.out[0]; q[0]++)
        for (q[1] = 0; q[1] < c.out[1]; q[1]++)
          for (q[2] = 0; q[2] < c.out[2]; q[2]++)
            tensor_set(out, y++, bias + conv_at(&c, from, w + o * per_output, q));
    }
  arena_destroy(arena);
}
