/* infer-layout: layouts follow from the model's inputs; see layout_assign.h. Nothing is copied for it: where a layout
 * changes on the way, the op that reads one and writes the other does it. */
#include "passes/layout_assign.h"

bool pass_infer_layout(Unit *unit, const PassOption *options, int n_options);

bool pass_infer_layout(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  return layout_assign(unit, NULL, 0, NULL);
}
