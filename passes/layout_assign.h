/* Assigning layouts: the common engine of infer-layout and convert-layout. */
#ifndef WEFT_PASSES_LAYOUT_ASSIGN_H
#define WEFT_PASSES_LAYOUT_ASSIGN_H

#include "ir/layout_plan.h"
#include "passes/pass.h"

/* One wish, as written: OP=DATA[:KERNEL[:OUT]]. Empty parts are NULL. */
typedef struct {
  const char *pattern, *data, *kernel, *out;
} LayoutWish;

/* Parses and checks wishes against the op table. False after reporting (WEFT_USAGE). */
bool layout_wishes_parse(Ctx *ctx, const PassOption *options, int n_options, LayoutWish **wishes);
/* The wish for an op: the most specific pattern that matches and holds for its rank; NULL: none. Sets wish_data,
 * wish_kernel and wish_out of the plan. False after reporting an ambiguity or letters that do not fit. */
bool layout_wish_for(Ctx *ctx, const LayoutWish *wishes, int n, const Op *op, LayoutPlan *plan);

/* Walks the function in order, asks each op's layout function, gives results their layouts, inserts relayouts where an
 * operand is to be read in another layout (one per value and layout), and lets producers write boundary layouts
 * directly. choice: the data layouts that an op without a wish is to have, by its number in program order (layout_auto.h),
 * NULL entries and NULL: as its operands are. */
bool layout_assign(Unit *unit, const LayoutWish *wishes, int n, const Layout *const *choice);

#endif
