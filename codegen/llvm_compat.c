/* Opening libLLVM and resolving llvm_functions.def; its error handlers. See llvm_compat.h. */
#include "codegen/llvm_compat.h"

#include "codegen/codegen.h"

#include <dlfcn.h>
#include <stdlib.h>

LlvmApi llvm;

static struct {
  bool ready;
  const char *file; /* name it was found by */
  unsigned major, minor, patch;
} library;

/* By package: Debian and Ubuntu ship the first under lib/x86_64-linux-gnu, the others are links beside it. */
static const char *const file_names[] = {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so",
                                         "/usr/lib/llvm-19/lib/libLLVM.so.19.1"};
#define N_FILES (sizeof file_names / sizeof *file_names)

static void on_fatal_error(const char *reason) {
  weft_bug(__FILE__, __LINE__, "LLVM stopped: %s", reason);
}

static const char *resolve(void *handle) {
#define LLVM(name)                                                                                                     \
  *(void **)&llvm.name = dlsym(handle, "LLVM" #name);                                                                  \
  if (!llvm.name)                                                                                                      \
    return "LLVM" #name;
#include "codegen/llvm_functions.def"
  return NULL;
}

/* Opens the library; NULL on success, else why not. */
static const char *open_library(Ctx *ctx) {
  if (library.ready)
    return NULL;
  const char *given = getenv("WEFT_LLVM");
  const char *const *files = given ? &given : file_names;
  size_t n = given ? 1 : N_FILES;
  Str tried = str_new(ctx->arena);
  for (size_t k = 0; k < n; k++) {
    void *handle = dlopen(files[k], RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      str_printf(&tried, "%s%s", k ? ", " : "", files[k]);
      continue;
    }
    const char *lacks = resolve(handle);
    if (!lacks)
      llvm.GetVersion(&library.major, &library.minor, &library.patch);
    if (lacks || library.major != LLVM_MAJOR) {
      const char *found = lacks ? arena_printf(ctx->arena, "it lacks %s", lacks)
                                : arena_printf(ctx->arena, "it is LLVM %u", library.major);
      dlclose(handle);
      return arena_printf(ctx->arena, "%s is not the library of LLVM %d: %s", files[k], LLVM_MAJOR, found);
    }
    library.file = given ? "named by WEFT_LLVM" : file_names[k];
    llvm.InstallFatalErrorHandler(on_fatal_error);
    llvm.InitializeX86TargetInfo();
    llvm.InitializeX86Target();
    llvm.InitializeX86TargetMC();
    llvm.InitializeX86AsmPrinter();
    llvm.InitializeAArch64TargetInfo();
    llvm.InitializeAArch64Target();
    llvm.InitializeAArch64TargetMC();
    llvm.InitializeAArch64AsmPrinter();
    library.ready = true;
    return NULL;
  }
  return arena_printf(ctx->arena, "the library of LLVM %d was not found (tried %s)", LLVM_MAJOR, tried.data);
}

bool llvm_load(Ctx *ctx) {
  const char *why = open_library(ctx);
  if (!why)
    return true;
  diag_error(ctx->diags, WEFT_MISSING, LOC_NONE, "%s", why);
  diag_note(ctx->diags, LOC_NONE, "on Debian and Ubuntu it is the package libllvm%d", LLVM_MAJOR);
  return false;
}

const char *llvm_description(Ctx *ctx, bool *available) {
  const char *why = open_library(ctx);
  *available = !why;
  if (why)
    return why;
  return arena_printf(ctx->arena, "LLVM %u.%u.%u (%s)", library.major, library.minor, library.patch, library.file);
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *env) {
  if (llvm.GetDiagInfoSeverity(info) != LLVMDSError)
    return;
  char *text = llvm.GetDiagInfoDescription(info);
  Str *errors = env;
  str_printf(errors, "%s%s", errors->len ? "; " : "", text);
  llvm.DisposeMessage(text);
}

void llvm_watch(LLVMContextRef context, Str *errors) {
  llvm.ContextSetDiagnosticHandler(context, on_diagnostic, errors);
}

bool llvm_succeeded(Ctx *ctx, LLVMErrorRef error, const char *step) {
  if (!error)
    return true;
  char *text = llvm.GetErrorMessage(error);
  diag_error(ctx->diags, WEFT_BUG, LOC_NONE, "LLVM failed to %s: %s", step, text);
  llvm.DisposeErrorMessage(text);
  return false;
}
