/* Losses over classes: what log-probabilities say of the class that each target names. Axis 1 of the scores is the
 * class; the element of a target is picked by comparing it with every class. */
#include "frontend/onnx_ops.h"

typedef struct {
  Value *losses, *weights; /* one for each target; weights NULL: all count alike */
} Picked;

/* The elements of v along the classes where `chosen` holds, 0 where it holds nowhere. */
static Value *pick(ImportNode *n, Value *chosen, Value *v) {
  Value *only = NODE_MAKE(n, OP_WHERE, chosen, v, node_number(n, v, 0));
  return node_reduce(n, OP_REDUCE_SUM, only, (const int64_t[]){1}, 1, false);
}

/* scores [N,C,...], targets [N,...]. */
static bool check_shapes(ImportNode *n, const Value *scores, const Value *targets) {
  int rank = node_rank(scores);
  if (!node_expect_rank(n, 0, 2, WEFT_MAX_RANK) || !node_expect_rank(n, 1, rank - 1, rank - 1))
    return false;
  bool fits = dtype_is_int(targets->type->dtype);
  for (int k = 0; k < rank - 1; k++)
    fits = fits && node_extent(targets, k) == node_extent(scores, k + (k > 0));
  return fits || node_error(n, WEFT_MALFORMED, "the targets are %s, which does not fit scores of %s",
                            type_text(n->im->ctx, targets->type), type_text(n->im->ctx, scores->type));
}

static Picked pick_targets(ImportNode *n, Value *scores) {
  Value *targets = node_in(n, 1), *weight = node_in(n, 2);
  bool ignores = node_attr(n, "ignore_index") != NULL;
  int64_t ignored = node_int(n, "ignore_index", 0), shape[WEFT_MAX_RANK];
  Picked p = {0};
  if (!check_shapes(n, scores, targets))
    return p;
  int rank = node_rank(scores);
  node_shape(scores, shape);
  int64_t classes = shape[1];
  shape[1] = 1;
  if (weight && (node_rank(weight) != 1 || node_extent(weight, 0) != classes)) {
    node_error(n, WEFT_MALFORMED, "%s is %s, expected a number for each of %lld classes", node_in_text(n, 2),
               type_text(n->im->ctx, weight->type), (long long)classes);
    return p;
  }
  Value *wide = node_cast(n, targets, DT_I64);
  Value *chosen = NODE_MAKE(n, OP_EQUAL, node_reshape(n, wide, shape, rank), node_positions(n, classes, 1, rank));
  p.losses = NODE_MAKE(n, OP_NEG, pick(n, chosen, scores));
  if (weight) {
    shape[1] = classes;
    p.weights = pick(n, chosen, node_broadcast(n, node_along(n, weight, 1, rank), shape, rank));
  }
  if (ignores && !n->failed) {
    Value *counts = NODE_MAKE(n, OP_NOT_EQUAL, wide, node_ints_value(n, &ignored, 1, 0));
    Value *weights = p.weights ? p.weights : node_number(n, scores, 1), *zero = node_number(n, scores, 0);
    p.weights = NODE_MAKE(n, OP_WHERE, counts, weights, zero);
    p.losses = NODE_MAKE(n, OP_WHERE, counts, p.losses, zero);
  }
  if (p.weights)
    p.losses = NODE_MAKE(n, OP_MUL, p.losses, p.weights);
  return p;
}

/* The mean counts targets by their weights. */
static Value *reduce_loss(ImportNode *n, Picked p) {
  int reduction = node_word(n, "reduction", "mean|sum|none");
  if (n->failed || reduction == 2)
    return p.losses;
  int64_t axes[WEFT_MAX_RANK];
  int rank = node_rank(p.losses);
  for (int k = 0; k < rank; k++)
    axes[k] = k;
  if (reduction == 0 && !p.weights)
    return node_reduce(n, OP_REDUCE_MEAN, p.losses, axes, rank, false);
  Value *sum = node_reduce(n, OP_REDUCE_SUM, p.losses, axes, rank, false);
  return reduction ? sum : NODE_MAKE(n, OP_DIV, sum, node_reduce(n, OP_REDUCE_SUM, p.weights, axes, rank, false));
}

bool onnx_nll_loss(ImportNode *n) {
  return node_result(n, 0, reduce_loss(n, pick_targets(n, node_in(n, 0))));
}

bool onnx_cross_entropy_loss(ImportNode *n) {
  Value *scores = node_in(n, 0);
  if (!node_expect_rank(n, 0, 2, WEFT_MAX_RANK))
    return false;
  Op *op = NODE_OP(n, OP_LOG_SOFTMAX, scores);
  op_set_int(op, "axis", 1);
  Value *log_probability = node_finish(n, op);
  node_result(n, 1, log_probability);
  return node_result(n, 0, reduce_loss(n, pick_targets(n, log_probability)));
}
