/* Copies of functions. Constants are the module's and stay shared. */
#include "ir/module.h"

static Value *clone_value(Ctx *ctx, Value **to, const Value *v) {
  Value *copy = ARENA_NEW(ctx->arena, Value);
  *copy = *v;
  copy->def = NULL;
  return to[v->id] = copy;
}

static void clone_op(Ctx *ctx, Function *f, Value **to, const Op *op) {
  Op *copy = ARENA_NEW(ctx->arena, Op);
  *copy = *op;
  copy->operands = ARENA_ARRAY(ctx->arena, Value *, op->n_operands);
  for (int k = 0; k < op->n_operands; k++)
    copy->operands[k] = op->operands[k] ? to[op->operands[k]->id] : NULL;
  copy->fused = op->fused ? to[op->fused->id] : NULL;
  copy->result = clone_value(ctx, to, op->result);
  copy->result->def = copy;
  copy->next = NULL;
  copy->prev = f->last;
  *(f->last ? &f->last->next : &f->first) = copy;
  f->last = copy;
}

Function *function_clone(Ctx *ctx, const Function *f) {
  Function *copy = ARENA_NEW(ctx->arena, Function);
  *copy = (Function){.name = f->name, .n_values = f->n_values};
  Value **to = ARENA_ARRAY(ctx->arena, Value *, f->n_values);
  for (size_t k = 0; k < f->params.len; k++)
    vec_push(ctx->arena, &copy->params, clone_value(ctx, to, f->params.data[k]));
  for (size_t k = 0; k < f->params.len; k++)
    function_take_name(ctx, copy, f->params.data[k]->name);
  for (const Op *op = f->first; op; op = op->next) {
    clone_op(ctx, copy, to, op);
    function_take_name(ctx, copy, op->result->name);
  }
  for (size_t k = 0; k < f->results.len; k++) {
    FuncResult r = f->results.data[k];
    r.value = to[r.value->id];
    vec_push(ctx->arena, &copy->results, r);
  }
  return copy;
}
