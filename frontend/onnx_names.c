/* The names of an ONNX graph and the order of its nodes. Names are defined once: by an input, an initializer (or both:
 * the default of an input) or a node. Nodes may stand in any order; a depth-first walk from each in the order of the
 * file puts every one behind what it reads, leaves a sorted file as it is, and finds cycles. The walk keeps its own
 * stack, since a chain of nodes may be as long as a file. */
#include "frontend/onnx.h"

const char *onnx_text(OnnxImport *im, OnnxBytes bytes) {
  return bytes.n ? intern_strn(im->ctx, bytes.data, bytes.n) : "";
}

const char *onnx_quote(OnnxImport *im, OnnxBytes bytes) {
  size_t n = bytes.n <= 80 ? bytes.n : 77;
  while (n < bytes.n && n > 0 && ((uint8_t)bytes.data[n] & 0xc0) == 0x80) /* not within a character */
    n--;
  return arena_printf(im->ctx->arena, "%.*s%s", (int)n, bytes.n ? bytes.data : "", n < bytes.n ? "..." : "");
}

static Loc model_loc(const OnnxImport *im) {
  return (Loc){.file = im->file};
}

/* More errors than this help nobody, and a hostile file has room for millions. */
#define MAX_ERRORS 40
static bool enough(const OnnxImport *im) {
  return diag_count(im->ctx->diags) >= MAX_ERRORS;
}

/* ---- the table ---- */

static bool same_name(const void *item, const void *key) {
  return ((const ImportName *)item)->name == key;
}

static uint64_t name_hash(const char *interned) {
  return hash_bytes(WEFT_HASH_SEED, &interned, sizeof interned);
}

ImportName *onnx_find(const OnnxImport *im, const char *interned) {
  return (ImportName *)intern_find(&im->table, name_hash(interned), same_name, interned);
}

static ImportName *add_name(OnnxImport *im, const char *interned) {
  ImportName *name = ARENA_NEW(im->ctx->arena, ImportName);
  name->name = interned;
  intern_add(im->ctx, &im->table, name_hash(interned), name);
  return name;
}

static const char *defined_as(const ImportName *name) {
  return name->maker ? "the output of a node" : name->initializer ? "an initializer" : "an input";
}

static bool duplicate(OnnxImport *im, const ImportName *name, Loc loc, const char *what) {
  return diag_error(im->ctx->diags, WEFT_MALFORMED, loc, "%s '%s' is %s already: duplicate name", what, name->name,
                    defined_as(name));
}

static bool define_inputs(OnnxImport *im) {
  bool ok = true;
  for (size_t k = 0; k < im->graph->input.n && !enough(im); k++) {
    const OnnxValueInfo *input = &im->graph->input.items[k];
    const char *text = onnx_text(im, input->name);
    ImportName *name = onnx_find(im, text);
    if (!text[0])
      ok = diag_error(im->ctx->diags, WEFT_MALFORMED, model_loc(im), "input %zu has no name", k + 1);
    else if (name)
      ok = duplicate(im, name, model_loc(im), "input");
    else
      add_name(im, text)->input = input;
  }
  return ok;
}

static bool define_initializers(OnnxImport *im) {
  bool ok = true;
  for (size_t k = 0; k < im->graph->initializer.n && !enough(im); k++) {
    const OnnxTensor *t = &im->graph->initializer.items[k];
    const char *text = onnx_text(im, t->name);
    ImportName *name = onnx_find(im, text);
    if (!text[0]) {
      ok = diag_error(im->ctx->diags, WEFT_MALFORMED, model_loc(im), "initializer %zu has no name", k + 1);
    } else if (name && name->initializer) {
      ok = duplicate(im, name, model_loc(im), "initializer");
    } else {
      name = name ? name : add_name(im, text);
      name->initializer = t;
    }
  }
  for (size_t k = 0; ok && k < im->graph->input.n; k++) {
    ImportName *name = onnx_find(im, onnx_text(im, im->graph->input.items[k].name));
    if (!name->initializer)
      vec_push(im->ctx->arena, &im->inputs, name);
  }
  return ok;
}

/* ---- nodes ---- */

static int count_given(const OnnxBytes *names, size_t n) {
  while (n > 0 && names[n - 1].n == 0)
    n--;
  return (int)n;
}

static const char *node_name(OnnxImport *im, const OnnxNode *node, size_t k) {
  if (node->name.n)
    return onnx_text(im, node->name);
  for (size_t j = 0; j < node->output.n; j++)
    if (node->output.items[j].n)
      return onnx_text(im, node->output.items[j]);
  return intern_str(im->ctx, arena_printf(im->ctx->arena, "#%zu", k));
}

static bool define_node(OnnxImport *im, size_t k) {
  const OnnxNode *node = &im->graph->node.items[k];
  ImportNode *n = &im->nodes[k];
  Arena *arena = im->ctx->arena;
  const char *domain = onnx_text(im, node->domain);
  *n = (ImportNode){.im = im, .node = node, .type = onnx_text(im, node->op_type)};
  n->domain = strcmp(domain, "ai.onnx") == 0 ? "" : domain;
  n->loc = (Loc){.file = im->file, .node = node_name(im, node, k)};
  n->n_inputs = count_given(node->input.items, node->input.n);
  n->n_outputs = count_given(node->output.items, node->output.n);
  n->inputs = ARENA_ARRAY(arena, ImportName *, n->n_inputs);
  n->outputs = ARENA_ARRAY(arena, ImportName *, n->n_outputs);
  n->results = ARENA_ARRAY(arena, Value *, n->n_outputs);
  n->attr_used = ARENA_ARRAY(arena, bool, node->attribute.n);
  if (!n->type[0])
    return diag_error(im->ctx->diags, WEFT_MALFORMED, n->loc, "the node has no operator type");
  bool ok = true;
  for (int j = 0; j < n->n_outputs; j++) {
    const char *text = onnx_text(im, node->output.items[j]);
    ImportName *name = text[0] ? onnx_find(im, text) : NULL;
    if (!text[0])
      continue;
    if (name) {
      ok = duplicate(im, name, n->loc, "output");
    } else {
      n->outputs[j] = add_name(im, text);
      n->outputs[j]->maker = n;
    }
  }
  return ok;
}

static bool resolve_node(OnnxImport *im, ImportNode *n) {
  bool ok = true;
  for (int j = 0; j < n->n_inputs; j++) {
    const char *text = onnx_text(im, n->node->input.items[j]);
    if (!text[0])
      continue;
    n->inputs[j] = onnx_find(im, text);
    if (!n->inputs[j])
      ok = diag_error(im->ctx->diags, WEFT_MALFORMED, n->loc,
                      "%s: reads '%s', which no input, initializer or node makes", n->type,
                      onnx_quote(im, n->node->input.items[j]));
  }
  return ok;
}

static bool resolve_outputs(OnnxImport *im) {
  bool ok =
      im->graph->output.n > 0 || diag_error(im->ctx->diags, WEFT_MALFORMED, model_loc(im), "the graph has no outputs");
  for (size_t k = 0; k < im->graph->output.n && !enough(im); k++) {
    OnnxBytes text = im->graph->output.items[k].name;
    ImportName *name = onnx_find(im, onnx_text(im, text));
    if (name)
      vec_push(im->ctx->arena, &im->outputs, name);
    else
      ok = diag_error(im->ctx->diags, WEFT_MALFORMED, model_loc(im),
                      "output '%s' is made by no input, initializer or node", onnx_quote(im, text));
  }
  return ok;
}

/* ---- order ---- */

typedef struct {
  ImportNode *node;
  int next; /* input to follow next */
} Step;

/* Steps top.. of the stack are a ring; names it, at most a few nodes. */
static bool report_cycle(OnnxImport *im, const Step *stack, size_t first, size_t n) {
  Str ring = str_new(im->ctx->arena);
  for (size_t k = n; k-- > first;) {
    if (n - k > 8) {
      str_put(&ring, "... <- ");
      break;
    }
    str_printf(&ring, "'%.60s' <- ", stack[k].node->loc.node);
  }
  return diag_error(im->ctx->diags, WEFT_MALFORMED, stack[n - 1].node->loc,
                    "the node lies on a cycle, which no order can compute: %s'%.60s'", ring.data,
                    stack[n - 1].node->loc.node);
}

static bool visit(OnnxImport *im, ImportNode *root, Step *stack, size_t *n_order) {
  size_t n = 0;
  stack[n++] = (Step){root, 0};
  root->mark = 1;
  while (n > 0) {
    Step *top = &stack[n - 1];
    if (top->next == top->node->n_inputs) {
      top->node->mark = 2;
      im->order[(*n_order)++] = top->node;
      n--;
      continue;
    }
    const ImportName *name = top->node->inputs[top->next++];
    ImportNode *maker = name ? name->maker : NULL;
    if (!maker || maker->mark == 2)
      continue;
    if (maker->mark == 1) {
      size_t first = n - 1;
      while (stack[first].node != maker)
        first--;
      return report_cycle(im, stack, first, n);
    }
    maker->mark = 1;
    stack[n++] = (Step){maker, 0};
  }
  return true;
}

static void mark_read(ImportName *name) {
  name->read = true;
  if (name->maker)
    name->maker->live = true;
}

static bool sort_nodes(OnnxImport *im) {
  Step *stack = ARENA_ARRAY(im->ctx->arena, Step, im->n_nodes);
  size_t n = 0;
  im->order = ARENA_ARRAY(im->ctx->arena, ImportNode *, im->n_nodes);
  for (size_t k = 0; k < im->n_nodes; k++)
    if (im->nodes[k].mark == 0 && !visit(im, &im->nodes[k], stack, &n))
      return false;
  for (size_t k = 0; k < im->outputs.len; k++)
    mark_read(im->outputs.data[k]);
  for (size_t k = im->n_nodes; k-- > 0;)
    for (int j = 0; im->order[k]->live && j < im->order[k]->n_inputs; j++)
      if (im->order[k]->inputs[j])
        mark_read(im->order[k]->inputs[j]);
  return true;
}

bool onnx_read_names(OnnxImport *im) {
  bool ok = define_inputs(im);
  ok = ok && define_initializers(im);
  im->n_nodes = im->graph->node.n;
  im->nodes = ARENA_ARRAY(im->ctx->arena, ImportNode, im->n_nodes);
  for (size_t k = 0; k < im->n_nodes && !enough(im); k++)
    ok = define_node(im, k) && ok;
  if (!ok)
    return false;
  for (size_t k = 0; k < im->n_nodes && !enough(im); k++)
    ok = resolve_node(im, &im->nodes[k]) && ok;
  return resolve_outputs(im) && ok && sort_nodes(im);
}
