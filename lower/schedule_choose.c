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

#define MAX_OTHERS 8    /* variables beside the axis in one computation's bounds */
#define MAX_PLACES 4096 /* values of all bounds at one point of the axis */

/* The variables of the bounds and their values; number 0 is the axis. */
typedef struct {
  int n;
  const Expr *var[MAX_OTHERS + 1];
  int64_t value[MAX_OTHERS + 1];
} Point;

static int64_t value_at(const void *env, const Expr *atom) {
  const Point *p = env;
  for (int k = 0; k < p->n; k++)
    if (p->var[k] == atom)
      return p->value[k];
  WEFT_UNREACHABLE();
}

/* Adds the variables of e, with their first values; false where there are too many or their bounds are not constant. */
static bool collect_vars(const Expr *e, Point *p) {
  int64_t lo, hi;
  switch (e->kind) {
  case EX_CONST:
    return true;
  case EX_SYM:
    return false;
  case EX_VAR:
    for (int k = 0; k < p->n; k++)
      if (p->var[k] == e)
        return true;
    if (p->n > MAX_OTHERS || !expr_is_const(e->a, &lo) || !expr_is_const(e->b, &hi) || lo >= hi)
      return false;
    p->var[p->n] = e;
    p->value[p->n++] = lo;
    return true;
  case EX_SUM:
    for (int k = 0; k < e->n; k++)
      if (!collect_vars(e->terms[k].atom, p))
        return false;
    return true;
  default:
    return collect_vars(e->a, p) && collect_vars(e->b, p);
  }
}

/* The next point, the axis staying; false behind the last, and all are at their first values again. */
static bool next_point(Point *p) {
  for (int k = 1; k < p->n; k++) {
    if (++p->value[k] < expr_value(p->var[k]->b))
      return true;
    p->value[k] = expr_value(p->var[k]->a);
  }
  return false;
}

/* The bounds of reductions that use axis k; false where they cannot be evaluated. */
static bool bounds_along(const Computation *c, int k, const Expr **bounds, int *n, Point *point) {
  int64_t places = 1;
  *point = (Point){.n = 1, .var = {c->axes[k]}};
  *n = 0;
  for (int j = 0; j < c->n_reds; j++) {
    const Expr *both[2] = {c->reds[j]->a, c->reds[j]->b};
    for (int b = 0; b < 2; b++)
      if (expr_uses(both[b], c->axes[k])) {
        if (!collect_vars(both[b], point))
          return false;
        bounds[(*n)++] = both[b];
      }
  }
  for (int j = 1; j < point->n; j++) {
    places *= expr_value(point->var[j]->b) - expr_value(point->var[j]->a);
    if (places > MAX_PLACES)
      return false;
  }
  return places * *n <= MAX_PLACES;
}

bool find_interior(const Computation *c, int k, int64_t *lo, int64_t *hi) {
  const Expr *var = c->axes[k];
  int64_t begin, end, seen[MAX_PLACES];
  const Expr *bounds[2 * COMPUTATION_MAX_VARS];
  int n;
  Point point;
  if (!expr_is_const(var->a, &begin) || !expr_is_const(var->b, &end) || end - begin > (1 << 20) ||
      !bounds_along(c, k, bounds, &n, &point))
    return false;
  *lo = *hi = begin;
  int64_t run = begin;
  for (int64_t x = begin; x < end; x++) {
    point.value[0] = x;
    int place = 0;
    do
      for (int j = 0; j < n; j++, place++) {
        int64_t v = expr_eval(bounds[j], value_at, &point);
        if (x == begin || v != seen[place])
          run = x;
        seen[place] = v;
      }
    while (next_point(&point));
    if (x + 1 - run > *hi - *lo) {
      *lo = run;
      *hi = x + 1;
    }
  }
  return *hi - *lo >= 2;
}

/* ---- vector and tile axes ---- */

#define MAX_VECTORS 8        /* of a tile of one row: enough sums to hide the time that one step takes */
#define SCALAR_STEP 2.0      /* cost of a step without vectors */
#define TRANSPOSED_STORE 3.0 /* cost of storing a vector as a part of a transposed tile, in vector instructions */

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

/* True where a binding uses axis k. */
static bool is_bound(const Computation *c, int k) {
  for (int j = 0; j < c->n_bindings; j++)
    if (args_use(&c->bindings[j].args, c->axes[k]))
      return true;
  return false;
}

/* Points of axis k that a vector or tile may run over: its constant extent, or that of its interior; 0: none, as where
 * a binding uses it. */
static int64_t usable_extent(Ctx *ctx, const Computation *c, int k) {
  int64_t lo, hi, extent = var_extent(ctx, c->axes[k]);
  if (extent < 2 || axis_bounds_use(c, k) || is_bound(c, k))
    return 0;
  if (!computation_bounds_use(c, k))
    return extent;
  return find_interior(c, k, &lo, &hi) ? hi - lo : 0;
}

double reduction_steps(Ctx *ctx, const Computation *c) {
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

/* Cost of storing one vector along axis k: where another axis is contiguous in the target, of transposing it. */
static double store_cost(const Schedule *s, const Computation *c, int k, double lanes) {
  double cost = access_cost(s->ctx, c->target, c->axes[k], lanes);
  for (int j = 0; j < c->n_axes && c->reduces && !c->in_place && cost > TRANSPOSED_STORE; j++)
    if (j != k && access_move(s->ctx, c->target, c->axes[j]) == MOVE_UNIT && usable_extent(s->ctx, c, j) >= 2)
      cost = TRANSPOSED_STORE;
  return cost;
}

/* Estimated cost per point of running vectors along axis k. */
static double vector_cost(const Schedule *s, const Computation *c, int k, int64_t usable) {
  Ctx *ctx = s->ctx;
  const Expr *var = c->axes[k];
  double width = (double)vector_lanes(s, c), steps = reduction_steps(ctx, c), extent = (double)var_extent(ctx, var);
  double lanes = (double)usable < width ? (double)usable : width;
  double vectors = (double)((usable + (int64_t)width - 1) / (int64_t)width);
  double per_vector = store_cost(s, c, k, lanes) + 1.0, per_step = 1.0;
  for (int j = 0; j < c->args.n; j++)
    per_vector += access_cost(ctx, c->args.access[j], var, lanes);
  for (int j = 0; j < c->step_args.n; j++)
    per_step += access_cost(ctx, c->step_args.access[j], var, lanes) / 2;
  double scalar = (c->reduces ? 2.0 * steps : 0.0) + 2.0;
  return (vectors * (per_vector + (c->reduces ? steps * per_step : 0.0)) + (extent - (double)usable) * scalar / 4) /
         extent;
}

/* The axis k along which the access moves by one element and the other does not; -1: none. At least `least` points. */
static int unit_axis(const Schedule *s, const Computation *c, Access access, Access other, int64_t least) {
  for (int k = 0; k < c->n_axes; k++)
    if (access_move(s->ctx, access, c->axes[k]) == MOVE_UNIT &&
        access_move(s->ctx, other, c->axes[k]) == MOVE_STRIDED && usable_extent(s->ctx, c, k) >= least)
      return k;
  return -1;
}

bool choose_transpose(const Schedule *s, const Computation *c, int *vector, int *tile) {
  int64_t lanes = vector_lanes(s, c);
  if (c->reduces || lanes < 2)
    return false;
  for (int j = 0; j < c->args.n; j++) {
    *vector = unit_axis(s, c, c->args.access[j], c->target, lanes);
    *tile = unit_axis(s, c, c->target, c->args.access[j], 2);
    if (*vector >= 0 && *tile >= 0)
      return true;
  }
  return false;
}

int choose_vector_or_fold(const Schedule *s, const Computation *c, Fold *fold) {
  int best = -1, tile;
  *fold = (Fold){-1, -1};
  if (choose_transpose(s, c, &best, &tile))
    return best;
  double best_cost = SCALAR_STEP * reduction_steps(s->ctx, c);
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
  *fold = choose_fold(s, c, best_cost);
  return fold->red >= 0 ? -1 : best;
}

int choose_vector(const Schedule *s, const Computation *c) {
  Fold fold;
  return choose_vector_or_fold(s, c, &fold);
}

/* An axis along which one of the factors stays, so that a tile reuses it: the one that spares more loads. */
int choose_tile(const Schedule *s, const Computation *c, int vector) {
  int best = -1, across;
  double best_gain = 0;
  if (choose_transpose(s, c, &across, &best))
    return best;
  if (!c->reduces || vector < 0)
    return -1;
  bool enough_vectors = usable_extent(s->ctx, c, vector) > (MAX_VECTORS - 1) * vector_lanes(s, c);
  for (int k = 0; k < c->n_axes; k++) {
    if (k == vector)
      continue;
    int64_t usable = usable_extent(s->ctx, c, k);
    double gain = 0;
    for (int j = 0; j < c->step_args.n; j++) {
      const Access *a = &c->step_args.access[j];
      bool one = access_move(s->ctx, *a, c->axes[vector]) == MOVE_NONE; /* number for all lanes */
      if (access_move(s->ctx, *a, c->axes[k]) == MOVE_NONE && !(one && enough_vectors))
        gain += access_cost(s->ctx, *a, c->axes[vector], 4.0);
    }
    gain *= (double)(usable < 8 ? usable : 8);
    if (usable >= 2 && gain > 0 && gain >= best_gain) {
      best = k;
      best_gain = gain;
    }
  }
  return best;
}

/* An axis of few points along which the target is contiguous, as the phases of a transposed convolution are; -1: none.
 */
static int choose_weave(const Schedule *s, const Computation *c, int vector, int tile) {
  for (int k = 0; k < c->n_axes; k++) {
    int64_t extent = var_extent(s->ctx, c->axes[k]);
    if (k != vector && k != tile && extent >= 2 && extent <= MAX_WOVEN && !axis_bounds_use(c, k) && !is_bound(c, k) &&
        access_move(s->ctx, c->target, c->axes[k]) == MOVE_UNIT)
      return k;
  }
  return -1;
}

/* Elements that the target has one after the other in a panel. */
static int64_t contiguous_run(const Schedule *s, const Computation *c, Inner inner) {
  if (inner.weave < 0)
    return var_extent(s->ctx, c->axes[inner.tile]);
  int64_t points = var_extent(s->ctx, c->axes[inner.weave]), step;
  const Expr *offset = access_offset(s->ctx, c->target);
  const int along[2] = {inner.vector, inner.tile};
  for (int k = 0; k < 2; k++)
    if (along[k] >= 0 && expr_linear(offset, c->axes[along[k]], &step) && step == points)
      return points * var_extent(s->ctx, c->axes[along[k]]);
  return points;
}

Inner choose_inner(const Schedule *s, const Computation *c) {
  Inner r = {.vector = choose_vector(s, c), .weave = -1};
  r.tile = choose_tile(s, c, r.vector);
  if (!c->reduces || c->in_place || r.vector < 0 || access_move(s->ctx, c->target, c->axes[r.vector]) != MOVE_STRIDED)
    return r;
  bool rows_along = r.tile >= 0 && access_move(s->ctx, c->target, c->axes[r.tile]) == MOVE_UNIT;
  if (!rows_along)
    r.weave = choose_weave(s, c, r.vector, r.tile);
  r.panel_wanted = (rows_along || r.weave >= 0) && contiguous_run(s, c, r) >= TRANSPOSED_ROWS;
  r.panel = r.panel_wanted && panel_bytes(s, c, r) <= MAX_PANEL;
  return r;
}

static Tile tile_for(const Schedule *s, int64_t width, int64_t points, int64_t rows) {
  int64_t registers = s->lc->target.registers;
  int64_t all = (points + width - 1) / width;
  Tile best = {1, 1};
  double best_score = 0;
  for (int64_t nv = 1; nv <= (rows > 1 ? 4 : MAX_VECTORS) && nv <= all && 2 * nv < registers;
       nv++) { /* at least one row */
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
  if (!c->reduces) {
    int64_t rows = tile < 0 ? 1 : var_extent(s->ctx, c->axes[tile]), lanes = vector_lanes(s, c);
    return (Tile){1, rows < lanes ? rows : lanes};
  }
  return tile_for(s, vector_lanes(s, c), var_extent(s->ctx, c->axes[vector]),
                  tile < 0 ? 1 : var_extent(s->ctx, c->axes[tile]));
}
