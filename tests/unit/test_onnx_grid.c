/* The import of GridSample and AffineGrid: words of each opset, points by hand, refusals. */
#include "onnx_graph.h"

START_TEST(words_of_opsets) {
  add_input("x", FLOAT, INTS(1, 2, 4, 4));
  add_input("g", FLOAT, INTS(1, 3, 5, 2));
  ADD_NODE("GridSample x,g -> y", attr_text(ctx, "mode", _i ? "cubic" : "bicubic"),
           attr_text(ctx, "padding_mode", "reflection"), attr_int(ctx, "align_corners", 1));
  add_output("y");
  Module *m = import_well(_i ? 20 : 16);
  const Op *op = op_of_output(m, 0);
  ck_assert_int_eq(op->def->code, OP_GRID_SAMPLE2D);
  ck_assert_int_eq(op_attr(op, "mode")->i, 2);
  ck_assert_int_eq(op_attr(op, "padding")->i, 2);
  ck_assert_int_eq(op_int(op, "align_corners"), 1);
  ck_assert_str_eq(type_of_output(m, 0), "f32[1,2,3,5]");
}
END_TEST

/* theta = [[0, 1, 2], [3, 4, 5]]: (x, y) becomes (y + 2, 3 x + 4 y + 5). */
START_TEST(affine_points) {
  add_input("t", FLOAT, INTS(1, 2, 3));
  add_ints("s", (int64_t[]){1, 1, 2, 2}, 4);
  ADD_NODE("AffineGrid t,s -> y", attr_int(ctx, "align_corners", _i));
  add_output("y");
  Tensor *y = evaluate(import_well(20))[0];
  ck_assert(y->rank == 4 && y->shape[1] == 2 && y->shape[2] == 2 && y->shape[3] == 2);
  if (_i)
    EXPECT_VALUES(y, 1, -2, 1, 4, 3, 6, 3, 12);
  else
    EXPECT_VALUES(y, 1.5, 1.5, 1.5, 4.5, 2.5, 5.5, 2.5, 8.5);
}
END_TEST

static const struct {
  const char *node;
  int opset;
  Status status;
  const char *message;
} bad[] = {
    {"GridSample x,g -> y", 20, WEFT_MALFORMED, "operand 1, 'x', has rank 2 (f32[4,4]), expected rank 3 to 8"},
    {"GridSample z,g -> y", 20, WEFT_UNSUPPORTED, "1 to 3 spatial axes are supported"},
    {"GridSample g,g -> y", 20, WEFT_MALFORMED, "and 2 numbers along its last axis"},
    {"AffineGrid x,s -> y", 20, WEFT_MALFORMED, "'size' has 3 numbers and operand 1, 'x', is f32[4,4]"},
    {"AffineGrid x,x -> y", 20, WEFT_UNSUPPORTED, "which is 'size', depends on the model's inputs"},
};

START_TEST(refused) {
  add_input("x", FLOAT, INTS(4, 4));
  add_input("g", FLOAT, INTS(1, 3, 5, 1));
  add_input("z", FLOAT, INTS(1, 1, 2, 2, 2, 2));
  add_ints("s", (int64_t[]){1, 1, 2}, 3);
  add_node(bad[_i].node);
  add_output("y");
  refuse(bad[_i].opset, bad[_i].status, bad[_i].message);
}
END_TEST

Suite *suite_onnx_grid(void);
Suite *suite_onnx_grid(void) {
  Suite *s = suite_create("onnx_grid");
  TCase *t = tcase_create("onnx_grid");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, words_of_opsets, 0, 2);
  tcase_add_loop_test(t, affine_points, 0, 2);
  tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
  suite_add_tcase(s, t);
  return s;
}
