/* Attention: softmax(scale * Q K' + bias) V by heads, out of matrix products and a softmax. Where heads of Q share a
 * head of K and V, their rows make one matrix, so that K and V are never repeated. */
#include "frontend/onnx_ops.h"

#include <math.h>

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, VALID_KEYS };
enum { RAW, CAPPED, BIASED, PROBABILITIES }; /* qk_matmul_output_mode */

typedef struct {
  Value *q, *k, *v;                                  /* [B, heads, times, size] */
  bool split;                                        /* the operands have the heads in their last axis */
  int64_t batch, heads, shared, queries, keys, past; /* shared: heads of Q for each head of K */
  DType dtype;
} Heads;

/* ---- operands ---- */

/* [B, times, heads * size] as [B, heads, times, size]. */
static Value *by_heads(ImportNode *n, Value *x, int64_t heads) {
  static const int64_t perm[] = {0, 2, 1, 3};
  if (n->failed || node_rank(x) == 4)
    return x;
  int64_t all = node_extent(x, 2);
  if (heads < 1 || all % heads != 0) {
    node_error(n, WEFT_MALFORMED, "%s does not divide into %lld heads", type_text(n->im->ctx, x->type),
               (long long)heads);
    return NULL;
  }
  int64_t shape[] = {node_extent(x, 0), node_extent(x, 1), heads, all / heads};
  return node_transpose(n, node_reshape(n, x, shape, 4), perm);
}

static Value *behind_past(ImportNode *n, int past, Value *x) {
  Value *before = node_in(n, past);
  return before && !n->failed ? node_concat(n, (Value *[]){before, x}, 2, 2) : x;
}

static void check_heads(ImportNode *n, const Heads *h) {
  int64_t of_k = node_extent(h->k, 1);
  if (n->failed)
    return;
  if (node_extent(h->v, 1) != of_k || of_k == 0 || h->heads % of_k != 0 || node_extent(h->v, 2) != h->keys ||
      node_extent(h->k, 3) != node_extent(h->q, 3) || node_extent(h->k, 0) != h->batch ||
      node_extent(h->v, 0) != h->batch)
    node_error(n, WEFT_MALFORMED, "Q, K and V are %s, %s and %s by heads and with the past, which do not fit together",
               type_text(n->im->ctx, h->q->type), type_text(n->im->ctx, h->k->type), type_text(n->im->ctx, h->v->type));
}

static Heads read_heads(ImportNode *n) {
  int64_t of_q = node_int(n, "q_num_heads", 0), of_k = node_int(n, "kv_num_heads", 0);
  Value *q = node_in(n, Q), *k = node_in(n, K), *v = node_in(n, V);
  Heads h = {.split = node_rank(q) == 3};
  for (int j = Q; j <= V; j++)
    if (!node_expect_rank(n, j, 3, 4))
      return h;
  if (node_rank(q) != node_rank(k) || node_rank(q) != node_rank(v) ||
      node_has(n, PAST_KEY) != node_has(n, PAST_VALUE)) {
    node_error(n, WEFT_MALFORMED,
               "Q, K and V are %s, %s and %s, expected equal ranks, and past_key and past_value together",
               type_text(n->im->ctx, q->type), type_text(n->im->ctx, k->type), type_text(n->im->ctx, v->type));
    return h;
  }
  for (int j = PAST_KEY; j <= PAST_VALUE; j++)
    node_expect_rank(n, j, 4, 4);
  h.q = by_heads(n, q, of_q);
  h.k = behind_past(n, PAST_KEY, by_heads(n, k, of_k));
  h.v = behind_past(n, PAST_VALUE, by_heads(n, v, of_k));
  h.past = node_extent(node_in(n, PAST_KEY), 2);
  h.batch = node_extent(h.q, 0);
  h.heads = node_extent(h.q, 1);
  h.queries = node_extent(h.q, 2);
  h.keys = node_extent(h.k, 2);
  check_heads(n, &h);
  h.shared = n->failed ? 1 : h.heads / node_extent(h.k, 1);
  h.dtype = n->failed ? DT_F32 : h.q->type->dtype;
  return h;
}

/* ---- which keys a query sees ---- */

static Value *both(ImportNode *n, Value *a, Value *b) {
  return a && b && !n->failed ? NODE_MAKE(n, OP_AND, a, b) : a ? a : b;
}

static Value *plus(ImportNode *n, Value *v, int64_t number) {
  return number == 0 ? v : NODE_MAKE(n, OP_ADD, v, node_ints_value(n, &number, 1, 0));
}

/* The number of keys that are no padding, [B,1,1,1]; NULL where all are valid. */
static Value *valid_keys(ImportNode *n, const Heads *h) {
  Value *v = node_in(n, VALID_KEYS);
  if (!v || !node_expect_rank(n, VALID_KEYS, 1, 1))
    return NULL;
  if (node_has(n, PAST_KEY))
    node_error(n, WEFT_MALFORMED, "%s cannot be combined with past_key", node_in_text(n, VALID_KEYS));
  return node_reshape(n, node_cast(n, v, DT_I64), (int64_t[]){h->batch, 1, 1, 1}, 4);
}

/* True where the key lies within the window around the query's own place, which is `past` keys on; NULL: everywhere. */
static Value *in_window(ImportNode *n, const Heads *h, Value *valid) {
  bool causal = node_flag(n, "is_causal", false), windows = n->im->opset >= 25;
  int64_t left = windows ? node_int(n, "left_window_size", -1) : -1;
  int64_t right = windows ? node_int(n, "right_window_size", -1) : -1;
  if (left < -1 || right < -1)
    node_error(n, WEFT_MALFORMED, "a window size is %lld, expected -1 or more",
               (long long)(left < right ? left : right));
  right = causal ? 0 : right;
  if (n->failed || (left < 0 && right < 0))
    return NULL;
  Value *place = node_positions(n, h->queries, 2, 4), *key = node_positions(n, h->keys, 3, 4);
  place = valid ? NODE_MAKE(n, OP_ADD, place, plus(n, valid, -h->queries)) : plus(n, place, h->past);
  Value *seen = NULL;
  if (right >= 0)
    seen = NODE_MAKE(n, OP_LESS_EQUAL, key, plus(n, place, right));
  if (left >= 0)
    seen = both(n, seen, NODE_MAKE(n, OP_GREATER_EQUAL, key, plus(n, place, -left)));
  return seen;
}

/* The mask, its last axis filled up to all keys: those behind are not seen. */
static Value *read_mask(ImportNode *n, const Heads *h) {
  Value *mask = node_in(n, MASK);
  if (!mask || !node_expect_rank(n, MASK, 1, 4))
    return NULL;
  int rank = node_rank(mask);
  int64_t shape[WEFT_MAX_RANK], given = node_extent(mask, rank - 1);
  bool is_bool = mask->type->dtype == DT_BOOL;
  if (!is_bool && mask->type->dtype != h->dtype) {
    node_error(n, WEFT_MALFORMED, "%s is %s, expected bool or the element type of Q", node_in_text(n, MASK),
               type_text(n->im->ctx, mask->type));
    return NULL;
  }
  if (given > h->keys) {
    node_error(n, WEFT_MALFORMED, "%s is %s, but there are %lld keys", node_in_text(n, MASK),
               type_text(n->im->ctx, mask->type), (long long)h->keys);
    return NULL;
  }
  if (given == h->keys)
    return mask;
  node_shape(mask, shape);
  shape[rank - 1] = h->keys - given;
  Value *rest = node_filled(n, mask->type->dtype, is_bool ? 0 : -INFINITY, shape, rank);
  return n->failed ? NULL : node_concat(n, (Value *[]){mask, rest}, 2, rank - 1);
}

/* What is added to the products: -inf where a key is not seen; NULL: nothing. */
static Value *read_bias(ImportNode *n, const Heads *h) {
  Value *mask = read_mask(n, h), *valid = valid_keys(n, h), *seen = in_window(n, h, valid);
  if (valid)
    seen = both(n, seen, NODE_MAKE(n, OP_LESS, node_positions(n, h->keys, 3, 4), valid));
  if (n->failed)
    return NULL;
  bool is_bool = mask && mask->type->dtype == DT_BOOL;
  seen = is_bool ? both(n, seen, mask) : seen;
  if (!seen)
    return mask;
  Value *added = mask && !is_bool ? mask : node_scalar(n, h->dtype, 0);
  return NODE_MAKE(n, OP_WHERE, seen, added, node_scalar(n, h->dtype, -INFINITY));
}

/* ---- products ---- */

/* [B, heads, queries, x] with the queries of the heads that share one of K as rows of one matrix, and back. */
static Value *share_rows(ImportNode *n, const Heads *h, Value *v) {
  int64_t shape[] = {h->batch, h->heads / h->shared, h->shared * h->queries, node_extent(v, 3)};
  return node_reshape(n, v, shape, 4);
}
static Value *part_rows(ImportNode *n, const Heads *h, Value *v) {
  int64_t shape[] = {h->batch, h->heads, h->queries, node_extent(v, 3)};
  return node_reshape(n, v, shape, 4);
}

static Value *scaled(ImportNode *n, Value *v, double factor) {
  return NODE_MAKE(n, OP_MUL, v, node_number(n, v, factor));
}

static Value *query_key_products(ImportNode *n, const Heads *h) {
  static const int64_t swap[] = {0, 1, 3, 2};
  double scale = node_float(n, "scale", 1 / sqrt((double)node_extent(h->q, 3)));
  if (n->failed)
    return NULL;
  if (!(scale >= 0)) {
    node_error(n, WEFT_UNSUPPORTED, "attribute 'scale' is %g, expected at least 0", scale);
    return NULL;
  }
  Value *q = scaled(n, h->q, sqrt(scale)), *k = node_transpose(n, scaled(n, h->k, sqrt(scale)), swap);
  return part_rows(n, h, NODE_MAKE(n, OP_MATMUL, share_rows(n, h, q), k));
}

static Value *capped(ImportNode *n, Value *v) {
  double cap = node_float(n, "softcap", 0);
  if (n->failed || cap <= 0)
    return v;
  Value *ratio = NODE_MAKE(n, OP_DIV, v, node_number(n, v, cap));
  return scaled(n, NODE_MAKE(n, OP_TANH, ratio), cap);
}

/* The softmax over keys; 0 for a query whose bias is -inf everywhere. */
static Value *probabilities(ImportNode *n, const Heads *h, Value *v, Value *bias) {
  int64_t precision = node_int(n, "softmax_precision", -1);
  DType dtype = precision < 0 ? h->dtype : node_dtype(n, precision, "softmax_precision");
  if (!dtype_is_float(dtype))
    node_error(n, WEFT_MALFORMED, "attribute 'softmax_precision' is %s, expected a float type", dtype_name(dtype));
  if (n->failed)
    return NULL;
  Op *softmax = NODE_OP(n, OP_SOFTMAX, node_cast(n, v, dtype));
  Value *p = node_cast(n, node_finish(n, softmax), h->dtype);
  if (!bias || n->failed)
    return p;
  int64_t last = node_rank(bias) - 1;
  Value *most = node_reduce(n, OP_REDUCE_MAX, bias, &last, 1, true);
  Value *blind = NODE_MAKE(n, OP_EQUAL, most, node_number(n, bias, -INFINITY));
  return NODE_MAKE(n, OP_WHERE, blind, node_number(n, p, 0), p);
}

bool onnx_attention(ImportNode *n) {
  static const int64_t perm[] = {0, 2, 1, 3};
  Heads h = read_heads(n);
  int64_t mode = node_int(n, "qk_matmul_output_mode", RAW);
  Value *bias = n->failed ? NULL : read_bias(n, &h);
  if (mode < RAW || mode > PROBABILITIES)
    return node_error(n, WEFT_MALFORMED, "attribute 'qk_matmul_output_mode' is %lld, expected 0 to 3", (long long)mode);
  if (n->failed)
    return false;
  Value *shown[4];
  shown[RAW] = query_key_products(n, &h);
  shown[CAPPED] = capped(n, shown[RAW]);
  shown[BIASED] = bias ? NODE_MAKE(n, OP_ADD, shown[CAPPED], bias) : shown[CAPPED];
  Value *p = shown[PROBABILITIES] = probabilities(n, &h, shown[BIASED], bias);
  if (n->failed)
    return false;
  if (!type_same_shape(p->type, shown[RAW]->type))
    return node_error(n, WEFT_MALFORMED, "%s cannot be stretched to %s", node_in_text(n, MASK),
                      type_text(n->im->ctx, shown[RAW]->type));
  p = node_cast(n, share_rows(n, &h, p), h.v->type->dtype);
  Value *y = node_cast(n, part_rows(n, &h, NODE_MAKE(n, OP_MATMUL, p, h.v)), h.dtype);
  if (h.split && !n->failed) {
    int64_t shape[] = {h.batch, h.queries, h.heads * node_extent(y, 3)};
    y = node_reshape(n, node_transpose(n, y, perm), shape, 3);
  }
  node_result(n, 0, y);
  node_result(n, 1, h.k);
  node_result(n, 2, h.v);
  return node_result(n, 3, shown[mode]);
}
