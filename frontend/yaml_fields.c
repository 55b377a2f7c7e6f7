/* Readers of single values: strings, numbers, lists of numbers, keys against the known ones.
 *
 * Numbers are those of YAML's core schema that are written in one way only: decimal integers without leading zeros,
 * floats as C writes them, .inf, -.inf and .nan. A quoted scalar is never a number. */
#include "frontend/yaml_graph.h"
#include <math.h>
#include <stdlib.h>

/* What a hostile file may cost: words compared with a wrong one, and wrong ones that get a suggestion at all. */
#define MAX_CANDIDATES 4096
#define MAX_SUGGESTIONS 50

Loc graph_loc(const Graph *g, const YamlNode *at, const char *node) {
  return (Loc){.file = g->file, .line = at->line, .col = at->col, .node = node};
}

const char *graph_suggestion(const Graph *g, const char *word, const char *const *known, size_t n) {
  if (diag_count(g->ctx->diags) > MAX_SUGGESTIONS)
    return "";
  const char *near = nearest_word(word, known, n < MAX_CANDIDATES ? n : MAX_CANDIDATES);
  return near ? arena_printf(g->ctx->arena, "; did you mean '%s'?", near) : "";
}

static bool wrong(const Graph *g, const YamlNode *at, const char *node, const char *what, const char *expected) {
  const char *found = at->kind == YAML_SCALAR && !yaml_is_null(at)
                          ? arena_printf(g->ctx->arena, "%s%.60s%s", at->plain ? "'" : "the string '", at->text, "'")
                          : yaml_kind_name(at);
  return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, node), "%s is %s; expected %s", what, found,
                    expected);
}

bool graph_is_map(const Graph *g, const YamlNode *at, const char *node, const char *what) {
  return at->kind == YAML_MAP || wrong(g, at, node, what, "a map");
}

bool graph_check_keys(const Graph *g, const YamlNode *map, const char *node, const char *what, const char *const *known,
                      size_t n) {
  bool ok = true;
  for (size_t k = 0; k < map->n; k++) {
    const YamlNode *key = map->items[2 * k];
    bool found = false;
    for (size_t i = 0; i < n; i++)
      found |= strcmp(known[i], key->text) == 0;
    if (found)
      continue;
    Str list = str_new(g->ctx->arena);
    for (size_t i = 0; i < n; i++)
      str_printf(&list, "%s%s", i ? ", " : "", known[i]);
    ok =
        diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, key, node), "%s: unknown key '%s'; expected one of %s%s",
                   what, key->text, list.data, graph_suggestion(g, key->text, known, n));
  }
  return ok;
}

bool graph_string(const Graph *g, const YamlNode *at, const char *node, const char *what, const char **out) {
  if (at->kind != YAML_SCALAR || yaml_is_null(at) || !at->text[0])
    return wrong(g, at, node, what, "a string");
  *out = intern_str(g->ctx, at->text);
  return true;
}

bool graph_dtype(const Graph *g, const YamlNode *at, const char *node, const char *what, DType *out) {
  const char *text;
  if (!graph_string(g, at, node, what, &text))
    return false;
  if (dtype_parse(text, strlen(text), out))
    return true;
  const char *known[DT_COUNT];
  Str list = str_new(g->ctx->arena);
  for (int k = 0; k < DT_COUNT; k++) {
    known[k] = dtype_name((DType)k);
    str_printf(&list, "%s%s", k ? ", " : "", known[k]);
  }
  return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, node),
                    "%s: unknown dtype '%.60s'; expected one of %s%s", what, text, list.data,
                    graph_suggestion(g, text, known, DT_COUNT));
}

static bool parse_int(const YamlNode *at, int64_t *out) {
  if (at->kind != YAML_SCALAR || !at->plain)
    return false;
  const char *s = at->text;
  bool negative = *s == '-';
  s += *s == '-' || *s == '+';
  if (*s < '0' || *s > '9' || (*s == '0' && s[1]))
    return false;
  int64_t v = 0;
  for (; *s >= '0' && *s <= '9'; s++)
    if (!mul_i64(v, 10, &v) || !(negative ? sub_i64(v, *s - '0', &v) : add_i64(v, *s - '0', &v)))
      return false;
  *out = v;
  return *s == '\0';
}

bool graph_int(const Graph *g, const YamlNode *at, const char *node, const char *what, int64_t *out) {
  return parse_int(at, out) || wrong(g, at, node, what, "an integer");
}

static size_t digits(const char **s) {
  size_t n = strspn(*s, "0123456789");
  *s += n;
  return n;
}

static bool parse_float(const YamlNode *at, double *out) {
  if (at->kind != YAML_SCALAR || !at->plain)
    return false;
  const char *s = at->text, *body = s + (*s == '-' || *s == '+');
  if (strcmp(body, ".inf") == 0) {
    *out = *s == '-' ? -(double)INFINITY : (double)INFINITY;
    return true;
  }
  if (strcmp(s, ".nan") == 0) {
    *out = (double)NAN;
    return true;
  }
  const char *p = body;
  size_t n = digits(&p);
  if (*p == '.') {
    p++;
    n += digits(&p);
  }
  if (n == 0)
    return false;
  if (*p == 'e' || *p == 'E') {
    p++;
    p += *p == '-' || *p == '+';
    if (digits(&p) == 0)
      return false;
  }
  *out = strtod(s, NULL);
  return *p == '\0' && isfinite(*out);
}

bool graph_float(const Graph *g, const YamlNode *at, const char *node, const char *what, double *out) {
  return parse_float(at, out) || wrong(g, at, node, what, "a number");
}

bool graph_ints(const Graph *g, const YamlNode *at, const char *node, const char *what, int64_t *out, int max, int *n) {
  *n = 1;
  if (at->kind != YAML_LIST)
    return parse_int(at, out) || wrong(g, at, node, what, "an integer or a list of integers");
  if (at->n > (size_t)max)
    return diag_error(g->ctx->diags, WEFT_MALFORMED, graph_loc(g, at, node), "%s has %zu numbers; expected at most %d",
                      what, at->n, max);
  *n = (int)at->n;
  for (size_t k = 0; k < at->n; k++)
    if (!graph_int(g, at->items[k], node, what, &out[k]))
      return false;
  return true;
}
