/* The self-check: whether every pass, and the code made at the end, computes what the graph as imported says. How it
 * works and how far apart results may lie is docs/verify.md.
 *
 * One SelfCheck watches one pipeline: it starts with the module as imported, looks at the unit after each pass (it is
 * the `check` of PipelineOptions), and after code generation is told of the compiled program's results by
 * codegen/self_check_code.c. It keeps all values of the graph, in the arena of the module's Ctx. */
#ifndef WEFT_LOWER_SELF_CHECK_H
#define WEFT_LOWER_SELF_CHECK_H

#include "ir/tensor.h"
#include "lower/loop.h"
#include "passes/pass.h"

#define SELF_CHECK_SEED 1 /* where the user gives none */

typedef struct {
  uint64_t seed;
  /* Storage of each parameter in the layout of its type; NULL: random, in -1..1. NULL for all of them: all random. */
  const void *const *inputs;
} SelfCheckOptions;

/* A row of the table. */
typedef struct {
  const char *name; /* of the pass, or "as imported", or "code generation" */
  const char *of;   /* what is counted: "values" or "nests" */
  int fresh, all;   /* evaluated for this stage; the stage has */
  int sampled;      /* nests of which a sample of the iterations ran */
  double max_abs;   /* the largest difference */
  double max_share; /* the largest share of its tolerance that a difference takes; above 1: failed */
  double seconds;
  bool failed;
} CheckStage;

/* Two tensors compared. Of the element with the largest share of its tolerance: its number, and what is there. */
typedef struct {
  double max_abs, max_share;
  int64_t worst;
  double got, expected, tolerance;
} CheckDiff;

/* What the first stage that failed shows. Strings and lists may be NULL where there is nothing to say. */
typedef struct {
  const char *stage;
  const PipelineStep *step; /* NULL: code generation */
  const char *what;         /* one line */
  const char *op;           /* name of the first wrong op's result */
  const char *nest;
  Loc loc;
  const char *before, *after, *made; /* texts of ops: before and after the pass, and those it made that the op reads */
  const char *layouts;
  CheckDiff diff; /* max_share 0: nothing was compared */
  int rank;
  int64_t index[WEFT_MAX_RANK]; /* logical, of the worst element */
} CheckFault;

typedef struct SelfCheck SelfCheck;

/* Evaluates the unit as it is: its graph, or where it has loops only, these. NULL after reporting: dimensions that are
 * not constant, or inputs that the model refuses. */
SelfCheck *self_check_start(Unit *unit, SelfCheckOptions options);
/* PipelineOptions.check; env is the SelfCheck. False where the stage failed. */
bool self_check_pass(void *env, Unit *unit, const PipelineStep *step, bool verified);

/* The table of stages, and what failed, as text. */
void self_check_print(Str *out, const SelfCheck *c);
const CheckStage *self_check_stages(const SelfCheck *c, size_t *n);
/* NULL while all is well. */
const CheckFault *self_check_fault(const SelfCheck *c);
/* The graph in the state before the pass that failed (before `lower` for all that comes behind it), with the values in
 * it by id; NULL where there is no graph. */
const Function *self_check_before(const SelfCheck *c, const Tensor *const **values);
/* The passes from that graph to the fault: the one that failed; from `lower` on, all that ran from there. */
Pipeline self_check_steps(const SelfCheck *c);

/* ---- for the check of compiled code ---- */

/* A stage that runs from here; returned by value, given back to self_check_end. */
typedef struct {
  CheckStage row;
  double start;
} CheckTimer;
CheckTimer self_check_begin(const char *name, const char *of);
/* Adds the row. False where it failed. */
bool self_check_end(SelfCheck *c, CheckTimer *t);

/* What a buffer must hold, and per element how far from it what a nest computes of exact operands may lie (NULL:
 * nothing). Of a buffer whose value is set. */
const Tensor *self_check_truth(SelfCheck *c, const Buffer *b);
const double *self_check_tolerance(SelfCheck *c, const Buffer *b);
/* Storage of the inputs, in the program's order. */
const void *const *self_check_inputs(const SelfCheck *c);
/* Compares the model's outputs with those of the graph as imported. storage: in the layouts of the outputs' types. What
 * is beyond the tolerance becomes the fault. */
bool self_check_outputs(SelfCheck *c, CheckTimer *t, LoopProgram *p, void *const *storage);

/* Compares elements, those with mask[i] set where mask is given; equal NaNs are equal. */
CheckDiff check_compare(const Tensor *got, const Tensor *expected, const double *tolerance, const unsigned char *mask);
/* Notes a difference in the row; true where it is within the tolerance. */
bool check_note(CheckTimer *t, const CheckDiff *d);
/* Makes the fault: a nest has stored a wrong value, or done something that it must not (diff NULL). */
void check_fail_nest(SelfCheck *c, CheckTimer *t, const PipelineStep *step, const Nest *nest, const Buffer *b,
                     const CheckDiff *diff, const char *what);
/* Makes the fault of a stage as a whole; false. */
bool check_fail_run(SelfCheck *c, CheckTimer *t, const char *what);

#endif
