/* A small encoder of ONNX files for tests: messages are texts under construction, written field by field with the
 * published numbers. */
#ifndef WEFT_TESTS_UNIT_ONNX_ENCODE_H
#define WEFT_TESTS_UNIT_ONNX_ENCODE_H

#include <check.h>

#include "frontend/onnx_wire.h"

static inline void put_varint(Str *s, uint64_t v) {
  for (; v >= 128; v >>= 7)
    str_putc(s, (char)(v | 128));
  str_putc(s, (char)v);
}
static inline void put_tag(Str *s, int field, int wire) {
  put_varint(s, (uint64_t)field << 3 | (uint64_t)wire);
}
static inline void put_int(Str *s, int field, int64_t v) {
  put_tag(s, field, 0);
  put_varint(s, (uint64_t)v);
}
static inline void put_bytes(Str *s, int field, const void *data, size_t n) {
  put_tag(s, field, 2);
  put_varint(s, n);
  str_putn(s, data, n);
}
static inline void put_text(Str *s, int field, const char *text) {
  put_bytes(s, field, text, strlen(text));
}
static inline void put_message(Str *s, int field, Str sub) {
  put_bytes(s, field, sub.len ? sub.data : "", sub.len);
}
static inline void put_float(Str *s, int field, float v) {
  put_tag(s, field, 5);
  str_putn(s, (const char *)&v, 4);
}

/* ---- the messages that tests need ---- */

#define INTS(...) (const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* A tensor of raw bytes. */
static inline Str tensor_raw(Ctx *ctx, const char *name, int type, const int64_t *dims, int rank, const void *data,
                             size_t n) {
  Str s = str_new(ctx->arena);
  for (int k = 0; k < rank; k++)
    put_int(&s, 1, dims[k]);
  put_int(&s, 2, type);
  put_text(&s, 8, name);
  put_bytes(&s, 9, data, n);
  return s;
}
static inline Str tensor_floats(Ctx *ctx, const char *name, const int64_t *dims, int rank, const float *v, size_t n) {
  return tensor_raw(ctx, name, 1, dims, rank, v, n * sizeof *v);
}
static inline Str tensor_ints(Ctx *ctx, const char *name, const int64_t *v, int n) {
  return tensor_raw(ctx, name, 7, INTS(n), v, (size_t)n * sizeof *v);
}

/* An input or output; dims -1: left open; names[k] not NULL: named. */
static inline Str value_info(Ctx *ctx, const char *name, int type, const int64_t *dims, int rank,
                             const char *const *names) {
  Str shape = str_new(ctx->arena), tensor = str_new(ctx->arena), t = str_new(ctx->arena), s = str_new(ctx->arena);
  for (int k = 0; k < rank; k++) {
    Str d = str_new(ctx->arena);
    if (names && names[k])
      put_text(&d, 2, names[k]);
    else if (dims[k] >= 0)
      put_int(&d, 1, dims[k]);
    put_message(&shape, 1, d);
  }
  put_int(&tensor, 1, type);
  put_message(&tensor, 2, shape);
  put_message(&t, 1, tensor);
  put_text(&s, 1, name);
  put_message(&s, 2, t);
  return s;
}

static inline Str attr_int(Ctx *ctx, const char *name, int64_t v) {
  Str s = str_new(ctx->arena);
  put_text(&s, 1, name);
  put_int(&s, 3, v);
  put_int(&s, 20, 2);
  return s;
}
static inline Str attr_float(Ctx *ctx, const char *name, float v) {
  Str s = str_new(ctx->arena);
  put_text(&s, 1, name);
  put_float(&s, 2, v);
  put_int(&s, 20, 1);
  return s;
}
static inline Str attr_text(Ctx *ctx, const char *name, const char *v) {
  Str s = str_new(ctx->arena);
  put_text(&s, 1, name);
  put_text(&s, 4, v);
  put_int(&s, 20, 3);
  return s;
}
static inline Str attr_texts(Ctx *ctx, const char *name, const char *const *v, int n) {
  Str s = str_new(ctx->arena);
  put_text(&s, 1, name);
  for (int k = 0; k < n; k++)
    put_text(&s, 9, v[k]);
  put_int(&s, 20, 8);
  return s;
}
static inline Str attr_floats(Ctx *ctx, const char *name, const float *v, int n) {
  Str s = str_new(ctx->arena);
  put_text(&s, 1, name);
  for (int k = 0; k < n; k++)
    put_float(&s, 7, v[k]);
  put_int(&s, 20, 6);
  return s;
}
static inline Str attr_ints(Ctx *ctx, const char *name, const int64_t *v, int n) {
  Str s = str_new(ctx->arena);
  put_text(&s, 1, name);
  for (int k = 0; k < n; k++)
    put_int(&s, 8, v[k]);
  put_int(&s, 20, 7);
  return s;
}

/* "Add a,b -> c": operands and results parted by commas, an omitted one is empty. The node has no name but its result's
 * unless name is given. */
static inline Str node(Ctx *ctx, const char *name, const char *text) {
  Str s = str_new(ctx->arena);
  const char *arrow = strstr(text, "->");
  size_t type = strcspn(text, " ");
  int field = 1;
  for (const char *p = text + type + 1; p[-1] && *p;) {
    if (p == arrow) {
      field = 2;
      p += 2 + strspn(p + 2, " ");
      continue;
    }
    size_t n = strcspn(p, ", ");
    put_bytes(&s, field, p, n);
    p += n + strspn(p + n, " ");
    p += *p == ',';
  }
  if (name)
    put_text(&s, 3, name);
  put_bytes(&s, 4, text, type);
  return s;
}

static inline Str model(Ctx *ctx, int opset, Str graph) {
  Str set = str_new(ctx->arena), s = str_new(ctx->arena);
  put_text(&set, 1, "");
  put_int(&set, 2, opset);
  put_int(&s, 1, 8);
  put_message(&s, 8, set);
  put_message(&s, 7, graph);
  return s;
}

#endif
