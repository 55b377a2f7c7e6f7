/* What the unit tests of single passes share: a pipeline run on a module, and evaluation before and after. */
#ifndef WEFT_TESTS_UNIT_PASS_HELP_H
#define WEFT_TESTS_UNIT_PASS_HELP_H

#include "lower/loop_passes.h"
#include "random_graph.h"
#include "text_help.h"

/* Runs the passes; aborts with what they report. */
static inline void run_passes(Module *m, const char *passes) {
  Unit unit = {.ctx = m->ctx, .module = m};
  Pipeline pipeline = {0};
  PipelineOptions options = {.verify_each = true};
  Str log = str_new(m->ctx->arena);
  if (!pipeline_parse(m->ctx, &all_passes, passes, &pipeline) ||
      !pipeline_run(&unit, &all_passes, &pipeline, &options, &log))
    ck_abort_msg("%s: %s", passes, diag_text(m->ctx->diags, false));
}

static inline int count_code(const Module *m, OpCode code) {
  int n = 0;
  for (const Op *op = m->main->first; op; op = op->next)
    n += op->def->code == code;
  return n;
}

static inline int count_all_ops(const Module *m) {
  int n = 0;
  for (const Op *op = m->main->first; op; op = op->next)
    n++;
  return n;
}

#endif
