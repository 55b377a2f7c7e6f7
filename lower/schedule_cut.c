/* Cutting the axes of a computation. See schedule.h. */
#include "lower/schedule.h"

/* ---- digits of the target ---- */

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t t = a % b;
    a = b;
    b = t;
  }
  return a < 0 ? -a : a;
}

/* The largest factor by which var must be split for a div or mod in e to cancel; 1: none. */
static int64_t split_factor(const Expr *e, const Expr *var) {
  int64_t factor = 1;
  switch (e->kind) {
  case EX_DIV:
  case EX_MOD: {
    int64_t divisor, coef;
    factor = split_factor(e->a, var);
    if (expr_is_const(e->b, &divisor) && expr_linear(e->a, var, &coef) && coef != 0) {
      int64_t own = divisor / gcd(divisor, coef);
      factor = own > factor ? own : factor;
    }
    return factor;
  }
  case EX_SUM:
    for (int k = 0; k < e->n; k++) {
      int64_t f = split_factor(e->terms[k].atom, var);
      factor = f > factor ? f : factor;
    }
    return factor;
  default:
    return 1;
  }
}

/* Axis k as start + size*outer + inner; size divides the extent. */
static Computation split_axis(Ctx *ctx, const Computation *c, int k, int64_t start, int64_t count, int64_t size) {
  const Expr *zero = expr_const(ctx, 0), *var = c->axes[k];
  const Expr *outer = expr_var(ctx, split_name(ctx, var, "o"), zero, expr_const(ctx, count));
  const Expr *inner = expr_var(ctx, split_name(ctx, var, "i"), zero, expr_const(ctx, size));
  const Expr *to = expr_add_const(ctx, expr_add(ctx, expr_mul_const(ctx, outer, size), inner), start);
  const Expr *vars[2] = {outer, inner};
  Computation r = computation_replace_axis(ctx, c, k, to, vars, 2);
  return computation_drop_unit_loops(ctx, &r);
}

/* The largest factor by which axis k must be split for a div or mod in the target's index to cancel, or where there is
 * none in an index that is read, as behind a reshape, and it divides the extent; 1: none. */
static int64_t axis_factor(const Computation *c, int k, int64_t extent) {
  const Expr *var = c->axes[k];
  int64_t factor = 1;
  for (int d = 0; d < access_digits(c->target); d++) {
    int64_t f = split_factor(c->target.index[d], var);
    factor = f > factor ? f : factor;
  }
  for (int j = 0; factor == 1 && j < c->args.n; j++)
    for (int d = 0; d < access_digits(c->args.access[j]); d++) {
      int64_t f = split_factor(c->args.access[j].index[d], var);
      factor = f > factor && extent % f == 0 ? f : factor;
    }
  return factor;
}

void schedule_split_digits(Ctx *ctx, const Computation *c, Pieces *regions) {
  for (int k = 0; k < c->n_axes && regions->len < MAX_REGIONS; k++) {
    const Expr *var = c->axes[k];
    int64_t start, extent = var_extent(ctx, var), factor = axis_factor(c, k, extent);
    if (factor == 1 || extent <= factor || !expr_is_const(var->a, &start) || computation_bounds_use(c, k))
      continue;
    int64_t count = extent / factor, done = start + count * factor;
    Computation whole = split_axis(ctx, c, k, start, count, factor);
    schedule_split_digits(ctx, &whole, regions);
    if (done < start + extent) {
      Computation rest = computation_restrict_axis(ctx, c, k, expr_const(ctx, done), expr_const(ctx, start + extent));
      schedule_split_digits(ctx, &rest, regions);
    }
    return;
  }
  vec_push(ctx->arena, regions, *c);
}

/* ---- blocks and borders ---- */

void schedule_cut_blocks(Ctx *ctx, const Computation *c, int k, int64_t size, Pieces *out) {
  int64_t start = expr_value(c->axes[k]->a), extent = var_extent(ctx, c->axes[k]), done = start + extent / size * size;
  vec_push(ctx->arena, out, split_axis(ctx, c, k, start, extent / size, size));
  if (done < start + extent)
    vec_push(ctx->arena, out,
             computation_restrict_axis(ctx, c, k, expr_const(ctx, done), expr_const(ctx, start + extent)));
}

static Computation restricted(Ctx *ctx, const Computation *c, int k, int64_t lo, int64_t hi) {
  Computation part = computation_restrict_axis(ctx, c, k, expr_const(ctx, lo), expr_const(ctx, hi));
  return computation_drop_unit_loops(ctx, &part);
}

/* The same where the bounds of reductions do not change. */
static Computation restricted_interior(Ctx *ctx, const Computation *c, int k, int64_t lo, int64_t hi) {
  Computation part = computation_restrict_axis(ctx, c, k, expr_const(ctx, lo), expr_const(ctx, hi));
  if (hi - lo > 1)
    part = computation_fix_bounds(ctx, &part, k, expr_const(ctx, lo));
  return computation_drop_unit_loops(ctx, &part);
}

void schedule_cut_borders(Ctx *ctx, const Computation *c, int k, int64_t lo, int64_t hi, Pieces *out) {
  int64_t begin = expr_value(c->axes[k]->a), end = expr_value(c->axes[k]->b);
  if (begin < lo)
    vec_push(ctx->arena, out, restricted(ctx, c, k, begin, lo));
  vec_push(ctx->arena, out, restricted_interior(ctx, c, k, lo, hi));
  if (hi < end)
    vec_push(ctx->arena, out, restricted(ctx, c, k, hi, end));
}
