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

/* Where x and the result have the same axes apart from some of extent 1, the order in which the others lie in memory is
 * kept: the axes of the result, slowest first. False where they differ otherwise. */
static bool same_axes(const Type *x, const Type *result, int *perm) {
  int to[WEFT_MAX_RANK], j = 0, n = 0;
  for (int k = 0; k < x->rank; k++) {
    to[k] = -1;
    if (is_one(x->dims[k]))
      continue;
    while (j < result->rank && is_one(result->dims[j]))
      perm[n++] = j++;
    if (j == result->rank || x->dims[k] != result->dims[j])
      return false;
    to[k] = j++;
  }
  for (; j < result->rank; j++) {
    if (!is_one(result->dims[j]))
      return false;
    perm[n++] = j;
  }
  for (int d = 0; d < x->layout->n; d++)
    if (to[x->layout->digits[d].axis] >= 0)
      perm[n++] = to[x->layout->digits[d].axis];
  return true;
}

void reshape_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  const Type *x = op->operands[0]->type, *result = op->result->type;
  int perm[WEFT_MAX_RANK];
  plan->result = layout_row_major(ctx, result->rank);
  plan->why = "its logical order of elements";
  if (layout_is_permutation(x->layout) && same_axes(x, result, perm)) {
    plan->result = layout_permutation(ctx, result->rank, perm);
    plan->why = "the memory of % with its axes renamed";
  }
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
