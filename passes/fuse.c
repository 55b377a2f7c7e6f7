/* Fusion of elementwise ops into the nest of a producer. Only groups: an op marked fused(%v) is computed where %v is,
 * and %v is never stored. %v must have no other reader and the op's own shape, so nothing is computed twice. Where
 * several operands qualify, one made by a contraction is taken first, since its result is the dearest to store and load
 * again. Groups are bounded (passes/fuse.h): an op reads its operand several times (x in select(x < 0, 0, x)), so the
 * expression of a long chain would grow by a factor with each op. */
#include "passes/fuse.h"

bool pass_fuse(Unit *unit, const PassOption *options, int n_options);

/* What a nest holds once it computes a value. */
typedef struct {
  int operands, ops;
  const Scalar *expression; /* of the elementwise ops, over the root's value or operands */
} Group;

static bool may_take_epilogue(const Op *op) {
  return op->def->traits & (OP_CONTRACTION | OP_ELEMENTWISE | OP_MOVE);
}

static const Op *group_root(const Op *op) {
  while (op->fused)
    op = op->fused->def;
  return op;
}

/* The expression of op where it is computed with the producer of v (NULL: alone). */
static const Scalar *expression(Ctx *ctx, const Op *op, const Value *v, const Group *groups) {
  const Scalar *operands[OP_MAX_OPERANDS];
  for (int k = 0; k < op->def->n_operands; k++) {
    bool fused = v && op->operands[k] == v && groups[v->id].expression;
    operands[k] =
        fused ? groups[v->id].expression : scalar_arg_typed(ctx, k, dtype_compute(op->operands[k]->type->dtype));
  }
  return op_scalar(ctx, op, operands);
}

static Group joined(Ctx *ctx, const Op *op, const Value *v, const Group *groups) {
  const Group *g = &groups[v->id];
  return (Group){g->operands + op->def->n_operands - 1, g->ops + 1, expression(ctx, op, v, groups)};
}

/* What is stored in another type than it is computed in is rounded there, which a fused value would not be. */
static bool is_rounded_in_memory(const Type *type) {
  return dtype_compute(type->dtype) != type->dtype;
}

static bool fits(Ctx *ctx, const Op *op, const Value *v, const uint32_t *uses, const Group *groups) {
  if (!v || !v->def || !may_take_epilogue(v->def) || uses[v->id] != 1 || !type_same_extents(v->type, op->result->type) ||
      is_rounded_in_memory(v->type) || groups[v->id].operands + op->def->n_operands - 1 > FUSE_MAX_OPERANDS ||
      groups[v->id].ops >= FUSE_MAX_OPS)
    return false;
  return expression(ctx, op, v, groups)->size <= FUSE_MAX_NODES;
}

static bool is_contraction(const Value *v) {
  return group_root(v->def)->def->traits & OP_CONTRACTION;
}

bool pass_fuse(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  Ctx *ctx = unit->ctx;
  Function *f = unit->module->main;
  uint32_t *uses = function_count_uses(ctx, f);
  Group *groups = ARENA_ARRAY(ctx->arena, Group, f->n_values); /* by value */
  for (Op *op = f->first; op; op = op->next) {
    Group *own = &groups[op->result->id];
    *own = (Group){op->def->n_operands, 1, NULL};
    if (!(op->def->traits & OP_ELEMENTWISE))
      continue;
    Value *best = NULL;
    for (int k = 0; k < op->def->n_operands; k++) {
      Value *v = op->operands[k];
      if (fits(ctx, op, v, uses, groups) && (!best || (!is_contraction(best) && is_contraction(v))))
        best = v;
    }
    op->fused = best;
    *own = best ? joined(ctx, op, best, groups) : (Group){own->operands, 1, expression(ctx, op, NULL, groups)};
  }
  return true;
}
