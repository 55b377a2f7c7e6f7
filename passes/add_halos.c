/* Halos (ir/layout.h) for the values that convolutions read: zeros around the elements in place of borders cut off in
 * every loop nest.
 *
 * An op's layout function says which halo its data had best have, and how much more work the op has with it, for the
 * taps that multiply zeros. Where that is within MAX_WORK (everywhere, with the option `always`), the op's wish is
 * taken; of several readers' wishes, per side the largest. What gets the halo is the op's data, or what linear views of
 * it show, as far as they pass axes on as they are; a view that is not linear is stored, since convolutions read often
 * (lower/views.c), and has a halo of its own. Not given are
 *   - parameters, constants, and what the function returns;
 *   - axes that the layout splits;
 *   - axes whose index is not linear in a view that shows the value to another reader, as in most reshapes: div and mod,
 *     which cancel where the elements are dense, would stay.
 * Other readers read the elements as before. */
#include "ir/layout_plan.h"
#include "ir/view.h"
#include "passes/pass.h"

#define MAX_WORK 1.5
#define MAX_VIEWS 32 /* in a row, looked through */

bool pass_add_halos(Unit *unit, const PassOption *options, int n_options);

typedef struct {
  bool returned, barred[WEFT_MAX_RANK];
  Halo halo[WEFT_MAX_RANK];
} Wish;

typedef struct {
  Unit *unit;
  Wish *wishes; /* by value id */
  double max_work;
} Halos;

static void widen(Halo *halo, const Halo *least, int n) {
  for (int k = 0; k < n; k++) {
    halo[k].lo = least[k].lo > halo[k].lo ? least[k].lo : halo[k].lo;
    halo[k].hi = least[k].hi > halo[k].hi ? least[k].hi : halo[k].hi;
  }
}

/* The halo of the view's operand that makes this one of its result. */
static void pass_on(Ctx *ctx, const Op *view, Halo *halo) {
  Halo passed[WEFT_MAX_RANK] = {0};
  for (int k = 0; k < view->result->type->rank; k++) {
    int axis = halo[k].lo + halo[k].hi > 0 ? view_source_axis(ctx, view, k) : -1;
    if (axis >= 0)
      passed[axis] = halo[k];
  }
  memcpy(halo, passed, sizeof passed);
}

static void ask(Halos *h, const Op *op) {
  Ctx *ctx = h->unit->ctx;
  Halo wanted[WEFT_MAX_RANK] = {0};
  LayoutPlan plan = layout_plan_of(ctx, op);
  plan.halo = wanted;
  op->def->layout(ctx, op, &plan);
  if (plan.halo_work == 0 || plan.halo_work > h->max_work)
    return;
  const Value *v = op->operands[plan.halo_operand];
  for (; v->def && (v->def->def->traits & OP_VIEW) && view_is_linear(ctx, v->def); v = v->def->operands[0])
    pass_on(ctx, v->def, wanted);
  widen(h->wishes[v->id].halo, wanted, v->type->rank);
}

/* Bars halos along axes of what is read through this view and those behind it, where the way is not linear. */
static void bar_behind(Halos *h, const Op *view) {
  Ctx *ctx = h->unit->ctx;
  const Type *type = view->result->type;
  const Expr *at[WEFT_MAX_RANK], *inner[WEFT_MAX_RANK];
  for (int k = 0; k < type->rank; k++)
    at[k] = expr_var(ctx, arena_printf(ctx->arena, "i%d", k), expr_const(ctx, 0), type->dims[k]);
  const Op *op = view;
  for (int depth = 0; op && (op->def->traits & OP_VIEW); depth++, op = op->operands[0]->def) {
    op->def->view_index(ctx, op, at, inner);
    const Value *v = op->operands[0];
    for (int k = 0; k < v->type->rank; k++) {
      bool *barred = &h->wishes[v->id].barred[k];
      at[k] = inner[k];
      *barred = *barred || depth == MAX_VIEWS || !expr_is_linear(at[k]);
    }
    if (depth == MAX_VIEWS)
      return;
  }
}

static void give(Halos *h, Value *v) {
  Ctx *ctx = h->unit->ctx;
  Wish *wish = &h->wishes[v->id];
  if (wish->returned || (v->def->def->traits & OP_LEAF))
    return;
  for (int k = 0; k < v->type->rank; k++)
    if (wish->barred[k] || layout_block(v->type->layout, k) != 1)
      wish->halo[k] = (Halo){0, 0};
  widen(wish->halo, v->type->layout->halo, v->type->rank);
  const Type *type = type_with_layout(ctx, v->type, layout_with_halo(ctx, v->type->layout, wish->halo));
  if (type)
    v->type = type;
}

static bool read_options(Halos *h, const PassOption *options, int n) {
  h->max_work = MAX_WORK;
  for (int k = 0; k < n; k++) {
    if (strcmp(options[k].key, "always") != 0 || *options[k].value)
      return diag_error(h->unit->ctx->diags, WEFT_USAGE, LOC_NONE, "add-halos: unknown option '%s'; it takes always",
                        options[k].key);
    h->max_work = 1e300;
  }
  return true;
}

bool pass_add_halos(Unit *unit, const PassOption *options, int n_options) {
  Function *f = unit->module->main;
  Halos h = {.unit = unit, .wishes = ARENA_ARRAY(unit->ctx->arena, Wish, f->n_values)};
  if (!read_options(&h, options, n_options))
    return false;
  for (const Op *op = f->first; op; op = op->next) {
    if (op->def->traits & OP_VIEW)
      bar_behind(&h, op);
    if (!(op->def->traits & (OP_LEAF | OP_COPY | OP_VIEW)))
      ask(&h, op);
  }
  for (size_t k = 0; k < f->results.len; k++)
    h.wishes[f->results.data[k].value->id].returned = true;
  for (Op *op = f->first; op; op = op->next)
    give(&h, op->result);
  return true;
}
