/* Einsum: one op where it has one or two operands. More are multiplied two at a time, from the left, and what no later
 * operand and not the result has is summed at once: "ij,jk,kl->il" is (ij,jk->ik), then (ik,kl->il). */
#include "frontend/onnx_ops.h"

typedef struct {
  ImportNode *n;
  const char *equation;
  int n_terms;
  const char **term; /* without spaces */
  const char *result;
} Equation;

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The result of an equation without "->". */
static const char *implied_result(const Equation *e) {
  int seen[128] = {0};
  bool dots = false;
  Str text = str_new(e->n->im->ctx->arena);
  for (int k = 0; k < e->n_terms; k++)
    for (const char *c = e->term[k]; *c; c++) {
      dots = dots || *c == '.';
      if (is_letter(*c))
        seen[(int)*c]++;
    }
  str_put(&text, dots ? "..." : "");
  for (char c = 'A'; c <= 'z'; c++)
    if (seen[(int)c] == 1)
      str_putc(&text, c);
  return text.data;
}

/* Parts the equation. False where it has not the form of one: the op says why. */
static bool read_equation(Equation *e) {
  Arena *arena = e->n->im->ctx->arena;
  Str text = str_new(arena);
  for (const char *c = e->equation; *c; c++)
    if (*c != ' ')
      str_putc(&text, *c);
  const char *arrow = strstr(text.data, "->"), *end = arrow ? arrow : text.data + text.len;
  e->term = ARENA_ARRAY(arena, const char *, e->n->n_inputs);
  for (const char *c = text.data;; c++) {
    size_t len = strcspn(c, ",");
    len = c + len > end ? (size_t)(end - c) : len;
    if (e->n_terms == e->n->n_inputs)
      return false;
    e->term[e->n_terms++] = arena_strndup(arena, c, len);
    c += len;
    if (c == end)
      break;
  }
  e->result = arrow ? arrow + 2 : implied_result(e);
  return e->n_terms == e->n->n_inputs;
}

static Value *einsum(ImportNode *n, const char *equation, Value *const *operands, int count) {
  Op *op = node_op(n, OP_EINSUM, operands, count);
  op_set_text(n->im->ctx, op, "equation", equation);
  return node_finish(n, op);
}

/* True where the letter, or '.' for the axes without one, is in the result or a term behind the first k. */
static bool is_wanted(const Equation *e, int k, char c) {
  for (; k < e->n_terms; k++)
    if (strchr(e->term[k], c))
      return true;
  return strchr(e->result, c) != NULL;
}

/* What is left of the terms a and b, which are multiplied, for the terms from k on. */
static const char *product_term(const Equation *e, const char *a, const char *b, int k) {
  Str text = str_new(e->n->im->ctx->arena);
  bool put[128] = {false};
  str_put(&text, (strchr(a, '.') || strchr(b, '.')) && is_wanted(e, k, '.') ? "..." : "");
  for (int side = 0; side < 2; side++)
    for (const char *c = side == 0 ? a : b; *c; c++)
      if (is_letter(*c) && !put[(int)*c] && is_wanted(e, k, *c)) {
        put[(int)*c] = true;
        str_putc(&text, *c);
      }
  return text.data;
}

/* A permutation of axes is a view. NULL where the equation is another. */
static Value *as_transpose(const Equation *e, Value *v) {
  const char *from = e->term[0];
  int64_t perm[WEFT_MAX_RANK];
  int rank = node_rank(v);
  if ((int)strlen(from) != rank || (int)strlen(e->result) != rank)
    return NULL;
  for (int k = 0; k < rank; k++) {
    const char *at = strchr(from, e->result[k]);
    if (!at || !is_letter(*at) || strchr(at + 1, *at) || strchr(e->result + k + 1, *at))
      return NULL;
    perm[k] = at - from;
  }
  return node_transpose(e->n, v, perm);
}

bool onnx_einsum(ImportNode *n) {
  Arena *arena = n->im->ctx->arena;
  Equation e = {.n = n, .equation = node_text(n, "equation")};
  Value **v = ARENA_ARRAY(arena, Value *, n->n_inputs);
  for (int k = 0; k < n->n_inputs; k++)
    v[k] = node_in(n, k);
  if (!e.equation)
    return node_error(n, WEFT_MALFORMED, "attribute 'equation' is missing");
  if (n->failed)
    return false;
  bool good = read_equation(&e);
  Value *view = good && e.n_terms == 1 ? as_transpose(&e, v[0]) : NULL;
  if (view)
    return node_result(n, 0, view);
  if (!good || e.n_terms <= 2)
    return node_result(n, 0, einsum(n, e.equation, v, n->n_inputs));
  Value *product = v[0];
  const char *term = e.term[0];
  for (int k = 1; k < e.n_terms; k++) {
    const char *left = k + 1 < e.n_terms ? product_term(&e, term, e.term[k], k + 1) : e.result;
    product = einsum(n, arena_printf(arena, "%s,%s->%s", term, e.term[k], left), (Value *[]){product, v[k]}, 2);
    term = left;
  }
  return node_result(n, 0, product);
}
