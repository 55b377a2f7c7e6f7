/* From graph to loop nests. lower_FAMILY in lower/ops/FAMILY.c says what an op computes: axes, reduction, operands at
 * index expressions. schedule.c makes loops of it: splits, vectors, register tiles, parallel loops. */
#ifndef WEFT_LOWER_LOWER_H
#define WEFT_LOWER_LOWER_H

#include "lower/loop.h"

/* What the schedule needs to know of a target. */
typedef struct {
  int vector_bytes; /* 16, 32 or 64 */
  int registers;    /* vector registers: 16 or 32 */
} LowerTarget;

/* The whole function as a program, arena not planned yet. The graph must be legal (see passes/legalize.c). NULL after
 * reporting. */
LoopProgram *lower_module(Module *m, LowerTarget target);

/* Gives every arena buffer an offset by liveness over the order of nests, and the program its arena_bytes. */
bool plan_memory(LoopProgram *p);
/* Arena buffers are stored to before they are read; where the program is planned, offsets are multiples of 64, every
 * buffer lies within arena_bytes, and buffers that live at the same time do not overlap. A part of loops_check. */
bool plan_check(LoopProgram *p);

#endif
