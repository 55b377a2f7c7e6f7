/* Floor division and remainder of index expressions.
 *
 * With a = b*q + r (expr_split: terms whose coefficients show a multiple of b; by a constant, coefficients truncated
 * and the constant part floored): a div b = q + r div b,  a mod b = r mod b;  r within one period [t*b, t*b + b): t and
 * r - t*b (g*x + m) div (g*b) = (x + m div g) div b        (g*x + m) mod (g*b) = g*((x + m div g) mod b) + m mod g (x
 * div a + m) div b = (x + a*m) div (a*b)        for constant m (x mod (a*b)) div b = (x div b) mod a            k*(x
 * mod n) + m = k*x + m  modulo b, where b divides k*n Each holds for floor division over all integers (Graham, Knuth,
 * Patashnik, Concrete Mathematics, section 3.2). */
#include "ir/expr_impl.h"

/* coef*atom as a multiple of k*(factors): the quotient, or NULL. */
static const Expr *divide_term(Ctx *ctx, const ExprTerm *term, int64_t k, const Expr *divisor) {
  if (term->coef % k != 0)
    return NULL;
  const Expr *x[EXPR_MAX_FACTORS], *y[EXPR_MAX_FACTORS], *left[EXPR_MAX_FACTORS];
  int nx = expr_factors(term->atom, x), ny = expr_factors(divisor, y), n = 0, j = 0;
  for (int i = 0; i < nx; i++) {
    if (j < ny && x[i] == y[j])
      j++;
    else
      left[n++] = x[i];
  }
  return j == ny ? expr_try_scale(ctx, expr_product_of(ctx, left, n), term->coef / k) : NULL;
}

static bool split_by_const(Ctx *ctx, const Expr *a, int64_t c, const Expr **q, const Expr **r) {
  Linear x;
  linear_of(a, &x);
  ExprTerm q_stack[EXPR_SCRATCH], r_stack[EXPR_SCRATCH];
  ExprTerm *qs = EXPR_TERMS(ctx, q_stack, x.n), *rs = EXPR_TERMS(ctx, r_stack, x.n);
  for (int i = 0; i < x.n; i++) {
    qs[i] = (ExprTerm){x.terms[i].coef / c, x.terms[i].atom};
    rs[i] = (ExprTerm){x.terms[i].coef % c, x.terms[i].atom};
  }
  *q = expr_sum_of(ctx, qs, x.n, floordiv_i64(x.value, c));
  *r = expr_sum_of(ctx, rs, x.n, floormod_i64(x.value, c));
  return !expr_is_const(*q, NULL) || (*q)->value != 0;
}

static int parts(const Expr *e) {
  Linear x;
  linear_of(e, &x);
  return x.n + (x.value != 0);
}

/* Polynomial division by the divisor's first term, as long as each step leaves fewer terms. */
static bool split_by_symbols(Ctx *ctx, const Expr *a, const Expr *b, const Expr **q, const Expr **r) {
  Linear y;
  linear_of(b, &y);
  *q = expr_const(ctx, 0);
  *r = a;
  bool any = false;
  for (bool again = true; again;) {
    again = false;
    Linear x;
    linear_of(*r, &x);
    for (int i = 0; i < x.n && !again; i++) {
      const Expr *t = divide_term(ctx, &x.terms[i], y.terms[0].coef, y.terms[0].atom);
      const Expr *rest = t ? expr_try_combine(ctx, *r, 1, expr_try_mul(ctx, t, b), -1) : NULL;
      const Expr *sum = rest && parts(rest) < parts(*r) ? expr_try_combine(ctx, *q, 1, t, 1) : NULL;
      if (sum) {
        *q = sum;
        *r = rest;
        any = again = true;
      }
    }
  }
  return any;
}

bool expr_split(Ctx *ctx, const Expr *a, const Expr *b, const Expr **q, const Expr **r) {
  int64_t c;
  return expr_is_const(b, &c) ? split_by_const(ctx, a, c, q, r) : split_by_symbols(ctx, a, b, q, r);
}

/* The greatest number that divides every coefficient of e and g. */
static int64_t common_factor(const Expr *e, int64_t g) {
  Linear x;
  linear_of(e, &x);
  for (int i = 0; i < x.n && g != 1; i++)
    g = gcd_i64(g, x.terms[i].coef);
  return g;
}

/* (e - value mod g) / g, where g divides every coefficient. */
static const Expr *divide_by_factor(Ctx *ctx, const Expr *e, int64_t g) {
  const Expr *q, *r;
  split_by_const(ctx, e, g, &q, &r);
  return q;
}

/* The single atom that e is, apart from a constant; NULL where it is not of that form. */
static const Expr *atom_plus_const(const Expr *e, int64_t *value) {
  Linear x;
  linear_of(e, &x);
  *value = x.value;
  return x.n == 1 && x.terms[0].coef == 1 ? x.terms[0].atom : NULL;
}

/* (x div a + m) div b as (x + a*m) div (a*b), or NULL. */
static const Expr *nested_quotient(Ctx *ctx, const Expr *r, const Expr *b) {
  int64_t m;
  const Expr *atom = atom_plus_const(r, &m);
  if (!atom || atom->kind != EX_DIV)
    return NULL;
  const Expr *dividend = expr_try_combine(ctx, atom->a, 1, atom->b, m);
  const Expr *divisor = expr_try_mul(ctx, atom->b, b);
  /* A product multiplied out may no longer show that it is positive. */
  return dividend && divisor && divisor->lo >= 1 ? expr_floordiv(ctx, dividend, divisor) : NULL;
}

/* True where r lies within one period of c: t*c <= r < t*c + c. */
static bool one_period(const Expr *r, int64_t c, int64_t *t) {
  if (r->lo == EXPR_MIN || r->hi == EXPR_MAX)
    return false;
  *t = floordiv_i64(r->lo, c);
  return *t == floordiv_i64(r->hi, c);
}

static const Expr *quotient_by_const(Ctx *ctx, const Expr *r, int64_t c) {
  int64_t t, n;
  if (one_period(r, c, &t))
    return expr_const(ctx, t);
  int64_t g = common_factor(r, c);
  if (g > 1)
    return expr_floordiv_const(ctx, divide_by_factor(ctx, r, g), c / g);
  const Expr *nested = nested_quotient(ctx, r, expr_const(ctx, c));
  if (nested)
    return nested;
  if (r->kind == EX_MOD && expr_is_const(r->b, &n) && n % c == 0)
    return expr_mod_const(ctx, expr_floordiv_const(ctx, r->a, c), n / c);
  return expr_node(ctx, EX_DIV, r, expr_const(ctx, c));
}

const Expr *expr_floordiv_const(Ctx *ctx, const Expr *a, int64_t c) {
  WEFT_ASSERT(c >= 1);
  if (c == 1)
    return a;
  const Expr *q, *r;
  split_by_const(ctx, a, c, &q, &r);
  return expr_add(ctx, q, quotient_by_const(ctx, r, c));
}

/* Where r is k*(x mod n) + m and c divides k*n: k*x + m, else NULL. */
static const Expr *open_inner_mod(Ctx *ctx, const Expr *r, int64_t c) {
  Linear x;
  linear_of(r, &x);
  int64_t n, kn;
  if (x.n != 1 || x.terms[0].atom->kind != EX_MOD || !expr_is_const(x.terms[0].atom->b, &n))
    return NULL;
  if (!mul_i64(x.terms[0].coef, n, &kn) || kn % c != 0)
    return NULL;
  return expr_try_combine(ctx, x.terms[0].atom->a, x.terms[0].coef, expr_const(ctx, x.value), 1);
}

const Expr *expr_mod_const(Ctx *ctx, const Expr *a, int64_t c) {
  WEFT_ASSERT(c >= 1);
  if (c == 1)
    return expr_const(ctx, 0);
  const Expr *q, *r;
  int64_t t;
  split_by_const(ctx, a, c, &q, &r);
  if (one_period(r, c, &t))
    return expr_add_const(ctx, r, -t * c);
  int64_t g = common_factor(r, c);
  if (g > 1) {
    Linear x;
    linear_of(r, &x);
    const Expr *digit = expr_mod_const(ctx, divide_by_factor(ctx, r, g), c / g);
    return expr_add_const(ctx, expr_mul_const(ctx, digit, g), floormod_i64(x.value, g));
  }
  const Expr *opened = open_inner_mod(ctx, r, c);
  return opened ? expr_mod_const(ctx, opened, c) : expr_node(ctx, EX_MOD, r, expr_const(ctx, c));
}

/* ---- divisors with symbols ---- */

/* A factor that r and b share: a constant in all their coefficients (b's constant part too), or a symbolic factor of
 * b = k*x*y.. that is positive and in every term of r. NULL where there is none; else r and b divided, and what the
 * constant part of r leaves. */
static const Expr *shared_factor(Ctx *ctx, const Expr **r, const Expr **b, int64_t *left) {
  Linear x, y;
  linear_of(*r, &x);
  linear_of(*b, &y);
  int64_t g = common_factor(*b, y.value);
  g = common_factor(*r, common_factor(*b, g));
  if (g > 1) {
    *left = floormod_i64(x.value, g);
    *r = divide_by_factor(ctx, *r, g);
    *b = divide_by_factor(ctx, *b, g);
    return expr_const(ctx, g);
  }
  if (y.n != 1 || y.value != 0 || x.value != 0)
    return NULL;
  const Expr *factors[EXPR_MAX_FACTORS];
  int n = expr_factors(y.terms[0].atom, factors);
  for (int i = 0; i < n; i++) {
    const Expr *q = factors[i]->lo >= 1 ? expr_const(ctx, 0) : NULL;
    for (int j = 0; j < x.n && q; j++)
      q = expr_try_combine(ctx, q, 1, divide_term(ctx, &x.terms[j], 1, factors[i]), 1);
    if (q) {
      *left = 0;
      *r = q;
      *b = divide_term(ctx, &y.terms[0], 1, factors[i]);
      return factors[i];
    }
  }
  return NULL;
}

/* -1 or 0: the period of b that r lies in, -b <= r < 0 or 0 <= r < b, as far as a short proof shows; 1: not known. */
static int period_of(Ctx *ctx, const Expr *r, const Expr *b) {
  const Expr *below = expr_try_combine(ctx, expr_try_combine(ctx, b, 1, r, -1), 1, expr_const(ctx, 1), -1);
  if (!expr_prove_shallow(ctx, below))
    return 1;
  if (expr_prove_shallow(ctx, r))
    return 0;
  const Expr *minus_one = expr_const(ctx, -1);
  bool negative = expr_prove_shallow(ctx, expr_try_combine(ctx, minus_one, 1, r, -1));
  return negative && expr_prove_shallow(ctx, expr_try_combine(ctx, r, 1, b, 1)) ? -1 : 1;
}

const Expr *expr_floordiv(Ctx *ctx, const Expr *a, const Expr *b) {
  int64_t c, left;
  if (expr_is_const(b, &c))
    return expr_floordiv_const(ctx, a, c);
  WEFT_ASSERT(b->hi >= 1);
  const Expr *q, *r, *d = b;
  split_by_symbols(ctx, a, b, &q, &r);
  int period = period_of(ctx, r, b);
  if (period <= 0)
    return expr_add_const(ctx, q, period);
  const Expr *quotient = shared_factor(ctx, &r, &d, &left) ? expr_floordiv(ctx, r, d) : nested_quotient(ctx, r, b);
  return expr_add(ctx, q, quotient ? quotient : expr_node(ctx, EX_DIV, r, b));
}

const Expr *expr_mod(Ctx *ctx, const Expr *a, const Expr *b) {
  int64_t c, left;
  if (expr_is_const(b, &c))
    return expr_mod_const(ctx, a, c);
  WEFT_ASSERT(b->hi >= 1);
  const Expr *q, *r, *d = b;
  split_by_symbols(ctx, a, b, &q, &r);
  int period = period_of(ctx, r, b);
  if (period <= 0)
    return period ? expr_add(ctx, r, b) : r;
  const Expr *g = shared_factor(ctx, &r, &d, &left);
  if (g)
    return expr_add_const(ctx, expr_mul(ctx, g, expr_mod(ctx, r, d)), left);
  return expr_node(ctx, EX_MOD, r, b);
}

const Expr *expr_ceildiv_const(Ctx *ctx, const Expr *a, int64_t c) {
  return expr_floordiv_const(ctx, expr_add_const(ctx, a, c - 1), c);
}

const Expr *expr_ceildiv(Ctx *ctx, const Expr *a, const Expr *b) {
  return expr_floordiv(ctx, expr_add_const(ctx, expr_add(ctx, a, b), -1), b);
}
