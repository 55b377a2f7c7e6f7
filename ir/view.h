/* What can be told of a view (OP_VIEW) from its index map. */
#ifndef WEFT_IR_VIEW_H
#define WEFT_IR_VIEW_H

#include "ir/module.h"

/* True where e is a sum of variables and symbols with coefficients. */
bool expr_is_linear(const Expr *e);
/* True where each index of the operand is linear in those of the result. */
bool view_is_linear(Ctx *ctx, const Op *view);
/* The axis of the operand whose index is that of this axis of the result, of the same extent and for indices beyond its
 * ends as well, while no other index depends on it; -1: none. So a halo of the operand is one of the result. */
int view_source_axis(Ctx *ctx, const Op *view, int axis);

#endif
