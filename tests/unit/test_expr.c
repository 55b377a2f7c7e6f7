/* Index expressions against naive arithmetic: identities; random expressions compared, over every point of their
 * variables' ranges, with values computed from the operations as written; the prover's soundness on the same, and its
 * completeness on the index arithmetic of convolutions. */
#include "ir/expr.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- random numbers ---- */

static uint64_t rng_state;

static uint64_t seed_rng(void) {
  const char *text = getenv("WEFT_SEED");
  uint64_t seed = text ? strtoull(text, NULL, 10) : 20240607;
  printf("seed %llu\n", (unsigned long long)seed);
  rng_state = seed * 2 + 1;
  return seed;
}

static int64_t pick(int64_t lo, int64_t hi) { /* inclusive */
  rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
  return lo + (int64_t)((rng_state >> 33) % (uint64_t)(hi - lo + 1));
}

/* ---- a scenario: two symbols and four variables, and every point of their ranges ---- */

enum { N_ATOMS = 6, MAX_POINTS = 4096 };

typedef struct {
  Ctx *ctx;
  const Expr *atom[N_ATOMS];
  int n_points;
  int64_t (*point)[N_ATOMS];
} World;

typedef struct {
  const World *world;
  const int64_t *values;
} Env;

static int64_t look_up(const void *env, const Expr *atom) {
  const Env *e = env;
  for (int i = 0; i < N_ATOMS; i++) {
    if (e->world->atom[i] == atom)
      return e->values[i];
  }
  ck_abort_msg("unknown atom");
}

static int64_t eval_at(const World *w, const Expr *e, const int64_t *values) {
  Env env = {w, values};
  return expr_eval(e, look_up, &env);
}

static void enumerate(World *w, int64_t *values, int i) {
  if (i == N_ATOMS) {
    ck_assert_int_lt(w->n_points, MAX_POINTS);
    memcpy(w->point[w->n_points++], values, N_ATOMS * sizeof *values);
    return;
  }
  const Expr *a = w->atom[i];
  int64_t lo = a->kind == EX_SYM ? a->lo : eval_at(w, a->a, values);
  int64_t hi = a->kind == EX_SYM ? a->hi : eval_at(w, a->b, values) - 1;
  for (int64_t v = lo; v <= hi; v++) {
    values[i] = v;
    enumerate(w, values, i + 1);
  }
}

static const Expr *num(Ctx *ctx, int64_t v) {
  return expr_const(ctx, v);
}

/* N in 1..5, M in 1..3, i < N, j near i div 2 as a convolution's taps, t in a block of i, l < block. */
static World world_create(bool other_order) {
  World w = {.ctx = ctx_create()};
  Ctx *ctx = w.ctx;
  if (other_order) {
    w.atom[1] = expr_sym(ctx, "M", 1, 3);
    expr_floordiv_const(ctx, w.atom[1], 3);
  }
  w.atom[0] = expr_sym(ctx, "N", 1, 5);
  w.atom[1] = expr_sym(ctx, "M", 1, 3);
  if (other_order)
    w.atom[5] = expr_var(ctx, "l", num(ctx, 0), num(ctx, 4));
  const Expr *i = w.atom[2] = expr_var(ctx, "i", num(ctx, 0), w.atom[0]);
  w.atom[3] = expr_var(ctx, "j", expr_max(ctx, num(ctx, 0), expr_ceildiv_const(ctx, expr_add_const(ctx, i, -2), 2)),
                       expr_min(ctx, w.atom[1], expr_add_const(ctx, expr_floordiv_const(ctx, i, 2), 1)));
  w.atom[4] =
      expr_var(ctx, "t", num(ctx, -3), expr_min(ctx, num(ctx, 1), expr_sub(ctx, w.atom[0], expr_mul_const(ctx, i, 2))));
  if (!other_order)
    w.atom[5] = expr_var(ctx, "l", num(ctx, 0), num(ctx, 4));
  w.point = arena_alloc(ctx->arena, MAX_POINTS * sizeof *w.point);
  int64_t values[N_ATOMS];
  enumerate(&w, values, 0);
  return w;
}

/* ---- random programs of operations ---- */

typedef enum {
  OP_ATOM,
  OP_CONST,
  OP_ADD,
  OP_SUB,
  OP_MUL,
  OP_SCALE,
  OP_DIV,
  OP_CEILDIV,
  OP_MOD,
  OP_MIN,
  OP_MAX,
  OPS
} Op;

typedef struct {
  Op op;
  int a, b;  /* earlier steps */
  int64_t k; /* OP_ATOM: which; OP_CONST, OP_SCALE: the number */
} Step;

enum { N_STEPS = 48, N_LEAVES = 12 };

static int64_t naive_floor(int64_t a, int64_t b) {
  int64_t q = 0;
  if (a >= 0)
    q = a / b;
  else
    q = -((-a + b - 1) / b);
  return q;
}

static int64_t step_value(const Step *s, const int64_t *done, const int64_t *atoms) {
  int64_t a = done[s->a], b = done[s->b];
  switch (s->op) {
  case OP_ATOM:
    return atoms[s->k];
  case OP_CONST:
    return s->k;
  case OP_ADD:
    return a + b;
  case OP_SUB:
    return a - b;
  case OP_MUL:
    return a * b;
  case OP_SCALE:
    return a * s->k;
  case OP_DIV:
    return naive_floor(a, b);
  case OP_CEILDIV:
    return -naive_floor(-a, b);
  case OP_MOD:
    return a - b * naive_floor(a, b);
  case OP_MIN:
    return a < b ? a : b;
  default:
    return a > b ? a : b;
  }
}

static const Expr *step_expr(const World *w, const Step *s, const Expr *const *done, bool swapped) {
  Ctx *ctx = w->ctx;
  const Expr *a = s->op <= OP_CONST ? NULL : done[s->a], *b = s->op <= OP_CONST ? NULL : done[s->b];
  const Expr *x = swapped ? b : a, *y = swapped ? a : b;
  switch (s->op) {
  case OP_ATOM:
    return w->atom[s->k];
  case OP_CONST:
    return num(ctx, s->k);
  case OP_ADD:
    return expr_add(ctx, x, y);
  case OP_SUB:
    return expr_sub(ctx, a, b);
  case OP_MUL:
    return expr_mul(ctx, x, y);
  case OP_SCALE:
    return expr_mul_const(ctx, a, s->k);
  case OP_DIV:
    return expr_floordiv(ctx, a, b);
  case OP_CEILDIV:
    return expr_ceildiv(ctx, a, b);
  case OP_MOD:
    return expr_mod(ctx, a, b);
  case OP_MIN:
    return expr_min(ctx, x, y);
  default:
    return expr_max(ctx, x, y);
  }
}

static bool tame(const Expr *e) {
  return e->lo > -20000 && e->hi < 20000 && e->depth < 12;
}

/* Leaves first (all atoms, then divisors that occur again and again), then steps over what is there. */
static void random_steps(const World *w, Step *steps, const Expr **exprs) {
  static const int64_t divisors[] = {1, 2, 3, 4, 6, 8};
  for (int i = 0; i < N_STEPS; i++) {
    Step *s = &steps[i];
    do {
      *s = (Step){.op = (Op)pick(OP_ADD, OP_MAX)};
      if (i < N_ATOMS)
        *s = (Step){.op = OP_ATOM, .k = i};
      else if (i < N_LEAVES)
        *s = (Step){.op = OP_CONST, .k = i < N_LEAVES - 1 ? divisors[i - N_ATOMS] : pick(-9, 9)};
      else if (pick(0, 9) == 0)
        *s = (Step){.op = OP_CONST, .k = pick(-9, 9)};
      s->a = i >= N_LEAVES ? (int)pick(pick(0, 1) ? i / 2 : 0, i - 1) : 0;
      s->b = i >= N_LEAVES ? (int)pick(0, i - 1) : 0;
      if (s->op == OP_DIV || s->op == OP_CEILDIV || s->op == OP_MOD) {
        if (pick(0, 3))
          s->b = (int)pick(N_ATOMS + 1, N_LEAVES - 2);
        if (exprs[s->b]->lo < 1)
          continue;
      }
      if (s->op == OP_SCALE)
        s->k = divisors[pick(0, 5)] * (pick(0, 2) ? 1 : -1);
      exprs[i] = step_expr(w, s, exprs, false);
    } while (!exprs[i] || !tame(exprs[i]));
  }
}

/* The value of every step at every point: values[point * N_STEPS + step]. */
static int64_t *all_values(const World *w, const Step *steps) {
  int64_t *values = arena_alloc(w->ctx->arena, (size_t)w->n_points * N_STEPS * sizeof *values);
  for (int p = 0; p < w->n_points; p++) {
    for (int i = 0; i < N_STEPS; i++)
      values[p * N_STEPS + i] = step_value(&steps[i], &values[p * N_STEPS], w->point[p]);
  }
  return values;
}

static const char *text_of(Ctx *ctx, const Expr *e) {
  Str s = str_new(ctx->arena);
  expr_print(&s, e);
  return s.data ? s.data : "";
}

static void check_values(const World *w, const Expr *const *exprs, const int64_t *values) {
  for (int i = 0; i < N_STEPS; i++) {
    for (int p = 0; p < w->n_points; p++) {
      int64_t want = values[p * N_STEPS + i], got = eval_at(w, exprs[i], w->point[p]);
      ck_assert_msg(got == want, "%s: %lld, not %lld", text_of(w->ctx, exprs[i]), (long long)got, (long long)want);
      ck_assert_msg(exprs[i]->lo <= want && want <= exprs[i]->hi, "%s: %lld outside [%lld, %lld]",
                    text_of(w->ctx, exprs[i]), (long long)want, (long long)exprs[i]->lo, (long long)exprs[i]->hi);
    }
  }
}

START_TEST(random_expressions_have_the_right_values) {
  seed_rng();
  for (int round = 0; round < 40; round++) {
    World w = world_create(false);
    Step steps[N_STEPS];
    const Expr *exprs[N_STEPS] = {0};
    random_steps(&w, steps, exprs);
    check_values(&w, exprs, all_values(&w, steps));
    ctx_destroy(w.ctx);
  }
}
END_TEST

START_TEST(equal_expressions_are_one_node_and_print_alike_everywhere) {
  seed_rng();
  for (int round = 0; round < 200; round++) {
    World w = world_create(false), other = world_create(true);
    Step steps[N_STEPS];
    const Expr *exprs[N_STEPS] = {0}, *again[N_STEPS], *elsewhere[N_STEPS];
    random_steps(&w, steps, exprs);
    for (int i = 0; i < N_STEPS; i++) {
      again[i] = step_expr(&w, &steps[i], again, true);
      ck_assert_msg(again[i] == exprs[i], "%s and %s", text_of(w.ctx, again[i]), text_of(w.ctx, exprs[i]));
      elsewhere[i] = step_expr(&other, &steps[i], elsewhere, pick(0, 1));
      ck_assert_str_eq(text_of(w.ctx, exprs[i]), text_of(other.ctx, elsewhere[i]));
    }
    ctx_destroy(w.ctx);
    ctx_destroy(other.ctx);
  }
}
END_TEST

START_TEST(substitution_commutes_with_evaluation) {
  seed_rng();
  for (int round = 0; round < 30; round++) {
    World w = world_create(false);
    Step steps[N_STEPS];
    const Expr *exprs[N_STEPS] = {0};
    random_steps(&w, steps, exprs);
    /* l is replaced by a value in its range, so that what its interval decided still holds. */
    const Expr *l = w.atom[5], *to = expr_mod_const(w.ctx, exprs[pick(0, N_STEPS - 1)], 4);
    if (expr_uses(to, l))
      to = expr_subst(w.ctx, to, l, num(w.ctx, 3));
    ck_assert(!expr_uses(to, l));
    for (int i = N_LEAVES; i < N_STEPS; i++) {
      const Expr *e = expr_subst(w.ctx, exprs[i], l, to);
      ck_assert(!expr_uses(e, l));
      ck_assert(expr_uses(exprs[i], l) || e == exprs[i]);
      for (int p = 0; p < w.n_points; p += 7) {
        int64_t values[N_ATOMS];
        memcpy(values, w.point[p], sizeof values);
        values[5] = eval_at(&w, to, values);
        ck_assert_int_eq(eval_at(&w, e, w.point[p]), eval_at(&w, exprs[i], values));
      }
    }
    ctx_destroy(w.ctx);
  }
}
END_TEST

/* The coefficient that expr_linear reports is the slope, and where it reports none, some slope differs. */
START_TEST(linear_means_linear) {
  seed_rng();
  int linear = 0;
  for (int round = 0; round < 100; round++) {
    World w = world_create(false);
    Step steps[N_STEPS];
    const Expr *exprs[N_STEPS] = {0};
    random_steps(&w, steps, exprs);
    for (int i = 0; i < N_STEPS; i++) {
      int64_t coef;
      if (!expr_linear(exprs[i], w.atom[5], &coef))
        continue;
      linear += coef != 0;
      for (int p = 0; p < w.n_points; p += 11) {
        int64_t values[N_ATOMS];
        memcpy(values, w.point[p], sizeof values);
        values[5] = 0;
        int64_t at0 = eval_at(&w, exprs[i], values);
        values[5] = 3;
        ck_assert_int_eq(eval_at(&w, exprs[i], values) - at0, 3 * coef);
      }
    }
    ctx_destroy(w.ctx);
  }
  ck_assert_int_gt(linear, 100);
}
END_TEST

/* ---- printing: a small reader of the grammar's `expr` ---- */

typedef struct {
  const World *w;
  const char *p;
} Reader;

static const Expr *read_expr(Reader *r);

static bool eat(Reader *r, const char *word) {
  while (*r->p == ' ')
    r->p++;
  size_t n = strlen(word);
  if (strncmp(r->p, word, n))
    return false;
  r->p += n;
  return true;
}

static const Expr *read_pair(Reader *r, const Expr *(*make)(Ctx *, const Expr *, const Expr *)) {
  const Expr *a = read_expr(r);
  ck_assert(eat(r, ","));
  const Expr *b = read_expr(r);
  ck_assert(eat(r, ")"));
  return make(r->w->ctx, a, b);
}

static const Expr *read_factor(Reader *r) {
  if (eat(r, "min("))
    return read_pair(r, expr_min);
  if (eat(r, "max("))
    return read_pair(r, expr_max);
  if (eat(r, "(")) {
    const Expr *e = read_expr(r);
    ck_assert(eat(r, ")"));
    return e;
  }
  for (int i = 0; i < N_ATOMS; i++) {
    if (eat(r, r->w->atom[i]->name))
      return r->w->atom[i];
  }
  char *end;
  int64_t v = strtoll(r->p, &end, 10);
  ck_assert_msg(end != r->p, "no factor at '%s'", r->p);
  r->p = end;
  return num(r->w->ctx, v);
}

static const Expr *read_product(Reader *r) {
  Ctx *ctx = r->w->ctx;
  const Expr *e = read_factor(r);
  for (;;) {
    if (eat(r, "*"))
      e = expr_mul(ctx, e, read_factor(r));
    else if (eat(r, "div "))
      e = expr_floordiv(ctx, e, read_factor(r));
    else if (eat(r, "mod "))
      e = expr_mod(ctx, e, read_factor(r));
    else
      return e;
  }
}

static const Expr *read_expr(Reader *r) {
  Ctx *ctx = r->w->ctx;
  bool minus = eat(r, "-");
  const Expr *e = read_product(r);
  e = minus ? expr_mul_const(ctx, e, -1) : e;
  for (;;) {
    if (eat(r, "+"))
      e = expr_add(ctx, e, read_product(r));
    else if (eat(r, "-"))
      e = expr_sub(ctx, e, read_product(r));
    else
      return e;
  }
}

START_TEST(printed_expressions_read_back) {
  seed_rng();
  for (int round = 0; round < 200; round++) {
    World w = world_create(false);
    Step steps[N_STEPS];
    const Expr *exprs[N_STEPS] = {0};
    random_steps(&w, steps, exprs);
    for (int i = 0; i < N_STEPS; i++) {
      Reader r = {&w, text_of(w.ctx, exprs[i])};
      const Expr *e = read_expr(&r);
      ck_assert_msg(*r.p == 0 && e == exprs[i], "'%s' reads as '%s', rest '%s'", text_of(w.ctx, exprs[i]),
                    text_of(w.ctx, e), r.p);
    }
    ctx_destroy(w.ctx);
  }
}
END_TEST

/* ---- identities ---- */

typedef struct {
  Ctx *ctx;
  const Expr *c, *l, *x, *y, *n, *s; /* c < 5, l < 8, x and y unbounded variables, n and s symbols */
} Names;

static Names names_create(void) {
  Ctx *ctx = ctx_create();
  Names v = {.ctx = ctx};
  v.n = expr_sym(ctx, "N", 1, 1024);
  v.s = expr_sym(ctx, "S", 1, 1024);
  v.c = expr_var(ctx, "c", num(ctx, 0), num(ctx, 5));
  v.l = expr_var(ctx, "l", num(ctx, 0), num(ctx, 8));
  v.x = expr_var(ctx, "x", num(ctx, EXPR_MIN), num(ctx, EXPR_MAX));
  v.y = expr_var(ctx, "y", num(ctx, EXPR_MIN), num(ctx, EXPR_MAX));
  return v;
}

#define ADD(a, b) expr_add(v.ctx, a, b)
#define SUB(a, b) expr_sub(v.ctx, a, b)
#define MUL(a, b) expr_mul(v.ctx, a, b)
#define TIMES(a, k) expr_mul_const(v.ctx, a, k)
#define PLUS(a, k) expr_add_const(v.ctx, a, k)
#define DIV(a, k) expr_floordiv_const(v.ctx, a, k)
#define MOD(a, k) expr_mod_const(v.ctx, a, k)
#define NUM(k) expr_const(v.ctx, k)
#define SAME(a, b) check_same(v.ctx, a, b)

static void check_same(Ctx *ctx, const Expr *a, const Expr *b) {
  ck_assert_msg(a == b, "%s, not %s", text_of(ctx, a), text_of(ctx, b));
}

START_TEST(blocks_come_apart_and_together) {
  Names v = names_create();
  const Expr *i = ADD(TIMES(v.c, 8), v.l);
  SAME(DIV(i, 8), v.c);
  SAME(MOD(i, 8), v.l);
  SAME(DIV(PLUS(i, 16), 8), PLUS(v.c, 2));
  SAME(DIV(DIV(v.x, 4), 2), DIV(v.x, 8));
  SAME(DIV(PLUS(DIV(v.x, 4), 1), 2), DIV(PLUS(v.x, 4), 8));
  SAME(MOD(MOD(v.x, 8), 4), MOD(v.x, 4));
  SAME(MOD(PLUS(MOD(v.x, 8), 3), 8), MOD(PLUS(v.x, 3), 8));
  SAME(DIV(MOD(v.x, 16), 4), MOD(DIV(v.x, 4), 4));
  SAME(DIV(PLUS(TIMES(ADD(v.x, v.y), 6), 4), 8), DIV(PLUS(TIMES(ADD(v.x, v.y), 3), 2), 4));
  SAME(MOD(TIMES(v.x, 4), 8), TIMES(MOD(v.x, 2), 4));
  SAME(DIV(TIMES(v.x, 9), 8), ADD(v.x, DIV(v.x, 8)));
  SAME(ADD(TIMES(DIV(v.x, 8), 8), MOD(v.x, 8)), v.x);
  SAME(ADD(TIMES(DIV(v.x, 8), 24), ADD(v.y, TIMES(MOD(v.x, 8), 3))), ADD(v.y, TIMES(v.x, 3)));
  SAME(ADD(TIMES(DIV(PLUS(v.x, 11), 8), 8), MOD(PLUS(v.x, 11), 8)), PLUS(v.x, 11));
  SAME(ADD(TIMES(MOD(DIV(v.x, 4), 4), 4), MOD(v.x, 4)), MOD(v.x, 16));
  SAME(ADD(TIMES(DIV(v.x, 16), 16), ADD(MOD(v.x, 4), TIMES(MOD(DIV(v.x, 4), 4), 4))), v.x);
  /* Euclidean on both sides of 0. */
  for (int64_t a = -20; a <= 20; a++) {
    ck_assert_int_eq(expr_value(DIV(NUM(a), 7)) * 7 + expr_value(MOD(NUM(a), 7)), a);
    ck_assert_int_ge(expr_value(MOD(NUM(a), 7)), 0);
    ck_assert_int_lt(expr_value(MOD(NUM(a), 7)), 7);
    ck_assert_int_eq(expr_value(expr_ceildiv_const(v.ctx, NUM(a), 7)), -expr_value(DIV(NUM(-a), 7)));
  }
  ctx_destroy(v.ctx);
}
END_TEST

START_TEST(symbols_cancel) {
  Names v = names_create();
  const Expr *q = expr_var(v.ctx, "q", NUM(0), v.s);
  const Expr *flat = ADD(MUL(v.x, v.s), q);
  SAME(expr_floordiv(v.ctx, MUL(v.x, v.s), v.s), v.x);
  SAME(expr_mod(v.ctx, MUL(v.x, v.s), v.s), NUM(0));
  SAME(expr_floordiv(v.ctx, flat, v.s), v.x);
  SAME(expr_mod(v.ctx, flat, v.s), q);
  SAME(expr_floordiv(v.ctx, v.n, v.n), NUM(1));
  SAME(expr_ceildiv(v.ctx, MUL(v.n, v.s), v.s), v.n);
  SAME(expr_floordiv(v.ctx, MUL(v.x, PLUS(v.s, 1)), PLUS(v.s, 1)), v.x);
  SAME(expr_floordiv(v.ctx, TIMES(v.x, 6), TIMES(v.s, 4)), expr_floordiv(v.ctx, TIMES(v.x, 3), TIMES(v.s, 2)));
  SAME(expr_floordiv(v.ctx, MUL(v.x, v.n), MUL(v.s, v.n)), expr_floordiv(v.ctx, v.x, v.s));
  SAME(expr_mod(v.ctx, MUL(v.x, v.n), MUL(v.s, v.n)), MUL(v.n, expr_mod(v.ctx, v.x, v.s)));
  SAME(expr_floordiv(v.ctx, DIV(v.x, 4), v.s), expr_floordiv(v.ctx, v.x, TIMES(v.s, 4)));
  SAME(DIV(expr_floordiv(v.ctx, v.x, v.s), 4), expr_floordiv(v.ctx, v.x, TIMES(v.s, 4)));
  SAME(MUL(PLUS(v.n, 1), SUB(v.n, v.s)), SUB(ADD(MUL(v.n, v.n), v.n), ADD(MUL(v.n, v.s), v.s)));
  SAME(MUL(MUL(v.s, v.n), v.x), MUL(v.s, MUL(v.x, v.n)));
  ctx_destroy(v.ctx);
}
END_TEST

START_TEST(min_and_max_decide) {
  Names v = names_create();
  SAME(expr_min(v.ctx, v.l, NUM(7)), v.l);
  SAME(expr_max(v.ctx, v.l, NUM(0)), v.l);
  SAME(expr_min(v.ctx, v.x, PLUS(v.x, 1)), v.x);
  SAME(expr_min(v.ctx, expr_min(v.ctx, v.x, NUM(3)), NUM(2)), expr_min(v.ctx, NUM(2), v.x));
  SAME(expr_min(v.ctx, expr_min(v.ctx, v.x, v.y), v.x), expr_min(v.ctx, v.y, v.x));
  SAME(expr_max(v.ctx, expr_max(v.ctx, v.x, v.n), v.y), expr_max(v.ctx, v.y, expr_max(v.ctx, v.n, v.x)));
  SAME(expr_min(v.ctx, expr_max(v.ctx, v.x, NUM(0)), NUM(0)), NUM(0));
  ck_assert_int_eq(expr_min(v.ctx, v.x, NUM(3))->hi, 3);
  /* Many operands: no blow-up, and the value is right. */
  const Expr *e = v.x;
  for (int i = 0; i < 300; i++)
    e = expr_min(v.ctx, PLUS(TIMES(v.y, i + 2), i), e);
  const Expr *at = expr_subst(v.ctx, expr_subst(v.ctx, e, v.y, NUM(1)), v.x, NUM(40));
  ck_assert_int_eq(expr_value(at), 2);
  ctx_destroy(v.ctx);
}
END_TEST

START_TEST(expressions_print) {
  Names v = names_create();
  ck_assert_str_eq(text_of(v.ctx, PLUS(ADD(v.l, TIMES(v.c, 8)), -1)), "8*c + l - 1");
  ck_assert_str_eq(text_of(v.ctx, DIV(PLUS(v.x, 1), 8)), "(x + 1) div 8");
  ck_assert_str_eq(text_of(v.ctx, MOD(v.x, 8)), "x mod 8");
  ck_assert_str_eq(text_of(v.ctx, TIMES(DIV(v.x, 8), 8)), "8*(x div 8)");
  ck_assert_str_eq(text_of(v.ctx, PLUS(TIMES(v.x, -1), 3)), "-x + 3");
  ck_assert_str_eq(text_of(v.ctx, TIMES(v.x, -2)), "-2*x");
  ck_assert_str_eq(text_of(v.ctx, PLUS(SUB(v.y, v.x), 1)), "y - x + 1");
  ck_assert_str_eq(text_of(v.ctx, expr_min(v.ctx, PLUS(v.x, 2), NUM(-3))), "min(-3, x + 2)");
  ck_assert_str_eq(text_of(v.ctx, MUL(TIMES(v.s, 3), v.n)), "3*N*S");
  ck_assert_str_eq(text_of(v.ctx, MUL(DIV(v.x, 2), v.n)), "N*(x div 2)");
  ck_assert_str_eq(text_of(v.ctx, expr_floordiv(v.ctx, v.x, MUL(v.s, v.n))), "x div (N*S)");
  ck_assert_str_eq(text_of(v.ctx, NUM(-5)), "-5");
  ck_assert_str_eq(text_of(v.ctx, NUM(INT64_MIN)), "-9223372036854775808");
  ck_assert_str_eq(text_of(v.ctx, expr_sym(v.ctx, "min", 0, 9)), "\"min\"");
  ck_assert_str_eq(text_of(v.ctx, expr_sym(v.ctx, "batch size", 0, 9)), "\"batch size\"");
  ck_assert_str_eq(text_of(v.ctx, expr_sym(v.ctx, "7", 0, 9)), "\"7\"");
  ck_assert_str_eq(text_of(v.ctx, expr_sym(v.ctx, "in_h1", 0, 9)), "in_h1");
  ctx_destroy(v.ctx);
}
END_TEST

START_TEST(bounds_saturate) {
  Names v = names_create();
  const Expr *big = expr_sym(v.ctx, "big", 0, EXPR_MAX);
  ck_assert_int_eq(PLUS(big, -5)->hi, EXPR_MAX);
  ck_assert_int_eq(PLUS(big, -5)->lo, -5);
  ck_assert_int_eq(TIMES(big, -1)->lo, EXPR_MIN);
  ck_assert_int_eq(MUL(big, big)->hi, EXPR_MAX);
  ck_assert_int_eq(MUL(big, big)->lo, 0);
  ck_assert_int_eq(DIV(big, 8)->hi, EXPR_MAX);
  ck_assert_int_eq(SUB(MUL(big, big), big)->lo, EXPR_MIN);
  ck_assert_int_eq(NUM(INT64_MAX)->lo, EXPR_MAX);
  /* What does not fit is refused before it is built. */
  ck_assert(expr_fits(EX_PROD, TIMES(v.n, 1 << 29), TIMES(v.s, 1 << 29)));
  ck_assert(!expr_fits(EX_PROD, TIMES(v.n, 1 << 30), TIMES(v.s, 1 << 30)));
  ck_assert(!expr_fits(EX_SUM, NUM(INT64_MAX), v.n));
  ck_assert(!expr_fits(EX_SUM, NUM(INT64_MIN), NUM(INT64_MIN)));
  ck_assert(!expr_fits(EX_DIV, v.n, NUM(0)));
  ck_assert(!expr_fits(EX_MOD, v.n, big));
  ck_assert(expr_fits(EX_MOD, v.n, v.s));
  const Expr *e = PLUS(v.n, 1);
  for (int i = 0; i < 64 && expr_fits(EX_PROD, e, PLUS(v.s, i)); i++)
    e = MUL(e, PLUS(v.s, i));
  ck_assert(!expr_fits(EX_PROD, e, PLUS(v.s, 1)));
  const Expr *sum = NUM(0), *deep = v.x;
  for (int i = 0; i < 1000; i++) {
    const Expr *sym = expr_sym(v.ctx, arena_printf(v.ctx->arena, "s%d", i), 0, 9);
    if (expr_fits(EX_SUM, sum, sym))
      sum = ADD(sum, sym);
    if (expr_fits(EX_DIV, ADD(deep, sym), PLUS(v.n, i)))
      deep = expr_floordiv(v.ctx, ADD(deep, sym), PLUS(v.n, i));
  }
  ck_assert_int_eq(sum->n, EXPR_FIT_TERMS);
  ck_assert_int_le(deep->depth, EXPR_FIT_DEPTH + 1);
  /* The prover gives up, and ends, on hostile coefficients. */
  const Expr *huge = TIMES(DIV(v.x, 7), INT64_MAX / 2);
  ck_assert(!expr_prove_nonneg(v.ctx, ADD(huge, TIMES(MOD(v.y, 11), -(INT64_MAX / 3)))));
  ctx_destroy(v.ctx);
}
END_TEST

START_TEST(overflow_is_our_fault) {
  Names v = names_create();
  expr_mul_const(v.ctx, TIMES(v.x, INT64_MAX / 2), 4);
}
END_TEST

START_TEST(variables_are_distinct) {
  Names v = names_create();
  const Expr *a = expr_var(v.ctx, "i", NUM(0), NUM(4)), *b = expr_var(v.ctx, "i", NUM(0), NUM(4));
  ck_assert_ptr_ne(a, b);
  ck_assert_ptr_ne(SUB(a, b), NUM(0));
  SAME(ADD(a, b), ADD(b, a));
  ck_assert(expr_order(a, b) < 0 && expr_order(b, a) > 0);
  ck_assert_ptr_eq(expr_sym(v.ctx, "N", 3, 4), v.n);
  ck_assert_int_eq(v.n->hi, 1024);
  ctx_destroy(v.ctx);
}
END_TEST

/* ---- the prover ---- */

START_TEST(what_is_proved_is_true) {
  seed_rng();
  int proved = 0, tight = 0, asked = 0;
  for (int round = 0; round < 60; round++) {
    World w = world_create(false);
    Step steps[N_STEPS];
    const Expr *exprs[N_STEPS] = {0};
    random_steps(&w, steps, exprs);
    const int64_t *values = all_values(&w, steps);
    for (int i = N_LEAVES; i < N_STEPS; i++) {
      int64_t least = INT64_MAX;
      for (int p = 0; p < w.n_points; p++)
        least = values[p * N_STEPS + i] < least ? values[p * N_STEPS + i] : least;
      /* e - least >= 0 is true and as tight as can be; one more is false. */
      ck_assert_msg(!expr_prove_nonneg(w.ctx, expr_add_const(w.ctx, exprs[i], -least - 1)), "%s >= %lld",
                    text_of(w.ctx, exprs[i]), (long long)least + 1);
      tight += expr_prove_nonneg(w.ctx, expr_add_const(w.ctx, exprs[i], -least));
      proved += expr_prove_nonneg(w.ctx, expr_add_const(w.ctx, exprs[i], -least + 2));
      asked++;
    }
    ctx_destroy(w.ctx);
  }
  printf("%d goals, %d tight bounds proved, %d with slack 2\n", asked, tight, proved);
  ck_assert_int_gt(2 * tight, asked);
}
END_TEST

/* Proves 0 <= e < extent inside the loop of k, and the same of the digits of e in blocks. */
static void check_access(Ctx *ctx, const Expr *e, const Expr *k, int64_t extent, const char *what) {
  static const int64_t blocks[] = {1, 2, 3, 4, 8, 16};
  for (int i = 0; i < 6; i++) {
    const Expr *outer = expr_floordiv_const(ctx, e, blocks[i]), *inner = expr_mod_const(ctx, e, blocks[i]);
    const Expr *last = num(ctx, (extent + blocks[i] - 1) / blocks[i] - 1);
    ck_assert_msg(expr_prove_nonneg_in(ctx, outer, &k, 1), "%s: block %d: %s >= 0", what, (int)blocks[i],
                  text_of(ctx, outer));
    ck_assert_msg(expr_prove_nonneg_in(ctx, expr_sub(ctx, last, outer), &k, 1), "%s: block %d: %s <= %s", what,
                  (int)blocks[i], text_of(ctx, outer), text_of(ctx, last));
    ck_assert(expr_prove_nonneg_in(ctx, inner, &k, 1));
    ck_assert(expr_prove_nonneg_in(ctx, expr_sub(ctx, num(ctx, blocks[i] - 1), inner), &k, 1));
  }
}

/* A loop variable over [0, n), [lo, hi) within it, or blocks of it, 8*outer + inner. */
static const Expr *output_index(Ctx *ctx, int64_t n) {
  const Expr *o;
  switch (pick(0, 3)) {
  case 0:
    return expr_var(ctx, "q", num(ctx, 0), num(ctx, n));
  case 1: {
    int64_t lo = pick(0, n - 1);
    return expr_var(ctx, "q", num(ctx, lo), num(ctx, pick(lo + 1, n)));
  }
  case 2:
    o = expr_var(ctx, "qo", num(ctx, 0), num(ctx, (n + 7) / 8));
    return expr_add(ctx, expr_mul_const(ctx, o, 8),
                    expr_var(ctx, "qi", num(ctx, 0),
                             expr_min(ctx, num(ctx, 8), expr_sub(ctx, num(ctx, n), expr_mul_const(ctx, o, 8)))));
  default:
    o = expr_var(ctx, "qo", num(ctx, 0), num(ctx, n / 4 + 1));
    return expr_add(ctx, expr_mul_const(ctx, o, 4), expr_var(ctx, "qi", num(ctx, 0), num(ctx, 4)));
  }
}

/* Input o*s + k*d - p of a convolution, taps k clipped so that it lies in [0, I). */
START_TEST(convolution_accesses_are_proved) {
  seed_rng();
  for (int round = 0; round < 1500; round++) {
    Ctx *ctx = ctx_create();
    int64_t extent = pick(1, 40), s = pick(1, 9), d = pick(1, 9), p = pick(-12, 12), taps = pick(1, 9);
    const Expr *o = output_index(ctx, pick(1, 40));
    const Expr *base = expr_add_const(ctx, expr_mul_const(ctx, o, s), -p); /* o*s - p */
    const Expr *lo = expr_max(ctx, num(ctx, 0), expr_ceildiv_const(ctx, expr_mul_const(ctx, base, -1), d));
    const Expr *hi =
        expr_min(ctx, num(ctx, taps),
                 expr_add_const(ctx, expr_floordiv_const(ctx, expr_sub(ctx, num(ctx, extent - 1), base), d), 1));
    const Expr *k = expr_var(ctx, "k", lo, hi);
    const Expr *e = expr_add(ctx, base, expr_mul_const(ctx, k, d));
    check_access(ctx, e, k, extent,
                 arena_printf(ctx->arena, "I=%d s=%d d=%d p=%d K=%d", (int)extent, (int)s, (int)d, (int)p, (int)taps));
    ctx_destroy(ctx);
  }
}
END_TEST

/* Input b + q - j*d of one phase of a transposed convolution, taps j clipped likewise. */
START_TEST(transposed_convolution_accesses_are_proved) {
  seed_rng();
  for (int round = 0; round < 1500; round++) {
    Ctx *ctx = ctx_create();
    int64_t extent = pick(1, 40), d = pick(1, 9), b = pick(-20, 20), taps = pick(1, 9);
    const Expr *base = expr_add_const(ctx, output_index(ctx, pick(1, 40)), b);
    const Expr *lo = expr_max(ctx, num(ctx, 0), expr_ceildiv_const(ctx, expr_add_const(ctx, base, 1 - extent), d));
    const Expr *hi = expr_min(ctx, num(ctx, taps), expr_add_const(ctx, expr_floordiv_const(ctx, base, d), 1));
    const Expr *j = expr_var(ctx, "j", lo, hi);
    const Expr *e = expr_sub(ctx, base, expr_mul_const(ctx, j, d));
    check_access(ctx, e, j, extent,
                 arena_printf(ctx->arena, "I=%d d=%d b=%d T=%d", (int)extent, (int)d, (int)b, (int)taps));
    ctx_destroy(ctx);
  }
}
END_TEST

/* The same with symbolic extents, where every atom is a symbol with bounds. */
START_TEST(symbolic_accesses_are_proved) {
  seed_rng();
  for (int round = 0; round < 300; round++) {
    Names v = names_create();
    Ctx *ctx = v.ctx;
    int64_t s = pick(1, 5), d = pick(1, 5), p = pick(-6, 6), taps = pick(1, 7);
    const Expr *o = expr_var(ctx, "o", NUM(0), v.n), *base = PLUS(TIMES(o, s), -p);
    const Expr *k = expr_var(ctx, "k", expr_max(ctx, NUM(0), expr_ceildiv_const(ctx, TIMES(base, -1), d)),
                             expr_min(ctx, NUM(taps), PLUS(DIV(SUB(PLUS(v.s, -1), base), d), 1)));
    const Expr *e = ADD(base, TIMES(k, d)), *last = expr_ceildiv_const(ctx, v.s, 8);
    ck_assert(expr_prove_nonneg(ctx, e));
    ck_assert(expr_prove_nonneg(ctx, SUB(PLUS(v.s, -1), e)));
    ck_assert(!expr_prove_nonneg(ctx, SUB(PLUS(v.s, -2), e)));
    ck_assert(expr_prove_nonneg(ctx, DIV(e, 8)));
    ck_assert(expr_prove_nonneg(ctx, SUB(PLUS(last, -1), DIV(e, 8))));
    /* Flattened and taken apart again by a symbol. */
    const Expr *flat = expr_var(ctx, "f", NUM(0), MUL(v.n, v.s));
    ck_assert(expr_prove_nonneg(ctx, SUB(PLUS(v.n, -1), expr_floordiv(ctx, flat, v.s))));
    ck_assert(expr_prove_nonneg(ctx, SUB(PLUS(v.s, -1), expr_mod(ctx, flat, v.s))));
    ck_assert(expr_prove_nonneg(ctx, SUB(PLUS(MUL(v.n, v.s), -1), ADD(MUL(o, v.s), expr_mod(ctx, flat, v.s)))));
    ctx_destroy(ctx);
  }
}
END_TEST

Suite *suite_expr(void);

Suite *suite_expr(void) {
  Suite *suite = suite_create("expr");
  TCase *t = tcase_create("expr");
  tcase_set_timeout(t, 120);
  tcase_add_test(t, blocks_come_apart_and_together);
  tcase_add_test(t, symbols_cancel);
  tcase_add_test(t, min_and_max_decide);
  tcase_add_test(t, expressions_print);
  tcase_add_test(t, bounds_saturate);
  tcase_add_test(t, variables_are_distinct);
  tcase_add_exit_test(t, overflow_is_our_fault, WEFT_BUG);
  tcase_add_test(t, random_expressions_have_the_right_values);
  tcase_add_test(t, equal_expressions_are_one_node_and_print_alike_everywhere);
  tcase_add_test(t, substitution_commutes_with_evaluation);
  tcase_add_test(t, linear_means_linear);
  tcase_add_test(t, printed_expressions_read_back);
  tcase_add_test(t, what_is_proved_is_true);
  tcase_add_test(t, convolution_accesses_are_proved);
  tcase_add_test(t, transposed_convolution_accesses_are_proved);
  tcase_add_test(t, symbolic_accesses_are_proved);
  suite_add_tcase(suite, t);
  return suite;
}
