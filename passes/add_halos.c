/* Halos (ir/layout.h) for the values that convolutions read: zeros around the elements in place of borders cut off in
 * every loop nest.
 *
 * An op's layout function says which halo its data had best have, and how much more work the op has with it, for the
 * taps that multiply zeros. Where that is within MAX_WORK (everywhere, with the option `always`), the op's wish is
 * taken; of several readers' wishes, per side the largest. A value is given the halo where its producer's nest can write
 * it and nobody is harmed:
 *   - the producer computes it, so it is no parameter, constant or view, and it is not returned;
 *   - its layout splits none of the axes in question;
 *   - no reader sees it through a view that is not linear, as most reshapes are: a place in memory would then be found by
 *     div and mod.
 * Other readers read its elements as before. */
#include "ir/layout_plan.h"
#include "passes/pass.h"

#define MAX_WORK 1.5
#define MAX_VIEWS 32 /* in a row, looked through */

bool pass_add_halos(Unit *unit, const PassOption *options, int n_options);

typedef struct {
  bool asked, barred;
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

static void ask(Halos *h, const Op *op) {
  Ctx *ctx = h->unit->ctx;
  Halo wanted[WEFT_MAX_RANK] = {0};
  LayoutPlan plan = layout_plan_of(ctx, op);
  plan.halo = wanted;
  op->def->layout(ctx, op, &plan);
  if (plan.halo_work == 0 || plan.halo_work > h->max_work)
    return;
  const Value *v = op->operands[plan.halo_operand];
  h->wishes[v->id].asked = true;
  widen(h->wishes[v->id].halo, wanted, v->type->rank);
}

/* True where e is a sum of variables with coefficients. */
static bool is_linear(const Expr *e) {
  for (int k = 0; e->kind == EX_SUM && k < e->n; k++)
    if (!is_linear(e->terms[k].atom))
      return false;
  return e->kind == EX_SUM || e->kind == EX_CONST || e->kind == EX_SYM || e->kind == EX_VAR;
}

/* Bars halos from what is read through this view and those behind it, where the way is not linear. */
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
      at[k] = inner[k];
      h->wishes[v->id].barred = h->wishes[v->id].barred || depth == MAX_VIEWS || !is_linear(at[k]);
    }
    if (depth == MAX_VIEWS)
      return;
  }
}

static void give(Halos *h, Value *v, Wish *wish) {
  Ctx *ctx = h->unit->ctx;
  if (!wish->asked || wish->barred || !v->def || (v->def->def->traits & (OP_VIEW | OP_LEAF)))
    return;
  widen(wish->halo, v->type->layout->halo, v->type->rank);
  const Layout *layout = layout_with_halo(ctx, v->type->layout, wish->halo);
  const Type *type = layout ? type_with_layout(ctx, v->type, layout) : NULL;
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
    h.wishes[f->results.data[k].value->id].barred = true;
  for (Op *op = f->first; op; op = op->next)
    give(&h, op->result, &h.wishes[op->result->id]);
  return true;
}
