/* Scalar expressions compiled to straight-line code over typed registers, for the interpreter: what
 * scalar_eval_compiled computes, bit for bit, with shared subexpressions computed once. */
#ifndef WEFT_LOWER_SCALAR_CODE_H
#define WEFT_LOWER_SCALAR_CODE_H

#include "ir/scalar.h"

typedef struct {
  ScalarOp op;
  DType operands, result; /* types, as scalar_apply has them */
  int dst, a, b, c;
} ScalarInstr;

typedef struct {
  ScalarValue *registers; /* the first n_args are the caller's to set before each run; constants are in place */
  int n_args, result;
  VEC(ScalarInstr) code;
} ScalarCode;

/* value may hold intrinsics: they are expanded. Operand numbers of value are below n_args. */
ScalarCode scalar_code(Ctx *ctx, Arena *arena, const Scalar *value, int n_args);
ScalarValue scalar_code_run(const ScalarCode *code);

#endif
