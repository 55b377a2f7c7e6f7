/* Sampling at the points of a grid: types, refusals, values by hand of every mode and padding, and random grids by
 * compiled code against the reference. Answers of another program are in tests/exec/known. */
#include "op_help.h"

static Ctx *ctx;
static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

static const TypeCase good[] = {
    {"%x: f32[2,3,5], %g: f32[2,7,1]", "grid_sample1d(%x, %g)", "f32[2,3,7]"},
    {"%x: f16[2,3,5,6]@acdb, %g: f32[2,7,4,2]", "grid_sample2d(%x, %g) {mode = cubic}", "f16[2,3,7,4]"},
    {"%x: f32[2,3,5,6,7], %g: f64[2,1,2,3,3]", "grid_sample3d(%x, %g) {padding = reflection, align_corners = 1}",
     "f32[2,3,1,2,3]"},
    {"%x: f32[2,3,5], %g: f32[2,0,1]", "grid_sample1d(%x, %g)", "f32[2,3,0]"},
};
START_TEST(types) {
  expect_type(ctx, &good[_i]);
}
END_TEST

static const TypeCase bad[] = {
    {"%x: f32[2,3,5,5], %g: f32[2,7,1]", "grid_sample1d(%x, %g)", "operand 'data' has rank 4"},
    {"%x: f32[2,3,5], %g: f32[2,7]", "grid_sample1d(%x, %g)", "operand 'grid' has rank 2"},
    {"%x: f32[2,3,5], %g: f32[1,7,1]", "grid_sample1d(%x, %g)",
     "grid is f32[1,7,1], expected as many rows as data, which is f32[2,3,5], and 1 numbers along its last axis"},
    {"%x: f32[2,3,5,5], %g: f32[2,7,7,3]", "grid_sample2d(%x, %g)", "and 2 numbers along its last axis"},
    {"%x: f32[2,3,0], %g: f32[2,7,1]", "grid_sample1d(%x, %g)", "which has no points to sample"},
    {"%x: i32[2,3,5], %g: f32[2,7,1]", "grid_sample1d(%x, %g)", "this op takes floats"},
    {"%x: f32[2,3,5], %g: f32[2,7,1]", "grid_sample1d(%x, %g) {mode = best}", "one of linear|nearest|cubic"},
};
START_TEST(refused) {
  expect_refusal(ctx, &bad[_i]);
}
END_TEST

typedef struct {
  const char *attrs;
  double grid[6], out[6];
} ValueCase;

/* data = 1, 2, 4, 8. Without align_corners g is position 2 g + 1.5, with it 1.5 g + 1.5. */
static const ValueCase valued[] = {
    {"", {-0.75, -0.5, 0, 0.75, 1, 2}, {1, 1.5, 3, 8, 4, 0}},
    {"align_corners = 1", {-1, 0, 1, -2, 2, 1.0 / 3}, {1, 3, 8, 0, 0, 4}},
    {"padding = border", {-2, -1, -0.5, 0.75, 1, 9}, {1, 1, 1.5, 8, 8, 8}},
    {"padding = reflection", {-1.25, -1, 0.75, 1, 1.25, 2.75}, {1, 1, 8, 8, 8, 1}},
    {"padding = reflection, align_corners = 1", {-1, -3, 3, 5, 0, -4}, {1, 8, 1, 8, 3, 3}},
    {"mode = nearest", {-0.75, -0.5, 0, 0.5, 1, 1.5}, {1, 1, 4, 4, 0, 0}}, /* ties to even: 0.5, 1.5, 2.5, 3.5 */
    {"mode = nearest, padding = border", {-9, -0.75, 0, 0.75, 1, 9}, {1, 1, 4, 8, 8, 8}},
    /* the kernel at halves: -0.09375, 0.59375, 0.59375, -0.09375 */
    {"mode = cubic", {0, -0.75, 0.75, 3, -3, 1}, {-0.09375 * 9 + 0.59375 * 6, 1, 8, 0, 0, 0.59375 * 8 - 0.09375 * 4}},
    {"padding = zeros", {NAN, INFINITY, -INFINITY, 1e30, -1e30, 0}, {0, 0, 0, 0, 0, 3}},
    {"padding = border", {INFINITY, -INFINITY, 1e30, -1e30, 0, NAN}, {8, 1, 8, 1, 3, 1}},
};
START_TEST(values) {
  const ValueCase *c = &valued[_i];
  const char *op = arena_printf(ctx->arena, "grid_sample1d(%%x, %%g) {%s}", c->attrs[0] ? c->attrs : "mode = linear");
  Module *m = parse_well(ctx, op_function(ctx, "%x: f32[1,1,4], %g: f64[1,6,1]", op, "f32[1,1,6]"));
  const Tensor *in[2] = {param_tensor(m, 0, (double[]){1, 2, 4, 8}), param_tensor(m, 1, c->grid)};
  expect_everywhere(m, in, 6, c->out);
}
END_TEST

START_TEST(innermost_axis_first) { /* grid's first number runs along the last axis of data */
  Module *m = parse_well(ctx, op_function(ctx, "%x: f32[1,2,2,3], %g: f32[1,1,2,2]",
                                          "grid_sample2d(%x, %g) {align_corners = 1}", "f32[1,2,1,2]"));
  const double data[] = {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32};
  const Tensor *in[2] = {param_tensor(m, 0, data), param_tensor(m, 1, (double[]){1, -1, 0, 1})};
  expect_everywhere(m, in, 4, (double[]){2, 11, 22, 31});
}
END_TEST

/* Grid numbers are multiples of 1/64, so that positions are exact in f32: then weights and data round, at most 64
 * products of numbers below 2: atol 1e-5. */
START_TEST(random_grids) {
  static const char *const modes[] = {"linear", "nearest", "cubic"}, *const paddings[] = {"zeros", "border",
                                                                                          "reflection"};
  static const char *const layouts[3][2] = {{"", "@acb"}, {"", "@acdb"}, {"", "@acdeb"}};
  uint64_t state = random_seed("random_grids");
  for (int round = 0; round < 54; round++) {
    int d = 1 + round % 3, rows = 1 + (int)random_below(&state, 2), channels = 1 + (int)random_below(&state, 9);
    Str data = str_new(ctx->arena), points = str_new(ctx->arena);
    int n_data = rows * channels, n_grid = rows * d;
    for (int k = 0; k < d; k++) {
      int in = 1 + (int)random_below(&state, 5), out = 1 + (int)random_below(&state, 4);
      str_printf(&data, ",%d", in);
      str_printf(&points, ",%d", out);
      n_data *= in;
      n_grid *= out;
    }
    const char *layout = layouts[d - 1][random_below(&state, 2)];
    const char *params = arena_printf(ctx->arena, "%%x: f32[%d,%d%s]%s, %%g: f32[%d%s,%d]", rows, channels, data.data,
                                      layout, rows, points.data, d);
    const char *op = arena_printf(ctx->arena, "grid_sample%dd(%%x, %%g) {mode = %s, padding = %s, align_corners = %d}",
                                  d, modes[round / 3 % 3], paddings[round / 9 % 3], (int)random_below(&state, 2));
    const char *result = arena_printf(ctx->arena, "f32[%d,%d%s]", rows, channels, points.data);
    Module *m = parse_well(ctx, op_function(ctx, params, op, result));
    double *x = ARENA_ARRAY(ctx->arena, double, n_data), *g = ARENA_ARRAY(ctx->arena, double, n_grid);
    for (int k = 0; k < n_data; k++)
      x[k] = (double)random_below(&state, 2000) / 1000 - 1;
    for (int k = 0; k < n_grid; k++)
      g[k] = ((double)random_below(&state, 257) - 128) / 64;
    const Tensor *in[2] = {param_tensor(m, 0, x), param_tensor(m, 1, g)};
    Tensor *interpreted, *expected = evaluate_op(m, in), *compiled = run_op(m, in, &interpreted);
    for (int64_t k = 0; k < expected->n; k++) {
      double want = tensor_get(expected, k);
      ck_assert_msg(fabs(tensor_get(interpreted, k) - want) <= 1e-5, "%s: interpreter, [%d]", op, (int)k);
      ck_assert_msg(fabs(tensor_get(compiled, k) - want) <= 1e-5, "%s: compiled, [%d]", op, (int)k);
    }
  }
}
END_TEST

Suite *suite_grid_sample(void);
Suite *suite_grid_sample(void) {
  Suite *s = suite_create("grid_sample");
  TCase *t = tcase_create("grid_sample");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, types, 0, (int)COUNT(good));
  tcase_add_loop_test(t, refused, 0, (int)COUNT(bad));
  tcase_add_loop_test(t, values, 0, (int)COUNT(valued));
  tcase_add_test(t, innermost_axis_first);
  tcase_add_test(t, random_grids);
  suite_add_tcase(s, t);
  return s;
}
