/* Dead code: ops whose result nobody reads, and constants that no op and no derived constant names. */
#include "passes/pass.h"

bool pass_dce(Unit *unit, const PassOption *options, int n_options);

bool pass_dce(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  Module *m = unit->module;
  Function *f = m->main;
  uint32_t *uses = function_count_uses(unit->ctx, f);
  for (Op *op = f->last, *prev; op; op = prev) {
    prev = op->prev;
    if (uses[op->result->id])
      continue;
    for (int k = 0; k < op->n_operands; k++)
      if (op->operands[k])
        uses[op->operands[k]->id]--;
    op_erase(f, op);
  }
  module_drop_unused_constants(m);
  return true;
}
