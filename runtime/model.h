/* What compiled code and the runtime agree on. The runtime (model.c, thread.c) is built once as a freestanding object
 * and embedded in weft; it is linked into every compiled model and into weft itself (for in-memory runs).
 *
 * Compiled code defines one `const WeftModel weft_compiled` (hidden), and per exported function a wrapper PREFIX_run etc. that
 * calls weft_rt_run(&weft_compiled, ...). */
#ifndef WEFT_RUNTIME_MODEL_H
#define WEFT_RUNTIME_MODEL_H

#include <stddef.h>
#include <stdint.h>

#define WEFT_ABI 1

/* CPU features, tested by cpuid (and XCR0 for the register state) at the first call. */
#define WEFT_CPU_FEATURES(X)                                                                                           \
  X(SSE42, "sse4.2", 0)                                                                                                \
  X(POPCNT, "popcnt", 1)                                                                                               \
  X(AVX, "avx", 2)                                                                                                     \
  X(AVX2, "avx2", 3)                                                                                                   \
  X(FMA, "fma", 4)                                                                                                     \
  X(F16C, "f16c", 5)                                                                                                   \
  X(BMI2, "bmi2", 6)                                                                                                   \
  X(AVX512F, "avx512f", 7)                                                                                             \
  X(AVX512BW, "avx512bw", 8)                                                                                           \
  X(AVX512DQ, "avx512dq", 9)                                                                                           \
  X(AVX512VL, "avx512vl", 10)                                                                                          \
  X(AVX512CD, "avx512cd", 11)

enum {
#define X(id, name, bit) WEFT_CPU_##id = 1 << bit,
  WEFT_CPU_FEATURES(X)
#undef X
};

/* The addresses one run works with. */
typedef struct {
  const void *const *inputs;
  void *const *outputs;
  const char *weights;
  char *arena;
} WeftFrame;

/* Iterations [begin, end) of the nest's flattened parallel loops. */
typedef void WeftNestFn(const WeftFrame *frame, int64_t begin, int64_t end);

typedef struct {
  WeftNestFn *fn;
  const char *name;
  int64_t count; /* iterations of the flattened outermost parallel loops; 1 where there is none */
  int64_t work;  /* multiplications and additions in all: small nests stay on one thread */
} WeftNest;

typedef struct {
  const char *name;
  int64_t bytes;
} WeftPort;

typedef struct WeftModel {
  int32_t abi;
  uint32_t cpu_needs;      /* WEFT_CPU_* */
  const char *cpu_name;    /* of the target compiled for, for the message */
  const char *info;        /* JSON */
  const char *weights;
  int64_t workspace;       /* bytes of the arena */
  int32_t poison;          /* debug: fill the workspace with signalling NaN before a run */
  int32_t n_nests, n_inputs, n_outputs;
  const WeftNest *nests;
  const WeftPort *inputs, *outputs;
} WeftModel;

/* Behind the exported functions, DESIGN A2. Statuses are those of the commands: 0, 2 (a bad argument), 3, 5 (the machine
 * lacks a CPU feature). All may be called from several threads at once. */
int weft_rt_run(const WeftModel *model, const void *const *inputs, void *const *outputs);
int weft_rt_run_in(const WeftModel *model, const void *const *inputs, void *const *outputs, void *workspace);
size_t weft_rt_workspace_size(const WeftModel *model, const int64_t *dims, int n);
int weft_rt_set_threads(int n); /* n <= 0 asks only; returns the number in use */
const char *weft_rt_error(void); /* of the calling thread; "" where there was none */
uint32_t weft_rt_cpu_features(void); /* WEFT_CPU_* bits of this machine */

/* thread.c: runs fn over [0, count) in chunks on the pool; the caller takes part. */
void weft_rt_parallel(const WeftNest *nest, const WeftFrame *frame);

#endif
