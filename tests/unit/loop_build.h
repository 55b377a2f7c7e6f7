/* Short names to build loop programs by hand in tests. Each takes the Ctx from the variable `ctx` in scope. */
#ifndef WEFT_TESTS_UNIT_LOOP_BUILD_H
#define WEFT_TESTS_UNIT_LOOP_BUILD_H

#include "lower/loop.h"

#define COUNT_OF(...) ((int)(sizeof((const Expr *[]){__VA_ARGS__}) / sizeof(const Expr *)))
/* An access of buffer b at these index expressions. */
#define AT(b, ...) access_at(ctx, (b), (const Expr *[]){__VA_ARGS__}, COUNT_OF(__VA_ARGS__))
#define K(value) expr_const(ctx, (value))
#define PLUS(e, c) expr_add_const(ctx, (e), (c))
#define VAR(name, lo, hi) expr_var(ctx, (name), K(lo), K(hi))
#define LOOP(kind, var, body) stmt_loop(ctx, (kind), (var), (body))
#define F32(...)                                                                                                       \
  type_static(ctx, DT_F32, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}, NULL)
#define STORE0(target, value) stmt_store(ctx, (target), scalar_const(ctx, (value)), NULL, 0)
#define STORE(target, value, ...)                                                                                      \
  stmt_store(ctx, (target), (value), (Access[]){__VA_ARGS__}, (int)(sizeof((Access[]){__VA_ARGS__}) / sizeof(Access)))
#define COPY(target, source) STORE(target, scalar_arg(ctx, 0), source)
#define BLOCK(...) stmts(((Stmt *[]){__VA_ARGS__}), (int)(sizeof((Stmt *[]){__VA_ARGS__}) / sizeof(Stmt *)))

static inline Access access_at(Ctx *ctx, Buffer *b, const Expr *const *index, int n) {
  WEFT_ASSERT(n == b->type->layout->n);
  Access a = {b, ARENA_ARRAY(ctx->arena, const Expr *, n)};
  memcpy(a.index, index, (size_t)n * sizeof *index);
  return a;
}

static inline Stmt *stmts(Stmt *const *list, int n) {
  Stmt *first = NULL;
  for (int k = 0; k < n; k++)
    stmt_append(&first, list[k]);
  return first;
}

/* arg0 * arg1 + arg2, rounded once */
static inline const Scalar *fma_of_args(Ctx *ctx) {
  return scalar_make3(ctx, SC_FMA, scalar_arg(ctx, 0), scalar_arg(ctx, 1), scalar_arg(ctx, 2));
}

static inline Nest *nest_of(LoopProgram *p, const char *name, Stmt *body) {
  Nest *n = loops_add_nest(p, name, "test", LOC_NONE);
  n->body = body;
  return n;
}

static inline LoopProgram *new_program(Ctx *ctx) {
  return loops_create(ctx, module_create(ctx, "test", "test"), "test");
}

#endif
