/* Views by their index maps. See view.h. */
#include "ir/view.h"

bool expr_is_linear(const Expr *e) {
  if (e->kind != EX_SUM)
    return e->kind == EX_CONST || e->kind == EX_SYM || e->kind == EX_VAR;
  for (int k = 0; k < e->n; k++)
    if (!expr_is_linear(e->terms[k].atom))
      return false;
  return true;
}

/* A variable per axis of the view's result, that of axis `beyond` going past its ends. */
static void result_vars(Ctx *ctx, const Type *type, int beyond, const Expr **vars) {
  static const char *const names[WEFT_MAX_RANK] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  for (int k = 0; k < type->rank; k++) {
    int64_t past = k == beyond ? WEFT_MAX_HALO : 0;
    vars[k] = expr_var(ctx, names[k], expr_const(ctx, -past), expr_add_const(ctx, type->dims[k], past));
  }
}

bool view_is_linear(Ctx *ctx, const Op *view) {
  const Expr *at[WEFT_MAX_RANK], *inner[WEFT_MAX_RANK];
  result_vars(ctx, view->result->type, -1, at);
  view->def->view_index(ctx, view, at, inner);
  for (int k = 0; k < view->operands[0]->type->rank; k++)
    if (!expr_is_linear(inner[k]))
      return false;
  return true;
}

int view_source_axis(Ctx *ctx, const Op *view, int axis) {
  const Type *from = view->operands[0]->type, *to = view->result->type;
  const Expr *at[WEFT_MAX_RANK], *inner[WEFT_MAX_RANK];
  result_vars(ctx, to, axis, at);
  view->def->view_index(ctx, view, at, inner);
  int source = -1;
  for (int k = 0; k < from->rank; k++) {
    if (!expr_uses(inner[k], at[axis]))
      continue;
    if (source >= 0 || inner[k] != at[axis] || from->dims[k] != to->dims[axis])
      return -1;
    source = k;
  }
  return source;
}
