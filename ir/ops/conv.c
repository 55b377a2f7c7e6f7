/* convNd: correlation of data (N, C, spatial) with a kernel (O, I = C/groups, spatial).
 *
 *   out[n, o, q] = bias[o] + sum over i, k of  x[n, g*I + i, q*stride - pad + k*dilation] * w[o, i, k],  g = o div
 * (O/groups)
 *
 * where terms outside of x are absent. Negative padding crops. Extents: floor((X + pads - d*(K-1) - 1) / s) + 1. */
#include "ir/ops/conv_common.h"
#include "ir/ops/conv_halo.h"

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
  conv_plan_halo(op, plan, false);
}

/* Adds w times the elements of x that one tap meets to sum, the plane of one output channel: row by row, so that the
 * terms of each element come in the order of channels and taps. */
static void add_tap(const ConvNumbers *c, const ConvTap *tap, const double *x, double w, double *sum) {
  int64_t step = c->stride[2], lo = tap->lo[2], n = tap->hi[2] - lo;
  for (int64_t q0 = tap->lo[0]; q0 < tap->hi[0]; q0++)
    for (int64_t q1 = tap->lo[1]; q1 < tap->hi[1]; q1++) {
      int64_t plane = tap->first[0] + q0 * c->stride[0], row = plane * c->in[1] + tap->first[1] + q1 * c->stride[1];
      const double *restrict from = x + row * c->in[2] + tap->first[2] + lo * step;
      double *restrict to = sum + (q0 * c->out[1] + q1) * c->out[2] + lo;
      for (int64_t q = 0; q < n; q++)
        to[q] += from[q * step] * w;
    }
}

void conv_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx;
  if (out->n == 0)
    return;
  ConvNumbers c = conv_numbers(op, in, out);
  int64_t channels = c.groups * c.out_channels, y = 0;
  int64_t in_plane = c.in[0] * c.in[1] * c.in[2], out_plane = c.out[0] * c.out[1] * c.out[2];
  Arena *arena = arena_create();
  const double *x = conv_doubles(arena, in[CONV_DATA]), *w = conv_doubles(arena, in[CONV_KERNEL]);
  const ConvTap *taps = conv_taps(arena, &c, c.out, c.in);
  int64_t n_taps = conv_tap_count(&c);
  double *sum = ARENA_ARRAY(arena, double, out_plane);
  for (int64_t n = 0; n < c.n; n++)
    for (int64_t o = 0; o < channels; o++) {
      const double *factor = w + o * c.in_channels * n_taps;
      int64_t first = (n * c.groups + o / c.out_channels) * c.in_channels;
      memset(sum, 0, (size_t)out_plane * sizeof *sum);
      for (int64_t i = first; i < first + c.in_channels; i++)
        for (int64_t k = 0; k < n_taps; k++)
          add_tap(&c, &taps[k], x + i * in_plane, *factor++, sum);
      double bias = in[CONV_BIAS] ? tensor_get(in[CONV_BIAS], o) : 0;
      for (int64_t q = 0; q < out_plane; q++)
        tensor_set(out, y++, bias + sum[q]);
    }
  arena_destroy(arena);
}
