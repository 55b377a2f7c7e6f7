/* The self-check: that it finds what a pass breaks, and names it; that its tolerance holds what rounding does, and does
 * not hold a term that is missing. */
#include <math.h>

#include "graph_util.h"
#include "lower/loop_run.h"
#include "lower/lower.h"
#include "lower/self_check.h"
#include "lower/self_check_impl.h"
#include "pass_help.h"

static Ctx *ctx;

static void setup(void) {
  ctx = ctx_create();
}

static void teardown(void) {
  ctx_destroy(ctx);
}

static const char text[] = "weft 1 model \"m\"\n"
                           "const @k : f32[4,3,1,1] = [1.0, 2.0, -1.0, 0.5, 3.0, 1.5, -2.0, 1.0, 0.25, 2.0, 1.0, 1.0]\n"
                           "func @main(%x: f32[1,3,5,5] as \"NCHW\") -> (y: f32[1,4,5,5] as \"NCHW\") {\n"
                           "  %k = constant() {value = @k} : f32[4,3,1,1]\n"
                           "  %t = tanh(%x) : f32[1,3,5,5]\n"
                           "  %c = conv2d(%t, %k) : f32[1,4,5,5]\n"
                           "  %s = reduce_max(%c) {axes = [1]} : f32[1,1,5,5]\n"
                           "  %b = broadcast(%s) {axes = [0, 1, 2, 3], shape = [1, 4, 5, 5]} : f32[1,4,5,5]\n"
                           "  %y = sub(%c, %b) : f32[1,4,5,5]\n"
                           "  return %y\n"
                           "}\n";

static SelfCheck *start(Unit *unit) {
  *unit = (Unit){.ctx = ctx, .module = parse_well(ctx, text)};
  SelfCheck *c = self_check_start(unit, (SelfCheckOptions){.seed = SELF_CHECK_SEED});
  ck_assert_ptr_nonnull(c);
  return c;
}

static PipelineStep step_of(const char *pass) {
  return (PipelineStep){.pass = pass_find(&all_passes, pass)};
}

static Op *op_of(Unit *unit, const char *name) {
  return function_find_value(unit->module->main, name)->def;
}

static void lower_unit(Unit *unit) {
  unit->loops = lower_module(unit->module, (LowerTarget){.vector_bytes = 32, .registers = 16});
  ck_assert_ptr_nonnull(unit->loops);
}

/* The stage fails, at this op, saying this. */
static const CheckFault *expect_fault(SelfCheck *c, Unit *unit, const char *pass, const char *op, const char *what) {
  PipelineStep step = step_of(pass);
  ck_assert(!self_check_pass(c, unit, &step, true));
  const CheckFault *f = self_check_fault(c);
  ck_assert_ptr_nonnull(f);
  ck_assert_str_eq(f->stage, pass);
  ck_assert_msg(strstr(f->what, what) != NULL, "%s", f->what);
  if (op)
    ck_assert_str_eq(f->op, op);
  return f;
}

static void expect_well(SelfCheck *c, Unit *unit, const char *pass) {
  PipelineStep step = step_of(pass);
  if (self_check_pass(c, unit, &step, true))
    return;
  Str s = str_new(ctx->arena);
  self_check_print(&s, c);
  ck_abort_msg("%s%s", s.data, diag_text(ctx->diags, false));
}

START_TEST(test_unchanged) {
  Unit unit;
  SelfCheck *c = start(&unit);
  expect_well(c, &unit, "fuse");
  lower_unit(&unit);
  expect_well(c, &unit, "lower");
  ck_assert(plan_memory(unit.loops));
  expect_well(c, &unit, "plan");
  size_t n;
  const CheckStage *rows = self_check_stages(c, &n);
  ck_assert_uint_eq(n, 4);
  ck_assert_int_eq(rows[0].fresh, 6);
  ck_assert_int_eq(rows[1].fresh, 0);
  ck_assert_int_gt(rows[2].fresh, 0);
  ck_assert_int_eq(rows[3].fresh, 0); /* the same nests */
}
END_TEST

/* A value that changes is found at its op, not at those that read it, and only what depends on it is evaluated. */
START_TEST(test_wrong_constant) {
  Unit unit;
  SelfCheck *c = start(&unit);
  Constant *k = unit.module->first_constant;
  float *data = arena_alloc(ctx->arena, 12 * sizeof *data);
  memcpy(data, k->data, 12 * sizeof *data);
  data[7] += 0.25f;
  Constant *wrong = module_add_constant(unit.module, "k", k->type, data, LOC_NONE);
  op_of(&unit, "k")->attrs[0].constant = wrong;
  const CheckFault *f = expect_fault(c, &unit, "dce", "k", "output 'y' changed");
  ck_assert_double_eq_tol(f->diff.max_abs, 0.25, 1e-9);
  ck_assert_int_eq(f->index[0], 2);
  ck_assert_int_eq(f->index[1], 1);
}
END_TEST

START_TEST(test_wrong_attribute) {
  Unit unit;
  SelfCheck *c = start(&unit);
  Op *op = op_of(&unit, "b");
  Value *zero = op->operands[0];
  op_of(&unit, "y")->operands[1] = op_of(&unit, "c")->result;
  ck_assert_ptr_nonnull(zero);
  const CheckFault *f = expect_fault(c, &unit, "cse", "y", "output 'y' changed");
  ck_assert_str_eq(f->before, "%y = sub(%c, %b) : f32[1,4,5,5]");
  ck_assert_str_eq(f->after, "%y = sub(%c, %c) : f32[1,4,5,5]");
  size_t n;
  ck_assert_int_eq(self_check_stages(c, &n)[1].fresh, 1);
}
END_TEST

START_TEST(test_interface) {
  Unit unit;
  SelfCheck *c = start(&unit);
  Value *x = unit.module->main->params.data[0];
  x->type = type_with_layout(ctx, x->type, layout_permutation(ctx, 4, (int[]){0, 2, 3, 1}));
  expect_fault(c, &unit, "convert-layout", NULL, "the type of input %x changed to f32[1,3,5,5]@acdb");
}
END_TEST

/* The first store of a block, where the interpreter shall meet a wrong number. */
static Stmt *first_store(Stmt *s) {
  for (; s; s = s->next) {
    Stmt *found = s->kind == ST_STORE ? s : s->kind == ST_LOOP ? first_store(s->body) : NULL;
    if (found)
      return found;
  }
  return NULL;
}

START_TEST(test_wrong_nest) {
  Unit unit;
  SelfCheck *c = start(&unit);
  lower_unit(&unit);
  Nest *nest = unit.loops->first->next;
  ck_assert_str_eq(nest->what, "conv2d");
  Stmt *s = first_store(nest->body);
  s->value = scalar_const(ctx, 1.0); /* the accumulator starts there */
  const CheckFault *f = expect_fault(c, &unit, "lower", "c", "\"conv2d\" stores another value to %c");
  ck_assert_double_eq_tol(f->diff.max_abs, 1.0, 1e-5);
}
END_TEST

/* Two buffers that live at the same time get one place: no nest is wrong, and still it shows. */
START_TEST(test_wrong_plan) {
  Unit unit;
  SelfCheck *c = start(&unit);
  lower_unit(&unit);
  expect_well(c, &unit, "lower");
  ck_assert(plan_memory(unit.loops));
  ck_assert_uint_ge(unit.loops->arena.len, 3);
  unit.loops->arena.data[2]->offset = unit.loops->arena.data[1]->offset;
  expect_fault(c, &unit, "plan", NULL, "was overwritten");
}
END_TEST

/* ---- comparing ---- */

static Tensor *row(const float *values, int64_t n) {
  return tensor_f32(ctx, 1, &n, values);
}

START_TEST(test_compare) {
  const float a[] = {1, NAN, INFINITY, 0, 5}, b[] = {1, NAN, INFINITY, -0.0f, 5}, c[] = {1.5f, NAN, INFINITY, 0, 5.25f};
  const double allowed[] = {1, 1, 1, 1, 0.125};
  CheckDiff d = check_compare(row(a, 5), row(b, 5), NULL, NULL);
  ck_assert(d.worst == -1 && d.max_share == 0 && d.max_abs == 0);
  d = check_compare(row(c, 5), row(a, 5), allowed, NULL);
  ck_assert_int_eq(d.worst, 4);
  ck_assert_double_eq_tol(d.max_share, 2, 1e-9);
  ck_assert_double_eq_tol(d.max_abs, 0.5, 1e-9);
  const unsigned char mask[] = {1, 1, 1, 1, 0};
  d = check_compare(row(c, 5), row(a, 5), allowed, mask);
  ck_assert_double_eq_tol(d.max_share, 0.5, 1e-9);
  const float none[] = {1, 0, INFINITY, 0, 5}, sign[] = {1, NAN, -INFINITY, 0, 5};
  ck_assert(isinf(check_compare(row(none, 5), row(a, 5), allowed, NULL).max_share));
  ck_assert(isinf(check_compare(row(sign, 5), row(a, 5), allowed, NULL).max_share));
}
END_TEST

START_TEST(test_compare_integers) {
  int64_t n = 3;
  Tensor *a = tensor_new(ctx, DT_I64, 1, &n), *b = tensor_new(ctx, DT_I64, 1, &n);
  tensor_set_value(a, 2, (ScalarValue){.i = INT64_MAX});
  tensor_set_value(b, 2, (ScalarValue){.i = INT64_MAX - 1}); /* equal in double */
  ck_assert(isinf(check_compare(a, b, NULL, NULL).max_share));
  ck_assert(check_compare(a, a, NULL, NULL).max_share == 0);
}
END_TEST

/* ---- tolerance ---- */

static double random_float(void) {
  return (rand() / (double)RAND_MAX - 0.5) * pow(10, rand() % 5 - 2);
}

/* An op of this row on random operands. */
static Op *random_operands(Graph *g, const OpDef *def, const Tensor **in, int64_t n) {
  Value *operands[OP_MAX_OPERANDS];
  for (int k = 0; k < def->n_operands; k++) {
    DType dtype = def->operands[k].is_bool ? DT_BOOL : DT_F32;
    operands[k] = param(g, "x", type_static(g->ctx, dtype, 1, &n, NULL));
    Tensor *t = tensor_new(g->ctx, dtype, 1, &n);
    for (int64_t i = 0; i < n; i++)
      tensor_set(t, i, dtype == DT_BOOL ? rand() & 1 : random_float());
    in[k] = t;
  }
  Op *op = op_create(g->ctx, def, operands, def->n_operands, LOC_NONE);
  if (op_attr_index(def, "to", 2) >= 0)
    op_set_dtype(op, "to", DT_F32);
  for (int k = 0; k < def->n_attrs; k++)
    if (def->attrs[k].kind == ATTR_FLOAT && def->attrs[k].required)
      op_set_float(op, def->attrs[k].name, k - 0.5);
  return op;
}

/* What compiled code computes of an elementwise op, in floats, is within the tolerance of the reference. */
START_TEST(test_elementwise_tolerance) {
  start_random(11);
  Graph g = {.ctx = ctx, .m = module_create(ctx, "t", "t")};
  g.f = g.m->main = function_create(g.m, "main");
  int tried = 0;
  for (int code = 0; code < OP_COUNT; code++) {
    const OpDef *def = &op_table[code];
    if (!(def->traits & OP_ELEMENTWISE) || !strchr(def->types, 'f'))
      continue;
    const Tensor *in[OP_MAX_OPERANDS];
    Op *op = random_operands(&g, def, in, 500);
    ck_assert_msg(finish(&g, op, "y") != NULL, "%s", diag_text(ctx->diags, false));
    Tensor *out = eval_op(ctx, op, in), *got = tensor_new(ctx, out->dtype, 1, out->shape);
    const Scalar *args[OP_MAX_OPERANDS];
    for (int k = 0; k < def->n_operands; k++)
      args[k] = scalar_arg_typed(ctx, k, in[k]->dtype);
    const Scalar *s = scalar_expand(ctx, op_scalar(ctx, op, args));
    for (int64_t i = 0; i < out->n; i++) {
      ScalarValue x[OP_MAX_OPERANDS];
      for (int k = 0; k < def->n_operands; k++)
        x[k] = tensor_value(in[k], i);
      tensor_set_value(got, i, scalar_eval_compiled(s, x));
    }
    const double *allowed = check_elementwise(ctx, op, in, NULL, out, CHECK_C);
    CheckDiff d = check_compare(got, out, allowed, NULL);
    ck_assert_msg(d.max_share <= 1, "%s at %lld: %.9g, reference %.9g, share %g", def->name, (long long)d.worst, d.got,
                  d.expected, d.max_share);
    tried++;
  }
  ck_assert_int_gt(tried, 40);
}
END_TEST

/* A comparison that an operand's error may turn around may give either result. */
START_TEST(test_flip) {
  Graph g = {.ctx = ctx, .m = module_create(ctx, "t", "t")};
  g.f = g.m->main = function_create(g.m, "main");
  const float x[] = {1e-9f, 1, -1e-9f, -1};
  const double errors[] = {1e-8, 1e-8, 1e-8, 1e-8};
  const double *of_operands[] = {errors};
  Op *op = new_op(&g, OP_SIGN, param(&g, "x", F32(ctx, 4)), NULL, NULL);
  finish(&g, op, "y");
  const Tensor *in[] = {row(x, 4)};
  const double *e = check_elementwise(ctx, op, in, of_operands, eval_op(ctx, op, in), CHECK_C);
  ck_assert(e[0] > 1.9 && e[1] == 0 && e[2] > 0.9 && e[3] == 0);
}
END_TEST

/* Sums of K products in floats, one after the other, lie within the tolerance; without one of the terms, of average
 * size, they do not. */
START_TEST(test_contraction_tolerance) {
  start_random(12);
  for (int round = 0; round < 20; round++) {
    Graph g = {.ctx = ctx, .m = module_create(ctx, "t", "t")};
    g.f = g.m->main = function_create(g.m, "main");
    int64_t k = random_in(1, 2000), rows[] = {3, k}, columns[] = {k, 5};
    bool same_sign = round % 2;
    Op *op = new_op(&g, OP_MATMUL, param(&g, "a", f32_type(ctx, 2, rows, NULL)),
                    param(&g, "b", f32_type(ctx, 2, columns, NULL)), NULL);
    finish(&g, op, "y");
    Tensor *a = tensor_new(ctx, DT_F32, 2, rows), *b = tensor_new(ctx, DT_F32, 2, columns);
    for (int64_t i = 0; i < a->n; i++)
      tensor_set(a, i, same_sign ? fabs(random_float()) : random_float());
    for (int64_t i = 0; i < b->n; i++)
      tensor_set(b, i, same_sign ? 0.3 : random_float());
    const Tensor *in[] = {a, b};
    Evaluator e = {.ctx = ctx};
    const Tensor *exact = evaluator_op(&e, op, in);
    Tensor *got = tensor_new(ctx, DT_F32, 2, exact->shape);
    double mean = 0;
    for (int64_t i = 0; i < got->n; i++) {
      float sum = 0;
      for (int64_t j = 0; j < k; j++) {
        float term = (float)tensor_get(a, i / 5 * k + j) * (float)tensor_get(b, j * 5 + i % 5);
        sum += term;
        mean += i == 0 ? fabs(term) / (double)k : 0;
      }
      tensor_set(got, i, sum);
    }
    const double *allowed = check_rounding(&e, op, in, NULL, exact, CHECK_C);
    ck_assert(check_compare(got, exact, allowed, NULL).max_share <= 1);
    tensor_set(got, 0, tensor_get(got, 0) - mean);
    ck_assert(check_compare(got, exact, allowed, NULL).max_share > 1);
  }
}
END_TEST

/* ---- samples ---- */

/* Of 100 * 7 parallel iterations about 10 run, the first and the last among them. */
START_TEST(test_sample) {
  static const char loops[] = "weft 1 model \"m\"\n"
                              "loops @main {\n"
                              "  buffer %x : f32[100,7] input 0\n"
                              "  buffer %y : f32[100,7] output 0\n"
                              "  nest @a \"neg\" {\n"
                              "    parallel i in 0..100 {\n"
                              "      parallel j in 0..7 { %y[i, j] = -%x[i, j] }\n"
                              "    }\n"
                              "  }\n"
                              "}\n";
  LoopProgram *p = loops_parse(ctx, "t", loops, sizeof loops - 1);
  ck_assert_msg(p != NULL, "%s", diag_text(ctx->diags, false));
  float x[700] = {0}, y[700];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  LoopRun *r = loop_run_open(p, inputs, outputs, true);
  for (int most = 2; most <= 1000; most *= 3) {
    ck_assert(loop_run_nest(r, p->first, (LoopSample){most, 5}));
    const unsigned char *stored = loop_run_stored(r, p->outputs.data[0]);
    int n = 0;
    for (int i = 0; i < 700; i++)
      n += stored[i];
    ck_assert_msg(n <= most && n >= (most < 700 ? most / 2 : 700), "%d of at most %d", n, most);
    ck_assert(stored[0] && stored[699]);
  }
  loop_run_close(r);
}
END_TEST

Suite *suite_self_check(void);

Suite *suite_self_check(void) {
  Suite *s = suite_create("self_check");
  TCase *t = tcase_create("self_check");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  tcase_add_test(t, test_unchanged);
  tcase_add_test(t, test_wrong_constant);
  tcase_add_test(t, test_wrong_attribute);
  tcase_add_test(t, test_interface);
  tcase_add_test(t, test_wrong_nest);
  tcase_add_test(t, test_wrong_plan);
  tcase_add_test(t, test_compare);
  tcase_add_test(t, test_compare_integers);
  tcase_add_test(t, test_elementwise_tolerance);
  tcase_add_test(t, test_flip);
  tcase_add_test(t, test_contraction_tolerance);
  tcase_add_test(t, test_sample);
  suite_add_tcase(s, t);
  return s;
}
