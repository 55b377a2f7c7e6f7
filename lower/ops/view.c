/* Views are index maps that every reader follows (lower_read). Where one is to be stored all the same (lower/views.c),
 * it is a copy. */
#include "lower/lower_op.h"

bool lower_broadcast(LowerCtx *lc, const Group *group);
bool lower_transpose(LowerCtx *lc, const Group *group);
bool lower_reshape(LowerCtx *lc, const Group *group);
bool lower_slice(LowerCtx *lc, const Group *group);

static bool store_view(LowerCtx *lc, const Group *group) {
  const Op *op = group->root;
  const Expr *vars[WEFT_MAX_RANK], *inner[WEFT_MAX_RANK];
  lower_axis_vars(lc, op->result->type, vars);
  op->def->view_index(lc->ctx, op, vars, inner);
  Args args = {0};
  args_add(&args, lower_read(lc, op->operands[0], inner));
  return lower_pointwise(lc, group, vars, scalar_arg_typed(lc->ctx, 0, access_dtype(args.access[0])), &args);
}

bool lower_broadcast(LowerCtx *lc, const Group *group) {
  return store_view(lc, group);
}
bool lower_transpose(LowerCtx *lc, const Group *group) {
  return store_view(lc, group);
}
bool lower_reshape(LowerCtx *lc, const Group *group) {
  return store_view(lc, group);
}
bool lower_slice(LowerCtx *lc, const Group *group) {
  return store_view(lc, group);
}
