/* Reductions over whole axes: the reduced axes become reduction loops, those with the larger stride outside. */
#include "ir/fault.h"
#include "ir/reduction.h"
#include "lower/lower_op.h"

bool lower_reduce(LowerCtx *lc, const Group *group);

/* The planted fault "padding": the extent of axis k with its padding lanes, as if these held zeros. */
static Dim padded_extent(Ctx *ctx, const Type *x, int k) {
  int64_t block = layout_block(x->layout, k);
  return expr_mul_const(ctx, expr_ceildiv_const(ctx, x->dims[k], block), block);
}

static void sort_by_stride(LowerCtx *lc, const Expr **reds, int n, Access access) {
  const Expr *offset = access_offset(lc->ctx, access);
  int64_t stride[WEFT_MAX_RANK];
  for (int k = 0; k < n; k++) {
    int64_t coef, s = expr_linear(offset, reds[k], &coef) ? (coef < 0 ? -coef : coef) : 0;
    const Expr *red = reds[k];
    int j = k;
    for (; j > 0 && stride[j - 1] < s; j--) {
      stride[j] = stride[j - 1];
      reds[j] = reds[j - 1];
    }
    stride[j] = s;
    reds[j] = red;
  }
}

bool lower_reduce(LowerCtx *lc, const Group *group) {
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  const Type *x = op->operands[0]->type;
  const Attr *axes = op_attr(op, "axes");
  const Reduction *reduction = reduction_of(op->def);
  DType type = dtype_compute(x->dtype);
  bool keep = op_int(op, "keepdims") != 0, reduced[WEFT_MAX_RANK] = {false};
  for (int k = 0; k < axes->n; k++)
    reduced[axes->ints[k]] = true;

  Computation c = {.reduces = true};
  const Expr *from[WEFT_MAX_RANK], *to[WEFT_MAX_RANK];
  lower_axis_vars(lc, x, from);
  int rank = 0;
  int64_t count = 1;
  for (int k = 0; k < x->rank; k++) {
    if (reduced[k] && FAULT("padding"))
      from[k] = expr_var(ctx, from[k]->name, expr_const(ctx, 0), padded_extent(ctx, x, k));
    if (reduced[k]) {
      c.reds[c.n_reds++] = from[k];
      count *= expr_value(x->dims[k]);
      if (keep)
        to[rank++] = expr_const(ctx, 0);
    } else {
      c.axes[c.n_axes++] = to[rank++] = from[k];
    }
  }
  const Scalar *x_at = lower_value(lc, op->operands[0], from, &c.step_args, 1);
  sort_by_stride(lc, c.reds, c.n_reds, c.step_args.access[0]);

  const Scalar *acc = scalar_arg_typed(ctx, 0, type);
  c.init = reduction_start(ctx, reduction, type);
  c.step = reduction_step(ctx, reduction, acc, x_at);
  c.identity = c.init;
  c.fold = reduction_step(ctx, reduction, acc, scalar_arg_typed(ctx, 1, type));
  const Scalar *root = reduction_finish(ctx, reduction, acc, scalar_const_typed(ctx, type, (double)count));
  c.value = lower_chain(lc, group, to, root, &c.args, 1);
  if (!c.value)
    return false;
  c.target = lower_target(lc, group, to);
  schedule_computation(lc, group, &c);
  return true;
}
