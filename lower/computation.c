/* Computations and substitution in them. See computation.h. */
#include "lower/computation.h"

bool args_use(const Args *args, const Expr *var) {
  for (int k = 0; k < args->n; k++)
    for (int d = 0; d < access_digits(args->access[k]); d++)
      if (expr_uses(args->access[k].index[d], var))
        return true;
  return false;
}

int args_add(Args *args, Access access) {
  size_t n = (size_t)access_digits(access);
  for (int k = 0; k < args->n; k++) {
    const Access *a = &args->access[k];
    if (a->buffer == access.buffer && memcmp(a->index, access.index, n * sizeof *a->index) == 0)
      return k;
  }
  if (args->n == COMPUTATION_MAX_ARGS)
    return -1;
  args->access[args->n] = access;
  return args->n++;
}

Access access_subst(Ctx *ctx, Access access, const Expr *from, const Expr *to) {
  int n = access_digits(access);
  const Expr **index = ARENA_ARRAY(ctx->arena, const Expr *, n);
  for (int k = 0; k < n; k++)
    index[k] = expr_subst(ctx, access.index[k], from, to);
  return (Access){access.buffer, index};
}

const Expr *access_offset(Ctx *ctx, Access access) {
  if (!access.buffer)
    return access.index[0];
  const Type *type = access.buffer->type;
  const Expr *offset = expr_const(ctx, 0);
  for (int k = 0; k < type->layout->n; k++)
    offset = expr_add(ctx, expr_mul(ctx, offset, layout_extent(ctx, type->layout, type->dims, k)), access.index[k]);
  return offset;
}

static void args_subst(Ctx *ctx, Args *args, const Expr *from, const Expr *to) {
  for (int k = 0; k < args->n; k++)
    args->access[k] = access_subst(ctx, args->access[k], from, to);
}

/* var, or where its bounds change one of the same name with the new ones. */
static const Expr *subst_bounds(Ctx *ctx, const Expr *var, const Expr *from, const Expr *to) {
  const Expr *lo = expr_subst(ctx, var->a, from, to), *hi = expr_subst(ctx, var->b, from, to);
  return lo == var->a && hi == var->b ? var : expr_var(ctx, var->name, lo, hi);
}

/* Replaces `from` in everything that stands after position `axis` of the axes, and in all accesses. A variable whose
 * bounds change becomes a new one, which is a substitution in turn. */
static void substitute(Ctx *ctx, Computation *c, int axis, const Expr *from, const Expr *to) {
  c->target = access_subst(ctx, c->target, from, to);
  args_subst(ctx, &c->init_args, from, to);
  args_subst(ctx, &c->step_args, from, to);
  args_subst(ctx, &c->args, from, to);
  for (int k = 0; k < c->n_bindings; k++)
    args_subst(ctx, &c->bindings[k].args, from, to);
  for (int k = 0; k < c->n_reds; k++)
    c->tight[k] = c->tight[k] ? subst_bounds(ctx, c->tight[k], from, to) : NULL;
  for (int k = axis; k < c->n_axes + c->n_reds; k++) {
    const Expr **slot = k < c->n_axes ? &c->axes[k] : &c->reds[k - c->n_axes];
    const Expr *old = *slot;
    *slot = subst_bounds(ctx, old, from, to);
    if (*slot != old)
      substitute(ctx, c, k + 1, old, *slot);
  }
}

Computation computation_replace_axis(Ctx *ctx, const Computation *c, int k, const Expr *to, const Expr *const *vars,
                                     int n) {
  Computation r = *c;
  const Expr *from = c->axes[k];
  WEFT_ASSERT(c->n_axes - 1 + n <= COMPUTATION_MAX_VARS);
  memmove(r.axes + k + n, c->axes + k + 1, (size_t)(c->n_axes - k - 1) * sizeof *r.axes);
  for (int j = 0; j < n; j++)
    r.axes[k + j] = vars[j];
  r.n_axes = c->n_axes - 1 + n;
  substitute(ctx, &r, k + n, from, to);
  return r;
}

Computation computation_restrict_axis(Ctx *ctx, const Computation *c, int k, const Expr *lo, const Expr *hi) {
  const Expr *var = expr_var(ctx, c->axes[k]->name, lo, hi);
  if (var_extent(ctx, var) == 1)
    return computation_replace_axis(ctx, c, k, lo, NULL, 0);
  return computation_replace_axis(ctx, c, k, var, &var, 1);
}

Computation computation_fix_bounds(Ctx *ctx, const Computation *c, int k, const Expr *at) {
  Computation r = *c;
  for (int j = 0; j < r.n_reds; j++) {
    const Expr *old = r.reds[j];
    const Expr *lo = expr_subst(ctx, old->a, c->axes[k], at), *hi = expr_subst(ctx, old->b, c->axes[k], at);
    if (lo == old->a && hi == old->b)
      continue;
    r.reds[j] = expr_var(ctx, old->name, lo, hi);
    substitute(ctx, &r, r.n_axes + j + 1, old, r.reds[j]);
  }
  return r;
}

static void drop_unit_reds(Ctx *ctx, Computation *c) {
  for (int k = 0; k < c->n_reds;) {
    const Expr *var = c->reds[k];
    if (var_extent(ctx, var) != 1) {
      k++;
      continue;
    }
    memmove(c->reds + k, c->reds + k + 1, (size_t)(c->n_reds - k - 1) * sizeof *c->reds);
    memmove(c->tight + k, c->tight + k + 1, (size_t)(c->n_reds - k - 1) * sizeof *c->tight);
    c->n_reds--;
    substitute(ctx, c, c->n_axes + k, var, var->a);
  }
}

Computation computation_drop_unit_loops(Ctx *ctx, const Computation *c) {
  Computation r = *c;
  for (int k = 0; k < r.n_axes;) {
    if (var_extent(ctx, r.axes[k]) == 1)
      r = computation_replace_axis(ctx, &r, k, r.axes[k]->a, NULL, 0);
    else
      k++;
  }
  drop_unit_reds(ctx, &r);
  return r;
}

void computation_tighten(Ctx *ctx, Computation *c, int k) {
  const Expr *wide = c->reds[k];
  c->reds[k] = c->tight[k];
  c->tight[k] = NULL;
  substitute(ctx, c, c->n_axes + k + 1, wide, c->reds[k]);
}

bool var_bounds_use(const Expr *var, const Expr *atom) {
  return expr_uses(var->a, atom) || expr_uses(var->b, atom);
}

bool computation_bounds_use(const Computation *c, int k) {
  for (int j = 0; j < c->n_axes; j++)
    if (j != k && var_bounds_use(c->axes[j], c->axes[k]))
      return true;
  for (int j = 0; j < c->n_reds; j++)
    if (var_bounds_use(c->reds[j], c->axes[k]))
      return true;
  return false;
}

int64_t var_extent(Ctx *ctx, const Expr *var) {
  int64_t extent;
  return expr_is_const(expr_sub(ctx, var->b, var->a), &extent) ? extent : -1;
}
