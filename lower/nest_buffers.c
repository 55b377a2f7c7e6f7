/* See nest_buffers.h. */
#include "lower/nest_buffers.h"

static void add(Ctx *ctx, BufferList *list, const Buffer *b) {
  if (!b || (b->space != BUF_OUTPUT && b->space != BUF_ARENA))
    return;
  for (size_t k = 0; k < list->len; k++)
    if (list->data[k] == b)
      return;
  vec_push(ctx->arena, list, b);
}

static void add_block(Ctx *ctx, NestBuffers *all, const Stmt *s) {
  for (; s; s = s->next) {
    if (s->kind == ST_LOOP)
      add_block(ctx, all, s->body);
    if (s->kind == ST_STORE)
      add(ctx, &all->stored, s->target.buffer);
    for (int k = 0; (s->kind == ST_STORE || s->kind == ST_INDEX) && k < s->n_args; k++)
      add(ctx, &all->read, s->args[k].buffer);
  }
}

NestBuffers nest_buffers(Ctx *ctx, const Nest *nest) {
  NestBuffers all = {{0}, {0}};
  add_block(ctx, &all, nest->body);
  return all;
}

static const Nest **writer_of(const LastWriters *w, const Buffer *b) {
  return &(b->space == BUF_ARENA ? w->of_arena : w->of_outputs)[b->index];
}

static bool *updates_of(const LastWriters *w, const Buffer *b) {
  return &(b->space == BUF_ARENA ? w->updates_arena : w->updates_output)[b->index];
}

static bool holds(const BufferList *list, const Buffer *b) {
  for (size_t k = 0; k < list->len; k++)
    if (list->data[k] == b)
      return true;
  return false;
}

LastWriters last_writers(LoopProgram *p) {
  Arena *arena = p->ctx->arena;
  LastWriters w = {ARENA_ARRAY(arena, const Nest *, p->outputs.len), ARENA_ARRAY(arena, const Nest *, p->arena.len),
                   ARENA_ARRAY(arena, bool, p->outputs.len), ARENA_ARRAY(arena, bool, p->arena.len)};
  for (const Nest *n = p->first; n; n = n->next) {
    NestBuffers buffers = nest_buffers(p->ctx, n);
    for (size_t k = 0; k < buffers.stored.len; k++) {
      const Buffer *b = buffers.stored.data[k];
      *updates_of(&w, b) = *writer_of(&w, b) && holds(&buffers.read, b);
      *writer_of(&w, b) = n;
    }
  }
  return w;
}

bool is_last_writer(const LastWriters *w, const Nest *nest, const Buffer *b) {
  return *writer_of(w, b) == nest;
}

bool is_updated_later(const LastWriters *w, const Nest *nest, const Buffer *b) {
  return *updates_of(w, b) && !is_last_writer(w, nest, b);
}
