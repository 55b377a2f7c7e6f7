/* Elementwise ops in every element type: the reference evaluation by hand, exact access to tensors, the text of element
 * types as attributes. */
#include <math.h>

#include "graph_util.h"
#include "ir/text.h"

static Graph g;
static void setup(void) {
  g = graph_new();
}
static void teardown(void) {
  ctx_destroy(g.ctx);
}

static Tensor *of_doubles(DType dtype, const double *values, int64_t n) {
  Tensor *t = tensor_new(g.ctx, dtype, 1, &n);
  for (int64_t k = 0; k < n; k++)
    tensor_set(t, k, values[k]);
  return t;
}
#define COUNT(...) (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double))
#define OF(dtype, ...) of_doubles(dtype, (double[]){__VA_ARGS__}, COUNT(__VA_ARGS__))

static Value *param_like(const Tensor *t) {
  return param(&g, "x", type_static(g.ctx, t->dtype, t->rank, t->shape, NULL));
}

/* The result of an op of one to three operands; to: of a cast. */
static Tensor *eval(OpCode code, Tensor *a, Tensor *b, Tensor *c, DType to) {
  g.f = g.m->main = function_create(g.m, "main");
  Value *x = param_like(a), *y = b ? param_like(b) : NULL, *z = c ? param_like(c) : NULL;
  Op *op = new_op(&g, code, x, y, z);
  if (op_attr_index(op->def, "to", 2) >= 0)
    op_set_dtype(op, "to", to);
  Value *v = finish(&g, op, "y");
  ck_assert_msg(v != NULL, "%s", diag_text(g.ctx->diags, false));
  function_add_result(g.m, g.f, "y", v, v->type, NULL, LOC_NONE);
  Tensor *out;
  ck_assert(eval_function(g.m, g.f, (const Tensor *[]){a, b, c}, &out, NULL));
  return out;
}
#define UNARY(code, a) eval(code, a, NULL, NULL, DT_F32)
#define BINARY(code, a, b) eval(code, a, b, NULL, DT_F32)

static void expect(const Tensor *t, const double *want, int64_t n) {
  ck_assert_int_eq(t->n, n);
  for (int64_t k = 0; k < n; k++) {
    double got = tensor_get(t, k);
    ck_assert_msg(got == want[k] || (isnan(got) && isnan(want[k])), "element %d is %.17g, expected %.17g", (int)k, got,
                  want[k]);
  }
}
#define EXPECT(t, ...) expect(t, (double[]){__VA_ARGS__}, COUNT(__VA_ARGS__))

START_TEST(exact_integers) {
  int64_t one = 1, odd = ((int64_t)1 << 60) + 1;
  Tensor *a = tensor_new(g.ctx, DT_I64, 1, &one), *b = tensor_new(g.ctx, DT_I64, 1, &one);
  tensor_set_value(a, 0, (ScalarValue){.i = odd});
  tensor_set_value(b, 0, (ScalarValue){.i = 1});
  ck_assert_int_eq(tensor_value(BINARY(OP_ADD, a, b), 0).i, odd + 1);
  ck_assert_int_eq(tensor_value(UNARY(OP_IDENTITY, a), 0).i, odd);
  Tensor *u = tensor_new(g.ctx, DT_U64, 1, &one);
  tensor_set_value(u, 0, (ScalarValue){.i = -2}); /* 2^64 - 2 */
  ck_assert_int_eq(tensor_value(BINARY(OP_DIV, u, OF(DT_U64, 2)), 0).i, INT64_MAX);
  ck_assert(tensor_get(u, 0) == 0x1p64);
  Tensor *i = tensor_new(g.ctx, DT_I8, 1, &one);
  tensor_set_value(i, 0, (ScalarValue){.i = -1});
  ck_assert_int_eq(((int8_t *)i->data)[0], -1);
}
END_TEST

START_TEST(division_and_remainder) {
  EXPECT(BINARY(OP_DIV, OF(DT_I32, 7, -7, 7, INT32_MIN), OF(DT_I32, 2, 2, 0, -1)), 3, -3, 0, INT32_MIN);
  EXPECT(BINARY(OP_MOD, OF(DT_I32, 7, -7, 7, -7, 5), OF(DT_I32, 3, 3, -3, -3, 0)), 1, -1, 1, -1, 0);
  EXPECT(BINARY(OP_FLOOR_MOD, OF(DT_I32, 7, -7, 7, -7, 5, 6), OF(DT_I32, 3, 3, -3, -3, 0, -3)), 1, 2, -2, -1, 0, 0);
  EXPECT(BINARY(OP_FLOOR_MOD, OF(DT_F32, 7, -7, 7, -7.5), OF(DT_F32, 3, 3, -3, -3)), 1, 2, -2, -1.5);
  EXPECT(BINARY(OP_MOD, OF(DT_F64, -7.5, 1), OF(DT_F64, 2, 0)), -1.5, NAN);
}
END_TEST

START_TEST(largest_and_smallest) {
  Tensor *a = OF(DT_F32, 1, NAN, 3, NAN), *b = OF(DT_F32, 2, 1, NAN, NAN);
  EXPECT(BINARY(OP_MAX, a, b), 2, NAN, NAN, NAN);
  EXPECT(BINARY(OP_MIN, a, b), 1, NAN, NAN, NAN);
  EXPECT(BINARY(OP_MAX, OF(DT_U8, 1, 200), OF(DT_U8, 3, 100)), 3, 200);
  EXPECT(BINARY(OP_MIN, OF(DT_I8, -1, 100), OF(DT_I8, 3, -100)), -1, -100);
}
END_TEST

START_TEST(comparisons_and_choices) {
  Tensor *a = OF(DT_F32, 1, 2, NAN), *b = OF(DT_F32, 2, 2, NAN);
  EXPECT(BINARY(OP_LESS, a, b), 1, 0, 0);
  EXPECT(BINARY(OP_LESS_EQUAL, a, b), 1, 1, 0);
  EXPECT(BINARY(OP_GREATER, b, a), 1, 0, 0);
  EXPECT(BINARY(OP_GREATER_EQUAL, b, a), 1, 1, 0);
  EXPECT(BINARY(OP_EQUAL, a, b), 0, 1, 0);
  EXPECT(BINARY(OP_NOT_EQUAL, a, b), 1, 0, 1);
  EXPECT(UNARY(OP_ISNAN, a), 0, 0, 1);
  EXPECT(UNARY(OP_ISINF, OF(DT_F64, INFINITY, -INFINITY, 1, NAN)), 1, 1, 0, 0);
  EXPECT(eval(OP_WHERE, OF(DT_BOOL, 1, 0), OF(DT_I64, 5, 6), OF(DT_I64, 7, 8), DT_F32), 5, 8);
  EXPECT(BINARY(OP_AND, OF(DT_BOOL, 1, 1, 0), OF(DT_BOOL, 1, 0, 0)), 1, 0, 0);
  EXPECT(BINARY(OP_XOR, OF(DT_I32, 12), OF(DT_I32, 10)), 6);
  EXPECT(UNARY(OP_NOT, OF(DT_BOOL, 1, 0)), 0, 1);
}
END_TEST

/* By a negative number, or by the width and more, nothing is left but the sign. */
START_TEST(shifts) {
  EXPECT(BINARY(OP_SHIFT_LEFT, OF(DT_U8, 16, 4, 1, 255, 1), OF(DT_U8, 1, 2, 7, 4, 8)), 32, 16, 128, 240, 0);
  EXPECT(BINARY(OP_SHIFT_LEFT, OF(DT_I16, 3, -3, 1, 1), OF(DT_I16, 14, 1, 15, -1)), -16384, -6, -32768, 0);
  EXPECT(BINARY(OP_SHIFT_RIGHT, OF(DT_U32, 16, 4294967295, 1), OF(DT_U32, 2, 31, 32)), 4, 1, 0);
  EXPECT(BINARY(OP_SHIFT_RIGHT, OF(DT_I8, 16, -16, -1, 100, -100), OF(DT_I8, 2, 2, 7, 8, -1)), 4, -4, -1, 0, -1);
  EXPECT(BINARY(OP_SHIFT_RIGHT, OF(DT_I64, -0x1p40, 0x1p40), OF(DT_I64, 38, 64)), -4, 0);
}
END_TEST

START_TEST(casts) {
  Tensor *f = OF(DT_F32, -1.9, 2.9, 300, NAN, INFINITY);
  EXPECT(eval(OP_CAST, f, NULL, NULL, DT_I8), -1, 2, 127, 0, 127);
  EXPECT(eval(OP_CAST, f, NULL, NULL, DT_U8), 0, 2, 255, 0, 255);
  EXPECT(eval(OP_CAST, f, NULL, NULL, DT_BOOL), 1, 1, 1, 1, 1);
  EXPECT(eval(OP_CAST, OF(DT_I32, 300, -1), NULL, NULL, DT_U8), 44, 255);
  EXPECT(eval(OP_CAST, OF(DT_BOOL, 1, 0), NULL, NULL, DT_F16), 1, 0);
  EXPECT(eval(OP_CAST, OF(DT_F32, 2049, 2051, 65519, 65520), NULL, NULL, DT_F16), 2048, 2052, 65504, INFINITY);
  EXPECT(eval(OP_CAST, OF(DT_F32, 257, 259), NULL, NULL, DT_BF16), 256, 260);
}
END_TEST

/* Computed in full and rounded once: 1 + 2^-11 of f16 is a tie, to even. */
START_TEST(narrow_floats) {
  EXPECT(BINARY(OP_ADD, OF(DT_F16, 1, 1), OF(DT_F16, 0x1p-11, 0x1.8p-11)), 1, 1 + 0x1p-10);
  EXPECT(BINARY(OP_MUL, OF(DT_F16, 300), OF(DT_F16, 300)), INFINITY);
  EXPECT(BINARY(OP_ADD, OF(DT_BF16, 256), OF(DT_BF16, 1)), 256);
}
END_TEST

START_TEST(roundings) {
  Tensor *x = OF(DT_F32, -2.5, -0.5, 0.5, 1.5, 2.5);
  EXPECT(UNARY(OP_ROUND, x), -2, 0, 0, 2, 2);
  EXPECT(UNARY(OP_CEIL, x), -2, 0, 1, 2, 3);
  EXPECT(UNARY(OP_FLOOR, x), -3, -1, 0, 1, 2);
  EXPECT(UNARY(OP_SIGN, x), -1, -1, 1, 1, 1);
  EXPECT(UNARY(OP_SIGN, OF(DT_I8, -3, 0, 5)), -1, 0, 1);
  EXPECT(UNARY(OP_ABS, OF(DT_I8, -3, -128)), 3, -128);
  EXPECT(UNARY(OP_NEG, OF(DT_I32, 3)), -3);
  EXPECT(UNARY(OP_RELU, OF(DT_I32, -3, 3)), 0, 3);
}
END_TEST

/* Against the definitions in double: rtol 1e-6, atol 1e-7. */
START_TEST(activations) {
  static const double at[] = {-5, -3, -1, -0.5, 0, 0.5, 1, 3, 5};
  enum { N = sizeof at / sizeof *at };
  Tensor *x = of_doubles(DT_F32, at, N);
  static const OpCode codes[] = {OP_ELU,       OP_GELU,     OP_GELU_TANH, OP_HARDSIGMOID,
                                 OP_HARDSWISH, OP_SOFTPLUS, OP_MISH,      OP_SWISH};
  Tensor *got[sizeof codes / sizeof *codes];
  for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
    got[k] = UNARY(codes[k], x);
  for (int k = 0; k < N; k++) {
    double v = at[k], six = v + 3 < 0 ? 0 : v + 3 > 6 ? 6 : v + 3;
    const double want[] = {v < 0 ? expm1(v) : v,
                           0.5 * v * (1 + erf(v / sqrt(2))),
                           0.5 * v * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))),
                           fmin(fmax(0.2 * v + 0.5, 0), 1),
                           v * six / 6,
                           log1p(exp(v)),
                           v * tanh(log1p(exp(v))),
                           v / (1 + exp(-v))};
    for (size_t j = 0; j < sizeof codes / sizeof *codes; j++)
      ck_assert_msg(fabs(tensor_get(got[j], k) - want[j]) <= 1e-7 + 1e-6 * fabs(want[j]), "%s of %g: %g, expected %g",
                    op_table[codes[j]].name, v, tensor_get(got[j], k), want[j]);
  }
}
END_TEST

START_TEST(text_of_types) {
  static const char text[] = "weft 1 model \"m\"\nfunc @main(%x: i64[4]) -> (y: f16[4]) {\n"
                             "  %y = cast(%x) {to = f16} : f16[4]\n  return %y\n}\n";
  Module *m = module_parse(g.ctx, "m.weft", text, strlen(text), NULL, NULL);
  ck_assert_msg(m != NULL, "%s", diag_text(g.ctx->diags, false));
  Str out = str_new(g.ctx->arena);
  module_print(&out, m, (PrintOptions){0});
  ck_assert_str_eq(out.data, text);
  static const char bad[] = "weft 1 model \"m\" func @main(%x: i64[4]) -> (y: f16[4]) { %y = cast(%x) {to = f17}";
  ck_assert_ptr_null(module_parse(g.ctx, "m.weft", bad, strlen(bad), NULL, NULL));
  expect_error(&g, WEFT_MALFORMED, "expected an element type such as f32, found 'f17'");
}
END_TEST

START_TEST(types_in_words) {
  ck_assert_str_eq(op_types_text(g.ctx, "f"), "floats");
  ck_assert_str_eq(op_types_text(g.ctx, "fib>bool"), "floats, integers and bool");
  ck_assert(op_types_hold("fi>bool", DT_BF16) && op_types_hold("fi", DT_U64) && !op_types_hold("fi>bool", DT_BOOL));
}
END_TEST

Suite *suite_elementwise(void);
Suite *suite_elementwise(void) {
  Suite *suite = suite_create("elementwise");
  TCase *tc = tcase_create("elementwise");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, exact_integers);
  tcase_add_test(tc, division_and_remainder);
  tcase_add_test(tc, largest_and_smallest);
  tcase_add_test(tc, comparisons_and_choices);
  tcase_add_test(tc, shifts);
  tcase_add_test(tc, casts);
  tcase_add_test(tc, narrow_floats);
  tcase_add_test(tc, roundings);
  tcase_add_test(tc, activations);
  tcase_add_test(tc, text_of_types);
  tcase_add_test(tc, types_in_words);
  suite_add_tcase(suite, tc);
  return suite;
}
