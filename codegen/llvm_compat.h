/* libLLVM, opened on first use: a process that links it pays 17 ms and 50 MB before main, and most commands do not need
 * it. Every function is called through the table `llvm`: llvm.BuildAdd(...) is LLVMBuildAdd(...). Only this file and
 * the files that include it know LLVM; the one version that weft claims is LLVM_MAJOR.
 *
 * LLVM may not end the process: a fatal error of its ends in weft_bug (exit 70), and diagnostics that it would print or
 * swallow are collected by llvm_watch and checked after each step. */
#ifndef WEFT_CODEGEN_LLVM_COMPAT_H
#define WEFT_CODEGEN_LLVM_COMPAT_H

#include "ir/ctx.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#define LLVM_MAJOR 19

typedef struct {
#define LLVM(name) __typeof__(LLVM##name) *name;
#include "codegen/llvm_functions.def"
} LlvmApi;

extern LlvmApi llvm;

/* Makes `llvm` usable. WEFT_LLVM in the environment names another library file than the usual ones. False after
 * reporting WEFT_MISSING. */
bool llvm_load(Ctx *ctx);

/* Collects errors that LLVM reports in this context as text: "" until there is one. */
void llvm_watch(LLVMContextRef context, Str *errors);

/* Reports an LLVM error (which it consumes) as WEFT_BUG; true where there is none. */
bool llvm_succeeded(Ctx *ctx, LLVMErrorRef error, const char *step);

#endif
