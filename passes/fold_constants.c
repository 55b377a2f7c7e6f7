/* Constant folding: an op whose operands are all constants is evaluated by the reference and becomes a constant in its
 * result's layout. A relayout of a constant becomes a derived constant instead, so that tied weights stay one and
 * copies can be counted. A broadcast is left alone, since it costs nothing and its result may be large; ops that read
 * one are folded through it. */
#include "ir/tensor.h"
#include "passes/pass.h"

bool pass_fold_constants(Unit *unit, const PassOption *options, int n_options);

#define MAX_FOLDED_ELEMENTS ((int64_t)1 << 24)

static Constant *constant_of(const Value *v) {
  return v->def && v->def->def->code == OP_CONSTANT ? op_attr(v->def, "value")->constant : NULL;
}

/* The tensor of a value that is a constant, or a view of one; NULL where it is neither. */
static Tensor *known_tensor(Module *m, const Value *v) {
  Constant *c = constant_of(v);
  if (c) {
    Tensor *t = tensor_of_type(m->ctx, c->type);
    tensor_from_storage(t, c->type, constant_data(m, c));
    return t;
  }
  if (!v->def || !(v->def->def->traits & OP_VIEW))
    return NULL;
  const Tensor *in = known_tensor(m, v->def->operands[0]);
  if (!in)
    return NULL;
  Tensor *out = tensor_of_type(m->ctx, v->type);
  v->def->def->eval(m->ctx, v->def, &in, out);
  return out;
}

static bool is_known(const Value *v) {
  if (!v)
    return true;
  return constant_of(v) || (v->def && (v->def->def->traits & OP_VIEW) && is_known(v->def->operands[0]));
}

static bool foldable(const Op *op) {
  int64_t shape[WEFT_MAX_RANK], elements = 1;
  if ((op->def->traits & OP_LEAF) || op->def->code == OP_BROADCAST || !type_shape(op->result->type, shape))
    return false;
  for (int k = 0; k < op->result->type->rank; k++)
    if (!mul_i64(elements, shape[k], &elements) || elements > MAX_FOLDED_ELEMENTS)
      return false;
  for (int k = 0; k < op->def->n_operands; k++)
    if (!is_known(op->operands[k]))
      return false;
  return true;
}

/* The constant that op computes. */
static Constant *evaluate(Module *m, const Op *op) {
  Ctx *ctx = m->ctx;
  const Type *type = op->result->type;
  const Tensor *in[OP_MAX_OPERANDS] = {0};
  for (int k = 0; k < op->def->n_operands; k++)
    in[k] = op->operands[k] ? known_tensor(m, op->operands[k]) : NULL;
  Tensor *out = tensor_of_type(ctx, type);
  op->def->eval(ctx, op, in, out);
  void *storage = arena_alloc(ctx->arena, (size_t)type_bytes(type));
  tensor_to_storage(out, type, storage);
  return module_add_constant(m, op->result->name, type, storage, op->loc);
}

bool pass_fold_constants(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  Module *m = unit->module;
  Function *f = m->main;
  for (Op *op = f->first, *next; op; op = next) {
    next = op->next;
    if (!foldable(op))
      continue;
    bool derives = (op->def->traits & OP_COPY) && constant_of(op->operands[0]);
    Constant *c =
        derives ? module_derive_constant(m, constant_of(op->operands[0]), op->result->type->layout) : evaluate(m, op);
    Value *v = build_constant(m, f, op, c, op->result->name, op->loc);
    value_replace_uses(f, op->result, v);
    op_erase(f, op);
  }
  return true;
}
