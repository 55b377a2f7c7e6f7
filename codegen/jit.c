/* Models compiled in memory: the same object file as for a shared object, loaded by LLVM's JIT linker. The object has
 * no exported functions (callers have the runtime at hand), so the weights and functions of libm are all that it needs
 * from outside; it gets no other symbol of this process. */
#include "codegen/llvm_gen.h"

#include <dlfcn.h>

#include "runtime/model.h"

struct Jit {
  LLVMOrcLLJITRef engine;
  const WeftModel *model;
};

/* Errors of symbol resolution would otherwise go to stderr; the failed lookup reports them again. */
static void ignore_report(void *env, LLVMErrorRef error) {
  (void)env;
  llvm.DisposeErrorMessage(llvm.GetErrorMessage(error));
}

static bool define(LoopProgram *p, LLVMOrcLLJITRef engine, const char *name, const void *address) {
  LLVMOrcCSymbolMapPair pair = {
      .Name = llvm.OrcLLJITMangleAndIntern(engine, name),
      .Sym = {.Address = (LLVMOrcExecutorAddress)(uintptr_t)address, .Flags = {LLVMJITSymbolGenericFlagsExported, 0}},
  };
  return llvm_succeeded(p->ctx,
                        llvm.OrcJITDylibDefine(llvm.OrcLLJITGetMainJITDylib(engine), llvm.OrcAbsoluteSymbols(&pair, 1)),
                        arena_printf(p->ctx->arena, "define %s", name));
}

/* All that compiled code may call; this process has libm, since the evaluation of scalars calls the same functions. */
static bool define_libm(LoopProgram *p, LLVMOrcLLJITRef engine) {
  static const DType types[] = {DT_F32, DT_F64};
  for (int op = 0; op < SC_COUNT; op++)
    for (int k = 0; k < 2; k++) {
      const char *name = scalar_op_libm((ScalarOp)op, types[k]);
      void *address = name ? dlsym(RTLD_DEFAULT, name) : NULL;
      if (address && !define(p, engine, name, address))
        return false;
    }
  return true;
}

static bool define_weights(LoopProgram *p, LLVMOrcLLJITRef engine) {
  if (!p->constants.len)
    return true;
  size_t *offsets = ARENA_ARRAY(p->ctx->arena, size_t, p->constants.len), size = weights_layout(p, offsets);
  void *blob = arena_alloc(p->ctx->arena, size < 64 ? 64 : size); /* 64 bytes and more are aligned to 64 */
  weights_fill(p, offsets, blob);
  return define(p, engine, "weft_weights", blob);
}

static bool load_object(LoopProgram *p, Jit *jit, LLVMMemoryBufferRef object) {
  Ctx *ctx = p->ctx;
  LLVMOrcExecutorAddress address;
  llvm.OrcExecutionSessionSetErrorReporter(llvm.OrcLLJITGetExecutionSession(jit->engine), ignore_report, NULL);
  if (!llvm_succeeded(ctx, llvm.OrcLLJITAddObjectFile(jit->engine, llvm.OrcLLJITGetMainJITDylib(jit->engine), object),
                      "add the object") ||
      !define_weights(p, jit->engine) || !define_libm(p, jit->engine) ||
      !llvm_succeeded(ctx, llvm.OrcLLJITLookup(jit->engine, &address, "weft_compiled"), "link in memory"))
    return false;
  jit->model = (const WeftModel *)(uintptr_t)address;
  return true;
}

Jit *jit_open(LoopProgram *p, const CodegenOptions *options) {
  LLVMMemoryBufferRef object =
      cpu_target_check_runs(p->ctx, options->cpu) ? gen_program(p, options, EMIT_OBJ, false) : NULL;
  if (!object)
    return NULL;
  Jit *jit = ARENA_NEW(p->ctx->arena, Jit);
  if (!llvm_succeeded(p->ctx, llvm.OrcCreateLLJIT(&jit->engine, llvm.OrcCreateLLJITBuilder()), "start its JIT")) {
    llvm.DisposeMemoryBuffer(object);
    return NULL;
  }
  if (load_object(p, jit, object))
    return jit;
  jit_close(jit);
  return NULL;
}

const WeftModel *jit_model(const Jit *jit) {
  return jit->model;
}

void jit_close(Jit *jit) {
  LLVMErrorRef error = llvm.OrcDisposeLLJIT(jit->engine);
  if (error)
    llvm.DisposeErrorMessage(llvm.GetErrorMessage(error));
}
