/* Types: element type, logical shape, layout. Interned, compared by pointer.
 * Text: f32[1,32,8,8] is row-major; f32[1,32,8,8]@acdb the same logical tensor stored with its second axis last. */
#ifndef WEFT_IR_TYPE_H
#define WEFT_IR_TYPE_H

#include "ir/layout.h"

typedef enum {
  DT_F32, DT_F64, DT_F16, DT_BF16, DT_I8, DT_U8, DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64, DT_BOOL
} DType;
#define DT_COUNT 13

const char *dtype_name(DType dtype); /* "f32" */
bool dtype_parse(const char *s, size_t n, DType *out);
size_t dtype_size(DType dtype); /* bytes */
bool dtype_is_float(DType dtype);
bool dtype_is_int(DType dtype);    /* signed and unsigned integers, not bool */
bool dtype_is_signed(DType dtype); /* signed integers */
/* The type that values of this element type are computed in: f32 for f16 and bf16, else itself. */
DType dtype_compute(DType dtype);

/* Most elements a tensor may have; a larger one is refused where the user wrote it. */
#define WEFT_MAX_ELEMENTS ((int64_t)1 << 40)

typedef struct Type {
  uint32_t id;
  DType dtype;
  int rank;
  const Layout *layout;
  Dim dims[];
} Type;

/* layout NULL means row-major. The rank must be at most WEFT_MAX_RANK, dims >= 0, and the storage, padding included, at
 * most WEFT_MAX_ELEMENTS at their upper bounds (0 counts as 1, and so does an unknown one), or NULL is returned. */
const Type *type_get(Ctx *ctx, DType dtype, int rank, const Dim *dims, const Layout *layout);
const Type *type_static(Ctx *ctx, DType dtype, int rank, const int64_t *shape, const Layout *layout);
const Type *type_with_layout(Ctx *ctx, const Type *type, const Layout *layout); /* NULL as type_get (padding) */
/* Same element type and logical shape, whatever the layouts. */
bool type_same_extents(const Type *a, const Type *b); /* the same logical shape, whatever the element types */
bool type_same_shape(const Type *a, const Type *b);
/* False where a dimension is not constant. */
bool type_shape(const Type *type, int64_t shape[WEFT_MAX_RANK]);
Dim type_elements(Ctx *ctx, const Type *type); /* logical */
Dim type_storage(Ctx *ctx, const Type *type);  /* elements with padding */
int64_t type_bytes(const Type *type);          /* static types: bytes of storage */
void type_print(Str *out, const Type *type);
const char *type_text(Ctx *ctx, const Type *type);

#endif
