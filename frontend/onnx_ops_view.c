/* Operators that move elements and compute none: reshapes, transposes, slices, joins, paddings. What takes its numbers
 * from operands needs them known; older opsets have them as attributes. */
#include "frontend/onnx_ops.h"

/* ---- shared steps ---- */

void node_shape(const Value *v, int64_t *shape) {
  for (int k = 0; v && k < v->type->rank; k++)
    shape[k] = expr_value(v->type->dims[k]);
}

/* Whether v has this shape; NULL for rank 0. */
static bool has_shape(const Value *v, const int64_t *shape, int rank) {
  bool same = node_rank(v) == rank;
  for (int k = 0; same && k < rank; k++)
    same = node_extent(v, k) == shape[k];
  return same;
}

Value *node_reshape(ImportNode *n, Value *x, const int64_t *shape, int rank) {
  if (n->failed || has_shape(x, shape, rank))
    return x;
  Op *op = NODE_OP(n, OP_RESHAPE, x);
  op_set_ints(n->im->ctx, op, "shape", shape, rank);
  return node_finish(n, op);
}

Value *node_transpose(ImportNode *n, Value *x, const int64_t *perm) {
  if (n->failed)
    return NULL;
  Op *op = NODE_OP(n, OP_TRANSPOSE, x);
  op_set_ints(n->im->ctx, op, "perm", perm, node_rank(x));
  return node_finish(n, op);
}

Value *node_broadcast(ImportNode *n, Value *x, const int64_t *shape, int rank) {
  if (n->failed || has_shape(x, shape, rank))
    return x;
  int64_t axes[WEFT_MAX_RANK];
  for (int k = 0; k < node_rank(x); k++)
    axes[k] = rank - node_rank(x) + k;
  Op *op = NODE_OP(n, OP_BROADCAST, x);
  op_set_ints(n->im->ctx, op, "axes", axes, node_rank(x));
  op_set_ints(n->im->ctx, op, "shape", shape, rank);
  return node_finish(n, op);
}

Value *node_along(ImportNode *n, Value *x, int axis, int rank) {
  int64_t shape[WEFT_MAX_RANK] = {node_extent(x, 0)};
  for (int k = 1; k < rank - axis; k++)
    shape[k] = 1;
  return node_reshape(n, x, shape, rank - axis);
}

Value *node_filled(ImportNode *n, DType dtype, double v, const int64_t *shape, int rank) {
  return node_broadcast(n, node_scalar(n, dtype, v), shape, rank);
}

AxisSet node_axes(ImportNode *n, int since_input, int rank) {
  AxisSet set = {0};
  Ints axes = n->im->opset < since_input ? node_ints(n, "axes", -1) : node_known_ints(n, 1, "axes");
  if (!axes.given)
    return set;
  set.given = true;
  set.n = axes.n;
  for (int k = 0; k < axes.n && !n->failed; k++) {
    int axis = node_axis(n, axes.v[k], rank, "axes");
    if (!n->failed && set.has[axis])
      node_error(n, WEFT_MALFORMED, "'axes' names axis %d twice", axis);
    set.has[axis] = true;
  }
  return set;
}

/* ---- new shapes ---- */

bool onnx_reshape(ImportNode *n) {
  Value *x = node_in(n, 0);
  Ints want = node_known_ints(n, 1, "shape");
  bool allow_zero = n->im->opset >= 14 && node_flag(n, "allowzero", false);
  if (n->failed)
    return false;
  if (want.n > WEFT_MAX_RANK)
    return node_error(n, WEFT_UNSUPPORTED, "'shape' has %d extents, at most %d are supported", want.n, WEFT_MAX_RANK);
  int64_t shape[WEFT_MAX_RANK], have = 1, own[WEFT_MAX_RANK], product = 1;
  node_shape(x, own);
  for (int k = 0; k < node_rank(x); k++)
    have *= own[k];
  int rest = -1;
  bool fits = true;
  for (int k = 0; k < want.n; k++) {
    shape[k] = want.v[k] == 0 && !allow_zero ? (k < node_rank(x) ? own[k] : -2) : want.v[k];
    fits = fits && shape[k] >= -1 && (shape[k] >= 0 || rest < 0);
    if (shape[k] < 0)
      rest = k;
    else
      fits = fits && mul_i64(product, shape[k], &product) && product <= WEFT_MAX_ELEMENTS;
  }
  if (fits && rest >= 0) {
    fits = product > 0 && have % product == 0;
    shape[rest] = fits ? have / product : -1;
    product = have;
  }
  if (fits && product == have)
    return node_result(n, 0, node_reshape(n, x, shape, want.n));
  Str text = str_new(n->im->ctx->arena);
  for (int k = 0; k < want.n; k++)
    str_printf(&text, "%s%lld", k ? "," : "", (long long)want.v[k]);
  return node_error(n, WEFT_MALFORMED, "%s is %s; its %lld elements cannot take the shape [%s]", node_in_text(n, 0),
                    type_text(n->im->ctx, x->type), (long long)have, text.len ? text.data : "");
}

bool onnx_flatten(ImportNode *n) {
  Value *x = node_in(n, 0);
  int rank = node_rank(x);
  int64_t axis = node_int(n, "axis", 1), shape[2] = {1, 1};
  if (!n->failed && (axis < (n->im->opset >= 11 ? -rank : 0) || axis > rank))
    return node_error(n, WEFT_MALFORMED, "'axis' is %lld, expected %d to %d: %s is %s", (long long)axis,
                      n->im->opset >= 11 ? -rank : 0, rank, node_in_text(n, 0), type_text(n->im->ctx, x->type));
  axis += axis < 0 ? rank : 0;
  for (int k = 0; k < rank; k++)
    shape[k >= axis] *= node_extent(x, k);
  return node_result(n, 0, node_reshape(n, x, shape, 2));
}

bool onnx_squeeze(ImportNode *n) {
  Value *x = node_in(n, 0);
  AxisSet axes = node_axes(n, 13, node_rank(x));
  int64_t shape[WEFT_MAX_RANK];
  int rank = 0;
  for (int k = 0; k < node_rank(x); k++) {
    int64_t extent = node_extent(x, k);
    if (axes.given ? !axes.has[k] : extent != 1)
      shape[rank++] = extent;
    else if (extent != 1)
      return node_error(n, WEFT_MALFORMED, "axis %d of %s %s, has extent %lld, expected 1", k, node_in_text(n, 0),
                        type_text(n->im->ctx, x->type), (long long)extent);
  }
  return node_result(n, 0, node_reshape(n, x, shape, rank));
}

bool onnx_unsqueeze(ImportNode *n) {
  Value *x = node_in(n, 0);
  Ints axes = n->im->opset < 13 ? node_ints(n, "axes", -1) : node_known_ints(n, 1, "axes");
  if (!n->failed && !axes.given)
    return node_error(n, WEFT_MALFORMED, "attribute 'axes' is missing");
  int rank = node_rank(x) + axes.n;
  if (!n->failed && rank > WEFT_MAX_RANK)
    return node_error(n, WEFT_UNSUPPORTED, "the result has rank %d, at most %d is supported", rank, WEFT_MAX_RANK);
  bool added[WEFT_MAX_RANK] = {false};
  for (int k = 0; k < axes.n && !n->failed; k++) {
    int axis = node_axis(n, axes.v[k], rank, "axes");
    if (!n->failed && added[axis])
      return node_error(n, WEFT_MALFORMED, "'axes' names axis %d twice", axis);
    added[axis] = true;
  }
  int64_t shape[WEFT_MAX_RANK];
  for (int k = 0, j = 0; k < rank && !n->failed; k++)
    shape[k] = added[k] ? 1 : node_extent(x, j++);
  return node_result(n, 0, node_reshape(n, x, shape, n->failed ? 0 : rank));
}

bool onnx_transpose(ImportNode *n) {
  Value *x = node_in(n, 0);
  int rank = node_rank(x);
  Ints given = node_ints(n, "perm", x ? rank : -1);
  int64_t perm[WEFT_MAX_RANK];
  bool taken[WEFT_MAX_RANK] = {false};
  for (int k = 0; k < rank && !n->failed; k++) {
    perm[k] = given.given ? given.v[k] : rank - 1 - k;
    if (perm[k] < 0 || perm[k] >= rank || taken[perm[k]])
      return node_error(n, WEFT_MALFORMED, "attribute 'perm' holds %lld, expected each axis of %s %s, once",
                        (long long)perm[k], node_in_text(n, 0), type_text(n->im->ctx, x->type));
    taken[perm[k]] = true;
  }
  return node_result(n, 0, node_transpose(n, x, perm));
}

bool onnx_expand(ImportNode *n) {
  Value *x = node_in(n, 0);
  Ints want = node_known_ints(n, 1, "shape");
  int rank = want.n > node_rank(x) ? want.n : node_rank(x);
  if (!n->failed && rank > WEFT_MAX_RANK)
    return node_error(n, WEFT_UNSUPPORTED, "the result has rank %d, at most %d is supported", rank, WEFT_MAX_RANK);
  int64_t shape[WEFT_MAX_RANK];
  for (int k = 0; k < rank && !n->failed; k++) {
    int of_x = k - (rank - node_rank(x)), of_want = k - (rank - want.n);
    int64_t a = of_x < 0 ? 1 : node_extent(x, of_x), b = of_want < 0 ? 1 : want.v[of_want];
    if (b < 0 || (a != b && a != 1 && b != 1))
      return node_error(n, WEFT_MALFORMED, "%s %s, cannot be stretched to an extent of %lld along axis %d",
                        node_in_text(n, 0), type_text(n->im->ctx, x->type), (long long)b, k);
    shape[k] = a == 1 ? b : a;
  }
  return node_result(n, 0, node_broadcast(n, x, shape, rank));
}

/* One axis after the other: [outer, 1, extent, inner] stretched to [outer, times, extent, inner]. */
static Value *repeat_axis(ImportNode *n, Value *x, int axis, int64_t times) {
  int64_t shape[WEFT_MAX_RANK], parts[4] = {1, 1, node_extent(x, axis), 1};
  int rank = node_rank(x);
  node_shape(x, shape);
  for (int k = 0; k < rank; k++)
    if (k != axis)
      parts[k < axis ? 0 : 3] *= shape[k];
  Value *v = node_reshape(n, x, parts, 4);
  parts[1] = times;
  v = node_broadcast(n, v, parts, 4);
  if (!n->failed && !mul_i64(shape[axis], times, &shape[axis]))
    node_error(n, WEFT_MALFORMED, "axis %d cannot be repeated %lld times", axis, (long long)times);
  return node_reshape(n, v, shape, rank);
}

bool onnx_tile(ImportNode *n) {
  Value *x = node_in(n, 0);
  Ints times = node_known_ints(n, 1, "repeats");
  if (!n->failed && times.n != node_rank(x))
    return node_error(n, WEFT_MALFORMED, "'repeats' has %d numbers, expected %d: %s is %s", times.n, node_rank(x),
                      node_in_text(n, 0), type_text(n->im->ctx, x->type));
  for (int k = 0; k < times.n && !n->failed; k++) {
    if (times.v[k] < 0)
      return node_error(n, WEFT_MALFORMED, "'repeats' holds %lld", (long long)times.v[k]);
    if (times.v[k] != 1)
      x = repeat_axis(n, x, k, times.v[k]);
  }
  return node_result(n, 0, x);
}

/* ---- parts of a tensor and their joining ---- */

/* x[begin : end : step] along axes; axes and steps may be absent. */
static Value *slice(ImportNode *n, Value *x, Ints begins, Ints ends, Ints axes, Ints steps) {
  if (n->failed)
    return NULL;
  Op *op = NODE_OP(n, OP_SLICE, x);
  op_set_ints(n->im->ctx, op, "begins", begins.v, begins.n);
  op_set_ints(n->im->ctx, op, "ends", ends.v, ends.n);
  op_set_ints(n->im->ctx, op, "axes", axes.v, axes.n);
  op_set_ints(n->im->ctx, op, "steps", steps.v, steps.n);
  return node_finish(n, op);
}

Value *node_slice(ImportNode *n, Value *x, int axis, int64_t begin, int64_t end) {
  int64_t where = axis;
  if (n->failed || (begin == 0 && end == node_extent(x, axis)))
    return x;
  return slice(n, x, (Ints){true, 1, &begin}, (Ints){true, 1, &end}, (Ints){true, 1, &where}, (Ints){0});
}

Value *node_concat(ImportNode *n, Value *const *parts, int count, int axis) {
  if (count == 1)
    return parts[0];
  Op *op = node_op(n, OP_CONCAT, parts, count);
  op_set_int(op, "axis", axis);
  return node_finish(n, op);
}

bool onnx_slice(ImportNode *n) {
  bool old = n->im->opset < 10;
  Value *x = node_in(n, 0);
  Ints begins = old ? node_ints(n, "starts", -1) : node_known_ints(n, 1, "starts");
  Ints ends = old ? node_ints(n, "ends", -1) : node_known_ints(n, 2, "ends");
  Ints axes = old ? node_ints(n, "axes", -1) : node_known_ints(n, 3, "axes");
  Ints steps = old ? (Ints){0} : node_known_ints(n, 4, "steps");
  if (!n->failed && (!begins.given || !ends.given))
    return node_error(n, WEFT_MALFORMED, "attribute '%s' is missing", begins.given ? "ends" : "starts");
  if (!n->failed && (ends.n != begins.n || (axes.given && axes.n != begins.n) || (steps.given && steps.n != begins.n)))
    return node_error(n, WEFT_MALFORMED,
                      "'starts' has %d numbers, 'ends' %d, 'axes' %d, 'steps' %d; expected equally many", begins.n,
                      ends.n, axes.n, steps.n);
  return node_result(n, 0, begins.n || n->failed ? slice(n, x, begins, ends, axes, steps) : x);
}

/* Sizes of `count` equal parts; from opset 18 on the last one may be smaller. */
static Ints equal_parts(ImportNode *n, int64_t extent, int count) {
  int64_t *sizes = ARENA_ARRAY(n->im->ctx->arena, int64_t, count);
  if (count == 0 || (extent % count != 0 && n->im->opset < 18)) {
    node_error(n, WEFT_MALFORMED, "an axis of extent %lld cannot be split into %d equal parts", (long long)extent,
               count);
    return (Ints){0};
  }
  int64_t size = ceildiv_i64(extent, count), left = extent;
  for (int k = 0; k < count; k++) {
    sizes[k] = left < size ? left : size;
    left -= sizes[k];
  }
  return (Ints){true, count, sizes};
}

bool onnx_split(ImportNode *n) {
  Value *x = node_in(n, 0);
  int axis = node_axis(n, node_int(n, "axis", 0), node_rank(x), "axis");
  int count = (int)n->node->output.n;
  Ints sizes = n->im->opset < 13 ? node_ints(n, "split", -1) : node_known_ints(n, 1, "split");
  int64_t asked = n->im->opset >= 18 ? node_int(n, "num_outputs", count) : count, sum = 0;
  if (!n->failed && asked != count)
    return node_error(n, WEFT_MALFORMED, "attribute 'num_outputs' is %lld, but the node has %d outputs",
                      (long long)asked, count);
  if (!n->failed && !sizes.given)
    sizes = equal_parts(n, node_extent(x, axis), count);
  bool fits = sizes.n == count;
  for (int k = 0; k < sizes.n; k++)
    fits = fits && sizes.v[k] >= 0 && add_i64(sum, sizes.v[k], &sum);
  if (!n->failed && (!fits || sum != node_extent(x, axis)))
    return node_error(n, WEFT_MALFORMED, "'split' has %d sizes, in all %lld, expected %d for axis %d of %s %s", sizes.n,
                      (long long)sum, count, axis, node_in_text(n, 0), type_text(n->im->ctx, x->type));
  int64_t begin = 0;
  for (int k = 0; k < count && !n->failed; k++) {
    node_result(n, k, node_slice(n, x, axis, begin, begin + sizes.v[k]));
    begin += sizes.v[k];
  }
  return !n->failed;
}

bool onnx_concat(ImportNode *n) {
  Value **parts = ARENA_ARRAY(n->im->ctx->arena, Value *, n->n_inputs);
  for (int k = 0; k < n->n_inputs; k++)
    parts[k] = node_in(n, k);
  int axis = node_axis(n, node_required_int(n, "axis"), node_rank(parts[0]), "axis");
  return node_result(n, 0, node_concat(n, parts, n->n_inputs, axis));
}

/* ---- blocks of pixels as channels ---- */

/* The block size, after checking that x has rank 4. 1 after a fault. */
static int64_t block_size(ImportNode *n) {
  int64_t b = node_required_int(n, "blocksize");
  if (node_expect_rank(n, 0, 4, 4) && (b < 1 || b > 65536))
    node_error(n, WEFT_MALFORMED, "attribute 'blocksize' is %lld, expected at least 1", (long long)b);
  return n->failed ? 1 : b;
}

bool onnx_depth_to_space(ImportNode *n) {
  static const int64_t perms[2][6] = {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}}; /* DCR, CRD */
  Value *x = node_in(n, 0);
  int64_t b = block_size(n);
  int mode = n->im->opset >= 11 ? node_word(n, "mode", "DCR|CRD") : 0;
  int64_t s[WEFT_MAX_RANK] = {0};
  node_shape(x, s);
  if (!n->failed && s[1] % (b * b) != 0)
    return node_error(n, WEFT_MALFORMED, "%lld channels cannot be split into blocks of %lld x %lld pixels",
                      (long long)s[1], (long long)b, (long long)b);
  int64_t c = s[1] / (b * b);
  int64_t split[6] = {s[0], mode ? c : b, b, mode ? b : c, s[2], s[3]}, to[4] = {s[0], c, s[2] * b, s[3] * b};
  Value *v = node_transpose(n, node_reshape(n, x, split, 6), perms[mode]);
  return node_result(n, 0, node_reshape(n, v, to, 4));
}

bool onnx_space_to_depth(ImportNode *n) {
  static const int64_t perms[2][6] = {{0, 3, 5, 1, 2, 4}, {0, 1, 3, 5, 2, 4}};
  Value *x = node_in(n, 0);
  int64_t b = block_size(n);
  int mode = n->im->opset >= 28 ? node_word(n, "mode", "DCR|CRD") : 0;
  int64_t s[WEFT_MAX_RANK] = {0};
  node_shape(x, s);
  if (!n->failed && (s[2] % b != 0 || s[3] % b != 0))
    return node_error(n, WEFT_MALFORMED, "%lld x %lld pixels cannot be split into blocks of %lld x %lld",
                      (long long)s[2], (long long)s[3], (long long)b, (long long)b);
  int64_t split[6] = {s[0], s[1], s[2] / b, b, s[3] / b, b}, to[4] = {s[0], s[1] * b * b, s[2] / b, s[3] / b};
  Value *v = node_transpose(n, node_reshape(n, x, split, 6), perms[mode]);
  return node_result(n, 0, node_reshape(n, v, to, 4));
}

bool onnx_gather(ImportNode *n) {
  Value *x = node_in(n, 0), *indices = node_in(n, 1);
  int axis = node_axis(n, node_int(n, "axis", 0), node_rank(x), "axis");
  Op *op = NODE_OP(n, OP_GATHER, x, indices);
  op_set_int(op, "axis", axis);
  return node_result(n, 0, node_finish(n, op));
}

bool onnx_identity(ImportNode *n) {
  return node_result(n, 0, node_in(n, 0));
}

/* Inference: the data as it is, and a mask that keeps all. */
bool onnx_dropout(ImportNode *n) {
  Value *x = node_in(n, 0);
  int64_t shape[WEFT_MAX_RANK];
  node_shape(x, shape);
  if (n->im->opset < 12)
    node_float(n, "ratio", 0.5);
  else
    node_int(n, "seed", 0);
  if (node_has(n, 2) && node_known_number(n, 2, "training_mode") != 0)
    return node_error(n, WEFT_UNSUPPORTED, "training mode is not supported");
  if (n->n_outputs > 1 && !n->failed)
    node_result(n, 1, node_filled(n, n->im->opset < 10 ? x->type->dtype : DT_BOOL, 1, shape, node_rank(x)));
  return node_result(n, 0, x);
}
