/* Small helpers of the unit tests that build graphs by hand: static, so that each test takes what it needs. */
#ifndef WEFT_TESTS_UNIT_GRAPH_UTIL_H
#define WEFT_TESTS_UNIT_GRAPH_UTIL_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/tensor.h"

typedef struct {
  Ctx *ctx;
  Module *m;
  Function *f;
} Graph;

static inline Graph graph_new(void) {
  Graph g = {.ctx = ctx_create()};
  g.m = module_create(g.ctx, "test.weft", "test");
  g.f = g.m->main = function_create(g.m, "main");
  return g;
}

static inline const Type *f32_type(Ctx *ctx, int rank, const int64_t *shape, const char *tag) {
  const char *why = NULL;
  const Layout *layout = tag ? layout_parse(ctx, rank, tag, strlen(tag), &why) : NULL;
  const Type *type = type_static(ctx, DT_F32, rank, shape, layout);
  ck_assert_ptr_nonnull(type);
  return type;
}
/* F32(ctx, 1, 32, 8, 8): the row-major type of this shape. */
#define SHAPE(...)                                                                                                     \
  (const int64_t[]) {                                                                                                  \
    __VA_ARGS__                                                                                                        \
  }
#define RANK(...) (int)(sizeof(SHAPE(__VA_ARGS__)) / sizeof(int64_t))
#define F32(ctx, ...) f32_type(ctx, RANK(__VA_ARGS__), SHAPE(__VA_ARGS__), NULL)

static inline Value *param(Graph *g, const char *name, const Type *type) {
  return function_add_param(g->m, g->f, name, type, NULL, LOC_NONE);
}

static inline Op *new_op(Graph *g, OpCode code, Value *a, Value *b, Value *c) {
  Value *operands[] = {a, b, c};
  return op_create(g->ctx, &op_table[code], operands, c ? 3 : b ? 2 : a ? 1 : 0, (Loc){"test.weft", 7, 3, "n"});
}

#define SET_INTS(g, op, name, ...) op_set_ints((g)->ctx, op, name, SHAPE(__VA_ARGS__), RANK(__VA_ARGS__))

static inline Value *finish(Graph *g, Op *op, const char *name) {
  return op_finish(g->m, g->f, op, NULL, name, NULL);
}

/* The only diagnostic so far is of this status and holds this text. */
static inline void expect_error(Graph *g, Status status, const char *text) {
  const char *got = diag_text(g->ctx->diags, false);
  ck_assert_msg(strstr(got, text) != NULL, "expected '%s', got '%s'", text, got);
  ck_assert_uint_eq(diag_count(g->ctx->diags), 1);
  ck_assert_int_eq(diag_status(g->ctx->diags), status);
}

static inline Tensor *tensor_f32(Ctx *ctx, int rank, const int64_t *shape, const float *values) {
  Tensor *t = tensor_new(ctx, DT_F32, rank, shape);
  if (values)
    memcpy(t->data, values, (size_t)t->n * sizeof(float));
  return t;
}

/* The seed of random tests: WEFT_SEED, or this one; printed. */
static inline unsigned start_random(unsigned otherwise) {
  const char *text = getenv("WEFT_SEED");
  unsigned seed = text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
  printf("seed %u\n", seed);
  srand(seed);
  return seed;
}
static inline int64_t random_in(int64_t lo, int64_t hi) {
  return lo + (int64_t)(rand() % (int)(hi - lo + 1));
}

#endif
