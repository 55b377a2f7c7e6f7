/* Replacing values while the ops are walked in order, in time linear in the ops: each op takes up what stands in the
 * place of its operands when the walk comes to it. */
#ifndef WEFT_PASSES_REWRITE_H
#define WEFT_PASSES_REWRITE_H

#include "passes/pass.h"

typedef struct {
  Unit *unit;
  Value **to; /* by id: what stands in the value's place, NULL: itself */
  uint32_t n; /* values made later are not replaced */
} Rewrite;

Rewrite rewrite_start(Unit *unit);
/* Of each op, before anything else is done with it. */
void rewrite_operands(const Rewrite *r, Op *op);
/* Takes op out; what reads its result reads `to`, which stands before it and has the same shape. */
void rewrite_op(Rewrite *r, Op *op, Value *to);
/* After the walk: the function's results, with a copy where the layout is another, and fused(%v) marks that no longer
 * hold, which go. False after reporting. */
bool rewrite_finish(Rewrite *r);

#endif
