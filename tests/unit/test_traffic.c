/* The traffic estimate on programs whose bytes are counted by hand. */
#include <check.h>

#include "lower/loop.h"

static Ctx *ctx;

static void setup(void) {
  ctx = ctx_create();
}

static void teardown(void) {
  ctx_destroy(ctx);
}

/* Bytes of the only nest of a program with inputs %x f32[8,16], %i i64[4], %h f16[40] and the output %y f32[8,16]. */
static void expect(const char *nest, int64_t read, int64_t written) {
  const char *text = arena_printf(ctx->arena,
                                  "weft 1 model \"t\"\nloops @t {\n  buffer %%x : f32[8,16] input 0\n"
                                  "  buffer %%i : i64[4] input 1\n  buffer %%h : f16[40] input 2\n"
                                  "  buffer %%y : f32[8,16] output 0\n  nest @n \"n\" {\n%s\n  }\n}\n",
                                  nest);
  LoopProgram *p = loops_parse(ctx, "t.weft", text, strlen(text));
  ck_assert_msg(p && loops_check(p), "%s", diag_text(ctx->diags, true));
  NestBytes bytes = nest_bytes(ctx, p->first);
  ck_assert_msg(bytes.read == read && bytes.written == written, "%s: reads %lld, writes %lld", nest,
                (long long)bytes.read, (long long)bytes.written);
}

START_TEST(test_dense) {
  expect("for a in 0..8 { for b in 0..16 { %y[a, b] = %x[a, b] } }", 512, 512);
  expect("for a in 0..8 { for b in 0..16 { %y[a, b] = %x[a, b] * %x[a, b] + %x[0, b] } }", 512, 512);
  expect("for a in 0..8 { for b in 0..16 { %y[a, b] = 0.0 } }", 0, 512);
  expect("%y[3, 4] = %x[1, 2] + %x[5, 6]", 8, 4);
  expect("for a in 0..0 { %y[a, 0] = %x[a, 0] }", 0, 0);
}
END_TEST

/* A reduction reads each element once, whatever the loops around; locals are no memory. */
START_TEST(test_reuse) {
  expect("for a in 0..8 { local s : f32[1] s[0] = 0.0 for k in 0..16 { s[0] = s[0] + %x[0, k] } %y[a, 0] = s[0] }", 64,
         32);
  expect("for a in 0..8 { %y[a, 0] = 0.0 for k in 0..16 { %y[a, 0] = %y[a, 0] + %x[a, k] } }", 512 + 32, 32);
}
END_TEST

/* Every other element; two accesses of one buffer; windows that overlap. */
START_TEST(test_parts) {
  expect("for a in 0..8 { for b in 0..8 { %y[a, b] = %x[a, 2*b] } }", 256, 256);
  expect("for a in 0..8 { for b in 0..8 { %y[a, b] = %x[a, 2*b] + %x[a, 2*b + 1] } }", 512, 256);
  expect("for b in 0..8 { for k in 0..3 { %y[0, b] = %x[0, b + k] } }", 40, 32);
  expect("for b in 0..8 { %y[0, b] = f32(%h[5*b]) }", 16, 32);
}
END_TEST

/* Four rows of the table, not all of it. */
START_TEST(test_gather) {
  expect("for g in 0..4 { index j in 0..8 = %i[g] for b in 0..16 { %y[g, b] = %x[j, b] } }", 32 + 256, 256);
  expect("index j in 0..8 = %i[2] for b in 0..16 { %y[0, b] = %x[j, b] }", 8 + 64, 64);
}
END_TEST

Suite *suite_traffic(void);
Suite *suite_traffic(void) {
  Suite *s = suite_create("traffic");
  TCase *t = tcase_create("traffic");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, test_dense);
  tcase_add_test(t, test_reuse);
  tcase_add_test(t, test_parts);
  tcase_add_test(t, test_gather);
  suite_add_tcase(s, t);
  return s;
}
