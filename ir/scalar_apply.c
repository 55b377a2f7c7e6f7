/* Single operations of the scalar language on values: the semantics that scalar.h states, written once for folding, the
 * two evaluations and the interpreter.
 *
 * A value of an integer type narrower than 64 bits is held extended to int64_t, by its sign where the type has one; so
 * arithmetic is that of uint64_t, and `wrap` brings the result back. */
#include <math.h>

#include "ir/scalar_walk.h"

/* Neither form overflows on the side where it is used. */
static double reference_sigmoid(double x) {
  double t = exp(-fabs(x));
  return x < 0 ? t / (1 + t) : 1 / (1 + t);
}

/* ---- integers and bool ---- */

static int64_t wrap(DType dtype, uint64_t bits) {
  switch (dtype) {
  case DT_I8:
    return (int8_t)bits;
  case DT_U8:
    return (uint8_t)bits;
  case DT_I16:
    return (int16_t)bits;
  case DT_U16:
    return (uint16_t)bits;
  case DT_I32:
    return (int32_t)bits;
  case DT_U32:
    return (uint32_t)bits;
  case DT_I64:
  case DT_U64:
    return (int64_t)bits;
  case DT_BOOL:
    return bits & 1;
  default:
    WEFT_UNREACHABLE();
  }
}

static bool int_less(DType dtype, int64_t a, int64_t b) {
  return dtype == DT_U64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t int_division(ScalarOp op, DType dtype, int64_t a, int64_t b) {
  bool div = op == SC_DIV;
  if (b == 0)
    return 0;
  if (dtype == DT_U64)
    return (int64_t)(div ? (uint64_t)a / (uint64_t)b : (uint64_t)a % (uint64_t)b);
  if (b == -1) /* the quotient of the least number does not fit */
    return div ? wrap(dtype, -(uint64_t)a) : 0;
  return div ? a / b : a % b;
}

/* A value narrower than 64 bits is extended, so that shr of it is that of 64 bits. */
static int64_t int_shift(ScalarOp op, DType dtype, int64_t a, int64_t by) {
  bool too_far = by < 0 || by >= 8 * (int64_t)dtype_size(dtype);
  if (op == SC_SHL)
    return too_far ? 0 : wrap(dtype, (uint64_t)a << by);
  if (dtype == DT_U64)
    return too_far ? 0 : (int64_t)((uint64_t)a >> by);
  return a >> (too_far ? 63 : by);
}

static int64_t int_operation(ScalarOp op, DType dtype, int64_t a, int64_t b, int64_t c) {
  switch (op) {
  case SC_ADD:
    return wrap(dtype, (uint64_t)a + (uint64_t)b);
  case SC_SUB:
    return wrap(dtype, (uint64_t)a - (uint64_t)b);
  case SC_MUL:
    return wrap(dtype, (uint64_t)a * (uint64_t)b);
  case SC_DIV:
  case SC_MOD:
    return int_division(op, dtype, a, b);
  case SC_NEG:
    return wrap(dtype, -(uint64_t)a);
  case SC_FMA:
    return wrap(dtype, (uint64_t)a * (uint64_t)b + (uint64_t)c);
  case SC_MIN:
    return int_less(dtype, a, b) ? a : b;
  case SC_MAX:
    return int_less(dtype, b, a) ? a : b;
  case SC_ABS:
    return dtype_is_signed(dtype) && a < 0 ? wrap(dtype, -(uint64_t)a) : a;
  case SC_FLOOR:
  case SC_CEIL:
  case SC_ROUND:
    return a;
  case SC_AND:
    return a & b;
  case SC_OR:
    return a | b;
  case SC_XOR:
    return a ^ b;
  case SC_NOT:
    return wrap(dtype, ~(uint64_t)a);
  case SC_SHL:
  case SC_SHR:
    return int_shift(op, dtype, a, b);
  default:
    WEFT_UNREACHABLE();
  }
}

/* ---- floats ---- */

/* 2^n for n in [1 - bias, bias]; outside, NaN included, some power of two. */
static double power_of_two(double n, int bias) {
  if (!(n >= 1 - bias))
    n = 1 - bias;
  return ldexp(1, (int)(n > bias ? bias : n));
}

/* The exponent field, less its bias. */
static double exponent_of(double a) {
  uint64_t bits;
  memcpy(&bits, &a, sizeof bits);
  return (double)((int64_t)(bits >> 52 & 2047) - 1023);
}

static float exponent_of_float(float a) {
  uint32_t bits;
  memcpy(&bits, &a, sizeof bits);
  return (float)((int32_t)(bits >> 23 & 255) - 127);
}

double scalar_float_operation(ScalarOp op, double a, double b, double c) {
  switch (op) {
  case SC_ADD:
    return a + b;
  case SC_SUB:
    return a - b;
  case SC_MUL:
    return a * b;
  case SC_DIV:
    return a / b;
  case SC_MOD:
    return fmod(a, b);
  case SC_NEG:
    return -a;
  case SC_FMA:
    return fma(a, b, c);
  case SC_MIN:
    return a < b ? a : b;
  case SC_MAX:
    return a > b ? a : b;
  case SC_ABS:
    return fabs(a);
  case SC_FLOOR:
    return floor(a);
  case SC_CEIL:
    return ceil(a);
  case SC_ROUND:
    return nearbyint(a);
  case SC_SQRT:
    return sqrt(a);
  case SC_EXP2I:
    return power_of_two(a, 1023);
  case SC_EXPONENT:
    return exponent_of(a);
#define SCALAR(id, name, arity, infix)
#define SCALAR_INTRINSIC(id, name, arity, function, operands, form)                                                    \
  case SC_##id:                                                                                                        \
    return function operands;
#include "ir/scalar.def"
  default:
    WEFT_UNREACHABLE();
  }
}

/* What is expanded in f32 does not get here. */
#define IN_FLOAT_CALLS(function, operands) function##f operands
#define IN_FLOAT_EXPANDS(function, operands) expected_expansion(#function)
#define IN_FLOAT_POLYNOMIAL(function, operands) expected_expansion(#function)

static float expected_expansion(const char *name) {
  weft_bug(__FILE__, __LINE__, "%s in f32 was not expanded", name);
}

/* What rounds is done in float; the rest is the same in double. */
static float f32_operation(ScalarOp op, float a, float b, float c) {
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
  case SC_EXP2I:
    return (float)power_of_two((double)a, 127);
  case SC_EXPONENT:
    return exponent_of_float(a);
#define SCALAR(id, name, arity, infix)
#define SCALAR_INTRINSIC(id, name, arity, function, operands, form)                                                    \
  case SC_##id:                                                                                                        \
    return IN_FLOAT_##form(function, operands);
#include "ir/scalar.def"
  default:
    return (float)scalar_float_operation(op, (double)a, (double)b, (double)c);
  }
}

/* ---- comparisons and casts ---- */

static bool compare(ScalarOp op, bool less, bool equal, bool greater) {
  switch (op) {
  case SC_LT:
    return less;
  case SC_LE:
    return less || equal;
  case SC_GT:
    return greater;
  case SC_GE:
    return greater || equal;
  case SC_EQ:
    return equal;
  default:
    return !equal;
  }
}

static bool compare_values(ScalarOp op, DType dtype, ScalarValue a, ScalarValue b) {
  if (dtype_is_float(dtype))
    return compare(op, a.f < b.f, a.f == b.f, a.f > b.f);
  return compare(op, int_less(dtype, a.i, b.i), a.i == b.i, int_less(dtype, b.i, a.i));
}

static int64_t saturate(double v, DType to) {
  int bits = 8 * (int)dtype_size(to);
  if (isnan(v))
    return 0;
  if (!dtype_is_signed(to)) {
    uint64_t most = UINT64_MAX >> (64 - bits);
    return (int64_t)(v >= ldexp(1, bits) ? most : v > 0 ? (uint64_t)v : 0);
  }
  int64_t most = INT64_MAX >> (64 - bits);
  double end = ldexp(1, bits - 1);
  return v >= end ? most : v < -end ? -most - 1 : (int64_t)v;
}

ScalarValue scalar_value_cast(ScalarValue v, DType from, DType to) {
  bool from_float = dtype_is_float(from);
  if (to == DT_BOOL)
    return (ScalarValue){.i = from_float ? v.f != 0 : v.i != 0};
  if (to == DT_F32) /* rounded once: not by way of double */
    return (ScalarValue){.f = from_float       ? (double)(float)v.f
                              : from == DT_U64 ? (double)(float)(uint64_t)v.i
                                               : (double)(float)v.i};
  if (to == DT_F64)
    return (ScalarValue){.f = from_float ? v.f : from == DT_U64 ? (double)(uint64_t)v.i : (double)v.i};
  return (ScalarValue){.i = from_float ? saturate(v.f, to) : wrap(to, (uint64_t)v.i)};
}

/* ---- floats as bits ---- */

static int64_t float_bits(DType dtype, double v) {
  float f = (float)v;
  uint32_t narrow;
  int64_t wide;
  memcpy(&narrow, &f, sizeof narrow);
  memcpy(&wide, &v, sizeof wide);
  return dtype == DT_F32 ? (int64_t)narrow : wide;
}

static double float_of_bits(DType dtype, int64_t bits) {
  uint32_t low = (uint32_t)bits;
  float narrow;
  double wide;
  memcpy(&narrow, &low, sizeof narrow);
  memcpy(&wide, &bits, sizeof wide);
  return dtype == DT_F32 ? (double)narrow : wide;
}

/* ---- all ---- */

bool scalar_typeless(ScalarOp op, DType operands, DType result, const ScalarValue v[3], ScalarValue *value) {
  if (op == SC_SELECT)
    *value = v[0].i ? v[1] : v[2];
  else if (op == SC_CAST)
    *value = scalar_value_cast(v[0], operands, result);
  else if (op == SC_BITS)
    value->i = float_bits(operands, v[0].f);
  else if (op == SC_UNBITS)
    value->f = float_of_bits(result, v[0].i);
  else if (op >= SC_LT && op <= SC_NE)
    value->i = compare_values(op, operands, v[0], v[1]);
  else if (!dtype_is_float(operands))
    value->i = int_operation(op, operands, v[0].i, v[1].i, v[2].i);
  else
    return false;
  return true;
}

ScalarValue scalar_apply(ScalarOp op, DType operands, DType result, const ScalarValue v[3]) {
  ScalarValue value;
  if (!scalar_typeless(op, operands, result, v, &value))
    value.f = operands == DT_F32 ? (double)f32_operation(op, (float)v[0].f, (float)v[1].f, (float)v[2].f)
                                 : scalar_float_operation(op, v[0].f, v[1].f, v[2].f);
  return value;
}

ScalarValue scalar_apply_reference(ScalarOp op, DType operands, DType result, const ScalarValue v[3]) {
  ScalarValue value;
  if (!scalar_typeless(op, operands, result, v, &value))
    value.f = scalar_float_operation(op, v[0].f, v[1].f, v[2].f);
  return value;
}
