/* The parts of the self-check; private to lower/self_check*.c. */
#ifndef WEFT_LOWER_SELF_CHECK_IMPL_H
#define WEFT_LOWER_SELF_CHECK_IMPL_H

#include "lower/self_check.h"

/* ---- self_check_values.c: evaluation that does nothing twice ----
 *
 * Tensors are interned by content: equal ones are one pointer. The result of an op is kept under the op's row, its
 * attributes and its operands' tensors, so that a changed op costs itself only where its result is the same as before.
 */
typedef struct {
  Ctx *ctx;
  Intern tensors, results;
  int fresh; /* results evaluated so far */
} Evaluator;

const Tensor *evaluator_intern(Evaluator *e, const Tensor *t);
/* NULL after reporting. */
const Tensor *evaluator_op(Evaluator *e, const Op *op, const Tensor *const *in);
/* All values by id, from inputs (one per parameter). NULL after reporting. */
const Tensor **evaluator_function(Evaluator *e, const Function *f, const Tensor *const *inputs);
/* The tensors of an op's operands, NULL for those omitted. */
const Tensor **evaluator_operands(Evaluator *e, const Op *op, const Tensor *const *values);

/* ---- self_check_error.c: how far off rounding may take results ---- */

#define CHECK_C 16.0     /* the constant of docs/verify.md */
#define CHECK_ATOL 1e-36 /* where results are denormal */

/* Half a unit in the last place of 1. 0 for integers. */
double check_epsilon(DType dtype);
/* Per element, `scale` times the error that rounding may make in an op's result, its operands being exact but for
 * errors (per operand and element; NULL: exact; elementwise ops only). NULL where there is none. */
const double *check_rounding(Evaluator *e, const Op *op, const Tensor *const *in, const double *const *errors,
                             const Tensor *out, double scale);
/* The same for an elementwise op, by running error analysis of its expression. self_check_scalar.c. */
const double *check_elementwise(Ctx *ctx, const Op *op, const Tensor *const *in, const double *const *errors,
                                const Tensor *out, double scale);
/* Per result of f, CHECK_C times how far its elements move where every op's result is off by its rounding error, with
 * random signs. values: of f. */
const double **check_noise(Evaluator *e, const Function *f, const Tensor *const *values, uint64_t seed);

/* ---- self_check.c ---- */

struct SelfCheck {
  Ctx *ctx;
  SelfCheckOptions options;
  Evaluator eval;
  const void **inputs;      /* storage */
  const Type **input_types; /* as imported */
  const Tensor **input_tensors;
  size_t n_inputs;
  Module *imported; /* a copy, composites expanded; NULL: loops only */
  const Tensor **imported_values;
  const Tensor **results; /* of the graph as imported */
  const Type **result_types;
  size_t n_results;
  const double **tolerances; /* per result; NULL until asked */
  const Function *before;    /* the graph after the last stage that was well */
  const Tensor **values;     /* of `before` and of the module's own function, by id */
  const double **errors;     /* by id of a value: self_check_tolerance, where asked_error */
  bool *asked_error;
  void **outputs; /* loops only: what they give */
  Intern nests;   /* texts of nests found right */
  VEC(CheckStage) stages;
  Pipeline loop_steps; /* the passes from `lower` on */
  CheckFault fault;
  bool failed;
};

/* Per result, its tolerance for a comparison of whole runs. */
const double *self_check_noise_of(SelfCheck *c, size_t result);
/* f is the graph from here on; it is copied. */
void check_set_graph(SelfCheck *c, const Function *f, const Tensor **values);
/* Makes the fault; false. */
bool check_fail(SelfCheck *c, CheckTimer *t, const CheckFault *fault);
void check_set_diff(CheckFault *fault, const CheckDiff *d, const Tensor *t);

/* ---- self_check_graph.c, self_check_loops.c: one stage. False where it failed, or (with c->failed not set) after
 * reporting ---- */
bool check_graph(SelfCheck *c, CheckTimer *t, Unit *unit, const PipelineStep *step);
bool check_loops(SelfCheck *c, CheckTimer *t, Unit *unit, const PipelineStep *step);
/* "data NHWC, kernel OIHW, result NHWC": letters where the row has roles, else tags. */
const char *check_layouts_text(Ctx *ctx, const Op *op);
/* A rule of the form was broken: finds the op. */
void check_broken(SelfCheck *c, CheckTimer *t, Unit *unit, const PipelineStep *step);

#endif
