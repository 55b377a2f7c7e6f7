/* Operators that change elements of a tensor by position: scatters, and the cache of attention. */
#include "frontend/onnx_ops.h"

/* From opset 16 on one may be named, of two more from 18 on. */
static int64_t reduction(ImportNode *n) {
  int opset = n->im->opset;
  return opset < 16 ? 0 : node_word(n, "reduction", opset < 18 ? "none|add|mul" : "none|add|mul|max|min");
}

bool onnx_scatter_elements(ImportNode *n) {
  Op *op = NODE_OP(n, OP_SCATTER_ELEMENTS, node_in(n, 0), node_in(n, 1), node_in(n, 2));
  op_set_int(op, "axis", node_int(n, "axis", 0));
  op_set_word(op, "reduction", reduction(n));
  return node_result(n, 0, node_finish(n, op));
}

bool onnx_scatter_nd(ImportNode *n) {
  Op *op = NODE_OP(n, OP_SCATTER_ND, node_in(n, 0), node_in(n, 1), node_in(n, 2));
  op_set_word(op, "reduction", reduction(n));
  return node_result(n, 0, node_finish(n, op));
}

/* present[b, .., write[b] + s, ..] = update[b, .., s, ..], s along the axis; circular: modulo its extent. */
bool onnx_tensor_scatter(ImportNode *n) {
  Value *past = node_in(n, 0), *update = node_in(n, 1), *write = node_in(n, 2);
  int rank = node_rank(past), axis = node_axis(n, node_int(n, "axis", -2), rank, "axis");
  bool circular = node_word(n, "mode", "linear|circular") == 1;
  int64_t shape[WEFT_MAX_RANK], first[WEFT_MAX_RANK], extent = node_extent(past, axis);
  if (!node_expect_rank(n, 1, rank, rank) || (write && !node_expect_rank(n, 2, 1, 1)))
    return false;
  if (axis == 0)
    return node_error(n, WEFT_MALFORMED, "'axis' is 0, the batch; expected another axis of %s",
                      type_text(n->im->ctx, past->type));
  if (node_extent(update, axis) > extent)
    return node_error(n, WEFT_MALFORMED, "%s is %s, which is longer than %s along axis %d", node_in_text(n, 1),
                      type_text(n->im->ctx, update->type), type_text(n->im->ctx, past->type), axis);
  node_shape(update, shape);
  Value *at = node_positions(n, shape[axis], axis, rank);
  if (write) {
    for (int k = 0; k < rank; k++)
      first[k] = k == 0 ? node_extent(write, 0) : 1;
    at = NODE_MAKE(n, OP_ADD, node_reshape(n, node_cast(n, write, DT_I64), first, rank), at);
  }
  if (circular)
    at = NODE_MAKE(n, OP_FLOOR_MOD, at, node_ints_value(n, &extent, 1, 0));
  Op *op = NODE_OP(n, OP_SCATTER_ELEMENTS, past, node_broadcast(n, at, shape, rank), update);
  if (n->failed)
    return false;
  op_set_int(op, "axis", axis);
  return node_result(n, 0, node_finish(n, op));
}
