/* CPU targets: our own table (LLVM has no query for a CPU's features). Names, features, register file, a cpuid test. */
#ifndef WEFT_CODEGEN_TARGET_H
#define WEFT_CODEGEN_TARGET_H

#include "ir/ctx.h"
#include "lower/lower.h"

/* Feature bits; the runtime tests the same bits with cpuid at the first call (runtime/model.h has the list). */
typedef struct {
  const char *name;     /* "x86-64-v3" */
  const char *llvm_cpu; /* LLVM's name: it tunes the choice of instructions and allows none */
  const char *features; /* what compiled code may use beyond x86-64, in LLVM's words: "+avx2,+fma,..." */
  uint32_t needs;       /* WEFT_CPU_* bits that the machine must have */
  LowerTarget lower;
  const char *help;
} CpuTarget;

extern const CpuTarget cpu_targets[]; /* ended by name NULL; narrowest first */

/* Accepts the names of the table, their short forms v2, v3, v4, and `native`: the widest row that this machine can run.
 * NULL after reporting the names there are (WEFT_UNSUPPORTED). */
const CpuTarget *cpu_target_find(Ctx *ctx, const char *name);
/* The bits this machine has (0 on other architectures). */
uint32_t cpu_features_here(void);
/* Names of the bits in `bits`, comma-separated, e.g. "avx512f,avx512bw". */
const char *cpu_feature_names(Ctx *ctx, uint32_t bits);

#endif
