/* Constants and values that several readers want in different encodings: tied weights, a kernel of two kinds of
 * convolution, a constant as kernel and as an operand, values returned in several orders. Each graph is taken through
 * the passes of `weft compile` with several wishes, compiled and run; its results must be those of the reference
 * evaluation of the graph as written, and its constants as many as there are encodings.
 *
 * Tolerance: |a - b| <= 1e-4 + 1e-4*|b|: numbers are multiples of 1/64 in -2..2, sums have at most 19 * 9 terms. */
#include <math.h>

#include "codegen/codegen.h"
#include "lower/lower.h"
#include "pass_help.h"
#include "runtime/model.h"

#define MAX_PORTS 4

typedef struct {
  const char *name;
  const char *constants; /* NAME:SHAPE of one element each word, or NAME=OTHER: equal numbers */
  const char *function;  /* from "(" on */
  struct {
    const char *wishes;
    int derived; /* constants that are other ones in another layout */
  } ways[5];
} Graphs;

/* clang-format off */
static const Graphs graphs[] = {
    {"tied weights", "k:8,8,3,3 b:8",
     "(%x: f32[1,8,5,5] as \"NCHW\") -> (y: f32[1,8,5,5] as \"NCHW\") {\n"
     "  %k = constant() {value = @k} : f32[8,8,3,3]\n"
     "  %b = constant() {value = @b} : f32[8]\n"
     "  %1 = conv2d(%x, %k, %b) {padding = [1, 1, 1, 1]} : f32[1,8,5,5]\n"
     "  %2 = relu(%1) : f32[1,8,5,5]\n"
     "  %y = conv2d(%2, %k, %b) {padding = [1, 1, 1, 1]} : f32[1,8,5,5]\n"
     "  return %y\n}\n",
     {{"", 1}, {"conv2d=NHWC", 1}, {"conv2d=NCHW8c:OIHW8i16o", 1}, {"conv2d=NHWC:OIHW", 0},
      {"conv2d=CHWN:OHWI:NCHW16c", 1}}},
    {"equal kernels stored twice", "k:8,8,3,3 l=k",
     "(%x: f32[1,8,5,5] as \"NCHW\") -> (y: f32[1,8,5,5] as \"NCHW\") {\n"
     "  %k = constant() {value = @k} : f32[8,8,3,3]\n"
     "  %l = constant() {value = @l} : f32[8,8,3,3]\n"
     "  %1 = conv2d(%x, %k) {padding = [1, 1, 1, 1]} : f32[1,8,5,5]\n"
     "  %y = conv2d(%1, %l) {padding = [1, 1, 1, 1]} : f32[1,8,5,5]\n"
     "  return %y\n}\n",
     {{"", 1}, {"conv2d=NCHW8c:IOHW8i16o", 1}, {"conv2d=NHWC:HWIO16o", 1}}},
    {"a kernel of conv2d and of conv2d_transpose", "k:19,3,3,3",
     "(%x: f32[2,3,6,5] as \"NCHW\") -> (y: f32[2,3,6,5] as \"NCHW\") {\n"
     "  %k = constant() {value = @k} : f32[19,3,3,3]\n"
     "  %1 = conv2d(%x, %k) : f32[2,19,4,3]\n"
     "  %y = conv2d_transpose(%1, %k) : f32[2,3,6,5]\n"
     "  return %y\n}\n",
     {{"", 2}, {"conv*=NHWC:HWIO", 2}, {"conv2d=NHWC:HWIO16o,conv2d_transpose=NCHW8c:IOHW8i16o", 2},
      {"conv2d=NCHW16c:OIHW4i,conv2d_transpose=CHWN:IOHW", 1}, {"conv2d=:HWIO,conv2d_transpose=:HWOI", 1}}},
    {"a constant as kernel and as operand", "k:8,8,2,2",
     "(%x: f32[8,8,2,2] as \"NCHW\") -> (y: f32[8,8,1,1] as \"NCHW\", z: f32[8,8,2,2] as \"NCHW\") {\n"
     "  %k = constant() {value = @k} : f32[8,8,2,2]\n"
     "  %y = conv2d(%x, %k) : f32[8,8,1,1]\n"
     "  %z = mul(%x, %k) : f32[8,8,2,2]\n"
     "  return %y, %z\n}\n",
     {{"", 1}, {"conv2d=NHWC:HWIO16o", 1}, {"conv2d=NCHW8c:IOHW", 1}}},
    {"a constant added in two layouts", "k:19,3,1,1 l:19,19,1,1 r:1,19,4,4",
     "(%x: f32[1,3,4,4] as \"NCHW\") -> (y: f32[1,19,4,4]@acdb as \"NCHW\", z: f32[1,19,4,4] as \"NCHW\") {\n"
     "  %k = constant() {value = @k} : f32[19,3,1,1]\n"
     "  %l = constant() {value = @l} : f32[19,19,1,1]\n"
     "  %r = constant() {value = @r} : f32[1,19,4,4]\n"
     "  %1 = conv2d(%x, %k) : f32[1,19,4,4]\n"
     "  %2 = add(%1, %r) : f32[1,19,4,4]\n"
     "  %3 = tanh(%2) : f32[1,19,4,4]\n"
     "  %4 = conv2d_transpose(%3, %l) : f32[1,19,4,4]\n"
     "  %z = mul(%4, %r) : f32[1,19,4,4]\n"
     "  %y = relayout(%3) : f32[1,19,4,4]@acdb\n"
     "  return %y, %z\n}\n",
     {{"", 2}, {"conv2d=NHWC", 3}, {"conv2d=NCHW8c,conv2d_transpose=NHWC", 4}, {"conv*=NCHW16c", 3},
      {"conv2d=CHWN::NCHW8c,conv2d_transpose=NCHW16c::CHWN", 4}}},
    {"a constant that is returned too", "k:3,3,2,2",
     "(%x: f32[1,3,3,3] as \"NCHW\") -> (y: f32[1,3,2,2] as \"NCHW\", z: f32[3,3,2,2]@dcba as \"NCHW\") {\n"
     "  %k = constant() {value = @k} : f32[3,3,2,2]\n"
     "  %y = conv2d(%x, %k) : f32[1,3,2,2]\n"
     "  %z = relayout(%k) : f32[3,3,2,2]@dcba\n"
     "  return %y, %z\n}\n",
     {{"", 2}, {"conv2d=NHWC:OIHW8i16o", 2}, {"conv2d=NCHW8c:HWIO", 2}}},
    {"a value returned in three orders", "k:19,3,2,2",
     "(%x: f32[2,3,4,5]@bcda as \"NCHW\") -> (a: f32[2,19,3,4] as \"NCHW\", b: f32[2,19,3,4]@acdb as \"NCHW\", "
     "c: f32[2,19,3,4]@dacb as \"NCHW\", d: f32[2,19,3,4]@acdb as \"NCHW\") {\n"
     "  %k = constant() {value = @k} : f32[19,3,2,2]\n"
     "  %a = conv2d(%x, %k) : f32[2,19,3,4]\n"
     "  %b = relayout(%a) : f32[2,19,3,4]@acdb\n"
     "  %c = relayout(%a) : f32[2,19,3,4]@dacb\n"
     "  return %a, %b, %c, %b\n}\n",
     {{"", 1}, {"conv2d=NHWC", 1}, {"conv2d=NCHW8c:HWIO16o", 1}, {"conv2d=NCHW16c::CHWN", 1}}},
    {"channels that no block divides", "k:19,17,3,3 l:9,19,1,1 s:19",
     "(%x: f32[1,17,5,4]@acdb as \"NCHW\") -> (y: f32[1,9,3,2]@bcda as \"NCHW\") {\n"
     "  %k = constant() {value = @k} : f32[19,17,3,3]\n"
     "  %l = constant() {value = @l} : f32[9,19,1,1]\n"
     "  %s = constant() {value = @s} : f32[19]\n"
     "  %1 = conv2d(%x, %k) : f32[1,19,3,2]\n"
     "  %2 = broadcast(%s) {axes = [1], shape = [1, 19, 3, 2]} : f32[1,19,3,2]\n"
     "  %3 = prelu(%1, %2) : f32[1,19,3,2]\n"
     "  %4 = conv2d(%3, %l) : f32[1,9,3,2]\n"
     "  %y = relayout(%4) : f32[1,9,3,2]@bcda\n"
     "  return %y\n}\n",
     {{"", 2}, {"*=NCHW8c:OIHW8i16o", 2}, {"*=NCHW16c:IOHW8i16o", 2}, {"*=NCHW16c:OIHW4i:NCHW8c", 2},
      {"*=NHWC:HWIO16o", 2}}},
};
/* clang-format on */

/* The constants as text: multiples of 1/64, for each its own. */
static void print_constants(Str *out, const char *list) {
  unsigned number = 1;
  const char *previous = NULL;
  for (const char *at = list; *at; at += strspn(at, " ")) {
    size_t all = strcspn(at, " "), name = strcspn(at, ":=");
    bool equal = at[name] == '=';
    const char *shape = equal ? previous : at + name + 1;
    size_t shape_len = strcspn(shape, " ");
    int64_t n = 1;
    for (const char *d = shape; d < shape + shape_len; d += strcspn(d, ", ") + 1)
      n *= strtol(d, NULL, 10);
    str_printf(out, "const @%.*s : f32[%.*s] = [", (int)name, at, (int)shape_len, shape);
    number = equal ? number : number + 1;
    for (int64_t k = 0; k < n; k++)
      str_printf(out, "%s%.6f", k ? ", " : "", ((double)((k * 37 + k / 7 * number) % 255) - 127) / 64);
    str_put(out, "]\n");
    previous = shape;
    at += all;
  }
}

static Module *parse_graph(Ctx *ctx, const Graphs *g) {
  Str text = str_new(ctx->arena);
  str_put(&text, "weft 1 model \"m\"\n");
  print_constants(&text, g->constants);
  str_printf(&text, "func @main%s", g->function);
  return parse_well(ctx, text.data);
}

static int count_derived(const Module *m) {
  int n = 0;
  for (const Constant *c = m->first_constant; c; c = c->next)
    n += c->base != NULL;
  return n;
}

static void compare(const Tensor *got, const Tensor *expected, const char *what) {
  ck_assert_int_eq(got->n, expected->n);
  for (int64_t k = 0; k < got->n; k++) {
    double a = tensor_get(got, k), b = tensor_get(expected, k);
    if (!(fabs(a - b) <= 1e-4 + 1e-4 * fabs(b)))
      ck_abort_msg("%s: element %lld is %g, expected %g", what, (long long)k, a, b);
  }
}

/* Compiles and runs the planned program; expected: by result. */
static void run_and_compare(Ctx *ctx, const Module *m, LoopProgram *p, const CpuTarget *cpu, const void *input,
                            Tensor *const *expected, const char *what) {
  const Function *f = m->main;
  void *out[MAX_PORTS];
  for (size_t k = 0; k < f->results.len; k++)
    out[k] = arena_alloc(ctx->arena, (size_t)type_bytes(f->results.data[k].type));
  Jit *jit = jit_open(p, &(CodegenOptions){.cpu = cpu, .prefix = "weft_model", .poison = true});
  ck_assert_msg(jit != NULL, "%s: %s", what, diag_text(ctx->diags, false));
  ck_assert_msg(weft_rt_run(jit_model(jit), &input, out) == 0, "%s: %s", what, weft_rt_error());
  jit_close(jit);
  for (size_t k = 0; k < f->results.len; k++) {
    Tensor *got = tensor_of_type(ctx, f->results.data[k].type);
    tensor_from_storage(got, f->results.data[k].type, out[k]);
    compare(got, expected[k], arena_printf(ctx->arena, "%s, result %s", what, f->results.data[k].name));
  }
}

static void run_way(const Graphs *g, const char *wishes, int derived, const CpuTarget *cpu) {
  Ctx *ctx = ctx_create();
  Module *written = parse_graph(ctx, g), *m = parse_graph(ctx, g);
  const Type *type = m->main->params.data[0]->type;
  Tensor *x = tensor_of_type(ctx, type), *expected[MAX_PORTS];
  for (int64_t k = 0; k < x->n; k++)
    tensor_set(x, k, ((double)(k * 29 % 253) - 126) / 64);
  const Tensor *inputs[1] = {x};
  ck_assert(eval_function(written, written->main, inputs, expected, NULL));
  void *storage = arena_alloc(ctx->arena, (size_t)type_bytes(type));
  tensor_to_storage(x, type, storage);

  const char *what = arena_printf(ctx->arena, "%s, %s on %s", g->name, *wishes ? wishes : "no wishes", cpu->name);
  run_passes(m, "expand-composites,fold-constants,canonicalize,cse,dce,fold-batch-norm,infer-layout");
  if (*wishes)
    run_passes(m, arena_printf(ctx->arena, "convert-layout{%s}", wishes));
  run_passes(m, "fold-constants,dce,legalize,fuse");
  ck_assert_msg(count_derived(m) == derived, "%s: %d derived constants, expected %d", what, count_derived(m), derived);
  LoopProgram *p = lower_module(m, cpu->lower);
  ck_assert_msg(p && plan_memory(p) && loops_check(p), "%s: %s", what, diag_text(ctx->diags, false));
  run_and_compare(ctx, m, p, cpu, storage, expected, what);
  ctx_destroy(ctx);
}

START_TEST(encodings) {
  const Graphs *g = &graphs[_i];
  for (size_t k = 0; k < COUNT(g->ways) && g->ways[k].wishes; k++)
    for (const CpuTarget *cpu = cpu_targets; cpu < cpu_targets + 3; cpu++)
      if (cpu_target_runs_here(cpu))
        run_way(g, g->ways[k].wishes, g->ways[k].derived, cpu);
}
END_TEST

Suite *suite_encodings(void);
Suite *suite_encodings(void) {
  Suite *s = suite_create("encodings");
  TCase *t = tcase_create("encodings");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, encodings, 0, (int)COUNT(graphs));
  suite_add_tcase(s, t);
  return s;
}
