/* The parser of loop nests in the text form: docs/grammar.md, section Loop nests. It reads what can be built; whether
 * the nests mean something (bounds, kinds of loops) is for loops_check to say.
 *
 * Names: buffers in a table of the program, locals in one of their nest with a mark for being in scope, loop variables
 * on a stack of at most LOOP_MAX_DEPTH. Equal accesses of a store share one argument. */
#include "ir/parse.h"
#include "lower/loop.h"

#define MAX_BUFFERS 16384
#define MAX_NESTS 16384
#define MAX_LOCAL_BYTES (1 << 20)
#define MAX_NESTING 1000 /* of parentheses and calls in a scalar expression */
#define FEW_ARGS 16      /* more arguments of a store are looked up in a table */

typedef struct {
  Buffer *buffer;
  bool visible;
} Local;

typedef struct {
  Access access;
  int number;
} Arg;

typedef struct {
  Parser p;
  Function *ports; /* names and roles of inputs and outputs */
  LoopProgram *program;
  int n_buffers, n_nests;
  Intern buffers;
  VEC(const Expr *) variables; /* in scope, the innermost last */
  Intern locals;               /* of this nest */
  VEC(Local *) local_stack;    /* in scope */
  VEC(Arg *) args;             /* of this store */
  Intern arg_table;            /* the same, once there are more than FEW_ARGS */
  int nesting;
} LoopParser;

/* ---- names ---- */

static bool buffer_named(const void *item, const void *key) {
  return ((const Buffer *)item)->name == key;
}

static bool local_named(const void *item, const void *key) {
  return ((const Local *)item)->buffer->name == key;
}

static const Expr *find_variable(void *scope, const char *name) {
  const LoopParser *lp = scope;
  for (size_t k = lp->variables.len; k-- > 0;)
    if (lp->variables.data[k]->name == name)
      return lp->variables.data[k];
  return NULL;
}

static const char *nearest_buffer(const LoopParser *lp, const char *name) {
  VEC(const char *) names = {0};
  const LoopProgram *p = lp->program;
  for (size_t k = 0; k < p->inputs.len; k++)
    vec_push(p->ctx->arena, &names, p->inputs.data[k]->name);
  for (size_t k = 0; k < p->outputs.len; k++)
    vec_push(p->ctx->arena, &names, p->outputs.data[k]->name);
  for (size_t k = 0; k < p->constants.len; k++)
    vec_push(p->ctx->arena, &names, p->constants.data[k]->name);
  for (size_t k = 0; k < p->arena.len; k++)
    vec_push(p->ctx->arena, &names, p->arena.data[k]->name);
  return nearest_word(name, names.data, names.len);
}

static const char *nearest_local(const LoopParser *lp, const char *name) {
  VEC(const char *) names = {0};
  for (size_t k = 0; k < lp->local_stack.len; k++)
    vec_push(lp->p.ctx->arena, &names, lp->local_stack.data[k]->buffer->name);
  return nearest_word(name, names.data, names.len);
}

/* ---- accesses ---- */

/* The indices behind '['. `at` is the buffer's name. */
static bool parse_indices(LoopParser *lp, Word at, Access *a) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  const Expr *index[WEFT_MAX_DIGITS];
  int n = 0, want = a->buffer->type->layout->n;
  if (!lex_accept(lex, "]")) {
    do {
      if (n == want)
        return lex_error(lex, lex->word, "expected %d ind%s of '%s', which is %s, found more", want,
                         want == 1 ? "ex" : "ices", a->buffer->name, type_text(p->ctx, a->buffer->type));
      if (!parse_expr(p, "an index", &index[n++]))
        return false;
    } while (lex_accept(lex, ","));
    if (!lex_at(lex, "]"))
      return lex_expected(lex, "',' or ']'");
    lex_take(lex);
  }
  if (n != want)
    return lex_error(lex, at, "expected %d ind%s of '%s', which is %s, found %d", want, want == 1 ? "ex" : "ices",
                     a->buffer->name, type_text(p->ctx, a->buffer->type), n);
  a->index = ARENA_ARRAY(p->ctx->arena, const Expr *, n);
  memcpy(a->index, index, (size_t)n * sizeof *index);
  return true;
}

/* An access whose name has been taken, '[' being ahead. */
static bool parse_access(LoopParser *lp, Word at, Access *a) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  const char *name = lex_name_of(lex, at);
  if (!name)
    return false;
  if (at.kind == WORD_VALUE) {
    /* The tables hold what this parser has made and may change. */
    a->buffer = (Buffer *)(uintptr_t)intern_find(&lp->buffers, name_hash(name), buffer_named, name);
    if (!a->buffer)
      return lex_error(lex, at, "expected a buffer of the program, found unknown '%%%s'%s", name,
                       lex_suggestion(lex, nearest_buffer(lp, name)));
  } else {
    const Local *local = intern_find(&lp->locals, name_hash(name), local_named, name);
    if (!local || !local->visible)
      return lex_error(lex, at, "expected a local in scope, found %s '%s'%s", local ? "an ended one," : "unknown", name,
                       lex_suggestion(lex, local ? NULL : nearest_local(lp, name)));
    a->buffer = local->buffer;
  }
  return lex_expect(lex, "[") && parse_indices(lp, at, a);
}

static bool access_equal(const Access *a, const Access *b) {
  return a->buffer == b->buffer &&
         memcmp(a->index, b->index, (size_t)a->buffer->type->layout->n * sizeof *a->index) == 0;
}

static bool arg_equal(const void *item, const void *key) {
  return access_equal(&((const Arg *)item)->access, key);
}

static uint64_t access_hash(const Access *a) {
  uint64_t hash = hash_bytes(WEFT_HASH_SEED, &a->buffer, sizeof(Buffer *));
  return hash_bytes(hash, a->index, (size_t)a->buffer->type->layout->n * sizeof *a->index);
}

/* The number of the argument that reads this access. */
static int arg_number(LoopParser *lp, Access a) {
  Ctx *ctx = lp->p.ctx;
  size_t n = lp->args.len;
  if (n < FEW_ARGS) {
    for (size_t k = 0; k < n; k++)
      if (access_equal(&lp->args.data[k]->access, &a))
        return (int)k;
  } else {
    if (!lp->arg_table.n)
      for (size_t k = 0; k < n; k++)
        intern_add(ctx, &lp->arg_table, access_hash(&lp->args.data[k]->access), lp->args.data[k]);
    const Arg *found = intern_find(&lp->arg_table, access_hash(&a), arg_equal, &a);
    if (found)
      return found->number;
  }
  Arg *arg = ARENA_NEW(ctx->arena, Arg);
  *arg = (Arg){a, (int)n};
  vec_push(ctx->arena, &lp->args, arg);
  if (lp->arg_table.n)
    intern_add(ctx, &lp->arg_table, access_hash(&a), arg);
  return arg->number;
}

/* ---- scalar expressions ---- */

static const Scalar *parse_scalar(LoopParser *lp);

/* NULL operands give NULL: their fault has been reported. */
static const Scalar *make(LoopParser *lp, Word at, ScalarOp op, const Scalar *const *args) {
  for (int k = 0; k < scalar_op_arity(op); k++)
    if (!args[k])
      return NULL;
  const char *mismatch = scalar_mismatch(op, args);
  if (mismatch) {
    lex_error(&lp->p.lex, at, "expected operands that fit '%s': %s", scalar_op_name(op), mismatch);
    return NULL;
  }
  const Scalar *s = scalar_make(lp->p.ctx, op, args);
  if (s->depth <= SCALAR_MAX_DEPTH)
    return s;
  lex_error(&lp->p.lex, at, "expected an expression at most %d deep, found a deeper one", SCALAR_MAX_DEPTH);
  return NULL;
}

/* What is written as a call: const and arg have no operands and are none of these. */
static bool find_function(LoopParser *lp, Word at, ScalarOp *op) {
  if (scalar_op_find(at.start, at.len, op) && scalar_op_arity(*op) > 0)
    return true;
  const char *names[SC_COUNT], *name = lex_name_of(&lp->p.lex, at);
  size_t n = 0;
  for (int k = 0; k < SC_COUNT; k++)
    if (scalar_op_arity((ScalarOp)k) > 0)
      names[n++] = scalar_op_name((ScalarOp)k);
  return name && lex_error(&lp->p.lex, at, "expected a scalar function, found unknown '%s'%s", name,
                           lex_suggestion(&lp->p.lex, nearest_word(name, names, n)));
}

static const Scalar *parse_call(LoopParser *lp, Word at) {
  Lexer *lex = &lp->p.lex;
  ScalarOp op;
  if (!find_function(lp, at, &op))
    return NULL;
  const Scalar *args[3] = {NULL};
  int n = 0, arity = scalar_op_arity(op);
  lex_take(lex);
  do {
    if (n == arity) {
      lex_error(lex, lex->word, "expected %d operand%s of '%s', found more", arity, arity == 1 ? "" : "s",
                scalar_op_name(op));
      return NULL;
    }
    args[n] = parse_scalar(lp);
    if (!args[n++])
      return NULL;
  } while (lex_accept(lex, ","));
  if (!lex_at(lex, ")")) {
    lex_expected(lex, "',' or ')'");
    return NULL;
  }
  lex_take(lex);
  if (n == arity)
    return make(lp, at, op, args);
  lex_error(lex, at, "expected %d operands of '%s', found %d", arity, scalar_op_name(op), n);
  return NULL;
}

static const Scalar *parse_read(LoopParser *lp, Word at) {
  Access a;
  return parse_access(lp, at, &a) ? scalar_arg(lp->p.ctx, arg_number(lp, a)) : NULL;
}

static const Scalar *parse_number(LoopParser *lp) {
  double value;
  return lex_number(&lp->p.lex, "a number", true, &value) ? scalar_const(lp->p.ctx, value) : NULL;
}

static const Scalar *parse_primary(LoopParser *lp) {
  Lexer *lex = &lp->p.lex;
  Lexer before = *lex;
  switch (lex->word.kind) {
  case WORD_INT:
  case WORD_FLOAT:
    return parse_number(lp);
  case WORD_VALUE:
  case WORD_STRING:
    return parse_read(lp, lex_take(lex));
  case WORD_NAME:
    lex_take(lex);
    if (lex_at(lex, "("))
      return parse_call(lp, before.word);
    if (!lex_at(lex, "[") && (word_is(before.word, "inf") || word_is(before.word, "nan"))) {
      *lex = before;
      return parse_number(lp);
    }
    return parse_read(lp, before.word);
  default:
    if (lex_accept(lex, "(")) {
      const Scalar *s = parse_scalar(lp);
      return s && lex_expect(lex, ")") ? s : NULL;
    }
    lex_expected(lex, "a number, an access such as %x[i], a function or '('");
    return NULL;
  }
}

static const Scalar *parse_unary(LoopParser *lp) {
  Word at = lp->p.lex.word;
  if (!lex_accept(&lp->p.lex, "-"))
    return parse_primary(lp);
  const Scalar *s = parse_primary(lp);
  return make(lp, at, SC_NEG, &s);
}

static const Scalar *parse_multiplicative(LoopParser *lp) {
  Lexer *lex = &lp->p.lex;
  const Scalar *s = parse_unary(lp);
  while (s && (lex_at(lex, "*") || lex_at(lex, "/"))) {
    Word at = lex_take(lex);
    s = make(lp, at, word_is(at, "*") ? SC_MUL : SC_DIV, (const Scalar *[]){s, parse_unary(lp)});
  }
  return s;
}

static const Scalar *parse_additive(LoopParser *lp) {
  Lexer *lex = &lp->p.lex;
  const Scalar *s = parse_multiplicative(lp);
  while (s && (lex_at(lex, "+") || lex_at(lex, "-"))) {
    Word at = lex_take(lex);
    s = make(lp, at, word_is(at, "+") ? SC_ADD : SC_SUB, (const Scalar *[]){s, parse_multiplicative(lp)});
  }
  return s;
}

static const Scalar *parse_scalar(LoopParser *lp) {
  static const ScalarOp comparisons[] = {SC_LT, SC_LE, SC_GT, SC_GE, SC_EQ, SC_NE};
  Lexer *lex = &lp->p.lex;
  if (lp->nesting == MAX_NESTING) {
    lex_error(lex, lex->word, "expected an expression nested at most %d deep, found a deeper one", MAX_NESTING);
    return NULL;
  }
  lp->nesting++;
  const Scalar *s = parse_additive(lp);
  for (size_t k = 0; s && k < sizeof comparisons / sizeof *comparisons; k++) {
    if (!lex_at(lex, scalar_op_infix(comparisons[k])))
      continue;
    Word at = lex_take(lex);
    s = make(lp, at, comparisons[k], (const Scalar *[]){s, parse_additive(lp)});
    break;
  }
  lp->nesting--;
  return s;
}

/* ---- statements ---- */

/* A store whose target's name has been taken. */
static bool parse_store(LoopParser *lp, Word at, Stmt **out) {
  Ctx *ctx = lp->p.ctx;
  Lexer *lex = &lp->p.lex;
  Access target;
  lp->args.len = 0;
  lp->arg_table = (Intern){0};
  lp->nesting = 0;
  if (!parse_access(lp, at, &target) || !lex_expect(lex, "="))
    return false;
  Word value_at = lex->word;
  const Scalar *value = parse_scalar(lp);
  if (!value)
    return false;
  if (value->dtype == DT_BOOL && target.buffer->type->dtype != DT_BOOL)
    return lex_error(lex, value_at, "expected a number to be stored in '%s', found a comparison", target.buffer->name);
  int n = (int)lp->args.len;
  Access *args = ARENA_ARRAY(ctx->arena, Access, n);
  for (int k = 0; k < n; k++)
    args[k] = lp->args.data[k]->access;
  *out = stmt_store(ctx, target, value, args, n);
  return true;
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
  if (intern_find(&lp->locals, name_hash(name), local_named, name))
    return lex_error(lex, at, "expected a name that no other local of the nest has, found '%s' again", name);
  Local *local = ARENA_NEW(p->ctx->arena, Local);
  *local = (Local){local_buffer(p->ctx, name, type->dtype, type->rank, shape), true};
  intern_add(p->ctx, &lp->locals, name_hash(name), local);
  vec_push(p->ctx->arena, &lp->local_stack, local);
  *out = stmt_local(p->ctx, local->buffer);
  return true;
}

static bool parse_block(LoopParser *lp, Stmt **out);

/* A loop whose kind has been taken. */
static bool parse_loop(LoopParser *lp, LoopKind kind, Stmt **out) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  Word at = lex->word;
  const char *name = lex_variable(lex, "the name of a loop variable");
  const Expr *lo, *hi;
  if (!name || !lex_expect(lex, "in") || !parse_expr(p, "the lower bound of a loop", &lo) || !lex_expect(lex, "..") ||
      !parse_expr(p, "the upper bound of a loop", &hi))
    return false;
  if (find_variable(lp, name) || parse_find_symbol(p, name))
    return lex_error(lex, at, "expected a name that no loop around and no symbol has, found '%s' again", name);
  if (lp->variables.len == LOOP_MAX_DEPTH)
    return lex_error(lex, at, "expected loops nested at most %d deep, found a deeper one", LOOP_MAX_DEPTH);
  const Expr *var = expr_var(p->ctx, name, lo, hi);
  Stmt *body;
  vec_push(p->ctx->arena, &lp->variables, var);
  vec_push(p->ctx->arena, &p->known, name);
  if (!parse_block(lp, &body))
    return false;
  lp->variables.len--;
  p->known.len--;
  *out = stmt_loop(p->ctx, kind, var, body);
  return true;
}

static bool parse_stmt(LoopParser *lp, Stmt **out) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  Word at = lex->word;
  if (at.kind != WORD_NAME && at.kind != WORD_VALUE && at.kind != WORD_STRING)
    return lex_expected(lex, "a loop, 'local', a store or '}'");
  lex_take(lex);
  /* A local may have the name of a key word: what follows tells. */
  if (at.kind != WORD_NAME || lex_at(lex, "["))
    return parse_store(lp, at, out);
  if (word_is(at, "local"))
    return parse_local(lp, out);
  for (int k = 0; k < LOOP_KINDS; k++)
    if (word_is(at, loop_kind_names[k]))
      return parse_loop(lp, (LoopKind)k, out);
  const char *known[LOOP_KINDS + 1], *name = lex_name_of(lex, at);
  memcpy(known, loop_kind_names, sizeof loop_kind_names);
  known[LOOP_KINDS] = "local";
  return name && lex_error(lex, at, "expected a loop, 'local' or a store, found '%s'%s", name,
                           lex_suggestion(lex, nearest_word(name, known, LOOP_KINDS + 1)));
}

/* "{" { stmt } "}" */
static bool parse_block(LoopParser *lp, Stmt **out) {
  Lexer *lex = &lp->p.lex;
  size_t outer = lp->local_stack.len;
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
  if (intern_find(&lp->buffers, name_hash(name), buffer_named, name))
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
