/* The nest that clears the halo of a group's result (ir/layout.h), in front of those that write its elements: one walk
 * through memory, digit by digit. Along a digit of an axis with a halo, the places in front of and behind the elements
 * are filled, whatever the finer digits; in between, the walk goes on. It is not shared among threads: a halo is small. */
#include "lower/schedule.h"

typedef struct {
  Schedule schedule;
  const Group *group;
  const Expr *digits[WEFT_MAX_DIGITS]; /* where the walk is */
  int64_t extents[WEFT_MAX_DIGITS];
  int last; /* the finest digit of an axis with a halo */
} Walk;

static const Expr *digit_var(Ctx *ctx, int d, int64_t lo, int64_t hi) {
  return expr_var(ctx, arena_printf(ctx->arena, "p%d", d), expr_const(ctx, lo), expr_const(ctx, hi));
}

/* Stores zeros at digit d in lo..hi and all finer digits. */
static Stmt *fill(Walk *w, int d, int64_t lo, int64_t hi) {
  Ctx *ctx = w->schedule.ctx;
  const Type *type = w->group->target->type;
  Computation c = {.value = scalar_const_typed(ctx, dtype_compute(type->dtype), 0.0)};
  const Expr **at = ARENA_ARRAY(ctx->arena, const Expr *, type->layout->n);
  for (int k = 0; k < type->layout->n; k++) {
    at[k] = k < d ? w->digits[k] : digit_var(ctx, k, k == d ? lo : 0, k == d ? hi : w->extents[k]);
    if (k >= d)
      c.axes[c.n_axes++] = at[k];
  }
  c.target = (Access){w->group->target, at};
  c = computation_drop_unit_loops(ctx, &c);
  return lo < hi ? schedule_emit(&w->schedule, &c) : NULL;
}

static Stmt *clear_from(Walk *w, int d);

/* The walk through the finer digits for digit d in lo..hi. */
static Stmt *clear_within(Walk *w, int d, int64_t lo, int64_t hi) {
  Ctx *ctx = w->schedule.ctx;
  if (d == w->last || lo == hi)
    return NULL;
  const Expr *var = hi - lo == 1 ? NULL : digit_var(ctx, d, lo, hi);
  w->digits[d] = var ? var : expr_const(ctx, lo);
  Stmt *body = clear_from(w, d + 1);
  return var ? stmt_loop(ctx, LOOP_FOR, var, body) : body;
}

static Stmt *clear_from(Walk *w, int d) {
  const Layout *layout = w->group->target->type->layout;
  Halo halo = layout->halo[layout->digits[d].axis];
  int64_t end = w->extents[d] - halo.hi;
  Stmt *all = fill(w, d, 0, halo.lo);
  stmt_append(&all, clear_within(w, d, halo.lo, end));
  stmt_append(&all, fill(w, d, end, w->extents[d]));
  return all;
}

void schedule_halo(LowerCtx *lc, const Group *group) {
  Ctx *ctx = lc->ctx;
  const Type *type = group->target->type;
  const Layout *layout = type->layout;
  Walk w = {.schedule = {.lc = lc, .ctx = ctx}, .group = group, .last = -1};
  for (int d = 0; d < layout->n; d++) {
    const Halo *halo = &layout->halo[layout->digits[d].axis];
    w.extents[d] = expr_value(layout_extent(ctx, layout, type->dims, d));
    if (w.extents[d] == 0)
      return;
    if (halo->lo + halo->hi > 0)
      w.last = d;
  }
  if (w.last < 0)
    return;
  Loc loc = group->root ? group->root->loc : group->result->loc;
  Stmt *body = clear_from(&w, 0);
  loops_add_nest(lc->program, arena_printf(ctx->arena, "%s.halo", group->result->name), "halo", loc)->body = body;
}
