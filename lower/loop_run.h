/* Runs of single nests: the interpreter of loop.h in steps. Between two nests the caller may look at all storage, and
 * change it. Parallel iterations may be left out, so that a large nest costs what the caller wants to spend. */
#ifndef WEFT_LOWER_LOOP_RUN_H
#define WEFT_LOWER_LOOP_RUN_H

#include "lower/loop.h"

typedef struct LoopRun LoopRun;

/* Storage for all buffers: of inputs and outputs the caller's, of a planned arena at its offsets; with `apart`, or where
 * the program is not planned, each arena buffer has its own. Outputs and arena hold poison. NULL after reporting. */
LoopRun *loop_run_open(LoopProgram *p, const void *const *inputs, void *const *outputs, bool apart);
void loop_run_close(LoopRun *r); /* NULL is allowed */

/* Which iterations of a nest's parallel loops run: about `most` of them (0: all), the first and the last always, the
 * others spread evenly and chosen by seed. */
typedef struct {
  int64_t most;
  uint64_t seed;
} LoopSample;

/* Runs one nest of the program. False after reporting, as loops_interpret. */
bool loop_run_nest(LoopRun *r, const Nest *nest, LoopSample sample);
void *loop_run_data(LoopRun *r, const Buffer *b);
/* One byte per element of the storage of b, not a local: 1 where the nest run last stored to it. NULL: nowhere. */
const unsigned char *loop_run_stored(LoopRun *r, const Buffer *b);

#endif
