/* Integer expressions: dimensions and indices.
 *
 * A dimension (Dim) is an expression over constants and named symbols with bounds. An index is an expression over
 * those and loop variables. Both are one kind of node: interned, immutable, compared by pointer, kept in canonical
 * form by the constructors below, which ARE the simplifier. There is no unsimplified expression.
 *
 * Canonical form: a sum  value + coef_1*atom_1 + ... + coef_n*atom_n  with atoms distinct and in expr_order and
 * coefs not 0; an atom is a symbol, a variable, a product of two or more atoms, a floordiv or mod by a positive
 * divisor, a min or a max. Products, mins and maxes of several operands nest to the left, in expr_order too.
 * A sum of one atom with coef 1 and value 0 is that atom itself; a sum without atoms is a constant.
 *
 * floordiv and mod are Euclidean (the remainder is in [0, divisor)); divisors are positive.
 *
 * Each node carries an interval [lo, hi] that holds for every value of its symbols and variables; it is what lets
 *   (8*c + l) div 8 = c  and  (8*c + l) mod 8 = l   for 0 <= l < 8,   min(x, 7) = x  for x <= 7
 * be decided on construction. Arithmetic on bounds saturates at EXPR_MIN and EXPR_MAX.
 *
 * A coefficient that leaves int64 is a bug of the caller; readers of outside text ask expr_fits before they build. */
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
  int depth;             /* of the tree of operands */
  uint64_t used;         /* a bit, id mod 64, for each symbol and variable inside */
  const Expr *inner;     /* the variable created last among those inside, else the symbol created last, else NULL */
};

const Expr *expr_const(Ctx *ctx, int64_t value);
/* The symbol of this name; the first call fixes its inclusive bounds lo <= name <= hi. */
const Expr *expr_sym(Ctx *ctx, const char *name, int64_t lo, int64_t hi);
/* A new variable (never interned: each call makes a distinct one) with lo <= var < hi. */
const Expr *expr_var(Ctx *ctx, const char *name, const Expr *lo, const Expr *hi);

const Expr *expr_add(Ctx *ctx, const Expr *a, const Expr *b);
const Expr *expr_sub(Ctx *ctx, const Expr *a, const Expr *b);
const Expr *expr_mul(Ctx *ctx, const Expr *a, const Expr *b);
/* The divisor must be positive for all values (in text it must show: b->lo >= 1, see expr_fits). */
const Expr *expr_floordiv(Ctx *ctx, const Expr *a, const Expr *b);
const Expr *expr_ceildiv(Ctx *ctx, const Expr *a, const Expr *b);
const Expr *expr_mod(Ctx *ctx, const Expr *a, const Expr *b);
const Expr *expr_min(Ctx *ctx, const Expr *a, const Expr *b);
const Expr *expr_max(Ctx *ctx, const Expr *a, const Expr *b);
/* With constants, as most callers need them. */
const Expr *expr_add_const(Ctx *ctx, const Expr *a, int64_t c);
const Expr *expr_mul_const(Ctx *ctx, const Expr *a, int64_t c);
const Expr *expr_floordiv_const(Ctx *ctx, const Expr *a, int64_t c);
const Expr *expr_ceildiv_const(Ctx *ctx, const Expr *a, int64_t c);
const Expr *expr_mod_const(Ctx *ctx, const Expr *a, int64_t c);

/* For readers of outside text, before each construction: true where the sum or difference (EX_SUM), product, floordiv,
 * mod, min or max of a and b stays small (coefficients below EXPR_MAX, at most EXPR_FIT_TERMS terms, EXPR_FIT_DEPTH
 * levels) and, for EX_DIV and EX_MOD, has a positive divisor. */
#define EXPR_FIT_TERMS 64
#define EXPR_FIT_DEPTH 64
bool expr_fits(ExprKind kind, const Expr *a, const Expr *b);

/* A total order that depends on structure and names only, not on the order of creation, so that it is the same in every
 * Ctx (distinct variables of one name: the older first). < 0, 0 (the same node), > 0. */
int expr_order(const Expr *a, const Expr *b);

bool expr_is_const(const Expr *e, int64_t *value); /* value may be NULL */
/* e with every occurrence of `from` (a variable or symbol) replaced, simplified anew. Bounds of variables inside
 * are left alone. */
const Expr *expr_subst(Ctx *ctx, const Expr *e, const Expr *from, const Expr *to);
bool expr_uses(const Expr *e, const Expr *atom);
/* The coefficient of `var` where e = coef*var + rest and rest does not use var; false where e is not linear in var. */
bool expr_linear(const Expr *e, const Expr *var, int64_t *coef);

/* True where e >= 0 can be proved for all values of symbols and variables within their (symbolic) bounds, taking the
 * ranges of the variables that e uses as not empty. False means "not proved". */
bool expr_prove_nonneg(Ctx *ctx, const Expr *e);
/* The same inside the loops of these variables: their ranges are not empty either, even where e does not use them.
 * (For o*2 + k over k in [0, min(2, 16 - 2*o)), (o*2 + k) div 2 is o, and o <= 8 since there is a k.) */
bool expr_prove_nonneg_in(Ctx *ctx, const Expr *e, const Expr *const *vars, int n_vars);

/* The value of e; lookup gives the values of symbols and variables. */
int64_t expr_eval(const Expr *e, int64_t (*lookup)(const void *env, const Expr *atom), const void *env);
/* The value of an expression that is constant; anything else is a bug of the caller. */
int64_t expr_value(const Expr *e);

/* Prints so that the parser of the text form reads the same node back: constants as constants, `8*c + l`,
 * `(x + 1) div 8`, `x mod 8`, `min(a, b)`. Loop variables print their name. Terms stand by falling coefficient, then in
 * expr_order, the constant last: the text does not depend on the order of creation. */
void expr_print(Str *out, const Expr *e);

#endif
