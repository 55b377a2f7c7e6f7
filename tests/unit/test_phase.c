/* The phase formula of transposed convolution against its definition: output o meets tap k through input i where
 * o = i*s - p + k*d. Every output must belong to exactly one phase, and the triples (o, k, i) must be the same. */
#include <check.h>

#include "graph_util.h"
#include "lower/phase.h"

typedef struct {
  int64_t s, d, p, taps, inputs, outputs;
} Numbers;

static PhaseAxis make_axis(Ctx *ctx, const Numbers *n) {
  return (PhaseAxis){.stride = n->s,
                     .dilation = n->d,
                     .pad_begin = n->p,
                     .kernel = expr_const(ctx, n->taps),
                     .input = expr_const(ctx, n->inputs),
                     .output = expr_const(ctx, n->outputs)};
}

static const char *numbers_text(Ctx *ctx, const Numbers *n) {
  return arena_printf(ctx->arena, "stride %d dilation %d padding %d kernel %d input %d output %d", (int)n->s, (int)n->d,
                      (int)n->p, (int)n->taps, (int)n->inputs, (int)n->outputs);
}

/* ck_assert_msg reports every check that holds as well, which takes longer than the checks here. */
#define REQUIRE(cond, ...) ((cond) ? (void)0 : ck_abort_msg(__VA_ARGS__))

static int64_t value(const Expr *e) {
  int64_t v;
  REQUIRE(expr_is_const(e, &v), "a constant is expected");
  return v;
}

#define MAX_OUTPUTS 64
#define MAX_TAPS 8

typedef struct {
  int written[MAX_OUTPUTS], met[MAX_OUTPUTS][MAX_TAPS];
} Seen;

static void run_phase(Ctx *ctx, const Numbers *n, const Phase *p, Seen *seen) {
  for (int64_t q = 0; q < value(p->count); q++) {
    int64_t o = value(p->offset) + q * n->s;
    REQUIRE(o >= 0 && o < n->outputs, "output %d: %s", (int)o, numbers_text(ctx, n));
    seen->written[o]++;
    for (int64_t j = 0; j < value(p->n_taps); j++) {
      int64_t k = value(p->first_tap) + j * p->tap_step, i = value(p->base) + q - j * p->input_step;
      REQUIRE(p->taps && k >= 0 && k < n->taps, "tap %d: %s", (int)k, numbers_text(ctx, n));
      if (i < 0 || i >= n->inputs)
        continue;
      REQUIRE(o == i * n->s - n->p + k * n->d, "output %d, tap %d, input %d: %s", (int)o, (int)k, (int)i,
              numbers_text(ctx, n));
      seen->met[o][k]++;
    }
  }
}

static void check_seen(Ctx *ctx, const Numbers *n, const Seen *seen) {
  for (int64_t o = 0; o < n->outputs; o++) {
    REQUIRE(seen->written[o] == 1, "output %d is written %d times: %s", (int)o, seen->written[o], numbers_text(ctx, n));
    for (int64_t k = 0; k < n->taps; k++) {
      int64_t at = o + n->p - k * n->d;
      int expected = floormod_i64(at, n->s) == 0 && at >= 0 && at / n->s < n->inputs;
      REQUIRE(seen->met[o][k] == expected, "output %d meets tap %d %d times: %s", (int)o, (int)k, seen->met[o][k],
              numbers_text(ctx, n));
    }
  }
}

static Numbers random_numbers(void) {
  return (Numbers){.s = random_in(1, 9),
                   .d = random_in(1, 9),
                   .p = random_in(-6, 12),
                   .taps = random_in(1, MAX_TAPS),
                   .inputs = random_in(0, 7),
                   .outputs = random_in(0, MAX_OUTPUTS)};
}

START_TEST(test_definition) {
  start_random(11);
  Ctx *ctx = ctx_create();
  for (int round = 0; round < 10000; round++) {
    if (round % 500 == 0) { /* the context holds all expressions ever made */
      ctx_destroy(ctx);
      ctx = ctx_create();
    }
    Numbers n = random_numbers();
    PhaseAxis axis = make_axis(ctx, &n);
    int64_t g = phase_gcd(&axis);
    ck_assert(n.s % g == 0 && n.d % g == 0);
    Seen seen = {0};
    for (int64_t r = 0; r < n.s; r++) {
      bool taps = r % g == 0;
      Phase p = phase_make(ctx, &axis, expr_const(ctx, taps ? r / g : r), taps);
      ck_assert_int_eq(p.taps, taps);
      run_phase(ctx, &n, &p, &seen);
    }
    check_seen(ctx, &n, &seen);
  }
  ctx_destroy(ctx);
}
END_TEST

static Phase phase_at(Ctx *ctx, Phase p, const Expr *var, int64_t v) {
  const Expr *to = expr_const(ctx, v);
  p.offset = expr_subst(ctx, p.offset, var, to);
  p.count = expr_subst(ctx, p.count, var, to);
  p.first_tap = expr_subst(ctx, p.first_tap, var, to);
  p.n_taps = expr_subst(ctx, p.n_taps, var, to);
  p.base = expr_subst(ctx, p.base, var, to);
  return p;
}

/* The phases as two loops, over r = g*v, and over r = g*v + t for the rest: as lowered where they are many. */
START_TEST(test_loop_variable) {
  start_random(12);
  Ctx *ctx = ctx_create();
  for (int round = 0; round < 2000; round++) {
    if (round % 100 == 0) {
      ctx_destroy(ctx);
      ctx = ctx_create();
    }
    Numbers n = random_numbers();
    PhaseAxis axis = make_axis(ctx, &n);
    int64_t g = phase_gcd(&axis);
    const Expr *zero = expr_const(ctx, 0), *v = expr_var(ctx, "v", zero, expr_const(ctx, n.s / g));
    Phase tapped = phase_make(ctx, &axis, v, true);
    Seen seen = {0};
    for (int64_t r = 0; r < n.s / g; r++) {
      Phase p = phase_at(ctx, tapped, v, r), constant = phase_make(ctx, &axis, expr_const(ctx, r), true);
      ck_assert_ptr_eq(p.offset, constant.offset);
      ck_assert_ptr_eq(p.count, constant.count);
      ck_assert_ptr_eq(p.first_tap, constant.first_tap);
      ck_assert_ptr_eq(p.n_taps, constant.n_taps);
      ck_assert_ptr_eq(p.base, constant.base);
      run_phase(ctx, &n, &p, &seen);
    }
    if (g > 1) {
      const Expr *t = expr_var(ctx, "t", expr_const(ctx, 1), expr_const(ctx, g));
      Phase bare = phase_make(ctx, &axis, expr_add(ctx, expr_mul_const(ctx, v, g), t), false);
      for (int64_t r = 0; r < n.s / g; r++)
        for (int64_t k = 1; k < g; k++) {
          Phase p = phase_at(ctx, phase_at(ctx, bare, v, r), t, k);
          run_phase(ctx, &n, &p, &seen);
        }
    }
    check_seen(ctx, &n, &seen);
  }
  ctx_destroy(ctx);
}
END_TEST

/* Extents may be symbols: the phase of a constant number is then an expression of them. */
START_TEST(test_symbolic_extents) {
  Ctx *ctx = ctx_create();
  const Expr *in = expr_sym(ctx, "I", 1, 1 << 20), *out = expr_sym(ctx, "O", 1, 1 << 20);
  PhaseAxis axis = {
      .stride = 2, .dilation = 1, .pad_begin = 1, .kernel = expr_const(ctx, 4), .input = in, .output = out};
  Phase p = phase_make(ctx, &axis, expr_const(ctx, 0), true);
  ck_assert_int_eq(value(p.offset), 1);
  ck_assert_int_eq(value(p.n_taps), 2);
  ck_assert_int_eq(value(p.base), 1);
  for (int64_t o = 1; o < 20; o++)
    ck_assert_int_eq(value(expr_subst(ctx, p.count, out, expr_const(ctx, o))), o / 2);
  ctx_destroy(ctx);
}
END_TEST

Suite *suite_phase(void);
Suite *suite_phase(void) {
  Suite *s = suite_create("phase");
  TCase *t = tcase_create("phase");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, test_definition);
  tcase_add_test(t, test_loop_variable);
  tcase_add_test(t, test_symbolic_extents);
  suite_add_tcase(s, t);
  return s;
}
