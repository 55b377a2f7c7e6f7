/* libyaml's events into a tree of nodes.
 *
 * The events and not libyaml's document: that one resolves aliases (so that a few lines make a cyclic or an immense
 * graph), has no limit on depth while its scanner takes quadratic time in it, and gives up a second document silently.
 * The parser is a loop with a stack of open collections, so nothing recurses. Places count from 1, columns in
 * characters. libyaml's scanner gives line and column of an error, its reader only a byte offset. */
#include "frontend/yaml_tree.h"
#include <stdlib.h>
#include <yaml.h>

typedef struct {
  YamlNode *node;
  VEC(YamlNode *) items;
} Open;

typedef struct {
  Ctx *ctx;
  const char *file;
  const char *text;
  size_t size;
  yaml_parser_t parser;
  YamlNode *root;
  Open open[YAML_MAX_DEPTH];
  int depth;
  size_t nodes;
  bool begun; /* a document was begun */
} Reader;

static bool fail_at(Reader *r, int line, int col, const char *what) {
  Loc loc = {.file = r->file, .line = line, .col = col};
  return diag_error(r->ctx->diags, WEFT_MALFORMED, loc, "%s", what);
}

static bool fail(Reader *r, yaml_mark_t mark, const char *what) {
  return fail_at(r, (int)mark.line + 1, (int)mark.column + 1, what);
}

/* Line and column of a byte of the text. */
static void place_of(const Reader *r, size_t offset, int *line, int *col) {
  *line = *col = 1;
  for (size_t k = 0; k < offset && k < r->size; k++) {
    unsigned char c = (unsigned char)r->text[k];
    if (c == '\n') {
      ++*line;
      *col = 1;
    } else if ((c & 0xC0) != 0x80) {
      ++*col;
    }
  }
}

static bool parser_error(Reader *r) {
  const yaml_parser_t *p = &r->parser;
  const char *problem = p->problem ? p->problem : "cannot be parsed";
  if (p->error == YAML_READER_ERROR) {
    int line, col;
    place_of(r, p->problem_offset, &line, &col);
    const char *value = p->problem_value >= 0 ? arena_printf(r->ctx->arena, " (0x%02X)", p->problem_value) : "";
    return fail_at(r, line, col, arena_printf(r->ctx->arena, "%s%s; expected UTF-8 text", problem, value));
  }
  if (p->error == YAML_MEMORY_ERROR)
    WEFT_UNREACHABLE();
  fail(r, p->problem_mark, problem);
  if (p->context) {
    Loc loc = {.file = r->file, .line = (int)p->context_mark.line + 1, .col = (int)p->context_mark.column + 1};
    diag_note(r->ctx->diags, loc, "%s", p->context);
  }
  return false;
}

static YamlNode *add(Reader *r, YamlKind kind, yaml_mark_t mark) {
  if (++r->nodes > YAML_MAX_NODES) {
    fail(r, mark,
         arena_printf(r->ctx->arena, "more than %zu nodes; large data belongs into a .npy or .safetensors",
                      YAML_MAX_NODES));
    return NULL;
  }
  YamlNode *node = ARENA_NEW(r->ctx->arena, YamlNode);
  node->kind = kind;
  node->line = (int)mark.line + 1;
  node->col = (int)mark.column + 1;
  if (r->depth == 0) {
    r->root = node;
    return node;
  }
  Open *top = &r->open[r->depth - 1];
  bool key = top->node->kind == YAML_MAP && top->items.len % 2 == 0;
  if (key && kind != YAML_SCALAR) {
    fail(r, mark, "a key must be a scalar");
    return NULL;
  }
  vec_push(r->ctx->arena, &top->items, node);
  return node;
}

static bool begin(Reader *r, YamlKind kind, yaml_mark_t mark) {
  if (r->depth == YAML_MAX_DEPTH)
    return fail(r, mark, arena_printf(r->ctx->arena, "nested deeper than %d levels", YAML_MAX_DEPTH));
  YamlNode *node = add(r, kind, mark);
  if (!node)
    return false;
  r->open[r->depth++] = (Open){.node = node};
  return true;
}

static int by_text(const void *a, const void *b) {
  const YamlNode *x = *(const YamlNode *const *)a, *y = *(const YamlNode *const *)b;
  int order = strcmp(x->text, y->text);
  if (order)
    return order;
  return x->line != y->line ? x->line - y->line : x->col - y->col;
}

/* Sorted, equal keys are neighbours: no quadratic time, however the keys are chosen. */
static bool check_keys(Reader *r, const YamlNode *map) {
  if (map->n < 2)
    return true;
  const YamlNode **keys = ARENA_ARRAY(r->ctx->arena, const YamlNode *, map->n);
  for (size_t k = 0; k < map->n; k++)
    keys[k] = map->items[2 * k];
  qsort(keys, map->n, sizeof *keys, by_text);
  bool ok = true;
  for (size_t k = 1; k < map->n; k++) {
    const YamlNode *first = keys[k - 1], *key = keys[k];
    if (strcmp(first->text, key->text) != 0)
      continue;
    ok = fail_at(r, key->line, key->col, arena_printf(r->ctx->arena, "duplicate key '%s'", key->text));
    diag_note(r->ctx->diags, (Loc){.file = r->file, .line = first->line, .col = first->col}, "it is here first");
  }
  return ok;
}

static bool finish(Reader *r) {
  Open *top = &r->open[--r->depth];
  YamlNode *node = top->node;
  node->items = top->items.data;
  node->n = node->kind == YAML_MAP ? top->items.len / 2 : top->items.len;
  return node->kind != YAML_MAP || check_keys(r, node);
}

static bool scalar(Reader *r, const yaml_event_t *e) {
  const char *value = (const char *)e->data.scalar.value;
  size_t n = e->data.scalar.length;
  if (memchr(value, '\0', n))
    return fail(r, e->start_mark, "a string with a NUL character");
  YamlNode *node = add(r, YAML_SCALAR, e->start_mark);
  if (!node)
    return false;
  node->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  node->text = arena_strndup(r->ctx->arena, value, n);
  return true;
}

static bool decorated(Reader *r, const yaml_event_t *e, const void *anchor, const void *tag) {
  if (anchor)
    return !fail(r, e->start_mark, "anchors and aliases are not accepted; write the value out");
  if (tag)
    return !fail(r, e->start_mark, "tags are not accepted; expected a plain value");
  return false;
}

/* False where the events end: after the last one, or after reporting. */
static bool event(Reader *r, const yaml_event_t *e, bool *ok) {
  *ok = true;
  switch (e->type) {
  case YAML_DOCUMENT_START_EVENT:
    if (r->begun)
      *ok = fail(r, e->start_mark, "a second document; a file holds one model");
    r->begun = true;
    break;
  case YAML_ALIAS_EVENT:
    *ok = !decorated(r, e, e->data.alias.anchor, NULL);
    break;
  case YAML_SCALAR_EVENT:
    *ok = !decorated(r, e, e->data.scalar.anchor, e->data.scalar.tag) && scalar(r, e);
    break;
  case YAML_SEQUENCE_START_EVENT:
    *ok = !decorated(r, e, e->data.sequence_start.anchor, e->data.sequence_start.tag) &&
          begin(r, YAML_LIST, e->start_mark);
    break;
  case YAML_MAPPING_START_EVENT:
    *ok =
        !decorated(r, e, e->data.mapping_start.anchor, e->data.mapping_start.tag) && begin(r, YAML_MAP, e->start_mark);
    break;
  case YAML_SEQUENCE_END_EVENT:
  case YAML_MAPPING_END_EVENT:
    *ok = finish(r);
    break;
  case YAML_STREAM_END_EVENT:
    return false;
  default: /* stream start, document end */
    break;
  }
  return *ok;
}

static bool read_events(Reader *r) {
  bool ok = true, more = true;
  while (more) {
    yaml_event_t e;
    if (!yaml_parser_parse(&r->parser, &e))
      return parser_error(r);
    more = event(r, &e, &ok);
    yaml_event_delete(&e);
  }
  return ok;
}

YamlNode *yaml_parse(Ctx *ctx, const char *file, const char *text, size_t size) {
  Reader r = {.ctx = ctx, .file = intern_str(ctx, file), .text = text, .size = size};
  if (size > YAML_MAX_BYTES) {
    fail_at(&r, 0, 0, arena_printf(ctx->arena, "has %zu bytes; at most %zu of YAML are read", size, YAML_MAX_BYTES));
    return NULL;
  }
  bool utf16 = size >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0);
  if (utf16) {
    fail_at(&r, 1, 1, "UTF-16 text; expected UTF-8");
    return NULL;
  }
  if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) { /* a byte order mark says nothing in UTF-8 */
    r.text += 3;
    r.size -= 3;
  }
  if (!yaml_parser_initialize(&r.parser))
    WEFT_UNREACHABLE();
  yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.text, r.size);
  bool ok = read_events(&r);
  yaml_parser_delete(&r.parser);
  if (ok && !r.root)
    ok = fail_at(&r, 1, 1, "holds no document; expected a map with `weft: 1`, `nodes` and `outputs`");
  return ok ? r.root : NULL;
}

YamlNode *yaml_get(const YamlNode *map, const char *key) {
  for (size_t k = 0; k < map->n; k++)
    if (strcmp(map->items[2 * k]->text, key) == 0)
      return map->items[2 * k + 1];
  return NULL;
}

bool yaml_is_null(const YamlNode *node) {
  return node->kind == YAML_SCALAR && node->plain &&
         (!node->text[0] || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

const char *yaml_kind_name(const YamlNode *node) {
  if (node->kind != YAML_SCALAR)
    return node->kind == YAML_MAP ? "a map" : "a list";
  return yaml_is_null(node) ? "nothing" : "a scalar";
}
