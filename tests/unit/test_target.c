/* The table of CPU targets and its look-up. */
#include <check.h>
#include <stdlib.h>

#include "codegen/target.h"
#include "runtime/model.h"

static Ctx *ctx;

static void setup(void) {
  ctx = ctx_create();
}

static void teardown(void) {
  ctx_destroy(ctx);
}

START_TEST(test_names) {
  for (const CpuTarget *t = cpu_targets; t->name; t++)
    ck_assert_ptr_eq(cpu_target_find(ctx, t->name), t);
  ck_assert_str_eq(cpu_target_find(ctx, "v2")->name, "x86-64-v2");
  ck_assert_str_eq(cpu_target_find(ctx, "v3")->name, "x86-64-v3");
  ck_assert_str_eq(cpu_target_find(ctx, "v4")->name, "x86-64-v4");
  ck_assert_uint_eq(diag_count(ctx->diags), 0);
}
END_TEST

START_TEST(test_unknown) {
  static const char *const bad[] = {"", "x86-64", "v1", "v33", "pentium", "x86-64-v", "native ", "znver"};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    ck_assert_ptr_null(cpu_target_find(ctx, bad[k]));
    ck_assert_uint_eq(diag_count(ctx->diags), k + 1);
  }
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_UNSUPPORTED);
  const char *text = diag_text(ctx->diags, false);
  ck_assert_msg(strstr(text, "unknown CPU 'v1', expected one of native, x86-64-v2, x86-64-v3, x86-64-v4, "), "%s",
                text);
  ck_assert_msg(strstr(text, "did you mean 'znver"), "%s", text);
}
END_TEST

/* Each level has all of the level below; vectors and registers belong to the features. */
START_TEST(test_levels) {
  uint32_t v2 = cpu_target_find(ctx, "v2")->needs, v3 = cpu_target_find(ctx, "v3")->needs;
  uint32_t v4 = cpu_target_find(ctx, "v4")->needs;
  ck_assert_uint_eq(v2 & ~v3, 0);
  ck_assert_uint_eq(v3 & ~v4, 0);
  ck_assert(!(v2 & WEFT_CPU_FMA) && (v3 & WEFT_CPU_FMA) && !(v3 & WEFT_CPU_AVX512F));
  for (const CpuTarget *t = cpu_targets; t->name; t++) {
    if (t->machine == MACHINE_AARCH64) { /* nothing is tested at run time, so nothing beyond the base is used */
      ck_assert(!t->needs && !*t->features && t->lower.vector_bytes == 16 && t->lower.registers == 32);
      continue;
    }
    bool avx512 = t->needs & WEFT_CPU_AVX512F, avx2 = t->needs & WEFT_CPU_AVX2;
    ck_assert_int_eq(t->lower.vector_bytes, avx512 ? 64 : avx2 ? 32 : 16);
    ck_assert_int_eq(t->lower.registers, avx512 ? 32 : 16);
    /* Every feature that LLVM may use is one that the machine is asked for. */
    char *features = arena_strdup(ctx->arena, t->features), *save;
    for (char *f = strtok_r(features, ",", &save); f; f = strtok_r(NULL, ",", &save)) {
      uint32_t bit = 0;
#define X(id, text, k)                                                                                                 \
  if (strcmp(f + 1, text) == 0)                                                                                        \
    bit = WEFT_CPU_##id;
      WEFT_CPU_FEATURES(X)
#undef X
      ck_assert_msg(f[0] == '+' && (t->needs & bit), "%s: %s", t->name, f);
    }
  }
}
END_TEST

/* aarch64 has objects only. */
START_TEST(test_aarch64) {
  const CpuTarget *n1 = cpu_target_find(ctx, "neoverse-n1");
  ck_assert(n1 && n1->machine == MACHINE_AARCH64 && !cpu_target_runs_here(n1));
  ck_assert(cpu_target_has_fma(n1) && cpu_target_has_f16(n1));
  ck_assert(cpu_target_check_runs(ctx, cpu_target_find(ctx, "v4")));
  ck_assert(!cpu_target_check_runs(ctx, n1));
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_UNSUPPORTED);
  const char *text = diag_text(ctx->diags, false);
  ck_assert_msg(strstr(text, "'neoverse-n1' is aarch64") && strstr(text, "--emit obj"), "%s", text);
}
END_TEST

START_TEST(test_native) {
  const CpuTarget *native = cpu_target_find(ctx, "native");
  ck_assert_ptr_nonnull(native);
  uint32_t here = cpu_features_here();
  ck_assert_uint_eq(native->needs & ~here, 0);
  ck_assert(strncmp(native->name, "x86-64-v", 8) == 0);
  for (const CpuTarget *t = native + 1; strncmp(t->name, "x86-64-v", 8) == 0; t++)
    ck_assert_uint_ne(t->needs & ~here, 0); /* no wider level runs here */
}
END_TEST

START_TEST(test_feature_names) {
  ck_assert_str_eq(cpu_feature_names(ctx, 0), "");
  ck_assert_str_eq(cpu_feature_names(ctx, WEFT_CPU_FMA), "fma");
  ck_assert_str_eq(cpu_feature_names(ctx, WEFT_CPU_AVX512BW | WEFT_CPU_AVX512F), "avx512f,avx512bw");
}
END_TEST

Suite *suite_target(void);
Suite *suite_target(void) {
  Suite *s = suite_create("target");
  TCase *t = tcase_create("target");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, test_names);
  tcase_add_test(t, test_unknown);
  tcase_add_test(t, test_levels);
  tcase_add_test(t, test_aarch64);
  tcase_add_test(t, test_native);
  tcase_add_test(t, test_feature_names);
  suite_add_tcase(s, t);
  return s;
}
