/* Composite ops against independent loops in double, through the reference evaluation and through expanded, compiled
 * code. Tolerance: |a - b| <= 2e-6 + 2e-6*|b| for the reference (intermediate values are rounded to f32), 1e-5 +
 * 1e-5*|b| compiled. */
#include <check.h>

#include "op_help.h"

#define N 2
#define C 6
#define H 3
#define W 5
#define SIZE (N * C * H * W)

static double x[SIZE], scale[SIZE], bias[SIZE], expected[SIZE];

/* Numbers that are no round ones, the same in every run. */
static void make_numbers(void) {
  for (int k = 0; k < SIZE; k++) {
    x[k] = (float)(sin(1.7 * k) * 3 + 0.01 * k);
    scale[k] = (float)(1 + 0.3 * cos(k));
    bias[k] = (float)(0.2 * sin(3.0 * k));
  }
}

static double *at(double *v, int n, int c, int h, int w) {
  return &v[((n * C + c) * H + h) * W + w];
}

typedef void Formula(void);

static void formula_softmax(void) {
  for (int n = 0; n < N; n++)
    for (int h = 0; h < H; h++)
      for (int w = 0; w < W; w++) {
        double sum = 0;
        for (int c = 0; c < C; c++)
          sum += exp(*at(x, n, c, h, w));
        for (int c = 0; c < C; c++)
          *at(expected, n, c, h, w) = exp(*at(x, n, c, h, w)) / sum;
      }
}

static void formula_log_softmax(void) {
  formula_softmax();
  for (int k = 0; k < SIZE; k++)
    expected[k] = log(expected[k]);
}

/* Normalises runs of `length` consecutive numbers. */
static void normalise(int length, double epsilon) {
  for (int start = 0; start < SIZE; start += length) {
    double mean = 0, variance = 0;
    for (int k = 0; k < length; k++)
      mean += x[start + k] / length;
    for (int k = 0; k < length; k++)
      variance += (x[start + k] - mean) * (x[start + k] - mean) / length;
    for (int k = 0; k < length; k++)
      expected[start + k] = (x[start + k] - mean) / sqrt(variance + epsilon);
  }
}

static void scale_channels(void) {
  for (int k = 0; k < SIZE; k++) {
    int c = k / (H * W) % C;
    expected[k] = expected[k] * scale[c] + bias[c];
  }
}

static void formula_instance_norm(void) {
  normalise(H * W, 0.1);
  scale_channels();
}

static void formula_group_norm(void) {
  normalise(C / 3 * H * W, 1e-5);
  scale_channels();
}

static void formula_layer_norm(void) {
  normalise(H * W, 1e-5);
  for (int k = 0; k < SIZE; k++)
    expected[k] = expected[k] * scale[k % (H * W)] + bias[k % (H * W)];
}

static void formula_layer_norm_bare(void) {
  normalise(W, 1e-5);
  for (int k = 0; k < SIZE; k++)
    expected[k] *= scale[k % W];
}

static void reduce_rows(double (*of)(double)) {
  for (int r = 0; r < SIZE / W; r++) {
    expected[r] = 0;
    for (int w = 0; w < W; w++)
      expected[r] += of(x[r * W + w]);
  }
}

static double square(double v) {
  return v * v;
}
static void formula_l1(void) {
  reduce_rows(fabs);
}
static void formula_sum_square(void) {
  reduce_rows(square);
}
static void formula_l2(void) {
  reduce_rows(square);
  for (int r = 0; r < SIZE / W; r++)
    expected[r] = sqrt(expected[r]);
}

static const struct {
  const char *params, *op, *type;
  int64_t results;
  Formula *formula;
} cases[] = {
    {"%x: f32[2,6,3,5]", "softmax(%x) {axis = 1}", "f32[2,6,3,5]", SIZE, formula_softmax},
    {"%x: f32[2,6,3,5]@acdb", "softmax(%x) {axis = -3}", "f32[2,6,3,5]@acdb", SIZE, formula_softmax},
    {"%x: f32[2,6,3,5]", "log_softmax(%x) {axis = 1}", "f32[2,6,3,5]", SIZE, formula_log_softmax},
    {"%x: f32[2,6,3,5], %s: f32[6], %b: f32[6]", "instance_norm(%x, %s, %b) {epsilon = 0.1}", "f32[2,6,3,5]", SIZE,
     formula_instance_norm},
    {"%x: f32[2,6,3,5]@acdb, %s: f32[6], %b: f32[6]", "group_norm(%x, %s, %b) {groups = 3}", "f32[2,6,3,5]", SIZE,
     formula_group_norm},
    {"%x: f32[2,6,3,5], %s: f32[3,5], %b: f32[3,5]", "layer_norm(%x, %s, %b) {axis = 2}", "f32[2,6,3,5]", SIZE,
     formula_layer_norm},
    {"%x: f32[2,6,3,5], %s: f32[5]", "layer_norm(%x, %s)", "f32[2,6,3,5]", SIZE, formula_layer_norm_bare},
    {"%x: f32[2,6,3,5]", "reduce_l1(%x) {axes = [3]}", "f32[2,6,3,1]", SIZE / W, formula_l1},
    {"%x: f32[2,6,3,5]", "reduce_l2(%x) {axes = [3], keepdims = 0}", "f32[2,6,3]", SIZE / W, formula_l2},
    {"%x: f32[2,6,3,5]", "reduce_sum_square(%x) {axes = [3]}", "f32[2,6,3,1]", SIZE / W, formula_sum_square},
};
#define N_CASES (int)(sizeof cases / sizeof *cases)

static void expect_close(const Tensor *got, int64_t n, double tolerance) {
  ck_assert_int_eq(got->n, n);
  for (int64_t k = 0; k < n; k++) {
    double v = tensor_get(got, k);
    ck_assert_msg(fabs(v - expected[k]) <= tolerance + tolerance * fabs(expected[k]), "[%d] is %.9g, expected %.9g",
                  (int)k, v, expected[k]);
  }
}

static void expand(Module *m) {
  Unit unit = {.ctx = m->ctx, .module = m};
  Pipeline pipeline = {0};
  PipelineOptions options = {.verify_each = true};
  Str log = str_new(m->ctx->arena);
  ck_assert_msg(pipeline_parse(m->ctx, &all_passes, "expand-composites,infer-layout", &pipeline) &&
                    pipeline_run(&unit, &all_passes, &pipeline, &options, &log),
                "%s", diag_text(m->ctx->diags, false));
  for (const Op *op = m->main->first; op; op = op->next)
    ck_assert(!(op->def->traits & OP_COMPOSITE));
}

START_TEST(test_numbers) {
  make_numbers();
  cases[_i].formula();
  Ctx *ctx = ctx_create();
  Module *m = parse_well(ctx, op_function(ctx, cases[_i].params, cases[_i].op, cases[_i].type));
  const double *values[3] = {x, scale, bias};
  const Tensor *in[3];
  for (size_t k = 0; k < m->main->params.len; k++)
    in[k] = param_tensor(m, k, values[k]);
  expect_close(evaluate_op(m, in), cases[_i].results, 2e-6);
  expand(m);
  Tensor *interpreted;
  expect_close(run_op(m, in, &interpreted), cases[_i].results, 1e-5);
  expect_close(interpreted, cases[_i].results, 1e-5);
  ctx_destroy(ctx);
}
END_TEST

/* Sums of f16 numbers are kept in f32 and rounded once: 2049 ones beyond f16's integers are counted right. */
START_TEST(test_half) {
  Ctx *ctx = ctx_create();
  Module *m = parse_well(ctx, op_function(ctx, "%x: f16[1,4098]", "reduce_l1(%x) {axes = [1]}", "f16[1,1]"));
  Tensor *t = tensor_of_type(ctx, m->main->params.data[0]->type);
  for (int64_t k = 0; k < t->n; k++)
    tensor_set(t, k, -1);
  const Tensor *in[1] = {t};
  ck_assert_double_eq(tensor_get(evaluate_op(m, in), 0), 4096); /* 4098 rounded to f16: ties to even */
  expand(m);
  ck_assert_double_eq(tensor_get(run_op(m, in, NULL), 0), 4096);
  ctx_destroy(ctx);
}
END_TEST

static const TypeCase refusals[] = {
    {"%x: f32[2,3]", "softmax(%x) {axis = 2}", "softmax: axis is 2, expected -2 to 1 for a tensor of rank 2"},
    {"%x: f32[2,3,4], %s: f32[3], %b: f32[3]", "group_norm(%x, %s, %b) {groups = 5}",
     "group_norm: f32[2,3,4] does not divide"},
    {"%x: f32[2,3,4], %s: f32[4], %b: f32[3]", "instance_norm(%x, %s, %b)", "broadcast"},
    {"%x: f32[N,3]", "softmax(%x)", "softmax of dynamic dimensions"},
};

START_TEST(test_refusals) {
  Ctx *ctx = ctx_create();
  expect_refusal(ctx, &refusals[_i]);
  ctx_destroy(ctx);
}
END_TEST

Suite *suite_composite(void);
Suite *suite_composite(void) {
  Suite *s = suite_create("composite");
  TCase *t = tcase_create("composite");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, test_numbers, 0, N_CASES);
  tcase_add_test(t, test_half);
  tcase_add_loop_test(t, test_refusals, 0, (int)(sizeof refusals / sizeof *refusals));
  suite_add_tcase(s, t);
  return s;
}
