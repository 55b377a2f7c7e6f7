/* Integer expressions, types, roles and locations of the text form.
 *
 * Expressions are read by recursive descent straight into the constructors of expr.h, whose arguments are outside text
 * here. Before each step expr_fits bounds what the constructor may be given. Recursion is bounded by PARSE_MAX_DEPTH,
 * the length of chains by PARSE_MAX_OPERATORS. */
#include "ir/parse.h"

/* ---- symbols ---- */

uint64_t name_hash(const char *name) {
  return hash_bytes(WEFT_HASH_SEED, &name, sizeof name);
}

static bool symbol_named(const void *item, const void *key) {
  return ((const Expr *)item)->name == key;
}

const Expr *parse_find_symbol(const Parser *p, const char *name) {
  return intern_find(&p->symbols, name_hash(name), symbol_named, name);
}

bool parse_declare_symbol(Parser *p, Word at, const char *name, int64_t lo, int64_t hi, const Expr **out) {
  const Expr *e = expr_sym(p->ctx, name, lo, hi);
  if (e->lo != lo || e->hi != hi)
    return lex_error(&p->lex, at, "symbol '%s' is in %lld..%lld here, but in %lld..%lld in what was read before", name,
                     (long long)lo, (long long)hi, (long long)e->lo, (long long)e->hi);
  intern_add(p->ctx, &p->symbols, name_hash(name), e);
  vec_push(p->ctx->arena, &p->known, name);
  *out = e;
  return true;
}

/* ---- expressions ---- */

typedef const Expr *ExprMake(Ctx *ctx, const Expr *a, const Expr *b);

/* *a = *a (op) b, in so far as expr_fits. */
static bool combine(Parser *p, Word op, ExprKind kind, ExprMake *make, const Expr **a, const Expr *b) {
  if (++p->operators > PARSE_MAX_OPERATORS)
    return lex_error(&p->lex, op, "expected an expression of at most %d operators, found more", PARSE_MAX_OPERATORS);
  if ((kind == EX_DIV || kind == EX_MOD) && b->lo < 1) {
    Str text = str_new(p->ctx->arena);
    expr_print(&text, b);
    return lex_error(&p->lex, op, "expected a positive divisor behind '%s', found %.100s%s",
                     kind == EX_MOD ? "mod" : "div", text.data,
                     expr_is_const(b, NULL) ? "" : ", which is not known to be positive");
  }
  if (!expr_fits(kind, *a, b))
    return lex_error(&p->lex, op,
                     "expected an expression of at most %d terms and %d levels with numbers below %lld, found one that "
                     "grows beyond that here",
                     EXPR_FIT_TERMS, EXPR_FIT_DEPTH, (long long)EXPR_MAX);
  *a = make(p->ctx, *a, b);
  return true;
}

static bool parse_sum(Parser *p, const char *what, const Expr **out);

/* min(a, b) and max(a, b), the word being taken. */
static bool parse_min_max(Parser *p, Word word, const Expr **out) {
  const Expr *b = NULL;
  bool min = word_is(word, "min");
  return lex_expect(&p->lex, "(") && parse_sum(p, "an expression", out) && lex_expect(&p->lex, ",") &&
         parse_sum(p, "an expression", &b) && lex_expect(&p->lex, ")") &&
         combine(p, word, min ? EX_MIN : EX_MAX, min ? expr_min : expr_max, out, b);
}

static bool parse_name(Parser *p, const Expr **out) {
  Word word = lex_take(&p->lex);
  const char *name = lex_name_of(&p->lex, word);
  if (!name)
    return false;
  *out = p->find_variable ? p->find_variable(p->scope, name) : NULL;
  if (!*out)
    *out = parse_find_symbol(p, name);
  if (*out)
    return true;
  if (p->closed) {
    const char *near = nearest_word(name, p->known.data, p->known.len);
    return lex_error(&p->lex, word, "expected a loop variable in scope or a declared symbol, found '%s'%s", name,
                     lex_suggestion(&p->lex, near));
  }
  return parse_declare_symbol(p, word, name, 0, EXPR_MAX, out);
}

static bool parse_factor(Parser *p, const char *what, const Expr **out) {
  Lexer *lex = &p->lex;
  if (lex->word.kind == WORD_INT) {
    int64_t value;
    if (!lex_int(lex, "an integer", 0, EXPR_MAX - 1, &value))
      return false;
    *out = expr_const(p->ctx, value);
    return true;
  }
  if (lex_accept(lex, "("))
    return parse_sum(p, "an expression", out) && lex_expect(lex, ")");
  if (lex_at(lex, "min") || lex_at(lex, "max"))
    return parse_min_max(p, lex_take(lex), out);
  bool name = lex->word.kind == WORD_NAME && !lex_at(lex, "div") && !lex_at(lex, "mod");
  if (name || lex->word.kind == WORD_STRING)
    return parse_name(p, out);
  return lex_expected(lex, what);
}

static bool parse_product(Parser *p, const char *what, const Expr **out) {
  Lexer *lex = &p->lex;
  if (!parse_factor(p, what, out))
    return false;
  while (lex_at(lex, "*") || lex_at(lex, "div") || lex_at(lex, "mod")) {
    Word op = lex_take(lex);
    ExprKind kind = word_is(op, "*") ? EX_PROD : word_is(op, "div") ? EX_DIV : EX_MOD;
    ExprMake *make = kind == EX_PROD ? expr_mul : kind == EX_DIV ? expr_floordiv : expr_mod;
    const Expr *b = NULL;
    if (!parse_factor(p, "a factor", &b) || !combine(p, op, kind, make, out, b))
      return false;
  }
  return true;
}

static bool parse_sum(Parser *p, const char *what, const Expr **out) {
  Lexer *lex = &p->lex;
  if (p->depth == PARSE_MAX_DEPTH)
    return lex_error(lex, lex->word, "expected an expression nested at most %d deep, found a deeper one",
                     PARSE_MAX_DEPTH);
  p->depth++;
  Word sign = lex->word;
  bool negative = lex_accept(lex, "-");
  if (!parse_product(p, negative ? "an expression behind '-'" : what, out))
    return false;
  if (negative) {
    const Expr *zero = expr_const(p->ctx, 0), *e = zero;
    if (!combine(p, sign, EX_SUM, expr_sub, &e, *out))
      return false;
    *out = e;
  }
  while (lex_at(lex, "+") || lex_at(lex, "-")) {
    Word op = lex_take(lex);
    const Expr *b = NULL;
    if (!parse_product(p, "a term", &b) || !combine(p, op, EX_SUM, word_is(op, "+") ? expr_add : expr_sub, out, b))
      return false;
  }
  p->depth--;
  return true;
}

bool parse_expr(Parser *p, const char *what, const Expr **out) {
  p->depth = 0;
  p->operators = 0;
  return parse_sum(p, what, out);
}

/* ---- types ---- */

static bool parse_dtype(Parser *p, DType *out) {
  Lexer *lex = &p->lex;
  if (lex->word.kind != WORD_NAME)
    return lex_expected(lex, "a type such as f32[1,32,8,8]");
  if (dtype_parse(lex->word.start, lex->word.len, out)) {
    lex_take(lex);
    return true;
  }
  const char *names[DT_COUNT];
  for (int k = 0; k < DT_COUNT; k++)
    names[k] = dtype_name((DType)k);
  const char *name = lex_name_of(lex, lex->word);
  return name && lex_error(lex, lex->word, "expected an element type, found '%s'%s", name,
                           lex_suggestion(lex, nearest_word(name, names, DT_COUNT)));
}

static int64_t largest_coefficient(const Expr *e) {
  int64_t most = e->kind == EX_CONST || e->kind == EX_SUM ? e->value : 0;
  for (int k = 0; e->kind == EX_SUM && k < e->n; k++)
    most = e->terms[k].coef > most ? e->terms[k].coef : most;
  return most;
}

static bool parse_dims(Parser *p, Dim *dims, int *rank) {
  Lexer *lex = &p->lex;
  *rank = 0;
  Dim elements = expr_const(p->ctx, 1);
  if (!lex_expect(lex, "["))
    return false;
  if (lex_accept(lex, "]"))
    return true;
  do {
    Word at = lex->word;
    if (*rank == WEFT_MAX_RANK)
      return lex_error(lex, at, "expected at most %d dimensions, found more", WEFT_MAX_RANK);
    if (!parse_expr(p, "a dimension", &dims[*rank]))
      return false;
    if (dims[*rank]->lo < 0)
      return lex_error(lex, at, "expected a dimension of at least 0, found one that may be %lld",
                       (long long)dims[*rank]->lo);
    /* Sizes multiply the dimensions out, and by the bytes of an element. */
    if (!expr_fits(EX_PROD, elements, dims[*rank]))
      return lex_error(lex, at, "expected dimensions whose product has at most %d terms, found more", EXPR_FIT_TERMS);
    elements = expr_mul(p->ctx, elements, dims[*rank]);
    if (largest_coefficient(elements) > WEFT_MAX_ELEMENTS)
      return lex_error(lex, at, "expected a type of at most %lld elements, found a larger one",
                       (long long)WEFT_MAX_ELEMENTS);
    ++*rank;
  } while (lex_accept(lex, ","));
  return lex_expect(lex, "]");
}

bool parse_type(Parser *p, const Type **out) {
  Lexer *lex = &p->lex;
  Word at = lex->word, tag;
  DType dtype;
  Dim dims[WEFT_MAX_RANK];
  int rank;
  if (!parse_dtype(p, &dtype) || !parse_dims(p, dims, &rank))
    return false;
  const Layout *layout = layout_row_major(p->ctx, rank);
  /* A '@' that begins no name is a word of its own kind to the lexer, but may begin a tag such as @8aA. */
  if (lex->word.len && *lex->word.start == '@') {
    if (!lex_tag(lex, &tag))
      return false;
    const char *why = NULL;
    layout = layout_parse(p->ctx, rank, tag.start, tag.len, &why);
    if (!layout)
      return lex_error(lex, tag, "expected a layout of rank %d, found '%.*s': %s", rank,
                       (int)(tag.len > 60 ? 60 : tag.len), tag.start, why);
  }
  *out = type_get(p->ctx, dtype, rank, dims, layout);
  return *out || lex_error(lex, at, "expected a type of at most %lld elements, padding included, found a larger one",
                           (long long)WEFT_MAX_ELEMENTS);
}

/* ---- what may follow ---- */

bool roles_fit(const char *roles, int rank) {
  if (strnlen(roles, WEFT_MAX_RANK + 1) != (size_t)rank)
    return false;
  for (int k = 0; k < rank; k++)
    if (roles[k] < 'A' || roles[k] > 'Z' || memchr(roles, roles[k], (size_t)k))
      return false;
  return true;
}

bool parse_roles(Parser *p, const Type *type, const char **roles) {
  Lexer *lex = &p->lex;
  *roles = NULL;
  if (!lex_accept(lex, "as"))
    return true;
  Word at = lex->word;
  *roles = lex_string(lex, "the letters of the axes, such as \"NCHW\"");
  if (!*roles)
    return false;
  return roles_fit(*roles, type->rank) ||
         lex_error(lex, at, "expected one capital letter for each of %d axes, all different, found '%.40s'", type->rank,
                   *roles);
}

bool parse_loc(Parser *p, Loc *loc) {
  Lexer *lex = &p->lex;
  if (!lex_accept(lex, "loc"))
    return true;
  int64_t line = 0, col = 0;
  if (!lex_expect(lex, "("))
    return false;
  const char *file = lex_string(lex, "a file name in quotes"), *node = NULL;
  if (!file)
    return false;
  if (lex_accept(lex, ":") && (!lex_int(lex, "a line number", 1, INT32_MAX, &line) || !lex_expect(lex, ":") ||
                               !lex_int(lex, "a column", 0, INT32_MAX, &col)))
    return false;
  if (lex->word.kind == WORD_STRING && !(node = lex_string(lex, "a node's name")))
    return false;
  *loc = (Loc){*file ? file : NULL, (int)line, (int)col, node && *node ? node : NULL};
  return lex_expect(lex, ")");
}
