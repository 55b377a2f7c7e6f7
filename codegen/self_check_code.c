/* See self_check_code.h. A nest's function is called as the runtime calls it, over all its iterations. What it stored
 * is told from what it left by poison: its targets hold signalling NaN before the first nest that stores to them. */
#include "codegen/self_check_code.h"

#include "ir/tensor.h"
#include "lower/nest_buffers.h"
#include "runtime/model.h"

#define ALIGN 64 /* of outputs: as the arena and the weights */

typedef struct {
  SelfCheck *c;
  CheckTimer *t;
  LoopProgram *p;
  Ctx *ctx;
  const WeftModel *model;
  LastWriters writers;
  char *arena;
  void **outputs;
  bool *started; /* per arena buffer: a nest has stored to it */
} Run;

static void *place_of(const Run *r, const Buffer *b) {
  return b->space == BUF_OUTPUT ? r->outputs[b->index] : r->arena + expr_value(b->offset);
}

/* 64 bytes and more are aligned to 64. */
static void *aligned(Ctx *ctx, size_t bytes) {
  return arena_alloc(ctx->arena, bytes < ALIGN ? ALIGN : bytes);
}

static void **new_outputs(const LoopProgram *p) {
  void **outputs = ARENA_ARRAY(p->ctx->arena, void *, p->outputs.len);
  for (size_t k = 0; k < p->outputs.len; k++) {
    const Type *type = p->outputs.data[k]->type;
    outputs[k] = aligned(p->ctx, (size_t)type_bytes(type));
    tensor_poison(type->dtype, outputs[k], (size_t)type_bytes(type));
  }
  return outputs;
}

/* Per logical element of b whether its storage is no longer poison. */
static void mark_stored(const Run *r, const Buffer *b, unsigned char *stored, Tensor *mask) {
  size_t size = dtype_size(b->type->dtype), n = (size_t)type_bytes(b->type) / size;
  unsigned char poison[8];
  tensor_poison(b->type->dtype, poison, size);
  const char *data = place_of(r, b);
  for (size_t k = 0; k < n; k++)
    stored[k] = memcmp(data + k * size, poison, size) != 0;
  const Type *marks = type_get(r->ctx, DT_BOOL, b->type->rank, b->type->dims, b->type->layout);
  tensor_from_storage(mask, marks, stored);
}

/* What is in b, compared: only what has been stored so far, unless this was its last writer. */
static bool compare_buffer(const Run *r, const Nest *nest, const Buffer *b) {
  const Type *marks = type_get(r->ctx, DT_BOOL, b->type->rank, b->type->dims, b->type->layout);
  bool complete = is_last_writer(&r->writers, nest, b);
  Arena *kept = r->ctx->arena, *scratch = r->ctx->arena = arena_create(); /* many nests store to one buffer */
  Tensor *got = tensor_of_type(r->ctx, b->type), *mask = complete ? NULL : tensor_of_type(r->ctx, marks);
  unsigned char *stored = complete ? NULL : arena_alloc(scratch, (size_t)type_bytes(marks));
  r->ctx->arena = kept;
  if (!complete)
    mark_stored(r, b, stored, mask);
  tensor_from_storage(got, b->type, place_of(r, b));
  const Tensor *truth = self_check_truth(r->c, b);
  const unsigned char *marked = complete ? NULL : mask->data;
  CheckDiff d = check_compare(got, truth, NULL, marked);
  if (d.worst >= 0)
    d = check_compare(got, truth, self_check_tolerance(r->c, b), marked);
  arena_destroy(scratch);
  if (check_note(r->t, &d))
    return true;
  check_fail_nest(r->c, r->t, NULL, nest, b, &d, NULL);
  return false;
}

static void start_targets(const Run *r, const NestBuffers *of) {
  for (size_t k = 0; k < of->stored.len; k++) {
    const Buffer *b = of->stored.data[k];
    if (b->space != BUF_ARENA || r->started[b->index])
      continue;
    tensor_poison(b->type->dtype, place_of(r, b), (size_t)type_bytes(b->type));
    r->started[b->index] = true;
  }
}

static bool run_nest(const Run *r, const Nest *nest, const WeftNest *code) {
  int32_t fault = 0;
  WeftFrame frame = {self_check_inputs(r->c), r->outputs, r->model->weights, r->arena, &fault};
  NestBuffers of = nest_buffers(r->ctx, nest);
  start_targets(r, &of);
  code->fn(&frame, 0, code->count);
  if (fault) {
    check_fail_nest(r->c, r->t, NULL, nest, of.stored.len ? of.stored.data[0] : NULL, NULL,
                    "compiled code finds an index out of range");
    return false;
  }
  for (size_t k = 0; k < of.stored.len; k++) {
    const Buffer *b = of.stored.data[k];
    if (!b->value || is_updated_later(&r->writers, nest, b))
      continue;
    if (!compare_buffer(r, nest, b))
      return false;
    if (is_last_writer(&r->writers, nest, b))
      tensor_to_storage(self_check_truth(r->c, b), b->type, place_of(r, b));
  }
  return true;
}

static bool run_nests(Run *r) {
  int64_t bytes = r->model->workspace;
  r->arena = bytes ? aligned(r->ctx, (size_t)bytes) : NULL;
  if (bytes)
    tensor_poison(DT_F32, r->arena, (size_t)bytes);
  r->writers = last_writers(r->p);
  r->started = ARENA_ARRAY(r->ctx->arena, bool, r->p->arena.len);
  r->outputs = new_outputs(r->p);
  const WeftNest *code = r->model->nests;
  for (const Nest *n = r->p->first; n; n = n->next, code++)
    if (!run_nest(r, n, code))
      return false;
  return true;
}

static bool fail(Run *r, const char *what) {
  return check_fail_run(r->c, r->t, what);
}

/* Whole runs, through the runtime. */
static bool run_whole(Run *r) {
  void **one = new_outputs(r->p), **two = new_outputs(r->p);
  const void *const *inputs = self_check_inputs(r->c);
  weft_rt_set_threads(r->model, 1);
  bool ok = weft_rt_run(r->model, inputs, one) == 0;
  weft_rt_set_threads(r->model, 2);
  ok = ok && weft_rt_run(r->model, inputs, two) == 0;
  if (!ok)
    return fail(r, arena_printf(r->ctx->arena, "the run failed: %s", weft_rt_error()));
  for (size_t k = 0; k < r->p->outputs.len; k++)
    if (memcmp(one[k], two[k], (size_t)type_bytes(r->p->outputs.data[k]->type)) != 0)
      return fail(r, arena_printf(r->ctx->arena, "output '%s' differs between one thread and two",
                                  r->p->outputs.data[k]->name));
  return self_check_outputs(r->c, r->t, r->p, one);
}

bool self_check_code(SelfCheck *check, LoopProgram *p, const CodegenOptions *options) {
  CheckTimer t = self_check_begin("code generation", "nests");
  CodegenOptions poisoned = *options;
  poisoned.poison = true;
  Jit *jit = jit_open(p, &poisoned);
  if (!jit)
    return false;
  Run r = {.c = check, .t = &t, .p = p, .ctx = p->ctx, .model = jit_model(jit)};
  t.row.fresh = t.row.all = r.model->n_nests;
  if (run_nests(&r))
    run_whole(&r);
  jit_close(jit);
  return self_check_end(check, &t);
}
