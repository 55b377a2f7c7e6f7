/* lower and plan as passes, and the registry of all passes. */
#include <errno.h>
#include <stdlib.h>

#include "lower/loop_passes.h"
#include "lower/lower.h"

static bool number_option(Ctx *ctx, const PassOption *o, int lo, int hi, int *out) {
  char *end;
  errno = 0;
  long v = strtol(o->value, &end, 10);
  if (errno || *end || end == o->value || v < lo || v > hi)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "lower: %s=%s: expected a number from %d to %d", o->key,
                      o->value, lo, hi);
  *out = (int)v;
  return true;
}

static bool run_lower(Unit *unit, const PassOption *options, int n_options) {
  LowerTarget target = {.vector_bytes = 32, .registers = 16};
  for (int k = 0; k < n_options; k++) {
    const PassOption *o = &options[k];
    bool bytes = strcmp(o->key, "vector-bytes") == 0;
    if (!bytes && strcmp(o->key, "registers") != 0)
      return diag_error(unit->ctx->diags, WEFT_USAGE, LOC_NONE,
                        "lower: unknown option '%s'; it takes vector-bytes and registers", o->key);
    if (bytes ? !number_option(unit->ctx, o, 4, 64, &target.vector_bytes)
              : !number_option(unit->ctx, o, 8, 64, &target.registers))
      return false;
  }
  unit->loops = lower_module(unit->module, target);
  return unit->loops;
}

static bool run_plan(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  return plan_memory(unit->loops);
}

const Pass loop_passes[] = {
    {"lower", "the graph is a program of loop nests, every access within its buffer", "vector-bytes=32,registers=16",
     UNIT_GRAPH, UNIT_LOOPS, run_lower},
    {"plan", "every arena buffer has an offset; buffers that live at the same time do not overlap", NULL, UNIT_LOOPS,
     UNIT_LOOPS, run_plan},
    {0},
};

static void print_unit(Str *out, Unit *unit) {
  if (unit->loops)
    loops_print(out, unit->loops);
  else
    module_print(out, unit->module, (PrintOptions){.file_refs = true, .locations = true});
}

static bool verify_unit(Unit *unit) {
  return unit->loops ? loops_check(unit->loops) : module_verify(unit->module);
}

static const Pass *const tables[] = {graph_passes, loop_passes};
const PassRegistry all_passes = {tables, 2, print_unit, verify_unit};
