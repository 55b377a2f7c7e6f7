/* einsum: the labels of the result are axes, all others reductions; each operand is read at its labels. */
#include "ir/ops/einsum.h"
#include "lower/lower_op.h"

bool lower_einsum(LowerCtx *lc, const Group *group);

static const Scalar *times(Ctx *ctx, const Scalar *a, const Scalar *b) {
  return a ? scalar_make2(ctx, SC_MUL, a, b) : b;
}

/* acc + product * last, in one rounding where that is of floats. */
static const Scalar *add_product(Ctx *ctx, const Scalar *acc, const Scalar *product, const Scalar *last) {
  if (product && dtype_is_float(acc->dtype))
    return scalar_make3(ctx, SC_FMA, product, last, acc);
  return scalar_make2(ctx, SC_ADD, acc, times(ctx, product, last));
}

bool lower_einsum(LowerCtx *lc, const Group *group) {
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  DType type = dtype_compute(op->result->type->dtype);
  Einsum e;
  WEFT_ASSERT(einsum_read(ctx, op, &e));
  const Expr *to[WEFT_MAX_RANK], *var[EINSUM_MAX_LABELS];
  Computation c = {.n_axes = e.rank};
  lower_axis_vars(lc, op->result->type, to);
  for (int j = 0; j < e.rank; j++)
    c.axes[j] = var[e.result[j]] = to[j];
  for (int label = 0; label < e.n_labels; label++)
    if (e.summed[label]) {
      var[label] = expr_var(ctx, arena_printf(ctx->arena, "k%d", label), expr_const(ctx, 0), e.extent[label]);
      c.reds[c.n_reds++] = var[label];
    }
  c.reduces = c.n_reds > 0;
  Args *args = c.reduces ? &c.step_args : &c.args;
  const Scalar *product = NULL, *last = NULL;
  for (int k = 0; k < op->n_operands; k++) {
    const Type *own = op->operands[k]->type;
    const Expr *at[WEFT_MAX_RANK];
    for (int j = 0; j < own->rank; j++)
      at[j] = own->dims[j] == e.extent[e.operand[k][j]] ? var[e.operand[k][j]] : expr_const(ctx, 0);
    int arg = args_add(args, lower_read(lc, op->operands[k], at));
    product = last ? times(ctx, product, last) : NULL;
    last = scalar_arg_typed(ctx, arg + c.reduces, type);
  }
  const Scalar *root = scalar_arg_typed(ctx, 0, type);
  if (c.reduces) {
    c.init = scalar_const_typed(ctx, type, 0);
    c.step = add_product(ctx, root, product, last);
    c.identity = c.init;
    c.fold = scalar_make2(ctx, SC_ADD, root, scalar_arg_typed(ctx, 1, type));
  } else {
    root = times(ctx, product, last);
  }
  c.value = lower_chain(lc, group, to, root, &c.args, c.reduces);
  if (!c.value)
    return false;
  c.target = lower_target(lc, group, to);
  schedule_computation(lc, group, &c);
  return true;
}
