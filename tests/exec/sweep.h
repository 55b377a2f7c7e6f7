/* What the random sweeps share: running a case, a graph that its sweep has built, through every stage against the
 * reference evaluation.
 *
 *   sweep [CASES [SHARD]]
 * The seed is printed, and taken from WEFT_SEED where that is set; a shard has seeds of its own.
 *
 * The program must pass the checker; the interpreter and the compiled code, for a random CPU level that this machine
 * runs, must agree with the reference. Padding lanes and the workspace are poisoned. */
#ifndef WEFT_TESTS_EXEC_SWEEP_H
#define WEFT_TESTS_EXEC_SWEEP_H

#include "tests/exec/random.h"

#define MAX_PARAMS 16

/* ---- a random case ---- */

typedef struct {
  Ctx *ctx;
  Module *m;
  Str text;                    /* the case in words, for the report */
  int64_t extents[MAX_PARAMS]; /* parameters that are indices: of the axis that they index; 0: others */
} Case;

/* A copy in a random encoding; where not `inside`, one that the boundary may have. */
static Value *random_copy(Case *c, Value *v, bool inside) {
  const Layout *layout = random_layout(c->ctx, v->type->rank, inside);
  return build_relayout(c->m, c->m->main, NULL, v, inside ? with_random_halo(c->ctx, layout) : layout, LOC_NONE);
}

static Value *add_param(Case *c, const char *name, DType dtype, int rank, const int64_t *shape) {
  const Type *type = type_static(c->ctx, dtype, rank, shape, random_layout(c->ctx, rank, false));
  return function_add_param(c->m, c->m->main, name, type, NULL, LOC_NONE);
}

/* extent: as in fill. */
static Value *add_constant(Case *c, const char *name, DType dtype, int rank, const int64_t *shape, int64_t extent) {
  const Layout *layout = with_random_halo(c->ctx, random_layout(c->ctx, rank, between(0, 1)));
  const Type *type = type_static(c->ctx, dtype, rank, shape, layout);
  Tensor *t = tensor_of_type(c->ctx, type);
  fill(t, extent);
  void *data = arena_alloc(c->ctx->arena, (size_t)type_bytes(type));
  tensor_to_storage(t, type, data);
  return build_constant(c->m, c->m->main, NULL, module_add_constant(c->m, name, type, data, LOC_NONE), name, LOC_NONE);
}

/* ---- running a case ---- */

static bool check_output(Case *c, const char *stage, const Type *type, const void *storage, const Tensor *expected,
                         Tolerance tolerance) {
  Tensor *got = tensor_of_type(c->ctx, type);
  tensor_from_storage(got, type, storage);
  double error = largest_error(got, expected, tolerance);
  if (error <= 1)
    return true;
  printf("%s differs: %.3g times the tolerance\n", stage, error);
  return false;
}

static const CpuTarget *random_cpu(void) {
  int n = 0;
  for (const CpuTarget *t = cpu_targets; t->name; t++)
    n += cpu_target_runs_here(t);
  for (const CpuTarget *t = cpu_targets;; t++)
    if (cpu_target_runs_here(t) && between(1, n--) == 1)
      return t;
}

/* The graph's first result. */
static bool run_case(Case *c, Tolerance tolerance) {
  Ctx *ctx = c->ctx;
  const Function *f = c->m->main;
  const Tensor *inputs[MAX_PARAMS];
  const void *storage[MAX_PARAMS];
  for (size_t k = 0; k < f->params.len; k++) {
    const Type *type = f->params.data[k]->type;
    Tensor *t = tensor_of_type(ctx, type);
    fill(t, c->extents[k]);
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
  Unit unit = {.ctx = ctx, .module = c->m};
  Str log = str_new(ctx->arena);
  static const char *const halos[3] = {"", "add-halos,", "add-halos{always},"};
  const char *text =
      arena_printf(ctx->arena, "fold-constants,dce,%slegalize,%slower{vector-bytes=%d,registers=%d},plan",
                   halos[between(0, 2)], between(0, 3) ? "fuse," : "", cpu->lower.vector_bytes, cpu->lower.registers);
  if (!run_pipeline(&unit, text, &log))
    return false;
  const Type *type = f->results.data[0].type;
  void *out = arena_alloc(ctx->arena, (size_t)type_bytes(type));
  void *outputs[1] = {out};
  if (!loops_interpret(unit.loops, storage, outputs) ||
      !check_output(c, "the interpreter", type, out, expected, tolerance))
    return false;
  memset(out, 0xff, (size_t)type_bytes(type));
  CodegenOptions cg = {.cpu = cpu, .prefix = "weft_model", .poison = true};
  Jit *jit = jit_open(unit.loops, &cg);
  if (!jit)
    return false;
  int status = weft_rt_run(jit_model(jit), storage, outputs);
  if (status != 0)
    printf("the run ends with %d: %s\n", status, weft_rt_error());
  bool ok = status == 0 && check_output(c, "compiled code", type, out, expected, tolerance);
  jit_close(jit);
  return ok;
}

/* The main program of a sweep: build makes the graph of one case. */
static int sweep_main(int argc, char **argv, bool (*build)(Case *c), Tolerance tolerance) {
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
    if (!build(&c) || !run_case(&c, tolerance)) {
      Str text = str_new(ctx->arena);
      module_print(&text, c.m, (PrintOptions){0});
      printf("FAILED case %ld (WEFT_SEED=%llu %s 1):%s\n%s%s\n", k, (unsigned long long)own, argv[0], c.text.data,
             diag_text(ctx->diags, false), text.data);
      failed++;
    }
    ctx_destroy(ctx);
  }
  printf("%ld passed, %ld failed\n", cases - failed, failed);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
