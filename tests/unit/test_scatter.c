/* scatter_elements and scatter_nd: types, refusals, values by hand at every stage, several updates of one element in
 * their order, indices out of range, layouts. */
#include "op_help.h"

static Ctx *ctx;
static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}
#define COUNT(a) (sizeof(a) / sizeof *(a))

static const TypeCase good[] = {
    {"%x: f32[4,5], %i: i64[2,3], %u: f32[2,3]", "scatter_elements(%x, %i, %u) {axis = 1}", "f32[4,5]"},
    {"%x: f32[4,5], %i: i32[9,5], %u: f32[9,5]", "scatter_elements(%x, %i, %u) {reduction = mul}", "f32[4,5]"},
    {"%x: bool[4], %i: u8[0], %u: bool[0]", "scatter_elements(%x, %i, %u) {axis = -1, reduction = add}", "bool[4]"},
    {"%x: f16[4,5], %i: i64[2,1], %u: f16[2,5]", "scatter_nd(%x, %i, %u)", "f16[4,5]"},
    {"%x: i8[4,5], %i: i64[2,3,2], %u: i8[2,3]", "scatter_nd(%x, %i, %u) {reduction = max}", "i8[4,5]"},
    {"%x: u64[4,5], %i: i64[2], %u: u64[]", "scatter_nd(%x, %i, %u) {reduction = min}", "u64[4,5]"},
    {"%x: f32[N,5], %i: i64[M,1], %u: f32[M,5]", "scatter_nd(%x, %i, %u)", "f32[N,5]"},
};

START_TEST(types) {
  expect_type(ctx, &good[_i]);
}
END_TEST

static const TypeCase bad[] = {
    {"%x: f32[4], %i: f32[4], %u: f32[4]", "scatter_elements(%x, %i, %u)",
     "scatter_elements: operand 'indices' is f32[4], expected integers within i64"},
    {"%x: f32[4], %i: u64[4], %u: f32[4]", "scatter_elements(%x, %i, %u)", "operand 'indices' is u64[4]"},
    {"%x: f32[4], %i: i64[4], %u: f64[4]", "scatter_elements(%x, %i, %u)",
     "operand 'updates' is f64[4], but operand 'data' is f32[4]"},
    {"%x: f32[4], %i: i64[4], %u: f32[3]", "scatter_elements(%x, %i, %u)", "indices are i64[4] and updates f32[3]"},
    {"%x: f32[4,5], %i: i64[5,5], %u: f32[5,5]", "scatter_elements(%x, %i, %u) {axis = 1}",
     "no larger than data, which is f32[4,5], but along axis 1"},
    {"%x: f32[4], %i: i64[1,4], %u: f32[1,4]", "scatter_elements(%x, %i, %u)", "equal shapes of data's rank"},
    {"%x: f32[4], %i: i64[4], %u: f32[4]", "scatter_elements(%x, %i, %u) {axis = 1}", "'axis' is 1, expected an axis"},
    {"%x: f32[4], %i: i64[4], %u: f32[4]", "scatter_elements(%x, %i, %u) {reduction = sum}",
     "expected one of none|add|mul|max|min, found 'sum'"},
    {"%x: f32[4,5], %i: i64[2,3], %u: f32[2]", "scatter_nd(%x, %i, %u)",
     "indices are i64[2,3] and updates f32[2], which does not fit data, f32[4,5]"},
    {"%x: f32[4,5], %i: i64[2,1], %u: f32[2,4]", "scatter_nd(%x, %i, %u)", "updates f32[2,4], which does not fit"},
    {"%x: f32[4,5], %i: i64[], %u: f32[4,5]", "scatter_nd(%x, %i, %u)", "indices are i64[]"},
    {"%x: f32[4,5], %i: i64[2,0], %u: f32[2,4,5]", "scatter_nd(%x, %i, %u)", "indices are i64[2,0]"},
};

START_TEST(refused) {
  expect_refusal(ctx, &bad[_i]);
}
END_TEST

/* ---- values ---- */

typedef struct {
  TypeCase op;
  double x[12], indices[12], updates[12], expected[12];
} ValueCase;

#define ROW "%x: f32[4], %i: i64[5], %u: f32[5]"
static const ValueCase valued[] = {
    {{ROW, "scatter_elements(%x, %i, %u)", "f32[4]"},
     {1, 2, 3, 4},
     {1, -1, 1, 3, 1},
     {10, 20, 30, 40, 50},
     {1, 50, 3, 40}},
    {{ROW, "scatter_elements(%x, %i, %u) {reduction = add}", "f32[4]"},
     {1, 2, 3, 4},
     {1, -1, 1, 3, 1},
     {10, 20, 30, 40, 50},
     {1, 92, 3, 64}},
    {{ROW, "scatter_elements(%x, %i, %u) {reduction = mul}", "f32[4]"},
     {1, 2, 3, 4},
     {1, -1, 1, 3, 1},
     {10, 2, 0.5, 4, 5},
     {1, 50, 3, 32}},
    {{ROW, "scatter_elements(%x, %i, %u) {reduction = max}", "f32[4]"},
     {1, NAN, 3, 4},
     {1, -1, 0, 3, 2},
     {10, 20, NAN, 40, -50},
     {NAN, NAN, 3, 40}},
    {{ROW, "scatter_elements(%x, %i, %u) {reduction = min}", "f32[4]"},
     {1, 2, 3, 4},
     {0, 1, 2, 1, 1},
     {0.5, 5, 3, -7, -6},
     {0.5, -7, 3, 4}},
    /* in their order: 2^24 + 1 is 2^24, and once more */
    {{ROW, "scatter_elements(%x, %i, %u) {reduction = add}", "f32[4]"},
     {0x1p24, 0, 0, 0},
     {0, 0, 1, 1, 1},
     {1, 1, 1, 1, 0x1p24},
     {0x1p24, 0x1p24 + 2, 0, 0}},
    {{"%x: u8[2,3], %i: i32[2,2], %u: u8[2,2]", "scatter_elements(%x, %i, %u) {axis = 1, reduction = mul}", "u8[2,3]"},
     {1, 2, 3, 4, 5, 6},
     {2, 2, -3, 1},
     {10, 10, 100, 7},
     {1, 2, 300 - 256, 400 - 256, 35, 6}},
    {{"%x: bool[4], %i: i64[5], %u: bool[5]", "scatter_elements(%x, %i, %u) {reduction = add}", "bool[4]"},
     {1, 0, 1, 0},
     {0, 1, 2, 3, 3},
     {1, 0, 0, 1, 1},
     {1, 0, 1, 1}},
    {{"%x: bool[4], %i: i64[5], %u: bool[5]", "scatter_elements(%x, %i, %u) {reduction = mul}", "bool[4]"},
     {1, 0, 1, 1},
     {0, 1, 2, 3, 3},
     {1, 1, 0, 1, 1},
     {1, 0, 0, 1}},
    {{"%x: i32[3,2]@ba, %i: i64[2,1], %u: i32[2,2]", "scatter_nd(%x, %i, %u)", "i32[3,2]"},
     {1, 2, 3, 4, 5, 6},
     {-1, 0},
     {10, 20, 30, 40},
     {30, 40, 3, 4, 10, 20}},
    {{"%x: i64[3,2], %i: i8[4,2], %u: i64[4]", "scatter_nd(%x, %i, %u) {reduction = add}", "i64[3,2]"},
     {1, 2, 3, 4, 5, 6},
     {0, 1, 2, -2, 0, -1, -2, 0},
     {10, 20, 30, 40},
     {1, 42, 43, 4, 25, 6}},
    {{"%x: f64[3], %i: i64[1], %u: f64[]", "scatter_nd(%x, %i, %u) {reduction = max}", "f64[3]"},
     {1, 2, 3},
     {1},
     {5},
     {1, 5, 3}},
    {{"%x: f16[2], %i: i64[3,1], %u: f16[3]", "scatter_nd(%x, %i, %u) {reduction = add}", "f16[2]"},
     {2048, 1},
     {0, 0, 1},
     {1, 1, 1},
     {2048, 2}}, /* rounded after each */
};

START_TEST(values) {
  const ValueCase *c = &valued[_i];
  Module *m = parse_well(ctx, op_function(ctx, c->op.params, c->op.op, c->op.result));
  const Tensor *in[3] = {param_tensor(m, 0, c->x), param_tensor(m, 1, c->indices), param_tensor(m, 2, c->updates)};
  expect_everywhere(m, in, in[0]->n, c->expected);
}
END_TEST

/* ---- out of range: status 3 at every stage, naming the op ---- */

START_TEST(out_of_range) {
  static const int64_t wrong[] = {4, -5, INT64_MAX, INT64_MIN};
  static const char *const ops[] = {"scatter_elements(%x, %i, %u)", "scatter_nd(%x, %i, %u)"};
  bool nd = _i % 2;
  const char *params = nd ? "%x: f32[4], %i: i64[2,1], %u: f32[2]" : "%x: f32[4], %i: i64[2], %u: f32[2]";
  Module *m = parse_well(ctx, op_function(ctx, params, ops[nd], "f32[4]"));
  Tensor *in[3] = {param_tensor(m, 0, (double[4]){0}), param_tensor(m, 1, (double[2]){0}),
                   param_tensor(m, 2, (double[2]){0})},
         *out = NULL;
  ((int64_t *)in[1]->data)[1] = wrong[_i / 2];
  ck_assert(!eval_function(m, m->main, (const Tensor *const *)in, &out, NULL));
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
  ck_assert_msg(strstr(diag_text(ctx->diags, false), "is out of range: axis 0 of data has extent 4"), "%s",
                diag_text(ctx->diags, false));
  Unit unit = {.ctx = ctx, .module = m};
  Pipeline pipeline = {0};
  PipelineOptions options = {.verify_each = true};
  Str log = str_new(ctx->arena);
  ck_assert(pipeline_parse(ctx, &all_passes, "lower{vector-bytes=32,registers=16},plan", &pipeline) &&
            pipeline_run(&unit, &all_passes, &pipeline, &options, &log));
  CodegenOptions cg = {.cpu = cpu_targets, .prefix = "weft_model", .poison = true};
  Jit *jit = jit_open(unit.loops, &cg);
  ck_assert_ptr_nonnull(jit);
  float y[4];
  ck_assert_int_eq(weft_rt_run(jit_model(jit), (const void *[]){in[0]->data, in[1]->data, in[2]->data}, (void *[]){y}),
                   3);
  ck_assert_msg(strstr(weft_rt_error(), nd ? "out of range in scatter_nd" : "out of range in scatter_elements"), "%s",
                weft_rt_error());
  jit_close(jit);
}
END_TEST

START_TEST(layouts) {
  Module *m = parse_well(
      ctx, op_function(ctx, "%x: f32[4,6]@ba, %i: i64[2,6], %u: f32[2,6]", "scatter_elements(%x, %i, %u)", "f32[4,6]"));
  ck_assert_str_eq(planned_layout(ctx, m), "ba");
  m = parse_well(ctx, op_function(ctx, "%x: f32[4,6,2]@cab, %i: i64[3,1], %u: f32[3,6,2]", "scatter_nd(%x, %i, %u)",
                                  "f32[4,6,2]"));
  ck_assert_str_eq(planned_layout(ctx, m), "cab");
}
END_TEST

Suite *suite_scatter(void);
Suite *suite_scatter(void) {
  Suite *s = suite_create("scatter");
  TCase *t = tcase_create("scatter");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, types, 0, (int)COUNT(good));
  tcase_add_loop_test(t, refused, 0, (int)COUNT(bad));
  tcase_add_loop_test(t, values, 0, (int)COUNT(valued));
  tcase_add_loop_test(t, out_of_range, 0, 8);
  tcase_add_test(t, layouts);
  suite_add_tcase(s, t);
  return s;
}
