/* The checker of loop programs: programs that are right pass; each rule, broken once, is reported. */
#include <check.h>
#include <stdlib.h>

#include "lower/lower.h"
#include "tests/unit/loop_build.h"

static Ctx *ctx;
static LoopProgram *p;
static Buffer *x, *y, *t; /* input f32[8,4], output f32[8,4], arena f32[8,4] */

static void setup(void) {
  ctx = ctx_create();
  p = new_program(ctx);
  x = loops_add_buffer(p, "x", F32(8, 4), BUF_INPUT, NULL);
  y = loops_add_buffer(p, "y", F32(8, 4), BUF_OUTPUT, NULL);
  t = loops_add_buffer(p, "t", F32(8, 4), BUF_ARENA, NULL);
}

static void teardown(void) {
  ctx_destroy(ctx);
}

static void expect_good(void) {
  bool ok = loops_check(p);
  ck_assert_msg(ok && diag_count(ctx->diags) == 0, "%s", diag_text(ctx->diags, false));
}

static void expect_status(Status status, const char *part) {
  ck_assert(!loops_check(p));
  const char *text = diag_text(ctx->diags, false);
  ck_assert_msg(strstr(text, part) != NULL, "expected '%s' in: %s", part, text);
  ck_assert_int_eq(diag_status(ctx->diags), status);
}

static void expect_error(const char *part) {
  expect_status(WEFT_MALFORMED, part);
}

/* ---- programs that are right ---- */

START_TEST(test_good_matmul) {
  const Expr *n = VAR("n", 0, 8), *k = VAR("k", 0, 4), *v = VAR("v", 0, 4), *u = VAR("v", 0, 4), *w = VAR("v", 0, 4);
  Buffer *b = loops_add_buffer(p, "b", F32(4, 4), BUF_INPUT, NULL);
  Buffer *acc = local_buffer(ctx, "acc", DT_F32, 1, (int64_t[]){4});
  Stmt *sum = STORE(AT(acc, u), fma_of_args(ctx), AT(x, n, k), AT(b, k, u), AT(acc, u));
  nest_of(
      p, "mm",
      LOOP(LOOP_PARALLEL, n,
           BLOCK(stmt_local(ctx, acc), LOOP(LOOP_VECTOR, v, STORE0(AT(acc, v), 0.0)),
                 LOOP(LOOP_FOR, k, LOOP(LOOP_VECTOR, u, sum)), LOOP(LOOP_VECTOR, w, COPY(AT(y, n, w), AT(acc, w))))));
  expect_good();
}
END_TEST

/* Taps of a convolution: bounds over an outer variable keep the index inside. */
static void taps(int64_t shift) {
  const Expr *q = VAR("q", 0, 8);
  const Expr *lo = expr_max(ctx, K(0), PLUS(q, -6)), *hi = expr_min(ctx, K(3), PLUS(q, 2));
  const Expr *k = expr_var(ctx, "k", lo, hi);
  nest_of(p, "taps",
          LOOP(LOOP_FOR, q, LOOP(LOOP_FOR, k, COPY(AT(y, q, K(0)), AT(x, PLUS(expr_sub(ctx, q, k), shift), K(3))))));
}

START_TEST(test_good_taps) {
  taps(1);
  expect_good();
}
END_TEST

START_TEST(test_taps_off_by_one_above) {
  taps(2);
  expect_error("cannot prove 0 <= ");
}
END_TEST

START_TEST(test_taps_off_by_one_below) {
  taps(0);
  expect_error("index 0 of %x[");
}
END_TEST

START_TEST(test_good_blocked) {
  const char *why;
  const Layout *blocked = layout_parse(ctx, 2, "aB8b", 4, &why);
  Buffer *z = loops_add_buffer(p, "z", type_static(ctx, DT_F32, 2, (int64_t[]){4, 20}, blocked), BUF_ARENA, NULL);
  const Expr *i = VAR("i", 0, 4), *c = VAR("c", 0, 20);
  nest_of(p, "blocked",
          LOOP(LOOP_PARALLEL, i,
               LOOP(LOOP_FOR, c, STORE0(AT(z, i, expr_floordiv_const(ctx, c, 8), expr_mod_const(ctx, c, 8)), 1.0))));
  expect_good();
}
END_TEST

START_TEST(test_blocked_needs_three_blocks) {
  const char *why;
  const Layout *blocked = layout_parse(ctx, 2, "aB8b", 4, &why);
  Buffer *z = loops_add_buffer(p, "z", type_static(ctx, DT_F32, 2, (int64_t[]){4, 20}, blocked), BUF_ARENA, NULL);
  const Expr *c = VAR("c", 0, 25);
  nest_of(p, "blocked",
          LOOP(LOOP_FOR, c, STORE0(AT(z, K(0), expr_floordiv_const(ctx, c, 8), expr_mod_const(ctx, c, 8)), 1.0)));
  expect_error("< 3, index 1 of %z[");
}
END_TEST

START_TEST(test_good_symbolic) {
  Dim n = expr_sym(ctx, "N", 1, 1024);
  Buffer *a = loops_add_buffer(p, "a", type_get(ctx, DT_F32, 1, &n, NULL), BUF_INPUT, NULL);
  Buffer *b = loops_add_buffer(p, "b", type_get(ctx, DT_F32, 1, &n, NULL), BUF_OUTPUT, NULL);
  const Expr *i = expr_var(ctx, "i", K(0), n);
  nest_of(p, "copy", LOOP(LOOP_PARALLEL, i, COPY(AT(b, i), AT(a, expr_sub(ctx, PLUS(n, -1), i)))));
  expect_good();
}
END_TEST

START_TEST(test_symbolic_off_by_one) {
  Dim n = expr_sym(ctx, "N", 1, 1024);
  Buffer *b = loops_add_buffer(p, "b", type_get(ctx, DT_F32, 1, &n, NULL), BUF_OUTPUT, NULL);
  const Expr *i = expr_var(ctx, "i", K(0), PLUS(n, 1));
  nest_of(p, "fill", LOOP(LOOP_FOR, i, STORE0(AT(b, i), 0.0)));
  expect_error("cannot prove 0 <= i < N, index 0 of %b[i]");
}
END_TEST

/* (3*i) mod 8 + (5*i) mod 8 is 0 or 8: only enumeration knows. */
static void needs_enumeration(int64_t extent) {
  Buffer *z = loops_add_buffer(p, "z", F32(extent), BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 8);
  const Expr *a = expr_mod_const(ctx, expr_mul_const(ctx, i, 3), 8),
             *b = expr_mod_const(ctx, expr_mul_const(ctx, i, 5), 8);
  nest_of(p, "odd", LOOP(LOOP_FOR, i, STORE0(AT(z, expr_add(ctx, a, b)), 0.0)));
}

START_TEST(test_good_by_enumeration) {
  needs_enumeration(9);
  expect_good();
}
END_TEST

START_TEST(test_enumeration_off_by_one) {
  needs_enumeration(8);
  expect_error("it is 8 where i = 1");
}
END_TEST

/* A loop that is empty for most values of an outer variable decides whether the store runs; the same index outside of
 * that loop must not profit from the proof. */
static const Expr *guarded(Stmt **loop) {
  Buffer *z = loops_add_buffer(p, "z", F32(2), BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 4), *g = expr_var(ctx, "g", K(0), expr_max(ctx, K(0), expr_sub(ctx, K(2), i)));
  *loop = LOOP(LOOP_FOR, g, STORE0(AT(z, i), 0.0));
  return i;
}

START_TEST(test_good_guarded) {
  Stmt *inner;
  const Expr *i = guarded(&inner);
  nest_of(p, "guard", LOOP(LOOP_FOR, i, inner));
  expect_good();
}
END_TEST

START_TEST(test_guard_does_not_leak) {
  Stmt *inner;
  const Expr *i = guarded(&inner);
  nest_of(p, "guard",
          LOOP(LOOP_FOR, i, BLOCK(inner, stmt_store(ctx, inner->body->target, scalar_const(ctx, 1.0), NULL, 0))));
  expect_error("cannot prove 0 <= i < 2, index 0 of %z[i]");
}
END_TEST

START_TEST(test_too_large_to_enumerate) {
  Buffer *z = loops_add_buffer(p, "z", F32(1000001), BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 1000000);
  const Expr *a = expr_mod_const(ctx, expr_mul_const(ctx, i, 3), 1000000);
  const Expr *b = expr_mod_const(ctx, expr_mul_const(ctx, i, 999997), 1000000);
  nest_of(p, "large", LOOP(LOOP_FOR, i, STORE0(AT(z, expr_add(ctx, a, b)), 0.0)));
  expect_error("cannot prove");
}
END_TEST

START_TEST(test_never_run_is_fine) {
  const Expr *i = VAR("i", 5, 5);
  nest_of(p, "empty", LOOP(LOOP_FOR, i, STORE0(AT(y, PLUS(i, 100), K(0)), 0.0)));
  expect_good();
}
END_TEST

START_TEST(test_good_lanes) {
  const Expr *v = VAR("v", 0, 2), *two_v = expr_mul_const(ctx, v, 2);
  nest_of(p, "phases",
          LOOP(LOOP_VECTOR, v,
               BLOCK(STORE0(AT(y, K(0), two_v), 1.0), STORE0(AT(y, K(0), PLUS(two_v, 1)), 2.0),
                     COPY(AT(y, K(1), v), AT(y, K(3), v)), COPY(AT(y, K(2), v), AT(y, K(2), v)))));
  expect_good();
}
END_TEST

START_TEST(test_good_plan) {
  Buffer *u = loops_add_buffer(p, "u", F32(8, 4), BUF_ARENA, NULL);
  const Expr *i = VAR("i", 0, 8), *j = VAR("j", 0, 8), *k = VAR("k", 0, 8);
  nest_of(p, "a", LOOP(LOOP_FOR, i, COPY(AT(t, i, K(0)), AT(x, i, K(0)))));
  nest_of(p, "b", LOOP(LOOP_FOR, j, COPY(AT(u, j, K(0)), AT(t, j, K(0)))));
  nest_of(p, "c", LOOP(LOOP_FOR, k, COPY(AT(y, k, K(0)), AT(u, k, K(0)))));
  ck_assert(plan_memory(p));
  expect_good();
}
END_TEST

/* ---- each rule broken once ---- */

START_TEST(test_off_by_one) {
  const Expr *i = VAR("i", 0, 8);
  nest_of(p, "copy", LOOP(LOOP_FOR, i, COPY(AT(y, i, K(0)), AT(x, PLUS(i, 1), K(0)))));
  expect_error("nest '@copy': cannot prove 0 <= i + 1 < 8, index 0 of %x[i + 1, 0]");
}
END_TEST

START_TEST(test_negative_index) {
  const Expr *i = VAR("i", 0, 8);
  nest_of(p, "copy", LOOP(LOOP_FOR, i, COPY(AT(y, PLUS(i, -1), K(0)), AT(x, i, K(0)))));
  expect_error("cannot prove 0 <= i - 1 < 8");
}
END_TEST

START_TEST(test_constant_index) {
  nest_of(p, "set", STORE0(AT(y, K(0), K(4)), 0.0));
  expect_error("cannot prove 0 <= 4 < 4, index 1 of %y[0, 4]");
}
END_TEST

START_TEST(test_variable_out_of_scope) {
  const Expr *i = VAR("i", 0, 8);
  nest_of(p, "n", BLOCK(LOOP(LOOP_FOR, i, STORE0(AT(y, i, K(0)), 0.0)), STORE0(AT(y, i, K(0)), 0.0)));
  expect_error("index 0 of %y[i, 0] uses 'i', which is no variable");
}
END_TEST

START_TEST(test_bound_out_of_scope) {
  const Expr *i = VAR("i", 0, 8), *j = expr_var(ctx, "j", K(0), i);
  nest_of(p, "n", LOOP(LOOP_FOR, j, STORE0(AT(y, j, K(0)), 0.0)));
  expect_error("a bound of 'j' uses 'i', which is no variable in scope");
}
END_TEST

START_TEST(test_variable_name_twice) {
  const Expr *i = VAR("i", 0, 8), *j = VAR("i", 0, 4);
  nest_of(p, "n", LOOP(LOOP_FOR, i, LOOP(LOOP_FOR, j, STORE0(AT(y, i, j), 0.0))));
  expect_error("two variables in scope at once have the name 'i'");
}
END_TEST

/* ---- index statements ---- */

static const Scalar *i64_arg(int k) {
  return scalar_arg_typed(ctx, k, DT_I64);
}

/* y[i, c] = x[j, c] for the row j that idx[i] names. */
static Buffer *index_input(void) {
  return loops_add_buffer(p, "idx", type_static(ctx, DT_I64, 1, (int64_t[]){8}, NULL), BUF_INPUT, NULL);
}

START_TEST(test_good_index) {
  Buffer *idx = index_input();
  const Expr *i = VAR("i", 0, 8), *j = VAR("j", 0, 8), *v = VAR("v", 0, 4);
  nest_of(p, "n",
          LOOP(LOOP_PARALLEL, i,
               BLOCK(stmt_index(ctx, j, i64_arg(0), (Access[]){AT(idx, i)}, 1),
                     LOOP(LOOP_VECTOR, v, COPY(AT(y, i, v), AT(x, j, v))))));
  expect_good();
}
END_TEST

/* Bounds over an outer variable count: k < j + 1 <= 8. */
START_TEST(test_good_index_of_index) {
  Buffer *idx = index_input();
  const Expr *j = VAR("j", 0, 8), *k = expr_var(ctx, "k", K(0), PLUS(j, 1));
  const Expr *at = expr_floordiv_const(ctx, k, 2);
  Access number = {NULL, &at};
  nest_of(p, "n",
          BLOCK(stmt_index(ctx, j, i64_arg(0), (Access[]){AT(idx, K(0))}, 1),
                stmt_index(ctx, k, i64_arg(0), (Access[]){AT(idx, j)}, 1), COPY(AT(y, k, K(0)), AT(x, j, K(0))),
                STORE(AT(y, K(0), K(1)), scalar_cast(ctx, i64_arg(0), DT_F32), number)));
  expect_good();
}
END_TEST

START_TEST(test_index_range_too_wide) {
  Buffer *idx = index_input();
  const Expr *j = VAR("j", 0, 9);
  nest_of(p, "n",
          BLOCK(stmt_index(ctx, j, i64_arg(0), (Access[]){AT(idx, K(0))}, 1), COPY(AT(y, K(0), K(0)), AT(x, j, K(0)))));
  expect_error("cannot prove 0 <= j < 8, index 0 of %x[j, 0]");
}
END_TEST

START_TEST(test_index_out_of_its_block) {
  Buffer *idx = index_input();
  const Expr *i = VAR("i", 0, 8), *j = VAR("j", 0, 8);
  nest_of(
      p, "n",
      BLOCK(LOOP(LOOP_FOR, i, stmt_index(ctx, j, i64_arg(0), (Access[]){AT(idx, i)}, 1)), STORE0(AT(y, j, K(0)), 0.0)));
  expect_error("index 0 of %y[j, 0] uses 'j', which is no variable in scope");
}
END_TEST

START_TEST(test_index_before_it_is_bound) {
  Buffer *idx = index_input();
  const Expr *j = VAR("j", 0, 8);
  nest_of(p, "n", stmt_index(ctx, j, i64_arg(0), (Access[]){AT(idx, j)}, 1));
  expect_error("index 0 of %idx[j] uses 'j', which is no variable in scope");
}
END_TEST

START_TEST(test_index_value_out_of_scope) {
  const Expr *j = VAR("j", 0, 8);
  nest_of(p, "n",
          STORE(AT(y, K(0), K(0)), scalar_cast(ctx, i64_arg(0), DT_F32), ((Access){NULL, (const Expr *[]){j}})));
  expect_error("index 0 of index(j) uses 'j', which is no variable in scope");
}
END_TEST

START_TEST(test_index_in_a_vector_loop) {
  Buffer *idx = index_input();
  const Expr *v = VAR("v", 0, 4), *j = VAR("j", 0, 8);
  nest_of(p, "n",
          LOOP(LOOP_VECTOR, v,
               BLOCK(stmt_index(ctx, j, i64_arg(0), (Access[]){AT(idx, v)}, 1), COPY(AT(y, K(0), v), AT(x, j, v)))));
  expect_error("the vector loop over 'v' holds a statement 'index'; only stores may stand there");
}
END_TEST

START_TEST(test_parallel_behind_index) {
  Buffer *idx = index_input();
  const Expr *i = VAR("i", 0, 8), *j = VAR("j", 0, 8);
  nest_of(p, "n",
          BLOCK(stmt_index(ctx, j, i64_arg(0), (Access[]){AT(idx, K(0))}, 1),
                LOOP(LOOP_PARALLEL, i, COPY(AT(y, i, K(0)), AT(x, j, K(0))))));
  expect_error("the parallel loop over 'i' is neither at the top of its nest nor alone");
}
END_TEST

START_TEST(test_index_of_floats) {
  const Expr *j = VAR("j", 0, 8);
  nest_of(p, "n", stmt_index(ctx, j, scalar_arg(ctx, 0), (Access[]){AT(x, K(0), K(0))}, 1));
  expect_error("the value of the index 'j' has element type f32, expected i64");
}
END_TEST

START_TEST(test_index_name_twice) {
  const Expr *j = VAR("j", 0, 8), *other = VAR("j", 0, 4);
  Access number = {NULL, (const Expr *[]){K(1)}};
  nest_of(p, "n", BLOCK(stmt_index(ctx, j, i64_arg(0), &number, 1), stmt_index(ctx, other, i64_arg(0), &number, 1)));
  expect_error("two variables in scope at once have the name 'j'");
}
END_TEST

/* A store to a place that only an index tells apart does not name the parallel variable. */
START_TEST(test_parallel_store_by_index) {
  Buffer *idx = index_input();
  const Expr *i = VAR("i", 0, 8), *j = VAR("j", 0, 8);
  nest_of(p, "n",
          LOOP(LOOP_PARALLEL, i,
               BLOCK(stmt_index(ctx, j, i64_arg(0), (Access[]){AT(idx, i)}, 1), COPY(AT(y, j, K(0)), AT(x, i, K(0))))));
  expect_error("all iterations of the parallel loop over 'i' store to %y[j, 0]");
}
END_TEST

/* ---- types ---- */

START_TEST(test_operand_of_another_type) {
  nest_of(p, "n", STORE(AT(y, K(0), K(0)), scalar_cast(ctx, i64_arg(0), DT_F32), AT(x, K(0), K(0))));
  expect_error("operand 0 of the value of %y[0, 0] has element type i64, but %x[0, 0] has f32");
}
END_TEST

/* f16 and bf16 are computed in f32. */
START_TEST(test_good_half) {
  Buffer *h = loops_add_buffer(p, "h", type_static(ctx, DT_F16, 1, (int64_t[]){8}, NULL), BUF_INPUT, NULL);
  Buffer *b = loops_add_buffer(p, "b", type_static(ctx, DT_BF16, 1, (int64_t[]){8}, NULL), BUF_OUTPUT, NULL);
  const Expr *v = VAR("v", 0, 8);
  nest_of(p, "n", LOOP(LOOP_VECTOR, v, COPY(AT(b, v), AT(h, v))));
  expect_good();
}
END_TEST

START_TEST(test_store_of_another_type) {
  nest_of(p, "n", stmt_store(ctx, AT(y, K(0), K(0)), scalar_const_typed(ctx, DT_F64, 0.5), NULL, 0));
  expect_error("the value of %y[0, 0] has element type f64, expected f32");
}
END_TEST

START_TEST(test_store_to_no_memory) {
  nest_of(p, "n", STORE0(((Access){NULL, (const Expr *[]){K(1)}}), 0.0));
  expect_error("a value is stored to index(1), which is no memory");
}
END_TEST

START_TEST(test_too_deep) {
  Stmt *s = STORE0(AT(y, K(0), K(0)), 0.0);
  for (int k = 0; k <= LOOP_MAX_DEPTH; k++)
    s = LOOP(LOOP_FOR, VAR(arena_printf(ctx->arena, "v%d", k), 0, 2), s);
  nest_of(p, "n", s);
  expect_error("more than 64 variables are in scope at once");
}
END_TEST

START_TEST(test_local_before_declaration) {
  Buffer *a = local_buffer(ctx, "a", DT_F32, 1, (int64_t[]){4});
  nest_of(p, "n", BLOCK(STORE0(AT(a, K(0)), 0.0), stmt_local(ctx, a)));
  expect_error("local 'a' is used where no declaration of it is in scope");
}
END_TEST

START_TEST(test_local_of_inner_block) {
  Buffer *a = local_buffer(ctx, "a", DT_F32, 1, (int64_t[]){4});
  nest_of(p, "n", BLOCK(LOOP(LOOP_FOR, VAR("i", 0, 2), stmt_local(ctx, a)), STORE0(AT(a, K(0)), 0.0)));
  expect_error("local 'a' is used where no declaration of it is in scope");
}
END_TEST

START_TEST(test_local_of_other_nest) {
  Buffer *a = local_buffer(ctx, "a", DT_F32, 1, (int64_t[]){4});
  nest_of(p, "n", BLOCK(stmt_local(ctx, a), STORE0(AT(a, K(0)), 0.0)));
  nest_of(p, "m", STORE0(AT(a, K(0)), 0.0));
  expect_error("nest '@m': local 'a' is used where");
}
END_TEST

START_TEST(test_local_twice) {
  Buffer *a = local_buffer(ctx, "a", DT_F32, 1, (int64_t[]){4}), *b = local_buffer(ctx, "a", DT_F32, 1, (int64_t[]){4});
  nest_of(p, "n", BLOCK(stmt_local(ctx, a), LOOP(LOOP_FOR, VAR("i", 0, 2), stmt_local(ctx, b))));
  expect_error("local 'a' is declared twice");
}
END_TEST

START_TEST(test_local_too_large) {
  nest_of(p, "n", stmt_local(ctx, local_buffer(ctx, "a", DT_F32, 2, (int64_t[]){1024, 1024})));
  expect_error("the nest's locals take more than 262144 bytes");
}
END_TEST

START_TEST(test_local_empty) {
  nest_of(p, "n", stmt_local(ctx, local_buffer(ctx, "a", DT_F32, 1, (int64_t[]){0})));
  expect_error("expected extents of 1 or more");
}
END_TEST

START_TEST(test_local_symbolic) {
  Buffer *a = local_buffer(ctx, "a", DT_F32, 1, (int64_t[]){1});
  Dim n = expr_sym(ctx, "N", 1, 16);
  a->type = type_get(ctx, DT_F32, 1, &n, NULL);
  nest_of(p, "n", stmt_local(ctx, a));
  expect_error("expected constant extents in row-major order");
}
END_TEST

START_TEST(test_foreign_buffer) {
  LoopProgram *other = new_program(ctx);
  Buffer *b = loops_add_buffer(other, "b", F32(8, 4), BUF_OUTPUT, NULL);
  nest_of(p, "n", STORE0(AT(b, K(0), K(0)), 0.0));
  expect_error("%b is not a buffer of this program");
}
END_TEST

START_TEST(test_store_to_input) {
  nest_of(p, "n", STORE0(AT(x, K(0), K(0)), 0.0));
  expect_error("%x[0, 0] is stored to, but %x is an input");
}
END_TEST

START_TEST(test_store_to_constant) {
  float *data = ARENA_ARRAY(ctx->arena, float, 4);
  Constant *c = module_add_constant(p->module, "c", F32(4), data, LOC_NONE);
  Buffer *b = loops_add_buffer(p, "c", c->type, BUF_CONSTANT, c);
  nest_of(p, "n", STORE0(AT(b, K(0)), 0.0));
  expect_error("%c[0] is stored to, but %c is a constant");
}
END_TEST

START_TEST(test_constant_of_other_type) {
  float *data = ARENA_ARRAY(ctx->arena, float, 4);
  Constant *c = module_add_constant(p->module, "c", F32(4), data, LOC_NONE);
  loops_add_buffer(p, "c", F32(5), BUF_CONSTANT, c);
  expect_error("buffer %c is a f32[5], but its constant @c is a f32[4]");
}
END_TEST

START_TEST(test_operand_missing) {
  nest_of(p, "n", STORE(AT(y, K(0), K(0)), scalar_arg(ctx, 1), AT(x, K(0), K(0))));
  expect_error("has 1 operands, but names operand 1");
}
END_TEST

START_TEST(test_boolean_value) {
  const Scalar *less = scalar_make2(ctx, SC_LT, scalar_arg(ctx, 0), scalar_const(ctx, 0));
  nest_of(p, "n", STORE(AT(y, K(0), K(0)), less, AT(x, K(0), K(0))));
  expect_error("the value of %y[0, 0] has element type bool, expected f32");
}
END_TEST

START_TEST(test_vector_of_loops) {
  const Expr *v = VAR("v", 0, 4), *i = VAR("i", 0, 8);
  nest_of(p, "n", LOOP(LOOP_VECTOR, v, LOOP(LOOP_FOR, i, STORE0(AT(y, i, v), 0.0))));
  expect_error("the body of the vector loop over 'v' holds a loop");
}
END_TEST

START_TEST(test_vector_of_locals) {
  const Expr *v = VAR("v", 0, 4);
  nest_of(p, "n", LOOP(LOOP_VECTOR, v, stmt_local(ctx, local_buffer(ctx, "a", DT_F32, 1, (int64_t[]){4}))));
  expect_error("the body of the vector loop over 'v' holds a local");
}
END_TEST

START_TEST(test_vector_of_variable_length) {
  const Expr *i = VAR("i", 1, 4), *v = expr_var(ctx, "v", K(0), i);
  nest_of(p, "n", LOOP(LOOP_FOR, i, LOOP(LOOP_VECTOR, v, STORE0(AT(y, i, v), 0.0))));
  expect_error("the vector loop over 'v' runs from 0 to i; expected constant bounds");
}
END_TEST

START_TEST(test_vector_too_long) {
  Buffer *z = loops_add_buffer(p, "z", F32(1025), BUF_OUTPUT, NULL);
  const Expr *v = VAR("v", 0, 1025);
  nest_of(p, "n", LOOP(LOOP_VECTOR, v, STORE0(AT(z, v), 0.0)));
  expect_error("runs from 0 to 1025; expected constant bounds and 1 to 1024 iterations");
}
END_TEST

START_TEST(test_unroll_empty) {
  nest_of(p, "n", LOOP(LOOP_UNROLL, VAR("u", 3, 3), STORE0(AT(y, K(0), K(0)), 0.0)));
  expect_error("the unroll loop over 'u' runs from 3 to 3");
}
END_TEST

START_TEST(test_unroll_explodes) {
  Stmt *s = STORE0(AT(y, K(0), K(0)), 0.0);
  for (int k = 0; k < 3; k++)
    s = LOOP(LOOP_UNROLL, VAR(arena_printf(ctx->arena, "u%d", k), 0, 100), s);
  nest_of(p, "n", s);
  expect_error("make more than 65536 copies");
}
END_TEST

START_TEST(test_lanes_store_to_one_element) {
  const Expr *v = VAR("v", 0, 4);
  nest_of(p, "n", LOOP(LOOP_VECTOR, v, COPY(AT(y, K(0), K(0)), AT(x, K(0), v))));
  expect_error("all lanes of the vector loop over 'v' store to %y[0, 0]");
}
END_TEST

START_TEST(test_lane_reads_neighbour) {
  const Expr *v = VAR("v", 0, 3);
  nest_of(p, "n", LOOP(LOOP_VECTOR, v, COPY(AT(y, K(0), PLUS(v, 1)), AT(y, K(0), v))));
  expect_error(
      "cannot prove that no lane of the vector loop over 'v' meets another's element in %y[0, v + 1] and %y[0, v]");
}
END_TEST

START_TEST(test_parallel_inside_for) {
  const Expr *i = VAR("i", 0, 8), *j = VAR("j", 0, 4);
  nest_of(p, "n", LOOP(LOOP_FOR, i, LOOP(LOOP_PARALLEL, j, STORE0(AT(y, i, j), 0.0))));
  expect_error("the parallel loop over 'j' is neither at the top of its nest nor alone");
}
END_TEST

START_TEST(test_parallel_not_alone) {
  const Expr *i = VAR("i", 0, 8), *j = VAR("j", 0, 4);
  nest_of(p, "n",
          LOOP(LOOP_PARALLEL, i, BLOCK(LOOP(LOOP_PARALLEL, j, STORE0(AT(y, i, j), 0.0)), STORE0(AT(y, i, K(0)), 0.0))));
  expect_error("the parallel loop over 'j' is neither at the top of its nest nor alone");
}
END_TEST

START_TEST(test_parallel_stores_to_one_element) {
  const Expr *i = VAR("i", 0, 8), *j = VAR("j", 0, 4);
  nest_of(p, "n", LOOP(LOOP_PARALLEL, i, LOOP(LOOP_PARALLEL, j, COPY(AT(y, i, K(0)), AT(x, i, j)))));
  expect_error("all iterations of the parallel loop over 'j' store to %y[i, 0]");
}
END_TEST

START_TEST(test_parallel_of_one_iteration) {
  const Expr *i = VAR("i", 0, 1), *j = VAR("j", 0, 4);
  nest_of(p, "n", LOOP(LOOP_PARALLEL, i, LOOP(LOOP_PARALLEL, j, COPY(AT(y, K(3), j), AT(x, i, j)))));
  expect_good();
}
END_TEST

START_TEST(test_parallel_shares_local) {
  Buffer *a = local_buffer(ctx, "a", DT_F32, 1, (int64_t[]){8});
  const Expr *i = VAR("i", 0, 8);
  nest_of(p, "n", BLOCK(stmt_local(ctx, a), LOOP(LOOP_PARALLEL, i, STORE0(AT(a, i), 0.0))));
  expect_error("the local is declared outside of it");
}
END_TEST

START_TEST(test_arena_read_first) {
  nest_of(p, "n", COPY(AT(y, K(0), K(0)), AT(t, K(0), K(0))));
  expect_error("arena buffer %t is read before any nest stores to it");
}
END_TEST

START_TEST(test_empty_arena_buffer_has_no_writer) {
  Buffer *e = loops_add_buffer(p, "e", F32(0), BUF_ARENA, NULL);
  const Expr *i = VAR("i", 0, 0);
  nest_of(p, "n", LOOP(LOOP_FOR, i, COPY(AT(y, K(0), K(0)), AT(e, i))));
  expect_good();
}
END_TEST

/* ---- a plan from outside ---- */

static void two_buffers(int64_t at_t, int64_t at_u, int64_t bytes) {
  Buffer *u = loops_add_buffer(p, "u", F32(8, 4), BUF_ARENA, NULL);
  nest_of(p, "a", STORE0(AT(t, K(0), K(0)), 0.0));
  nest_of(p, "b", COPY(AT(u, K(0), K(0)), AT(t, K(0), K(0))));
  t->offset = K(at_t);
  u->offset = K(at_u);
  p->arena_bytes = K(bytes);
}

START_TEST(test_plan_touching_is_fine) {
  two_buffers(0, 128, 256);
  expect_good();
}
END_TEST

START_TEST(test_plan_overlap) {
  two_buffers(0, 64, 256);
  expect_error("arena buffers %t and %u live at the same time");
}
END_TEST

START_TEST(test_plan_beyond_end) {
  two_buffers(0, 192, 256);
  expect_error("cannot prove that arena buffer %u lies within the arena");
}
END_TEST

START_TEST(test_plan_negative) {
  two_buffers(-64, 128, 256);
  expect_error("cannot prove that arena buffer %t lies within the arena");
}
END_TEST

START_TEST(test_plan_unaligned) {
  two_buffers(0, 136, 512);
  expect_error("the offset of arena buffer %u is no multiple of 64");
}
END_TEST

START_TEST(test_plan_missing_offset) {
  two_buffers(0, 128, 256);
  p->arena.data[1]->offset = NULL;
  expect_error("arena buffer %u has no offset, but the program has an arena size");
}
END_TEST

START_TEST(test_errors_are_limited) {
  Stmt *first = NULL;
  for (int k = 0; k < 1000; k++)
    stmt_append(&first, STORE0(AT(y, K(8 + k), K(0)), 0.0));
  nest_of(p, "n", first);
  expect_error("cannot prove 0 <= 8 < 8");
  ck_assert_uint_le(diag_count(ctx->diags), 16);
}
END_TEST

Suite *suite_loop_check(void);
Suite *suite_loop_check(void) {
  Suite *s = suite_create("loop_check");
  const struct {
    const char *name;
    const TTest *tests[40];
  } cases[] = {
      {"good",
       {test_good_matmul, test_good_taps, test_good_blocked, test_good_symbolic, test_good_by_enumeration,
        test_good_guarded, test_never_run_is_fine, test_good_lanes, test_good_plan, test_parallel_of_one_iteration,
        test_plan_touching_is_fine, test_empty_arena_buffer_has_no_writer}},
      {"bounds",
       {test_taps_off_by_one_above, test_taps_off_by_one_below, test_blocked_needs_three_blocks,
        test_symbolic_off_by_one, test_enumeration_off_by_one, test_guard_does_not_leak, test_too_large_to_enumerate,
        test_off_by_one, test_negative_index, test_constant_index, test_errors_are_limited}},
      {"scoping",
       {test_variable_out_of_scope, test_bound_out_of_scope, test_variable_name_twice, test_too_deep,
        test_local_before_declaration, test_local_of_inner_block, test_local_of_other_nest, test_local_twice,
        test_local_too_large, test_local_empty, test_local_symbolic, test_foreign_buffer}},
      {"stores",
       {test_store_to_input, test_store_to_constant, test_constant_of_other_type, test_operand_missing,
        test_boolean_value}},
      {"kinds",
       {test_vector_of_loops, test_vector_of_locals, test_vector_of_variable_length, test_vector_too_long,
        test_unroll_empty, test_unroll_explodes, test_lanes_store_to_one_element, test_lane_reads_neighbour,
        test_parallel_inside_for, test_parallel_not_alone, test_parallel_stores_to_one_element,
        test_parallel_shares_local}},
      {"indices",
       {test_good_index, test_good_index_of_index, test_index_range_too_wide, test_index_out_of_its_block,
        test_index_before_it_is_bound, test_index_value_out_of_scope, test_index_in_a_vector_loop,
        test_parallel_behind_index, test_index_of_floats, test_index_name_twice, test_parallel_store_by_index}},
      {"types", {test_operand_of_another_type, test_good_half, test_store_of_another_type, test_store_to_no_memory}},
      {"memory",
       {test_arena_read_first, test_plan_overlap, test_plan_beyond_end, test_plan_negative, test_plan_unaligned,
        test_plan_missing_offset}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    TCase *tc = tcase_create(cases[c].name);
    tcase_add_checked_fixture(tc, setup, teardown);
    for (int k = 0; cases[c].tests[k]; k++)
      tcase_add_test(tc, cases[c].tests[k]);
    suite_add_tcase(s, tc);
  }
  return s;
}
