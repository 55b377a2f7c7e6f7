/* Proves e >= 0 by eliminating what is innermost.
 *
 * A step takes the innermost variable v in e. As long as a min, max, div or mod at the top of e contains v, one of
 * them, t, is opened; else v itself is replaced. Written as e = C*t + R, with the sign of C known from its interval: v
 * in [a, b):      C >= 0: C*a + R             C <= 0: C*(b - 1) + R min(a, b):        C >= 0: both C*a + R and C*b + R
 * C <= 0: either max(a, b):        the other way round x div c:          C >= 0: C*(x - c + 1)/c + R C <= 0: C*x/c + R
 *   x mod c:          C >= 0: R                   C <= 0: C*(c - 1) + R; or x mod c = x - c*(x div c)
 * Goals are integers, so a goal M*e' for M > 1 (C*(x - c + 1)/c needs M = c, less what cancels) is met by M*e' >= -(M -
 * 1), which makes up for the rounding of div, and a common factor of all coefficients is divided out with the constant
 * part floored. When no variables are left, symbols are replaced by their bounds likewise. Ranges of variables are
 * taken as not empty: in an empty loop there is nothing to prove. Every rule replaces the goal by one that implies it,
 * so what is proved is true. */
#include "ir/expr_impl.h"

#define MAX_STEPS 500
#define SHALLOW_STEPS 16
#define MAX_DEPTH 100

typedef struct {
  Ctx *ctx;
  int steps;    /* left */
  bool shallow; /* div and mod stay closed */
} Prover;

static bool prove(Prover *p, const Expr *e, int depth);

/* e = coef*t + rest, t not a direct factor of coef's or rest's terms. False where t occurs as a square or worse. */
static bool extract(Ctx *ctx, const Expr *e, const Expr *t, const Expr **coef, const Expr **rest) {
  Linear x;
  linear_of(e, &x);
  *coef = expr_const(ctx, 0);
  *rest = expr_const(ctx, x.value);
  for (int i = 0; i < x.n; i++) {
    const Expr *factors[EXPR_MAX_FACTORS], *others[EXPR_MAX_FACTORS];
    int n = expr_factors(x.terms[i].atom, factors), m = 0;
    for (int j = 0; j < n; j++) {
      if (factors[j] != t)
        others[m++] = factors[j];
    }
    if (m < n - 1)
      return false;
    if (m == n)
      *rest = expr_try_combine(ctx, *rest, 1, x.terms[i].atom, x.terms[i].coef);
    else
      *coef = expr_try_combine(ctx, *coef, 1, expr_product_of(ctx, others, m), x.terms[i].coef);
  }
  return *coef && *rest;
}

/* Proves coef*t' + rest >= 0 for a t' in the place of t. */
static bool prove_with(Prover *p, const Expr *coef, const Expr *t, const Expr *rest, int depth) {
  return prove(p, expr_try_combine(p->ctx, expr_try_mul(p->ctx, coef, t), 1, rest, 1), depth);
}

/* A bound of t by its interval, where it has one. */
static bool prove_by_interval(Prover *p, const Expr *coef, const Expr *t, const Expr *rest, int depth) {
  int64_t bound = coef->lo >= 0 ? t->lo : t->hi;
  return bound > EXPR_MIN && bound < EXPR_MAX && prove_with(p, coef, expr_const(p->ctx, bound), rest, depth);
}

static bool prove_div(Prover *p, const Expr *coef, const Expr *t, const Expr *rest, int depth) {
  Ctx *ctx = p->ctx;
  /* c*(x div c) is in [x - c + 1, x]. */
  const Expr *bound = t->a;
  if (coef->lo >= 0)
    bound = expr_try_combine(ctx, expr_try_combine(ctx, bound, 1, t->b, -1), 1, expr_const(ctx, 1), 1);
  const Expr *times = t->b, *q, *r;
  int64_t c, k;
  if (expr_is_const(t->b, &c) && expr_is_const(coef, &k)) {
    int64_t g = gcd_i64(k, c);
    times = expr_const(ctx, c / g);
    coef = expr_const(ctx, k / g);
  } else if (expr_split(ctx, coef, t->b, &q, &r) && expr_is_const(r, &k) && k == 0) {
    times = expr_const(ctx, 1);
    coef = q;
  }
  const Expr *slack = expr_try_combine(ctx, times, 1, expr_const(ctx, 1), -1);
  const Expr *scaled = expr_try_combine(ctx, expr_try_mul(ctx, times, rest), 1, slack, 1);
  return scaled && prove_with(p, coef, bound, scaled, depth);
}

/* By cruder bounds: the interval's, or x div c in [0, x] for x >= 0. */
static bool prove_div_crudely(Prover *p, const Expr *coef, const Expr *t, const Expr *rest, int depth) {
  if (prove_by_interval(p, coef, t, rest, depth))
    return true;
  const Expr *bound = coef->lo >= 0 ? expr_const(p->ctx, 0) : t->a;
  return !expr_is_const(t->b, NULL) && prove(p, t->a, depth) && prove_with(p, coef, bound, rest, depth);
}

static bool prove_mod(Prover *p, const Expr *coef, const Expr *t, const Expr *rest, int depth) {
  Ctx *ctx = p->ctx;
  const Expr *bound = expr_const(ctx, 0);
  if (coef->lo < 0)
    bound = expr_try_combine(ctx, t->b, 1, expr_const(ctx, 1), -1);
  if (prove_with(p, coef, bound, rest, depth))
    return true;
  int64_t c;
  if (expr_is_const(t->b, &c)) {
    const Expr *same = expr_try_combine(ctx, t->a, 1, expr_floordiv_const(ctx, t->a, c), -c);
    if (same != t && prove_with(p, coef, same, rest, depth))
      return true;
  }
  return coef->lo < 0 && prove(p, t->a, depth) && prove_with(p, coef, t->a, rest, depth);
}

static bool open_atom(Prover *p, const Expr *coef, const Expr *t, const Expr *rest, int depth) {
  bool positive = coef->lo >= 0;
  switch (t->kind) {
  case EX_MIN:
  case EX_MAX:
    if (positive == (t->kind == EX_MIN))
      return prove_with(p, coef, t->a, rest, depth) && prove_with(p, coef, t->b, rest, depth);
    return prove_with(p, coef, t->a, rest, depth) || prove_with(p, coef, t->b, rest, depth);
  case EX_DIV:
    return prove_div(p, coef, t, rest, depth) || prove_div_crudely(p, coef, t, rest, depth);
  case EX_MOD:
    return prove_mod(p, coef, t, rest, depth);
  case EX_VAR:
    if (expr_uses(coef, t) || expr_uses(rest, t))
      return false;
    return prove_with(p, coef, positive ? t->a : expr_try_combine(p->ctx, t->b, 1, expr_const(p->ctx, 1), -1), rest,
                      depth);
  case EX_SYM:
    return !expr_uses(coef, t) && !expr_uses(rest, t) && prove_by_interval(p, coef, t, rest, depth);
  default:
    return false;
  }
}

/* 0: opened first, since that loses nothing; 1: next; 2: v itself; 3: never. */
static int rank_of(const Expr *t, const Expr *v) {
  if (t == v)
    return 2;
  if (!expr_uses(t, v))
    return 3;
  return t->kind == EX_MIN || t->kind == EX_MAX ? 0 : t->kind == EX_DIV || t->kind == EX_MOD ? 1 : 3;
}

/* e with the common factor of its coefficients divided out. */
static const Expr *tighten(Ctx *ctx, const Expr *e) {
  Linear x;
  linear_of(e, &x);
  int64_t g = 0;
  for (int i = 0; i < x.n && g != 1; i++)
    g = gcd_i64(x.terms[i].coef, g);
  const Expr *q = e, *r;
  if (g > 1)
    expr_split(ctx, e, expr_const(ctx, g), &q, &r);
  return q;
}

static bool prove(Prover *p, const Expr *e, int depth) {
  if (!e)
    return false;
  e = tighten(p->ctx, e);
  if (e->lo >= 0)
    return true;
  const Expr *v = e->inner;
  if (!v || depth >= MAX_DEPTH || p->steps <= 0)
    return false;
  /* Not so with variables: their intervals may contradict each other where the innermost loop is empty. */
  if (v->kind == EX_SYM && e->hi < 0)
    return false;
  p->steps--;
  const Expr *factors[EXPR_MAX_FACTORS], *coef, *rest;
  Linear x;
  linear_of(e, &x);
  for (int rank = 0; rank < 3; rank++) {
    for (int i = 0; i < x.n; i++) {
      int n = expr_factors(x.terms[i].atom, factors);
      for (int j = 0; j < n; j++) {
        if (!(rank == 1 && p->shallow) && rank_of(factors[j], v) == rank &&
            extract(p->ctx, e, factors[j], &coef, &rest) && (coef->lo >= 0 || coef->hi <= 0))
          return open_atom(p, coef, factors[j], rest, depth + 1);
      }
    }
  }
  return false;
}

bool expr_prove_nonneg_in(Ctx *ctx, const Expr *e, const Expr *const *vars, int n_vars) {
  Prover p = {.ctx = ctx, .steps = MAX_STEPS};
  return prove(&p, e, 0) || expr_prove_linear(ctx, e, vars, n_vars);
}

bool expr_prove_nonneg(Ctx *ctx, const Expr *e) {
  return expr_prove_nonneg_in(ctx, e, NULL, 0);
}

bool expr_prove_shallow(Ctx *ctx, const Expr *e) {
  Prover p = {.ctx = ctx, .steps = SHALLOW_STEPS, .shallow = true};
  return prove(&p, e, 0);
}
