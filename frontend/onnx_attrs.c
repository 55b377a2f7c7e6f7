/* Attributes of a node: each is read by name, of one kind, and so consumed; what nobody has asked for is refused. See
 * onnx.h. */
#include "frontend/onnx.h"

#define MAX_NUMBERS 65536 /* of a list */
#define MAX_TEXT 65536    /* bytes */

enum { TYPE_FLOAT = 1, TYPE_INT, TYPE_STRING, TYPE_TENSOR, TYPE_GRAPH, TYPE_FLOATS, TYPE_INTS, TYPE_STRINGS };
static const char *const attr_types[] = {"nothing",          "a float",        "an int",
                                         "a string",         "a tensor",       "a graph",
                                         "a list of floats", "a list of ints", "a list of strings"};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool has_name(OnnxBytes text, const char *name) {
  size_t len = strlen(name);
  return text.n == len && (len == 0 || memcmp(text.data, name, len) == 0);
}

const OnnxAttribute *node_attr(ImportNode *n, const char *name) {
  for (size_t k = 0; k < n->node->attribute.n; k++)
    if (has_name(n->node->attribute.items[k].name, name)) {
      n->attr_used[k] = true;
      return &n->node->attribute.items[k];
    }
  return NULL;
}

static const OnnxAttribute *attr_of_type(ImportNode *n, const char *name, int type) {
  const OnnxAttribute *a = node_attr(n, name);
  if (!a || n->failed)
    return NULL;
  if (a->type == type)
    return a;
  size_t got = (size_t)a->type;
  node_error(n, WEFT_MALFORMED, "attribute '%s' is %s, expected %s", name,
             got < COUNT(attr_types) ? attr_types[got] : "of another type", attr_types[type]);
  return NULL;
}

int64_t node_int(ImportNode *n, const char *name, int64_t otherwise) {
  const OnnxAttribute *a = attr_of_type(n, name, TYPE_INT);
  return a ? a->i : otherwise;
}

int64_t node_required_int(ImportNode *n, const char *name) {
  if (!node_attr(n, name))
    node_error(n, WEFT_MALFORMED, "attribute '%s' is missing", name);
  return node_int(n, name, 0);
}

double node_float(ImportNode *n, const char *name, double otherwise) {
  const OnnxAttribute *a = attr_of_type(n, name, TYPE_FLOAT);
  return a ? (double)a->f : otherwise;
}

bool node_flag(ImportNode *n, const char *name, bool otherwise) {
  int64_t v = node_int(n, name, otherwise);
  if (v != 0 && v != 1)
    node_error(n, WEFT_MALFORMED, "attribute '%s' is %lld, expected 0 or 1", name, (long long)v);
  return v == 1;
}

int node_word(ImportNode *n, const char *name, const char *words) {
  const OnnxAttribute *a = attr_of_type(n, name, TYPE_STRING);
  if (!a)
    return 0;
  int k = 0;
  for (const char *w = words; *w; k++) {
    size_t len = strcspn(w, "|");
    if (a->s.n == len && memcmp(a->s.data, w, len) == 0)
      return k;
    w += len + (w[len] == '|');
  }
  Str text = str_new(n->im->ctx->arena);
  str_put_quoted(&text, arena_strndup(n->im->ctx->arena, a->s.n ? a->s.data : "", a->s.n < 60 ? a->s.n : 60));
  node_error(n, WEFT_UNSUPPORTED, "attribute '%s' is %s, expected one of %s", name, text.data, words);
  return 0;
}

static const char *text_of(ImportNode *n, const char *name, OnnxBytes bytes) {
  if (bytes.n <= MAX_TEXT && (bytes.n == 0 || !memchr(bytes.data, 0, bytes.n)))
    return intern_strn(n->im->ctx, bytes.n ? bytes.data : "", bytes.n);
  node_error(n, WEFT_MALFORMED, "attribute '%s' holds a text of %zu bytes, expected at most %d and no byte 0", name,
             bytes.n, MAX_TEXT);
  return NULL;
}

const char *node_text(ImportNode *n, const char *name) {
  const OnnxAttribute *a = attr_of_type(n, name, TYPE_STRING);
  return a ? text_of(n, name, a->s) : NULL;
}

Texts node_texts(ImportNode *n, const char *name) {
  const OnnxAttribute *a = attr_of_type(n, name, TYPE_STRINGS);
  if (!a)
    return (Texts){0};
  if (a->strings.n > MAX_NUMBERS) {
    node_error(n, WEFT_MALFORMED, "attribute '%s' has %zu texts, expected at most %d", name, a->strings.n, MAX_NUMBERS);
    return (Texts){0};
  }
  const char **v = ARENA_ARRAY(n->im->ctx->arena, const char *, a->strings.n);
  for (size_t k = 0; k < a->strings.n; k++)
    if (!(v[k] = text_of(n, name, a->strings.items[k])))
      return (Texts){0};
  return (Texts){true, (int)a->strings.n, v};
}

Floats node_floats(ImportNode *n, const char *name) {
  const OnnxAttribute *a = attr_of_type(n, name, TYPE_FLOATS);
  if (!a)
    return (Floats){0};
  if (a->floats.n > MAX_NUMBERS) {
    node_error(n, WEFT_MALFORMED, "attribute '%s' has %zu numbers, expected at most %d", name, a->floats.n,
               MAX_NUMBERS);
    return (Floats){0};
  }
  double *v = ARENA_ARRAY(n->im->ctx->arena, double, a->floats.n);
  for (size_t k = 0; k < a->floats.n; k++) {
    float f;
    memcpy(&f, (const char *)a->floats.items + k * sizeof f, sizeof f);
    v[k] = (double)f;
  }
  return (Floats){true, (int)a->floats.n, v};
}

Ints node_ints(ImportNode *n, const char *name, int count) {
  const OnnxAttribute *a = attr_of_type(n, name, TYPE_INTS);
  if (!a)
    return (Ints){0};
  if (a->ints.n > MAX_NUMBERS || (count >= 0 && a->ints.n != (size_t)count)) {
    node_error(n, WEFT_MALFORMED, "attribute '%s' has %zu numbers, expected %d", name, a->ints.n,
               count >= 0 ? count : MAX_NUMBERS);
    return (Ints){0};
  }
  return (Ints){true, (int)a->ints.n, a->ints.items};
}

DType node_dtype(ImportNode *n, int64_t number, const char *what) {
  DType dtype = DT_F32;
  int32_t small = number >= 0 && number < 1000 ? (int32_t)number : -1;
  if (!onnx_dtype(small, &dtype))
    node_error(
        n, WEFT_UNSUPPORTED,
        "%s is %s (%lld), which is not supported; supported: float, float16, bfloat16, double, bool and integers "
        "of 8 to 64 bits",
        what, onnx_dtype_name(small), (long long)number);
  return dtype;
}

bool node_check_attrs(ImportNode *n) {
  for (size_t k = 0; k < n->node->attribute.n; k++) {
    const OnnxAttribute *a = &n->node->attribute.items[k];
    const char *name = onnx_quote(n->im, a->name);
    if (a->ref_attr_name.n)
      return node_error(n, WEFT_MALFORMED, "attribute '%s' refers to an attribute of a function, but there is none",
                        name);
    for (size_t j = 0; j < k; j++)
      if (a->name.n == n->node->attribute.items[j].name.n &&
          has_name(a->name, onnx_text(n->im, n->node->attribute.items[j].name)))
        return node_error(n, WEFT_MALFORMED, "attribute '%s' occurs twice", name);
    if (!n->attr_used[k])
      return node_error(n, WEFT_UNSUPPORTED, "attribute '%s' is not supported in opset %d", name, n->im->opset);
  }
  return true;
}
