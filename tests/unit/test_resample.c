/* Resampling: types, refusals, values by hand in every stage, an index out of range; and a table of resize_table. */
#include "ir/resize_table.h"
#include "op_family.h"

static const TypeCase good[] = {
    {"%x: f32[2,3,4], %i: i64[5,1]", "resample(%x, %i) {axis = 1}", "f32[2,5,4]"},
    {"%x: u8[2,3], %i: i32[6,2], %w: f32[6,2]", "resample(%x, %i, %w) {axis = -1}", "u8[2,6]"},
    {"%x: bool[3], %i: i32[2,1]", "resample(%x, %i) {axis = 0}", "bool[2]"},
    {"%x: f16[N,3], %i: i32[2,4], %w: f64[2,4]", "resample(%x, %i, %w) {axis = 1}", "f16[N,2]"},
};

static const TypeCase bad[] = {
    {"%x: f32[2,3], %i: i64[5]", "resample(%x, %i) {axis = 1}",
     "operand 'indices' has rank 1 (i64[5]), expected rank 2"},
    {"%x: f32[2,3], %i: u8[5,1]", "resample(%x, %i) {axis = 1}", "'indices' is u8[5,1], expected i32 or i64"},
    {"%x: f32[2,3], %i: i64[5,2], %w: f32[5,1]", "resample(%x, %i, %w) {axis = 1}",
     "'weights' is f32[5,1], expected the shape of 'indices', which is i64[5,2]"},
    {"%x: f32[2,3], %i: i64[5,2], %w: f16[5,2]", "resample(%x, %i, %w) {axis = 1}",
     "'weights' is f16[5,2], expected f32 or f64"},
    {"%x: f32[2,3], %i: i64[5,1]", "resample(%x, %i) {axis = 2}",
     "'axis' is 2, expected an axis of a tensor of rank 2"},
    {"%x: f32[2,3], %i: i64[5,1]", "resample(%x, %i)", "attribute 'axis' is required"},
    {"%x: bool[3], %i: i64[5,2]", "resample(%x, %i) {axis = 0}", "where it is summed this op takes floats and integers"},
    {"%x: bool[3], %i: i64[5,1], %w: f32[5,1]", "resample(%x, %i, %w) {axis = 0}",
     "this op takes floats and integers"},
};

typedef struct {
  const char *params, *op, *result;
  double x[6], index[6], weights[6], out[8];
} ValueCase;

static const ValueCase valued[] = {
    {"%x: f32[2,3], %i: i64[4,1]",
     "resample(%x, %i) {axis = 1}",
     "f32[2,4]",
     {1, 2, 3, 4, 5, 6},
     {2, 0, 0, 1},
     {0},
     {3, 1, 1, 2, 6, 4, 4, 5}},
    {"%x: f32[2,2]@ba, %i: i32[3,2], %w: f32[3,2]",
     "resample(%x, %i, %w) {axis = 0}",
     "f32[3,2]",
     {1, 2, 3, 4},
     {0, 1, 1, 1, 0, 1},
     {0.5, 0.5, 1, 0, 0.25, 0.75},
     {2, 3, 3, 4, 2.5, 3.5}},
    {"%x: f64[3], %i: i32[2,3], %w: f32[2,3]",
     "resample(%x, %i, %w) {axis = 0}",
     "f64[2]",
     {1, 2, 4},
     {0, 1, 2, 2, 1, 0},
     {1, 1, 1, 2, 0, -1},
     {7, 7}},
    /* integers: summed in f32, then rounded toward zero and saturated */
    {"%x: u8[2], %i: i32[3,2], %w: f32[3,2]",
     "resample(%x, %i, %w) {axis = 0}",
     "u8[3]",
     {200, 101},
     {0, 1, 0, 1, 0, 1},
     {0.5, 0.5, 1, 1, -1, 0},
     {150, 255, 0}},
    {"%x: i8[2], %i: i32[1,2]", "resample(%x, %i) {axis = 0}", "i8[1]", {100, 100}, {0, 1}, {0}, {-56}},
    {"%x: bool[2], %i: i32[3,1]", "resample(%x, %i) {axis = 0}", "bool[3]", {0, 1}, {1, 0, 1}, {0}, {1, 0, 1}},
    {"%x: f32[2], %i: i32[2,0]", "resample(%x, %i) {axis = 0}", "f32[2]", {1, 2}, {0}, {0}, {0, 0}},
};
START_TEST(values) {
  const ValueCase *c = &valued[_i];
  Module *m = parse_well(ctx, op_function(ctx, c->params, c->op, c->result));
  const Tensor *in[3] = {param_tensor(m, 0, c->x), param_tensor(m, 1, c->index)};
  if (m->main->params.len > 2)
    in[2] = param_tensor(m, 2, c->weights);
  expect_everywhere(m, in, tensor_of_type(ctx, m->main->last->result->type)->n, c->out);
}
END_TEST

START_TEST(out_of_range) {
  static const double wrong[2] = {3, -1};
  Module *m = parse_well(ctx, op_function(ctx, "%x: f32[3], %i: i64[1,1]", "resample(%x, %i) {axis = 0}", "f32[1]"));
  const Tensor *in[2] = {param_tensor(m, 0, (double[]){1, 2, 3}), param_tensor(m, 1, &wrong[_i])};
  Tensor *out;
  ck_assert(!eval_function(m, m->main, in, &out, NULL));
  ck_assert_msg(strstr(diag_text(ctx->diags, false), "is out of range: the axis has extent 3") != NULL, "%s",
                diag_text(ctx->diags, false));
}
END_TEST

/* Linear by 2 along both axes of 1 2 / 3 4: the rows 1, 1.25, 1.75, 2 and so on down. */
START_TEST(resize) {
  ResizeSpec spec = {.mode = RESIZE_LINEAR, .coordinates = RESIZE_HALF_PIXEL};
  ResizeTable t = resize_table(ctx, &spec, 2, 4, 2, 0, 1);
  double index[8], out[16];
  for (int k = 0; k < 8; k++)
    index[k] = (double)t.indices[k];
  for (int k = 0; k < 16; k++) {
    static const double at[4] = {0, 0.25, 0.75, 1};
    out[k] = 1 + at[k % 4] + 2 * at[k / 4];
  }
  Module *m = parse_well(ctx, "weft 1 model \"m\"\n"
                              "func @main(%x: f32[2,2], %i: i64[4,2], %w: f32[4,2]) -> (y: f32[4,4]) {\n"
                              "  %r = resample(%x, %i, %w) {axis = 0} : f32[4,2]\n"
                              "  %y = resample(%r, %i, %w) {axis = 1} : f32[4,4]\n  return %y\n}\n");
  const Tensor *in[3] = {param_tensor(m, 0, (double[]){1, 2, 3, 4}), param_tensor(m, 1, index),
                         param_tensor(m, 2, t.weights)};
  expect_everywhere(m, in, 16, out);
}
END_TEST

START_TEST(layouts) {
  Module *m = parse_well(
      ctx, op_function(ctx, "%x: f32[1,8,4,4]@acdb, %i: i64[6,1]", "resample(%x, %i) {axis = 2}", "f32[1,8,6,4]"));
  ck_assert_str_eq(planned_layout(ctx, m), "acdb");
}
END_TEST

Suite *suite_resample(void);
Suite *suite_resample(void) {
  Suite *s = suite_create("resample");
  TCase *t = family_tests("resample", good, COUNT(good), bad, COUNT(bad));
  tcase_add_loop_test(t, values, 0, (int)COUNT(valued));
  tcase_add_loop_test(t, out_of_range, 0, 2);
  tcase_add_test(t, resize);
  tcase_add_test(t, layouts);
  suite_add_tcase(s, t);
  return s;
}
