/* The import of CausalConvWithState: with and without a state, rows shorter than the state, refusals. */
#include "onnx_graph.h"

/* x = 0, 1, ..; the kernel is 1, 10, 100. */
static Tensor **convolve(const char *node, int64_t length, int n_attrs, const Str *attrs) {
  add_input("x", FLOAT, INTS(1, 1, length));
  put_message(&graph, 5, tensor_floats(ctx, "w", INTS(1, 1, 3), (const float[]){1, 10, 100}, 3));
  put_message(&graph, 5, tensor_floats(ctx, "s", INTS(1, 1, 2), (const float[]){7, 8}, 2));
  put_message(&graph, 5, tensor_floats(ctx, "b", INTS(1), (const float[]){1000}, 1));
  add_node_with(node, n_attrs, attrs);
  add_output("y");
  add_output("t");
  return evaluate(import_well(27));
}

START_TEST(without_state) {
  Tensor **out = convolve("CausalConvWithState x,w -> y,t", 4, 0, NULL);
  EXPECT_VALUES(out[0], 0, 100, 210, 321);
  EXPECT_VALUES(out[1], 2, 3);
}
END_TEST

START_TEST(with_state) {
  Tensor **out = convolve("CausalConvWithState x,w,b,s -> y,t", 3, 0, NULL);
  EXPECT_VALUES(out[0], 1087, 1108, 1210);
  EXPECT_VALUES(out[1], 1, 2);
}
END_TEST

START_TEST(short_row) {
  Tensor **out = convolve("CausalConvWithState x,w,,s -> y,t", 1, 0, NULL);
  EXPECT_VALUES(out[0], 87);
  EXPECT_VALUES(out[1], 8, 0);
}
END_TEST

START_TEST(activation) { /* 100 / (1 + exp(-100)) is 100 in f32 */
  Tensor **out = convolve("CausalConvWithState x,w -> y,t", 2, 1, (Str[]){attr_text(ctx, "activation", "silu")});
  EXPECT_VALUES(out[0], 0, 100);
}
END_TEST

static const struct {
  const char *node, *message;
} bad[] = {
    {"CausalConvWithState x,x -> y", "operand 2, 'x', is f32[1,2,4], expected [2,1,k]"},
    {"CausalConvWithState x,w,,x -> y", "operand 4, 'x', is f32[1,2,4], expected [1,2,2]"},
    {"CausalConvWithState v,w -> y", "operand 1, 'v', has rank 1"},
};

START_TEST(refused) {
  add_input("x", FLOAT, INTS(1, 2, 4));
  add_input("w", FLOAT, INTS(2, 1, 3));
  add_input("v", FLOAT, INTS(2));
  add_node(bad[_i].node);
  add_output("y");
  refuse(27, WEFT_MALFORMED, bad[_i].message);
}
END_TEST

Suite *suite_onnx_causal_conv(void);
Suite *suite_onnx_causal_conv(void) {
  Suite *s = suite_create("onnx_causal_conv");
  TCase *t = tcase_create("onnx_causal_conv");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, without_state);
  tcase_add_test(t, with_state);
  tcase_add_test(t, short_row);
  tcase_add_test(t, activation);
  tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
  suite_add_tcase(s, t);
  return s;
}
