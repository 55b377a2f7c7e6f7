/* expand-composites: every composite op gives way to its formula (ir/composite.h), each op of which carries the composite's
 * location. */
#include "ir/composite.h"
#include "passes/pass.h"

bool pass_expand_composites(Unit *unit, const PassOption *options, int n_options);

bool pass_expand_composites(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  Module *m = unit->module;
  Function *f = m->main;
  bool ok = true;
  for (Op *op = f->first, *next; op; op = next) {
    next = op->next;
    if (!(op->def->traits & OP_COMPOSITE))
      continue;
    Value *v = composite_expand(m, f, op, op);
    if (!v) {
      ok = false;
      continue;
    }
    if (v->type->layout != op->result->type->layout)
      v = build_relayout(m, f, op, v, op->result->type->layout, op->loc);
    value_replace_uses(f, op->result, v);
    op_erase(f, op);
  }
  return ok;
}
