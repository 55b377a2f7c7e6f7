/* The parser of the scalar language, by recursive descent:
 *
 *   comparison = sum [ ("<"|"<="|">"|">="|"=="|"!=") sum ]      product = unary { ("*"|"/") unary }
 *   sum        = product { ("+"|"-") product }                  unary   = [ "-" ] primary
 *   primary    = number | name | function "(" comparison { "," comparison } ")" | "(" comparison ")"
 *
 * A type's name is the function that casts to it. A number takes its type from the operation that it is an operand of:
 * that of the other operands, or where all are numbers, what the context wants; until then it is kept as it is.
 *
 * The first fault stops it: the functions return NULL from there on and *why keeps what was said first. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "ir/scalar_walk.h"

#define MAX_NESTING 200

typedef struct {
  Ctx *ctx;
  const char *start, *at;
  const char *const *names;
  const Scalar *const *values;
  int n;
  ScalarCall *call;
  DType wanted; /* of numbers that nothing else gives a type to */
  int nesting;
  const char *why;
} Parser;

typedef struct {
  const Scalar *s; /* NULL: a number, or a fault that has been reported */
  bool is_number;
  double value;
} Term;

static Term comparison(Parser *p, DType wanted);

static Term term(const Scalar *s) {
  return (Term){.s = s};
}

static Term number_term(double value) {
  return (Term){.is_number = true, .value = value};
}

static bool is_fault(Term t) {
  return !t.s && !t.is_number;
}

static const Scalar *typed(Parser *p, Term t, DType dtype) {
  return t.is_number ? scalar_const_typed(p->ctx, dtype, t.value) : t.s;
}

static Term fail(Parser *p, const char *what) {
  if (!p->why)
    p->why = arena_printf(p->ctx->arena, "at character %d: %s", (int)(p->at - p->start) + 1, what);
  return (Term){0};
}

static void skip_space(Parser *p) {
  while (isspace((unsigned char)*p->at))
    p->at++;
}

/* Takes this punctuation if it comes next. */
static bool take(Parser *p, const char *word) {
  skip_space(p);
  size_t n = strlen(word);
  if (strncmp(p->at, word, n) != 0)
    return false;
  p->at += n;
  return true;
}

/* Numbers among args[first..n) take the type of the others. */
static void settle(Parser *p, Term *args, int first, int n, DType wanted) {
  for (int k = n - 1; k >= first; k--)
    if (args[k].s)
      wanted = args[k].s->dtype;
  for (int k = first; k < n; k++)
    args[k] = term(typed(p, args[k], wanted));
}

static Term make(Parser *p, ScalarOp op, Term *args, DType wanted) {
  const Scalar *operands[3] = {NULL};
  int n = scalar_op_arity(op);
  for (int k = 0; k < n; k++)
    if (is_fault(args[k]))
      return args[k];
  if (op == SC_NEG && args[0].is_number)
    return number_term(-args[0].value);
  if (op == SC_SELECT)
    settle(p, args, 0, 1, DT_BOOL);
  settle(p, args, op == SC_SELECT, n, wanted);
  for (int k = 0; k < n; k++)
    operands[k] = args[k].s;
  const char *mismatch = scalar_mismatch(op, operands);
  if (mismatch)
    return fail(p, mismatch);
  const Scalar *s = scalar_make(p->ctx, op, operands);
  return s->depth > SCALAR_MAX_DEPTH ? fail(p, "the expression is too deep") : term(s);
}

static Term make2(Parser *p, ScalarOp op, Term a, Term b, DType wanted) {
  return make(p, op, (Term[]){a, b}, wanted);
}

/* digits [ "." digits ] [ exponent ], or a leading "." is no number: what strtod takes beyond that is not the language.
 */
static Term number(Parser *p) {
  const char *from = p->at;
  while (isdigit((unsigned char)*p->at))
    p->at++;
  if (*p->at == '.')
    p->at++;
  while (isdigit((unsigned char)*p->at))
    p->at++;
  if (*p->at == 'e' || *p->at == 'E') {
    const char *exponent = p->at + 1 + (p->at[1] == '+' || p->at[1] == '-');
    if (!isdigit((unsigned char)*exponent))
      return fail(p, "an exponent without digits");
    while (isdigit((unsigned char)*exponent))
      exponent++;
    p->at = exponent;
  }
  const char *digits = arena_strndup(p->ctx->arena, from, (size_t)(p->at - from));
  return number_term(strtod(digits, NULL));
}

/* "(" comparison ")" behind a type's name. */
static Term cast(Parser *p, DType to) {
  Term t = comparison(p, to);
  if (is_fault(t))
    return t;
  if (!take(p, ")"))
    return fail(p, "expected ')'");
  if (dtype_compute(to) != to)
    return fail(p, "no value is computed in this type");
  return term(scalar_cast(p->ctx, typed(p, t, to), to));
}

static Term function_call(Parser *p, const char *name, size_t len, DType wanted) {
  Term args[4];
  int n = 0;
  ScalarOp op;
  DType to;
  if (dtype_parse(name, len, &to))
    return cast(p, to);
  bool known = scalar_op_find(name, len, &op), compares = known && op >= SC_LT && op <= SC_NE;
  do {
    if (n == 4)
      return fail(p, "too many operands");
    args[n] = comparison(p, known && op == SC_SELECT && n == 0 ? DT_BOOL : compares ? DT_F32 : wanted);
    if (is_fault(args[n++]))
      return args[n - 1];
  } while (take(p, ","));
  if (!take(p, ")"))
    return fail(p, "expected ',' or ')'");
  if (known) {
    if (scalar_op_arity(op) != n)
      return fail(
          p, arena_printf(p->ctx->arena, "%s takes %d operands, not %d", scalar_op_name(op), scalar_op_arity(op), n));
    return make(p, op, args, compares ? DT_F32 : wanted);
  }
  const Scalar *operands[4];
  settle(p, args, 0, n, wanted);
  for (int k = 0; k < n; k++)
    operands[k] = args[k].s;
  const Scalar *s = p->call ? p->call(p->ctx, name, len, operands, n) : NULL;
  return s ? term(s)
           : fail(p, arena_printf(p->ctx->arena, "'%.*s' is not a function of this many operands", (int)len, name));
}

static Term word(Parser *p, DType wanted) {
  const char *name = p->at;
  while (isalnum((unsigned char)*p->at) || *p->at == '_')
    p->at++;
  size_t len = (size_t)(p->at - name);
  if (take(p, "("))
    return function_call(p, name, len, wanted);
  for (int k = 0; k < p->n; k++)
    if (strlen(p->names[k]) == len && memcmp(p->names[k], name, len) == 0)
      return term(p->values[k]);
  if (len == 3 && memcmp(name, "inf", 3) == 0)
    return number_term((double)INFINITY);
  if (len == 3 && memcmp(name, "nan", 3) == 0)
    return number_term((double)NAN);
  return fail(p, arena_printf(p->ctx->arena, "'%.*s' is no operand and no attribute", (int)len, name));
}

static Term primary(Parser *p, DType wanted) {
  skip_space(p);
  if (isdigit((unsigned char)*p->at))
    return number(p);
  bool is_word = isalpha((unsigned char)*p->at) || *p->at == '_';
  if (!is_word && !take(p, "("))
    return fail(p, "expected a number, a name, a function or '('");
  if (p->nesting == MAX_NESTING)
    return fail(p, "nested too deeply");
  p->nesting++;
  Term t = is_word ? word(p, wanted) : comparison(p, wanted);
  p->nesting--;
  return !is_fault(t) && !is_word && !take(p, ")") ? fail(p, "expected ')'") : t;
}

static Term unary(Parser *p, DType wanted) {
  if (!take(p, "-"))
    return primary(p, wanted);
  Term t = primary(p, wanted);
  return make(p, SC_NEG, &t, wanted);
}

static Term product(Parser *p, DType wanted) {
  Term t = unary(p, wanted);
  while (!is_fault(t)) {
    if (take(p, "*"))
      t = make2(p, SC_MUL, t, unary(p, wanted), wanted);
    else if (take(p, "/"))
      t = make2(p, SC_DIV, t, unary(p, wanted), wanted);
    else
      break;
  }
  return t;
}

static Term sum(Parser *p, DType wanted) {
  Term t = product(p, wanted);
  while (!is_fault(t)) {
    if (take(p, "+"))
      t = make2(p, SC_ADD, t, product(p, wanted), wanted);
    else if (take(p, "-"))
      t = make2(p, SC_SUB, t, product(p, wanted), wanted);
    else
      break;
  }
  return t;
}

static Term comparison(Parser *p, DType wanted) {
  static const ScalarOp ops[] = {SC_LE, SC_GE, SC_EQ, SC_NE, SC_LT, SC_GT}; /* "<=" before "<" */
  Term t = sum(p, wanted);
  for (size_t k = 0; !is_fault(t) && k < sizeof ops / sizeof *ops; k++)
    if (take(p, scalar_op_infix(ops[k])))
      return make2(p, ops[k], t, sum(p, DT_F32), DT_F32);
  return t;
}

const Scalar *scalar_parse_calls(Ctx *ctx, const char *text, const char *const *names, const Scalar *const *values,
                                 int n, ScalarCall *call, const char **why) {
  Parser p = {.ctx = ctx, .start = text, .at = text, .names = names, .values = values, .n = n, .call = call};
  for (int k = n - 1; k >= 0; k--)
    if (values[k]->dtype != DT_BOOL)
      p.wanted = values[k]->dtype;
  Term t = comparison(&p, p.wanted);
  skip_space(&p);
  if (!is_fault(t) && *p.at)
    t = fail(&p, "expected the end of the expression");
  if (is_fault(t)) {
    *why = p.why;
    return NULL;
  }
  return typed(&p, t, p.wanted);
}

const Scalar *scalar_parse(Ctx *ctx, const char *text, const char *const *names, const Scalar *const *values, int n,
                           const char **why) {
  return scalar_parse_calls(ctx, text, names, values, n, NULL, why);
}
