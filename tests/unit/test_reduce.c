/* Reductions over axes: types, refusals, values by hand in every stage, and random ones against loops written apart. */
#include "op_family.h"

static const TypeCase good[] = {
    {"%x: f32[2,3,4]", "reduce_sum(%x) {axes = [1]}", "f32[2,1,4]"},
    {"%x: f32[2,3,4]", "reduce_mean(%x) {axes = [0, 2], keepdims = 0}", "f32[3]"},
    {"%x: u8[2,3]", "reduce_max(%x) {axes = [1, 0], keepdims = 0}", "u8[]"},
    {"%x: bool[2,3]", "reduce_min(%x) {axes = [1]}", "bool[2,1]"},
    {"%x: f16[2,3]", "reduce_prod(%x) {axes = []}", "f16[2,3]"},
    {"%x: f32[N,3]", "reduce_sum(%x) {axes = [1], keepdims = 0}", "f32[N]"},
    {"%x: i64[0,3]", "reduce_mean(%x) {axes = [0]}", "i64[1,3]"},
};

static const TypeCase bad[] = {
    {"%x: f32[2,3]", "reduce_sum(%x) {axes = [2]}",
     "reduce_sum: attribute 'axes' holds 2, expected different axes of x, which is f32[2,3]"},
    {"%x: f32[2,3]", "reduce_sum(%x) {axes = [-1]}", "'axes' holds -1"},
    {"%x: f32[2,3]", "reduce_sum(%x) {axes = [0, 0]}", "'axes' holds 0 twice"},
    {"%x: f32[2,3]", "reduce_sum(%x)", "attribute 'axes' is required"},
    {"%x: bool[2,3]", "reduce_sum(%x) {axes = [0]}", "operand 'x' is bool[2,3]; this op takes floats and integers"},
    {"%x: i8[2,3]", "reduce_mean(%x) {axes = [0]}", "takes floats and integers of 32 or 64 bits"},
};

/* ---- values ---- */

#define INF (double)INFINITY
#define NOT (double)NAN

typedef struct {
  const char *param, *op, *result;
  double in[8], out[6];
} ValueCase;

static const ValueCase valued[] = {
    {"%x: f32[2,3]", "reduce_sum(%x) {axes = [1]}", "f32[2,1]", {1, 2, 3, 4, 5, 6}, {6, 15}},
    {"%x: f32[2,3]@ba", "reduce_sum(%x) {axes = [0], keepdims = 0}", "f32[3]", {1, 2, 3, 4, 5, 6}, {5, 7, 9}},
    {"%x: f64[2,2,2]", "reduce_mean(%x) {axes = [0, 2]}", "f64[1,2,1]", {1, 2, 3, 4, 5, 6, 7, 8}, {3.5, 5.5}},
    {"%x: f32[2,2]", "reduce_prod(%x) {axes = [0, 1], keepdims = 0}", "f32[]", {1, 2, 3, 4}, {24}},
    {"%x: i32[2,3]", "reduce_mean(%x) {axes = [1]}", "i32[2,1]", {1, 2, 5, -1, -2, -5}, {2, -2}},
    {"%x: f32[3,2]", "reduce_max(%x) {axes = [0]}", "f32[1,2]", {1, NOT, 7, 2, 3, 4}, {7, NOT}},
    {"%x: f32[3,2]", "reduce_min(%x) {axes = [0]}", "f32[1,2]", {NOT, 1, 7, 2, 3, NOT}, {NOT, NOT}},
    {"%x: f32[2,2]", "reduce_max(%x) {axes = [1]}", "f32[2,1]", {-INF, -INF, -1, -INF}, {-INF, -1}},
    {"%x: i8[4]", "reduce_sum(%x) {axes = [0]}", "i8[1]", {100, 100, 50, 7}, {1}},
    {"%x: u8[2,2]", "reduce_prod(%x) {axes = [1]}", "u8[2,1]", {16, 17, 3, 5}, {16, 15}},
    {"%x: i8[2,2]", "reduce_max(%x) {axes = [1]}", "i8[2,1]", {-128, -127, -128, -128}, {-127, -128}},
    {"%x: u16[2,2]", "reduce_min(%x) {axes = [1]}", "u16[2,1]", {65535, 65535, 65535, 0}, {65535, 0}},
    {"%x: bool[2,2]", "reduce_max(%x) {axes = [1]}", "bool[2,1]", {0, 1, 0, 0}, {1, 0}},
    {"%x: bool[2,2]", "reduce_min(%x) {axes = [1]}", "bool[2,1]", {0, 1, 1, 1}, {0, 1}},
    /* f16 is summed in f32: 2048 + 1 + 1 is 2050, while 2048 + 1 is 2048 in f16 */
    {"%x: f16[3]", "reduce_sum(%x) {axes = [0]}", "f16[1]", {2048, 1, 1}, {2050}},
    {"%x: bf16[3]", "reduce_mean(%x) {axes = [0]}", "bf16[1]", {256, 1, 1}, {86}},
    /* of nothing */
    {"%x: f32[0,2]", "reduce_sum(%x) {axes = [0]}", "f32[1,2]", {0}, {0, 0}},
    {"%x: f32[0,2]", "reduce_prod(%x) {axes = [0]}", "f32[1,2]", {0}, {1, 1}},
    {"%x: f32[0,2]", "reduce_max(%x) {axes = [0]}", "f32[1,2]", {0}, {-INF, -INF}},
    {"%x: f64[0,2]", "reduce_min(%x) {axes = [0]}", "f64[1,2]", {0}, {INF, INF}},
    {"%x: i8[0,1]", "reduce_max(%x) {axes = [0]}", "i8[1,1]", {0}, {-128}},
    {"%x: u32[0,1]", "reduce_min(%x) {axes = [0]}", "u32[1,1]", {0}, {4294967295}},
    {"%x: f32[0,1]", "reduce_mean(%x) {axes = [0]}", "f32[1,1]", {0}, {NOT}},
    {"%x: i32[0,1]", "reduce_mean(%x) {axes = [0]}", "i32[1,1]", {0}, {0}},
    /* over no axis */
    {"%x: f32[2]", "reduce_mean(%x) {axes = []}", "f32[2]", {3, 4}, {3, 4}},
};
START_TEST(values) {
  const ValueCase *c = &valued[_i];
  Module *m = parse_well(ctx, op_function(ctx, c->param, c->op, c->result));
  const Tensor *in = param_tensor(m, 0, c->in);
  int64_t shape[WEFT_MAX_RANK], n = 1;
  type_shape(m->main->last->result->type, shape);
  for (int k = 0; k < m->main->last->result->type->rank; k++)
    n *= shape[k];
  expect_everywhere(m, &in, n, c->out);
}
END_TEST

/* 64 bits are kept, where a double has 53. */
START_TEST(wide_integers) {
  Module *m = parse_well(ctx, op_function(ctx, "%x: i64[3]", "reduce_max(%x) {axes = [0]}", "i64[1]"));
  Tensor *t = tensor_of_type(ctx, m->main->params.data[0]->type);
  const Tensor *in = t;
  int64_t wide[3] = {INT64_MAX - 2, INT64_MAX - 1, INT64_MIN};
  memcpy(t->data, wide, sizeof wide);
  Tensor *interpreted, *expected = evaluate_op(m, &in), *compiled = run_op(m, &in, &interpreted);
  ck_assert_int_eq(*(int64_t *)expected->data, INT64_MAX - 1);
  ck_assert_int_eq(*(int64_t *)interpreted->data, INT64_MAX - 1);
  ck_assert_int_eq(*(int64_t *)compiled->data, INT64_MAX - 1);
  m = parse_well(ctx, op_function(ctx, "%x: u64[2]", "reduce_min(%x) {axes = [0]}", "u64[1]"));
  t = tensor_of_type(ctx, m->main->params.data[0]->type);
  in = t;
  uint64_t high[2] = {UINT64_MAX - 1, UINT64_MAX - 2};
  memcpy(t->data, high, sizeof high);
  expected = evaluate_op(m, &in);
  compiled = run_op(m, &in, &interpreted);
  ck_assert_uint_eq(*(uint64_t *)expected->data, UINT64_MAX - 2);
  ck_assert_uint_eq(*(uint64_t *)interpreted->data, UINT64_MAX - 2);
  ck_assert_uint_eq(*(uint64_t *)compiled->data, UINT64_MAX - 2);
}
END_TEST

/* ---- random axes, the reference against loops over x ---- */

static double combine(int which, double acc, double v) {
  switch (which) {
  case 2:
    return acc * v;
  case 3:
    return v > acc ? v : acc;
  case 4:
    return v < acc ? v : acc;
  default:
    return acc + v;
  }
}

START_TEST(random_axes) { /* rtol 1e-6: results are floats */
  static const char *const names[] = {"reduce_sum", "reduce_mean", "reduce_prod", "reduce_max", "reduce_min"};
  uint64_t state = random_seed("random_axes");
  for (int round = 0; round < 200; round++) {
    int rank = 1 + random_below(&state, 4), which = random_below(&state, 5), count = 1;
    int64_t shape[4], stride[4], n = 1;
    Module *m = module_create(ctx, "t.weft", "t");
    Function *f = m->main = function_create(m, "main");
    int64_t axes[4];
    int n_axes = 0;
    for (int k = 0; k < rank; k++)
      shape[k] = 1 + random_below(&state, 4);
    for (int k = rank - 1; k >= 0; k--) {
      bool reduced = random_below(&state, 2);
      if (reduced) {
        axes[n_axes++] = k;
        count *= (int)shape[k];
      }
      stride[k] = reduced ? 0 : n;
      n *= reduced ? 1 : shape[k];
    }
    Value *x = function_add_param(m, f, "x", type_static(ctx, DT_F32, rank, shape, NULL), NULL, LOC_NONE);
    Op *op = op_create(ctx, op_find(names[which], strlen(names[which])), &x, 1, LOC_NONE);
    op_set_ints(ctx, op, "axes", axes, n_axes);
    op_set_int(op, "keepdims", random_below(&state, 2));
    Value *y = op_finish(m, f, op, NULL, "y", NULL);
    ck_assert_ptr_nonnull(y);
    function_add_result(m, f, "y", y, y->type, NULL, LOC_NONE);

    double expected[256], start = which == 2 ? 1 : which == 3 ? -INF : which == 4 ? INF : 0;
    for (int64_t k = 0; k < n; k++)
      expected[k] = start;
    Tensor *t = tensor_of_type(ctx, x->type);
    int64_t index[WEFT_MAX_RANK] = {0};
    for (int64_t i = 0; i < t->n; i++, tensor_next_index(t, index)) {
      tensor_set(t, i, random_below(&state, 2000) / 1000.0 - 1);
      int64_t at = 0;
      for (int k = 0; k < rank; k++)
        at += index[k] * stride[k];
      expected[at] = combine(which, expected[at], tensor_get(t, i));
    }
    const Tensor *in = t;
    Tensor *got = evaluate_op(m, &in);
    ck_assert_int_eq(got->n, n);
    for (int64_t k = 0; k < n; k++) {
      double want = which == 1 ? expected[k] / count : expected[k];
      ck_assert_double_le(fabs(tensor_get(got, k) - want), 1e-6 * fabs(want) + 1e-12);
    }
  }
}
END_TEST

/* ---- layouts ---- */

static const TypeCase planned[] = {
    {"%x: f32[1,8,2,2]@acdb", "reduce_mean(%x) {axes = [2, 3]}", "f32[1,8,1,1]"},
    {"%x: f32[1,8,2,2]@acdb", "reduce_mean(%x) {axes = [2, 3], keepdims = 0}", "f32[1,8]"},
    {"%x: f32[1,8,2,2]@dcba", "reduce_mean(%x) {axes = [1], keepdims = 0}", "f32[1,2,2]"},
};
START_TEST(layouts) {
  static const char *const tags[] = {"acdb", "ab", "cba"};
  const TypeCase *c = &planned[_i];
  ck_assert_str_eq(planned_layout(ctx, parse_well(ctx, op_function(ctx, c->params, c->op, c->result))), tags[_i]);
}
END_TEST

START_TEST(blocked_layouts) { /* blocks of what is reduced go */
  const char *text =
      "weft 1 model \"m\"\nfunc @main(%%x: f32[2,16,3]) -> (y: %s) {\n"
      "  %%b = relayout(%%x) : f32[2,16,3]@aBc8b\n  %%y = reduce_sum(%%b) {axes = [%d]} : %s\n  return %%y\n}\n";
  Module *m = parse_well(ctx, arena_printf(ctx->arena, text, "f32[2,1,3]", 1, "f32[2,1,3]"));
  ck_assert_str_eq(planned_layout(ctx, m), "abc");
  m = parse_well(ctx, arena_printf(ctx->arena, text, "f32[2,16,1]", 2, "f32[2,16,1]"));
  ck_assert_str_eq(planned_layout(ctx, m), "aBc8b");
}
END_TEST

Suite *suite_reduce(void);
Suite *suite_reduce(void) {
  Suite *s = suite_create("reduce");
  TCase *t = family_tests("reduce", good, COUNT(good), bad, COUNT(bad));
  tcase_add_loop_test(t, values, 0, (int)COUNT(valued));
  tcase_add_test(t, wide_integers);
  tcase_add_test(t, random_axes);
  tcase_add_loop_test(t, layouts, 0, (int)COUNT(planned));
  tcase_add_test(t, blocked_layouts);
  suite_add_tcase(s, t);
  return s;
}
