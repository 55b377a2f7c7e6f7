/* The import of Col2Im: sums of overlapping blocks by hand, points that no block reaches, refusals. */
#include "onnx_graph.h"

START_TEST(overlapping) { /* two channels; three blocks of two points in a row of four; x is 0..11 */
  add_input("x", FLOAT, INTS(1, 4, 3));
  add_ints("image", (int64_t[]){4}, 1);
  add_ints("block", (int64_t[]){2}, 1);
  add_node("Col2Im x,image,block -> y");
  add_output("y");
  EXPECT_VALUES(evaluate(import_well(18))[0], 0, 4, 6, 5, 6, 16, 18, 11);
}
END_TEST

START_TEST(stride_and_dilation) { /* blocks of points 0, 2 and 3, 5 of a row of 7 */
  add_input("x", FLOAT, INTS(1, 2, 2));
  add_ints("image", (int64_t[]){7}, 1);
  add_ints("block", (int64_t[]){2}, 1);
  ADD_NODE("Col2Im x,image,block -> y", attr_ints(ctx, "strides", INTS(3)), attr_ints(ctx, "dilations", INTS(2)));
  add_output("y");
  EXPECT_VALUES(evaluate(import_well(18))[0], 0, 0, 2, 1, 0, 3, 0);
}
END_TEST

static const struct {
  const char *node;
  Status status;
  const char *message;
} bad[] = {
    {"Col2Im x,three,two -> y", WEFT_MALFORMED, "operand 1, 'x', is f32[1,4,3], expected [N, C * 2, 2]"},
    {"Col2Im x,two,three -> y", WEFT_MALFORMED, "along axis 0 the window has 3 points, the padded image 2"},
    {"Col2Im x,many,two -> y", WEFT_UNSUPPORTED, "'image_shape' has 4 numbers; 1 to 3 spatial axes"},
    {"Col2Im x,three,many -> y", WEFT_MALFORMED, "'block_shape' has 4 numbers, expected 1"},
    {"Col2Im x,three,zero -> y", WEFT_MALFORMED, "'block_shape' holds 0, expected 1 to"},
};

START_TEST(refused) {
  add_input("x", FLOAT, INTS(1, 4, 3));
  add_ints("zero", (int64_t[]){0}, 1);
  add_ints("two", (int64_t[]){2}, 1);
  add_ints("three", (int64_t[]){3}, 1);
  add_ints("many", (int64_t[]){2, 2, 2, 2}, 4);
  add_node(bad[_i].node);
  add_output("y");
  refuse(18, bad[_i].status, bad[_i].message);
}
END_TEST

Suite *suite_onnx_col2im(void);
Suite *suite_onnx_col2im(void) {
  Suite *s = suite_create("onnx_col2im");
  TCase *t = tcase_create("onnx_col2im");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, overlapping);
  tcase_add_test(t, stride_and_dilation);
  tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
  suite_add_tcase(s, t);
  return s;
}
