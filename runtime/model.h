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
  int32_t *fault; /* a nest that meets an index out of range sets it to 1 (one relaxed atomic store) and goes on within the range */
} WeftFrame;

/* Iterations [begin, end) of the nest's flattened parallel loops. */
typedef void WeftNestFn(const WeftFrame *frame, int64_t begin, int64_t end);

typedef struct {
  WeftNestFn *fn;
  const char *name;
  int64_t count; /* iterations of the flattened outermost parallel loops; 1 where there is none */
  int64_t work;  /* multiplications and additions in all: small nests stay on one thread */
  const char *what; /* the ops it computes, for messages */
} WeftNest;

/* One input or output as the caller sees it. */
typedef struct {
  const char *name;
  int64_t bytes; /* of the dense buffer; 0: the address may be NULL */
  int64_t align; /* the element's natural alignment (its size in bytes), a power of two */
} WeftPort;

typedef struct WeftModel {
  int32_t abi;
  uint32_t cpu_needs;      /* WEFT_CPU_* */
  const char *cpu_name;    /* of the target compiled for, for the message */
  const char *info;        /* JSON */
  const char *weights;
  int64_t workspace;       /* bytes of the arena */
  int32_t threads;         /* default number of threads where WEFT_NUM_THREADS does not say; 0: the CPUs */
  int32_t poison;          /* debug: fill the workspace with signalling NaN before a run */
  int32_t n_nests, n_inputs, n_outputs;
  const WeftNest *nests;
  const WeftPort *inputs, *outputs;
} WeftModel;

/* Behind the exported functions of a compiled model. Statuses are those of the commands: 0; 2 a bad argument; 3 a value
 * met during the run; 5 the machine lacks a CPU feature or memory. All may be called from several threads at once. */

/* Takes its workspace from the block that an earlier run left, or allocates one; the block is kept for the next run. */
int weft_rt_run(const WeftModel *model, const void *const *inputs, void *const *outputs);
/* Allocates nothing. workspace: model->workspace bytes aligned to 64, apart from inputs and outputs; NULL where these are 0. */
int weft_rt_run_in(const WeftModel *model, const void *const *inputs, void *const *outputs, void *workspace);
/* n is the number of dynamic dimensions, 0 so far; another n gives SIZE_MAX and an error text. */
size_t weft_rt_workspace_size(const WeftModel *model, const int64_t *dims, int n);
/* n <= 0 asks only; returns the number in use, the caller's own thread counted. Holds from the next nest on, for the whole
 * pool. The first call of this or of a run settles the default, by WEFT_NUM_THREADS, else the model, else the CPUs. */
int weft_rt_set_threads(const WeftModel *model, int n);
/* The text of the calling thread's last error; "" where there was none. Valid until that thread's next error. */
const char *weft_rt_error(void);
uint32_t weft_rt_cpu_features(void); /* WEFT_CPU_* bits of this machine; asked once, then remembered */

/* thread.c: runs fn over [0, count) in chunks on the pool; the caller takes part. Small nests, and those of a run that
 * meets a busy pool, run on the calling thread alone. */
void weft_rt_parallel(const WeftNest *nest, const WeftFrame *frame);

#endif
