/* The table of CPU targets. LLVM cannot be asked for the features of a CPU it knows by name, so the names are ours.
 *
 * Compiled code uses the features that a row lists in `needs` and no others: code is made for plain x86-64 plus these,
 * and LLVM's CPU name only tunes the choice among legal instructions. So the cpuid test of `needs` at the first call is
 * sufficient, whatever else a hypervisor hides.
 *
 * The rows of aarch64 are all plain Armv8-A, whose base has 16-byte vectors, fused multiply-add and conversions of f16;
 * they differ in tuning only.
 *
 * Rows of 64-byte vectors rely on the function attribute min-legal-vector-width being absent: set to 256 it would
 * silently split every 512-bit vector. */
#include "codegen/target.h"

#include "runtime/model.h"

#define FEATURES_V2 "+sse4.2,+popcnt"
#define FEATURES_V3 FEATURES_V2 ",+avx2,+fma,+f16c,+bmi2"
#define FEATURES_V4 FEATURES_V3 ",+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd"

#define NEEDS_V2 (WEFT_CPU_SSE42 | WEFT_CPU_POPCNT)
#define NEEDS_V3 (NEEDS_V2 | WEFT_CPU_AVX | WEFT_CPU_AVX2 | WEFT_CPU_FMA | WEFT_CPU_F16C | WEFT_CPU_BMI2)
#define NEEDS_V4                                                                                                       \
  (NEEDS_V3 | WEFT_CPU_AVX512F | WEFT_CPU_AVX512BW | WEFT_CPU_AVX512DQ | WEFT_CPU_AVX512VL | WEFT_CPU_AVX512CD)

#define ROW_V2(name, tune, help) {name, tune, FEATURES_V2, NEEDS_V2, {16, 16}, help, MACHINE_X86_64}
#define ROW_V3(name, tune, help) {name, tune, FEATURES_V3, NEEDS_V3, {32, 16}, help, MACHINE_X86_64}
#define ROW_V4(name, tune, help) {name, tune, FEATURES_V4, NEEDS_V4, {64, 32}, help, MACHINE_X86_64}
#define ROW_ARM(name, tune, help) {name, tune, "", 0, {16, 32}, help, MACHINE_AARCH64}

/* The levels come first: `native` chooses among them, so that what it makes does not depend on a guess at the model. */
#define LEVELS 3

const CpuTarget cpu_targets[] = {
    ROW_V2("x86-64-v2", "x86-64-v2", "SSE4.2, vectors of 16 bytes: x86-64 since about 2009; no fused multiply-add"),
    ROW_V3("x86-64-v3", "x86-64-v3", "AVX2 and FMA, vectors of 32 bytes: Intel since 2013, AMD since 2015"),
    ROW_V4("x86-64-v4", "x86-64-v4", "AVX-512 (F, BW, DQ, VL, CD), vectors of 64 bytes: servers since 2017, Zen 4"),
    ROW_V3("haswell", "haswell", "x86-64-v3 tuned for Intel Haswell and its kin"),
    ROW_V3("znver2", "znver2", "x86-64-v3 tuned for AMD Zen 2"),
    ROW_V3("znver3", "znver3", "x86-64-v3 tuned for AMD Zen 3"),
    ROW_V4("skylake-avx512", "skylake-avx512", "x86-64-v4 tuned for Intel Skylake-SP and Cascade Lake"),
    ROW_V4("sapphirerapids", "sapphirerapids", "x86-64-v4 tuned for Intel Sapphire and Emerald Rapids"),
    ROW_V4("znver4", "znver4", "x86-64-v4 tuned for AMD Zen 4"),
    ROW_V4("znver5", "znver5", "x86-64-v4 tuned for AMD Zen 5"),
    ROW_ARM("armv8-a", "generic", "aarch64, vectors of 16 bytes: every 64-bit Arm"),
    ROW_ARM("neoverse-n1", "neoverse-n1", "armv8-a tuned for Arm Neoverse N1"),
    ROW_ARM("neoverse-v1", "neoverse-v1", "armv8-a tuned for Arm Neoverse V1"),
    ROW_ARM("apple-m1", "apple-m1", "armv8-a tuned for Apple M1"),
    {NULL, NULL, NULL, 0, {0, 0}, NULL, MACHINE_X86_64},
};

static const struct {
  const char *name, *triple, *base_cpu;
} machines[] = {[MACHINE_X86_64] = {"x86-64", "x86_64-unknown-linux-gnu", "x86-64"},
                [MACHINE_AARCH64] = {"aarch64", "aarch64-unknown-linux-gnu", "generic"}};

const char *machine_triple(Machine machine) {
  return machines[machine].triple;
}

const char *machine_base_cpu(Machine machine) {
  return machines[machine].base_cpu;
}

bool cpu_target_has_fma(const CpuTarget *cpu) {
  return cpu->machine == MACHINE_AARCH64 || (cpu->needs & WEFT_CPU_FMA) != 0;
}

bool cpu_target_has_f16(const CpuTarget *cpu) {
  return cpu->machine == MACHINE_AARCH64 || (cpu->needs & WEFT_CPU_F16C) != 0;
}

bool cpu_target_runs_here(const CpuTarget *cpu) {
  return cpu->machine == MACHINE_X86_64 && !(cpu->needs & ~cpu_features_here());
}

bool cpu_target_check_runs(Ctx *ctx, const CpuTarget *cpu) {
  return cpu->machine == MACHINE_X86_64 ||
         diag_error(
             ctx->diags, WEFT_UNSUPPORTED, LOC_NONE,
             "CPU '%s' is %s, but shared objects and runs are for x86-64 only, as weft's runtime is; 'weft compile' "
             "with --emit obj, asm or llvm works for it",
             cpu->name, machines[cpu->machine].name);
}

uint32_t cpu_features_here(void) {
  return weft_rt_cpu_features();
}

const char *cpu_feature_names(Ctx *ctx, uint32_t bits) {
  Str out = str_new(ctx->arena);
#define X(id, name, bit)                                                                                               \
  if (bits & WEFT_CPU_##id)                                                                                            \
    str_printf(&out, "%s%s", out.len ? "," : "", name);
  WEFT_CPU_FEATURES(X)
#undef X
  return out.data ? out.data : "";
}

static const CpuTarget *find_native(Ctx *ctx) {
  uint32_t here = cpu_features_here();
  for (int k = LEVELS - 1; k >= 0; k--)
    if (cpu_target_runs_here(&cpu_targets[k]))
      return &cpu_targets[k];
  diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE,
             "this machine lacks what the smallest CPU target, %s, needs: found features \"%s\", expected \"%s\"",
             cpu_targets[0].name, cpu_feature_names(ctx, here), cpu_feature_names(ctx, cpu_targets[0].needs));
  return NULL;
}

const CpuTarget *cpu_target_find(Ctx *ctx, const char *name) {
  if (strcmp(name, "native") == 0)
    return find_native(ctx);
  const char *known[sizeof cpu_targets / sizeof *cpu_targets];
  size_t n = 0;
  Str names = str_new(ctx->arena);
  for (const CpuTarget *t = cpu_targets; t->name; t++) {
    static const char level[] = "x86-64-";
    bool is_level = strncmp(t->name, level, sizeof level - 1) == 0;
    if (strcmp(name, t->name) == 0 || (is_level && strcmp(name, t->name + sizeof level - 1) == 0))
      return t;
    known[n++] = t->name;
    str_printf(&names, ", %s", t->name);
  }
  diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE, "unknown CPU '%s', expected one of native%s", name, names.data);
  const char *near = nearest_word(name, known, n);
  if (near)
    diag_note(ctx->diags, LOC_NONE, "did you mean '%s'?", near);
  return NULL;
}
