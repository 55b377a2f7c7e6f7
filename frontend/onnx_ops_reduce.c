/* Reductions and what is made of them: softmax, norms, positions of extremes. */
#include "frontend/onnx_ops.h"

#include <math.h>

/* ---- reductions ---- */

Value *node_reduce(ImportNode *n, OpCode code, Value *x, const int64_t *axes, int count, bool keepdims) {
  if (n->failed)
    return NULL;
  Op *op = NODE_OP(n, code, x);
  op_set_ints(n->im->ctx, op, "axes", axes, count);
  op_set_int(op, "keepdims", keepdims);
  return node_finish(n, op);
}

/* m + log(sum(exp(x - m))) with m = max(x), which keeps exp in range; an infinite m is replaced by 0. */
static Value *log_sum_exp(ImportNode *n, Value *x, const int64_t *axes, int count, bool keepdims) {
  Value *m = node_reduce(n, OP_REDUCE_MAX, x, axes, count, true);
  m = NODE_MAKE(n, OP_WHERE, NODE_MAKE(n, OP_ISINF, m), node_number(n, x, 0), m);
  Value *e = NODE_MAKE(n, OP_EXP, NODE_MAKE(n, OP_SUB, x, m));
  Value *sum = NODE_MAKE(n, OP_LOG, node_reduce(n, OP_REDUCE_SUM, e, axes, count, true));
  Value *v = NODE_MAKE(n, OP_ADD, sum, m);
  return keepdims ? v : node_reduce(n, OP_REDUCE_MAX, v, axes, count, false); /* of single elements */
}

/* x reduced as the node says; code OP_COUNT: ReduceLogSumExp, which is no op of weft. */
static Value *reduced(ImportNode *n, Value *x) {
  int since_input = strcmp(n->type, "ReduceSum") == 0 ? 13 : 18, rank = node_rank(x), count = 0;
  AxisSet set = node_axes(n, since_input, rank);
  bool keepdims = node_flag(n, "keepdims", true);
  bool none = n->im->opset >= since_input && node_flag(n, "noop_with_empty_axes", false);
  bool all = !set.given || set.n == 0;
  int64_t axes[WEFT_MAX_RANK];
  for (int k = 0; k < rank; k++)
    if (all ? !none : set.has[k])
      axes[count++] = k;
  if (n->row->code == OP_COUNT)
    return log_sum_exp(n, x, axes, count, keepdims);
  return node_reduce(n, n->row->code, x, axes, count, keepdims);
}

bool onnx_reduce(ImportNode *n) {
  return node_result(n, 0, reduced(n, node_in(n, 0)));
}

bool onnx_reduce_in_floats(ImportNode *n) {
  Value *x = node_in(n, 0), *v = reduced(n, node_as_floats(n, x));
  return node_result(n, 0, n->failed ? NULL : node_cast(n, v, x->type->dtype));
}

/* ---- positions of extremes ---- */

/* The first (or last) position along an axis of x's largest (or smallest) element; of a NaN where there is one. */
static Value *arg_extreme(ImportNode *n, Value *x, OpCode extreme, int64_t axis, bool last, bool keepdims) {
  Value *m = node_reduce(n, extreme, x, &axis, 1, true);
  Value *found = NODE_MAKE(n, OP_EQUAL, x, m);
  if (!n->failed && dtype_is_float(x->type->dtype))
    found = NODE_MAKE(n, OP_OR, found, NODE_MAKE(n, OP_ISNAN, x));
  Value *at = node_positions(n, node_extent(x, (int)axis), (int)axis, node_rank(x));
  Value *never = node_ints_value(n, (int64_t[]){last ? -1 : INT64_MAX}, 1, 0);
  Value *where = NODE_MAKE(n, OP_WHERE, found, at, never);
  return node_reduce(n, last ? OP_REDUCE_MAX : OP_REDUCE_MIN, where, &axis, 1, keepdims);
}

bool onnx_arg_extreme(ImportNode *n) {
  Value *x = node_in(n, 0);
  int axis = node_axis(n, node_int(n, "axis", 0), node_rank(x), "axis");
  bool keepdims = node_flag(n, "keepdims", true);
  bool last = n->im->opset >= 12 && node_flag(n, "select_last_index", false);
  if (!n->failed && node_extent(x, axis) == 0)
    return node_error(n, WEFT_MALFORMED, "axis %d of %s has no elements", axis, type_text(n->im->ctx, x->type));
  return node_result(n, 0, arg_extreme(n, x, n->row->code, axis, last, keepdims));
}

/* ---- softmax and its like: until opset 12 over all axes from `axis` on ---- */

/* Calls make on x and the axis it works along; old opsets: on x as a matrix. */
static bool along_axis(ImportNode *n, Value *(*make)(ImportNode *n, Value *x, int axis)) {
  Value *x = node_in(n, 0);
  int rank = node_rank(x);
  if (n->im->opset >= 13) {
    int axis = node_axis(n, node_int(n, "axis", -1), rank, "axis");
    return node_result(n, 0, n->failed ? NULL : make(n, x, axis));
  }
  int64_t axis = node_int(n, "axis", 1), matrix[2] = {1, 1}, shape[WEFT_MAX_RANK];
  if (!n->failed && (axis < -rank || axis > rank))
    return node_error(n, WEFT_MALFORMED, "'axis' is %lld, expected %d to %d", (long long)axis, -rank, rank);
  axis += axis < 0 ? rank : 0;
  node_shape(x, shape);
  for (int k = 0; k < rank; k++)
    matrix[k >= axis] *= shape[k];
  Value *v = node_reshape(n, x, matrix, 2);
  return node_result(n, 0, node_reshape(n, n->failed ? NULL : make(n, v, 1), shape, rank));
}

static Value *softmax(ImportNode *n, Value *x, int axis) {
  Op *op = NODE_OP(n, n->row->code, x);
  op_set_int(op, "axis", axis);
  return node_finish(n, op);
}

bool onnx_softmax(ImportNode *n) {
  return along_axis(n, softmax);
}

static Value *hardmax(ImportNode *n, Value *x, int axis) {
  Value *first = arg_extreme(n, x, OP_REDUCE_MAX, axis, false, true);
  Value *at = node_positions(n, node_extent(x, axis), axis, node_rank(x));
  return node_cast(n, NODE_MAKE(n, OP_EQUAL, at, first), x->type->dtype);
}

bool onnx_hardmax(ImportNode *n) {
  return along_axis(n, hardmax);
}

/* ---- norms ---- */

/* A parameter of C channels. */
static bool expect_channels(ImportNode *n, int k, int64_t channels) {
  if (node_expect_rank(n, k, 1, 1) && node_extent(node_in(n, k), 0) != channels)
    node_error(n, WEFT_MALFORMED, "%s is %s, expected %lld elements", node_in_text(n, k),
               type_text(n->im->ctx, node_in(n, k)->type), (long long)channels);
  return !n->failed;
}

/* scale * (x - mean) / sqrt(var + epsilon) + bias, as x * a + b per channel. */
bool onnx_batch_norm(ImportNode *n) {
  Value *x = node_in(n, 0);
  int rank = node_rank(x);
  double epsilon = node_float(n, "epsilon", 1e-5);
  node_float(n, "momentum", 0.9); /* of training */
  if (n->im->opset < 9 && !node_flag(n, "spatial", true))
    return node_error(n, WEFT_UNSUPPORTED, "attribute 'spatial' is 0, only 1 is supported");
  if (n->im->opset >= 14 && node_flag(n, "training_mode", false))
    return node_error(n, WEFT_UNSUPPORTED, "training mode is not supported");
  if (!node_expect_rank(n, 0, 1, WEFT_MAX_RANK))
    return false;
  for (int k = 1; k < 5; k++)
    if (!expect_channels(n, k, rank > 1 ? node_extent(x, 1) : 1))
      return false;
  DType own = x->type->dtype, work = own == DT_F64 ? DT_F64 : DT_F32;
  Value *scale = node_cast(n, node_in(n, 1), work), *bias = node_cast(n, node_in(n, 2), work);
  Value *mean = node_cast(n, node_in(n, 3), work), *var = node_cast(n, node_in(n, 4), work);
  Value *deviation = NODE_MAKE(n, OP_SQRT, NODE_MAKE(n, OP_ADD, var, node_number(n, var, epsilon)));
  Value *a = NODE_MAKE(n, OP_DIV, scale, deviation);
  Value *b = NODE_MAKE(n, OP_SUB, bias, NODE_MAKE(n, OP_MUL, mean, a));
  Value *v = NODE_MAKE(n, OP_MUL, node_cast(n, x, work), rank > 1 ? node_along(n, a, 1, rank) : a);
  v = NODE_MAKE(n, OP_ADD, v, rank > 1 ? node_along(n, b, 1, rank) : b);
  return node_result(n, 0, node_cast(n, v, own));
}

bool onnx_instance_norm(ImportNode *n) {
  Value *x = node_in(n, 0);
  double epsilon = node_float(n, "epsilon", 1e-5);
  if (!node_expect_rank(n, 0, 3, WEFT_MAX_RANK) || !expect_channels(n, 1, node_extent(x, 1)) ||
      !expect_channels(n, 2, node_extent(x, 1)))
    return false;
  Op *op = NODE_OP(n, OP_INSTANCE_NORM, x, node_in(n, 1), node_in(n, 2));
  op_set_float(op, "epsilon", epsilon);
  return node_result(n, 0, node_finish(n, op));
}

/* stash_type: the type that statistics are computed in; weft's is float or wider. */
static void stash_type(ImportNode *n) {
  int64_t type = node_int(n, "stash_type", 1);
  if (type != 1 && type != 10 && type != 11 && type != 16)
    node_error(n, WEFT_UNSUPPORTED, "attribute 'stash_type' is %lld, expected 1, float", (long long)type);
}

/* The statistics that LayerNormalization gives besides: the mean, and 1 / the deviation. */
static void layer_statistics(ImportNode *n, Value *x, int axis, double epsilon) {
  int64_t axes[WEFT_MAX_RANK];
  int count = 0;
  for (int k = axis; k < node_rank(x); k++)
    axes[count++] = k;
  Value *wide = n->failed || x->type->dtype == DT_F64 ? x : node_cast(n, x, DT_F32);
  Value *mean = node_reduce(n, OP_REDUCE_MEAN, wide, axes, count, true);
  node_result(n, 1, mean);
  Value *d = NODE_MAKE(n, OP_SUB, wide, mean);
  Value *var = node_reduce(n, OP_REDUCE_MEAN, NODE_MAKE(n, OP_MUL, d, d), axes, count, true);
  Value *deviation = NODE_MAKE(n, OP_SQRT, NODE_MAKE(n, OP_ADD, var, node_number(n, var, epsilon)));
  node_result(n, 2, NODE_MAKE(n, OP_RECIPROCAL, deviation));
}

bool onnx_layer_norm(ImportNode *n) {
  Value *x = node_in(n, 0);
  int axis = node_axis(n, node_int(n, "axis", -1), node_rank(x), "axis");
  double epsilon = node_float(n, "epsilon", 1e-5);
  stash_type(n);
  Op *op = NODE_OP(n, OP_LAYER_NORM, x, node_in(n, 1), node_in(n, 2));
  op_set_int(op, "axis", axis);
  op_set_float(op, "epsilon", epsilon);
  if (n->n_outputs > 1)
    layer_statistics(n, x, axis, epsilon);
  return node_result(n, 0, node_finish(n, op));
}

/* x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis` on. */
bool onnx_rms_norm(ImportNode *n) {
  Value *x = node_in(n, 0), *scale = node_in(n, 1);
  int axis = node_axis(n, node_int(n, "axis", -1), node_rank(x), "axis"), count = 0;
  double epsilon = node_float(n, "epsilon", 1e-5);
  stash_type(n);
  if (n->failed)
    return false;
  int64_t axes[WEFT_MAX_RANK];
  for (int k = axis; k < node_rank(x); k++)
    axes[count++] = k;
  DType own = x->type->dtype, work = own == DT_F64 ? DT_F64 : DT_F32;
  Value *wide = node_cast(n, x, work);
  Value *square = node_reduce(n, OP_REDUCE_MEAN, NODE_MAKE(n, OP_MUL, wide, wide), axes, count, true);
  Value *root = NODE_MAKE(n, OP_SQRT, NODE_MAKE(n, OP_ADD, square, node_number(n, square, epsilon)));
  Value *v = node_cast(n, NODE_MAKE(n, OP_DIV, wide, root), own);
  return node_result(n, 0, NODE_MAKE(n, OP_MUL, v, node_cast(n, scale, own)));
}

/* Opset 18 had a scale and bias per group. */
static Value *per_channel(ImportNode *n, int k, int64_t groups, int64_t channels) {
  Value *v = node_in(n, k);
  if (n->im->opset >= 21)
    return expect_channels(n, k, channels) ? v : NULL;
  int64_t pairs[2] = {groups, 1}, wide[2] = {groups, channels / groups};
  if (!expect_channels(n, k, groups))
    return NULL;
  return node_reshape(n, node_broadcast(n, node_reshape(n, v, pairs, 2), wide, 2), &channels, 1);
}

bool onnx_group_norm(ImportNode *n) {
  Value *x = node_in(n, 0);
  int64_t groups = node_required_int(n, "num_groups"), channels = node_extent(x, 1);
  double epsilon = node_float(n, "epsilon", 1e-5);
  if (n->im->opset >= 21)
    stash_type(n);
  if (!node_expect_rank(n, 0, 3, WEFT_MAX_RANK))
    return false;
  if (groups < 1 || channels % groups != 0)
    return node_error(n, WEFT_MALFORMED, "%lld channels cannot be split into %lld groups", (long long)channels,
                      (long long)groups);
  Op *op = NODE_OP(n, OP_GROUP_NORM, x, per_channel(n, 1, groups, channels), per_channel(n, 2, groups, channels));
  op_set_int(op, "groups", groups);
  op_set_float(op, "epsilon", epsilon);
  return node_result(n, 0, node_finish(n, op));
}

/* x / norm, where x has a norm; 0 stays 0. */
bool onnx_lp_norm(ImportNode *n) {
  Value *x = node_in(n, 0);
  int64_t axis = node_axis(n, node_int(n, "axis", -1), node_rank(x), "axis"), p = node_int(n, "p", 2);
  if (!n->failed && p != 1 && p != 2)
    return node_error(n, WEFT_MALFORMED, "attribute 'p' is %lld, expected 1 or 2", (long long)p);
  Value *norm = node_reduce(n, p == 1 ? OP_REDUCE_L1 : OP_REDUCE_L2, x, &axis, 1, true);
  Value *zero = NODE_MAKE(n, OP_EQUAL, norm, node_number(n, norm, 0));
  norm = NODE_MAKE(n, OP_WHERE, zero, node_number(n, norm, 1), norm);
  return node_result(n, 0, NODE_MAKE(n, OP_DIV, x, norm));
}

/* (x - mean) / sqrt(mean((x - mean)^2)) over the axes, by default batch and space */
bool onnx_mean_variance_norm(ImportNode *n) {
  Value *x = node_in(n, 0);
  Ints given = node_ints(n, "axes", -1);
  int64_t axes[WEFT_MAX_RANK] = {0, 2, 3};
  int count = given.given ? given.n : 3;
  if (!n->failed && count > node_rank(x))
    return node_error(n, WEFT_MALFORMED, "attribute 'axes' has %d numbers, but %s is %s", count, node_in_text(n, 0),
                      type_text(n->im->ctx, x->type));
  for (int k = 0; k < count; k++)
    axes[k] = node_axis(n, given.given ? given.v[k] : axes[k], node_rank(x), "axes");
  Value *d = NODE_MAKE(n, OP_SUB, x, node_reduce(n, OP_REDUCE_MEAN, x, axes, count, true));
  Value *var = node_reduce(n, OP_REDUCE_MEAN, NODE_MAKE(n, OP_MUL, d, d), axes, count, true);
  Value *deviation = NODE_MAKE(n, OP_SQRT, NODE_MAKE(n, OP_ADD, var, node_number(n, var, 1e-9)));
  return node_result(n, 0, NODE_MAKE(n, OP_DIV, d, deviation));
}

/* x / (bias + alpha * mean of x^2 over `size` channels around, zeros outside)^beta: the standard's alpha / size times
 * their sum. The mean is an average pool along the channels. */
bool onnx_lrn(ImportNode *n) {
  Value *x = node_in(n, 0);
  double alpha = node_float(n, "alpha", 1e-4), beta = node_float(n, "beta", 0.75), bias = node_float(n, "bias", 1);
  int64_t size = node_required_int(n, "size"), shape[WEFT_MAX_RANK];
  if (!node_expect_rank(n, 0, 3, WEFT_MAX_RANK))
    return false;
  if (size < 1 || size > 1 << 20)
    return node_error(n, WEFT_MALFORMED, "attribute 'size' is %lld, expected at least 1", (long long)size);
  node_shape(x, shape);
  int64_t flat[4] = {shape[0], 1, shape[1], 1}, kernel[2] = {size, 1};
  int64_t padding[4] = {(size - 1) / 2, 0, size / 2, 0};
  for (int k = 2; k < node_rank(x); k++)
    flat[3] *= shape[k];
  Op *op = NODE_OP(n, OP_AVG_POOL2D, node_reshape(n, NODE_MAKE(n, OP_MUL, x, x), flat, 4));
  op_set_ints(n->im->ctx, op, "kernel", kernel, 2);
  op_set_ints(n->im->ctx, op, "padding", padding, 4);
  op_set_int(op, "count_include_pad", 1);
  Value *mean = node_reshape(n, node_finish(n, op), shape, node_rank(x));
  Value *base = NODE_MAKE(n, OP_ADD, NODE_MAKE(n, OP_MUL, mean, node_number(n, x, alpha)), node_number(n, x, bias));
  return node_result(n, 0, NODE_MAKE(n, OP_DIV, x, NODE_MAKE(n, OP_POW, base, node_number(n, x, beta))));
}
