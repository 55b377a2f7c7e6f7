/* The random sweep of what reduces: reductions over axes, pools, matrix products and resampling of every element type
 * that they take, in random layouts, followed by elementwise ops where the type is f32.
 *
 * Three runs: f32 and f64, within rtol 1e-4 and atol 1e-4 (values are in -1..1 and sums have at most some hundred
 * terms); f16 and bf16, which round what is stored once, within 1e-2; integers and bool, where results are equal. */
#include "sweep.h"

static const DType *dtypes;
static int n_dtypes;

static Op *new_op(Case *c, const char *name, Value *const *operands, int n) {
  str_printf(&c->text, " %s", name);
  return op_create(c->ctx, op_find(name, strlen(name)), operands, n, LOC_NONE);
}

static Value *finish(Case *c, Op *op) {
  const Type *type = op_check(c->ctx, op);
  if (!type)
    return NULL;
  return op_finish(c->m, c->m->main, op, NULL, NULL,
                   type_with_layout(c->ctx, type, random_layout(c->ctx, type->rank, between(0, 1))));
}

/* A parameter, perhaps copied to a blocked layout, or a constant. */
static Value *source(Case *c, const char *name, DType dtype, int rank, const int64_t *shape) {
  if (between(0, 3) == 0)
    return add_constant(c, name, dtype, rank, shape, 0);
  Value *v = add_param(c, name, dtype, rank, shape);
  return between(0, 1) ? random_copy(c, v, true) : v;
}

static Value *random_reduce(Case *c, DType dtype) {
  static const char *const names[] = {"reduce_max", "reduce_min", "reduce_sum", "reduce_prod", "reduce_mean"};
  int64_t shape[WEFT_MAX_RANK], axes[WEFT_MAX_RANK];
  int rank = (int)between(1, 4), n = 0;
  for (int k = 0; k < rank; k++) {
    shape[k] = between(0, 15) ? between(1, rank < 3 ? 40 : 9) : 0;
    if (between(0, 1))
      axes[n++] = k;
  }
  bool mean = dtype_is_float(dtype) || (dtype_is_int(dtype) && dtype_size(dtype) >= 4);
  Value *x = source(c, "x", dtype, rank, shape);
  Op *op = new_op(c, names[between(0, dtype == DT_BOOL ? 1 : mean ? 4 : 3)], &x, 1);
  for (int k = 0; k < n; k++)
    if (shape[axes[k]] == 0 && op->def->code == OP_REDUCE_MEAN)
      op = new_op(c, "reduce_sum", &x, 1); /* the mean of nothing is NaN, which does not compare */
  op_set_ints(c->ctx, op, "axes", axes, n);
  op_set_int(op, "keepdims", between(0, 1));
  return finish(c, op);
}

/* Windows along one axis, each of which has a tap inside the data (the mean of nothing is NaN). */
static void random_window(int64_t in, int64_t *kernel, int64_t *stride, int64_t *dilation, int64_t *begin,
                          int64_t *end) {
  do {
    *kernel = between(1, 4);
    *stride = between(1, 4);
    *dilation = one_of((const int64_t[]){1, 1, 1, 2, 3}, 5);
    int64_t most = *dilation == 1 ? *kernel - 1 : 0;
    *begin = between(0, most);
    *end = between(0, most);
  } while (in + *begin + *end < *dilation * (*kernel - 1) + 1);
}

static Value *random_pool(Case *c, DType dtype) {
  int d = (int)between(1, 3);
  bool mean = dtype_is_float(dtype) && between(0, 1);
  int64_t shape[5] = {between(1, 2), one_of((const int64_t[]){1, 3, 8, 19}, 4)};
  int64_t kernel[3], strides[3], dilation[3], padding[6];
  for (int k = 0; k < d; k++) {
    shape[2 + k] = between(1, d == 1 ? 40 : d == 2 ? 12 : 6);
    random_window(shape[2 + k], &kernel[k], &strides[k], &dilation[k], &padding[k], &padding[d + k]);
  }
  Value *x = source(c, "x", dtype, d + 2, shape);
  const char *what = !mean && between(0, 3) == 0 ? "_indices" : "";
  Op *op = new_op(c, arena_printf(c->ctx->arena, "%s_pool%dd%s", mean ? "avg" : "max", d, what), &x, 1);
  op_set_ints(c->ctx, op, "kernel", kernel, d);
  op_set_ints(c->ctx, op, "strides", strides, d);
  op_set_ints(c->ctx, op, "dilation", dilation, d);
  op_set_ints(c->ctx, op, "padding", padding, 2 * d);
  op_set_int(op, "ceil_mode", between(0, 1));
  if (mean)
    op_set_int(op, "count_include_pad", between(0, 1));
  return finish(c, op);
}

static Value *random_matmul(Case *c, DType dtype) {
  int rank = (int)between(2, 4);
  int64_t a[4], b[4], rows = between(1, 20), n = between(1, 40), k = between(0, 20);
  for (int j = 0; j < rank - 2; j++)
    a[j] = b[j] = between(1, 3);
  a[rank - 2] = rows;
  a[rank - 1] = b[rank - 2] = k;
  b[rank - 1] = n;
  Value *operands[2] = {source(c, "a", dtype, rank, a), NULL};
  if (between(0, 2) == 0) { /* b is a transposed view */
    int64_t perm[4] = {0, 1, 2, 3}, turned[4];
    memcpy(turned, b, sizeof turned);
    turned[rank - 2] = b[rank - 1];
    turned[rank - 1] = b[rank - 2];
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    Value *t = source(c, "b", dtype, rank, turned);
    Op *op = new_op(c, "transpose", &t, 1);
    op_set_ints(c->ctx, op, "perm", perm, rank);
    operands[1] = finish(c, op);
  } else {
    operands[1] = source(c, "b", dtype, rank, b);
  }
  return finish(c, new_op(c, "matmul", operands, 2));
}

/* Indices of an axis of this extent, none negative. */
static Value *add_table(Case *c, int64_t extent, const int64_t *shape) {
  const Type *type = type_static(c->ctx, between(0, 1) ? DT_I32 : DT_I64, 2, shape, random_layout(c->ctx, 2, false));
  Tensor *t = tensor_of_type(c->ctx, type);
  for (int64_t k = 0; k < t->n; k++)
    tensor_set(t, k, (double)between(0, extent - 1));
  void *data = arena_alloc(c->ctx->arena, (size_t)type_bytes(type));
  tensor_to_storage(t, type, data);
  return build_constant(c->m, c->m->main, NULL, module_add_constant(c->m, "i", type, data, LOC_NONE), "i", LOC_NONE);
}

static Value *random_resample(Case *c, DType dtype) {
  int rank = (int)between(1, 4), axis;
  int64_t shape[4], table[2] = {between(1, 12), between(1, 4)};
  for (int k = 0; k < rank; k++)
    shape[k] = between(1, 9);
  axis = (int)between(0, rank - 1);
  bool weights = dtype_is_float(dtype) && between(0, 1);
  if (dtype == DT_BOOL)
    table[1] = 1;
  Value *operands[3] = {source(c, "x", dtype, rank, shape), add_table(c, shape[axis], table), NULL};
  if (weights)
    operands[2] = source(c, "w", between(0, 2) ? DT_F32 : DT_F64, 2, table);
  Op *op = new_op(c, "resample", operands, 3);
  op_set_int(op, "axis", between(0, 1) ? axis : axis - rank);
  return finish(c, op);
}

static Value *random_epilogue(Case *c, Value *v) {
  int64_t shape[WEFT_MAX_RANK];
  if (between(0, 1))
    return finish(c, new_op(c, "relu", &v, 1));
  type_shape(v->type, shape);
  Value *operands[2] = {v, source(c, "r", v->type->dtype, v->type->rank, shape)};
  return finish(c, new_op(c, between(0, 1) ? "mul" : "sub", operands, 2));
}

static bool build_case(Case *c) {
  static Value *(*const ops[])(Case *, DType) = {random_reduce, random_pool, random_matmul, random_resample};
  c->m->main = function_create(c->m, "sweep");
  DType dtype = dtypes[between(0, n_dtypes - 1)];
  str_printf(&c->text, " %s", dtype_name(dtype));
  int first = dtype == DT_BOOL ? 3 * (int)between(0, 1) : (int)between(0, 3);
  Value *v = ops[first](c, dtype);
  for (int64_t k = dtype == DT_F32 ? between(0, 2) : 0; v && k > 0; k--)
    v = random_epilogue(c, v);
  if (!v || !(v = random_copy(c, v, false)))
    return false;
  function_add_result(c->m, c->m->main, "z", v, v->type, NULL, LOC_NONE);
  return module_verify(c->m);
}

int main(int argc, char **argv) {
  static const DType floats[] = {DT_F32, DT_F32, DT_F64}, halves[] = {DT_F16, DT_BF16};
  static const DType whole[] = {DT_I8, DT_U8, DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64, DT_BOOL};
  static const struct {
    const DType *dtypes;
    int n;
    double tolerance;
  } runs[] = {{floats, 3, 1e-4}, {halves, 2, 1e-2}, {whole, 9, 0}};
  int status = EXIT_SUCCESS;
  for (int k = 0; k < 3; k++) {
    dtypes = runs[k].dtypes;
    n_dtypes = runs[k].n;
    if (sweep_main(argc, argv, build_case, (Tolerance){runs[k].tolerance, runs[k].tolerance}) != EXIT_SUCCESS)
      status = EXIT_FAILURE;
  }
  return status;
}
