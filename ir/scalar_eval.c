/* Evaluation of scalar expressions: the reference in double, and float arithmetic as compiled code does it. */
#include <math.h>

#include "ir/scalar_walk.h"

/* Neither form overflows on the side where it is used. */
static double reference_sigmoid(double x) {
  double t = exp(-fabs(x));
  return x < 0 ? t / (1 + t) : 1 / (1 + t);
}

/* 2^n for n in [-126, 127]; outside, NaN included, some power of two. */
static double power_of_two(double n) {
  if (!(n >= -126))
    n = -126;
  return ldexp(1, (int)(n > 127 ? 127 : n));
}

/* Operations that round nothing are the same in both arithmetics. False: not one of them. */
static bool exact_operation(ScalarOp op, double a, double b, double c, double *value) {
  switch (op) {
  case SC_NEG:
    *value = -a;
    return true;
  case SC_ABS:
    *value = fabs(a);
    return true;
  case SC_FLOOR:
    *value = floor(a);
    return true;
  case SC_MIN:
    *value = a < b ? a : b;
    return true;
  case SC_MAX:
    *value = a > b ? a : b;
    return true;
  case SC_EXP2I:
    *value = power_of_two(a);
    return true;
  case SC_LT:
    *value = a < b;
    return true;
  case SC_LE:
    *value = a <= b;
    return true;
  case SC_GT:
    *value = a > b;
    return true;
  case SC_GE:
    *value = a >= b;
    return true;
  case SC_EQ:
    *value = a == b;
    return true;
  case SC_NE:
    *value = a != b;
    return true;
  case SC_SELECT:
    *value = a != 0 ? b : c;
    return true;
  default:
    return false;
  }
}

static double in_double(ScalarOp op, double a, double b, double c) {
  switch (op) {
  case SC_ADD:
    return a + b;
  case SC_SUB:
    return a - b;
  case SC_MUL:
    return a * b;
  case SC_DIV:
    return a / b;
  case SC_FMA:
    return fma(a, b, c);
  case SC_SQRT:
    return sqrt(a);
#define SCALAR(id, name, arity, infix)
#define SCALAR_INTRINSIC(id, name, libm)                                                                               \
  case SC_##id:                                                                                                        \
    return libm(a);
#include "ir/scalar.def"
  default:
    WEFT_UNREACHABLE();
  }
}

/* Operands are floats. A quotient or root of floats, rounded to double and then to float, is rounded right (double has
 * more than twice the digits), but the direct operations say what is meant. */
static float in_float(ScalarOp op, float a, float b, float c) {
  switch (op) {
  case SC_ADD:
    return a + b;
  case SC_SUB:
    return a - b;
  case SC_MUL:
    return a * b;
  case SC_DIV:
    return a / b;
  case SC_FMA:
    return fmaf(a, b, c);
  case SC_SQRT:
    return sqrtf(a);
  default:
    WEFT_UNREACHABLE(); /* an intrinsic: the expression was not expanded */
  }
}

static double remember(const Scalar *s, uint64_t walk, double value) {
  Scalar *scratch = scalar_scratch(s);
  scratch->visit = walk;
  scratch->memo.value = value;
  return value;
}

static double reference(const Scalar *s, const double *args, uint64_t walk) {
  if (s->op == SC_CONST)
    return s->value;
  if (s->op == SC_ARG)
    return args[s->index];
  if (s->visit == walk)
    return s->memo.value;
  double v[3] = {0}, value;
  for (int k = 0; k < s->n; k++)
    v[k] = reference(s->args[k], args, walk);
  if (!exact_operation(s->op, v[0], v[1], v[2], &value))
    value = in_double(s->op, v[0], v[1], v[2]);
  return remember(s, walk, value);
}

double scalar_eval_reference(const Scalar *s, const double *args) {
  return reference(s, args, scalar_walk_number());
}

/* Values are floats, held in doubles on their way. */
static double compiled(const Scalar *s, const float *args, uint64_t walk) {
  if (s->op == SC_CONST)
    return s->value;
  if (s->op == SC_ARG)
    return (double)args[s->index];
  if (s->visit == walk)
    return s->memo.value;
  double v[3] = {0}, value;
  for (int k = 0; k < s->n; k++)
    v[k] = compiled(s->args[k], args, walk);
  if (!exact_operation(s->op, v[0], v[1], v[2], &value))
    value = (double)in_float(s->op, (float)v[0], (float)v[1], (float)v[2]);
  return remember(s, walk, value);
}

float scalar_eval_f32(const Scalar *s, const float *args) {
  return (float)compiled(s, args, scalar_walk_number());
}
