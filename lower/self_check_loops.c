/* The self-check of loop nests. Each nest runs by itself in the interpreter, its operands holding what the graph says,
 * so that a wrong nest shows where it is, and differences do not add up. Of a nest with much work a sample of the
 * parallel iterations runs. Nests whose text was found right before do not run again.
 *
 * A planned program is walked once more without computing: a nest's operands must still hold, at their planned offsets,
 * what was put there for the nest that made them. */
#include "lower/loop_run.h"
#include "lower/nest_buffers.h"
#include "lower/self_check_impl.h"

#define BUDGET ((int64_t)1 << 26)       /* operations interpreted in a stage */
#define WHOLE_BUDGET ((int64_t)1 << 22) /* up to this the whole program runs as well */

typedef struct {
  SelfCheck *c;
  CheckTimer *t;
  const PipelineStep *step;
  LoopProgram *p;
  LoopRun *run;
  LastWriters writers;
  void **held; /* per arena buffer: what it must hold once it is complete; NULL before */
} Walk;

/* ---- running one nest ---- */

/* Iterations of the parallel loops at the top of a nest. */
static int64_t parallel_iterations(Ctx *ctx, const Stmt *s) {
  int64_t n = 1;
  for (; s && s->kind == ST_LOOP && s->loop == LOOP_PARALLEL; s = s->body) {
    int64_t extent;
    if (!expr_is_const(expr_sub(ctx, s->var->b, s->var->a), &extent) || !mul_i64(n, extent, &n))
      return 1;
  }
  return n;
}

/* Temporaries that hold no value of the graph must be complete for those who read them. */
static bool holds_values(const BufferList *stored) {
  for (size_t k = 0; k < stored->len; k++)
    if (!stored->data[k]->value)
      return false;
  return true;
}

static LoopSample sample_of(const Walk *w, const Nest *n, const BufferList *stored, int64_t budget) {
  LoopSample all = {.seed = w->c->options.seed};
  for (size_t k = 0; k < stored->len; k++)
    if (is_updated_later(&w->writers, n, stored->data[k]))
      return all; /* the update reads all of it */
  int64_t work, iterations = parallel_iterations(w->c->ctx, n->body);
  if (!add_i64(nest_work(w->c->ctx, n), nest_bytes(w->c->ctx, n).written, &work) || work <= budget || iterations <= 2 ||
      !holds_values(stored))
    return all;
  int64_t most = budget / (work / iterations + 1);
  all.most = most < 2 ? 2 : most < iterations ? most : 0;
  return all;
}

/* What the nest stored to b, compared; the stored elements are marked in a tensor of b's shape. */
static bool compare_stored(Walk *w, const Nest *n, const Buffer *b) {
  SelfCheck *c = w->c;
  const unsigned char *marks = loop_run_stored(w->run, b);
  if (!b->value || !marks || is_updated_later(&w->writers, n, b))
    return true;
  const Type *bytes = type_get(c->ctx, DT_BOOL, b->type->rank, b->type->dims, b->type->layout);
  Arena *arena = c->ctx->arena, *scratch = c->ctx->arena = arena_create(); /* many nests store to one buffer */
  Tensor *got = tensor_of_type(c->ctx, b->type), *mask = tensor_of_type(c->ctx, bytes);
  c->ctx->arena = arena;
  tensor_from_storage(got, b->type, loop_run_data(w->run, b));
  tensor_from_storage(mask, bytes, marks);
  CheckDiff d = check_compare(got, self_check_truth(c, b), NULL, mask->data);
  if (d.worst >= 0)
    d = check_compare(got, self_check_truth(c, b), self_check_tolerance(c, b), mask->data);
  arena_destroy(scratch);
  if (!check_note(w->t, &d))
    check_fail_nest(c, w->t, w->step, n, b, &d, NULL);
  return !c->failed;
}

/* Puts what the graph says into b. */
static void complete(Walk *w, const Buffer *b) {
  if (b->value)
    tensor_to_storage(self_check_truth(w->c, b), b->type, loop_run_data(w->run, b));
}

static const char *nest_key(Ctx *ctx, const Nest *n) {
  Str s = str_new(ctx->arena);
  nest_print(&s, n);
  return intern_strn(ctx, s.data, s.len);
}

static bool same_pointer(const void *item, const void *key) {
  return item == key;
}

static bool check_nest(Walk *w, const Nest *n, int64_t budget) {
  SelfCheck *c = w->c;
  const BufferList stored = nest_buffers(c->ctx, n).stored;
  const char *key = nest_key(c->ctx, n);
  uint64_t h = hash_bytes(WEFT_HASH_SEED, &key, sizeof key);
  bool known = holds_values(&stored) && intern_find(&c->nests, h, same_pointer, key);
  if (!known) {
    LoopSample sample = sample_of(w, n, &stored, budget);
    w->t->row.fresh++;
    w->t->row.sampled += sample.most > 0;
    if (!loop_run_nest(w->run, n, sample)) {
      check_fail_nest(c, w->t, w->step, n, stored.len ? stored.data[0] : NULL, NULL,
                      "the interpreter met a fault in the nest");
      return false;
    }
    for (size_t k = 0; k < stored.len; k++)
      if (!compare_stored(w, n, stored.data[k]))
        return false;
    intern_add(c->ctx, &c->nests, h, key);
  }
  for (size_t k = 0; k < stored.len; k++)
    if (is_last_writer(&w->writers, n, stored.data[k]))
      complete(w, stored.data[k]);
  return true;
}

static bool check_nests(Walk *w) {
  int left = w->t->row.all;
  int64_t budget = BUDGET;
  for (const Nest *n = w->p->first; n; n = n->next, left--) {
    int64_t share = budget / left, cost = nest_work(w->c->ctx, n);
    if (!check_nest(w, n, share))
      return false;
    budget -= cost < share ? cost : share;
  }
  return true;
}

/* ---- the plan ---- */

static bool still_holds(Walk *w, const Nest *n, const Buffer *b) {
  const void *held = b->space == BUF_ARENA ? w->held[b->index] : NULL;
  if (!held || memcmp(loop_run_data(w->run, b), held, (size_t)type_bytes(b->type)) == 0)
    return true;
  check_fail_nest(w->c, w->t, w->step, n, b, NULL,
                  arena_printf(w->c->ctx->arena,
                               "buffer %%%s was overwritten before nest @%s reads it: its place in the arena is used "
                               "by another that lives at the same time",
                               b->name, n->name));
  return false;
}

static bool check_places(Walk *w) {
  Ctx *ctx = w->c->ctx;
  w->held = ARENA_ARRAY(ctx->arena, void *, w->p->arena.len);
  for (const Nest *n = w->p->first; n; n = n->next) {
    const NestBuffers of = nest_buffers(ctx, n);
    for (size_t k = 0; k < of.read.len; k++)
      if (!still_holds(w, n, of.read.data[k]))
        return false;
    for (size_t k = 0; k < of.stored.len; k++) {
      const Buffer *b = of.stored.data[k];
      if (b->space != BUF_ARENA || !b->value)
        continue;
      size_t bytes = (size_t)type_bytes(b->type);
      if (!is_last_writer(&w->writers, n, b)) {
        tensor_poison(b->type->dtype, loop_run_data(w->run, b), bytes);
        continue;
      }
      complete(w, b);
      w->held[b->index] = arena_alloc(ctx->arena, bytes);
      memcpy(w->held[b->index], loop_run_data(w->run, b), bytes);
    }
  }
  return true;
}

/* ---- whole programs ---- */

static int64_t whole_work(const LoopProgram *p) {
  int64_t sum = 0;
  for (const Nest *n = p->first; n; n = n->next)
    if (!add_i64(sum, nest_work(p->ctx, n), &sum))
      return INT64_MAX;
  return sum;
}

static bool check_whole(Walk *w, void *const *outputs) {
  if (loops_interpret(w->p, w->c->inputs, outputs))
    return self_check_outputs(w->c, w->t, w->p, outputs);
  return check_fail(w->c, w->t, &(CheckFault){.step = w->step, .what = "the interpreter met a fault"});
}

static bool has_values(const LoopProgram *p) {
  for (size_t k = 0; k < p->outputs.len; k++)
    if (!p->outputs.data[k]->value)
      return false;
  return true;
}

static bool walk(Walk *w, void *const *outputs) {
  w->writers = last_writers(w->p);
  w->run = loop_run_open(w->p, w->c->inputs, outputs, true);
  if (!w->run || !check_nests(w))
    return false;
  if (w->p->arena_bytes) {
    loop_run_close(w->run);
    w->run = loop_run_open(w->p, w->c->inputs, outputs, false);
    if (!w->run || !check_places(w))
      return false;
  }
  return whole_work(w->p) > WHOLE_BUDGET || check_whole(w, outputs);
}

bool check_loops(SelfCheck *c, CheckTimer *t, Unit *unit, const PipelineStep *step) {
  LoopProgram *p = unit->loops;
  Walk w = {.c = c, .t = t, .step = step, .p = p};
  void **outputs = ARENA_ARRAY(c->ctx->arena, void *, p->outputs.len);
  for (size_t k = 0; k < p->outputs.len; k++)
    outputs[k] = arena_alloc(c->ctx->arena, (size_t)type_bytes(p->outputs.data[k]->type));
  for (const Nest *n = p->first; n; n = n->next)
    t->row.all++;
  if (!has_values(p)) {
    t->row.fresh = t->row.all;
    return check_whole(&w, outputs);
  }
  bool ok = walk(&w, outputs);
  loop_run_close(w.run);
  return ok;
}

static const Op *group_root(const Op *op) {
  while (op->fused)
    op = op->fused->def;
  return op;
}

/* The op and those that are computed in its nest, first ones first, a line each. */
static const char *group_text(Ctx *ctx, const Op *op) {
  Str s = str_new(ctx->arena);
  if (op->fused)
    str_printf(&s, "%s\n", group_text(ctx, op->fused->def));
  op_print(&s, op);
  return s.data;
}

void check_fail_nest(SelfCheck *c, CheckTimer *t, const PipelineStep *step, const Nest *nest, const Buffer *b,
                     const CheckDiff *diff, const char *what) {
  const Op *op = b && b->value ? b->value->def : NULL;
  CheckFault fault = {.step = step, .nest = nest->name, .loc = nest->loc};
  fault.op = b && b->value ? b->value->name : NULL;
  fault.what = what ? what
                    : arena_printf(c->ctx->arena, "nest @%s \"%s\" stores another value to %%%s", nest->name,
                                   nest->what ? nest->what : "", b->name);
  if (op) {
    fault.after = group_text(c->ctx, op);
    fault.loc = op->loc;
    fault.layouts = check_layouts_text(c->ctx, group_root(op));
  }
  if (diff)
    check_set_diff(&fault, diff, self_check_truth(c, b));
  check_fail(c, t, &fault);
}
