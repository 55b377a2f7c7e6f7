/* Operators that choose elements by position: by computed indices, by a mask of positions, or by running sums, made of
 * gathers, comparisons and shifted additions. */
#include "frontend/onnx_ops.h"

Value *node_positions(ImportNode *n, int64_t extent, int axis, int rank) {
  if (!node_spend(n, extent))
    return NULL;
  int64_t *v = ARENA_ARRAY(n->im->ctx->arena, int64_t, extent);
  for (int64_t k = 0; k < extent; k++)
    v[k] = k;
  return node_along(n, node_ints_value(n, v, (int)extent, 1), axis, rank);
}

/* Indices as i64 in 0..extent-1, those below 0 counted from the end. */
static Value *from_begin(ImportNode *n, Value *indices, int64_t extent) {
  if (!n->failed && !dtype_is_int(indices->type->dtype))
    node_error(n, WEFT_MALFORMED, "the indices are %s, expected integers", type_text(n->im->ctx, indices->type));
  Value *v = node_cast(n, indices, DT_I64), *length = node_ints_value(n, &extent, 1, 0);
  Value *negative = NODE_MAKE(n, OP_LESS, v, node_ints_value(n, (const int64_t[]){0}, 1, 0));
  return NODE_MAKE(n, OP_WHERE, negative, NODE_MAKE(n, OP_ADD, v, length), v);
}

static Value *scaled(ImportNode *n, Value *v, int64_t factor) {
  return factor == 1 ? v : NODE_MAKE(n, OP_MUL, v, node_ints_value(n, &factor, 1, 0));
}

static Value *gather(ImportNode *n, Value *data, Value *indices, int axis) {
  Op *op = NODE_OP(n, OP_GATHER, data, indices);
  op_set_int(op, "axis", axis);
  return node_finish(n, op);
}

/* The elements lie one after the other; each index becomes a place in them. An index outside of its axis would be a
 * place of another row, so these are sent to where gather finds the fault. */
static Value *checked_place(ImportNode *n, Value *index, int64_t extent, Value *place) {
  Value *least = node_ints_value(n, (const int64_t[]){0}, 1, 0), *end = node_ints_value(n, &extent, 1, 0);
  Value *never = node_ints_value(n, (const int64_t[]){INT64_MAX}, 1, 0);
  Value *low = NODE_MAKE(n, OP_LESS, index, least), *high = NODE_MAKE(n, OP_GREATER_EQUAL, index, end);
  return NODE_MAKE(n, OP_WHERE, NODE_MAKE(n, OP_OR, low, high), never, place);
}

/* result[i0, .., ik, ..] = data[i0, .., indices[i0, .., ik, ..], ..], k the axis; both have one rank. */
static Value *gather_elements(ImportNode *n, Value *data, Value *indices, int axis) {
  int rank = node_rank(data);
  int64_t extents[WEFT_MAX_RANK], stride = 1, size = 1;
  if (n->failed)
    return NULL;
  node_shape(data, extents);
  for (int k = 0; k < rank; k++) {
    size *= extents[k];
    if (k != axis && node_extent(indices, k) > extents[k])
      node_error(n, WEFT_MALFORMED, "the indices are %s, which is more than %s along axis %d",
                 type_text(n->im->ctx, indices->type), type_text(n->im->ctx, data->type), k);
  }
  Value *index = from_begin(n, indices, extents[axis]), *place = NULL;
  for (int k = rank - 1; k >= 0; k--) {
    Value *part = k == axis ? index : node_positions(n, node_extent(indices, k), k, rank);
    part = scaled(n, part, stride);
    place = place ? NODE_MAKE(n, OP_ADD, place, part) : part;
    stride *= extents[k];
  }
  place = checked_place(n, index, extents[axis], place);
  return gather(n, node_reshape(n, data, &size, 1), place, 0);
}

bool onnx_gather_elements(ImportNode *n) {
  Value *data = node_in(n, 0), *indices = node_in(n, 1);
  int rank = node_rank(data), axis = node_axis(n, node_int(n, "axis", 0), rank, "axis");
  return node_expect_rank(n, 1, rank, rank) && node_result(n, 0, gather_elements(n, data, indices, axis));
}

/* Of each sequence of the batch, the first sequence_lens elements along the time axis in reverse. */
bool onnx_reverse_sequence(ImportNode *n) {
  Value *x = node_in(n, 0), *lens = node_in(n, 1);
  int rank = node_rank(x), time = node_axis(n, node_int(n, "time_axis", 0), rank, "time_axis");
  int batch = node_axis(n, node_int(n, "batch_axis", 1), rank, "batch_axis");
  int64_t shape[WEFT_MAX_RANK], along[WEFT_MAX_RANK];
  if (!node_expect_rank(n, 0, 2, WEFT_MAX_RANK) || !node_expect_rank(n, 1, 1, 1))
    return false;
  if (time == batch || node_extent(lens, 0) != node_extent(x, batch))
    return node_error(n, WEFT_MALFORMED,
                      "time is axis %d and the batch axis %d of %s, the lengths are %s; expected "
                      "different axes and a length for each sequence",
                      time, batch, type_text(n->im->ctx, x->type), type_text(n->im->ctx, lens->type));
  node_shape(x, shape);
  for (int k = 0; k < rank; k++)
    along[k] = k == batch ? shape[k] : 1;
  Value *t = node_positions(n, shape[time], time, rank);
  Value *length = node_reshape(n, node_cast(n, lens, DT_I64), along, rank);
  Value *last = NODE_MAKE(n, OP_SUB, length, node_ints_value(n, (const int64_t[]){1}, 1, 0));
  Value *from = NODE_MAKE(n, OP_WHERE, NODE_MAKE(n, OP_LESS, t, length), NODE_MAKE(n, OP_SUB, last, t), t);
  return node_result(n, 0, gather_elements(n, x, node_broadcast(n, from, shape, rank), time));
}

/* The order of results is that of `sorted`, given or not: without it any order is right. */
bool onnx_top_k(ImportNode *n) {
  Value *x = node_in(n, 0);
  int opset = n->im->opset, axis = node_axis(n, node_int(n, "axis", -1), node_rank(x), "axis");
  bool largest = opset < 11 || node_flag(n, "largest", true);
  if (opset >= 11)
    node_flag(n, "sorted", true);
  Ints k = opset >= 10 ? node_known_ints(n, 1, "k") : (Ints){0};
  int64_t count = opset < 10 ? node_required_int(n, "k") : k.n == 1 ? k.v[0] : -1;
  Op *op = NODE_OP(n, OP_TOP_K, x);
  op_set_int(op, "k", count);
  op_set_int(op, "axis", axis);
  op_set_int(op, "largest", largest);
  Value *indices = node_finish(n, op);
  node_result(n, 1, indices);
  return node_result(n, 0, gather_elements(n, x, indices, axis));
}

/* The last axis of indices holds positions along the axes of data behind the first batch_dims, which both share. */
bool onnx_gather_nd(ImportNode *n) {
  Value *data = node_in(n, 0), *indices = node_in(n, 1);
  int64_t batch = n->im->opset >= 12 ? node_int(n, "batch_dims", 0) : 0, extents[WEFT_MAX_RANK], of[WEFT_MAX_RANK];
  int rank = node_rank(data), last = node_rank(indices) - 1;
  if (!node_expect_rank(n, 0, 1, WEFT_MAX_RANK) || !node_expect_rank(n, 1, 1, WEFT_MAX_RANK))
    return false;
  node_shape(data, extents);
  node_shape(indices, of);
  int64_t depth = of[last];
  if (batch < 0 || batch > last || depth < 1 || batch + depth > rank)
    return node_error(n, WEFT_MALFORMED, "the indices are %s, with %lld batch axes, which cannot name parts of %s",
                      type_text(n->im->ctx, indices->type), (long long)batch, type_text(n->im->ctx, data->type));
  int64_t rows = 1, shape[2 * WEFT_MAX_RANK];
  for (int k = 0; k < batch + depth; k++) {
    rows *= extents[k];
    if (k < batch && of[k] != extents[k])
      return node_error(n, WEFT_MALFORMED, "%s and %s have different batch axes", type_text(n->im->ctx, data->type),
                        type_text(n->im->ctx, indices->type));
  }
  int out = 0;
  shape[out++] = rows;
  for (int k = (int)(batch + depth); k < rank; k++)
    shape[out++] = extents[k];
  Value *flat = node_reshape(n, data, shape, out), *place = NULL;
  int64_t stride = 1;
  for (int k = (int)(batch + depth) - 1; k >= 0; k--) {
    Value *part, *index = NULL;
    if (k < batch) {
      part = node_positions(n, extents[k], k, last);
    } else {
      Value *column = node_slice(n, indices, last, k - batch, k - batch + 1);
      part = index = from_begin(n, node_reshape(n, column, of, last), extents[k]);
    }
    part = scaled(n, part, stride);
    place = place ? NODE_MAKE(n, OP_ADD, place, part) : part;
    if (index)
      place = checked_place(n, index, extents[k], place);
    stride *= extents[k];
  }
  return node_result(n, 0, gather(n, flat, place, 0));
}

/* ---- masks of positions ---- */

bool onnx_one_hot(ImportNode *n) {
  Value *indices = node_in(n, 0), *values = node_in(n, 2);
  const Tensor *depth = node_need_known(n, 1, "depth");
  int rank = node_rank(indices) + 1, axis = node_axis(n, node_int(n, "axis", -1), rank, "axis");
  if (n->failed)
    return false;
  int64_t count = depth->n == 1 ? (int64_t)tensor_get(depth, 0) : -1, shape[WEFT_MAX_RANK + 1];
  if (count < 0 || rank > WEFT_MAX_RANK || node_rank(values) != 1 || node_extent(values, 0) != 2)
    return node_error(n, WEFT_MALFORMED, "expected a depth of one number and values of two, and rank at most %d",
                      WEFT_MAX_RANK);
  for (int k = 0, j = 0; k < rank; k++)
    shape[k] = k == axis ? 1 : node_extent(indices, j++);
  /* Indices may be floats of integral value. Those outside of -depth..depth-1 match nothing. */
  Value *index = from_begin(n, node_cast(n, indices, DT_I64), count);
  Value *hot = NODE_MAKE(n, OP_EQUAL, node_reshape(n, index, shape, rank), node_positions(n, count, axis, rank));
  Value *off = gather(n, values, node_ints_value(n, (const int64_t[]){0}, 1, 0), 0);
  Value *on = gather(n, values, node_ints_value(n, (const int64_t[]){1}, 1, 0), 0);
  return node_result(n, 0, NODE_MAKE(n, OP_WHERE, hot, on, off));
}

/* Where column - row against k holds, over the last two axes. */
static Value *diagonal_mask(ImportNode *n, OpCode compare, int64_t rows, int64_t columns, int64_t k) {
  Value *row = node_positions(n, rows, 0, 2), *column = node_positions(n, columns, 1, 2);
  return NODE_MAKE(n, compare, NODE_MAKE(n, OP_SUB, column, row), node_ints_value(n, &k, 1, 0));
}

bool onnx_trilu(ImportNode *n) {
  Value *x = node_in(n, 0);
  const Tensor *given = node_need_known(n, 1, "k");
  bool upper = node_flag(n, "upper", true);
  if (!node_expect_rank(n, 0, 2, WEFT_MAX_RANK))
    return false;
  if (given && (given->n != 1 || given->dtype != DT_I64))
    return node_error(n, WEFT_MALFORMED, "%s is %s, expected one i64", node_in_text(n, 1),
                      shape_text(n->im->ctx, given->dtype, given->rank, given->shape));
  int rank = node_rank(x);
  Value *keep = diagonal_mask(n, upper ? OP_GREATER_EQUAL : OP_LESS_EQUAL, node_extent(x, rank - 2),
                              node_extent(x, rank - 1), given ? *(const int64_t *)given->data : 0);
  return node_result(n, 0, NODE_MAKE(n, OP_WHERE, keep, x, node_number(n, x, 0)));
}

bool onnx_eye_like(ImportNode *n) {
  Value *x = node_in(n, 0);
  int64_t k = node_int(n, "k", 0);
  if (!node_expect_rank(n, 0, 2, 2))
    return false;
  DType to = node_attr(n, "dtype") ? node_dtype(n, node_int(n, "dtype", 1), "attribute 'dtype'") : x->type->dtype;
  return node_result(n, 0, node_cast(n, diagonal_mask(n, OP_EQUAL, node_extent(x, 0), node_extent(x, 1), k), to));
}

/* The positions where a known condition holds; a shorter one leaves the rest out. */
bool onnx_compress(ImportNode *n) {
  Value *x = node_in(n, 0);
  const Tensor *keep = node_need_known(n, 1, "condition");
  int axis = 0;
  if (node_attr(n, "axis")) {
    axis = node_axis(n, node_int(n, "axis", 0), node_rank(x), "axis");
  } else {
    int64_t size = 1;
    for (int k = 0; k < node_rank(x); k++)
      size *= node_extent(x, k);
    x = node_reshape(n, x, &size, 1);
  }
  if (n->failed)
    return false;
  if (keep->dtype != DT_BOOL || keep->rank != 1 || keep->n > node_extent(x, axis))
    return node_error(n, WEFT_MALFORMED, "%s is %s, expected at most %lld bools", node_in_text(n, 1),
                      shape_text(n->im->ctx, keep->dtype, keep->rank, keep->shape), (long long)node_extent(x, axis));
  if (!node_spend(n, keep->n))
    return false;
  int64_t *kept = ARENA_ARRAY(n->im->ctx->arena, int64_t, keep->n);
  int count = 0;
  for (int64_t k = 0; k < keep->n; k++)
    if (((const uint8_t *)keep->data)[k])
      kept[count++] = k;
  return node_result(n, 0, gather(n, x, node_ints_value(n, kept, count, 1), axis));
}

/* ---- running sums and products ---- */

/* x moved along an axis by k, towards its end for k > 0, what is free filled with v. */
static Value *shifted(ImportNode *n, Value *x, int axis, int64_t k, double v) {
  int64_t padding[2 * WEFT_MAX_RANK] = {0};
  int rank = node_rank(x);
  padding[axis] = k;
  padding[rank + axis] = -k;
  Op *op = NODE_OP(n, OP_PAD, x);
  op_set_ints(n->im->ctx, op, "padding", padding, 2 * rank);
  op_set_float(op, "value", v);
  return node_finish(n, op);
}

/* By doubling (Hillis and Steele 1986): after step j each element covers the 2^j up to itself. */
bool onnx_cumulate(ImportNode *n) {
  Value *x = node_in(n, 0);
  const Tensor *at = node_need_known(n, 1, "axis");
  bool exclusive = node_flag(n, "exclusive", false), reverse = node_flag(n, "reverse", false);
  if (n->failed)
    return false;
  if (at->n != 1 || (at->dtype != DT_I32 && at->dtype != DT_I64))
    return node_error(n, WEFT_MALFORMED, "%s is %s, expected one i32 or i64", node_in_text(n, 1),
                      shape_text(n->im->ctx, at->dtype, at->rank, at->shape));
  int axis = node_axis(n, (int64_t)tensor_get(at, 0), node_rank(x), "axis");
  int64_t extent = node_extent(x, axis), way = reverse ? -1 : 1;
  double neutral = n->row->code == OP_MUL ? 1 : 0;
  if (exclusive && extent > 0)
    x = shifted(n, x, axis, way, neutral);
  for (int64_t k = 1; k < extent && !n->failed; k *= 2)
    x = NODE_MAKE(n, n->row->code, x, shifted(n, x, axis, way * k, neutral));
  return node_result(n, 0, x);
}
