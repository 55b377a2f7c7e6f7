/* weft-opt: runs a textual pipeline over the text form, graph or loops. */
#include <stdio.h>

#include "frontend/cli/args.h"
#include "frontend/cli/passes_list.h"
#include "frontend/frontend.h"
#include "ir/parse.h"
#include "lower/loop.h"
#include "lower/loop_passes.h"
#include "lower/self_check.h"
#include "passes/layout_explain.h"

typedef struct {
  const char *passes, *out, *print_before, *print_after;
  bool print_after_all, no_verify, time_passes, explain_layout, list, check_each;
} OptOptions;

static bool set_passes(Ctx *ctx, void *options, const char *value) {
  (void)ctx;
  ((OptOptions *)options)->passes = value;
  return true;
}

static bool set_out(Ctx *ctx, void *options, const char *value) {
  (void)ctx;
  ((OptOptions *)options)->out = value;
  return true;
}

static bool known_pass(Ctx *ctx, const char *option, const char *name) {
  return pass_find(&all_passes, name) ||
         diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--%s=%s: there is no such pass; --list-passes shows them",
                    option, name);
}

static bool set_print_before(Ctx *ctx, void *options, const char *value) {
  ((OptOptions *)options)->print_before = value;
  return known_pass(ctx, "print-ir-before", value);
}

static bool set_print_after(Ctx *ctx, void *options, const char *value) {
  ((OptOptions *)options)->print_after = value;
  return known_pass(ctx, "print-ir-after", value);
}

static bool set_print_after_all(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  ((OptOptions *)options)->print_after_all = true;
  return true;
}

static bool set_verify_each(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  ((OptOptions *)options)->no_verify = false;
  return true;
}

static bool set_no_verify(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  ((OptOptions *)options)->no_verify = true;
  return true;
}

static bool set_check_each(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  ((OptOptions *)options)->check_each = true;
  return true;
}

static bool set_opt_time(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  ((OptOptions *)options)->time_passes = true;
  return true;
}

static bool set_opt_explain(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  ((OptOptions *)options)->explain_layout = true;
  return true;
}

static bool set_list(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  ((OptOptions *)options)->list = true;
  return true;
}

static const OptionRow rows[] = {
    {"passes", "PIPELINE", "passes to run, NAME or NAME{KEY=VALUE,...}, separated by commas", set_passes},
    {"o", "FILE", "write there instead of standard output", set_out},
    {"print-ir-before", "PASS", "print the text before this pass to standard error", set_print_before},
    {"print-ir-after", "PASS", "... after this pass", set_print_after},
    {"print-ir-after-all", NULL, "... after every pass, '(unchanged)' where it is", set_print_after_all},
    {"verify-each", NULL, "check every rule of the form after each pass (default)", set_verify_each},
    {"no-verify-each", NULL, "only check what is read and what is written", set_no_verify},
    {"check-each", NULL, "evaluate on random inputs after each pass; exit 1 where a result changed", set_check_each},
    {"time-passes", NULL, "print the time of each pass to standard error", set_opt_time},
    {"explain-layout", NULL, "say on standard error which layout each op has, why, and what is copied for it",
     set_opt_explain},
    {"list-passes", NULL, "list the passes", set_list},
    {0},
};

static const FutureOption future[] = {{0}};

static const CommandSpec spec = {
    NULL,
    "FILE.weft|- [options]",
    "Reads a graph or loop nests in text form, runs passes, prints the result.",
    rows,
    future,
    "  weft-opt model.weft --passes 'infer-layout,convert-layout{conv2d_transpose=NHWC:HWIO},legalize{target=cpu}'\n"
    "  weft-opt model.weft --passes 'infer-layout,fuse,lower,plan' --print-ir-after-all\n",
    0,
    1};

static bool read_unit(Ctx *ctx, const char *path, Unit *unit) {
  size_t size;
  bool standard_input = strcmp(path, "-") == 0;
  char *text = file_read(ctx, standard_input ? "/dev/stdin" : path, WEFT_MAX_TEXT_BYTES, &size);
  const char *name = standard_input ? "<stdin>" : path;
  *unit = (Unit){.ctx = ctx};
  weft_bug_input = name;
  if (!text)
    return false;
  if (text_is_loops(ctx, text, size)) {
    unit->loops = loops_parse(ctx, name, text, size);
    unit->module = unit->loops ? unit->loops->module : NULL;
    return unit->loops;
  }
  TextWeights weights = {.path = path};
  unit->module = module_parse(ctx, name, text, size, text_tensor_loader, &weights);
  return unit->module;
}

/* *differs: a pass changed a result. */
static bool run_passes(Ctx *ctx, const OptOptions *o, Unit *unit, const Pipeline *pipeline, bool *differs) {
  PipelineOptions po = {.print_before = o->print_before,
                        .print_after = o->print_after,
                        .print_after_all = o->print_after_all,
                        .verify_each = !o->no_verify,
                        .time_passes = o->time_passes};
  SelfCheck *check = NULL;
  if (o->check_each) {
    check = self_check_start(unit, (SelfCheckOptions){.seed = SELF_CHECK_SEED});
    if (!check)
      return false;
    po.check = self_check_pass;
    po.check_env = check;
  }
  Str log = str_new(ctx->arena);
  bool ok = pipeline_run(unit, &all_passes, pipeline, &po, &log);
  if (check)
    self_check_print(&log, check);
  if (ok && o->explain_layout)
    layout_explain(&log, unit);
  *differs = check && self_check_fault(check);
  fputs(log.data, stderr);
  return ok;
}

static bool opt(Ctx *ctx, const OptOptions *o, const char *path, bool *differs) {
  Pipeline pipeline = {0};
  Unit unit;
  if (o->passes && !pipeline_parse(ctx, &all_passes, o->passes, &pipeline))
    return false;
  if (!read_unit(ctx, path, &unit) || !all_passes.verify(&unit))
    return false;
  if (o->explain_layout && unit.loops)
    return diag_error(ctx->diags, WEFT_USAGE, (Loc){.file = path},
                      "--explain-layout: loop nests have no layouts left to explain; give the graph");
  if (!run_passes(ctx, o, &unit, &pipeline, differs) || !all_passes.verify(&unit))
    return false;
  Str text = str_new(ctx->arena);
  all_passes.print(&text, &unit);
  if (o->out)
    return file_write(ctx, o->out, text.data, text.len);
  fwrite(text.data, 1, text.len, stdout);
  return true;
}

int main(int argc, char **argv) {
  Ctx *ctx = ctx_create();
  OptOptions o = {0};
  Positionals files = {0};
  bool differs = false;
  if (args_parse(ctx, "weft-opt", &spec, argc, argv, &o, &files) == ARGS_OK) {
    if (o.list)
      passes_list(&all_passes);
    else if (!files.len)
      diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "a file is missing; usage: weft-opt %s", spec.synopsis);
    else
      opt(ctx, &o, files.data[0], &differs);
  }
  return finish(ctx, differs ? WEFT_DIFFER : WEFT_OK);
}
