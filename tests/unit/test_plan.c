/* The memory plan. Property, on random programs: offsets are aligned, buffers that live at the same time lie apart, the
 * arena is at least the greatest load of any nest and at most the sum of all sizes. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "lower/lower.h"
#include "tests/unit/loop_build.h"

static Ctx *ctx;
static LoopProgram *p;

static void setup(void) {
  ctx = ctx_create();
  p = new_program(ctx);
}

static void teardown(void) {
  ctx_destroy(ctx);
}

static int64_t round_up(int64_t n) {
  return ceildiv_i64(n, 64) * 64;
}

static int64_t offset_of(const Buffer *b) {
  return expr_value(b->offset);
}

static Buffer *add(int64_t elements) {
  return loops_add_buffer(p, "t", F32(elements), BUF_ARENA, NULL);
}

static void use(Buffer *store, Buffer *load) {
  nest_of(p, "n", load ? COPY(AT(store, K(0)), AT(load, K(0))) : STORE0(AT(store, K(0)), 0.0));
}

START_TEST(test_chain_shares) {
  Buffer *a = add(16), *b = add(16), *c = add(16), *d = add(16);
  use(a, NULL);
  use(b, a);
  use(c, b);
  use(d, c);
  ck_assert(plan_memory(p));
  ck_assert_int_eq(expr_value(p->arena_bytes), 128);
  ck_assert_int_eq(offset_of(a), offset_of(c));
  ck_assert_int_eq(offset_of(b), offset_of(d));
  ck_assert(offset_of(a) != offset_of(b));
}
END_TEST

/* a, b, c, d lie one behind the other; when a and c are dead, e fits into both gaps and takes the smaller, later one.
 */
START_TEST(test_best_fit) {
  Buffer *a = add(128), *b = add(112), *c = add(96), *d = add(80), *e = add(64);
  Buffer *y = loops_add_buffer(p, "y", F32(1), BUF_OUTPUT, NULL);
  nest_of(
      p, "n0",
      BLOCK(STORE0(AT(a, K(0)), 0.0), STORE0(AT(b, K(0)), 0.0), STORE0(AT(c, K(0)), 0.0), STORE0(AT(d, K(0)), 0.0)));
  nest_of(p, "n1", BLOCK(STORE0(AT(e, K(0)), 0.0), COPY(AT(y, K(0)), AT(b, K(0))), COPY(AT(y, K(0)), AT(d, K(0)))));
  ck_assert(plan_memory(p));
  ck_assert(plan_check(p));
  ck_assert_int_eq(offset_of(a), 0);
  ck_assert_int_eq(offset_of(b), 512);
  ck_assert_int_eq(offset_of(c), 960);
  ck_assert_int_eq(offset_of(d), 1344);
  ck_assert_int_eq(offset_of(e), 960);
  ck_assert_int_eq(expr_value(p->arena_bytes), 1664);
}
END_TEST

START_TEST(test_empty_program) {
  ck_assert(plan_memory(p));
  ck_assert_int_eq(expr_value(p->arena_bytes), 0);
}
END_TEST

START_TEST(test_unused_takes_nothing) {
  Buffer *a = add(16), *unused = add(1 << 20);
  use(a, NULL);
  ck_assert(plan_memory(p));
  ck_assert_int_eq(expr_value(p->arena_bytes), 64);
  ck_assert_int_eq(offset_of(unused), 0);
  ck_assert(plan_check(p));
}
END_TEST

START_TEST(test_symbolic_sizes) {
  Dim n = expr_sym(ctx, "N", 1, 1024);
  Buffer *a = loops_add_buffer(p, "a", type_get(ctx, DT_F32, 1, &n, NULL), BUF_ARENA, NULL), *b = add(40);
  Buffer *c = loops_add_buffer(p, "c", type_get(ctx, DT_F32, 1, &n, NULL), BUF_ARENA, NULL);
  use(a, NULL);
  use(b, a);
  use(c, b);
  ck_assert(plan_memory(p));
  ck_assert_int_eq(offset_of(b), 0);
  ck_assert_int_eq(offset_of(a), 192);
  int64_t value;
  ck_assert(!expr_is_const(c->offset, &value));
  ck_assert(expr_subst(ctx, c->offset, n, K(17)) == K(192 + 128));
  ck_assert(expr_subst(ctx, p->arena_bytes, n, K(17)) == K(192 + 256));
  ck_assert_msg(plan_check(p), "%s", diag_text(ctx->diags, false));
}
END_TEST

/* Random lives: buffer k is stored to in nest first[k] and read up to last[k]. */
START_TEST(test_random_lives) {
  const char *text = getenv("WEFT_SEED");
  unsigned seed = text ? (unsigned)strtoul(text, NULL, 10) : 20240612u;
  printf("seed %u\n", seed);
  srand(seed);
  enum { MAX = 60 };
  const int rounds = 200;
  double worst = 1, sum = 0;
  for (int round = 0; round < rounds; round++) {
    p = new_program(ctx);
    int n = 1 + rand() % MAX, nests = 1 + rand() % 40, first[MAX], last[MAX], longest = 1 + rand() % 10;
    Buffer *b[MAX];
    int64_t bytes[MAX], total = 0, load_bound = 0;
    Buffer *out = loops_add_buffer(p, "y", F32(1), BUF_OUTPUT, NULL);
    for (int k = 0; k < n; k++) {
      int64_t elements = rand() % 8 == 0 ? rand() % 4 : 1 + rand() % (rand() % 2 ? 5000 : 50);
      b[k] = add(elements);
      bytes[k] = round_up(elements * 4);
      total += bytes[k];
      first[k] = rand() % nests;
      last[k] = first[k] + rand() % longest;
      if (last[k] >= nests)
        last[k] = nests - 1;
    }
    for (int t = 0; t < nests; t++) {
      Stmt *body = NULL;
      int64_t load = 0;
      for (int k = 0; k < n; k++) {
        if (t < first[k] || t > last[k])
          continue;
        load += bytes[k];
        stmt_append(&body, t == first[k] ? STORE0(AT(b[k], K(0)), 0.0) : COPY(AT(out, K(0)), AT(b[k], K(0))));
      }
      nest_of(p, "n", body);
      load_bound = load > load_bound ? load : load_bound;
    }
    ck_assert(plan_memory(p));
    ck_assert_msg(plan_check(p), "%s", diag_text(ctx->diags, false));
    int64_t arena = expr_value(p->arena_bytes);
    for (int k = 0; k < n; k++) {
      int64_t at = offset_of(b[k]);
      ck_assert(at >= 0 && at % 64 == 0 && at + bytes[k] <= arena);
      for (int j = 0; j < k; j++)
        ck_assert(last[k] < first[j] || last[j] < first[k] || at + bytes[k] <= offset_of(b[j]) ||
                  offset_of(b[j]) + bytes[j] <= at);
    }
    ck_assert(arena >= load_bound && arena <= total);
    double ratio = load_bound ? (double)arena / (double)load_bound : 1;
    worst = ratio > worst ? ratio : worst;
    sum += ratio;
  }
  printf("arena / greatest load: mean %.3f, worst %.3f over %d programs\n", sum / rounds, worst, rounds);
  ck_assert(sum / rounds < 1.1);
}
END_TEST

START_TEST(test_same_program_same_plan) {
  int64_t offsets[2][20];
  for (int round = 0; round < 2; round++) {
    p = new_program(ctx);
    Buffer *b[20];
    for (int k = 0; k < 20; k++)
      b[k] = add(16 + k % 3 * 16);
    for (int k = 0; k < 20; k++)
      use(b[k], k > 1 ? b[k - 2] : NULL);
    ck_assert(plan_memory(p));
    for (int k = 0; k < 20; k++)
      offsets[round][k] = offset_of(b[k]);
  }
  ck_assert_mem_eq(offsets[0], offsets[1], sizeof offsets[0]);
}
END_TEST

Suite *suite_plan(void);
Suite *suite_plan(void) {
  Suite *s = suite_create("plan");
  TCase *tc = tcase_create("plan");
  tcase_set_timeout(tc, 30);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, test_chain_shares);
  tcase_add_test(tc, test_best_fit);
  tcase_add_test(tc, test_empty_program);
  tcase_add_test(tc, test_unused_takes_nothing);
  tcase_add_test(tc, test_symbolic_sizes);
  tcase_add_test(tc, test_random_lives);
  tcase_add_test(tc, test_same_program_same_plan);
  suite_add_tcase(s, tc);
  return s;
}
