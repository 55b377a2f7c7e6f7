/* Constructors of the loop IR and the estimate of a nest's work. */
#include "lower/loop.h"

const char *const loop_kind_names[LOOP_KINDS] = {"for", "parallel", "vector", "unroll"};

LoopProgram *loops_create(Ctx *ctx, Module *module, const char *name) {
  LoopProgram *p = ARENA_NEW(ctx->arena, LoopProgram);
  p->ctx = ctx;
  p->module = module;
  p->name = name;
  return p;
}

Buffer *loops_add_buffer(LoopProgram *p, const char *name, const Type *type, BufferSpace space, Constant *constant) {
  Ctx *ctx = p->ctx;
  Buffer *b = ARENA_NEW(ctx->arena, Buffer);
  *b = (Buffer){.name = name_take(ctx, &p->buffer_names, name), .type = type, .space = space, .constant = constant};
  switch (space) {
  case BUF_INPUT:
    b->index = (int)p->inputs.len;
    vec_push(ctx->arena, &p->inputs, b);
    break;
  case BUF_OUTPUT:
    b->index = (int)p->outputs.len;
    vec_push(ctx->arena, &p->outputs, b);
    break;
  case BUF_CONSTANT:
    b->index = (int)p->constants.len;
    vec_push(ctx->arena, &p->constants, b);
    break;
  case BUF_ARENA:
    b->index = (int)p->arena.len;
    vec_push(ctx->arena, &p->arena, b);
    break;
  case BUF_LOCAL:
    WEFT_UNREACHABLE();
  }
  return b;
}

Nest *loops_add_nest(LoopProgram *p, const char *name, const char *what, Loc loc) {
  Ctx *ctx = p->ctx;
  Nest *n = ARENA_NEW(ctx->arena, Nest);
  *n = (Nest){.name = name_take(ctx, &p->nest_names, name), .what = intern_str(ctx, what), .loc = loc};
  if (p->last)
    p->last->next = n;
  else
    p->first = n;
  p->last = n;
  return n;
}

Stmt *stmt_loop(Ctx *ctx, LoopKind kind, const Expr *var, Stmt *body) {
  WEFT_ASSERT(var->kind == EX_VAR);
  Stmt *s = ARENA_NEW(ctx->arena, Stmt);
  s->kind = ST_LOOP;
  s->loop = kind;
  s->var = var;
  s->body = body;
  return s;
}

Stmt *stmt_local(Ctx *ctx, Buffer *local) {
  WEFT_ASSERT(local->space == BUF_LOCAL);
  Stmt *s = ARENA_NEW(ctx->arena, Stmt);
  s->kind = ST_LOCAL;
  s->local = local;
  return s;
}

Stmt *stmt_store(Ctx *ctx, Access target, const Scalar *value, const Access *args, int n_args) {
  Stmt *s = ARENA_NEW(ctx->arena, Stmt);
  s->kind = ST_STORE;
  s->target = target;
  s->value = value;
  s->n_args = n_args;
  s->args = ARENA_ARRAY(ctx->arena, Access, n_args);
  if (n_args > 0)
    memcpy(s->args, args, (size_t)n_args * sizeof(Access));
  return s;
}

Stmt *stmt_index(Ctx *ctx, const Expr *var, const Scalar *value, const Access *args, int n_args) {
  WEFT_ASSERT(var->kind == EX_VAR);
  Stmt *s = stmt_store(ctx, (Access){0}, value, args, n_args);
  s->kind = ST_INDEX;
  s->var = var;
  return s;
}

DType access_dtype(Access access) {
  return access.buffer ? dtype_compute(access.buffer->type->dtype) : DT_I64;
}

int access_digits(Access access) {
  return access.buffer ? access.buffer->type->layout->n : 1;
}

bool access_uses(Access access, const Expr *var) {
  for (int k = 0; k < access_digits(access); k++)
    if (expr_uses(access.index[k], var))
      return true;
  return false;
}

void stmt_append(Stmt **a, Stmt *b) {
  while (*a)
    a = &(*a)->next;
  *a = b;
}

Buffer *local_buffer(Ctx *ctx, const char *name, DType dtype, int rank, const int64_t *shape) {
  Buffer *b = ARENA_NEW(ctx->arena, Buffer);
  *b = (Buffer){.name = intern_str(ctx, name), .type = type_static(ctx, dtype, rank, shape, NULL), .space = BUF_LOCAL};
  return b;
}

/* ---- work ---- */

/* A shared part counts each time; of a large expression its size is near enough, and known without a walk. */
static int64_t scalar_work(const Scalar *s) {
  if (s->size > 1 << 16)
    return s->size < EXPR_MAX ? s->size : EXPR_MAX;
  int64_t work = s->n == 0 ? 0 : s->op == SC_FMA ? 2 : 1;
  for (int k = 0; k < s->n; k++)
    work += scalar_work(s->args[k]);
  return work;
}

/* Saturates: an estimate must not overflow. */
static int64_t times(int64_t a, int64_t b) {
  int64_t r;
  return mul_i64(a, b, &r) && r < EXPR_MAX ? r : EXPR_MAX;
}

static int64_t stmts_work(Ctx *ctx, const Stmt *s) {
  int64_t work = 0;
  for (; s; s = s->next) {
    int64_t w = 0;
    if (s->kind == ST_STORE || s->kind == ST_INDEX) {
      w = scalar_work(s->value);
    } else if (s->kind == ST_LOOP) {
      const Expr *extent = expr_sub(ctx, s->var->b, s->var->a);
      w = extent->hi > 0 ? times(stmts_work(ctx, s->body), extent->hi) : 0;
    }
    work = work > EXPR_MAX - w ? EXPR_MAX : work + w;
  }
  return work;
}

int64_t nest_work(Ctx *ctx, const Nest *nest) {
  return stmts_work(ctx, nest->body);
}
