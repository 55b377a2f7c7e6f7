/* The random sweep: convNd and convNd_transpose with random attributes, boundary orders and blocked encodings inside,
 * through every stage, against the reference evaluation.
 *
 *   sweep [CASES [SHARD]]      the seed is printed, and taken from WEFT_SEED where that is set; shards have seeds of their own
 *
 * Each case: x and kernel come in random orders of axes, are copied to random encodings (permuted, blocked, several
 * digits an axis), go through the convolution into another random encoding, a fused chain, and out in a random order. The
 * program must pass the checker; the interpreter and the compiled code, for a random CPU level that this machine runs, must
 * agree with the reference. Padding lanes and the workspace are poisoned.
 * Tolerance: |a - b| <= atol + rtol*|b| with rtol 1e-4, atol 1e-4: values are in -1..1 and sums have at most some hundred terms. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "codegen/codegen.h"
#include "ir/tensor.h"
#include "lower/loop_passes.h"
#include "lower/lower.h"
#include "runtime/model.h"

#define RTOL 1e-4
#define ATOL 1e-4

static uint64_t state;

static uint64_t next_random(void) { /* xorshift64*, Vigna 2016 */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 2685821657736338717ull;
}

static int64_t between(int64_t lo, int64_t hi) { return lo + (int64_t)((next_random() >> 33) % (uint64_t)(hi - lo + 1)); }
static int64_t one_of(const int64_t *values, int n) { return values[between(0, n - 1)]; }

/* ---- random layouts ---- */

static void shuffle(Digit *d, int n) {
  for (int k = n - 1; k > 0; k--) {
    int j = (int)between(0, k);
    Digit t = d[k];
    d[k] = d[j];
    d[j] = t;
  }
}

/* Any order of digits; axes split at random where blocked. */
static const Layout *random_layout(Ctx *ctx, int rank, bool blocked) {
  static const int64_t sizes[] = {2, 3, 4, 8};
  Digit d[WEFT_MAX_DIGITS];
  int n = 0;
  for (int a = 0; a < rank; a++) {
    int64_t div = 1;
    int splits = blocked && between(0, 2) == 0 ? (int)between(1, 2) : 0;
    for (int k = 0; k < splits; k++) {
      int64_t size = one_of(sizes, 4);
      d[n++] = (Digit){a, div, size};
      div *= size;
    }
    d[n++] = (Digit){a, div, 0};
  }
  shuffle(d, n);
  const Layout *layout = layout_get(ctx, rank, d, n, PAD_ANY);
  WEFT_ASSERT(layout);
  return layout;
}

/* ---- a random case ---- */

typedef struct {
  Ctx *ctx;
  Module *m;
  Str text; /* the case in words, for the report */
} Case;

static Value *random_copy(Case *c, Value *v, bool blocked) {
  return build_relayout(c->m, c->m->main, NULL, v, random_layout(c->ctx, v->type->rank, blocked), LOC_NONE);
}

static Value *add_param(Case *c, const char *name, int rank, const int64_t *shape) {
  const Type *type = type_static(c->ctx, DT_F32, rank, shape, random_layout(c->ctx, rank, false));
  return function_add_param(c->m, c->m->main, name, type, NULL, LOC_NONE);
}

static void fill(Tensor *t) {
  for (int64_t k = 0; k < t->n; k++)
    tensor_set(t, k, (double)between(-1000, 1000) / 1000.0);
}

static Value *add_constant(Case *c, const char *name, int rank, const int64_t *shape) {
  const Type *type = type_static(c->ctx, DT_F32, rank, shape, random_layout(c->ctx, rank, between(0, 1)));
  Tensor *t = tensor_of_type(c->ctx, type);
  fill(t);
  void *data = arena_alloc(c->ctx->arena, (size_t)type_bytes(type));
  tensor_to_storage(t, type, data);
  return build_constant(c->m, c->m->main, NULL, module_add_constant(c->m, name, type, data, LOC_NONE), name, LOC_NONE);
}

typedef struct {
  int64_t strides[3], dilation[3], padding[6], output_padding[3], kernel[3], input[3], output[3];
} Attributes;

static void random_attributes(Attributes *a, int spatial, bool transposed) {
  static const int64_t strides[] = {1, 1, 2, 2, 3, 4, 5}, dilations[] = {1, 1, 1, 2, 3, 4};
  for (int k = 0; k < spatial; k++) {
    do {
      a->strides[k] = one_of(strides, 7);
      a->dilation[k] = one_of(dilations, 6);
      a->kernel[k] = between(1, 5);
      a->input[k] = between(1, spatial == 1 ? 40 : spatial == 2 ? 12 : 5);
      a->padding[k] = between(-1, 5);
      a->padding[spatial + k] = between(-1, 5);
      int64_t larger = a->strides[k] > a->dilation[k] ? a->strides[k] : a->dilation[k];
      a->output_padding[k] = transposed ? between(0, larger - 1) : 0;
      int64_t span = a->dilation[k] * (a->kernel[k] - 1) + 1, pads = a->padding[k] + a->padding[spatial + k];
      a->output[k] = transposed ? (a->input[k] - 1) * a->strides[k] + span + a->output_padding[k] - pads
                                : floordiv_i64(a->input[k] + pads - span, a->strides[k]) + 1;
    } while (a->output[k] < 1 || (!transposed && a->input[k] + a->padding[k] + a->padding[spatial + k] < a->dilation[k] * (a->kernel[k] - 1) + 1));
  }
}

static Value *random_chain(Case *c, Value *v) {
  static const char *const unary[] = {"relu", "leaky_relu", "tanh", "sigmoid", "clip"};
  const char *name = unary[between(0, 4)];
  Op *op = op_create(c->ctx, op_find(name, strlen(name)), &v, 1, LOC_NONE);
  if (strcmp(name, "clip") == 0) {
    op_set_float(op, "min", -0.5);
    op_set_float(op, "max", 0.75);
  }
  str_printf(&c->text, " %s", name);
  const Type *type = type_with_layout(c->ctx, v->type, random_layout(c->ctx, v->type->rank, true));
  return op_finish(c->m, c->m->main, op, NULL, NULL, type);
}

static Value *random_conv(Case *c) {
  static const int64_t channels[] = {1, 2, 3, 8, 16, 19};
  int spatial = (int)between(1, 3);
  bool transposed = between(0, 2) > 0;
  Attributes a;
  random_attributes(&a, spatial, transposed);
  int64_t groups = one_of((const int64_t[]){1, 1, 1, 2, 3}, 5);
  int64_t in = one_of(channels, 6), out = one_of(channels, 6);
  if (groups > 1) {
    in = between(1, 5);
    out = between(1, 5);
  }
  int64_t data_shape[5] = {between(1, 3), in * groups}, kernel_shape[5] = {out * groups, in};
  if (transposed) {
    kernel_shape[0] = in * groups;
    kernel_shape[1] = out;
  }
  for (int k = 0; k < spatial; k++) {
    data_shape[2 + k] = a.input[k];
    kernel_shape[2 + k] = a.kernel[k];
  }
  Value *x = add_param(c, "x", spatial + 2, data_shape);
  Value *kernel = between(0, 1) ? add_param(c, "k", spatial + 2, kernel_shape) : add_constant(c, "k", spatial + 2, kernel_shape);
  int64_t bias_shape[1] = {out * groups};
  Value *bias = between(0, 1) ? add_constant(c, "b", 1, bias_shape) : NULL;
  Value *operands[3] = {between(0, 2) ? random_copy(c, x, true) : x, between(0, 1) ? random_copy(c, kernel, true) : kernel, bias};
  const char *name = arena_printf(c->ctx->arena, "conv%dd%s", spatial, transposed ? "_transpose" : "");
  Op *op = op_create(c->ctx, op_find(name, strlen(name)), operands, 3, LOC_NONE);
  op_set_ints(c->ctx, op, "strides", a.strides, spatial);
  op_set_ints(c->ctx, op, "dilation", a.dilation, spatial);
  op_set_ints(c->ctx, op, "padding", a.padding, 2 * spatial);
  if (transposed)
    op_set_ints(c->ctx, op, "output_padding", a.output_padding, spatial);
  op_set_int(op, "groups", groups);
  int64_t result_shape[5] = {data_shape[0], out * groups};
  memcpy(result_shape + 2, a.output, (size_t)spatial * sizeof *a.output);
  const Type *type = type_static(c->ctx, DT_F32, spatial + 2, result_shape, random_layout(c->ctx, spatial + 2, true));
  return op_finish(c->m, c->m->main, op, NULL, "y", type);
}

/* A residual in an encoding of its own, or a broadcast vector along channels. */
static Value *random_binary(Case *c, Value *v) {
  int64_t shape[WEFT_MAX_RANK], channel = 1;
  type_shape(v->type, shape);
  Value *other;
  if (between(0, 1)) {
    other = random_copy(c, add_param(c, "r", v->type->rank, shape), true);
  } else {
    int64_t vector[1] = {shape[1]};
    other = build_broadcast(c->m, c->m->main, NULL, add_constant(c, "s", 1, vector), &channel, shape, v->type->rank, LOC_NONE);
  }
  Value *operands[2] = {v, other};
  Op *op = op_create(c->ctx, op_find("add", 3), operands, 2, LOC_NONE);
  return op_finish(c->m, c->m->main, op, NULL, NULL, type_with_layout(c->ctx, v->type, random_layout(c->ctx, v->type->rank, true)));
}

static bool build_case(Case *c) {
  c->m->main = function_create(c->m, "sweep");
  Value *v = random_conv(c);
  if (v && between(0, 2) == 0)
    v = random_binary(c, v);
  if (v && between(0, 1))
    v = random_chain(c, v);
  if (!v)
    return false;
  if (between(0, 3) == 0) { /* padding lanes of zero, made by a copy */
    const Layout *layout = layout_with_pad(c->ctx, random_layout(c->ctx, v->type->rank, true), PAD_ZERO);
    v = build_relayout(c->m, c->m->main, NULL, v, layout, LOC_NONE);
  }
  v = random_copy(c, v, false);
  function_add_result(c->m, c->m->main, "z", v, v->type, NULL, LOC_NONE);
  return module_verify(c->m);
}

/* ---- running it ---- */

static double largest_error(const Tensor *got, const Tensor *expected) {
  double worst = 0; /* in units of the tolerance */
  for (int64_t k = 0; k < expected->n; k++) {
    double a = tensor_get(got, k), b = tensor_get(expected, k);
    double e = isnan(a) || isnan(b) ? INFINITY : fabs(a - b) / (ATOL + RTOL * fabs(b));
    worst = e > worst ? e : worst;
  }
  return worst;
}

static bool check_output(Case *c, const char *stage, const Type *type, const void *storage, const Tensor *expected) {
  Tensor *got = tensor_of_type(c->ctx, type);
  tensor_from_storage(got, type, storage);
  double error = largest_error(got, expected);
  if (error <= 1)
    return true;
  printf("%s differs: %.3g times the tolerance\n", stage, error);
  return false;
}

static const CpuTarget *random_cpu(void) {
  uint32_t here = cpu_features_here();
  int n = 0;
  for (const CpuTarget *t = cpu_targets; t->name; t++)
    n += !(t->needs & ~here);
  for (const CpuTarget *t = cpu_targets;; t++)
    if (!(t->needs & ~here) && between(1, n--) == 1)
      return t;
}

static bool run_pipeline(Unit *unit, const char *text, Str *log) {
  Pipeline pipeline = {0};
  PipelineOptions options = {.verify_each = true};
  return pipeline_parse(unit->ctx, &all_passes, text, &pipeline) && pipeline_run(unit, &all_passes, &pipeline, &options, log);
}

static bool run_case(Case *c) {
  Ctx *ctx = c->ctx;
  if (!build_case(c))
    return false;
  const Function *f = c->m->main;
  const Tensor *inputs[4];
  const void *storage[4];
  for (size_t k = 0; k < f->params.len; k++) {
    const Type *type = f->params.data[k]->type;
    Tensor *t = tensor_of_type(ctx, type);
    fill(t);
    void *s = arena_alloc(ctx->arena, (size_t)type_bytes(type));
    tensor_to_storage(t, type, s);
    inputs[k] = t;
    storage[k] = s;
  }
  Tensor *expected;
  if (!eval_function(c->m, f, inputs, &expected, NULL))
    return false;

  const CpuTarget *cpu = random_cpu();
  str_printf(&c->text, " [%s]", cpu->name);
  Unit unit = {ctx, c->m, NULL};
  Str log = str_new(ctx->arena);
  const char *text = arena_printf(ctx->arena, "fold-constants,dce,legalize,%slower{vector-bytes=%d,registers=%d},plan",
                                  between(0, 3) ? "fuse," : "", cpu->lower.vector_bytes, cpu->lower.registers);
  if (!run_pipeline(&unit, text, &log))
    return false;
  const Type *type = f->results.data[0].type;
  void *out = arena_alloc(ctx->arena, (size_t)type_bytes(type));
  void *outputs[1] = {out};
  if (!loops_interpret(unit.loops, storage, outputs) || !check_output(c, "the interpreter", type, out, expected))
    return false;
  memset(out, 0xff, (size_t)type_bytes(type));
  CodegenOptions cg = {.cpu = cpu, .prefix = "weft_model", .poison = true};
  Jit *jit = jit_open(unit.loops, &cg);
  if (!jit)
    return false;
  int status = weft_rt_run(jit_model(jit), storage, outputs);
  if (status != 0)
    printf("the run ends with %d: %s\n", status, weft_rt_error());
  bool ok = status == 0 && check_output(c, "compiled code", type, out, expected);
  jit_close(jit);
  return ok;
}

int main(int argc, char **argv) {
  long cases = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
  const char *given = getenv("WEFT_SEED");
  uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
  seed += argc > 2 ? 1000000 * strtoull(argv[2], NULL, 10) : 0;
  long failed = 0;
  printf("seed %llu\n", (unsigned long long)seed);
  for (long k = 0; k < cases; k++) {
    uint64_t own = seed + (uint64_t)k;
    state = own * 0x9e3779b97f4a7c15ull + 0x1234567;
    Ctx *ctx = ctx_create();
    Case c = {.ctx = ctx, .m = module_create(ctx, "sweep", "sweep"), .text = str_new(ctx->arena)};
    if (!run_case(&c)) {
      Str text = str_new(ctx->arena);
      module_print(&text, c.m, (PrintOptions){0});
      printf("FAILED case %ld (WEFT_SEED=%llu sweep 1):%s\n%s%s\n", k, (unsigned long long)own, c.text.data, diag_text(ctx->diags, false),
             text.data);
      failed++;
    }
    ctx_destroy(ctx);
  }
  printf("%ld passed, %ld failed\n", cases - failed, failed);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
