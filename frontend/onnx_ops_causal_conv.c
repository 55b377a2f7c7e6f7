/* CausalConvWithState: a depthwise convolution over a row that a state of k - 1 points, else zeros, stands in front of.
 */
#include "frontend/onnx_ops.h"

enum { X, KERNEL, BIAS, STATE };

/* The state and x, one behind the other. */
static Value *whole_row(ImportNode *n, Value *x, int64_t before) {
  Value *state = node_in(n, STATE);
  if (n->failed)
    return NULL;
  if (state)
    return node_concat(n, (Value *[]){state, x}, 2, 2);
  Op *pad = NODE_OP(n, OP_PAD, x);
  op_set_ints(n->im->ctx, pad, "padding", (int64_t[]){0, 0, before, 0, 0, 0}, 6);
  return node_finish(n, pad);
}

static void check_shapes(ImportNode *n) {
  Value *x = node_in(n, X), *kernel = node_in(n, KERNEL), *state = node_in(n, STATE);
  if (!node_expect_rank(n, X, 3, 3) || !node_expect_rank(n, KERNEL, 3, 3) || !node_expect_rank(n, STATE, 3, 3))
    return;
  int64_t k = node_extent(kernel, 2);
  if (node_extent(kernel, 0) != node_extent(x, 1) || node_extent(kernel, 1) != 1 || k < 1)
    node_error(n, WEFT_MALFORMED, "%s is %s, expected [%lld,1,k]", node_in_text(n, KERNEL),
               type_text(n->im->ctx, kernel->type), (long long)node_extent(x, 1));
  if (state && (node_extent(state, 0) != node_extent(x, 0) || node_extent(state, 1) != node_extent(x, 1) ||
                node_extent(state, 2) != k - 1))
    node_error(n, WEFT_MALFORMED, "%s is %s, expected [%lld,%lld,%lld]", node_in_text(n, STATE),
               type_text(n->im->ctx, state->type), (long long)node_extent(x, 0), (long long)node_extent(x, 1),
               (long long)k - 1);
}

bool onnx_causal_conv(ImportNode *n) {
  int activation = node_word(n, "activation", "none|silu|swish");
  Value *x = node_in(n, X), *kernel = node_in(n, KERNEL), *bias = node_in(n, BIAS);
  check_shapes(n);
  if (n->failed)
    return false;
  int64_t before = node_extent(kernel, 2) - 1, length = node_extent(x, 2);
  bool has_state = node_has(n, STATE);
  Value *row = whole_row(n, x, before);
  Op *conv = NODE_OP(n, OP_CONV1D, has_state ? row : x, kernel, bias);
  op_set_ints(n->im->ctx, conv, "padding", (int64_t[]){has_state ? 0 : before, 0}, 2);
  op_set_int(conv, "groups", node_extent(x, 1));
  Value *y = node_finish(n, conv);
  node_result(n, 0, activation && !n->failed ? NODE_MAKE(n, OP_SWISH, y) : y);
  return node_result(n, 1, node_slice(n, row, 2, length, length + before));
}
