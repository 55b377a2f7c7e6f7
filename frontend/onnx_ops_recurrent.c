/* RNN, GRU and LSTM: an op of weft for each direction; its result holds the states at all times, which the three
 * outputs are cut from. Activations become texts in the scalar language. */
#include "frontend/onnx_ops.h"

#include <strings.h>

enum { X, W, R, BIASES, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLE };

typedef struct {
  OpCode code;
  int n_gates, n_activations, n_states;
  const char *activations[3]; /* by default */
} Layer;

static const Layer rnn = {OP_RNN, 1, 1, 1, {"Tanh"}};
static const Layer gru = {OP_GRU, 3, 2, 1, {"Sigmoid", "Tanh"}};
static const Layer lstm = {OP_LSTM, 4, 3, 2, {"Sigmoid", "Tanh", "Tanh"}};

/* ---- activations ---- */

/* The expression over x, alpha and beta is that of an op, or a text. n: how many of alpha, beta it has. */
static const struct {
  const char *name;
  OpCode op;
  const char *text;
  int n;
  double alpha, beta;
} functions[] = {{"Relu", OP_RELU, NULL, 0, 0, 0},
                 {"Tanh", OP_TANH, NULL, 0, 0, 0},
                 {"Sigmoid", OP_SIGMOID, NULL, 0, 0, 0},
                 {"Affine", OP_COUNT, "alpha * x + beta", 2, 1, 0},
                 {"LeakyRelu", OP_LEAKY_RELU, NULL, 1, 0.01, 0},
                 {"ThresholdedRelu", OP_THRESHOLDED_RELU, NULL, 1, 1, 0},
                 {"ScaledTanh", OP_COUNT, "alpha * tanh(beta * x)", 2, 1, 1},
                 {"HardSigmoid", OP_HARDSIGMOID, NULL, 2, 0.2, 0.5},
                 {"Elu", OP_ELU, NULL, 1, 1, 0},
                 {"Softsign", OP_SOFTSIGN, NULL, 0, 0, 0},
                 {"Softplus", OP_SOFTPLUS, NULL, 0, 0, 0}};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions, MAX_ACTIVATIONS = 6 };

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The expression with numbers for alpha and beta. */
static const char *with_numbers(ImportNode *n, const char *text, double alpha, double beta) {
  Str out = str_new(n->im->ctx->arena);
  while (*text) {
    size_t len = 1;
    while (is_word(*text) && is_word(text[len]))
      len++;
    bool is_alpha = len == 5 && memcmp(text, "alpha", 5) == 0, is_beta = len == 4 && memcmp(text, "beta", 4) == 0;
    if (is_alpha || is_beta)
      str_printf(&out, "(%.17g)", is_alpha ? alpha : beta);
    else
      str_putn(&out, text, len);
    text += len;
  }
  return out.data;
}

/* The functions of all directions, and their numbers: each takes those that it has from the lists, in turn. */
typedef struct {
  int n, function[MAX_ACTIVATIONS];
  double alpha[MAX_ACTIVATIONS], beta[MAX_ACTIVATIONS];
} Activations;

static int function_named(ImportNode *n, const char *name) {
  for (int k = 0; k < N_FUNCTIONS; k++)
    if (strcasecmp(functions[k].name, name) == 0)
      return k;
  node_error(n, WEFT_MALFORMED, "attribute 'activations' holds '%.40s', which is none of the standard's", name);
  return 0;
}

/* Function k's number is v[takers before it] or, where the list has one for each function, v[k]. */
static void take_numbers(ImportNode *n, const char *name, const Activations *a, int least, double *out) {
  Floats list = node_floats(n, name);
  int takers = 0, used = 0;
  for (int k = 0; k < a->n; k++)
    takers += functions[a->function[k]].n >= least;
  if (list.given && list.n > takers && list.n != a->n)
    node_error(n, WEFT_MALFORMED, "attribute '%s' has %d numbers, but the activations take %d", name, list.n, takers);
  for (int k = 0; k < a->n && !n->failed; k++) {
    int at = list.n > takers ? k : used;
    if (functions[a->function[k]].n < least)
      continue;
    out[k] = at < list.n ? list.v[at] : out[k];
    used++;
  }
}

static Activations read_activations(ImportNode *n, const Layer *layer, int directions) {
  Activations a = {.n = layer->n_activations * directions};
  Texts names = node_texts(n, "activations");
  if (names.given && names.n != a.n)
    node_error(n, WEFT_MALFORMED, "attribute 'activations' has %d names, expected %d: %d for each direction", names.n,
               a.n, layer->n_activations);
  for (int k = 0; k < a.n && !n->failed; k++) {
    a.function[k] = function_named(n, names.given ? names.v[k] : layer->activations[k % layer->n_activations]);
    a.alpha[k] = functions[a.function[k]].alpha;
    a.beta[k] = functions[a.function[k]].beta;
  }
  take_numbers(n, "activation_alpha", &a, 1, a.alpha);
  take_numbers(n, "activation_beta", &a, 2, a.beta);
  return a;
}

static void set_activations(ImportNode *n, Op *op, const Layer *layer, const Activations *a, int direction) {
  static const char *const names[] = {"f", "g", "h"};
  for (int j = 0; j < layer->n_activations; j++) {
    int k = direction * layer->n_activations + j, function = a->function[k];
    const char *text =
        functions[function].op == OP_COUNT ? functions[function].text : op_table[functions[function].op].expression;
    op_set_text(n->im->ctx, op, names[j], with_numbers(n, text, a->alpha[k], a->beta[k]));
  }
}

/* ---- one direction ---- */

typedef struct {
  const Layer *layer;
  int n_directions;
  bool backward, rows_first; /* backward: the first direction is; rows_first: the attribute `layout` */
  int64_t units, option;
  double clip;
  Activations activations;
  Value *in[PEEPHOLE + 1];
} Node;

/* What direction d has of operand k, in this shape; NULL where it is omitted. */
static Value *part(ImportNode *n, const Node *r, int k, int d, const int64_t *shape, int rank) {
  Value *v = r->in[k];
  return v ? node_reshape(n, node_slice(n, v, 0, d, d + 1), shape, rank) : NULL;
}

/* Half of the biases of direction d: that of the inputs, or that of the states. */
static Value *bias(ImportNode *n, const Node *r, int d, int half) {
  int64_t count = r->layer->n_gates * r->units, shape[2] = {r->layer->n_gates, r->units};
  Value *v = r->in[BIASES];
  if (!v)
    return NULL;
  v = node_slice(n, node_slice(n, v, 0, d, d + 1), 1, half * count, (half + 1) * count);
  return node_reshape(n, v, shape, 2);
}

/* The states of direction d: [T,B,H], or [2,T,B,H]. */
static Value *states_of(ImportNode *n, const Node *r, int d) {
  const Layer *layer = r->layer;
  int64_t rows = node_extent(r->in[X], 1), h = r->units, g = layer->n_gates;
  Value *operands[9], *lengths = r->in[LENGTHS];
  int count = 0;
  operands[count++] = r->in[X];
  operands[count++] = part(n, r, W, d, (int64_t[]){g, h, node_extent(r->in[W], 2)}, 3);
  operands[count++] = part(n, r, R, d, (int64_t[]){g, h, h}, 3);
  operands[count++] = bias(n, r, d, 0);
  operands[count++] = bias(n, r, d, 1);
  operands[count++] = part(n, r, INITIAL_H, d, (int64_t[]){rows, h}, 2);
  if (layer->n_states > 1) {
    operands[count++] = part(n, r, INITIAL_C, d, (int64_t[]){rows, h}, 2);
    operands[count++] = part(n, r, PEEPHOLE, d, (int64_t[]){3, h}, 2);
  }
  operands[count++] = lengths;
  if (n->failed)
    return NULL;
  Op *op = node_op(n, layer->code, operands, count);
  set_activations(n, op, layer, &r->activations, d);
  op_set_float(op, "clip", r->clip);
  op_set_int(op, "reverse", r->backward || d == 1);
  if (layer->code == OP_GRU)
    op_set_int(op, "linear_before_reset", r->option);
  if (layer->code == OP_LSTM)
    op_set_int(op, "input_forget", r->option);
  return node_finish(n, op);
}

/* ---- outputs ---- */

/* States [T,B,H] as a direction of Y, [T,1,B,H]: 0 from a row's length on. */
static Value *shown(ImportNode *n, const Node *r, Value *h) {
  int64_t times = node_extent(h, 0), rows = node_extent(h, 1);
  if (r->in[LENGTHS] && !n->failed) {
    Value *lengths = node_reshape(n, node_cast(n, r->in[LENGTHS], DT_I64), (int64_t[]){1, rows, 1}, 3);
    Value *runs = NODE_MAKE(n, OP_LESS, node_positions(n, times, 0, 3), lengths);
    h = NODE_MAKE(n, OP_WHERE, runs, h, node_number(n, h, 0));
  }
  return node_reshape(n, h, (int64_t[]){times, 1, rows, r->units}, 4);
}

/* The last state of a direction, [1,B,H]. */
static Value *last(ImportNode *n, const Node *r, Value *states, int d) {
  int64_t at = r->backward || d == 1 ? 0 : node_extent(states, 0) - 1;
  return node_slice(n, states, 0, at, at + 1);
}

static Value *rows_first(ImportNode *n, const Node *r, Value *v, const int64_t *perm) {
  return r->rows_first ? node_transpose(n, v, perm) : v;
}

static bool make_outputs(ImportNode *n, const Node *r) {
  static const int64_t all_times[] = {2, 0, 1, 3}, one_time[] = {1, 0, 2};
  Value *y[2], *ends[2][2];
  for (int d = 0; d < r->n_directions; d++) {
    Value *states = states_of(n, r, d);
    for (int s = 0; s < r->layer->n_states; s++) {
      Value *one = states;
      if (r->layer->n_states > 1)
        one = node_reshape(n, node_slice(n, states, 0, s, s + 1),
                           (int64_t[]){node_extent(states, 1), node_extent(states, 2), r->units}, 3);
      ends[s][d] = last(n, r, one, d);
      y[d] = s == 0 ? shown(n, r, one) : y[d];
    }
  }
  if (n->failed)
    return false;
  node_result(n, 0, rows_first(n, r, node_concat(n, y, r->n_directions, 1), all_times));
  for (int s = 0; s < r->layer->n_states; s++)
    node_result(n, 1 + s, rows_first(n, r, node_concat(n, ends[s], r->n_directions, 0), one_time));
  return !n->failed;
}

/* ---- the node ---- */

/* Operand k (present) has this shape; an extent of -1 may be any. */
static void expect(ImportNode *n, const Node *r, int k, const int64_t *shape, int rank) {
  const Value *v = r->in[k];
  if (!v || n->failed)
    return;
  bool same = node_rank(v) == rank;
  Str want = str_new(n->im->ctx->arena);
  for (int j = 0; j < rank; j++) {
    same = same && (shape[j] < 0 || node_extent(v, j) == shape[j]);
    if (shape[j] < 0)
      str_printf(&want, "%s?", j ? "," : "");
    else
      str_printf(&want, "%s%lld", j ? "," : "", (long long)shape[j]);
  }
  if (!same)
    node_error(n, WEFT_MALFORMED, "%s is %s, expected [%s]", node_in_text(n, k), type_text(n->im->ctx, v->type),
               want.data);
}

static void check_shapes(ImportNode *n, Node *r) {
  int64_t d = r->n_directions, g = r->layer->n_gates, hidden = node_int(n, "hidden_size", -1);
  if (!node_expect_rank(n, X, 3, 3) || !node_expect_rank(n, R, 3, 3))
    return;
  r->units = node_extent(r->in[R], 2);
  if (hidden >= 0 && hidden != r->units)
    node_error(n, WEFT_MALFORMED, "attribute 'hidden_size' is %lld, but %s is %s", (long long)hidden,
               node_in_text(n, R), type_text(n->im->ctx, r->in[R]->type));
  int64_t rows = node_extent(r->in[X], r->rows_first ? 0 : 1), h = r->units;
  int64_t states[] = {r->rows_first ? rows : d, r->rows_first ? d : rows, h};
  expect(n, r, W, (int64_t[]){d, g * h, node_extent(r->in[X], 2)}, 3);
  expect(n, r, R, (int64_t[]){d, g * h, h}, 3);
  expect(n, r, BIASES, (int64_t[]){d, 2 * g * h}, 2);
  expect(n, r, LENGTHS, &rows, 1);
  expect(n, r, INITIAL_H, states, 3);
  expect(n, r, INITIAL_C, states, 3);
  expect(n, r, PEEPHOLE, (int64_t[]){d, 3 * h}, 2);
  if (!n->failed && node_extent(r->in[X], r->rows_first ? 1 : 0) == 0)
    node_error(n, WEFT_UNSUPPORTED, "%s has no times", node_in_text(n, X));
}

static bool recurrent(ImportNode *n, const Layer *layer, const char *option) {
  static const int64_t swap[] = {1, 0, 2};
  int direction = node_word(n, "direction", "forward|reverse|bidirectional");
  Node r = {.layer = layer, .n_directions = direction == 2 ? 2 : 1, .backward = direction == 1};
  r.rows_first = n->im->opset >= 14 && node_flag(n, "layout", false);
  r.option = option && node_flag(n, option, false);
  r.clip = node_float(n, "clip", 0);
  if (node_attr(n, "clip") && !(r.clip > 0))
    node_error(n, WEFT_MALFORMED, "attribute 'clip' is %g, expected a limit above 0", r.clip);
  r.activations = read_activations(n, layer, r.n_directions);
  for (int k = 0; k < n->n_inputs; k++)
    r.in[k] = node_in(n, k);
  check_shapes(n, &r);
  if (n->failed)
    return false;
  for (int k = X; k <= INITIAL_C && r.rows_first; k++)
    if (r.in[k] && (k == X || k >= INITIAL_H))
      r.in[k] = node_transpose(n, r.in[k], swap);
  return make_outputs(n, &r);
}

bool onnx_rnn(ImportNode *n) {
  return recurrent(n, &rnn, NULL);
}
bool onnx_gru(ImportNode *n) {
  return recurrent(n, &gru, "linear_before_reset");
}
bool onnx_lstm(ImportNode *n) {
  return recurrent(n, &lstm, "input_forget");
}
