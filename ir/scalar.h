/* The scalar language: what one element of a result is, as a function of elements of operands. One small expression
 * language with total semantics; the reference evaluation, the loop interpreter and every printer obey it.
 *
 * Primitive operations are the rows of scalar.def. Intrinsics (exp, tanh, sigmoid, ...) are rows too: the reference
 * evaluation asks libm in double; in f32, scalar_expand replaces them by polynomials over primitives, written in the
 * language itself, and that is what is compiled, so that all targets agree. In f64 (and for rows without a polynomial)
 * compiled code calls libm (scalar_op_libm), and for mod of floats.
 *
 * Every value has an element type. f16 and bf16 are types of storage only: a load widens them to f32, a store rounds
 * (ties to even); dtype_compute() says so. Operands of an operation have one type; a number in the text takes that of
 * the other operands. Comparisons give bool; select's first operand is bool; and, or, xor, not work on bool and on
 * integers, shl and shr on integers, arithmetic on floats and integers; sqrt, exp2i, exponent and intrinsics on floats.
 * Integers wrap; x / 0 = 0 and mod(x, 0) = 0; INT_MIN / -1 = INT_MIN; division rounds toward zero, and mod has the sign
 * of its first operand (floats: as fmod). round is to the nearest, ties to even. shr fills with the sign of signed types;
 * shifted by less than 0, or by the type's width or more, no bit of x is left: 0, or of shr -1 where x < 0.
 * bits(x) is the u32 or u64 that an f32 or f64 is in memory, unbits the float of such bits; a NaN's may change.
 * A cast saturates from float to integer (toward zero, NaN: 0), wraps between integers, and gives x != 0 to bool.
 *
 * Semantics: IEEE 754; comparisons with NaN are false (ne: true); select(c, a, b) evaluates both; min(a, b) is
 * select(a < b, a, b) and max(a, b) is select(a > b, a, b), so a NaN in `a` gives b; floor, abs, sqrt as IEEE;
 * fma rounds once; exp2i(n) is 2^n for integral n in [-126, 127], in f64 [-1022, 1023] (outside: unspecified but total);
 * exponent(x) is the largest n with 2^n <= |x|, for normal numbers (others: unspecified but total).
 *
 * Text: infix + - * / < <= > >= == !=, unary -, calls, casts such as i32(x), numbers, operand and attribute names of the
 * op's row, e.g. select(x < 0, alpha * x, x) */
#ifndef WEFT_IR_SCALAR_H
#define WEFT_IR_SCALAR_H

#include "ir/type.h"

typedef enum {
#define SCALAR(id, name, arity, infix) SC_##id,
#define SCALAR_INTRINSIC(id, name, arity, function, operands, form) SC_##id,
#include "ir/scalar.def"
  SC_COUNT
} ScalarOp;

/* A value of any compute type: f for floats, i for integers (u64: its bits; others extended) and bool (0 or 1). */
typedef union {
  double f;
  int64_t i;
} ScalarValue;

typedef struct Scalar {
  ScalarOp op;
  uint32_t id;
  DType dtype;  /* of the value; never f16 or bf16. SC_CAST: the type cast to */
  double value; /* SC_CONST of a float type */
  int64_t bits; /* SC_CONST of an integer type or bool (u64: its bits) */
  int index;    /* SC_ARG: operand number */
  int n;        /* operands in args */
  const struct Scalar *args[3];
  int depth;     /* longest path to a leaf, 0 for a leaf */
  int arg_count; /* 1 + the largest SC_ARG index within, 0 without any */
  int64_t size;  /* nodes when written out as a tree, saturating: shared operands count each time */
  /* Scratch of walks over shared nodes (evaluation, substitution): memo is of the walk with this number. */
  uint64_t visit;
  union {
    ScalarValue value;
    const struct Scalar *node;
  } memo;
} Scalar;

/* Walks recurse: who builds expressions from outside text or by fusing refuses or stops at this depth. */
#define SCALAR_MAX_DEPTH 4000

const char *scalar_op_name(ScalarOp op);
int scalar_op_arity(ScalarOp op);
const char *scalar_op_infix(ScalarOp op); /* NULL where the operation is written as a call */
bool scalar_op_is_intrinsic(ScalarOp op);
bool scalar_op_find(const char *name, size_t len, ScalarOp *op); /* by call name; what has operands, other than casts */
/* The libm function that compiled code calls for an expanded operation on operands of this type; NULL: none. */
const char *scalar_op_libm(ScalarOp op, DType dtype);

/* NULL, or what is wrong with operands of these element types (static text): makers of expressions from outside text
 * ask before scalar_make, which takes a mismatch for a bug. */
const char *scalar_mismatch(ScalarOp op, const Scalar *const *args);

const Scalar *scalar_const(Ctx *ctx, double value); /* f32: rounded to it */
/* A number in this compute type, rounded or saturated to it. */
const Scalar *scalar_const_typed(Ctx *ctx, DType dtype, double value);
const Scalar *scalar_const_int(Ctx *ctx, DType dtype, int64_t value); /* integers and bool, exact */
const Scalar *scalar_arg(Ctx *ctx, int index);      /* f32 */
const Scalar *scalar_arg_typed(Ctx *ctx, int index, DType dtype); /* a compute type */
const Scalar *scalar_cast(Ctx *ctx, const Scalar *s, DType to); /* s itself where it has the type */
/* The type of an operation on operands of this type (of select: its second and third), but for casts. */
DType scalar_result_type(ScalarOp op, DType operands);
/* Interned; folds constants only where the result is exact for every target (never rounds differently). */
const Scalar *scalar_make(Ctx *ctx, ScalarOp op, const Scalar *const *args);
const Scalar *scalar_make1(Ctx *ctx, ScalarOp op, const Scalar *a);
const Scalar *scalar_make2(Ctx *ctx, ScalarOp op, const Scalar *a, const Scalar *b);
const Scalar *scalar_make3(Ctx *ctx, ScalarOp op, const Scalar *a, const Scalar *b, const Scalar *c);

/* Parses text in which names[k] stands for values[k]. Numbers whose type nothing else says take that of the first value
 * that is not bool, else f32. NULL and *why on error (text of the table: a bug). */
const Scalar *scalar_parse(Ctx *ctx, const char *text, const char *const *names, const Scalar *const *values, int n,
                           const char **why);
/* Replaces SC_ARG(k) by args[k]; args[k] may itself hold SC_ARG. */
const Scalar *scalar_subst(Ctx *ctx, const Scalar *s, const Scalar *const *args);
/* Replaces intrinsics by their polynomials (f32), and by expressions over others. Errors in ulp of the result over all
 * f32 are at most: exp 1, tanh 1.5, sigmoid 2.5 (0.891, 1.404 and 2.402, found by trying every float from 2^-27 to 128 of
 * both signs), log 1, erf 1.5 (0.803 and 1.018 over every 211th float); tests/unit/test_scalar.c checks the bounds on a
 * sample. Limits, overflow and denormal results are as the functions have them; NaN stays NaN; tanh(-0) = -0. */
const Scalar *scalar_expand(Ctx *ctx, const Scalar *s);
int scalar_arg_count(const Scalar *s); /* 1 + the largest SC_ARG index, 0 without any */

/* One operation as compiled code computes it: f32 rounded to float. operands: the type of the operands (of select's
 * second and third); result: that of the result. */
ScalarValue scalar_apply(ScalarOp op, DType operands, DType result, const ScalarValue v[3]);
/* The same as the reference has it: floats in double. */
ScalarValue scalar_apply_reference(ScalarOp op, DType operands, DType result, const ScalarValue v[3]);
ScalarValue scalar_value_cast(ScalarValue v, DType from, DType to); /* between compute types */
/* The reference: floats in double, intrinsics by libm, the result not yet rounded to the element type; integers exact. */
ScalarValue scalar_eval_reference(const Scalar *s, const ScalarValue *args);
/* As compiled code computes: every f32 operation rounded to float, f64 in double. s must be expanded. Of functions that
 * compiled code calls, the results here are this machine's libm's too. */
ScalarValue scalar_eval_compiled(const Scalar *s, const ScalarValue *args);

/* arg_text prints SC_ARG(k). The text has this value where it is parsed for a target of the same type. */
void scalar_print(Str *out, const Scalar *s, void (*arg_text)(Str *out, int k, const void *env), const void *env);

#endif
