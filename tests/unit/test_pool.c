/* Pools: extents, refusals, values by hand in every stage, and random windows against loops over padded data. */
#include "op_family.h"

static const TypeCase good[] = {
    {"%x: f32[1,3,7,8]", "max_pool2d(%x) {kernel = [3, 2], strides = [2, 2]}", "f32[1,3,3,4]"},
    {"%x: i8[1,3,7]", "max_pool1d(%x) {kernel = [3], padding = [1, 2], dilation = [2]}", "i8[1,3,6]"},
    {"%x: f32[1,1,4,4]", "max_pool2d(%x) {kernel = [3, 3], strides = [2, 2], ceil_mode = 1}", "f32[1,1,2,2]"},
    /* the second window would start outside of the data */
    {"%x: f32[1,1,2,2]", "max_pool2d(%x) {kernel = [1, 1], strides = [2, 2], ceil_mode = 1}", "f32[1,1,1,1]"},
    {"%x: f32[1,1,2,2]",
     "avg_pool2d(%x) {kernel = [3, 3], strides = [3, 3], padding = [1, 1, 1, 1], ceil_mode = 1, count_include_pad = 1}",
     "f32[1,1,1,1]"},
    {"%x: u8[1,3,7,8]", "max_pool2d_indices(%x) {kernel = [3, 2], strides = [2, 2]}", "i64[1,3,3,4]"},
    {"%x: f16[2,3,4,5,6]", "avg_pool3d(%x) {kernel = [2, 2, 2]}", "f16[2,3,3,4,5]"},
    {"%x: f32[N,3,W]", "avg_pool1d(%x) {kernel = [2], padding = [1, 0]}", "f32[N,3,W]"},
    {"%x: f32[1,1,2]", "max_pool1d(%x) {kernel = [3]}", "f32[1,1,0]"},
};

static const TypeCase bad[] = {
    {"%x: f32[1,3,7]", "max_pool2d(%x) {kernel = [3, 2]}", "operand 'data' has rank 3 (f32[1,3,7]), expected rank 4"},
    {"%x: f32[1,3,7,7]", "max_pool2d(%x) {kernel = [3]}", "'kernel' has 1 number"},
    {"%x: f32[1,3,7,7]", "max_pool2d(%x)", "attribute 'kernel' is required"},
    {"%x: f32[1,3,7]", "max_pool1d(%x) {kernel = [0]}", "attribute 'kernel' is 0 along W, expected 1 to"},
    {"%x: f32[1,3,7]", "max_pool1d(%x) {kernel = [2], strides = [0]}", "attribute 'strides' is 0 along W"},
    {"%x: f32[1,3,7]", "max_pool1d(%x) {kernel = [2], padding = [0, -1]}", "attribute 'padding' is -1 along W"},
    {"%x: f32[1,3,7,7]", "max_pool2d(%x) {kernel = [2, 2], padding = [0, 2, 0, 1]}",
     "the padding along W is 2 and 1; it is supported up to the window's span less one, 1"},
    {"%x: f32[1,3,7]", "max_pool1d(%x) {kernel = [2147483648], dilation = [2147483648]}", "longer than an axis may be"},
    {"%x: f32[1,3,1]", "max_pool1d(%x) {kernel = [3]}", "extent along W would be -1"},
    {"%x: i32[1,3,7]", "avg_pool1d(%x) {kernel = [2]}", "operand 'data' is i32[1,3,7]; this op takes floats"},
    {"%x: bool[1,3,7]", "max_pool1d(%x) {kernel = [2]}", "this op takes floats and integers"},
    {"%x: bool[1,3,7]", "max_pool1d_indices(%x) {kernel = [2]}", "this op takes floats and integers"},
    {"%x: f32[1,3,7]", "max_pool1d_indices(%x) {kernel = [0]}", "attribute 'kernel' is 0 along W, expected 1 to"},
};

/* ---- values; x counts up from 1, or is given ---- */

#define NOT (double)NAN

typedef struct {
  const char *param, *op, *result;
  double out[9];
  double in[9];
} ValueCase;

static const ValueCase valued[] = {
    {"%x: f32[1,1,4,4]",
     "max_pool2d(%x) {kernel = [3, 3], strides = [2, 2], ceil_mode = 1}",
     "f32[1,1,2,2]",
     {11, 12, 15, 16},
     {0}},
    {"%x: f32[1,1,4,4]",
     "avg_pool2d(%x) {kernel = [3, 3], strides = [2, 2], ceil_mode = 1}",
     "f32[1,1,2,2]",
     {6, 7.5, 12, 13.5},
     {0}},
    /* windows at -1..1, 1..3: 1 2, 2 3 4 */
    {"%x: f32[1,1,4]", "avg_pool1d(%x) {kernel = [3], strides = [2], padding = [1, 0]}", "f32[1,1,2]", {1.5, 3}, {0}},
    {"%x: f32[1,1,4]",
     "avg_pool1d(%x) {kernel = [3], strides = [2], padding = [1, 0], count_include_pad = 1}",
     "f32[1,1,2]",
     {1, 3},
     {0}},
    /* the last window has 4, the padding behind it, and one tap past that, which is not counted: 4/2 */
    {"%x: f32[1,1,4]",
     "avg_pool1d(%x) {kernel = [3], strides = [3], padding = [0, 1], ceil_mode = 1, count_include_pad = 1}",
     "f32[1,1,2]",
     {2, 2},
     {0}},
    {"%x: f32[1,1,4]",
     "avg_pool1d(%x) {kernel = [3], strides = [3], padding = [0, 1], ceil_mode = 1}",
     "f32[1,1,2]",
     {2, 4},
     {0}},
    /* padding is never the largest */
    {"%x: i8[1,1,3]",
     "max_pool1d(%x) {kernel = [2], padding = [1, 1]}",
     "i8[1,1,4]",
     {-5, -5, -7, -128},
     {-5, -7, -128}},
    {"%x: u8[1,1,2]", "max_pool1d(%x) {kernel = [2]}", "u8[1,1,1]", {200}, {100, 200}},
    {"%x: f32[1,1,4]", "max_pool1d(%x) {kernel = [2]}", "f32[1,1,3]", {NOT, NOT, 3}, {1, NOT, 2, 3}},
    {"%x: f32[1,1,5]", "max_pool1d(%x) {kernel = [2], dilation = [3]}", "f32[1,1,2]", {9, 5}, {9, 1, 2, 3, 5}},
    /* a window whose taps, at -1 and 2, all miss the data */
    {"%x: f32[1,1,2]",
     "max_pool1d(%x) {kernel = [2], dilation = [3], padding = [1, 1]}",
     "f32[1,1,1]",
     {-(double)INFINITY},
     {0}},
    {"%x: f32[1,1,2]", "avg_pool1d(%x) {kernel = [2], dilation = [3], padding = [1, 1]}", "f32[1,1,1]", {NOT}, {0}},
    {"%x: f32[1,1,2]",
     "avg_pool1d(%x) {kernel = [2], dilation = [3], padding = [1, 1], count_include_pad = 1}",
     "f32[1,1,1]",
     {0},
     {0}},
};
static void expect_values_of(const ValueCase *c) {
  Module *m = parse_well(ctx, op_function(ctx, c->param, c->op, c->result));
  Tensor *t = tensor_of_type(ctx, m->main->params.data[0]->type);
  bool given = false;
  for (int k = 0; k < 9; k++)
    given = given || c->in[k] != 0;
  for (int64_t k = 0; k < t->n; k++)
    tensor_set(t, k, given ? c->in[k] : (double)(k + 1));
  const Tensor *in = t;
  expect_everywhere(m, &in, tensor_of_type(ctx, m->main->last->result->type)->n, c->out);
}

START_TEST(values) {
  expect_values_of(&valued[_i]);
}
END_TEST

static const ValueCase places[] = {
    {"%x: f32[1,1,4,4]",
     "max_pool2d_indices(%x) {kernel = [3, 3], strides = [2, 2], ceil_mode = 1}",
     "i64[1,1,2,2]",
     {10, 11, 14, 15},
     {0}},
    {"%x: f32[1,2,3]", "max_pool1d_indices(%x) {kernel = [2]}", "i64[1,2,2]", {0, 2, 3, 4}, {5, 5, 7, 2, 2, 2}},
    {"%x: f16[2,1,2]@bca", "max_pool1d_indices(%x) {kernel = [2]}", "i64[2,1,1]", {1, 3}, {1, 3, 2, 4}},
    {"%x: i8[1,1,3]",
     "max_pool1d_indices(%x) {kernel = [2], padding = [1, 1]}",
     "i64[1,1,4]",
     {0, 0, 1, 2},
     {-5, -7, -128}},
    {"%x: u8[1,1,2]", "max_pool1d_indices(%x) {kernel = [2]}", "i64[1,1,1]", {1}, {100, 200}},
    {"%x: f32[1,1,5]", "max_pool1d_indices(%x) {kernel = [3]}", "i64[1,1,3]", {1, 1, 2}, {1, NOT, NOT, 3, 9}},
    {"%x: f32[1,1,3]",
     "max_pool1d_indices(%x) {kernel = [2]}",
     "i64[1,1,2]",
     {0, 1},
     {-(double)INFINITY, -(double)INFINITY, -(double)INFINITY}},
    {"%x: f32[1,1,2]",
     "max_pool1d_indices(%x) {kernel = [2], dilation = [3], padding = [1, 1]}",
     "i64[1,1,1]",
     {-1},
     {0}},
    {"%x: f64[1,1,2,2,2]", "max_pool3d_indices(%x) {kernel = [2, 2, 1]}", "i64[1,1,1,1,2]", {6, 7}, {0}},
};

START_TEST(indices) {
  expect_values_of(&places[_i]);
}
END_TEST

/* ---- random windows, the reference against loops over padded data ---- */

typedef struct {
  int64_t in, kernel, stride, dilation, begin, end, out;
} Axis;

static Axis random_axis(uint64_t *state, bool ceil_mode) {
  for (;;) {
    Axis a = {.in = 1 + random_below(state, 9)};
    a.kernel = 1 + random_below(state, 4);
    a.stride = 1 + random_below(state, 4);
    a.dilation = 1 + random_below(state, 3);
    int64_t span = a.dilation * (a.kernel - 1) + 1;
    a.begin = random_below(state, (int)span);
    a.end = random_below(state, (int)span);
    int64_t room = a.in + a.begin + a.end - span;
    if (room < 0)
      continue;
    /* count windows one by one: all of it fits, or (ceil) it starts inside the data or the padding in front, and the
     * window before it did not reach the end */
    a.out = 0;
    for (int64_t at = 0;; at += a.stride) {
      bool fits = at + span <= a.in + a.begin + a.end;
      bool rest = ceil_mode && at < a.in + a.begin && at - a.stride + span < a.in + a.begin + a.end;
      if (!fits && !rest)
        break;
      a.out++;
    }
    return a;
  }
}

START_TEST(random_windows) { /* rtol 1e-6: results are floats */
  uint64_t state = random_seed("random_windows");
  for (int round = 0; round < 300; round++) {
    int d = 1 + random_below(&state, 3);
    bool mean = random_below(&state, 2), ceil_mode = random_below(&state, 2), include = mean && random_below(&state, 2);
    Axis a[3] = {{1, 1, 1, 1, 0, 0, 1}, {1, 1, 1, 1, 0, 0, 1}, {1, 1, 1, 1, 0, 0, 1}};
    int64_t shape[5] = {2, 3}, kernel[3], strides[3], dilation[3], padding[6];
    for (int k = 0; k < d; k++) {
      a[3 - d + k] = random_axis(&state, ceil_mode);
      const Axis *x = &a[3 - d + k];
      shape[2 + k] = x->in;
      kernel[k] = x->kernel;
      strides[k] = x->stride;
      dilation[k] = x->dilation;
      padding[k] = x->begin;
      padding[d + k] = x->end;
    }
    Module *m = module_create(ctx, "t.weft", "t");
    Function *f = m->main = function_create(m, "main");
    Value *x = function_add_param(m, f, "x", type_static(ctx, DT_F32, d + 2, shape, NULL), NULL, LOC_NONE);
    const char *name = arena_printf(ctx->arena, "%s_pool%dd", mean ? "avg" : "max", d);
    Op *op = op_create(ctx, op_find(name, strlen(name)), &x, 1, LOC_NONE);
    op_set_ints(ctx, op, "kernel", kernel, d);
    op_set_ints(ctx, op, "strides", strides, d);
    op_set_ints(ctx, op, "dilation", dilation, d);
    op_set_ints(ctx, op, "padding", padding, 2 * d);
    op_set_int(op, "ceil_mode", ceil_mode);
    if (mean)
      op_set_int(op, "count_include_pad", include);
    Value *y = op_finish(m, f, op, NULL, "y", NULL);
    ck_assert_msg(y != NULL, "%s", diag_text(ctx->diags, false));
    function_add_result(m, f, "y", y, y->type, NULL, LOC_NONE);
    Tensor *t = tensor_of_type(ctx, x->type);
    for (int64_t i = 0; i < t->n; i++)
      tensor_set(t, i, random_below(&state, 2000) / 1000.0 - 1);
    const Tensor *in = t;
    Tensor *got = evaluate_op(m, &in);
    ck_assert_int_eq(got->n, 6 * a[0].out * a[1].out * a[2].out);
    int64_t at = 0, volume = a[0].in * a[1].in * a[2].in;
    for (int64_t nc = 0; nc < 6; nc++)
      for (int64_t p = 0; p < a[0].out * a[1].out * a[2].out; p++, at++) {
        int64_t o[3] = {p / (a[1].out * a[2].out), p / a[2].out % a[1].out, p % a[2].out};
        double sum = 0, most = -(double)INFINITY;
        int inside = 0, counted = 0;
        for (int64_t tap = 0; tap < a[0].kernel * a[1].kernel * a[2].kernel; tap++) {
          int64_t k[3] = {tap / (a[1].kernel * a[2].kernel), tap / a[2].kernel % a[1].kernel, tap % a[2].kernel}, i = 0;
          bool data = true, padded = true;
          for (int j = 0; j < 3; j++) {
            int64_t q = o[j] * a[j].stride + k[j] * a[j].dilation; /* in padded data */
            padded = padded && q < a[j].begin + a[j].in + a[j].end;
            data = data && q >= a[j].begin && q < a[j].begin + a[j].in;
            i = i * a[j].in + q - a[j].begin;
          }
          counted += padded;
          if (!data)
            continue;
          double v = tensor_get(t, nc * volume + i);
          inside++;
          sum += v;
          most = v > most ? v : most;
        }
        double want = mean ? sum / (include ? counted : inside) : most, is = tensor_get(got, at);
        ck_assert_msg(is_number(is, want) || fabs(is - want) <= 1e-6 * fabs(want) + 1e-9,
                      "round %d, element %d: %g, %g", round, (int)at, is, want);
      }
  }
}
END_TEST

START_TEST(layouts) {
  Module *m =
      parse_well(ctx, op_function(ctx, "%x: f32[1,8,4,4]@acdb", "max_pool2d(%x) {kernel = [2, 2]}", "f32[1,8,3,3]"));
  ck_assert_str_eq(planned_layout(ctx, m), "acdb");
}
END_TEST

Suite *suite_pool(void);
Suite *suite_pool(void) {
  Suite *s = suite_create("pool");
  TCase *t = family_tests("pool", good, COUNT(good), bad, COUNT(bad));
  tcase_add_loop_test(t, values, 0, (int)COUNT(valued));
  tcase_add_loop_test(t, indices, 0, (int)COUNT(places));
  tcase_add_test(t, random_windows);
  tcase_add_test(t, layouts);
  suite_add_tcase(s, t);
  return s;
}
