/* Fusion of elementwise ops into the nest of a producer. Only groups: an op marked fused(%v) is computed where %v is,
 * and %v is never stored. %v must have no other reader and the op's own shape, so nothing is computed twice. Where
 * several operands qualify, one made by a contraction is taken first, since its result is the dearest to store and load
 * again. */
#include "passes/pass.h"

bool pass_fuse(Unit *unit, const PassOption *options, int n_options);

/* A nest reads at most so many operands beside its accumulator (lower/computation.h has room for 16). */
#define MAX_NEST_OPERANDS 12

static bool may_take_epilogue(const Op *op) {
  return op->def->traits & (OP_CONTRACTION | OP_ELEMENTWISE);
}

static const Op *group_root(const Op *op) {
  while (op->fused)
    op = op->fused->def;
  return op;
}

static bool fits(const Op *op, const Value *v, const uint32_t *uses, const int *operands) {
  return v && v->def && may_take_epilogue(v->def) && uses[v->id] == 1 && type_same_shape(v->type, op->result->type) &&
         operands[v->id] + op->def->n_operands - 1 <= MAX_NEST_OPERANDS;
}

bool pass_fuse(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  Function *f = unit->module->main;
  uint32_t *uses = function_count_uses(unit->ctx, f);
  int *operands = ARENA_ARRAY(unit->ctx->arena, int, f->n_values); /* of the nest that makes the value */
  for (Op *op = f->first; op; op = op->next) {
    operands[op->result->id] = op->def->n_operands;
    if (!(op->def->traits & OP_ELEMENTWISE))
      continue;
    Value *best = NULL;
    for (int k = 0; k < op->def->n_operands; k++) {
      Value *v = op->operands[k];
      if (!fits(op, v, uses, operands))
        continue;
      if (!best || (!(group_root(best->def)->def->traits & OP_CONTRACTION) &&
                    (group_root(v->def)->def->traits & OP_CONTRACTION)))
        best = v;
    }
    op->fused = best;
    if (best)
      operands[op->result->id] = operands[best->id] + op->def->n_operands - 1;
  }
  return true;
}
