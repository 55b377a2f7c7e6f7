/* convert-layout: gives ops the layouts wished for; see layout_assign.h. Without wishes it is infer-layout. */
#include "passes/layout_assign.h"

bool pass_convert_layout(Unit *unit, const PassOption *options, int n_options);

bool pass_convert_layout(Unit *unit, const PassOption *options, int n_options) {
  LayoutWish *wishes;
  return layout_wishes_parse(unit->ctx, options, n_options, &wishes) && layout_assign(unit, wishes, n_options);
}
