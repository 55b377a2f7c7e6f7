/* The memory plan: where in one arena each buffer between nests lies.
 *
 * A buffer lives from the first nest that uses it to the last, both included (so a nest never writes over what it
 * reads). Invariant: two buffers whose lives share a nest share no byte. Offsets are multiples of 64, as sizes are
 * rounded up to such.
 *
 * Algorithm: "greedy by size" of Y. Pisarchyk and J. Lee, Efficient Memory Management for Deep Neural Net Inference,
 * 2020 (arXiv:2001.03288): in order of decreasing size, each buffer goes to the smallest gap that holds it between the
 * buffers placed so far that live at the same time, else behind the last of these. Ties go to the earlier buffer, so
 * the plan depends on nothing but the program. O(n^2) for n buffers.
 *
 * Buffers whose size is not a constant share nothing: they follow one another behind the constant part. */
#include <inttypes.h>
#include <stdlib.h>

#include "lower/lower.h"

#define ALIGN 64
#define MAX_BUFFERS 16384
#define MAX_SYMBOLIC_PAIRS 100000 /* of the checker: each costs a proof */

typedef struct {
  Buffer *buffer;
  int first, last; /* numbers of nests; first > last: never used */
  bool read_first; /* the first nest that uses it reads it and does not store to it */
  int64_t bytes;   /* rounded up, -1 where not constant */
  int64_t offset;  /* -1 before it is placed, or not constant */
} Life;

typedef struct {
  Life *lives; /* by number of arena buffer */
  int nest;
} Liveness;

static void use(Liveness *l, const Access *a, bool store) {
  if (!a->buffer || a->buffer->space != BUF_ARENA)
    return;
  Life *life = &l->lives[a->buffer->index];
  if (life->first > life->last) {
    life->first = l->nest;
    life->read_first = true;
  }
  life->last = l->nest;
  if (store && life->first == l->nest)
    life->read_first = false;
}

static void use_block(Liveness *l, const Stmt *s) {
  for (; s; s = s->next) {
    if (s->kind == ST_LOOP)
      use_block(l, s->body);
    if (s->kind != ST_STORE && s->kind != ST_INDEX)
      continue;
    use(l, &s->target, true); /* of an index statement: nothing */
    for (int k = 0; k < s->n_args; k++)
      use(l, &s->args[k], false);
  }
}

static Dim rounded_bytes(Ctx *ctx, const Type *type) {
  Dim bytes = expr_mul_const(ctx, type_storage(ctx, type), (int64_t)dtype_size(type->dtype));
  return expr_mul_const(ctx, expr_ceildiv_const(ctx, bytes, ALIGN), ALIGN);
}

static Loc program_loc(const LoopProgram *p) {
  return (Loc){.file = p->module ? p->module->file : NULL};
}

/* NULL after reporting. */
static Life *liveness(LoopProgram *p) {
  if (p->arena.len > MAX_BUFFERS) {
    diag_error(p->ctx->diags, WEFT_UNSUPPORTED, program_loc(p),
               "the program has %zu arena buffers; at most %d are supported", p->arena.len, MAX_BUFFERS);
    return NULL;
  }
  Liveness l = {.lives = ARENA_ARRAY(p->ctx->arena, Life, p->arena.len)};
  for (size_t k = 0; k < p->arena.len; k++) {
    Life *life = &l.lives[k];
    *life = (Life){.buffer = p->arena.data[k], .first = 0, .last = -1, .offset = -1};
    if (!expr_is_const(rounded_bytes(p->ctx, life->buffer->type), &life->bytes))
      life->bytes = -1;
  }
  for (const Nest *n = p->first; n; n = n->next, l.nest++)
    use_block(&l, n->body);
  return l.lives;
}

static bool used(const Life *l) {
  return l->first <= l->last;
}

static bool live_together(const Life *a, const Life *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* ---- placing ---- */

static int larger_first(const void *pa, const void *pb) {
  const Life *a = *(Life *const *)pa, *b = *(Life *const *)pb;
  if (a->bytes != b->bytes)
    return a->bytes > b->bytes ? -1 : 1;
  return a->buffer->index < b->buffer->index ? -1 : 1;
}

/* placed: sorted by offset. */
static int64_t best_offset(Life *const *placed, int n, const Life *life) {
  int64_t end = 0, best = -1, smallest = INT64_MAX;
  for (int k = 0; k < n; k++) {
    if (!live_together(placed[k], life))
      continue;
    int64_t gap = placed[k]->offset - end;
    if (gap >= life->bytes && gap < smallest) {
      smallest = gap;
      best = end;
    }
    if (placed[k]->offset + placed[k]->bytes > end)
      end = placed[k]->offset + placed[k]->bytes;
  }
  return best >= 0 ? best : end;
}

bool plan_memory(LoopProgram *p) {
  Ctx *ctx = p->ctx;
  Life *lives = liveness(p);
  if (!lives)
    return false;
  int n = 0, n_placed = 0, total = (int)p->arena.len;
  Life **order = ARENA_ARRAY(ctx->arena, Life *, total), **placed = ARENA_ARRAY(ctx->arena, Life *, total);
  for (int k = 0; k < total; k++) {
    lives[k].buffer->offset = expr_const(ctx, 0); /* for one that is never used */
    if (used(&lives[k]) && lives[k].bytes >= 0)
      order[n++] = &lives[k];
  }
  qsort(order, (size_t)n, sizeof *order, larger_first);
  int64_t bytes = 0;
  for (int k = 0; k < n; k++) {
    Life *life = order[k];
    life->offset = best_offset(placed, n_placed, life);
    life->buffer->offset = expr_const(ctx, life->offset);
    if (life->offset + life->bytes > bytes)
      bytes = life->offset + life->bytes;
    int at = n_placed++;
    for (; at > 0 && placed[at - 1]->offset > life->offset; at--)
      placed[at] = placed[at - 1];
    placed[at] = life;
  }
  p->arena_bytes = expr_const(ctx, bytes);
  for (int k = 0; k < total; k++)
    if (used(&lives[k]) && lives[k].bytes < 0) {
      lives[k].buffer->offset = p->arena_bytes;
      p->arena_bytes = expr_add(ctx, p->arena_bytes, rounded_bytes(ctx, lives[k].buffer->type));
    }
  return true;
}

/* ---- checking ---- */

/* The buffer lies in [0, arena_bytes), at a multiple of 64. */
static bool check_place(LoopProgram *p, Life *life) {
  Ctx *ctx = p->ctx;
  Buffer *b = life->buffer;
  if (!b->offset != !p->arena_bytes)
    return diag_error(ctx->diags, WEFT_MALFORMED, program_loc(p),
                      "arena buffer %%%s has %s offset, but the program has %s arena size", b->name,
                      b->offset ? "an" : "no", p->arena_bytes ? "an" : "no");
  if (!b->offset || !used(life))
    return true;
  Dim bytes = expr_mul_const(ctx, type_storage(ctx, b->type), (int64_t)dtype_size(b->type->dtype));
  int64_t rest;
  if (!expr_is_const(expr_mod_const(ctx, b->offset, ALIGN), &rest) || rest != 0)
    return diag_error(ctx->diags, WEFT_MALFORMED, program_loc(p),
                      "the offset of arena buffer %%%s is no multiple of %d", b->name, ALIGN);
  if (!expr_prove_nonneg(ctx, b->offset) ||
      !expr_prove_nonneg(ctx, expr_sub(ctx, p->arena_bytes, expr_add(ctx, b->offset, bytes))))
    return diag_error(ctx->diags, WEFT_MALFORMED, program_loc(p),
                      "cannot prove that arena buffer %%%s lies within the arena", b->name);
  if (life->bytes < 0 || !expr_is_const(b->offset, &life->offset))
    life->offset = -1;
  return true;
}

static bool overlap_error(LoopProgram *p, const Life *a, const Life *b) {
  return diag_error(p->ctx->diags, WEFT_MALFORMED, program_loc(p),
                    "arena buffers %%%s and %%%s live at the same time, and cannot be proved to lie apart",
                    a->buffer->name, b->buffer->name);
}

static bool proved_apart(Ctx *ctx, const Life *a, const Life *b) {
  Dim gap = expr_sub(ctx, b->buffer->offset, a->buffer->offset);
  Dim a_bytes = rounded_bytes(ctx, a->buffer->type), b_bytes = rounded_bytes(ctx, b->buffer->type);
  return expr_prove_nonneg(ctx, expr_sub(ctx, gap, a_bytes)) ||
         expr_prove_nonneg(ctx, expr_sub(ctx, expr_mul_const(ctx, gap, -1), b_bytes));
}

static bool check_apart(LoopProgram *p, Life *lives) {
  int64_t proofs = 0;
  for (size_t i = 0; i < p->arena.len; i++)
    for (size_t j = 0; j < i; j++) {
      const Life *a = &lives[i], *b = &lives[j];
      if (!used(a) || !used(b) || !live_together(a, b))
        continue;
      if (a->offset >= 0 && b->offset >= 0) {
        if (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
          return overlap_error(p, b, a);
      } else if (++proofs > MAX_SYMBOLIC_PAIRS || !proved_apart(p->ctx, a, b)) {
        return overlap_error(p, b, a);
      }
    }
  return true;
}

bool plan_check(LoopProgram *p) {
  Life *lives = liveness(p);
  if (!lives)
    return false;
  for (size_t k = 0; k < p->arena.len; k++) {
    if (used(&lives[k]) && lives[k].read_first && lives[k].bytes != 0)
      return diag_error(p->ctx->diags, WEFT_MALFORMED, program_loc(p),
                        "arena buffer %%%s is read before any nest stores to it", lives[k].buffer->name);
    if (!check_place(p, &lives[k]))
      return false;
  }
  return !p->arena_bytes || check_apart(p, lives);
}
