/* What of a computation becomes a piece of its own, for the caches and for threads. See schedule.h. */
#include "lower/schedule.h"

#define LARGE_OPERAND 524288 /* bytes: of the second level of cache, with room for what streams through */

/* ---- weights that do not stay in the cache ---- */

/* Bytes of a buffer, where they are more than stay in a core's cache while other loops go round; else 0. */
static double streamed_bytes(const Access *access) {
  double bytes = access->buffer ? (double)type_bytes(access->buffer->type) : 0.0;
  return bytes > LARGE_OPERAND ? bytes : 0.0;
}

/* How often an access is gone through again: points of the axes that it does not depend on but `other` does (NULL:
 * any), those of tiles and vectors aside. */
static double rounds(const Schedule *s, const Computation *c, const Access *access, const Access *other, int vector,
                     int tile) {
  double n = 1;
  for (int k = 0; k < c->n_axes; k++)
    if (k != vector && k != tile && !access_uses(*access, c->axes[k]) && (!other || access_uses(*other, c->axes[k])))
      n *= (double)var_extent(s->ctx, c->axes[k]);
  return n;
}

/* The operand of the reduction that costs most to go through again and again, where it costs less to go through the
 * others as often as it has parts; NULL: none. */
static const Access *large_operand(const Schedule *s, const Computation *c, int vector, int tile) {
  const Access *best = NULL;
  double most = 0, instead = 0;
  for (int j = 0; j < c->step_args.n; j++) {
    const Access *a = &c->step_args.access[j];
    double traffic = streamed_bytes(a) * (rounds(s, c, a, NULL, vector, tile) - 1);
    if (traffic > most) {
      most = traffic;
      best = a;
    }
  }
  for (int j = 0; best && j < c->step_args.n; j++) {
    const Access *a = &c->step_args.access[j];
    if (a != best)
      instead += streamed_bytes(a) * rounds(s, c, a, best, vector, tile);
  }
  return instead < most ? best : NULL;
}

void schedule_block_operand(const Schedule *s, const Computation *c, Pieces *out) {
  Ctx *ctx = s->ctx;
  int vector = choose_vector(s, c), tile = choose_tile(s, c, vector);
  const Access *operand = large_operand(s, c, vector, tile);
  if (!operand || vector < 0) {
    vec_push(ctx->arena, out, *c);
    return;
  }
  int64_t size = choose_tile_size(s, c, vector, tile).vectors * vector_lanes(s, c);
  if (access_uses(*operand, c->axes[vector]) && var_extent(ctx, c->axes[vector]) > size &&
      !computation_bounds_use(c, vector)) {
    Pieces parts = {0};
    schedule_cut_blocks(ctx, c, vector, size, &parts);
    for (size_t k = 0; k < parts.len; k++)
      schedule_block_operand(s, &parts.data[k], out);
    return;
  }
  Computation sorted = *c;
  int n = 0;
  for (int uses = 1; uses >= 0; uses--)
    for (int k = 0; k < c->n_axes; k++)
      if ((k != vector && access_uses(*operand, c->axes[k])) == uses)
        sorted.axes[n++] = c->axes[k];
  vec_push(ctx->arena, out, sorted);
}

/* ---- panels ---- */

/* Rows of a panel that fits, whole tiles of them. */
static int64_t panel_rows(const Schedule *s, const Computation *c, Inner inner) {
  if (inner.tile < 0)
    return 1;
  Tile size = choose_tile_size(s, c, inner.vector, inner.tile);
  int64_t points = inner.weave < 0 ? 1 : var_extent(s->ctx, c->axes[inner.weave]);
  int64_t row = points * var_extent(s->ctx, c->axes[inner.vector]) * (int64_t)dtype_size(c->value->dtype);
  int64_t rows = MAX_PANEL / 2 / row / size.rows * size.rows;
  return rows ? rows : size.rows;
}

void schedule_fit_panel(const Schedule *s, const Computation *c, Pieces *out) {
  Ctx *ctx = s->ctx;
  Inner inner = choose_inner(s, c);
  Pieces parts = {0};
  if (inner.panel_wanted && !inner.panel) {
    int64_t lanes = choose_tile_size(s, c, inner.vector, inner.tile).vectors * vector_lanes(s, c), lo, hi;
    int64_t rows = panel_rows(s, c, inner);
    if (var_extent(ctx, c->axes[inner.vector]) > lanes && !computation_bounds_use(c, inner.vector))
      schedule_cut_blocks(ctx, c, inner.vector, lanes, &parts);
    else if (inner.tile >= 0 && var_extent(ctx, c->axes[inner.tile]) > rows && !computation_bounds_use(c, inner.tile))
      schedule_cut_blocks(ctx, c, inner.tile, rows, &parts);
    else if (inner.tile >= 0 && computation_bounds_use(c, inner.tile) && find_interior(c, inner.tile, &lo, &hi))
      schedule_cut_borders(ctx, c, inner.tile, lo, hi, &parts);
  }
  if (!parts.len)
    vec_push(ctx->arena, out, *c);
  for (size_t k = 0; k < parts.len; k++)
    schedule_fit_panel(s, &parts.data[k], out);
}

/* ---- threads ---- */

int64_t outer_iterations(Ctx *ctx, const Computation *c, Inner inner) {
  int64_t product = 1;
  for (int k = 0; k < c->n_axes; k++) {
    bool inside = k == inner.vector || k == inner.tile || (inner.panel && k == inner.weave);
    int64_t extent = inside ? 1 : var_extent(ctx, c->axes[k]);
    product *= extent >= 0 && extent < ENOUGH_ITERATIONS ? extent : ENOUGH_ITERATIONS;
    if (product >= ENOUGH_ITERATIONS)
      return ENOUGH_ITERATIONS;
  }
  return product;
}

/* Rows of one block where panels are to be shared among threads: whole tiles. */
static int64_t shared_rows(const Schedule *s, const Computation *c, Inner inner, int64_t iterations) {
  int64_t tile = choose_tile_size(s, c, inner.vector, inner.tile).rows,
          extent = var_extent(s->ctx, c->axes[inner.tile]);
  int64_t blocks = (ENOUGH_ITERATIONS + iterations - 1) / iterations, rows = (extent + blocks - 1) / blocks;
  return (rows + tile - 1) / tile * tile;
}

void schedule_share(const Schedule *s, const Computation *c, Pieces *out) {
  Ctx *ctx = s->ctx;
  Inner inner = choose_inner(s, c);
  int64_t iterations = outer_iterations(ctx, c, inner), lo, hi;
  Pieces parts = {0};
  if (inner.vector >= 0 && out->len < MAX_REGIONS && iterations < ENOUGH_ITERATIONS) {
    int k = inner.tile >= 0 && computation_bounds_use(c, inner.tile) ? inner.tile
            : computation_bounds_use(c, inner.vector)                ? inner.vector
                                                                     : -1;
    if (k >= 0 && find_interior(c, k, &lo, &hi)) {
      schedule_cut_borders(ctx, c, k, lo, hi, &parts);
    } else if (k < 0 && inner.panel && inner.tile >= 0) {
      int64_t rows = shared_rows(s, c, inner, iterations);
      if (rows < var_extent(ctx, c->axes[inner.tile]))
        schedule_cut_blocks(ctx, c, inner.tile, rows, &parts);
    } else if (k < 0 && !inner.panel) {
      k = inner.tile >= 0 ? inner.tile : inner.vector;
      Tile size = choose_tile_size(s, c, inner.vector, inner.tile);
      int64_t block = inner.tile >= 0 ? size.rows : size.vectors * vector_lanes(s, c);
      lo = expr_value(c->axes[k]->a);
      hi = lo + (expr_value(c->axes[k]->b) - lo) / block * block;
      if (hi > lo && hi < expr_value(c->axes[k]->b))
        schedule_cut_borders(ctx, c, k, lo, hi, &parts);
    }
  }
  if (parts.len < 2) {
    vec_push(ctx->arena, out, parts.len ? parts.data[0] : *c);
    return;
  }
  for (size_t k = 0; k < parts.len; k++)
    schedule_share(s, &parts.data[k], out);
}
