/* The scalar language: what one element of a result is, as a function of elements of operands. One small expression
 * language with total semantics; the reference evaluation, the loop interpreter and every printer obey it.
 *
 * Primitive operations are the rows of scalar.def. Intrinsics (exp, tanh, sigmoid) are rows too: the reference
 * evaluation asks libm in double; scalar_expand replaces them by polynomials over primitives, written in the language
 * itself, and that is what is compiled, so that all targets agree.
 *
 * Semantics: IEEE 754; comparisons with NaN are false (ne: true); select(c, a, b) evaluates both; min(a, b) is
 * select(a < b, a, b) and max(a, b) is select(a > b, a, b), so a NaN in `a` gives b; floor, abs, sqrt as IEEE;
 * fma rounds once; exp2i(n) is 2^n for integral n in [-126, 127] (outside: unspecified but total).
 *
 * Text: infix + - * / < <= > >= == !=, unary -, calls, numbers, operand and attribute names of the op's row, e.g.
 *   select(x < 0, alpha * x, x) */
#ifndef WEFT_IR_SCALAR_H
#define WEFT_IR_SCALAR_H

#include "ir/type.h"

typedef enum {
#define SCALAR(id, name, arity, infix) SC_##id,
#define SCALAR_INTRINSIC(id, name, libm) SC_##id,
#include "ir/scalar.def"
  SC_COUNT
} ScalarOp;

typedef struct Scalar {
  ScalarOp op;
  uint32_t id;
  DType dtype;  /* of the value: DT_F32, or DT_BOOL for comparisons */
  double value; /* SC_CONST */
  int index;    /* SC_ARG: operand number */
  int n;        /* operands in args */
  const struct Scalar *args[3];
  int depth;     /* longest path to a leaf, 0 for a leaf */
  int arg_count; /* 1 + the largest SC_ARG index within, 0 without any */
  int64_t size;  /* nodes when written out as a tree, saturating: shared operands count each time */
  /* Scratch of walks over shared nodes (evaluation, substitution): memo is of the walk with this number. */
  uint64_t visit;
  union {
    double value;
    const struct Scalar *node;
  } memo;
} Scalar;

/* Walks recurse: who builds expressions from outside text or by fusing refuses or stops at this depth. */
#define SCALAR_MAX_DEPTH 4000

const char *scalar_op_name(ScalarOp op);
int scalar_op_arity(ScalarOp op);
const char *scalar_op_infix(ScalarOp op); /* NULL where the operation is written as a call */
bool scalar_op_is_intrinsic(ScalarOp op);
bool scalar_op_find(const char *name, size_t len, ScalarOp *op); /* by call name */

/* NULL, or what is wrong with operands of these element types (static text): makers of expressions from outside text
 * ask before scalar_make, which takes a mismatch for a bug. */
const char *scalar_mismatch(ScalarOp op, const Scalar *const *args);

const Scalar *scalar_const(Ctx *ctx, double value); /* f32: rounded to it */
const Scalar *scalar_arg(Ctx *ctx, int index);      /* f32 */
/* Interned; folds constants only where the result is exact for every target (never rounds differently). */
const Scalar *scalar_make(Ctx *ctx, ScalarOp op, const Scalar *const *args);
const Scalar *scalar_make1(Ctx *ctx, ScalarOp op, const Scalar *a);
const Scalar *scalar_make2(Ctx *ctx, ScalarOp op, const Scalar *a, const Scalar *b);
const Scalar *scalar_make3(Ctx *ctx, ScalarOp op, const Scalar *a, const Scalar *b, const Scalar *c);

/* Parses text in which names[k] stands for values[k]. NULL and *why on error (text of the table: a bug). */
const Scalar *scalar_parse(Ctx *ctx, const char *text, const char *const *names, const Scalar *const *values, int n,
                           const char **why);
/* Replaces SC_ARG(k) by args[k]; args[k] may itself hold SC_ARG. */
const Scalar *scalar_subst(Ctx *ctx, const Scalar *s, const Scalar *const *args);
/* Replaces intrinsics by their polynomials. Errors in ulp of the result over all f32 are at most: exp 1, tanh 1.5,
 * sigmoid 2.5 (0.891, 1.404 and 2.402, found by trying every float from 2^-27 to 128 of both signs;
 * tests/unit/test_scalar.c checks the bounds on a sample). Limits, overflow and denormal results are as the functions
 * have them; NaN stays NaN; tanh(-0) = -0. */
const Scalar *scalar_expand(Ctx *ctx, const Scalar *s);
int scalar_arg_count(const Scalar *s); /* 1 + the largest SC_ARG index, 0 without any */

/* The reference: in double, intrinsics by libm, the result not yet rounded to the element type. */
double scalar_eval_reference(const Scalar *s, const double *args);
/* As compiled code computes: every operation rounded to float. s must be expanded. Booleans are 0 and 1. */
float scalar_eval_f32(const Scalar *s, const float *args);

/* arg_text prints SC_ARG(k). */
void scalar_print(Str *out, const Scalar *s, void (*arg_text)(Str *out, int k, const void *env), const void *env);

#endif
