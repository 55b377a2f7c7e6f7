/* Runs a compiled model: checks what the caller gave, finds a workspace, runs the nests in order.
 *
 * A wrong argument is found before any nest starts, so that outputs are untouched after status 2. All checks are by
 * address ranges and cost nanoseconds a port.
 *
 * This file is part of every compiled model: it may call libc and pthreads only, never writes to stdout or stderr and
 * never ends the process. It keeps no vector registers alive across an access to `message` (the build forbids it to use
 * them): glibc before 2.40 may lose them when a thread's block of thread-local storage is made on first use. */
#include "runtime/model.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { BAD_ARGUMENT = 2, BAD_VALUE = 3, MISSING = 5, WORKSPACE_ALIGN = 64 };

static _Thread_local char message[512];

__attribute__((format(printf, 2, 3))) static int fail(int status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  return status;
}

const char *weft_rt_error(void) {
  return message;
}

/* ---- the machine ---- */

static const struct {
  uint32_t bit;
  const char *name;
} features[] = {
#define X(id, name, bit) {WEFT_CPU_##id, name},
    WEFT_CPU_FEATURES(X)
#undef X
};

static int check_cpu(const WeftModel *model) {
  uint32_t missing = model->cpu_needs & ~weft_rt_cpu_features();
  if (!missing)
    return 0;
  char names[256];
  int n = 0;
  names[0] = '\0';
  for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
    if (missing & features[i].bit)
      n += snprintf(names + n, sizeof names - (size_t)n, "%s%s", n ? ", " : "", features[i].name);
    missing &= ~features[i].bit;
  }
  if (missing) /* a bit that this table has no name for */
    snprintf(names + n, sizeof names - (size_t)n, "%sfeature bits 0x%x", n ? ", " : "", (unsigned)missing);
  return fail(MISSING, "this machine's CPU lacks %s, which the model was compiled for (%s)", names, model->cpu_name);
}

/* ---- arguments ---- */

static int overlap(const void *a, int64_t a_bytes, const void *b, int64_t b_bytes) {
  if (a_bytes == 0 || b_bytes == 0)
    return 0;
  uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return x < y ? y - x < (uint64_t)a_bytes : x - y < (uint64_t)b_bytes;
}

static int check_port(const char *side, int i, const WeftPort *port, const void *address) {
  if (port->bytes == 0)
    return 0;
  if (!address)
    return fail(BAD_ARGUMENT, "%s %d '%s' is NULL, expected a buffer of %lld bytes", side, i, port->name,
                (long long)port->bytes);
  if ((uintptr_t)address & (uint64_t)(port->align - 1))
    return fail(BAD_ARGUMENT, "%s %d '%s' lies at address %p, expected a multiple of its element's size, %lld bytes",
                side, i, port->name, address, (long long)port->align);
  return 0;
}

static int check_arguments(const WeftModel *m, const void *const *inputs, void *const *outputs) {
  int status;
  if (!inputs && m->n_inputs > 0)
    return fail(BAD_ARGUMENT, "inputs is NULL, expected %d addresses", (int)m->n_inputs);
  if (!outputs && m->n_outputs > 0)
    return fail(BAD_ARGUMENT, "outputs is NULL, expected %d addresses", (int)m->n_outputs);
  for (int i = 0; i < m->n_inputs; i++)
    if ((status = check_port("input", i, &m->inputs[i], inputs[i])))
      return status;
  for (int o = 0; o < m->n_outputs; o++) {
    const WeftPort *out = &m->outputs[o];
    if ((status = check_port("output", o, out, outputs[o])))
      return status;
    for (int i = 0; i < m->n_inputs; i++)
      if (overlap(outputs[o], out->bytes, inputs[i], m->inputs[i].bytes))
        return fail(BAD_ARGUMENT, "output %d '%s' overlaps input %d '%s'", o, out->name, i, m->inputs[i].name);
    for (int i = 0; i < o; i++)
      if (overlap(outputs[o], out->bytes, outputs[i], m->outputs[i].bytes))
        return fail(BAD_ARGUMENT, "output %d '%s' overlaps output %d '%s'", o, out->name, i, m->outputs[i].name);
  }
  return 0;
}

static int check_workspace(const WeftModel *m, const void *const *inputs, void *const *outputs, const void *workspace) {
  if (m->workspace == 0)
    return 0;
  if (!workspace)
    return fail(BAD_ARGUMENT, "workspace is NULL, expected %lld bytes", (long long)m->workspace);
  if ((uintptr_t)workspace % WORKSPACE_ALIGN)
    return fail(BAD_ARGUMENT, "workspace lies at address %p, expected a multiple of %d", workspace, WORKSPACE_ALIGN);
  for (int i = 0; i < m->n_inputs; i++)
    if (overlap(workspace, m->workspace, inputs[i], m->inputs[i].bytes))
      return fail(BAD_ARGUMENT, "workspace overlaps input %d '%s'", i, m->inputs[i].name);
  for (int o = 0; o < m->n_outputs; o++)
    if (overlap(workspace, m->workspace, outputs[o], m->outputs[o].bytes))
      return fail(BAD_ARGUMENT, "workspace overlaps output %d '%s'", o, m->outputs[o].name);
  return 0;
}

/* ---- workspace ----
 *
 * A fresh block of some megabytes costs a page fault every 4 KB, as much time as a small model. So the block of the
 * last run waits here for the next one. A run takes it out, so that two runs at once never share it; the second
 * allocates. */

typedef struct {
  _Alignas(WORKSPACE_ALIGN) size_t bytes; /* of the workspace behind this header */
} Block;

static _Atomic(Block *) spare;

static Block *take_block(size_t bytes) {
  Block *block = atomic_exchange_explicit(&spare, NULL, memory_order_acq_rel);
  if (block && block->bytes >= bytes)
    return block;
  free(block);
  if (bytes > SIZE_MAX / 4) /* the rounding below may not overflow */
    return NULL;
  bytes = (bytes + WORKSPACE_ALIGN - 1) & ~(size_t)(WORKSPACE_ALIGN - 1);
  block = aligned_alloc(WORKSPACE_ALIGN, sizeof(Block) + bytes);
  if (block)
    block->bytes = bytes;
  return block;
}

static void leave_block(Block *block) {
  free(atomic_exchange_explicit(&spare, block, memory_order_acq_rel));
}

/* ---- runs ---- */

/* Every float is a signalling NaN: a value read before it was written shows in the output. */
static void poison(char *workspace, int64_t bytes) {
  uint32_t *words = (uint32_t *)(void *)workspace;
  for (int64_t i = 0; i < bytes / 4; i++)
    words[i] = 0x7fa00000u;
}

/* Ends behind the first nest that met an index out of range: weft_rt_parallel returns when all of a nest has run. */
static int run_nests(const WeftModel *m, const void *const *inputs, void *const *outputs, void *workspace) {
  weft_rt_set_threads(m, 0); /* the model has a say in the default */
  int32_t fault = 0;
  const WeftFrame frame = {
      .inputs = inputs, .outputs = outputs, .weights = m->weights, .arena = workspace, .fault = &fault};
  if (m->poison)
    poison(workspace, m->workspace);
  for (int i = 0; i < m->n_nests; i++) {
    weft_rt_parallel(&m->nests[i], &frame);
    if (__atomic_load_n(&fault, __ATOMIC_RELAXED))
      return fail(BAD_VALUE, "%s: index out of range in %s", m->nests[i].name, m->nests[i].what);
  }
  return 0;
}

int weft_rt_run(const WeftModel *model, const void *const *inputs, void *const *outputs) {
  int status;
  if ((status = check_cpu(model)) || (status = check_arguments(model, inputs, outputs)))
    return status;
  if (model->workspace == 0)
    return run_nests(model, inputs, outputs, NULL);
  Block *block = take_block((size_t)model->workspace);
  if (!block)
    return fail(MISSING, "no memory for a workspace of %lld bytes", (long long)model->workspace);
  status = run_nests(model, inputs, outputs, block + 1);
  leave_block(block);
  return status;
}

int weft_rt_run_in(const WeftModel *model, const void *const *inputs, void *const *outputs, void *workspace) {
  int status;
  if ((status = check_cpu(model)) || (status = check_arguments(model, inputs, outputs)) ||
      (status = check_workspace(model, inputs, outputs, workspace)))
    return status;
  return run_nests(model, inputs, outputs, workspace);
}

size_t weft_rt_workspace_size(const WeftModel *model, const int64_t *dims, int n) {
  (void)dims;
  if (n != 0) {
    fail(BAD_ARGUMENT, "%d dynamic dimensions given, expected 0", n);
    return SIZE_MAX;
  }
  return (size_t)model->workspace;
}
