/* The protobuf wire format, see onnx_wire.h. A message is a sequence of fields, each a tag (number * 8 + wire type) and
 * a value: a varint, 4 or 8 bytes, or a length and so many bytes.
 *
 * Each message is passed over twice: once to check every field and to count what its lists hold, once to fill lists of
 * exactly that size. A field is decoded by one function, so both passes agree; sub-messages are skipped by their length
 * in the first pass, which makes the work two passes a level and not two to the power of the depth.
 *
 * Held: a view never leaves the bytes of its message; the arena never takes more than 4 * size + 64 MB. */
#include "frontend/onnx_wire.h"

#define MEMORY_FACTOR 4
#define MEMORY_EXTRA ((size_t)64 << 20)

typedef enum { KIND_I32, KIND_I64, KIND_U64, KIND_F32, KIND_F64, KIND_BYTES, KIND_TEXT, KIND_MESSAGE } Kind;

typedef struct {
  uint32_t number;
  Kind kind;
  bool many;
  size_t offset; /* in its struct */
  int of;        /* KIND_MESSAGE: which */
  const char *name;
} FieldRow;

typedef struct {
  const char *name;
  const FieldRow *fields;
  int n;
  size_t size; /* of its struct */
} MessageRow;

/* clang-format off */
enum {
#define MESSAGE(message) MESSAGE_##message,
#define ONE(message, number, kind, name)
#define MANY(message, number, kind, name)
#define SUB(message, number, name, of)
#define SUBS(message, number, name, of)
#define END(message)
#include "frontend/onnx_fields.def"
};

#define MESSAGE(message) static const FieldRow fields_##message[] = {
#define ONE(message, number, kind, name) {number, KIND_##kind, false, offsetof(Onnx##message, name), 0, #name},
#define MANY(message, number, kind, name) {number, KIND_##kind, true, offsetof(Onnx##message, name), 0, #name},
#define SUB(message, number, name, of) {number, KIND_MESSAGE, false, offsetof(Onnx##message, name), MESSAGE_##of, #name},
#define SUBS(message, number, name, of) {number, KIND_MESSAGE, true, offsetof(Onnx##message, name), MESSAGE_##of, #name},
#define END(message) };
#include "frontend/onnx_fields.def"

static const MessageRow messages[] = {
#define MESSAGE(message) {#message, fields_##message, ONNX_##message##_FIELDS, sizeof(Onnx##message)},
#define ONE(message, number, kind, name)
#define MANY(message, number, kind, name)
#define SUB(message, number, name, of)
#define SUBS(message, number, name, of)
#define END(message)
#include "frontend/onnx_fields.def"
};
/* clang-format on */

#define MAX_FIELDS 16 /* of a message; the tables are checked against it on use */

/* How every list lies in its struct. */
typedef struct {
  size_t n;
  const void *items;
} List;

typedef struct {
  Ctx *ctx;
  Loc loc;
  const char *bytes;
  size_t size, used, cap;
} Wire;

/* A span of the file, read from its start. */
typedef struct {
  const MessageRow *message;
  const char *p, *end;
} Span;

typedef enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_GROUP, WIRE_END_GROUP, WIRE_32 } WireType;

typedef struct {
  const FieldRow *row; /* NULL: a field that is not read */
  uint32_t number;
  WireType wire;
  uint64_t value;   /* varint */
  const char *data; /* the others; of WIRE_BYTES behind the length */
  size_t n;
  const char *at; /* its tag */
} Field;

static bool wire_error(const Wire *w, const MessageRow *message, const char *at, const char *fmt, ...)
    WEFT_PRINTF(4, 5);
static bool wire_error(const Wire *w, const MessageRow *message, const char *at, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *what = arena_vprintf(w->ctx->arena, fmt, args);
  va_end(args);
  return diag_error(w->ctx->diags, WEFT_MALFORMED, w->loc,
                    "is damaged, cut short or no ONNX model: byte %zu, in %s: %s", (size_t)(at - w->bytes),
                    message->name, what);
}

static bool read_varint(const Wire *w, Span *s, uint64_t *out) {
  const char *at = s->p;
  uint64_t v = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (s->p == s->end)
      return wire_error(w, s->message, at, "a number does not end within its message");
    uint8_t byte = (uint8_t)*s->p++;
    if (shift == 63 && byte > 1)
      break;
    v |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) {
      *out = v;
      return true;
    }
  }
  return wire_error(w, s->message, at, "a number is longer than 64 bits");
}

static const FieldRow *find_row(const MessageRow *message, uint32_t number) {
  for (int k = 0; k < message->n; k++)
    if (message->fields[k].number == number)
      return &message->fields[k];
  return NULL;
}

static size_t kind_bytes(Kind kind) {
  return kind == KIND_F32 ? 4 : kind == KIND_F64 ? 8 : 0;
}

static bool is_varint(Kind kind) {
  return kind == KIND_I32 || kind == KIND_I64 || kind == KIND_U64;
}

/* Whether the wire type fits the row, lists of numbers in both forms. */
static bool check_wire(const Wire *w, const Span *s, const Field *f) {
  WireType want = is_varint(f->row->kind)    ? WIRE_VARINT
                  : f->row->kind == KIND_F32 ? WIRE_32
                  : f->row->kind == KIND_F64 ? WIRE_64
                                             : WIRE_BYTES;
  bool packed = f->row->many && f->wire == WIRE_BYTES && want != WIRE_BYTES;
  if (f->wire != want && !packed)
    return wire_error(w, s->message, f->at, "field %u, %s, has wire type %d, expected %d", f->number, f->row->name,
                      (int)f->wire, (int)want);
  size_t unit = kind_bytes(f->row->kind);
  if (packed && unit && f->n % unit)
    return wire_error(w, s->message, f->at, "field %u, %s, has %zu bytes, expected a multiple of %zu", f->number,
                      f->row->name, f->n, unit);
  if (packed && !unit && f->n && ((uint8_t)f->data[f->n - 1] & 128))
    return wire_error(w, s->message, f->at, "field %u, %s: its last number does not end", f->number, f->row->name);
  return true;
}

/* Reads one field and steps behind it. */
static bool read_field(const Wire *w, Span *s, Field *f) {
  uint64_t tag, n;
  *f = (Field){.at = s->p};
  if (!read_varint(w, s, &tag))
    return false;
  f->number = (uint32_t)(tag >> 3);
  f->wire = (WireType)(tag & 7);
  if (tag >> 32 || f->number == 0)
    return wire_error(w, s->message, f->at, "%llu is no tag of a field", (unsigned long long)tag);
  size_t left = (size_t)(s->end - s->p);
  switch (f->wire) {
  case WIRE_VARINT:
    if (!read_varint(w, s, &f->value))
      return false;
    break;
  case WIRE_64:
  case WIRE_32:
    f->n = f->wire == WIRE_64 ? 8 : 4;
    if (left < f->n)
      return wire_error(w, s->message, f->at, "field %u takes %zu bytes, but %zu are left", f->number, f->n, left);
    break;
  case WIRE_BYTES:
    if (!read_varint(w, s, &n))
      return false;
    left = (size_t)(s->end - s->p);
    if (n > left)
      return wire_error(w, s->message, f->at, "field %u claims %llu bytes, but %zu are left", f->number,
                        (unsigned long long)n, left);
    f->n = (size_t)n;
    break;
  default:
    return wire_error(w, s->message, f->at, "field %u has wire type %d, which ONNX does not use", f->number,
                      (int)f->wire);
  }
  if (f->wire != WIRE_VARINT) {
    f->data = s->p;
    s->p += f->n;
  }
  f->row = find_row(s->message, f->number);
  return !f->row || check_wire(w, s, f);
}

/* How many items of its list a field holds. */
static size_t count_items(const Field *f) {
  if (f->wire != WIRE_BYTES || f->row->kind >= KIND_BYTES)
    return 1;
  if (kind_bytes(f->row->kind))
    return f->n / kind_bytes(f->row->kind);
  size_t n = 0;
  for (size_t k = 0; k < f->n; k++)
    n += ((uint8_t)f->data[k] & 128) == 0;
  return n;
}

static bool count_fields(const Wire *w, Span s, size_t *items, size_t *fields) {
  while (s.p < s.end) {
    Field f;
    if (!read_field(w, &s, &f))
      return false;
    if (!f.row)
      continue;
    int k = (int)(f.row - s.message->fields);
    if (f.row->kind == KIND_MESSAGE && !f.row->many && fields[k])
      return wire_error(w, s.message, f.at, "field %u, %s, occurs twice", f.number, f.row->name);
    fields[k]++;
    items[k] += count_items(&f);
  }
  return true;
}

/* Memory for n items; NULL after reporting where the limit is passed. */
static void *wire_alloc(Wire *w, const MessageRow *message, const char *at, size_t n, size_t size) {
  if (n > (w->cap - w->used) / size) {
    wire_error(w, message, at, "the model takes more than %zu bytes of memory, which %zu bytes of a file may not",
               w->cap, w->size);
    return NULL;
  }
  w->used += n * size;
  return arena_alloc_array(w->ctx->arena, n, size);
}

static size_t item_size(const FieldRow *row) {
  switch (row->kind) {
  case KIND_I32:
  case KIND_F32:
    return 4;
  case KIND_I64:
  case KIND_U64:
  case KIND_F64:
    return 8;
  case KIND_BYTES:
  case KIND_TEXT:
    return sizeof(OnnxBytes);
  case KIND_MESSAGE:
    return messages[row->of].size;
  }
  WEFT_UNREACHABLE();
}

/* Memory for the lists of a message; floats that lie in one piece stay where they are and get none. */
static bool make_lists(Wire *w, const Span *s, char *out, const size_t *items, const size_t *fields) {
  for (int k = 0; k < s->message->n; k++) {
    const FieldRow *row = &s->message->fields[k];
    if (!row->many || items[k] == 0 || (kind_bytes(row->kind) && fields[k] == 1))
      continue;
    List list = {0, wire_alloc(w, s->message, s->p, items[k], item_size(row))};
    if (!list.items)
      return false;
    memcpy(out + row->offset, &list, sizeof list);
  }
  return true;
}

static void store_varint(Kind kind, uint64_t value, void *to) {
  int32_t narrow = (int32_t)(uint32_t)value; /* as the format has it: the low bits */
  if (kind == KIND_I32)
    memcpy(to, &narrow, sizeof narrow);
  else
    memcpy(to, &value, sizeof value);
}

static bool check_text(const Wire *w, const Span *s, const Field *f) {
  for (size_t k = 0; k < f->n;) {
    uint8_t c = (uint8_t)f->data[k];
    size_t len = c == 0 ? 0 : c < 128 ? 1 : utf8_length(f->data + k, f->n - k);
    if (!len)
      return wire_error(w, s->message, f->data + k, "field %u, %s, is no text: expected UTF-8 without NUL", f->number,
                        f->row->name);
    k += len;
  }
  return true;
}

static bool read_message(Wire *w, Span s, char *out, int depth);

/* A list's numbers that lie packed; both passes have checked that they fit. */
static bool fill_packed(const Wire *w, const Span *s, const Field *f, List *list) {
  size_t size = item_size(f->row);
  char *to = (char *)(uintptr_t)list->items;
  if (kind_bytes(f->row->kind)) {
    if (!list->items)
      list->items = f->data;
    else
      memcpy(to + list->n * size, f->data, f->n);
    list->n += f->n / size;
    return true;
  }
  Span numbers = {s->message, f->data, f->data + f->n};
  while (numbers.p < numbers.end) {
    uint64_t value;
    if (!read_varint(w, &numbers, &value))
      return false;
    store_varint(f->row->kind, value, to + list->n++ * size);
  }
  return true;
}

static bool fill_item(Wire *w, const Span *s, const Field *f, char *to, int depth) {
  OnnxBytes bytes = {f->n, f->data};
  switch (f->row->kind) {
  case KIND_I32:
  case KIND_I64:
  case KIND_U64:
    store_varint(f->row->kind, f->value, to);
    return true;
  case KIND_F32:
  case KIND_F64:
    memcpy(to, f->data, f->n);
    return true;
  case KIND_TEXT:
    if (!check_text(w, s, f))
      return false;
    memcpy(to, &bytes, sizeof bytes);
    return true;
  case KIND_BYTES:
    memcpy(to, &bytes, sizeof bytes);
    return true;
  case KIND_MESSAGE:
    return read_message(w, (Span){&messages[f->row->of], f->data, f->data + f->n}, to, depth + 1);
  }
  WEFT_UNREACHABLE();
}

static bool fill_many(Wire *w, const Span *s, const Field *f, char *to, int depth) {
  List list;
  memcpy(&list, to, sizeof list);
  bool number = f->row->kind < KIND_BYTES, ok = true;
  if (number && f->wire == WIRE_BYTES)
    ok = fill_packed(w, s, f, &list);
  else if (kind_bytes(f->row->kind) && !list.items) /* a single one, unpacked */
    list = (List){1, f->data};
  else
    ok = fill_item(w, s, f, (char *)(uintptr_t)list.items + list.n++ * item_size(f->row), depth);
  memcpy(to, &list, sizeof list);
  return ok;
}

static bool fill_one(Wire *w, const Span *s, const Field *f, char *to, int depth) {
  if (f->row->kind != KIND_MESSAGE)
    return fill_item(w, s, f, to, depth);
  char *made = wire_alloc(w, s->message, f->at, 1, item_size(f->row));
  if (!made)
    return false;
  memcpy(to, &made, sizeof made);
  return fill_item(w, s, f, made, depth);
}

static bool read_message(Wire *w, Span s, char *out, int depth) {
  if (depth > ONNX_MAX_DEPTH)
    return wire_error(w, s.message, s.p, "nested too deeply: more than %d messages within one another", ONNX_MAX_DEPTH);
  size_t items[MAX_FIELDS] = {0}, fields[MAX_FIELDS] = {0};
  WEFT_ASSERT(s.message->n <= MAX_FIELDS);
  if (!count_fields(w, s, items, fields) || !make_lists(w, &s, out, items, fields))
    return false;
  uint64_t seen = 0;
  while (s.p < s.end) {
    Field f;
    if (!read_field(w, &s, &f))
      return false;
    if (!f.row)
      continue;
    seen |= (uint64_t)1 << (f.row - s.message->fields);
    char *to = out + f.row->offset;
    if (!(f.row->many ? fill_many(w, &s, &f, to, depth) : fill_one(w, &s, &f, to, depth)))
      return false;
  }
  memcpy(out, &seen, sizeof seen); /* the first member of every struct */
  return true;
}

const OnnxModel *onnx_wire_read(Ctx *ctx, const char *file, const void *bytes, size_t size) {
  Wire w = {.ctx = ctx, .loc = {.file = intern_str(ctx, file)}, .bytes = bytes, .size = size};
  if (size > (size_t)ONNX_MAX_BYTES) {
    diag_error(ctx->diags, WEFT_MALFORMED, w.loc, "has %zu bytes; an ONNX file has at most %lld", size,
               (long long)ONNX_MAX_BYTES);
    return NULL;
  }
  w.cap = MEMORY_FACTOR * size + MEMORY_EXTRA;
  OnnxModel *model = ARENA_NEW(ctx->arena, OnnxModel);
  return read_message(&w, (Span){&messages[MESSAGE_Model], w.bytes, w.bytes + size}, (char *)model, 1) ? model : NULL;
}
