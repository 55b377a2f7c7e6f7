/* Reading and writing the safetensors format: eight bytes with the length of a JSON header (little-endian), the header,
 * the elements. The header maps each tensor's name to dtype, shape and data_offsets = [begin, end) behind the header;
 * `__metadata__` maps strings to strings.
 *
 * Held for every file before a byte of data is used: the header lies in the file and is at most 100 MB; every range
 * lies in the file and has the size of its shape; sorted, the ranges follow one another from the first byte to the last
 * without gap or overlap, as the format demands. Only the tensor that is asked for is read. */
#include "frontend/source.h"
#include <jansson.h>
#include <stdlib.h>

#define MAX_HEADER 100000000

static const struct {
  const char *name;
  DType dtype;
} safetensors_types[] = {{"F32", DT_F32}, {"F64", DT_F64}, {"F16", DT_F16},  {"BF16", DT_BF16}, {"I8", DT_I8},
                         {"U8", DT_U8},   {"I16", DT_I16}, {"U16", DT_U16},  {"I32", DT_I32},   {"U32", DT_U32},
                         {"I64", DT_I64}, {"U64", DT_U64}, {"BOOL", DT_BOOL}};

static bool entry_error(const Source *s, const char *name, const char *what) {
  return source_error(s, WEFT_MALFORMED, "tensor '%s': %s", name, what);
}

/* A JSON list of count (-1: any, up to the largest rank) integers from 0. */
static bool read_ints(json_t *list, int count, int64_t *out, int *n) {
  size_t len = json_array_size(list);
  if (!json_is_array(list) || len > WEFT_MAX_RANK || (count >= 0 && len != (size_t)count))
    return false;
  for (size_t k = 0; k < len; k++) {
    json_t *item = json_array_get(list, k);
    if (!json_is_integer(item) || json_integer_value(item) < 0)
      return false;
    out[k] = json_integer_value(item);
  }
  *n = (int)len;
  return true;
}

static bool read_entry(const Source *s, const char *name, json_t *value, int64_t start, SafetensorsEntry *e) {
  Arena *arena = s->ctx->arena;
  json_t *dtype = json_object_get(value, "dtype");
  if (!json_is_object(value) || json_object_size(value) != 3 || !json_is_string(dtype))
    return entry_error(s, name, "expected an object of dtype, shape and data_offsets");
  *e = (SafetensorsEntry){.name = arena_strdup(arena, name), .dtype = arena_strdup(arena, json_string_value(dtype))};
  int64_t range[2];
  int n;
  if (!read_ints(json_object_get(value, "shape"), -1, e->shape, &e->rank))
    return entry_error(s, name, "expected a shape of at most 8 integers >= 0");
  if (!read_ints(json_object_get(value, "data_offsets"), 2, range, &n))
    return entry_error(s, name, "expected data_offsets of two integers >= 0");
  if (range[0] > range[1] || range[1] > s->size - start)
    return source_error(s, WEFT_MALFORMED,
                        "tensor '%s': data_offsets [%lld, %lld] do not lie in the %lld bytes of data", name,
                        (long long)range[0], (long long)range[1], (long long)(s->size - start));
  e->begin = start + range[0];
  e->end = start + range[1];
  for (size_t k = 0; k < sizeof safetensors_types / sizeof *safetensors_types; k++)
    if (strcmp(safetensors_types[k].name, e->dtype) == 0) {
      e->known = true;
      e->type = safetensors_types[k].dtype;
    }
  if (!e->known) /* an element type that weft has not: an error only where the tensor is asked for */
    return true;
  int64_t want = (int64_t)dtype_size(e->type);
  bool fits = true, empty = false;
  for (int k = 0; k < e->rank; k++) {
    empty |= e->shape[k] == 0;
    fits = fits && e->shape[k] <= WEFT_MAX_ELEMENTS;
  }
  for (int k = 0; k < e->rank; k++)
    fits = fits && (empty || mul_i64(want, e->shape[k], &want));
  if (!fits || (empty ? 0 : want) != range[1] - range[0])
    return source_error(s, WEFT_MALFORMED, "tensor '%s': data_offsets give %lld bytes, which its shape does not take",
                        name, (long long)(range[1] - range[0]));
  return true;
}

static int by_range(const void *a, const void *b) {
  const SafetensorsEntry *x = a, *y = b;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const SafetensorsEntry *)a)->name, ((const SafetensorsEntry *)b)->name);
}

static bool read_entries(const Source *s, json_t *root, int64_t start, Safetensors *index) {
  if (!json_is_object(root))
    return source_error(s, WEFT_MALFORMED, "safetensors header: expected a JSON object");
  index->n = 0;
  index->entries = ARENA_ARRAY(s->ctx->arena, SafetensorsEntry, json_object_size(root));
  const char *name;
  json_t *value;
  json_object_foreach(root, name, value) {
    if (strcmp(name, "__metadata__") == 0)
      continue;
    if (!read_entry(s, name, value, start, &index->entries[index->n]))
      return false;
    index->n++;
  }
  size_t n = (size_t)index->n;
  if (n > 0)
    qsort(index->entries, n, sizeof *index->entries, by_range);
  int64_t at = start;
  for (size_t k = 0; k < n; k++) {
    const SafetensorsEntry *e = &index->entries[k];
    if (e->begin != at)
      return entry_error(s, e->name,
                         e->begin < at ? "its data_offsets overlap another tensor's"
                                       : "its data_offsets leave a gap before it");
    at = e->end;
  }
  if (at != s->size)
    return source_error(s, WEFT_MALFORMED, "%lld bytes of data belong to no tensor", (long long)(s->size - at));
  if (n > 0)
    qsort(index->entries, n, sizeof *index->entries, by_name);
  return true;
}

bool safetensors_index(const Source *s, Safetensors *index) {
  uint8_t prefix[8];
  if (!source_read(s, 0, prefix, 8))
    return false;
  uint64_t len = 0;
  for (int k = 7; k >= 0; k--)
    len = len << 8 | prefix[k];
  if (len > MAX_HEADER || (int64_t)len > s->size - 8)
    return source_error(s, WEFT_MALFORMED,
                        "is no safetensors file: a header of %llu bytes in a file of %lld; at most %d are read",
                        (unsigned long long)len, (long long)s->size, MAX_HEADER);
  char *text = arena_alloc(s->ctx->arena, (size_t)len + 1);
  if (!source_read(s, 8, text, (int64_t)len))
    return false;
  json_error_t e;
  json_t *root = json_loadb(text, (size_t)len, JSON_REJECT_DUPLICATES, &e);
  if (!root)
    return source_error(s, WEFT_MALFORMED, "safetensors header, byte %d: %s", e.position, e.text);
  bool ok = read_entries(s, root, 8 + (int64_t)len, index);
  json_decref(root);
  return ok;
}

Tensor *safetensors_load(const Source *s, const Safetensors *index, const char *name) {
  SafetensorsEntry key = {.name = name};
  const SafetensorsEntry *e =
      index->n == 0 ? NULL : bsearch(&key, index->entries, (size_t)index->n, sizeof key, by_name);
  if (!e) {
    enum { MAX_WORDS = 4096 }; /* a suggestion is not worth more than this */
    const char *words[MAX_WORDS];
    size_t n = 0;
    for (int64_t k = 0; k < index->n && n < MAX_WORDS; k++)
      words[n++] = index->entries[k].name;
    const char *near = nearest_word(name, words, n);
    source_error(s, WEFT_MALFORMED, "has no tensor '%s'%s%s%s", name, near ? "; did you mean '" : "", near ? near : "",
                 near ? "'?" : "");
    return NULL;
  }
  if (!e->known) {
    source_error(s, WEFT_UNSUPPORTED,
                 "tensor '%s' has elements of type %s; expected F32, F64, F16, BF16, I8 to U64 or BOOL", name,
                 e->dtype);
    return NULL;
  }
  Tensor *t = tensor_new(s->ctx, e->type, e->rank, e->shape);
  if (!source_read(s, e->begin, t->data, e->end - e->begin))
    return NULL;
  if (t->dtype == DT_BOOL) /* any other byte would be no value of the type */
    for (int64_t i = 0; i < t->n; i++)
      ((uint8_t *)t->data)[i] = ((uint8_t *)t->data)[i] != 0;
  return t;
}

Tensor *safetensors_read(Ctx *ctx, const char *path, const char *name, Loc loc) {
  Source source;
  Safetensors index;
  if (!source_open(&source, ctx, path, loc))
    return NULL;
  Tensor *t = safetensors_index(&source, &index) ? safetensors_load(&source, &index, name) : NULL;
  source_close(&source);
  return t;
}

/* ---- writing ---- */

static const char *type_name(DType dtype) {
  for (size_t k = 0; k < sizeof safetensors_types / sizeof *safetensors_types; k++)
    if (safetensors_types[k].dtype == dtype)
      return safetensors_types[k].name;
  WEFT_UNREACHABLE();
}

static int64_t tensor_bytes(const Tensor *t) {
  return t->n * (int64_t)dtype_size(t->dtype);
}

/* Larger elements first, so that all are aligned; otherwise in the given order. */
static int by_element_size(const void *a, const void *b) {
  const NamedTensor *const *x = a, *const *y = b;
  size_t sx = dtype_size((*x)->tensor->dtype), sy = dtype_size((*y)->tensor->dtype);
  return sx != sy ? (sx > sy ? -1 : 1) : *x < *y ? -1 : *x > *y;
}

static json_t *entry_json(const Tensor *t, int64_t begin) {
  json_t *shape = json_array();
  for (int k = 0; k < t->rank; k++)
    json_array_append_new(shape, json_integer(t->shape[k]));
  return json_pack("{s:s, s:o, s:[I, I]}", "dtype", type_name(t->dtype), "shape", shape, "data_offsets",
                   (json_int_t)begin, (json_int_t)(begin + tensor_bytes(t)));
}

bool safetensors_write(OutputFile *out, const NamedTensor *tensors, size_t n) {
  Arena *arena = out->ctx->arena;
  const NamedTensor **order = ARENA_ARRAY(arena, const NamedTensor *, n);
  for (size_t k = 0; k < n; k++)
    order[k] = &tensors[k];
  if (n > 0)
    qsort(order, n, sizeof *order, by_element_size);
  json_t *root = json_object();
  int64_t end = 0;
  for (size_t k = 0; k < n; k++) {
    WEFT_ASSERT(json_object_set_new(root, order[k]->name, entry_json(order[k]->tensor, end)) == 0);
    end += tensor_bytes(order[k]->tensor);
  }
  char *text = json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER);
  json_decref(root);
  WEFT_ASSERT(text);
  Str header = str_new(arena);
  str_put(&header, text);
  free(text);
  while ((header.len + 8) % 64) /* the elements start at a multiple of 64 */
    str_putc(&header, ' ');
  uint8_t prefix[8];
  for (int k = 0; k < 8; k++)
    prefix[k] = (uint8_t)((uint64_t)header.len >> 8 * k);
  bool ok = output_write(out, prefix, sizeof prefix) && output_write(out, header.data, header.len);
  for (size_t k = 0; ok && k < n; k++)
    ok = output_write(out, order[k]->tensor->data, (size_t)tensor_bytes(order[k]->tensor));
  return ok;
}
