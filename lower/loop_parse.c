/* The parser of loop nests in the text form: docs/grammar.md, section Loop nests. It reads what can be built; whether
 * the nests mean something (bounds, kinds of loops) is for loops_check to say. */
#include "lower/loop_parse.h"

#define MAX_BUFFERS 16384
#define MAX_NESTS 16384
#define MAX_LOCAL_BYTES (1 << 20)

static const Expr *find_variable(void *scope, const char *name) {
  const LoopParser *lp = scope;
  for (size_t k = lp->variables.len; k-- > 0;)
    if (lp->variables.data[k]->name == name)
      return lp->variables.data[k];
  return NULL;
}

/* ---- statements ---- */

static Access *copy_args(LoopParser *lp) {
  Access *args = ARENA_ARRAY(lp->p.ctx->arena, Access, lp->args.len);
  for (size_t k = 0; k < lp->args.len; k++)
    args[k] = lp->args.data[k]->access;
  return args;
}

/* A store whose target's name has been taken. */
static bool parse_store(LoopParser *lp, Word at, Stmt **out) {
  Ctx *ctx = lp->p.ctx;
  Lexer *lex = &lp->p.lex;
  Access target;
  if (!loop_parse_access(lp, at, &target) || !lex_expect(lex, "="))
    return false;
  const char *of = arena_printf(ctx->arena, "'%s'", target.buffer->name);
  const Scalar *value = loop_parse_value(lp, access_dtype(target), of);
  if (value)
    *out = stmt_store(ctx, target, value, copy_args(lp), (int)lp->args.len);
  return value;
}

static bool parse_local(LoopParser *lp, Stmt **out) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  Word at = lex->word;
  const char *name = lex_variable(lex, "the name of a local");
  const Type *type;
  if (!name || !lex_expect(lex, ":"))
    return false;
  Word type_at = lex->word;
  if (!parse_type(p, &type))
    return false;
  int64_t shape[WEFT_MAX_RANK] = {0};
  if (!type_shape(type, shape) || !layout_is_row_major(type->layout) || type_bytes(type) > MAX_LOCAL_BYTES)
    return lex_error(lex, type_at, "expected a row-major local of constant shape and at most %d bytes, found %s",
                     MAX_LOCAL_BYTES, type_text(p->ctx, type));
  if (loop_find_local(lp, name))
    return lex_error(lex, at, "expected a name that no other local of the nest has, found '%s' again", name);
  LoopLocal *local = ARENA_NEW(p->ctx->arena, LoopLocal);
  *local = (LoopLocal){local_buffer(p->ctx, name, type->dtype, type->rank, shape), true};
  intern_add(p->ctx, &lp->locals, name_hash(name), local);
  vec_push(p->ctx->arena, &lp->local_stack, local);
  *out = stmt_local(p->ctx, local->buffer);
  return true;
}

static bool parse_block(LoopParser *lp, Stmt **out);

/* "NAME in LO..HI": a variable that is not yet in scope. `what` it is of, as a noun. NULL after reporting. */
static const Expr *parse_range(LoopParser *lp, const char *what) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  Word at = lex->word;
  const char *name = lex_variable(lex, arena_printf(p->ctx->arena, "the name of %s variable", what));
  const Expr *lo, *hi;
  if (!name || !lex_expect(lex, "in") ||
      !parse_expr(p, arena_printf(p->ctx->arena, "the lower bound of %s", what), &lo) || !lex_expect(lex, "..") ||
      !parse_expr(p, arena_printf(p->ctx->arena, "the upper bound of %s", what), &hi))
    return NULL;
  if (find_variable(lp, name) || parse_find_symbol(p, name)) {
    lex_error(lex, at, "expected a name that no variable in scope and no symbol has, found '%s' again", name);
    return NULL;
  }
  if (lp->variables.len == LOOP_MAX_DEPTH) {
    lex_error(lex, at, "expected at most %d variables in scope, found more", LOOP_MAX_DEPTH);
    return NULL;
  }
  return expr_var(p->ctx, name, lo, hi);
}

static void open_variable(LoopParser *lp, const Expr *var) {
  vec_push(lp->p.ctx->arena, &lp->variables, var);
  vec_push(lp->p.ctx->arena, &lp->p.known, var->name);
}

static void close_variable(LoopParser *lp) {
  lp->variables.len--;
  lp->p.known.len--;
}

/* A loop whose kind has been taken. */
static bool parse_loop(LoopParser *lp, LoopKind kind, Stmt **out) {
  const Expr *var = parse_range(lp, "a loop");
  Stmt *body;
  if (!var)
    return false;
  open_variable(lp, var);
  if (!parse_block(lp, &body))
    return false;
  close_variable(lp);
  *out = stmt_loop(lp->p.ctx, kind, var, body);
  return true;
}

/* An index statement whose key word has been taken. Its variable stays in scope until the block ends. */
static bool parse_index(LoopParser *lp, Stmt **out) {
  Ctx *ctx = lp->p.ctx;
  const Expr *var = parse_range(lp, "an index");
  if (!var || !lex_expect(&lp->p.lex, "="))
    return false;
  const Scalar *value = loop_parse_value(lp, DT_I64, arena_printf(ctx->arena, "the index '%s'", var->name));
  if (!value)
    return false;
  *out = stmt_index(ctx, var, value, copy_args(lp), (int)lp->args.len);
  open_variable(lp, var);
  return true;
}

static bool parse_stmt(LoopParser *lp, Stmt **out) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  Word at = lex->word;
  if (at.kind != WORD_NAME && at.kind != WORD_VALUE && at.kind != WORD_STRING)
    return lex_expected(lex, "a loop, 'local', 'index', a store or '}'");
  lex_take(lex);
  /* A local may have the name of a key word: what follows tells. */
  if (at.kind != WORD_NAME || lex_at(lex, "["))
    return parse_store(lp, at, out);
  if (word_is(at, "local"))
    return parse_local(lp, out);
  if (word_is(at, "index"))
    return parse_index(lp, out);
  for (int k = 0; k < LOOP_KINDS; k++)
    if (word_is(at, loop_kind_names[k]))
      return parse_loop(lp, (LoopKind)k, out);
  const char *known[LOOP_KINDS + 2], *name = lex_name_of(lex, at);
  memcpy(known, loop_kind_names, sizeof loop_kind_names);
  known[LOOP_KINDS] = "local";
  known[LOOP_KINDS + 1] = "index";
  return name && lex_error(lex, at, "expected a loop, 'local', 'index' or a store, found '%s'%s", name,
                           lex_suggestion(lex, nearest_word(name, known, LOOP_KINDS + 2)));
}

/* "{" { stmt } "}" */
static bool parse_block(LoopParser *lp, Stmt **out) {
  Lexer *lex = &lp->p.lex;
  size_t outer = lp->local_stack.len, variables = lp->variables.len;
  Stmt *first = NULL, *last = NULL;
  if (!lex_expect(lex, "{"))
    return false;
  while (!lex_accept(lex, "}")) {
    Stmt *s = NULL;
    if (!parse_stmt(lp, &s))
      return false;
    if (last)
      last->next = s;
    else
      first = s;
    last = s;
  }
  while (lp->local_stack.len > outer)
    lp->local_stack.data[--lp->local_stack.len]->visible = false;
  while (lp->variables.len > variables)
    close_variable(lp);
  *out = first;
  return true;
}

static bool parse_nest(LoopParser *lp) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  Word at = lex_take(lex), name_at = lex->word;
  Loc loc = lex_loc(lex, at);
  const char *name = lex_symbol(lex, "the name of a nest, such as @up");
  const char *what = name ? lex_string(lex, "a string: the ops that the nest computes") : NULL;
  Stmt *body;
  if (!what || !parse_loc(p, &loc))
    return false;
  if (++lp->n_nests > MAX_NESTS)
    return lex_error(lex, at, "expected at most %d nests, found more", MAX_NESTS);
  lp->locals = (Intern){0};
  lp->local_stack.len = 0;
  Nest *nest = loops_add_nest(lp->program, name, what, loc);
  if (nest->name != name)
    return lex_error(lex, name_at, "expected a name that no other nest has, found '@%s' again", name);
  if (!parse_block(lp, &body))
    return false;
  nest->body = body;
  return true;
}

/* ---- buffers ---- */

/* The number of an input or output, and its letters. */
static bool parse_port(LoopParser *lp, const char *what, size_t number, const Type *type, const char **roles) {
  Lexer *lex = &lp->p.lex;
  Word at = lex->word;
  int64_t given;
  if (!lex_int(lex, arena_printf(lp->p.ctx->arena, "the number of the %s", what), 0, MAX_BUFFERS, &given))
    return false;
  if (given != (int64_t)number)
    return lex_error(lex, at, "expected %s %zu next, found %lld", what, number, (long long)given);
  return parse_roles(&lp->p, type, roles);
}

/* An output of the program as a result of `ports`: a value of this name and type that no op defines. */
static void add_output_port(LoopParser *lp, const char *name, const Type *type, const char *roles, Loc loc) {
  Value *v = ARENA_NEW(lp->p.ctx->arena, Value);
  *v = (Value){.id = lp->ports->n_values++, .name = name, .type = type, .loc = loc};
  function_add_result(lp->p.module, lp->ports, name, v, type, roles, loc);
}

static bool parse_arena_offset(LoopParser *lp, Dim *offset) {
  Lexer *lex = &lp->p.lex;
  *offset = NULL;
  if (lex->word.kind != WORD_INT && !lex_at(lex, "("))
    return true;
  bool parenthesized = lex_accept(lex, "(");
  int64_t value;
  if (parenthesized)
    return parse_expr(&lp->p, "an offset in bytes", offset) && lex_expect(lex, ")");
  if (!lex_int(lex, "an offset in bytes", 0, EXPR_MAX - 1, &value))
    return false;
  *offset = expr_const(lp->p.ctx, value);
  return true;
}

static bool parse_space(LoopParser *lp, const char *name, const Type *type, Loc loc, Buffer **out) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  Word at = lex->word;
  const char *roles;
  Constant *constant;
  Dim offset;
  if (lex_accept(lex, "input")) {
    if (!parse_port(lp, "input", lp->program->inputs.len, type, &roles))
      return false;
    function_add_param(p->module, lp->ports, name, type, roles, loc);
    *out = loops_add_buffer(lp->program, name, type, BUF_INPUT, NULL);
    return true;
  }
  if (lex_accept(lex, "output")) {
    if (!parse_port(lp, "output", lp->program->outputs.len, type, &roles))
      return false;
    add_output_port(lp, name, type, roles, loc);
    *out = loops_add_buffer(lp->program, name, type, BUF_OUTPUT, NULL);
    return true;
  }
  if (lex_accept(lex, "constant")) {
    if (!parse_constant_ref(p, &constant))
      return false;
    *out = loops_add_buffer(lp->program, name, type, BUF_CONSTANT, constant);
    return constant->type == type ||
           lex_error(lex, at, "expected a buffer of the type of @%s, %s, found %s", constant->name,
                     type_text(p->ctx, constant->type), type_text(p->ctx, type));
  }
  if (lex_accept(lex, "arena")) {
    if (!parse_arena_offset(lp, &offset))
      return false;
    *out = loops_add_buffer(lp->program, name, type, BUF_ARENA, NULL);
    (*out)->offset = offset;
    return true;
  }
  return lex_expected(lex, "'input', 'output', 'constant' or 'arena'");
}

static bool parse_buffer(LoopParser *lp) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  lex_take(lex);
  Word at = lex->word;
  const char *name = lex_value(lex, "the name of a buffer, such as %x");
  const Type *type;
  Buffer *b = NULL;
  if (!name || !lex_expect(lex, ":"))
    return false;
  p->closed = false;
  if (!parse_type(p, &type))
    return false;
  p->closed = true;
  if (loop_find_buffer(lp, name))
    return lex_error(lex, at, "expected a name that no other buffer has, found '%%%s' again", name);
  if (++lp->n_buffers > MAX_BUFFERS)
    return lex_error(lex, at, "expected at most %d buffers, found more", MAX_BUFFERS);
  if (!parse_space(lp, name, type, lex_loc(lex, at), &b))
    return false;
  intern_add(p->ctx, &lp->buffers, name_hash(name), b);
  return true;
}

/* ---- programs ---- */

static bool parse_program(LoopParser *lp) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  if (lex_at(lex, "func"))
    return lex_expected(lex, "'loops' (this text holds a graph)");
  if (!lex_at(lex, "loops"))
    return lex_expected(lex, "'dim', 'const' or 'loops'");
  lex_take(lex);
  const char *name = lex_symbol(lex, "the program's name, such as @main");
  if (!name || !lex_expect(lex, "{"))
    return false;
  lp->program = loops_create(p->ctx, p->module, name);
  lp->ports = p->module->main = function_create(p->module, name);
  p->find_variable = find_variable;
  p->scope = lp;
  p->closed = true;
  while (lex_at(lex, "buffer"))
    if (!parse_buffer(lp))
      return false;
  if (lex_accept(lex, "arena") && !parse_expr(p, "the bytes of the arena", &lp->program->arena_bytes))
    return false;
  while (lex_at(lex, "nest"))
    if (!parse_nest(lp))
      return false;
  if (!lex_at(lex, "}"))
    return lex_expected(lex, lp->n_nests ? "'nest' or '}'" : "'buffer', 'arena', 'nest' or '}'");
  lex_take(lex);
  return lex->word.kind == WORD_END || lex_expected(lex, "the end of the text");
}

LoopProgram *loops_parse(Ctx *ctx, const char *file, const char *text, size_t len) {
  LoopParser lp = {.nesting = 0};
  return parse_start(&lp.p, ctx, file, text, len, NULL, NULL) && parse_program(&lp) ? lp.program : NULL;
}
