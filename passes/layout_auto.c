/* Choosing layouts by cost. See layout_auto.h.
 *
 * A choice is tried by walking the graph as layout_assign would: each op's layout function says what it reads and
 * writes, and what it reads otherwise than it lies costs a relayout, once per value and layout. Free are relayouts of
 * constants, and half price those that the producer of a value with one reader absorbs. */
#include "passes/layout_auto.h"

#define MAX_CANDIDATES 3
#define FEW_PAIRS 24      /* sites up to which any two are changed at once */
#define MAX_VISITS 100000 /* ops visited by the search */
#define WORTH_IT 0.97     /* of the cost of no choice, which is kept above that */

/* An op that may have a layout of its own. */
typedef struct {
  int number; /* of the op in program order */
  int n;
  const Layout *candidates[MAX_CANDIDATES];
} Site;

typedef struct Made { /* a relayout of a value */
  const Layout *layout;
  struct Made *next;
} Made;

typedef struct {
  Unit *unit;
  LayoutTarget target;
  int n_ops;
  LayoutPlan *wished; /* by op number: the plan with its wishes and room for operands */
  const Layout **now; /* by value id */
  Made **made;        /* by value id */
  uint32_t *uses;
  VEC(Made *) spare;
  size_t n_spare;
  VEC(Site) sites;
  int64_t visits;
} Search;

/* ---- the cost of a choice ---- */

static bool is_direct(const Search *s, const Value *v) {
  return v->def && !(v->def->def->traits & (OP_LEAF | OP_VIEW | OP_COPY)) && s->uses[v->id] == 1;
}

static void count_copy(Search *s, LayoutCost *cost, const Value *v, const Layout *to) {
  double bytes = layout_copy_bytes(v->type), cycles = layout_copy_cost(v->type);
  if (is_direct(s, v) && layout_is_permutation(to)) {
    cost->cycles += cycles / 2;
    return;
  }
  cost->copied += bytes;
  cost->cycles += cycles;
  cost->copies++;
}

static void read_in(Search *s, LayoutCost *cost, const Value *v, const Layout *layout) {
  if (s->now[v->id] == layout)
    return;
  for (const Made *m = s->made[v->id]; m; m = m->next)
    if (m->layout == layout)
      return;
  if (s->n_spare == s->spare.len)
    vec_push(s->unit->ctx->arena, &s->spare, ARENA_NEW(s->unit->ctx->arena, Made));
  Made *m = s->spare.data[s->n_spare++];
  *m = (Made){layout, s->made[v->id]};
  s->made[v->id] = m;
  count_copy(s, cost, v, layout);
}

static LayoutCost try_choice(Search *s, const Layout *const *choice) {
  Ctx *ctx = s->unit->ctx;
  const Function *f = s->unit->module->main;
  LayoutCost cost = {0};
  s->n_spare = 0;
  memset(s->made, 0, f->n_values * sizeof *s->made);
  for (size_t k = 0; k < f->params.len; k++)
    s->now[f->params.data[k]->id] = f->params.data[k]->type->layout;
  int number = 0;
  for (const Op *op = f->first; op; op = op->next, number++) {
    LayoutPlan plan = s->wished[number];
    plan.result = op->result->type->layout;
    if (op->def->traits & (OP_LEAF | OP_COPY)) {
      s->now[op->result->id] = plan.result;
      continue;
    }
    for (int k = 0; k < op->n_operands; k++)
      plan.operand[k] = op->operands[k] ? s->now[op->operands[k]->id] : NULL;
    if (choice && choice[number])
      plan.wish_data = choice[number];
    op->def->layout(ctx, op, &plan);
    for (int k = 0; k < op->n_operands; k++)
      if (op->operands[k] && !plan.constant[k])
        read_in(s, &cost, op->operands[k], plan.operand[k]);
    s->now[op->result->id] = plan.result;
    if (op->n_operands && plan.operand[0])
      cost.cycles += layout_op_cost(op, plan.operand[0], plan.result, s->target);
  }
  for (size_t k = 0; k < f->results.len; k++)
    read_in(s, &cost, f->results.data[k].value, f->results.data[k].type->layout);
  s->visits += s->n_ops;
  return cost;
}

/* ---- candidates ---- */

/* N, C, spatial; N, spatial, C; and where whole vectors of channels fill it, C in blocks of a vector. */
static void add_candidates(Search *s, const Op *op, Site *site) {
  Ctx *ctx = s->unit->ctx;
  int rank = op->operands[0]->type->rank, last[WEFT_MAX_RANK];
  site->candidates[site->n++] = layout_row_major(ctx, rank);
  for (int k = 0; k < rank; k++)
    last[k] = k == 0 ? 0 : k == rank - 1 ? 1 : k + 1;
  site->candidates[site->n++] = layout_permutation(ctx, rank, last);
  int64_t channels;
  if (!expr_is_const(op->operands[0]->type->dims[1], &channels) || channels % s->target.lanes != 0 ||
      channels == s->target.lanes)
    return;
  Digit digits[WEFT_MAX_RANK + 1];
  for (int k = 0; k < rank; k++)
    digits[k] = (Digit){k, k == 1 ? s->target.lanes : 1, 0};
  digits[rank] = (Digit){1, 1, s->target.lanes};
  site->candidates[site->n++] = layout_get(ctx, rank, digits, rank + 1, PAD_ANY);
}

static bool is_site(const Op *op, const LayoutPlan *plan) {
  return op->n_operands > 0 && op->operands[0] && strncmp(op->def->operands[0].roles, "NC", 2) == 0 &&
         !plan->wish_data && !plan->wish_out && op->operands[0]->type->rank == op->result->type->rank;
}

static bool start(Search *s, Unit *unit, const LayoutWish *wishes, int n, LayoutTarget target) {
  Ctx *ctx = unit->ctx;
  const Function *f = unit->module->main;
  *s = (Search){.unit = unit, .target = target};
  for (const Op *op = f->first; op; op = op->next)
    s->n_ops++;
  s->wished = ARENA_ARRAY(ctx->arena, LayoutPlan, s->n_ops);
  s->now = ARENA_ARRAY(ctx->arena, const Layout *, f->n_values);
  s->made = ARENA_ARRAY(ctx->arena, Made *, f->n_values);
  s->uses = function_count_uses(ctx, f);
  int number = 0;
  for (Op *op = f->first; op; op = op->next, number++) {
    s->wished[number] = layout_plan_of(ctx, op);
    if (!layout_wish_for(ctx, wishes, n, op, &s->wished[number]))
      return false;
    if (!is_site(op, &s->wished[number]))
      continue;
    Site site = {.number = number};
    add_candidates(s, op, &site);
    vec_push(ctx->arena, &s->sites, site);
  }
  return true;
}

/* ---- the search ---- */

static const Layout **no_choice(const Search *s) {
  return ARENA_ARRAY(s->unit->ctx->arena, const Layout *, s->n_ops);
}

/* Candidate number k of a site, the last one where it has fewer; 0: no choice. */
static const Layout *candidate(const Site *site, int k) {
  return k == 0 ? NULL : site->candidates[(k <= site->n ? k : site->n) - 1];
}

typedef struct {
  Search *s;
  const Layout **choice, **best;
  LayoutCost cost; /* of best */
  double most_copied;
} Best;

/* Takes the choice as the best one where it is. */
static bool consider(Best *b) {
  LayoutCost cost = try_choice(b->s, b->choice);
  if (cost.copied > b->most_copied || cost.cycles >= b->cost.cycles)
    return false;
  b->cost = cost;
  memcpy(b->best, b->choice, (size_t)b->s->n_ops * sizeof *b->best);
  return true;
}

/* Every choice, counting the sites' candidates as digits. */
static void try_all(Best *b) {
  const Search *s = b->s;
  int *digits = ARENA_ARRAY(s->unit->ctx->arena, int, s->sites.len);
  for (;;) {
    size_t k = 0;
    while (k < s->sites.len && digits[k] == s->sites.data[k].n)
      digits[k++] = 0;
    if (k == s->sites.len)
      return;
    digits[k]++;
    for (size_t j = 0; j < s->sites.len; j++)
      b->choice[s->sites.data[j].number] = candidate(&s->sites.data[j], digits[j]);
    consider(b);
  }
}

/* One candidate for all sites from `first` on, `length` of them. */
static void set_run(Best *b, size_t first, size_t length, int k) {
  const Search *s = b->s;
  for (size_t j = first; j < first + length && j < s->sites.len; j++)
    b->choice[s->sites.data[j].number] = candidate(&s->sites.data[j], k);
}

/* Tries the choice that differs from the best one in the runs of sites first1 .. and first2 .., one candidate for both.
 */
static bool change(Best *b, size_t first1, size_t first2, size_t length, int k) {
  memcpy(b->choice, b->best, (size_t)b->s->n_ops * sizeof *b->choice);
  set_run(b, first1, length, k);
  set_run(b, first2, length, k);
  return consider(b);
}

/* Changes runs of sites, the long ones first, as long as that helps: a single change seldom does where its neighbours
 * then need relayouts on both sides. Where the sites are few, any two of them, which branches may hold apart. */
static void search(Best *b) {
  const Search *s = b->s;
  size_t n = s->sites.len, longest = 1;
  while (longest * 2 <= n)
    longest *= 2;
  for (bool better = true; better;) {
    better = false;
    for (size_t length = longest; length > 0; length /= 2)
      for (size_t first = 0; first < n; first += (length + 1) / 2)
        for (int k = 0; k <= MAX_CANDIDATES; k++) {
          if (s->visits > MAX_VISITS)
            return;
          better = change(b, first, first, length, k) || better;
        }
    for (size_t i = 0; n <= FEW_PAIRS && i < n; i++)
      for (size_t j = i + 1; j < n; j++)
        for (int k = 0; k <= MAX_CANDIDATES; k++) {
          if (s->visits > MAX_VISITS)
            return;
          better = change(b, i, j, 1, k) || better;
        }
  }
}

static const Layout **greedy(Search *s) {
  const Layout **choice = no_choice(s);
  const Op *op = s->unit->module->main->first;
  int number = 0;
  for (size_t k = 0; k < s->sites.len; k++) {
    const Site *site = &s->sites.data[k];
    for (; number < site->number; number++)
      op = op->next;
    double least = 0;
    for (int j = 0; j < site->n; j++) {
      double cycles = layout_op_cost(op, site->candidates[j], site->candidates[j], s->target);
      if (j == 0 || cycles < least) {
        least = cycles;
        choice[number] = site->candidates[j];
      }
    }
  }
  return choice;
}

const Layout **layout_greedy(Unit *unit, const LayoutWish *wishes, int n, LayoutTarget target) {
  Search s;
  return start(&s, unit, wishes, n, target) ? greedy(&s) : NULL;
}

LayoutCost layout_choice_cost(Unit *unit, const LayoutWish *wishes, int n, LayoutTarget target,
                              const Layout *const *choice) {
  Search s;
  return start(&s, unit, wishes, n, target) ? try_choice(&s, choice) : (LayoutCost){0};
}

const Layout **layout_auto(Unit *unit, const LayoutWish *wishes, int n, LayoutTarget target, LayoutCost *cost) {
  Search s;
  if (!start(&s, unit, wishes, n, target))
    return NULL;
  Best b = {.s = &s, .choice = no_choice(&s), .best = no_choice(&s)};
  LayoutCost none = try_choice(&s, b.best);
  b.cost = none;
  b.most_copied = try_choice(&s, greedy(&s)).copied;
  double choices = 1;
  for (size_t k = 0; k < s.sites.len; k++)
    choices *= s.sites.data[k].n + 1;
  if (choices * s.n_ops <= MAX_VISITS) {
    try_all(&b);
  } else {
    memcpy(b.choice, greedy(&s), (size_t)s.n_ops * sizeof *b.choice);
    consider(&b);
    for (int k = 1; k <= MAX_CANDIDATES; k++) {
      set_run(&b, 0, s.sites.len, k);
      consider(&b);
    }
    search(&b);
  }
  *cost = b.cost;
  if (b.cost.cycles <= WORTH_IT * none.cycles)
    return b.best;
  *cost = none;
  return no_choice(&s);
}
