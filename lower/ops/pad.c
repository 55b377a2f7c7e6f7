/* pad. Constant: along one axis after the other the borders are filled, what remains is copied: no predicates. The
 * other modes read x at an index made of min, max and mod (ir/ops/pad.c); it is cut into borders and interior along the
 * axis that lies innermost in memory, so that it is linear in each of them, and outer axes cost their index once a row.
 */
#include "ir/ops/pad.h"
#include "lower/lower_op.h"

bool lower_pad(LowerCtx *lc, const Group *group);

typedef struct {
  LowerCtx *lc;
  const Group *group;
  int64_t mode;
  const int64_t *begins;
  const Type *x, *result;
} Pad;

/* Stores the region of these axes, which are also the indices of the result. */
static bool fill(const Pad *p, const Expr *const *axes, int n) {
  Computation c = {.n_axes = n};
  memcpy(c.axes, axes, (size_t)n * sizeof *axes);
  DType type = dtype_compute(p->result->dtype);
  return lower_move(p->lc, p->group, &c, axes,
                    scalar_const_typed(p->lc->ctx, type, op_attr(p->group->root, "value")->f));
}

/* The index of x that the index i, counted from its first element, reads. */
static const Expr *read_at(const Pad *p, int axis, const Expr *i) {
  Ctx *ctx = p->lc->ctx;
  const Expr *zero = expr_const(ctx, 0), *extent = p->x->dims[axis], *last = expr_add_const(ctx, extent, -1);
  switch (p->mode) {
  case PAD_MODE_EDGE:
    return expr_max(ctx, zero, expr_min(ctx, i, last));
  case PAD_MODE_WRAP:
    return expr_mod(ctx, i, extent);
  case PAD_MODE_REFLECT: {
    if (last == zero)
      return zero;
    const Expr *period = expr_mul_const(ctx, last, 2), *m = expr_mod(ctx, i, period);
    /* min(m, period - m) is at most half of their sum; the outer min says so to those who only see ranges. */
    return expr_min(ctx, last, expr_min(ctx, m, expr_sub(ctx, period, m)));
  }
  default:
    return i;
  }
}

static bool copy(const Pad *p, const Expr *const *axes, int n) {
  Ctx *ctx = p->lc->ctx;
  Computation c = {.n_axes = n};
  const Expr *from[WEFT_MAX_RANK];
  memcpy(c.axes, axes, (size_t)n * sizeof *axes);
  for (int k = 0; k < n; k++)
    from[k] = read_at(p, k, expr_add_const(ctx, axes[k], -p->begins[k]));
  args_add(&c.args, lower_read(p->lc, p->group->root->operands[0], from));
  return lower_move(p->lc, p->group, &c, axes, scalar_arg_typed(ctx, 0, access_dtype(c.args.access[0])));
}

/* Does one part of axis k, [lo, hi): the interior (part 1) or a border. */
static bool part_of(const Pad *p, const Expr **axes, int k, int part, const Expr *lo, const Expr *hi) {
  if (expr_sub(p->lc->ctx, hi, lo)->hi <= 0)
    return true;
  const Expr *whole = axes[k];
  axes[k] = expr_var(p->lc->ctx, whole->name, lo, hi);
  bool ok = p->mode == PAD_MODE_CONSTANT && part != 1 ? fill(p, axes, p->result->rank) : copy(p, axes, p->result->rank);
  axes[k] = whole;
  return ok;
}

/* Where x begins and ends along axis k of the result. */
static void interior(const Pad *p, int k, const Expr **lo, const Expr **hi) {
  Ctx *ctx = p->lc->ctx;
  const Expr *begin = expr_const(ctx, p->begins[k]), *end = expr_add(ctx, begin, p->x->dims[k]);
  *lo = expr_max(ctx, expr_const(ctx, 0), expr_min(ctx, begin, p->result->dims[k]));
  *hi = expr_max(ctx, *lo, expr_min(ctx, end, p->result->dims[k]));
}

bool lower_pad(LowerCtx *lc, const Group *group) {
  const Op *op = group->root;
  Pad p = {.lc = lc,
           .group = group,
           .mode = op_int(op, "mode"),
           .begins = op_attr(op, "padding")->ints,
           .x = op->operands[0]->type,
           .result = op->result->type};
  const Expr *axes[WEFT_MAX_RANK], *lo, *hi, *zero = expr_const(lc->ctx, 0);
  if (type_elements(lc->ctx, p.result) == zero)
    return true;
  lower_axis_vars(lc, p.result, axes);
  if (p.mode != PAD_MODE_CONSTANT) {
    int k = layout_innermost_axis(group->target->type->layout);
    if (k < 0)
      return copy(&p, axes, 0);
    interior(&p, k, &lo, &hi);
    return part_of(&p, axes, k, 0, zero, lo) && part_of(&p, axes, k, 1, lo, hi) &&
           part_of(&p, axes, k, 2, hi, p.result->dims[k]);
  }
  for (int k = 0; k < p.result->rank; k++) {
    interior(&p, k, &lo, &hi);
    if (!part_of(&p, axes, k, 0, zero, lo) || !part_of(&p, axes, k, 2, hi, p.result->dims[k]))
      return false;
    axes[k] = expr_var(lc->ctx, axes[k]->name, lo, hi);
  }
  return copy(&p, axes, p.result->rank);
}
