/* Type inference: result shapes of good ops, messages of bad ones, symbolic extents, layout plans. */
#include "graph_util.h"
#include "ir/layout_plan.h"

static Graph g;
static void setup(void) {
  g = graph_new();
}
static void teardown(void) {
  ctx_destroy(g.ctx);
}

/* One convolution: attributes of one spatial axis after another, as many as the op has; NULL: the default. */
typedef struct {
  OpCode code;
  int64_t data[5], kernel[5];
  int64_t bias; /* 0: none */
  int64_t strides[3], padding[6], output_padding[3], dilation[3], groups;
  const char *expected; /* the result's type, or what the message must hold */
} Case;

static Value *build(const Case *c) {
  const OpDef *def = &op_table[c->code];
  int d = def->spatial;
  Value *x = param(&g, "x", f32_type(g.ctx, d + 2, c->data, NULL));
  Value *k = param(&g, "k", f32_type(g.ctx, d + 2, c->kernel, NULL));
  Value *b = c->bias ? param(&g, "b", F32(g.ctx, c->bias)) : NULL;
  Op *op = new_op(&g, c->code, x, k, b);
  if (c->strides[0])
    op_set_ints(g.ctx, op, "strides", c->strides, d);
  if (c->dilation[0])
    op_set_ints(g.ctx, op, "dilation", c->dilation, d);
  op_set_ints(g.ctx, op, "padding", c->padding, 2 * d);
  if (op_attr_index(def, "output_padding", strlen("output_padding")) >= 0)
    op_set_ints(g.ctx, op, "output_padding", c->output_padding, d);
  if (c->groups)
    op_set_int(op, "groups", c->groups);
  return finish(&g, op, "y");
}

static const Case good[] = {
    {.code = OP_CONV1D, .data = {2, 3, 11}, .kernel = {4, 3, 3}, .padding = {1, 1}, .expected = "f32[2,4,11]"},
    {.code = OP_CONV2D,
     .data = {1, 4, 9, 9},
     .kernel = {6, 2, 3, 3},
     .bias = 6,
     .strides = {2, 3},
     .padding = {1, 0, 2, 1},
     .dilation = {2, 1},
     .groups = 2,
     .expected = "f32[1,6,4,3]"},
    {.code = OP_CONV3D, .data = {1, 2, 4, 5, 4}, .kernel = {3, 2, 3, 2, 3}, .expected = "f32[1,3,2,4,2]"},
    {.code = OP_CONV1D, .data = {1, 2, 12}, .kernel = {3, 2, 4}, .padding = {-2, -1}, .expected = "f32[1,3,6]"},
    {.code = OP_CONV1D, .data = {1, 2, 2}, .kernel = {3, 2, 3}, .expected = "f32[1,3,0]"},
    {.code = OP_CONV2D, .data = {0, 2, 4, 4}, .kernel = {3, 2, 3, 3}, .expected = "f32[0,3,2,2]"},
    {.code = OP_CONV2D_TRANSPOSE,
     .data = {1, 32, 8, 8},
     .kernel = {32, 16, 3, 3},
     .padding = {1, 1, 1, 1},
     .expected = "f32[1,16,8,8]"},
    {.code = OP_CONV2D_TRANSPOSE,
     .data = {1, 4, 4, 5},
     .kernel = {4, 3, 4, 4},
     .bias = 6,
     .strides = {2, 3},
     .padding = {1, 0, 1, 2},
     .output_padding = {1, 2},
     .groups = 2,
     .expected = "f32[1,6,9,16]"},
    {.code = OP_CONV1D_TRANSPOSE,
     .data = {1, 2, 6},
     .kernel = {2, 3, 4},
     .strides = {2},
     .padding = {3, 3},
     .output_padding = {4},
     .dilation = {5},
     .expected = "f32[1,3,24]"},
    {.code = OP_CONV1D_TRANSPOSE,
     .data = {1, 2, 4},
     .kernel = {2, 3, 3},
     .padding = {-2, -3},
     .expected = "f32[1,3,11]"},
    {.code = OP_CONV1D_TRANSPOSE, .data = {1, 2, 2}, .kernel = {2, 3, 2}, .padding = {1, 2}, .expected = "f32[1,3,0]"},
    {.code = OP_CONV3D_TRANSPOSE,
     .data = {1, 2, 3, 3, 2},
     .kernel = {2, 3, 3, 2, 3},
     .strides = {2, 2, 2},
     .padding = {1, 1, 1, 1, 1, 1},
     .expected = "f32[1,3,5,4,3]"},
};

START_TEST(good_convolutions) {
  Value *y = build(&good[_i]);
  ck_assert_msg(y != NULL, "%s", diag_text(g.ctx->diags, false));
  ck_assert_str_eq(type_text(g.ctx, y->type), good[_i].expected);
}
END_TEST

static const Case bad[] = {
    {.code = OP_CONV2D_TRANSPOSE,
     .data = {1, 32, 8, 8},
     .kernel = {16, 32, 3, 3},
     .expected =
         "test.weft:7:3: error: node 'n': conv2d_transpose: the kernel's number of input channels (axis I) is 16, "
         "expected 32: the channels of data, which is f32[1,32,8,8]"},
    {.code = OP_CONV2D,
     .data = {1, 32, 8, 8},
     .kernel = {16, 32, 3, 3},
     .groups = 4,
     .expected =
         "conv2d: the kernel's number of input channels (axis I) is 32, expected 8: the channels of data, which is "
         "f32[1,32,8,8], divided by 4 groups"},
    {.code = OP_CONV1D,
     .data = {1, 6, 8},
     .kernel = {4, 2, 3},
     .groups = 4,
     .expected = "data has 6 channels, which 4 groups"},
    {.code = OP_CONV1D,
     .data = {1, 6, 8},
     .kernel = {4, 2, 3},
     .groups = 3,
     .expected = "the kernel has 4 output channels (axis O), which 3 groups do not divide; it is f32[4,2,3]"},
    {.code = OP_CONV1D_TRANSPOSE,
     .data = {1, 6, 8},
     .kernel = {6, 2, 3},
     .groups = 4,
     .expected = "data has 6 channels, which 4 groups do not divide; it is f32[1,6,8]"},
    {.code = OP_CONV1D,
     .data = {1, 3, 8},
     .kernel = {4, 3, 3},
     .bias = 3,
     .expected = "the bias's extent is 3, expected 4"},
    {.code = OP_CONV1D_TRANSPOSE,
     .data = {1, 4, 8},
     .kernel = {4, 3, 3},
     .bias = 3,
     .groups = 2,
     .expected = "the bias's extent is 3, expected 6: the output channels"},
    {.code = OP_CONV2D,
     .data = {1, 3, 8, 8},
     .kernel = {4, 3, 3, 3},
     .strides = {1, -2},
     .expected = "conv2d: attribute 'strides' holds -2, expected at least 1"},
    {.code = OP_CONV2D,
     .data = {1, 3, 8, 8},
     .kernel = {4, 3, 3, 3},
     .dilation = {-1, 1},
     .expected = "attribute 'dilation' holds -1, expected at least 1"},
    {.code = OP_CONV1D,
     .data = {1, 3, 8},
     .kernel = {4, 3, 3},
     .groups = -1,
     .expected = "attribute 'groups' holds -1"},
    {.code = OP_CONV1D,
     .data = {1, 3, 8},
     .kernel = {4, 3, 3},
     .padding = {INT64_MIN, 0},
     .expected = "attribute 'padding' holds -9223372036854775808, expected at least -2147483648"},
    {.code = OP_CONV1D,
     .data = {1, 3, 8},
     .kernel = {4, 3, 3},
     .strides = {INT64_MAX},
     .expected = "attribute 'strides' holds 9223372036854775807, expected at most"},
    {.code = OP_CONV2D_TRANSPOSE,
     .data = {1, 3, 8, 8},
     .kernel = {3, 4, 3, 3},
     .strides = {2, 2},
     .output_padding = {1, 2},
     .expected = "attribute 'output_padding' holds 2 along W, expected 0 to 1: less than the larger of stride 2 and "
                 "dilation 1"},
    {.code = OP_CONV1D_TRANSPOSE,
     .data = {1, 3, 8},
     .kernel = {3, 4, 3},
     .output_padding = {-1},
     .expected = "'output_padding' holds -1 along W, expected 0 to 0"},
    {.code = OP_CONV2D,
     .data = {1, 3, 8, 8},
     .kernel = {4, 3, 3, 12},
     .expected = "the result's extent along W would be -3, expected at least 0; data is f32[1,3,8,8], the kernel "
                 "f32[4,3,3,12]"},
    {.code = OP_CONV2D_TRANSPOSE,
     .data = {1, 3, 2, 8},
     .kernel = {3, 4, 3, 3},
     .padding = {3, 0, 2, 0},
     .expected = "the result's extent along H would be -1"},
    {.code = OP_CONV2D,
     .data = {1, 3, 8, 8},
     .kernel = {4, 3, 0, 3},
     .expected = "the kernel has extent 0 along H, expected"},
    {.code = OP_CONV1D_TRANSPOSE,
     .data = {1, 1, 1 << 20},
     .kernel = {1, 1, 3},
     .strides = {1 << 30},
     .expected = "1048575 * 1073741824 is more than an extent may be"},
    {.code = OP_CONV2D_TRANSPOSE,
     .data = {1, 1, 1 << 10, 1 << 10},
     .kernel = {1, 1 << 20, 3, 3},
     .strides = {1000, 1000},
     .expected = "the result's shape [1,1048576,1023003,1023003] is impossible"},
};

START_TEST(bad_convolutions) {
  ck_assert_ptr_null(build(&bad[_i]));
  expect_error(&g, WEFT_MALFORMED, bad[_i].expected);
}
END_TEST

static void expect_failure(Op *op, Status status, const char *text) {
  ck_assert_ptr_null(finish(&g, op, "y"));
  expect_error(&g, status, text);
}

START_TEST(rank_of_data) {
  Op *op = new_op(&g, OP_CONV2D, param(&g, "x", F32(g.ctx, 1, 3, 8)), param(&g, "k", F32(g.ctx, 4, 3, 3, 3)), NULL);
  expect_failure(op, WEFT_MALFORMED, "conv2d: operand 'data' has rank 3 (f32[1,3,8]), expected rank 4: axes NCHW");
}
END_TEST

START_TEST(rank_of_kernel_and_bias) {
  Value *x = param(&g, "x", F32(g.ctx, 1, 3, 8)), *k = param(&g, "k", F32(g.ctx, 3, 4, 3));
  Op *op = new_op(&g, OP_CONV1D_TRANSPOSE, x, param(&g, "k2", F32(g.ctx, 3, 4)), NULL);
  ck_assert_ptr_null(finish(&g, op, "y"));
  op = new_op(&g, OP_CONV1D_TRANSPOSE, x, k, param(&g, "b", F32(g.ctx, 4, 1)));
  ck_assert_ptr_null(finish(&g, op, "y"));
  const char *text = diag_text(g.ctx->diags, false);
  ck_assert_ptr_nonnull(strstr(text, "operand 'kernel' has rank 2 (f32[3,4]), expected rank 3: axes IOW"));
  ck_assert_ptr_nonnull(strstr(text, "operand 'bias' has rank 2 (f32[4,1]), expected rank 1: axes C"));
}
END_TEST

static Value *typed_param(const char *name, DType dtype) {
  return param(&g, name, type_static(g.ctx, dtype, 1, SHAPE(4), NULL));
}

START_TEST(element_types) {
  expect_failure(new_op(&g, OP_RELU, typed_param("x", DT_BOOL), NULL, NULL), WEFT_UNSUPPORTED,
                 "relu: operand 'x' has element type bool; this op takes floats and integers");
}
END_TEST

START_TEST(element_types_of_functions) {
  expect_failure(new_op(&g, OP_EXP, typed_param("x", DT_I32), NULL, NULL), WEFT_UNSUPPORTED,
                 "exp: operand 'x' has element type i32; this op takes floats");
}
END_TEST

START_TEST(element_types_differ) {
  expect_failure(new_op(&g, OP_ADD, typed_param("x", DT_I32), typed_param("y", DT_I64), NULL), WEFT_MALFORMED,
                 "add: operand 'b' has element type i64, but operand 'a' has i32; they must be the same");
}
END_TEST

START_TEST(conditions_are_bool) {
  Value *x = typed_param("x", DT_F32);
  expect_failure(new_op(&g, OP_WHERE, x, x, x), WEFT_MALFORMED,
                 "where: operand 'condition' has element type f32, expected bool");
}
END_TEST

START_TEST(convolutions_take_floats) {
  const Type *data = type_static(g.ctx, DT_I32, 3, SHAPE(1, 3, 8), NULL);
  const Type *kernel = type_static(g.ctx, DT_I32, 3, SHAPE(4, 3, 3), NULL);
  expect_failure(new_op(&g, OP_CONV1D, param(&g, "x", data), param(&g, "k", kernel), NULL), WEFT_UNSUPPORTED,
                 "conv1d: operand 'data' has element type i32; this op takes floats");
}
END_TEST

static const char *result_of(Op *op) {
  Value *v = finish(&g, op, NULL);
  ck_assert_msg(v != NULL, "%s", diag_text(g.ctx->diags, false));
  return dtype_name(v->type->dtype);
}

START_TEST(result_types) {
  for (int k = 0; k < DT_COUNT; k++) {
    DType dtype = (DType)k;
    Value *x = typed_param("x", dtype), *c = typed_param("c", DT_BOOL);
    ck_assert_str_eq(result_of(new_op(&g, OP_EQUAL, x, x, NULL)), "bool");
    ck_assert_str_eq(result_of(new_op(&g, OP_WHERE, c, x, x)), dtype_name(dtype));
    ck_assert_str_eq(result_of(new_op(&g, OP_IDENTITY, x, NULL, NULL)), dtype_name(dtype));
    if (dtype != DT_BOOL)
      ck_assert_str_eq(result_of(new_op(&g, OP_ADD, x, x, NULL)), dtype_name(dtype));
    Op *cast = new_op(&g, OP_CAST, x, NULL, NULL);
    op_set_dtype(cast, "to", DT_BF16);
    ck_assert_str_eq(result_of(cast), "bf16");
  }
}
END_TEST

START_TEST(views_take_any_type) {
  const Type *half = type_static(g.ctx, DT_F16, 2, SHAPE(4, 5), NULL);
  Op *op = new_op(&g, OP_TRANSPOSE, param(&g, "x", half), NULL, NULL);
  SET_INTS(&g, op, "perm", 1, 0);
  ck_assert_str_eq(type_text(g.ctx, finish(&g, op, "y")->type), "f16[5,4]");
}
END_TEST

START_TEST(counts_of_operands) {
  Value *x = param(&g, "x", F32(g.ctx, 1, 3, 8));
  ck_assert_ptr_null(finish(&g, new_op(&g, OP_CONV1D, x, NULL, NULL), "y"));
  ck_assert_ptr_null(finish(&g, new_op(&g, OP_RELU, x, x, NULL), "y"));
  Value *many[6] = {x, x, x, x, x, x}, *hole[] = {x, NULL, x};
  ck_assert_ptr_null(finish(&g, op_create(g.ctx, &op_table[OP_ADD], many, 6, LOC_NONE), "y"));
  ck_assert_ptr_null(finish(&g, op_create(g.ctx, &op_table[OP_CONV1D], hole, 3, LOC_NONE), "y"));
  ck_assert_ptr_null(finish(&g, op_create(g.ctx, &op_table[OP_CONSTANT], many, 1, LOC_NONE), "y"));
  ck_assert_str_eq(
      diag_text(g.ctx->diags, false),
      "test.weft:7:3: error: node 'n': conv1d: 1 operands given, expected 2 to 3 (data, kernel, optional bias)\n"
      "test.weft:7:3: error: node 'n': relu: 2 operands given, expected 1 (x)\n"
      "weft: error: add: 6 operands given, expected 2 (a, b)\n"
      "weft: error: conv1d: operand 2, 'kernel', is missing and is not optional\n"
      "weft: error: constant: 1 operands given, expected 0\n");
}
END_TEST

START_TEST(attributes_given) {
  Value *x = param(&g, "x", F32(g.ctx, 1, 3, 8)), *k = param(&g, "k", F32(g.ctx, 4, 3, 3));
  Op *op = new_op(&g, OP_CONV1D, x, k, NULL);
  SET_INTS(&g, op, "padding", 1);
  ck_assert_ptr_null(finish(&g, op, "y"));
  op = new_op(&g, OP_CONV1D, x, k, NULL);
  SET_INTS(&g, op, "strides", 1, 1);
  ck_assert_ptr_null(finish(&g, op, "y"));
  op = new_op(&g, OP_CLIP, x, NULL, NULL);
  op_set_float(op, "max", 1);
  ck_assert_ptr_null(finish(&g, op, "y"));
  ck_assert_ptr_null(finish(&g, new_op(&g, OP_CONSTANT, NULL, NULL, NULL), "y"));
  ck_assert_str_eq(
      diag_text(g.ctx->diags, false),
      "test.weft:7:3: error: node 'n': conv1d: attribute 'padding' has 1 numbers, expected 2: begins, then "
      "ends, of the spatial axes\n"
      "test.weft:7:3: error: node 'n': conv1d: attribute 'strides' has 2 numbers, expected 1: one per "
      "spatial axis\n"
      "test.weft:7:3: error: node 'n': clip: attribute 'min' is required\n"
      "test.weft:7:3: error: node 'n': constant: attribute 'value' is required\n");
}
END_TEST

START_TEST(elementwise_shapes) {
  Value *x = param(&g, "x", F32(g.ctx, 2, 3)), *y = param(&g, "y", f32_type(g.ctx, 2, SHAPE(2, 3), "ba"));
  ck_assert_str_eq(type_text(g.ctx, finish(&g, new_op(&g, OP_ADD, x, y, NULL), "z")->type), "f32[2,3]");
  expect_failure(
      new_op(&g, OP_ADD, x, param(&g, "w", F32(g.ctx, 3)), NULL), WEFT_MALFORMED,
      "add: operand 'b' is f32[3], but operand 'a' is f32[2,3]; the operands of this op must have one shape");
}
END_TEST

START_TEST(declared_types) {
  Value *x = param(&g, "x", F32(g.ctx, 2, 3));
  const Type *other = f32_type(g.ctx, 2, SHAPE(2, 3), "ba");
  ck_assert_ptr_eq(op_finish(g.m, g.f, new_op(&g, OP_RELU, x, NULL, NULL), NULL, "y", other)->type, other);
  ck_assert_ptr_null(op_finish(g.m, g.f, new_op(&g, OP_RELU, x, NULL, NULL), NULL, "y", F32(g.ctx, 3, 2)));
  float data[6] = {0};
  Op *op = new_op(&g, OP_CONSTANT, NULL, NULL, NULL);
  op_set_constant(op, "value", module_add_constant(g.m, "k", other, data, LOC_NONE));
  ck_assert_ptr_null(op_finish(g.m, g.f, op, NULL, "y", F32(g.ctx, 2, 3)));
  ck_assert_str_eq(diag_text(g.ctx->diags, false),
                   "test.weft:7:3: error: node 'n': relu: the result is declared as f32[3,2], but it is f32[2,3]\n"
                   "test.weft:7:3: error: node 'n': constant: the result is declared as f32[2,3], but is stored as "
                   "f32[2,3]@ba\n");
}
END_TEST

typedef struct {
  OpCode code;
  int n, n_shape; /* numbers in perm or axes, and in shape */
  int64_t numbers[9], shape[9];
  const char *expected;
} View;

static const View bad_views[] = {
    {OP_TRANSPOSE,
     2,
     0,
     {1, 0},
     {0},
     "transpose: attribute 'perm' has 2 numbers, expected 3: one for each axis of x, which is f32[2,1,5]"},
    {OP_TRANSPOSE, 3, 0, {1, 0, 3}, {0}, "attribute 'perm' holds 3, expected a permutation of 0 to 2"},
    {OP_TRANSPOSE, 3, 0, {1, 0, -1}, {0}, "attribute 'perm' holds -1"},
    {OP_TRANSPOSE, 3, 0, {1, 0, 1}, {0}, "attribute 'perm' holds 1, expected a permutation"},
    {OP_BROADCAST, 2, 3, {0, 1}, {2, 1, 5}, "broadcast: attribute 'axes' has 2 numbers, expected 3"},
    {OP_BROADCAST,
     3,
     3,
     {0, 1, 3},
     {2, 1, 5},
     "attribute 'axes' holds 3, expected different axes of a result of rank 3"},
    {OP_BROADCAST, 3, 3, {0, 1, 1}, {2, 1, 5}, "attribute 'axes' holds 1, expected different axes"},
    {OP_BROADCAST,
     3,
     3,
     {0, 1, 2},
     {2, 1, 6},
     "axis 2 of x, which is f32[2,1,5], cannot stretch to 6, the extent of axis 2"},
    {OP_BROADCAST, 3, 3, {0, 1, 2}, {2, -1, 5}, "attribute 'shape' holds -1, expected an extent from 0 to"},
    {OP_BROADCAST,
     3,
     9,
     {0, 1, 2},
     {2, 1, 5, 1, 1, 1, 1, 1, 1},
     "attribute 'shape' has 9 extents, at most 8 are possible"},
    {OP_BROADCAST,
     3,
     5,
     {0, 1, 2},
     {2, 1, 5, 1 << 20, 1 << 20},
     "is impossible: extents must be at least 0 and the elements"},
};

START_TEST(views_that_fail) {
  const View *v = &bad_views[_i];
  Op *op = new_op(&g, v->code, param(&g, "x", F32(g.ctx, 2, 1, 5)), NULL, NULL);
  op_set_ints(g.ctx, op, v->code == OP_TRANSPOSE ? "perm" : "axes", v->numbers, v->n);
  if (v->code == OP_BROADCAST)
    op_set_ints(g.ctx, op, "shape", v->shape, v->n_shape);
  expect_failure(op, WEFT_MALFORMED, v->expected);
}
END_TEST

START_TEST(symbolic_extents) {
  Dim n = expr_sym(g.ctx, "N", 0, 64), h = expr_sym(g.ctx, "H", 4, 1024), c = expr_const(g.ctx, 3);
  const Type *data = type_get(g.ctx, DT_F32, 4, (Dim[]){n, c, h, c}, NULL);
  Value *x = param(&g, "x", data), *k = param(&g, "k", F32(g.ctx, 3, 5, 3, 3));
  Op *op = new_op(&g, OP_CONV2D_TRANSPOSE, x, k, NULL);
  SET_INTS(&g, op, "strides", 2, 2);
  SET_INTS(&g, op, "padding", 1, 1, 0, 0);
  ck_assert_str_eq(type_text(g.ctx, finish(&g, op, "y")->type), "f32[N,5,2*H,6]");
  op = new_op(&g, OP_CONV2D, x, param(&g, "w", F32(g.ctx, 5, 3, 3, 3)), NULL);
  SET_INTS(&g, op, "strides", 2, 1);
  ck_assert_str_eq(type_text(g.ctx, finish(&g, op, "z")->type), "f32[N,5,(H + 1) div 2 - 1,1]");
  op = new_op(&g, OP_CONV2D, x, param(&g, "w7", F32(g.ctx, 5, 3, 7, 3)), NULL);
  expect_failure(op, WEFT_MALFORMED, "the result's shape [N,5,H - 6,1] is impossible: extents must be at least 0");
}
END_TEST

/* ---- layout plans ---- */

static const Layout *tag(int rank, const char *text) {
  const char *why = NULL;
  const Layout *layout = layout_parse(g.ctx, rank, text, strlen(text), &why);
  ck_assert_msg(layout != NULL, "%s", why);
  return layout;
}

static const char *tag_of(const Layout *layout) {
  Str out = str_new(g.ctx->arena);
  layout_print(&out, layout);
  return out.data;
}

static LayoutPlan plan_of(const Value *v) {
  return layout_plan_of(g.ctx, v->def);
}

START_TEST(plans_of_convolutions) {
  Case c = {.code = OP_CONV2D_TRANSPOSE, .data = {1, 4, 4, 4}, .kernel = {4, 3, 3, 3}, .bias = 3};
  Value *y = build(&c);
  LayoutPlan plan = plan_of(y);
  plan.operand[0] = tag(4, "acdb");
  y->def->def->layout(g.ctx, y->def, &plan);
  ck_assert_str_eq(tag_of(plan.result), "acdb");
  ck_assert_str_eq(tag_of(plan.operand[1]), "abcd"); /* no constant: as it is */
  plan = plan_of(y);
  plan.constant[1] = true;
  plan.wish_data = tag(4, "aBcd8b");
  y->def->def->layout(g.ctx, y->def, &plan);
  ck_assert_str_eq(tag_of(plan.operand[0]), "aBcd8b");
  ck_assert_str_eq(tag_of(plan.operand[1]), "cdab"); /* H, W, I, O */
  ck_assert_str_eq(tag_of(plan.operand[2]), "a");
  ck_assert_str_eq(tag_of(plan.result), "aBcd8b");
  ck_assert_str_eq(plan.why, "as wished");
  plan = plan_of(y);
  plan.operand[0] = tag(4, "aBcd8b:zero"); /* what pads the data says nothing of the result */
  plan.wish_kernel = tag(4, "badc");
  y->def->def->layout(g.ctx, y->def, &plan);
  ck_assert_str_eq(tag_of(plan.operand[0]), "aBcd8b:zero");
  ck_assert_str_eq(tag_of(plan.operand[1]), "badc");
  ck_assert_str_eq(tag_of(plan.result), "aBcd8b");
  plan.wish_out = tag(4, "acdb");
  y->def->def->layout(g.ctx, y->def, &plan);
  ck_assert_str_eq(tag_of(plan.result), "acdb");
  Case conv = {.code = OP_CONV1D, .data = {1, 4, 8}, .kernel = {3, 4, 3}};
  y = build(&conv);
  plan = plan_of(y);
  plan.constant[1] = true;
  y->def->def->layout(g.ctx, y->def, &plan);
  ck_assert_str_eq(tag_of(plan.operand[1]), "cba"); /* W, I, O */
}
END_TEST

START_TEST(plans_of_others) {
  Value *x = param(&g, "x", F32(g.ctx, 2, 3, 4, 4)), *k = param(&g, "k", F32(g.ctx, 3));
  Value *y = build_elementwise(g.m, g.f, new_op(&g, OP_PRELU, x, k, NULL), NULL, "y", 1);
  LayoutPlan plan = plan_of(y);
  plan.operand[0] = tag(4, "acdb");
  y->def->def->layout(g.ctx, y->def, &plan);
  ck_assert_str_eq(tag_of(plan.result), "acdb");
  ck_assert_str_eq(tag_of(plan.operand[1]), "abcd"); /* a broadcast, read in place */
  Value *z = finish(&g, new_op(&g, OP_SUB, y, x, NULL), "z");
  plan = plan_of(z);
  plan.constant[0] = true;
  plan.operand[1] = tag(4, "acdb");
  z->def->def->layout(g.ctx, z->def, &plan);
  ck_assert_str_eq(tag_of(plan.result), "acdb");
  ck_assert_str_eq(tag_of(plan.operand[0]), "acdb");
  plan = plan_of(z);
  plan.wish_data = tag(4, "aBcd8b");
  z->def->def->layout(g.ctx, z->def, &plan);
  ck_assert_str_eq(tag_of(plan.result), "aBcd8b");
  ck_assert_str_eq(tag_of(plan.operand[0]), "aBcd8b");
  ck_assert_str_eq(tag_of(plan.operand[1]), "aBcd8b");
  Op *op = new_op(&g, OP_TRANSPOSE, x, NULL, NULL);
  SET_INTS(&g, op, "perm", 0, 2, 3, 1);
  Value *t = finish(&g, op, "t");
  plan = plan_of(t);
  op->def->layout(g.ctx, op, &plan);
  /* t's axes are N, H, W, C; in x's memory C is the second slowest */
  ck_assert_str_eq(tag_of(plan.result), "adbc");
  Value *r = build_relayout(g.m, g.f, NULL, x, tag(4, "aBcd8b"), LOC_NONE);
  plan = plan_of(r);
  r->def->def->layout(g.ctx, r->def, &plan);
  ck_assert_str_eq(tag_of(plan.result), "aBcd8b");
  ck_assert_str_eq(tag_of(plan.operand[0]), "abcd");
}
END_TEST

/* A view's index and its evaluation say the same; here the index. */
START_TEST(view_indices) {
  Value *x = param(&g, "x", F32(g.ctx, 2, 1, 5));
  const Expr *vars[4], *at[3];
  for (int k = 0; k < 4; k++)
    vars[k] = expr_var(g.ctx, "v", expr_const(g.ctx, 0), expr_const(g.ctx, 9));
  Op *op = new_op(&g, OP_TRANSPOSE, x, NULL, NULL);
  SET_INTS(&g, op, "perm", 2, 0, 1);
  finish(&g, op, "t");
  op->def->view_index(g.ctx, op, vars, at);
  ck_assert(at[2] == vars[0] && at[0] == vars[1] && at[1] == vars[2]);
  op = new_op(&g, OP_BROADCAST, x, NULL, NULL);
  SET_INTS(&g, op, "axes", 3, 1, 0);
  SET_INTS(&g, op, "shape", 5, 7, 4, 2);
  finish(&g, op, "b");
  op->def->view_index(g.ctx, op, vars, at);
  ck_assert(at[0] == vars[3] && at[1] == expr_const(g.ctx, 0) && at[2] == vars[0]);
}
END_TEST

Suite *suite_infer(void);
Suite *suite_infer(void) {
  Suite *suite = suite_create("infer");
  TCase *tc = tcase_create("infer");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, good_convolutions, 0, sizeof good / sizeof *good);
  tcase_add_loop_test(tc, bad_convolutions, 0, sizeof bad / sizeof *bad);
  tcase_add_test(tc, rank_of_data);
  tcase_add_test(tc, rank_of_kernel_and_bias);
  tcase_add_test(tc, element_types);
  tcase_add_test(tc, element_types_of_functions);
  tcase_add_test(tc, element_types_differ);
  tcase_add_test(tc, conditions_are_bool);
  tcase_add_test(tc, convolutions_take_floats);
  tcase_add_test(tc, result_types);
  tcase_add_test(tc, views_take_any_type);
  tcase_add_test(tc, counts_of_operands);
  tcase_add_test(tc, attributes_given);
  tcase_add_test(tc, elementwise_shapes);
  tcase_add_test(tc, declared_types);
  tcase_add_loop_test(tc, views_that_fail, 0, sizeof bad_views / sizeof *bad_views);
  tcase_add_test(tc, symbolic_extents);
  tcase_add_test(tc, plans_of_convolutions);
  tcase_add_test(tc, plans_of_others);
  tcase_add_test(tc, view_indices);
  suite_add_tcase(suite, tc);
  return suite;
}
