/* The reference evaluation: answers worked out by hand, and properties over random attributes. Larger answers of an
 * independent engine are in tests/exec/known. */
#include <math.h>

#include "graph_util.h"

static Graph g;
static void setup(void) {
  g = graph_new();
}
static void teardown(void) {
  ctx_destroy(g.ctx);
}

/* Evaluates the function that returns v on these inputs. */
static const Tensor *eval(Value *v, const Tensor *a, const Tensor *b, const Tensor *c) {
  const Tensor *inputs[] = {a, b, c};
  Tensor *out = NULL;
  g.f->results.len = 0;
  function_add_result(g.m, g.f, "y", v, v->type, NULL, LOC_NONE);
  ck_assert_msg(eval_function(g.m, g.f, inputs, &out, NULL), "%s", diag_text(g.ctx->diags, false));
  return out;
}

static Value *param_like(const char *name, const Tensor *t) {
  return param(&g, name, f32_type(g.ctx, t->rank, t->shape, NULL));
}

/* Exact: the numbers are small integers. */
static void expect(const Tensor *t, int n, const float *values) {
  ck_assert_int_eq(t->n, n);
  for (int k = 0; k < n; k++) {
    double got = tensor_get(t, k), want = (double)values[k];
    ck_assert_msg(got == want && signbit(got) == signbit(want), "element %d is %g, expected %g", k, got, want);
  }
}
#define EXPECT(t, ...) expect(t, (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__})
#define TENSOR(shape_, ...) tensor_f32(g.ctx, RANK shape_, SHAPE shape_, (float[]){__VA_ARGS__})

static Op *conv_op(OpCode code, const Tensor *x, const Tensor *k, const Tensor *b) {
  Value *xv = param_like("x", x), *kv = param_like("k", k);
  return new_op(&g, code, xv, kv, b ? param_like("b", b) : NULL);
}

/* ---- convolution by hand ---- */

START_TEST(conv1d_by_hand) {
  Tensor *x = TENSOR((1, 1, 5), 1, 2, 3, 4, 5), *k = TENSOR((1, 1, 3), 1, 10, 100), *b = TENSOR((1), 0.5f);
  Op *op = conv_op(OP_CONV1D, x, k, b);
  /* a correlation: the kernel is not flipped */
  EXPECT(eval(finish(&g, op, "y"), x, k, b), 321.5f, 432.5f, 543.5f);
}
END_TEST

START_TEST(conv1d_asymmetric_by_hand) {
  Tensor *x = TENSOR((1, 1, 5), 1, 2, 3, 4, 5), *k = TENSOR((1, 1, 3), 1, 10, 100);
  Op *op = conv_op(OP_CONV1D, x, k, NULL);
  SET_INTS(&g, op, "padding", 1, 2);
  SET_INTS(&g, op, "strides", 2);
  /* 0 1 2 3 4 5 0 0 */
  EXPECT(eval(finish(&g, op, "y"), x, k, NULL), 210, 432, 54);
}
END_TEST

START_TEST(conv1d_crop_dilate_by_hand) {
  Tensor *x = TENSOR((1, 1, 6), 1, 2, 3, 4, 5, 6), *k = TENSOR((1, 1, 2), 1, 10);
  Op *op = conv_op(OP_CONV1D, x, k, NULL);
  SET_INTS(&g, op, "padding", -1, 1);
  SET_INTS(&g, op, "dilation", 2);
  /* 2 3 4 5 6 0, taps two apart */
  EXPECT(eval(finish(&g, op, "y"), x, k, NULL), 42, 53, 64, 5);
}
END_TEST

START_TEST(conv2d_groups_by_hand) {
  /* two groups of one input and two output channels; kernels 1x2 */
  Tensor *x = TENSOR((1, 2, 1, 3), 1, 2, 3, 10, 20, 30), *k = TENSOR((4, 1, 1, 2), 1, 0, 0, 1, 1, 1, 2, 0);
  Op *op = conv_op(OP_CONV2D, x, k, NULL);
  op_set_int(op, "groups", 2);
  EXPECT(eval(finish(&g, op, "y"), x, k, NULL), 1, 2, 2, 3, 30, 50, 20, 40);
}
END_TEST

/* ---- transposed convolution by hand ---- */

START_TEST(conv1d_transpose_by_hand) {
  Tensor *x = TENSOR((1, 1, 3), 1, 2, 3), *k = TENSOR((1, 1, 3), 1, 10, 100), *b = TENSOR((1), 0.5f);
  Op *op = conv_op(OP_CONV1D_TRANSPOSE, x, k, b);
  SET_INTS(&g, op, "strides", 2);
  /* 1 10 100, from 2 on 2 20 200, from 4 on 3 30 300 */
  EXPECT(eval(finish(&g, op, "y"), x, k, b), 1.5f, 10.5f, 102.5f, 20.5f, 203.5f, 30.5f, 300.5f);
}
END_TEST

START_TEST(conv1d_transpose_pads_by_hand) {
  Tensor *x = TENSOR((1, 1, 3), 1, 2, 3), *k = TENSOR((1, 1, 3), 1, 10, 100);
  Op *op = conv_op(OP_CONV1D_TRANSPOSE, x, k, NULL);
  SET_INTS(&g, op, "strides", 2);
  SET_INTS(&g, op, "padding", 1, 2);
  SET_INTS(&g, op, "output_padding", 1);
  /* the end padding takes 300 and 30, output_padding gives 30 back */
  EXPECT(eval(finish(&g, op, "y"), x, k, NULL), 10, 102, 20, 203, 30);
}
END_TEST

START_TEST(conv1d_transpose_gaps_by_hand) {
  Tensor *x = TENSOR((1, 1, 2), 1, 2), *k = TENSOR((1, 1, 2), 1, 10);
  Op *op = conv_op(OP_CONV1D_TRANSPOSE, x, k, NULL);
  SET_INTS(&g, op, "strides", 4);
  SET_INTS(&g, op, "dilation", 2);
  SET_INTS(&g, op, "padding", -1, 0);
  SET_INTS(&g, op, "output_padding", 3);
  EXPECT(eval(finish(&g, op, "y"), x, k, NULL), 0, 1, 0, 10, 0, 2, 0, 20, 0, 0, 0);
}
END_TEST

START_TEST(conv2d_transpose_by_hand) {
  Tensor *x = TENSOR((1, 1, 2, 2), 1, 2, 3, 4), *k = TENSOR((1, 2, 2, 2), 1, 10, 100, 1000, 0, 0, 0, 1);
  Op *op = conv_op(OP_CONV2D_TRANSPOSE, x, k, NULL);
  EXPECT(eval(finish(&g, op, "y"), x, k, NULL), 1, 12, 20, 103, 1234, 2040, 300, 3400, 4000, 0, 0, 0, 0, 1, 2, 0, 3, 4);
}
END_TEST

START_TEST(conv1d_transpose_groups_by_hand) {
  /* input channels 0, 1 feed outputs 0; 2, 3 feed outputs 1 */
  Tensor *x = TENSOR((1, 4, 1), 1, 2, 3, 4), *k = TENSOR((4, 1, 2), 1, 10, 1, 0, 0, 1, 5, 5);
  Op *op = conv_op(OP_CONV1D_TRANSPOSE, x, k, NULL);
  op_set_int(op, "groups", 2);
  EXPECT(eval(finish(&g, op, "y"), x, k, NULL), 3, 10, 20, 23);
}
END_TEST

/* Empty tensors of any kind make nothing and take no time, whatever their other extents. */
START_TEST(empty_tensors) {
  Tensor *x = tensor_f32(g.ctx, 4, SHAPE(1, 1, 1 << 20, 0), NULL), *k = TENSOR((1, 1, 1, 1), 3), *b = TENSOR((1), 7);
  Op *op = conv_op(OP_CONV2D_TRANSPOSE, x, k, b);
  SET_INTS(&g, op, "padding", (1 << 20) - 2, -3, 0, 0); /* crop all but two rows, add three columns */
  EXPECT(eval(finish(&g, op, "y"), x, k, b), 7, 7, 7, 7, 7, 7);
}
END_TEST

START_TEST(no_batch) {
  Tensor *x = tensor_f32(g.ctx, 3, SHAPE(0, 2, 4), NULL), *k = tensor_f32(g.ctx, 3, SHAPE(3, 2, 3), NULL);
  ck_assert_int_eq(eval(finish(&g, conv_op(OP_CONV1D, x, k, NULL), "y"), x, k, NULL)->n, 0);
}
END_TEST

/* ---- adjointness: <conv(x, w), y> = <x, conv_transpose(y, w)> ---- */

static Tensor *random_tensor(int rank, const int64_t *shape) {
  Tensor *t = tensor_new(g.ctx, DT_F32, rank, shape);
  for (int64_t k = 0; k < t->n; k++)
    tensor_set(t, k, (double)random_in(-64, 64) / 32);
  return t;
}

static double inner(const Tensor *a, const Tensor *b, double *scale) {
  double sum = 0;
  ck_assert_int_eq(a->n, b->n);
  for (int64_t k = 0; k < a->n; k++) {
    sum += tensor_get(a, k) * tensor_get(b, k);
    *scale += fabs(tensor_get(a, k) * tensor_get(b, k));
  }
  return sum;
}

/* Convolution and its transpose share the attributes; output_padding makes up for the input columns that a stride
 * leaves over, so that the shapes close. Returns false where the attributes drawn make no convolution. */
static bool adjoint_case(int d) {
  static const OpCode codes[][2] = {
      {OP_CONV1D, OP_CONV1D_TRANSPOSE}, {OP_CONV2D, OP_CONV2D_TRANSPOSE}, {OP_CONV3D, OP_CONV3D_TRANSPOSE}};
  int64_t groups = random_in(1, 3), x_shape[5] = {random_in(1, 2), groups * random_in(1, 3)};
  int64_t w_shape[5] = {groups * random_in(1, 3), x_shape[1] / groups}, y_shape[5] = {x_shape[0], w_shape[0]};
  int64_t strides[3], dilation[3], padding[6], over[3];
  for (int k = 0; k < d; k++) {
    strides[k] = random_in(1, 5);
    dilation[k] = random_in(1, 4);
    w_shape[k + 2] = random_in(1, 4);
    x_shape[k + 2] = random_in(1, d == 1 ? 30 : 9);
    padding[k] = random_in(-2, 6);
    padding[k + d] = random_in(-2, 6);
    int64_t room = x_shape[k + 2] + padding[k] + padding[k + d] - dilation[k] * (w_shape[k + 2] - 1) - 1;
    if (room < 0)
      return false;
    y_shape[k + 2] = room / strides[k] + 1;
    over[k] = room % strides[k];
  }
  Tensor *x = random_tensor(d + 2, x_shape), *w = random_tensor(d + 2, w_shape), *y = random_tensor(d + 2, y_shape);
  g.f = function_create(g.m, "conv");
  Op *op = conv_op(codes[d - 1][0], x, w, NULL);
  op_set_ints(g.ctx, op, "strides", strides, d);
  op_set_ints(g.ctx, op, "dilation", dilation, d);
  op_set_ints(g.ctx, op, "padding", padding, 2 * d);
  op_set_int(op, "groups", groups);
  const Tensor *forward = eval(finish(&g, op, "y"), x, w, NULL);
  g.f = function_create(g.m, "transpose");
  op = conv_op(codes[d - 1][1], y, w, NULL);
  op_set_ints(g.ctx, op, "strides", strides, d);
  op_set_ints(g.ctx, op, "dilation", dilation, d);
  op_set_ints(g.ctx, op, "padding", padding, 2 * d);
  op_set_ints(g.ctx, op, "output_padding", over, d);
  op_set_int(op, "groups", groups);
  Value *v = finish(&g, op, "x");
  ck_assert_msg(v != NULL, "%s", diag_text(g.ctx->diags, false));
  const Tensor *backward = eval(v, y, w, NULL);
  double scale = 0;
  double difference = fabs(inner(forward, y, &scale) - inner(x, backward, &scale));
  /* rtol 1e-6 of the sum of magnitudes (results are rounded to float), atol 1e-9 */
  ck_assert_msg(difference <= 1e-6 * scale + 1e-9, "%d axes: differ by %g of %g", d, difference, scale);
  return true;
}

START_TEST(adjointness) {
  start_random(20240611);
  int done = 0;
  for (int n = 0; n < 1200; n++)
    done += adjoint_case(1 + n % 3);
  printf("adjointness: %d cases\n", done);
  ck_assert_int_ge(done, 300);
}
END_TEST

/* ---- elementwise ---- */

#define VALUES -INFINITY, -2, -0.0f, 0, 0.5f, 3, INFINITY, NAN

static void expect_unary(Op *op, const Tensor *x, const float *want) {
  const Tensor *y = eval(finish(&g, op, "y"), x, NULL, NULL);
  for (int k = 0; k < 8; k++) {
    float got = ((const float *)y->data)[k];
    ck_assert_msg(isnan(want[k]) ? isnan(got) : got == want[k], "%s: element %d is %g, expected %g", op->def->name, k,
                  (double)got, (double)want[k]);
  }
}

START_TEST(unary_ops) {
  Tensor *x = TENSOR((2, 4), VALUES);
  Value *v = param_like("x", x);
  expect_unary(new_op(&g, OP_RELU, v, NULL, NULL), x, (float[]){0, 0, 0, 0, 0.5f, 3, INFINITY, NAN});
  Op *op = new_op(&g, OP_LEAKY_RELU, v, NULL, NULL);
  op_set_float(op, "alpha", 0.25);
  expect_unary(op, x, (float[]){-INFINITY, -0.5f, 0, 0, 0.5f, 3, INFINITY, NAN});
  op = new_op(&g, OP_CLIP, v, NULL, NULL);
  op_set_float(op, "min", -1);
  op_set_float(op, "max", 2);
  expect_unary(op, x, (float[]){-1, -1, 0, 0, 0.5f, 2, 2, NAN});
  op = new_op(&g, OP_TANH, v, NULL, NULL);
  expect_unary(op, x, (float[]){-1, (float)tanh(-2), 0, 0, (float)tanh(0.5), (float)tanh(3), 1, NAN});
  op = new_op(&g, OP_SIGMOID, v, NULL, NULL);
  expect_unary(op, x,
               (float[]){0, (float)(1 / (1 + exp(2))), 0.5f, 0.5f, (float)(1 / (1 + exp(-0.5))),
                         (float)(1 / (1 + exp(-3))), 1, NAN});
}
END_TEST

START_TEST(binary_ops) {
  Tensor *x = TENSOR((2, 2), 1, 2, 3, 4), *b = TENSOR((2), 10, -20);
  Value *xv = param_like("x", x), *bv = param_like("b", b);
  Value *sum = build_elementwise(g.m, g.f, new_op(&g, OP_ADD, xv, bv, NULL), NULL, "s", 0);
  EXPECT(eval(sum, x, b, NULL), 11, -18, 13, -16);
  EXPECT(eval(build_elementwise(g.m, g.f, new_op(&g, OP_SUB, bv, xv, NULL), NULL, "d", 0), x, b, NULL), 9, -22, 7, -24);
  EXPECT(eval(build_elementwise(g.m, g.f, new_op(&g, OP_MUL, xv, bv, NULL), NULL, "p", 0), x, b, NULL), 10, -40, 30,
         -80);
  EXPECT(eval(build_elementwise(g.m, g.f, new_op(&g, OP_DIV, bv, xv, NULL), NULL, "q", 0), x, b, NULL), 10, -10,
         10.0f / 3, -5);
}
END_TEST

START_TEST(prelu_along_an_axis) {
  Tensor *x = TENSOR((1, 2, 2), -1, 2, -3, -4), *s = TENSOR((2), 10, 100);
  Value *xv = param_like("x", x), *sv = param_like("s", s);
  EXPECT(eval(build_elementwise(g.m, g.f, new_op(&g, OP_PRELU, xv, sv, NULL), NULL, "c", 1), x, s, NULL), -10, 2, -300,
         -400);
  EXPECT(eval(build_elementwise(g.m, g.f, new_op(&g, OP_PRELU, xv, sv, NULL), NULL, "w", -1), x, s, NULL), -10, 2, -30,
         -400);
}
END_TEST

/* ---- views, copies, constants ---- */

START_TEST(transposes) {
  Tensor *x = TENSOR((2, 1, 3), 1, 2, 3, 4, 5, 6);
  Op *op = new_op(&g, OP_TRANSPOSE, param_like("x", x), NULL, NULL);
  SET_INTS(&g, op, "perm", 2, 0, 1);
  const Tensor *y = eval(finish(&g, op, "y"), x, NULL, NULL);
  EXPECT(y, 1, 4, 2, 5, 3, 6);
  ck_assert(y->shape[0] == 3 && y->shape[1] == 2 && y->shape[2] == 1);
}
END_TEST

START_TEST(broadcasts) {
  Tensor *x = TENSOR((2, 1), 1, 2);
  Op *op = new_op(&g, OP_BROADCAST, param_like("x", x), NULL, NULL);
  SET_INTS(&g, op, "axes", 2, 0);
  SET_INTS(&g, op, "shape", 2, 2, 2);
  EXPECT(eval(finish(&g, op, "y"), x, NULL, NULL), 1, 2, 1, 2, 1, 2, 1, 2);
}
END_TEST

START_TEST(views_of_nothing_and_of_scalars) {
  Tensor *x = tensor_f32(g.ctx, 0, NULL, (float[]){4});
  Op *op = new_op(&g, OP_BROADCAST, param_like("x", x), NULL, NULL);
  op_set_ints(g.ctx, op, "axes", NULL, 0);
  SET_INTS(&g, op, "shape", 3);
  EXPECT(eval(finish(&g, op, "y"), x, NULL, NULL), 4, 4, 4);
  op = new_op(&g, OP_TRANSPOSE, g.f->params.data[0], NULL, NULL);
  op_set_ints(g.ctx, op, "perm", NULL, 0);
  EXPECT(eval(finish(&g, op, "z"), x, NULL, NULL), 4);
}
END_TEST

/* Layouts of constants, parameters and relayouts change no value. */
START_TEST(layouts_make_no_difference) {
  Tensor *x = TENSOR((2, 3), 1, 2, 3, 4, 5, 6);
  Value *v = param(&g, "x", f32_type(g.ctx, 2, x->shape, "ba"));
  const Type *stored = f32_type(g.ctx, 2, x->shape, "aB2b");
  float *data = arena_alloc(g.ctx->arena, (size_t)type_bytes(stored));
  tensor_to_storage(TENSOR((2, 3), 10, 20, 30, 40, 50, 60), stored, data);
  Constant *c = module_add_constant(g.m, "k", stored, data, LOC_NONE);
  c = module_derive_constant(g.m, c, f32_type(g.ctx, 2, x->shape, "ba")->layout);
  Value *k = build_constant(g.m, g.f, NULL, c, "k", LOC_NONE);
  Value *r = build_relayout(g.m, g.f, NULL, v, stored->layout, LOC_NONE);
  Value *sum = finish(&g, new_op(&g, OP_ADD, r, k, NULL), "y");
  sum->def->fused = r;
  EXPECT(eval(sum, x, NULL, NULL), 11, 22, 33, 44, 55, 66);
}
END_TEST

START_TEST(values_are_kept) {
  Tensor *x = TENSOR((2), -1, 2), *out, *values[3] = {NULL};
  Value *v = param_like("x", x), *r = finish(&g, new_op(&g, OP_RELU, v, NULL, NULL), "r");
  Value *s = finish(&g, new_op(&g, OP_ADD, r, v, NULL), "s");
  function_add_result(g.m, g.f, "s", s, s->type, NULL, LOC_NONE);
  ck_assert(eval_function(g.m, g.f, (const Tensor *[]){x}, &out, values));
  EXPECT(values[v->id], -1, 2);
  EXPECT(values[r->id], 0, 2);
  EXPECT(values[s->id], -1, 4);
  ck_assert_ptr_eq(out, values[s->id]);
  ck_assert_ptr_ne(values[v->id]->data, x->data);
}
END_TEST

/* Many evaluations take the memory of one (but for a few letters of roles; the values here are above 600 bytes), and each
 * starts anew: sums do not go on from those before. */
START_TEST(values_are_used_again) {
  Tensor *x = TENSOR((1, 2, 3), 1, 2, 3, 4, 5, 6), *k = TENSOR((2, 1, 2), 1, 10, 100, 1000), *out, *values[8] = {NULL};
  Op *conv = conv_op(OP_CONV1D_TRANSPOSE, x, k, NULL);
  SET_INTS(&g, conv, "strides", 2);
  Value *c = finish(&g, conv, "c");
  Op *sum = new_op(&g, OP_REDUCE_SUM, finish(&g, new_op(&g, OP_RELU, c, NULL, NULL), "r"), NULL, NULL);
  SET_INTS(&g, sum, "axes", 1);
  Value *s = finish(&g, sum, "s");
  function_add_result(g.m, g.f, "s", s, s->type, NULL, LOC_NONE);
  const Tensor *in[] = {x, k};
  ck_assert(eval_function(g.m, g.f, in, &out, values));
  EXPECT(out, 401, 4010, 502, 5020, 603, 6030);
  size_t used = arena_used(g.ctx->arena);
  for (int n = 0; n < 3; n++)
    ck_assert(eval_function(g.m, g.f, in, &out, values));
  ck_assert_uint_lt(arena_used(g.ctx->arena), used + 3 * 64);
  EXPECT(out, 401, 4010, 502, 5020, 603, 6030);
  tensor_set(x, 0, 0);
  ck_assert(eval_function(g.m, g.f, in, &out, values));
  EXPECT(out, 400, 4000, 502, 5020, 603, 6030);
}
END_TEST

START_TEST(large_tensors_are_refused) {
  Tensor *x = TENSOR((1), 1), *out;
  Op *op = new_op(&g, OP_BROADCAST, param_like("x", x), NULL, NULL);
  SET_INTS(&g, op, "axes", 0);
  SET_INTS(&g, op, "shape", (int64_t)1 << 39);
  Value *v = finish(&g, op, "huge");
  function_add_result(g.m, g.f, "y", v, v->type, NULL, LOC_NONE);
  ck_assert(!eval_function(g.m, g.f, (const Tensor *[]){x}, &out, NULL));
  expect_error(&g, WEFT_UNSUPPORTED, "value 'huge' is f32[549755813888]; the reference evaluation takes at most");
}
END_TEST

START_TEST(symbolic_tensors_are_refused) {
  Dim n = expr_sym(g.ctx, "N", 1, 8);
  Value *v = param(&g, "x", type_get(g.ctx, DT_F32, 1, &n, NULL));
  function_add_result(g.m, g.f, "y", v, v->type, NULL, LOC_NONE);
  Tensor *x = TENSOR((1), 1), *out;
  ck_assert(!eval_function(g.m, g.f, (const Tensor *[]){x}, &out, NULL));
  expect_error(&g, WEFT_UNSUPPORTED, "value 'x' is f32[N]; the reference evaluation needs constant extents");
}
END_TEST

Suite *suite_eval(void);
Suite *suite_eval(void) {
  Suite *suite = suite_create("eval");
  TCase *tc = tcase_create("eval");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, conv1d_by_hand);
  tcase_add_test(tc, conv1d_asymmetric_by_hand);
  tcase_add_test(tc, conv1d_crop_dilate_by_hand);
  tcase_add_test(tc, conv2d_groups_by_hand);
  tcase_add_test(tc, conv1d_transpose_by_hand);
  tcase_add_test(tc, conv1d_transpose_pads_by_hand);
  tcase_add_test(tc, conv1d_transpose_gaps_by_hand);
  tcase_add_test(tc, conv2d_transpose_by_hand);
  tcase_add_test(tc, conv1d_transpose_groups_by_hand);
  tcase_add_test(tc, empty_tensors);
  tcase_add_test(tc, no_batch);
  tcase_add_test(tc, adjointness);
  tcase_add_test(tc, unary_ops);
  tcase_add_test(tc, binary_ops);
  tcase_add_test(tc, prelu_along_an_axis);
  tcase_add_test(tc, transposes);
  tcase_add_test(tc, broadcasts);
  tcase_add_test(tc, views_of_nothing_and_of_scalars);
  tcase_add_test(tc, layouts_make_no_difference);
  tcase_add_test(tc, values_are_kept);
  tcase_add_test(tc, values_are_used_again);
  tcase_add_test(tc, large_tensors_are_refused);
  tcase_add_test(tc, symbolic_tensors_are_refused);
  suite_add_tcase(suite, tc);
  return suite;
}
