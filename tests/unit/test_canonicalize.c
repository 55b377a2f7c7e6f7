/* canonicalize and cse: random chains of views and moves, which must keep every element, bit for bit; what may not be
 * simplified; and that long chains take neither deep recursion nor quadratic time. */
#include <math.h>

#include "pass_help.h"

static Ctx *ctx;

static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

#define HEAD "weft 1 model \"m\"\n"

static Module *after(const char *passes, const char *text) {
  Module *m = parse_well(ctx, text);
  run_passes(m, passes);
  return m;
}

/* ---- random chains ---- */

static void add_slice(Graph *g, Value **v) {
  int64_t shape[WEFT_MAX_RANK], begins[WEFT_MAX_RANK], ends[WEFT_MAX_RANK], steps[WEFT_MAX_RANK];
  int rank = (*v)->type->rank;
  shape_of(*v, shape);
  for (int k = 0; k < rank; k++) {
    begins[k] = random_in(-shape[k] - 1, shape[k] + 1);
    ends[k] = random_in(-shape[k] - 1, shape[k] + 1);
    steps[k] = random_in(0, 1) ? random_in(1, 3) : -random_in(1, 3);
    if (random_in(0, 2) == 0) { /* all of it, some way */
      begins[k] = 0;
      ends[k] = shape[k] + random_in(0, 2);
      steps[k] = 1;
    } else if (random_in(0, 2) == 0) {
      begins[k] = shape[k];
      ends[k] = -shape[k] - 1;
      steps[k] = -1;
    }
  }
  Op *op = new_op(g, OP_SLICE, *v, NULL, NULL);
  op_set_ints(g->ctx, op, "begins", begins, rank);
  op_set_ints(g->ctx, op, "ends", ends, rank);
  op_set_ints(g->ctx, op, "axes", SHAPE(0, 1, 2, 3), rank);
  op_set_ints(g->ctx, op, "steps", steps, rank);
  *v = finish(g, op, NULL);
}

static void add_perm(Graph *g, Value **v) {
  int64_t perm[] = {0, 1, 2, 3, 4, 5, 6, 7};
  int rank = (*v)->type->rank;
  for (int k = rank - 1; k > 0; k--) {
    int j = (int)random_in(0, k);
    int64_t t = perm[k];
    perm[k] = perm[j];
    perm[j] = t;
  }
  Op *op = new_op(g, OP_TRANSPOSE, *v, NULL, NULL);
  op_set_ints(g->ctx, op, "perm", perm, rank);
  *v = finish(g, op, NULL);
}

/* Two axes become one, or one gets an axis of 1, or is split by 2. */
static void add_reshape(Graph *g, Value **v) {
  int64_t from[WEFT_MAX_RANK], to[WEFT_MAX_RANK];
  int rank = (*v)->type->rank, n = 0, at = (int)random_in(0, rank - 1), how = (int)random_in(0, 2);
  shape_of(*v, from);
  for (int k = 0; k < rank; k++) {
    to[n++] = from[k];
    if (k == at && how == 0 && k + 1 < rank)
      to[n - 1] *= from[++k];
    else if (k == at && how == 1 && rank < 4)
      to[n++] = 1;
    else if (k == at && how == 2 && rank < 4 && from[k] % 2 == 0) {
      to[n - 1] = 2;
      to[n++] = from[k] / 2;
    }
  }
  Op *op = new_op(g, OP_RESHAPE, *v, NULL, NULL);
  op_set_ints(g->ctx, op, "shape", to, n);
  *v = finish(g, op, NULL);
}

static void add_repeat(Graph *g, Value **v) {
  int64_t shape[WEFT_MAX_RANK];
  int rank = (*v)->type->rank;
  if (rank > 3 || shape_of(*v, shape) > 400)
    return;
  for (int k = 0; k < rank; k++)
    shape[k] = shape[k] == 1 ? random_in(1, 2) : shape[k];
  shape[rank] = random_in(1, 2);
  Op *op = new_op(g, OP_BROADCAST, *v, NULL, NULL);
  op_set_ints(g->ctx, op, "axes", SHAPE(0, 1, 2, 3), rank);
  op_set_ints(g->ctx, op, "shape", shape, rank + (int)random_in(0, 1));
  *v = finish(g, op, NULL);
}

static void add_pad(Graph *g, Value **v) {
  int64_t shape[WEFT_MAX_RANK], padding[2 * WEFT_MAX_RANK];
  int rank = (*v)->type->rank;
  if (shape_of(*v, shape) > 400)
    return;
  for (int k = 0; k < 2 * rank; k++)
    padding[k] = random_in(0, 1) ? 0 : random_in(shape[k % rank] > 2 ? -1 : 0, 1);
  Op *op = new_op(g, OP_PAD, *v, NULL, NULL);
  op_set_ints(g->ctx, op, "padding", padding, 2 * rank);
  op_set_float(op, "value", (double)random_in(0, 1));
  *v = finish(g, op, NULL);
}

static void add_concat(Graph *g, Value **v) {
  int64_t shape[WEFT_MAX_RANK];
  int rank = (*v)->type->rank;
  Value *parts[3] = {*v};
  if (shape_of(*v, shape) > 400)
    return;
  int axis = (int)random_in(0, rank - 1), n = (int)random_in(1, 3);
  for (int k = 1; k < n; k++) {
    int64_t keep = random_in(0, 1) ? 0 : random_in(0, shape[axis]);
    Op *op = new_op(g, OP_SLICE, *v, NULL, NULL);
    op_set_ints(g->ctx, op, "begins", SHAPE(0), 1);
    op_set_ints(g->ctx, op, "ends", &keep, 1);
    op_set_ints(g->ctx, op, "axes", (const int64_t[]){axis}, 1);
    parts[k] = finish(g, op, NULL);
  }
  Op *op = op_create(g->ctx, &op_table[OP_CONCAT], parts, n, LOC_NONE);
  op_set_int(op, "axis", axis);
  *v = finish(g, op, NULL);
}

static void add_gather(Graph *g, Value **v) {
  int64_t shape[WEFT_MAX_RANK], n = random_in(1, 4), d;
  int rank = (*v)->type->rank, axis = (int)random_in(0, rank - 1);
  shape_of(*v, shape);
  d = shape[axis];
  if (d == 0)
    return;
  const Type *type = type_static(g->ctx, random_in(0, 1) ? DT_I64 : DT_I32, 1, &n, NULL);
  Tensor *t = tensor_of_type(g->ctx, type);
  int64_t step = random_in(-2, 2), first = random_in(0, d - 1);
  for (int64_t k = 0; k < n; k++) {
    int64_t i = random_in(0, 3) ? first + k * step : random_in(-d, d - 1);
    tensor_set(t, k, (double)(i < -d || i >= d ? 0 : i));
  }
  Constant *c = module_add_constant(g->m, "i", type, t->data, LOC_NONE);
  Op *op = new_op(g, OP_GATHER, *v, build_constant(g->m, g->f, NULL, c, NULL, LOC_NONE), NULL);
  op_set_int(op, "axis", axis);
  *v = finish(g, op, NULL);
}

static void add_elementwise(Graph *g, Value **v) {
  static const float numbers[] = {1.0F, 0.0F, -0.0F, 2.0F};
  static const OpCode codes[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_NEG, OP_IDENTITY};
  OpCode code = codes[random_in(0, 5)];
  Value *w = NULL;
  if (code != OP_NEG && code != OP_IDENTITY) {
    Constant *c = module_add_constant(g->m, "n", type_static(g->ctx, DT_F32, 0, NULL, NULL),
                                      arena_alloc(g->ctx->arena, 4), LOC_NONE);
    memcpy(c->data, &numbers[random_in(0, 3)], 4);
    int64_t shape[WEFT_MAX_RANK];
    shape_of(*v, shape);
    w = build_broadcast(g->m, g->f, NULL, build_constant(g->m, g->f, NULL, c, NULL, LOC_NONE), NULL, shape,
                        (*v)->type->rank, LOC_NONE);
    if (w->type->rank == 0 && code == OP_DIV)
      code = OP_MUL;
  }
  bool swap = w && random_in(0, 1);
  *v = finish(g, new_op(g, code, swap ? w : *v, swap ? *v : w, NULL), NULL);
}

static bool same_bits(const Tensor *a, const Tensor *b) {
  const float *x = a->data, *y = b->data;
  if (a->n != b->n)
    return false;
  for (int64_t k = 0; k < a->n; k++)
    if (!(isnan(x[k]) && isnan(y[k])) && memcmp(&x[k], &y[k], sizeof *x) != 0)
      return false;
  return true;
}

START_TEST(test_random_chains) {
  static void (*const makers[])(Graph *, Value **) = {add_slice, add_perm,   add_reshape, add_repeat,
                                                      add_pad,   add_concat, add_gather,  add_elementwise};
  start_random(71);
  int before = 0, left = 0;
  for (int round = 0; round < 4000; round++) {
    Graph g = graph_new();
    int64_t shape[3];
    for (int k = 0; k < 3; k++)
      shape[k] = random_in(1, 6);
    Value *v = param(&g, "x", type_static(g.ctx, DT_F32, 3, shape, NULL));
    for (int64_t k = random_in(1, 8); k > 0; k--) {
      int maker = (int)random_in(0, COUNT(makers) - 1);
      for (int64_t j = random_in(1, 3); j > 0; j--)
        makers[maker](&g, &v);
    }
    function_add_result(g.m, g.f, "y", v, v->type, NULL, LOC_NONE);
    Tensor *x = tensor_of_type(g.ctx, g.f->params.data[0]->type);
    for (int64_t k = 0; k < x->n; k++)
      tensor_set(x, k, k % 7 == 0 ? -0.0 : (double)(k % 2 ? k : -k));
    Tensor *expected = evaluate(g.m, (const Tensor *const *)&x)[0];
    before += count_all_ops(g.m);
    const char *text = graph_text(g.m);
    run_passes(g.m, random_in(0, 1) ? "canonicalize,cse,dce" : "cse,canonicalize,dce");
    if (!same_bits(evaluate(g.m, (const Tensor *const *)&x)[0], expected))
      ck_abort_msg("another result:\n%s\nwas\n%s", graph_text(g.m), text);
    left += count_all_ops(g.m);
    /* What is canonical stays as it is. */
    text = graph_text(g.m);
    run_passes(g.m, "canonicalize,dce");
    ck_assert_str_eq(graph_text(g.m), text);
    ctx_destroy(g.ctx);
  }
  ck_assert_int_lt(left, before * 3 / 4);
}
END_TEST

/* ---- what may not be simplified ---- */

typedef struct {
  const char *op;
  bool goes;
} ByNumber;

/* n is 0, m is -0, o is 1, two is 2. */
static const ByNumber by_number[] = {
    {"add(%x, %m)", true},  {"add(%m, %x)", true},         {"add(%x, %n)", false},         {"sub(%x, %n)", true},
    {"sub(%x, %m)", false}, {"sub(%n, %x)", false},        {"mul(%x, %o)", true},          {"mul(%o, %x)", true},
    {"mul(%x, %n)", false}, {"div(%x, %o)", true},         {"div(%o, %x)", false},         {"div(%x, %two)", false},
    {"pow(%x, %o)", false}, {"max(%x, %x)", false},        {"add(%x, %x)", false},         {"sub(%x, %x)", false},
    {"identity(%x)", true}, {"cast(%x) {to = f32}", true}, {"cast(%x) {to = f64}", false},
};

START_TEST(test_numbers) {
  const ByNumber *c = &by_number[_i];
  bool wide = strstr(c->op, "f64") != NULL;
  const char *type = wide ? "f64[2]" : "f32[2]";
  Module *m = after("canonicalize,dce",
                    arena_printf(ctx->arena,
                                 HEAD "const @n : f32[2] = [0.0, 0.0]\nconst @m : f32[2] = [-0.0, -0.0]\n"
                                      "const @o : f32[2] = [1.0, 1.0]\nconst @two : f32[2] = [2.0, 2.0]\n"
                                      "func @f(%%x: f32[2]) -> (y: %s) {\n%%n = constant() {value = @n} : f32[2]\n"
                                      "%%m = constant() {value = @m} : f32[2]\n%%o = constant() {value = @o} : f32[2]\n"
                                      "%%two = constant() {value = @two} : f32[2]\n%%y = %s : %s\nreturn %%y\n}",
                                 type, c->op, type));
  ck_assert_int_eq(m->main->results.data[0].value == m->main->params.data[0], c->goes);
}
END_TEST

/* Integers have one zero. */
START_TEST(test_integers) {
  Module *m = after("canonicalize,dce",
                    HEAD "const @n : i32[] = [0]\nconst @o : i32[] = [1]\nfunc @f(%x: i32[2]) -> (y: i32[2]) {\n"
                         "%n = constant() {value = @n} : i32[]\n%o = constant() {value = @o} : i32[]\n"
                         "%ns = broadcast(%n) {axes = [], shape = [2]} : i32[2]\n"
                         "%os = broadcast(%o) {axes = [], shape = [2]} : i32[2]\n%1 = add(%x, %ns) : i32[2]\n"
                         "%2 = mul(%os, %1) : i32[2]\n%3 = not(%2) : i32[2]\n%4 = not(%3) : i32[2]\n"
                         "%y = div(%4, %os) : i32[2]\nreturn %y\n}");
  ck_assert_ptr_eq(m->main->results.data[0].value, m->main->params.data[0]);
}
END_TEST

/* Indices out of range are a fault of the run, not of the model. */
START_TEST(test_gather_out_of_range) {
  Module *m =
      after("canonicalize", HEAD "const @i : i64[2] = [3, 4]\nfunc @f(%x: f32[4]) -> (y: f32[2]) {\n"
                                 "%i = constant() {value = @i} : i64[2]\n%y = gather(%x, %i) : f32[2]\nreturn %y\n}");
  ck_assert_int_eq(count_code(m, OP_GATHER), 1);
}
END_TEST

/* Dimensions without a number. */
START_TEST(test_dynamic) {
  Module *m = after("canonicalize,cse,dce", HEAD
                    "dim N in 1..8\nfunc @f(%x: f32[N,3]) -> (y: f32[N,3], z: f32[2,3]) {\n"
                    "%1 = transpose(%x) {perm = [1, 0]} : f32[3,N]\n%2 = transpose(%1) {perm = [1, 0]} : f32[N,3]\n"
                    "%3 = slice(%2) {begins = [0], ends = [100]} : f32[N,3]\n%4 = relu(%3) : f32[N,3]\n"
                    "%y = relu(%2) : f32[N,3]\n%5 = pad(%4) {padding = [1, 0, 1, 0]} : f32[N + 2,3]\n"
                    "%6 = slice(%5) {begins = [1], ends = [3]} : f32[2,3]\n"
                    "%z = slice(%6) {begins = [0], ends = [2]} : f32[2,3]\nreturn %y, %z\n}");
  ck_assert_int_eq(count_code(m, OP_TRANSPOSE), 0);
  ck_assert_int_eq(count_code(m, OP_RELU), 1);
  ck_assert_int_eq(count_code(m, OP_SLICE), 1);
}
END_TEST

/* ---- as long as a text may be ---- */

static void expect_nothing_left(const char *first, const char *op, int n) {
  Str s = str_new(ctx->arena);
  str_printf(&s, HEAD "func @f(%%v0: f32[2,2]) -> (y: f32[2,2]) {\n");
  for (int k = 0; k < n; k++)
    str_printf(&s, "%%v%d = %s(%%v%d)%s : f32[2,2]\n", k + 1, first, k, op);
  str_printf(&s, "return %%v%d\n}", n);
  Module *m = after("canonicalize,dce", s.data);
  ck_assert_int_eq(count_all_ops(m), 0);
}

START_TEST(test_long_chains) {
  expect_nothing_left("identity", "", 50000);
  expect_nothing_left("transpose", " {perm = [1, 0]}", 50000);
  expect_nothing_left("neg", "", 50000);
}
END_TEST

START_TEST(test_many_equal) {
  Str s = str_new(ctx->arena);
  str_put(&s, HEAD);
  for (int k = 0; k < 30000; k++)
    str_printf(&s, "const @c%d : f32[2] = [1.0, 2.0]\n", k);
  str_put(&s, "func @f(%x: f32[2]) -> (y: f32[2]) {\n");
  for (int k = 0; k < 30000; k++)
    str_printf(&s, "%%c%d = constant() {value = @c%d} : f32[2]\n%%v%d = add(%%x, %%c%d) : f32[2]\n", k, k, k, k);
  str_put(&s, "return %v29999\n}");
  Module *m = after("cse,dce", s.data);
  ck_assert_int_eq(count_all_ops(m), 2);
  ck_assert_ptr_null(m->first_constant->next);
  ck_assert_str_eq(m->main->results.data[0].value->name, "v0");
}
END_TEST

/* Tied weights: two names for equal data in the same other layout are one derived constant. */
START_TEST(test_tied) {
  Module *m = after("cse,infer-layout,dce",
                    HEAD "const @k : f32[2,2,1] = [1.0, 2.0, 3.0, 4.0]\nconst @l : f32[2,2,1] = [1.0, 2.0, 3.0, 4.0]\n"
                         "func @f(%x: f32[1,2,4]) -> (y: f32[1,2,4]) {\n%k = constant() {value = @k} : f32[2,2,1]\n"
                         "%l = constant() {value = @l} : f32[2,2,1]\n%1 = conv1d(%x, %k) : f32[1,2,4]\n"
                         "%y = conv1d(%1, %l) : f32[1,2,4]\nreturn %y\n}");
  ck_assert_int_eq(count_code(m, OP_CONSTANT), 1);
  ck_assert_ptr_eq(m->first_constant->next->base, m->first_constant);
  ck_assert_ptr_null(m->first_constant->next->next);
}
END_TEST

Suite *suite_canonicalize(void);
Suite *suite_canonicalize(void) {
  Suite *s = suite_create("canonicalize");
  TCase *t = tcase_create("canonicalize");
  tcase_set_timeout(t, 120);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, test_random_chains);
  tcase_add_loop_test(t, test_numbers, 0, (int)COUNT(by_number));
  tcase_add_test(t, test_integers);
  tcase_add_test(t, test_gather_out_of_range);
  tcase_add_test(t, test_dynamic);
  tcase_add_test(t, test_long_chains);
  tcase_add_test(t, test_many_equal);
  tcase_add_test(t, test_tied);
  suite_add_tcase(s, t);
  return s;
}
