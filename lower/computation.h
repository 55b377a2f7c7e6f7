/* What an op computes, before any decision about loops: for every point of the axes,
 *
 *   target[axes] = value( acc, args... )   with   acc = init(...), then for every point of the reductions  acc =
 * step(acc, ...)
 *
 * Axes and reduction variables are expr_var nodes; a variable's bounds may use variables that stand before it (axes
 * before reductions). Accesses are index expressions over all of them. Splitting and restricting an axis is
 * substitution: the constructors of ir/expr.h simplify, so that e.g. the tap bounds of an interior point become
 * constants by themselves once the axis is restricted to the interior.
 *
 * In place (scatter), the accumulator is the target itself, which earlier nests have stored; its index may use the
 * reductions and bindings, which is why those run in order:
 *
 *   for every point of the axes and, innermost, of the reductions:  target = step(target, ...)
 *
 * The index of the target must name every axis, since axes are independent of one another.
 *
 * An index that is itself read from memory (gather, resampling tables) is a binding: a variable with its range, and the
 * integer that it is bound to. Accesses use the variable like any other. */
#ifndef WEFT_LOWER_COMPUTATION_H
#define WEFT_LOWER_COMPUTATION_H

#include "lower/loop.h"

#define COMPUTATION_MAX_VARS 40
#define COMPUTATION_MAX_ARGS 32
#define COMPUTATION_MAX_BINDINGS 8

typedef struct {
  int n;
  Access access[COMPUTATION_MAX_ARGS];
} Args;

/* var = value over args (i64), which use axes and reductions, and variables of earlier bindings. */
typedef struct {
  const Expr *var;
  const Scalar *value;
  Args args;
} Binding;

typedef struct Computation {
  int n_axes, n_reds, n_bindings;
  const Expr *axes[COMPUTATION_MAX_VARS];
  const Expr *reds[COMPUTATION_MAX_VARS];
  /* NULL, or a variable in whose narrower bounds the reduction may run as well: the other steps add zeros. */
  const Expr *tight[COMPUTATION_MAX_VARS];
  Binding bindings[COMPUTATION_MAX_BINDINGS];
  bool reduces;       /* false: no accumulator, no reds */
  bool in_place;      /* of one that reduces: step and step_args alone count, of init, value and args none */
  const Scalar *init; /* the accumulator's first value, of its type; SC_ARG(k) is init_args.access[k] */
  Args init_args;
  const Scalar *step; /* SC_ARG(0) is the accumulator, SC_ARG(k + 1) is step_args.access[k] */
  Args step_args;
  /* Two accumulators, SC_ARG(0) and SC_ARG(1), each of a part of the terms, as one, and what leaves the other as it is;
   * NULL where the order of the terms matters. */
  const Scalar *fold, *identity;
  /* SC_ARG(0) of value is the accumulator where the computation reduces, SC_ARG(k + 1) is args.access[k]; else
   * SC_ARG(k) is. */
  const Scalar *value;
  Args args;
  Access target;
} Computation;

/* True where an index of one of the accesses uses var. */
bool args_use(const Args *args, const Expr *var);
/* The number of this access in args, added where it is not there. -1 where the table is full. */
int args_add(Args *args, Access access);
Access access_subst(Ctx *ctx, Access access, const Expr *from, const Expr *to);
/* The element offset of an access in its buffer's storage. */
const Expr *access_offset(Ctx *ctx, Access access);

/* c with axis number k replaced by `to` (an expression over variables in scope there) and the axes `vars` in its place
 * (n of them, 0 for a fixed index). Variables whose bounds change are made anew. */
Computation computation_replace_axis(Ctx *ctx, const Computation *c, int k, const Expr *to, const Expr *const *vars,
                                     int n);
/* Axis k restricted to lo <= axis < hi; removed where that is a single point. */
Computation computation_restrict_axis(Ctx *ctx, const Computation *c, int k, const Expr *lo, const Expr *hi);
/* c with the bounds of its reductions taken at axis k = `at`: for a range of the axis in which they do not change. */
Computation computation_fix_bounds(Ctx *ctx, const Computation *c, int k, const Expr *at);
/* Reduction k in its narrower bounds. */
void computation_tighten(Ctx *ctx, Computation *c, int k);
/* Removes axes and reductions of exactly one iteration. */
Computation computation_drop_unit_loops(Ctx *ctx, const Computation *c);
/* True where the bounds of a reduction or of another axis use axis k. */
bool computation_bounds_use(const Computation *c, int k);
/* True where a bound of var uses atom. */
bool var_bounds_use(const Expr *var, const Expr *atom);
/* The constant number of iterations of a variable, or -1. */
int64_t var_extent(Ctx *ctx, const Expr *var);

#endif
