/* YAML graphs to modules, in steps that each report all they find: the tree, names and nodes, the order of evaluation,
 * inputs and constants, then ops through the builder, then outputs. A step that failed ends the import, so that a
 * message is never the echo of an earlier one. */
#include "frontend/yaml_graph.h"

static const char *const root_keys[] = {"weft", "name", "inputs", "constants", "nodes", "outputs"};
#define FORMAT_VERSION 1

/* ---- names ---- */

static bool same_name(const void *item, const void *key) {
  return ((const GraphName *)item)->name == key;
}

static uint64_t name_hash(const char *interned) {
  return hash_bytes(WEFT_HASH_SEED, &interned, sizeof interned);
}

GraphName *graph_find(const Graph *g, const char *name) {
  const char *key = intern_str(g->ctx, name);
  return (GraphName *)intern_find(&g->table, name_hash(key), same_name, key);
}

const char *graph_name_suggestion(const Graph *g, const char *word) {
  return graph_suggestion(g, word, g->known.data, g->known.len);
}

GraphName *graph_define(Graph *g, const YamlNode *at, const char *name, NameKind kind) {
  static const char *const kinds[] = {"an input", "a constant", "the output of a node"};
  if (!name[0]) {
    diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, NULL), "an empty name");
    return NULL;
  }
  const GraphName *first = graph_find(g, name);
  if (first) {
    diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, NULL), "duplicate name '%s': it is %s already", name,
               kinds[first->kind]);
    diag_note(g->ctx->diags, graph_loc(g, first->at, NULL), "it is here first");
    return NULL;
  }
  GraphName *made = ARENA_NEW(g->ctx->arena, GraphName);
  made->name = intern_str(g->ctx, name);
  made->kind = kind;
  made->at = at;
  intern_add(g->ctx, &g->table, name_hash(made->name), made);
  vec_push(g->ctx->arena, &g->names, made);
  vec_push(g->ctx->arena, &g->known, made->name);
  return made;
}

static bool define_all(Graph *g, const char *section, NameKind kind) {
  const YamlNode *map = yaml_get(g->root, section);
  if (!map || yaml_is_null(map))
    return true;
  if (!graph_is_map(g, map, NULL, section))
    return false;
  bool ok = true;
  for (size_t k = 0; k < map->n; k++) {
    GraphName *name = graph_define(g, map->items[2 * k], map->items[2 * k]->text, kind);
    ok = ok && name;
    if (name)
      name->spec = map->items[2 * k + 1];
  }
  return ok;
}

/* ---- the head ---- */

static const char *stem_of(Ctx *ctx, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  return intern_strn(ctx, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

static bool read_head(Graph *g, const char **name) {
  Ctx *ctx = g->ctx;
  if (g->root->kind != YAML_MAP)
    return diag_error(ctx->diags, WEFT_MALFORMED, graph_loc(g, g->root, NULL),
                      "the model is %s; expected a map with `weft: 1`, `nodes` and `outputs`", yaml_kind_name(g->root));
  const YamlNode *version_at = yaml_get(g->root, "weft"), *name_at = yaml_get(g->root, "name");
  int64_t version = FORMAT_VERSION;
  bool ok = graph_check_keys(g, g->root, NULL, "model", root_keys, sizeof root_keys / sizeof *root_keys);
  if (!version_at)
    ok = diag_error(ctx->diags, WEFT_MALFORMED, graph_loc(g, g->root, NULL),
                    "lacks the version of the format; expected `weft: 1`");
  else if (!graph_int(g, version_at, NULL, "weft", &version))
    ok = false;
  if (version != FORMAT_VERSION)
    ok = diag_error(ctx->diags, WEFT_UNSUPPORTED, graph_loc(g, version_at, NULL),
                    "version %lld of the format is not supported; expected `weft: 1`", (long long)version);
  *name = stem_of(ctx, g->file);
  return (!name_at || graph_string(g, name_at, NULL, "name", name)) && ok;
}

/* ---- ops ---- */

/* The value of a name; a constant's op is made where it is read first. */
static Value *value_of(Graph *g, GraphName *name) {
  if (!name->value && name->constant)
    name->value = build_constant(g->module, g->function, NULL, name->constant, name->name, name->constant->loc);
  return name->value;
}

/* The axis along which a rank-1 operand lies, counted in the data's axes: by default the channels. */
static bool resolve_axis(const Graph *g, const GraphNode *node, int rank, int64_t *axis) {
  *axis = node->has_axis ? node->axis : rank >= 2;
  if (node->has_axis && (*axis < -rank || *axis >= rank))
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, yaml_get(node->map, "axis"), node->loc.node),
                      "axis %lld of data of rank %d; expected %d to %d", (long long)*axis, rank, -rank, rank - 1);
  *axis += *axis < 0 ? rank : 0;
  return true;
}

static bool build_node(Graph *g, GraphNode *node) {
  Op *op = node->op;
  Value **operands = ARENA_ARRAY(g->ctx->arena, Value *, node->n_inputs);
  for (int k = 0; k < node->n_inputs; k++) {
    operands[k] = node->inputs[k] ? value_of(g, node->inputs[k]) : NULL;
    if (node->inputs[k] && !operands[k])
      return false; /* what makes it has failed and said so */
  }
  op_set_operands(g->ctx, op, operands, node->n_inputs);
  const char *name = node->output->name;
  int64_t axis = 0;
  if (!(op->def->traits & OP_ELEMENTWISE))
    node->output->value = op_finish(g->module, g->function, op, NULL, name, NULL);
  else if (resolve_axis(g, node, op->operands[0]->type->rank, &axis))
    node->output->value = build_elementwise(g->module, g->function, op, NULL, name, axis);
  return node->output->value != NULL;
}

/* ---- outputs ---- */

typedef struct {
  const YamlNode *at;
  GraphName *name;
  const YamlNode *layout;
} GraphOutput;

typedef struct {
  size_t n;
  GraphOutput *items;
} GraphOutputs;

static bool read_output(const Graph *g, const YamlNode *at, const YamlNode *spec, GraphOutput *out) {
  static const char *const keys[] = {"layout"};
  const char *text;
  if (!graph_string(g, at, NULL, "an output", &text))
    return false;
  *out = (GraphOutput){.at = at, .name = graph_find(g, text)};
  if (!out->name)
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, NULL),
                      "output '%s' is no input, constant or output of a node%s", text, graph_name_suggestion(g, text));
  out->name->used = true;
  if (!spec || yaml_is_null(spec))
    return true;
  const char *what = arena_printf(g->ctx->arena, "output '%.60s'", text);
  out->layout = spec->kind == YAML_MAP ? yaml_get(spec, "layout") : NULL;
  return graph_is_map(g, spec, NULL, what) && graph_check_keys(g, spec, NULL, what, keys, 1);
}

static bool read_outputs(const Graph *g, GraphOutputs *out) {
  const YamlNode *at = yaml_get(g->root, "outputs");
  bool ok = true;
  if (!at || at->kind == YAML_SCALAR || at->n == 0)
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at ? at : g->root, NULL),
                      "the model has no outputs; expected `outputs: [NAME, ...]`");
  out->n = at->n;
  out->items = ARENA_ARRAY(g->ctx->arena, GraphOutput, at->n);
  bool map = at->kind == YAML_MAP;
  for (size_t k = 0; k < at->n; k++)
    ok = read_output(g, at->items[map ? 2 * k : k], map ? at->items[2 * k + 1] : NULL, &out->items[k]) && ok;
  Intern seen = {0};
  for (size_t k = 0; ok && k < at->n; k++) {
    const char *name = out->items[k].name->name;
    if (intern_find(&seen, name_hash(name), same_name, name))
      ok = diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, out->items[k].at, NULL),
                      "output '%s' is listed twice", name);
    else
      intern_add(g->ctx, &seen, name_hash(name), out->items[k].name);
  }
  return ok;
}

static bool build_output(Graph *g, const GraphOutput *out) {
  Value *value = value_of(g, out->name);
  if (!value)
    return false;
  Loc loc = graph_loc(g, out->at, NULL);
  const char *roles = out->name->value_roles, *what = arena_printf(g->ctx->arena, "output '%.60s'", out->name->name);
  const Type *type = value->type;
  if (out->layout) {
    /* What ops read may say kernel letters of an input or constant; a result is data. */
    const GraphName *letters = out->name;
    GraphName data = {.name = letters->name};
    if (letters->kind == NAME_RESULT)
      letters = &data;
    const Layout *layout = graph_layout(g, letters, out->layout, what, type->rank, &roles);
    if (!layout)
      return false;
    if (layout != type->layout)
      value = build_relayout(g->module, g->function, NULL, value, layout, loc);
  }
  function_add_result(g->module, g->function, out->name->name, value, value->type, roles, loc);
  return true;
}

/* ---- all of it ---- */

/* Names and nodes: everything that needs no file of weights. */
static bool read_graph(Graph *g, GraphOutputs *outputs) {
  bool ok = define_all(g, "inputs", NAME_INPUT);
  ok = define_all(g, "constants", NAME_CONSTANT) && ok;
  ok = graph_read_nodes(g) && ok;
  return read_outputs(g, outputs) && ok && graph_sort(g);
}

static bool build_graph(Graph *g, const GraphOutputs *outputs) {
  bool ok = true;
  for (size_t k = 0; k < g->order.len; k++)
    ok = build_node(g, g->order.data[k]) && ok;
  for (size_t k = 0; ok && k < outputs->n; k++)
    ok = build_output(g, &outputs->items[k]);
  return ok;
}

Module *yaml_import_text(Ctx *ctx, const char *path, const char *text, size_t size) {
  Graph g = {.ctx = ctx, .file = intern_str(ctx, path)};
  GraphOutputs outputs = {0};
  const char *name;
  g.root = yaml_parse(ctx, path, text, size);
  if (!g.root || !read_head(&g, &name) || !read_graph(&g, &outputs))
    return NULL;
  g.module = module_create(ctx, g.file, name);
  g.function = g.module->main = function_create(g.module, name);
  return graph_read_tensors(&g) && build_graph(&g, &outputs) ? g.module : NULL;
}

Module *yaml_import(Ctx *ctx, const char *path) {
  size_t size;
  const char *text = file_read(ctx, path, (int64_t)YAML_MAX_BYTES, &size);
  return text ? yaml_import_text(ctx, path, text, size) : NULL;
}
