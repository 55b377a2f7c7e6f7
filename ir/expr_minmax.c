/* Min and max of index expressions: flattened, in expr_order, without operands that another one decides against, as the
 * interval of their difference shows. */
#include "ir/expr_impl.h"

#define MAX_CHOICES 16 /* operands of one flattened min or max; more stay nested */

static int choices_of(ExprKind kind, const Expr *e, const Expr **out) {
  int n = 1;
  for (const Expr *x = e; x->kind == kind; x = x->a)
    n++;
  if (n > MAX_CHOICES)
    n = 1;
  for (int i = n - 1; i > 0; i--) {
    out[i] = e->b;
    e = e->a;
  }
  out[0] = e;
  return n;
}

/* Which of a and b is the min (or max) for all values: the operand, or NULL where that is not known. */
static const Expr *decide(Ctx *ctx, ExprKind kind, const Expr *a, const Expr *b) {
  const Expr *d = expr_try_combine(ctx, a, 1, b, -1);
  if (d && d->hi <= 0)
    return kind == EX_MIN ? a : b;
  if (d && d->lo >= 0)
    return kind == EX_MIN ? b : a;
  return NULL;
}

static const Expr *choose(Ctx *ctx, ExprKind kind, const Expr *a, const Expr *b) {
  const Expr *winner = decide(ctx, kind, a, b);
  if (winner)
    return winner;
  const Expr *all[2 * MAX_CHOICES], *next[MAX_CHOICES];
  int n = choices_of(kind, a, all), m = choices_of(kind, b, next);
  if (n + m > MAX_CHOICES) {
    n = m = 1;
    all[0] = a;
    next[0] = b;
  }
  for (int j = 0; j < m; j++) {
    /* Insert next[j]: it goes where another one wins over it, and those it wins over go. */
    const Expr *x = next[j];
    bool beaten = false;
    int kept = 0;
    for (int i = 0; i < n; i++) {
      const Expr *w = beaten ? all[i] : decide(ctx, kind, all[i], x);
      beaten = beaten || w == all[i];
      if (w != x || beaten)
        all[kept++] = all[i];
    }
    n = kept;
    if (beaten)
      continue;
    int at = n++;
    for (; at > 0 && expr_order(all[at - 1], x) > 0; at--)
      all[at] = all[at - 1];
    all[at] = x;
  }
  const Expr *e = all[0];
  for (int i = 1; i < n; i++)
    e = expr_node(ctx, kind, e, all[i]);
  return e;
}

const Expr *expr_min(Ctx *ctx, const Expr *a, const Expr *b) {
  return choose(ctx, EX_MIN, a, b);
}
const Expr *expr_max(Ctx *ctx, const Expr *a, const Expr *b) {
  return choose(ctx, EX_MAX, a, b);
}
