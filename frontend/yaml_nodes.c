/* The nodes of a YAML graph: keys and attributes by the op table alone, names, roles that ops give to what they read,
 * and the order of evaluation.
 *
 * Nodes may stand in any order. They are sorted by a depth-first walk from the file's order, so that a file already in
 * order keeps it; an input that leads back to a node under way closes a cycle. The walk has its own stack. */
#include <limits.h>

#include "frontend/yaml_graph.h"

/* Keys of every node, before the attributes of its row. */
static const char *const node_keys[] = {"op", "inputs", "output", "outputs", "name"};
#define N_NODE_KEYS (sizeof node_keys / sizeof *node_keys)
#define MAX_INTS 64 /* of an attribute without a length of its own */

/* Names of the YAML form that are valid and not supported, as long as the table has no such row: it is asked first, so
 * that a new op needs no edit here. */
static const char *const planned_ops[] = {
    "max_pool", "avg_pool", "scatter", "reduce",          "iota",           "select", "scan", "sort", "lstm",
    "if",       "loop",     "flatten", "global_avg_pool", "depth_to_space", "resize", "gemm"};
#define N_PLANNED (sizeof planned_ops / sizeof *planned_ops)

static bool is_planned(const char *name) {
  for (size_t k = 0; k < N_PLANNED; k++)
    if (strcmp(planned_ops[k], name) == 0)
      return true;
  return false;
}

static bool has_axis(const OpDef *def) {
  for (int k = 0; k < def->n_operands; k++)
    if (def->operands[k].along_axis)
      return true;
  return false;
}

/* ---- attributes ---- */

static bool read_ints(const Graph *g, GraphNode *node, const AttrDef *attr, const YamlNode *at) {
  int64_t given[MAX_INTS], all[2 * 3];
  int spatial = node->op->def->spatial, n;
  int want = attr->len == LEN_2SPATIAL ? 2 * spatial : spatial;
  if (attr->len == LEN_ANY) {
    if (!graph_ints(g, at, node->loc.node, attr->name, given, MAX_INTS, &n))
      return false;
    op_set_ints(g->ctx, node->op, attr->name, given, n);
    return true;
  }
  if (!graph_ints(g, at, node->loc.node, attr->name, given, MAX_INTS, &n))
    return false;
  bool single = at->kind != YAML_LIST;
  if (!single && n != want && n != spatial)
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, node->loc.node),
                      want == spatial ? "%s has %d numbers; %s expects one integer, or %d: one per spatial axis"
                                      : "%s has %d numbers; %s expects one integer, %d: one per spatial axis, or %d: "
                                        "begins then ends",
                      attr->name, n, node->kind, spatial, want);
  for (int k = 0; k < want; k++)
    all[k] = given[single ? 0 : k % n];
  op_set_ints(g->ctx, node->op, attr->name, all, want);
  return true;
}

static bool read_attribute(const Graph *g, GraphNode *node, const AttrDef *attr, const YamlNode *at) {
  int64_t i;
  double f;
  const char *word, *text;
  DType dtype;
  switch (attr->kind) {
  case ATTR_INT:
    if (!graph_int(g, at, node->loc.node, attr->name, &i))
      return false;
    op_set_int(node->op, attr->name, i);
    return true;
  case ATTR_FLOAT:
    if (!graph_float(g, at, node->loc.node, attr->name, &f))
      return false;
    op_set_float(node->op, attr->name, f);
    return true;
  case ATTR_INTS:
    return read_ints(g, node, attr, at);
  case ATTR_WORD:
    if (!graph_string(g, at, node->loc.node, attr->name, &word))
      return false;
    i = attr_word_index(attr, word, strlen(word));
    if (i < 0)
      return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, node->loc.node),
                        "%s is '%.60s'; expected one of %s", attr->name, word, attr->words);
    op_set_word(node->op, attr->name, i);
    return true;
  case ATTR_DTYPE:
    if (!graph_dtype(g, at, node->loc.node, attr->name, &dtype))
      return false;
    op_set_dtype(node->op, attr->name, dtype);
    return true;
  case ATTR_TEXT:
    if (!graph_string(g, at, node->loc.node, attr->name, &text))
      return false;
    op_set_text(g->ctx, node->op, attr->name, text);
    return true;
  case ATTR_CONSTANT:
    break;
  }
  WEFT_UNREACHABLE();
}

static bool read_attributes(const Graph *g, GraphNode *node) {
  const OpDef *def = node->op->def;
  const char *known[N_NODE_KEYS + OP_MAX_ATTRS + 1];
  size_t n = N_NODE_KEYS;
  memcpy(known, node_keys, sizeof node_keys);
  for (int k = 0; k < def->n_attrs; k++)
    known[n++] = def->attrs[k].name;
  if (has_axis(def))
    known[n++] = "axis";
  const char *what = arena_printf(g->ctx->arena, "op '%s'", def->name);
  bool ok = graph_check_keys(g, node->map, node->loc.node, what, known, n);
  for (int k = 0; k < def->n_attrs; k++) {
    const YamlNode *at = yaml_get(node->map, def->attrs[k].name);
    if (at)
      ok = read_attribute(g, node, &def->attrs[k], at) && ok;
    else if (def->attrs[k].required)
      ok = diag_error(g->ctx->diags, WEFT_MALFORMED, node->loc, "op '%s' lacks its attribute '%s'", def->name,
                      def->attrs[k].name);
  }
  const YamlNode *axis = has_axis(def) ? yaml_get(node->map, "axis") : NULL;
  node->has_axis = axis != NULL;
  return (!axis || graph_int(g, axis, node->loc.node, "axis", &node->axis)) && ok;
}

/* ---- one node ---- */

static bool read_output(Graph *g, GraphNode *node) {
  const YamlNode *one = yaml_get(node->map, "output"), *list = yaml_get(node->map, "outputs");
  const char *label = node->loc.node;
  if ((one != NULL) == (list != NULL))
    return diag_error(g->ctx->diags, WEFT_MALFORMED, node->loc,
                      one ? "has both 'output' and 'outputs'; expected one of them"
                          : "lacks 'output'; expected the name of its result");
  if (list && (list->kind != YAML_LIST || list->n != 1))
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, list, label),
                      "outputs is %s%s; expected a list of one name", yaml_kind_name(list),
                      list->kind == YAML_LIST ? arena_printf(g->ctx->arena, " of %zu", list->n) : "");
  const YamlNode *at = one ? one : list->items[0];
  const char *name;
  if (!graph_string(g, at, label, "output", &name))
    return false;
  if (!label)
    node->loc.node = name;
  node->output = graph_define(g, at, name, NAME_RESULT);
  if (node->output)
    node->output->node = node;
  return node->output != NULL;
}

/* The row of the node's op. NULL, with *planned set or after reporting. */
static const OpDef *find_op(const Graph *g, GraphNode *node, bool *planned) {
  const YamlNode *at = yaml_get(node->map, "op");
  *planned = false;
  if (!at) {
    diag_error(g->ctx->diags, WEFT_MALFORMED, node->loc, "lacks 'op'; expected the name of an op");
    return NULL;
  }
  if (!graph_string(g, at, node->loc.node, "op", &node->kind))
    return NULL;
  const OpDef *def = op_find(node->kind, strlen(node->kind));
  Loc loc = graph_loc(g, at, node->loc.node);
  if (def && (def->traits & OP_LEAF)) {
    diag_error(g->ctx->diags, WEFT_MALFORMED, loc, "op '%s' is no node; expected an entry of 'constants'", def->name);
    return NULL;
  }
  if (def && (def->traits & OP_COPY)) {
    diag_error(g->ctx->diags, WEFT_MALFORMED, loc,
               "op '%s' is no node; expected 'layout' on an input, constant or output", def->name);
    return NULL;
  }
  *planned = !def && is_planned(node->kind);
  if (def || *planned)
    return def;
  const char *near = op_nearest(g->ctx, node->kind);
  const char *hint = near ? arena_printf(g->ctx->arena, "; did you mean '%s'?", near)
                          : graph_suggestion(g, node->kind, planned_ops, N_PLANNED);
  diag_error(g->ctx->diags, WEFT_MALFORMED, loc, "unknown op '%s'%s", node->kind,
             hint[0] ? hint : "; expected one of `weft ops`");
  return NULL;
}

static bool read_node(Graph *g, const YamlNode *map, bool *planned) {
  *planned = false;
  if (!graph_is_map(g, map, NULL, "a node"))
    return false;
  GraphNode *node = ARENA_NEW(g->ctx->arena, GraphNode);
  node->map = map;
  node->loc = graph_loc(g, map, NULL);
  vec_push(g->ctx->arena, &g->nodes, node);
  const YamlNode *name = yaml_get(map, "name");
  bool ok = !name || graph_string(g, name, NULL, "name", &node->loc.node);
  ok = read_output(g, node) && ok;
  const OpDef *def = find_op(g, node, planned);
  if (!def)
    return ok && *planned;
  node->op = op_create(g->ctx, def, NULL, 0, node->loc);
  return read_attributes(g, node) && ok;
}

/* ---- what a node reads ---- */

static void note_roles(const Graph *g, const GraphNode *node, GraphName *input, const char *roles) {
  input->used = true;
  roles = op_roles(g->ctx, node->op->def, roles);
  if (!roles[0])
    return;
  if (!input->roles) {
    input->roles = roles;
    input->reader = node;
  } else if (input->roles != roles && !input->mixed) {
    input->mixed = true;
    input->other_reader = node;
  }
}

static int most_inputs(const OpDef *def) {
  return !def ? 0 : op_is_variadic(def) ? INT_MAX : def->n_operands;
}

static bool read_input(const Graph *g, GraphNode *node, const YamlNode *at, int k) {
  const OpDef *def = node->op ? node->op->def : NULL;
  int max = most_inputs(def);
  const char *name;
  if (yaml_is_null(at)) {
    if (!def || (k < max && op_operand(def, k)->optional))
      return true;
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, node->loc.node),
                      "input %d of op '%s', its %s, is null, but not optional", k, def->name,
                      k < max ? op_operand(def, k)->name : "operand");
  }
  if (!graph_string(g, at, node->loc.node, "an input", &name))
    return false;
  GraphName *input = graph_find(g, name);
  if (!input) {
    bool number = at->plain && strchr("+-.0123456789", name[0]) && !name[strspn(name, "+-.0123456789eE")];
    const char *hint = number ? "; expected a name: numbers are written as constants" : graph_name_suggestion(g, name);
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, node->loc.node),
                      "input '%s' is no input, constant or output of a node%s", name, hint);
  }
  if (k >= max)
    return true;
  node->inputs[k] = input;
  note_roles(g, node, input, op_operand(def, k)->roles);
  return true;
}

static bool read_inputs(const Graph *g, GraphNode *node) {
  const YamlNode *list = yaml_get(node->map, "inputs");
  const OpDef *def = node->op ? node->op->def : NULL;
  bool ok = true;
  if (!list)
    return !def || diag_error(g->ctx->diags, WEFT_MALFORMED, node->loc, "lacks 'inputs'; expected a list of names");
  if (list->kind != YAML_LIST)
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, list, node->loc.node),
                      "inputs is %s; expected a list of names", yaml_kind_name(list));
  node->inputs = ARENA_ARRAY(g->ctx->arena, GraphName *, list->n);
  for (size_t k = 0; k < list->n; k++)
    ok = read_input(g, node, list->items[k], (int)k) && ok;
  if (!def)
    return ok;
  int n = (int)list->n, least = 0;
  Str names = str_new(g->ctx->arena);
  for (int k = 0; k < def->n_operands; k++) {
    least += !def->operands[k].optional;
    str_printf(&names, "%s%s%s%s", k ? ", " : "", def->operands[k].optional ? "optional " : "", def->operands[k].name,
               def->operands[k].variadic ? "..." : "");
  }
  node->n_inputs = n < most_inputs(def) ? n : most_inputs(def);
  if (n < least || n > most_inputs(def))
    ok = diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, list, node->loc.node),
                    "op '%s' has %d inputs; expected %s", def->name, n, names.data);
  return ok;
}

static const char *label(const GraphNode *node) {
  return node->loc.node ? node->loc.node : "?";
}

/* One error for all of them: each kind once, with the nodes it stands at. */
static bool report_planned(const Graph *g, const GraphNode *const *planned, size_t n) {
  enum { SHOWN = 6 };
  if (n == 0)
    return true;
  Str list = str_new(g->ctx->arena);
  for (size_t k = 0; k < N_PLANNED; k++) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
      if (strcmp(planned[i]->kind, planned_ops[k]) != 0 || ++count > SHOWN)
        continue;
      if (count == 1)
        str_printf(&list, "%s%s: node ", list.len ? "; " : "", planned_ops[k]);
      str_printf(&list, "%s'%.40s' line %d", count > 1 ? ", " : "", label(planned[i]), planned[i]->loc.line);
    }
    if (count > SHOWN)
      str_printf(&list, " and %zu more", count - SHOWN);
  }
  return diag_error(g->ctx->diags, WEFT_UNSUPPORTED, planned[0]->loc,
                    "%zu node%s of this model %s an op that is not supported: %s; supported are those of `weft ops`", n,
                    n == 1 ? "" : "s", n == 1 ? "has" : "have", list.data);
}

bool graph_read_nodes(Graph *g) {
  const YamlNode *list = yaml_get(g->root, "nodes");
  if (!list || yaml_is_null(list))
    return true;
  if (list->kind != YAML_LIST)
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, list, NULL), "nodes is %s; expected a list of nodes",
                      yaml_kind_name(list));
  VEC(const GraphNode *) planned = {0};
  bool ok = true;
  for (size_t k = 0; k < list->n; k++) {
    bool is_planned_op;
    ok = read_node(g, list->items[k], &is_planned_op) && ok;
    if (is_planned_op)
      vec_push(g->ctx->arena, &planned, g->nodes.data[g->nodes.len - 1]);
  }
  ok = report_planned(g, planned.data, planned.len) && ok;
  for (size_t k = 0; k < g->nodes.len; k++)
    ok = read_inputs(g, g->nodes.data[k]) && ok;
  return ok;
}

/* ---- order ---- */

static bool report_cycle(const Graph *g, GraphNode *const *cycle, size_t n) {
  enum { SHOWN = 8 };
  Str list = str_new(g->ctx->arena);
  for (size_t k = 0; k < n && k < SHOWN; k++)
    str_printf(&list, "%s'%.60s' reads '%.60s'", k ? ", " : "", label(cycle[k]), label(cycle[(k + 1) % n]));
  if (n > SHOWN)
    str_printf(&list, " and so on through %zu nodes", n);
  return diag_error(g->ctx->diags, WEFT_MALFORMED, cycle[0]->loc, "the graph has a cycle: %s", list.data);
}

bool graph_sort(Graph *g) {
  Arena *arena = g->ctx->arena;
  VEC(GraphNode *) stack = {0};
  for (size_t k = 0; k < g->nodes.len; k++) {
    if (g->nodes.data[k]->state != SORT_NEW)
      continue;
    vec_push(arena, &stack, g->nodes.data[k]);
    while (stack.len > 0) {
      GraphNode *node = stack.data[stack.len - 1];
      node->state = SORT_OPEN;
      GraphName *input = NULL;
      while (!input && node->next_input < node->n_inputs)
        input = node->inputs[node->next_input++];
      if (!input) {
        node->state = SORT_DONE;
        vec_push(arena, &g->order, node);
        stack.len--;
        continue;
      }
      GraphNode *from = input->kind == NAME_RESULT ? input->node : NULL;
      if (from && from->state == SORT_NEW)
        vec_push(arena, &stack, from);
      size_t first = 0;
      while (from && from->state == SORT_OPEN && stack.data[first] != from)
        first++;
      if (from && from->state == SORT_OPEN)
        return report_cycle(g, stack.data + first, stack.len - first);
    }
  }
  return true;
}
