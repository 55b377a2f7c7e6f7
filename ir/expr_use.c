/* What is asked of an index expression, and substitution. */
#include "ir/expr_impl.h"

bool expr_is_const(const Expr *e, int64_t *value) {
  if (e->kind == EX_CONST && value)
    *value = e->value;
  return e->kind == EX_CONST;
}

int64_t expr_value(const Expr *e) {
  WEFT_ASSERT(e->kind == EX_CONST);
  return e->value;
}

/* An operand is older than what is made of it, so nodes older than the atom need no look inside. */
bool expr_uses(const Expr *e, const Expr *atom) {
  if (e == atom)
    return true;
  if (e->id < atom->id || (e->used & atom->used) != atom->used || e->kind == EX_VAR)
    return false;
  for (int i = 0; i < e->n; i++) {
    if (expr_uses(e->terms[i].atom, atom))
      return true;
  }
  return e->a && (expr_uses(e->a, atom) || expr_uses(e->b, atom));
}

bool expr_linear(const Expr *e, const Expr *var, int64_t *coef) {
  Linear x;
  linear_of(e, &x);
  *coef = 0;
  for (int i = 0; i < x.n; i++) {
    if (x.terms[i].atom == var)
      *coef = x.terms[i].coef;
    else if (expr_uses(x.terms[i].atom, var))
      return false;
  }
  return true;
}

/* Shared operands are substituted once, as far as a small table remembers them. */
typedef struct {
  Ctx *ctx;
  const Expr *from, *to;
  struct {
    const Expr *before, *after;
  } memo[64];
} Subst;

static const Expr *subst(Subst *s, const Expr *e);

static const Expr *subst_operands(Subst *s, const Expr *e) {
  if (e->kind == EX_SUM) {
    const Expr *sum = expr_const(s->ctx, e->value);
    for (int i = 0; i < e->n; i++)
      sum = expr_add(s->ctx, sum, expr_mul_const(s->ctx, subst(s, e->terms[i].atom), e->terms[i].coef));
    return sum;
  }
  const Expr *a = subst(s, e->a), *b = subst(s, e->b);
  switch (e->kind) {
  case EX_PROD:
    return expr_mul(s->ctx, a, b);
  case EX_DIV:
    return expr_floordiv(s->ctx, a, b);
  case EX_MOD:
    return expr_mod(s->ctx, a, b);
  case EX_MIN:
    return expr_min(s->ctx, a, b);
  case EX_MAX:
    return expr_max(s->ctx, a, b);
  default:
    WEFT_UNREACHABLE();
  }
}

static const Expr *subst(Subst *s, const Expr *e) {
  if (e == s->from)
    return s->to;
  if (!expr_uses(e, s->from))
    return e;
  size_t slot = e->id % 64;
  if (s->memo[slot].before != e) {
    const Expr *after = subst_operands(s, e);
    s->memo[slot].before = e;
    s->memo[slot].after = after;
  }
  return s->memo[slot].after;
}

const Expr *expr_subst(Ctx *ctx, const Expr *e, const Expr *from, const Expr *to) {
  Subst s = {.ctx = ctx, .from = from, .to = to};
  return subst(&s, e);
}

int64_t expr_eval(const Expr *e, int64_t (*lookup)(const void *env, const Expr *atom), const void *env) {
  if (e->kind == EX_CONST)
    return e->value;
  if (e->kind == EX_SYM || e->kind == EX_VAR)
    return lookup(env, e);
  int64_t r = e->value, x, y;
  bool ok = true;
  if (e->kind == EX_SUM) {
    for (int i = 0; i < e->n; i++)
      ok = ok && mul_i64(expr_eval(e->terms[i].atom, lookup, env), e->terms[i].coef, &x) && add_i64(r, x, &r);
  } else {
    x = expr_eval(e->a, lookup, env);
    y = expr_eval(e->b, lookup, env);
    switch (e->kind) {
    case EX_PROD:
      ok = mul_i64(x, y, &r);
      break;
    case EX_DIV:
    case EX_MOD:
      ok = y > 0;
      r = !ok ? 0 : e->kind == EX_DIV ? floordiv_i64(x, y) : floormod_i64(x, y);
      break;
    default:
      r = (e->kind == EX_MIN) == (x < y) ? x : y;
    }
  }
  if (!ok)
    weft_bug(__FILE__, __LINE__, "the value of an index expression is out of range");
  return r;
}

/* The sum of the absolute values of the coefficients and the constant, at most EXPR_MAX. */
static int64_t weight(const Expr *e) {
  Linear x;
  linear_of(e, &x);
  uint64_t w = magnitude(x.value);
  for (int i = 0; i < x.n && w < EXPR_MAX; i++) {
    uint64_t c = magnitude(x.terms[i].coef);
    w = c < EXPR_MAX ? w + c : EXPR_MAX;
  }
  return w < EXPR_MAX ? (int64_t)w : EXPR_MAX;
}

bool expr_fits(ExprKind kind, const Expr *a, const Expr *b) {
  if (a->depth >= EXPR_FIT_DEPTH || b->depth >= EXPR_FIT_DEPTH)
    return false;
  if ((kind == EX_DIV || kind == EX_MOD) && b->lo < 1)
    return false;
  Linear x, y;
  linear_of(a, &x);
  linear_of(b, &y);
  int64_t wa = weight(a), wb = weight(b), terms = (int64_t)x.n + y.n;
  bool small = wa + wb < EXPR_MAX;
  if (kind == EX_PROD) {
    int64_t product;
    small = mul_i64(wa, wb, &product) && product < EXPR_MAX;
    terms = ((int64_t)x.n + 1) * (y.n + 1) - 1;
    const Expr *factors[EXPR_MAX_FACTORS];
    int deepest[2] = {0, 0};
    for (int i = 0; i < x.n; i++) {
      int n = expr_factors(x.terms[i].atom, factors);
      deepest[0] = n > deepest[0] ? n : deepest[0];
    }
    for (int j = 0; j < y.n; j++) {
      int n = expr_factors(y.terms[j].atom, factors);
      deepest[1] = n > deepest[1] ? n : deepest[1];
    }
    small = small && deepest[0] + deepest[1] <= EXPR_MAX_FACTORS;
  }
  return small && terms <= EXPR_FIT_TERMS;
}
