/* The op table, made from ops.def, and what is asked of a row. A row names the functions of its family, so that an op
 * whose half is missing does not link. */
#include "ir/ops/ops.h"

/* view_index by the row's traits, each a single word: only views have one. */
#define VIEW_INDEX_OP_VIEW(family) family##_view_index
#define VIEW_INDEX_OP_CONTRACTION(family) NULL
#define VIEW_INDEX_OP_REDUCTION(family) NULL
#define VIEW_INDEX_OP_SAMPLING(family) NULL
#define VIEW_INDEX_OP_COPY(family) NULL
#define VIEW_INDEX_OP_LEAF(family) NULL
#define VIEW_INDEX_OP_MOVE(family) NULL
#define VIEW_INDEX_OP_ORDERED(family) NULL
/* simplify likewise: ops that only move elements have one. */
#define SIMPLIFY_OP_VIEW(family) family##_simplify
#define SIMPLIFY_OP_CONTRACTION(family) NULL
#define SIMPLIFY_OP_REDUCTION(family) NULL
#define SIMPLIFY_OP_SAMPLING(family) NULL
#define SIMPLIFY_OP_COPY(family) family##_simplify
#define SIMPLIFY_OP_LEAF(family) NULL
#define SIMPLIFY_OP_MOVE(family) family##_simplify
#define SIMPLIFY_OP_ORDERED(family) NULL

/* In parentheses while they travel through macros, so that their commas part nothing. */
#define BRACES(...) {__VA_ARGS__}
#define OPERANDS(...) (__VA_ARGS__)
#define OPERAND(name, roles) {name, roles, false, false, false, false}
#define CONDITION(name) {name, "", false, false, false, true}
#define OPTIONAL(name, roles) {name, roles, true, false, false, false}
#define ALONG(name) {name, "", false, true, false, false}
#define MANY(name, roles) {name, roles, false, false, true, false}
#define ATTRS(...) (__VA_ARGS__)
#define INT(name, fill) {name, ATTR_INT, LEN_ANY, false, fill, NULL}
#define REQUIRED_INT(name) {name, ATTR_INT, LEN_ANY, true, 0, NULL}
#define INTS(name, len, fill) {name, ATTR_INTS, len, false, fill, NULL}
#define FLOAT(name, fill) {name, ATTR_FLOAT, LEN_ANY, false, fill, NULL}
#define WORD(name, words) {name, ATTR_WORD, LEN_ANY, false, 0, words}
#define DTYPE(name) {name, ATTR_DTYPE, LEN_ANY, true, 0, NULL}
#define TEXT(name, fill) {name, ATTR_TEXT, LEN_ANY, false, 0, fill}
#define REQUIRED_TEXT(name) {name, ATTR_TEXT, LEN_ANY, true, 0, NULL}
#define REQUIRED_FLOAT(name) {name, ATTR_FLOAT, LEN_ANY, true, 0, NULL}
#define REQUIRED_INTS(name, len) {name, ATTR_INTS, len, true, 0, NULL}
#define CONSTANT(name) {name, ATTR_CONSTANT, LEN_ANY, true, 0, NULL}

#define ROW(code_, name_, family, spatial_, traits_, operands_, roles_, attrs_, types_, expression_, doc_,             \
            view_index_, simplify_)                                                                                    \
  [OP_##code_] = {.code = OP_##code_,                                                                                  \
                  .name = name_,                                                                                       \
                  .doc = doc_,                                                                                         \
                  .spatial = spatial_,                                                                                 \
                  .traits = traits_,                                                                                   \
                  .n_operands = (int)(sizeof((OperandDef[])BRACES operands_) / sizeof(OperandDef)),                    \
                  .n_attrs = (int)(sizeof((AttrDef[])BRACES attrs_) / sizeof(AttrDef)),                                \
                  .operands = BRACES operands_,                                                                        \
                  .result_roles = roles_,                                                                              \
                  .attrs = BRACES attrs_,                                                                              \
                  .types = types_,                                                                                     \
                  .expression = expression_,                                                                           \
                  .infer = family##_infer,                                                                             \
                  .layout = family##_layout,                                                                           \
                  .eval = family##_eval,                                                                               \
                  .view_index = view_index_,                                                                           \
                  .simplify = simplify_},
#define FIRST(a, ...) a
#define SECOND(a, b, ...) b
#define OP(code, name, family, spatial, traits, operands, roles, attrs, ...)                                           \
  ROW(code, name, family, spatial, traits, operands, roles, attrs, SECOND(__VA_ARGS__, NULL, NULL), NULL,              \
      FIRST(__VA_ARGS__, NULL), VIEW_INDEX_##traits(family), SIMPLIFY_##traits(family))
#define ELEMENTWISE(code, name, types, operands, attrs, expression, doc)                                               \
  ROW(code, name, elementwise, 0, OP_ELEMENTWISE, operands, "", attrs, types, expression, doc, NULL,                   \
      elementwise_simplify)

#define COMPOSITE(code, name, operands, attrs, formula, doc)                                                           \
  ROW(code, name, composite, 0, OP_COMPOSITE, operands, "", attrs, NULL, formula, doc, NULL, NULL)

const OpDef op_table[OP_COUNT] = {
#include "ir/ops.def"
};

const OpDef *op_find(const char *name, size_t len) {
  for (int k = 0; k < OP_COUNT; k++)
    if (strlen(op_table[k].name) == len && memcmp(op_table[k].name, name, len) == 0)
      return &op_table[k];
  return NULL;
}

const char *op_nearest(Ctx *ctx, const char *name) {
  (void)ctx;
  const char *names[OP_COUNT];
  for (int k = 0; k < OP_COUNT; k++)
    names[k] = op_table[k].name;
  return nearest_word(name, names, OP_COUNT);
}

int op_attr_index(const OpDef *def, const char *name, size_t len) {
  for (int k = 0; k < def->n_attrs; k++)
    if (strlen(def->attrs[k].name) == len && memcmp(def->attrs[k].name, name, len) == 0)
      return k;
  return -1;
}

static const struct {
  char letter;
  const char *words;
} classes[] = {{'f', "floats"}, {'i', "integers"}, {'w', "integers of 32 or 64 bits"}, {'b', "bool"}};
enum { N_CLASSES = sizeof classes / sizeof *classes };

bool op_types_hold(const char *types, DType dtype) {
  size_t n = strcspn(types, ">");
  char letter = dtype_is_float(dtype) ? 'f' : dtype_is_int(dtype) ? 'i' : 'b';
  return memchr(types, letter, n) || (letter == 'i' && dtype_size(dtype) >= 4 && memchr(types, 'w', n));
}

const char *op_types_text(Ctx *ctx, const char *types) {
  int n = (int)strcspn(types, ">"), said = 0;
  Str text = str_new(ctx->arena);
  for (int k = 0; k < N_CLASSES; k++)
    if (memchr(types, classes[k].letter, (size_t)n))
      str_printf(&text, "%s%s", said++ == 0 ? "" : said == n ? " and " : ", ", classes[k].words);
  return text.data;
}

const OperandDef *op_operand(const OpDef *def, int k) {
  return &def->operands[k < def->n_operands ? k : def->n_operands - 1];
}

bool op_is_variadic(const OpDef *def) {
  return def->n_operands > 0 && def->operands[def->n_operands - 1].variadic;
}

uint64_t attr_hash(uint64_t h, const AttrDef *row, const Attr *a) {
  switch (row->kind) {
  case ATTR_FLOAT:
    return hash_bytes(h, &a->f, sizeof a->f);
  case ATTR_INTS:
    return hash_bytes(h, a->ints, (size_t)a->n * sizeof *a->ints);
  case ATTR_TEXT:
    return hash_bytes(h, a->text, strlen(a->text));
  case ATTR_CONSTANT:
    return hash_bytes(h, &a->constant, sizeof(const Constant *));
  default:
    return hash_bytes(h, &a->i, sizeof a->i);
  }
}

bool attr_equal(const AttrDef *row, const Attr *a, const Attr *b) {
  if (a->set != b->set)
    return false;
  switch (row->kind) {
  case ATTR_FLOAT: /* by bits: 0 and -0 differ */
    return memcmp(&a->f, &b->f, sizeof a->f) == 0;
  case ATTR_INTS:
    return a->n == b->n && (a->n == 0 || memcmp(a->ints, b->ints, (size_t)a->n * sizeof *a->ints) == 0);
  case ATTR_TEXT:
    return a->text == b->text;
  case ATTR_CONSTANT:
    return a->constant == b->constant;
  default:
    return a->i == b->i;
  }
}

const char *attr_word(const AttrDef *row, int64_t k, size_t *len) {
  const char *word = row->words;
  for (;; k--) {
    *len = strcspn(word, "|");
    if (k == 0)
      return word;
    if (!word[*len])
      return NULL;
    word += *len + 1;
  }
}

int attr_word_index(const AttrDef *row, const char *word, size_t len) {
  size_t n;
  const char *at;
  for (int k = 0; (at = attr_word(row, k, &n)); k++)
    if (n == len && memcmp(at, word, n) == 0)
      return k;
  return -1;
}

const char *op_roles(Ctx *ctx, const OpDef *def, const char *roles) {
  static const char *const spatial[] = {"", "W", "HW", "DHW"};
  WEFT_ASSERT(def->spatial >= 0 && def->spatial <= 3);
  Str text = str_new(ctx->arena);
  for (const char *c = roles; *c; c++) {
    if (*c == '*')
      str_put(&text, spatial[def->spatial]);
    else
      str_putc(&text, *c);
  }
  return intern_strn(ctx, text.data, text.len);
}
