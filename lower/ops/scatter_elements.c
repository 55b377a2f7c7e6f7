/* scatter_elements: updates that differ in another axis than `axis` change elements apart. */
#include "ir/ops/scatter.h"
#include "lower/ops/scatter_lower.h"

bool lower_scatter_elements(LowerCtx *lc, const Group *group);

bool lower_scatter_elements(LowerCtx *lc, const Group *group) {
  const Op *op = group->root;
  const Value *indices = op->operands[SCATTER_INDICES];
  int rank = indices->type->rank;
  int64_t axis = op_int(op, "axis");
  axis += axis < 0 ? rank : 0;
  const Expr *at[WEFT_MAX_RANK], *to[WEFT_MAX_RANK];
  lower_axis_vars(lc, indices->type, at);
  Computation c = {.n_bindings = 1};
  c.bindings[0] = lower_index(lc, "j", lower_read(lc, indices, at), op->operands[SCATTER_DATA]->type->dims[axis]);
  for (int k = 0; k < rank; k++) {
    to[k] = k == axis ? c.bindings[0].var : at[k];
    if (k == axis)
      c.reds[c.n_reds++] = at[k];
    else
      c.axes[c.n_axes++] = at[k];
  }
  return scatter_lower(lc, group, &c, at, to);
}
