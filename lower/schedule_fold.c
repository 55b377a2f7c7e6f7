/* Reductions in lockstep: where no axis is contiguous in what a reduction reads but the reduced index is, as in a mean
 * over the pixels of a channel or a product with a matrix of rows, each lane sums its share of the terms, and the lanes
 * are folded into one at the end: the upper half onto the lower, log2(lanes) times. Which terms a lane sums depends on
 * the extents alone, so that results do not depend on the number of threads. */
#include "lower/schedule.h"

#define MAX_FOLDED 8   /* vectors of sums, all rows together: enough to hide the time that one step takes */
#define FOLD_COST 12.0 /* of folding one row, in vector instructions */

/* The vectors of one row: a power of two that the terms fill. */
static int64_t folded_vectors(int64_t terms, int64_t lanes, int64_t rows) {
  int64_t n = 1;
  while (2 * n * rows <= MAX_FOLDED && 2 * n * lanes <= terms)
    n *= 2;
  return n;
}

/* Cost per step of one vector along reduction r; 0 where an operand is neither contiguous nor constant along it, or all
 * are constant. */
static double step_cost(const Schedule *s, const Computation *c, const Expr *r) {
  double cost = 1.0;
  bool contiguous = false;
  for (int j = 0; j < c->step_args.n; j++) {
    Move move = access_move(s->ctx, c->step_args.access[j], r);
    if (move == MOVE_STRIDED)
      return 0;
    contiguous = contiguous || move == MOVE_UNIT;
    cost += 0.5;
  }
  return contiguous ? cost : 0;
}

/* An axis along which an operand of the reduction stays, which several rows at a time then read once; -1: none. */
static int choose_rows(const Schedule *s, const Computation *c, const Expr *r) {
  for (int k = c->n_axes - 1; k >= 0; k--)
    for (int j = 0; j < c->step_args.n; j++) {
      Access a = c->step_args.access[j];
      if (access_move(s->ctx, a, r) == MOVE_UNIT && access_move(s->ctx, a, c->axes[k]) == MOVE_NONE &&
          var_extent(s->ctx, c->axes[k]) >= 2 && !axis_bounds_use(c, k) && !computation_bounds_use(c, k))
        return k;
    }
  return -1;
}

Fold choose_fold(const Schedule *s, const Computation *c, double best) {
  Fold none = {-1, -1}, fold = none;
  if (!c->reduces || !c->fold || c->n_bindings)
    return none;
  double steps = reduction_steps(s->ctx, c);
  int64_t lanes = vector_lanes(s, c), lo, hi;
  for (int j = 0; j < c->n_reds; j++) {
    const Expr *r = c->reds[j];
    bool used = false;
    for (int i = j + 1; i < c->n_reds; i++)
      used = used || expr_uses(c->reds[i]->a, r) || expr_uses(c->reds[i]->b, r);
    double step = step_cost(s, c, r), cost = steps * step / (double)lanes + FOLD_COST;
    if (used || step == 0 || !expr_is_const(r->a, &lo) || !expr_is_const(r->b, &hi) || hi - lo < 2 * lanes ||
        cost >= best)
      continue;
    best = cost;
    fold.red = j;
  }
  if (fold.red >= 0)
    fold.rows = choose_rows(s, c, c->reds[fold.red]);
  return fold;
}

/* ---- loops ---- */

typedef struct {
  Schedule *s;
  const Computation *c;
  const Expr *row; /* NULL: one */
  Access acc;      /* at (row, lane) */
  const Expr *lane;
} Sums;

static Stmt *around_rows(const Sums *m, Stmt *body) {
  return m->row ? stmt_loop(m->s->ctx, LOOP_UNROLL, m->row, body) : body;
}

/* The sums at another lane. */
static Access sums_at(const Sums *m, const Expr *lane) {
  return access_subst(m->s->ctx, m->acc, m->lane, lane);
}

/* A step of `lanes` terms from `first` on, each lane its own. */
static Stmt *emit_step(const Sums *m, int red, const Expr *first, int64_t lanes) {
  Ctx *ctx = m->s->ctx;
  const Expr *lane = expr_var(ctx, m->lane->name, expr_const(ctx, 0), expr_const(ctx, lanes));
  Access acc = sums_at(m, lane), args[COMPUTATION_MAX_ARGS + 1];
  args[0] = acc;
  for (int j = 0; j < m->c->step_args.n; j++)
    args[j + 1] = access_subst(ctx, m->c->step_args.access[j], m->c->reds[red], expr_add(ctx, first, lane));
  Stmt *store = stmt_store(ctx, acc, m->c->step, args, m->c->step_args.n + 1);
  return around_rows(m, stmt_loop(ctx, LOOP_VECTOR, lane, store));
}

/* All terms, the loop over blocks of them innermost. */
static Stmt *emit_terms(const Sums *m, int red) {
  Ctx *ctx = m->s->ctx;
  const Expr *r = m->c->reds[red], *zero = expr_const(ctx, 0);
  int64_t width = var_extent(ctx, m->lane), terms = var_extent(ctx, r), blocks = terms / width;
  Stmt *body = emit_step(m, red, r->a, width);
  if (blocks > 1) {
    const Expr *block = expr_var(ctx, split_name(ctx, r, "o"), zero, expr_const(ctx, blocks));
    body = emit_step(m, red, expr_add(ctx, r->a, expr_mul_const(ctx, block, width)), width);
    body = stmt_loop(ctx, LOOP_FOR, block, body);
  }
  if (terms % width)
    stmt_append(&body, emit_step(m, red, expr_add_const(ctx, r->a, blocks * width), terms % width));
  for (int k = m->c->n_reds; k-- > 0;)
    if (k != red)
      body = stmt_loop(ctx, LOOP_FOR, m->c->reds[k], body);
  return body;
}

/* acc[to] = fold(acc[to], acc[from]) for a number of lanes. */
static Stmt *emit_fold(const Sums *m, const Expr *lane, int64_t distance) {
  Ctx *ctx = m->s->ctx;
  const Access args[2] = {sums_at(m, lane), sums_at(m, expr_add_const(ctx, lane, distance))};
  return stmt_store(ctx, args[0], m->c->fold, args, 2);
}

static Stmt *emit_sums(Schedule *s, const Computation *c, int red, const Expr *row, int64_t rows) {
  Ctx *ctx = s->ctx;
  const Expr *zero = expr_const(ctx, 0), *one = expr_const(ctx, 1), *r = c->reds[red];
  int64_t width = folded_vectors(var_extent(ctx, r), vector_lanes(s, c), rows) * vector_lanes(s, c);
  Sums m = {.s = s, .c = c, .row = row, .lane = expr_var(ctx, split_name(ctx, r, "i"), zero, expr_const(ctx, width))};
  const Expr *vars[2] = {row, m.lane};
  m.acc = vars_local(s, "acc", c->init->dtype, vars, 2);
  Stmt *body = stmt_local(ctx, m.acc.buffer);
  Stmt *start = stmt_store(ctx, m.acc, c->identity, NULL, 0);
  stmt_append(&body, around_rows(&m, stmt_loop(ctx, LOOP_VECTOR, m.lane, start)));
  stmt_append(&body, emit_terms(&m, red));
  for (int64_t half = width / 2; half > 1; half /= 2) {
    const Expr *lane = expr_var(ctx, m.lane->name, zero, expr_const(ctx, half));
    stmt_append(&body, around_rows(&m, stmt_loop(ctx, LOOP_VECTOR, lane, emit_fold(&m, lane, half))));
  }
  Stmt *end = emit_fold(&m, zero, 1);
  const Access last[2] = {sums_at(&m, one), sums_at(&m, zero)};
  if (c->init != c->identity) { /* lane 1 then holds what the accumulator starts from */
    stmt_append(&end, stmt_store(ctx, last[0], c->init, c->init_args.access, c->init_args.n));
    stmt_append(&end, stmt_store(ctx, last[1], c->fold, last, 2));
  }
  Access args[COMPUTATION_MAX_ARGS + 1] = {last[1]};
  memcpy(args + 1, c->args.access, (size_t)c->args.n * sizeof *args);
  stmt_append(&end, stmt_store(ctx, c->target, c->value, args, c->args.n + 1));
  stmt_append(&body, around_rows(&m, end));
  return body;
}

Stmt *emit_folded(Schedule *s, const Computation *c, Fold fold) {
  Ctx *ctx = s->ctx;
  if (fold.rows < 0)
    return emit_sums(s, c, fold.red, NULL, 1);
  Pieces parts = {0};
  const Expr *var = c->axes[fold.rows];
  int64_t extent = var_extent(ctx, var), rows = extent < FOLDED_ROWS ? extent : FOLDED_ROWS;
  schedule_cut_blocks(ctx, c, fold.rows, rows, &parts);
  Stmt *all = NULL;
  for (size_t k = 0; k < parts.len; k++) {
    const Computation *part = &parts.data[k];
    const Expr *row = part->n_axes ? part->axes[part->n_axes - 1] : NULL;
    Stmt *body = emit_sums(s, part, fold.red, row, row ? var_extent(ctx, row) : 1);
    stmt_append(&all, part->n_axes > 1 ? stmt_loop(ctx, LOOP_FOR, part->axes[0], body) : body);
  }
  return all;
}
