/* For tests of generated code: a program is interpreted and run compiled, for every CPU target that this machine can
 * run, and the outputs are compared. */
#ifndef WEFT_TESTS_UNIT_CODEGEN_RUN_H
#define WEFT_TESTS_UNIT_CODEGEN_RUN_H

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "codegen/codegen.h"
#include "ir/tensor.h"
#include "lower/lower.h"
#include "runtime/model.h"
#include "tests/unit/loop_build.h"

#define RTOL 1e-5
#define ATOL 1e-6

typedef enum { EXACT, CLOSE } Compare; /* EXACT: the same bits, NaN equal to NaN; CLOSE: within RTOL and ATOL */

static inline CodegenOptions options_for(const CpuTarget *t) {
  return (CodegenOptions){.cpu = t, .prefix = "weft_model"};
}

static inline bool same_number(double a, double b, Compare how) {
  if (isnan(a) || isnan(b))
    return isnan(a) && isnan(b);
  if (memcmp(&a, &b, sizeof a) == 0)
    return true;
  return how == CLOSE && fabs(a - b) <= ATOL + RTOL * fabs(b);
}

/* The elements of a buffer in the order of its storage. */
static inline Tensor storage_tensor(const Buffer *b, void *data) {
  int64_t n = type_bytes(b->type) / (int64_t)dtype_size(b->type->dtype);
  return (Tensor){.dtype = b->type->dtype, .rank = 1, .shape = {n}, .n = n, .data = data};
}

/* Integers and bool have the same bits, floats are compared as numbers. */
static inline bool same_element(const Tensor *a, const Tensor *b, int64_t i, Compare how) {
  size_t size = dtype_size(a->dtype);
  if (memcmp((const char *)a->data + (size_t)i * size, (const char *)b->data + (size_t)i * size, size) == 0)
    return true;
  return dtype_is_float(a->dtype) && same_number(tensor_get(a, i), tensor_get(b, i), how);
}

/* Numbers in [-1, 1), the same for the same seed. */
static inline void fill_random(float *data, int64_t n, uint64_t seed) {
  for (int64_t k = 0; k < n; k++) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    data[k] = (float)((int64_t)(seed >> 33) - (1 << 30)) / (float)(1 << 30);
  }
}

/* Floats in [-1, 1), any integers. */
static inline void fill_buffer(const Buffer *b, void *data, uint64_t seed) {
  Tensor t = storage_tensor(b, data);
  float *numbers = malloc((size_t)t.n * sizeof *numbers + 1);
  fill_random(numbers, t.n, seed);
  for (int64_t i = 0; i < t.n; i++)
    tensor_set(&t, i, dtype_is_float(t.dtype) ? (double)numbers[i] : floor((double)numbers[i] * 0x1p31));
  free(numbers);
}

static inline void **new_buffers(Ctx *ctx, Buffer *const *buffers, size_t n) {
  void **data = ARENA_ARRAY(ctx->arena, void *, n);
  for (size_t k = 0; k < n; k++)
    data[k] = arena_alloc(ctx->arena, (size_t)type_bytes(buffers[k]->type) + 4);
  return data;
}

static inline Jit *compile_on(LoopProgram *p, const CpuTarget *t) {
  CodegenOptions options = options_for(t);
  ck_assert_msg((p->arena_bytes || plan_memory(p)) && loops_check(p), "%s", diag_text(p->ctx->diags, false));
  Jit *jit = jit_open(p, &options);
  ck_assert_msg(jit != NULL, "%s", diag_text(p->ctx->diags, false));
  return jit;
}

/* The program is planned and checked first. inputs[k] NULL (or inputs NULL): random numbers. */
static inline void compare_on(LoopProgram *p, const CpuTarget *t, void *const *inputs, Compare how) {
  Ctx *ctx = p->ctx;
  Jit *jit = compile_on(p, t);
  void **in = new_buffers(ctx, p->inputs.data, p->inputs.len);
  for (size_t k = 0; k < p->inputs.len; k++)
    if (inputs && inputs[k])
      memcpy(in[k], inputs[k], (size_t)type_bytes(p->inputs.data[k]->type));
    else
      fill_buffer(p->inputs.data[k], in[k], k + 1);
  void **expected = new_buffers(ctx, p->outputs.data, p->outputs.len);
  void **got = new_buffers(ctx, p->outputs.data, p->outputs.len);
  ck_assert_msg(loops_interpret(p, (const void *const *)in, expected), "%s", diag_text(ctx->diags, false));
  for (size_t k = 0; k < p->outputs.len; k++)
    memset(got[k], 0xff, (size_t)type_bytes(p->outputs.data[k]->type));
  ck_assert_msg(weft_rt_run(jit_model(jit), (const void *const *)in, got) == 0, "%s", weft_rt_error());
  for (size_t k = 0; k < p->outputs.len; k++) {
    Tensor a = storage_tensor(p->outputs.data[k], got[k]), b = storage_tensor(p->outputs.data[k], expected[k]);
    for (int64_t i = 0; i < a.n; i++)
      if (!same_element(&a, &b, i, how)) /* an assertion that holds costs a system call */
        ck_abort_msg("%s: output %s[%lld] is %a, expected %a", t->name, p->outputs.data[k]->name, (long long)i,
                     tensor_get(&a, i), tensor_get(&b, i));
  }
  jit_close(jit);
}

static inline void compare(LoopProgram *p, void *const *inputs, Compare how) {
  for (const CpuTarget *t = cpu_targets; t->name; t++)
    if (cpu_target_runs_here(t))
      compare_on(p, t, inputs, how);
}

/* c[m, n] = a[m, k] b[k, n] by tiles of rows x (vectors * lanes) with accumulators in locals, as the schedule makes
 * them. m a multiple of rows, n of vectors * lanes. */
static inline LoopProgram *matmul_program(Ctx *ctx, int64_t m, int64_t n, int64_t k, int rows, int vectors, int lanes) {
  LoopProgram *p = new_program(ctx);
  int64_t wide = vectors * lanes;
  Buffer *a = loops_add_buffer(p, "a", F32(m, k), BUF_INPUT, NULL);
  Buffer *b = loops_add_buffer(p, "b", F32(k, n), BUF_INPUT, NULL);
  Buffer *c = loops_add_buffer(p, "c", F32(m, n), BUF_OUTPUT, NULL);
  Buffer *acc = local_buffer(ctx, "acc", DT_F32, 2, (int64_t[]){rows, wide});
  const Expr *i = VAR("i", 0, m / rows), *j = VAR("j", 0, n / wide), *x = VAR("x", 0, k);
  const Expr *r[3], *w[3], *v[3], *column[3];
  for (int q = 0; q < 3; q++) {
    r[q] = VAR("r", 0, rows);
    w[q] = VAR("w", 0, vectors);
    v[q] = VAR("v", 0, lanes);
    column[q] = expr_add(ctx, expr_mul_const(ctx, w[q], lanes), v[q]);
  }
#define TILE(q, store) LOOP(LOOP_UNROLL, r[q], LOOP(LOOP_UNROLL, w[q], LOOP(LOOP_VECTOR, v[q], store)))
  const Expr *row1 = expr_add(ctx, expr_mul_const(ctx, i, rows), r[1]);
  const Expr *row2 = expr_add(ctx, expr_mul_const(ctx, i, rows), r[2]);
  const Expr *at1 = expr_add(ctx, expr_mul_const(ctx, j, wide), column[1]);
  const Expr *at2 = expr_add(ctx, expr_mul_const(ctx, j, wide), column[2]);
  Access acc1 = AT(acc, r[1], column[1]);
  Stmt *zero = TILE(0, STORE0(AT(acc, r[0], column[0]), 0.0));
  Stmt *add = TILE(1, STORE(acc1, fma_of_args(ctx), AT(a, row1, x), AT(b, x, at1), acc1));
  Stmt *out = TILE(2, COPY(AT(c, row2, at2), AT(acc, r[2], column[2])));
#undef TILE
  nest_of(
      p, "mm",
      LOOP(LOOP_PARALLEL, i, LOOP(LOOP_PARALLEL, j, BLOCK(stmt_local(ctx, acc), zero, LOOP(LOOP_FOR, x, add), out))));
  return p;
}

#endif
