/* The estimate of a nest's memory traffic: the bytes that it must read and write, were every element brought in once.
 *
 * An access touches at most
 *   - as many elements as there are values of the loops that its indices depend on, an index that was read from memory
 *     depending on what the loops of that read do;
 *   - the box of its indices' intervals, within the buffer's extents.
 * Of one buffer, the accesses that read it touch together no more than the sum of these and no more than the box around
 * all of them; so do those that write it. For dense nests this is exact; strided ones with overlapping windows are
 * overestimated by at most the gaps. Extents that are not constant count at their upper bounds. */
#include "lower/loop.h"

/* A variable in scope: what it depends on as a set of loops by depth. */
typedef struct {
  const Expr *var;
  int64_t trips; /* of a loop; an index statement has none of its own */
  uint64_t loops;
} Scope;

enum { KEPT_ACCESSES = 64 };

typedef struct {
  const Buffer *buffer;
  bool store;
  int64_t elements;
  int64_t lo[WEFT_MAX_DIGITS], hi[WEFT_MAX_DIGITS]; /* the box, inclusive */
  const Expr **seen[KEPT_ACCESSES];                 /* the same access once more touches nothing new */
  int n_seen;
} Touched;

typedef struct {
  Ctx *ctx;
  Scope scope[LOOP_MAX_DEPTH];
  int depth;
  VEC(Touched *) touched;
} Traffic;

/* Saturates: an estimate must not overflow. */
static int64_t times(int64_t a, int64_t b) {
  int64_t r;
  return mul_i64(a, b, &r) && r < EXPR_MAX ? r : EXPR_MAX;
}

static int64_t plus(int64_t a, int64_t b) {
  return a > EXPR_MAX - b ? EXPR_MAX : a + b;
}

static uint64_t loops_of(const Traffic *t, const Access *a) {
  uint64_t loops = 0;
  for (int k = 0; k < t->depth; k++)
    if (access_uses(*a, t->scope[k].var))
      loops |= t->scope[k].loops;
  return loops;
}

static Touched *touched_by(Traffic *t, const Buffer *buffer, bool store) {
  for (size_t k = 0; k < t->touched.len; k++)
    if (t->touched.data[k]->buffer == buffer && t->touched.data[k]->store == store)
      return t->touched.data[k];
  Touched *new = ARENA_NEW(t->ctx->arena, Touched);
  new->buffer = buffer;
  new->store = store;
  for (int k = 0; k < buffer->type->layout->n; k++) {
    new->lo[k] = INT64_MAX;
    new->hi[k] = INT64_MIN;
  }
  vec_push(t->ctx->arena, &t->touched, new);
  return new;
}

static bool seen_before(Touched *touched, const Access *a) {
  size_t bytes = (size_t)access_digits(*a) * sizeof *a->index;
  for (int k = 0; k < touched->n_seen; k++)
    if (bytes == 0 || memcmp(touched->seen[k], a->index, bytes) == 0)
      return true;
  if (touched->n_seen < KEPT_ACCESSES)
    touched->seen[touched->n_seen++] = a->index;
  return false;
}

static void touch(Traffic *t, const Access *a, bool store) {
  if (!a->buffer || a->buffer->space == BUF_LOCAL)
    return;
  const Type *type = a->buffer->type;
  Touched *touched = touched_by(t, a->buffer, store);
  if (seen_before(touched, a))
    return;
  int64_t count = 1, box = 1;
  uint64_t loops = loops_of(t, a);
  for (int k = 0; k < t->depth; k++)
    if (t->scope[k].loops >> k & 1 && loops >> k & 1)
      count = times(count, t->scope[k].trips);
  for (int k = 0; k < type->layout->n; k++) {
    const Expr *index = a->index[k];
    int64_t extent = layout_extent(t->ctx, type->layout, type->dims, k)->hi;
    int64_t lo = index->lo > 0 ? index->lo : 0, hi = index->hi < extent - 1 ? index->hi : extent - 1;
    touched->lo[k] = lo < touched->lo[k] ? lo : touched->lo[k];
    touched->hi[k] = hi > touched->hi[k] ? hi : touched->hi[k];
    box = times(box, hi >= lo ? hi - lo + 1 : 0);
  }
  touched->elements = plus(touched->elements, count < box ? count : box);
}

static void walk(Traffic *t, const Stmt *s) {
  int outer = t->depth;
  for (; s; s = s->next) {
    if (s->kind == ST_STORE || s->kind == ST_INDEX)
      for (int k = 0; k < s->n_args; k++)
        touch(t, &s->args[k], false);
    if (s->kind == ST_STORE)
      touch(t, &s->target, true);
    if (s->kind != ST_LOOP && s->kind != ST_INDEX)
      continue;
    WEFT_ASSERT(t->depth < LOOP_MAX_DEPTH);
    Scope *scope = &t->scope[t->depth];
    *scope = (Scope){.var = s->var};
    if (s->kind == ST_INDEX) { /* in scope to the end of this block */
      for (int k = 0; k < s->n_args; k++)
        scope->loops |= loops_of(t, &s->args[k]);
      t->depth++;
      continue;
    }
    scope->trips = expr_sub(t->ctx, s->var->b, s->var->a)->hi;
    scope->loops = (uint64_t)1 << t->depth;
    if (scope->trips <= 0)
      continue;
    t->depth++;
    walk(t, s->body);
    t->depth--;
  }
  t->depth = outer;
}

NestBytes nest_bytes(Ctx *ctx, const Nest *nest) {
  Traffic t = {.ctx = ctx};
  walk(&t, nest->body);
  NestBytes bytes = {0};
  for (size_t k = 0; k < t.touched.len; k++) {
    const Touched *touched = t.touched.data[k];
    int64_t elements = 1;
    for (int j = 0; j < touched->buffer->type->layout->n; j++)
      elements = times(elements, touched->hi[j] >= touched->lo[j] ? touched->hi[j] - touched->lo[j] + 1 : 0);
    elements = elements < touched->elements ? elements : touched->elements;
    int64_t *sum = touched->store ? &bytes.written : &bytes.read;
    *sum = plus(*sum, times(elements, (int64_t)dtype_size(touched->buffer->type->dtype)));
  }
  return bytes;
}
