/* The one gate: what `legalize` passes is lowered, planned, compiled and run. The walk is over every row of the table,
 * each element type, layouts row-major, permuted and blocked, and the CPU levels. A sample is refused when it is made
 * (its row does not take the element type), or by legalize, with status 4, the user's node and the way out; or it must
 * go through to the end, where its numbers are those of the reference evaluation.
 *
 * Samples of one element type, layout and level are compiled as one function; where that fails, each alone. All are
 * lowered and planned for every level, and compiled for one level in turn, since LLVM takes most of the time;
 * WEFT_GATE_ALL=1 compiles for all. In debug builds a random part of the functions, by the seed printed. */
#include <check.h>

#include "codegen/codegen.h"
#include "lower/loop_passes.h"
#include "lower/lower.h"
#include "op_samples.h"
#include "runtime/model.h"

#define LEVELS 3 /* the CPU levels come first in the table of targets */
#define MAX_SAMPLES 512

typedef enum { REFUSED, FAILED, RUN } Outcome;

/* ---- one function of samples ---- */

typedef struct {
  Graph g;
  const CpuTarget *cpu;
  const char *stage; /* reached */
} Run;

static bool run_passes_of(Run *r, Unit *unit, const char *text) {
  Pipeline pipeline = {0};
  PipelineOptions options = {.verify_each = true};
  Str log = str_new(r->g.ctx->arena);
  r->stage = text;
  return pipeline_parse(r->g.ctx, &all_passes, text, &pipeline) &&
         pipeline_run(unit, &all_passes, &pipeline, &options, &log);
}

/* Floats in -1..1, integers in -100..100, indices in 0..3. */
static Tensor *input_tensor(Ctx *ctx, const Value *v) {
  Tensor *t = tensor_of_type(ctx, v->type);
  bool index = strncmp(v->name, "index", 5) == 0;
  for (int64_t k = 0; k < t->n; k++)
    tensor_set(t, k,
               index                      ? (double)random_in(0, 3)
               : dtype_is_float(t->dtype) ? (double)random_in(-1000, 1000) / 1000
                                          : (double)random_in(-100, 100));
  return t;
}

/* Values in -1..1, sums of at most 81 products in f32; halves have 8 or 11 digits and round once; integers are equal.
 */
static bool same_numbers(const Tensor *got, const Tensor *expected) {
  bool half = dtype_size(expected->dtype) == 2;
  double tolerance = dtype_is_float(expected->dtype) ? half ? 0.02 : 1e-4 : 0;
  for (int64_t k = 0; k < expected->n; k++) {
    double a = tensor_get(got, k), b = tensor_get(expected, k);
    if (a != b && !(isnan(a) && isnan(b)) && !(fabs(a - b) <= tolerance + tolerance * fabs(b)))
      return false;
  }
  return true;
}

static bool run_compiled(Run *r, LoopProgram *p) {
  Ctx *ctx = r->g.ctx;
  const Function *f = r->g.f;
  const Tensor **inputs = ARENA_ARRAY(ctx->arena, const Tensor *, f->params.len);
  Tensor **expected = ARENA_ARRAY(ctx->arena, Tensor *, f->results.len);
  const void **in = ARENA_ARRAY(ctx->arena, const void *, f->params.len);
  void **out = ARENA_ARRAY(ctx->arena, void *, f->results.len);
  for (size_t k = 0; k < f->params.len; k++) {
    const Tensor *t = inputs[k] = input_tensor(ctx, f->params.data[k]);
    in[k] = t->data; /* parameters are row-major */
  }
  for (size_t k = 0; k < f->results.len; k++)
    out[k] = arena_alloc(ctx->arena, (size_t)type_bytes(f->results.data[k].type));
  r->stage = "the reference evaluation";
  if (!eval_function(r->g.m, f, inputs, expected, NULL))
    return false;
  CodegenOptions options = {.cpu = r->cpu, .prefix = "weft_model", .poison = true};
  r->stage = "code generation";
  Jit *jit = jit_open(p, &options);
  if (!jit)
    return false;
  r->stage = "the run";
  bool ok = weft_rt_run(jit_model(jit), in, out) == 0;
  jit_close(jit);
  for (size_t k = 0; ok && k < f->results.len; k++) {
    Tensor *got = tensor_of_type(ctx, f->results.data[k].type);
    tensor_from_storage(got, f->results.data[k].type, out[k]);
    if (!same_numbers(got, expected[k])) {
      r->stage = arena_printf(ctx->arena, "the comparison of %s", f->results.data[k].name);
      ok = false;
    }
  }
  return ok;
}

/* The samples as one function through all stages; on failure the report says where and why. */
static Outcome run_samples(const Sample *samples, int n, const CpuTarget *cpu, bool compiled, Str *report) {
  Run r = {.g = graph_new(), .cpu = cpu, .stage = "building"};
  Ctx *ctx = r.g.ctx;
  Unit unit = {.ctx = ctx, .module = r.g.m};
  for (int k = 0; k < n; k++) {
    Sample s = samples[k];
    s.g = &r.g;
    Value *v = sample_build(&s);
    ck_assert_ptr_nonnull(v);
    const Layout *outside = layout_row_major(ctx, v->type->rank);
    v = v->type->layout == outside ? v : build_relayout(r.g.m, r.g.f, NULL, v, outside, LOC_NONE);
    function_add_result(r.g.m, r.g.f, arena_printf(ctx->arena, "%s.%d", s.def->name, s.variant), v, v->type, NULL,
                        LOC_NONE);
  }
  const char *later = arena_printf(ctx->arena, "fuse,lower{vector-bytes=%d,registers=%d},plan", cpu->lower.vector_bytes,
                                   cpu->lower.registers);
  Outcome outcome = REFUSED;
  if (run_passes_of(&r, &unit, "expand-composites") && run_passes_of(&r, &unit, "legalize{target=cpu}")) {
    Bytes object;
    CodegenOptions options = {.cpu = cpu, .prefix = "weft_model"};
    bool ok = run_passes_of(&r, &unit, later);
    if (ok && compiled)
      ok = cpu_target_runs_here(cpu) ? run_compiled(&r, unit.loops)
                                     : codegen_emit(unit.loops, &options, EMIT_OBJ, &object);
    outcome = ok ? RUN : FAILED;
  }
  if (outcome == REFUSED && n == 1) {
    const char *text = diag_text(ctx->diags, false);
    if (diag_status(ctx->diags) != WEFT_UNSUPPORTED || !strstr(text, "test.weft:7:3: error: node 'n': ") ||
        !strchr(text, ';'))
      outcome = FAILED; /* refused badly */
  }
  if (outcome != RUN)
    str_printf(report, "%s[%s %s %s] fails in %s: %s\n", n > 1 ? "several, " : samples->def->name,
               dtype_name(samples->dtype), form_names[samples->form], cpu->name, r.stage, diag_text(ctx->diags, false));
  ctx_destroy(ctx);
  return outcome;
}

/* ---- the walk ---- */

/* True where the row takes the element type; the refusal has status 4 and says what it takes. */
static bool takes_type(const Sample *sample) {
  Graph g = graph_new();
  Sample s = *sample;
  s.g = &g;
  bool taken = sample_build(&s) != NULL;
  if (!taken) {
    const char *text = diag_text(g.ctx->diags, false);
    ck_assert_msg(diag_status(g.ctx->diags) == WEFT_UNSUPPORTED && strstr(text, "test.weft:7:3: error: node 'n': ") &&
                      strstr(text, s.def->name) && strstr(text, "takes"),
                  "%s of %s: %s", s.def->name, dtype_name(s.dtype), text);
  }
  ctx_destroy(g.ctx);
  return taken;
}

static int samples_of(DType dtype, Form form, Sample *out) {
  int n = 0;
  for (int k = 0; k < OP_COUNT; k++) {
    const Recipe *recipe = recipe_of(&op_table[k]);
    ck_assert_msg(recipe != NULL, "%s has no recipe in op_samples.h", op_table[k].name);
    for (int v = 0; v < recipe->variants; v++) {
      ck_assert_int_lt(n, MAX_SAMPLES);
      out[n] = (Sample){NULL, &op_table[k], dtype, form, v};
      n += takes_type(&out[n]);
    }
  }
  return n;
}

static struct { int lowered, compiled, refused, failed; } count;

static void walk(DType dtype, Form form, const CpuTarget *cpu, bool compiled) {
  static Sample samples[MAX_SAMPLES];
  Ctx *ctx = ctx_create();
  Str report = str_new(ctx->arena);
  int n = samples_of(dtype, form, samples);
  if (run_samples(samples, n, cpu, compiled, &report) == RUN) {
    count.lowered += n;
    count.compiled += compiled ? n : 0;
  } else {
    printf("%s", report.data);
    for (int k = 0; k < n; k++) {
      report = str_new(ctx->arena);
      Outcome outcome = run_samples(&samples[k], 1, cpu, compiled, &report);
      count.lowered += outcome == RUN;
      count.compiled += outcome == RUN && compiled;
      count.refused += outcome == REFUSED;
      count.failed += outcome == FAILED;
      if (outcome == FAILED)
        printf("%s", report.data);
    }
  }
  ctx_destroy(ctx);
}

START_TEST(what_passes_legalize_runs) {
  start_random(20261201);
#ifdef NDEBUG
  int share = 1;
#else
  int share = 10;
#endif
  bool all = getenv("WEFT_GATE_ALL") != NULL;
  for (int dtype = 0; dtype < DT_COUNT; dtype++)
    for (int form = 0; form < FORM_COUNT; form++)
      for (int level = 0; level < LEVELS; level++)
        if (random_in(1, share) == 1)
          walk((DType)dtype, (Form)form, &cpu_targets[level], all || (dtype + form + level) % LEVELS == 0);
  printf("%d samples lowered and planned, %d of them compiled; %d refused by legalize, %d passed it and failed\n",
         count.lowered, count.compiled, count.refused, count.failed);
  ck_assert_int_gt(count.compiled, 0);
  ck_assert_int_eq(count.failed, 0);
}
END_TEST

Suite *suite_gate(void);
Suite *suite_gate(void) {
  Suite *s = suite_create("gate");
  TCase *t = tcase_create("gate");
  tcase_set_timeout(t, 590);
  tcase_add_test(t, what_passes_legalize_runs);
  suite_add_tcase(s, t);
  return s;
}
