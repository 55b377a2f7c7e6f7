/* The interpreter of loop programs on small nests made by hand. Results are compared exactly (rtol 0, atol 0) with the
 * same float operations written in C. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lower/lower.h"
#include "lower/scalar_code.h"
#include "tests/unit/loop_build.h"

static Ctx *ctx;
static LoopProgram *p;

static void setup(void) {
  ctx = ctx_create();
  p = new_program(ctx);
}

static void teardown(void) {
  ctx_destroy(ctx);
}

static void run(const void *const *inputs, void *const *outputs) {
  ck_assert_msg(loops_check(p), "%s", diag_text(ctx->diags, false));
  ck_assert_msg(loops_interpret(p, inputs, outputs), "%s", diag_text(ctx->diags, false));
}

static void expect_error(const void *const *inputs, void *const *outputs, Status status, const char *part) {
  ck_assert(!loops_interpret(p, inputs, outputs));
  const char *text = diag_text(ctx->diags, false);
  ck_assert_msg(strstr(text, part) != NULL, "expected '%s' in: %s", part, text);
  ck_assert_int_eq(diag_status(ctx->diags), status);
}

static unsigned seed_of_run(void) {
  const char *text = getenv("WEFT_SEED");
  unsigned seed = text ? (unsigned)strtoul(text, NULL, 10) : 20240611u;
  printf("seed %u\n", seed);
  return seed;
}

/* ---- arithmetic ---- */

START_TEST(test_matmul) {
  enum { M = 5, R = 7, N = 8 };
  Buffer *a = loops_add_buffer(p, "a", F32(M, R), BUF_INPUT, NULL),
         *b = loops_add_buffer(p, "b", F32(R, N), BUF_INPUT, NULL);
  Buffer *c = loops_add_buffer(p, "c", F32(M, N), BUF_OUTPUT, NULL);
  Buffer *acc = local_buffer(ctx, "acc", DT_F32, 1, (int64_t[]){N});
  const Expr *m = VAR("m", 0, M), *k = VAR("k", 0, R), *v = VAR("v", 0, N), *u = VAR("v", 0, N), *w = VAR("v", 0, N);
  nest_of(
      p, "mm",
      LOOP(LOOP_PARALLEL, m,
           BLOCK(stmt_local(ctx, acc), LOOP(LOOP_VECTOR, v, STORE0(AT(acc, v), 0.0)),
                 LOOP(LOOP_FOR, k,
                      LOOP(LOOP_VECTOR, u, STORE(AT(acc, u), fma_of_args(ctx), AT(a, m, k), AT(b, k, u), AT(acc, u)))),
                 LOOP(LOOP_VECTOR, w, COPY(AT(c, m, w), AT(acc, w))))));
  float fa[M * R], fb[R * N], fc[M * N];
  for (int i = 0; i < M * R; i++)
    fa[i] = (float)(i * 37 % 19) / 7.0f - 1.0f;
  for (int i = 0; i < R * N; i++)
    fb[i] = (float)(i * 53 % 23) / 11.0f - 1.0f;
  run((const void *[]){fa, fb}, (void *[]){fc});
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      float sum = 0;
      for (int r = 0; r < R; r++)
        sum = fmaf(fa[i * R + r], fb[r * N + j], sum);
      ck_assert(fc[i * N + j] == sum);
    }
}
END_TEST

/* y[2 - q] and bounds over an outer variable, on a layout with the first axis last. */
START_TEST(test_strided_and_transposed) {
  const char *why;
  const Type *ba = type_static(ctx, DT_F32, 2, (int64_t[]){3, 4}, layout_parse(ctx, 2, "ba", 2, &why));
  Buffer *x = loops_add_buffer(p, "x", F32(12), BUF_INPUT, NULL), *y = loops_add_buffer(p, "y", ba, BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 4), *j = expr_var(ctx, "j", K(0), expr_min(ctx, K(3), PLUS(i, 1)));
  /* physical digits of y: [b, a] */
  nest_of(p, "n",
          LOOP(LOOP_FOR, i,
               LOOP(LOOP_UNROLL, VAR("u", 0, 1),
                    LOOP(LOOP_FOR, j,
                         COPY(AT(y, i, expr_sub(ctx, K(2), j)), AT(x, expr_add(ctx, expr_mul_const(ctx, i, 3), j)))))));
  float fx[12], fy[12];
  for (int k = 0; k < 12; k++)
    fx[k] = (float)(k + 1);
  run((const void *[]){fx}, (void *[]){fy});
  for (int b = 0; b < 4; b++)
    for (int a = 0; a < 3; a++) {
      int from = 2 - a;
      if (from < (b + 1 < 3 ? b + 1 : 3))
        ck_assert(fy[b * 3 + a] == fx[3 * b + from]);
      else
        ck_assert_msg(isnan(fy[b * 3 + a]), "what is never stored to stays poison");
    }
}
END_TEST

START_TEST(test_blocked_storage) {
  const char *why;
  const Layout *blocked = layout_parse(ctx, 2, "Ba4b", 4, &why);
  Buffer *x = loops_add_buffer(p, "x", F32(3, 6), BUF_INPUT, NULL);
  Buffer *y = loops_add_buffer(p, "y", type_static(ctx, DT_F32, 2, (int64_t[]){3, 6}, blocked), BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 3), *c = VAR("c", 0, 6);
  nest_of(
      p, "n",
      LOOP(LOOP_FOR, i,
           LOOP(LOOP_FOR, c, COPY(AT(y, expr_floordiv_const(ctx, c, 4), i, expr_mod_const(ctx, c, 4)), AT(x, i, c)))));
  float fx[18], fy[24];
  for (int k = 0; k < 18; k++)
    fx[k] = (float)k;
  run((const void *[]){fx}, (void *[]){fy});
  for (int b = 0; b < 2; b++)
    for (int a = 0; a < 3; a++)
      for (int l = 0; l < 4; l++) {
        float got = fy[(b * 3 + a) * 4 + l];
        if (b * 4 + l < 6)
          ck_assert(got == fx[a * 6 + b * 4 + l]);
        else
          ck_assert_msg(isnan(got), "padding lanes stay poison");
      }
}
END_TEST

START_TEST(test_constants_and_intrinsics) {
  float *data = ARENA_ARRAY(ctx->arena, float, 4);
  for (int k = 0; k < 4; k++)
    data[k] = (float)(k - 2) * 1.5f;
  Constant *c = module_add_constant(p->module, "c", F32(4), data, LOC_NONE);
  Buffer *b = loops_add_buffer(p, "c", c->type, BUF_CONSTANT, c),
         *y = loops_add_buffer(p, "y", F32(4), BUF_OUTPUT, NULL);
  const Expr *v = VAR("v", 0, 4);
  const Scalar *value = scalar_make1(ctx, SC_TANH, scalar_arg(ctx, 0));
  nest_of(p, "n", LOOP(LOOP_VECTOR, v, STORE(AT(y, v), value, AT(b, v))));
  float fy[4];
  run(NULL, (void *[]){fy});
  for (int k = 0; k < 4; k++) {
    ScalarValue operand = {.f = (double)data[k]};
    ck_assert((double)fy[k] == scalar_eval_compiled(scalar_expand(ctx, value), &operand).f);
    ck_assert(fabs((double)fy[k] - tanh((double)data[k])) <= 1e-6);
  }
}
END_TEST

/* Random expressions: straight-line code and the recursive evaluation give the same bits (NaN equals NaN). */
START_TEST(test_scalar_code) {
  static const ScalarOp arithmetic[] = {SC_ADD, SC_SUB, SC_MUL,   SC_DIV,  SC_NEG, SC_FMA,  SC_MIN,
                                        SC_MAX, SC_ABS, SC_FLOOR, SC_SQRT, SC_EXP, SC_TANH, SC_SIGMOID};
  static const ScalarOp compare[] = {SC_LT, SC_LE, SC_GT, SC_GE, SC_EQ, SC_NE};
  static const float values[] = {0.0f, -0.0f, 1.0f, -1.5f, 3.25f, 1e-40f, 1e30f, -88.5f, INFINITY, -INFINITY, NAN};
  enum { N_VALUES = sizeof values / sizeof *values, N_ARITHMETIC = sizeof arithmetic / sizeof *arithmetic };
  srand(seed_of_run());
  for (int round = 0; round < 2000; round++) {
    const Scalar *pool[24];
    int n = 0;
    for (int k = 0; k < 4; k++)
      pool[n++] = scalar_arg(ctx, k);
    pool[n++] = scalar_const(ctx, 0.5);
    pool[n++] = scalar_const(ctx, -3);
    while (n < 14) {
      const Scalar *a = pool[rand() % n], *b = pool[rand() % n], *c = pool[rand() % n];
      if (rand() % 4 == 0) {
        const Scalar *is = scalar_make2(ctx, compare[rand() % 6], a, b);
        pool[n++] = scalar_make3(ctx, SC_SELECT, is, b, c);
        continue;
      }
      ScalarOp op = arithmetic[rand() % N_ARITHMETIC];
      pool[n++] = scalar_make(ctx, op, (const Scalar *[]){a, b, c});
    }
    const Scalar *s = pool[n - 1];
    ScalarCode code = scalar_code(ctx, ctx->arena, s, 4);
    ScalarValue args[4];
    for (int k = 0; k < 4; k++) {
      args[k].f = (double)values[rand() % N_VALUES];
      code.registers[k] = args[k];
    }
    double want = scalar_eval_compiled(scalar_expand(ctx, s), args).f, got = scalar_code_run(&code).f;
    ck_assert_msg(memcmp(&want, &got, sizeof got) == 0 || (isnan(want) && isnan(got)), "%a, expected %a", got, want);
  }
}
END_TEST

START_TEST(test_exp2i) {
  const Scalar *s = scalar_make1(ctx, SC_EXP2I, scalar_arg(ctx, 0));
  ScalarCode code = scalar_code(ctx, ctx->arena, s, 1);
  for (int n = -126; n <= 127; n++) {
    code.registers[0].f = n;
    ck_assert(scalar_code_run(&code).f == ldexp(1, n));
  }
}
END_TEST

/* ---- element types and index statements ---- */

static Buffer *typed(const char *name, DType dtype, int64_t n, BufferSpace space) {
  return loops_add_buffer(p, name, type_static(ctx, dtype, 1, &n, NULL), space, NULL);
}

/* y = x[idx[i]] with indices from the end; number = 3 * j + i. */
static void pick(DType x_type, DType y_type) {
  Buffer *idx = typed("idx", DT_I32, 6, BUF_INPUT), *x = typed("x", x_type, 4, BUF_INPUT);
  Buffer *y = typed("y", y_type, 6, BUF_OUTPUT), *number = typed("number", DT_I64, 6, BUF_OUTPUT);
  const Expr *i = VAR("i", 0, 6), *j = VAR("j", 0, 4);
  const Expr **at = ARENA_NEW(ctx->arena, const Expr *);
  *at = expr_add(ctx, expr_mul_const(ctx, j, 3), i);
  const Scalar *read = scalar_cast(ctx, scalar_arg_typed(ctx, 0, DT_I32), DT_I64);
  const Scalar *value = scalar_make3(ctx, SC_SELECT, scalar_make2(ctx, SC_LT, read, scalar_const_int(ctx, DT_I64, 0)),
                                     scalar_make2(ctx, SC_ADD, read, scalar_const_int(ctx, DT_I64, 4)), read);
  nest_of(p, "n",
          LOOP(LOOP_PARALLEL, i,
               BLOCK(stmt_index(ctx, j, value, (Access[]){AT(idx, i)}, 1), COPY(AT(y, i), AT(x, j)),
                     STORE(AT(number, i), scalar_arg_typed(ctx, 0, DT_I64), ((Access){NULL, at})))))
      ->what = "gather+relu";
}

START_TEST(test_index_statement) {
  pick(DT_F16, DT_BF16);
  static const int32_t idx[6] = {3, -4, 0, -1, 2, 1};
  static const uint16_t x[4] = {0x3c00, 0xc000, 0x3800, 0x0001},
                        want[6] = {0x3380, 0x3f80, 0x3f80, 0x3380, 0x3f00, 0xc000};
  uint16_t y[6];
  int64_t number[6];
  run((const void *[]){idx, x}, (void *[]){y, number});
  for (int k = 0; k < 6; k++) {
    ck_assert_uint_eq(y[k], want[k]);
    ck_assert_int_eq(number[k], 3 * ((idx[k] + 4) % 4) + k);
  }
}
END_TEST

/* The value of the first one out of range is named; elements are those of the clamped index. */
START_TEST(test_index_out_of_range) {
  pick(DT_F32, DT_F32);
  static const int32_t idx[6] = {3, 0, -5, 0, 9, 1};
  static const float x[4] = {1, 2, 3, 4}, want[6] = {4, 1, 1, 1, 4, 2};
  float y[6];
  int64_t number[6];
  expect_error((const void *[]){idx, x}, (void *[]){y, number}, WEFT_MALFORMED,
               "nest '@n': index out of range in gather+relu: 'j' is -1, expected a number in 0..4");
  for (int k = 0; k < 6; k++)
    ck_assert(y[k] == want[k]);
}
END_TEST

/* An empty range: what follows in the block does not run. */
START_TEST(test_index_in_an_empty_range) {
  Buffer *x = typed("x", DT_F32, 4, BUF_INPUT), *y = typed("y", DT_F32, 4, BUF_OUTPUT);
  const Expr *i = VAR("i", 0, 4), *j = expr_var(ctx, "j", K(0), i);
  Access zero = {NULL, (const Expr *[]){K(0)}};
  nest_of(p, "n",
          LOOP(LOOP_FOR, i,
               BLOCK(stmt_index(ctx, j, scalar_arg_typed(ctx, 0, DT_I64), &zero, 1), COPY(AT(y, i), AT(x, j)))));
  static const float x4[4] = {1, 2, 3, 4};
  float y4[4];
  ck_assert(loops_check(p));
  expect_error((const void *[]){x4}, (void *[]){y4}, WEFT_MALFORMED, "'j' is 0, expected a number in 0..0");
  ck_assert(isnan(y4[0]));
  for (int k = 1; k < 4; k++)
    ck_assert(y4[k] == 1.0f);
}
END_TEST

/* ---- poison ---- */

START_TEST(test_local_is_poison_each_time) {
  Buffer *x = loops_add_buffer(p, "x", F32(3), BUF_INPUT, NULL),
         *y = loops_add_buffer(p, "y", F32(3, 2), BUF_OUTPUT, NULL);
  Buffer *a = local_buffer(ctx, "a", DT_F32, 1, (int64_t[]){1});
  const Expr *i = VAR("i", 0, 3);
  nest_of(p, "n",
          LOOP(LOOP_FOR, i,
               BLOCK(stmt_local(ctx, a), COPY(AT(y, i, K(0)), AT(a, K(0))), COPY(AT(a, K(0)), AT(x, i)),
                     COPY(AT(y, i, K(1)), AT(a, K(0))))));
  float fx[3] = {1, 2, 3}, fy[6];
  run((const void *[]){fx}, (void *[]){fy});
  for (int k = 0; k < 3; k++) {
    ck_assert(isnan(fy[2 * k]));
    ck_assert(fy[2 * k + 1] == fx[k]);
  }
}
END_TEST

/* t and u have lives that do not meet, so the plan gives them one place; what t held must not shine through u. */
START_TEST(test_arena_is_poison_at_first_writer) {
  Buffer *x = loops_add_buffer(p, "x", F32(16), BUF_INPUT, NULL);
  Buffer *y = loops_add_buffer(p, "y", F32(16), BUF_OUTPUT, NULL),
         *z = loops_add_buffer(p, "z", F32(16), BUF_OUTPUT, NULL);
  Buffer *t = loops_add_buffer(p, "t", F32(16), BUF_ARENA, NULL),
         *u = loops_add_buffer(p, "u", F32(16), BUF_ARENA, NULL);
  const Expr *a = VAR("i", 0, 16), *b = VAR("i", 0, 16), *c = VAR("i", 0, 8), *d = VAR("i", 0, 16);
  nest_of(p, "a", LOOP(LOOP_PARALLEL, a, COPY(AT(t, a), AT(x, a))));
  nest_of(p, "b", LOOP(LOOP_PARALLEL, b, COPY(AT(y, b), AT(t, b))));
  nest_of(p, "c", LOOP(LOOP_PARALLEL, c, COPY(AT(u, c), AT(x, c))));
  nest_of(p, "d", LOOP(LOOP_PARALLEL, d, COPY(AT(z, d), AT(u, d))));
  float fx[16], fy[16], fz[16];
  for (int k = 0; k < 16; k++)
    fx[k] = (float)k;
  for (int planned = 0; planned < 2; planned++) {
    run((const void *[]){fx}, (void *[]){fy, fz});
    for (int k = 0; k < 16; k++) {
      ck_assert(fy[k] == fx[k]);
      ck_assert(k < 8 ? fz[k] == fx[k] : isnan(fz[k]));
    }
    ck_assert(plan_memory(p));
    ck_assert_int_eq(expr_value(p->arena_bytes), 64);
  }
}
END_TEST

/* ---- faults ---- */

START_TEST(test_read_out_of_bounds) {
  Buffer *x = loops_add_buffer(p, "x", F32(4, 3), BUF_INPUT, NULL),
         *y = loops_add_buffer(p, "y", F32(4), BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 4);
  nest_of(p, "bad", LOOP(LOOP_FOR, i, COPY(AT(y, i), AT(x, K(0), i))));
  float fx[12] = {0}, fy[4];
  expect_error((const void *[]){fx}, (void *[]){fy}, WEFT_BUG,
               "nest '@bad': index 1 of %x[0, i] is 3, outside of its extent 3");
  ck_assert(!isnan(fy[2]));
  ck_assert(isnan(fy[3]));
}
END_TEST

START_TEST(test_store_out_of_bounds) {
  Buffer *y = loops_add_buffer(p, "y", F32(4), BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 4);
  nest_of(p, "bad", LOOP(LOOP_FOR, i, STORE0(AT(y, PLUS(i, -1)), 0.0)));
  float fy[4];
  expect_error(NULL, (void *[]){fy}, WEFT_BUG, "nest '@bad': index 0 of %y[i - 1] is -1, outside of its extent 4");
}
END_TEST

START_TEST(test_variable_out_of_scope) {
  Buffer *y = loops_add_buffer(p, "y", F32(4), BUF_OUTPUT, NULL);
  nest_of(p, "bad", STORE0(AT(y, VAR("i", 0, 4)), 0.0));
  float fy[4];
  expect_error(NULL, (void *[]){fy}, WEFT_BUG,
               "an index of %y[i] is neither over constants nor over variables in scope");
}
END_TEST

START_TEST(test_store_to_input) {
  Buffer *x = loops_add_buffer(p, "x", F32(4), BUF_INPUT, NULL);
  nest_of(p, "bad", STORE0(AT(x, K(0)), 0.0));
  float fx[4] = {1, 2, 3, 4};
  expect_error((const void *[]){fx}, NULL, WEFT_BUG, "%x[0] is stored to, but is an input or a constant");
  ck_assert(fx[0] == 1);
}
END_TEST

/* y[(3*i + j) div 4]: neighbours meet in an element although the index names the parallel variable. */
START_TEST(test_parallel_conflict) {
  Buffer *y = loops_add_buffer(p, "y", F32(4), BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 4), *j = VAR("j", 0, 3);
  const Expr *index = expr_floordiv_const(ctx, expr_add(ctx, expr_mul_const(ctx, i, 3), j), 4);
  nest_of(p, "race", LOOP(LOOP_PARALLEL, i, LOOP(LOOP_FOR, j, STORE0(AT(y, index), 0.0))));
  float fy[4];
  ck_assert(loops_check(p));
  expect_error(NULL, (void *[]){fy}, WEFT_BUG,
               "nest '@race': two iterations of a parallel loop meet in element 0 of %y[");
}
END_TEST

START_TEST(test_parallel_read_of_neighbour) {
  Buffer *y = loops_add_buffer(p, "y", F32(5), BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 4);
  nest_of(p, "race", LOOP(LOOP_PARALLEL, i, COPY(AT(y, PLUS(i, 1)), AT(y, i))));
  float fy[5];
  expect_error(NULL, (void *[]){fy}, WEFT_BUG, "two iterations of a parallel loop meet in element 1 of %y[i]");
}
END_TEST

START_TEST(test_parallel_loops_in_turn) {
  Buffer *y = loops_add_buffer(p, "y", F32(4), BUF_OUTPUT, NULL),
         *z = loops_add_buffer(p, "z", F32(4), BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 4), *j = VAR("j", 0, 4);
  nest_of(p, "n",
          BLOCK(LOOP(LOOP_PARALLEL, i, STORE0(AT(y, i), 2.0)),
                LOOP(LOOP_PARALLEL, j, COPY(AT(z, j), AT(y, expr_sub(ctx, K(3), j))))));
  float fy[4], fz[4];
  run(NULL, (void *[]){fy, fz});
  for (int k = 0; k < 4; k++)
    ck_assert(fz[k] == 2.0f);
}
END_TEST

START_TEST(test_symbolic_is_refused) {
  Dim n = expr_sym(ctx, "N", 1, 8);
  loops_add_buffer(p, "y", type_get(ctx, DT_F32, 1, &n, NULL), BUF_OUTPUT, NULL);
  float fy[8];
  expect_error(NULL, (void *[]){fy}, WEFT_UNSUPPORTED, "the interpreter runs programs of constant shapes only");
}
END_TEST

START_TEST(test_huge_arena_is_refused) {
  Buffer *t = loops_add_buffer(p, "t", F32((int64_t)1 << 38), BUF_ARENA, NULL);
  nest_of(p, "n", STORE0(AT(t, K(0)), 0.0));
  expect_error(NULL, NULL, WEFT_UNSUPPORTED, "the interpreter's limit");
}
END_TEST

START_TEST(test_empty_buffers) {
  Buffer *x = loops_add_buffer(p, "x", F32(0, 3), BUF_INPUT, NULL),
         *y = loops_add_buffer(p, "y", F32(0, 3), BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 0), *j = VAR("j", 0, 3);
  nest_of(p, "n", LOOP(LOOP_PARALLEL, i, LOOP(LOOP_FOR, j, COPY(AT(y, i, j), AT(x, i, j)))));
  run((const void *[]){NULL}, (void *[]){NULL});
}
END_TEST

Suite *suite_loop_interp(void);
Suite *suite_loop_interp(void) {
  Suite *s = suite_create("loop_interp");
  TCase *tc = tcase_create("loop_interp");
  tcase_set_timeout(tc, 30);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, test_matmul);
  tcase_add_test(tc, test_strided_and_transposed);
  tcase_add_test(tc, test_blocked_storage);
  tcase_add_test(tc, test_constants_and_intrinsics);
  tcase_add_test(tc, test_scalar_code);
  tcase_add_test(tc, test_exp2i);
  tcase_add_test(tc, test_index_statement);
  tcase_add_test(tc, test_index_out_of_range);
  tcase_add_test(tc, test_index_in_an_empty_range);
  tcase_add_test(tc, test_local_is_poison_each_time);
  tcase_add_test(tc, test_arena_is_poison_at_first_writer);
  tcase_add_test(tc, test_read_out_of_bounds);
  tcase_add_test(tc, test_store_out_of_bounds);
  tcase_add_test(tc, test_variable_out_of_scope);
  tcase_add_test(tc, test_store_to_input);
  tcase_add_test(tc, test_parallel_conflict);
  tcase_add_test(tc, test_parallel_read_of_neighbour);
  tcase_add_test(tc, test_parallel_loops_in_turn);
  tcase_add_test(tc, test_symbolic_is_refused);
  tcase_add_test(tc, test_huge_arena_is_refused);
  tcase_add_test(tc, test_empty_buffers);
  suite_add_tcase(s, tc);
  return s;
}
