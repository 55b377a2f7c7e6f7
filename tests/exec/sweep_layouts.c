/* The sweep of ops over layouts: every kind of layout_cases.c with every data layout, kernel layout, and the result in
 * the data's layout or another, compiled for a CPU level, run, and compared with the reference evaluation.
 *
 *   sweep_layouts [all [SHARD SHARDS] | random CASES | only GLOB]
 *
 * A case is called "KIND IN-OUT DATA:KERNEL:RESULT", as in "conv2d 3-19 NHWC:HWIO:NCHW8c"; cases of the same layouts
 * are compiled as one function, and each alone where that fails. The usual passes run, with the layouts as wishes; then
 * the results of ops that take no wishes get theirs by hand, as the text form allows. What is counted as a combination
 * really has its layouts in the graph that is lowered. The boundary is in other permutations. Workspace and padding
 * lanes are poisoned.
 *
 * The seed of numbers and of the choice is printed, and taken from WEFT_SEED where that is set. Tolerance: |a - b| <=
 * 1e-4 + 1e-4*|b|: values are in -1..1, sums have at most 8 * 19 terms, their mean square is at least 1e-5 below which
 * instance_norm does not divide. */
#include <fnmatch.h>

#include "tests/exec/layout_cases.h"

typedef struct {
  const Kind *kind;
  Channels channels;
  const char *name;
  bool failed;
} Case;

typedef struct {
  Ctx *ctx; /* of the names */
  uint64_t seed;
  const char *only;  /* NULL: all */
  double share;      /* of the cases, at random */
  int shard, shards; /* of the graphs */
  int graphs;        /* so far */
  long n_cases, n_shown, n_failed;
} Sweep;

static const Tolerance tolerance = {.rtol = 1e-4, .atol = 1e-4};

/* ---- the layouts that a graph has ---- */

static bool is_copy(const Value *v) {
  return v->def && (v->def->def->traits & OP_COPY);
}

/* Result k of the function without the copies at the boundary. */
static Value *case_result(const Module *m, size_t k) {
  Value *v = m->main->results.data[k].value;
  while (is_copy(v))
    v = v->def->operands[0];
  return v;
}

static bool is_layout(Ctx *ctx, const Value *v, const Letters *letters, const char *const *roles) {
  return v->type->layout == layout_of(ctx, letters, roles, v->type->rank - 2);
}

/* All convolutions and pools up to v have the layouts, and where there are none what stands for the parameters. */
static bool operands_have(Ctx *ctx, const Choice *l, const Value *v, Way way) {
  const Op *op = v->def;
  if (op && (op->def->traits & OP_LEAF))
    return true;
  if (!op || (is_copy(v) && !op->operands[0]->def))
    return way != BY_TYPE || is_layout(ctx, v, &data_letters[l->data], data_roles);
  bool transposed = strstr(op->def->name, "transpose") != NULL;
  if (way != BY_TYPE && op->def->operands[0].roles[0])
    if (!is_layout(ctx, op->operands[0], &data_letters[l->data], data_roles) ||
        !is_layout(ctx, v, &data_letters[l->out], data_roles) ||
        (way == BY_KERNEL_WISH &&
         !is_layout(ctx, op->operands[1], &kernel_letters[l->kernel], transposed ? conv_transpose_roles : conv_roles)))
      return false;
  for (int k = 0; k < op->n_operands; k++)
    if (op->operands[k] && !operands_have(ctx, l, op->operands[k], way))
      return false;
  return true;
}

static bool has_layouts(Ctx *ctx, const Choice *l, const Value *y, const Kind *kind) {
  return is_layout(ctx, y, &data_letters[l->out], data_roles) && operands_have(ctx, l, y, kind->way);
}

/* ---- one graph ---- */

static bool build_graph(Graph *g, Case *const *cases, int n) {
  Function *f = g->m->main = function_create(g->m, "layouts");
  for (int k = 0; k < n; k++) {
    const Kind *kind = cases[k]->kind;
    Value *y = kind->build(g, kind, cases[k]->channels);
    if (!y)
      return false;
    const Layout *outside = layout_of(g->ctx, &boundary_letters[g->choice->output], data_roles, kind->spatial);
    if (y->type->layout != outside)
      y = build_relayout(g->m, f, NULL, y, outside, LOC_NONE);
    function_add_result(g->m, f, arena_printf(g->ctx->arena, "y%d", k), y, y->type, NULL, LOC_NONE);
  }
  return true;
}

static const char *wishes(Ctx *ctx, const Choice *l) {
  const char *data = data_letters[l->data].letters[2], *out = data_letters[l->out].letters[2];
  if (l->kernel >= 0)
    return arena_printf(ctx->arena, "conv*=%s:%s:%s", data, kernel_letters[l->kernel].letters[2], out);
  return arena_printf(ctx->arena, "*_pool*=%s::%s", data, out);
}

/* Gives the result of a case, which no wish is for, its layout, with a copy to the boundary's where that is another. */
static void set_result(Graph *g, size_t k, Value *y, const Layout *out) {
  FuncResult *r = &g->m->main->results.data[k];
  y->type = type_with_layout(g->ctx, y->type, out);
  if (r->value == y && r->type != y->type)
    r->value = build_relayout(g->m, g->m->main, NULL, y, r->type->layout, LOC_NONE);
}

/* Runs the passes up to layouts, gives results theirs where no wish did, and counts the cases that have all. */
static bool set_layouts(Sweep *s, Graph *g, Unit *unit, Case *const *cases, int n) {
  Str log = str_new(g->ctx->arena);
  const char *passes = arena_printf(g->ctx->arena,
                                    "expand-composites,fold-constants,canonicalize,cse,dce,fold-batch-norm,"
                                    "infer-layout,convert-layout{%s},fold-constants,dce",
                                    wishes(g->ctx, g->choice));
  if (!run_pipeline(unit, passes, &log))
    return false;
  for (int k = 0; k < n; k++) {
    Value *y = case_result(g->m, (size_t)k);
    const Layout *out = layout_of(g->ctx, &data_letters[g->choice->out], data_roles, cases[k]->kind->spatial);
    if (!y->def->def->operands[0].roles[0])
      set_result(g, (size_t)k, y, out);
    bool has = has_layouts(g->ctx, g->choice, y, cases[k]->kind);
    s->n_shown += has;
    if (!has) {
      printf("%s: has other layouts\n", cases[k]->name);
      cases[k]->failed = true;
    }
  }
  return true;
}

static const CpuTarget *cpu_number(int number) {
  int n = 0;
  for (const CpuTarget *t = cpu_targets; t < cpu_targets + 3; t++)
    n += cpu_target_runs_here(t);
  return &cpu_targets[number % n];
}

static void **make_storage(Ctx *ctx, const Type *const *types, size_t n) {
  void **storage = ARENA_ARRAY(ctx->arena, void *, n);
  for (size_t k = 0; k < n; k++)
    storage[k] = arena_alloc(ctx->arena, (size_t)type_bytes(types[k]));
  return storage;
}

/* Compiles and runs the planned program, and compares its outputs. */
static bool run_program(Graph *g, LoopProgram *p, const CpuTarget *cpu, Case *const *cases, int n) {
  Ctx *ctx = g->ctx;
  const Function *f = g->m->main;
  const Tensor **inputs = ARENA_ARRAY(ctx->arena, const Tensor *, f->params.len);
  Tensor **expected = ARENA_ARRAY(ctx->arena, Tensor *, n);
  const Type **in_types = ARENA_ARRAY(ctx->arena, const Type *, f->params.len);
  const Type **out_types = ARENA_ARRAY(ctx->arena, const Type *, n);
  for (size_t k = 0; k < f->params.len; k++)
    in_types[k] = f->params.data[k]->type;
  for (int k = 0; k < n; k++)
    out_types[k] = f->results.data[k].type;
  void **in = make_storage(ctx, in_types, f->params.len), **out = make_storage(ctx, out_types, (size_t)n);
  for (size_t k = 0; k < f->params.len; k++) {
    Tensor *t = tensor_of_type(ctx, in_types[k]);
    fill_named(g->seed, f->params.data[k]->name, t);
    tensor_to_storage(t, in_types[k], in[k]);
    inputs[k] = t;
  }
  if (!eval_function(g->m, f, inputs, expected, NULL))
    return false;
  CodegenOptions options = {.cpu = cpu, .prefix = "weft_model", .poison = true};
  Jit *jit = jit_open(p, &options);
  if (!jit)
    return false;
  int status = weft_rt_run(jit_model(jit), (const void *const *)in, out);
  jit_close(jit);
  if (status != 0) {
    printf("the run ends with %d: %s\n", status, weft_rt_error());
    return false;
  }
  for (int k = 0; k < n; k++) {
    Tensor *got = tensor_of_type(ctx, out_types[k]);
    tensor_from_storage(got, out_types[k], out[k]);
    double error = largest_error(got, expected[k], tolerance);
    if (!(error <= 1)) {
      printf("%s: differs by %.3g times the tolerance\n", cases[k]->name, error);
      cases[k]->failed = true;
    }
  }
  return true;
}

/* False where the graph is not compiled or does not run; a case whose numbers differ is marked as failed. */
static bool run_cases(Sweep *s, const Choice *choice, Case *const *cases, int n) {
  Ctx *ctx = ctx_create();
  Graph g = {ctx, module_create(ctx, "layouts", "layouts"), choice, s->seed};
  Unit unit = {.ctx = ctx, .module = g.m};
  Str log = str_new(ctx->arena);
  const CpuTarget *cpu = cpu_number(choice->data + choice->kernel + choice->out + 1);
  const char *passes = arena_printf(ctx->arena, "legalize{target=cpu},fuse,lower{vector-bytes=%d,registers=%d},plan",
                                    cpu->lower.vector_bytes, cpu->lower.registers);
  bool ok = build_graph(&g, cases, n) && set_layouts(s, &g, &unit, cases, n) && run_pipeline(&unit, passes, &log) &&
            run_program(&g, unit.loops, cpu, cases, n);
  if (!ok && n == 1) {
    printf("%s [%s]: %s\n", cases[0]->name, cpu->name, diag_text(ctx->diags, false));
    cases[0]->failed = true;
  }
  ctx_destroy(ctx);
  return ok;
}

/* ---- all graphs ---- */

static bool is_chosen(const Sweep *s, const char *name) {
  if (s->only)
    return fnmatch(s->only, name, 0) == 0;
  return s->share >= 1 || (double)between(0, 999999) / 1e6 < s->share;
}

#define MAX_CASES 256

static void run_graph(Sweep *s, const Choice *l) {
  if (s->graphs++ % s->shards != s->shard)
    return;
  Case all[MAX_CASES], *chosen[MAX_CASES];
  int n = 0;
  state = (s->seed + (uint64_t)s->graphs) * 0x9e3779b97f4a7c15ull + 1;
  for (int j = 0; j < n_kinds; j++)
    for (int k = 0; (kinds[j].way == BY_KERNEL_WISH) == (l->kernel >= 0) && k < kinds[j].n_channels; k++) {
      Channels c = kinds[j].channels[k];
      const char *name = arena_printf(
          s->ctx->arena, "%s %d-%d %s:%s:%s", kinds[j].name, (int)c.in, (int)c.out, data_letters[l->data].letters[2],
          l->kernel < 0 ? "" : kernel_letters[l->kernel].letters[2], data_letters[l->out].letters[2]);
      if (!is_chosen(s, name))
        continue;
      WEFT_ASSERT(n < MAX_CASES);
      all[n] = (Case){&kinds[j], c, name, false};
      chosen[n] = &all[n];
      n++;
    }
  if (n == 0)
    return;
  long shown = s->n_shown;
  if (!run_cases(s, l, chosen, n)) {
    s->n_shown = shown;
    for (int k = 0; k < n; k++)
      run_cases(s, l, &chosen[k], 1);
  }
  for (int k = 0; k < n; k++)
    s->n_failed += all[k].failed;
  s->n_cases += n;
}

static void run_sweep(Sweep *s) {
  static const int other_boundary[N_DATA_LAYOUTS] = {1, 0, 3, 2, 3}; /* never the data layout itself */
  for (int data = 0; data < N_DATA_LAYOUTS; data++)
    for (int different = 0; different < 2; different++)
      for (int kernel = -1; kernel < N_KERNEL_LAYOUTS; kernel++) {
        int out = different ? (data + 1 + (kernel + 1) % (N_DATA_LAYOUTS - 1)) % N_DATA_LAYOUTS : data;
        Choice l = {data, kernel, out, other_boundary[data], (kernel + data + 1) % N_BOUNDARY_LAYOUTS};
        if (kernel >= 0)
          l.input = (kernel + different) % N_BOUNDARY_LAYOUTS;
        run_graph(s, &l);
      }
}

int main(int argc, char **argv) {
  const char *given = getenv("WEFT_SEED"), *how = argc > 1 ? argv[1] : "all";
  Sweep s = {.ctx = ctx_create(), .share = 1, .shards = 1};
  s.seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
  if (strcmp(how, "only") == 0 && argc == 3) {
    s.only = argv[2];
  } else if (strcmp(how, "random") == 0 && argc == 3) {
    s.share = strtod(argv[2], NULL);
  } else if (strcmp(how, "all") == 0 && (argc <= 2 || argc == 4)) {
    s.shard = argc == 4 ? atoi(argv[2]) : 0;
    s.shards = argc == 4 ? atoi(argv[3]) : 1;
  } else {
    fprintf(stderr, "usage: sweep_layouts [all [SHARD SHARDS] | random SHARE | only GLOB]\n");
    return 2;
  }
  printf("seed %llu\n", (unsigned long long)s.seed);
  run_sweep(&s);
  printf(
      "%ld combinations of op, channels and layouts in %d graphs, %ld of them had the layouts asked for, %ld failed\n",
      s.n_cases, s.graphs, s.n_shown, s.n_failed);
  ctx_destroy(s.ctx);
  return s.n_cases > 0 && s.n_failed == 0 && s.n_shown == s.n_cases ? EXIT_SUCCESS : EXIT_FAILURE;
}
