/* The parser of graphs in the text form, and the preamble that it shares with the parser of loop nests.
 *
 * One pass, one word of lookahead, the module built along: a value or constant stands before its uses. Each op goes
 * through op_finish, so that an op that is there agrees with its row; module_verify holds the rules between ops. */
#include "ir/parse.h"

/* ---- preamble ---- */

static bool parse_symdecl(Parser *p) {
  Lexer *lex = &p->lex;
  lex_take(lex);
  Word at = lex->word;
  int64_t lo, hi;
  const char *name = lex_variable(lex, "the name of a symbolic dimension");
  if (!name || !lex_expect(lex, "in") || !lex_int(lex, "a lower bound", EXPR_MIN, EXPR_MAX, &lo) ||
      !lex_expect(lex, ".."))
    return false;
  if (!lex_int(lex, "an upper bound, not below the lower one,", lo, EXPR_MAX, &hi))
    return false;
  const Expr *e;
  if (parse_find_symbol(p, name))
    return lex_error(lex, at, "expected a symbol that is not declared yet, found '%s' again", name);
  return parse_declare_symbol(p, at, name, lo, hi, &e);
}

bool parse_start(Parser *p, Ctx *ctx, const char *file, const char *text, size_t len, TensorLoader *loader, void *env) {
  *p = (Parser){.ctx = ctx, .loader = loader, .loader_env = env};
  p->constant_bytes_max = ((size_t)64 << 20) + 64 * len;
  Lexer *lex = &p->lex;
  if (!lex_init(lex, ctx, file, text, len) || !lex_expect(lex, "weft"))
    return false;
  Word at = lex->word;
  int64_t version;
  if (!lex_int(lex, "the version of the text form", 0, INT32_MAX, &version))
    return false;
  if (version != 1)
    return lex_error(lex, at, "expected version 1 of the text form, found version %d", (int)version);
  if (!lex_expect(lex, "model"))
    return false;
  const char *name = lex_string(lex, "the model's name in quotes");
  if (!name)
    return false;
  p->module = module_create(ctx, lex->file, name);
  while (lex_at(lex, "dim"))
    if (!parse_symdecl(p))
      return false;
  while (lex_at(lex, "const"))
    if (!parse_constant(p))
      return false;
  return true;
}

bool text_is_loops(Ctx *ctx, const char *text, size_t len) {
  Lexer lex;
  if (len > LEX_MAX_TEXT || !lex_init(&lex, ctx, NULL, text, len))
    return false;
  for (Word word = lex_take(&lex); word.kind != WORD_END && word.kind != WORD_BAD; word = lex_take(&lex)) {
    if (word_is(word, "dim"))
      lex_take(&lex); /* a symbol may have any name */
    else if (word_is(word, "func") || word_is(word, "loops"))
      return word_is(word, "loops");
  }
  return false;
}

/* ---- values ---- */

typedef struct {
  Parser *p;
  Function *f;
  Intern values;
  VEC(FuncResult) results; /* as declared; without a value */
} GraphParser;

static bool value_named(const void *item, const void *key) {
  return ((const Value *)item)->name == key;
}

static Value *find_value(const GraphParser *g, const char *name) {
  /* The table holds what this parser may change through the function's list anyway. */
  return (Value *)(uintptr_t)intern_find(&g->values, name_hash(name), value_named, name);
}

static void note_value(GraphParser *g, Value *v) {
  intern_add(g->p->ctx, &g->values, name_hash(v->name), v);
}

static const char *nearest_value(const GraphParser *g, const char *name) {
  VEC(const char *) names = {0};
  for (size_t k = 0; k < g->f->params.len; k++)
    vec_push(g->p->ctx->arena, &names, g->f->params.data[k]->name);
  for (const Op *op = g->f->first; op; op = op->next)
    vec_push(g->p->ctx->arena, &names, op->result->name);
  return nearest_word(name, names.data, names.len);
}

/* A value that has been defined. */
static bool parse_use(GraphParser *g, const char *what, Value **out) {
  Lexer *lex = &g->p->lex;
  Word at = lex->word;
  const char *name = lex_value(lex, what);
  if (!name)
    return false;
  *out = find_value(g, name);
  return *out || lex_error(lex, at, "expected a value that is defined before, found unknown '%%%s'%s", name,
                           lex_suggestion(lex, nearest_value(g, name)));
}

/* The name of a value to be defined. */
static const char *parse_definition(GraphParser *g, const char *what) {
  Lexer *lex = &g->p->lex;
  Word at = lex->word;
  const char *name = lex_value(lex, what);
  if (!name || !find_value(g, name))
    return name;
  lex_error(lex, at, "expected a name that no other value has, found '%%%s' again", name);
  return NULL;
}

/* ---- the head of a function ---- */

static bool parse_param(GraphParser *g) {
  Parser *p = g->p;
  Loc loc = lex_loc(&p->lex, p->lex.word);
  const Type *type;
  const char *roles, *name = parse_definition(g, "a parameter such as %x");
  if (!name || !lex_expect(&p->lex, ":") || !parse_type(p, &type) || !parse_roles(p, type, &roles) ||
      !parse_loc(p, &loc))
    return false;
  note_value(g, function_add_param(p->module, g->f, name, type, roles, loc));
  return true;
}

static bool parse_result(GraphParser *g) {
  Parser *p = g->p;
  Lexer *lex = &p->lex;
  Word at = lex->word;
  FuncResult r = {.name = lex_bare_name(lex, "the name of a result"), .loc = lex_loc(lex, at)};
  if (!r.name || !lex_expect(lex, ":") || !parse_type(p, &r.type) || !parse_roles(p, r.type, &r.roles))
    return false;
  vec_push(p->ctx->arena, &g->results, r);
  return true;
}

/* "(" [ item { "," item } ] ")" */
static bool parse_parenthesized(GraphParser *g, bool (*item)(GraphParser *g)) {
  Lexer *lex = &g->p->lex;
  if (!lex_expect(lex, "("))
    return false;
  if (lex_accept(lex, ")"))
    return true;
  do {
    if (!item(g))
      return false;
  } while (lex_accept(lex, ","));
  return lex_at(lex, ")") ? lex_accept(lex, ")") : lex_expected(lex, "',' or ')'");
}

/* ---- ops ---- */

static bool parse_opdef(Parser *p, const OpDef **def) {
  Lexer *lex = &p->lex;
  if (lex->word.kind != WORD_NAME)
    return lex_expected(lex, "the name of an op");
  *def = op_find(lex->word.start, lex->word.len);
  if (!*def) {
    const char *name = lex_name_of(lex, lex->word);
    return name && lex_error(lex, lex->word, "expected the name of an op, found unknown '%s'%s", name,
                             lex_suggestion(lex, op_nearest(p->ctx, name)));
  }
  lex_take(lex);
  return true;
}

typedef VEC(Value *) Operands;

static bool parse_operands(GraphParser *g, const OpDef *def, Operands *operands) {
  Lexer *lex = &g->p->lex;
  if (!lex_expect(lex, "("))
    return false;
  if (lex_accept(lex, ")"))
    return true;
  do {
    if ((int)operands->len == def->n_operands && !op_is_variadic(def))
      return lex_error(lex, lex->word, "expected at most %d operand%s of %s, found more", def->n_operands,
                       def->n_operands == 1 ? "" : "s", def->name);
    Value *v = NULL;
    if (!lex_accept(lex, "null") && !parse_use(g, "an operand: a value such as %x, or null", &v))
      return false;
    vec_push(g->p->ctx->arena, operands, v);
  } while (lex_accept(lex, ","));
  return lex_at(lex, ")") ? lex_accept(lex, ")") : lex_expected(lex, "',' or ')'");
}

/* An attribute's list may be as long as any row can want. */
#define MAX_INTS (4 * WEFT_MAX_RANK)

static bool parse_int_list(Parser *p, int64_t *ints, int *n) {
  Lexer *lex = &p->lex;
  *n = 0;
  if (!lex_expect(lex, "["))
    return false;
  if (lex_accept(lex, "]"))
    return true;
  do {
    if (*n == MAX_INTS)
      return lex_error(lex, lex->word, "expected at most %d integers, found more", MAX_INTS);
    if (!lex_int(lex, "an integer", INT64_MIN, INT64_MAX, &ints[(*n)++]))
      return false;
  } while (lex_accept(lex, ","));
  return lex_at(lex, "]") ? lex_accept(lex, "]") : lex_expected(lex, "',' or ']'");
}

static bool parse_attr_word(Lexer *lex, Op *op, const AttrDef *def) {
  const char *expected = arena_printf(lex->ctx->arena, "one of %s", def->words);
  if (lex->word.kind != WORD_NAME)
    return lex_expected(lex, expected);
  int index = attr_word_index(def, lex->word.start, lex->word.len);
  if (index < 0)
    return lex_expected(lex, expected);
  op_set_word(op, def->name, index);
  lex_take(lex);
  return true;
}

static bool parse_attr_dtype(Lexer *lex, Op *op, const AttrDef *def) {
  DType dtype;
  if (lex->word.kind != WORD_NAME || !dtype_parse(lex->word.start, lex->word.len, &dtype))
    return lex_expected(lex, "an element type such as f32");
  op_set_dtype(op, def->name, dtype);
  lex_take(lex);
  return true;
}

static bool parse_attr_value(Parser *p, Op *op, int index) {
  Lexer *lex = &p->lex;
  const AttrDef *def = &op->def->attrs[index];
  int64_t i, ints[MAX_INTS];
  double f;
  int n;
  const char *text;
  Constant *constant;
  switch (def->kind) {
  case ATTR_INT:
    if (!lex_int(lex, "an integer", INT64_MIN, INT64_MAX, &i))
      return false;
    op_set_int(op, def->name, i);
    return true;
  case ATTR_FLOAT:
    if (!lex_number(lex, "a number", false, &f))
      return false;
    op_set_float(op, def->name, f);
    return true;
  case ATTR_INTS:
    if (!parse_int_list(p, ints, &n))
      return false;
    op_set_ints(p->ctx, op, def->name, ints, n);
    return true;
  case ATTR_WORD:
    return parse_attr_word(lex, op, def);
  case ATTR_DTYPE:
    return parse_attr_dtype(lex, op, def);
  case ATTR_TEXT:
    if (!(text = lex_string(lex, "a text in quotes")))
      return false;
    op_set_text(p->ctx, op, def->name, text);
    return true;
  case ATTR_CONSTANT:
    if (!parse_constant_ref(p, &constant))
      return false;
    op_set_constant(op, def->name, constant);
    return true;
  }
  WEFT_UNREACHABLE();
}

static bool parse_attrs(Parser *p, Op *op) {
  Lexer *lex = &p->lex;
  bool given[OP_MAX_ATTRS] = {false};
  if (!lex_accept(lex, "{"))
    return true;
  do {
    Word at = lex->word;
    if (at.kind != WORD_NAME)
      return lex_expected(lex, "the name of an attribute");
    int index = op_attr_index(op->def, at.start, at.len);
    if (index < 0) {
      const char *known[OP_MAX_ATTRS], *name = lex_name_of(lex, at);
      for (int k = 0; k < op->def->n_attrs; k++)
        known[k] = op->def->attrs[k].name;
      const char *near = name ? nearest_word(name, known, (size_t)op->def->n_attrs) : NULL;
      return lex_error(lex, at, "expected an attribute of %s, found unknown '%s'%s", op->def->name, name ? name : "",
                       lex_suggestion(lex, near));
    }
    if (given[index])
      return lex_error(lex, at, "expected each attribute once, found '%s' again", op->def->attrs[index].name);
    given[index] = true;
    lex_take(lex);
    if (!lex_expect(lex, "=") || !parse_attr_value(p, op, index))
      return false;
  } while (lex_accept(lex, ","));
  return lex_at(lex, "}") ? lex_accept(lex, "}") : lex_expected(lex, "',' or '}'");
}

static bool parse_op(GraphParser *g) {
  Parser *p = g->p;
  Lexer *lex = &p->lex;
  Word at = lex->word;
  const char *name = parse_definition(g, "an op such as '%y = relu(%x) : f32[8]', or 'return'");
  const OpDef *def = NULL;
  Operands operands = {0};
  Value *fused = NULL;
  const Type *type;
  if (!name || !lex_expect(lex, "=") || !parse_opdef(p, &def))
    return false;
  if (lex_accept(lex, "fused") && (!lex_expect(lex, "(") || !parse_use(g, "a value", &fused) || !lex_expect(lex, ")")))
    return false;
  if (!parse_operands(g, def, &operands))
    return false;
  Loc here = lex_loc(lex, at);
  Op *op = op_create(p->ctx, def, operands.data, (int)operands.len, here);
  if (!parse_attrs(p, op) || !lex_expect(lex, ":") || !parse_type(p, &type) || !parse_loc(p, &op->loc))
    return false;
  op->fused = fused;
  Value *v = op_finish(p->module, g->f, op, NULL, name, type);
  if (!v) {
    lex->failed = true; /* op_finish has reported, at the op's own place */
    if (op->loc.file != here.file)
      diag_note(p->ctx->diags, here, "the op stands here in the text form");
    return false;
  }
  note_value(g, v);
  return true;
}

static bool parse_return(GraphParser *g) {
  Parser *p = g->p;
  Lexer *lex = &p->lex;
  Word at = lex_take(lex);
  size_t n = 0;
  if (lex->word.kind == WORD_VALUE) {
    do {
      Value *v;
      if (!parse_use(g, "a value", &v))
        return false;
      if (n < g->results.len) {
        const FuncResult *r = &g->results.data[n];
        function_add_result(p->module, g->f, r->name, v, r->type, r->roles, r->loc);
      }
      n++;
    } while (lex_accept(lex, ","));
  }
  return n == g->results.len || lex_error(lex, at, "expected %zu value%s to be returned, found %zu", g->results.len,
                                          g->results.len == 1 ? "" : "s", n);
}

static bool parse_function(GraphParser *g) {
  Parser *p = g->p;
  Lexer *lex = &p->lex;
  if (lex_at(lex, "loops"))
    return lex_expected(lex, "'func' (this text holds loop nests)");
  if (!lex_at(lex, "func"))
    return lex_expected(lex, "'dim', 'const' or 'func'");
  lex_take(lex);
  const char *name = lex_symbol(lex, "the function's name, such as @main");
  if (!name)
    return false;
  g->f = function_create(p->module, name);
  p->module->main = g->f;
  if (!parse_parenthesized(g, parse_param) || !lex_expect(lex, "->") || !parse_parenthesized(g, parse_result) ||
      !lex_expect(lex, "{"))
    return false;
  while (!lex_at(lex, "return"))
    if (!parse_op(g))
      return false;
  return parse_return(g) && lex_expect(lex, "}") &&
         (lex->word.kind == WORD_END || lex_expected(lex, "the end of the text"));
}

Module *module_parse(Ctx *ctx, const char *file, const char *text, size_t len, TensorLoader *loader, void *env) {
  Parser p;
  GraphParser g = {.p = &p};
  return parse_start(&p, ctx, file, text, len, loader, env) && parse_function(&g) ? p.module : NULL;
}
