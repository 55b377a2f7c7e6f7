/* The frame of a family's tests: a context for each test, and the tests of types and refusals, which are tables. A file
 * includes this once and makes its test case by family_tests. */
#ifndef WEFT_TESTS_UNIT_OP_FAMILY_H
#define WEFT_TESTS_UNIT_OP_FAMILY_H

#include "op_help.h"

static Ctx *ctx;
static const TypeCase *family_types, *family_refusals;

static void family_setup(void) {
  ctx = ctx_create();
}

static void family_teardown(void) {
  ctx_destroy(ctx);
}

START_TEST(types) {
  expect_type(ctx, &family_types[_i]);
}
END_TEST

START_TEST(refused) {
  expect_refusal(ctx, &family_refusals[_i]);
}
END_TEST

/* The test case `name`, with the tests of both tables; ctx is there in all tests that are added to it. */
static TCase *family_tests(const char *name, const TypeCase *good, size_t n_good, const TypeCase *bad, size_t n_bad) {
  TCase *t = tcase_create(name);
  family_types = good;
  family_refusals = bad;
  tcase_add_checked_fixture(t, family_setup, family_teardown);
  tcase_add_loop_test(t, types, 0, (int)n_good);
  tcase_add_loop_test(t, refused, 0, (int)n_bad);
  return t;
}

#endif
