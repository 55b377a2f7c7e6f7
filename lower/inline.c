/* Which elementwise values are never stored but computed where they are read, beside those that `fuse` groups with
 * their producer: a reduction computes what it sums (the square of x - mean), and a cheap value with two readers (x -
 * mean itself) costs less to compute twice than to store and load. Readers are elementwise ops and ops that read each
 * element once. */
#include "ir/scalar_walk.h"
#include "lower/lower_op.h"
#include "passes/fuse.h"

#define MAX_READERS 2 /* that compute a cheap value each for itself */
#define MAX_NODES 8   /* of a cheap value's expression */
#define MAX_LEAVES                                                                                                     \
  2 /* values that are read for one that is computed: a group of FUSE_MAX_OPERANDS reads no more than                  \
     * twice as many */
_Static_assert(MAX_LEAVES *FUSE_MAX_OPERANDS < COMPUTATION_MAX_ARGS, "a computation has room for what a group reads");

/* What reads a value. */
typedef struct {
  int n;
  bool once;    /* each an op that reads elements once, at its own index */
  bool reduces; /* one of them is a reduction */
} Readers;

/* By value. */
typedef struct {
  LowerCtx *lc;
  Readers *readers;
  int *leaves; /* values read to compute it */
} Choice;

static bool reads_once(const Op *op) {
  return op->def->traits & (OP_ELEMENTWISE | OP_ONCE);
}

static bool is_repeated(const Op *op, int k) {
  for (int j = 0; j < k; j++)
    if (op->operands[j] == op->operands[k])
      return true;
  return false;
}

static void count_readers(Choice *c) {
  const Function *f = c->lc->function;
  for (uint32_t v = 0; v < f->n_values; v++)
    c->readers[v].once = true;
  for (const Op *op = f->first; op; op = op->next)
    for (int k = 0; k < op->n_operands; k++)
      if (op->operands[k] && !is_repeated(op, k)) {
        Readers *r = &c->readers[op->operands[k]->id];
        r->n++;
        r->once = r->once && reads_once(op);
        r->reduces = r->reduces || (op->def->traits & OP_ONCE);
      }
  for (size_t k = 0; k < f->results.len; k++)
    c->readers[f->results.data[k].value->id].once = false;
}

static bool is_cheap(const Scalar *s) {
  if (s->op >= SC_EXP || s->op == SC_DIV || s->op == SC_MOD || s->op == SC_SQRT)
    return false;
  for (int k = 0; k < s->n; k++)
    if (!is_cheap(s->args[k]))
      return false;
  return true;
}

static bool is_cheap_op(Ctx *ctx, const Op *op) {
  const Scalar *operands[OP_MAX_OPERANDS];
  for (int k = 0; k < op->def->n_operands; k++)
    operands[k] = scalar_arg_typed(ctx, k, dtype_compute(op->operands[k]->type->dtype));
  const Scalar *s = op_scalar(ctx, op, operands);
  return s->size <= MAX_NODES && is_cheap(s);
}

/* Values read to have v in its reader. */
static int leaves_of(const Choice *c, const Value *v) {
  return c->lc->inlined[v->id] ? c->leaves[v->id] : 1;
}

static bool may_inline(const Choice *c, const Op *op) {
  const Value *v = op->result;
  const Readers *r = &c->readers[v->id];
  if (c->lc->fused[v->id] || op->fused || !(op->def->traits & OP_ELEMENTWISE) || !r->n || !r->once ||
      dtype_compute(v->type->dtype) != v->type->dtype || c->leaves[v->id] > MAX_LEAVES)
    return false;
  if (r->n == 1) /* one elementwise reader is left to `fuse`, which had its reasons where it did not take it */
    return r->reduces;
  return r->n <= MAX_READERS && is_cheap_op(c->lc->ctx, op);
}

bool *inlined_values(LowerCtx *lc) {
  Ctx *ctx = lc->ctx;
  uint32_t n = lc->function->n_values;
  Choice c = {lc, ARENA_ARRAY(ctx->arena, Readers, n), ARENA_ARRAY(ctx->arena, int, n)};
  lc->inlined = ARENA_ARRAY(ctx->arena, bool, n);
  count_readers(&c);
  for (const Op *op = lc->function->first; op; op = op->next) {
    for (int k = 0; k < op->n_operands; k++)
      c.leaves[op->result->id] += op->operands[k] && !is_repeated(op, k) ? leaves_of(&c, op->operands[k]) : 0;
    lc->inlined[op->result->id] = may_inline(&c, op);
  }
  return lc->inlined;
}
