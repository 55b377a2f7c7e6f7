/* What the lowerings of scatter_elements and scatter_nd share: a copy of data, then the updates in place. */
#ifndef WEFT_LOWER_OPS_SCATTER_LOWER_H
#define WEFT_LOWER_OPS_SCATTER_LOWER_H

#include "lower/lower_op.h"

/* c: the axes of updates along which they change elements apart as axes, the others in order as reductions, and the
 * bindings of indices. at: the index of an update over these; to: that of the element that it changes. */
bool scatter_lower(LowerCtx *lc, const Group *group, Computation *c, const Expr *const *at, const Expr *const *to);

#endif
