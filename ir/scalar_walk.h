/* Private to the scalar language: numbers for walks. An expression is a graph with shared nodes, so a plain recursion
 * may take exponential time; a walk leaves its answer in each node together with its number and takes it from there the
 * second time. Walks may nest: a later one only makes an earlier one forget. A Ctx belongs to one thread. */
#ifndef WEFT_IR_SCALAR_WALK_H
#define WEFT_IR_SCALAR_WALK_H

#include "ir/scalar.h"

uint64_t scalar_walk_number(void);

/* Nodes are immutable to all but walks. */
static inline Scalar *scalar_scratch(const Scalar *s) {
  return (Scalar *)(uintptr_t)s;
}

/* The same node over other operands, which have the types of its own. */
const Scalar *scalar_remake(Ctx *ctx, const Scalar *s, const Scalar *const *args);
/* scalar_expand replaces this intrinsic where its operands have this type. */
bool scalar_op_expands(ScalarOp op, DType dtype);
/* An operation of floats in double, as the reference has it. */
double scalar_float_operation(ScalarOp op, double a, double b, double c);
/* Operations that are the same in both evaluations. False: not one of them. */
bool scalar_typeless(ScalarOp op, DType operands, DType result, const ScalarValue v[3], ScalarValue *value);

/* The parser of scalar_parse; call makes a node for a function that scalar.def does not have (NULL: not known, *why
 * untouched) and may be NULL itself. */
typedef const Scalar *ScalarCall(Ctx *ctx, const char *name, size_t len, const Scalar *const *args, int n);
const Scalar *scalar_parse_calls(Ctx *ctx, const char *text, const char *const *names, const Scalar *const *values,
                                 int n, ScalarCall *call, const char **why);

#endif
