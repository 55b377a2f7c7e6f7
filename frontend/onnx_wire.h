/* ONNX files as structs: the protobuf wire format read by a table, onnx_fields.def, without generated code.
 *
 * Nothing is copied that can stay where it is: text, bytes and packed floats are views of the file's bytes, which must
 * live as long as the structs; views have no alignment and text no NUL. Integers and lists of messages are in the arena.
 * The bytes are hostile: depth, memory and every length are limited, each fault is reported with its byte. */
#ifndef WEFT_FRONTEND_ONNX_WIRE_H
#define WEFT_FRONTEND_ONNX_WIRE_H

#include "ir/ctx.h"

#define ONNX_MAX_DEPTH 100                    /* messages within one another */
#define ONNX_MAX_BYTES (((int64_t)1 << 31) - 1) /* of a file: protobuf's own limit */

/* data is NULL where the field is absent, and not where it is present and empty. */
typedef struct {
  size_t n;
  const char *data;
} OnnxBytes;

/* clang-format off */
#define ONNX_TYPE_I32 int32_t
#define ONNX_TYPE_I64 int64_t
#define ONNX_TYPE_U64 uint64_t
#define ONNX_TYPE_F32 float
#define ONNX_TYPE_F64 double
#define ONNX_TYPE_BYTES OnnxBytes
#define ONNX_TYPE_TEXT OnnxBytes
/* Lists of floats are views: the items are bytes, little-endian, read by memcpy. */
#define ONNX_ITEM_I32 int32_t
#define ONNX_ITEM_I64 int64_t
#define ONNX_ITEM_U64 uint64_t
#define ONNX_ITEM_F32 char
#define ONNX_ITEM_F64 char
#define ONNX_ITEM_BYTES OnnxBytes
#define ONNX_ITEM_TEXT OnnxBytes

#define MESSAGE(message) typedef struct Onnx##message Onnx##message;
#define ONE(message, number, kind, name)
#define MANY(message, number, kind, name)
#define SUB(message, number, name, of)
#define SUBS(message, number, name, of)
#define END(message)
#include "frontend/onnx_fields.def"

/* seen: bit ONNX_MESSAGE_field of each field that occurs. */
#define MESSAGE(message) struct Onnx##message { uint64_t seen;
#define ONE(message, number, kind, name) ONNX_TYPE_##kind name;
#define MANY(message, number, kind, name) struct { size_t n; const ONNX_ITEM_##kind *items; } name;
#define SUB(message, number, name, of) const Onnx##of *name;
#define SUBS(message, number, name, of) struct { size_t n; const Onnx##of *items; } name;
#define END(message) };
#include "frontend/onnx_fields.def"

#define MESSAGE(message) enum {
#define ONE(message, number, kind, name) ONNX_##message##_##name,
#define MANY(message, number, kind, name) ONNX_##message##_##name,
#define SUB(message, number, name, of) ONNX_##message##_##name,
#define SUBS(message, number, name, of) ONNX_##message##_##name,
#define END(message) ONNX_##message##_FIELDS };
#include "frontend/onnx_fields.def"
/* clang-format on */

#define ONNX_SEEN(m, message, field) (((m)->seen >> ONNX_##message##_##field & 1) != 0)

/* The model in these bytes, or NULL after reporting at the file. */
const OnnxModel *onnx_wire_read(Ctx *ctx, const char *file, const void *bytes, size_t size);

#endif
