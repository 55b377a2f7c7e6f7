/* Two ways to prove an index in bounds: symbolically (expr_prove_nonneg), and where that fails and all bounds are
 * constant, by running through the points of the enclosing loops.
 *
 * The run leaves out a loop on which the index does not depend, directly or through bounds of others, unless the loop
 * may be empty: then it decides whether the statement is executed at all. So the answer is exact. It is limited per
 * question and per program, for hostile text.
 *
 * A proof that did not need a surrounding loop to be empty is about the expression alone (variables carry their
 * bounds), and is kept in a small direct-mapped cache: unrolled code asks the same question again and again. */
#include "lower/loop_bounds.h"

#include <inttypes.h>

#include "lower/index_code.h"

#define POINTS_PER_QUESTION 200000
#define POINTS_PER_PROGRAM 20000000
#define CACHE_SIZE 1024

struct Bounds {
  Ctx *ctx;
  int64_t points_left;
  struct {
    const Expr *index;
    Dim extent;
  } proved[CACHE_SIZE];
};

Bounds *bounds_create(Ctx *ctx) {
  Bounds *b = ARENA_NEW(ctx->arena, Bounds);
  b->ctx = ctx;
  b->points_left = POINTS_PER_PROGRAM;
  return b;
}

const char *expr_text(Ctx *ctx, const Expr *e) {
  Str s = str_new(ctx->arena);
  expr_print(&s, e);
  return s.data;
}

const char *access_text(Ctx *ctx, const Access *access) {
  Str s = str_new(ctx->arena);
  if (!access->buffer) {
    str_put(&s, "index(");
    expr_print(&s, access->index[0]);
    str_putc(&s, ')');
    return s.data;
  }
  str_printf(&s, "%s%s[", access->buffer->space == BUF_LOCAL ? "" : "%", access->buffer->name);
  for (int k = 0; k < access->buffer->type->layout->n; k++) {
    if (k > 0)
      str_put(&s, ", ");
    expr_print(&s, access->index[k]);
  }
  str_putc(&s, ']');
  return s.data;
}

/* ---- enumeration ---- */

typedef struct {
  const Expr *var;
  int slot, lo, hi;
  IndexInstrs code;
} Level;

typedef struct {
  Level *levels;
  int n_levels;
  int64_t *slots;
  int index, extent; /* slots */
  int64_t points_left;
} Walk;

typedef enum { WALK_INSIDE, WALK_OUTSIDE, WALK_TOO_LONG } WalkResult;

/* On WALK_OUTSIDE the slots hold the point. */
static WalkResult walk(Walk *w, int k) {
  if (k == w->n_levels) {
    int64_t i = w->slots[w->index];
    return i >= 0 && i < w->slots[w->extent] ? WALK_INSIDE : WALK_OUTSIDE;
  }
  const Level *level = &w->levels[k];
  int64_t hi = w->slots[level->hi];
  for (int64_t v = w->slots[level->lo]; v < hi; v++) {
    if (w->points_left-- <= 0)
      return WALK_TOO_LONG;
    w->slots[level->slot] = v;
    index_code_run(&level->code, w->slots);
    WalkResult r = walk(w, k + 1);
    if (r != WALK_INSIDE)
      return r;
  }
  return WALK_INSIDE;
}

/* Marks the loops that decide the value of the marked ones: bounds use outer variables only. */
static void close_over_bounds(const Expr *const *vars, int n, bool *mark) {
  for (int k = n - 1; k >= 0; k--)
    for (int j = 0; mark[k] && j < k; j++)
      mark[j] = mark[j] || expr_uses(vars[k]->a, vars[j]) || expr_uses(vars[k]->b, vars[j]);
}

static bool may_be_empty(Ctx *ctx, const Expr *var) {
  return expr_sub(ctx, var->b, var->a)->lo < 1;
}

static const char *point_text(Ctx *ctx, const Walk *w) {
  Str s = str_new(ctx->arena);
  str_printf(&s, "it is %" PRId64, w->slots[w->index]);
  for (int k = 0; k < w->n_levels; k++)
    str_printf(&s, "%s%s = %" PRId64, k == 0 ? " where " : ", ", w->levels[k].var->name, w->slots[w->levels[k].slot]);
  return s.data;
}

/* *alone: the answer did not depend on loops other than those of the index. */
static bool enumerate(Bounds *b, const Expr *const *vars, int n, const Expr *index, Dim extent, bool *alone,
                      const char **example) {
  Ctx *ctx = b->ctx;
  bool *mark = ARENA_ARRAY(ctx->arena, bool, n);
  int n_index = 0, n_all = 0;
  for (int k = 0; k < n; k++)
    mark[k] = expr_uses(index, vars[k]);
  close_over_bounds(vars, n, mark);
  for (int k = 0; k < n; k++)
    n_index += mark[k];
  for (int k = 0; k < n; k++)
    mark[k] = mark[k] || may_be_empty(ctx, vars[k]);
  close_over_bounds(vars, n, mark);
  for (int k = 0; k < n; k++)
    n_all += mark[k];
  *alone = n_index == n_all;

  IndexCode *code = index_code_create(ctx->arena);
  Walk w = {.levels = ARENA_ARRAY(ctx->arena, Level, n_all)};
  for (int k = 0; k < n; k++) {
    if (!mark[k])
      continue;
    Level *level = &w.levels[w.n_levels++];
    level->var = vars[k];
    level->lo = index_code_slot(code, vars[k]->a);
    level->hi = index_code_slot(code, vars[k]->b);
    if (level->lo < 0 || level->hi < 0)
      return false;
    level->slot = index_code_enter(code, vars[k], &level->code);
  }
  w.index = index_code_slot(code, index);
  w.extent = index_code_slot(code, extent);
  if (w.index < 0 || w.extent < 0)
    return false;
  w.slots = ARENA_ARRAY(ctx->arena, int64_t, index_code_slots(code));
  index_code_run(index_code_outer(code), w.slots);
  int64_t budget = b->points_left < POINTS_PER_QUESTION ? b->points_left : POINTS_PER_QUESTION;
  w.points_left = budget;
  WalkResult r = walk(&w, 0);
  b->points_left -= budget - (w.points_left > 0 ? w.points_left : 0);
  if (r == WALK_OUTSIDE)
    *example = point_text(ctx, &w);
  return r == WALK_INSIDE;
}

bool bounds_hold(Bounds *b, const Expr *const *vars, int n_vars, const Expr *index, Dim extent, const char **example) {
  *example = NULL;
  size_t way = (index->id * 31u + extent->id) % CACHE_SIZE;
  if (b->proved[way].index == index && b->proved[way].extent == extent)
    return true;
  const Expr *room = expr_add_const(b->ctx, expr_sub(b->ctx, extent, index), -1);
  bool alone = expr_prove_nonneg(b->ctx, index) && expr_prove_nonneg(b->ctx, room);
  /* Loops that the index does not use tell something too, since they are not empty here. */
  bool inside =
      alone || (expr_prove_nonneg_in(b->ctx, index, vars, n_vars) && expr_prove_nonneg_in(b->ctx, room, vars, n_vars));
  if (!inside && !enumerate(b, vars, n_vars, index, extent, &alone, example))
    return false;
  if (alone) {
    b->proved[way].index = index;
    b->proved[way].extent = extent;
  }
  return true;
}
