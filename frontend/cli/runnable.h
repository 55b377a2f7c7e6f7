/* Something that can be run: a model compiled in memory, a .so, or the reference evaluation. Ports are described by the
 * JSON of weft_model_info in every case, so that there is one way to read inputs and write outputs. */
#ifndef WEFT_FRONTEND_CLI_RUNNABLE_H
#define WEFT_FRONTEND_CLI_RUNNABLE_H

#include "frontend/cli/driver.h"

typedef struct {
  const char *name;
  DType dtype;
  int rank;
  int64_t shape[WEFT_MAX_RANK]; /* in the order of the caller's buffer */
  const char *layout;           /* letters, or NULL */
} IoPort;

typedef struct Runnable {
  const char *info; /* JSON */
  int n_inputs, n_outputs;
  const IoPort *inputs, *outputs;
  /* Status as weft_model_run; messages are reported by the caller through error(). */
  int (*run)(struct Runnable *r, const void *const *inputs, void *const *outputs);
  const char *(*error)(struct Runnable *r);
  void (*close)(struct Runnable *r);
  Ctx *ctx;
  void *impl;
} Runnable;

/* path: a model or a .so (told by content). interp: the reference evaluation of a model. NULL after reporting. */
Runnable *runnable_open(Ctx *ctx, const BuildOptions *options, const char *path, bool interp);
/* The JSON's fields as a jansson object (borrowed until close) for inspect. */
bool is_shared_object(const char *path);

#endif
