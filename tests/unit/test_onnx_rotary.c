/* The import of RotaryEmbedding: pairs by halves and interleaved, part of a head, positions, refusals. */
#include "onnx_graph.h"

/* One token at position 2 of a table that turns by a quarter there: (a, b) becomes (-b, a). The head is 0, 1, 2, 3. */
static Tensor *quarter_turn(const char *node, int n_attrs, const Str *attrs) {
  static const float cosines[] = {1, 1, 1, 1, 0, 0}, sines[] = {0, 0, 0, 0, 1, 1};
  add_input("x", FLOAT, INTS(1, 1, 1, 4));
  put_message(&graph, 5, tensor_floats(ctx, "c", INTS(3, 2), cosines, 6));
  put_message(&graph, 5, tensor_floats(ctx, "s", INTS(3, 2), sines, 6));
  put_message(&graph, 5, tensor_floats(ctx, "c1", INTS(3, 1), (const float[]){1, 1, 0}, 3));
  put_message(&graph, 5, tensor_floats(ctx, "s1", INTS(3, 1), (const float[]){0, 0, 1}, 3));
  const int64_t position = 2;
  put_message(&graph, 5, tensor_raw(ctx, "p", INT64, INTS(1, 1), &position, sizeof position));
  add_node_with(node, n_attrs, attrs);
  add_output("y");
  return evaluate(import_well(23))[0];
}

START_TEST(halves) {
  EXPECT_VALUES(quarter_turn("RotaryEmbedding x,c,s,p -> y", 0, NULL), -2, -3, 0, 1);
}
END_TEST

START_TEST(interleaved) {
  EXPECT_VALUES(quarter_turn("RotaryEmbedding x,c,s,p -> y", 1, (Str[]){attr_int(ctx, "interleaved", 1)}), -1, 0, -3,
                2);
}
END_TEST

START_TEST(part_of_a_head) {
  EXPECT_VALUES(quarter_turn("RotaryEmbedding x,c1,s1,p -> y", 1, (Str[]){attr_int(ctx, "rotary_embedding_dim", 2)}),
                -1, 0, 2, 3);
}
END_TEST

static const struct {
  const char *node, *attr;
  int64_t value;
  const char *message;
} bad[] = {
    {"RotaryEmbedding x,c,c -> y", "num_heads", 4, "which does not divide into 4 heads ('num_heads')"},
    {"RotaryEmbedding x,c,c -> y", NULL, 0, "which does not divide into 0 heads"},
    {"RotaryEmbedding x,c,c -> y", "num_heads", 2, "3 numbers of each head, which has 3, are turned; expected an even"},
    {"RotaryEmbedding z,c,c -> y", "rotary_embedding_dim", 8, "8 numbers of each head, which has 6"},
    {"RotaryEmbedding z,c,c -> y", NULL, 0, "gives f32[3,2], expected [1,2,3]"},
    {"RotaryEmbedding c,c,c -> y", NULL, 0, "has rank 2 (f32[3,2]), expected rank 3 to 4"},
};

START_TEST(refused) {
  add_input("x", FLOAT, INTS(1, 2, 6));
  add_input("z", FLOAT, INTS(1, 1, 2, 6));
  add_input("c", FLOAT, INTS(3, 2));
  Str attr = bad[_i].attr ? attr_int(ctx, bad[_i].attr, bad[_i].value) : (Str){0};
  add_node_with(bad[_i].node, bad[_i].attr != NULL, &attr);
  add_output("y");
  refuse(23, WEFT_MALFORMED, bad[_i].message);
}
END_TEST

Suite *suite_onnx_rotary(void);
Suite *suite_onnx_rotary(void) {
  Suite *s = suite_create("onnx_rotary");
  TCase *t = tcase_create("onnx_rotary");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, halves);
  tcase_add_test(t, interleaved);
  tcase_add_test(t, part_of_a_head);
  tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
  suite_add_tcase(s, t);
  return s;
}
