/* See extract.h. */
#include "ir/extract.h"

#define MAX_CONSTANT_DEPTH 8 /* of ops over constants that come along */

typedef struct {
  Ctx *ctx;
  const Function *f;
  Module *m;
  const Tensor *const *values;
  bool *taken;  /* by id: the op comes along */
  Value **made; /* by id: the value in the new module */
} Extract;

/* The value depends on constants only. */
static bool is_constant(const Value *v, int depth) {
  if (!v->def || depth > MAX_CONSTANT_DEPTH)
    return false;
  for (int k = 0; k < v->def->n_operands; k++)
    if (v->def->operands[k] && !is_constant(v->def->operands[k], depth + 1))
      return false;
  return true;
}

/* Takes the op that makes v, and what that reads: v is constant. */
static void take_constant(Extract *x, const Value *v) {
  if (x->taken[v->id])
    return;
  x->taken[v->id] = true;
  for (int k = 0; k < v->def->n_operands; k++)
    if (v->def->operands[k])
      take_constant(x, v->def->operands[k]);
}

static Constant *copy_constant(Extract *x, const Constant *c) {
  Constant *known = module_find_constant(x->m, c->name);
  if (known)
    return known;
  if (c->base)
    return module_add_derived(x->m, c->name, copy_constant(x, c->base), c->type, c->loc);
  return module_add_constant(x->m, c->name, c->type, c->data, c->loc);
}

/* A value that the part reads: a parameter, or the constant that it held. */
static bool make_input(Extract *x, const Value *v) {
  const Type *type = type_with_layout(x->ctx, v->type, layout_row_major(x->ctx, v->type->rank));
  Function *f = x->m->main;
  Value *made;
  if (dtype_is_int(type->dtype)) {
    Constant *c = module_add_constant(x->m, v->name, type, x->values[v->id]->data, v->loc);
    made = build_constant(x->m, f, NULL, c, v->name, v->loc);
  } else {
    made = function_add_param(x->m, f, v->name, type, NULL, v->loc);
  }
  if (made && v->type != type)
    made = build_relayout(x->m, f, NULL, made, v->type->layout, v->loc);
  x->made[v->id] = made;
  return made;
}

static bool make_op(Extract *x, const Op *op) {
  Value **operands = ARENA_ARRAY(x->ctx->arena, Value *, op->n_operands);
  for (int k = 0; k < op->n_operands; k++)
    operands[k] = op->operands[k] ? x->made[op->operands[k]->id] : NULL;
  Op *copy = op_create(x->ctx, op->def, operands, op->n_operands, op->loc);
  memcpy(copy->attrs, op->attrs, sizeof copy->attrs);
  for (int k = 0; k < op->def->n_attrs; k++)
    if (op->attrs[k].constant)
      copy->attrs[k].constant = copy_constant(x, op->attrs[k].constant);
  Value *made = op_finish(x->m, x->m->main, copy, NULL, op->result->name, op->result->type);
  if (made && op->fused)
    copy->fused = x->made[op->fused->id];
  x->made[op->result->id] = made;
  return made;
}

static bool is_read_outside(const Extract *x, const Value *v, const bool *chosen) {
  for (size_t k = 0; k < x->f->results.len; k++)
    if (x->f->results.data[k].value == v)
      return true;
  for (const Op *op = x->f->first; op; op = op->next)
    for (int k = 0; k < op->n_operands; k++)
      if (op->operands[k] == v && !chosen[op->result->id])
        return true;
  return false;
}

static bool add_results(Extract *x, const bool *chosen) {
  for (const Op *op = x->f->first; op; op = op->next) {
    const Value *v = op->result;
    if (!chosen[v->id] || !is_read_outside(x, v, chosen))
      continue;
    Value *r = x->made[v->id];
    if (!layout_is_permutation(r->type->layout) &&
        !(r = build_relayout(x->m, x->m->main, NULL, r, layout_row_major(x->ctx, r->type->rank), op->loc)))
      return false;
    function_add_result(x->m, x->m->main, v->name, r, r->type, NULL, op->loc);
  }
  return x->m->main->results.len > 0;
}

Module *module_extract(Ctx *ctx, const Function *f, const bool *chosen, const Tensor *const *values, const char *name) {
  Extract x = {ctx, f, module_create(ctx, name, name), values, NULL, NULL};
  x.m->main = function_create(x.m, "main");
  x.taken = ARENA_ARRAY(ctx->arena, bool, f->n_values);
  x.made = ARENA_ARRAY(ctx->arena, Value *, f->n_values);
  memcpy(x.taken, chosen, f->n_values * sizeof *chosen);
  for (const Op *op = f->first; op; op = op->next)
    for (int k = 0; chosen[op->result->id] && k < op->n_operands; k++) {
      const Value *v = op->operands[k];
      if (!v || x.taken[v->id] || x.made[v->id])
        continue;
      if (is_constant(v, 0))
        take_constant(&x, v);
      else if (!make_input(&x, v))
        return NULL;
    }
  for (const Op *op = f->first; op; op = op->next)
    if (x.taken[op->result->id] && !make_op(&x, op))
      return NULL;
  return add_results(&x, chosen) ? x.m : NULL;
}
