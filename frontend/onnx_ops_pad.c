/* Operators that add elements around a tensor, or crop it. */
#include "frontend/onnx_ops.h"

bool onnx_pad(ImportNode *n) {
  bool old = n->im->opset < 11;
  Value *x = node_in(n, 0);
  int rank = node_rank(x);
  int mode = node_word(n, "mode", n->im->opset >= 19 ? "constant|reflect|edge|wrap" : "constant|reflect|edge");
  Ints pads = old ? node_ints(n, "pads", -1) : node_known_ints(n, 1, "pads");
  double value = old ? node_float(n, "value", 0) : node_known_number(n, 2, "constant_value");
  Ints axes = n->im->opset >= 18 ? node_known_ints(n, 3, "axes") : (Ints){0};
  int count = axes.given ? axes.n : rank;
  if (!n->failed && pads.n != 2 * count)
    return node_error(n, WEFT_MALFORMED, "'pads' has %d numbers, expected %d: begins, then ends, of the axes", pads.n,
                      2 * count);
  int64_t padding[2 * WEFT_MAX_RANK] = {0};
  bool taken[WEFT_MAX_RANK] = {false};
  for (int k = 0; k < count && !n->failed; k++) {
    int axis = axes.given ? node_axis(n, axes.v[k], rank, "axes") : k;
    if (!n->failed && taken[axis])
      return node_error(n, WEFT_MALFORMED, "'axes' names axis %d twice", axis);
    taken[axis] = true;
    padding[axis] = pads.v[k];
    padding[rank + axis] = pads.v[count + k];
  }
  Op *op = NODE_OP(n, OP_PAD, x);
  op_set_ints(n->im->ctx, op, "padding", padding, 2 * rank);
  op_set_word(op, "mode", mode);
  op_set_float(op, "value", value);
  return node_result(n, 0, node_finish(n, op));
}

/* Each axis cropped or padded by zeros to a given extent; of an odd number of elements the larger half is at the end.
 */
bool onnx_center_crop_pad(ImportNode *n) {
  Value *x = node_in(n, 0);
  int rank = node_rank(x);
  Ints wanted = node_known_ints(n, 1, "shape"), axes = node_ints(n, "axes", -1);
  int64_t padding[2 * WEFT_MAX_RANK] = {0};
  bool taken[WEFT_MAX_RANK] = {false};
  if (!n->failed && wanted.n != (axes.given ? axes.n : rank))
    return node_error(n, WEFT_MALFORMED, "'shape' has %d numbers, expected one for each of %d axes", wanted.n,
                      axes.given ? axes.n : rank);
  for (int k = 0; k < wanted.n && !n->failed; k++) {
    int axis = axes.given ? node_axis(n, axes.v[k], rank, "axes") : k;
    int64_t extent = node_extent(x, axis), more = wanted.v[k] - extent;
    if (!n->failed && (taken[axis] || wanted.v[k] < 0 || wanted.v[k] > WEFT_MAX_ELEMENTS))
      return node_error(n, WEFT_MALFORMED,
                        "axis %d is to have extent %lld; expected different axes and possible extents", axis,
                        (long long)wanted.v[k]);
    taken[axis] = true;
    padding[axis] = more / 2; /* toward zero: a crop too is larger at the end */
    padding[rank + axis] = more - padding[axis];
  }
  Op *op = NODE_OP(n, OP_PAD, x);
  op_set_ints(n->im->ctx, op, "padding", padding, 2 * rank);
  return node_result(n, 0, node_finish(n, op));
}
