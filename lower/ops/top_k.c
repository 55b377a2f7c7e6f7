/* top_k by merging: a stable merge sort from the bottom up that keeps the first k of each run.
 *
 * Runs are sorted lists of indices of one row of x, the elements along the axis. At first every element is a run; each
 * pass merges run 2q (left) and run 2q + 1 (right) into run q. With runs that cover w elements each,
 *
 *   runs = ceil(n / w)    stride = min(w, k)    length(q) = min(stride, n - q*w), the last one being shorter
 *
 * and run q lies at q*stride. That is O(n log k) steps in ceil(log2 n) passes, a nest each: rows and runs are parallel.
 * One step of a merge, with the places l and r reached in the two runs:
 *
 *   take the left one   if r is at its end, or l is not and right[r] does not come strictly before left[l]
 *
 * so that of equal elements the left one, of lower index, comes first. A place at its run's end is read one before. */
#include "ir/ops/top_k.h"
#include "lower/lower_op.h"

bool lower_top_k(LowerCtx *lc, const Group *group);

typedef struct {
  LowerCtx *lc;
  const Group *group;
  const Value *x;
  int axis;
  int64_t n, k;
  const Expr *row[WEFT_MAX_RANK]; /* variables of x's axes; that of `axis` is not used */
} TopK;

/* Runs that cover w elements each. buffer NULL: the result, which is one run. */
typedef struct {
  Buffer *buffer;
  int64_t w, count, stride;
} Runs;

static Runs runs_of(const TopK *t, int64_t w) {
  Runs r = {.w = w, .count = (t->n + w - 1) / w, .stride = w < t->k ? w : t->k};
  if (r.count == 1)
    return r;
  Dim dims[WEFT_MAX_RANK];
  memcpy(dims, t->x->type->dims, (size_t)t->x->type->rank * sizeof *dims);
  dims[t->axis] = expr_const(t->lc->ctx, r.count * r.stride);
  const Type *type = type_get(t->lc->ctx, DT_I64, t->x->type->rank, dims, NULL);
  r.buffer = loops_add_buffer(t->lc->program, arena_printf(t->lc->ctx->arena, "%s.runs", t->group->result->name), type,
                              BUF_ARENA, NULL);
  return r;
}

/* n less the elements in front of run q, limited to the run's stride: its length, not above 0 where there is none. */
static const Expr *run_length(const TopK *t, const Runs *r, const Expr *q) {
  Ctx *ctx = t->lc->ctx;
  const Expr *left = expr_sub(ctx, expr_const(ctx, t->n), expr_mul_const(ctx, q, r->w));
  return expr_min(ctx, expr_const(ctx, r->stride), left);
}

static const Expr **row_index(const TopK *t, const Expr *at) {
  const Expr **index = ARENA_ARRAY(t->lc->ctx->arena, const Expr *, WEFT_MAX_RANK);
  memcpy(index, t->row, sizeof t->row);
  index[t->axis] = at;
  return index;
}

static Access run_element(const TopK *t, const Runs *r, const Expr *q, const Expr *place) {
  const Expr **index = row_index(t, expr_add(t->lc->ctx, expr_mul_const(t->lc->ctx, q, r->stride), place));
  return r->buffer ? (Access){r->buffer, index} : lower_target(t->lc, t->group, index);
}

static Access number(const TopK *t, const Expr *e) {
  const Expr **index = ARENA_ARRAY(t->lc->ctx->arena, const Expr *, 1);
  *index = e;
  return (Access){NULL, index};
}

static Access local(const TopK *t, const char *name) {
  return (Access){local_buffer(t->lc->ctx, name, DT_I64, 0, NULL), NULL};
}

/* An expression of the scalar language over i64 operands. */
static const Scalar *formula(const TopK *t, const char *text, const char *const *names, int n) {
  const Scalar *values[8];
  const char *why = NULL;
  for (int k = 0; k < n; k++)
    values[k] = scalar_arg_typed(t->lc->ctx, k, DT_I64);
  const Scalar *s = scalar_parse(t->lc->ctx, text, names, values, n, &why);
  if (!s)
    weft_bug(__FILE__, __LINE__, "%s: %s", text, why);
  return s;
}
#define NAMES(...)                                                                                                     \
  (const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
#define ARGS(...) (const Access[]){__VA_ARGS__}, (int)(sizeof((const Access[]){__VA_ARGS__}) / sizeof(Access))

static const Scalar *first_arg(const TopK *t) {
  return scalar_arg_typed(t->lc->ctx, 0, DT_I64);
}

/* The body as a nest, in parallel loops over rows and runs. */
static void add_nest(const TopK *t, const Expr *run, Stmt *body) {
  Ctx *ctx = t->lc->ctx;
  body = stmt_loop(ctx, LOOP_PARALLEL, run, body);
  for (int k = t->x->type->rank - 1; k >= 0; k--)
    if (k != t->axis)
      body = stmt_loop(ctx, LOOP_PARALLEL, t->row[k], body);
  loops_add_nest(t->lc->program, t->group->result->name, t->group->what, t->group->root->loc)->body = body;
}

/* The element of x that run q has at the place reached, clamped to its end: binds `place` and `at`, its index. */
static Stmt *bind_element(const TopK *t, const Runs *r, const Expr *q, const Expr *length, Access reached,
                          const char *place, const Expr *at) {
  Ctx *ctx = t->lc->ctx;
  const Expr *last = expr_max(ctx, expr_const(ctx, 0), expr_add_const(ctx, length, -1));
  const Expr *i = expr_var(ctx, place, expr_const(ctx, 0), expr_const(ctx, r->stride));
  Stmt *s =
      stmt_index(ctx, i, formula(t, "min(reached, last)", NAMES("reached", "last")), ARGS(reached, number(t, last)));
  stmt_append(&s, stmt_index(ctx, at, first_arg(t), ARGS(run_element(t, r, q, i))));
  return s;
}

/* One step: stores the next index to `target` and moves on. */
static Stmt *merge_step(const TopK *t, const Runs *from, const Expr *q, const Access reached[2], Access target) {
  Ctx *ctx = t->lc->ctx;
  const Expr *runs[2] = {expr_mul_const(ctx, q, 2), expr_add_const(ctx, expr_mul_const(ctx, q, 2), 1)};
  const Expr *zero = expr_const(ctx, 0), *length[2], *at[2];
  Stmt *body = NULL;
  for (int k = 0; k < 2; k++) {
    length[k] = run_length(t, from, runs[k]);
    at[k] = expr_var(ctx, k ? "right" : "left", zero, expr_const(ctx, t->n));
    const Expr *run = expr_min(ctx, runs[k], expr_const(ctx, from->count - 1));
    stmt_append(&body, bind_element(t, from, run, length[k], reached[k], k ? "r" : "l", at[k]));
  }
  Access x[2] = {lower_read(t->lc, t->x, row_index(t, at[0])), lower_read(t->lc, t->x, row_index(t, at[1]))};
  DType type = access_dtype(x[0]);
  const Scalar *before =
      top_k_before(ctx, t->group->root, scalar_arg_typed(ctx, 1, type), scalar_arg_typed(ctx, 0, type));
  Access later = local(t, "later"), took = local(t, "took");
  const Scalar *one = scalar_const_int(ctx, DT_I64, 1), *none = scalar_const_int(ctx, DT_I64, 0);
  stmt_append(&body, stmt_local(ctx, later.buffer));
  stmt_append(&body, stmt_store(ctx, later, scalar_make3(ctx, SC_SELECT, before, one, none), x, 2));
  stmt_append(&body, stmt_local(ctx, took.buffer));
  stmt_append(&body, stmt_store(ctx, took,
                                formula(t, "select(or(r >= right, and(l < left, later == 0)), 1, 0)",
                                        NAMES("l", "r", "left", "right", "later")),
                                ARGS(reached[0], reached[1], number(t, length[0]), number(t, length[1]), later)));
  stmt_append(&body, stmt_store(ctx, target, formula(t, "select(took == 1, l, r)", NAMES("took", "l", "r")),
                                ARGS(took, number(t, at[0]), number(t, at[1]))));
  stmt_append(&body, stmt_store(ctx, reached[0], formula(t, "l + took", NAMES("l", "took")), ARGS(reached[0], took)));
  stmt_append(&body,
              stmt_store(ctx, reached[1], formula(t, "r + 1 - took", NAMES("r", "took")), ARGS(reached[1], took)));
  return body;
}

static void merge(const TopK *t, const Runs *from, const Runs *to) {
  Ctx *ctx = t->lc->ctx;
  const Expr *zero = expr_const(ctx, 0), *q = expr_var(ctx, "q", zero, expr_const(ctx, to->count));
  const Expr *place = expr_var(ctx, "place", zero, run_length(t, to, q));
  Access reached[2] = {local(t, "reached_left"), local(t, "reached_right")};
  Stmt *body = NULL;
  for (int k = 0; k < 2; k++) {
    stmt_append(&body, stmt_local(ctx, reached[k].buffer));
    stmt_append(&body, stmt_store(ctx, reached[k], scalar_const_int(ctx, DT_I64, 0), NULL, 0));
  }
  Stmt *steps = merge_step(t, from, q, reached, run_element(t, to, q, place));
  stmt_append(&body, stmt_loop(ctx, LOOP_FOR, place, steps));
  add_nest(t, q, body);
}

bool lower_top_k(LowerCtx *lc, const Group *group) {
  Ctx *ctx = lc->ctx;
  const Op *op = group->root;
  const Type *x = op->operands[0]->type;
  TopK t = {.lc = lc, .group = group, .x = op->operands[0], .k = op_int(op, "k")};
  int64_t axis = op_int(op, "axis");
  t.axis = (int)(axis < 0 ? axis + x->rank : axis);
  t.n = expr_value(x->dims[t.axis]);
  if (type_elements(ctx, op->result->type) == expr_const(ctx, 0))
    return true;
  lower_axis_vars(lc, x, t.row);
  Runs from = runs_of(&t, 1);
  const Expr *q = expr_var(ctx, "q", expr_const(ctx, 0), expr_const(ctx, from.count));
  add_nest(&t, q, stmt_store(ctx, run_element(&t, &from, q, expr_const(ctx, 0)), first_arg(&t), ARGS(number(&t, q))));
  while (from.count > 1) {
    Runs to = runs_of(&t, 2 * from.w);
    merge(&t, &from, &to);
    from = to;
  }
  return true;
}
