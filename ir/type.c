/* Element types and tensor types.
 *
 * Invariant: the storage of a Type that exists, padding and halo included, has at most WEFT_MAX_ELEMENTS elements at the upper
 * bounds of its dimensions (as far as these are known), so that offsets and sizes in bytes fit an int64_t everywhere.
 * An extent of 0 counts as 1 in this: the product of the other extents occurs as a stride. */
#include "ir/type.h"

static const struct {
  const char *name;
  size_t size;
  bool is_float;
} dtypes[DT_COUNT] = {
    [DT_F32] = {"f32", 4, true},    [DT_F64] = {"f64", 8, true},  [DT_F16] = {"f16", 2, true},
    [DT_BF16] = {"bf16", 2, true},  [DT_I8] = {"i8", 1, false},   [DT_U8] = {"u8", 1, false},
    [DT_I16] = {"i16", 2, false},   [DT_U16] = {"u16", 2, false}, [DT_I32] = {"i32", 4, false},
    [DT_U32] = {"u32", 4, false},   [DT_I64] = {"i64", 8, false}, [DT_U64] = {"u64", 8, false},
    [DT_BOOL] = {"bool", 1, false},
};

const char *dtype_name(DType dtype) {
  return dtypes[dtype].name;
}

bool dtype_parse(const char *s, size_t n, DType *out) {
  for (int i = 0; i < DT_COUNT; i++)
    if (strlen(dtypes[i].name) == n && memcmp(dtypes[i].name, s, n) == 0) {
      *out = (DType)i;
      return true;
    }
  return false;
}

size_t dtype_size(DType dtype) {
  return dtypes[dtype].size;
}

bool dtype_is_float(DType dtype) {
  return dtypes[dtype].is_float;
}

bool dtype_is_int(DType dtype) {
  return !dtypes[dtype].is_float && dtype != DT_BOOL;
}

bool dtype_is_signed(DType dtype) {
  return dtype == DT_I8 || dtype == DT_I16 || dtype == DT_I32 || dtype == DT_I64;
}

DType dtype_compute(DType dtype) {
  return dtype == DT_F16 || dtype == DT_BF16 ? DT_F32 : dtype;
}

static bool type_equal(const void *item, const void *key) {
  const Type *a = item, *b = key;
  return a->layout == b->layout && type_same_shape(a, b);
}

static uint64_t type_hash(const Type *type) {
  uint64_t head[3] = {(uint64_t)type->dtype, (uint64_t)type->rank, type->layout->id};
  uint64_t hash = hash_bytes(WEFT_HASH_SEED, head, sizeof head);
  for (int i = 0; i < type->rank; i++)
    hash = hash_bytes(hash, &type->dims[i]->id, sizeof type->dims[i]->id);
  return hash;
}

static bool count_in(int64_t *elements, int64_t extent) {
  return extent <= 1 || (mul_i64(*elements, extent, elements) && *elements <= WEFT_MAX_ELEMENTS);
}

/* Unknown upper bounds count as 1. */
static bool size_is_allowed(int rank, const Dim *dims, const Layout *layout) {
  int64_t elements = 1;
  for (int i = 0; i < rank; i++)
    if (dims[i]->lo < 0 || (dims[i]->hi < EXPR_MAX && dims[i]->hi > WEFT_MAX_ELEMENTS))
      return false;
  for (int k = 0; k < layout->n; k++) {
    const Digit *digit = &layout->digits[k];
    const Halo *halo = &layout->halo[digit->axis];
    int64_t hi = dims[digit->axis]->hi, outermost = hi < EXPR_MAX ? ceildiv_i64(hi, digit->div) : 1;
    if (!count_in(&elements, digit->size ? digit->size : outermost + halo->lo + halo->hi))
      return false;
  }
  return true;
}

const Type *type_get(Ctx *ctx, DType dtype, int rank, const Dim *dims, const Layout *layout) {
  if (rank < 0 || rank > WEFT_MAX_RANK)
    return NULL;
  if (!layout)
    layout = layout_row_major(ctx, rank);
  WEFT_ASSERT(layout->rank == rank);
  if (!size_is_allowed(rank, dims, layout))
    return NULL;
  union {
    Type type;
    char room[sizeof(Type) + WEFT_MAX_RANK * sizeof(Dim)];
  } key = {.type = {.dtype = dtype, .rank = rank, .layout = layout}};
  for (int i = 0; i < rank; i++)
    key.type.dims[i] = dims[i];
  uint64_t hash = type_hash(&key.type);
  const Type *found = intern_find(&ctx->types, hash, type_equal, &key.type);
  if (found)
    return found;
  size_t size = sizeof(Type) + (size_t)rank * sizeof(Dim);
  Type *type = arena_alloc(ctx->arena, size);
  memcpy(type, &key, size);
  type->id = ctx->next_type_id++;
  intern_add(ctx, &ctx->types, hash, type);
  return type;
}

const Type *type_static(Ctx *ctx, DType dtype, int rank, const int64_t *shape, const Layout *layout) {
  if (rank < 0 || rank > WEFT_MAX_RANK)
    return NULL;
  Dim dims[WEFT_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    if (shape[i] < 0 || shape[i] > WEFT_MAX_ELEMENTS)
      return NULL;
    dims[i] = expr_const(ctx, shape[i]);
  }
  return type_get(ctx, dtype, rank, dims, layout);
}

const Type *type_with_layout(Ctx *ctx, const Type *type, const Layout *layout) {
  return type_get(ctx, type->dtype, type->rank, type->dims, layout);
}

bool type_same_extents(const Type *a, const Type *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0; /* interned */
}

bool type_same_shape(const Type *a, const Type *b) {
  return a->dtype == b->dtype && type_same_extents(a, b);
}

bool type_shape(const Type *type, int64_t shape[WEFT_MAX_RANK]) {
  for (int i = 0; i < type->rank; i++)
    if (!expr_is_const(type->dims[i], &shape[i]))
      return false;
  return true;
}

Dim type_elements(Ctx *ctx, const Type *type) {
  Dim elements = expr_const(ctx, 1);
  for (int i = 0; i < type->rank; i++)
    elements = expr_mul(ctx, elements, type->dims[i]);
  return elements;
}

Dim type_storage(Ctx *ctx, const Type *type) {
  return layout_storage(ctx, type->layout, type->dims);
}

int64_t type_bytes(const Type *type) {
  int64_t shape[WEFT_MAX_RANK] = {0};
  WEFT_ASSERT(type_shape(type, shape));
  return layout_storage_static(type->layout, shape) * (int64_t)dtype_size(type->dtype);
}

void type_print(Str *out, const Type *type) {
  str_printf(out, "%s[", dtype_name(type->dtype));
  for (int i = 0; i < type->rank; i++) {
    if (i)
      str_putc(out, ',');
    expr_print(out, type->dims[i]);
  }
  str_putc(out, ']');
  if (!layout_is_row_major(type->layout)) {
    str_putc(out, '@');
    layout_print(out, type->layout);
  }
}

const char *type_text(Ctx *ctx, const Type *type) {
  Str out = str_new(ctx->arena);
  type_print(&out, type);
  return out.data;
}
