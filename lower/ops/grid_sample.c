/* Sampling at the points of a grid: the index of each tap is a binding, computed from the grid, along which data is
 * read; the reduction runs over the taps of all axes. Channels use no binding, so that vectors may run along them. */
#include "ir/ops/grid_sample.h"
#include "lower/lower_op.h"

bool lower_grid_sample(LowerCtx *lc, const Group *group);

/* Text over named scalars. */
typedef struct {
  Ctx *ctx;
  int n;
  const char *names[8];
  const Scalar *values[8];
} Names;

static void name(Names *s, const char *text, const Scalar *value) {
  s->names[s->n] = text;
  s->values[s->n++] = value;
}

static const Scalar *parse(const Names *s, const char *text) {
  const char *why;
  const Scalar *v = scalar_parse(s->ctx, text, s->names, s->values, s->n, &why);
  if (!v)
    weft_bug(__FILE__, __LINE__, "%s: %s", text, why);
  return v;
}

/* One tap along one axis, over the grid's number `g` and the number of the tap `t` (i64). */
typedef struct {
  const Scalar *index;  /* in data, within its extent */
  const Scalar *valid;  /* false: the tap is 0; NULL: always true */
  const Scalar *weight; /* NULL: 1 */
} Tap;

static Tap tap_of(Ctx *ctx, const GridSpec *spec, int64_t extent, const Scalar *g, const Scalar *t) {
  static const char *const firsts[] = {
      [GRID_LINEAR] = "floor(p)", [GRID_NEAREST] = "round(p)", [GRID_CUBIC] = "floor(p) - 1"};
  DType type = g->dtype;
  bool reflects = spec->padding == GRID_REFLECTION;
  int64_t period = spec->align_corners ? 2 * (extent - 1) : 2 * extent;
  Names s = {.ctx = ctx};
  name(&s, "g", g);
  name(&s, "n", scalar_const_typed(ctx, type, (double)extent));
  name(&s, "lo", scalar_const_typed(ctx, type, reflects ? -GRID_FARTHEST : -GRID_BEYOND));
  name(&s, "hi", scalar_const_typed(ctx, type, reflects ? GRID_FARTHEST : (double)extent + GRID_BEYOND));
  const Scalar *p = parse(&s, spec->align_corners ? "min(max((g + 1) * 0.5 * (n - 1), lo), hi)"
                                                  : "min(max(((g + 1) * n - 1) * 0.5, lo), hi)");
  name(&s, "p", p);
  const Scalar *first = parse(&s, firsts[spec->mode]);

  Names w = {.ctx = ctx}, i = {.ctx = ctx};
  name(&i, "i", scalar_make2(ctx, SC_ADD, scalar_cast(ctx, first, DT_I64), t));
  name(&i, "n", scalar_const_int(ctx, DT_I64, extent));
  name(&i, "period", scalar_const_int(ctx, DT_I64, period));
  Tap tap = {.index = parse(&i, "min(max(i, 0), n - 1)")};
  if (reflects) {
    name(&i, "m", parse(&i, "mod(mod(i, period) + period, period)"));
    tap.index = parse(&i, spec->align_corners ? "select(m < n, m, period - m)" : "select(m < n, m, period - m - 1)");
  }
  if (spec->padding == GRID_ZEROS)
    tap.valid = parse(&i, "and(i >= 0, i < n)");
  if (spec->mode == GRID_NEAREST)
    return tap;
  name(&w, "d", scalar_make2(ctx, SC_SUB, p, scalar_make2(ctx, SC_ADD, first, scalar_cast(ctx, t, type))));
  name(&w, "x", parse(&w, "abs(d)"));
  name(&w, "a", scalar_const_typed(ctx, type, GRID_CUBIC_A));
  tap.weight = parse(&w, spec->mode == GRID_LINEAR ? "1 - x"
                                                   : "select(x <= 1, ((a + 2) * x - (a + 3)) * x * x + 1,"
                                                     " ((a * x - 5 * a) * x + 8 * a) * x - 4 * a)");
  return tap;
}

static Access index_access(Ctx *ctx, const Expr *e) {
  const Expr **at = ARENA_ARRAY(ctx->arena, const Expr *, 1);
  *at = e;
  return (Access){NULL, at};
}

typedef struct {
  LowerCtx *lc;
  const Op *op;
  GridSpec spec;
  const Expr *to[WEFT_MAX_RANK], *from[WEFT_MAX_RANK], *tap[3];
} Work;

/* The tap along axis k over args, whose first is number `before`. */
static Tap tap_over(Work *w, int k, Args *args, int before) {
  Ctx *ctx = w->lc->ctx;
  const Value *grid = w->op->operands[GRID_POINTS];
  int d = w->spec.spatial;
  const Expr *at[WEFT_MAX_RANK] = {w->to[0]};
  for (int j = 0; j < d; j++)
    at[1 + j] = w->to[2 + j];
  at[1 + d] = expr_const(ctx, d - 1 - k);
  int number = args_add(args, lower_read(w->lc, grid, at)), step = args_add(args, index_access(ctx, w->tap[k]));
  int64_t extent = expr_value(w->op->operands[GRID_DATA]->type->dims[2 + k]);
  return tap_of(ctx, &w->spec, extent, scalar_arg_typed(ctx, before + number, dtype_compute(grid->type->dtype)),
                scalar_arg_typed(ctx, before + step, DT_I64));
}

static void bind_taps(Work *w, Computation *c) {
  static const char *const names[] = {"j0", "j1", "j2"};
  Ctx *ctx = w->lc->ctx;
  const Type *data = w->op->operands[GRID_DATA]->type;
  for (int k = 0; k < w->spec.spatial; k++) {
    Binding *b = &c->bindings[c->n_bindings++];
    b->var = w->from[2 + k] = expr_var(ctx, names[k], expr_const(ctx, 0), data->dims[2 + k]);
    b->value = tap_over(w, k, &b->args, 0).index;
  }
}

/* The product of the taps' weights and the element of data, over args from number `before` on. */
static const Scalar *weighted(Work *w, Args *args, int before) {
  Ctx *ctx = w->lc->ctx;
  const Value *data = w->op->operands[GRID_DATA];
  DType type = dtype_compute(data->type->dtype);
  const Scalar *x = scalar_arg_typed(ctx, before + args_add(args, lower_read(w->lc, data, w->from)), type);
  const Scalar *valid = NULL, *weight = NULL;
  for (int k = 0; k < w->spec.spatial; k++) {
    Tap t = tap_over(w, k, args, before);
    valid = valid && t.valid ? scalar_make2(ctx, SC_AND, valid, t.valid) : t.valid;
    weight = weight && t.weight ? scalar_make2(ctx, SC_MUL, weight, t.weight) : t.weight;
  }
  if (weight)
    x = scalar_make2(ctx, SC_MUL, scalar_cast(ctx, weight, type), x);
  return valid ? scalar_make3(ctx, SC_SELECT, valid, x, scalar_const_typed(ctx, type, 0)) : x;
}

bool lower_grid_sample(LowerCtx *lc, const Group *group) {
  static const char *const names[] = {"k0", "k1", "k2"};
  Ctx *ctx = lc->ctx;
  Work w = {.lc = lc, .op = group->root, .spec = grid_spec(group->root)};
  const Expr *zero = expr_const(ctx, 0);
  DType type = dtype_compute(w.op->operands[GRID_DATA]->type->dtype);
  Computation c = {.n_axes = w.spec.spatial + 2, .reduces = w.spec.taps > 1};
  lower_axis_vars(lc, w.op->result->type, w.to);
  memcpy(c.axes, w.to, (size_t)c.n_axes * sizeof *w.to);
  memcpy(w.from, w.to, 2 * sizeof *w.to);
  for (int k = 0; k < w.spec.spatial; k++) {
    w.tap[k] = c.reduces ? expr_var(ctx, names[k], zero, expr_const(ctx, w.spec.taps)) : zero;
    if (c.reduces)
      c.reds[c.n_reds++] = w.tap[k];
  }
  bind_taps(&w, &c);
  const Scalar *root;
  if (c.reduces) {
    root = scalar_arg_typed(ctx, 0, type);
    c.init = scalar_const_typed(ctx, type, 0);
    c.step = scalar_make2(ctx, SC_ADD, root, weighted(&w, &c.step_args, 1));
  } else {
    root = weighted(&w, &c.args, 0);
  }
  c.value = lower_chain(lc, group, w.to, root, &c.args, c.reduces);
  if (!c.value)
    return false;
  c.target = lower_target(lc, group, w.to);
  schedule_computation(lc, group, &c);
  return true;
}
