/* Explaining layouts: which op has which one, why, and what the copies between them cost. */
#ifndef WEFT_PASSES_LAYOUT_EXPLAIN_H
#define WEFT_PASSES_LAYOUT_EXPLAIN_H

#include "ir/layout_plan.h"
#include "passes/pass.h"

/* Kept per result from layout_assign until somebody asks. */
typedef struct LayoutReason {
  LayoutPlan plan;
  int n; /* operands that the op had then */
  bool direct; /* the result is in the layout its reader wants, where a copy would have stood otherwise */
} LayoutReason;

/* The plan that op's operands and result follow; replaces what was noted for its result before. */
void layout_note_plan(Unit *unit, const Op *op, const LayoutPlan *plan);
/* v is written in the layout that its reader wants, and not in that of its plan. */
void layout_note_direct(Unit *unit, const Value *v);

/* A table of the graph as it is: inputs, ops in program order, outputs; of each what it reads and writes, in letters
 * where its row has roles and as a tag elsewhere, why, and where the user wrote it. A relayout and a derived constant
 * name the reader that they are for and their bytes. Last the totals. A run moves each element of a relayout twice: it
 * is read and written; padding lanes are neither. */
void layout_explain(Str *out, const Unit *unit);

#endif
