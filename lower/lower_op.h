/* What lowering an op works with; private to lower/.
 *
 * A group is an op and the elementwise ops fused into its nest, each the only reader of the one before. Views are not
 * computed where a reader can follow them (views.c): lower_read goes through them. */
#ifndef WEFT_LOWER_LOWER_OP_H
#define WEFT_LOWER_LOWER_OP_H

#include "lower/computation.h"
#include "lower/lower.h"

typedef struct LowerCtx {
  Ctx *ctx;
  Module *module;
  const Function *function;
  LoopProgram *program;
  LowerTarget target;
  Buffer **buffers; /* by value id; NULL: a view, or inside a group */
  const Op **fused; /* by value id: the op fused onto it, or NULL */
  const bool *often; /* by value id: views_read_often */
  bool *inlined;     /* by value id: inlined_values */
} LowerCtx;

typedef struct {
  const Op *root;
  const Op *const *chain; /* fused ops in order */
  int n_chain;
  const Value *result; /* of the last of them */
  Buffer *target;
  const char *what;
} Group;

/* One per family of ops.def; false after reporting. */
typedef bool LowerFn(LowerCtx *lc, const Group *group);

/* An index that is read from memory, for Computation.bindings: `name` in 0..extent is the number that `given` reads, from
 * the end of the axis where it is below 0. */
Binding lower_index(LowerCtx *lc, const char *name, Access given, Dim extent);

/* Reads a value at a logical index, through views. */
Access lower_read(LowerCtx *lc, const Value *value, const Expr *const *index);
/* The value at a logical index, over arguments that are added to args: SC_ARG numbers from first_arg on stand for them.
 * What is computed where it is read (inline.c) is an expression. NULL where args has no room. */
const Scalar *lower_value(LowerCtx *lc, const Value *value, const Expr *const *index, Args *args, int first_arg);
Access lower_target(LowerCtx *lc, const Group *group, const Expr *const *index);

/* The value the group stores at a logical index of its result, given the root op's own value (over SC_ARG numbers that
 * args holds already, from `first_arg` on). Operands of fused ops are added to args. NULL after reporting. */
const Scalar *lower_chain(LowerCtx *lc, const Group *group, const Expr *const *index, const Scalar *root, Args *args,
                          int first_arg);

/* Loops for a computation, as a nest of the program named after the group. schedule.c. */
void schedule_computation(LowerCtx *lc, const Group *group, const Computation *c);

/* A nest that stores zeros in the halo of the group's target; none where it has no halo. schedule_halo.c. */
void schedule_halo(LowerCtx *lc, const Group *group);

/* Stores the group over the axes of c, at index `at` of its result, the root's value being `root` over c->args. */
bool lower_move(LowerCtx *lc, const Group *group, Computation *c, const Expr *const *at, const Scalar *root);

/* ---- inline.c ---- */

/* By value id: true where an elementwise op's value is not stored but computed by its readers. Sets lc->inlined. */
bool *inlined_values(LowerCtx *lc);

/* ---- views.c ---- */

/* By value id: true where an op reads the value many times over. */
bool *views_read_often(LowerCtx *lc);
/* True where this view gets a buffer and a nest that copies. Views before it have been decided. */
bool view_is_stored(LowerCtx *lc, const Op *view);

/* One variable per axis of a type's logical index space, named by its roles or a, b, c... */
void lower_axis_vars(LowerCtx *lc, const Type *type, const Expr **vars);
/* Stores the group at every logical index, the root's value being operand 0 read at read_index (over vars): for
 * elementwise roots, copies and materialised views. */
bool lower_pointwise(LowerCtx *lc, const Group *group, const Expr *const *vars, const Scalar *root, Args *args);

#endif
