/* Generated code computes what the interpreter computes. */
#include <stdio.h>

#include "tests/unit/codegen_run.h"

static Ctx *ctx;
static LoopProgram *p;

static void setup(void) {
  ctx = ctx_create();
  p = new_program(ctx);
}

static void teardown(void) {
  ctx_destroy(ctx);
}

static Buffer *input(const char *name, const Type *type) {
  return loops_add_buffer(p, name, type, BUF_INPUT, NULL);
}

static Buffer *output(const char *name, const Type *type) {
  return loops_add_buffer(p, name, type, BUF_OUTPUT, NULL);
}

static const Expr *sum(const Expr *a, int64_t coef, const Expr *b) {
  return expr_add(ctx, expr_mul_const(ctx, a, coef), b);
}

/* ---- the scalar language: tests/unit/test_codegen_types.c has each operation ---- */

/* Scalars and vectors meet in one expression: select by a condition that is the same for all lanes, constants. */
START_TEST(test_uniform_operands) {
  Buffer *x = input("x", F32(8)), *y = input("y", F32(8, 24)), *out = output("out", F32(8, 24));
  const Expr *i = VAR("i", 0, 8), *v = VAR("v", 0, 24);
  const char *const names[] = {"s", "v"};
  const Scalar *const values[] = {scalar_arg(ctx, 0), scalar_arg(ctx, 1)};
  const char *why;
  const Scalar *s =
      scalar_parse(ctx, "select(s < 0.25, select(v < s, 2.0, s / 3.0), max(s, v - 0.5))", names, values, 2, &why);
  ck_assert_msg(s != NULL, "%s", why);
  nest_of(p, "mix", LOOP(LOOP_FOR, i, LOOP(LOOP_VECTOR, v, STORE(AT(out, i, v), s, AT(x, i), AT(y, i, v)))));
  compare(p, NULL, EXACT);
}
END_TEST

/* ---- loops ---- */

START_TEST(test_matmul) {
  static const struct {
    int rows, vectors, lanes;
  } tiles[] = {{6, 2, 4}, {6, 2, 8}, {14, 2, 16}, {3, 3, 5}, {1, 1, 1}, {2, 1, 40}};
  for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++) {
    int64_t wide = tiles[k].vectors * tiles[k].lanes;
    p = matmul_program(ctx, 3 * tiles[k].rows, 2 * wide, 37, tiles[k].rows, tiles[k].vectors, tiles[k].lanes);
    compare(p, NULL, CLOSE);
  }
}
END_TEST

START_TEST(test_odd_widths) {
  for (int64_t w = 1; w <= 67; w += w < 20 ? 1 : 7) {
    p = new_program(ctx);
    Buffer *x = input("x", F32(3, w)), *out = output("out", F32(3, w));
    const Expr *i = VAR("i", 0, 3), *v = VAR("v", 0, w);
    const Scalar *twice = scalar_make2(ctx, SC_ADD, scalar_arg(ctx, 0), scalar_arg(ctx, 0));
    nest_of(p, "odd", LOOP(LOOP_FOR, i, LOOP(LOOP_VECTOR, v, STORE(AT(out, i, v), twice, AT(x, i, v)))));
    compare_on(p, cpu_target_find(ctx, "native"), NULL, EXACT);
  }
}
END_TEST

/* Two phases, each stored with stride 2, and columns read with stride 5, forwards and backwards. */
START_TEST(test_strided) {
  Buffer *x = input("x", F32(16, 5)), *out = output("out", F32(5, 32)), *back = output("back", F32(5, 16));
  const Expr *i = VAR("i", 0, 5), *v = VAR("v", 0, 16);
  const Scalar *minus = scalar_make1(ctx, SC_NEG, scalar_arg(ctx, 0));
  Stmt *body = BLOCK(COPY(AT(out, i, expr_mul_const(ctx, v, 2)), AT(x, v, i)),
                     STORE(AT(out, i, PLUS(expr_mul_const(ctx, v, 2), 1)), minus, AT(x, v, i)),
                     COPY(AT(back, i, v), AT(x, expr_sub(ctx, K(15), v), i)));
  nest_of(p, "strided", LOOP(LOOP_PARALLEL, i, LOOP(LOOP_VECTOR, v, body)));
  compare(p, NULL, EXACT);
}
END_TEST

/* Vector loops that do not start at 0, at an offset that is not a multiple of anything. */
START_TEST(test_shifted_vectors) {
  Buffer *x = input("x", F32(40)), *out = output("out", F32(2, 13));
  const Expr *j = VAR("j", 0, 2), *v = VAR("v", 3, 16);
  nest_of(p, "shift",
          LOOP(LOOP_FOR, j, LOOP(LOOP_VECTOR, v, COPY(AT(out, j, PLUS(v, -3)), AT(x, PLUS(sum(j, 7, v), 2))))));
  compare(p, NULL, EXACT);
}
END_TEST

/* Lanes whose place follows from div and mod: across blocks of 8, in runs of 3, all on one element, and with a start
 * that is not known. */
START_TEST(test_div_mod) {
  Buffer *x = input("x", F32(3, 10, 8)), *y = input("y", F32(7, 3));
  Buffer *a = output("a", F32(10, 24)), *b = output("b", F32(10, 21)), *c = output("c", F32(10, 6));
  Buffer *d = output("d", F32(3, 10, 8));
  const Expr *i = VAR("i", 0, 10), *v = VAR("v", 0, 24), *u = VAR("u", 0, 21), *w = VAR("w", 0, 6),
             *z = VAR("z", 0, 24);
#define DIV(e, k) expr_floordiv_const(ctx, (e), (k))
#define MOD(e, k) expr_mod_const(ctx, (e), (k))
  Stmt *body = BLOCK(LOOP(LOOP_VECTOR, v, COPY(AT(a, i, v), AT(x, DIV(v, 8), i, MOD(v, 8)))),
                     LOOP(LOOP_VECTOR, u, COPY(AT(b, i, u), AT(y, MOD(expr_add(ctx, i, DIV(u, 3)), 7), MOD(u, 3)))),
                     LOOP(LOOP_VECTOR, w, COPY(AT(c, i, w), AT(y, MOD(PLUS(i, -4), 7), PLUS(DIV(PLUS(w, 6), 6), -1)))),
                     LOOP(LOOP_VECTOR, z, COPY(AT(d, DIV(z, 8), i, MOD(z, 8)), AT(a, i, z))));
  nest_of(p, "digits", LOOP(LOOP_FOR, i, body));
  compare(p, NULL, EXACT);
}
END_TEST

/* Euclidean division of numbers on both sides of zero, by powers of two and others; min and max. */
START_TEST(test_index_arithmetic) {
  Buffer *x = input("x", F32(64)), *out = output("out", F32(2, 41));
  const Expr *i = VAR("i", -20, 21);
  const Expr *q = expr_max(ctx, K(0), expr_min(ctx, K(63), PLUS(DIV(expr_mul_const(ctx, i, 5), 3), 30)));
  const Expr *r = sum(MOD(i, 7), 8, MOD(DIV(PLUS(i, -3), 4), 8));
  nest_of(
      p, "euclid",
      LOOP(LOOP_FOR, i, BLOCK(COPY(AT(out, K(0), PLUS(i, 20)), AT(x, q)), COPY(AT(out, K(1), PLUS(i, 20)), AT(x, r)))));
  compare(p, NULL, EXACT);
}
END_TEST

/* Bounds over an outer variable, some of them empty: taps of a convolution. */
START_TEST(test_dynamic_bounds) {
  Buffer *x = input("x", F32(8, 16)), *w = input("w", F32(5)), *out = output("out", F32(12, 16));
  Buffer *acc = local_buffer(ctx, "acc", DT_F32, 1, (int64_t[]){16});
  const Expr *q = VAR("q", 0, 12), *v[3] = {VAR("v", 0, 16), VAR("v", 0, 16), VAR("v", 0, 16)};
  const Expr *k = expr_var(ctx, "k", expr_max(ctx, K(0), PLUS(q, -9)), expr_min(ctx, K(5), PLUS(q, -1)));
  const Expr *row = PLUS(expr_sub(ctx, q, k), -2);
  Stmt *add = STORE(AT(acc, v[1]), fma_of_args(ctx), AT(x, row, v[1]), AT(w, k), AT(acc, v[1]));
  nest_of(p, "taps",
          LOOP(LOOP_PARALLEL, q,
               BLOCK(stmt_local(ctx, acc), LOOP(LOOP_VECTOR, v[0], STORE0(AT(acc, v[0]), 0.25)),
                     LOOP(LOOP_FOR, k, LOOP(LOOP_VECTOR, v[1], add)),
                     LOOP(LOOP_VECTOR, v[2], COPY(AT(out, q, v[2]), AT(acc, v[2]))))));
  compare(p, NULL, CLOSE);
}
END_TEST

/* Loops that do not run, and those that run once. */
START_TEST(test_empty_loops) {
  Buffer *x = input("x", F32(4)), *out = output("out", F32(4));
  const Expr *i = VAR("i", 2, 2), *j = VAR("j", 0, 4), *k = VAR("k", 3, 1), *n = VAR("n", 1, 2), *m = VAR("m", 3, 4);
  nest_of(p, "all", LOOP(LOOP_PARALLEL, j, COPY(AT(out, j), AT(x, j))));
  nest_of(p, "never", LOOP(LOOP_PARALLEL, i, STORE0(AT(out, i), 7.0)));
  nest_of(p, "back", LOOP(LOOP_FOR, k, STORE0(AT(out, K(0)), 7.0)));
  nest_of(p, "once", LOOP(LOOP_PARALLEL, n, LOOP(LOOP_PARALLEL, m, STORE0(AT(out, expr_sub(ctx, m, n)), 5.0))));
  nest_of(p, "nothing", NULL);
  compare(p, NULL, EXACT);
}
END_TEST

/* The variables of parallel loops, with starts other than 0 and an inner bound over an outer variable. */
START_TEST(test_parallel_variables) {
  Buffer *x = input("x", F32(6, 5, 9)), *out = output("out", F32(6, 5, 9));
  const Expr *i = VAR("i", 1, 6), *j = VAR("j", 2, 5), *one = VAR("one", 4, 5);
  const Expr *l = expr_var(ctx, "l", i, expr_min(ctx, K(9), expr_add(ctx, i, j)));
  nest_of(p, "zero", LOOP(LOOP_FOR, VAR("z", 0, 1), STORE0(AT(out, K(0), K(0), K(0)), 0.0)));
  nest_of(p, "space",
          LOOP(LOOP_PARALLEL, i,
               LOOP(LOOP_PARALLEL, one,
                    LOOP(LOOP_PARALLEL, j,
                         LOOP(LOOP_PARALLEL, l, COPY(AT(out, i, j, l), AT(x, i, expr_sub(ctx, one, j), l)))))));
  compare(p, NULL, EXACT);
}
END_TEST

/* A local that is indexed by a loop variable cannot become registers and stays in memory. */
START_TEST(test_local_in_memory) {
  Buffer *x = input("x", F32(5, 7)), *out = output("out", F32(5, 7));
  Buffer *t = local_buffer(ctx, "t", DT_F32, 2, (int64_t[]){2, 7});
  const Expr *i = VAR("i", 0, 5), *a = VAR("a", 0, 7), *b = VAR("b", 0, 7);
  nest_of(p, "reverse",
          LOOP(LOOP_PARALLEL, i,
               BLOCK(stmt_local(ctx, t), LOOP(LOOP_FOR, a, COPY(AT(t, MOD(i, 2), a), AT(x, i, a))),
                     LOOP(LOOP_FOR, b, COPY(AT(out, i, b), AT(t, MOD(i, 2), expr_sub(ctx, K(6), b)))))));
  compare(p, NULL, EXACT);
}
END_TEST

/* ---- memory ---- */

START_TEST(test_constants_and_arena) {
  static const int64_t n = 19;
  float *w = ARENA_ARRAY(ctx->arena, float, n), *b = ARENA_ARRAY(ctx->arena, float, n);
  fill_random(w, n, 11);
  fill_random(b, n, 12);
  Buffer *weight =
      loops_add_buffer(p, "w", F32(n), BUF_CONSTANT, module_add_constant(p->module, "w", F32(n), w, LOC_NONE));
  Buffer *bias =
      loops_add_buffer(p, "b", F32(n), BUF_CONSTANT, module_add_constant(p->module, "b", F32(n), b, LOC_NONE));
  Buffer *x = input("x", F32(4, n)), *out = output("out", F32(4, n));
  Buffer *s = loops_add_buffer(p, "s", F32(4, n), BUF_ARENA, NULL);
  Buffer *t = loops_add_buffer(p, "t", F32(4, n), BUF_ARENA, NULL);
  const Scalar *mul = scalar_make2(ctx, SC_MUL, scalar_arg(ctx, 0), scalar_arg(ctx, 1));
  const Scalar *add = scalar_make2(ctx, SC_ADD, scalar_arg(ctx, 0), scalar_arg(ctx, 1));
  const Expr *i = VAR("i", 0, 4), *v = VAR("v", 0, n);
  nest_of(p, "mul", LOOP(LOOP_PARALLEL, i, LOOP(LOOP_VECTOR, v, STORE(AT(s, i, v), mul, AT(x, i, v), AT(weight, v)))));
  nest_of(p, "add", LOOP(LOOP_PARALLEL, i, LOOP(LOOP_VECTOR, v, STORE(AT(t, i, v), add, AT(s, i, v), AT(bias, v)))));
  nest_of(p, "sum", LOOP(LOOP_PARALLEL, i, LOOP(LOOP_VECTOR, v, STORE(AT(out, i, v), add, AT(s, i, v), AT(t, i, v)))));
  compare(p, NULL, EXACT);
}
END_TEST

/* ---- random layouts ---- */

typedef struct {
  uint64_t state;
} Random;

static int64_t below(Random *r, int64_t n) {
  r->state = r->state * 6364136223846793005ull + 1442695040888963407ull;
  return (int64_t)((r->state >> 33) % (uint64_t)n);
}

/* Each axis in one, two or three digits whose sizes divide its extent, all in any order. */
static const Layout *random_layout(Random *r, int rank, const int64_t *shape) {
  Digit digits[WEFT_MAX_DIGITS];
  int n = 0;
  for (int axis = 0; axis < rank; axis++) {
    int64_t rest = shape[axis], div = 1;
    for (int64_t size = 2; size <= rest; size++)
      if (rest % size == 0 && below(r, 2) && n + rank - axis < WEFT_MAX_DIGITS) {
        digits[n++] = (Digit){axis, div, size};
        div *= size;
        rest /= size;
      }
    digits[n++] = (Digit){axis, div, 0};
  }
  for (int k = n - 1; k > 0; k--) {
    int other = (int)below(r, k + 1);
    Digit d = digits[k];
    digits[k] = digits[other];
    digits[other] = d;
  }
  return layout_get(ctx, rank, digits, n, PAD_ANY);
}

/* The logical index of `axis` from the digits' variables. */
static const Expr *logical_index(const Layout *layout, const Expr *const *vars, int axis) {
  const Expr *e = K(0);
  for (int k = 0; k < layout->n; k++)
    if (layout->digits[k].axis == axis)
      e = sum(vars[k], layout->digits[k].div, e);
  return e;
}

/* A nest that copies x to y, over the digits of y, with loops of any kind. */
static void add_copy(Random *r, const char *name, Buffer *x, Buffer *y) {
  const Expr *vars[WEFT_MAX_DIGITS], *logical[WEFT_MAX_RANK], *from[WEFT_MAX_DIGITS];
  const Layout *target = y->type->layout;
  for (int k = 0; k < target->n; k++)
    vars[k] = VAR(arena_printf(ctx->arena, "d%d", k), 0, expr_value(layout_extent(ctx, target, y->type->dims, k)));
  for (int k = 0; k < y->type->rank; k++)
    logical[k] = logical_index(target, vars, k);
  layout_indices(ctx, x->type->layout, logical, from);
  Stmt *body = COPY(access_at(ctx, y, vars, target->n), access_at(ctx, x, from, x->type->layout->n));
  int parallel = (int)below(r, target->n + 1);
  for (int k = target->n - 1; k >= 0; k--) {
    LoopKind kind = k < parallel ? LOOP_PARALLEL : below(r, 4) ? LOOP_FOR : LOOP_UNROLL;
    if (k == target->n - 1 && below(r, 4))
      kind = LOOP_VECTOR;
    body = LOOP(kind, vars[k], body);
  }
  nest_of(p, name, body);
}

/* From one random layout to another; the first and the last copy are between these and plain order. */
static void random_copies(Random *r) {
  int64_t shape[3];
  int rank = 1 + (int)below(r, 3);
  for (int k = 0; k < rank; k++)
    shape[k] = 1 + below(r, 24);
  p = new_program(ctx);
  const Type *plain = type_static(ctx, DT_F32, rank, shape, NULL);
  Buffer *x = input("x", plain), *y = output("y", plain), *t[2];
  for (int k = 0; k < 2; k++)
    t[k] = loops_add_buffer(p, "t", type_with_layout(ctx, plain, random_layout(r, rank, shape)), BUF_ARENA, NULL);
  add_copy(r, "in", x, t[0]);
  add_copy(r, "between", t[0], t[1]);
  add_copy(r, "out", t[1], y);
}

START_TEST(test_random_layouts) {
  const char *given = getenv("WEFT_SEED");
  uint64_t seed = given ? strtoull(given, NULL, 0) : 20240607;
  printf("WEFT_SEED=%llu\n", (unsigned long long)seed);
  for (uint64_t k = 0; k < 60; k++) {
    Random r = {(seed + k) * 0x9e3779b97f4a7c15ull};
    random_copies(&r);
    const CpuTarget *t = &cpu_targets[k % 3];
    if (cpu_target_runs_here(t))
      compare_on(p, t, NULL, EXACT);
    ctx_destroy(ctx);
    ctx = ctx_create();
  }
}
END_TEST

Suite *suite_codegen(void);
Suite *suite_codegen(void) {
  Suite *s = suite_create("codegen");
  TCase *t = tcase_create("codegen");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, test_uniform_operands);
  tcase_add_test(t, test_matmul);
  tcase_add_test(t, test_odd_widths);
  tcase_add_test(t, test_strided);
  tcase_add_test(t, test_shifted_vectors);
  tcase_add_test(t, test_div_mod);
  tcase_add_test(t, test_index_arithmetic);
  tcase_add_test(t, test_dynamic_bounds);
  tcase_add_test(t, test_empty_loops);
  tcase_add_test(t, test_parallel_variables);
  tcase_add_test(t, test_local_in_memory);
  tcase_add_test(t, test_constants_and_arena);
  tcase_add_test(t, test_random_layouts);
  suite_add_tcase(s, t);
  return s;
}
