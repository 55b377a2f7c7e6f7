/* Concrete tensors: element access for every element type, and the way to and from storage in a layout. */
#include <math.h>

#include "ir/tensor.h"

Tensor *tensor_new(Ctx *ctx, DType dtype, int rank, const int64_t *shape) {
  Tensor *t = ARENA_NEW(ctx->arena, Tensor);
  t->dtype = dtype;
  t->rank = rank;
  t->n = 1;
  for (int k = 0; k < rank; k++) {
    t->shape[k] = shape[k];
    if (shape[k] == 0)
      t->n = 0;
  }
  for (int k = 0; k < rank && t->n > 0; k++)
    WEFT_ASSERT(mul_i64(t->n, shape[k], &t->n));
  t->data = arena_alloc_array(ctx->arena, (size_t)t->n, dtype_size(dtype));
  return t;
}

Tensor *tensor_of_type(Ctx *ctx, const Type *type) {
  int64_t shape[WEFT_MAX_RANK];
  WEFT_ASSERT(type_shape(type, shape));
  return tensor_new(ctx, type->dtype, type->rank, shape);
}

/* ---- elements ---- */

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

double tensor_get(const Tensor *t, int64_t i) {
  WEFT_ASSERT(i >= 0 && i < t->n);
  switch (t->dtype) {
  case DT_F32:
    return (double)((const float *)t->data)[i];
  case DT_F64:
    return ((const double *)t->data)[i];
  case DT_F16:
    return f16_to_double(((const uint16_t *)t->data)[i]);
  case DT_BF16:
    return bf16_to_double(((const uint16_t *)t->data)[i]);
  case DT_I8:
    return ((const int8_t *)t->data)[i];
  case DT_U8:
    return ((const uint8_t *)t->data)[i];
  case DT_I16:
    return ((const int16_t *)t->data)[i];
  case DT_U16:
    return ((const uint16_t *)t->data)[i];
  case DT_I32:
    return ((const int32_t *)t->data)[i];
  case DT_U32:
    return ((const uint32_t *)t->data)[i];
  case DT_I64:
    return (double)((const int64_t *)t->data)[i];
  case DT_U64:
    return (double)((const uint64_t *)t->data)[i];
  case DT_BOOL:
    return ((const uint8_t *)t->data)[i] != 0;
  }
  WEFT_UNREACHABLE();
}

/* Toward zero, to the nearest end of lo..hi where it lies outside, NaN to 0. hi + 1 must be exact in double. */
static int64_t saturate(double v, double lo, double end) {
  if (isnan(v))
    return 0;
  return v < lo ? (int64_t)lo : v >= end ? (int64_t)(end - 1) : (int64_t)v;
}

void tensor_set(Tensor *t, int64_t i, double v) {
  WEFT_ASSERT(i >= 0 && i < t->n);
  switch (t->dtype) {
  case DT_F32:
    ((float *)t->data)[i] = (float)v;
    return;
  case DT_F64:
    ((double *)t->data)[i] = v;
    return;
  case DT_F16:
    ((uint16_t *)t->data)[i] = double_to_f16(v);
    return;
  case DT_BF16:
    ((uint16_t *)t->data)[i] = double_to_bf16(v);
    return;
  case DT_I8:
    ((int8_t *)t->data)[i] = (int8_t)saturate(v, INT8_MIN, 0x1p7);
    return;
  case DT_U8:
    ((uint8_t *)t->data)[i] = (uint8_t)saturate(v, 0, 0x1p8);
    return;
  case DT_I16:
    ((int16_t *)t->data)[i] = (int16_t)saturate(v, INT16_MIN, 0x1p15);
    return;
  case DT_U16:
    ((uint16_t *)t->data)[i] = (uint16_t)saturate(v, 0, 0x1p16);
    return;
  case DT_I32:
    ((int32_t *)t->data)[i] = (int32_t)saturate(v, INT32_MIN, 0x1p31);
    return;
  case DT_U32:
    ((uint32_t *)t->data)[i] = (uint32_t)saturate(v, 0, 0x1p32);
    return;
  case DT_I64: /* 2^63 - 1 is no double: its neighbour would wrap */
    ((int64_t *)t->data)[i] = v >= 0x1p63 ? INT64_MAX : saturate(v, (double)INT64_MIN, 0x1p63);
    return;
  case DT_U64:
    ((uint64_t *)t->data)[i] = !(v > 0) ? 0 : v >= 0x1p64 ? UINT64_MAX : (uint64_t)v;
    return;
  case DT_BOOL:
    ((uint8_t *)t->data)[i] = v != 0;
    return;
  }
  WEFT_UNREACHABLE();
}

void tensor_copy_element(Tensor *to, int64_t i, const Tensor *from, int64_t j) {
  WEFT_ASSERT(to->dtype == from->dtype && i >= 0 && i < to->n && j >= 0 && j < from->n);
  size_t size = dtype_size(to->dtype);
  memcpy((char *)to->data + (size_t)i * size, (const char *)from->data + (size_t)j * size, size);
}

void tensor_next_index(const Tensor *t, int64_t *index) {
  for (int k = t->rank - 1; k >= 0; k--) {
    if (++index[k] < t->shape[k])
      return;
    index[k] = 0;
  }
}

/* ---- storage ---- */

/* A quiet bit of 0 and another fraction bit of 1 make a NaN signalling. */
void tensor_poison(DType dtype, void *data, size_t bytes) {
  static const uint64_t f64 = 0x7ff4dead00000000;
  static const uint32_t f32 = 0x7fa0dead;
  static const uint16_t f16 = 0x7d5a, bf16 = 0x7f9a;
  const void *pattern = dtype == DT_F64    ? (const void *)&f64
                        : dtype == DT_F32  ? (const void *)&f32
                        : dtype == DT_F16  ? (const void *)&f16
                        : dtype == DT_BF16 ? (const void *)&bf16
                                           : NULL;
  if (!pattern) {
    memset(data, 0xa5, bytes);
    return;
  }
  size_t size = dtype_size(dtype);
  for (size_t k = 0; k + size <= bytes; k += size)
    memcpy((char *)data + k, pattern, size);
}

/* Copies every element between logical order and storage. The last logical axis runs innermost; where it is not split,
 * its storage offset is a multiple of the index. */
static void copy(Tensor *logical, const Type *type, char *storage, bool to_storage) {
  int64_t extents[WEFT_MAX_RANK], index[WEFT_MAX_RANK] = {0};
  WEFT_ASSERT(type_shape(type, extents) && logical->dtype == type->dtype && logical->rank == type->rank);
  for (int k = 0; k < type->rank; k++)
    WEFT_ASSERT(logical->shape[k] == extents[k]);
  const Layout *layout = type->layout;
  size_t size = dtype_size(type->dtype);
  char *at = logical->data;
  if (logical->n == 0)
    return;
  if (layout_is_row_major(layout)) {
    memcpy(to_storage ? storage : at, to_storage ? at : storage, (size_t)logical->n * size);
    return;
  }
  int last = type->rank - 1;
  bool linear = layout_block(layout, last) == 1;
  int64_t unit[WEFT_MAX_RANK] = {0}, step = 0, base = 0;
  unit[last] = 1;
  if (linear && extents[last] > 1)
    step = layout_offset(layout, extents, unit);
  for (int64_t i = 0; i < logical->n; i++, at += size) {
    if (!linear || index[last] == 0)
      base = layout_offset(layout, extents, index);
    char *place = storage + (size_t)(linear ? base + index[last] * step : base) * size;
    memcpy(to_storage ? place : at, to_storage ? at : place, size);
    tensor_next_index(logical, index);
  }
}

void tensor_to_storage(const Tensor *t, const Type *type, void *storage) {
  size_t bytes = (size_t)type_bytes(type);
  if (type->layout->pad == PAD_ANY)
    tensor_poison(type->dtype, storage, bytes);
  else
    memset(storage, 0, bytes);
  copy((Tensor *)(uintptr_t)t, type, storage, true);
}

void tensor_from_storage(Tensor *t, const Type *type, const void *storage) {
  copy(t, type, (char *)(uintptr_t)storage, false);
}
