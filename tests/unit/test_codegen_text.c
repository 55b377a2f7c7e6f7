/* What generated code looks like: registers, reproducible bytes, symbols; and what is refused. */
#include "tests/unit/codegen_run.h"

static Ctx *ctx;

static void setup(void) {
  ctx = ctx_create();
}

static void teardown(void) {
  ctx_destroy(ctx);
}

static const char *emit(LoopProgram *p, const CpuTarget *t, EmitKind kind) {
  CodegenOptions options = options_for(t);
  Bytes bytes;
  ck_assert_msg((p->arena_bytes || plan_memory(p)) && codegen_emit(p, &options, kind, &bytes), "%s",
                diag_text(p->ctx->diags, false));
  return (const char *)bytes.data;
}

static int count(const char *text, const char *end, const char *word) {
  int n = 0;
  for (const char *s = text; (s = strstr(s, word)) && s < end; s += strlen(word))
    n++;
  return n;
}

/* The basic block of the assembler text that holds `word` most often. */
static const char *hot_block(const char *text, const char *word, const char **end) {
  const char *best = NULL;
  int most = 0;
  for (const char *block = text; block;) {
    const char *next = strstr(block + 1, "\n.LBB"), *stop = strstr(block + 1, "\n\tj");
    if (!stop || (next && next < stop))
      stop = next ? next : block + strlen(block);
    int n = count(block, stop, word);
    if (n > most) {
      most = n;
      best = block;
      *end = stop;
    }
    block = next;
  }
  return best;
}

/* A full register tile holds its accumulators in registers: one fused multiply-add each in the hot block, no access to
 * the stack, one load per vector of b, and vectors of the target's width. min-legal-vector-width, were it set, would
 * split every zmm in two. */
START_TEST(test_register_tile) {
  for (const CpuTarget *t = cpu_targets; t->name; t++) {
    if (!(t->needs & WEFT_CPU_FMA))
      continue;
    bool wide = t->lower.vector_bytes == 64;
    int rows = wide ? 14 : 6, lanes = t->lower.vector_bytes / 4;
    LoopProgram *p = matmul_program(ctx, 2 * rows, 4 * lanes, 64, rows, 2, lanes);
    const char *text = emit(p, t, EMIT_ASM), *end, *block = hot_block(text, "vfmadd", &end);
    ck_assert_msg(block != NULL, "%s: no fused multiply-add", t->name);
    const char *body = arena_strndup(ctx->arena, block, (size_t)(end - block)), *stop = body + strlen(body);
    ck_assert_msg(count(body, stop, "vfmadd") == rows * 2, "%s:\n%s", t->name, body);
    ck_assert_msg(count(body, stop, "rsp") == 0 && count(body, stop, "rbp") == 0, "%s: stack in\n%s", t->name, body);
    ck_assert_msg(count(body, stop, wide ? "zmm" : "ymm") >= rows * 2, "%s:\n%s", t->name, body);
    ck_assert_msg(count(body, stop, "\n") <= 2 * rows + rows + 2 + 12, "%s: too many instructions\n%s", t->name, body);
  }
}
END_TEST

/* Without FMA hardware there is no call of libm's fma either. */
START_TEST(test_no_libm_calls) {
  for (const CpuTarget *t = cpu_targets; t->name; t++) {
    LoopProgram *p = new_program(ctx);
    Buffer *x = loops_add_buffer(p, "x", F32(16), BUF_INPUT, NULL);
    Buffer *y = loops_add_buffer(p, "y", F32(17), BUF_OUTPUT, NULL);
    const Expr *v = VAR("v", 0, 16);
    const Scalar *s = scalar_make1(ctx, SC_TANH, scalar_make1(ctx, SC_EXP, scalar_arg(ctx, 0)));
    s = scalar_make3(ctx, SC_FMA, s, scalar_make1(ctx, SC_SQRT, s), scalar_make1(ctx, SC_FLOOR, s));
    nest_of(p, "math", BLOCK(LOOP(LOOP_VECTOR, v, STORE(AT(y, v), s, AT(x, v))), STORE(AT(y, K(16)), s, AT(x, K(3)))));
    const char *text = emit(p, t, EMIT_ASM), *end = strstr(text, "\nweft_model_abi:");
    ck_assert(end && count(text, end, "math") > 0);
    const char *call = t->machine == MACHINE_AARCH64 ? "\tbl\t" : "call";
    ck_assert_msg(count(text, end, call) == 0, "%s: %.60s", t->name, strstr(text, call));
  }
}
END_TEST

START_TEST(test_reproducible) {
  Ctx *other = ctx_create();
  for (int k = 0; k < 50; k++) /* other ids and addresses */
    expr_sym(other, arena_printf(other->arena, "s%d", k), 0, 9);
  LoopProgram *p = matmul_program(ctx, 6, 32, 9, 3, 2, 8), *q = matmul_program(other, 6, 32, 9, 3, 2, 8);
  static const EmitKind kinds[] = {EMIT_LLVM, EMIT_ASM, EMIT_OBJ};
  for (int k = 0; k < 3; k++) {
    CodegenOptions options = options_for(cpu_target_find(ctx, "v3"));
    Bytes a, b, c;
    ck_assert(plan_memory(p) && plan_memory(q));
    ck_assert(codegen_emit(p, &options, kinds[k], &a) && codegen_emit(p, &options, kinds[k], &b) &&
              codegen_emit(q, &options, kinds[k], &c));
    ck_assert(a.size > 0 && a.size == b.size && a.size == c.size);
    ck_assert(memcmp(a.data, b.data, a.size) == 0 && memcmp(a.data, c.data, a.size) == 0);
  }
  ctx_destroy(other);
}
END_TEST

START_TEST(test_symbols) {
  LoopProgram *p = matmul_program(ctx, 2, 8, 3, 2, 1, 8);
  CodegenOptions options = {.cpu = cpu_target_find(ctx, "v3"), .prefix = "gan"};
  Bytes bytes;
  ck_assert(plan_memory(p) && codegen_emit(p, &options, EMIT_ASM, &bytes));
  const char *text = (const char *)bytes.data;
  static const char *const names[] = {"abi", "info", "set_threads", "run", "workspace_size", "run_in", "error"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    ck_assert_msg(strstr(text, arena_printf(ctx->arena, "\t.globl\tgan_%s ", names[k])) ||
                      strstr(text, arena_printf(ctx->arena, "\t.globl\tgan_%s\n", names[k])),
                  "no gan_%s in\n%s", names[k], text);
  ck_assert_int_eq(count(text, text + bytes.size, ".globl"), 8); /* these seven and the table */
  ck_assert_ptr_nonnull(strstr(text, "\t.hidden\tweft_compiled"));
  ck_assert_ptr_nonnull(strstr(text, "\t.hidden\tweft_rt_run"));
  ck_assert_ptr_null(strstr(text, "weft_weights")); /* it has no constants */
  /* The exported functions run before the CPU is tested. */
  const char *run = strstr(text, "\ngan_run:"), *end = strstr(run, "\n.Lfunc_end");
  ck_assert(end && count(run, end, "ymm") == 0 && count(run, end, "\tv") == 0);
}
END_TEST

/* Buffers of a nest are declared apart, but not two arena buffers that the plan lets overlap. */
START_TEST(test_overlapping_buffers) {
  for (int64_t offset = 0; offset <= 64; offset += 64) {
    LoopProgram *p = new_program(ctx);
    Buffer *t = loops_add_buffer(p, "t", F32(16), BUF_ARENA, NULL),
           *u = loops_add_buffer(p, "u", F32(16), BUF_ARENA, NULL);
    const Expr *i = VAR("i", 0, 16);
    const Scalar *minus = scalar_make1(ctx, SC_NEG, scalar_arg(ctx, 0));
    nest_of(p, "minus", LOOP(LOOP_FOR, i, STORE(AT(u, i), minus, AT(t, i))));
    t->offset = K(0);
    u->offset = K(offset);
    p->arena_bytes = K(128);
    const char *text = emit(p, cpu_target_find(ctx, "v3"), EMIT_LLVM);
    ck_assert_ptr_nonnull(strstr(text, "!alias.scope"));
    ck_assert_msg((strstr(text, "!noalias") != NULL) == (offset == 64), "%s", text);
  }
}
END_TEST

START_TEST(test_refused) {
  CodegenOptions options = options_for(cpu_target_find(ctx, "v2"));
  Bytes bytes;
  Dim n = expr_sym(ctx, "N", 1, 64);
  LoopProgram *p = new_program(ctx);
  loops_add_buffer(p, "x", type_get(ctx, DT_F32, 1, &n, NULL), BUF_INPUT, NULL);
  p->arena_bytes = K(0);
  ck_assert(!codegen_emit(p, &options, EMIT_LLVM, &bytes));
  p = new_program(ctx);
  ck_assert(!codegen_emit(p, &options, EMIT_LLVM, &bytes));
  p = new_program(ctx);
  Buffer *y = loops_add_buffer(p, "y", F32(1024), BUF_OUTPUT, NULL);
  const Expr *i = VAR("i", 0, 1024), *j = VAR("j", 0, 1024);
  nest_of(p, "huge", LOOP(LOOP_UNROLL, i, LOOP(LOOP_UNROLL, j, STORE0(AT(y, j), 0))));
  p->arena_bytes = K(0);
  ck_assert(!codegen_emit(p, &options, EMIT_LLVM, &bytes));
  const char *text = diag_text(ctx->diags, false);
  ck_assert_msg(strstr(text, "buffer 'x' is f32[N]") && strstr(text, "memory plan") &&
                    strstr(text, "nest 'huge' has more than"),
                "%s", text);
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_UNSUPPORTED);
}
END_TEST

/* Runs first: once found, the library stays. */
START_TEST(test_missing_library) {
  bool available;
  setenv("WEFT_LLVM", "/nonexistent/libLLVM.so", 1);
  LoopProgram *p = matmul_program(ctx, 2, 8, 3, 2, 1, 8);
  CodegenOptions options = options_for(cpu_target_find(ctx, "v2"));
  Bytes bytes;
  ck_assert(plan_memory(p) && !codegen_emit(p, &options, EMIT_OBJ, &bytes));
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MISSING);
  const char *text = diag_text(ctx->diags, false);
  ck_assert_msg(strstr(text, "/nonexistent/libLLVM.so") && strstr(text, "libllvm19"), "%s", text);
  const char *why = llvm_description(ctx, &available);
  ck_assert(!available && strstr(why, "not found"));
  setenv("WEFT_LLVM", "libc.so.6", 1); /* a library, but not this one */
  why = llvm_description(ctx, &available);
  ck_assert_msg(!available && strstr(why, "libc.so.6 is not the library of LLVM 19"), "%s", why);
  unsetenv("WEFT_LLVM");
  why = llvm_description(ctx, &available);
  ck_assert_msg(available && strncmp(why, "LLVM 19.", 8) == 0, "%s", why);
}
END_TEST

Suite *suite_codegen_text(void);
Suite *suite_codegen_text(void) {
  Suite *s = suite_create("codegen_text");
  TCase *t = tcase_create("codegen_text");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, test_missing_library);
  tcase_add_test(t, test_register_tile);
  tcase_add_test(t, test_no_libm_calls);
  tcase_add_test(t, test_reproducible);
  tcase_add_test(t, test_symbols);
  tcase_add_test(t, test_overlapping_buffers);
  tcase_add_test(t, test_refused);
  suite_add_tcase(s, t);
  return s;
}
