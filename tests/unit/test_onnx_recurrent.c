/* The import of RNN, GRU and LSTM: activations and their numbers, directions, outputs, refusals. That the numbers are
 * right is for ONNX's own cases and tests/unit/test_recurrent.c. */
#include "onnx_graph.h"

#define TEXTS(...)                                                                                                     \
  (const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
#define NUMBERS(...) (const float[]){__VA_ARGS__}, (int)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

/* T, B, I and H are 3, 2, 2 and 1; all weights are 0 but those set by the test. */
static void add_layer_inputs(int directions, int gates) {
  add_input("x", FLOAT, INTS(3, 2, 2));
  add_input("w", FLOAT, INTS(directions, gates, 2));
  add_input("r", FLOAT, INTS(directions, gates, 1));
  add_output("y");
}

static const Op *op_of_code(const Module *m, OpCode code, int skip) {
  for (const Op *op = m->main->first; op; op = op->next)
    if (op->def->code == code && skip-- == 0)
      return op;
  ck_abort_msg("no op %s", op_table[code].name);
}

static const char *activation(const Module *m, OpCode code, int which, const char *attr) {
  return op_text(op_of_code(m, code, which), attr);
}

START_TEST(defaults) {
  add_layer_inputs(1, 4);
  add_node("LSTM x,w,r -> y,h,c");
  add_output("h");
  add_output("c");
  Module *m = import_well(7);
  ck_assert_str_eq(activation(m, OP_LSTM, 0, "f"), "sigmoid(x)");
  ck_assert_str_eq(activation(m, OP_LSTM, 0, "g"), "tanh(x)");
  ck_assert_str_eq(activation(m, OP_LSTM, 0, "h"), "tanh(x)");
  ck_assert_str_eq(type_of_output(m, 0), "f32[3,1,2,1]");
  ck_assert_str_eq(type_of_output(m, 1), "f32[1,2,1]");
  ck_assert_str_eq(type_of_output(m, 2), "f32[1,2,1]");
}
END_TEST

START_TEST(numbers_of_activations) { /* LeakyRelu takes the first alpha, Affine the second and the first beta */
  add_layer_inputs(2, 3);
  ADD_NODE("GRU x,w,r -> y", attr_text(ctx, "direction", "bidirectional"),
           attr_texts(ctx, "activations", TEXTS("LeakyRelu", "tanh", "Affine", "HardSigmoid")),
           attr_floats(ctx, "activation_alpha", NUMBERS(0.5f, -2)), attr_floats(ctx, "activation_beta", NUMBERS(3)));
  Module *m = import_well(14);
  ck_assert_str_eq(activation(m, OP_GRU, 0, "f"), "select(x < 0, (0.5) * x, x)");
  ck_assert_str_eq(activation(m, OP_GRU, 0, "g"), "tanh(x)");
  ck_assert_str_eq(activation(m, OP_GRU, 1, "f"), "(-2) * x + (3)");
  ck_assert_ptr_nonnull(strstr(activation(m, OP_GRU, 1, "g"), "(0.20000000000000001) * x + (0.5) < 0"));
  ck_assert_int_eq(op_int(op_of_code(m, OP_GRU, 0), "reverse"), 0);
  ck_assert_int_eq(op_int(op_of_code(m, OP_GRU, 1), "reverse"), 1);
  ck_assert_str_eq(type_of_output(m, 0), "f32[3,2,2,1]");
}
END_TEST

START_TEST(a_number_for_each_activation) {
  add_layer_inputs(1, 4);
  ADD_NODE("LSTM x,w,r -> y", attr_texts(ctx, "activations", TEXTS("Sigmoid", "Elu", "Tanh")),
           attr_floats(ctx, "activation_alpha", NUMBERS(1, 0.25f, 1)));
  ck_assert_ptr_nonnull(strstr(activation(import_well(14), OP_LSTM, 0, "g"), "(0.25) *"));
}
END_TEST

/* h = x0 + x1 + h, from 0, of rows of 2 and 3 times: what evaluate gives x is 0, 1, .. 11, w and r are all 1. */
static void sum_of_inputs(const char *node_text, const char *direction, int layout) {
  static const float ones[] = {1, 1};
  add_input("x", FLOAT, layout ? (int64_t[]){2, 3, 2} : (int64_t[]){3, 2, 2}, 3);
  put_message(&graph, 5, tensor_floats(ctx, "w", INTS(1, 1, 2), ones, 2));
  put_message(&graph, 5, tensor_floats(ctx, "r", INTS(1, 1, 1), ones, 1));
  const int32_t lengths[] = {2, 3};
  put_message(&graph, 5, tensor_raw(ctx, "n", INT32, INTS(2), lengths, sizeof lengths));
  ADD_NODE(node_text, attr_texts(ctx, "activations", TEXTS("Affine")), attr_text(ctx, "direction", direction),
           attr_int(ctx, "layout", layout));
  add_output("y");
  add_output("h");
}

START_TEST(forward) {
  sum_of_inputs("RNN x,w,r,,n -> y,h", "forward", 0);
  Tensor **out = evaluate(import_well(14));
  EXPECT_VALUES(out[0], 1, 5, 10, 18, 0, 39);
  EXPECT_VALUES(out[1], 10, 39);
}
END_TEST

START_TEST(backward) {
  sum_of_inputs("RNN x,w,r,,n -> y,h", "reverse", 0);
  Tensor **out = evaluate(import_well(14));
  EXPECT_VALUES(out[0], 10, 39, 9, 34, 0, 21);
  EXPECT_VALUES(out[1], 10, 39);
}
END_TEST

START_TEST(rows_first) {
  sum_of_inputs("RNN x,w,r,,n -> y,h", "forward", 1);
  Module *m = import_well(14);
  ck_assert_str_eq(type_of_output(m, 0), "f32[2,3,1,1]");
  ck_assert_str_eq(type_of_output(m, 1), "f32[2,1,1]");
  Tensor **out = evaluate(m);
  EXPECT_VALUES(out[0], 1, 6, 0, 13, 30, 51);
  EXPECT_VALUES(out[1], 6, 51);
}
END_TEST

static void no_attribute(Str *node) {
  (void)node;
}
static void wrong_name(Str *s) {
  *s = attr_texts(ctx, "activations", TEXTS("Swish"));
}
static void names_missing(Str *s) {
  *s = attr_texts(ctx, "activations", TEXTS("Tanh", "Tanh"));
}
static void numbers_left(Str *s) {
  *s = attr_floats(ctx, "activation_alpha", NUMBERS(1, 2));
}
static void wrong_direction(Str *s) {
  *s = attr_text(ctx, "direction", "sideways");
}
static void wrong_size(Str *s) {
  *s = attr_int(ctx, "hidden_size", 3);
}
static void wrong_clip(Str *s) {
  *s = attr_float(ctx, "clip", 0);
}
static void other_option(Str *s) {
  *s = attr_int(ctx, "linear_before_reset", 1);
}

static const struct {
  void (*attribute)(Str *attr);
  const char *node;
  Status status;
  const char *message;
} bad[] = {
    {wrong_name, "RNN x,w,r -> y", WEFT_MALFORMED, "'activations' holds 'Swish', which is none of the standard's"},
    {names_missing, "RNN x,w,r -> y", WEFT_MALFORMED, "'activations' has 2 names, expected 1: 1 for each direction"},
    {numbers_left, "RNN x,w,r -> y", WEFT_MALFORMED, "'activation_alpha' has 2 numbers, but the activations take 0"},
    {wrong_direction, "RNN x,w,r -> y", WEFT_UNSUPPORTED, "expected one of forward|reverse|bidirectional"},
    {wrong_size, "RNN x,w,r -> y", WEFT_MALFORMED, "'hidden_size' is 3, but operand 3, 'r', is f32[1,1,1]"},
    {wrong_clip, "RNN x,w,r -> y", WEFT_MALFORMED, "attribute 'clip' is 0, expected a limit above 0"},
    {other_option, "RNN x,w,r -> y", WEFT_UNSUPPORTED, "attribute 'linear_before_reset' is not supported"},
    {no_attribute, "RNN x,x,r -> y", WEFT_MALFORMED, "operand 2, 'x', is f32[3,2,2], expected [1,1,2]"},
    {no_attribute, "RNN x,w,r,r -> y", WEFT_MALFORMED, "operand 4, 'r', is f32[1,1,1], expected [1,2]"},
    {no_attribute, "RNN x,w,r,,r -> y", WEFT_MALFORMED, "operand 5, 'r', is f32[1,1,1], expected [2]"},
    {no_attribute, "RNN x,w,r,,,r -> y", WEFT_MALFORMED, "operand 6, 'r', is f32[1,1,1], expected [1,2,1]"},
    {no_attribute, "GRU x,w,r -> y", WEFT_MALFORMED, "operand 2, 'w', is f32[1,1,2], expected [1,3,2]"},
};

START_TEST(refused) {
  Str attr = {0};
  add_layer_inputs(1, 1);
  bad[_i].attribute(&attr);
  add_node_with(bad[_i].node, attr.data ? 1 : 0, &attr);
  refuse(14, bad[_i].status, bad[_i].message);
}
END_TEST

Suite *suite_onnx_recurrent(void);
Suite *suite_onnx_recurrent(void) {
  Suite *s = suite_create("onnx_recurrent");
  TCase *t = tcase_create("onnx_recurrent");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, defaults);
  tcase_add_test(t, numbers_of_activations);
  tcase_add_test(t, a_number_for_each_activation);
  tcase_add_test(t, forward);
  tcase_add_test(t, backward);
  tcase_add_test(t, rows_first);
  tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
  suite_add_tcase(s, t);
  return s;
}
