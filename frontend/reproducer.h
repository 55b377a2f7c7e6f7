/* A small graph that shows what a self-check found. */
#ifndef WEFT_FRONTEND_REPRODUCER_H
#define WEFT_FRONTEND_REPRODUCER_H

#include "lower/self_check.h"

/* Runs on the candidate, which it may change, what failed on the whole: true where it fails again. */
typedef bool StillFails(void *env, Ctx *ctx, Module *candidate);

/* StillFails of passes: env is a Pipeline, run from the candidate. */
bool reproducer_passes_fail(void *env, Ctx *ctx, Module *candidate);

/* Writes DIR/NAME.repro.weft, and NAME.repro.safetensors where it has constants: of the graph before the pass that
 * failed, the first wrong op alone where that shows the fault, else with more and more of its neighbours, and where no
 * part does the whole graph. NAME is the op's. Returns the path of the text; NULL where there is no graph to write, or
 * after reporting. */
const char *reproducer_write(Ctx *ctx, const SelfCheck *check, const char *dir, StillFails *fails, void *env);
/* "weft-opt PATH --passes '...' --check-each" for these steps. */
const char *reproducer_command(Ctx *ctx, const char *path, const Pipeline *steps);

#endif
