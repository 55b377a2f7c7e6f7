/* Index expressions: nodes, intervals, sums, products. Division is in expr_div.c, min and max in expr_minmax.c.
 *
 * Every constructor returns the canonical form (expr.h), so equal canonical forms are one node. Sums are merged term
 * lists. Where digits of one number meet in a sum they join again:
 *   k*(y mod c) + k*c*(y div c)           = k*y
 *   k*(y mod c) + k*c*((y div c) mod b)   = k*(y mod (c*b))
 * An interval end at EXPR_MIN (lo) or EXPR_MAX (hi) is infinite and stays so. */
#include "ir/expr_impl.h"

/* ---- intervals ---- */

static int64_t clamp_bound(int64_t v) {
  return v < EXPR_MIN ? EXPR_MIN : v > EXPR_MAX ? EXPR_MAX : v;
}
static int64_t lo_add(int64_t a, int64_t b) {
  return a == EXPR_MIN || b == EXPR_MIN ? EXPR_MIN : clamp_bound(a + b);
}
static int64_t hi_add(int64_t a, int64_t b) {
  return a == EXPR_MAX || b == EXPR_MAX ? EXPR_MAX : clamp_bound(a + b);
}

static int64_t bound_mul(int64_t a, int64_t b) {
  int64_t r;
  if (!mul_i64(a, b, &r))
    return (a < 0) == (b < 0) ? EXPR_MAX : EXPR_MIN;
  return clamp_bound(r);
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static void product_interval(Expr *e) {
  int64_t ll = bound_mul(e->a->lo, e->b->lo), lh = bound_mul(e->a->lo, e->b->hi);
  int64_t hl = bound_mul(e->a->hi, e->b->lo), hh = bound_mul(e->a->hi, e->b->hi);
  e->lo = least(least(ll, lh), least(hl, hh));
  e->hi = most(most(ll, lh), most(hl, hh));
}

/* The quotient falls as the divisor grows where the dividend is positive, and rises where it is negative; an infinite
 * divisor leaves 0 or -1. */
static void quotient_interval(Expr *e) {
  const Expr *a = e->a, *b = e->b;
  int64_t near = most(b->lo, 1), far = b->hi;
  if (a->lo == EXPR_MIN)
    e->lo = EXPR_MIN;
  else if (a->lo >= 0)
    e->lo = far == EXPR_MAX ? 0 : floordiv_i64(a->lo, far);
  else
    e->lo = floordiv_i64(a->lo, near);
  if (a->hi == EXPR_MAX)
    e->hi = EXPR_MAX;
  else if (a->hi >= 0)
    e->hi = floordiv_i64(a->hi, near);
  else
    e->hi = far == EXPR_MAX ? -1 : floordiv_i64(a->hi, far);
}

static void set_interval(Expr *e) {
  const Expr *a = e->a, *b = e->b;
  switch (e->kind) {
  case EX_PROD:
    product_interval(e);
    return;
  case EX_DIV:
    quotient_interval(e);
    return;
  case EX_MOD:
    e->lo = 0;
    e->hi = b->hi == EXPR_MAX ? EXPR_MAX : b->hi - 1;
    if (a->lo >= 0)
      e->hi = least(e->hi, a->hi);
    return;
  case EX_MIN:
    e->lo = least(a->lo, b->lo);
    e->hi = least(a->hi, b->hi);
    return;
  case EX_MAX:
    e->lo = most(a->lo, b->lo);
    e->hi = most(a->hi, b->hi);
    return;
  default:
    WEFT_UNREACHABLE();
  }
}

/* ---- nodes ---- */

static uint64_t hash_u64(uint64_t seed, uint64_t v) {
  return hash_bytes(seed, &v, sizeof v);
}

static uint64_t hash_expr(const Expr *e) {
  uint64_t h = hash_u64(WEFT_HASH_SEED, (uint64_t)e->kind);
  h = hash_u64(h, (uint64_t)e->value);
  if (e->kind == EX_SYM)
    h = hash_bytes(h, e->name, strlen(e->name));
  if (e->a)
    h = hash_u64(h, ((uint64_t)e->a->id << 32) | e->b->id);
  for (int i = 0; i < e->n; i++)
    h = hash_u64(hash_u64(h, (uint64_t)e->terms[i].coef), e->terms[i].atom->id);
  return h;
}

static bool same_expr(const void *item, const void *key) {
  const Expr *x = item, *y = key;
  if (x->kind != y->kind || x->value != y->value || x->name != y->name || x->a != y->a || x->b != y->b || x->n != y->n)
    return false;
  for (int i = 0; i < x->n; i++) {
    if (x->terms[i].coef != y->terms[i].coef || x->terms[i].atom != y->terms[i].atom)
      return false;
  }
  return true;
}

static const Expr *newer(const Expr *a, const Expr *b) {
  if (!a || !b)
    return a ? a : b;
  if (a->kind != b->kind)
    return a->kind == EX_VAR ? a : b;
  return a->id > b->id ? a : b;
}

static void note_operand(Expr *e, const Expr *operand) {
  e->used |= operand->used;
  e->inner = newer(e->inner, operand->inner);
  if (operand->depth >= e->depth)
    e->depth = operand->depth + 1;
}

static Expr *store_node(Ctx *ctx, const Expr *key) {
  Expr *e = ARENA_NEW(ctx->arena, Expr);
  *e = *key;
  WEFT_ASSERT(ctx->next_expr_id < UINT32_MAX);
  e->id = ctx->next_expr_id++;
  if (e->kind == EX_SYM || e->kind == EX_VAR) {
    e->used = (uint64_t)1 << (e->id % 64);
    e->inner = e;
  }
  return e;
}

static const Expr *find_node(Ctx *ctx, const Expr *key, uint64_t *hash) {
  *hash = hash_expr(key);
  return intern_find(&ctx->exprs, *hash, same_expr, key);
}

const Expr *expr_const(Ctx *ctx, int64_t value) {
  Expr key = {.kind = EX_CONST, .value = value, .lo = clamp_bound(value), .hi = clamp_bound(value)};
  uint64_t hash;
  const Expr *found = find_node(ctx, &key, &hash);
  if (!found) {
    found = store_node(ctx, &key);
    intern_add(ctx, &ctx->exprs, hash, found);
  }
  return found;
}

const Expr *expr_sym(Ctx *ctx, const char *name, int64_t lo, int64_t hi) {
  WEFT_ASSERT(lo <= hi);
  Expr key = {.kind = EX_SYM, .name = intern_str(ctx, name), .lo = clamp_bound(lo), .hi = clamp_bound(hi)};
  uint64_t hash;
  const Expr *found = find_node(ctx, &key, &hash);
  if (!found) {
    found = store_node(ctx, &key);
    intern_add(ctx, &ctx->exprs, hash, found);
  }
  return found;
}

const Expr *expr_var(Ctx *ctx, const char *name, const Expr *lo, const Expr *hi) {
  Expr key = {.kind = EX_VAR, .name = intern_str(ctx, name), .a = lo, .b = hi};
  key.lo = lo->lo;
  key.hi = hi_add(hi->hi, -1);
  if (key.lo > key.hi) {
    /* The range is empty. Any interval would be true; this one decides nothing, so that what is built on the variable
     * keeps its form and can be proved from it. */
    key.lo = EXPR_MIN;
    key.hi = EXPR_MAX;
  }
  return store_node(ctx, &key);
}

const Expr *expr_node(Ctx *ctx, ExprKind kind, const Expr *a, const Expr *b) {
  Expr key = {.kind = kind, .a = a, .b = b};
  uint64_t hash;
  const Expr *found = find_node(ctx, &key, &hash);
  if (!found) {
    Expr *e = store_node(ctx, &key);
    note_operand(e, a);
    note_operand(e, b);
    set_interval(e);
    intern_add(ctx, &ctx->exprs, hash, e);
    found = e;
  }
  return found;
}

static int order_of(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

int expr_order(const Expr *x, const Expr *y) {
  if (x == y)
    return 0;
  if (x->kind != y->kind)
    return order_of(x->kind, y->kind);
  int r = 0;
  switch (x->kind) {
  case EX_CONST:
    break;
  case EX_SYM:
  case EX_VAR:
    r = strcmp(x->name, y->name);
    break;
  case EX_SUM:
    r = order_of(x->n, y->n);
    for (int i = 0; i < x->n && r == 0; i++) {
      r = expr_order(x->terms[i].atom, y->terms[i].atom);
      if (r == 0)
        r = order_of(x->terms[i].coef, y->terms[i].coef);
    }
    break;
  default:
    r = expr_order(x->a, y->a);
    if (r == 0)
      r = expr_order(x->b, y->b);
  }
  if (r == 0)
    r = order_of(x->value, y->value);
  return r ? r : order_of(x->id, y->id);
}

/* ---- sums ---- */

/* What k*x.atom*(..) and k*y.atom of one sum join to, divided by k; NULL where they don't. x is the mod term. */
static const Expr *join_digits(Ctx *ctx, const ExprTerm *x, const ExprTerm *y) {
  const Expr *mod = x->atom, *other = y->atom;
  int64_t c, b, product;
  if (mod->kind != EX_MOD || !expr_is_const(mod->b, &c) || (other->kind != EX_DIV && other->kind != EX_MOD))
    return NULL;
  if (!mul_i64(x->coef, c, &product) || product != y->coef)
    return NULL;
  const Expr *quotient = expr_floordiv_const(ctx, mod->a, c);
  if (other->kind == EX_MOD) {
    if (other->a != quotient || !expr_is_const(other->b, &b) || !mul_i64(c, b, &product))
      return NULL;
    return expr_mod_const(ctx, mod->a, product);
  }
  Linear q;
  linear_of(quotient, &q);
  if (q.n != 1 || q.terms[0].coef != 1 || q.terms[0].atom != other || !mul_i64(q.value, c, &product))
    return NULL;
  return expr_try_combine(ctx, mod->a, 1, expr_const(ctx, product), -1);
}

static const Expr *join_any_digits(Ctx *ctx, const ExprTerm *terms, int n, int64_t value) {
  for (int i = 0; i < n; i++) {
    if (terms[i].atom->kind != EX_MOD)
      continue;
    for (int j = 0; j < n; j++) {
      const Expr *joined = i == j ? NULL : join_digits(ctx, &terms[i], &terms[j]);
      if (!joined)
        continue;
      ExprTerm stack[EXPR_SCRATCH], *rest = EXPR_TERMS(ctx, stack, n);
      int m = 0;
      for (int k = 0; k < n; k++) {
        if (k != i && k != j)
          rest[m++] = terms[k];
      }
      joined = expr_try_combine(ctx, expr_sum_of(ctx, rest, m, value), 1, joined, terms[i].coef);
      if (joined)
        return joined;
    }
  }
  return NULL;
}

static const Expr *store_sum(Ctx *ctx, const Expr *key, uint64_t hash) {
  ExprTerm *terms = ARENA_ARRAY(ctx->arena, ExprTerm, key->n);
  memcpy(terms, key->terms, (size_t)key->n * sizeof *terms);
  Expr *e = store_node(ctx, key);
  e->terms = terms;
  e->lo = e->hi = clamp_bound(e->value);
  for (int i = 0; i < e->n; i++) {
    int64_t coef = terms[i].coef;
    const Expr *atom = terms[i].atom;
    e->lo = lo_add(e->lo, bound_mul(coef > 0 ? atom->lo : atom->hi, coef));
    e->hi = hi_add(e->hi, bound_mul(coef > 0 ? atom->hi : atom->lo, coef));
    note_operand(e, atom);
  }
  intern_add(ctx, &ctx->exprs, hash, e);
  return e;
}

const Expr *expr_sum_of(Ctx *ctx, ExprTerm *terms, int n, int64_t value) {
  int m = 0;
  for (int i = 0; i < n; i++) {
    if (terms[i].coef != 0)
      terms[m++] = terms[i];
  }
  if (m == 0)
    return expr_const(ctx, value);
  if (m == 1 && value == 0 && terms[0].coef == 1)
    return terms[0].atom;
  Expr key = {.kind = EX_SUM, .value = value, .n = m, .terms = terms};
  uint64_t hash;
  const Expr *found = find_node(ctx, &key, &hash);
  if (!found)
    found = join_any_digits(ctx, terms, m, value);
  if (!found)
    found = store_sum(ctx, &key, hash);
  return found;
}

const Expr *expr_try_combine(Ctx *ctx, const Expr *a, int64_t ka, const Expr *b, int64_t kb) {
  if (!a || !b)
    return NULL;
  Linear x, y;
  linear_of(a, &x);
  linear_of(b, &y);
  ExprTerm stack[EXPR_SCRATCH], *terms = EXPR_TERMS(ctx, stack, x.n + y.n);
  int64_t vx, vy, value;
  if (!mul_i64(x.value, ka, &vx) || !mul_i64(y.value, kb, &vy) || !add_i64(vx, vy, &value))
    return NULL;
  int n = 0;
  for (int i = 0, j = 0; i < x.n || j < y.n; n++) {
    int order = i == x.n ? 1 : j == y.n ? -1 : expr_order(x.terms[i].atom, y.terms[j].atom);
    int64_t cx = 0, cy = 0;
    if (order <= 0) {
      terms[n].atom = x.terms[i].atom;
      if (!mul_i64(x.terms[i++].coef, ka, &cx))
        return NULL;
    }
    if (order >= 0) {
      terms[n].atom = y.terms[j].atom;
      if (!mul_i64(y.terms[j++].coef, kb, &cy))
        return NULL;
    }
    if (!add_i64(cx, cy, &terms[n].coef))
      return NULL;
  }
  return expr_sum_of(ctx, terms, n, value);
}

const Expr *expr_try_scale(Ctx *ctx, const Expr *a, int64_t k) {
  return expr_try_combine(ctx, a, k, expr_const(ctx, 0), 1);
}

static const Expr *in_range(const Expr *e) {
  if (!e)
    weft_bug(__FILE__, __LINE__, "an index expression has grown out of range");
  return e;
}

const Expr *expr_add(Ctx *ctx, const Expr *a, const Expr *b) {
  return in_range(expr_try_combine(ctx, a, 1, b, 1));
}
const Expr *expr_sub(Ctx *ctx, const Expr *a, const Expr *b) {
  return in_range(expr_try_combine(ctx, a, 1, b, -1));
}
const Expr *expr_add_const(Ctx *ctx, const Expr *a, int64_t c) {
  return expr_add(ctx, a, expr_const(ctx, c));
}
const Expr *expr_mul_const(Ctx *ctx, const Expr *a, int64_t c) {
  return in_range(expr_try_scale(ctx, a, c));
}

/* ---- products ---- */

int expr_factors(const Expr *atom, const Expr **factors) {
  int n = 1;
  for (const Expr *e = atom; e->kind == EX_PROD; e = e->a)
    n++;
  const Expr *e = atom;
  for (int i = n - 1; i > 0; i--) {
    factors[i] = e->b;
    e = e->a;
  }
  factors[0] = e;
  return n;
}

const Expr *expr_product_of(Ctx *ctx, const Expr *const *factors, int n) {
  if (n == 0)
    return expr_const(ctx, 1);
  const Expr *e = factors[0];
  for (int i = 1; i < n; i++)
    e = expr_node(ctx, EX_PROD, e, factors[i]);
  return e;
}

static const Expr *atom_product(Ctx *ctx, const Expr *a, const Expr *b) {
  const Expr *x[EXPR_MAX_FACTORS], *y[EXPR_MAX_FACTORS], *all[2 * EXPR_MAX_FACTORS];
  int nx = expr_factors(a, x), ny = expr_factors(b, y);
  if (nx + ny > EXPR_MAX_FACTORS)
    return NULL;
  for (int i = 0, j = 0; i + j < nx + ny;) {
    bool left = j == ny || (i < nx && expr_order(x[i], y[j]) <= 0);
    all[i + j] = left ? x[i] : y[j];
    left ? i++ : j++;
  }
  return expr_product_of(ctx, all, nx + ny);
}

const Expr *expr_try_mul(Ctx *ctx, const Expr *a, const Expr *b) {
  if (!a || !b)
    return NULL;
  int64_t k;
  if (expr_is_const(a, &k))
    return expr_try_scale(ctx, b, k);
  if (expr_is_const(b, &k))
    return expr_try_scale(ctx, a, k);
  Linear x, y;
  linear_of(a, &x);
  linear_of(b, &y);
  if (((int64_t)x.n + 1) * (y.n + 1) > 1024)
    return NULL;
  /* (vx + sum x_i) * (vy + sum y_j), the cross terms one by one. */
  if (!mul_i64(x.value, y.value, &k))
    return NULL;
  const Expr *e = expr_try_combine(ctx, a, y.value, b, x.value);
  e = expr_try_combine(ctx, e, 1, expr_const(ctx, k), -1);
  for (int i = 0; i < x.n; i++) {
    for (int j = 0; j < y.n; j++) {
      if (!mul_i64(x.terms[i].coef, y.terms[j].coef, &k))
        return NULL;
      e = expr_try_combine(ctx, e, 1, atom_product(ctx, x.terms[i].atom, y.terms[j].atom), k);
    }
  }
  return e;
}

const Expr *expr_mul(Ctx *ctx, const Expr *a, const Expr *b) {
  return in_range(expr_try_mul(ctx, a, b));
}
