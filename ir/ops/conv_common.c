/* What convNd and convNd_transpose share, see conv_common.h. */
#include "ir/ops/conv_common.h"

/* Keeps sums and products of attributes and extents far from overflow. */
#define ATTR_LIMIT ((int64_t)1 << 31)

ConvAttrs conv_attrs(const Op *op) {
  ConvAttrs a = {.spatial = op->def->spatial, .groups = op_int(op, "groups")};
  a.strides = op_attr(op, "strides")->ints;
  a.dilation = op_attr(op, "dilation")->ints;
  a.begin = op_attr(op, "padding")->ints;
  a.end = a.begin + a.spatial;
  if (op_attr_index(op->def, "output_padding", strlen("output_padding")) >= 0)
    a.output_padding = op_attr(op, "output_padding")->ints;
  return a;
}

/* Every number of an attribute is in lo..hi. */
static bool expect_range(Ctx *ctx, const Op *op, const char *name, const int64_t *v, int n, int64_t lo, int64_t hi) {
  for (int k = 0; k < n; k++) {
    if (v[k] < lo)
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: attribute '%s' holds %lld, expected at least %lld",
                        op->def->name, name, (long long)v[k], (long long)lo);
    if (v[k] > hi)
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: attribute '%s' holds %lld, expected at most %lld",
                        op->def->name, name, (long long)v[k], (long long)hi);
  }
  return true;
}

static const char *axis_letter(Ctx *ctx, const Op *op, int spatial_axis) {
  const char *letters = op_roles(ctx, op->def, "*");
  return intern_strn(ctx, letters + spatial_axis, 1);
}

bool conv_check(Ctx *ctx, const Op *op, const ConvAttrs *a) {
  int d = a->spatial;
  if (!op_expect_rank(ctx, op, CONV_DATA, d + 2) || !op_expect_rank(ctx, op, CONV_KERNEL, d + 2))
    return false;
  if (op->operands[CONV_BIAS] && !op_expect_rank(ctx, op, CONV_BIAS, 1))
    return false;
  if (!op_expect_types(ctx, op, op->def->types))
    return false;
  if (!expect_range(ctx, op, "strides", a->strides, d, 1, ATTR_LIMIT) ||
      !expect_range(ctx, op, "dilation", a->dilation, d, 1, ATTR_LIMIT) ||
      !expect_range(ctx, op, "padding", a->begin, 2 * d, -ATTR_LIMIT, ATTR_LIMIT) ||
      !expect_range(ctx, op, "groups", &a->groups, 1, 1, ATTR_LIMIT))
    return false;
  for (int k = 0; a->output_padding && k < d; k++) {
    int64_t most = a->strides[k] > a->dilation[k] ? a->strides[k] : a->dilation[k];
    if (a->output_padding[k] < 0 || a->output_padding[k] >= most)
      return diag_error(
          ctx->diags, WEFT_MALFORMED, op->loc,
          "%s: attribute 'output_padding' holds %lld along %s, expected 0 to %lld: less than the larger of "
          "stride %lld and dilation %lld",
          op->def->name, (long long)a->output_padding[k], axis_letter(ctx, op, k), (long long)(most - 1),
          (long long)a->strides[k], (long long)a->dilation[k]);
  }
  for (int k = 0; k < d; k++) {
    int64_t extent;
    if (expr_is_const(op->operands[CONV_KERNEL]->type->dims[k + 2], &extent) && extent < 1)
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                        "%s: the kernel has extent %lld along %s, expected at least 1; it is %s", op->def->name,
                        (long long)extent, axis_letter(ctx, op, k), type_text(ctx, op->operands[CONV_KERNEL]->type));
  }
  return true;
}

bool conv_expect_extent(Ctx *ctx, const Op *op, Dim extent, Dim expected, const char *of, const char *because) {
  int64_t got, want;
  if (!expr_is_const(extent, &got) || !expr_is_const(expected, &want) || got == want)
    return true;
  return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: %s is %lld, expected %lld: %s", op->def->name, of,
                    (long long)got, (long long)want, because);
}

Dim conv_scale(Ctx *ctx, const Op *op, Dim x, int64_t factor) {
  int64_t value, product;
  if (expr_is_const(x, &value) && (!mul_i64(value, factor, &product) || product > WEFT_MAX_ELEMENTS)) {
    diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: %lld * %lld is more than an extent may be, %lld",
               op->def->name, (long long)value, (long long)factor, (long long)WEFT_MAX_ELEMENTS);
    return NULL;
  }
  return expr_mul_const(ctx, x, factor);
}

const Type *conv_result(Ctx *ctx, const Op *op, const Dim *dims) {
  const char *roles = op_roles(ctx, op->def, op->def->result_roles);
  int64_t extent;
  for (int k = 2; k < op->def->spatial + 2; k++) {
    if (expr_is_const(dims[k], &extent) && extent < 0) {
      diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                 "%s: the result's extent along %c would be %lld, expected at least 0; data is %s, the kernel %s",
                 op->def->name, roles[k], (long long)extent, type_text(ctx, op->operands[CONV_DATA]->type),
                 type_text(ctx, op->operands[CONV_KERNEL]->type));
      return NULL;
    }
  }
  return op_result_type(ctx, op, op->operands[CONV_DATA]->type->dtype, op->def->spatial + 2, dims);
}

/* Data and result have the same logical axes N, C, spatial: the data's digits, translated by roles, are themselves. */
void conv_plan(Ctx *ctx, const Op *op, LayoutPlan *plan, const int *kernel_perm) {
  plan->why = "follows %";
  plan->leader = CONV_DATA;
  if (plan->wish_data) {
    plan->operand[CONV_DATA] = plan->wish_data;
    plan->why = "as wished";
  }
  plan->result = layout_with_pad(ctx, plan->operand[CONV_DATA], PAD_ANY);
  if (plan->wish_out) {
    plan->result = plan->wish_out;
    plan->why = "as wished";
  }
  if (plan->wish_kernel) {
    plan->operand[CONV_KERNEL] = plan->wish_kernel;
    plan->reads[CONV_KERNEL] = "as wished";
  } else if (plan->constant[CONV_KERNEL]) {
    plan->operand[CONV_KERNEL] = layout_permutation(ctx, op->def->spatial + 2, kernel_perm);
    plan->reads[CONV_KERNEL] = "as its inner loop reads it";
  }
}

int64_t conv_tap_count(const ConvNumbers *c) {
  return c->kernel[0] * c->kernel[1] * c->kernel[2];
}

const ConvTap *conv_taps(Arena *arena, const ConvNumbers *c, const int64_t *n, const int64_t *extent) {
  ConvTap *all = ARENA_ARRAY(arena, ConvTap, conv_tap_count(c)), *tap = all;
  int64_t at[3];
  for (at[0] = 0; at[0] < c->kernel[0]; at[0]++)
    for (at[1] = 0; at[1] < c->kernel[1]; at[1]++)
      for (at[2] = 0; at[2] < c->kernel[2]; at[2]++, tap++)
        for (int k = 0; k < 3; k++) {
          int64_t first = at[k] * c->dilation[k] - c->pad[k];
          int64_t hi = first < extent[k] ? ceildiv_i64(extent[k] - first, c->stride[k]) : 0;
          tap->first[k] = first;
          tap->lo[k] = first < 0 ? ceildiv_i64(-first, c->stride[k]) : 0;
          tap->hi[k] = hi < n[k] ? hi : n[k];
        }
  return all;
}

const double *conv_doubles(Arena *arena, const Tensor *t) {
  if (t->dtype == DT_F64)
    return t->data;
  double *all = ARENA_ARRAY(arena, double, t->n);
  for (int64_t i = 0; i < t->n; i++)
    all[i] = tensor_get(t, i);
  return all;
}

ConvNumbers conv_numbers(const Op *op, const Tensor *const *in, const Tensor *out) {
  ConvAttrs a = conv_attrs(op);
  const Tensor *data = in[CONV_DATA], *kernel = in[CONV_KERNEL];
  ConvNumbers c = {.n = data->shape[0], .groups = a.groups};
  c.in_channels = data->shape[1] / a.groups;
  c.out_channels = out->shape[1] / a.groups;
  for (int k = 0; k < 3; k++) {
    int j = k - (3 - a.spatial); /* its spatial axis, negative for a missing one */
    c.in[k] = j < 0 ? 1 : data->shape[j + 2];
    c.out[k] = j < 0 ? 1 : out->shape[j + 2];
    c.kernel[k] = j < 0 ? 1 : kernel->shape[j + 2];
    c.stride[k] = j < 0 ? 1 : a.strides[j];
    c.dilation[k] = j < 0 ? 1 : a.dilation[j];
    c.pad[k] = j < 0 ? 0 : a.begin[j];
  }
  return c;
}
