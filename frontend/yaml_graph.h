/* What the files of the YAML importer share: a graph between its syntax tree and its module. */
#ifndef WEFT_FRONTEND_YAML_GRAPH_H
#define WEFT_FRONTEND_YAML_GRAPH_H

#include "frontend/source.h"
#include "frontend/yaml_tree.h"

typedef enum { NAME_INPUT, NAME_CONSTANT, NAME_RESULT } NameKind;

/* A tensor of the graph by its name. */
typedef struct GraphName {
  const char *name; /* interned */
  NameKind kind;
  const YamlNode *at;     /* where it is named first */
  const YamlNode *spec;   /* input, constant: its map */
  struct GraphNode *node; /* result: the node that makes it */
  /* The letters of its logical axes as ops with roles read it; NULL where none does. mixed: they disagree. */
  const char *roles;
  const struct GraphNode *reader, *other_reader; /* those who gave the roles, and who disagrees */
  bool mixed, used;
  Constant *constant;
  Value *value;            /* once built; NULL before, and where building failed */
  const char *value_roles; /* letters for the boundary where the user gave a layout */
} GraphName;

typedef enum { SORT_NEW, SORT_OPEN, SORT_DONE } SortState;

typedef struct GraphNode {
  const YamlNode *map;
  Loc loc;
  Op *op;           /* operands filled in by the build; NULL where the op is unknown or not supported */
  const char *kind; /* the op's name as written */
  int64_t axis;     /* frontend attribute of elementwise ops */
  bool has_axis;
  GraphName *output;
  int n_inputs;
  GraphName **inputs; /* NULL: omitted */
  SortState state;
  int next_input; /* of the sort: the input to look at next */
} GraphNode;

typedef struct {
  Ctx *ctx;
  const char *file; /* interned */
  const YamlNode *root;
  Module *module;
  Function *function;
  Intern table;            /* GraphName by name */
  VEC(GraphName *) names;  /* in the order of definition */
  VEC(const char *) known; /* the same as words, for suggestions */
  VEC(GraphNode *) nodes;  /* in the order of the file */
  VEC(GraphNode *) order;  /* after graph_sort: operands first */
  WeightFile *weights;
} Graph;

/* ---- yaml_fields.c: values of keys. All return false after reporting at the value; `what` names it in messages. ----
 */

Loc graph_loc(const Graph *g, const YamlNode *at, const char *node);
/* "; did you mean 'x'?" or "". */
const char *graph_suggestion(const Graph *g, const char *word, const char *const *known, size_t n);
bool graph_is_map(const Graph *g, const YamlNode *at, const char *node, const char *what);
/* Every key of the map is one of `known`. */
bool graph_check_keys(const Graph *g, const YamlNode *map, const char *node, const char *what, const char *const *known,
                      size_t n);
bool graph_string(const Graph *g, const YamlNode *at, const char *node, const char *what, const char **out);
bool graph_dtype(const Graph *g, const YamlNode *at, const char *node, const char *what, DType *out);
bool graph_int(const Graph *g, const YamlNode *at, const char *node, const char *what, int64_t *out);
bool graph_float(const Graph *g, const YamlNode *at, const char *node, const char *what, double *out);
/* A list of integers; one integer alone is a list of one. At most `max`. */
bool graph_ints(const Graph *g, const YamlNode *at, const char *node, const char *what, int64_t *out, int max, int *n);

/* ---- yaml.c ---- */

GraphName *graph_find(const Graph *g, const char *name);
/* graph_suggestion among the names of the graph. */
const char *graph_name_suggestion(const Graph *g, const char *word);
/* A new name; NULL after reporting where it is taken or empty. */
GraphName *graph_define(Graph *g, const YamlNode *at, const char *name, NameKind kind);

/* ---- yaml_nodes.c ---- */

bool graph_read_nodes(Graph *g);
bool graph_sort(Graph *g);

/* ---- yaml_tensors.c ---- */

/* The layout that `text` asks for of a tensor of this rank; *roles: its letters, NULL for plain. */
const Layout *graph_layout(const Graph *g, const GraphName *name, const YamlNode *text, const char *what, int rank,
                           const char **roles);
bool graph_read_tensors(Graph *g);

/* ---- yaml_data.c ---- */

/* Inline data, nested lists or flat, row-major: a tensor of this type and shape, or NULL after reporting. */
Tensor *graph_inline_data(const Graph *g, const YamlNode *data, const char *what, DType dtype, int rank,
                          const int64_t *shape);

#endif
