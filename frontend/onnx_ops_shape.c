/* Operators that make values out of sizes, attributes or known numbers. */
#include "frontend/onnx_ops.h"

#include <math.h>

/* ---- constants ---- */

static bool constant_text(ImportNode *n, const char *name) {
  return node_attr(n, name) &&
         !node_error(n, WEFT_UNSUPPORTED, "attribute '%s': strings and sparse tensors are not supported", name);
}

/* The tensor of an attribute; NULL after reporting. */
static Tensor *attr_tensor(ImportNode *n, const OnnxAttribute *a, const char *name) {
  if (!a->t) {
    node_error(n, WEFT_MALFORMED, "attribute '%s' holds no tensor", name);
    return NULL;
  }
  Tensor *t = onnx_tensor(n->im, a->t, arena_printf(n->im->ctx->arena, "attribute '%s'", name), n->loc);
  n->failed = n->failed || !t;
  return t;
}

static Tensor *constant_floats(ImportNode *n, const char *name, bool list) {
  const OnnxAttribute *a = node_attr(n, name);
  int64_t count = a && list ? (int64_t)a->floats.n : 1;
  Tensor *t = tensor_new(n->im->ctx, DT_F32, list, &count);
  if (!list)
    tensor_set(t, 0, node_float(n, name, 0));
  else if (count)
    memcpy(t->data, a->floats.items, (size_t)count * sizeof(float));
  return t;
}

static Tensor *constant_ints(ImportNode *n, const char *name, bool list) {
  Ints v = list ? node_ints(n, name, -1) : (Ints){true, 1, NULL};
  int64_t count = v.n;
  Tensor *t = tensor_new(n->im->ctx, DT_I64, list, &count);
  if (!list)
    ((int64_t *)t->data)[0] = node_int(n, name, 0);
  else if (count)
    memcpy(t->data, v.v, (size_t)count * sizeof(int64_t));
  return t;
}

bool onnx_constant(ImportNode *n) {
  const OnnxAttribute *value = node_attr(n, "value");
  bool numbers = n->im->opset >= 12;
  if (n->node->attribute.n != 1)
    return node_error(n, WEFT_MALFORMED, "%zu attributes, expected one: the value", n->node->attribute.n);
  if (n->im->opset >= 11 && constant_text(n, "sparse_value"))
    return false;
  if (numbers && (constant_text(n, "value_string") || constant_text(n, "value_strings")))
    return false;
  Tensor *t = NULL;
  if (value)
    t = attr_tensor(n, value, "value");
  else if (numbers && node_attr(n, "value_float"))
    t = constant_floats(n, "value_float", false);
  else if (numbers && node_attr(n, "value_floats"))
    t = constant_floats(n, "value_floats", true);
  else if (numbers && node_attr(n, "value_int"))
    t = constant_ints(n, "value_int", false);
  else if (numbers && node_attr(n, "value_ints"))
    t = constant_ints(n, "value_ints", true);
  return node_result(n, 0, t ? node_constant(n, t) : NULL);
}

/* The extents of a known shape operand; false after reporting. */
static bool known_shape(ImportNode *n, int k, int64_t *shape, int *rank) {
  Ints want = node_known_ints(n, k, "shape");
  if (!n->failed && want.n > WEFT_MAX_RANK)
    node_error(n, WEFT_UNSUPPORTED, "the shape has %d extents, at most %d are supported", want.n, WEFT_MAX_RANK);
  for (int j = 0; j < want.n && !n->failed; j++) {
    shape[j] = want.v[j];
    if (shape[j] < 0 || shape[j] > WEFT_MAX_ELEMENTS)
      node_error(n, WEFT_MALFORMED, "the shape holds %lld", (long long)shape[j]);
  }
  *rank = want.n;
  return !n->failed;
}

bool onnx_constant_of_shape(ImportNode *n) {
  const OnnxAttribute *a = node_attr(n, "value");
  Tensor *t = a ? attr_tensor(n, a, "value") : tensor_new(n->im->ctx, DT_F32, 0, NULL);
  int64_t shape[WEFT_MAX_RANK];
  int rank;
  if (!known_shape(n, 0, shape, &rank))
    return false;
  if (t->n != 1)
    return node_error(n, WEFT_MALFORMED, "attribute 'value' has %lld elements, expected one", (long long)t->n);
  t->rank = 0;
  return node_result(n, 0, node_broadcast(n, node_constant(n, t), shape, rank));
}

/* ---- sizes ---- */

bool onnx_shape(ImportNode *n) {
  Value *x = node_in(n, 0);
  int rank = node_rank(x);
  int64_t shape[WEFT_MAX_RANK], start = 0, end = rank;
  node_shape(x, shape);
  if (n->im->opset >= 15) {
    start = node_int(n, "start", 0);
    end = node_int(n, "end", rank);
  }
  start += start < 0 ? rank : 0;
  end += end < 0 ? rank : 0;
  start = start < 0 ? 0 : start > rank ? rank : start;
  end = end > rank ? rank : end < start ? start : end;
  return node_result(n, 0, node_ints_value(n, shape + start, (int)(end - start), 1));
}

bool onnx_size(ImportNode *n) {
  Value *x = node_in(n, 0);
  int64_t size = 1;
  for (int k = 0; k < node_rank(x); k++)
    size *= node_extent(x, k);
  return node_result(n, 0, node_ints_value(n, &size, 1, 0));
}

/* A known operand of one element; NULL after reporting. */
static const Tensor *known_number(ImportNode *n, int k, const char *what) {
  const Tensor *t = node_need_known(n, k, what);
  if (t && t->n != 1)
    node_error(n, WEFT_MALFORMED, "%s which is '%s', is %s; expected one number", node_in_text(n, k), what,
               shape_text(n->im->ctx, t->dtype, t->rank, t->shape));
  return n->failed ? NULL : t;
}

static bool range_of_ints(ImportNode *n, const Tensor *start, const Tensor *delta, int64_t count) {
  Tensor *t = tensor_new(n->im->ctx, start->dtype, 1, &count);
  int64_t v = tensor_value(start, 0).i, step = tensor_value(delta, 0).i;
  for (int64_t k = 0; k < count; k++)
    tensor_set_value(t, k, (ScalarValue){.i = (int64_t)((uint64_t)v + (uint64_t)k * (uint64_t)step)});
  return node_result(n, 0, node_constant(n, t));
}

bool onnx_range(ImportNode *n) {
  const Tensor *start = known_number(n, 0, "start"), *limit = known_number(n, 1, "limit");
  const Tensor *delta = known_number(n, 2, "delta");
  if (n->im->opset >= 27)
    node_int(n, "stash_type", 1); /* what it asks for, computing in more than 16 bits, is always done */
  if (n->failed)
    return false;
  if (start->dtype != limit->dtype || start->dtype != delta->dtype || start->dtype == DT_BOOL)
    return node_error(n, WEFT_MALFORMED, "start is %s, limit %s and delta %s; expected one type of numbers",
                      dtype_name(start->dtype), dtype_name(limit->dtype), dtype_name(delta->dtype));
  double step = tensor_get(delta, 0), first = tensor_get(start, 0);
  double count = ceil((tensor_get(limit, 0) - first) / step);
  if (!(step != 0) || !(fabs(count) <= (double)(1 << 24)))
    return node_error(n, WEFT_MALFORMED,
                      "from %g to %g by %g: expected a step that is not 0, and at most 2^24 elements", first,
                      tensor_get(limit, 0), step);
  int64_t elements = count > 0 ? (int64_t)count : 0;
  if (!node_spend(n, elements))
    return false;
  if (!dtype_is_float(start->dtype))
    return range_of_ints(n, start, delta, elements);
  Tensor *t = tensor_new(n->im->ctx, start->dtype, 1, &elements);
  for (int64_t k = 0; k < elements; k++)
    tensor_set(t, k, first + (double)k * step);
  return node_result(n, 0, node_constant(n, t));
}
