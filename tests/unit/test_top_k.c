/* top_k: types, refusals, order of equal elements and NaN, and random rows against counting: the place of an element is
 * the number of those that come before it. All stages, exactly. */
#include <stdlib.h>

#include "op_help.h"

static Ctx *ctx;
static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}
#define COUNT(a) (sizeof(a) / sizeof *(a))

static const TypeCase good[] = {
    {"%x: f32[4,5]", "top_k(%x) {k = 3}", "i64[4,3]"},
    {"%x: u8[4,5]", "top_k(%x) {k = 4, axis = 0, largest = 0}", "i64[4,5]"},
    {"%x: bf16[4,0]", "top_k(%x) {k = 0}", "i64[4,0]"},
    {"%x: f64[N,5]", "top_k(%x) {k = 1}", "i64[N,1]"},
};

START_TEST(types) {
  expect_type(ctx, &good[_i]);
}
END_TEST

static const TypeCase bad[] = {
    {"%x: f32[4,5]", "top_k(%x) {k = 6}", "'k' is 6, expected 0 to the extent of axis 1 of x, which is f32[4,5]"},
    {"%x: f32[4,5]", "top_k(%x) {k = -1}", "'k' is -1"},
    {"%x: f32[4,N]", "top_k(%x) {k = 1}", "the extent of axis 1 of x, which is f32[4,N]"},
    {"%x: f32[4,5]", "top_k(%x) {k = 1, axis = 2}", "'axis' is 2, expected an axis"},
    {"%x: f32[]", "top_k(%x) {k = 1}", "'axis' is -1"},
    {"%x: bool[4]", "top_k(%x) {k = 1}", "operand 'x' has element type bool; this op takes floats and integers"},
    {"%x: f32[4]", "top_k(%x)", "attribute 'k' is required"},
};

START_TEST(refused) {
  expect_refusal(ctx, &bad[_i]);
}
END_TEST

/* ---- order ---- */

typedef struct {
  TypeCase op;
  double x[8], expected[8];
} ValueCase;

static const ValueCase valued[] = {
    {{"%x: f32[6]", "top_k(%x) {k = 6}", "i64[6]"}, {1, 3, NAN, 3, INFINITY, NAN}, {2, 5, 4, 1, 3, 0}},
    {{"%x: f32[6]", "top_k(%x) {k = 6, largest = 0}", "i64[6]"}, {1, 3, NAN, 3, -INFINITY, NAN}, {4, 0, 1, 3, 2, 5}},
    {{"%x: f64[4]", "top_k(%x) {k = 2}", "i64[2]"}, {-0.0, 0, 0, -0.0}, {0, 1}},
    {{"%x: i32[2,3]", "top_k(%x) {k = 1, axis = 0}", "i64[1,3]"}, {1, 5, 2, 1, 4, 3}, {0, 0, 1}},
    {{"%x: u8[2,4]@ba", "top_k(%x) {k = 2, largest = 0}", "i64[2,2]"}, {255, 0, 128, 0, 3, 2, 1, 0}, {1, 3, 3, 2}},
    {{"%x: i8[1]", "top_k(%x) {k = 1}", "i64[1]"}, {-128}, {0}},
};

START_TEST(values) {
  const ValueCase *c = &valued[_i];
  Module *m = parse_well(ctx, op_function(ctx, c->op.params, c->op.op, c->op.result));
  const Tensor *in[1] = {param_tensor(m, 0, c->x)};
  expect_everywhere(m, in, evaluate_op(m, in)->n, c->expected);
}
END_TEST

/* u64 beyond what double holds. */
START_TEST(wide_integers) {
  Module *m = parse_well(ctx, op_function(ctx, "%x: u64[3]", "top_k(%x) {k = 3}", "i64[3]"));
  Tensor *x = tensor_of_type(ctx, m->main->params.data[0]->type);
  const uint64_t v[3] = {UINT64_MAX - 1, 1, UINT64_MAX};
  memcpy(x->data, v, sizeof v);
  expect_everywhere(m, (const Tensor *[]){x}, 3, (double[]){2, 0, 1});
}
END_TEST

/* ---- random rows ---- */

static const char *const random_types[] = {"f32", "f64", "f16", "bf16", "i8", "u16", "i32", "u32", "i64"};

START_TEST(random_rows) {
  const char *text = getenv("WEFT_SEED");
  unsigned seed = (text ? (unsigned)strtoul(text, NULL, 0) : 1) + (unsigned)_i;
  printf("seed %u\n", seed);
  srand(seed);
  for (int round = 0; round < 12; round++) {
    int n = 1 + rand() % 70, k = 1 + rand() % n, rows = 1 + rand() % 3, largest = rand() % 2;
    const char *dtype = random_types[(size_t)rand() % COUNT(random_types)], *layout = rand() % 2 ? "" : "@ba";
    Module *m = parse_well(ctx, op_function(ctx, arena_printf(ctx->arena, "%%x: %s[%d,%d]%s", dtype, rows, n, layout),
                                            arena_printf(ctx->arena, "top_k(%%x) {k = %d, largest = %d}", k, largest),
                                            arena_printf(ctx->arena, "i64[%d,%d]", rows, k)));
    double *x = ARENA_ARRAY(ctx->arena, double, rows *n), *expected = ARENA_ARRAY(ctx->arena, double, rows *k);
    for (int i = 0; i < rows * n; i++)
      x[i] = rand() % 40; /* equal ones too */
    for (int r = 0; r < rows; r++)
      for (int i = 0; i < n; i++) {
        int place = 0;
        double own = x[r * n + i];
        for (int j = 0; j < n; j++) {
          double other = x[r * n + j];
          place += other == own ? j < i : (other > own) == (largest != 0);
        }
        if (place < k)
          expected[r * k + place] = i;
      }
    expect_everywhere(m, (const Tensor *[]){param_tensor(m, 0, x)}, rows * k, expected);
  }
}
END_TEST

START_TEST(layouts) {
  Module *m = parse_well(ctx, op_function(ctx, "%x: f32[4,6,2]@cab", "top_k(%x) {k = 1, axis = 1}", "i64[4,1,2]"));
  ck_assert_str_eq(planned_layout(ctx, m), "cab");
}
END_TEST

Suite *suite_top_k(void);
Suite *suite_top_k(void) {
  Suite *s = suite_create("top_k");
  TCase *t = tcase_create("top_k");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, types, 0, (int)COUNT(good));
  tcase_add_loop_test(t, refused, 0, (int)COUNT(bad));
  tcase_add_loop_test(t, values, 0, (int)COUNT(valued));
  tcase_add_test(t, wide_integers);
  tcase_add_loop_test(t, random_rows, 0, 4);
  tcase_add_test(t, layouts);
  suite_add_tcase(s, t);
  return s;
}
