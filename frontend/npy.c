/* The .npy format (NumPy Enhancement Proposal 1 and numpy.lib.format): magic, version, a header that is a Python dict
 * literal with exactly the keys descr, fortran_order and shape, then the elements.
 *
 * The header is read by a parser of just that literal. The size of the elements must be exactly what is left of the
 * file, so nothing is allocated that the file does not back. Big-endian elements are swapped, Fortran order (first axis
 * fastest) becomes row-major. bf16 is the two-byte void type V2, as ml_dtypes has numpy write it. */
#include "frontend/source.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6
#define MAX_HEADER 65536
#define ALIGNMENT 64

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "element bytes are written as they lie in memory");

static const struct {
  const char *code; /* without the byte order */
  DType dtype;
} npy_types[] = {{"f4", DT_F32}, {"f8", DT_F64}, {"f2", DT_F16}, {"V2", DT_BF16}, {"i1", DT_I8},
                 {"u1", DT_U8},  {"i2", DT_I16}, {"u2", DT_U16}, {"i4", DT_I32},  {"u4", DT_U32},
                 {"i8", DT_I64}, {"u8", DT_U64}, {"b1", DT_BOOL}};
#define N_TYPES (sizeof npy_types / sizeof *npy_types)

typedef struct {
  const Source *source;
  const char *text;
  size_t len, at;
  DType dtype;
  bool big_endian, fortran;
  int rank;
  int64_t shape[WEFT_MAX_RANK];
} Header;

static bool malformed(const Header *h, const char *expected) {
  return source_error(h->source, WEFT_MALFORMED, "npy header, byte %zu: expected %s", h->at, expected);
}

static void skip_blanks(Header *h) {
  while (h->at < h->len && (h->text[h->at] == ' ' || h->text[h->at] == '\n' || h->text[h->at] == '\t'))
    h->at++;
}

static bool take(Header *h, char c) {
  skip_blanks(h);
  if (h->at >= h->len || h->text[h->at] != c)
    return false;
  h->at++;
  return true;
}

static bool take_word(Header *h, const char *word) {
  size_t n = strlen(word);
  skip_blanks(h);
  if (h->len - h->at < n || memcmp(h->text + h->at, word, n) != 0)
    return false;
  h->at += n;
  return true;
}

/* A quoted string without escapes, cut to the buffer's size. */
static bool take_string(Header *h, char *out, size_t cap) {
  skip_blanks(h);
  char quote = h->at < h->len ? h->text[h->at] : '\0';
  if (quote != '\'' && quote != '"')
    return malformed(h, "a string");
  size_t n = 0;
  for (h->at++; h->at < h->len && h->text[h->at] != quote; h->at++) {
    char c = h->text[h->at];
    if (c == '\\' || c < ' ' || c > '~')
      return malformed(h, "plain characters in the string");
    if (n + 1 < cap)
      out[n++] = c;
  }
  out[n] = '\0';
  if (h->at >= h->len)
    return malformed(h, "the end of the string");
  h->at++;
  return true;
}

static bool parse_descr(Header *h) {
  char descr[16];
  skip_blanks(h);
  if (h->at < h->len && h->text[h->at] == '[')
    return source_error(h->source, WEFT_UNSUPPORTED, "holds records; expected numbers of one element type");
  if (!take_string(h, descr, sizeof descr))
    return false;
  for (size_t k = 0; k < N_TYPES && descr[0]; k++) {
    size_t size = dtype_size(npy_types[k].dtype);
    if (strcmp(descr + 1, npy_types[k].code) != 0 || !strchr(size == 1 || descr[1] == 'V' ? "|<>=" : "<>=", descr[0]))
      continue;
    h->dtype = npy_types[k].dtype;
    h->big_endian = descr[0] == '>' && size > 1;
    return true;
  }
  return source_error(h->source, WEFT_UNSUPPORTED,
                      "has elements of type '%s'; expected float of 2, 4 or 8 bytes, an integer, bool or V2 (bf16)",
                      descr);
}

static bool parse_shape(Header *h) {
  if (!take(h, '('))
    return malformed(h, "a tuple of extents");
  bool comma = true;
  while (!take(h, ')')) {
    if (!comma)
      return malformed(h, "',' or ')'");
    int64_t v = 0;
    size_t start = h->at;
    for (; h->at < h->len && h->text[h->at] >= '0' && h->text[h->at] <= '9'; h->at++)
      if (!mul_i64(v, 10, &v) || !add_i64(v, h->text[h->at] - '0', &v) || v > WEFT_MAX_ELEMENTS)
        return malformed(h, "an extent of at most 2^40");
    if (h->at == start)
      return malformed(h, "an extent (a number >= 0)");
    take(h, 'L'); /* Python 2 wrote its long integers so */
    if (h->rank == WEFT_MAX_RANK)
      return source_error(h->source, WEFT_UNSUPPORTED, "has more than %d axes", WEFT_MAX_RANK);
    h->shape[h->rank++] = v;
    comma = take(h, ',');
  }
  if (h->rank == 1 && !comma)
    return malformed(h, "a tuple: (3,) and not (3)");
  return true;
}

static bool parse_header(Header *h) {
  enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };
  unsigned seen = 0;
  if (!take(h, '{'))
    return malformed(h, "'{'");
  for (bool comma = true; !take(h, '}'); comma = take(h, ',')) {
    char key[20];
    if (!comma)
      return malformed(h, "',' or '}'");
    if (!take_string(h, key, sizeof key))
      return false;
    unsigned which = strcmp(key, "descr") == 0           ? DESCR
                     : strcmp(key, "fortran_order") == 0 ? ORDER
                     : strcmp(key, "shape") == 0         ? SHAPE
                                                         : 0;
    if (which == 0 || (seen & which))
      return source_error(h->source, WEFT_MALFORMED,
                          "npy header: key '%s' %s; expected descr, fortran_order and shape, once each", key,
                          which ? "stands twice" : "is unknown");
    seen |= which;
    if (!take(h, ':'))
      return malformed(h, "':'");
    if (which == ORDER) {
      h->fortran = take_word(h, "True");
      if (!h->fortran && !take_word(h, "False"))
        return malformed(h, "True or False");
    } else if (which == DESCR ? !parse_descr(h) : !parse_shape(h)) {
      return false;
    }
  }
  skip_blanks(h);
  if (h->at != h->len)
    return malformed(h, "nothing behind the '}'");
  if (seen != ALL)
    return source_error(h->source, WEFT_MALFORMED, "npy header: lacks %s",
                        !(seen & DESCR)   ? "descr"
                        : !(seen & SHAPE) ? "shape"
                                          : "fortran_order");
  return true;
}

static void swap_bytes(uint8_t *data, int64_t n, size_t size) {
  for (int64_t i = 0; i < n; i++, data += size)
    for (size_t a = 0, b = size - 1; a < b; a++, b--) {
      uint8_t t = data[a];
      data[a] = data[b];
      data[b] = t;
    }
}

/* From the first axis fastest to the last axis fastest: walks the result in order and keeps the source's offset. */
static void from_fortran(const Tensor *t, const uint8_t *from, size_t size) {
  int64_t index[WEFT_MAX_RANK] = {0}, stride[WEFT_MAX_RANK], step = 1, at = 0;
  for (int k = 0; k < t->rank; k++) {
    stride[k] = step;
    step *= t->shape[k];
  }
  uint8_t *to = t->data;
  for (int64_t i = 0; i < t->n; i++, to += size) {
    memcpy(to, from + (size_t)at * size, size);
    for (int k = t->rank - 1; k >= 0; k--) {
      at += stride[k];
      if (++index[k] < t->shape[k])
        break;
      at -= stride[k] * t->shape[k];
      index[k] = 0;
    }
  }
}

bool npy_is(const Source *source) {
  char magic[MAGIC_SIZE];
  return source->size >= MAGIC_SIZE && source_read(source, 0, magic, MAGIC_SIZE) &&
         memcmp(magic, MAGIC, MAGIC_SIZE) == 0;
}

Tensor *npy_read_source(const Source *source) {
  Ctx *ctx = source->ctx;
  uint8_t start[12] = {0};
  if (!source_read(source, 0, start, source->size < 12 ? source->size : 12))
    return NULL;
  if (source->size < 10 || memcmp(start, MAGIC, MAGIC_SIZE) != 0) {
    source_error(source, WEFT_MALFORMED, "is no .npy file: it does not start with npy's magic bytes");
    return NULL;
  }
  int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) {
    source_error(source, WEFT_UNSUPPORTED, "npy version %d.%d; expected 1.0, 2.0 or 3.0", version, start[7]);
    return NULL;
  }
  int64_t len = start[8] | start[9] << 8, at = 10;
  if (version > 1) {
    len |= (int64_t)start[10] << 16 | (int64_t)start[11] << 24;
    at = 12;
  }
  if (len > MAX_HEADER || len > source->size - at) {
    source_error(source, WEFT_MALFORMED, "npy header of %lld bytes in a file of %lld; at most %d are read",
                 (long long)len, (long long)source->size, MAX_HEADER);
    return NULL;
  }
  char *text = arena_alloc(ctx->arena, (size_t)len);
  Header h = {.source = source, .text = text, .len = (size_t)len};
  if (!source_read(source, at, text, len) || !parse_header(&h))
    return NULL;
  at += len;
  size_t size = dtype_size(h.dtype);
  int64_t want = (int64_t)size, have = source->size - at;
  bool fits = true, empty = false;
  for (int k = 0; k < h.rank; k++)
    empty |= h.shape[k] == 0;
  for (int k = 0; k < h.rank; k++)
    fits = fits && (empty || mul_i64(want, h.shape[k], &want));
  if (empty)
    want = 0;
  if (!fits || want != have) {
    source_error(source, WEFT_MALFORMED, "has %lld bytes of elements, but %s takes %s%lld", (long long)have,
                 shape_text(ctx, h.dtype, h.rank, h.shape), fits ? "" : "more than ", (long long)(fits ? want : have));
    return NULL;
  }
  Tensor *t = tensor_new(ctx, h.dtype, h.rank, h.shape);
  bool transpose = h.fortran && h.rank > 1 && t->n > 0;
  void *raw = transpose ? arena_alloc(ctx->arena, (size_t)want) : t->data;
  if (!source_read(source, at, raw, want))
    return NULL;
  if (h.big_endian)
    swap_bytes(raw, t->n, size);
  if (transpose)
    from_fortran(t, raw, size);
  if (t->dtype == DT_BOOL) /* any other byte would be no value of the type */
    for (int64_t i = 0; i < t->n; i++)
      ((uint8_t *)t->data)[i] = ((uint8_t *)t->data)[i] != 0;
  return t;
}

Tensor *npy_read(Ctx *ctx, const char *path, Loc loc) {
  Source source;
  if (!source_open(&source, ctx, path, loc))
    return NULL;
  Tensor *t = npy_read_source(&source);
  source_close(&source);
  return t;
}

bool npy_write(Ctx *ctx, const char *path, const Tensor *tensor) {
  const char *code = "";
  for (size_t k = 0; k < N_TYPES; k++)
    if (npy_types[k].dtype == tensor->dtype)
      code = npy_types[k].code;
  size_t size = dtype_size(tensor->dtype), bytes = (size_t)tensor->n * size;
  Str dict = str_new(ctx->arena);
  str_printf(&dict, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", size == 1 ? '|' : '<', code);
  for (int k = 0; k < tensor->rank; k++)
    str_printf(&dict, "%s%lld", k ? ", " : "", (long long)tensor->shape[k]);
  str_put(&dict, tensor->rank == 1 ? ",), }" : "), }");
  size_t len = dict.len, start = (10 + len + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, header = start - 10;
  char *out = arena_alloc(ctx->arena, start + bytes);
  memcpy(out, MAGIC "\x01", MAGIC_SIZE + 2); /* the string's own NUL is the minor version */
  out[8] = (char)(header & 0xff);
  out[9] = (char)(header >> 8);
  memset(out + 10, ' ', header);
  memcpy(out + 10, dict.data, len);
  out[start - 1] = '\n';
  if (bytes)
    memcpy(out + start, tensor->data, bytes);
  return file_write(ctx, path, out, start + bytes);
}

Tensor *tensor_convert_bf16(Ctx *ctx, const Tensor *t, DType want) {
  if (want != DT_BF16 || (t->dtype != DT_U16 && t->dtype != DT_F32))
    return NULL;
  Tensor *out = tensor_new(ctx, DT_BF16, t->rank, t->shape);
  if (t->dtype == DT_U16 && t->n > 0)
    memcpy(out->data, t->data, (size_t)t->n * 2);
  for (int64_t i = 0; t->dtype == DT_F32 && i < t->n; i++)
    tensor_set(out, i, tensor_get(t, i));
  return out;
}
