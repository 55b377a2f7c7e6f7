/* From loop nests to machine code, through LLVM's C API, loaded on first use. */
#ifndef WEFT_CODEGEN_CODEGEN_H
#define WEFT_CODEGEN_CODEGEN_H

#include "codegen/target.h"
#include "lower/loop.h"

typedef struct {
  const CpuTarget *cpu;
  const char *prefix; /* of exported symbols, "weft_model" by default */
  int threads;        /* default number of threads at run time, 0: as the runtime finds */
  bool poison;        /* debug: the runtime fills the workspace with signalling NaN before each run */
  bool with_weights;  /* an object holds the constants itself; else `weft_weights` of weights_object is linked to it */
} CodegenOptions;

typedef struct {
  const unsigned char *data;
  size_t size;
} Bytes;

/* Whether exported symbols may start so: a C identifier that leaves the runtime's own names alone. False after reporting
 * (WEFT_USAGE). Commands ask before they compile. */
bool codegen_prefix_ok(Ctx *ctx, const char *prefix);

/* The JSON that weft_model_info returns (DESIGN A2), from the planned program. */
const char *model_info_json(LoopProgram *p, const CodegenOptions *options);
/* Elements of the program's constants as the user gave them: a constant in several layouts counts once. */
int64_t parameter_count(LoopProgram *p);
/* The C header for a compiled model (--header); valid C99 and C++. The prefix must be ok. */
const char *model_header(LoopProgram *p, const CodegenOptions *options);

/* All constants of the program in one blob: offsets[k] for program constant k, each a multiple of 64. Returns the blob's
 * size, a multiple of 64 too; 0 without constants. */
size_t weights_layout(LoopProgram *p, size_t *offsets);
void weights_fill(LoopProgram *p, const size_t *offsets, void *blob);
/* A relocatable ELF64 x86-64 object holding the blob in one read-only, 64-byte aligned section under the hidden symbol
 * `weft_weights` (section .lrodata, large, from 1 GB on). */
Bytes weights_object(LoopProgram *p);

/* LLVM IR text, assembler text or an ELF object (C strings for the texts, NUL not counted). False after reporting:
 * WEFT_MISSING where libLLVM is not found, WEFT_BUG where LLVM refuses our IR. */
typedef enum { EMIT_LLVM, EMIT_ASM, EMIT_OBJ } EmitKind;
bool codegen_emit(LoopProgram *p, const CodegenOptions *options, EmitKind kind, Bytes *out);

/* Links objects (code, weights_object) and the runtime to a shared object at `path`, written beside it and renamed; it
 * exports the symbols that start with the prefix and `_`, no more. False after reporting, with nothing left behind:
 * WEFT_MISSING where no linker or C library is found, WEFT_USAGE where `path` cannot be written. */
bool link_shared(Ctx *ctx, const Bytes *objects, int n, const CodegenOptions *options, const char *path);

/* Compiles in memory. The result stays valid until jit_close; run it through runtime/model.h. */
struct WeftModel;
typedef struct Jit Jit;
Jit *jit_open(LoopProgram *p, const CodegenOptions *options); /* NULL after reporting */
const struct WeftModel *jit_model(const Jit *jit);
void jit_close(Jit *jit);

/* Version line for --version and `weft targets`: "LLVM 19.1.7 (libLLVM-19.so.1)" or why it is not to be had. */
const char *llvm_description(Ctx *ctx, bool *available);

#endif
