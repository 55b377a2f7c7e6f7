/* See self_check_impl.h. */
#include "lower/self_check_impl.h"

/* ---- tensors ---- */

static size_t bytes_of(const Tensor *t) {
  return (size_t)t->n * dtype_size(t->dtype);
}

static bool same_content(const void *item, const void *key) {
  const Tensor *a = item, *b = key;
  return a->dtype == b->dtype && a->rank == b->rank &&
         memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0 &&
         memcmp(a->data, b->data, bytes_of(a)) == 0;
}

/* As hash_bytes, a word at a time: tensors are large. */
static uint64_t content_hash(uint64_t h, const void *data, size_t n) {
  const char *p = data;
  for (; n >= sizeof h; p += sizeof h, n -= sizeof h) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    h = (h ^ word) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
  }
  return hash_bytes(h, p, n);
}

const Tensor *evaluator_intern(Evaluator *e, const Tensor *t) {
  uint64_t h = content_hash(WEFT_HASH_SEED, t->shape, (size_t)t->rank * sizeof *t->shape);
  h = content_hash(h, t->data, bytes_of(t));
  const Tensor *found = intern_find(&e->tensors, h, same_content, t);
  if (!found)
    intern_add(e->ctx, &e->tensors, h, t);
  return found ? found : t;
}

/* ---- results ---- */

typedef struct {
  const Op *op; /* a copy: passes change ops in place */
  const Tensor *const *in;
  const Tensor *out;
} Result;

static bool same_work(const void *item, const void *key) {
  const Result *a = item, *b = key;
  if (a->op->def != b->op->def || a->op->n_operands != b->op->n_operands ||
      !type_same_shape(a->op->result->type, b->op->result->type))
    return false;
  for (int k = 0; k < a->op->n_operands; k++)
    if (a->in[k] != b->in[k])
      return false;
  for (int k = 0; k < a->op->def->n_attrs; k++)
    if (!attr_equal(&a->op->def->attrs[k], &a->op->attrs[k], &b->op->attrs[k]))
      return false;
  return true;
}

static uint64_t work_hash(const Result *r) {
  uint64_t h = hash_bytes(WEFT_HASH_SEED, &r->op->def->code, sizeof r->op->def->code);
  for (int k = 0; k < r->op->n_operands; k++)
    h = hash_bytes(h, &r->in[k], sizeof r->in[k]);
  for (int k = 0; k < r->op->def->n_attrs; k++)
    h = attr_hash(h, &r->op->def->attrs[k], &r->op->attrs[k]);
  return h;
}

const Tensor *evaluator_op(Evaluator *e, const Op *op, const Tensor *const *in) {
  Result key = {op, in, NULL};
  uint64_t h = work_hash(&key);
  const Result *found = intern_find(&e->results, h, same_work, &key);
  if (found)
    return found->out;
  const Tensor *out = eval_op(e->ctx, op, in);
  if (!out)
    return NULL;
  e->fresh++;
  Result *r = ARENA_NEW(e->ctx->arena, Result);
  Op *copy = ARENA_NEW(e->ctx->arena, Op);
  Value *result = ARENA_NEW(e->ctx->arena, Value);
  *copy = *op;
  *result = *op->result;
  copy->result = result;
  *r = (Result){copy, in, evaluator_intern(e, out)};
  intern_add(e->ctx, &e->results, h, r);
  return r->out;
}

const Tensor **evaluator_operands(Evaluator *e, const Op *op, const Tensor *const *values) {
  const Tensor **in = ARENA_ARRAY(e->ctx->arena, const Tensor *, op->n_operands);
  for (int k = 0; k < op->n_operands; k++)
    in[k] = op->operands[k] ? values[op->operands[k]->id] : NULL;
  return in;
}

const Tensor **evaluator_function(Evaluator *e, const Function *f, const Tensor *const *inputs) {
  const Tensor **values = ARENA_ARRAY(e->ctx->arena, const Tensor *, f->n_values);
  for (size_t k = 0; k < f->params.len; k++)
    values[f->params.data[k]->id] = inputs[k];
  for (const Op *op = f->first; op; op = op->next) {
    const Tensor *out = evaluator_op(e, op, evaluator_operands(e, op, values));
    if (!out)
      return NULL;
    values[op->result->id] = out;
  }
  return values;
}
