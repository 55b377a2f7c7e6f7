/* Inputs and constants of a YAML graph: shapes, layouts in letters, data.
 *
 * `layout` says in which order the file or the caller's buffer holds the axes, and `shape` is in that order. The type
 * made from both has the logical shape and a permutation layout in which the bytes are right as they lie: nothing is
 * copied. Letters need the logical order that their readers see: an op whose row gives the operand roles says it (a
 * kernel's O and I); where only ops without roles read it, the letters are those of data. */
#include "frontend/yaml_graph.h"

static const char *const data_roles[] = {NULL, NULL, "NC", "NCW", "NCHW", "NCDHW"};
static const char *const input_keys[] = {"dtype", "shape", "layout"};
static const char *const constant_keys[] = {"dtype", "shape", "layout", "file", "tensor", "data"};
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The letters that a layout may use; NULL where it must be plain. */
static const char *letters_of(const GraphName *name, int rank) {
  if (name->roles)
    return name->mixed ? NULL : name->roles;
  return rank >= 0 && rank < (int)COUNT(data_roles) ? data_roles[rank] : NULL;
}

/* "plain, NCHW, NHWC or another order of these letters". */
static const char *choices(const Graph *g, const char *letters) {
  size_t n = letters ? strlen(letters) : 0;
  if (n < 2)
    return "plain";
  if (letters[0] == 'N')
    return arena_printf(g->ctx->arena, "plain, %s, N%sC or another order of these letters", letters, letters + 2);
  return arena_printf(g->ctx->arena, "plain, %s, %s%c%c, %s%c%c or another order of these letters", letters,
                      letters + 2, letters[0], letters[1], letters + 2, letters[1], letters[0]);
}

/* Whether readers agree on letters, one per axis. */
static bool letters_fit(const Graph *g, const GraphName *name, Loc loc, const char *what, int rank) {
  if (name->mixed)
    return diag_error(g->ctx->diags, WEFT_MALFORMED, loc,
                      "%s is read in different roles by '%.60s' and '%.60s'; expected layout: plain", what,
                      name->reader->loc.node, name->other_reader->loc.node);
  if (name->roles && strlen(name->roles) != (size_t)rank)
    return diag_error(g->ctx->diags, WEFT_MALFORMED, loc, "%s has %d axes, but '%.60s' (%s) reads %zu: %s", what, rank,
                      name->reader->loc.node, name->reader->kind, strlen(name->roles), name->roles);
  return true;
}

const Layout *graph_layout(const Graph *g, const GraphName *name, const YamlNode *at, const char *what, int rank,
                           const char **roles) {
  Ctx *ctx = g->ctx;
  const char *text, *why = "";
  *roles = NULL;
  if (!graph_string(g, at, NULL, arena_printf(ctx->arena, "%s: layout", what), &text))
    return NULL;
  if (strcmp(text, "plain") == 0)
    return layout_row_major(ctx, rank);
  Loc loc = graph_loc(g, at, NULL);
  if (!letters_fit(g, name, loc, what, rank))
    return NULL;
  const char *letters = letters_of(name, rank);
  const Layout *layout = letters ? layout_from_letters(ctx, letters, text, &why) : NULL;
  if (!layout) {
    const char *reader =
        name->reader ? arena_printf(ctx->arena, " (read by '%.60s', %s)", name->reader->loc.node, name->reader->kind)
                     : "";
    diag_error(ctx->diags, WEFT_MALFORMED, loc, "%s: layout '%.60s'%s is wrong: %s; expected %s", what, text, reader,
               letters ? why : "no letters name these axes", choices(g, letters));
    return NULL;
  }
  if (!layout_is_permutation(layout)) {
    diag_error(ctx->diags, WEFT_UNSUPPORTED, loc,
               "%s: %s '%.60s' at the model's boundary is not supported; expected %s", what,
               layout_has_halo(layout) ? "layout with a halo" : "blocked layout", text, choices(g, letters));
    return NULL;
  }
  *roles = intern_str(ctx, letters);
  return layout;
}

/* The layout of an input or constant of this rank, the row-major one where none is needed. NULL after reporting. */
static const Layout *spec_layout(const Graph *g, GraphName *name, const char *what, int rank) {
  const YamlNode *at = yaml_get(name->spec, "layout");
  if (at)
    return graph_layout(g, name, at, what, rank, &name->value_roles);
  if (rank < 3 || rank > 5)
    return layout_row_major(g->ctx, rank);
  Loc loc = graph_loc(g, name->at, NULL);
  if (letters_fit(g, name, loc, what, rank))
    diag_error(g->ctx->diags, WEFT_MALFORMED, loc, "%s of rank %d has no 'layout'; expected %s", what, rank,
               choices(g, letters_of(name, rank)));
  return NULL;
}

static bool is_symbol(const char *s) {
  static const char *const words[] = {"div", "mod", "min", "max"}; /* operators of the text form */
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  for (size_t k = 0; k < COUNT(words); k++)
    if (strcmp(words[k], s) == 0)
      return false;
  return s[0] && !(s[0] >= '0' && s[0] <= '9') && !s[strspn(s, letters)];
}

/* Extents in the order of `shape`: numbers, or names where `symbols`. */
static bool read_shape(const Graph *g, const YamlNode *at, const char *what, bool symbols, int *rank, Dim *dims) {
  what = arena_printf(g->ctx->arena, "%s: shape", what);
  if (at->kind != YAML_LIST)
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, NULL), "%s is %s; expected a list of extents",
                      what, yaml_kind_name(at));
  if (at->n > WEFT_MAX_RANK)
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, NULL), "%s has %zu axes; expected at most %d",
                      what, at->n, WEFT_MAX_RANK);
  *rank = (int)at->n;
  for (size_t k = 0; k < at->n; k++) {
    const YamlNode *item = at->items[k];
    int64_t v;
    if (symbols && item->kind == YAML_SCALAR && item->plain && is_symbol(item->text)) {
      dims[k] = expr_sym(g->ctx, item->text, 0, EXPR_MAX);
      continue;
    }
    if (!graph_int(g, item, NULL, what, &v))
      return false;
    if (v < 0 || v > WEFT_MAX_ELEMENTS)
      return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, item, NULL),
                        "%s has extent %lld; expected 0 to 2^40", what, (long long)v);
    dims[k] = expr_const(g->ctx, v);
  }
  return true;
}

/* The type of a tensor whose memory holds axes of these extents in the order of a permutation layout. */
static const Type *type_in_order(const Graph *g, const YamlNode *at, const char *what, DType dtype, int rank,
                                 const Dim *dims, const Layout *layout) {
  Dim logical[WEFT_MAX_RANK];
  for (int k = 0; k < rank; k++)
    logical[layout->digits[k].axis] = dims[k];
  const Type *type = type_get(g->ctx, dtype, rank, logical, layout);
  if (!type)
    diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, NULL), "%s has more than 2^40 elements", what);
  return type;
}

static bool read_input(Graph *g, GraphName *name) {
  const char *what = arena_printf(g->ctx->arena, "input '%.60s'", name->name);
  const YamlNode *spec = name->spec;
  if (!graph_is_map(g, spec, NULL, what) || !graph_check_keys(g, spec, NULL, what, input_keys, COUNT(input_keys)))
    return false;
  const YamlNode *dtype_at = yaml_get(spec, "dtype"), *shape_at = yaml_get(spec, "shape");
  if (!dtype_at || !shape_at)
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, name->at, NULL), "%s lacks '%s'", what,
                      dtype_at ? "shape" : "dtype");
  DType dtype;
  int rank;
  Dim dims[WEFT_MAX_RANK];
  if (!graph_dtype(g, dtype_at, NULL, arena_printf(g->ctx->arena, "%s: dtype", what), &dtype) || !read_shape(g, shape_at, what, true, &rank, dims))
    return false;
  const Layout *layout = spec_layout(g, name, what, rank);
  const Type *type = layout ? type_in_order(g, shape_at, what, dtype, rank, dims, layout) : NULL;
  if (!type)
    return false;
  name->value =
      function_add_param(g->module, g->function, name->name, type, name->value_roles, graph_loc(g, name->at, NULL));
  return true;
}

/* The tensor of a constant, in the order of its file or inline data. */
static const Tensor *read_tensor(Graph *g, const GraphName *name, const char *what) {
  Ctx *ctx = g->ctx;
  const YamlNode *spec = name->spec, *data = yaml_get(spec, "data"), *file_at = yaml_get(spec, "file");
  const YamlNode *tensor_at = yaml_get(spec, "tensor"), *dtype_at = yaml_get(spec, "dtype");
  const YamlNode *shape_at = yaml_get(spec, "shape");
  Loc loc = graph_loc(g, name->at, NULL);
  DType dtype = DT_F32;
  int rank = 0;
  Dim dims[WEFT_MAX_RANK];
  int64_t shape[WEFT_MAX_RANK];
  if ((data != NULL) == (file_at != NULL)) {
    diag_error(ctx->diags, WEFT_MALFORMED, loc, "%s has %s; expected one of them", what,
               data ? "both 'file' and 'data'" : "neither 'file' nor 'data'");
    return NULL;
  }
  if ((dtype_at && !graph_dtype(g, dtype_at, NULL, arena_printf(g->ctx->arena, "%s: dtype", what), &dtype)) ||
      (shape_at && !read_shape(g, shape_at, what, false, &rank, dims)))
    return NULL;
  for (int k = 0; k < rank; k++)
    shape[k] = expr_value(dims[k]);
  if (data) {
    if (tensor_at || !dtype_at || !shape_at) {
      diag_error(ctx->diags, WEFT_MALFORMED, loc, "%s with 'data' %s '%s'", what, tensor_at ? "has" : "lacks",
                 tensor_at   ? "tensor"
                 : !dtype_at ? "dtype"
                             : "shape");
      return NULL;
    }
    return graph_inline_data(g, data, what, dtype, rank, shape);
  }
  const char *file, *tensor = NULL;
  if (!graph_string(g, file_at, NULL, arena_printf(ctx->arena, "%s: file", what), &file) ||
      (tensor_at && !graph_string(g, tensor_at, NULL, arena_printf(ctx->arena, "%s: tensor", what), &tensor)))
    return NULL;
  Tensor *t = weights_read(ctx, g->file, file, tensor, graph_loc(g, file_at, NULL), &g->weights);
  if (!t)
    return NULL;
  Tensor *converted = dtype_at ? tensor_convert_bf16(ctx, t, dtype) : NULL;
  t = converted ? converted : t;
  bool same = (!dtype_at || t->dtype == dtype) && (!shape_at || t->rank == rank);
  for (int k = 0; same && shape_at && k < rank; k++)
    same = t->shape[k] == shape[k];
  if (same)
    return t;
  diag_error(ctx->diags, WEFT_MALFORMED, loc, "%s is %s in '%.60s'; expected %s", what,
             shape_text(ctx, t->dtype, t->rank, t->shape), file,
             shape_text(ctx, dtype_at ? dtype : t->dtype, shape_at ? rank : t->rank, shape_at ? shape : t->shape));
  return NULL;
}

static bool read_constant(Graph *g, GraphName *name) {
  const char *what = arena_printf(g->ctx->arena, "constant '%.60s'", name->name);
  if (!graph_is_map(g, name->spec, NULL, what) ||
      !graph_check_keys(g, name->spec, NULL, what, constant_keys, COUNT(constant_keys)))
    return false;
  const Tensor *t = read_tensor(g, name, what);
  if (!t || !name->used) /* what nothing reads has no logical order, and needs none */
    return t != NULL;
  const Layout *layout = spec_layout(g, name, what, t->rank);
  if (!layout)
    return false;
  Dim dims[WEFT_MAX_RANK];
  for (int k = 0; k < t->rank; k++)
    dims[k] = expr_const(g->ctx, t->shape[k]);
  const Type *type = type_in_order(g, name->at, what, t->dtype, t->rank, dims, layout);
  if (!type)
    return false;
  const YamlNode *file = yaml_get(name->spec, "file"), *tensor = yaml_get(name->spec, "tensor");
  name->constant = module_add_constant(g->module, name->name, type, t->data, graph_loc(g, name->at, NULL));
  name->constant->file = file ? file->text : NULL;
  name->constant->tensor = tensor ? tensor->text : NULL;
  return true;
}

bool graph_read_tensors(Graph *g) {
  bool ok = true;
  for (size_t k = 0; k < g->names.len; k++) {
    GraphName *name = g->names.data[k];
    if (name->kind == NAME_INPUT)
      ok = read_input(g, name) && ok;
    else if (name->kind == NAME_CONSTANT)
      ok = read_constant(g, name) && ok;
  }
  return ok;
}
