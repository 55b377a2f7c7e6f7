/* Elements in memory as values of their compute types. f16 and bf16 are rounded once from the double that a float value
 * is held in, ties to even, overflow to infinity; a NaN stays one. */
#include <math.h>

#include "ir/tensor.h"

static double f16_to_double(uint16_t h) {
  int exponent = h >> 10 & 31, fraction = h & 1023;
  double v;
  if (exponent == 31)
    v = fraction ? (double)NAN : (double)INFINITY;
  else
    v = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  return h & 0x8000 ? -v : v;
}

/* To the nearest float of `digits` significant bits and this least exponent of a unit in the last place, ties to even.
 */
static double round_to(double v, int digits, int least) {
  int exponent;
  frexp(v, &exponent);
  int unit = exponent - digits > least ? exponent - digits : least;
  return ldexp(nearbyint(ldexp(v, -unit)), unit);
}

static uint16_t double_to_f16(double v) {
  uint16_t sign = signbit(v) ? 0x8000 : 0;
  double a = fabs(v);
  if (isnan(v))
    return sign | 0x7e00;
  if (isfinite(a))
    a = round_to(a, 11, -24);
  if (a > 65504)
    return sign | 0x7c00;
  if (a < 0x1p-14)
    return (uint16_t)(sign | (int)ldexp(a, 24));
  int exponent;
  frexp(a, &exponent); /* a = f * 2^exponent, f in [1/2, 1) */
  return (uint16_t)(sign | ((exponent + 14) << 10) | ((int)ldexp(a, 11 - exponent) - 1024));
}

static double bf16_to_double(uint16_t h) {
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return (double)f;
}

static uint16_t double_to_bf16(double v) {
  float f = (float)v;
  if (isfinite(v))
    f = (float)round_to(v, 8, -133); /* exact in float, or infinite where it is too large */
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (uint16_t)(isnan(v) ? bits >> 16 | 0x40 : bits >> 16);
}

ScalarValue dtype_load(DType dtype, const void *data, int64_t i) {
  switch (dtype) {
  case DT_F32:
    return (ScalarValue){.f = (double)((const float *)data)[i]};
  case DT_F64:
    return (ScalarValue){.f = ((const double *)data)[i]};
  case DT_F16:
    return (ScalarValue){.f = f16_to_double(((const uint16_t *)data)[i])};
  case DT_BF16:
    return (ScalarValue){.f = bf16_to_double(((const uint16_t *)data)[i])};
  case DT_I8:
    return (ScalarValue){.i = ((const int8_t *)data)[i]};
  case DT_U8:
    return (ScalarValue){.i = ((const uint8_t *)data)[i]};
  case DT_I16:
    return (ScalarValue){.i = ((const int16_t *)data)[i]};
  case DT_U16:
    return (ScalarValue){.i = ((const uint16_t *)data)[i]};
  case DT_I32:
    return (ScalarValue){.i = ((const int32_t *)data)[i]};
  case DT_U32:
    return (ScalarValue){.i = ((const uint32_t *)data)[i]};
  case DT_I64:
    return (ScalarValue){.i = ((const int64_t *)data)[i]};
  case DT_U64:
    return (ScalarValue){.i = (int64_t)((const uint64_t *)data)[i]};
  case DT_BOOL:
    return (ScalarValue){.i = ((const uint8_t *)data)[i] != 0};
  }
  WEFT_UNREACHABLE();
}

void dtype_store(DType dtype, void *data, int64_t i, ScalarValue v) {
  switch (dtype) {
  case DT_F32:
    ((float *)data)[i] = (float)v.f;
    return;
  case DT_F64:
    ((double *)data)[i] = v.f;
    return;
  case DT_F16:
    ((uint16_t *)data)[i] = double_to_f16(v.f);
    return;
  case DT_BF16:
    ((uint16_t *)data)[i] = double_to_bf16(v.f);
    return;
  case DT_BOOL:
    ((uint8_t *)data)[i] = v.i != 0;
    return;
  case DT_I8:
  case DT_U8:
    ((uint8_t *)data)[i] = (uint8_t)v.i;
    return;
  case DT_I16:
  case DT_U16:
    ((uint16_t *)data)[i] = (uint16_t)v.i;
    return;
  case DT_I32:
  case DT_U32:
    ((uint32_t *)data)[i] = (uint32_t)v.i;
    return;
  case DT_I64:
  case DT_U64:
    ((int64_t *)data)[i] = v.i;
    return;
  }
  WEFT_UNREACHABLE();
}

#define DEFINE_FINITE(name, type, exponent)                                                                            \
  static bool name(const type *bits, int64_t n) {                                                                      \
    bool finite = true;                                                                                                \
    for (int64_t k = 0; k < n; k++)                                                                                    \
      finite &= (bits[k] & (exponent)) != (exponent);                                                                  \
    return finite;                                                                                                     \
  }
DEFINE_FINITE(finite16, uint16_t, 0x7c00)
DEFINE_FINITE(finite16b, uint16_t, 0x7f80)
DEFINE_FINITE(finite32, uint32_t, 0x7f800000)
DEFINE_FINITE(finite64, uint64_t, 0x7ff0000000000000)

bool dtype_all_finite(DType dtype, const void *data, int64_t n) {
  switch (dtype) {
  case DT_F16:
    return finite16(data, n);
  case DT_BF16:
    return finite16b(data, n);
  case DT_F32:
    return finite32(data, n);
  case DT_F64:
    return finite64(data, n);
  default:
    return true;
  }
}
