/* The reference evaluation of a function: ops in order, each by its family's plain loops over logical indices. Layouts,
 * relayouts and `fused` marks make no difference here. */
#include "ir/tensor.h"

/* A tensor larger than this is refused rather than allocated: a model of a few lines can ask for any size. */
#define EVAL_MAX_ELEMENTS ((int64_t)1 << 28)

/* The tensor of a value, zeroed: `kept` where an evaluation before has made it. NULL after reporting. */
static Tensor *value_tensor(Ctx *ctx, const Value *v, Loc loc, Tensor *kept) {
  if (kept) {
    memset(kept->data, 0, (size_t)kept->n * dtype_size(kept->dtype));
    return kept;
  }
  int64_t shape[WEFT_MAX_RANK], n = 1;
  if (!type_shape(v->type, shape)) {
    diag_error(ctx->diags, WEFT_UNSUPPORTED, loc, "value '%s' is %s; the reference evaluation needs constant extents",
               v->name, type_text(ctx, v->type));
    return NULL;
  }
  for (int k = 0; k < v->type->rank; k++) {
    if (!mul_i64(n, shape[k], &n) || n > EVAL_MAX_ELEMENTS) {
      diag_error(ctx->diags, WEFT_UNSUPPORTED, loc,
                 "value '%s' is %s; the reference evaluation takes at most %lld elements", v->name,
                 type_text(ctx, v->type), (long long)EVAL_MAX_ELEMENTS);
      return NULL;
    }
  }
  return tensor_new(ctx, v->type->dtype, v->type->rank, shape);
}

static bool same_shape(const Tensor *a, const Tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

/* False after reporting. */
static bool eval_into(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  size_t errors = diag_count(ctx->diags);
  op->def->eval(ctx, op, in, out);
  return diag_count(ctx->diags) == errors;
}

Tensor *eval_op(Ctx *ctx, const Op *op, const Tensor *const *in) {
  Tensor *out = value_tensor(ctx, op->result, op->loc, NULL);
  return out && eval_into(ctx, op, in, out) ? out : NULL;
}

bool eval_function(Module *m, const Function *f, const Tensor *const *inputs, Tensor **outputs, Tensor **values) {
  Ctx *ctx = m->ctx;
  if (!values)
    values = ARENA_ARRAY(ctx->arena, Tensor *, f->n_values);
  for (size_t k = 0; k < f->params.len; k++) {
    const Value *v = f->params.data[k];
    Tensor *t = value_tensor(ctx, v, v->loc, values[v->id]);
    if (!t)
      return false;
    WEFT_ASSERT(same_shape(t, inputs[k]));
    memcpy(t->data, inputs[k]->data, (size_t)t->n * dtype_size(t->dtype));
    values[v->id] = t;
  }
  Arena *scratch = arena_create();
  bool ok = true;
  for (const Op *op = f->first; op && ok; op = op->next) {
    const Tensor **in = ARENA_ARRAY(scratch, const Tensor *, op->n_operands);
    for (int k = 0; k < op->n_operands; k++)
      if (op->operands[k])
        in[k] = values[op->operands[k]->id];
    Tensor *out = values[op->result->id] = value_tensor(ctx, op->result, op->loc, values[op->result->id]);
    ok = out && eval_into(ctx, op, in, out);
  }
  arena_destroy(scratch);
  for (size_t k = 0; k < f->results.len; k++)
    outputs[k] = values[f->results.data[k].value->id];
  return ok;
}
