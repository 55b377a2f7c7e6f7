/* What scatter_elements and scatter_nd share. Both change elements of data in the row-major order of updates,
 *
 *   result = data;  for every u of updates:  result[to(u)] = step(result[to(u)], updates[u])
 *
 * with to(u) found by indices, where one in -d..-1 counts from the end of the axis of extent d and another outside of
 * 0..d-1 is a fault of the run. step is the attribute `reduction`: none (updates[u] itself: of several for one element
 * the last one stays), add, mul, max or min. max and min of floats give NaN where an element is NaN. Of bool, add and
 * max are "or", mul and min are "and". f16 and bf16 are rounded after each update. */
#ifndef WEFT_IR_OPS_SCATTER_H
#define WEFT_IR_OPS_SCATTER_H

#include "ir/ops/ops.h"

/* Operand numbers. */
enum { SCATTER_DATA, SCATTER_INDICES, SCATTER_UPDATES };

/* indices are integers, updates have data's element type. False after reporting. */
bool scatter_check(Ctx *ctx, const Op *op);
/* The step of the attribute `reduction`, over an element and an update of one compute type. */
const Scalar *scatter_step(Ctx *ctx, const Op *op, const Scalar *element, const Scalar *update);
/* The result lies as data does. */
void scatter_plan(Ctx *ctx, LayoutPlan *plan);

/* The reference. at: the index of an update; to: that of the element it changes, in data. False after reporting. */
typedef bool ScatterPlace(Ctx *ctx, const Op *op, const Tensor *const *in, const int64_t *at, int64_t *to);
void scatter_run(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out, ScatterPlace *place);

#endif
