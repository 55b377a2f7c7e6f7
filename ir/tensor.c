/* Concrete tensors: access to elements, and the way to and from storage in a layout. */
#include "ir/tensor.h"

#include <math.h>

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

ScalarValue tensor_value(const Tensor *t, int64_t i) {
  WEFT_ASSERT(i >= 0 && i < t->n);
  return dtype_load(t->dtype, t->data, i);
}

void tensor_set_value(Tensor *t, int64_t i, ScalarValue v) {
  WEFT_ASSERT(i >= 0 && i < t->n);
  dtype_store(t->dtype, t->data, i, v);
}

double tensor_get(const Tensor *t, int64_t i) {
  return scalar_value_cast(tensor_value(t, i), dtype_compute(t->dtype), DT_F64).f;
}

void tensor_set(Tensor *t, int64_t i, double v) {
  ScalarValue value = {.f = v};
  tensor_set_value(t, i, dtype_is_float(t->dtype) ? value : scalar_value_cast(value, DT_F64, t->dtype));
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

/* By SplitMix64 (Steele, Lea, Flood 2014). */
void tensor_fill_random(Tensor *t, uint64_t seed) {
  bool is_float = dtype_is_float(t->dtype);
  double lo = is_float || dtype_is_signed(t->dtype) ? -1.0 : 0.0, width = is_float ? 2.0 : 2.0 - lo;
  for (int64_t k = 0; k < t->n; k++) {
    uint64_t z = seed += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    double v = lo + (double)(z >> 40) / (double)(1 << 24) * width;
    tensor_set(t, k, is_float ? v : floor(v));
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
    step = layout_offset(layout, extents, unit) - layout_offset(layout, extents, index);
  for (int64_t i = 0; i < logical->n; i++, at += size) {
    if (!linear || index[last] == 0)
      base = layout_offset(layout, extents, index);
    char *place = storage + (size_t)(linear ? base + index[last] * step : base) * size;
    memcpy(to_storage ? place : at, to_storage ? at : place, size);
    tensor_next_index(logical, index);
  }
}

/* Zeros at the indices in front of (lo) and behind axis k, the other axes from halo to halo. */
static void clear_halo(const Type *type, const int64_t *extents, int k, char *storage) {
  const Layout *layout = type->layout;
  size_t size = dtype_size(type->dtype);
  Tensor box = {.rank = type->rank, .n = 1}; /* the halo of axis k: its shape */
  for (int axis = 0; axis < type->rank; axis++) {
    const Halo *h = &layout->halo[axis];
    box.shape[axis] = axis == k ? h->lo + h->hi : h->lo + extents[axis] + h->hi;
    box.n *= box.shape[axis];
  }
  int64_t at[WEFT_MAX_RANK] = {0}, index[WEFT_MAX_RANK];
  for (int64_t i = 0; i < box.n; i++, tensor_next_index(&box, at)) {
    for (int axis = 0; axis < type->rank; axis++)
      index[axis] = at[axis] - layout->halo[axis].lo;
    index[k] += index[k] >= 0 ? extents[k] : 0;
    memset(storage + (size_t)layout_offset(layout, extents, index) * size, 0, size);
  }
}

void tensor_to_storage(const Tensor *t, const Type *type, void *storage) {
  size_t bytes = (size_t)type_bytes(type);
  if (type->layout->pad == PAD_ANY)
    tensor_poison(type->dtype, storage, bytes);
  else
    memset(storage, 0, bytes);
  copy((Tensor *)(uintptr_t)t, type, storage, true);
  for (int k = 0; k < type->rank; k++)
    if (type->layout->halo[k].lo + type->layout->halo[k].hi > 0)
      clear_halo(type, t->shape, k, storage);
}

void tensor_from_storage(Tensor *t, const Type *type, const void *storage) {
  copy(t, type, (char *)(uintptr_t)storage, false);
}
