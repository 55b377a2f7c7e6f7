/* Transposed convolution by phases (lower/phase.h). Where stride and dilation of an axis have no common divisor every
 * phase has taps, and those with equally many outputs are one computation, with an axis over the phases in the order of
 * their outputs: at most two computations for an axis. Otherwise there is a computation for every phase, or where there
 * are more than MAX_UNROLLED combinations of phases, one for those with taps and one for those without. */
#include "lower/ops/conv_lower.h"
#include "lower/phase.h"

#define MAX_UNROLLED 64

bool lower_conv_transpose(LowerCtx *lc, const Group *group);

typedef struct {
  LowerCtx *lc;
  const Group *group;
  ConvShape shape;
  PhaseAxis axis[3];
  Phase phase[3];
  Halo halo[3]; /* of the data, which taps may read */
  int n_loops;
  const Expr *loops[6]; /* loop variables of phases that are not unrolled */
} Work;

/* The taps that read inputs -halo.lo <= i < input + halo.hi where tap 0 reads `at`. */
static const Expr *taps_inside(Ctx *ctx, const char *name, const Phase *p, const Expr *at, Dim input, Halo halo) {
  const Expr *past = expr_add_const(ctx, expr_sub(ctx, at, input), 1 - halo.hi);
  const Expr *lo = expr_max(ctx, expr_const(ctx, 0), expr_ceildiv_const(ctx, past, p->input_step));
  const Expr *last = expr_floordiv_const(ctx, expr_add_const(ctx, at, halo.lo), p->input_step);
  return expr_var(ctx, name, lo, expr_min(ctx, p->n_taps, expr_add_const(ctx, last, 1)));
}

/* One computation for the phases chosen on all axes. */
static bool lower_phases(Work *w) {
  static const char *const axis_names[3] = {"x", "y", "z"}, *const tap_names[3] = {"kx", "ky", "kz"};
  Ctx *ctx = w->lc->ctx;
  int n = w->shape.spatial, n_axes = 0;
  const Expr *zero = expr_const(ctx, 0);
  const Expr *axes[9], *taps[3], *inner[3], *out[3], *in[3], *tap[3];
  bool any_taps = true;
  for (int k = 0; k < n; k++) {
    const Phase *p = &w->phase[k];
    if (p->count->hi <= 0)
      return true; /* no outputs */
    any_taps = any_taps && p->taps && p->n_taps->hi > 0;
  }
  for (int k = 0; k < w->n_loops; k++)
    axes[n_axes++] = w->loops[k];
  for (int k = 0; k < n; k++) {
    const Phase *p = &w->phase[k];
    int name = n - 1 - k;
    const Expr *q = expr_var(ctx, axis_names[name], zero, p->count);
    axes[n_axes++] = q;
    out[k] = expr_add(ctx, p->offset, expr_mul_const(ctx, q, w->axis[k].stride));
    const Expr *at = expr_add(ctx, p->base, q); /* input of tap 0; tap j reads at - j*d' */
    taps[k] = taps_inside(ctx, tap_names[name], p, at, w->axis[k].input, w->halo[k]);
    inner[k] = taps_inside(ctx, tap_names[name], p, at, w->axis[k].input, (Halo){0, 0});
    in[k] = expr_sub(ctx, at, expr_mul_const(ctx, taps[k], p->input_step));
    tap[k] = expr_add(ctx, p->first_tap, expr_mul_const(ctx, taps[k], p->tap_step));
  }
  return conv_finish(w->lc, w->group, &w->shape, axes, n_axes, taps, inner, n, any_taps, out, in, tap, true);
}

static bool choose_phase(Work *w, int k, bool rolled);

/* Takes the phases g*r + t of axis k, r by a loop: those with taps (t = 0), or all others (t by a second loop). Where
 * the output is smaller than the stride, most phases have no outputs: o_r = g*r + t - p lies in [0, O) only for the O/g
 * + 2 values of r from floor(p/g) on. */
static bool roll_phases(Work *w, int k, bool taps) {
  Ctx *ctx = w->lc->ctx;
  PhaseAxis *axis = &w->axis[k];
  int64_t g = phase_gcd(axis), count = axis->stride / g, first = 0, some = axis->output->hi / g + 2;
  int before = w->n_loops;
  if (some < count) {
    count = some;
    first = floordiv_i64(axis->pad_begin, g);
  }
  const Expr *r = expr_var(ctx, arena_printf(ctx->arena, "r%d", k), expr_const(ctx, 0), expr_const(ctx, count));
  w->loops[w->n_loops++] = r;
  r = expr_add_const(ctx, r, first);
  if (!taps) {
    const Expr *t = expr_var(ctx, arena_printf(ctx->arena, "t%d", k), expr_const(ctx, 1), expr_const(ctx, g));
    w->loops[w->n_loops++] = t;
    r = expr_add(ctx, expr_mul_const(ctx, r, g), t);
  }
  w->phase[k] = phase_make(ctx, axis, r, taps);
  bool ok = choose_phase(w, k + 1, true);
  w->n_loops = before;
  return ok;
}

/* The phases of the outputs u + q*s, first <= u < end, which are equally many for each u. */
static bool run_of_phases(Work *w, int k, int64_t first, int64_t end, bool rolled) {
  Ctx *ctx = w->lc->ctx;
  PhaseAxis *axis = &w->axis[k];
  int before = w->n_loops;
  if (first >= end)
    return true;
  const Expr *u = expr_const(ctx, first);
  if (end - first > 1) {
    static const char *const names[3] = {"u", "v", "w"};
    u = expr_var(ctx, names[w->shape.spatial - 1 - k], u, expr_const(ctx, end));
    w->loops[w->n_loops++] = u;
  }
  w->phase[k] = phase_make(ctx, axis, expr_add_const(ctx, u, axis->pad_begin), true);
  bool ok = choose_phase(w, k + 1, rolled);
  w->n_loops = before;
  return ok;
}

/* Chooses the phases of axis k and on. */
static bool choose_phase(Work *w, int k, bool rolled) {
  if (k == w->shape.spatial)
    return lower_phases(w);
  WEFT_ASSERT(k < 3);
  PhaseAxis *axis = &w->axis[k];
  int64_t g = phase_gcd(axis), extent;
  if (g == 1 && expr_is_const(axis->output, &extent)) {
    int64_t longer = extent % axis->stride; /* so many have one output more */
    return run_of_phases(w, k, 0, longer, rolled) &&
           (extent < axis->stride || run_of_phases(w, k, longer, axis->stride, rolled));
  }
  if (rolled)
    return roll_phases(w, k, true) && (g == 1 || roll_phases(w, k, false));
  for (int64_t r = 0; r < axis->stride; r++) {
    bool taps = r % g == 0;
    w->phase[k] = phase_make(w->lc->ctx, axis, expr_const(w->lc->ctx, taps ? r / g : r), taps);
    if (!choose_phase(w, k + 1, rolled))
      return false;
  }
  return true;
}

bool lower_conv_transpose(LowerCtx *lc, const Group *group) {
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  const Type *data = op->operands[0]->type, *kernel = op->operands[1]->type, *result = op->result->type;
  Dim group_in = expr_floordiv_const(ctx, kernel->dims[0], op_int(op, "groups"));
  Work w = {.lc = lc, .group = group, .shape = conv_shape(lc, op, group_in, kernel->dims[1])};
  conv_data_halo(lc, op, w.halo);
  int64_t combinations = 1;
  for (int k = 0; k < w.shape.spatial; k++) {
    w.axis[k] = (PhaseAxis){.stride = op_attr(op, "strides")->ints[k],
                            .dilation = op_attr(op, "dilation")->ints[k],
                            .pad_begin = op_attr(op, "padding")->ints[k],
                            .kernel = kernel->dims[2 + k],
                            .input = data->dims[2 + k],
                            .output = result->dims[2 + k]};
    combinations = w.axis[k].stride > MAX_UNROLLED ? MAX_UNROLLED + 1 : combinations * w.axis[k].stride;
    combinations = combinations > MAX_UNROLLED ? MAX_UNROLLED + 1 : combinations;
  }
  return choose_phase(&w, 0, combinations > MAX_UNROLLED);
}
