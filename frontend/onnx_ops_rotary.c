/* RotaryEmbedding: pairs of numbers of each head, turned by the angles of the token's position. */
#include "frontend/onnx_ops.h"

enum { X, COSINES, SINES, POSITIONS };

typedef struct {
  Value *x; /* [B, tokens, heads, size] */
  bool interleaved;
  int64_t batch, tokens, heads, size, turned; /* turned: the first numbers of each head, in pairs */
} Rotary;

static Rotary read_rotary(ImportNode *n) {
  static const int64_t heads_last[] = {0, 2, 1, 3};
  Rotary r = {.interleaved = node_flag(n, "interleaved", false)};
  int64_t heads = node_int(n, "num_heads", 0);
  Value *x = node_in(n, X);
  if (!node_expect_rank(n, X, 3, 4))
    return r;
  if (node_rank(x) == 3 && (heads < 1 || node_extent(x, 2) % heads != 0)) {
    node_error(n, WEFT_MALFORMED, "%s is %s, which does not divide into %lld heads ('num_heads')", node_in_text(n, X),
               type_text(n->im->ctx, x->type), (long long)heads);
    return r;
  }
  if (node_rank(x) == 3)
    x = node_reshape(n, x, (int64_t[]){node_extent(x, 0), node_extent(x, 1), heads, node_extent(x, 2) / heads}, 4);
  else
    x = node_transpose(n, x, heads_last);
  r.x = x;
  r.batch = node_extent(x, 0);
  r.tokens = node_extent(x, 1);
  r.heads = node_extent(x, 2);
  r.size = node_extent(x, 3);
  r.turned = node_int(n, "rotary_embedding_dim", 0);
  r.turned = r.turned == 0 ? r.size : r.turned;
  if (!n->failed && (r.turned < 2 || r.turned > r.size || r.turned % 2 != 0))
    node_error(n, WEFT_MALFORMED, "%lld numbers of each head, which has %lld, are turned; expected an even number",
               (long long)r.turned, (long long)r.size);
  return r;
}

/* Cosines or sines as [B, tokens, 1, turned / 2]: of the rows that the positions name, or a row for each token. */
static Value *angles(ImportNode *n, const Rotary *r, int k) {
  Value *table = node_in(n, k), *positions = node_in(n, POSITIONS);
  if (n->failed)
    return NULL;
  if (positions) {
    Op *op = NODE_OP(n, OP_GATHER, table, positions);
    table = node_finish(n, op);
  }
  if (n->failed)
    return NULL;
  int64_t want[] = {r->batch, r->tokens, r->turned / 2};
  bool fits = node_rank(table) == 3;
  for (int j = 0; j < 3; j++)
    fits = fits && node_extent(table, j) == want[j];
  if (!fits) {
    node_error(n, WEFT_MALFORMED, "%s gives %s, expected [%lld,%lld,%lld]: rows, tokens, half of what is turned",
               node_in_text(n, k), type_text(n->im->ctx, table->type), (long long)want[0], (long long)want[1],
               (long long)want[2]);
    return NULL;
  }
  return node_reshape(n, table, (int64_t[]){want[0], want[1], 1, want[2]}, 4);
}

/* The first or second number of each pair: numbers 2 i and 2 i + 1, or i of the first and of the second half. */
static Value *of_pairs(ImportNode *n, const Rotary *r, Value *x, int which) {
  int64_t half = r->turned / 2, pairs[] = {r->batch, r->tokens, r->heads, half, 2};
  if (!r->interleaved)
    return node_slice(n, x, 3, which * half, (which + 1) * half);
  return node_reshape(n, node_slice(n, node_reshape(n, x, pairs, 5), 4, which, which + 1), pairs, 4);
}

static Value *join_pairs(ImportNode *n, const Rotary *r, Value *a, Value *b) {
  int64_t pairs[] = {r->batch, r->tokens, r->heads, r->turned / 2, 1},
          all[] = {r->batch, r->tokens, r->heads, r->turned};
  if (!r->interleaved || n->failed)
    return n->failed ? NULL : node_concat(n, (Value *[]){a, b}, 2, 3);
  Value *both[] = {node_reshape(n, a, pairs, 5), node_reshape(n, b, pairs, 5)};
  return n->failed ? NULL : node_reshape(n, node_concat(n, both, 2, 4), all, 4);
}

bool onnx_rotary_embedding(ImportNode *n) {
  static const int64_t heads_first[] = {0, 2, 1, 3};
  Rotary r = read_rotary(n);
  Value *cosines = angles(n, &r, COSINES), *sines = angles(n, &r, SINES);
  if (n->failed)
    return false;
  Value *x = node_slice(n, r.x, 3, 0, r.turned), *rest = node_slice(n, r.x, 3, r.turned, r.size);
  Value *a = of_pairs(n, &r, x, 0), *b = of_pairs(n, &r, x, 1);
  Value *first = NODE_MAKE(n, OP_SUB, NODE_MAKE(n, OP_MUL, cosines, a), NODE_MAKE(n, OP_MUL, sines, b));
  Value *second = NODE_MAKE(n, OP_ADD, NODE_MAKE(n, OP_MUL, sines, a), NODE_MAKE(n, OP_MUL, cosines, b));
  Value *y = join_pairs(n, &r, first, second);
  if (r.turned < r.size && !n->failed)
    y = node_concat(n, (Value *[]){y, rest}, 2, 3);
  if (node_rank(node_in(n, X)) == 4)
    return node_result(n, 0, node_transpose(n, y, heads_first));
  return node_result(n, 0, node_reshape(n, y, (int64_t[]){r.batch, r.tokens, r.heads * r.size}, 3));
}
