/* The pass manager. See pass.h. */
#include <stdio.h>
#include <time.h>

#include "passes/pass.h"

#define PASS(name, function, options, help) bool function(Unit *unit, const PassOption *options_, int n_options);
#include "passes/passes.def"

const Pass graph_passes[] = {
#define PASS(name, function, options, help) {name, help, options, UNIT_GRAPH, UNIT_GRAPH, function},
#include "passes/passes.def"
    {0},
};

const Pass *pass_find(const PassRegistry *registry, const char *name) {
  for (int t = 0; t < registry->n_tables; t++)
    for (const Pass *p = registry->tables[t]; p->name; p++)
      if (strcmp(p->name, name) == 0)
        return p;
  return NULL;
}

static const char *pass_nearest(Ctx *ctx, const PassRegistry *registry, const char *name) {
  VEC(const char *) names = {0};
  for (int t = 0; t < registry->n_tables; t++)
    for (const Pass *p = registry->tables[t]; p->name; p++)
      vec_push(ctx->arena, &names, p->name);
  return nearest_word(name, names.data, names.len);
}

/* ---- the text of a pipeline ---- */

typedef struct {
  Ctx *ctx;
  const char *start, *at;
} Reader;

static void skip_space(Reader *r) {
  r->at += strspn(r->at, " \t\n");
}

/* The text up to one of the characters in `end`, trimmed. */
static const char *take_until(Reader *r, const char *end) {
  skip_space(r);
  size_t n = strcspn(r->at, end), kept = n;
  while (kept > 0 && strchr(" \t\n", r->at[kept - 1]))
    kept--;
  const char *s = intern_strn(r->ctx, r->at, kept);
  r->at += n;
  return s;
}

static bool pipeline_error(Reader *r, const char *what) {
  return diag_error(r->ctx->diags, WEFT_USAGE, LOC_NONE,
                    "pipeline, character %d: %s; write NAME or NAME{KEY=VALUE,...}, separated by commas",
                    (int)(r->at - r->start) + 1, what);
}

static bool parse_options(Reader *r, PipelineStep *step) {
  VEC(PassOption) options = {0};
  r->at++; /* '{' */
  for (;;) {
    PassOption o = {take_until(r, "=,{}"), ""};
    if (*r->at == '=') {
      if (!o.key[0])
        return pipeline_error(r, "an option of a pass has no name");
      r->at++;
      o.value = take_until(r, ",{}");
    }
    if (o.key[0])
      vec_push(r->ctx->arena, &options, o);
    if (*r->at == '}')
      break;
    if (*r->at != ',' || !o.key[0])
      return pipeline_error(r, *r->at ? "expected ',' or '}' in the options of a pass"
                                      : "the options of a pass are not closed by '}'");
    r->at++;
  }
  r->at++;
  step->options = options.data;
  step->n_options = (int)options.len;
  return true;
}

bool pipeline_parse(Ctx *ctx, const PassRegistry *registry, const char *text, Pipeline *out) {
  Reader r = {ctx, text, text};
  skip_space(&r);
  while (*r.at) {
    const char *name = take_until(&r, ",{}");
    PipelineStep step = {pass_find(registry, name), NULL, 0};
    if (!step.pass) {
      const char *near = pass_nearest(ctx, registry, name);
      return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "unknown pass '%s'%s%s%s; --list-passes shows them", name,
                        near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    if (*r.at == '{' && !parse_options(&r, &step))
      return false;
    if (step.n_options && !step.pass->options)
      return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "pass '%s' takes no options", name);
    vec_push(ctx->arena, out, step);
    skip_space(&r);
    if (*r.at == ',') {
      r.at++;
      skip_space(&r);
      if (!*r.at)
        return pipeline_error(&r, "a pass is missing after ','");
    } else if (*r.at) {
      return pipeline_error(&r, "expected ',' between passes");
    }
  }
  return true;
}

/* ---- running ---- */

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const char *unit_text(Unit *unit, const PassRegistry *registry) {
  Str s = str_new(unit->ctx->arena);
  registry->print(&s, unit);
  return s.data;
}

static bool same(const char *wanted, const char *name) {
  return wanted && strcmp(wanted, name) == 0;
}

/* Prints and dumps what the options ask for after a pass. before: the text before it, or NULL where nobody compares. */
static void report_after(Unit *unit, const PassRegistry *registry, const Pass *pass, int index, const char *before,
                         const PipelineOptions *o, Str *log) {
  bool print = o->print_after_all || same(o->print_after, pass->name);
  if (!print && !o->dump)
    return;
  const char *after = unit_text(unit, registry);
  if (print && before && strcmp(before, after) == 0)
    str_printf(log, "# after %s (unchanged)\n", pass->name);
  else if (print)
    str_printf(log, "# after %s\n%s", pass->name, after);
  if (o->dump)
    o->dump(o->dump_env, index, pass->name, after);
}

static bool run_step(Unit *unit, const PassRegistry *registry, const PipelineStep *step,
                     const PipelineOptions *options) {
  const Pass *pass = step->pass;
  UnitKind kind = unit->loops ? UNIT_LOOPS : UNIT_GRAPH;
  if (kind != pass->needs)
    return diag_error(unit->ctx->diags, WEFT_USAGE, LOC_NONE, "pass '%s' works on %s, but here the module is %s",
                      pass->name, pass->needs == UNIT_GRAPH ? "a graph" : "loop nests",
                      kind == UNIT_GRAPH ? "a graph" : "loop nests");
  size_t errors = diag_count(unit->ctx->diags);
  if (!pass->run(unit, step->options, step->n_options)) {
    WEFT_ASSERT(diag_count(unit->ctx->diags) > errors);
    return false;
  }
  if (options->verify_each && !registry->verify(unit)) {
    if (options->check)
      options->check(options->check_env, unit, step, false);
    diag_note(unit->ctx->diags, LOC_NONE, "after pass '%s'", pass->name);
    diag_internal(unit->ctx->diags);
    return false;
  }
  return true;
}

bool pipeline_run(Unit *unit, const PassRegistry *registry, const Pipeline *pipeline, const PipelineOptions *options,
                  Str *log) {
  bool ok = true;
  double total = 0;
  for (size_t k = 0; ok && k < pipeline->len; k++) {
    const PipelineStep *step = &pipeline->data[k];
    const char *before = options->print_after_all ? unit_text(unit, registry) : NULL;
    if (same(options->print_before, step->pass->name))
      str_printf(log, "# before %s\n%s", step->pass->name, unit_text(unit, registry));
    double start = seconds_now();
    ok = run_step(unit, registry, step, options);
    double took = seconds_now() - start;
    total += took;
    if (options->time_passes)
      str_printf(log, "%9.3f ms  %s\n", took * 1e3, step->pass->name);
    if (ok)
      report_after(unit, registry, step->pass, (int)k + 1, before, options, log);
    ok = ok && (!options->check || options->check(options->check_env, unit, step, true));
  }
  if (options->time_passes)
    str_printf(log, "%9.3f ms  total of passes\n", total * 1e3);
  return ok;
}
