/* See rewrite.h. A value that replaces another was met before it, so it is final: no chain of replacements is followed.
 */
#include "passes/rewrite.h"

Rewrite rewrite_start(Unit *unit) {
  uint32_t n = unit->module->main->n_values;
  return (Rewrite){unit, ARENA_ARRAY(unit->ctx->arena, Value *, n), n};
}

static Value *current(const Rewrite *r, Value *v) {
  return v && v->id < r->n && r->to[v->id] ? r->to[v->id] : v;
}

void rewrite_operands(const Rewrite *r, Op *op) {
  for (int k = 0; k < op->n_operands; k++)
    op->operands[k] = current(r, op->operands[k]);
}

void rewrite_op(Rewrite *r, Op *op, Value *to) {
  WEFT_ASSERT(to != op->result && type_same_shape(to->type, op->result->type));
  r->to[op->result->id] = current(r, to);
  op_erase(r->unit->module->main, op);
}

bool rewrite_finish(Rewrite *r) {
  Module *m = r->unit->module;
  Function *f = m->main;
  for (size_t k = 0; k < f->results.len; k++) {
    FuncResult *result = &f->results.data[k];
    result->value = current(r, result->value);
    if (result->value->type != result->type &&
        !(result->value = build_relayout(m, f, NULL, result->value, result->type->layout, result->loc)))
      return false;
  }
  uint32_t *uses = function_count_uses(r->unit->ctx, f);
  for (Op *op = f->first; op; op = op->next)
    if (op->fused && (current(r, op->fused) != op->fused || uses[op->fused->id] != 1))
      op->fused = NULL;
  return true;
}
