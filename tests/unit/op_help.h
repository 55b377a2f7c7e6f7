/* What the tests of op families share: a function of one op from its text, evaluated, and run through every stage. */
#ifndef WEFT_TESTS_UNIT_OP_HELP_H
#define WEFT_TESTS_UNIT_OP_HELP_H

#include <math.h>

#include "codegen/codegen.h"
#include "ir/layout_plan.h"
#include "lower/loop_passes.h"
#include "lower/lower.h"
#include "runtime/model.h"
#include "text_help.h"

typedef struct {
  const char *params, *op, *result; /* result: the type, or what the refusal says */
} TypeCase;

static inline const char *op_function(Ctx *ctx, const char *params, const char *op, const char *result) {
  return arena_printf(ctx->arena, "weft 1 model \"m\"\nfunc @main(%s) -> (y: %s) {\n  %%y = %s : %s\n  return %%y\n}\n",
                      params, result, op, result);
}

/* The op has this result type, and prints as it parses. */
static inline void expect_type(Ctx *ctx, const TypeCase *c) {
  Module *m = parse_well(ctx, op_function(ctx, c->params, c->op, c->result));
  ck_assert_str_eq(type_text(ctx, m->main->last->result->type), c->result);
  const char *printed = print(m, false, false);
  ck_assert_msg(strstr(printed, c->op) != NULL, "%s", printed);
  Ctx *other = ctx_create();
  ck_assert_str_eq(print(parse_well(other, printed), false, false), printed);
  ctx_destroy(other);
}

static inline void expect_refusal(Ctx *ctx, const TypeCase *c) {
  ck_assert_ptr_null(parse(ctx, op_function(ctx, c->params, c->op, "f32[1]")));
  ck_assert_msg(strstr(diag_text(ctx->diags, false), c->result) != NULL, "%s", diag_text(ctx->diags, false));
}

/* A tensor of a parameter's type with these numbers (as many as it has). */
static inline Tensor *param_tensor(const Module *m, size_t k, const double *values) {
  Tensor *t = tensor_of_type(m->ctx, m->main->params.data[k]->type);
  for (int64_t j = 0; j < t->n; j++)
    tensor_set(t, j, values[j]);
  return t;
}

static inline Tensor *evaluate_op(Module *m, const Tensor *const *in) {
  Tensor *out = NULL;
  ck_assert_msg(eval_function(m, m->main, in, &out, NULL), "%s", diag_text(m->ctx->diags, false));
  return out;
}

/* The result of the compiled function, for this machine; and where `interpreted` is not NULL, of its loops. */
static inline Tensor *run_op(Module *m, const Tensor *const *in, Tensor **interpreted) {
  Ctx *ctx = m->ctx;
  Unit unit = {.ctx = ctx, .module = m};
  Pipeline pipeline = {0};
  PipelineOptions options = {.verify_each = true};
  Str log = str_new(ctx->arena);
  const char *passes = "legalize,fuse,lower{vector-bytes=32,registers=16},plan";
  ck_assert_msg(pipeline_parse(ctx, &all_passes, passes, &pipeline) &&
                    pipeline_run(&unit, &all_passes, &pipeline, &options, &log),
                "%s", diag_text(ctx->diags, false));
  const void *storage[OP_MAX_OPERANDS];
  for (size_t k = 0; k < m->main->params.len; k++) {
    const Type *type = m->main->params.data[k]->type;
    void *s = arena_alloc(ctx->arena, (size_t)type_bytes(type));
    tensor_to_storage(in[k], type, s);
    storage[k] = s;
  }
  const Type *type = m->main->results.data[0].type;
  void *out = arena_alloc(ctx->arena, (size_t)type_bytes(type));
  Tensor *result = tensor_of_type(ctx, type);
  if (interpreted) {
    ck_assert_msg(loops_interpret(unit.loops, storage, &out), "%s", diag_text(ctx->diags, false));
    *interpreted = tensor_of_type(ctx, type);
    tensor_from_storage(*interpreted, type, out);
  }
  const CpuTarget *cpu = cpu_targets;
  CodegenOptions cg = {.cpu = cpu, .prefix = "weft_model", .poison = true};
  ck_assert(!(cpu->needs & ~cpu_features_here()));
  Jit *jit = jit_open(unit.loops, &cg);
  ck_assert_msg(jit != NULL, "%s", diag_text(ctx->diags, false));
  ck_assert_msg(weft_rt_run(jit_model(jit), storage, &out) == 0, "%s", weft_rt_error());
  jit_close(jit);
  tensor_from_storage(result, type, out);
  return result;
}

/* Equal numbers, or both NaN. */
static inline bool is_number(double got, double expected) {
  return got == expected || (isnan(got) && isnan(expected));
}

static inline void expect_numbers(const char *stage, const Tensor *t, int64_t n, const double *expected) {
  ck_assert_int_eq(t->n, n);
  for (int64_t k = 0; k < n; k++)
    ck_assert_msg(is_number(tensor_get(t, k), expected[k]), "%s: element %d is %.17g, expected %.17g", stage, (int)k,
                  tensor_get(t, k), expected[k]);
}

/* The numbers are what the reference, the interpreter and compiled code give. */
static inline void expect_everywhere(Module *m, const Tensor *const *in, int64_t n, const double *expected) {
  Tensor *interpreted;
  expect_numbers("reference", evaluate_op(m, in), n, expected);
  Tensor *compiled = run_op(m, in, &interpreted);
  expect_numbers("interpreter", interpreted, n, expected);
  expect_numbers("compiled", compiled, n, expected);
}

static inline const char *planned_layout(Ctx *ctx, const Module *m) {
  const Op *op = m->main->last;
  LayoutPlan plan = layout_plan_of(ctx, op);
  op->def->layout(ctx, op, &plan);
  Str tag = str_new(ctx->arena);
  layout_print(&tag, plan.result);
  return tag.data;
}

#endif
