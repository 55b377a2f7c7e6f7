/* scatter_nd: updates are apart along data's own axes, and in order over the places. */
#include "ir/ops/scatter.h"
#include "lower/ops/scatter_lower.h"

bool lower_scatter_nd(LowerCtx *lc, const Group *group);

bool lower_scatter_nd(LowerCtx *lc, const Group *group) {
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  const Value *indices = op->operands[SCATTER_INDICES], *updates = op->operands[SCATTER_UPDATES];
  const Type *data = op->operands[SCATTER_DATA]->type;
  int places = indices->type->rank - 1, depth = (int)expr_value(indices->type->dims[places]);
  const Expr *at[WEFT_MAX_RANK] = {NULL}, *place[WEFT_MAX_RANK], *to[WEFT_MAX_RANK];
  lower_axis_vars(lc, updates->type, at);
  memcpy(place, at, sizeof place);
  Computation c = {.n_bindings = depth, .n_reds = places, .n_axes = data->rank - depth};
  for (int k = 0; k < depth; k++) {
    place[places] = expr_const(ctx, k);
    c.bindings[k] = lower_index(lc, arena_printf(ctx->arena, "j%d", k), lower_read(lc, indices, place), data->dims[k]);
    to[k] = c.bindings[k].var;
  }
  memcpy(c.reds, at, (size_t)c.n_reds * sizeof *at);
  for (int k = 0; k < c.n_axes; k++)
    to[depth + k] = c.axes[k] = at[places + k];
  return scatter_lower(lc, group, &c, at, to);
}
