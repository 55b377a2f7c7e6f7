/* A model under construction and its import, for the tests of the ONNX importer: static, so that each takes what it
 * needs. */
#ifndef WEFT_TESTS_UNIT_ONNX_GRAPH_H
#define WEFT_TESTS_UNIT_ONNX_GRAPH_H

#include "frontend/source.h"
#include "onnx_encode.h"

static Ctx *ctx;
static Str graph; /* under construction */
static ImportOptions options;

static inline void setup(void) {
  ctx = ctx_create();
  graph = str_new(ctx->arena);
  options = (ImportOptions){0};
}
static inline void teardown(void) {
  ctx_destroy(ctx);
}

enum {
  FLOAT = 1,
  UINT8 = 2,
  INT8 = 3,
  UINT16 = 4,
  INT16 = 5,
  INT32 = 6,
  INT64 = 7,
  BOOL = 9,
  FLOAT16 = 10,
  DOUBLE = 11,
  UINT32 = 12,
  UINT64 = 13,
  BFLOAT16 = 16
};

/* ---- building ---- */

static inline void add_node_with(const char *text, int n_attrs, const Str *attrs) {
  Str n = node(ctx, NULL, text);
  for (int k = 0; k < n_attrs; k++)
    put_message(&n, 5, attrs[k]);
  put_message(&graph, 1, n);
}
static inline void add_node(const char *text) {
  add_node_with(text, 0, NULL);
}
#define ADD_NODE(text, ...) add_node_with(text, (int)(sizeof((Str[]){__VA_ARGS__}) / sizeof(Str)), (Str[]){__VA_ARGS__})
static inline void add_input(const char *name, int type, const int64_t *dims, int rank) {
  put_message(&graph, 11, value_info(ctx, name, type, dims, rank, NULL));
}
static inline void add_output(const char *name) {
  Str s = str_new(ctx->arena);
  put_text(&s, 1, name);
  put_message(&graph, 12, s);
}
static inline void add_ints(const char *name, const int64_t *v, int n) {
  put_message(&graph, 5, tensor_ints(ctx, name, v, n));
}
static inline void add_floats(const char *name, const int64_t *dims, int rank) {
  int64_t n = 1;
  for (int k = 0; k < rank; k++)
    n *= dims[k];
  float *v = ARENA_ARRAY(ctx->arena, float, n);
  for (int64_t k = 0; k < n; k++)
    v[k] = (float)(k % 7) - 3;
  put_message(&graph, 5, tensor_floats(ctx, name, dims, rank, v, (size_t)n));
}

/* ---- importing ---- */

static inline Module *import(int opset) {
  Str bytes = model(ctx, opset, graph);
  return onnx_import(ctx, "m.onnx", bytes.data, bytes.len, &options);
}
static inline Module *import_well(int opset) {
  Module *m = import(opset);
  ck_assert_msg(m && diag_count(ctx->diags) == 0, "%s", diag_text(ctx->diags, false));
  ck_assert(module_verify(m));
  return m;
}
static inline void refuse(int opset, Status status, const char *text) {
  Module *m = import(opset);
  const char *got = diag_text(ctx->diags, false);
  ck_assert_msg(!m && strstr(got, text), "expected '%s', got '%s'", text, got);
  ck_assert_msg(strncmp(got, "m.onnx: ", 8) == 0, "got '%s'", got);
  ck_assert_int_eq(diag_status(ctx->diags), status);
}
static inline const char *type_of_output(const Module *m, int k) {
  return type_text(ctx, m->main->results.data[k].type);
}
static inline const Op *op_of_output(const Module *m, int k) {
  return m->main->results.data[k].value->def;
}
static inline int count_ops(const Module *m) {
  int n = 0;
  for (const Op *op = m->main->first; op; op = op->next)
    n += op->def->code != OP_CONSTANT;
  return n;
}
/* The outputs for inputs of 0, 1, 2, ... each. */
static inline Tensor **evaluate(Module *m) {
  const Tensor **in = ARENA_ARRAY(ctx->arena, const Tensor *, m->main->params.len);
  for (size_t k = 0; k < m->main->params.len; k++) {
    Tensor *t = tensor_of_type(ctx, m->main->params.data[k]->type);
    for (int64_t i = 0; i < t->n; i++)
      tensor_set(t, i, (double)i);
    in[k] = t;
  }
  Tensor **out = ARENA_ARRAY(ctx->arena, Tensor *, m->main->results.len);
  ck_assert(eval_function(m, m->main, in, out, NULL));
  return out;
}
static inline void expect_values(const Tensor *t, const double *v, int n) {
  ck_assert_int_eq(t->n, n);
  for (int k = 0; k < n; k++)
    ck_assert_msg(tensor_get(t, k) == v[k], "element %d is %g, expected %g", k, tensor_get(t, k), v[k]);
}
#define EXPECT_VALUES(t, ...)                                                                                          \
  expect_values(t, (const double[]){__VA_ARGS__}, (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

#endif
