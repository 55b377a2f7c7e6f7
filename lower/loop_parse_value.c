/* Accesses and scalar expressions of loop nests in the text form: docs/grammar.md, section Loop nests. */
#include <math.h>

#include "lower/loop_parse.h"

#define MAX_NESTING 1000 /* of parentheses and calls in a scalar expression */
#define FEW_ARGS 16      /* more arguments of a statement are looked up in a table */

/* ---- names ---- */

static bool buffer_named(const void *item, const void *key) {
  return ((const Buffer *)item)->name == key;
}

static bool local_named(const void *item, const void *key) {
  return ((const LoopLocal *)item)->buffer->name == key;
}

/* The tables hold what this parser has made and may change. */
Buffer *loop_find_buffer(const LoopParser *lp, const char *name) {
  return (Buffer *)(uintptr_t)intern_find(&lp->buffers, name_hash(name), buffer_named, name);
}

LoopLocal *loop_find_local(const LoopParser *lp, const char *name) {
  return (LoopLocal *)(uintptr_t)intern_find(&lp->locals, name_hash(name), local_named, name);
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
bool loop_parse_access(LoopParser *lp, Word at, Access *a) {
  Parser *p = &lp->p;
  Lexer *lex = &p->lex;
  const char *name = lex_name_of(lex, at);
  if (!name)
    return false;
  if (at.kind == WORD_VALUE) {
    a->buffer = loop_find_buffer(lp, name);
    if (!a->buffer)
      return lex_error(lex, at, "expected a buffer of the program, found unknown '%%%s'%s", name,
                       lex_suggestion(lex, nearest_buffer(lp, name)));
  } else {
    const LoopLocal *local = loop_find_local(lp, name);
    if (!local || !local->visible)
      return lex_error(lex, at, "expected a local in scope, found %s '%s'%s", local ? "an ended one," : "unknown", name,
                       lex_suggestion(lex, local ? NULL : nearest_local(lp, name)));
    a->buffer = local->buffer;
  }
  return lex_expect(lex, "[") && parse_indices(lp, at, a);
}

static bool access_equal(const Access *a, const Access *b) {
  return a->buffer == b->buffer && memcmp(a->index, b->index, (size_t)access_digits(*a) * sizeof *a->index) == 0;
}

static bool arg_equal(const void *item, const void *key) {
  return access_equal(&((const LoopArg *)item)->access, key);
}

static uint64_t access_hash(const Access *a) {
  uint64_t hash = hash_bytes(WEFT_HASH_SEED, &a->buffer, sizeof(Buffer *));
  return hash_bytes(hash, a->index, (size_t)access_digits(*a) * sizeof *a->index);
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
    const LoopArg *found = intern_find(&lp->arg_table, access_hash(&a), arg_equal, &a);
    if (found)
      return found->number;
  }
  LoopArg *arg = ARENA_NEW(ctx->arena, LoopArg);
  *arg = (LoopArg){a, (int)n};
  vec_push(ctx->arena, &lp->args, arg);
  if (lp->arg_table.n)
    intern_add(ctx, &lp->arg_table, access_hash(&a), arg);
  return arg->number;
}

/* ---- scalar expressions ----
 *
 * A number takes its type from the operation that it is an operand of: that of the other operands, or where all are
 * numbers, what the context wants; so it is kept as it was written until then. */

typedef struct {
  const Scalar *s; /* NULL: a number, or a fault that has been reported */
  bool is_number, is_int, negative;
  uint64_t magnitude;  /* is_int: 2^64 - 1 and above all alike */
  double wide, narrow; /* read as f64, and as f32 (infinite: too large) */
  Word at;
} Term;

static const Term FAULT = {.s = NULL};

static bool is_fault(Term t) {
  return !t.s && !t.is_number;
}

static Term value_term(const Scalar *s) {
  return (Term){.s = s};
}

static bool int_fits(Term t, DType type) {
  int bits = (int)dtype_size(type) * 8;
  if (type == DT_BOOL)
    return t.magnitude <= 1 && !t.negative;
  uint64_t most = dtype_is_signed(type) ? ((uint64_t)1 << (bits - 1)) - !t.negative : UINT64_MAX >> (64 - bits);
  return t.magnitude <= most && (dtype_is_signed(type) || !t.negative || t.magnitude == 0);
}

/* The number in this type; NULL after reporting that it has none. */
static const Scalar *number_in(LoopParser *lp, Term t, DType type) {
  Ctx *ctx = lp->p.ctx;
  if (dtype_is_float(type)) {
    double v = type == DT_F32 ? t.narrow : t.wide;
    if (isfinite(v) || !isfinite(t.wide))
      return scalar_const_typed(ctx, type, v);
  } else if (t.is_int && int_fits(t, type)) {
    return scalar_const_int(ctx, type, (int64_t)(t.negative ? -t.magnitude : t.magnitude));
  }
  lex_error(&lp->p.lex, t.at, "expected a number of type %s, found '%s%.*s'", dtype_name(type), t.negative ? "-" : "",
            t.at.len < 40 ? (int)t.at.len : 40, t.at.start);
  return NULL;
}

static Term parse_scalar(LoopParser *lp, DType wanted);

/* Operands of one type: the numbers among args[first..n) take that of the others. */
static bool settle(LoopParser *lp, Term *args, int first, int n, DType wanted) {
  for (int k = n - 1; k >= first; k--)
    if (args[k].s)
      wanted = args[k].s->dtype;
  for (int k = first; k < n; k++)
    if (!args[k].s && !(args[k].s = number_in(lp, args[k], wanted)))
      return false;
  return true;
}

/* wanted: the type of operands that are all numbers. */
static Term make(LoopParser *lp, Word at, ScalarOp op, Term *args, DType wanted) {
  const Scalar *operands[3] = {NULL};
  int n = scalar_op_arity(op);
  for (int k = 0; k < n; k++)
    if (is_fault(args[k]))
      return FAULT;
  if (op == SC_NEG && args[0].is_number) {
    args[0].negative = !args[0].negative;
    args[0].wide = -args[0].wide;
    args[0].narrow = -args[0].narrow;
    return args[0];
  }
  if (op == SC_SELECT && !settle(lp, args, 0, 1, DT_BOOL))
    return FAULT;
  if (!settle(lp, args, op == SC_SELECT, n, wanted))
    return FAULT;
  for (int k = 0; k < n; k++)
    operands[k] = args[k].s;
  const char *mismatch = scalar_mismatch(op, operands);
  if (mismatch) {
    lex_error(&lp->p.lex, at, "expected operands that fit '%s': %s", scalar_op_name(op), mismatch);
    return FAULT;
  }
  const Scalar *s = scalar_make(lp->p.ctx, op, operands);
  if (s->depth <= SCALAR_MAX_DEPTH)
    return value_term(s);
  lex_error(&lp->p.lex, at, "expected an expression at most %d deep, found a deeper one", SCALAR_MAX_DEPTH);
  return FAULT;
}

/* What is called by its name: const and arg have no operands, and a cast has the name of its type. */
static bool is_function(ScalarOp op) {
  return scalar_op_arity(op) > 0 && op != SC_CAST;
}

static bool find_function(LoopParser *lp, Word at, ScalarOp *op) {
  if (scalar_op_find(at.start, at.len, op))
    return true;
  const char *names[SC_COUNT], *name = lex_name_of(&lp->p.lex, at);
  size_t n = 0;
  for (int k = 0; k < SC_COUNT; k++)
    if (is_function((ScalarOp)k))
      names[n++] = scalar_op_name((ScalarOp)k);
  return name && lex_error(&lp->p.lex, at, "expected a scalar function, found unknown '%s'%s", name,
                           lex_suggestion(&lp->p.lex, nearest_word(name, names, n)));
}

/* "(" EXPR ")" behind `index`. */
static Term parse_index_value(LoopParser *lp) {
  Parser *p = &lp->p;
  Access a = {NULL, ARENA_ARRAY(p->ctx->arena, const Expr *, 1)};
  if (!lex_expect(&p->lex, "(") || !parse_expr(p, "an expression over indices", &a.index[0]) ||
      !lex_expect(&p->lex, ")"))
    return FAULT;
  return value_term(scalar_arg_typed(p->ctx, arg_number(lp, a), DT_I64));
}

/* "(" scalar ")" behind the name of a type. */
static Term parse_cast(LoopParser *lp, Word at, DType to) {
  Lexer *lex = &lp->p.lex;
  lex_take(lex);
  Term from = parse_scalar(lp, to);
  if (is_fault(from) || !lex_expect(lex, ")"))
    return FAULT;
  if (dtype_compute(to) != to) {
    lex_error(lex, at, "expected a type that values are computed in, found %s", dtype_name(to));
    return FAULT;
  }
  if (from.is_number)
    from = value_term(number_in(lp, from, to));
  return from.s ? value_term(scalar_cast(lp->p.ctx, from.s, to)) : FAULT;
}

/* What is called has been taken, '(' is ahead. */
static Term parse_call(LoopParser *lp, Word at, DType wanted) {
  Lexer *lex = &lp->p.lex;
  ScalarOp op;
  DType to;
  if (word_is(at, "index"))
    return parse_index_value(lp);
  if (dtype_parse(at.start, at.len, &to))
    return parse_cast(lp, at, to);
  if (!find_function(lp, at, &op))
    return FAULT;
  Term args[3] = {FAULT};
  int n = 0, arity = scalar_op_arity(op);
  bool compares = op >= SC_LT && op <= SC_NE;
  lex_take(lex);
  do {
    if (n == arity) {
      lex_error(lex, lex->word, "expected %d operand%s of '%s', found more", arity, arity == 1 ? "" : "s",
                scalar_op_name(op));
      return FAULT;
    }
    args[n] = parse_scalar(lp, op == SC_SELECT && n == 0 ? DT_BOOL : compares ? DT_F32 : wanted);
    if (is_fault(args[n++]))
      return FAULT;
  } while (lex_accept(lex, ","));
  if (!lex_at(lex, ")")) {
    lex_expected(lex, "',' or ')'");
    return FAULT;
  }
  lex_take(lex);
  if (n == arity)
    return make(lp, at, op, args, compares ? DT_F32 : wanted);
  lex_error(lex, at, "expected %d operands of '%s', found %d", arity, scalar_op_name(op), n);
  return FAULT;
}

static Term parse_read(LoopParser *lp, Word at) {
  Access a;
  return loop_parse_access(lp, at, &a) ? value_term(scalar_arg_typed(lp->p.ctx, arg_number(lp, a), access_dtype(a)))
                                       : FAULT;
}

static Term parse_number(LoopParser *lp) {
  Lexer *lex = &lp->p.lex, before = *lex;
  Term t = {.is_number = true, .is_int = lex->word.kind == WORD_INT, .at = lex->word};
  for (size_t k = 0; k < t.at.len && t.is_int; k++)
    if (__builtin_mul_overflow(t.magnitude, 10u, &t.magnitude) ||
        __builtin_add_overflow(t.magnitude, (uint64_t)(t.at.start[k] - '0'), &t.magnitude))
      t.is_int = false;
  if (!lex_number(lex, "a number", false, &t.wide))
    return FAULT;
  t.narrow = t.wide;
  if (isfinite(t.wide) && fabs(t.wide) >= 0x1.ffffffp127) { /* halfway from the largest f32 to what would come next */
    t.narrow = (double)INFINITY;
  } else {
    *lex = before; /* rounded once to f32, not by way of f64 */
    if (!lex_number(lex, "a number", true, &t.narrow))
      return FAULT;
  }
  return t;
}

static Term parse_primary(LoopParser *lp, DType wanted) {
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
      return parse_call(lp, before.word, wanted);
    if (!lex_at(lex, "[") && (word_is(before.word, "inf") || word_is(before.word, "nan"))) {
      *lex = before;
      return parse_number(lp);
    }
    return parse_read(lp, before.word);
  default:
    if (lex_accept(lex, "(")) {
      Term t = parse_scalar(lp, wanted);
      return !is_fault(t) && lex_expect(lex, ")") ? t : FAULT;
    }
    lex_expected(lex, "a number, an access such as %x[i], a function or '('");
    return FAULT;
  }
}

static Term parse_unary(LoopParser *lp, DType wanted) {
  Word at = lp->p.lex.word;
  if (!lex_accept(&lp->p.lex, "-"))
    return parse_primary(lp, wanted);
  Term t = parse_primary(lp, wanted);
  return make(lp, at, SC_NEG, &t, wanted);
}

static Term parse_multiplicative(LoopParser *lp, DType wanted) {
  Lexer *lex = &lp->p.lex;
  Term t = parse_unary(lp, wanted);
  while (!is_fault(t) && (lex_at(lex, "*") || lex_at(lex, "/"))) {
    Word at = lex_take(lex);
    t = make(lp, at, word_is(at, "*") ? SC_MUL : SC_DIV, (Term[]){t, parse_unary(lp, wanted)}, wanted);
  }
  return t;
}

static Term parse_additive(LoopParser *lp, DType wanted) {
  Lexer *lex = &lp->p.lex;
  Term t = parse_multiplicative(lp, wanted);
  while (!is_fault(t) && (lex_at(lex, "+") || lex_at(lex, "-"))) {
    Word at = lex_take(lex);
    t = make(lp, at, word_is(at, "+") ? SC_ADD : SC_SUB, (Term[]){t, parse_multiplicative(lp, wanted)}, wanted);
  }
  return t;
}

static Term parse_scalar(LoopParser *lp, DType wanted) {
  static const ScalarOp comparisons[] = {SC_LT, SC_LE, SC_GT, SC_GE, SC_EQ, SC_NE};
  Lexer *lex = &lp->p.lex;
  if (lp->nesting == MAX_NESTING) {
    lex_error(lex, lex->word, "expected an expression nested at most %d deep, found a deeper one", MAX_NESTING);
    return FAULT;
  }
  lp->nesting++;
  Term t = parse_additive(lp, wanted);
  for (size_t k = 0; !is_fault(t) && k < sizeof comparisons / sizeof *comparisons; k++) {
    if (!lex_at(lex, scalar_op_infix(comparisons[k])))
      continue;
    Word at = lex_take(lex);
    t = make(lp, at, comparisons[k], (Term[]){t, parse_additive(lp, DT_F32)}, DT_F32);
    break;
  }
  lp->nesting--;
  return t;
}

const Scalar *loop_parse_value(LoopParser *lp, DType type, const char *of) {
  Word at = lp->p.lex.word;
  lp->args.len = 0;
  lp->arg_table = (Intern){0};
  lp->nesting = 0;
  Term t = parse_scalar(lp, type);
  if (is_fault(t))
    return NULL;
  if (t.is_number)
    return number_in(lp, t, type);
  if (t.s->dtype == type)
    return t.s;
  lex_error(&lp->p.lex, at, "expected a value of type %s for %s, found one of type %s", dtype_name(type), of,
            dtype_name(t.s->dtype));
  return NULL;
}
