/* Constant folding: an op whose operands are all constants is evaluated by the reference and becomes a constant in its
 * result's layout. A relayout of a constant becomes a derived constant instead, so that tied weights stay one and
 * copies can be counted. A broadcast is left alone, since it costs nothing and its result may be large; ops that read
 * one are folded through it. What would take too much memory or time is left to run time. */
#include "ir/tensor.h"
#include "passes/pass.h"

bool pass_fold_constants(Unit *unit, const PassOption *options, int n_options);

/* Of one pass: elements made and products summed, a few seconds. No tensor that takes part has more elements. */
#define MAX_WORK ((int64_t)1 << 24)
#define MAX_VIEWS 8 /* of a chain that is followed to its constant */

typedef struct {
  Module *m;
  int64_t work_left;
  int *views; /* by value id: 1 + views between it and a constant; 0: not known */
} Fold;

static Constant *constant_of(const Value *v) {
  return v->def && v->def->def->code == OP_CONSTANT ? op_attr(v->def, "value")->constant : NULL;
}

/* -1 where it is not known or more than may be folded. */
static int64_t elements(const Type *type) {
  int64_t shape[WEFT_MAX_RANK], n = 1;
  if (!type_shape(type, shape))
    return -1;
  for (int k = 0; k < type->rank; k++)
    if (!mul_i64(n, shape[k], &n) || n > MAX_WORK)
      return -1;
  return n;
}

/* A constant, or a few views of one. */
static bool is_known(const Fold *fold, const Value *v) {
  return !v || (fold->views[v->id] > 0 && elements(v->type) >= 0);
}

static int views_behind(const Fold *fold, const Op *op) {
  if (op->def->code == OP_CONSTANT)
    return 1;
  if (!(op->def->traits & OP_VIEW))
    return 0;
  int views = fold->views[op->operands[0]->id];
  return views > 0 && views <= MAX_VIEWS ? views + 1 : 0;
}

static Tensor *known_tensor(Module *m, const Value *v) {
  Constant *c = constant_of(v);
  Tensor *t = tensor_of_type(m->ctx, v->type);
  if (c) {
    tensor_from_storage(t, c->type, constant_data(m, c));
    return t;
  }
  const Tensor *in = known_tensor(m, v->def->operands[0]);
  v->def->def->eval(m->ctx, v->def, &in, t);
  return t;
}

/* So many elements, at most, take part with each one of data in a contraction: the other operand's, or a window's. */
static int64_t n_factors(const Op *op) {
  if (op->n_operands > 1)
    return elements(op->operands[1]->type);
  int64_t n = 1;
  if (op_attr_index(op->def, "kernel", strlen("kernel")) < 0)
    return n;
  const Attr *kernel = op_attr(op, "kernel");
  for (int k = 0; k < kernel->n; k++)
    if (!mul_i64(n, kernel->ints[k], &n) || n > MAX_WORK)
      return -1;
  return n;
}

/* Elements made and read, and for a contraction products summed; -1 where it is too much. */
static int64_t work_of(const Op *op) {
  int64_t n = elements(op->result->type);
  if (n < 0 || !(op->def->traits & OP_CONTRACTION)) {
    for (int k = 0; k < op->n_operands && n >= 0; k++)
      n += op->operands[k] ? elements(op->operands[k]->type) : 0;
    return n;
  }
  int64_t kernel = n_factors(op), data = elements(op->operands[0]->type), products;
  if (kernel < 0 || data < 0 || !mul_i64(n > data ? n : data, kernel, &products))
    return -1;
  return n + data + products;
}

/* The constant that op lays out anew, or NULL: nothing is evaluated for that. */
static Constant *copied_constant(const Op *op) {
  return (op->def->traits & OP_COPY) ? constant_of(op->operands[0]) : NULL;
}

static bool foldable(Fold *fold, const Op *op) {
  if (copied_constant(op))
    return true;
  if ((op->def->traits & OP_LEAF) || op->def->code == OP_BROADCAST)
    return false;
  for (int k = 0; k < op->n_operands; k++)
    if (!is_known(fold, op->operands[k]))
      return false;
  int64_t work = work_of(op);
  if (work < 0 || work > fold->work_left)
    return false;
  fold->work_left -= work;
  return true;
}

/* The constant that op computes. */
static Constant *evaluate(Module *m, const Op *op) {
  Ctx *ctx = m->ctx;
  const Type *type = op->result->type;
  const Tensor **in = ARENA_ARRAY(ctx->arena, const Tensor *, op->n_operands);
  for (int k = 0; k < op->n_operands; k++)
    in[k] = op->operands[k] ? known_tensor(m, op->operands[k]) : NULL;
  Tensor *out = tensor_of_type(ctx, type);
  op->def->eval(ctx, op, in, out);
  void *storage = arena_alloc(ctx->arena, (size_t)type_bytes(type));
  tensor_to_storage(out, type, storage);
  return module_add_constant(m, op->result->name, type, storage, op->loc);
}

/* The op that makes v becomes a constant, which no nest computes: its readers lose fused(%v). */
static void unfuse_readers(Function *f, const Value *v) {
  for (Op *op = f->first; op; op = op->next)
    if (op->fused == v)
      op->fused = NULL;
}

static bool fold_op(Fold *fold, Op *op) {
  Module *m = fold->m;
  Function *f = m->main;
  Constant *base = copied_constant(op);
  size_t errors = diag_count(m->ctx->diags);
  Constant *c = base ? module_derive_constant(m, base, op->result->type->layout) : evaluate(m, op);
  if (diag_count(m->ctx->diags) > errors)
    return false;
  Value *v = build_constant(m, f, op, c, op->result->name, op->loc);
  unfuse_readers(f, op->result);
  value_replace_uses(f, op->result, v);
  op_erase(f, op);
  return true;
}

bool pass_fold_constants(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  Module *m = unit->module;
  Fold fold = {.m = m, .work_left = MAX_WORK};
  /* Each op makes at most one new value. */
  fold.views = ARENA_ARRAY(unit->ctx->arena, int, 2 * (size_t)m->main->n_values);
  for (Op *op = m->main->first, *next; op; op = next) {
    next = op->next;
    if (foldable(&fold, op)) {
      if (!fold_op(&fold, op))
        return false;
      op = next ? next->prev : m->main->last; /* the constant in its place */
    }
    fold.views[op->result->id] = views_behind(&fold, op);
  }
  return true;
}
