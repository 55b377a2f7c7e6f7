/* The graph passes. What each does to a given graph first, then what all must keep on random graphs: the module stays
 * well-formed and every output the same, bit for bit, since layouts and folding change no arithmetic. */
#include "lower/loop_passes.h"
#include "random_graph.h"
#include "text_help.h"

static Graph g;

static void setup(void) {
  g = (Graph){.ctx = ctx_create()};
}
static void teardown(void) {
  ctx_destroy(g.ctx);
}

static bool run_on(Module *m, const char *passes) {
  Unit unit = {.ctx = m->ctx, .module = m};
  Pipeline pipeline = {0};
  PipelineOptions options = {.verify_each = true};
  Str log = str_new(m->ctx->arena);
  return pipeline_parse(m->ctx, &all_passes, passes, &pipeline) &&
         pipeline_run(&unit, &all_passes, &pipeline, &options, &log);
}

#define HEAD "weft 1 model \"m\"\n"

/* Runs the passes on the text and gives the text of what comes out. */
static const char *after(const char *passes, const char *text) {
  g.m = parse_well(g.ctx, text);
  g.f = g.m->main;
  ck_assert(module_verify(g.m));
  if (!run_on(g.m, passes))
    ck_abort_msg("%s: %s", passes, diag_text(g.ctx->diags, false));
  return graph_text(g.m);
}

static void expect_text(const char *passes, const char *text, const char *expected) {
  ck_assert_str_eq(after(passes, text), expected);
}

static Op *made(const char *name) {
  Value *v = function_find_value(g.f, name);
  ck_assert_ptr_nonnull(v);
  ck_assert_ptr_nonnull(v->def);
  return v->def;
}

static int count_ops(OpCode code) {
  int n = 0;
  for (const Op *op = g.f->first; op; op = op->next)
    n += op->def->code == code;
  return n;
}

static int count_constants(void) {
  int n = 0;
  for (const Constant *c = g.m->first_constant; c; c = c->next)
    n++;
  return n;
}

/* ---- fold-constants ---- */

START_TEST(test_fold_chain) {
  expect_text("fold-constants,dce",
              HEAD "const @a : f32[2,2]@ba = [1.0, -2.0, 3.0, -4.0]\nfunc @f(%x: f32[2,2]) -> (y: f32[2,2]) {\n"
                   "%a = constant() {value = @a} : f32[2,2]@ba\n%r = relu(%a) : f32[2,2]\n"
                   "%t = transpose(%r) {perm = [1, 0]} : f32[2,2]\n%m = mul(%t, %a) : f32[2,2]@ba\n"
                   "%y = add(%x, %m) : f32[2,2]\nreturn %y\n}",
              HEAD "const @m : f32[2,2]@ba = [1.0, -6.0, 0.0, -0.0]\nfunc @f(%x: f32[2,2]) -> (y: f32[2,2]) {\n"
                   "  %m.1 = constant() {value = @m} : f32[2,2]@ba\n  %y = add(%x, %m.1) : f32[2,2]\n  return %y\n}\n");
}
END_TEST

START_TEST(test_fold_returned) {
  after("fold-constants,dce", HEAD "const @a : f32[2] = [1.0, -2.0]\nfunc @f() -> (y: f32[2]) {\n"
                                   "%a = constant() {value = @a} : f32[2]\n%y = relu(%a) : f32[2]\nreturn %y\n}");
  ck_assert_int_eq(g.f->results.data[0].value->def->def->code, OP_CONSTANT);
  ck_assert_int_eq(count_constants(), 1);
}
END_TEST

/* A tensor with an unknown operand, or with dynamic dimensions, is left alone. */
START_TEST(test_fold_leaves) {
  after("fold-constants", HEAD "const @a : f32[2] = [1.0, -2.0]\nfunc @f(%x: f32[2]) -> (y: f32[2], z: f32[2]) {\n"
                               "%a = constant() {value = @a} : f32[2]\n%y = add(%a, %x) : f32[2]\n"
                               "%z = relu(%x) : f32[2]\nreturn %y, %z\n}");
  ck_assert_int_eq(made("y")->def->code, OP_ADD);
  ck_assert_int_eq(made("z")->def->code, OP_RELU);
}
END_TEST

/* Copies of one constant in one layout are one derived constant. */
START_TEST(test_fold_copies) {
  after("fold-constants,dce",
        HEAD "const @a : f32[2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\nfunc @f(%x: f32[2,3]) -> (y: f32[2,3]) {\n"
             "%a = constant() {value = @a} : f32[2,3]\n%p = relayout(%a) : f32[2,3]@ba\n"
             "%q = relayout(%a) : f32[2,3]@ba\n%r = relayout(%p) : f32[2,3]@aB2b:zero\n%s = add(%x, %p) : f32[2,3]\n"
             "%t = add(%s, %q) : f32[2,3]\n%y = add(%t, %r) : f32[2,3]\nreturn %y\n}");
  ck_assert_int_eq(count_ops(OP_RELAYOUT), 0);
  ck_assert_int_eq(count_constants(), 3); /* the base and two layouts */
  for (const Constant *c = g.m->first_constant->next; c; c = c->next)
    ck_assert_ptr_eq(c->base, g.m->first_constant);
}
END_TEST

/* A chain of views is followed a few steps, whatever its length: no recursion as deep as the text is long. */
START_TEST(test_fold_views) {
  Str s = str_new(g.ctx->arena);
  str_put(&s, HEAD "const @a : f32[1] = [1.0]\nfunc @f() -> (y: f32[1]) {\n%v0 = constant() {value = @a} : f32[1]\n");
  int n = 50000;
  for (int k = 0; k < n; k++)
    str_printf(&s, "%%v%d = broadcast(%%v%d) {axes = [0], shape = [1]} : f32[1]\n", k + 1, k);
  str_printf(&s, "%%y = relu(%%v%d) : f32[1]\nreturn %%y\n}", n);
  after("fold-constants", s.data);
  ck_assert_int_eq(made("y")->def->code, OP_RELU);
}
END_TEST

/* Work is bounded over all ops together, not for each. */
START_TEST(test_fold_budget) {
  Str s = str_new(g.ctx->arena);
  str_put(&s, HEAD "const @a : f32[1] = [0.5]\nfunc @f(%x: f32[1]) -> (y: f32[1]) {\n"
                   "%a = constant() {value = @a} : f32[1]\n"
                   "%b = broadcast(%a) {axes = [0], shape = [2000, 1500]} : f32[2000,1500]\n");
  for (int k = 0; k < 100; k++)
    str_printf(&s, "%%t%d = transpose(%%b) {perm = [1, 0]} : f32[1500,2000]\n", k);
  str_put(&s, "return %x\n}");
  after("fold-constants", s.data);
  ck_assert_int_eq(count_ops(OP_CONSTANT) - 1, 2); /* 3,000,000 elements read and as many made */
  ck_assert_int_eq(count_ops(OP_TRANSPOSE), 98);
}
END_TEST

/* ---- dce ---- */

START_TEST(test_dce_cascade) {
  after("dce", HEAD "const @a : f32[2] = [1.0, 2.0]\nconst @b : f32[2] = [1.0, 2.0]\n"
                    "func @f(%x: f32[2]) -> (y: f32[2]) {\n%a = constant() {value = @a} : f32[2]\n"
                    "%b = constant() {value = @b} : f32[2]\n%p = add(%x, %a) : f32[2]\n%q = add(%p, %p) : f32[2]\n"
                    "%r = mul(%q, %b) : f32[2]\n%y = relu(%b) : f32[2]\nreturn %y\n}");
  ck_assert_int_eq(count_ops(OP_ADD) + count_ops(OP_MUL), 0);
  ck_assert_int_eq(count_constants(), 1);
  ck_assert_str_eq(g.m->first_constant->name, "b");
  ck_assert_ptr_eq(g.m->last_constant, g.m->first_constant);
}
END_TEST

START_TEST(test_dce_all_constants) {
  after("dce", HEAD "const @a : f32[2] = [1.0, 2.0]\nconst @d : f32[2] = relayout(@a)\n"
                    "func @f(%x: f32[2]) -> (y: f32[2]) {\nreturn %x\n}");
  ck_assert_ptr_null(g.m->first_constant);
  ck_assert_ptr_null(g.m->last_constant);
  /* The list is in order: a new one is the first. */
  module_add_constant(g.m, "n", F32(g.ctx, 1), arena_alloc(g.ctx->arena, 4), LOC_NONE);
  ck_assert_int_eq(count_constants(), 1);
}
END_TEST

/* As many constants as a text may hold take neither a deep recursion nor quadratic time. */
START_TEST(test_dce_many_constants) {
  Str s = str_new(g.ctx->arena);
  str_put(&s, HEAD);
  for (int k = 0; k < 100000; k++)
    str_printf(&s, "const @c%d : f32[1] = [1.0]\n", k);
  str_put(&s, "func @f(%x: f32[2]) -> (y: f32[2]) {\nreturn %x\n}");
  after("dce", s.data);
  ck_assert_int_eq(count_constants(), 0);
}
END_TEST

/* ---- legalize ---- */

START_TEST(test_legalize_lists_all) {
  g.m = parse_well(g.ctx, HEAD "dim N in 1..8\nfunc @f(%x: f32[N], %z: i32[2]) -> (y: f32[N], w: i32[1,2]) {\n"
                               "%y = relu(%x) : f32[N]\n"
                               "%w = broadcast(%z) {axes = [1], shape = [1, 2]} : i32[1,2]\nreturn %y, %w\n}");
  ck_assert(!run_on(g.m, "legalize"));
  ck_assert_uint_eq(diag_count(g.ctx->diags), 2);
  ck_assert_int_eq(diag_status(g.ctx->diags), WEFT_UNSUPPORTED);
  const char *text = diag_text(g.ctx->diags, false);
  ck_assert_ptr_nonnull(strstr(text, "t.weft:3:9: error: %x has dynamic dimensions, f32[N]"));
  ck_assert_ptr_nonnull(strstr(text, "t.weft:4:1: error: %y has dynamic dimensions, f32[N]"));
}
END_TEST

START_TEST(test_legalize_copies) {
  after("legalize", HEAD "func @f(%x: f32[2,3]) -> (y: f32[2,3], z: f32[2,3]@ba) {\n%a = relayout(%x) : f32[2,3]\n"
                         "%b = relayout(%a) : f32[2,3]\n%z = relayout(%b) : f32[2,3]@ba\nreturn %b, %z\n}");
  ck_assert_int_eq(count_ops(OP_RELAYOUT), 1);
  ck_assert_ptr_eq(g.f->results.data[0].value, g.f->params.data[0]);
}
END_TEST

/* ---- fuse ---- */

START_TEST(test_fuse_marks) {
  after("fuse", HEAD "func @f(%x: f32[1,2,4], %k: f32[2,2,1], %z: f32[1,2,4]) -> (y: f32[1,2,4]) {\n"
                     "%c = conv1d(%x, %k) : f32[1,2,4]\n%t = tanh(%z) : f32[1,2,4]\n%u = tanh(%t) : f32[1,2,4]\n"
                     "%a = add(%u, %c) : f32[1,2,4]\n%y = relu(%a) : f32[1,2,4]\nreturn %y\n}");
  ck_assert_ptr_null(made("t")->fused); /* of a parameter */
  ck_assert_ptr_eq(made("u")->fused, made("t")->result);
  ck_assert_ptr_eq(made("a")->fused, made("c")->result); /* the contraction, though it is the second operand */
  ck_assert_ptr_eq(made("y")->fused, made("a")->result);
}
END_TEST

/* A second run, and a run after other passes, marks the same. */
START_TEST(test_fuse_again) {
  const char *text = HEAD "func @f(%x: f32[4]) -> (y: f32[4]) {\n%a = relu(%x) : f32[4]\n%b = tanh(%a) : f32[4]\n"
                          "%y = add(%b, %x) : f32[4]\nreturn %y\n}";
  const char *once = after("fuse", text);
  ck_assert_str_eq(after("fuse,fuse", text), once);
  ck_assert_str_eq(after("infer-layout,fuse,dce,legalize,fuse", text), once);
}
END_TEST

START_TEST(test_fuse_bounds) {
  Str s = str_new(g.ctx->arena);
  str_put(&s, HEAD "func @f(%v0: f32[4]) -> (y: f32[4]) {\n");
  for (int k = 0; k < 500; k++)
    str_printf(&s, "%%v%d = %s(%%v%d) : f32[4]\n", k + 1, k % 3 ? "leaky_relu" : "tanh", k);
  str_put(&s, "return %v500\n}");
  after("fuse", s.data);
  int longest = 0, length = 0;
  for (const Op *op = g.f->first; op; op = op->next) {
    length = op->fused ? length + 1 : 1;
    longest = length > longest ? length : longest;
  }
  ck_assert_int_gt(longest, 3);
  ck_assert_int_le(longest, 16);
  ck_assert(run_on(g.m, "lower,plan"));
}
END_TEST

/* ---- layouts ---- */

/* A copy of the value is made once and stands before all that read it. */
START_TEST(test_convert_shares) {
  after("convert-layout{conv1d=NHWC:HWIO}", HEAD
        "func @f(%x: f32[1,2,4], %k: f32[2,2,1]) -> (y: f32[1,2,4], z: f32[1,2,4]) {\n"
        "%y = conv1d(%x, %k) : f32[1,2,4]\n%z = conv1d(%x, %k) {padding = [1, -1]} : f32[1,2,4]\nreturn %y, %z\n}");
  ck_assert_int_eq(count_ops(OP_RELAYOUT), 2);
  ck_assert_ptr_eq(made("y")->operands[0], made("z")->operands[0]);
  ck_assert_ptr_eq(made("y")->operands[1], made("z")->operands[1]);
}
END_TEST

/* What the boundary asks for holds whatever the wishes: the result's type is the caller's. */
START_TEST(test_convert_boundary) {
  after("convert-layout{*=NHWC::NCHW2c}",
        HEAD "func @f(%x: f32[1,4,5], %k: f32[4,4,1]) -> (y: f32[1,4,5], z: f32[1,4,5]@acb, w: f32[1,4,5]) {\n"
             "%y = conv1d(%x, %k) : f32[1,4,5]\n%z = relayout(%y) : f32[1,4,5]@acb\nreturn %y, %z, %x\n}");
  for (size_t k = 0; k < g.f->results.len; k++)
    ck_assert_ptr_eq(g.f->results.data[k].value->type, g.f->results.data[k].type);
  ck_assert(!layout_is_permutation(made("y")->result->type->layout));
}
END_TEST

/* ---- random graphs ---- */

static void expect_same(Module *m, const Tensor *const *inputs, Tensor *const *expected, const char *pass) {
  Tensor **got = evaluate(m, inputs);
  for (size_t k = 0; k < m->main->results.len; k++) {
    const FuncResult *r = &m->main->results.data[k];
    ck_assert_ptr_eq(r->value->type, r->type);
    if (got[k]->n != expected[k]->n || memcmp(got[k]->data, expected[k]->data, (size_t)got[k]->n * 4) != 0)
      ck_abort_msg("result %d differs after %s:\n%s", (int)k, pass, graph_text(m));
  }
}

static const char *random_pass(void) {
  static const char *const passes[] = {"infer-layout",
                                       "convert-layout{*=NHWC:HWIO}",
                                       "convert-layout{*=NCHW4c:OIHW2i}",
                                       "convert-layout{conv2d*=NHWC::NCHW2c,conv*=NCHW}",
                                       "convert-layout{*=NCHW2w4c:OIHW4o2h}",
                                       "fold-constants",
                                       "canonicalize",
                                       "cse",
                                       "dce",
                                       "add-halos{always}",
                                       "legalize",
                                       "fuse"};
  return passes[random_in(0, COUNT(passes) - 1)];
}

START_TEST(test_random_keeps_results) {
  start_random(41);
  for (int round = 0; round < 2000; round++) {
    RandomGraph r = random_graph((int)random_in(2, 16));
    const Tensor **inputs = random_inputs(r.g.ctx, r.g.f);
    Tensor **expected = evaluate(r.g.m, inputs);
    for (int64_t k = random_in(2, 6); k > 0; k--) {
      const char *pass = random_pass();
      if (!run_on(r.g.m, pass))
        ck_abort_msg("%s: %s\n%s", pass, diag_text(r.g.ctx->diags, false), graph_text(r.g.m));
      expect_same(r.g.m, inputs, expected, pass);
    }
    ctx_destroy(r.g.ctx);
  }
}
END_TEST

/* What the help of each pass promises. */
START_TEST(test_random_promises) {
  start_random(42);
  int n_convolutions = 0;
  for (int round = 0; round < 1000; round++) {
    RandomGraph r = random_graph((int)random_in(2, 16));
    Module *m = r.g.m;
    ck_assert(run_on(m, "convert-layout{*=NHWC:HWIO}"));
    for (const Op *op = r.g.f->first; op; op = op->next) {
      if (!(op->def->traits & OP_CONTRACTION))
        continue;
      const Layout *data = op->operands[0]->type->layout, *kernel = op->operands[1]->type->layout;
      ck_assert(data->rank == op->def->spatial + 2 && layout_is_permutation(data) && layout_innermost_axis(data) == 1);
      ck_assert(layout_is_permutation(kernel) && kernel->digits[0].axis == 2);
      n_convolutions++;
    }
    ck_assert(run_on(m, "fold-constants,dce"));
    uint32_t *uses = function_count_uses(r.g.ctx, r.g.f);
    for (const Op *op = r.g.f->first; op; op = op->next) {
      bool known = op->def->n_operands > 0 && op->def->code != OP_BROADCAST;
      for (int k = 0; k < op->def->n_operands; k++)
        known = known && (!op->operands[k] || (op->operands[k]->def && op->operands[k]->def->def->code == OP_CONSTANT));
      ck_assert(!known);
      ck_assert_uint_gt(uses[op->result->id], 0);
    }
    const char *text = graph_text(m);
    ck_assert(run_on(m, "fold-constants,dce"));
    ck_assert_str_eq(graph_text(m), text);
    ctx_destroy(r.g.ctx);
  }
  ck_assert_int_gt(n_convolutions, 50);
}
END_TEST

Suite *suite_passes(void);
Suite *suite_passes(void) {
  Suite *s = suite_create("passes");
  TCase *t = tcase_create("passes");
  tcase_set_timeout(t, 120);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, test_fold_chain);
  tcase_add_test(t, test_fold_returned);
  tcase_add_test(t, test_fold_leaves);
  tcase_add_test(t, test_fold_copies);
  tcase_add_test(t, test_fold_views);
  tcase_add_test(t, test_fold_budget);
  tcase_add_test(t, test_dce_cascade);
  tcase_add_test(t, test_dce_all_constants);
  tcase_add_test(t, test_dce_many_constants);
  tcase_add_test(t, test_legalize_lists_all);
  tcase_add_test(t, test_legalize_copies);
  tcase_add_test(t, test_fuse_marks);
  tcase_add_test(t, test_fuse_again);
  tcase_add_test(t, test_fuse_bounds);
  tcase_add_test(t, test_convert_shares);
  tcase_add_test(t, test_convert_boundary);
  tcase_add_test(t, test_random_keeps_results);
  tcase_add_test(t, test_random_promises);
  suite_add_tcase(s, t);
  return s;
}
