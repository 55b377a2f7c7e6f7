/* slice, as numpy counts: along axis k of extent d the indices begin, begin + step, ... before end, where negative
 * bounds count from the end of the axis and both are clamped: to 0..d, for a negative step to -1..d-1. A view. */
#include "ir/ops/ops.h"

/* Bounds and steps beyond any extent mean the same as these. */
#define LIMIT (2 * WEFT_MAX_ELEMENTS)

static int64_t limited(int64_t v) {
  return v < -LIMIT ? -LIMIT : v > LIMIT ? LIMIT : v;
}

/* Begin, end and step of each axis as they are given; axes not named are taken whole. False after reporting. */
typedef struct {
  bool given[WEFT_MAX_RANK];
  int64_t begin[WEFT_MAX_RANK], end[WEFT_MAX_RANK], step[WEFT_MAX_RANK];
} SliceAttrs;

static bool expect_length(Ctx *ctx, const Op *op, const char *name, bool optional) {
  int got = op_attr(op, name)->n, want = op_attr(op, "begins")->n;
  if (got == want || (optional && got == 0))
    return true;
  return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                    "slice: attribute '%s' has %d numbers, expected %d: as many as 'begins'", name, got, want);
}

static bool slice_check(Ctx *ctx, const Op *op) {
  const Attr *begins = op_attr(op, "begins"), *axes = op_attr(op, "axes"), *steps = op_attr(op, "steps");
  int rank = op->operands[0]->type->rank;
  bool taken[WEFT_MAX_RANK] = {false};
  if (!expect_length(ctx, op, "ends", false) || !expect_length(ctx, op, "axes", true) ||
      !expect_length(ctx, op, "steps", true))
    return false;
  if (begins->n > rank)
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                      "slice: attribute 'begins' has %d numbers, expected at most %d: x is %s", begins->n, rank,
                      type_text(ctx, op->operands[0]->type));
  for (int k = 0; k < begins->n; k++) {
    int64_t a = axes->n ? axes->ints[k] : k;
    if (a < -rank || a >= rank || taken[a < 0 ? a + rank : a])
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                        "slice: attribute 'axes' holds %lld, expected different axes from %d to %d", (long long)a,
                        -rank, rank - 1);
    taken[a < 0 ? a + rank : a] = true;
    if (steps->n && steps->ints[k] == 0)
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "slice: attribute 'steps' holds 0");
  }
  return true;
}

static SliceAttrs slice_attrs(const Op *op) {
  const Attr *begins = op_attr(op, "begins"), *ends = op_attr(op, "ends");
  const Attr *axes = op_attr(op, "axes"), *steps = op_attr(op, "steps");
  SliceAttrs s = {0};
  int rank = op->operands[0]->type->rank;
  for (int k = 0; k < begins->n; k++) {
    int64_t a = axes->n ? axes->ints[k] : k;
    a += a < 0 ? rank : 0;
    s.given[a] = true;
    s.begin[a] = limited(begins->ints[k]);
    s.end[a] = limited(ends->ints[k]);
    s.step[a] = steps->n ? limited(steps->ints[k]) : 1;
  }
  return s;
}

/* A bound within lo..hi, counted from the end of the axis where it is negative. */
static const Expr *bound(Ctx *ctx, int64_t v, Dim extent, const Expr *lo, const Expr *hi) {
  const Expr *at = expr_add_const(ctx, v < 0 ? extent : expr_const(ctx, 0), v);
  return expr_max(ctx, lo, expr_min(ctx, at, hi));
}

/* The first index and the number of indices along axis k. */
static void slice_axis(Ctx *ctx, const SliceAttrs *s, int k, Dim extent, const Expr **first, Dim *count) {
  const Expr *zero = expr_const(ctx, 0);
  *first = zero;
  *count = extent;
  if (!s->given[k])
    return;
  bool back = s->step[k] < 0;
  const Expr *lo = back ? expr_const(ctx, -1) : zero, *hi = back ? expr_add_const(ctx, extent, -1) : extent;
  *first = bound(ctx, s->begin[k], extent, back ? expr_min(ctx, zero, hi) : zero, hi);
  const Expr *end = bound(ctx, s->end[k], extent, lo, hi);
  const Expr *span = back ? expr_sub(ctx, *first, end) : expr_sub(ctx, end, *first);
  *count = expr_max(ctx, zero, expr_ceildiv_const(ctx, span, back ? -s->step[k] : s->step[k]));
}

const Type *slice_infer(Ctx *ctx, const Op *op) {
  const Type *x = op->operands[0]->type;
  if (!slice_check(ctx, op))
    return NULL;
  SliceAttrs s = slice_attrs(op);
  Dim dims[WEFT_MAX_RANK];
  const Expr *first;
  for (int k = 0; k < x->rank; k++)
    slice_axis(ctx, &s, k, x->dims[k], &first, &dims[k]);
  return op_result_type(ctx, op, x->dtype, x->rank, dims);
}

void slice_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  bool changed[WEFT_MAX_RANK];
  for (int k = 0; k < op->result->type->rank; k++)
    changed[k] = op->result->type->dims[k] != op->operands[0]->type->dims[k];
  plan->result = layout_unsplit_axes(ctx, layout_with_pad(ctx, plan->operand[0], PAD_ANY), changed);
  plan->why = "follows %";
}

void slice_view_index(Ctx *ctx, const Op *op, const Expr *const *result, const Expr **operand) {
  const Type *x = op->operands[0]->type;
  SliceAttrs s = slice_attrs(op);
  for (int k = 0; k < x->rank; k++) {
    const Expr *first;
    Dim count;
    slice_axis(ctx, &s, k, x->dims[k], &first, &count);
    operand[k] = s.given[k] ? expr_add(ctx, first, expr_mul_const(ctx, result[k], s.step[k])) : result[k];
  }
}

void slice_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx;
  SliceAttrs s = slice_attrs(op);
  int64_t step[WEFT_MAX_RANK], index[WEFT_MAX_RANK] = {0}, start = 0, stride = 1;
  for (int k = out->rank - 1; k >= 0; k--) {
    int64_t d = in[0]->shape[k], first = 0;
    if (s.given[k]) {
      int64_t last = s.step[k] < 0 ? d - 1 : d;
      first = s.begin[k] < 0 ? s.begin[k] + d : s.begin[k];
      first = first < 0 ? 0 : first > last ? last : first;
    }
    start += first * stride;
    step[k] = (s.given[k] && out->shape[k] > 1 ? s.step[k] : 1) * stride;
    stride *= d;
  }
  for (int64_t i = 0; i < out->n; i++) {
    int64_t at = start;
    for (int k = 0; k < out->rank; k++)
      at += index[k] * step[k];
    tensor_copy_element(out, i, in[0], at);
    tensor_next_index(out, index);
  }
}

/* Along an axis of constant extent: index i of the result is first + i * step of x. */
typedef struct {
  int64_t first, step, count;
} Range;

static bool constant_range(Ctx *ctx, const Op *op, const SliceAttrs *s, int k, Range *r) {
  const Expr *first;
  Dim count;
  slice_axis(ctx, s, k, op->operands[0]->type->dims[k], &first, &count);
  r->step = s->given[k] ? s->step[k] : 1;
  return expr_is_const(first, &r->first) && expr_is_const(count, &r->count);
}

/* A slice of a slice, of constant extents, is one. */
Value *slice_simplify(Module *m, Function *f, Op *op) {
  (void)f;
  const Op *inner = op_repeated(op);
  if (!inner)
    return NULL;
  SliceAttrs outer_attrs = slice_attrs(op), inner_attrs = slice_attrs(inner);
  int rank = op->result->type->rank;
  int64_t begins[WEFT_MAX_RANK], ends[WEFT_MAX_RANK], axes[WEFT_MAX_RANK], steps[WEFT_MAX_RANK], extent;
  for (int k = 0; k < rank; k++) {
    Range out, in;
    if (!constant_range(m->ctx, op, &outer_attrs, k, &out) || !constant_range(m->ctx, inner, &inner_attrs, k, &in) ||
        !expr_is_const(inner->operands[0]->type->dims[k], &extent))
      return NULL;
    axes[k] = k;
    steps[k] = 1;
    begins[k] = ends[k] = 0;
    if (out.count == 0)
      continue;
    begins[k] = in.first + out.first * in.step;
    if (out.count > 1) /* else the step may be beyond all extents */
      steps[k] = in.step * out.step;
    int64_t last = begins[k] + (out.count - 1) * steps[k];
    ends[k] = steps[k] > 0 ? last + 1 : last > 0 ? last - 1 : -extent - 1; /* an end of -1 would be the last index */
  }
  op_set_ints(m->ctx, op, "begins", begins, rank);
  op_set_ints(m->ctx, op, "ends", ends, rank);
  op_set_ints(m->ctx, op, "axes", axes, rank);
  op_set_ints(m->ctx, op, "steps", steps, rank);
  op->operands[0] = inner->operands[0];
  return op->result;
}
