/* convert-layout: gives ops the layouts wished for, and with `auto` the others those of least cost; see layout_assign.h
 * and layout_auto.h. `greedy`, each op's own cheapest, is what auto is measured by. Without options it is infer-layout.
 */
#include <errno.h>
#include <stdlib.h>

#include "passes/layout_auto.h"

bool pass_convert_layout(Unit *unit, const PassOption *options, int n_options);

static bool read_bytes(Ctx *ctx, const PassOption *o, int *bytes) {
  char *end;
  errno = 0;
  long v = strtol(o->value, &end, 10);
  if (errno || *end || end == o->value || (v != 16 && v != 32 && v != 64))
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "convert-layout: vector-bytes=%s: expected 16, 32 or 64",
                      o->value);
  *bytes = (int)v;
  return true;
}

bool pass_convert_layout(Unit *unit, const PassOption *options, int n_options) {
  Ctx *ctx = unit->ctx;
  PassOption *given = ARENA_ARRAY(ctx->arena, PassOption, n_options);
  int n = 0, bytes = 32;
  bool choose = false, greedy = false;
  for (int k = 0; k < n_options; k++) {
    if (strcmp(options[k].key, "auto") == 0 && !options[k].value[0])
      choose = true;
    else if (strcmp(options[k].key, "greedy") == 0 && !options[k].value[0])
      greedy = true;
    else if (strcmp(options[k].key, "vector-bytes") != 0)
      given[n++] = options[k];
    else if (!read_bytes(ctx, &options[k], &bytes))
      return false;
  }
  LayoutWish *wishes;
  LayoutCost cost;
  const Layout **choice = NULL;
  LayoutTarget target = {.lanes = bytes / 4};
  if (choose && greedy)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "convert-layout: auto and greedy exclude each other");
  if (!layout_wishes_parse(ctx, given, n, &wishes))
    return false;
  if (choose && !(choice = layout_auto(unit, wishes, n, target, &cost)))
    return false;
  if (greedy && !(choice = layout_greedy(unit, wishes, n, target)))
    return false;
  return layout_assign(unit, wishes, n, choice);
}
