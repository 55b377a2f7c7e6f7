/* grid_sample1d, 2d, 3d: result[n, c, o..] is data[n, c] at the position that grid[n, o.., :] names, the innermost axis
 * of data first. See ir/ops/grid_sample.h. */
#include "ir/ops/grid_sample.h"

#include <math.h>

GridSpec grid_spec(const Op *op) {
  static const int taps[] = {[GRID_LINEAR] = 2, [GRID_NEAREST] = 1, [GRID_CUBIC] = 4};
  GridSpec g = {.mode = (GridMode)op_int(op, "mode"),
                .padding = (GridPadding)op_int(op, "padding"),
                .align_corners = op_int(op, "align_corners") != 0,
                .spatial = op->def->spatial};
  g.taps = taps[g.mode];
  return g;
}

const Type *grid_sample_infer(Ctx *ctx, const Op *op) {
  int d = op->def->spatial;
  if (!op_expect_rank(ctx, op, GRID_DATA, d + 2) || !op_expect_rank(ctx, op, GRID_POINTS, d + 2))
    return NULL;
  const Type *data = op->operands[GRID_DATA]->type, *grid = op->operands[GRID_POINTS]->type;
  if (!dtype_is_float(data->dtype) || !dtype_is_float(grid->dtype)) {
    diag_error(ctx->diags, WEFT_UNSUPPORTED, op->loc, "%s: data is %s and grid %s; this op takes floats", op->def->name,
               type_text(ctx, data), type_text(ctx, grid));
    return NULL;
  }
  int64_t rows, of_grid, numbers;
  bool fits = expr_is_const(grid->dims[d + 1], &numbers) && numbers == d;
  if (expr_is_const(data->dims[0], &rows) && expr_is_const(grid->dims[0], &of_grid))
    fits = fits && rows == of_grid;
  if (!fits) {
    diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
               "%s: grid is %s, expected as many rows as data, which is %s, and %d numbers along its last axis",
               op->def->name, type_text(ctx, grid), type_text(ctx, data), d);
    return NULL;
  }
  Dim dims[WEFT_MAX_RANK] = {data->dims[0], data->dims[1]};
  for (int k = 0; k < d; k++) {
    int64_t extent;
    dims[2 + k] = grid->dims[1 + k];
    if (expr_is_const(data->dims[2 + k], &extent) && extent == 0) {
      diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: data is %s, which has no points to sample", op->def->name,
                 type_text(ctx, data));
      return NULL;
    }
  }
  return op_result_type(ctx, op, data->dtype, d + 2, dims);
}

void grid_sample_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  (void)op;
  plan->why = plan->wish_data || plan->wish_out ? "as wished" : "as its data is";
  if (plan->wish_data)
    plan->operand[GRID_DATA] = plan->wish_data;
  plan->result = plan->wish_out ? plan->wish_out : layout_with_pad(ctx, plan->operand[GRID_DATA], PAD_ANY);
}

/* ---- the reference ---- */

/* The taps along one axis: positions in data, -1 for one that is 0, and weights. */
typedef struct {
  int64_t at[4], extent;
  double weight[4];
} Taps;

static double position(const GridSpec *g, double x, int64_t n) {
  double p = g->align_corners ? (x + 1) / 2 * (double)(n - 1) : ((x + 1) * (double)n - 1) / 2;
  double lo = g->padding == GRID_REFLECTION ? -GRID_FARTHEST : -GRID_BEYOND;
  double hi = g->padding == GRID_REFLECTION ? GRID_FARTHEST : (double)n + GRID_BEYOND;
  return !(p > lo) ? lo : p > hi ? hi : p;
}

static int64_t padded(const GridSpec *g, int64_t i, int64_t n) {
  if (i >= 0 && i < n)
    return i;
  if (g->padding == GRID_ZEROS)
    return -1;
  if (g->padding == GRID_BORDER)
    return i < 0 ? 0 : n - 1;
  int64_t period = g->align_corners ? 2 * (n - 1) : 2 * n;
  if (period == 0)
    return 0;
  int64_t m = (i % period + period) % period;
  return m < n ? m : period - m - !g->align_corners;
}

static double weight(const GridSpec *g, double distance) {
  double a = GRID_CUBIC_A, x = fabs(distance);
  if (g->mode == GRID_NEAREST)
    return 1;
  if (g->mode == GRID_LINEAR)
    return 1 - x;
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static Taps taps_at(const GridSpec *g, double x, int64_t n) {
  Taps t = {.extent = n};
  double p = position(g, x, n);
  double first = g->mode == GRID_NEAREST ? rint(p) : floor(p) - (g->mode == GRID_CUBIC);
  for (int k = 0; k < g->taps; k++) {
    t.at[k] = padded(g, (int64_t)first + k, n);
    t.weight[k] = weight(g, p - (first + k));
  }
  return t;
}

/* The sum over the taps of n axes; offset is that of the axes before. */
static double interpolate(const GridSpec *g, const Tensor *data, const Taps *axes, int n, int64_t offset) {
  if (n == 0)
    return tensor_get(data, offset);
  double sum = 0;
  for (int k = 0; k < g->taps; k++)
    if (axes->at[k] >= 0)
      sum += axes->weight[k] * interpolate(g, data, axes + 1, n - 1, offset * axes->extent + axes->at[k]);
  return sum;
}

void grid_sample_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx;
  const Tensor *data = in[GRID_DATA], *grid = in[GRID_POINTS];
  GridSpec g = grid_spec(op);
  int64_t points = 1, channels = data->shape[1];
  for (int k = 0; k < g.spatial; k++)
    points *= out->shape[2 + k];
  for (int64_t i = 0; i < out->n; i++) {
    int64_t image = i / points, point = image / channels * points + i % points;
    Taps axes[3];
    for (int k = 0; k < g.spatial; k++)
      axes[k] = taps_at(&g, tensor_get(grid, point * g.spatial + g.spatial - 1 - k), data->shape[2 + k]);
    tensor_set(out, i, interpolate(&g, data, axes, g.spatial, image));
  }
}
