/* What layouts cost: the model by which `convert-layout{auto}` chooses (docs/layout.md has the measurements behind it).
 * Costs are cycles of one core, comparable with one another and no forecast of run time. */
#ifndef WEFT_PASSES_LAYOUT_COST_H
#define WEFT_PASSES_LAYOUT_COST_H

#include "ir/layout_plan.h"

typedef struct {
  int lanes; /* f32 in a vector */
} LayoutTarget;

/* Cycles of an op of data roles (N, C, spatial) that reads operand 0 in `data` and writes `result`. 0 for other ops,
 * which cost the same in every layout. Constant shapes; 0 where one is not. */
double layout_op_cost(const Op *op, const Layout *data, const Layout *result, LayoutTarget target);
/* Bytes that a relayout of a value reads and writes, and its cycles. */
double layout_copy_bytes(const Type *type);
double layout_copy_cost(const Type *type);

#endif
