/* The table of ONNX operators, made from onnx_ops.def, and the function that many of its rows share: an operator whose
 * elements are those of one elementwise op of weft, with attributes of the same meaning. */
#include "frontend/onnx_ops.h"

#include <stdlib.h>

static const OnnxRow rows[] = {
#define OP(type, since, until, min_inputs, max_inputs, outputs, build)                                                 \
  {type, since, until, min_inputs, max_inputs, outputs, build, OP_COUNT, NULL},
#define VIA(type, since, until, min_inputs, max_inputs, build, code)                                                   \
  {type, since, until, min_inputs, max_inputs, 1, build, OP_##code, NULL},
#define MAP(type, since, until, inputs, code, attrs)                                                                   \
  {type, since, until, inputs, inputs, 1, onnx_elementwise, OP_##code, attrs},
#define NOTE(types, text)
#include "frontend/onnx_ops.def"
};

static const struct {
  const char *types, *text;
} notes[] = {
#define OP(...)
#define VIA(...)
#define MAP(...)
#define NOTE(types, text) {types, text},
#include "frontend/onnx_ops.def"
};

const OnnxRow *onnx_rows(size_t *n) {
  *n = sizeof rows / sizeof *rows;
  return rows;
}

const char *onnx_note(const char *type) {
  size_t n = strlen(type);
  for (size_t k = 0; k < sizeof notes / sizeof *notes; k++)
    for (const char *p = notes[k].types; *p; p += strcspn(p, " "), p += *p == ' ')
      if (strcspn(p, " ") == n && memcmp(p, type, n) == 0)
        return notes[k].text;
  return NULL;
}

const OnnxRow *onnx_row(const OnnxImport *im, const char *type) {
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    if (strcmp(rows[k].type, type) == 0 && im->opset >= rows[k].since && (!rows[k].until || im->opset <= rows[k].until))
      return &rows[k];
  return NULL;
}

/* Sets the attributes that a row names, with their defaults in ONNX: "alpha=0.2,beta=0.5"; "lambd:lambda=0.5"
 * where weft has another name for it. */
static void set_attrs(ImportNode *n, Op *op) {
  for (const char *p = n->row->attrs; *p;) {
    size_t len = strcspn(p, "="), theirs = strcspn(p, ":=");
    const char *name = arena_strndup(n->im->ctx->arena, p, theirs);
    const char *own = theirs < len ? arena_strndup(n->im->ctx->arena, p + theirs + 1, len - theirs - 1) : name;
    char *end;
    double otherwise = strtod(p + len + 1, &end);
    int k = op_attr_index(op->def, own, strlen(own));
    WEFT_ASSERT(k >= 0);
    if (op->def->attrs[k].kind == ATTR_INT)
      op_set_int(op, own, node_int(n, name, (int64_t)otherwise));
    else
      op_set_float(op, own, node_float(n, name, otherwise));
    p = end + (*end == ',');
  }
}

bool onnx_elementwise(ImportNode *n) {
  Value *operands[OP_MAX_OPERANDS];
  for (int k = 0; k < n->row->max_inputs; k++)
    operands[k] = node_in(n, k);
  Op *op = node_op(n, n->row->code, operands, n->row->max_inputs);
  set_attrs(n, op);
  return node_result(n, 0, node_finish(n, op));
}
