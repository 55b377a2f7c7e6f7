/* Integer expressions: dimensions and indices.
 *
 * A dimension (Dim) is an expression over constants and named symbols with bounds. An index is an expression over
 * those and loop variables. Both are one kind of node: interned, immutable, compared by pointer, kept in canonical
 * form by the constructors below, which ARE the simplifier. There is no unsimplified expression.
 *
 * Canonical form: a sum  value + coef_1*atom_1 + ... + coef_n*atom_n  with atoms distinct and sorted by id and coefs
 * not 0; an atom is a symbol, a variable, a product of two or more atoms, a floordiv or mod by a positive divisor, a min or a max.
 * A sum of one atom with coef 1 and value 0 is that atom itself; a sum without atoms is a constant.
 *
 * floordiv and mod are Euclidean (the remainder is in [0, divisor)); divisors are positive.
 *
 * Each node carries an interval [lo, hi] that holds for every value of its symbols and variables; it is what lets
 *   (8*c + l) div 8 = c  and  (8*c + l) mod 8 = l   for 0 <= l < 8,   min(x, 7) = x  for x <= 7
 * be decided on construction. Arithmetic on bounds saturates at EXPR_MIN and EXPR_MAX. */
#ifndef WEFT_IR_EXPR_H
#define WEFT_IR_EXPR_H

#include "ir/ctx.h"

#define EXPR_MIN (-((int64_t)1 << 60)) /* "no lower bound known" */
#define EXPR_MAX ((int64_t)1 << 60)    /* "no upper bound known" */

typedef enum { EX_CONST, EX_SYM, EX_VAR, EX_SUM, EX_PROD, EX_DIV, EX_MOD, EX_MIN, EX_MAX } ExprKind;

typedef struct Expr Expr;
typedef const Expr *Dim; /* an expression without variables */

typedef struct {
  int64_t coef;
  const Expr *atom;
} ExprTerm;

struct Expr {
  ExprKind kind;
  uint32_t id;           /* unique in its Ctx, in order of creation */
  int64_t lo, hi;        /* inclusive interval */
  int64_t value;         /* CONST: the number; SUM: its constant part */
  const char *name;      /* SYM, VAR */
  const Expr *a, *b;     /* PROD, DIV, MOD, MIN, MAX: operands; VAR: its bounds, a <= var < b */
  int n;                 /* SUM: number of terms */
  const ExprTerm *terms; /* SUM */
};

const Expr *expr_const(Ctx *ctx, int64_t value);
/* The symbol of this name; the first call fixes its inclusive bounds lo <= name <= hi. */
const Expr *expr_sym(Ctx *ctx, const char *name, int64_t lo, int64_t hi);
/* A new variable (never interned: each call makes a distinct one) with lo <= var < hi. */
const Expr *expr_var(Ctx *ctx, const char *name, const Expr *lo, const Expr *hi);

const Expr *expr_add(Ctx *ctx, const Expr *a, const Expr *b);
const Expr *expr_sub(Ctx *ctx, const Expr *a, const Expr *b);
const Expr *expr_mul(Ctx *ctx, const Expr *a, const Expr *b);
const Expr *expr_floordiv(Ctx *ctx, const Expr *a, const Expr *b); /* b > 0 */
const Expr *expr_ceildiv(Ctx *ctx, const Expr *a, const Expr *b);  /* b > 0 */
const Expr *expr_mod(Ctx *ctx, const Expr *a, const Expr *b);      /* b > 0 */
const Expr *expr_min(Ctx *ctx, const Expr *a, const Expr *b);
const Expr *expr_max(Ctx *ctx, const Expr *a, const Expr *b);
/* With constants, as most callers need them. */
const Expr *expr_add_const(Ctx *ctx, const Expr *a, int64_t c);
const Expr *expr_mul_const(Ctx *ctx, const Expr *a, int64_t c);
const Expr *expr_floordiv_const(Ctx *ctx, const Expr *a, int64_t c);
const Expr *expr_ceildiv_const(Ctx *ctx, const Expr *a, int64_t c);
const Expr *expr_mod_const(Ctx *ctx, const Expr *a, int64_t c);

bool expr_is_const(const Expr *e, int64_t *value); /* value may be NULL */
/* e with every occurrence of `from` (a variable or symbol) replaced, simplified anew. Bounds of variables inside
 * are left alone. */
const Expr *expr_subst(Ctx *ctx, const Expr *e, const Expr *from, const Expr *to);
bool expr_uses(const Expr *e, const Expr *atom);
/* The coefficient of `var` where e = coef*var + rest and rest does not use var; false where e is not linear in var. */
bool expr_linear(const Expr *e, const Expr *var, int64_t *coef);

/* True where e >= 0 can be proved for all values of symbols and variables within their (symbolic) bounds: replaces
 * variables by their bounds a, b-1 from the innermost outward, choosing among the operands of min and max. False means
 * "not proved". */
bool expr_prove_nonneg(Ctx *ctx, const Expr *e);

/* The value of e; lookup gives the values of symbols and variables. */
int64_t expr_eval(const Expr *e, int64_t (*lookup)(const void *env, const Expr *atom), const void *env);
/* The value of an expression that is constant; anything else is a bug of the caller. */
int64_t expr_value(const Expr *e);

/* Prints so that the parser of the text form reads the same node back: constants as constants, `8*c + l`,
 * `(x + 1) div 8`, `x mod 8`, `min(a, b)`. Loop variables print their name. */
void expr_print(Str *out, const Expr *e);

#endif
