/* convNd_transpose: the gradient of convNd with respect to its data. data (N, C, spatial), kernel (I = C, O/groups,
 * spatial). Evaluated as the scatter that defines it, which shares nothing with the phases that lowering uses:
 *
 *   out[n, o, i*stride - pad + k*dilation] += x[n, c, i] * w[c, o mod (O/groups), k]   for c in o's group
 *
 * where positions outside of out are dropped. Extents: (X-1)*s + d*(K-1) + 1 + output_padding - pads. */
#include "ir/ops/conv_common.h"
#include "ir/ops/conv_halo.h"

const Type *conv_transpose_infer(Ctx *ctx, const Op *op) {
  ConvAttrs a = conv_attrs(op);
  if (!conv_check(ctx, op, &a))
    return NULL;
  const Type *data = op->operands[CONV_DATA]->type, *kernel = op->operands[CONV_KERNEL]->type;
  int64_t channels;
  if (expr_is_const(data->dims[1], &channels) && channels % a.groups != 0) {
    diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
               "%s: data has %lld channels, which %lld groups do not divide; it is %s", op->def->name,
               (long long)channels, (long long)a.groups, type_text(ctx, data));
    return NULL;
  }
  const char *because = arena_printf(ctx->arena, "the channels of data, which is %s", type_text(ctx, data));
  if (!conv_expect_extent(ctx, op, kernel->dims[0], data->dims[1], "the kernel's number of input channels (axis I)",
                          because))
    return NULL;
  Dim outputs = conv_scale(ctx, op, kernel->dims[1], a.groups);
  if (!outputs)
    return NULL;
  if (op->operands[CONV_BIAS] && !conv_expect_extent(ctx, op, op->operands[CONV_BIAS]->type->dims[0], outputs,
                                                     "the bias's extent", "the output channels"))
    return NULL;
  Dim dims[WEFT_MAX_RANK] = {data->dims[0], outputs};
  for (int k = 0; k < a.spatial; k++) {
    Dim steps = conv_scale(ctx, op, expr_add_const(ctx, data->dims[k + 2], -1), a.strides[k]);
    Dim reach = conv_scale(ctx, op, expr_add_const(ctx, kernel->dims[k + 2], -1), a.dilation[k]);
    if (!steps || !reach)
      return NULL;
    dims[k + 2] = expr_add_const(ctx, expr_add(ctx, steps, reach), 1 + a.output_padding[k] - a.begin[k] - a.end[k]);
  }
  return conv_result(ctx, op, dims);
}

void conv_transpose_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  static const int perm[4][5] = {{0}, {2, 0, 1}, {2, 3, 0, 1}, {2, 3, 4, 0, 1}};
  conv_plan(ctx, op, plan, perm[op->def->spatial]);
  conv_plan_halo(op, plan, true);
}

/* Adds w times one input channel at one tap to sum, the plane of one output channel, row by row. */
static void scatter(const ConvNumbers *c, const ConvTap *tap, const double *x, double w, double *sum) {
  int64_t step = c->stride[2], lo = tap->lo[2], n = tap->hi[2] - lo;
  for (int64_t i0 = tap->lo[0]; i0 < tap->hi[0]; i0++)
    for (int64_t i1 = tap->lo[1]; i1 < tap->hi[1]; i1++) {
      int64_t plane = tap->first[0] + i0 * c->stride[0], row = plane * c->out[1] + tap->first[1] + i1 * c->stride[1];
      const double *restrict from = x + (i0 * c->in[1] + i1) * c->in[2] + lo;
      double *restrict to = sum + row * c->out[2] + tap->first[2] + lo * step;
      for (int64_t i = 0; i < n; i++)
        to[i * step] += from[i] * w;
    }
}

void conv_transpose_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx;
  if (out->n == 0)
    return;
  ConvNumbers c = conv_numbers(op, in, out);
  int64_t in_plane = c.in[0] * c.in[1] * c.in[2], out_plane = c.out[0] * c.out[1] * c.out[2];
  int64_t n_taps = conv_tap_count(&c), channels = c.groups * c.out_channels;
  Arena *arena = arena_create();
  const double *x = conv_doubles(arena, in[CONV_DATA]), *w = conv_doubles(arena, in[CONV_KERNEL]);
  const ConvTap *taps = conv_taps(arena, &c, c.in, c.out);
  int64_t y = 0;
  double *sum = ARENA_ARRAY(arena, double, out_plane);
  for (int64_t n = 0; n < c.n; n++)
    for (int64_t o = 0; o < channels; o++) {
      int64_t first = o / c.out_channels * c.in_channels; /* the group's first input channel */
      for (int64_t q = 0; q < out_plane; q++)
        sum[q] = in[CONV_BIAS] ? tensor_get(in[CONV_BIAS], o) : 0;
      for (int64_t i = first; in_plane > 0 && i < first + c.in_channels; i++)
        for (int64_t k = 0; k < n_taps; k++)
          scatter(&c, &taps[k], x + (n * c.groups * c.in_channels + i) * in_plane,
                  w[(i * c.out_channels + o % c.out_channels) * n_taps + k], sum);
      for (int64_t q = 0; q < out_plane; q++)
        tensor_set(out, y++, sum[q]);
    }
  arena_destroy(arena);
}
