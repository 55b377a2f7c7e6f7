/* CPU targets: our own table (LLVM has no query for a CPU's features). Names, features, register file, a cpuid test. */
#ifndef WEFT_CODEGEN_TARGET_H
#define WEFT_CODEGEN_TARGET_H

#include "ir/ctx.h"
#include "lower/lower.h"

/* Instruction sets. Shared objects and runs in memory are for x86-64, as weft's runtime is; for aarch64 there are
 * objects, assembler text and LLVM IR. */
typedef enum { MACHINE_X86_64, MACHINE_AARCH64 } Machine;

/* Feature bits; the runtime tests the same bits with cpuid at the first call (runtime/model.h has the list). */
typedef struct CpuTarget {
  const char *name;     /* "x86-64-v3" */
  const char *llvm_cpu; /* LLVM's name: it tunes the choice of instructions and allows none */
  const char *features; /* what compiled code may use beyond its machine's base, in LLVM's words: "+avx2,+fma,..." */
  uint32_t needs;       /* WEFT_CPU_* bits that the machine must have */
  LowerTarget lower;
  const char *help;
  Machine machine;
} CpuTarget;

extern const CpuTarget cpu_targets[]; /* ended by name NULL; narrowest first */

/* Accepts the names of the table, their short forms v2, v3, v4, and `native`: the widest row that this machine can run.
 * NULL after reporting the names there are (WEFT_UNSUPPORTED). */
const CpuTarget *cpu_target_find(Ctx *ctx, const char *name);
/* Whether compiled models for this CPU can be linked and run; false after reporting what can be had (WEFT_UNSUPPORTED). */
bool cpu_target_check_runs(Ctx *ctx, const CpuTarget *cpu);
/* Whether this machine runs code for it. */
bool cpu_target_runs_here(const CpuTarget *cpu);
/* What LLVM calls the machine, and the CPU that every one of its kind includes. */
const char *machine_triple(Machine machine);
const char *machine_base_cpu(Machine machine);
/* Whether the CPU has a fused multiply-add; conversions between f16 and f32. */
bool cpu_target_has_fma(const CpuTarget *cpu);
bool cpu_target_has_f16(const CpuTarget *cpu);
/* The bits this machine has (0 on other architectures). */
uint32_t cpu_features_here(void);
/* Names of the bits in `bits`, comma-separated, e.g. "avx512f,avx512bw". */
const char *cpu_feature_names(Ctx *ctx, uint32_t bits);

#endif
