/* Lowering: the loop nests of a graph pass the checker, and the interpreter computes what the reference evaluation
 * does. Cases chosen for their shapes first, then random graphs. Tolerance: |a - b| <= atol + rtol*|b| with rtol 1e-4
 * (tanh and sigmoid are polynomials, and their errors pass through later ops) and atol 1e-5. */
#include <math.h>

#include "lower/loop_passes.h"
#include "lower/lower.h"
#include "random_graph.h"
#include "text_help.h"

#define RTOL 1e-4
#define ATOL 1e-5

static void compare(const Tensor *got, const Tensor *expected, const char *text) {
  for (int64_t k = 0; k < expected->n; k++) {
    double a = tensor_get(got, k), b = tensor_get(expected, k);
    if (!(fabs(a - b) <= ATOL + RTOL * fabs(b)))
      ck_abort_msg("element %d is %g, expected %g\n%s", (int)k, a, b, text);
  }
}

static const char *loops_text(const LoopProgram *p) {
  Str s = str_new(p->ctx->arena);
  loops_print(&s, p);
  return s.data;
}

/* Checks and interprets the program. */
static void run_loops(LoopProgram *p, const Tensor *const *inputs, Tensor *const *expected) {
  Ctx *ctx = p->ctx;
  const void **in = ARENA_ARRAY(ctx->arena, const void *, p->inputs.len + 1);
  void **out = ARENA_ARRAY(ctx->arena, void *, p->outputs.len + 1);
  for (size_t k = 0; k < p->inputs.len; k++) {
    const Type *type = p->inputs.data[k]->type;
    void *storage = arena_alloc(ctx->arena, (size_t)type_bytes(type));
    tensor_to_storage(inputs[k], type, storage);
    in[k] = storage;
  }
  for (size_t k = 0; k < p->outputs.len; k++)
    out[k] = arena_alloc(ctx->arena, (size_t)type_bytes(p->outputs.data[k]->type));
  if (!loops_check(p) || !loops_interpret(p, in, out))
    ck_abort_msg("%s\n%s", diag_text(ctx->diags, false), loops_text(p));
  for (size_t k = 0; k < p->outputs.len; k++) {
    Tensor *got = tensor_of_type(ctx, p->outputs.data[k]->type);
    tensor_from_storage(got, p->outputs.data[k]->type, out[k]);
    compare(got, expected[k], loops_text(p));
  }
}

/* The text of the program is another way to the same program. */
static void check_text(LoopProgram *p) {
  const char *text = loops_text(p);
  Ctx *ctx = ctx_create();
  LoopProgram *again = loops_parse(ctx, "again.weft", text, strlen(text));
  if (!again)
    ck_abort_msg("%s\n%s", diag_text(ctx->diags, false), text);
  ck_assert_str_eq(loops_text(again), text);
  ctx_destroy(ctx);
}

static LoopProgram *lower_well(Module *m, LowerTarget target) {
  LoopProgram *p = lower_module(m, target);
  if (!p)
    ck_abort_msg("%s\n%s", diag_text(m->ctx->diags, false), graph_text(m));
  return p;
}

static void run_passes(Module *m, const char *passes) {
  Unit unit = {.ctx = m->ctx, .module = m};
  Pipeline pipeline = {0};
  PipelineOptions options = {.verify_each = true};
  Str log = str_new(m->ctx->arena);
  if (!pipeline_parse(m->ctx, &all_passes, passes, &pipeline) ||
      !pipeline_run(&unit, &all_passes, &pipeline, &options, &log))
    ck_abort_msg("%s: %s", passes, diag_text(m->ctx->diags, false));
}

static const LowerTarget targets[] = {{16, 16}, {32, 16}, {64, 32}, {4, 8}};

static void run_graph(Module *m, LowerTarget target) {
  const Tensor **inputs = random_inputs(m->ctx, m->main);
  Tensor **expected = evaluate(m, inputs);
  LoopProgram *p = lower_well(m, target);
  run_loops(p, inputs, expected);
  check_text(p);
  ck_assert(plan_memory(p));
  run_loops(p, inputs, expected);
  check_text(p);
}

/* ---- chosen cases ---- */

#define HEAD "weft 1 model \"m\"\n"

static const char *const cases[] = {
    /* Views in a row, read by two; a view returned. */
    HEAD "func @f(%x: f32[2,3,4]) -> (y: f32[4,3,2], z: f32[4,3,2,5]) {\n"
         "%t = transpose(%x) {perm = [2, 1, 0]} : f32[4,3,2]\n"
         "%b = broadcast(%t) {axes = [0, 1, 2], shape = [4, 3, 2, 5]} : f32[4,3,2,5]\n"
         "%y = relu(%t) : f32[4,3,2]\nreturn %y, %b\n}",
    /* A view of a computed value. */
    HEAD "func @f(%x: f32[3,4]) -> (y: f32[4,3]) {\n%a = tanh(%x) : f32[3,4]\n"
         "%t = transpose(%a) {perm = [1, 0]} : f32[4,3]\n%y = mul(%t, %t) : f32[4,3]\nreturn %y\n}",
    /* Parameters, constants, and one value twice are returned. */
    HEAD "const @k : f32[2,3]@ba = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n"
         "func @f(%x: f32[2,3]@ba) -> (p: f32[2,3]@ba, q: f32[2,3]@ba, r: f32[2,3], s: f32[2,3], t: f32[2,3]@ba) {\n"
         "%k = constant() {value = @k} : f32[2,3]@ba\n%y = relu(%x) : f32[2,3]\nreturn %x, %k, %y, %y, %x\n}",
    /* No results to compute, no inputs. */
    HEAD "const @k : f32[] = [4.5]\nfunc @f() -> (y: f32[]) {\n%k = constant() {value = @k} : f32[]\nreturn %k\n}",
    /* Rank 0 and rank 1. */
    HEAD "func @f(%x: f32[], %v: f32[7]) -> (y: f32[], z: f32[7]) {\n%y = sigmoid(%x) : f32[]\n"
         "%b = broadcast(%y) {axes = [], shape = [7]} : f32[7]\n%z = add(%v, %b) : f32[7]\nreturn %y, %z\n}",
    /* Rank 8. */
    HEAD "func @f(%x: f32[2,1,2,3,1,2,2,3]@hgfedcba) -> (y: f32[2,1,2,3,1,2,2,3]) {\n"
         "%y = relu(%x) : f32[2,1,2,3,1,2,2,3]\nreturn %y\n}",
    /* Tensors without elements, in and out; a reduction over nothing is the bias. */
    HEAD "func @f(%x: f32[0,3]) -> (y: f32[3,0]) {\n%t = transpose(%x) {perm = [1, 0]} : f32[3,0]\n"
         "%y = relu(%t) : f32[3,0]\nreturn %y\n}",
    HEAD "func @f(%x: f32[0,2,4], %k: f32[3,2,2]) -> (y: f32[0,3,3]) {\n%y = conv1d(%x, %k) : f32[0,3,3]\nreturn %y\n}",
    HEAD "func @f(%x: f32[1,0,4], %k: f32[3,0,2], %b: f32[3]) -> (y: f32[1,3,3]) {\n"
         "%y = conv1d(%x, %k, %b) : f32[1,3,3]\nreturn %y\n}",
    HEAD "func @f(%x: f32[1,0,4], %k: f32[0,3,2], %b: f32[3]) -> (y: f32[1,3,5]) {\n"
         "%y = conv1d_transpose(%x, %k, %b) : f32[1,3,5]\nreturn %y\n}",
    HEAD "func @f(%x: f32[1,2,5], %k: f32[2,0,2]) -> (y: f32[1,0,6]) {\n"
         "%y = conv1d_transpose(%x, %k) : f32[1,0,6]\nreturn %y\n}",
    /* Groups and depthwise. */
    HEAD "func @f(%x: f32[2,6,5], %k: f32[4,3,3], %b: f32[4]) -> (y: f32[2,4,5]) {\n"
         "%y = conv1d(%x, %k, %b) {padding = [1, 1], groups = 2} : f32[2,4,5]\nreturn %y\n}",
    HEAD "func @f(%x: f32[1,5,4,6], %k: f32[5,1,3,3]) -> (y: f32[1,5,4,6]) {\n"
         "%y = conv2d(%x, %k) {padding = [1, 1, 1, 1], groups = 5} : f32[1,5,4,6]\nreturn %y\n}",
    HEAD "func @f(%x: f32[1,6,4], %k: f32[6,2,3]) -> (y: f32[1,6,9]) {\n"
         "%y = conv1d_transpose(%x, %k) {strides = [2], groups = 3} : f32[1,6,9]\nreturn %y\n}",
    /* Three spatial axes, strides and dilation apart. */
    HEAD "func @f(%x: f32[1,2,4,5,6], %k: f32[3,2,2,3,2]) -> (y: f32[1,3,3,2,2]) {\n"
         "%y = conv3d(%x, %k) {strides = [1, 2, 3], dilation = [1, 1, 2]} : f32[1,3,3,2,2]\nreturn %y\n}",
    HEAD "func @f(%x: f32[1,2,2,3,2], %k: f32[2,3,2,3,2], %b: f32[3]) -> (y: f32[1,3,2,7,6]) {\n"
         "%y = conv3d_transpose(%x, %k, %b) {strides = [1, 2, 3], padding = [0, 0, 0, 1, 0, 0],"
         " output_padding = [0, 0, 1]} : f32[1,3,2,7,6]\nreturn %y\n}",
    /* More padding than data; negative padding crops. */
    HEAD "func @f(%x: f32[1,1,2], %k: f32[1,1,5]) -> (y: f32[1,1,8]) {\n"
         "%y = conv1d(%x, %k) {padding = [6, 4]} : f32[1,1,8]\nreturn %y\n}",
    HEAD "func @f(%x: f32[1,1,9], %k: f32[1,1,2]) -> (y: f32[1,1,5]) {\n"
         "%y = conv1d(%x, %k) {padding = [-1, -2]} : f32[1,1,5]\nreturn %y\n}",
    /* More phases than are written out: a loop over them; a common factor of stride and dilation leaves most of them
     * without taps. */
    HEAD "func @f(%x: f32[1,2,3], %k: f32[2,2,130], %b: f32[2]) -> (y: f32[1,2,330]) {\n"
         "%y = conv1d_transpose(%x, %k, %b) {strides = [100]} : f32[1,2,330]\nreturn %y\n}",
    HEAD "func @f(%x: f32[1,1,3], %k: f32[1,2,12], %b: f32[2]) -> (y: f32[1,2,314]) {\n"
         "%y = conv1d_transpose(%x, %k, %b) {strides = [100], dilation = [10], padding = [-3, 0]} : f32[1,2,314]\n"
         "return %y\n}",
    HEAD "func @f(%x: f32[1,1,3], %k: f32[1,1,3]) -> (y: f32[1,1,401]) {\n"
         "%y = conv1d_transpose(%x, %k) {strides = [100], dilation = [100]} : f32[1,1,401]\nreturn %y\n}",
    HEAD "func @f(%x: f32[1,1,2,2], %k: f32[1,1,4,3], %b: f32[1]) -> (y: f32[1,1,98,33]) {\n"
         "%y = conv2d_transpose(%x, %k, %b) {strides = [90, 20], dilation = [3, 8], padding = [2, 1, 0, 3]}"
         " : f32[1,1,98,33]\nreturn %y\n}",
    /* Groups of fused ops: operands of many kinds, an op before and after the root in the text. */
    HEAD "func @f(%x: f32[1,4,6], %k: f32[4,4,1], %s: f32[4]) -> (y: f32[1,4,6]) {\n"
         "%c = conv1d(%x, %k) : f32[1,4,6]\n%slope = broadcast(%s) {axes = [1], shape = [1, 4, 6]} : f32[1,4,6]\n"
         "%t = tanh(%x) : f32[1,4,6]\n%p = prelu fused(%c)(%c, %slope) : f32[1,4,6]\n"
         "%a = add fused(%p)(%t, %p) : f32[1,4,6]\n%y = clip fused(%a)(%a) {min = -0.5, max = 0.5} : f32[1,4,6]\n"
         "return %y\n}",
    /* Blocks of every axis, also larger than the axis. */
    HEAD "func @f(%x: f32[3,5]) -> (y: f32[3,5]) {\n%a = relayout(%x) : f32[3,5]@AB4b8a:zero\n"
         "%b = relu(%a) : f32[3,5]@BA2a4b\n%y = tanh(%b) : f32[3,5]\nreturn %y\n}",
    /* Division, and a bias alone along channels. */
    HEAD "func @f(%x: f32[2,3]) -> (y: f32[2,3]) {\n%s = sigmoid(%x) : f32[2,3]\n%y = div(%x, %s) : f32[2,3]\n"
         "return %y\n}",
};

START_TEST(test_cases) {
  start_random(21 + (unsigned)_i);
  static const char *const passes[] = {"legalize", "infer-layout,fold-constants,dce,legalize,fuse",
                                       "convert-layout{*=NHWC:HWIO},legalize,fuse",
                                       "convert-layout{*=NCHW4c:OIHW4i:NCHW2c},legalize,fuse"};
  for (size_t k = 0; k < COUNT(passes); k++)
    for (size_t t = 0; t < COUNT(targets); t++) {
      Ctx *ctx = ctx_create();
      Module *m = parse_well(ctx, cases[_i]);
      ck_assert(module_verify(m));
      run_passes(m, passes[k]);
      run_graph(m, targets[t]);
      ctx_destroy(ctx);
    }
}
END_TEST

/* One constant under two ops is one buffer; a derived one is another. */
START_TEST(test_constants) {
  Ctx *ctx = ctx_create();
  Module *m = parse_well(ctx, HEAD "const @k : f32[2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n"
                                   "const @d : f32[2,3]@ba = relayout(@k)\n"
                                   "func @f(%x: f32[2,3]) -> (y: f32[2,3]) {\n"
                                   "%k = constant() {value = @k} : f32[2,3]\n%l = constant() {value = @k} : f32[2,3]\n"
                                   "%d = constant() {value = @d} : f32[2,3]@ba\n%a = add(%x, %k) : f32[2,3]\n"
                                   "%b = mul(%a, %l) : f32[2,3]\n%y = sub(%b, %d) : f32[2,3]\nreturn %y\n}");
  LoopProgram *p = lower_well(m, targets[1]);
  ck_assert_uint_eq(p->constants.len, 2);
  run_graph(m, targets[1]);
  ctx_destroy(ctx);
}
END_TEST

static const struct {
  const char *text, *error;
} refused[] = {
    {HEAD "func @f(%x: f32[4]) -> (y: f32[4]) {\n%a = clip(%x) {min = 0.0, max = 1.0} : f32[4]\n"
          "%b = clip fused(%a)(%a) {min = 0.0, max = 1.0} : f32[4]\n"
          "%c = clip fused(%b)(%b) {min = 0.0, max = 1.0} : f32[4]\n"
          "%y = clip fused(%c)(%c) {min = 0.0, max = 1.0} : f32[4]\nreturn %y\n}",
     "more than 1024 operations fused into one nest; leave out fused(%c) here"},
};

START_TEST(test_refused) {
  Graph g = {.ctx = ctx_create()};
  ck_assert_ptr_null(lower_module(parse_well(g.ctx, refused[_i].text), targets[1]));
  expect_error(&g, WEFT_UNSUPPORTED, refused[_i].error);
  ctx_destroy(g.ctx);
}
END_TEST

/* A chain of n ops, each fused onto the one before, reading `operands` different values beside it. */
static Module *long_chain(Ctx *ctx, int n, bool operands) {
  Str s = str_new(ctx->arena);
  str_put(&s, HEAD "func @f(%x: f32[4]");
  for (int k = 0; operands && k < n; k++)
    str_printf(&s, ", %%a%d: f32[4]", k);
  str_put(&s, ") -> (y: f32[4]) {\n%v0 = tanh(%x) : f32[4]\n");
  for (int k = 0; k < n; k++) {
    if (operands)
      str_printf(&s, "%%v%d = add fused(%%v%d)(%%v%d, %%a%d) : f32[4]\n", k + 1, k, k, k);
    else
      str_printf(&s, "%%v%d = tanh fused(%%v%d)(%%v%d) : f32[4]\n", k + 1, k, k);
  }
  str_printf(&s, "return %%v%d\n}\n", n);
  return parse_well(ctx, s.data);
}

START_TEST(test_long_chains) {
  Graph g = {.ctx = ctx_create()};
  run_graph(long_chain(g.ctx, 11, true), targets[1]);
  run_graph(long_chain(g.ctx, 15, false), targets[1]);
  ck_assert_ptr_null(lower_module(long_chain(g.ctx, 12, true), targets[1]));
  expect_error(&g, WEFT_UNSUPPORTED, "more than 12 operands fused into one nest; leave out fused(%v11) here");
  ctx_destroy(g.ctx);
  g.ctx = ctx_create();
  ck_assert_ptr_null(lower_module(long_chain(g.ctx, 3000, false), targets[1]));
  expect_error(&g, WEFT_UNSUPPORTED, "more than 16 ops fused into one nest");
  ctx_destroy(g.ctx);
}
END_TEST

/* Nests of a stride of 3: one at least for each phase, and all outputs are written by them once (the interpreter's
 * poison shows what is not; the sum of the stores shows what is written twice). */
static int64_t stores_to(const Stmt *s, const Buffer *b, int64_t iterations, Ctx *ctx) {
  int64_t n = 0;
  for (; s; s = s->next) {
    int64_t extent;
    if (s->kind == ST_LOOP && expr_is_const(expr_sub(ctx, s->var->b, s->var->a), &extent))
      n += stores_to(s->body, b, iterations * (extent > 0 ? extent : 0), ctx);
    if (s->kind == ST_STORE && s->target.buffer == b)
      n += iterations;
  }
  return n;
}

START_TEST(test_written_once) {
  Ctx *ctx = ctx_create();
  Module *m = parse_well(ctx, HEAD "func @f(%x: f32[2,3,5,4], %k: f32[3,5,4,3]) -> (y: f32[2,5,14,11]) {\n"
                                   "%y = conv2d_transpose(%x, %k) {strides = [3, 2], padding = [1, -1, 1, -1]} : "
                                   "f32[2,5,14,11]\nreturn %y\n}");
  LoopProgram *p = lower_well(m, targets[1]);
  int64_t n = 0;
  for (const Nest *nest = p->first; nest; nest = nest->next)
    n += stores_to(nest->body, p->outputs.data[0], 1, ctx);
  ck_assert_int_eq(n, 2 * 5 * 14 * 11);
  run_graph(m, targets[1]);
  ctx_destroy(ctx);
}
END_TEST

/* ---- random graphs ---- */

START_TEST(test_random) {
  static const char *const passes[] = {"legalize",
                                       "fuse",
                                       "infer-layout,fold-constants,dce,add-halos,legalize,fuse",
                                       "convert-layout{*=NHWC:HWIO},dce,add-halos{always},legalize,fuse",
                                       "convert-layout{*=NCHW4c:OIHW2i:NCHW2c},fold-constants,dce,legalize,fuse",
                                       "convert-layout{*=NHWC::NCHW4w}"};
  start_random(31);
  for (int round = 0; round < 1500; round++) {
    RandomGraph r = random_graph((int)random_in(1, 12));
    run_passes(r.g.m, passes[random_in(0, COUNT(passes) - 1)]);
    run_graph(r.g.m, targets[random_in(0, COUNT(targets) - 1)]);
    ctx_destroy(r.g.ctx);
  }
}
END_TEST

/* A nest for each of many parts: their names differ, and to find them takes no time to speak of. */
START_TEST(test_many_nests) {
  enum { PARTS = 3000 };
  Graph g = graph_new();
  Value *x = param(&g, "x", F32(g.ctx, 1, 3)), *parts[PARTS];
  for (int k = 0; k < PARTS; k++)
    parts[k] = x;
  Op *op = op_create(g.ctx, &op_table[OP_CONCAT], parts, PARTS, LOC_NONE);
  op_set_int(op, "axis", 0);
  Value *y = finish(&g, op, "y");
  function_add_result(g.m, g.f, "y", y, y->type, NULL, LOC_NONE);
  LoopProgram *p = lower_module(g.m, (LowerTarget){32, 16});
  ck_assert_ptr_nonnull(p);
  ck_assert_str_eq(p->first->name, "y");
  ck_assert_str_eq(p->first->next->name, "y.1");
  ck_assert_str_eq(p->last->name, "y.2999");
  ctx_destroy(g.ctx);
}
END_TEST

Suite *suite_lower(void);
Suite *suite_lower(void) {
  Suite *s = suite_create("lower");
  TCase *t = tcase_create("lower");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, test_cases, 0, COUNT(cases));
  tcase_add_test(t, test_constants);
  tcase_add_loop_test(t, test_refused, 0, COUNT(refused));
  tcase_add_test(t, test_long_chains);
  tcase_add_test(t, test_written_once);
  tcase_add_test(t, test_random);
  tcase_add_test(t, test_many_nests);
  suite_add_tcase(s, t);
  return s;
}
