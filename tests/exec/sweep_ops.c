/* The random sweep of views, moves and scatters: reshape, slice, transpose, broadcast, concat, pad, gather,
 * scatter_elements, scatter_nd, top_k and bit_cast of every element type, in random layouts, followed by elementwise ops where
 * the type is f32. What is rounded on the way is rounded alike, so results are equal. */
#include "sweep.h"

#define MAX_ELEMENTS 4000

static const DType dtypes[] = {DT_F32, DT_F32, DT_F32, DT_F64, DT_F16, DT_BF16, DT_I8,  DT_U8,
                               DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64,  DT_BOOL};
#define N_DTYPES (int)(sizeof dtypes / sizeof *dtypes)

static Value *finish(Case *c, Op *op) {
  str_printf(&c->text, " %s", op->def->name);
  const Type *type = op_check(c->ctx, op);
  if (!type)
    return NULL;
  return op_finish(c->m, c->m->main, op, NULL, NULL,
                   type_with_layout(c->ctx, type, random_layout(c->ctx, type->rank, between(0, 1))));
}

static Op *new_op(Case *c, OpCode code, Value *const *operands, int n) {
  return op_create(c->ctx, &op_table[code], operands, n, LOC_NONE);
}

static int64_t count(const int64_t *shape, int rank) {
  int64_t n = 1;
  for (int k = 0; k < rank; k++)
    n *= shape[k];
  return n;
}

/* A factorisation of n at random, with some ones. */
static int random_factors(int64_t n, int64_t *shape) {
  int rank = 0;
  if (n == 0) {
    shape[0] = between(0, 3);
    shape[1] = 0;
    return 2;
  }
  while (rank < 5 && (n > 1 || between(0, 2) == 0)) {
    int64_t f = n > 1 && rank < 4 ? between(1, n) : n;
    while (n % f != 0)
      f--;
    shape[rank++] = f;
    n /= f;
  }
  return rank;
}

static Value *random_reshape(Case *c, Value *x, const int64_t *shape) {
  int64_t to[WEFT_MAX_RANK];
  int rank = random_factors(count(shape, x->type->rank), to);
  Op *op = new_op(c, OP_RESHAPE, &x, 1);
  op_set_ints(c->ctx, op, "shape", to, rank);
  return finish(c, op);
}

static Value *random_slice(Case *c, Value *x, const int64_t *shape) {
  int64_t begins[WEFT_MAX_RANK], ends[WEFT_MAX_RANK], axes[WEFT_MAX_RANK], steps[WEFT_MAX_RANK];
  int n = 0;
  for (int k = 0; k < x->type->rank; k++) {
    if (between(0, 1))
      continue;
    axes[n] = between(0, 1) ? k : k - x->type->rank;
    steps[n] = between(0, 1) ? 1 : one_of((const int64_t[]){-3, -2, -1, 2, 3}, 5);
    begins[n] = steps[n] > 0 ? between(-shape[k] - 1, shape[k] / 2) : between(shape[k] / 2, shape[k] + 1);
    ends[n] = steps[n] > 0 ? between(shape[k] / 2, shape[k] + 2) : between(-shape[k] - 3, -shape[k] / 2 - 1);
    n++;
  }
  Op *op = new_op(c, OP_SLICE, &x, 1);
  op_set_ints(c->ctx, op, "begins", begins, n);
  op_set_ints(c->ctx, op, "ends", ends, n);
  op_set_ints(c->ctx, op, "axes", axes, n);
  op_set_ints(c->ctx, op, "steps", steps, n);
  return finish(c, op);
}

static Value *random_transpose(Case *c, Value *x) {
  int64_t perm[WEFT_MAX_RANK];
  for (int k = 0; k < x->type->rank; k++) {
    int64_t j = between(0, k);
    perm[k] = perm[j];
    perm[j] = k;
  }
  Op *op = new_op(c, OP_TRANSPOSE, &x, 1);
  op_set_ints(c->ctx, op, "perm", perm, x->type->rank);
  return finish(c, op);
}

static Value *random_broadcast(Case *c, Value *x, const int64_t *shape) {
  int64_t to[WEFT_MAX_RANK], axes[WEFT_MAX_RANK];
  int rank = x->type->rank;
  for (int k = 0; k < rank; k++) {
    axes[k] = k + 1;
    to[k + 1] = shape[k] == 1 ? between(1, 4) : shape[k];
  }
  to[0] = between(1, 3);
  if (rank > 5 || count(to, rank + 1) > MAX_ELEMENTS)
    return x;
  Op *op = new_op(c, OP_BROADCAST, &x, 1);
  op_set_ints(c->ctx, op, "axes", axes, rank);
  op_set_ints(c->ctx, op, "shape", to, rank + 1);
  return finish(c, op);
}

static Value *random_source(Case *c, const char *name, DType dtype, int rank, const int64_t *shape, int64_t extent) {
  size_t k = c->m->main->params.len;
  if (k == MAX_PARAMS || between(0, 1))
    return add_constant(c, name, dtype, rank, shape, extent);
  c->extents[k] = extent;
  return add_param(c, name, dtype, rank, shape);
}

static Value *random_concat(Case *c, Value *x, const int64_t *shape) {
  int rank = x->type->rank, n = (int)between(1, 5), own = (int)between(0, n - 1);
  if (rank == 0 || count(shape, rank) * 3 > MAX_ELEMENTS)
    return x;
  Value *parts[5];
  int64_t axis = between(0, rank - 1);
  for (int k = 0; k < n; k++) {
    int64_t other[WEFT_MAX_RANK];
    memcpy(other, shape, sizeof other);
    other[axis] = between(0, 9);
    parts[k] = k == own || between(0, 3) == 0 ? x : random_source(c, "part", x->type->dtype, rank, other, 0);
  }
  Op *op = new_op(c, OP_CONCAT, parts, n);
  op_set_int(op, "axis", between(0, 1) ? axis : axis - rank);
  return finish(c, op);
}

static Value *random_pad(Case *c, Value *x, const int64_t *shape) {
  int rank = x->type->rank;
  int64_t padding[2 * WEFT_MAX_RANK], mode = between(0, 3), to[WEFT_MAX_RANK];
  for (int k = 0; k < rank; k++) {
    bool any = shape[k] > 0 && between(0, 1);
    padding[k] = any ? between(-1, 4) : 0;
    padding[rank + k] = any ? between(-1, 4) : 0;
    if (shape[k] + padding[k] + padding[rank + k] < 0)
      padding[k] = 1;
    to[k] = shape[k] + padding[k] + padding[rank + k];
  }
  if (count(to, rank) > MAX_ELEMENTS)
    return x;
  Op *op = new_op(c, OP_PAD, &x, 1);
  op_set_ints(c->ctx, op, "padding", padding, 2 * rank);
  op_set_word(op, "mode", mode);
  op_set_float(op, "value", (double)between(0, 1));
  return finish(c, op);
}

static Value *random_gather(Case *c, Value *x, const int64_t *shape) {
  static const DType types[] = {DT_I64, DT_I64, DT_I32, DT_U8};
  int rank = x->type->rank, more = (int)between(0, 2);
  if (rank == 0 || rank > 4)
    return x;
  int64_t axis = between(0, rank - 1), extents[2] = {between(1, 4), between(1, 3)};
  if (shape[axis] == 0 || count(shape, rank) / shape[axis] * count(extents, more) > MAX_ELEMENTS)
    return x;
  Value *operands[2] = {x, random_source(c, "i", types[between(0, 3)], more, extents, shape[axis])};
  Op *op = new_op(c, OP_GATHER, operands, 2);
  op_set_int(op, "axis", between(0, 1) ? axis : axis - rank);
  return finish(c, op);
}

/* f16 and bf16 would be rounded twice, from double and from f32. */
static int64_t random_reduction(const Value *x) {
  bool narrow = x->type->dtype == DT_F16 || x->type->dtype == DT_BF16;
  return narrow ? one_of((const int64_t[]){0, 3, 4}, 3) : between(0, 4);
}

static Value *random_scatter_elements(Case *c, Value *x, const int64_t *shape) {
  int rank = x->type->rank;
  if (rank == 0)
    return x;
  int64_t axis = between(0, rank - 1), extents[WEFT_MAX_RANK];
  for (int k = 0; k < rank; k++)
    extents[k] = k == axis ? between(0, 6) : between(0, 4) ? shape[k] : shape[k] / 2;
  if (shape[axis] == 0 || count(extents, rank) > MAX_ELEMENTS)
    return x;
  Value *operands[3] = {x, random_source(c, "i", between(0, 1) ? DT_I64 : DT_I32, rank, extents, shape[axis]),
                        random_source(c, "u", x->type->dtype, rank, extents, 0)};
  Op *op = new_op(c, OP_SCATTER_ELEMENTS, operands, 3);
  op_set_int(op, "axis", between(0, 1) ? axis : axis - rank);
  op_set_word(op, "reduction", random_reduction(x));
  return finish(c, op);
}

static Value *random_scatter_nd(Case *c, Value *x, const int64_t *shape) {
  int rank = x->type->rank, places = (int)between(0, 2);
  if (rank == 0 || rank > 5)
    return x;
  int depth = (int)between(1, rank);
  int64_t least = shape[0], extents[WEFT_MAX_RANK] = {between(1, 5), between(1, 4)}, of[WEFT_MAX_RANK];
  for (int k = 1; k < depth; k++)
    least = shape[k] < least ? shape[k] : least;
  memcpy(of, extents, (size_t)places * sizeof *of);
  of[places] = depth;
  memcpy(extents + places, shape + depth, (size_t)(rank - depth) * sizeof *extents);
  if (least == 0 || count(extents, places + rank - depth) > MAX_ELEMENTS)
    return x;
  Value *operands[3] = {x, random_source(c, "i", between(0, 1) ? DT_I64 : DT_I8, places + 1, of, least),
                        random_source(c, "u", x->type->dtype, places + rank - depth, extents, 0)};
  Op *op = new_op(c, OP_SCATTER_ND, operands, 3);
  op_set_word(op, "reduction", random_reduction(x));
  return finish(c, op);
}

static Value *random_top_k(Case *c, Value *x, const int64_t *shape) {
  int rank = x->type->rank;
  if (rank == 0 || x->type->dtype == DT_BOOL)
    return x;
  int64_t axis = between(0, rank - 1);
  Op *op = new_op(c, OP_TOP_K, &x, 1);
  op_set_int(op, "axis", between(0, 1) ? axis : axis - rank);
  op_set_int(op, "k", between(0, 1) ? shape[axis] : between(0, shape[axis]));
  op_set_int(op, "largest", between(0, 1));
  return finish(c, op);
}

/* To integers and bool: of floats, a NaN might become another one. */
static Value *random_bit_cast(Case *c, Value *x) {
  DType to;
  do
    to = dtypes[between(0, N_DTYPES - 1)];
  while (dtype_is_float(to) || dtype_size(to) != dtype_size(x->type->dtype));
  Op *op = new_op(c, OP_BIT_CAST, &x, 1);
  op_set_dtype(op, "to", to);
  return finish(c, op);
}

static Value *random_elementwise(Case *c, Value *x, const int64_t *shape) {
  if (x->type->dtype != DT_F32)
    return x;
  Value *operands[2] = {x, x};
  if (between(0, 1))
    return finish(c, new_op(c, OP_RELU, operands, 1));
  if (between(0, 1))
    operands[between(0, 1)] = random_source(c, "r", DT_F32, x->type->rank, shape, 0);
  return finish(c, new_op(c, OP_SUB, operands, 2));
}

static Value *random_step(Case *c, Value *x) {
  int64_t shape[WEFT_MAX_RANK] = {0};
  type_shape(x->type, shape);
  switch (between(0, 13)) {
  case 0:
  case 1:
    return random_reshape(c, x, shape);
  case 2:
    return random_slice(c, x, shape);
  case 3:
    return random_transpose(c, x);
  case 4:
    return random_broadcast(c, x, shape);
  case 5:
    return random_concat(c, x, shape);
  case 6:
    return random_pad(c, x, shape);
  case 7:
    return random_gather(c, x, shape);
  case 8:
    return random_copy(c, x, true);
  case 9:
    return random_scatter_elements(c, x, shape);
  case 10:
    return random_scatter_nd(c, x, shape);
  case 11:
    return random_top_k(c, x, shape);
  case 12:
    return random_bit_cast(c, x);
  default:
    return random_elementwise(c, x, shape);
  }
}

static bool build_case(Case *c) {
  c->m->main = function_create(c->m, "sweep");
  int64_t shape[WEFT_MAX_RANK];
  int rank = random_factors(one_of((const int64_t[]){1, 6, 16, 24, 36, 60, 128, 210, 360}, 9), shape);
  DType dtype = dtypes[between(0, N_DTYPES - 1)];
  str_printf(&c->text, " %s", dtype_name(dtype));
  Value *v = add_param(c, "x", dtype, rank, shape);
  for (int64_t k = between(1, 6); v && k > 0; k--)
    v = random_step(c, v);
  if (!v || !(v = random_copy(c, v, false)))
    return false;
  function_add_result(c->m, c->m->main, "z", v, v->type, NULL, LOC_NONE);
  return module_verify(c->m);
}

int main(int argc, char **argv) {
  return sweep_main(argc, argv, build_case, (Tolerance){0});
}
