/* reshape: the same elements in row-major order of the logical axes, whatever the layouts. A view: the index of the
 * operand is the result's, made one number and taken apart again. Runs of axes whose extents have equal products are
 * treated apart, so that an axis which stays keeps its index as it is. */
#include "ir/ops/ops.h"

/* The product of the extents given; counts the -1. */
static bool read_shape(Ctx *ctx, const Op *op, int64_t *known, int *unknown) {
  const Attr *shape = op_attr(op, "shape");
  *known = 1;
  *unknown = -1;
  if (shape->n > WEFT_MAX_RANK)
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                      "reshape: attribute 'shape' has %d extents, at most %d are possible", shape->n, WEFT_MAX_RANK);
  for (int k = 0; k < shape->n; k++) {
    int64_t extent = shape->ints[k];
    if (extent < -1 || extent > WEFT_MAX_ELEMENTS || (extent == -1 && *unknown >= 0))
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                        "reshape: attribute 'shape' holds %lld, expected extents from 0 to %lld and at most one -1",
                        (long long)extent, (long long)WEFT_MAX_ELEMENTS);
    if (extent == -1)
      *unknown = k;
    else if (!mul_i64(*known, extent, known))
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "reshape: attribute 'shape' asks for too many elements");
  }
  return true;
}

static const Type *elements_differ(Ctx *ctx, const Op *op, const Expr *elements, int64_t known, int unknown) {
  Str text = str_new(ctx->arena);
  expr_print(&text, elements);
  diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "reshape: x is %s, %s elements; expected %s%lld of them",
             type_text(ctx, op->operands[0]->type), text.data, unknown >= 0 ? "a multiple of " : "", (long long)known);
  return NULL;
}

const Type *reshape_infer(Ctx *ctx, const Op *op) {
  const Type *x = op->operands[0]->type;
  const Attr *shape = op_attr(op, "shape");
  int64_t known;
  int unknown;
  Dim dims[WEFT_MAX_RANK];
  if (!read_shape(ctx, op, &known, &unknown))
    return NULL;
  const Expr *elements = type_elements(ctx, x);
  for (int k = 0; k < shape->n; k++)
    if (k != unknown)
      dims[k] = expr_const(ctx, shape->ints[k]);
  if (unknown < 0)
    return elements == expr_const(ctx, known) ? op_result_type(ctx, op, x->dtype, shape->n, dims)
                                              : elements_differ(ctx, op, elements, known, unknown);
  if (known == 0) {
    diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
               "reshape: attribute 'shape' has both 0 and -1, so that nothing says what -1 is");
    return NULL;
  }
  int64_t rest;
  if (!expr_is_const(expr_mod_const(ctx, elements, known), &rest) || rest != 0)
    return elements_differ(ctx, op, elements, known, unknown);
  dims[unknown] = expr_floordiv_const(ctx, elements, known);
  return op_result_type(ctx, op, x->dtype, shape->n, dims);
}

static bool is_one(Dim dim) {
  int64_t extent;
  return expr_is_const(dim, &extent) && extent == 1;
}

/* The end of the shortest run of axes of x from *i and of the result from *j with equal products of extents. Where
 * extents are not constant: all the rest, unless the first of both are the same. */
static void next_run(const Type *x, const Type *result, int *i, int *j) {
  int64_t a = 1, b = 1, extent;
  if (*i < x->rank && *j < result->rank && x->dims[*i] == result->dims[*j]) {
    ++*i, ++*j;
    return;
  }
  while (*i < x->rank || *j < result->rank) {
    bool take_x = *j == result->rank || (*i < x->rank && a <= b);
    if (!expr_is_const(take_x ? x->dims[(*i)++] : result->dims[(*j)++], &extent)) {
      *i = x->rank;
      *j = result->rank;
      return;
    }
    if (take_x)
      a *= extent;
    else
      b *= extent;
    if (a == b && a != 1)
      return;
  }
}

/* Runs of axes with equal products of extents, in x and in the result. Each but the last has an axis of both. */
typedef struct {
  int of[WEFT_MAX_RANK];       /* by axis of x */
  int left[WEFT_MAX_RANK + 1]; /* by run: its axes of x, without those of extent 1 */
  int from[WEFT_MAX_RANK + 2]; /* by run: its first axis of the result; ended by the rank */
  int n;
} Runs;

static Runs runs_of(const Type *x, const Type *result) {
  Runs runs = {.n = 0};
  for (int i = 0, j = 0; i < x->rank || j < result->rank; runs.n++) {
    int first = i;
    next_run(x, result, &i, &j);
    for (int k = first; k < i; k++) {
      runs.of[k] = runs.n;
      runs.left[runs.n] += !is_one(x->dims[k]);
    }
    runs.from[runs.n + 1] = j;
  }
  return runs;
}

/* The axes of the result, slowest first: those of extent 1, then each run's, in order, where the last axis of its run in
 * x lies in memory, by a permutation. True where that is the memory of x: each run lies there in one piece, in order. */
static bool follow_runs(const Type *x, const Layout *layout, const Type *result, int *perm) {
  Runs runs = runs_of(x, result);
  int n = 0, last = -1;
  bool same = true;
  for (int r = 0; r < runs.n; r++)
    for (int j = runs.from[r]; j < runs.from[r + 1]; j++)
      if (is_one(result->dims[j]) || runs.left[r] == 0)
        perm[n++] = j;
  for (int d = 0; d < x->rank; d++) {
    int axis = layout->digits[d].axis, run = runs.of[axis];
    if (is_one(x->dims[axis]))
      continue;
    if (last >= 0)
      same = same && (runs.of[last] == run ? axis > last : runs.left[runs.of[last]] == 0);
    last = axis;
    if (--runs.left[run] > 0)
      continue;
    for (int j = runs.from[run]; j < runs.from[run + 1]; j++)
      if (!is_one(result->dims[j]))
        perm[n++] = j;
  }
  WEFT_ASSERT(n == result->rank);
  return same;
}

void reshape_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  const Type *x = op->operands[0]->type, *result = op->result->type;
  const Layout *layout = plan->operand[0];
  int perm[WEFT_MAX_RANK];
  if (!layout_is_permutation(layout)) {
    plan->result = layout_row_major(ctx, result->rank);
    plan->why = "its logical order of elements";
    return;
  }
  bool same = follow_runs(x, layout, result, perm);
  plan->result = layout_permutation(ctx, result->rank, perm);
  plan->why = same ? "the memory of % with its axes renamed" : "the order of the axes of %";
}

void reshape_view_index(Ctx *ctx, const Op *op, const Expr *const *result, const Expr **operand) {
  const Type *x = op->operands[0]->type, *to = op->result->type;
  const Expr *zero = expr_const(ctx, 0);
  bool empty = false;
  for (int k = 0; k < x->rank; k++) {
    operand[k] = zero;
    empty = empty || x->dims[k] == zero;
  }
  for (int i = 0, j = 0; !empty && (i < x->rank || j < to->rank);) {
    int from = i;
    const Expr *at = zero;
    int first = j;
    next_run(x, to, &i, &j);
    for (int k = first; k < j; k++)
      at = expr_add(ctx, expr_mul(ctx, at, to->dims[k]), result[k]);
    for (int k = i; k-- > from;) {
      operand[k] = k == from ? at : expr_mod(ctx, at, x->dims[k]);
      at = expr_floordiv(ctx, at, x->dims[k]);
    }
  }
}

void reshape_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx;
  (void)op;
  memcpy(out->data, in[0]->data, (size_t)out->n * dtype_size(out->dtype));
}

/* A reshape of a reshape is the outer one. */
Value *reshape_simplify(Module *m, Function *f, Op *op) {
  (void)m, (void)f;
  const Op *inner = op_repeated(op);
  if (!inner)
    return NULL;
  op->operands[0] = inner->operands[0];
  return op->result;
}
