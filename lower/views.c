/* Which views are stored. A reader follows a view by its index map, and a chain of views by the composition of theirs,
 * at no cost where the map is linear. A view is stored by a copy where
 *   - the chain is long, or its index expressions are large: each further view would make them larger yet, by a factor
 *     for chains in which div and mod do not cancel;
 *   - it is read many times over (by an op that is neither elementwise nor a move) and the place in memory that it
 * reads is found by div and mod, which costs more at every read than the copy does once. A view that repeats elements
 * leaves this to its operand. */
#include "ir/view.h"
#include "lower/lower_op.h"

#define MAX_CHAIN 32  /* views followed by one reader */
#define MAX_NODES 192 /* of the index expressions, written out as trees */

/* Nodes of e as a tree, or more than `most`. */
static int count_nodes(const Expr *e, int most) {
  int n = 1;
  if (e->kind == EX_SUM)
    for (int k = 0; k < e->n && n <= most; k++)
      n += count_nodes(e->terms[k].atom, most - n);
  else if (e->kind != EX_CONST && e->kind != EX_SYM && e->kind != EX_VAR) {
    n += count_nodes(e->a, most - n);
    if (n <= most)
      n += count_nodes(e->b, most - n);
  }
  return n;
}

static bool is_view(const Op *op) {
  return op && (op->def->traits & OP_VIEW);
}

static bool repeats(LowerCtx *lc, const Op *view) {
  const Expr *more =
      expr_sub(lc->ctx, type_elements(lc->ctx, view->result->type), type_elements(lc->ctx, view->operands[0]->type));
  return more->hi > 0;
}

bool *views_read_often(LowerCtx *lc) {
  bool *often = ARENA_ARRAY(lc->ctx->arena, bool, lc->function->n_values);
  for (const Op *op = lc->function->last; op; op = op->prev) {
    bool once = op->def->traits & (OP_ELEMENTWISE | OP_MOVE | OP_COPY | OP_VIEW | OP_LEAF);
    if (is_view(op) && often[op->result->id] && repeats(lc, op)) {
      often[op->result->id] = false;
      once = false;
    }
    for (int k = 0; k < op->n_operands && !once; k++)
      if (op->operands[k])
        often[op->operands[k]->id] = true;
  }
  return often;
}

bool view_is_stored(LowerCtx *lc, const Op *view) {
  const Expr *at[WEFT_MAX_RANK], *inner[WEFT_MAX_RANK];
  lower_axis_vars(lc, view->result->type, at);
  int chain = 0;
  const Value *v = view->result;
  while (is_view(v->def) && !lc->buffers[v->id]) {
    if (++chain > MAX_CHAIN)
      return true;
    v->def->def->view_index(lc->ctx, v->def, at, inner);
    v = v->def->operands[0];
    memcpy(at, inner, (size_t)v->type->rank * sizeof *at);
  }
  int nodes = 0;
  for (int k = 0; k < v->type->rank; k++)
    nodes += count_nodes(at[k], MAX_NODES);
  if (nodes > MAX_NODES)
    return true;
  return lc->often[view->result->id] && !expr_is_linear(access_offset(lc->ctx, lower_read(lc, v, at)));
}
