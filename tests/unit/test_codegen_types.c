/* Generated code in every element type: each scalar operation and cast against scalar_eval_compiled, conversions of f16
 * and bf16 against ir/tensor.c, and index statements. Integers are compared bit for bit; floats too (NaN equal to NaN)
 * but for fma without the instruction and for intrinsics (RTOL, ATOL), whose polynomials may be contracted. */
#include <float.h>
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

static const Type *vector_type(DType dtype, int64_t n) {
  return type_static(ctx, dtype, 1, &n, NULL);
}

static Buffer *input(const char *name, DType dtype, int64_t n) {
  return loops_add_buffer(p, name, vector_type(dtype, n), BUF_INPUT, NULL);
}

static Buffer *output(const char *name, DType dtype, int64_t n) {
  return loops_add_buffer(p, name, vector_type(dtype, n), BUF_OUTPUT, NULL);
}

/* ---- special values ---- */

static const double special_floats[] = {0.0,
                                        -0.0,
                                        1.0,
                                        -1.0,
                                        0.5,
                                        -0.5,
                                        1.5,
                                        -2.5,
                                        2.5,
                                        3.999999,
                                        1e-45,
                                        -1e-45,
                                        FLT_MIN,
                                        -1.1e-38,
                                        FLT_MAX,
                                        -3.4e38,
                                        INFINITY,
                                        -INFINITY,
                                        NAN,
                                        -NAN,
                                        8388607.5,
                                        -8388608.5,
                                        16777216.0,
                                        2147483648.0,
                                        1e10,
                                        -1e-10,
                                        87.5,
                                        -100.0,
                                        126.0,
                                        -126.0,
                                        127.0,
                                        0.1,
                                        1.0 / 3.0,
                                        127.5,
                                        128.0,
                                        -128.5,
                                        -129.0,
                                        255.5,
                                        256.0,
                                        -0.99,
                                        32767.5,
                                        -32769.0,
                                        65535.5,
                                        65536.0,
                                        2147483647.5,
                                        4294967295.5,
                                        4294967296.0,
                                        9.223372036854775e18,
                                        9.2233720368547758e18,
                                        -9.3e18,
                                        1.8446744073709550e19,
                                        1.9e19,
                                        -1e300,
                                        1e-320,
                                        DBL_MIN,
                                        DBL_MAX};
static const int64_t special_ints[] = {0,          1,
                                       -1,         2,
                                       -2,         3,
                                       7,          -7,
                                       10,         63,
                                       100,        -100,
                                       126,        127,
                                       128,        -127,
                                       -128,       -129,
                                       255,        256,
                                       32767,      -32768,
                                       65535,      INT32_MAX,
                                       INT32_MIN,  (int64_t)INT32_MIN + 1,
                                       UINT32_MAX, INT64_MAX,
                                       INT64_MIN,  INT64_MIN + 1,
                                       1000000007};
#define N_FLOATS ((int64_t)(sizeof special_floats / sizeof *special_floats))
#define N_INTS ((int64_t)(sizeof special_ints / sizeof *special_ints))

/* An integer as one of this type: its low bits. */
static int64_t wrap(int64_t v, DType dtype) {
  int shift = 64 - (int)dtype_size(dtype) * 8;
  if (dtype == DT_BOOL)
    return v & 1;
  return dtype_is_signed(dtype) ? (int64_t)((uint64_t)v << shift) >> shift : (int64_t)((uint64_t)v << shift >> shift);
}

static int64_t count_of(DType dtype) {
  return dtype_is_float(dtype) ? N_FLOATS : N_INTS;
}

static ScalarValue special_value(DType dtype, int64_t k) {
  if (dtype == DT_F64)
    return (ScalarValue){.f = special_floats[k]};
  if (dtype_is_float(dtype))
    return (ScalarValue){.f = (double)(float)special_floats[k]};
  return (ScalarValue){.i = wrap(special_ints[k], dtype)};
}

/* ---- elements ---- */

static void put(void *data, DType dtype, int64_t i, ScalarValue v) {
  char *at = (char *)data + (size_t)i * dtype_size(dtype);
  float f = (float)v.f;
  if (dtype == DT_F32)
    memcpy(at, &f, sizeof f);
  else if (dtype == DT_F64)
    memcpy(at, &v.f, sizeof v.f);
  else
    memcpy(at, &v.i, dtype_size(dtype)); /* little-endian */
}

static ScalarValue get(const void *data, DType dtype, int64_t i) {
  const char *at = (const char *)data + (size_t)i * dtype_size(dtype);
  ScalarValue v = {.i = 0};
  float f;
  if (dtype == DT_F32) {
    memcpy(&f, at, sizeof f);
    v.f = (double)f;
  } else if (dtype == DT_F64) {
    memcpy(&v.f, at, sizeof v.f);
  } else {
    memcpy(&v.i, at, dtype_size(dtype));
    v.i = wrap(v.i, dtype);
  }
  return v;
}

static bool same_value(ScalarValue a, ScalarValue b, DType dtype, Compare how) {
  return dtype_is_float(dtype) ? same_number(a.f, b.f, how) : a.i == b.i;
}

/* ---- operations ---- */

#define MAX_CASES 200

typedef struct {
  const char *name;
  const Scalar *value;
  Compare how;
} Case;

typedef struct {
  DType types[3]; /* of the operands */
  int n_args;
  int64_t n; /* points */
  void *inputs[3];
  int n_cases;
  Case cases[MAX_CASES];
} Cases;

/* Every pair of special values as the first two operands, another one as the third. */
static void fill_inputs(Cases *c) {
  int64_t a = count_of(c->types[0]), b = c->n_args > 1 ? count_of(c->types[1]) : 1;
  c->n = (a * b + 15) / 16 * 16;
  for (int k = 0; k < c->n_args; k++) {
    c->inputs[k] = arena_alloc(ctx->arena, (size_t)c->n * 8);
    for (int64_t i = 0; i < c->n; i++)
      put(c->inputs[k], c->types[k], i,
          special_value(c->types[k], (k == 0   ? i
                                      : k == 1 ? i / a
                                               : i * 7 + 3) %
                                         count_of(c->types[k])));
  }
}

static void add_case(Cases *c, const char *name, const Scalar *value, Compare how) {
  ck_assert_int_lt(c->n_cases, MAX_CASES);
  c->cases[c->n_cases++] = (Case){name, value, how};
}

/* One program: each case in a nest by vectors and in one by single elements, an output each. */
static void run_cases(const Cases *c, const CpuTarget *t) {
  static const LoopKind kinds[] = {LOOP_VECTOR, LOOP_FOR};
  Access args[3];
  p = new_program(ctx);
  Buffer *in[3] = {NULL};
  for (int k = 0; k < c->n_args; k++)
    in[k] = input("in", c->types[k], c->n);
  for (int k = 0; k < c->n_cases; k++)
    for (int j = 0; j < 2; j++) {
      const Expr *i = VAR("i", 0, c->n / 16), *v = VAR("v", 0, 16);
      const Expr *at = expr_add(ctx, expr_mul_const(ctx, i, 16), v);
      for (int a = 0; a < c->n_args; a++)
        args[a] = AT(in[a], at);
      Buffer *out = output("out", c->cases[k].value->dtype, c->n);
      Stmt *store = stmt_store(ctx, AT(out, at), c->cases[k].value, args, c->n_args);
      nest_of(p, c->cases[k].name, LOOP(LOOP_FOR, i, LOOP(kinds[j], v, store)));
    }
  Jit *jit = compile_on(p, t);
  void **out = new_buffers(ctx, p->outputs.data, p->outputs.len);
  ck_assert_msg(weft_rt_run(jit_model(jit), (const void *const *)c->inputs, out) == 0, "%s", weft_rt_error());
  for (int k = 0; k < c->n_cases; k++) {
    const Scalar *expanded = scalar_expand(ctx, c->cases[k].value);
    DType type = expanded->dtype;
    for (int64_t i = 0; i < c->n; i++) {
      ScalarValue operands[3];
      for (int a = 0; a < c->n_args; a++)
        operands[a] = get(c->inputs[a], c->types[a], i);
      ScalarValue want = scalar_eval_compiled(expanded, operands);
      for (int j = 0; j < 2; j++) {
        ScalarValue got = get(out[2 * k + j], type, i);
        if (!same_value(got, want, type, c->cases[k].how)) /* an assertion that holds costs a system call */
          ck_abort_msg("%s, %s of %s, %s, operands %a = %lld and %a = %lld: %a = %lld, expected %a = %lld", t->name,
                       c->cases[k].name, dtype_name(c->types[0]), j ? "single" : "vector", operands[0].f,
                       (long long)operands[0].i, operands[c->n_args > 1].f, (long long)operands[c->n_args > 1].i, got.f,
                       (long long)got.i, want.f, (long long)want.i);
      }
    }
  }
  jit_close(jit);
}

static const CpuTarget *target(int level) {
  const CpuTarget *t = &cpu_targets[level];
  return cpu_target_runs_here(t) ? t : NULL;
}

static const DType compute_types[] = {DT_F32, DT_F64, DT_I8,  DT_U8,  DT_I16, DT_U16,
                                      DT_I32, DT_U32, DT_I64, DT_U64, DT_BOOL};
#define N_COMPUTE ((int)(sizeof compute_types / sizeof *compute_types))

static const Scalar *operation(ScalarOp op, DType type, const CpuTarget *t, Compare *how) {
  const Scalar *args[3];
  for (int k = 0; k < 3; k++)
    args[k] = scalar_arg_typed(ctx, k, type);
  if (op == SC_CONST || op == SC_ARG || op == SC_CAST)
    return NULL;
  if (op == SC_SELECT)
    args[0] = scalar_make2(ctx, SC_LT, args[0], args[1]);
  if (op == SC_EXP2I) { /* outside of its range any number is right */
    if (!dtype_is_float(type))
      return NULL;
    args[0] = scalar_make1(ctx, SC_FLOOR, args[0]);
    args[0] = scalar_make2(ctx, SC_MAX, args[0], scalar_const_typed(ctx, type, -126));
    args[0] = scalar_make2(ctx, SC_MIN, args[0], scalar_const_typed(ctx, type, 127));
  }
  *how = scalar_op_is_intrinsic(op) ? CLOSE : EXACT;
  if (op == SC_FMA && dtype_is_float(type) && !(t->needs & WEFT_CPU_FMA)) {
    *how = CLOSE; /* positive operands keep the double rounding away from cancellation */
    for (int k = 0; k < 3; k++)
      args[k] = scalar_make1(ctx, SC_ABS, args[k]);
  }
  return scalar_mismatch(op, args) ? NULL : scalar_make(ctx, op, args);
}

START_TEST(test_operations) {
  DType type = compute_types[_i % N_COMPUTE];
  const CpuTarget *t = target(_i / N_COMPUTE);
  if (!t)
    return;
  Cases c = {.types = {type, type, type}, .n_args = 3};
  for (int op = 0; op < SC_COUNT; op++) {
    Compare how;
    const Scalar *value = operation((ScalarOp)op, type, t, &how);
    if (value)
      add_case(&c, scalar_op_name((ScalarOp)op), value, how);
  }
  ck_assert_int_ge(c.n_cases, type == DT_BOOL ? 6 : 14);
  fill_inputs(&c);
  run_cases(&c, t);
}
END_TEST

START_TEST(test_casts) {
  DType from = compute_types[_i % N_COMPUTE];
  const CpuTarget *t = target(_i / N_COMPUTE);
  if (!t)
    return;
  Cases c = {.types = {from}, .n_args = 1};
  for (int k = 0; k < N_COMPUTE; k++)
    add_case(&c, dtype_name(compute_types[k]), scalar_cast(ctx, scalar_arg_typed(ctx, 0, from), compute_types[k]),
             EXACT);
  fill_inputs(&c);
  run_cases(&c, t);
}
END_TEST

/* Vectors of every number of lanes, with values of 1 to 8 bytes in one expression. */
START_TEST(test_mixed_widths) {
  const CpuTarget *t = target(_i);
  if (!t)
    return;
  for (int64_t w = 1; w <= 41; w += w < 5 ? 1 : 12) {
    p = new_program(ctx);
    Buffer *b = input("b", DT_BOOL, w), *u = input("u", DT_U8, w), *s = input("s", DT_I16, w);
    Buffer *h = input("h", DT_F16, w), *f = input("f", DT_F32, w), *l = input("l", DT_I64, w);
    Buffer *g = input("g", DT_BF16, w);
    const Expr *v = VAR("v", 0, w);
    Access reads[] = {AT(b, v), AT(u, v), AT(s, v), AT(h, v), AT(f, v), AT(l, v), AT(g, v)};
    const Scalar *args[7], *sum = scalar_const_typed(ctx, DT_F64, 0);
    static const DType outs[] = {DT_F64, DT_F32, DT_F16, DT_BF16, DT_U8, DT_I16, DT_I64, DT_BOOL};
    for (int k = 0; k < 7; k++) {
      args[k] = scalar_arg_typed(ctx, k, access_dtype(reads[k]));
      sum = scalar_make2(ctx, SC_ADD, sum, scalar_cast(ctx, args[k], DT_F64));
    }
    sum = scalar_make3(ctx, SC_SELECT, args[0], sum, scalar_make1(ctx, SC_NEG, sum));
    Stmt *body = NULL;
    for (size_t k = 0; k < sizeof outs / sizeof *outs; k++)
      stmt_append(&body, stmt_store(ctx, AT(output("out", outs[k], w), v),
                                    scalar_cast(ctx, sum, dtype_compute(outs[k])), reads, 7));
    nest_of(p, "mix", LOOP(LOOP_VECTOR, v, body));
    compare_on(p, t, NULL, EXACT);
  }
}
END_TEST

/* Ports of every element type: what the caller is told, and that copies keep all bits. */
START_TEST(test_ports) {
  static const int64_t n = 21;
  for (int k = 0; k < DT_COUNT; k++) {
    const Expr *v = VAR("v", 0, n);
    Buffer *x = input("x", (DType)k, n), *y = output("y", (DType)k, n);
    Access read = AT(x, v);
    nest_of(p, "copy", LOOP(LOOP_VECTOR, v, STORE(AT(y, v), scalar_arg_typed(ctx, 0, access_dtype(read)), read)));
  }
  compare(p, NULL, EXACT);
  Jit *jit = compile_on(p, target(0));
  const WeftModel *model = jit_model(jit);
  ck_assert_int_eq(model->n_inputs, DT_COUNT);
  for (int k = 0; k < DT_COUNT; k++) {
    int64_t size = (int64_t)dtype_size((DType)k);
    ck_assert_int_eq(model->inputs[k].align, size);
    ck_assert_int_eq(model->outputs[k].bytes, n * size);
    const char *said = arena_printf(ctx->arena, "\"dtype\":\"%s\",\"shape\":[21]", dtype_name((DType)k));
    ck_assert_msg(strstr(model->info, said) != NULL, "%s is not in %s", said, model->info);
  }
  jit_close(jit);
}
END_TEST

/* ---- f16 and bf16 ---- */

/* All 65536 values, read as f32 and stored as they were; in vectors and one by one. */
START_TEST(test_half_round_trip) {
  static const DType halves[] = {DT_F16, DT_BF16};
  const CpuTarget *t = target(_i / 2);
  DType half = halves[_i % 2];
  enum { N = 65536 };
  if (!t)
    return;
  Buffer *x = input("x", half, N);
  Buffer *same[2] = {output("vector", half, N), output("single", half, N)};
  Buffer *wide[2] = {output("vector32", DT_F32, N), output("single32", DT_F32, N)};
  for (int k = 0; k < 2; k++) {
    const Expr *i = VAR("i", 0, N / 64), *v = VAR("v", 0, 64), *at = expr_add(ctx, expr_mul_const(ctx, i, 64), v);
    nest_of(p, "trip",
            LOOP(LOOP_FOR, i,
                 LOOP(k ? LOOP_FOR : LOOP_VECTOR, v,
                      BLOCK(COPY(AT(same[k], at), AT(x, at)), COPY(AT(wide[k], at), AT(x, at))))));
  }
  uint16_t *bits = ARENA_ARRAY(ctx->arena, uint16_t, N);
  for (int k = 0; k < N; k++)
    bits[k] = (uint16_t)k;
  Jit *jit = compile_on(p, t);
  void **out = new_buffers(ctx, p->outputs.data, p->outputs.len);
  ck_assert_int_eq(weft_rt_run(jit_model(jit), (const void *[]){bits}, out), 0);
  Tensor numbers = {.dtype = half, .rank = 1, .shape = {N}, .n = N, .data = bits};
  for (int k = 0; k < N; k++)
    for (int j = 0; j < 2; j++) {
      double want = tensor_get(&numbers, k), got = (double)((const float *)out[2 + j])[k];
      uint16_t back = ((const uint16_t *)out[j])[k];
      if (!same_number(got, want, EXACT))
        ck_abort_msg("%s: %04x is %a, expected %a", t->name, (unsigned)k, got, want);
      uint16_t quiet = isnan(want) ? half == DT_F16 ? 0x200 : 0x40 : 0; /* a NaN may become a quiet one */
      if ((back | quiet) != (k | quiet))
        ck_abort_msg("%s: %04x came back as %04x", t->name, (unsigned)k, (unsigned)back);
    }
  jit_close(jit);
}
END_TEST

/* Around every boundary between two neighbours: the midpoint, a tie, and the floats beside it. */
START_TEST(test_half_rounding) {
  static const DType halves[] = {DT_F16, DT_BF16};
  const CpuTarget *t = target(_i / 2);
  DType half = halves[_i % 2];
  enum { N = 3 * 65536 };
  if (!t)
    return;
  Buffer *x = input("x", DT_F32, N), *y[2] = {output("vector", half, N), output("single", half, N)};
  for (int k = 0; k < 2; k++) {
    const Expr *i = VAR("i", 0, N / 64), *v = VAR("v", 0, 64), *at = expr_add(ctx, expr_mul_const(ctx, i, 64), v);
    nest_of(p, "round", LOOP(LOOP_FOR, i, LOOP(k ? LOOP_FOR : LOOP_VECTOR, v, COPY(AT(y[k], at), AT(x, at)))));
  }
  uint16_t pair[2];
  Tensor numbers = {.dtype = half, .rank = 1, .shape = {2}, .n = 2, .data = pair};
  float *data = ARENA_ARRAY(ctx->arena, float, N);
  for (int k = 0; k < 65536; k++) {
    pair[0] = (uint16_t)k;
    pair[1] = (uint16_t)(k + 1);
    double a = tensor_get(&numbers, 0), b = tensor_get(&numbers, 1);
    float middle = (float)(isinf(b) ? a * 1.0001 : a / 2 + b / 2);
    data[3 * k] = middle;
    data[3 * k + 1] = nextafterf(middle, INFINITY);
    data[3 * k + 2] = nextafterf(middle, -INFINITY);
  }
  compare_on(p, t, (void *[]){data}, EXACT);
}
END_TEST

/* Each operation from halves to a half: LLVM may compute it in half, which must change nothing. Nothing is called
 * either, whatever the number of lanes: no library that we link has LLVM's helpers. */
START_TEST(test_half_operations) {
  static const DType halves[] = {DT_F16, DT_BF16};
  static const int64_t widths[] = {1, 2, 3, 16, 21};
  const CpuTarget *t = &cpu_targets[_i / 2];
  DType half = halves[_i % 2];
  CodegenOptions options = options_for(t);
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
    int64_t n = widths[w] * 40;
    p = new_program(ctx);
    Buffer *in[3] = {input("x", half, n), input("y", half, n), input("z", half, n)};
    int n_operations = 0;
    for (int op = 0; op < SC_COUNT; op++) {
      Compare how;
      const Scalar *value = operation((ScalarOp)op, DT_F32, t, &how);
      if (!value || scalar_op_is_intrinsic((ScalarOp)op) || scalar_op_libm((ScalarOp)op, DT_F32) ||
          (op == SC_FMA && how == CLOSE))
        continue;
      const Expr *i = VAR("i", 0, 40), *v = VAR("v", 0, widths[w]);
      const Expr *at = expr_add(ctx, expr_mul_const(ctx, i, widths[w]), v);
      Buffer *out = output("out", value->dtype == DT_F32 ? half : value->dtype, n);
      nest_of(p, scalar_op_name((ScalarOp)op),
              LOOP(LOOP_FOR, i,
                   LOOP(LOOP_VECTOR, v, STORE(AT(out, at), value, AT(in[0], at), AT(in[1], at), AT(in[2], at)))));
      n_operations++;
    }
    ck_assert_int_ge(n_operations, 17);
    void *data[3];
    for (int k = 0; k < 3; k++) {
      Tensor *x = tensor_new(ctx, half, 1, &n);
      for (int64_t i = 0; i < n; i++)
        tensor_set(x, i, special_floats[(i * (2 * k + 1) + i / N_FLOATS) % N_FLOATS]);
      data[k] = x->data;
    }
    if (cpu_target_runs_here(t))
      compare_on(p, t, data, EXACT);
    Bytes bytes;
    ck_assert((p->arena_bytes || plan_memory(p)) && codegen_emit(p, &options, EMIT_ASM, &bytes));
    const char *call = strstr((const char *)bytes.data, "\tcall");
    ck_assert_msg(!call, "%s, %d lanes: %.40s", t->name, (int)widths[w], call ? call : "");
    bool by_instruction = half == DT_F16 && (t->needs & WEFT_CPU_F16C);
    ck_assert((strstr((const char *)bytes.data, "vcvtph2ps") != NULL) == by_instruction);
    ck_assert((strstr((const char *)bytes.data, "vcvtps2ph") != NULL) == by_instruction);
  }
}
END_TEST

/* Nor for casts between floats and the widest integers. */
START_TEST(test_no_calls_of_casts) {
  static const DType types[] = {DT_F32, DT_F64};
  static const DType wide[] = {DT_U64, DT_I64};
  for (int k = 0; k < 4; k++) {
    p = new_program(ctx);
    DType type = types[k / 2], whole = wide[k % 2];
    Buffer *x = input("x", type, 21), *y = output("y", whole, 21), *z = output("z", type, 21);
    const Expr *v = VAR("v", 0, 21);
    const Scalar *there = scalar_cast(ctx, scalar_arg_typed(ctx, 0, type), whole);
    nest_of(p, "casts",
            LOOP(LOOP_VECTOR, v,
                 BLOCK(STORE(AT(y, v), there, AT(x, v)), STORE(AT(z, v), scalar_cast(ctx, there, type), AT(x, v)))));
    ck_assert(plan_memory(p));
    for (int level = 0; level < 3; level++) {
      CodegenOptions options = options_for(&cpu_targets[level]);
      Bytes bytes;
      ck_assert(codegen_emit(p, &options, EMIT_ASM, &bytes));
      ck_assert_ptr_null(strstr((const char *)bytes.data, "\tcall"));
    }
  }
}
END_TEST

/* ---- index statements ---- */

/* out[i, :] = table[index[i], :], negative ones counted from the end; a reduction over the row found; its number. */
static void gather_program(DType type) {
  enum { N = 24, ROWS = 16, COLUMNS = 11 };
  Buffer *index = input("index", type, N);
  Buffer *table = loops_add_buffer(p, "table", F32(ROWS, COLUMNS), BUF_INPUT, NULL);
  Buffer *out = loops_add_buffer(p, "out", F32(N, COLUMNS), BUF_OUTPUT, NULL), *sum = output("sum", DT_F32, N);
  Buffer *number = output("number", DT_I32, N), *acc = local_buffer(ctx, "acc", DT_F32, 1, (int64_t[]){1});
  const Expr *i = VAR("i", 0, N), *j = VAR("j", 0, ROWS), *k = VAR("k", 0, COLUMNS), *v = VAR("v", 0, COLUMNS);
  const Scalar *read = scalar_cast(ctx, scalar_arg_typed(ctx, 0, dtype_compute(type)), DT_I64);
  const Scalar *from_end = scalar_make2(ctx, SC_ADD, read, scalar_const_int(ctx, DT_I64, ROWS));
  const Scalar *value =
      scalar_make3(ctx, SC_SELECT, scalar_make2(ctx, SC_LT, read, scalar_const_int(ctx, DT_I64, 0)), from_end, read);
  const Scalar *add = scalar_make2(ctx, SC_ADD, scalar_arg(ctx, 0), scalar_arg(ctx, 1));
  Access row = {NULL, ARENA_ARRAY(ctx->arena, const Expr *, 1)};
  row.index[0] = expr_add(ctx, expr_mul_const(ctx, j, 3), expr_mod_const(ctx, j, 4));
  nest_of(p, "pick",
          LOOP(LOOP_PARALLEL, i,
               BLOCK(stmt_index(ctx, j, value, (Access[]){AT(index, i)}, 1),
                     LOOP(LOOP_VECTOR, v, COPY(AT(out, i, v), AT(table, j, v))), stmt_local(ctx, acc),
                     STORE0(AT(acc, K(0)), 0.0),
                     LOOP(LOOP_FOR, k, STORE(AT(acc, K(0)), add, AT(acc, K(0)), AT(table, j, k))),
                     COPY(AT(sum, i), AT(acc, K(0))),
                     STORE(AT(number, i), scalar_cast(ctx, scalar_arg_typed(ctx, 0, DT_I64), DT_I32), row))))
      ->what = "gather";
}

static void *gather_indices(DType type, int64_t special) {
  Tensor *t = tensor_new(ctx, type, 1, (int64_t[]){24});
  for (int k = 0; k < 24; k++)
    tensor_set(t, k, dtype_is_signed(type) ? (k * 7) % 32 - 16 : (k * 7) % 16);
  if (special)
    tensor_set(t, 13, (double)special);
  return t->data;
}

START_TEST(test_gather) {
  static const DType types[] = {DT_I64, DT_I32, DT_U8, DT_I8};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    p = new_program(ctx);
    gather_program(types[k]);
    compare(p, (void *[]){gather_indices(types[k], 0), NULL}, EXACT);
  }
}
END_TEST

/* Status 3 and the place; the rows around are those of the last and first row in range; the next run is clean. */
START_TEST(test_gather_out_of_range) {
  static const int64_t bad[] = {16, -17, 1000000000, INT64_MIN, INT64_MAX};
  float *table = ARENA_ARRAY(ctx->arena, float, 16 * 11);
  fill_random(table, 16 * 11, 3);
  gather_program(DT_I64);
  for (int level = 0; level < 3; level++) {
    const CpuTarget *t = target(level);
    if (!t)
      continue;
    Jit *jit = compile_on(p, t);
    void **out = new_buffers(ctx, p->outputs.data, p->outputs.len);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
      int64_t *index = gather_indices(DT_I64, 0);
      index[13] = bad[k];
      ck_assert_int_eq(weft_rt_run(jit_model(jit), (const void *[]){index, table}, out), 3);
      ck_assert_str_eq(weft_rt_error(), "pick: index out of range in gather");
      index[13] = 2;
      ck_assert_int_eq(weft_rt_run(jit_model(jit), (const void *[]){index, table}, out), 0);
      ck_assert(memcmp((const float *)out[0] + 13 * 11, table + 2 * 11, 11 * sizeof(float)) == 0);
    }
    jit_close(jit);
  }
}
END_TEST

/* A range over an outer variable, empty for some of its values; an index found by means of another one. */
START_TEST(test_chained_indices) {
  enum { N = 8 };
  Buffer *a = input("a", DT_I64, N), *b = input("b", DT_I64, N), *x = input("x", DT_F32, N);
  Buffer *out = output("out", DT_F32, N);
  const Expr *i = VAR("i", 0, N), *o = VAR("o", 0, N), *j = VAR("j", 0, N);
  const Expr *k = expr_var(ctx, "k", K(0), expr_max(ctx, K(0), PLUS(i, -2)));
  const Scalar *same = scalar_arg_typed(ctx, 0, DT_I64);
  nest_of(p, "zero", LOOP(LOOP_FOR, o, STORE0(AT(out, o), -1.0)));
  nest_of(p, "chain",
          LOOP(LOOP_FOR, i,
               BLOCK(stmt_index(ctx, j, same, (Access[]){AT(a, i)}, 1),
                     stmt_index(ctx, k, same, (Access[]){AT(b, j)}, 1), COPY(AT(out, i), AT(x, k)))))
      ->what = "chain";
  static int64_t ja[N] = {7, 6, 5, 4, 3, 2, 1, 0}, kb[N] = {5, 4, 3, 2, 1, 0, 9, 9};
  static float numbers[N] = {10, 11, 12, 13, 14, 15, 16, 17};
  for (int level = 0; level < 3; level++) {
    const CpuTarget *t = target(level);
    if (!t)
      continue;
    float got[N];
    Jit *jit = compile_on(p, t);
    /* i = 0..2 have an empty range and store nothing: a fault all the same */
    ck_assert_int_eq(weft_rt_run(jit_model(jit), (const void *[]){ja, kb, numbers}, (void *[]){got}), 3);
    ck_assert_str_eq(weft_rt_error(), "chain: index out of range in chain");
    for (int n = 0; n < N; n++) {
      int64_t row = kb[ja[n]], last = n - 3;
      ck_assert(got[n] == (n < 3 ? -1.0f : numbers[row < last ? row : last]));
    }
    jit_close(jit);
  }
}
END_TEST

Suite *suite_codegen_types(void);
Suite *suite_codegen_types(void) {
  Suite *s = suite_create("codegen_types");
  TCase *t = tcase_create("codegen_types");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, test_operations, 0, 3 * N_COMPUTE);
  tcase_add_loop_test(t, test_casts, 0, 3 * N_COMPUTE);
  tcase_add_loop_test(t, test_mixed_widths, 0, 3);
  tcase_add_test(t, test_ports);
  tcase_add_loop_test(t, test_half_round_trip, 0, 6);
  tcase_add_loop_test(t, test_half_rounding, 0, 6);
  tcase_add_loop_test(t, test_half_operations, 0, 6);
  tcase_add_test(t, test_no_calls_of_casts);
  tcase_add_test(t, test_gather);
  tcase_add_test(t, test_gather_out_of_range);
  tcase_add_test(t, test_chained_indices);
  suite_add_tcase(s, t);
  return s;
}
