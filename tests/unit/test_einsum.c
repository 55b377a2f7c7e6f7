/* einsum: types, refusals, values by hand in every stage, random equations against loops written apart. */
#include "op_help.h"

static Ctx *ctx;
static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

static const TypeCase good[] = {
    {"%a: f32[2,3], %b: f32[3,5]", "einsum(%a, %b) {equation = \"ij,jk->ik\"}", "f32[2,5]"},
    {"%a: f32[2,3], %b: f32[3,5]", "einsum(%a, %b) {equation = \" kj , ji \"}", "f32[5,2]"},
    {"%a: f32[2,3]", "einsum(%a) {equation = \"bA\"}", "f32[3,2]"}, /* capitals first */
    {"%a: f64[4,4,2]", "einsum(%a) {equation = \"iij\"}", "f64[2]"},
    {"%a: f16[7,2,3], %b: f16[1,3,5]", "einsum(%a, %b) {equation = \"...ij,...jk\"}", "f16[7,2,5]"},
    {"%a: i32[7,2,3], %b: i32[3]", "einsum(%a, %b) {equation = \"...j,j->...\"}", "i32[7,2]"},
    {"%a: f32[7,2,3]", "einsum(%a) {equation = \"i...->...\"}", "f32[2,3]"},
    {"%a: f32[], %b: f32[]", "einsum(%a, %b) {equation = \",->\"}", "f32[]"},
    {"%a: f32[2], %b: f32[3], %c: f32[4]", "einsum(%a, %b, %c) {equation = \"i,j,k->kij\"}", "f32[4,2,3]"},
    {"%a: f32[N,3], %b: f32[3,5]", "einsum(%a, %b) {equation = \"ij,jk->ki\"}", "f32[5,N]"},
};
START_TEST(types) {
  expect_type(ctx, &good[_i]);
}
END_TEST

static const TypeCase bad[] = {
    {"%a: f32[2,3]", "einsum(%a)", "attribute 'equation' is required"},
    {"%a: f32[2,3]", "einsum(%a) {equation = 3}", "a text in quotes"},
    {"%a: f32[2,3]", "einsum(%a) {equation = \"ij,jk\"}", "'ij,jk': it is of 2 operands, but 1 are given"},
    {"%a: f32[2,3]", "einsum(%a) {equation = \"ij->il\"}", "axis 'l' of the result is in no operand"},
    {"%a: f32[2,3]", "einsum(%a) {equation = \"ij->ii\"}", "the result has an axis twice"},
    {"%a: f32[2,3]", "einsum(%a) {equation = \"i\"}", "it names 1 axes of operand 1, which is f32[2,3]"},
    {"%a: f32[2,3]", "einsum(%a) {equation = \"ijk...\"}", "it names 3 axes of operand 1, which is f32[2,3]"},
    {"%a: f32[2,3]", "einsum(%a) {equation = \"i......\"}", "'...' stands twice in one term"},
    {"%a: f32[2,3]", "einsum(%a) {equation = \"i.j\"}", "character 2 is neither a letter"},
    {"%a: f32[2,3]", "einsum(%a) {equation = \"ij-ji\"}", "character 3 is a '-' without '>'"},
    {"%a: f32[2,3]", "einsum(%a) {equation = \"ij->i->j\"}", "more than one term behind '->'"},
    {"%a: f32[2,3]", "einsum(%a) {equation = \"ii\"}",
     "operand 1, which is f32[2,3], has extent 3 where another has 2"},
    {"%a: f32[2,3], %b: f32[4,5]", "einsum(%a, %b) {equation = \"ij,jk\"}",
     "operand 2, which is f32[4,5], has extent 4 where another has 3"},
    {"%a: f32[2,3], %b: f64[3,5]", "einsum(%a, %b) {equation = \"ij,jk\"}", "they must be the same"},
    {"%a: bool[2]", "einsum(%a) {equation = \"i\"}", "has element type bool; this op takes floats and integers"},
    {"%a: f32[1,1,1,1,1], %b: f32[1,1,1,1,1]", "einsum(%a, %b) {equation = \"abcde,fghij\"}",
     "the result has more than 8 axes"},
    {"%a: f32[1]", "einsum(%a, %a, %a, %a, %a, %a, %a, %a, %a) {equation = \"a,a,a,a,a,a,a,a,a\"}",
     "more than 8 operands; split it"},
    {"%a: f32[30000,30000], %b: f32[30000,30000]", "einsum(%a, %b, %a, %a, %a) {equation = \"ab,cd,ef,gh,ij->\"}",
     "more than 2^63 products"},
};
START_TEST(refused) {
  expect_refusal(ctx, &bad[_i]);
}
END_TEST

typedef struct {
  const char *params, *equation, *result;
  double a[8], b[8], out[8];
} ValueCase;

static const ValueCase valued[] = {
    {"%a: f32[2,3], %b: f32[3,2]", "ij,jk->ik", "f32[2,2]", {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, {22, 28, 49, 64}},
    {"%a: f32[2,3]@ba, %b: f32[2]", "ij,i->j", "f32[3]", {1, 2, 3, 4, 5, 6}, {1, 10}, {41, 52, 63}},
    {"%a: f32[2,2], %b: f32[2,2]", "ii,ij->ij", "f32[2,2]", {2, 9, 9, 3}, {1, 2, 3, 4}, {2, 4, 9, 12}},
    {"%a: f64[2,1], %b: f64[1,3]", "...,...->...", "f64[2,3]", {2, 3}, {1, 10, 100}, {2, 20, 200, 3, 30, 300}},
    {"%a: f32[2,1], %b: f32[2,3]", "ij,ij->", "f32[]", {2, 3}, {1, 2, 3, 4, 5, 6}, {57}}, /* j of a stretches */
    {"%a: f32[0,2], %b: f32[2]", "ij,j->j", "f32[2]", {0}, {1, 2}, {0, 0}},
    {"%a: i8[2], %b: i8[2]", "i,i", "i8[]", {100, 3}, {2, 20}, {4}}, /* 260 wraps */
    {"%a: u8[1], %b: u8[1]", "i,j->ij", "u8[1,1]", {255}, {2}, {254}},
    /* in f32: 2048 + 1 + 1 */
    {"%a: f16[3], %b: f16[3]", "i,i", "f16[]", {2048, 1, 1}, {1, 1, 1}, {2050}},
    {"%a: bf16[3], %b: bf16[3]", "i,i", "bf16[]", {256, 1, 1}, {1, 1, 1}, {258}},
};
START_TEST(values) {
  const ValueCase *c = &valued[_i];
  const char *op = arena_printf(ctx->arena, "einsum(%%a, %%b) {equation = \"%s\"}", c->equation);
  Module *m = parse_well(ctx, op_function(ctx, c->params, op, c->result));
  const Tensor *in[2] = {param_tensor(m, 0, c->a), param_tensor(m, 1, c->b)};
  expect_everywhere(m, in, tensor_of_type(ctx, m->main->last->result->type)->n, c->out);
}
END_TEST

START_TEST(one_and_three_operands) {
  Module *m = parse_well(ctx, op_function(ctx, "%a: f32[3,3]", "einsum(%a) {equation = \"ii->i\"}", "f32[3]"));
  const Tensor *one = param_tensor(m, 0, (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
  expect_everywhere(m, &one, 3, (double[]){1, 5, 9});
  m = parse_well(ctx, op_function(ctx, "%a: f32[2], %b: f32[2,2], %c: f32[2]",
                                  "einsum(%a, %b, %c) {equation = \"i,ij,j\"}", "f32[]"));
  const Tensor *in[3] = {param_tensor(m, 0, (double[]){1, 2}), param_tensor(m, 1, (double[]){1, 2, 3, 4}),
                         param_tensor(m, 2, (double[]){5, 6})};
  expect_everywhere(m, in, 1, (double[]){95});
  m = parse_well(ctx, op_function(ctx, "%a: f32[2]", "einsum(%a, %a, %a) {equation = \"i,i,i\"}", "f32[]"));
  const Tensor *cubed = param_tensor(m, 0, (double[]){2, 3});
  expect_everywhere(m, &cubed, 1, (double[]){35});
}
END_TEST

START_TEST(long_sums) { /* along neighbours in memory, more than fill any vectors; whole numbers are exact */
  Module *m = parse_well(
      ctx, op_function(ctx, "%a: f32[3,75], %b: f32[2,75]", "einsum(%a, %b) {equation = \"ij,kj->ik\"}", "f32[3,2]"));
  double a[225], b[150], out[6] = {0};
  for (int k = 0; k < 225; k++)
    a[k] = k % 11 - 5;
  for (int k = 0; k < 150; k++)
    b[k] = k % 7 - 2;
  for (int k = 0; k < 6; k++)
    for (int j = 0; j < 75; j++)
      out[k] += a[k / 2 * 75 + j] * b[k % 2 * 75 + j];
  const Tensor *in[2] = {param_tensor(m, 0, a), param_tensor(m, 1, b)};
  expect_everywhere(m, in, 6, out);
}
END_TEST

/* ---- random equations of two operands over the labels a..e ---- */

#define LABELS 5

typedef struct {
  int rank, label[4];
} Side;

static Side random_side(uint64_t *state) {
  Side s = {.rank = (int)random_below(state, 5)};
  for (int k = 0; k < s.rank; k++)
    s.label[k] = (int)random_below(state, LABELS);
  return s;
}

static const char *side_text(const Side *s) {
  Str text = str_new(ctx->arena);
  for (int k = 0; k < s->rank; k++)
    str_putc(&text, (char)('a' + s->label[k]));
  return text.data ? text.data : "";
}

static const char *side_shape(const Side *s, const int *extent) {
  Str text = str_new(ctx->arena);
  for (int k = 0; k < s->rank; k++)
    str_printf(&text, "%s%d", k ? "," : "", extent[s->label[k]]);
  return text.data ? text.data : "";
}

static int64_t side_at(const Side *s, const int *extent, const int *index) {
  int64_t at = 0;
  for (int k = 0; k < s->rank; k++)
    at = at * extent[s->label[k]] + index[s->label[k]];
  return at;
}

START_TEST(random_equations) { /* at most 256 products of numbers below 1: rtol 1e-5, atol 1e-5 in f32 */
  uint64_t state = random_seed("random_equations");
  for (int round = 0; round < 40; round++) {
    Side a = random_side(&state), b = random_side(&state), out = {0};
    int extent[LABELS], index[LABELS];
    bool used[LABELS] = {false};
    for (int k = 0; k < LABELS; k++)
      extent[k] = 1 + (int)random_below(&state, 4);
    for (int k = 0; k < a.rank; k++)
      used[a.label[k]] = true;
    for (int k = 0; k < b.rank; k++)
      used[b.label[k]] = true;
    for (int k = LABELS; k-- > 0;)
      if (used[k] && out.rank < 4 && random_below(&state, 2) == 0)
        out.label[out.rank++] = k;
    for (int k = 0; k < LABELS; k++)
      extent[k] = used[k] ? extent[k] : 1;
    const char *params =
        arena_printf(ctx->arena, "%%a: f32[%s], %%b: f32[%s]", side_shape(&a, extent), side_shape(&b, extent));
    const char *op = arena_printf(ctx->arena, "einsum(%%a, %%b) {equation = \"%s,%s->%s\"}", side_text(&a),
                                  side_text(&b), side_text(&out));
    const char *result = arena_printf(ctx->arena, "f32[%s]", side_shape(&out, extent));
    Module *m = parse_well(ctx, op_function(ctx, params, op, result));
    double x[256], y[256], sum[256] = {0};
    for (int k = 0; k < 256; k++) {
      x[k] = (double)((float)random_below(&state, 2000) / 1000 - 1);
      y[k] = (double)((float)random_below(&state, 2000) / 1000 - 1);
    }
    int total = 1;
    for (int k = 0; k < LABELS; k++)
      total *= extent[k];
    for (int point = 0; point < total; point++) {
      for (int k = 0, rest = point; k < LABELS; k++) {
        index[k] = rest % extent[k];
        rest /= extent[k];
      }
      sum[side_at(&out, extent, index)] += x[side_at(&a, extent, index)] * y[side_at(&b, extent, index)];
    }
    const Tensor *in[2] = {param_tensor(m, 0, x), param_tensor(m, 1, y)};
    Tensor *reference = evaluate_op(m, in), *compiled = run_op(m, in, NULL);
    for (int64_t k = 0; k < reference->n; k++) {
      ck_assert_msg(fabs(tensor_get(reference, k) - sum[k]) <= 1e-6 * fabs(sum[k]) + 1e-9, "%s: reference", op);
      ck_assert_msg(fabs(tensor_get(compiled, k) - sum[k]) <= 1e-5 * fabs(sum[k]) + 1e-5, "%s: compiled", op);
    }
  }
}
END_TEST

START_TEST(layouts) { /* a constant, or what is read often, has the result's last axis last */
  const char *text = "weft 1 model \"m\"\nconst @b : f32[3,2] = [1, 2, 3, 4, 5, 6]\n"
                     "func @main(%a: f32[4,2]) -> (y: f32[4,3]) {\n  %b = constant() {value = @b} : f32[3,2]\n"
                     "  %y = einsum(%a, %b) {equation = \"ij,kj->ik\"} : f32[4,3]\n  return %y\n}\n";
  Module *m = parse_well(ctx, text);
  const Op *op = m->main->last;
  LayoutPlan plan = layout_plan_of(ctx, op);
  op->def->layout(ctx, op, &plan);
  ck_assert_ptr_eq(plan.operand[0], layout_row_major(ctx, 2));
  ck_assert_ptr_eq(plan.operand[1], layout_permutation(ctx, 2, (int[]){1, 0}));
  ck_assert_ptr_eq(plan.result, layout_row_major(ctx, 2));
}
END_TEST

Suite *suite_einsum(void);
Suite *suite_einsum(void) {
  Suite *s = suite_create("einsum");
  TCase *t = tcase_create("einsum");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, types, 0, (int)COUNT(good));
  tcase_add_loop_test(t, refused, 0, (int)COUNT(bad));
  tcase_add_loop_test(t, values, 0, (int)COUNT(valued));
  tcase_add_test(t, one_and_three_operands);
  tcase_add_test(t, long_sums);
  tcase_add_test(t, random_equations);
  tcase_add_test(t, layouts);
  suite_add_tcase(s, t);
  return s;
}
