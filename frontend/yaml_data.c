/* Inline data of constants: `data: [1, 2, 3, 4]` or, for shape [2, 2], `data: [[1, 2], [3, 4]]`, row-major in the order
 * of `shape`. Nested lists must have the shape's extents at every level. The tensor is made only after the count of
 * values was found possible, so that a large shape with little data costs nothing. */
#include "frontend/yaml_graph.h"
#include <math.h>

typedef struct {
  const Graph *g;
  const char *what;
  Tensor *out;
  bool nested;
  int64_t at;
} Fill;

static bool store_int(Fill *f, const YamlNode *node) {
  int64_t v = 0;
  int bits = 8 * (int)dtype_size(f->out->dtype);
  bool is_signed =
      f->out->dtype == DT_I8 || f->out->dtype == DT_I16 || f->out->dtype == DT_I32 || f->out->dtype == DT_I64;
  if (!graph_int(f->g, node, NULL, f->what, &v))
    return false;
  int value_bits = is_signed ? bits - 1 : bits;
  int64_t most = value_bits >= 63 ? INT64_MAX : ((int64_t)1 << value_bits) - 1;
  int64_t least = is_signed ? -most - 1 : 0;
  if (v < least || v > most)
    return diag_error(f->g->ctx->diags, WEFT_MALFORMED, graph_loc(f->g, node, NULL),
                      "%s: %lld is no %s; expected %lld to %lld", f->what, (long long)v, dtype_name(f->out->dtype),
                      (long long)least, (long long)most);
  size_t size = dtype_size(f->out->dtype); /* the low bytes, little-endian as elsewhere in the files */
  memcpy((char *)f->out->data + (size_t)f->at * size, &v, size);
  return true;
}

static bool store_bool(Fill *f, const YamlNode *node) {
  bool scalar = node->kind == YAML_SCALAR && node->plain;
  bool yes = scalar && (strcmp(node->text, "true") == 0 || strcmp(node->text, "1") == 0);
  if (!yes && !(scalar && (strcmp(node->text, "false") == 0 || strcmp(node->text, "0") == 0)))
    return diag_error(f->g->ctx->diags, WEFT_MALFORMED, graph_loc(f->g, node, NULL), "%s: expected true or false",
                      f->what);
  ((uint8_t *)f->out->data)[f->at] = yes;
  return true;
}

static bool store_float(Fill *f, const YamlNode *node) {
  double v = 0;
  if (!graph_float(f->g, node, NULL, f->what, &v))
    return false;
  tensor_set(f->out, f->at, v);
  if (isfinite(v) && !isfinite(tensor_get(f->out, f->at)))
    return diag_error(f->g->ctx->diags, WEFT_MALFORMED, graph_loc(f->g, node, NULL), "%s: '%.60s' is too large for %s",
                      f->what, node->text, dtype_name(f->out->dtype));
  return true;
}

static bool fill(Fill *f, const YamlNode *node, int level) {
  const Tensor *t = f->out;
  if (f->nested ? level == t->rank : level == 1 || node->kind == YAML_SCALAR) {
    bool ok = t->dtype == DT_BOOL        ? store_bool(f, node)
              : dtype_is_float(t->dtype) ? store_float(f, node)
                                         : store_int(f, node);
    f->at++;
    return ok;
  }
  int64_t want = f->nested ? t->shape[level] : t->n;
  if (node->kind != YAML_LIST || (int64_t)node->n != want)
    return diag_error(f->g->ctx->diags, WEFT_MALFORMED, graph_loc(f->g, node, NULL),
                      "%s: data is %s%s where a list of %lld is expected", f->what, yaml_kind_name(node),
                      node->kind == YAML_LIST ? arena_printf(f->g->ctx->arena, " of %zu", node->n) : "",
                      (long long)want);
  for (size_t k = 0; k < node->n; k++)
    if (!fill(f, node->items[k], level + 1))
      return false;
  return true;
}

Tensor *graph_inline_data(const Graph *g, const YamlNode *data, const char *what, DType dtype, int rank,
                          const int64_t *shape) {
  int64_t n = 1;
  bool empty = false, fits = true;
  for (int k = 0; k < rank; k++)
    empty |= shape[k] == 0;
  for (int k = 0; k < rank; k++)
    fits = fits && (empty || mul_i64(n, shape[k], &n));
  if (!fits || (!empty && n > (int64_t)YAML_MAX_NODES) || (data->kind == YAML_SCALAR && (empty || n != 1))) {
    diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, data, NULL), "%s: data has fewer values than its shape %s",
               what, shape_text(g->ctx, dtype, rank, shape));
    return NULL;
  }
  Fill f = {.g = g, .what = what, .out = tensor_new(g->ctx, dtype, rank, shape)};
  f.nested = rank > 1 && data->kind == YAML_LIST && data->n > 0 && data->items[0]->kind == YAML_LIST;
  return fill(&f, data, 0) ? f.out : NULL;
}
