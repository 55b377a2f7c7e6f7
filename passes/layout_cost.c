/* The cost of layouts. See layout_cost.h.
 *
 * A contraction costs its multiplications over what a core does of them in a cycle, times the share of that which the
 * schedule reaches in a layout: whether the lanes of the vectors are filled, by output channels or by pixels, and
 * whether the inputs of one output lie close together. With pixels innermost, each input channel is a cache line of its
 * own, so that a deep layer's inputs of a single output no longer fit the first level of cache. */
#include "passes/layout_cost.h"

#define PRODUCTS_PER_LANE 2.0  /* fused multiply-adds of one lane in a cycle */
#define COPY_BYTES 4.0         /* that a relayout moves in a cycle */
#define COPY_START 4000.0      /* cycles of a loop nest more, threads woken for it included */
#define LINE 64                /* bytes of a cache line */
#define NEAR_CACHE 65536       /* bytes that inputs of one row of outputs may take with pixels innermost */
#define CHANNELS_INNERMOST 0.9 /* share of the peak, lanes full */
#define BLOCKS_INNERMOST 0.75  /* one vector of channels at a time */
#define PIXELS_INNERMOST 0.75
#define PIXELS_FAR 0.4 /* beyond NEAR_CACHE */
#define FOLDED 0.35    /* sums by lanes of input channels, for very few output channels */
#define STRIDED 0.25   /* lanes that are gathered */
#define SCALAR 0.06

/* What the model looks at. */
typedef struct {
  double products;                   /* multiplications, or comparisons of a pool */
  int64_t channels_in, channels_out; /* per group */
  int64_t groups, taps_high, width, width_in, width_out;
  bool mixes; /* channels: a kernel has an axis of input channels */
} Geometry;

static bool geometry_of(const Op *op, Geometry *g) {
  int64_t in[WEFT_MAX_RANK], out[WEFT_MAX_RANK], kernel[WEFT_MAX_RANK];
  int rank = op->result->type->rank;
  if (!type_shape(op->operands[0]->type, in) || !type_shape(op->result->type, out))
    return false;
  *g = (Geometry){.products = (double)(out[0] * out[1]), .groups = in[1], .channels_in = 1, .channels_out = 1};
  g->width = in[rank - 1] < out[rank - 1] ? in[rank - 1] : out[rank - 1];
  g->width_in = in[rank - 1];
  g->width_out = out[rank - 1];
  for (int k = 2; k < rank; k++)
    g->products *= (double)(in[k] < out[k] ? in[k] : out[k]);
  const char *roles = op->n_operands > 1 ? op->def->operands[1].roles : "";
  if (strncmp(roles, "OI", 2) != 0 && strncmp(roles, "IO", 2) != 0)
    return true; /* a pool: the taps of its window are the same in every layout */
  if (!type_shape(op->operands[1]->type, kernel) || kernel[1] < 1)
    return false;
  g->groups = (roles[0] == 'O' ? in[1] : out[1]) / kernel[1];
  if (g->groups < 1)
    return false;
  g->channels_in = in[1] / g->groups;
  g->channels_out = out[1] / g->groups;
  g->products = g->products / (double)out[1] * (double)kernel[0] * (double)kernel[1];
  for (int k = 2; k < rank; k++)
    g->products *= (double)kernel[k];
  g->taps_high = rank > 3 ? kernel[rank - 2] : 1;
  g->mixes = g->channels_in > 1;
  return true;
}

/* The share of lanes that `n` neighbours fill. */
static double filled(int64_t n, int64_t lanes) {
  return n < 1 ? 1.0 / (double)lanes : (double)n / (double)((n + lanes - 1) / lanes * lanes);
}

static double larger(double a, double b) {
  return a > b ? a : b;
}

/* The share of the peak with channels innermost, in blocks (block > 1) or all of them. */
static double with_channels(const Geometry *g, int64_t block, int64_t lanes) {
  double best = block > 1 ? BLOCKS_INNERMOST : CHANNELS_INNERMOST;
  if (g->channels_out == 1 && g->channels_in == 1) /* depthwise, or a pool */
    return best * filled(g->groups, block > 1 ? block : lanes);
  double by_output = best * filled(g->channels_out, block > 1 ? block : lanes);
  double by_input = g->channels_in >= 2 * lanes ? FOLDED * filled(g->channels_in, lanes) : 0.0;
  return larger(larger(by_output, by_input), SCALAR);
}

/* The share of the peak with pixels innermost. */
static double with_pixels(const Geometry *g, bool neighbours, int64_t lanes) {
  int64_t lines = (g->width_in * 4 + LINE - 1) / LINE;
  bool far = g->mixes && g->channels_in * g->taps_high * lines * LINE > NEAR_CACHE;
  double best = far ? PIXELS_FAR : PIXELS_INNERMOST;
  double by_pixels = (neighbours ? best : STRIDED) * filled(g->width, lanes);
  double by_output = g->channels_out > 1 ? best * filled(g->channels_out, lanes) : 0.0;
  return larger(larger(by_pixels, by_output), SCALAR);
}

double layout_op_cost(const Op *op, const Layout *data, const Layout *result, LayoutTarget target) {
  Geometry g;
  int rank = op->result->type->rank;
  if (!(op->def->traits & OP_CONTRACTION) || op->def->spatial == 0 || !geometry_of(op, &g))
    return 0;
  bool neighbours = g.width_out > g.width_in * 2 / 3; /* else neighbouring outputs read inputs apart: a stride */
  double share;
  if (layout_innermost_axis(data) == 1)
    share = with_channels(&g, layout_block(data, 1), target.lanes);
  else if (layout_innermost_axis(data) == rank - 1)
    share = with_pixels(&g, neighbours, target.lanes);
  else
    share = STRIDED;
  double cost = g.products / (PRODUCTS_PER_LANE * target.lanes * share);
  if (layout_innermost_axis(result) != layout_innermost_axis(data))
    cost += layout_copy_cost(op->result->type) / 2; /* stored across */
  return cost;
}

double layout_copy_bytes(const Type *type) {
  int64_t shape[WEFT_MAX_RANK];
  return type_shape(type, shape) ? 2.0 * (double)type_bytes(type) : 0.0;
}

double layout_copy_cost(const Type *type) {
  return COPY_START + layout_copy_bytes(type) / COPY_BYTES;
}
