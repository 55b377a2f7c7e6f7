/* The random sweep of contractions: convNd and convNd_transpose with random attributes, boundary orders and blocked
 * encodings inside.
 *
 * Each case: x and kernel come in random orders of axes, are copied to random encodings (permuted, blocked, several
 * digits an axis), go through the convolution into another random encoding, a fused chain, and out in a random order.
 * Tolerance: |a - b| <= atol + rtol*|b| with rtol 1e-4, atol 1e-4: values are in -1..1 and sums have at most some
 * hundred terms. */
#include "sweep.h"

typedef struct {
  int64_t strides[3], dilation[3], padding[6], output_padding[3], kernel[3], input[3], output[3];
} Attributes;

static void random_attributes(Attributes *a, int spatial, bool transposed) {
  static const int64_t strides[] = {1, 1, 2, 2, 3, 4, 5}, dilations[] = {1, 1, 1, 2, 3, 4};
  for (int k = 0; k < spatial; k++) {
    do {
      a->strides[k] = one_of(strides, 7);
      a->dilation[k] = one_of(dilations, 6);
      a->kernel[k] = between(1, 5);
      a->input[k] = between(1, spatial == 1 ? 40 : spatial == 2 ? 12 : 5);
      a->padding[k] = between(-1, 5);
      a->padding[spatial + k] = between(-1, 5);
      int64_t larger = a->strides[k] > a->dilation[k] ? a->strides[k] : a->dilation[k];
      a->output_padding[k] = transposed ? between(0, larger - 1) : 0;
      int64_t span = a->dilation[k] * (a->kernel[k] - 1) + 1, pads = a->padding[k] + a->padding[spatial + k];
      a->output[k] = transposed ? (a->input[k] - 1) * a->strides[k] + span + a->output_padding[k] - pads
                                : floordiv_i64(a->input[k] + pads - span, a->strides[k]) + 1;
    } while (a->output[k] < 1 || (!transposed && a->input[k] + a->padding[k] + a->padding[spatial + k] <
                                                     a->dilation[k] * (a->kernel[k] - 1) + 1));
  }
}

static const Layout *inner_layout(Case *c, int rank) {
  return with_random_halo(c->ctx, random_layout(c->ctx, rank, true));
}

static Value *random_chain(Case *c, Value *v) {
  static const char *const unary[] = {"relu", "leaky_relu", "tanh", "sigmoid", "clip"};
  const char *name = unary[between(0, 4)];
  Op *op = op_create(c->ctx, op_find(name, strlen(name)), &v, 1, LOC_NONE);
  if (strcmp(name, "clip") == 0) {
    op_set_float(op, "min", -0.5);
    op_set_float(op, "max", 0.75);
  }
  str_printf(&c->text, " %s", name);
  const Type *type = type_with_layout(c->ctx, v->type, inner_layout(c, v->type->rank));
  return op_finish(c->m, c->m->main, op, NULL, NULL, type);
}

static Value *random_conv(Case *c) {
  static const int64_t channels[] = {1, 2, 3, 8, 16, 19};
  int spatial = (int)between(1, 3);
  bool transposed = between(0, 2) > 0;
  Attributes a;
  random_attributes(&a, spatial, transposed);
  int64_t groups = one_of((const int64_t[]){1, 1, 1, 2, 3}, 5);
  int64_t in = one_of(channels, 6), out = one_of(channels, 6);
  if (groups > 1) {
    in = between(1, 5);
    out = between(1, 5);
  }
  int64_t data_shape[5] = {between(1, 3), in * groups}, kernel_shape[5] = {out * groups, in};
  if (transposed) {
    kernel_shape[0] = in * groups;
    kernel_shape[1] = out;
  }
  for (int k = 0; k < spatial; k++) {
    data_shape[2 + k] = a.input[k];
    kernel_shape[2 + k] = a.kernel[k];
  }
  Value *x = add_param(c, "x", DT_F32, spatial + 2, data_shape);
  Value *kernel = between(0, 1) ? add_param(c, "k", DT_F32, spatial + 2, kernel_shape)
                                : add_constant(c, "k", DT_F32, spatial + 2, kernel_shape, 0);
  int64_t bias_shape[1] = {out * groups};
  Value *bias = between(0, 1) ? add_constant(c, "b", DT_F32, 1, bias_shape, 0) : NULL;
  Value *operands[3] = {between(0, 2) ? random_copy(c, x, true) : x,
                        between(0, 1) ? random_copy(c, kernel, true) : kernel, bias};
  const char *name = arena_printf(c->ctx->arena, "conv%dd%s", spatial, transposed ? "_transpose" : "");
  Op *op = op_create(c->ctx, op_find(name, strlen(name)), operands, 3, LOC_NONE);
  op_set_ints(c->ctx, op, "strides", a.strides, spatial);
  op_set_ints(c->ctx, op, "dilation", a.dilation, spatial);
  op_set_ints(c->ctx, op, "padding", a.padding, 2 * spatial);
  if (transposed)
    op_set_ints(c->ctx, op, "output_padding", a.output_padding, spatial);
  op_set_int(op, "groups", groups);
  int64_t result_shape[5] = {data_shape[0], out * groups};
  memcpy(result_shape + 2, a.output, (size_t)spatial * sizeof *a.output);
  const Type *type = type_static(c->ctx, DT_F32, spatial + 2, result_shape, inner_layout(c, spatial + 2));
  return op_finish(c->m, c->m->main, op, NULL, "y", type);
}

/* A residual in an encoding of its own, or a broadcast vector along channels. */
static Value *random_binary(Case *c, Value *v) {
  int64_t shape[WEFT_MAX_RANK], channel = 1;
  type_shape(v->type, shape);
  Value *other;
  if (between(0, 1)) {
    other = random_copy(c, add_param(c, "r", DT_F32, v->type->rank, shape), true);
  } else {
    int64_t vector[1] = {shape[1]};
    other = build_broadcast(c->m, c->m->main, NULL, add_constant(c, "s", DT_F32, 1, vector, 0), &channel, shape,
                            v->type->rank, LOC_NONE);
  }
  Value *operands[2] = {v, other};
  Op *op = op_create(c->ctx, op_find("add", 3), operands, 2, LOC_NONE);
  return op_finish(c->m, c->m->main, op, NULL, NULL,
                   type_with_layout(c->ctx, v->type, inner_layout(c, v->type->rank)));
}

static bool build_case(Case *c) {
  c->m->main = function_create(c->m, "sweep");
  Value *v = random_conv(c);
  if (v && between(0, 2) == 0)
    v = random_binary(c, v);
  if (v && between(0, 1))
    v = random_chain(c, v);
  if (!v)
    return false;
  if (between(0, 3) == 0) { /* padding lanes of zero, made by a copy */
    const Layout *layout = layout_with_pad(c->ctx, random_layout(c->ctx, v->type->rank, true), PAD_ZERO);
    v = build_relayout(c->m, c->m->main, NULL, v, layout, LOC_NONE);
  }
  v = random_copy(c, v, false);
  function_add_result(c->m, c->m->main, "z", v, v->type, NULL, LOC_NONE);
  return module_verify(c->m);
}

int main(int argc, char **argv) {
  return sweep_main(argc, argv, build_case, (Tolerance){.rtol = 1e-4, .atol = 1e-4});
}
