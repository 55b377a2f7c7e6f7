/* Choosing layouts by cost: `convert-layout{auto}`. */
#ifndef WEFT_PASSES_LAYOUT_AUTO_H
#define WEFT_PASSES_LAYOUT_AUTO_H

#include "passes/layout_assign.h"
#include "passes/layout_cost.h"

/* What an assignment costs, as layout_assign would carry it out. */
typedef struct {
  double cycles;
  double copied; /* bytes that relayouts read and write in a run */
  int copies;
} LayoutCost;

/* The data layouts chosen for the ops of the unit's graph, by number in program order; NULL: none, the op follows its
 * operands. Ops that a wish speaks of keep to it. The choice is the one of least estimated cost among all where these
 * are few, else what a search from uniform assignments finds by changing runs of ops; it is never above the cost of no
 * choice at all, and never moves more bytes than the greedy one. *cost is its cost. NULL after reporting. */
const Layout **layout_auto(Unit *unit, const LayoutWish *wishes, int n, LayoutTarget target, LayoutCost *cost);

/* For tests and tables: the choice in which each op takes its own cheapest layout without looking around; the cost of a
 * choice; and the least cost of all by trying every one. */
const Layout **layout_greedy(Unit *unit, const LayoutWish *wishes, int n, LayoutTarget target);
LayoutCost layout_choice_cost(Unit *unit, const LayoutWish *wishes, int n, LayoutTarget target,
                              const Layout *const *choice);

#endif
