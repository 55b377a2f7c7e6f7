/* The parser of the scalar language, by recursive descent:
 *
 *   comparison = sum [ ("<"|"<="|">"|">="|"=="|"!=") sum ]      product = unary { ("*"|"/") unary }
 *   sum        = product { ("+"|"-") product }                  unary   = [ "-" ] primary
 *   primary    = number | name | function "(" comparison { "," comparison } ")" | "(" comparison ")"
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
  int nesting;
  const char *why;
} Parser;

static const Scalar *comparison(Parser *p);

static const Scalar *fail(Parser *p, const char *what) {
  if (!p->why)
    p->why = arena_printf(p->ctx->arena, "at character %d: %s", (int)(p->at - p->start) + 1, what);
  return NULL;
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

static const Scalar *make(Parser *p, ScalarOp op, const Scalar *const *args) {
  for (int k = 0; k < scalar_op_arity(op); k++)
    if (!args[k])
      return NULL;
  const char *mismatch = scalar_mismatch(op, args);
  if (mismatch)
    return fail(p, mismatch);
  const Scalar *s = scalar_make(p->ctx, op, args);
  return s->depth > SCALAR_MAX_DEPTH ? fail(p, "the expression is too deep") : s;
}

static const Scalar *make2(Parser *p, ScalarOp op, const Scalar *a, const Scalar *b) {
  return make(p, op, (const Scalar *[]){a, b});
}

/* digits [ "." digits ] [ exponent ], or a leading "." is no number: what strtod takes beyond that is not the language.
 */
static const Scalar *number(Parser *p) {
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
  return scalar_const(p->ctx, strtod(digits, NULL));
}

static const Scalar *function_call(Parser *p, const char *name, size_t len) {
  const Scalar *args[4];
  int n = 0;
  do {
    if (n == 4)
      return fail(p, "too many operands");
    args[n] = comparison(p);
    if (!args[n++])
      return NULL;
  } while (take(p, ","));
  if (!take(p, ")"))
    return fail(p, "expected ',' or ')'");
  ScalarOp op;
  if (scalar_op_find(name, len, &op)) {
    if (scalar_op_arity(op) != n)
      return fail(
          p, arena_printf(p->ctx->arena, "%s takes %d operands, not %d", scalar_op_name(op), scalar_op_arity(op), n));
    return make(p, op, args);
  }
  const Scalar *s = p->call ? p->call(p->ctx, name, len, args, n) : NULL;
  return s ? s : fail(p, arena_printf(p->ctx->arena, "'%.*s' is not a function of this many operands", (int)len, name));
}

static const Scalar *word(Parser *p) {
  const char *name = p->at;
  while (isalnum((unsigned char)*p->at) || *p->at == '_')
    p->at++;
  size_t len = (size_t)(p->at - name);
  if (take(p, "("))
    return function_call(p, name, len);
  for (int k = 0; k < p->n; k++)
    if (strlen(p->names[k]) == len && memcmp(p->names[k], name, len) == 0)
      return p->values[k];
  if (len == 3 && memcmp(name, "inf", 3) == 0)
    return scalar_const(p->ctx, (double)INFINITY);
  if (len == 3 && memcmp(name, "nan", 3) == 0)
    return scalar_const(p->ctx, (double)NAN);
  return fail(p, arena_printf(p->ctx->arena, "'%.*s' is no operand and no attribute", (int)len, name));
}

static const Scalar *primary(Parser *p) {
  skip_space(p);
  if (isdigit((unsigned char)*p->at))
    return number(p);
  bool is_word = isalpha((unsigned char)*p->at) || *p->at == '_';
  if (!is_word && !take(p, "("))
    return fail(p, "expected a number, a name, a function or '('");
  if (p->nesting == MAX_NESTING)
    return fail(p, "nested too deeply");
  p->nesting++;
  const Scalar *s = is_word ? word(p) : comparison(p);
  p->nesting--;
  if (s && !is_word && !take(p, ")"))
    return fail(p, "expected ')'");
  return s;
}

static const Scalar *unary(Parser *p) {
  if (!take(p, "-"))
    return primary(p);
  const Scalar *s = primary(p);
  return make(p, SC_NEG, &s);
}

static const Scalar *product(Parser *p) {
  const Scalar *s = unary(p);
  while (s) {
    if (take(p, "*"))
      s = make2(p, SC_MUL, s, unary(p));
    else if (take(p, "/"))
      s = make2(p, SC_DIV, s, unary(p));
    else
      break;
  }
  return s;
}

static const Scalar *sum(Parser *p) {
  const Scalar *s = product(p);
  while (s) {
    if (take(p, "+"))
      s = make2(p, SC_ADD, s, product(p));
    else if (take(p, "-"))
      s = make2(p, SC_SUB, s, product(p));
    else
      break;
  }
  return s;
}

static const Scalar *comparison(Parser *p) {
  static const ScalarOp ops[] = {SC_LE, SC_GE, SC_EQ, SC_NE, SC_LT, SC_GT}; /* "<=" before "<" */
  const Scalar *s = sum(p);
  for (size_t k = 0; s && k < sizeof ops / sizeof *ops; k++)
    if (take(p, scalar_op_infix(ops[k])))
      return make2(p, ops[k], s, sum(p));
  return s;
}

const Scalar *scalar_parse_calls(Ctx *ctx, const char *text, const char *const *names, const Scalar *const *values,
                                 int n, ScalarCall *call, const char **why) {
  Parser p = {.ctx = ctx, .start = text, .at = text, .names = names, .values = values, .n = n, .call = call};
  const Scalar *s = comparison(&p);
  skip_space(&p);
  if (s && *p.at)
    s = fail(&p, "expected the end of the expression");
  if (!s)
    *why = p.why;
  return s;
}

const Scalar *scalar_parse(Ctx *ctx, const char *text, const char *const *names, const Scalar *const *values, int n,
                           const char **why) {
  return scalar_parse_calls(ctx, text, names, values, n, NULL, why);
}
