/* concat, pad and gather: types, refusals, values against answers of numpy, layout plans; and that a variadic op and an
 * attribute that is a word print as they parse. */
#include "ir/layout_plan.h"
#include "text_help.h"

static Ctx *ctx;
static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

static const char *function(const char *params, const char *op, const char *result) {
  return arena_printf(ctx->arena, "weft 1 model \"m\"\nfunc @main(%s) -> (y: %s) {\n  %%y = %s : %s\n  return %%y\n}\n",
                      params, result, op, result);
}

typedef struct {
  const char *params, *op, *result; /* result: the type, or what the refusal says */
} TypeCase;

static const TypeCase good[] = {
    {"%x: f32[2,3], %z: f32[2,5]", "concat(%x, %z) {axis = 1}", "f32[2,8]"},
    {"%x: f32[2,3], %z: f32[0,3]", "concat(%x, %z, %x, %x) {axis = -2}", "f32[6,3]"},
    {"%x: u8[2]", "concat(%x) {axis = 0}", "u8[2]"},
    {"%x: f32[N,3], %z: f32[N,4]", "concat(%x, %z) {axis = 1}", "f32[N,7]"},
    {"%x: f32[N,3], %z: f32[2,3]", "concat(%x, %z) {axis = 0}", "f32[N + 2,3]"},
    {"%x: f32[2,3]", "pad(%x) {padding = [1, 2, 3, 4]}", "f32[6,9]"},
    {"%x: f32[2,3]", "pad(%x) {padding = [-1, 2, 0, -4]}", "f32[1,1]"},
    {"%x: f32[2,3]", "pad(%x) {padding = [-2, 0, 0, 0], mode = edge}", "f32[0,3]"},
    {"%x: i32[0,3]", "pad(%x) {padding = [1, 0, 1, 0], value = 7.0}", "i32[2,3]"},
    {"%x: f32[]", "pad(%x) {padding = [], mode = wrap}", "f32[]"},
    {"%x: f32[4,5], %i: i64[2,3]", "gather(%x, %i)", "f32[2,3,5]"},
    {"%x: f32[4,5], %i: i32[2]", "gather(%x, %i) {axis = -1}", "f32[4,2]"},
    {"%x: bool[4,5], %i: u8[]", "gather(%x, %i) {axis = 1}", "bool[4]"},
};

START_TEST(types) {
  const TypeCase *c = &good[_i];
  const char *text = function(c->params, c->op, c->result);
  Module *m = parse_well(ctx, text);
  ck_assert_str_eq(type_text(ctx, m->main->last->result->type), c->result);
  const char *printed = print(m, false, false);
  ck_assert_ptr_nonnull(strstr(printed, c->op));
  Ctx *other = ctx_create();
  ck_assert_str_eq(print(parse_well(other, printed), false, false), printed);
  ctx_destroy(other);
}
END_TEST

static const TypeCase bad[] = {
    {"%x: f32[2,3], %z: f32[3,3]", "concat(%x, %z) {axis = 1}",
     "concat: part 1 is f32[3,3], which does not fit part 0, f32[2,3]"},
    {"%x: f32[2,3], %z: f64[2,3]", "concat(%x, %z) {axis = 1}", "concat: part 1 is f64[2,3]"},
    {"%x: f32[2,3], %z: f32[2]", "concat(%x, %z) {axis = 0}", "concat: part 1 is f32[2]"},
    {"%x: f32[2,3]", "concat(%x) {axis = 2}", "'axis' is 2, expected an axis of a tensor of rank 2: -2 to 1"},
    {"%x: f32[]", "concat(%x, %x) {axis = 0}", "'axis' is 0"},
    {"%x: f32[2,3]", "concat(%x)", "concat: attribute 'axis' is required"},
    {"%x: f32[2,3]", "concat() {axis = 0}", "concat: 0 operands given, expected 1 or more"},
    {"%x: f32[2,3]", "concat(%x, null, %x) {axis = 0}", "operand 2, 'parts', is missing"},
    {"%x: f32[2,3]", "pad(%x) {padding = [1, 2]}", "'padding' has 2 numbers, expected 4: begins, then ends"},
    {"%x: f32[2,3]", "pad(%x) {padding = [-1, 0, -2, 0]}", "the result's shape [-1,3] is impossible"},
    {"%x: f32[2,3]", "pad(%x) {padding = [1, 2, 3, 4], mode = symmetric}",
     "expected one of constant|reflect|edge|wrap, found 'symmetric'"},
    {"%x: f32[2,3]", "pad(%x) {padding = [1, 2, 3, 4], mode = 1}",
     "expected one of constant|reflect|edge|wrap, found '1'"},
    {"%x: f32[0,3]", "pad(%x) {padding = [1, 0, 0, 0], mode = edge}",
     "axis 0 of x, which is f32[0,3], may have no elements"},
    {"%x: i32[2]", "pad(%x) {padding = [1, 0], value = 0.5}", "'value' is 0.5, expected an integer: x is i32[2]"},
    {"%x: f32[2]", "pad(%x) {padding = [9223372036854775807, 1]}", "'padding' holds 9223372036854775807"},
    {"%x: f32[2], %i: f32[2]", "gather(%x, %i)", "operand 'indices' is f32[2], expected integers"},
    {"%x: f32[2], %i: i64[2]", "gather(%x, %i) {axis = 1}", "'axis' is 1"},
    {"%x: f32[2,2,2,2,2], %i: i64[2,2,2,2,2]", "gather(%x, %i)", "the result has rank 9, at most 8"},
};

START_TEST(refused) {
  const TypeCase *c = &bad[_i];
  ck_assert_ptr_null(parse(ctx, function(c->params, c->op, "f32[1]")));
  ck_assert_msg(strstr(diag_text(ctx->diags, false), c->result) != NULL, "%s", diag_text(ctx->diags, false));
}
END_TEST

/* ---- values ---- */

/* Parameter k counts up from 100*k; the last one has these numbers where they are given. */
static bool eval(Module *m, const int *last, Tensor **out) {
  const Tensor *in[4];
  size_t n = m->main->params.len;
  for (size_t k = 0; k < n; k++) {
    Tensor *t = tensor_of_type(ctx, m->main->params.data[k]->type);
    for (int64_t j = 0; j < t->n; j++)
      tensor_set(t, j, last && k + 1 == n ? last[j] : (double)(100 * (int64_t)k + j));
    in[k] = t;
  }
  return eval_function(m, m->main, in, out, NULL);
}

typedef struct {
  const char *params, *op, *result;
  int last[6], values[24];
} ValueCase;

static const ValueCase valued[] = {
    {"%x: f32[2,2], %z: i32[1]", "concat(%x, %x) {axis = 1}", "f32[2,4]", {0}, {0, 1, 0, 1, 2, 3, 2, 3}},
    {"%x: i64[2,1,2], %z: i64[2,2,2]",
     "concat(%z, %x) {axis = 1}",
     "i64[2,3,2]",
     {0},
     {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 3}},
    {"%x: f32[2,3], %z: i32[1]",
     "pad(%x) {padding = [1, -1, 0, 2], value = 9.0}",
     "f32[3,4]",
     {0},
     {9, 9, 9, 9, 1, 2, 9, 9, 4, 5, 9, 9}},
    {"%x: i8[3], %z: i32[1]", "pad(%x) {padding = [2, 3], mode = edge}", "i8[8]", {0}, {0, 0, 0, 1, 2, 2, 2, 2}},
    {"%x: u16[3], %z: i32[1]",
     "pad(%x) {padding = [4, 4], mode = wrap}",
     "u16[11]",
     {0},
     {2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0}},
    {"%x: f64[3], %z: i32[1]",
     "pad(%x) {padding = [5, 6], mode = reflect}",
     "f64[14]",
     {0},
     {1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0}},
    {"%x: f32[1], %z: i32[1]", "pad(%x) {padding = [1, 2], mode = reflect}", "f32[4]", {0}, {0, 0, 0, 0}},
    {"%x: f32[2,2], %z: i32[1]",
     "pad(%x) {padding = [1, -1, 0, 2], mode = reflect}",
     "f32[3,3]",
     {0},
     {3, 2, 3, 1, 0, 1, 3, 2, 3}},
    {"%x: f32[3,2], %i: i64[3]", "gather(%x, %i)", "f32[3,2]", {2, -3, -1}, {4, 5, 0, 1, 4, 5}},
    {"%x: i64[2,3], %i: i32[1,2]", "gather(%x, %i) {axis = 1}", "i64[2,1,2]", {-1, 0}, {2, 0, 5, 3}},
};

START_TEST(values) {
  const ValueCase *c = &valued[_i];
  Tensor *y;
  ck_assert_msg(eval(parse_well(ctx, function(c->params, c->op, c->result)), c->last, &y), "%s",
                diag_text(ctx->diags, false));
  for (int64_t k = 0; k < y->n; k++)
    ck_assert_msg(tensor_get(y, k) == c->values[k], "element %d is %g", (int)k, tensor_get(y, k));
}
END_TEST

START_TEST(gather_out_of_range) {
  static const int wrong[][1] = {{3}, {-4}};
  Tensor *y;
  ck_assert(!eval(parse_well(ctx, function("%x: f32[3,2], %i: i64[1]", "gather(%x, %i)", "f32[1,2]")), wrong[_i], &y));
  ck_assert_msg(strstr(diag_text(ctx->diags, false), "is out of range: axis 0 of data has extent 3"), "%s",
                diag_text(ctx->diags, false));
}
END_TEST

/* ---- layouts ---- */

typedef struct {
  const char *params, *op, *result, *layout;
} LayoutCase;

static const LayoutCase planned[] = {
    {"%x: f32[1,8,2,2]@acdb, %z: f32[1,3,2,2]", "concat(%x, %z) {axis = 1}", "f32[1,11,2,2]", "acdb"},
    {"%x: f32[4,6]@ba", "pad(%x) {padding = [1, 1, 1, 1]}", "f32[6,8]", "ba"},
    {"%x: f32[4,6]@ba", "slice(%x) {begins = [1], ends = [3]}", "f32[2,6]", "ba"},
    {"%x: f32[1,5,1,7]@dcba", "reshape(%x) {shape = [5, 7, 1]}", "f32[5,7,1]", "cba"},
    {"%x: f32[5,7]@ba", "reshape(%x) {shape = [35]}", "f32[35]", "a"},
    /* Axes split and merged keep their places: those of heads, of a channel shuffle and of a picture made flat. */
    {"%x: f32[2,8,3,5]@acdb", "reshape(%x) {shape = [2, 8, 15]}", "f32[2,8,15]", "acb"},
    {"%x: f32[2,8,15]@acb", "reshape(%x) {shape = [2, 8, 3, 5]}", "f32[2,8,3,5]", "acdb"},
    {"%x: f32[2,8,3,5]@acdb", "reshape(%x) {shape = [2, 2, 4, 3, 5]}", "f32[2,2,4,3,5]", "adebc"},
    {"%x: f32[2,4,2,3,5]@adecb", "reshape(%x) {shape = [2, 8, 3, 5]}", "f32[2,8,3,5]", "acdb"},
    {"%x: f32[2,8,3,5]", "reshape(%x) {shape = [2, 4, 2, 15]}", "f32[2,4,2,15]", "abcd"},
    {"%x: f32[0,3]@ba", "reshape(%x) {shape = [5, 0]}", "f32[5,0]", "ab"},
    {"%x: f32[4,5,6]@cba, %i: i32[2,3]", "gather(%x, %i) {axis = 1}", "f32[4,2,3,6]", "dbca"},
};

static const char *planned_tag(const Module *m, const char *blocked) {
  const Op *op = m->main->last;
  LayoutPlan plan = layout_plan_of(ctx, op);
  const char *why;
  if (blocked)
    plan.operand[0] = layout_parse(ctx, op->operands[0]->type->rank, blocked, strlen(blocked), &why);
  op->def->layout(ctx, op, &plan);
  Str tag = str_new(ctx->arena);
  layout_print(&tag, plan.result);
  return tag.data;
}

START_TEST(layouts) {
  const LayoutCase *c = &planned[_i];
  ck_assert_str_eq(planned_tag(parse_well(ctx, function(c->params, c->op, c->result)), NULL), c->layout);
}
END_TEST

/* Blocks are kept where no part begins within one, and on axes whose extents stay. */
START_TEST(blocked_layouts) {
  const char *parts = "%x: f32[1,16,2], %z: f32[1,3,2]";
  Module *m = parse_well(ctx, function(parts, "concat(%x, %z) {axis = 1}", "f32[1,19,2]"));
  ck_assert_str_eq(planned_tag(m, "aBc8b"), "aBc8b");
  m = parse_well(ctx, function(parts, "concat(%z, %x) {axis = 1}", "f32[1,19,2]"));
  ck_assert_str_eq(planned_tag(m, "aBc8b"), "abc");
  m = parse_well(ctx, function("%x: f32[1,16,2]", "pad(%x) {padding = [0, 0, 1, 0, 0, 1]}", "f32[1,16,4]"));
  ck_assert_str_eq(planned_tag(m, "aBC8b2c"), "aBc8b");
}
END_TEST

Suite *suite_movement(void);
Suite *suite_movement(void) {
  Suite *s = suite_create("movement");
  TCase *t = tcase_create("movement");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, types, 0, (int)COUNT(good));
  tcase_add_loop_test(t, refused, 0, (int)COUNT(bad));
  tcase_add_loop_test(t, values, 0, (int)COUNT(valued));
  tcase_add_loop_test(t, gather_out_of_range, 0, 2);
  tcase_add_loop_test(t, layouts, 0, (int)COUNT(planned));
  tcase_add_test(t, blocked_layouts);
  suite_add_tcase(s, t);
  return s;
}
