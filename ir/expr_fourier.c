/* Proves e >= 0 from everything that is known of the variables at once, where replacing one variable after the other
 * (expr_prove.c) is not enough: there the range of an inner variable says something about outer ones, since it is not
 * empty.
 *
 * The atoms of e, and of the bounds of those, become unknowns; what is known of them becomes rows, linear inequalities:
 *   a <= v < b        c*(x div c) in [x - c + 1, x]       x mod c in [0, c), x = c*(x div c) + x mod c
 *   min(a, b) <= a, b and max(a, b) >= a, b               the intervals
 * Together with -e - 1 >= 0 they must contradict each other. Fourier-Motzkin elimination: each lower bound of an
 * unknown is combined with each upper one. Solutions are integers, so each row is divided by its coefficients' common
 * factor and its constant floored. Rows that would overflow or exceed the space are left out, which loses proofs, never
 * truth. */
#include "ir/expr_impl.h"

#define MAX_UNKNOWNS 32
#define MAX_ROWS 128
#define MAX_SPLITS 6

typedef struct {
  int64_t coef[MAX_UNKNOWNS]; /* sum coef*unknown + value >= 0 */
  int64_t value;
} Row;

typedef struct {
  Ctx *ctx;
  const Expr *unknown[MAX_UNKNOWNS];
  int n_unknowns, n_rows;
  Row rows[MAX_ROWS];
  bool contradiction;
} System;

/* Divides by the common factor; false where the row says nothing. */
static bool tighten_row(System *s, Row *row) {
  int64_t g = 0;
  for (int i = 0; i < s->n_unknowns && g != 1; i++)
    g = gcd_i64(row->coef[i], g);
  if (g == 0) {
    s->contradiction = s->contradiction || row->value < 0;
    return false;
  }
  if (g > 1) {
    for (int i = 0; i < s->n_unknowns; i++)
      row->coef[i] /= g;
    row->value = floordiv_i64(row->value, g);
  }
  return true;
}

static void add_row(System *s, Row row) {
  if (!tighten_row(s, &row))
    return;
  for (int r = 0; r < s->n_rows; r++) {
    Row *old = &s->rows[r];
    if (!memcmp(old->coef, row.coef, sizeof row.coef)) {
      old->value = row.value < old->value ? row.value : old->value;
      return;
    }
  }
  if (s->n_rows < MAX_ROWS)
    s->rows[s->n_rows++] = row;
}

/* ---- what is known ---- */

static int unknown_of(System *s, const Expr *atom) {
  for (int i = 0; i < s->n_unknowns; i++) {
    if (s->unknown[i] == atom)
      return i;
  }
  if (s->n_unknowns == MAX_UNKNOWNS)
    return -1;
  s->unknown[s->n_unknowns] = atom;
  return s->n_unknowns++;
}

/* The term with a min of positive or a max of negative coefficient; -1: none. */
static int find_choice(const Linear *x) {
  for (int i = 0; i < x->n; i++) {
    ExprKind kind = x->terms[i].atom->kind;
    if ((kind == EX_MIN || kind == EX_MAX) && (kind == EX_MIN) == (x->terms[i].coef > 0))
      return i;
  }
  return -1;
}

/* e with an operand of one of its terms, a min or max, in that term's place. */
static const Expr *with_operand(Ctx *ctx, const Expr *e, const ExprTerm *term, const Expr *operand) {
  return expr_try_combine(ctx, expr_try_combine(ctx, e, 1, term->atom, -term->coef), 1, operand, term->coef);
}

/* Adds e >= 0, which is true. It stays true with either operand of a min with positive coefficient. */
static void add_fact(System *s, const Expr *e, int depth) {
  if (!e || depth > MAX_SPLITS)
    return;
  Linear x;
  linear_of(e, &x);
  int choice = find_choice(&x);
  if (choice >= 0 && x.terms[choice].coef != INT64_MIN) {
    const ExprTerm *t = &x.terms[choice];
    add_fact(s, with_operand(s->ctx, e, t, t->atom->a), depth + 1);
    add_fact(s, with_operand(s->ctx, e, t, t->atom->b), depth + 1);
    return;
  }
  Row row = {.value = x.value};
  for (int i = 0; i < x.n; i++) {
    int k = unknown_of(s, x.terms[i].atom);
    if (k < 0)
      return;
    row.coef[k] = x.terms[i].coef;
  }
  add_row(s, row);
}

/* big - small + value >= 0 */
static void add_order(System *s, const Expr *big, const Expr *small, int64_t value) {
  add_fact(s, expr_try_combine(s->ctx, expr_try_combine(s->ctx, big, 1, small, -1), 1, expr_const(s->ctx, value), 1),
           0);
}

static void add_facts_of(System *s, const Expr *t) {
  Ctx *ctx = s->ctx;
  int64_t c;
  if (t->lo > EXPR_MIN)
    add_order(s, t, expr_const(ctx, t->lo), 0);
  if (t->hi < EXPR_MAX)
    add_order(s, expr_const(ctx, t->hi), t, 0);
  switch (t->kind) {
  case EX_VAR:
    add_order(s, t, t->a, 0);
    add_order(s, t->b, t, -1);
    return;
  case EX_DIV: {
    const Expr *multiple = expr_try_mul(ctx, t, t->b);
    add_order(s, t->a, multiple, 0);
    add_order(s, expr_try_combine(ctx, multiple, 1, t->b, 1), t->a, -1);
    return;
  }
  case EX_MOD:
    add_order(s, t->b, t, -1);
    if (expr_is_const(t->b, &c)) {
      const Expr *other = expr_try_combine(ctx, t->a, 1, expr_floordiv_const(ctx, t->a, c), -c);
      add_order(s, t, other, 0);
      add_order(s, other, t, 0);
    }
    return;
  case EX_MIN:
    add_order(s, t->a, t, 0);
    add_order(s, t->b, t, 0);
    return;
  case EX_MAX:
    add_order(s, t, t->a, 0);
    add_order(s, t, t->b, 0);
    return;
  default:
    return;
  }
}

/* ---- elimination ---- */

/* The unknown whose elimination makes the fewest rows; -1 where none is left. */
static int cheapest_unknown(const System *s) {
  int best = -1, least = 0;
  for (int k = 0; k < s->n_unknowns; k++) {
    int above = 0, below = 0;
    for (int r = 0; r < s->n_rows; r++) {
      below += s->rows[r].coef[k] > 0;
      above += s->rows[r].coef[k] < 0;
    }
    int growth = above * below - above - below;
    if (above + below > 0 && (best < 0 || growth < least)) {
      best = k;
      least = growth;
    }
  }
  return best;
}

/* The combination of x and y without unknown k, whose coefficient is positive in x and negative in y. */
static bool cancel(const System *s, const Row *x, const Row *y, int k, Row *out) {
  int64_t g = gcd_i64(x->coef[k], y->coef[k]), fx = 0, a, b;
  if (!sub_i64(0, y->coef[k] / g, &fx))
    return false;
  int64_t fy = x->coef[k] / g;
  *out = (Row){0};
  for (int i = 0; i < s->n_unknowns; i++) {
    if (!mul_i64(x->coef[i], fx, &a) || !mul_i64(y->coef[i], fy, &b) || !add_i64(a, b, &out->coef[i]))
      return false;
  }
  return mul_i64(x->value, fx, &a) && mul_i64(y->value, fy, &b) && add_i64(a, b, &out->value);
}

static void eliminate(System *s, int k) {
  Row with[MAX_ROWS], row;
  int n = 0, kept = 0;
  for (int r = 0; r < s->n_rows; r++) {
    if (s->rows[r].coef[k] != 0)
      with[n++] = s->rows[r];
    else
      s->rows[kept++] = s->rows[r];
  }
  s->n_rows = kept;
  for (int i = 0; i < n && !s->contradiction; i++) {
    for (int j = 0; j < n && with[i].coef[k] > 0; j++) {
      if (with[j].coef[k] < 0 && cancel(s, &with[i], &with[j], k, &row))
        add_row(s, row);
    }
  }
}

/* The loops around the goal. */
typedef struct {
  Ctx *ctx;
  const Expr *const *vars;
  int n_vars;
} Around;

static bool refute_negation(const Around *around, const Expr *e) {
  System s = {.ctx = around->ctx};
  add_order(&s, expr_const(s.ctx, -1), e, 0);
  int done = 0;
  for (; done < s.n_unknowns; done++)
    add_facts_of(&s, s.unknown[done]);
  for (int i = 0; i < around->n_vars; i++)
    unknown_of(&s, around->vars[i]);
  for (; done < s.n_unknowns; done++)
    add_facts_of(&s, s.unknown[done]);
  for (int k = cheapest_unknown(&s); k >= 0 && !s.contradiction; k = cheapest_unknown(&s))
    eliminate(&s, k);
  return s.contradiction;
}

/* A min with positive coefficient in the goal stands for both operands, each a goal of its own. */
static bool prove_each(const Around *around, const Expr *e, int splits) {
  if (!e)
    return false;
  Linear x;
  linear_of(e, &x);
  int choice = find_choice(&x);
  if (choice < 0 || splits == 0 || x.terms[choice].coef == INT64_MIN)
    return refute_negation(around, e);
  const ExprTerm *t = &x.terms[choice];
  return prove_each(around, with_operand(around->ctx, e, t, t->atom->a), splits - 1) &&
         prove_each(around, with_operand(around->ctx, e, t, t->atom->b), splits - 1);
}

bool expr_prove_linear(Ctx *ctx, const Expr *e, const Expr *const *vars, int n_vars) {
  Around around = {ctx, vars, n_vars};
  return prove_each(&around, e, MAX_SPLITS);
}
