/* Dead code: ops whose result nobody reads, and constants that no op and no derived constant names. */
#include "passes/pass.h"

bool pass_dce(Unit *unit, const PassOption *options, int n_options);

static bool uses_constant(const Op *op, const Constant *c) {
  for (int k = 0; k < op->def->n_attrs; k++)
    if (op->attrs[k].constant == c)
      return true;
  return false;
}

static bool constant_needed(const Module *m, const Constant *c) {
  for (const Op *op = m->main->first; op; op = op->next)
    if (uses_constant(op, c))
      return true;
  for (const Constant *d = c->next; d; d = d->next) /* a derived constant stands behind its base */
    if (d->base == c)
      return true;
  return false;
}

/* Last first, so that a base goes with the last constant derived from it. */
static void drop_constants(Module *m, Constant *c) {
  if (!c)
    return;
  drop_constants(m, c->next);
  if (constant_needed(m, c))
    return;
  Constant *before = NULL;
  for (Constant *k = m->first_constant; k != c; k = k->next)
    before = k;
  *(before ? &before->next : &m->first_constant) = c->next;
  if (m->last_constant == c)
    m->last_constant = before;
}

bool pass_dce(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  Module *m = unit->module;
  Function *f = m->main;
  uint32_t *uses = function_count_uses(unit->ctx, f);
  for (Op *op = f->last, *prev; op; op = prev) {
    prev = op->prev;
    if (uses[op->result->id])
      continue;
    for (int k = 0; k < op->def->n_operands; k++)
      if (op->operands[k])
        uses[op->operands[k]->id]--;
    op_erase(f, op);
  }
  drop_constants(m, m->first_constant);
  return true;
}
