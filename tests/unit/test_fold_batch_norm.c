/* fold-batch-norm by numbers: random convolutions and transposed ones of 1 to 3 axes, with groups and depthwise,
 * followed by random chains of what scales and shifts per channel, evaluated by the reference before and after. And
 * what must stay. */
#include <math.h>

#include "pass_help.h"

static Ctx *ctx;

static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

typedef struct {
  Graph g;
  DType dtype;
  int spatial;
  int64_t channels;
} Case;

/* A constant of numbers in +-[lo, lo + 1.5]. */
static Value *numbers(Case *c, int rank, const int64_t *shape, double lo) {
  const Type *type = type_static(c->g.ctx, c->dtype, rank, shape, NULL);
  Tensor *t = tensor_of_type(c->g.ctx, type);
  for (int64_t k = 0; k < t->n; k++) {
    double v = lo + (double)random_in(0, 1500) / 1000;
    tensor_set(t, k, random_in(0, 1) ? v : -v);
  }
  if (random_in(0, 1)) { /* stored in another order of axes */
    type = type_with_layout(c->g.ctx, type, random_layout(c->g.ctx, rank, false));
    void *data = arena_alloc(c->g.ctx->arena, (size_t)type_bytes(type));
    tensor_to_storage(t, type, data);
    t->data = data;
  }
  Constant *made = module_add_constant(c->g.m, "c", type, t->data, LOC_NONE);
  return build_constant(c->g.m, c->g.f, NULL, made, NULL, LOC_NONE);
}

static Value *make_conv(Case *c) {
  bool transposed = random_in(0, 1), depthwise = random_in(0, 2) == 0;
  int64_t in[5], kernel[5], strides[3], groups = random_in(1, 2), own_in = random_in(1, 3), own_out = random_in(1, 3);
  if (depthwise) {
    groups = random_in(2, 4);
    own_in = 1;
  }
  c->channels = groups * own_out;
  in[0] = random_in(1, 2);
  in[1] = groups * own_in;
  kernel[0] = transposed ? groups * own_in : groups * own_out;
  kernel[1] = transposed ? own_out : own_in;
  for (int k = 0; k < c->spatial; k++) {
    in[2 + k] = random_in(3, 4);
    kernel[2 + k] = random_in(1, 3);
    strides[k] = random_in(1, 2);
  }
  Value *x = param(&c->g, "x", type_static(c->g.ctx, c->dtype, c->spatial + 2, in, NULL));
  Value *w = numbers(c, c->spatial + 2, kernel, 0);
  Value *bias = random_in(0, 1) ? numbers(c, 1, &c->channels, 0) : NULL;
  OpCode code = (OpCode)((transposed ? OP_CONV1D_TRANSPOSE : OP_CONV1D) + c->spatial - 1);
  Op *op = new_op(&c->g, code, x, w, bias);
  op_set_ints(c->g.ctx, op, "strides", strides, c->spatial);
  op_set_int(op, "groups", groups);
  return finish(&c->g, op, NULL);
}

/* Numbers per channel in the shape of v, through one of several views. */
static Value *per_channel(Case *c, const Value *v) {
  int64_t shape[WEFT_MAX_RANK], ones[WEFT_MAX_RANK] = {1, c->channels, 1, 1, 1}, axes[] = {0, 1, 2, 3, 4};
  int rank = v->type->rank;
  shape_of(v, shape);
  Graph *g = &c->g;
  switch (random_in(0, 3)) {
  case 0:
    return build_broadcast(g->m, g->f, NULL, numbers(c, 1, &c->channels, 0.5), axes + 1, shape, rank, LOC_NONE);
  case 1:
    return build_broadcast(g->m, g->f, NULL, numbers(c, rank, ones, 0.5), axes, shape, rank, LOC_NONE);
  case 2: {
    Op *op = new_op(g, OP_RESHAPE, numbers(c, 1, &c->channels, 0.5), NULL, NULL);
    op_set_ints(g->ctx, op, "shape", ones, rank);
    return build_broadcast(g->m, g->f, NULL, finish(g, op, NULL), axes, shape, rank, LOC_NONE);
  }
  default:
    return build_broadcast(g->m, g->f, NULL, numbers(c, 0, NULL, 0.5), NULL, shape, rank, LOC_NONE);
  }
}

static Value *add_affine(Case *c, Value *v) {
  static const OpCode codes[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_NEG};
  OpCode code = codes[random_in(0, 4)];
  if (code == OP_NEG)
    return finish(&c->g, new_op(&c->g, code, v, NULL, NULL), NULL);
  Value *w = per_channel(c, v);
  bool swap = code != OP_DIV && random_in(0, 1);
  return finish(&c->g, new_op(&c->g, code, swap ? w : v, swap ? v : w, NULL), NULL);
}

/* Absolute. Sums have at most 3 * 3^3 products below 1.5, and are scaled up to 4 times by at most 2; in both orders
 * each step rounds to 1 in 2^24 or 2^53. Most results are far smaller than that bound: differences seen are 2e-6 and
 * 7e-15. */
static double tolerance(DType dtype) {
  return dtype == DT_F64 ? 1e-12 : 5e-5;
}

START_TEST(test_random) {
  start_random(81);
  double worst[2] = {0, 0};
  for (int round = 0; round < 1500; round++) {
    Case c = {.g = graph_new(), .dtype = random_in(0, 1) ? DT_F64 : DT_F32, .spatial = (int)random_in(1, 3)};
    Value *v = make_conv(&c);
    int chain = (int)random_in(1, 4);
    for (int k = 0; k < chain; k++)
      v = add_affine(&c, v);
    function_add_result(c.g.m, c.g.f, "y", v, v->type, NULL, LOC_NONE);
    const Tensor **inputs = random_inputs(c.g.ctx, c.g.f);
    const Tensor *expected = evaluate(c.g.m, inputs)[0];
    const char *text = graph_text(c.g.m);
    run_passes(c.g.m, "fold-batch-norm,dce");
    for (const Op *op = c.g.f->first; op; op = op->next)
      if (!(op->def->traits & (OP_LEAF | OP_CONTRACTION)))
        ck_abort_msg("not folded:\n%s\nfrom\n%s", graph_text(c.g.m), text);
    const Tensor *got = evaluate(c.g.m, inputs)[0];
    for (int64_t k = 0; k < got->n; k++) {
      double d = fabs(tensor_get(got, k) - tensor_get(expected, k));
      worst[c.dtype == DT_F64] = fmax(worst[c.dtype == DT_F64], d);
      if (!(d <= tolerance(c.dtype)))
        ck_abort_msg("element %d is %.17g, expected %.17g:\n%s", (int)k, tensor_get(got, k), tensor_get(expected, k),
                     text);
    }
    ctx_destroy(c.g.ctx);
  }
  printf("largest difference: f32 %g, f64 %g\n", worst[0], worst[1]);
}
END_TEST

#define HEAD "weft 1 model \"m\"\nconst @k : %s[2,1,1] = [1.0, 2.0]\nconst @s : %s[2] = [%s]\n"

/* A convolution of two channels and an op behind it; true where it was folded. */
static bool folds(const char *type, const char *scale, const char *op) {
  const char *text =
      arena_printf(ctx->arena,
                   HEAD "func @f(%%x: %s[1,1,3]) -> (y: %s[1,2,3]) {\n"
                        "%%k = constant() {value = @k} : %s[2,1,1]\n%%s = constant() {value = @s} : %s[2]\n"
                        "%%c = conv1d(%%x, %%k) : %s[1,2,3]\n"
                        "%%b = broadcast(%%s) {axes = [1], shape = [1, 2, 3]} : %s[1,2,3]\n"
                        "%%y = %s : %s[1,2,3]\nreturn %%y\n}",
                   type, type, scale, type, type, type, type, type, type, op, type);
  Module *m = parse_well(ctx, text);
  run_passes(m, "fold-batch-norm,dce");
  return m->main->results.data[0].value->def->def->traits & OP_CONTRACTION;
}

START_TEST(test_what_is_affine) {
  ck_assert(folds("f32", "2.0, 3.0", "mul(%c, %b)"));
  ck_assert(folds("f64", "2.0, 3.0", "sub(%b, %c)"));
  ck_assert(folds("f32", "2.0, 0.0", "mul(%c, %b)"));
  ck_assert(!folds("f32", "2.0, 3.0", "div(%b, %c)"));
  ck_assert(!folds("f32", "2.0, 3.0", "mul(%c, %c)"));
  ck_assert(!folds("f32", "2.0, 3.0", "add(%c, %c)"));
  ck_assert(!folds("f32", "2.0, 3.0", "max(%c, %b)"));
  ck_assert(!folds("f32", "2.0, 3.0", "prelu(%c, %b)"));
  ck_assert(!folds("f32", "2.0, 3.0", "pow(%c, %b)"));
  ck_assert(!folds("f16", "2.0, 3.0", "mul(%c, %b)")); /* the kernel would be rounded to 11 bits once more */
  /* What is not finite. */
  ck_assert(!folds("f32", "2.0, inf", "mul(%c, %b)"));
  ck_assert(!folds("f32", "2.0, nan", "add(%c, %b)"));
  ck_assert(!folds("f32", "2.0, 0.0", "div(%c, %b)"));
  ck_assert(!folds("f32", "2.0, 3e38", "mul(%c, %b)"));
}
END_TEST

/* Kernel and bias are rounded once, though scale and shift are two ops: 1 + 2^-24 would round to 1 in between. */
START_TEST(test_rounded_once) {
  Module *m = parse_well(
      ctx, "weft 1 model \"m\"\nconst @k : f32[1,1,1] = [1.0]\nconst @b : f32[1] = [5.960464477539063e-8]\n"
           "const @one : f32[1] = [1.0]\nconst @minus : f32[1] = [-1.0]\nfunc @f(%x: f32[1,1,1]) -> (y: f32[1,1,1]) {\n"
           "%k = constant() {value = @k} : f32[1,1,1]\n%b = constant() {value = @b} : f32[1]\n"
           "%one = constant() {value = @one} : f32[1]\n%minus = constant() {value = @minus} : f32[1]\n"
           "%c = conv1d(%x, %k, %b) : f32[1,1,1]\n%o = broadcast(%one) {axes = [1], shape = [1, 1, 1]} : f32[1,1,1]\n"
           "%n = broadcast(%minus) {axes = [1], shape = [1, 1, 1]} : f32[1,1,1]\n%1 = add(%c, %o) : f32[1,1,1]\n"
           "%2 = add(%1, %n) : f32[1,1,1]\nreturn %2\n}");
  run_passes(m, "fold-batch-norm,dce");
  const Op *conv = m->main->last;
  ck_assert_int_eq(conv->def->code, OP_CONV1D);
  float bias;
  memcpy(&bias, constant_data(m, op_attr(conv->operands[2]->def, "value")->constant), sizeof bias);
  ck_assert(bias == 0x1p-24F);
  ck_assert_int_eq(count_all_ops(m), 3); /* the kernel is as it was */
}
END_TEST

/* Constants of a model's size are folded one by one; shared ones stay shared. */
START_TEST(test_shared_kernel) {
  Module *m = parse_well(
      ctx, "weft 1 model \"m\"\nconst @k : f32[1,1,1] = [1.0]\nconst @s : f32[1] = [3.0]\n"
           "func @f(%x: f32[1,1,4]) -> (y: f32[1,1,4], z: f32[1,1,4]) {\n%k = constant() {value = @k} : f32[1,1,1]\n"
           "%s = constant() {value = @s} : f32[1]\n%b = broadcast(%s) {axes = [1], shape = [1, 1, 4]} : f32[1,1,4]\n"
           "%c = conv1d(%x, %k) : f32[1,1,4]\n%d = conv1d(%c, %k) : f32[1,1,4]\n%y = mul(%d, %b) : f32[1,1,4]\n"
           "%z = mul(%c, %b) : f32[1,1,4]\nreturn %y, %z\n}");
  run_passes(m, "fold-batch-norm,dce");
  ck_assert_int_eq(count_code(m, OP_MUL), 2);
  ck_assert_ptr_eq(m->first_constant->next->next, NULL);
}
END_TEST

/* No input channels, and as many output channels as a text can ask for. */
START_TEST(test_no_inputs) {
  Module *m = parse_well(
      ctx, "weft 1 model \"m\"\nconst @k : f32[0,1048576,1] = []\nconst @s : f32[] = [3.0]\n"
           "func @f(%x: f32[1,0,1]) -> (y: f32[1,1048576,1]) {\n%k = constant() {value = @k} : f32[0,1048576,1]\n"
           "%s = constant() {value = @s} : f32[]\n%c = conv1d_transpose(%x, %k) : f32[1,1048576,1]\n"
           "%b = broadcast(%s) {axes = [], shape = [1, 1048576, 1]} : f32[1,1048576,1]\n"
           "%y = add(%c, %b) : f32[1,1048576,1]\nreturn %y\n}");
  run_passes(m, "fold-batch-norm,dce");
  ck_assert_int_eq(count_code(m, OP_ADD), 1);
}
END_TEST

Suite *suite_fold_batch_norm(void);
Suite *suite_fold_batch_norm(void) {
  Suite *s = suite_create("fold-batch-norm");
  TCase *t = tcase_create("fold-batch-norm");
  tcase_set_timeout(t, 120);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, test_random);
  tcase_add_test(t, test_what_is_affine);
  tcase_add_test(t, test_rounded_once);
  tcase_add_test(t, test_shared_kernel);
  tcase_add_test(t, test_no_inputs);
  suite_add_tcase(s, t);
  return s;
}
