/* The common part of lowering convolutions. See conv_lower.h. */
#include "lower/ops/conv_lower.h"

#include "ir/fault.h"
#include "ir/ops/conv_halo.h"
#include "ir/view.h"

/* The halo along an axis of a value, as its readers see it: that of the buffer, where the views between pass it on. */
static Halo halo_seen(LowerCtx *lc, const Value *v, int axis) {
  for (; !lc->buffers[v->id] && axis >= 0; v = v->def->operands[0])
    axis = view_source_axis(lc->ctx, v->def, axis);
  return axis >= 0 ? lc->buffers[v->id]->type->layout->halo[axis] : (Halo){0, 0};
}

void conv_data_halo(LowerCtx *lc, const Op *op, Halo *halo) {
  bool any = false;
  for (int k = 0; k < op->def->spatial; k++) {
    halo[k] = halo_seen(lc, op->operands[0], 2 + k);
    any = any || halo[k].lo + halo[k].hi > 0;
  }
  if (any && !conv_may_read_halo(op))
    memset(halo, 0, (size_t)op->def->spatial * sizeof *halo);
}

ConvShape conv_shape(LowerCtx *lc, const Op *op, Dim group_in, Dim group_out) {
  Ctx *ctx = lc->ctx;
  const Expr *zero = expr_const(ctx, 0);
  ConvShape s = {.spatial = op->def->spatial,
                 .groups = op_int(op, "groups"),
                 .group_in = group_in,
                 .group_out = group_out,
                 .op = op};
  s.n = expr_var(ctx, "n", zero, op->operands[0]->type->dims[0]);
  s.g = expr_var(ctx, "g", zero, expr_const(ctx, s.groups));
  s.oc = expr_var(ctx, "oc", zero, group_out);
  s.ic = expr_var(ctx, "ic", zero, FAULT("lower") ? expr_add_const(ctx, group_in, -1) : group_in);
  return s;
}

bool conv_finish(LowerCtx *lc, const Group *group, const ConvShape *s, const Expr *const *axes, int n_axes,
                 const Expr *const *taps, const Expr *const *inner_taps, int n_taps, bool any_taps, const Expr *const *out, const Expr *const *in,
                 const Expr *const *tap, bool kernel_input_first) {
  Ctx *ctx = lc->ctx;
  const Op *op = s->op;
  Computation c = {0};
  c.axes[c.n_axes++] = s->n;
  c.axes[c.n_axes++] = s->g;
  c.axes[c.n_axes++] = s->oc;
  for (int k = 0; k < n_axes; k++)
    c.axes[c.n_axes++] = axes[k];

  const Expr *channel_out = expr_add(ctx, expr_mul(ctx, s->g, s->group_out), s->oc);
  const Expr *channel_in = expr_add(ctx, expr_mul(ctx, s->g, s->group_in), s->ic);
  const Expr *result_at[WEFT_MAX_RANK] = {s->n, channel_out};
  const Expr *data_at[WEFT_MAX_RANK] = {s->n, channel_in};
  const Expr *kernel_at[WEFT_MAX_RANK] = {channel_out, s->ic};
  if (kernel_input_first) {
    kernel_at[0] = channel_in;
    kernel_at[1] = s->oc;
  }
  for (int k = 0; k < s->spatial; k++) {
    result_at[2 + k] = out[k];
    data_at[2 + k] = in[k];
    kernel_at[2 + k] = tap[k];
  }

  const Value *bias = op->operands[2];
  DType type = dtype_compute(op->result->type->dtype);
  const Scalar *root;
  int first_arg = 0;
  if (any_taps) {
    for (int k = 0; k < n_taps; k++) {
      bool same = inner_taps[k]->a == taps[k]->a && inner_taps[k]->b == taps[k]->b;
      c.tight[c.n_reds] = same ? NULL : inner_taps[k];
      c.reds[c.n_reds++] = taps[k];
    }
    c.reds[c.n_reds++] = s->ic;
    c.reduces = true;
    args_add(&c.step_args, lower_read(lc, op->operands[0], data_at));
    args_add(&c.step_args, lower_read(lc, op->operands[1], kernel_at));
    c.step = scalar_make3(ctx, SC_FMA, scalar_arg_typed(ctx, 1, type), scalar_arg_typed(ctx, c.step_args.n, type),
                          scalar_arg_typed(ctx, 0, type));
    c.init = c.identity = scalar_const_typed(ctx, type, 0.0);
    c.fold = scalar_make2(ctx, SC_ADD, scalar_arg_typed(ctx, 0, type), scalar_arg_typed(ctx, 1, type));
    if (bias)
      c.init = scalar_arg_typed(ctx, args_add(&c.init_args, lower_read(lc, bias, &channel_out)), type);
    root = scalar_arg_typed(ctx, 0, type);
    first_arg = 1;
  } else if (bias) {
    root = scalar_arg_typed(ctx, args_add(&c.args, lower_read(lc, bias, &channel_out)), type);
  } else {
    root = scalar_const_typed(ctx, type, 0.0);
  }
  c.value = lower_chain(lc, group, result_at, root, &c.args, first_arg);
  if (!c.value)
    return false;
  c.target = lower_target(lc, group, result_at);
  schedule_computation(lc, group, &c);
  return true;
}
