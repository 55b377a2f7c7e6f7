/* Tensors of an ONNX file: raw bytes, lists of numbers, or a piece of a file beside the model.
 *
 * Nothing is allocated before the bytes that fill it are known to be there: dimensions are multiplied with checks, and
 * what is stored must have exactly the size that they say. */
#include "frontend/onnx.h"

#define LOCATION_EXTERNAL 1

static const struct {
  const char *name;
  int dtype; /* -1: none in weft */
} types[] = {
    {"UNDEFINED", -1},      {"FLOAT", DT_F32},     {"UINT8", DT_U8},     {"INT8", DT_I8},        {"UINT16", DT_U16},
    {"INT16", DT_I16},      {"INT32", DT_I32},     {"INT64", DT_I64},    {"STRING", -1},         {"BOOL", DT_BOOL},
    {"FLOAT16", DT_F16},    {"DOUBLE", DT_F64},    {"UINT32", DT_U32},   {"UINT64", DT_U64},     {"COMPLEX64", -1},
    {"COMPLEX128", -1},     {"BFLOAT16", DT_BF16}, {"FLOAT8E4M3FN", -1}, {"FLOAT8E4M3FNUZ", -1}, {"FLOAT8E5M2", -1},
    {"FLOAT8E5M2FNUZ", -1}, {"UINT4", -1},         {"INT4", -1},         {"FLOAT4E2M1", -1},     {"FLOAT8E8M0", -1},
    {"UINT2", -1},          {"INT2", -1}};
#define N_TYPES ((int32_t)(sizeof types / sizeof *types))

bool onnx_dtype(int32_t number, DType *out) {
  if (number < 0 || number >= N_TYPES || types[number].dtype < 0)
    return false;
  *out = (DType)types[number].dtype;
  return true;
}

const char *onnx_dtype_name(int32_t number) {
  return number >= 0 && number < N_TYPES ? types[number].name : "of no known number";
}

typedef struct {
  OnnxImport *im;
  const OnnxTensor *t;
  const char *what;
  Loc loc;
  DType dtype;
  int rank;
  int64_t shape[WEFT_MAX_RANK], n;
} Reader;

static bool tensor_error(const Reader *r, Status status, const char *fmt, ...) WEFT_PRINTF(3, 4);
static bool tensor_error(const Reader *r, Status status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = arena_vprintf(r->im->ctx->arena, fmt, args);
  va_end(args);
  return diag_error(r->im->ctx->diags, status, r->loc, "%s %s", r->what, text);
}

static const char *dims_text(const Reader *r) {
  Str s = str_new(r->im->ctx->arena);
  for (size_t k = 0; k < r->t->dims.n && k < 2 * WEFT_MAX_RANK; k++)
    str_printf(&s, "%s%lld", k ? "," : "", (long long)r->t->dims.items[k]);
  return s.data ? s.data : "";
}

static bool read_type(Reader *r) {
  const OnnxTensor *t = r->t;
  if (!onnx_dtype(t->data_type, &r->dtype))
    return tensor_error(
        r, t->data_type == 0 ? WEFT_MALFORMED : WEFT_UNSUPPORTED,
        "has elements of type %s (%d); expected float, float16, bfloat16, double, bool or integers of 8 "
        "to 64 bits",
        onnx_dtype_name(t->data_type), t->data_type);
  if (t->segment)
    return tensor_error(r, WEFT_UNSUPPORTED, "is a segment of a tensor, which is not supported");
  if (t->dims.n > WEFT_MAX_RANK)
    return tensor_error(r, WEFT_UNSUPPORTED, "has %zu dimensions; at most %d are supported", t->dims.n, WEFT_MAX_RANK);
  r->rank = (int)t->dims.n;
  r->n = 1;
  bool empty = false;
  for (int k = 0; k < r->rank; k++) {
    r->shape[k] = t->dims.items[k];
    if (r->shape[k] < 0)
      return tensor_error(r, WEFT_MALFORMED, "has the dimensions [%s], of which one is negative", dims_text(r));
    empty = empty || r->shape[k] == 0;
  }
  for (int k = 0; k < r->rank; k++)
    if (r->shape[k] > WEFT_MAX_ELEMENTS || (!empty && (!mul_i64(r->n, r->shape[k], &r->n) || r->n > WEFT_MAX_ELEMENTS)))
      return tensor_error(r, WEFT_MALFORMED, "has the dimensions [%s], which are too large: at most %lld elements",
                          dims_text(r), (long long)WEFT_MAX_ELEMENTS);
  r->n = empty ? 0 : r->n;
  return true;
}

static int64_t bytes_of(const Reader *r) {
  return r->n * (int64_t)dtype_size(r->dtype);
}

/* Any byte but 0 is true in a file; the type has 0 and 1. */
static Tensor *finish(Tensor *t) {
  if (t->dtype == DT_BOOL)
    for (int64_t i = 0; i < t->n; i++)
      ((uint8_t *)t->data)[i] = ((uint8_t *)t->data)[i] != 0;
  return t;
}

static Tensor *new_tensor(const Reader *r) {
  return tensor_new(r->im->ctx, r->dtype, r->rank, r->shape);
}

static Tensor *read_raw(const Reader *r) {
  OnnxBytes raw = r->t->raw_data;
  if ((int64_t)raw.n != bytes_of(r)) {
    tensor_error(r, WEFT_MALFORMED, "is %s and takes %lld bytes, but %zu are stored",
                 shape_text(r->im->ctx, r->dtype, r->rank, r->shape), (long long)bytes_of(r), raw.n);
    return NULL;
  }
  Tensor *t = new_tensor(r);
  if (raw.n)
    memcpy(t->data, raw.data, raw.n);
  return finish(t);
}

/* ---- lists of numbers ---- */

static bool check_count(const Reader *r, const char *field, size_t n) {
  if ((int64_t)n == r->n)
    return true;
  const char *shape = shape_text(r->im->ctx, r->dtype, r->rank, r->shape);
  if (n == 0)
    return tensor_error(r, WEFT_MALFORMED, "is %s, but holds no data", shape);
  return tensor_error(r, WEFT_MALFORMED, "is %s and has %lld elements, but %s holds %zu", shape, (long long)r->n, field,
                      n);
}

/* The bits of a number that fits this type of at most 32 bits; f16 and bf16 are stored as their bits. */
static bool narrow(DType dtype, int64_t v, uint32_t *bits) {
  size_t width = 8 * dtype_size(dtype);
  bool is_signed = dtype_is_signed(dtype);
  int64_t lo = is_signed ? -((int64_t)1 << (width - 1)) : 0;
  int64_t hi = ((int64_t)1 << (is_signed ? width - 1 : width)) - 1;
  *bits = (uint32_t)v;
  return v >= lo && v <= (dtype == DT_BOOL ? 1 : hi);
}

static Tensor *read_narrow(const Reader *r, const int64_t *wide, const int32_t *ints) {
  Tensor *t = new_tensor(r);
  size_t size = dtype_size(r->dtype);
  for (int64_t i = 0; i < r->n; i++) {
    uint32_t bits;
    int64_t v = ints ? ints[i] : wide[i];
    if (!narrow(r->dtype, v, &bits)) {
      tensor_error(r, WEFT_MALFORMED, "has elements of type %s, but element %lld is %lld", dtype_name(r->dtype),
                   (long long)i, (long long)v);
      return NULL;
    }
    memcpy((char *)t->data + (size_t)i * size, &bits, size); /* the low bytes come first */
  }
  return finish(t);
}

static Tensor *copy_list(const Reader *r, const char *field, size_t n, const void *items) {
  if (!check_count(r, field, n))
    return NULL;
  Tensor *t = new_tensor(r);
  if (n)
    memcpy(t->data, items, n * dtype_size(r->dtype));
  return t;
}

static Tensor *read_list(const Reader *r) {
  const OnnxTensor *t = r->t;
  switch (r->dtype) {
  case DT_F32:
    return copy_list(r, "float_data", t->float_data.n, t->float_data.items);
  case DT_F64:
    return copy_list(r, "double_data", t->double_data.n, t->double_data.items);
  case DT_I64:
    return copy_list(r, "int64_data", t->int64_data.n, t->int64_data.items);
  case DT_U64:
    return copy_list(r, "uint64_data", t->uint64_data.n, t->uint64_data.items);
  case DT_U32:
    return check_count(r, "uint64_data", t->uint64_data.n) ? read_narrow(r, (const int64_t *)t->uint64_data.items, NULL)
                                                           : NULL;
  default:
    return check_count(r, "int32_data", t->int32_data.n) ? read_narrow(r, NULL, t->int32_data.items) : NULL;
  }
}

/* ---- external data ---- */

typedef struct {
  const char *location;
  int64_t offset, length;
  bool has_length;
} External;

static bool read_number(const Reader *r, const char *key, const char *text, int64_t *out) {
  int64_t v = 0;
  bool ok = text[0] != '\0';
  for (const char *p = text; *p && ok; p++)
    ok = *p >= '0' && *p <= '9' && mul_i64(v, 10, &v) && add_i64(v, *p - '0', &v);
  *out = v;
  return ok || tensor_error(r, WEFT_MALFORMED, "has external data of %s '%.40s'; expected a number", key, text);
}

static bool read_external_keys(const Reader *r, External *e) {
  *e = (External){0};
  for (size_t k = 0; k < r->t->external_data.n; k++) {
    const OnnxStringPair *pair = &r->t->external_data.items[k];
    const char *key = onnx_text(r->im, pair->key), *value = onnx_text(r->im, pair->value);
    bool ok = true;
    if (strcmp(key, "location") == 0) {
      e->location = value;
    } else if (strcmp(key, "offset") == 0) {
      ok = read_number(r, key, value, &e->offset);
    } else if (strcmp(key, "length") == 0) {
      ok = read_number(r, key, value, &e->length);
      e->has_length = true;
    } else if (strcmp(key, "checksum") != 0) {
      ok = tensor_error(r, WEFT_UNSUPPORTED,
                        "has external data with the key '%.40s'; known are location, offset, length and checksum", key);
    }
    if (!ok)
      return false;
  }
  return e->location || tensor_error(r, WEFT_MALFORMED, "has external data without a location");
}

static Tensor *read_external(const Reader *r) {
  Ctx *ctx = r->im->ctx;
  External e;
  if (!read_external_keys(r, &e))
    return NULL;
  int64_t bytes = bytes_of(r);
  if (e.has_length && e.length != bytes) {
    tensor_error(r, WEFT_MALFORMED, "is %s and takes %lld bytes, but its external data has the length %lld",
                 shape_text(ctx, r->dtype, r->rank, r->shape), (long long)bytes, (long long)e.length);
    return NULL;
  }
  const char *path = file_beside(ctx, r->im->file, e.location, r->loc);
  Source source;
  if (!path) {
    diag_note(ctx->diags, LOC_NONE, "it is the external data of %s, which must stay inside the model's folder",
              r->what);
    return NULL;
  }
  if (!source_open(&source, ctx, path, r->loc))
    return NULL;
  Tensor *t = NULL;
  if (e.offset > source.size || bytes > source.size - e.offset) {
    tensor_error(r, WEFT_MALFORMED, "takes %lld bytes from byte %lld of '%s', which has %lld", (long long)bytes,
                 (long long)e.offset, e.location, (long long)source.size);
  } else {
    t = new_tensor(r);
    t = source_read(&source, e.offset, t->data, bytes) ? finish(t) : NULL;
  }
  source_close(&source);
  return t;
}

Tensor *onnx_tensor(OnnxImport *im, const OnnxTensor *t, const char *what, Loc loc) {
  Reader r = {.im = im, .t = t, .what = what, .loc = loc};
  if (!read_type(&r))
    return NULL;
  bool external = t->data_location == LOCATION_EXTERNAL, raw = ONNX_SEEN(t, Tensor, raw_data);
  bool list =
      t->float_data.n || t->double_data.n || t->int32_data.n || t->int64_data.n || t->uint64_data.n || t->string_data.n;
  if ((int)external + (int)raw + (int)list > 1) {
    tensor_error(&r, WEFT_MALFORMED, "holds its data twice: as %s and as %s", external ? "external data" : "raw bytes",
                 external && raw ? "raw bytes" : "a list of numbers");
    return NULL;
  }
  return external ? read_external(&r) : raw ? read_raw(&r) : read_list(&r);
}
