/* From a computation to loops.
 *
 *   1. Axes that the target's layout splits into digits are split alike, so that div and mod cancel (split_digits).
 *   2. A vector axis is chosen by cost, and for reductions a tile axis: a register tile of MR x NV vectors accumulates
 *      MR * NV vectors and reads MR broadcasts and NV vectors per step, or the other way round; MR*NV + NV + 1
 * registers.
 *   3. The other axes become outer loops in the order of the target's strides, the outermost ones parallel.
 *   4. Where the bounds of a reduction (valid taps) use the vector or tile axis, that axis is cut into border, interior
 * and border; in the interior the bounds are constants, borders are walked one by one (find_interior).
 *      Where the outer loops are too few to share among threads, these cuts are made first, each piece a nest of its
 * own, so that the blocks of the interior are a parallel loop (cut_pieces).
 *   5. Extents that are no multiple of the tile get smaller tiles at the end; nothing is computed outside the extents,
 * so padding lanes are never written and never trusted. */
#include "lower/lower_op.h"

#define MAX_REGIONS 64         /* of one computation: then it is cut no further */
#define PARALLEL_ITERATIONS 64 /* outer loops become parallel until there are so many iterations */
#define ENOUGH_ITERATIONS 8    /* outer loops with fewer are not enough to share */
#define SMALL_WORK 50000       /* operations of a piece that gets no nest of its own: a few microseconds */
#define SCATTER_LANES 8        /* strided lanes stored by a loop rather than one by one */

typedef struct {
  LowerCtx *lc;
  Ctx *ctx;
  int n_locals;      /* so far, for their names */
  bool rows_outside; /* emit_tiles: the loop over rows is outermost, to be shared among threads */
} Schedule;

typedef VEC(Computation) Pieces;

/* ---- how an access moves along a variable ---- */

typedef enum { MOVE_NONE, MOVE_UNIT, MOVE_STRIDED } Move;

static Move access_move(Ctx *ctx, Access access, const Expr *var) {
  int64_t coef;
  if (!expr_linear(access_offset(ctx, access), var, &coef))
    return MOVE_STRIDED;
  return coef == 0 ? MOVE_NONE : coef == 1 ? MOVE_UNIT : MOVE_STRIDED;
}

/* ---- 1. digits of the target ---- */

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t t = a % b;
    a = b;
    b = t;
  }
  return a < 0 ? -a : a;
}

/* The largest factor by which var must be split for a div or mod in e to cancel; 1: none. */
static int64_t split_factor(const Expr *e, const Expr *var) {
  int64_t factor = 1;
  switch (e->kind) {
  case EX_DIV:
  case EX_MOD: {
    int64_t divisor, coef;
    factor = split_factor(e->a, var);
    if (expr_is_const(e->b, &divisor) && expr_linear(e->a, var, &coef) && coef != 0) {
      int64_t own = divisor / gcd(divisor, coef);
      factor = own > factor ? own : factor;
    }
    return factor;
  }
  case EX_SUM:
    for (int k = 0; k < e->n; k++) {
      int64_t f = split_factor(e->terms[k].atom, var);
      factor = f > factor ? f : factor;
    }
    return factor;
  default:
    return 1;
  }
}

static const char *sub_name(Ctx *ctx, const Expr *var, const char *suffix) {
  return intern_str(ctx, arena_printf(ctx->arena, "%s%s", var->name, suffix));
}

/* Axis k as start + size*outer + inner; size divides the extent. */
static Computation split_axis(Ctx *ctx, const Computation *c, int k, int64_t start, int64_t count, int64_t size) {
  const Expr *zero = expr_const(ctx, 0), *var = c->axes[k];
  const Expr *outer = expr_var(ctx, sub_name(ctx, var, "o"), zero, expr_const(ctx, count));
  const Expr *inner = expr_var(ctx, sub_name(ctx, var, "i"), zero, expr_const(ctx, size));
  const Expr *to = expr_add_const(ctx, expr_add(ctx, expr_mul_const(ctx, outer, size), inner), start);
  const Expr *vars[2] = {outer, inner};
  Computation r = computation_replace_axis(ctx, c, k, to, vars, 2);
  return computation_drop_unit_loops(ctx, &r);
}

static void split_digits(Ctx *ctx, const Computation *c, Pieces *regions) {
  for (int k = 0; k < c->n_axes && regions->len < MAX_REGIONS; k++) {
    const Expr *var = c->axes[k];
    int64_t factor = 1, start, extent = var_extent(ctx, var);
    for (int d = 0; d < c->target.buffer->type->layout->n; d++) {
      int64_t f = split_factor(c->target.index[d], var);
      factor = f > factor ? f : factor;
    }
    if (factor == 1 || extent <= factor || !expr_is_const(var->a, &start) || computation_bounds_use(c, k))
      continue;
    int64_t count = extent / factor, done = start + count * factor;
    Computation whole = split_axis(ctx, c, k, start, count, factor);
    split_digits(ctx, &whole, regions);
    if (done < start + extent) {
      Computation rest = computation_restrict_axis(ctx, c, k, expr_const(ctx, done), expr_const(ctx, start + extent));
      split_digits(ctx, &rest, regions);
    }
    return;
  }
  vec_push(ctx->arena, regions, *c);
}

/* True where the bounds of another axis use axis k. */
static bool axis_bounds_use(const Computation *c, int k) {
  for (int j = 0; j < c->n_axes; j++)
    if (j != k && (expr_uses(c->axes[j]->a, c->axes[k]) || expr_uses(c->axes[j]->b, c->axes[k])))
      return true;
  return false;
}

/* Sorts axes by the stride of the target, largest first; axes whose bounds are used by others stay in front of them. */
static void sort_axes(Ctx *ctx, Computation *c) {
  const Expr *offset = access_offset(ctx, c->target);
  int64_t key[COMPUTATION_MAX_VARS];
  for (int k = 0; k < c->n_axes; k++) {
    int64_t coef;
    key[k] = axis_bounds_use(c, k)                    ? EXPR_MAX
             : expr_linear(offset, c->axes[k], &coef) ? (coef < 0 ? -coef : coef)
                                                      : EXPR_MAX - 1;
  }
  for (int k = 1; k < c->n_axes; k++)
    for (int j = k; j > 0 && key[j - 1] < key[j]; j--) {
      int64_t t = key[j];
      key[j] = key[j - 1];
      key[j - 1] = t;
      const Expr *v = c->axes[j];
      c->axes[j] = c->axes[j - 1];
      c->axes[j - 1] = v;
    }
}

/* ---- 4. borders ---- */

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
static bool find_interior(const Computation *c, int k, int64_t *lo, int64_t *hi) {
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

/* ---- 2. vector and tile axes ---- */

/* Points of axis k that a vector or tile may run over: its constant extent, or that of its interior; 0: none. */
static int64_t usable_extent(Ctx *ctx, const Computation *c, int k) {
  int64_t lo, hi, extent = var_extent(ctx, c->axes[k]);
  if (extent < 2 || axis_bounds_use(c, k))
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
  double width = s->lc->target.vector_bytes / 4.0, steps = reduction_steps(ctx, c),
         extent = (double)var_extent(ctx, var);
  double lanes = (double)usable < width ? (double)usable : width;
  double vectors = (double)((usable + (int64_t)width - 1) / (int64_t)width);
  double per_vector = access_cost(ctx, c->target, var, lanes) + 1.0, per_step = 1.0;
  for (int j = 0; j < c->args.n; j++)
    per_vector += access_cost(ctx, c->args.access[j], var, lanes);
  for (int j = 0; j < c->n_factors; j++)
    per_step += access_cost(ctx, c->factors[j], var, lanes) / 2;
  double scalar = (c->n_factors ? 2.0 * steps : 0.0) + 2.0;
  return (vectors * (per_vector + (c->n_factors ? steps * per_step : 0.0)) + (extent - (double)usable) * scalar / 4) /
         extent;
}

static int choose_vector(const Schedule *s, const Computation *c) {
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
static int choose_tile(const Schedule *s, const Computation *c, int vector) {
  int best = -1;
  double best_gain = 0;
  if (c->n_factors == 0 || vector < 0)
    return -1;
  for (int k = 0; k < c->n_axes; k++) {
    if (k == vector)
      continue;
    int64_t usable = usable_extent(s->ctx, c, k);
    double gain = 0;
    for (int j = 0; j < c->n_factors; j++)
      if (access_move(s->ctx, c->factors[j], c->axes[k]) == MOVE_NONE)
        gain += access_cost(s->ctx, c->factors[j], c->axes[vector], 4.0);
    gain *= (double)(usable < 8 ? usable : 8);
    if (usable >= 2 && gain > 0 && gain >= best_gain) {
      best = k;
      best_gain = gain;
    }
  }
  return best;
}

/* Register tile: vectors across, rows down. */
typedef struct {
  int64_t vectors, rows;
} Tile;

static Tile choose_tile_size(const Schedule *s, int64_t points, int64_t rows) {
  int64_t width = s->lc->target.vector_bytes / 4, registers = s->lc->target.registers;
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

/* ---- emission: from the inside out ---- */

static Stmt *wrap(Ctx *ctx, LoopKind kind, const Expr *var, Stmt *body) {
  return var ? stmt_loop(ctx, kind, var, body) : body;
}

/* The loops over a tile around one store. */
static Stmt *tile_store(Schedule *s, const Expr *row, const Expr *lane, Access target, const Scalar *value,
                        const Args *args) {
  Stmt *store = stmt_store(s->ctx, target, value, args->access, args->n);
  return wrap(s->ctx, LOOP_UNROLL, row, wrap(s->ctx, LOOP_VECTOR, lane, store));
}

/* A small local array of the tile's shape, and its element at (row, lane). */
static Access tile_local(Schedule *s, const char *name, const Expr *row, const Expr *lane) {
  Ctx *ctx = s->ctx;
  int64_t shape[2] = {row ? var_extent(ctx, row) : 1, lane ? var_extent(ctx, lane) : 1};
  if (s->n_locals++)
    name = arena_printf(ctx->arena, "%s.%d", name, s->n_locals - 1);
  const Expr **at = ARENA_ARRAY(ctx->arena, const Expr *, 2);
  at[0] = row ? row : expr_const(ctx, 0);
  at[1] = lane ? lane : expr_const(ctx, 0);
  return (Access){local_buffer(ctx, name, DT_F32, 2, shape), at};
}

/* The final store of a tile. Lanes that lie apart in the target go through a local array and plain loops: as fast as
 * one extracted lane after the other, and a fraction of the code. */
static Stmt *emit_finish(Schedule *s, const Computation *c, const Expr *row, const Expr *lane, const Args *args) {
  Ctx *ctx = s->ctx;
  if (!lane || var_extent(ctx, lane) < SCATTER_LANES || access_move(ctx, c->target, lane) != MOVE_STRIDED)
    return tile_store(s, row, lane, c->target, c->value, args);
  Access out = tile_local(s, "out", row, lane);
  Stmt *body = stmt_local(ctx, out.buffer);
  stmt_append(&body, tile_store(s, row, lane, out, c->value, args));
  Stmt *scatter = stmt_store(ctx, c->target, scalar_arg(ctx, 0), &out, 1);
  stmt_append(&body, wrap(ctx, LOOP_FOR, row, stmt_loop(ctx, LOOP_FOR, lane, scatter)));
  return body;
}

/* One tile: row in 0..rows and lane in 0..lanes are what is left of the axes (NULL: one). */
static Stmt *emit_tile(Schedule *s, const Computation *c, const Expr *row, const Expr *lane) {
  Ctx *ctx = s->ctx;
  if (c->n_factors == 0)
    return emit_finish(s, c, row, lane, &c->args);
  Access acc = tile_local(s, "acc", row, lane);
  Stmt *body = stmt_local(ctx, acc.buffer);
  const Scalar *first = c->init.n ? scalar_arg(ctx, 0) : scalar_const(ctx, 0.0);
  stmt_append(&body, tile_store(s, row, lane, acc, first, &c->init));

  Args step = {.n = 3, .access = {c->factors[0], c->factors[1], acc}};
  const Scalar *fma = scalar_make3(ctx, SC_FMA, scalar_arg(ctx, 0), scalar_arg(ctx, 1), scalar_arg(ctx, 2));
  Stmt *reduce = tile_store(s, row, lane, acc, fma, &step);
  for (int k = c->n_reds; k-- > 0;)
    reduce = stmt_loop(ctx, LOOP_FOR, c->reds[k], reduce);
  stmt_append(&body, reduce);

  Args finish = {.n = 1, .access = {acc}};
  WEFT_ASSERT(c->args.n < COMPUTATION_MAX_ARGS);
  for (int k = 0; k < c->args.n; k++)
    finish.access[finish.n++] = c->args.access[k];
  stmt_append(&body, emit_finish(s, c, row, lane, &finish));
  return body;
}

/* What remains to be tiled of one axis: count blocks of size points from start on. */
typedef struct {
  int64_t start, count, size;
} Blocks;

/* Replaces axis k of c by blocks: *outer the loop over blocks (NULL: one), *inner the point in the block (NULL: one).
 */
static Computation take_blocks(Ctx *ctx, const Computation *c, int k, Blocks b, const Expr **outer,
                               const Expr **inner) {
  const Expr *zero = expr_const(ctx, 0), *var = c->axes[k], *to = expr_const(ctx, b.start);
  *outer = *inner = NULL;
  if (b.count > 1) {
    *outer = expr_var(ctx, sub_name(ctx, var, "o"), zero, expr_const(ctx, b.count));
    to = expr_add(ctx, to, expr_mul_const(ctx, *outer, b.size));
  }
  if (b.size > 1) {
    *inner = expr_var(ctx, sub_name(ctx, var, "i"), zero, expr_const(ctx, b.size));
    to = expr_add(ctx, to, *inner);
  }
  return computation_replace_axis(ctx, c, k, to, NULL, 0);
}

/* Cuts a variable's constant range into whole blocks of `size`, then one of a multiple of `unit`, then the rest. */
static int cut_blocks(const Expr *var, int64_t size, int64_t unit, Blocks out[3]) {
  int64_t start = expr_value(var->a), extent = expr_value(var->b) - start;
  int n = 0;
  if (extent >= size) {
    out[n++] = (Blocks){start, extent / size, size};
    start += extent / size * size;
    extent %= size;
  }
  if (extent >= unit && unit < size) {
    out[n++] = (Blocks){start, 1, extent / unit * unit};
    start += extent / unit * unit;
    extent %= unit;
  }
  if (extent > 0)
    out[n++] = (Blocks){start, 1, extent};
  return n;
}

/* The register tile for axes vector and tile (-1: none) of c. */
static Tile tile_size(const Schedule *s, const Computation *c, int vector, int tile) {
  if (c->n_factors == 0)
    return (Tile){1, 1};
  return choose_tile_size(s, var_extent(s->ctx, c->axes[vector]), tile < 0 ? 1 : var_extent(s->ctx, c->axes[tile]));
}

/* The blocks along one of the two axes of a computation. */
typedef struct {
  bool lanes; /* the vector axis; else the tile axis */
  int axis, n;
  Blocks blocks[3];
} Cut;

/* Tiles for the cuts from `cut` to `end`, one loop over blocks in the other. */
static Stmt *emit_cuts(Schedule *s, const Computation *c, const Cut *cut, const Cut *end, const Expr *row,
                       const Expr *lane) {
  if (cut == end)
    return emit_tile(s, c, row, lane);
  Stmt *all = NULL;
  for (int k = 0; k < cut->n; k++) {
    const Expr *outer, *inner;
    int axis = c->n_axes == 1 ? 0 : cut->axis;
    Computation part = take_blocks(s->ctx, c, axis, cut->blocks[k], &outer, &inner);
    Stmt *body = emit_cuts(s, &part, cut + 1, end, cut->lanes ? row : inner, cut->lanes ? inner : lane);
    stmt_append(&all, wrap(s->ctx, LOOP_FOR, outer, body));
  }
  return all;
}

/* All tiles over axes vector and tile (-1: none), which are all the axes of c and have constant bounds that nothing
 * depends on. Rows run inside columns, which keeps a column's weights in the cache; where no loops stand around they
 * run outside, to be shared among threads. */
static Stmt *emit_tiles(Schedule *s, const Computation *c, int vector, int tile) {
  if (vector < 0)
    return emit_tile(s, c, NULL, NULL);
  int64_t width = s->lc->target.vector_bytes / 4;
  Tile size = tile_size(s, c, vector, tile);
  Cut cuts[2];
  int n = 0, lanes = s->rows_outside && tile >= 0 ? 1 : 0;
  if (tile >= 0) {
    Cut *rows = &cuts[1 - lanes];
    *rows = (Cut){.axis = tile};
    rows->n = cut_blocks(c->axes[tile], size.rows, size.rows, rows->blocks);
    n++;
  }
  cuts[lanes] = (Cut){.lanes = true, .axis = vector};
  cuts[lanes].n = cut_blocks(c->axes[vector], size.vectors * width, width, cuts[lanes].blocks);
  n++;
  return emit_cuts(s, c, cuts, cuts + n, NULL, NULL);
}

static Stmt *emit(Schedule *s, const Computation *c);

static Computation without_axis(const Computation *c, int k) {
  Computation r = *c;
  memmove(r.axes + k, r.axes + k + 1, (size_t)(r.n_axes - k - 1) * sizeof *r.axes);
  r.n_axes--;
  return r;
}

/* Axis k by a plain loop around the rest. */
static Stmt *emit_walk(Schedule *s, const Computation *c, int k) {
  Computation rest = without_axis(c, k);
  return stmt_loop(s->ctx, LOOP_FOR, c->axes[k], emit(s, &rest));
}

/* [lo, hi) of axis k, walked point by point. */
static Stmt *emit_border(Schedule *s, const Computation *c, int k, int64_t lo, int64_t hi) {
  if (lo >= hi)
    return NULL;
  Computation part = computation_restrict_axis(s->ctx, c, k, expr_const(s->ctx, lo), expr_const(s->ctx, hi));
  part = computation_drop_unit_loops(s->ctx, &part);
  return hi - lo == 1 ? emit(s, &part) : emit_walk(s, &part, k);
}

/* c has no axes but the vector and the tile axis. */
static Stmt *emit_inner(Schedule *s, const Computation *c, int vector, int tile) {
  Ctx *ctx = s->ctx;
  int k = vector >= 0 && computation_bounds_use(c, vector) ? vector
          : tile >= 0 && computation_bounds_use(c, tile)   ? tile
                                                           : -1;
  if (k < 0)
    return emit_tiles(s, c, vector, tile);
  int64_t lo, hi;
  if (!find_interior(c, k, &lo, &hi))
    return emit_walk(s, c, k);
  Computation part = computation_restrict_axis(ctx, c, k, expr_const(ctx, lo), expr_const(ctx, hi));
  Stmt *all = emit_border(s, c, k, expr_value(c->axes[k]->a), lo);
  stmt_append(&all, computation_bounds_use(&part, k) ? emit_walk(s, &part, k) : emit_inner(s, &part, vector, tile));
  stmt_append(&all, emit_border(s, c, k, hi, expr_value(c->axes[k]->b)));
  return all;
}

/* Loops for all axes of c. */
static Stmt *emit(Schedule *s, const Computation *c) {
  int vector = choose_vector(s, c), tile = choose_tile(s, c, vector);
  Computation inner = *c;
  const Expr *outer[COMPUTATION_MAX_VARS];
  int n_outer = 0, n_inner = 0, inner_vector = -1, inner_tile = -1;
  for (int k = 0; k < c->n_axes; k++) {
    if (k != vector && k != tile) {
      outer[n_outer++] = c->axes[k];
      continue;
    }
    if (k == vector)
      inner_vector = n_inner;
    else
      inner_tile = n_inner;
    inner.axes[n_inner++] = c->axes[k];
  }
  inner.n_axes = n_inner;
  Stmt *body = emit_inner(s, &inner, inner_vector, inner_tile);
  while (n_outer-- > 0)
    body = stmt_loop(s->ctx, LOOP_FOR, outer[n_outer], body);
  return body;
}

/* Makes the outermost loops parallel, as long as they are alone in their block, do not depend on each other, and have
 * not enough iterations yet. Loops alone in their block run over axes, which are independent: a reduction always stands
 * between the accumulator's declaration and its store. */
static void mark_parallel(Schedule *s, Stmt *body) {
  const Expr *above[COMPUTATION_MAX_VARS];
  int n = 0;
  int64_t iterations = 1;
  for (Stmt *l = body; l && l->kind == ST_LOOP && l->loop == LOOP_FOR && !l->next; l = l->body) {
    if (iterations >= PARALLEL_ITERATIONS)
      return;
    for (int k = 0; k < n; k++)
      if (expr_uses(l->var->a, above[k]) || expr_uses(l->var->b, above[k]))
        return;
    l->loop = LOOP_PARALLEL;
    above[n++] = l->var;
    int64_t extent = var_extent(s->ctx, l->var);
    iterations *= extent > 0 && extent < PARALLEL_ITERATIONS ? extent : PARALLEL_ITERATIONS;
  }
}

/* ---- pieces: what becomes a nest ---- */

/* Iterations of the loops around the tiles; at least 1, large where not constant. */
static int64_t outer_iterations(Ctx *ctx, const Computation *c, int vector, int tile) {
  int64_t product = 1;
  for (int k = 0; k < c->n_axes; k++) {
    int64_t extent = k == vector || k == tile ? 1 : var_extent(ctx, c->axes[k]);
    product *= extent >= 0 && extent < ENOUGH_ITERATIONS ? extent : ENOUGH_ITERATIONS;
    if (product >= ENOUGH_ITERATIONS)
      return ENOUGH_ITERATIONS;
  }
  return product;
}

static Computation restricted(Ctx *ctx, const Computation *c, int k, int64_t lo, int64_t hi) {
  Computation part = computation_restrict_axis(ctx, c, k, expr_const(ctx, lo), expr_const(ctx, hi));
  return computation_drop_unit_loops(ctx, &part);
}

/* Cuts c where its loops alone would not occupy the threads: borders off the interior, then the rows (without a tile
 * axis the lanes) that do not fill a tile. What is left has one loop over blocks outermost. */
static void cut_pieces(const Schedule *s, const Computation *c, Pieces *out) {
  Ctx *ctx = s->ctx;
  int vector = choose_vector(s, c), tile = choose_tile(s, c, vector);
  if (vector >= 0 && out->len < MAX_REGIONS && outer_iterations(ctx, c, vector, tile) < ENOUGH_ITERATIONS) {
    int k = tile >= 0 && computation_bounds_use(c, tile) ? tile : computation_bounds_use(c, vector) ? vector : -1;
    int64_t lo, hi, begin = 0, end = 0;
    if (k >= 0 && find_interior(c, k, &lo, &hi)) {
      begin = expr_value(c->axes[k]->a);
      end = expr_value(c->axes[k]->b);
    } else if (k < 0) {
      k = tile >= 0 ? tile : vector;
      Tile size = tile_size(s, c, vector, tile);
      int64_t block = tile >= 0 ? size.rows : size.vectors * s->lc->target.vector_bytes / 4;
      begin = lo = expr_value(c->axes[k]->a);
      end = expr_value(c->axes[k]->b);
      hi = lo + (end - lo) / block * block;
    }
    int64_t cuts[4] = {begin, lo, hi, end};
    if (end > begin && hi > lo && (lo > begin || hi < end)) {
      for (int part = 0; part < 3; part++)
        if (cuts[part] < cuts[part + 1]) {
          Computation piece = restricted(ctx, c, k, cuts[part], cuts[part + 1]);
          cut_pieces(s, &piece, out);
        }
      return;
    }
  }
  vec_push(ctx->arena, out, *c);
}

/* Loops for pieces: a nest each, but one for all that are too small to be worth a thread's waking. */
static void emit_pieces(Schedule *s, const Group *group, const Pieces *pieces) {
  LoopProgram *p = s->lc->program;
  Loc loc = group->root ? group->root->loc : group->result->loc;
  Stmt *small = NULL;
  for (size_t k = 0; k < pieces->len; k++) {
    const Computation *c = &pieces->data[k];
    int vector = choose_vector(s, c), tile = choose_tile(s, c, vector);
    s->rows_outside = outer_iterations(s->ctx, c, vector, tile) < ENOUGH_ITERATIONS;
    Nest nest = {.body = emit(s, c)};
    if (pieces->len > 1 && nest_work(s->ctx, &nest) < SMALL_WORK) {
      stmt_append(&small, nest.body);
      continue;
    }
    mark_parallel(s, nest.body);
    loops_add_nest(p, group->result->name, group->what, loc)->body = nest.body;
  }
  if (small)
    loops_add_nest(p, group->result->name, group->what, loc)->body = small;
}

void schedule_computation(LowerCtx *lc, const Group *group, const Computation *c) {
  Ctx *ctx = lc->ctx;
  for (int k = 0; k < c->n_axes; k++)
    if (expr_sub(ctx, c->axes[k]->b, c->axes[k]->a)->hi <= 0)
      return; /* an empty tensor */
  Schedule s = {.lc = lc, .ctx = ctx};
  Pieces regions = {0}, pieces = {0};
  Computation whole = computation_drop_unit_loops(ctx, c);
  split_digits(ctx, &whole, &regions);
  for (size_t k = 0; k < regions.len; k++) {
    sort_axes(ctx, &regions.data[k]);
    cut_pieces(&s, &regions.data[k], &pieces);
  }
  emit_pieces(&s, group, &pieces);
}
