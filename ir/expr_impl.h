/* What the files of the expression simplifier share. Not for other subjects: they see expr.h. */
#ifndef WEFT_IR_EXPR_IMPL_H
#define WEFT_IR_EXPR_IMPL_H

#include "ir/expr.h"

#define EXPR_MAX_FACTORS 32 /* of one product; more is an overflow */

/* Any expression seen as value + sum of coef*atom. */
typedef struct {
  int64_t value;
  int n;
  const ExprTerm *terms; /* of the SUM, or `own` */
  ExprTerm own;
} Linear;

/* Fills *out, which must not be copied afterwards (terms may point into it). */
static inline void linear_of(const Expr *e, Linear *out) {
  *out = (Linear){.own = {1, e}};
  out->terms = &out->own;
  if (e->kind == EX_CONST) {
    out->value = e->value;
  } else if (e->kind == EX_SUM) {
    out->value = e->value;
    out->n = e->n;
    out->terms = e->terms;
  } else {
    out->n = 1;
  }
}

/* Room for n terms while one node is being made: the stack where it suffices. */
#define EXPR_SCRATCH 64
#define EXPR_TERMS(ctx, stack, n) ((n) <= EXPR_SCRATCH ? (stack) : ARENA_ARRAY((ctx)->arena, ExprTerm, n))

/* These give NULL where a coefficient would leave int64 (or, for products, the result would have too many factors or
 * more than 1024 terms). NULL operands give NULL. */
const Expr *expr_try_combine(Ctx *ctx, const Expr *a, int64_t ka, const Expr *b, int64_t kb); /* ka*a + kb*b */
const Expr *expr_try_scale(Ctx *ctx, const Expr *a, int64_t k);
const Expr *expr_try_mul(Ctx *ctx, const Expr *a, const Expr *b);

/* The sum of terms already in order, without duplicates; zero coefficients are dropped. Changes `terms`. */
const Expr *expr_sum_of(Ctx *ctx, ExprTerm *terms, int n, int64_t value);
/* The interned PROD, DIV, MOD, MIN or MAX of these operands, as they are. */
const Expr *expr_node(Ctx *ctx, ExprKind kind, const Expr *a, const Expr *b);

/* The factors of an atom, in order: those of a PROD, else the atom itself. Returns their number, at most
 * EXPR_MAX_FACTORS. */
int expr_factors(const Expr *atom, const Expr **factors);
/* The product of factors that are in order; 1 where there are none. */
const Expr *expr_product_of(Ctx *ctx, const Expr *const *factors, int n);

/* a = b*q + r, with as much in q as the coefficients show. False, with q = 0 and r = a, where nothing is. */
bool expr_split(Ctx *ctx, const Expr *a, const Expr *b, const Expr **q, const Expr **r);

/* As expr_prove_nonneg, but short and without opening div and mod: for use while a div or mod is made. NULL is not
 * proved. */
bool expr_prove_shallow(Ctx *ctx, const Expr *e);
/* As expr_prove_nonneg_in, by linear inequalities. */
bool expr_prove_linear(Ctx *ctx, const Expr *e, const Expr *const *vars, int n_vars);

static inline uint64_t magnitude(int64_t v) {
  return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

static inline int64_t gcd_i64(int64_t a, int64_t b) {
  uint64_t x = magnitude(a), y = magnitude(b);
  while (y) {
    uint64_t t = x % y;
    x = y;
    y = t;
  }
  return x > INT64_MAX ? 1 : (int64_t)x;
}

#endif
