/* Canonicalization: ops that give back an operand unchanged go, and each family makes its ops simpler in its own way
 * (OpDef.simplify). That a view, or a chain of views, changes nothing shows in the index map that its row has: it takes
 * every index to itself. */
#include "passes/rewrite.h"

bool pass_canonicalize(Unit *unit, const PassOption *options, int n_options);

#define MAX_VIEWS 4 /* of a chain that is followed: index expressions grow with each */

/* One variable an axis; the only index of an axis of extent 1 is 0. */
static void axis_indices(Ctx *ctx, const Type *type, const Expr **at) {
  const Expr *zero = expr_const(ctx, 0);
  for (int k = 0; k < type->rank; k++) {
    int64_t extent;
    bool one = expr_is_const(type->dims[k], &extent) && extent == 1;
    at[k] = one ? zero : expr_var(ctx, "i", zero, type->dims[k]);
  }
}

/* The value whose elements the views that end in op show, each in its place; NULL where there is none. */
static Value *shown_unchanged(Ctx *ctx, const Op *op) {
  const Type *type = op->result->type;
  const Expr *from[WEFT_MAX_RANK], *at[WEFT_MAX_RANK], *inner[WEFT_MAX_RANK];
  axis_indices(ctx, type, from);
  memcpy(at, from, sizeof at);
  for (int n = 0; n < MAX_VIEWS && op && (op->def->traits & OP_VIEW); n++) {
    Value *v = op->operands[0];
    op->def->view_index(ctx, op, at, inner);
    memcpy(at, inner, (size_t)v->type->rank * sizeof *at);
    if (type_same_shape(v->type, type) && memcmp(at, from, (size_t)type->rank * sizeof *at) == 0)
      return v;
    op = v->def;
  }
  return NULL;
}

static Value *simplified(Module *m, Op *op) {
  Value *v = (op->def->traits & OP_VIEW) ? shown_unchanged(m->ctx, op) : NULL;
  return v || !op->def->simplify ? v : op->def->simplify(m, m->main, op);
}

/* What stands for op's result once op has been made as simple as it gets; NULL: nothing else. */
static Value *simplest(Module *m, Op *op) {
  Value *v;
  do
    v = simplified(m, op);
  while (v == op->result);
  return v;
}

/* The same, of an op made for it too. */
static Value *replacement(const Rewrite *r, Op *op) {
  Module *m = r->unit->module;
  Value *v = simplest(m, op), *next;
  while (v && v->id >= r->n && (next = simplest(m, v->def))) {
    op_erase(m->main, v->def);
    v = next;
  }
  return v;
}

bool pass_canonicalize(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  Module *m = unit->module;
  Rewrite r = rewrite_start(unit);
  for (Op *op = m->main->first, *next; op; op = next) {
    next = op->next;
    rewrite_operands(&r, op);
    Value *v = replacement(&r, op);
    if (v)
      rewrite_op(&r, op, v);
  }
  return rewrite_finish(&r);
}
