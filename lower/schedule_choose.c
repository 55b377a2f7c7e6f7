/* What a computation is vectorised and tiled along, by a small cost model; and where its interior is. See schedule.h.
 */
#include "lower/schedule.h"

/* ---- how an access moves along a variable ---- */

Move access_move(Ctx *ctx, Access access, const Expr *var) {
  int64_t coef;
  if (!expr_linear(access_offset(ctx, access), var, &coef))
    return MOVE_STRIDED;
  return coef == 0 ? MOVE_NONE : coef == 1 ? MOVE_UNIT : MOVE_STRIDED;
}

/* True where the bounds of another axis use axis k. */
bool axis_bounds_use(const Computation *c, int k) {
  for (int j = 0; j < c->n_axes; j++)
    if (j != k && (expr_uses(c->axes[j]->a, c->axes[k]) || expr_uses(c->axes[j]->b, c->axes[k])))
      return true;
  return false;
}

/* ---- borders ---- */

typedef struct {
  const Expr *var;
  int64_t value;
} OneValue;

static int64_t lookup_one(const void *env, const Expr *atom) {
  const OneValue *v = env;
  WEFT_ASSERT(atom == v->var);
  return v->value;
}

/* True where e has no variable or symbol but var. */
static bool only_uses(const Expr *e, const Expr *var) {
  switch (e->kind) {
  case EX_CONST:
    return true;
  case EX_SYM:
  case EX_VAR:
    return e == var;
  case EX_SUM:
    for (int k = 0; k < e->n; k++)
      if (!only_uses(e->terms[k].atom, var))
        return false;
    return true;
  default:
    return only_uses(e->a, var) && only_uses(e->b, var);
  }
}

/* The longest run [*lo, *hi) of axis k in which no bound that uses it changes; false where there is none of two points.
 */
bool find_interior(const Computation *c, int k, int64_t *lo, int64_t *hi) {
  const Expr *var = c->axes[k];
  int64_t begin, end;
  if (!expr_is_const(var->a, &begin) || !expr_is_const(var->b, &end) || end - begin > (1 << 20))
    return false;
  const Expr *bounds[2 * COMPUTATION_MAX_VARS];
  int64_t seen[2 * COMPUTATION_MAX_VARS];
  int n = 0;
  for (int j = 0; j < c->n_reds; j++) {
    const Expr *both[2] = {c->reds[j]->a, c->reds[j]->b};
    for (int b = 0; b < 2; b++) {
      if (!expr_uses(both[b], var))
        continue;
      if (!only_uses(both[b], var))
        return false;
      bounds[n++] = both[b];
    }
  }
  *lo = *hi = begin;
  int64_t run = begin;
  for (int64_t x = begin; x < end; x++) {
    OneValue env = {var, x};
    for (int j = 0; j < n; j++) {
      int64_t v = expr_eval(bounds[j], lookup_one, &env);
      if (x == begin || v != seen[j])
        run = x;
      seen[j] = v;
    }
    if (x + 1 - run > *hi - *lo) {
      *lo = run;
      *hi = x + 1;
    }
  }
  return *hi - *lo >= 2;
}

/* ---- vector and tile axes ---- */

/* Lanes of one vector: its bytes by those of the widest value a lane holds. */
int64_t vector_lanes(const Schedule *s, const Computation *c) {
  size_t bytes = dtype_size(dtype_compute(c->target.buffer->type->dtype));
  const Args *all[3] = {&c->init_args, &c->step_args, &c->args};
  for (int j = 0; j < 3; j++)
    for (int k = 0; k < all[j]->n; k++) {
      size_t own = all[j]->access[k].buffer ? dtype_size(access_dtype(all[j]->access[k])) : 8;
      bytes = own > bytes ? own : bytes;
    }
  return s->lc->target.vector_bytes / (int64_t)bytes;
}

/* Points of axis k that a vector or tile may run over: its constant extent, or that of its interior; 0: none, as where
 * a binding uses it. */
static int64_t usable_extent(Ctx *ctx, const Computation *c, int k) {
  int64_t lo, hi, extent = var_extent(ctx, c->axes[k]);
  if (extent < 2 || axis_bounds_use(c, k))
    return 0;
  for (int j = 0; j < c->n_bindings; j++)
    if (args_use(&c->bindings[j].args, c->axes[k]))
      return 0;
  if (!computation_bounds_use(c, k))
    return extent;
  return find_interior(c, k, &lo, &hi) ? hi - lo : 0;
}

/* Steps of the reduction, an upper estimate; 1 without one. */
static double reduction_steps(Ctx *ctx, const Computation *c) {
  double steps = 1;
  for (int k = 0; k < c->n_reds; k++) {
    int64_t hi = expr_sub(ctx, c->reds[k]->b, c->reds[k]->a)->hi;
    steps *= hi > 0 && hi < (1 << 30) ? (double)hi : 1.0;
  }
  return steps;
}

/* Cost of one access for a vector of this many lanes, in vector instructions. */
static double access_cost(Ctx *ctx, Access access, const Expr *var, double lanes) {
  switch (access_move(ctx, access, var)) {
  case MOVE_NONE:
    return 0.5;
  case MOVE_UNIT:
    return 1.0;
  default:
    return 1.5 * lanes;
  }
}

/* Estimated cost per point of running vectors along axis k. */
static double vector_cost(const Schedule *s, const Computation *c, int k, int64_t usable) {
  Ctx *ctx = s->ctx;
  const Expr *var = c->axes[k];
  double width = (double)vector_lanes(s, c), steps = reduction_steps(ctx, c), extent = (double)var_extent(ctx, var);
  double lanes = (double)usable < width ? (double)usable : width;
  double vectors = (double)((usable + (int64_t)width - 1) / (int64_t)width);
  double per_vector = access_cost(ctx, c->target, var, lanes) + 1.0, per_step = 1.0;
  for (int j = 0; j < c->args.n; j++)
    per_vector += access_cost(ctx, c->args.access[j], var, lanes);
  for (int j = 0; j < c->step_args.n; j++)
    per_step += access_cost(ctx, c->step_args.access[j], var, lanes) / 2;
  double scalar = (c->reduces ? 2.0 * steps : 0.0) + 2.0;
  return (vectors * (per_vector + (c->reduces ? steps * per_step : 0.0)) + (extent - (double)usable) * scalar / 4) /
         extent;
}

int choose_vector(const Schedule *s, const Computation *c) {
  int best = -1;
  double best_cost = 0;
  for (int k = 0; k < c->n_axes; k++) {
    int64_t usable = usable_extent(s->ctx, c, k);
    if (usable < 2)
      continue;
    double cost = vector_cost(s, c, k, usable);
    if (best < 0 || cost <= best_cost) { /* a later axis has the smaller stride */
      best = k;
      best_cost = cost;
    }
  }
  return best;
}

/* An axis along which one of the factors stays, so that a tile reuses it: the one that spares more loads. */
int choose_tile(const Schedule *s, const Computation *c, int vector) {
  int best = -1;
  double best_gain = 0;
  if (!c->reduces || vector < 0)
    return -1;
  for (int k = 0; k < c->n_axes; k++) {
    if (k == vector)
      continue;
    int64_t usable = usable_extent(s->ctx, c, k);
    double gain = 0;
    for (int j = 0; j < c->step_args.n; j++)
      if (access_move(s->ctx, c->step_args.access[j], c->axes[k]) == MOVE_NONE)
        gain += access_cost(s->ctx, c->step_args.access[j], c->axes[vector], 4.0);
    gain *= (double)(usable < 8 ? usable : 8);
    if (usable >= 2 && gain > 0 && gain >= best_gain) {
      best = k;
      best_gain = gain;
    }
  }
  return best;
}

static Tile tile_for(const Schedule *s, int64_t width, int64_t points, int64_t rows) {
  int64_t registers = s->lc->target.registers;
  int64_t all = (points + width - 1) / width;
  Tile best = {1, 1};
  double best_score = 0;
  for (int64_t nv = 1; nv <= 4 && nv <= all && 2 * nv < registers; nv++) { /* at least one row */
    int64_t mr = (registers - 1 - nv) / nv;
    int64_t blocks = (rows + mr - 1) / mr;
    mr = (rows + blocks - 1) / blocks;
    double score = (double)(mr * nv) / (double)(mr + nv) * ((double)all / (double)((all + nv - 1) / nv * nv));
    if (score > best_score) {
      best = (Tile){nv, mr};
      best_score = score;
    }
  }
  return best;
}

Tile choose_tile_size(const Schedule *s, const Computation *c, int vector, int tile) {
  if (!c->reduces)
    return (Tile){1, 1};
  return tile_for(s, vector_lanes(s, c), var_extent(s->ctx, c->axes[vector]),
                  tile < 0 ? 1 : var_extent(s->ctx, c->axes[tile]));
}
