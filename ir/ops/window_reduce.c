/* max_poolNd and avg_poolNd: each window of data (N, C, spatial) reduced by a step of ir/reduction.h.
 *
 *   out[n, c, o] = reduction over taps k of  x[n, c, o*stride - begin + k*dilation]
 *
 * over the taps inside x alone: padding is never read, it only shifts and adds windows. The mean divides by their
 * number, or with count_include_pad by the number of taps inside x and its padding. Extents, with span =
 * dilation*(kernel - 1) + 1: floor((X + begin + end - span) / stride) + 1, or with ceil_mode min(ceil((X + begin + end
 * - span) / stride) + 1, ceil((X + begin) / stride)): a window may reach past the padding behind, but starts inside x
 * or the padding in front of it. Padding is less than the span. A window all of whose taps miss x (dilation) reduces
 * nothing. */
#include "ir/ops/window_reduce.h"
#include "ir/reduction.h"

/* Keeps sums and products of attributes and extents far from overflow. */
#define ATTR_LIMIT ((int64_t)1 << 31)

Window window_of(const Op *op, int k) {
  const int64_t *padding = op_attr(op, "padding")->ints;
  return (Window){.kernel = op_attr(op, "kernel")->ints[k],
                  .stride = op_attr(op, "strides")->ints[k],
                  .dilation = op_attr(op, "dilation")->ints[k],
                  .begin = padding[k],
                  .end = padding[op->def->spatial + k]};
}

static int64_t window_span(const Window *w) {
  return w->dilation * (w->kernel - 1) + 1;
}

WindowTaps window_taps(Ctx *ctx, const Window *w, Dim extent, const Expr *o) {
  const Expr *kernel = expr_const(ctx, w->kernel), *zero = expr_const(ctx, 0);
  WindowTaps t = {.at = expr_add_const(ctx, expr_mul_const(ctx, o, w->stride), -w->begin)};
  const Expr *last = expr_sub(ctx, expr_add_const(ctx, extent, -1), t.at);
  t.lo = expr_max(ctx, zero, expr_ceildiv_const(ctx, expr_sub(ctx, zero, t.at), w->dilation));
  t.hi = expr_min(ctx, kernel, expr_add_const(ctx, expr_floordiv_const(ctx, last, w->dilation), 1));
  last = expr_add_const(ctx, last, w->end);
  t.padded_hi = expr_min(ctx, kernel, expr_add_const(ctx, expr_floordiv_const(ctx, last, w->dilation), 1));
  return t;
}

bool window_counts_padding(const Op *op) {
  return op_attr_index(op->def, "count_include_pad", strlen("count_include_pad")) >= 0 &&
         op_int(op, "count_include_pad") != 0;
}

static bool check_window(Ctx *ctx, const Op *op, const Window *w, char axis) {
  const char *names[] = {"kernel", "strides", "dilation", "padding", "padding"};
  int64_t values[] = {w->kernel, w->stride, w->dilation, w->begin, w->end}, span;
  for (int k = 0; k < 5; k++) {
    int64_t least = k < 3 ? 1 : 0;
    if (values[k] < least || values[k] > ATTR_LIMIT)
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                        "%s: attribute '%s' is %lld along %c, expected %lld to %lld", op->def->name, names[k],
                        (long long)values[k], axis, (long long)least, (long long)ATTR_LIMIT);
  }
  if (!mul_i64(w->dilation, w->kernel, &span) || span > WEFT_MAX_ELEMENTS)
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                      "%s: a window of %lld taps, %lld apart, along %c is longer than an axis may be, %lld",
                      op->def->name, (long long)w->kernel, (long long)w->dilation, axis, (long long)WEFT_MAX_ELEMENTS);
  span = window_span(w);
  if (w->begin >= span || w->end >= span)
    return diag_error(
        ctx->diags, WEFT_UNSUPPORTED, op->loc,
        "%s: the padding along %c is %lld and %lld; it is supported up to the window's span less one, %lld",
        op->def->name, axis, (long long)w->begin, (long long)w->end, (long long)(span - 1));
  return true;
}

const Type *window_result(Ctx *ctx, const Op *op, DType dtype) {
  int d = op->def->spatial;
  const char *roles = op_roles(ctx, op->def, op->def->result_roles);
  if (!op_expect_rank(ctx, op, 0, d + 2))
    return NULL;
  const Type *data = op->operands[0]->type;
  Dim dims[WEFT_MAX_RANK] = {data->dims[0], data->dims[1]};
  bool ceil_mode = op_int(op, "ceil_mode") != 0;
  for (int k = 0; k < d; k++) {
    Window w = window_of(op, k);
    if (!check_window(ctx, op, &w, roles[2 + k]))
      return NULL;
    Dim x = data->dims[2 + k], room = expr_add_const(ctx, x, w.begin + w.end - window_span(&w));
    Dim extent = expr_add_const(ctx, expr_floordiv_const(ctx, room, w.stride), 1);
    if (ceil_mode)
      extent = expr_min(ctx, expr_add_const(ctx, expr_ceildiv_const(ctx, room, w.stride), 1),
                        expr_ceildiv_const(ctx, expr_add_const(ctx, x, w.begin), w.stride));
    int64_t number;
    if (expr_is_const(extent, &number) && number < 0) {
      diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                 "%s: the result's extent along %c would be %lld, expected at least 0; data is %s", op->def->name,
                 roles[2 + k], (long long)number, type_text(ctx, data));
      return NULL;
    }
    dims[2 + k] = extent;
  }
  return op_result_type(ctx, op, dtype, d + 2, dims);
}

const Type *window_reduce_infer(Ctx *ctx, const Op *op) {
  return reduction_expect_type(ctx, op) ? window_result(ctx, op, op->operands[0]->type->dtype) : NULL;
}

void window_reduce_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  (void)op;
  plan->why = plan->wish_data || plan->wish_out ? "as wished" : "follows %";
  if (plan->wish_data)
    plan->operand[0] = plan->wish_data;
  plan->result = plan->wish_out ? plan->wish_out : layout_with_pad(ctx, plan->operand[0], PAD_ANY);
}

/* One spatial axis in numbers. */
typedef struct {
  Window w;
  int64_t in;
} Axis;

static int64_t tap_position(const Axis *a, int64_t o, int64_t k) {
  return o * a->w.stride - a->w.begin + k * a->w.dilation;
}

/* Adds the taps inside x of the window at o: n axes are left, offset is that of the axes before. */
static void add_taps(Reducer *r, const Tensor *x, const Axis *axes, int n, const int64_t *o, int64_t offset) {
  if (n == 0) {
    reducer_add(r, tensor_value(x, offset));
    return;
  }
  for (int64_t k = 0; k < axes->w.kernel; k++) {
    int64_t i = tap_position(axes, o[0], k);
    if (i >= 0 && i < axes->in)
      add_taps(r, x, axes + 1, n - 1, o + 1, offset * axes->in + i);
  }
}

/* The number of taps of the window at o that the mean divides by. */
static int64_t count_taps(const Axis *axes, int n, const int64_t *o, bool padding) {
  int64_t product = 1;
  for (int j = 0; j < n; j++) {
    int64_t count = 0, lo = padding ? -axes[j].w.begin : 0, hi = axes[j].in + (padding ? axes[j].w.end : 0);
    for (int64_t k = 0; k < axes[j].w.kernel; k++) {
      int64_t i = tap_position(&axes[j], o[j], k);
      count += i >= lo && i < hi;
    }
    product *= count;
  }
  return product;
}

void window_reduce_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  Reducer r = reducer_new(ctx, reduction_of(op->def), dtype_compute(out->dtype));
  Axis axes[3];
  int n = op->def->spatial;
  bool padding = window_counts_padding(op);
  for (int k = 0; k < n; k++)
    axes[k] = (Axis){window_of(op, k), in[0]->shape[2 + k]};
  int64_t at[WEFT_MAX_RANK] = {0};
  for (int64_t i = 0; i < out->n; i++) {
    reducer_begin(&r);
    add_taps(&r, in[0], axes, n, at + 2, at[0] * in[0]->shape[1] + at[1]);
    tensor_set_value(out, i, reducer_end(&r, count_taps(axes, n, at + 2, padding)));
    tensor_next_index(out, at);
  }
}
