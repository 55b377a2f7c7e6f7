/* Matrix products: types, refusals, values by hand in every stage, random ones against loops written apart. */
#include "op_family.h"

static const TypeCase good[] = {
    {"%a: f32[2,3], %b: f32[3,5]", "matmul(%a, %b)", "f32[2,5]"},
    {"%a: f16[4,2,3], %b: f16[4,3,5]", "matmul(%a, %b)", "f16[4,2,5]"},
    {"%a: i64[2,0], %b: i64[0,5]", "matmul(%a, %b)", "i64[2,5]"},
    {"%a: f32[N,3], %b: f32[3,5]", "matmul(%a, %b)", "f32[N,5]"},
};

static const TypeCase bad[] = {
    {"%a: f32[2,3], %b: f32[4,5]", "matmul(%a, %b)",
     "axis 1 of a has extent 3, axis 0 of b 4, expected equal ones; a is f32[2,3], b is f32[4,5]"},
    {"%a: f32[4,2,3], %b: f32[1,3,5]", "matmul(%a, %b)", "axis 0 of a has extent 4, axis 0 of b 1"},
    {"%a: f32[2,3], %b: f32[4,3,5]", "matmul(%a, %b)", "expected equal ranks of at least 2"},
    {"%a: f32[3], %b: f32[3]", "matmul(%a, %b)", "expected equal ranks of at least 2"},
    {"%a: f32[2,3], %b: f64[3,5]", "matmul(%a, %b)", "operand 'b' has element type f64, but operand 'a' has f32"},
    {"%a: bool[2,3], %b: bool[3,5]", "matmul(%a, %b)", "operand 'a' has element type bool; this op takes floats and integers"},
};

typedef struct {
  const char *params, *result;
  double a[8], b[8], out[8];
} ValueCase;

static const ValueCase valued[] = {
    {"%a: f32[2,3], %b: f32[3,2]", "f32[2,2]", {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, {22, 28, 49, 64}},
    {"%a: f64[2,1,2]@cba, %b: f64[2,2,1]", "f64[2,1,1]", {1, 2, 3, 4}, {5, 6, 7, 8}, {17, 53}},
    {"%a: i8[1,2], %b: i8[2,1]", "i8[1,1]", {100, 3}, {2, 20}, {4}}, /* 260 wraps */
    {"%a: u8[1,2], %b: u8[2,1]", "u8[1,1]", {255, 2}, {2, 1}, {0}},
    {"%a: i64[1,2], %b: i64[2,1]", "i64[1,1]", {3, -4}, {5, 6}, {-9}},
    {"%a: f32[1,0], %b: f32[0,2]", "f32[1,2]", {0}, {0}, {0, 0}},
    /* in f32: 2048 + 1 + 1 */
    {"%a: f16[1,3], %b: f16[3,1]", "f16[1,1]", {2048, 1, 1}, {1, 1, 1}, {2050}},
    {"%a: bf16[1,3], %b: bf16[3,1]", "bf16[1,1]", {256, 1, 1}, {1, 1, 1}, {258}},
};
START_TEST(values) {
  const ValueCase *c = &valued[_i];
  Module *m = parse_well(ctx, op_function(ctx, c->params, "matmul(%a, %b)", c->result));
  const Tensor *in[2] = {param_tensor(m, 0, c->a), param_tensor(m, 1, c->b)};
  expect_everywhere(m, in, tensor_of_type(ctx, m->main->last->result->type)->n, c->out);
}
END_TEST

START_TEST(square_of_one_value) { /* both operands are one buffer */
  Module *m = parse_well(ctx, op_function(ctx, "%a: f32[2,2]", "matmul(%a, %a)", "f32[2,2]"));
  const Tensor *in = param_tensor(m, 0, (double[]){1, 2, 3, 4});
  expect_everywhere(m, &in, 4, (double[]){7, 10, 15, 22});
  m = parse_well(ctx, op_function(ctx, "%a: f32[1,1]", "matmul(%a, %a)", "f32[1,1]"));
  in = param_tensor(m, 0, (double[]){3});
  expect_everywhere(m, &in, 1, (double[]){9});
}
END_TEST

START_TEST(random_products) { /* rtol 1e-6: results are floats */
  uint64_t state = random_seed("random_products");
  for (int round = 0; round < 50; round++) {
    int64_t batch = 1 + random_below(&state, 3), rows = 1 + random_below(&state, 6), n = 1 + random_below(&state, 6);
    int64_t k = random_below(&state, 9);
    const char *params = arena_printf(ctx->arena, "%%a: f32[%d,1,%d,%d], %%b: f32[%d,1,%d,%d]", (int)batch, (int)rows,
                                      (int)k, (int)batch, (int)k, (int)n);
    const char *result = arena_printf(ctx->arena, "f32[%d,1,%d,%d]", (int)batch, (int)rows, (int)n);
    Module *m = parse_well(ctx, op_function(ctx, params, "matmul(%a, %b)", result));
    double a[200], b[200];
    for (int i = 0; i < 200; i++) {
      a[i] = (double)((float)random_below(&state, 2000) / 1000 - 1);
      b[i] = (double)((float)random_below(&state, 2000) / 1000 - 1);
    }
    const Tensor *in[2] = {param_tensor(m, 0, a), param_tensor(m, 1, b)};
    Tensor *got = evaluate_op(m, in);
    for (int64_t z = 0; z < batch; z++)
      for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
          double sum = 0;
          for (int64_t q = 0; q < k; q++)
            sum += a[(z * rows + i) * k + q] * b[(z * k + q) * n + j];
          ck_assert_double_le(fabs(tensor_get(got, (z * rows + i) * n + j) - sum), 1e-6 * fabs(sum) + 1e-9);
        }
  }
}
END_TEST

START_TEST(layouts) { /* a constant b is read row by row */
  const char *text = "weft 1 model \"m\"\nconst @b : f32[2,3]@ba = [1, 2, 3, 4, 5, 6]\n"
                     "func @main(%a: f32[4,2]) -> (y: f32[4,3]) {\n  %b = constant() {value = @b} : f32[2,3]@ba\n"
                     "  %y = matmul(%a, %b) : f32[4,3]\n  return %y\n}\n";
  Module *m = parse_well(ctx, text);
  const Op *op = m->main->last;
  LayoutPlan plan = layout_plan_of(ctx, op);
  op->def->layout(ctx, op, &plan);
  ck_assert_ptr_eq(plan.operand[1], layout_row_major(ctx, 2));
  ck_assert_ptr_eq(plan.result, layout_row_major(ctx, 2));
}
END_TEST

Suite *suite_matmul(void);
Suite *suite_matmul(void) {
  Suite *s = suite_create("matmul");
  TCase *t = family_tests("matmul", good, COUNT(good), bad, COUNT(bad));
  tcase_add_loop_test(t, values, 0, (int)COUNT(valued));
  tcase_add_test(t, square_of_one_value);
  tcase_add_test(t, random_products);
  tcase_add_test(t, layouts);
  suite_add_tcase(s, t);
  return s;
}
