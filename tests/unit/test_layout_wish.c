/* Layout wishes: how they are read, which one holds for an op, and what its letters mean there. */
#include <check.h>

#include "graph_util.h"
#include "passes/layout_assign.h"

static Graph g;

static void setup(void) {
  g = graph_new();
}
static void teardown(void) {
  ctx_destroy(g.ctx);
}

/* "OP=DATA:KERNEL:OUT,..." as options. */
static int options_of(const char *text, PassOption *out) {
  int n = 0;
  while (*text) {
    size_t all = strcspn(text, ","), key = strcspn(text, "=");
    ck_assert(key < all && n < 8);
    out[n++] = (PassOption){intern_strn(g.ctx, text, key), intern_strn(g.ctx, text + key + 1, all - key - 1)};
    text += all + (text[all] == ',');
  }
  return n;
}

static int parse_well(const char *text, LayoutWish **wishes) {
  PassOption options[8];
  int n = options_of(text, options);
  if (!layout_wishes_parse(g.ctx, options, n, wishes))
    ck_abort_msg("expected '%s' to parse: %s", text, diag_text(g.ctx->diags, false));
  return n;
}

static Op *op_of(OpCode code) {
  return op_create(g.ctx, &op_table[code], NULL, 0, (Loc){"test.weft", 7, 3, "n"});
}

static const char *tag(const Layout *layout) {
  if (!layout)
    return "none";
  Str s = str_new(g.ctx->arena);
  layout_print(&s, layout);
  return s.data;
}

/* "data kernel out" for an op under these wishes, as tags. */
static const char *plan_of(const char *text, OpCode code) {
  LayoutWish *wishes;
  int n = parse_well(text, &wishes);
  LayoutPlan plan = {0};
  if (!layout_wish_for(g.ctx, wishes, n, op_of(code), &plan))
    ck_abort_msg("%s: %s", text, diag_text(g.ctx->diags, false));
  return arena_printf(g.ctx->arena, "%s %s %s", tag(plan.wish_data), tag(plan.wish_kernel), tag(plan.wish_out));
}

START_TEST(test_parts) {
  LayoutWish *w;
  ck_assert_int_eq(parse_well("conv2d=NHWC:HWIO:NCHW,conv1d=NHWC,conv3d=:HWIO,*=::NHWC", &w), 4);
  ck_assert_str_eq(w[0].pattern, "conv2d");
  ck_assert_str_eq(w[0].data, "NHWC");
  ck_assert_str_eq(w[0].kernel, "HWIO");
  ck_assert_str_eq(w[0].out, "NCHW");
  ck_assert(w[1].data && !w[1].kernel && !w[1].out);
  ck_assert(!w[2].data && w[2].kernel && !w[2].out);
  ck_assert(!w[3].data && !w[3].kernel && w[3].out);
}
END_TEST

static const struct {
  const char *text, *error;
} bad[] = {
    {"conv2=NHWC", "layout wish 'conv2=NHWC': no such op, did you mean 'conv2d'?"},
    {"gemm*=NHWC", "no op has this name"},
    {"relu=NHWC", "this op has no data layout of its own"},
    {"broad*=NHWC", "this op has no data layout of its own"},
    {"conv2d=", "no layout is given"},
    {"conv2d=::", "no layout is given"},
    {"conv2d=NHWC:HWIO:NHWC:", "more than three layouts"},
    {"conv2d=NHWC:HWIO:NHWC:NHWC", "more than three layouts"},
    {"max_pool2d=NHWC:HWIO", "layout wish 'max_pool2d=NHWC:HWIO': this op has no kernel"},
    {"*pool*=:HWIO", "this op has no kernel"},
    {"conv2d=NXYZ", "data 'NXYZ' is not a layout; expected the letters NCHW in any order, with blocks as in NCHW8c"},
    {"conv2d=NHWC:H WIO", "'H WIO' is not a layout"},
    {"conv2d=NHWC:HWIO:aBcd", "'aBcd' is not a layout"},
    {"conv2d=8", "'8' has not the spatial axes of any such op"},
    {"conv3d=NWC", "'NWC' has not the spatial axes of any such op"},
    {"conv2d*=NHWC:DHWIO", "'DHWIO' has not the spatial axes of any such op"},
    /* Whether the model has such an op or not. */
    {"conv2d=NHWCC", "data 'NHWCC' is wrong: axis 'C' is there twice; expected the letters NCHW in any order"},
    {"*=NHWCC", "data 'NHWCC' is wrong: axis 'C' is there twice; expected the letters NCHW in any order"},
    {"conv1d=NHWCC", "data 'NHWCC' is wrong: axis 'C' is there twice; expected the letters NCW in any order"},
    {"conv3d=NDHW", "data 'NDHW' is wrong: axis 'C' is missing; expected the letters NCDHW in any order"},
    {"conv2d=HW", "data 'HW' is wrong: axis 'N' is missing"},
    {"conv2d=NHWC:NHWC", "kernel 'NHWC' is wrong: 'N' is none of the axes OIHW; expected the letters OIHW in any order"},
    {"conv2d_transpose=:NHWC", "kernel 'NHWC' is wrong: 'N' is none of the axes IOHW; expected the letters IOHW in any order"},
    {"conv2d=HWIO", "data 'HWIO' is wrong: the layout of a kernel, which stands second, as in conv2d=:HWIO"},
    {"conv2d=NHWC:HWIO:OIHW", "out 'OIHW' is wrong: the layout of a kernel, which stands second"},
    {"conv2d=NCHW0c", "data 'NCHW0c' is wrong: a block size or divisor is 0"},
    {"conv2d=NCHW1c", "data 'NCHW1c' is wrong: a block of size 1 is no block"},
    {"conv2d=NCHW8i", "data 'NCHW8i' is wrong: 'i' is none of the axes NCHW"},
    {"conv2d=NHW8c", "data 'NHW8c' is wrong: axis 'C' has blocks, but its capital 'C' is missing"},
    {"conv2d=NCHW99999999999999999999c", "a block size or divisor is out of range: at most 1048576"},
};

START_TEST(test_parse_errors) {
  PassOption options[8];
  LayoutWish *wishes;
  ck_assert(!layout_wishes_parse(g.ctx, options, options_of(bad[_i].text, options), &wishes));
  expect_error(&g, WEFT_USAGE, bad[_i].error);
}
END_TEST

/* Wishes, an op, and what it gets. */
static const struct {
  const char *text;
  OpCode code;
  const char *expected;
} plans[] = {
    /* Kernels go by the op's own axes: O, I, spatial for a convolution, I, O, spatial for a transposed one. */
    {"conv2d=NHWC:HWIO:NCHW", OP_CONV2D, "acdb cdba abcd"},
    {"conv2d_transpose=NHWC:HWIO", OP_CONV2D_TRANSPOSE, "acdb cdab none"},
    {"conv2d=:OIHW", OP_CONV2D, "none abcd none"},
    {"conv2d=::NHWC", OP_CONV2D, "none none acdb"},
    /* Blocks. */
    {"*=NCHW8c", OP_CONV2D, "aBcd8b none none"},
    {"*=NCHW8c:OIHW8i16o", OP_CONV2D, "aBcd8b ABcd8b16a none"},
    {"*=NCHW8c:OIHW8i16o", OP_CONV2D_TRANSPOSE, "aBcd8b BAcd8a16b none"},
    {"*=NCHW4c2c", OP_CONV2D, "aBcd4b2b none none"},
    {"*=NCHW4h", OP_CONV2D, "abCd4c none none"},
    /* Two spatial axes as written hold for one and three. */
    {"*=NHWC:HWIO", OP_CONV1D, "acb cba none"},
    {"*=NHWC:HWIO", OP_CONV3D, "acdeb cdeba none"},
    {"*=NCHW8c:OIHW8i16o", OP_CONV1D, "aBc8b ABc8b16a none"},
    {"*=NCHW8c:OIHW8i16o", OP_CONV3D_TRANSPOSE, "aBcde8b BAcde8a16b none"},
    {"*=NCHW4h", OP_CONV1D, "abc none none"},
    /* With D it is for three only, without H for one only; the parts of a wish are apart. */
    {"*=NDHWC", OP_CONV3D, "acdeb none none"},
    {"*=NDHWC", OP_CONV2D, "none none none"},
    {"*=NWC", OP_CONV1D, "acb none none"},
    {"*=NWC", OP_CONV3D, "none none none"},
    {"conv*=NHWC:DHWIO", OP_CONV2D, "acdb none none"},
    {"conv*=NHWC:DHWIO", OP_CONV3D, "acdeb cdeba none"},
    {"conv*=NWC:HWIO", OP_CONV2D, "none cdba none"},
    /* The most specific pattern, whatever the order. */
    {"*=NCHW8c,conv2d=NHWC", OP_CONV2D, "acdb none none"},
    {"conv2d=NHWC,*=NCHW8c", OP_CONV2D, "acdb none none"},
    {"conv2d=NHWC,*=NCHW8c", OP_CONV1D, "aBc8b none none"},
    {"conv2d*=NHWC,conv*=NCHW8c,c*=NCHW", OP_CONV2D_TRANSPOSE, "acdb none none"},
    {"conv?d=NHWC,conv2d*=NCHW8c", OP_CONV2D, "aBcd8b none none"},
    {"*_transpose=NHWC,conv2d*=NCHW8c", OP_CONV2D_TRANSPOSE, "acdb none none"},
    /* A pattern that does not hold for the rank does not hide one that does. */
    {"conv*=NDHWC,*=NCHW8c", OP_CONV2D, "aBcd8b none none"},
    /* Equal weight, the same meaning. */
    {"conv*d=NHWC,con*2d=NHWC", OP_CONV2D, "acdb none none"},
    {"*=NHWC,*=NDHWC", OP_CONV3D, "acdeb none none"},
    {"*=NHWC,*=NDHWC", OP_CONV2D, "acdb none none"},
    {"*=NWC,*=NDHWC,*=NCHW", OP_CONV2D, "abcd none none"},
    /* Ops without roles get none. */
    {"*=NHWC", OP_RELU, "none none none"},
    {"conv*=NHWC", OP_TRANSPOSE, "none none none"},
};

START_TEST(test_plan) {
  ck_assert_str_eq(plan_of(plans[_i].text, plans[_i].code), plans[_i].expected);
}
END_TEST

static const struct {
  const char *text, *error;
} refused[] = {
    {"conv*d=NHWC,con*2d=NCHW", "layout wishes 'conv*d' and 'con*2d' are equally specific for conv2d and disagree"},
    {"conv2d=NHWC,conv2d=NHWC:HWIO", "equally specific for conv2d and disagree"},
    {"conv2d=NHWC::NCHW,conv2d=NHWC::NHWC", "equally specific for conv2d and disagree"},
    {"*=NHWC,*=NCHW", "equally specific for conv2d and disagree"},
};

START_TEST(test_refused) {
  LayoutWish *wishes;
  int n = parse_well(refused[_i].text, &wishes);
  LayoutPlan plan = {0};
  ck_assert(!layout_wish_for(g.ctx, wishes, n, op_of(OP_CONV2D), &plan));
  expect_error(&g, WEFT_USAGE, refused[_i].error);
  ck_assert_ptr_nonnull(strstr(diag_text(g.ctx->diags, false), "test.weft:7:3")); /* at the op */
}
END_TEST

/* Letters for two spatial axes that one more makes too many for an op of three. */
START_TEST(test_too_many_digits) {
  LayoutWish *wishes;
  int n = parse_well("conv*=NCHW2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c", &wishes);
  LayoutPlan plan = {0};
  ck_assert(layout_wish_for(g.ctx, wishes, n, op_of(OP_CONV2D), &plan));
  ck_assert(!layout_wish_for(g.ctx, wishes, n, op_of(OP_CONV3D), &plan));
  expect_error(&g, WEFT_USAGE, "does not fit conv3d, whose axes here are NCDHW: more than 24 digits");
}
END_TEST

Suite *suite_layout_wish(void);
Suite *suite_layout_wish(void) {
  Suite *s = suite_create("layout_wish");
  TCase *t = tcase_create("layout_wish");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, test_parts);
  tcase_add_loop_test(t, test_parse_errors, 0, sizeof bad / sizeof *bad);
  tcase_add_loop_test(t, test_plan, 0, sizeof plans / sizeof *plans);
  tcase_add_loop_test(t, test_refused, 0, sizeof refused / sizeof *refused);
  tcase_add_test(t, test_too_many_digits);
  suite_add_tcase(s, t);
  return s;
}
