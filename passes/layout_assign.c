/* The engine of infer-layout and convert-layout. See layout_assign.h. */
#include "passes/layout_assign.h"

#include "ir/fault.h"
#include "passes/layout_explain.h"

static Constant *constant_of(const Value *v) {
  return v->def && v->def->def->code == OP_CONSTANT ? op_attr(v->def, "value")->constant : NULL;
}

/* Copies made so far of each value, by its id. */
typedef struct Copy {
  Value *value;
  struct Copy *next;
} Copy;

typedef struct {
  Unit *unit;
  VEC(Copy *) copies;
  VEC(const Value *) pinned; /* results whose layout was wished for */
} Assign;

static Copy **copies_of(Assign *a, const Value *v) {
  while (a->copies.len <= v->id)
    vec_push(a->unit->ctx->arena, &a->copies, NULL);
  return &a->copies.data[v->id];
}

/* The planted fault "convert-layout": v with its last two axes exchanged, where that keeps its shape. */
static Value *wrongly_permuted(Module *m, Op *before, Value *v) {
  int64_t perm[WEFT_MAX_RANK];
  int rank = v->type->rank;
  if (rank < 2 || v->type->dims[rank - 1] != v->type->dims[rank - 2])
    return v;
  for (int k = 0; k < rank; k++)
    perm[k] = k < rank - 2 ? k : 2 * rank - 3 - k;
  Op *op = op_create(m->ctx, &op_table[OP_TRANSPOSE], &v, 1, before->loc);
  op_set_ints(m->ctx, op, "perm", perm, rank);
  return op_finish(m, m->main, op, before, NULL, NULL);
}

/* The value in another layout: a derived constant, or a relayout. A constant that its padding would make too large
 * stays as it is; where its layout was wished for, assign_op refuses that. NULL after reporting. */
static Value *make_copy(Unit *unit, Op *before, Value *v, const Layout *layout) {
  Module *m = unit->module;
  Constant *c = constant_of(v);
  if (!c && FAULT("convert-layout"))
    v = wrongly_permuted(m, before, v);
  if (!c)
    return build_relayout(m, m->main, before, v, layout, before->loc);
  Constant *derived = module_derive_constant(m, c, layout);
  return derived ? build_constant(m, m->main, before, derived, derived->name, v->def->loc) : v;
}

/* The value in this layout: itself, or a copy, one for all readers. Ops are walked in order, so a copy stands before
 * every later reader. NULL after reporting. */
static Value *in_layout(Assign *a, Op *before, Value *v, const Layout *layout) {
  if (v->type->layout == layout)
    return v;
  Copy **list = copies_of(a, v);
  for (const Copy *c = *list; c; c = c->next)
    if (c->value->type->layout == layout)
      return c->value;
  Value *made = make_copy(a->unit, before, v, layout);
  if (made && made != v) {
    Copy *c = ARENA_NEW(a->unit->ctx->arena, Copy);
    *c = (Copy){made, *list};
    *list = c;
  }
  return made;
}

static bool set_layout(Unit *unit, Value *v, const Layout *layout) {
  const Type *type = type_with_layout(unit->ctx, v->type, layout);
  if (!type)
    return diag_error(unit->ctx->diags, WEFT_UNSUPPORTED, v->loc, "%%%s: %s is too large in this layout", v->name,
                      type_text(unit->ctx, v->type));
  v->type = type;
  return true;
}

static bool assign_op(Assign *a, Op *op, const LayoutWish *wishes, int n, const Layout *choice) {
  Unit *unit = a->unit;
  if (op->def->traits & (OP_LEAF | OP_COPY))
    return true;
  LayoutPlan plan = layout_plan_of(unit->ctx, op);
  if (!layout_wish_for(unit->ctx, wishes, n, op, &plan))
    return false;
  bool chosen = choice && !plan.wish_data && !plan.wish_out;
  if (chosen)
    plan.wish_data = choice;
  op->def->layout(unit->ctx, op, &plan);
  if (chosen)
    plan.why = "auto: least cost";
  layout_note_plan(unit, op, &plan);
  for (int k = 0; k < op->n_operands; k++) {
    Value *v = op->operands[k];
    if (!v)
      continue;
    if (!(op->operands[k] = in_layout(a, op, v, plan.operand[k])))
      return false;
    if (plan.wish_kernel == plan.operand[k] && op->operands[k]->type->layout != plan.wish_kernel)
      return diag_error(unit->ctx->diags, WEFT_UNSUPPORTED, op->loc, "%s: %s is too large in the layout wished for it",
                        op->def->name, type_text(unit->ctx, v->type));
  }
  if (plan.wish_out)
    vec_push(unit->ctx->arena, &a->pinned, op->result);
  return set_layout(unit, op->result, plan.result);
}

static bool is_pinned(const Assign *a, const Value *v) {
  for (size_t k = 0; k < a->pinned.len; k++)
    if (a->pinned.data[k] == v)
      return true;
  return false;
}

/* A copy into a permutation that is its operand's only reader, as at the boundary: the producer writes that layout
 * itself, unless it was wished to write another. */
static bool absorb_copies(const Assign *a) {
  Unit *unit = a->unit;
  Function *f = unit->module->main;
  uint32_t *uses = function_count_uses(unit->ctx, f);
  for (Op *op = f->first, *next; op; op = next) {
    next = op->next;
    if (!(op->def->traits & OP_COPY))
      continue;
    Value *v = op->operands[0];
    bool same = v->type == op->result->type;
    bool direct = v->def && !(v->def->def->traits & (OP_LEAF | OP_VIEW | OP_COPY)) && uses[v->id] == 1 &&
                  layout_is_permutation(op->result->type->layout) && !is_pinned(a, v);
    if (!same && !direct)
      continue;
    if (!same && !set_layout(unit, v, op->result->type->layout))
      return false;
    if (!same)
      layout_note_direct(unit, v);
    uses[v->id] += uses[op->result->id] - 1;
    value_replace_uses(f, op->result, v);
    op_erase(f, op);
  }
  return true;
}

/* Returned values must have the boundary's types. */
static bool fix_results(Unit *unit) {
  Module *m = unit->module;
  Function *f = m->main;
  for (size_t k = 0; k < f->results.len; k++) {
    FuncResult *r = &f->results.data[k];
    if (r->value->type != r->type && !(r->value = build_relayout(m, f, NULL, r->value, r->type->layout, r->loc)))
      return false;
  }
  return true;
}

bool layout_assign(Unit *unit, const LayoutWish *wishes, int n, const Layout *const *choice) {
  Assign a = {.unit = unit};
  int number = 0; /* of ops that stood here before: relayouts and constants are put in front of op */
  for (Op *op = unit->module->main->first; op; op = op->next, number++)
    if (!assign_op(&a, op, wishes, n, choice ? choice[number] : NULL))
      return false;
  return fix_results(unit) && absorb_copies(&a);
}
