/* A YAML document as a tree of nodes with places. The subset that a model needs: one document of maps, lists and
 * scalars in UTF-8. Refused: aliases, anchors, tags, duplicate keys, keys that are no scalars, a second document, NUL,
 * UTF-16, and whatever exceeds the limits below. */
#ifndef WEFT_FRONTEND_YAML_TREE_H
#define WEFT_FRONTEND_YAML_TREE_H

#include "ir/ctx.h"

#define YAML_MAX_BYTES ((size_t)64 << 20)
#define YAML_MAX_DEPTH 64
#define YAML_MAX_NODES ((size_t)1 << 21)

typedef enum { YAML_SCALAR, YAML_LIST, YAML_MAP } YamlKind;

typedef struct YamlNode {
  YamlKind kind;
  bool plain; /* SCALAR: written without quotes */
  int line, col;
  const char *text;        /* SCALAR: NUL-terminated, without another NUL */
  size_t n;                /* LIST: items; MAP: pairs */
  struct YamlNode **items; /* LIST: n items; MAP: n times key, value */
} YamlNode;

/* The root, or NULL after reporting (WEFT_MALFORMED) at line and column. */
YamlNode *yaml_parse(Ctx *ctx, const char *file, const char *text, size_t size);

/* The value of a key of a map, or NULL. By walking. */
YamlNode *yaml_get(const YamlNode *map, const char *key);
/* A plain scalar that is empty, ~ or null. */
bool yaml_is_null(const YamlNode *node);
const char *yaml_kind_name(const YamlNode *node); /* "a map", "a list", "nothing", "a scalar" */

#endif
