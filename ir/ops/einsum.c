/* einsum: result[labels of the result] = sum over all other labels of the product of the operands, each at its labels
 * (ir/ops/einsum.h). A label twice in one operand takes its diagonal. Integers wrap. */
#include "ir/ops/einsum.h"

/* ---- the equation ---- */

typedef struct {
  const char *start, *end;
  int letters; /* axes with a letter */
  bool dots;
} Term;

typedef struct {
  Ctx *ctx;
  const Op *op;
  const char *equation;
  Term term[EINSUM_MAX_OPERANDS], result;
  int n_terms, n_dots; /* n_dots: axes of "...", the most of any operand */
  bool arrow;
  int label[128], seen[128]; /* by letter: its label, and how often it occurs in the operands */
} Reader;

#define FAIL(r, ...)                                                                                                   \
  diag_error((r)->ctx->diags, WEFT_MALFORMED, (r)->op->loc, "einsum: equation '%.80s': %s", (r)->equation,             \
             arena_printf((r)->ctx->arena, __VA_ARGS__))

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A term from *at to the next ',' or "->" or the end. */
static bool read_term(Reader *r, const char **at, Term *t) {
  const char *c = *at;
  *t = (Term){.start = c};
  for (; *c && *c != ',' && *c != '-'; c++) {
    if (is_letter(*c)) {
      t->letters++;
    } else if (strncmp(c, "...", 3) == 0) {
      if (t->dots)
        return FAIL(r, "'...' stands twice in one term");
      t->dots = true;
      c += 2;
    } else if (*c != ' ') {
      return FAIL(r, "character %d is neither a letter, nor of '...', ',' or '->'", (int)(c - r->equation) + 1);
    }
  }
  t->end = *at = c;
  return true;
}

static bool read_terms(Reader *r) {
  const char *at = r->equation;
  for (;; at++) {
    if (r->n_terms == EINSUM_MAX_OPERANDS)
      return diag_error(r->ctx->diags, WEFT_UNSUPPORTED, r->op->loc,
                        "einsum: the equation has more than %d operands; split it", EINSUM_MAX_OPERANDS);
    if (!read_term(r, &at, &r->term[r->n_terms++]))
      return false;
    if (*at != ',')
      break;
  }
  if (r->n_terms != r->op->n_operands)
    return FAIL(r, "it is of %d operands, but %d are given", r->n_terms, r->op->n_operands);
  if (!*at)
    return true;
  if (at[1] != '>')
    return FAIL(r, "character %d is a '-' without '>'", (int)(at - r->equation) + 1);
  at += 2;
  r->arrow = true;
  return read_term(r, &at, &r->result) && (!*at || FAIL(r, "more than one term behind '->'"));
}

/* The axes that the dots of operand k stand for. */
static int dots_of(const Reader *r, int k) {
  return r->op->operands[k]->type->rank - r->term[k].letters;
}

static bool count_axes(Reader *r) {
  for (int k = 0; k < r->n_terms; k++) {
    const Type *type = r->op->operands[k]->type;
    int dots = dots_of(r, k);
    if (dots < 0 || (dots > 0 && !r->term[k].dots))
      return FAIL(r, "it names %d axes of operand %d, which is %s", r->term[k].letters, k + 1, type_text(r->ctx, type));
    r->n_dots = dots > r->n_dots ? dots : r->n_dots;
  }
  return true;
}

/* ---- labels ---- */

static bool join_extent(Reader *r, Einsum *e, int label, Dim extent, int k) {
  Dim *known = &e->extent[label];
  int64_t a, b;
  if (!*known || (expr_is_const(*known, &a) && a == 1))
    *known = extent;
  else if (expr_is_const(*known, &a) && expr_is_const(extent, &b) && a != b && b != 1)
    return FAIL(r, "operand %d, which is %s, has extent %lld where another has %lld", k + 1,
                type_text(r->ctx, r->op->operands[k]->type), (long long)b, (long long)a);
  return true;
}

/* The labels of one operand's axes. Dots have the labels 0..n_dots-1, the last axis the last one. */
static bool label_operand(Reader *r, Einsum *e, int k) {
  const Term *t = &r->term[k];
  const Type *type = r->op->operands[k]->type;
  int axis = 0, dots = dots_of(r, k);
  for (const char *c = t->start; c < t->end; c++) {
    if (*c == '.') {
      for (int d = 0; d < dots; d++)
        e->operand[k][axis++] = r->n_dots - dots + d;
      c += 2;
    } else if (is_letter(*c)) {
      int *label = &r->label[(int)*c];
      if (!r->seen[(int)*c]++) {
        if (e->n_labels == EINSUM_MAX_LABELS)
          return diag_error(r->ctx->diags, WEFT_UNSUPPORTED, r->op->loc,
                            "einsum: the equation has more than %d axes; split it", EINSUM_MAX_LABELS);
        *label = e->n_labels++;
      }
      e->operand[k][axis++] = *label;
    }
  }
  WEFT_ASSERT(axis == type->rank);
  for (int j = 0; j < type->rank; j++)
    if (!join_extent(r, e, e->operand[k][j], type->dims[j], k))
      return false;
  return true;
}

static bool add_to_result(Reader *r, Einsum *e, int label) {
  if (e->rank == WEFT_MAX_RANK)
    return diag_error(r->ctx->diags, WEFT_UNSUPPORTED, r->op->loc,
                      "einsum: the result has more than %d axes, which is the most possible", WEFT_MAX_RANK);
  if (!e->summed[label])
    return FAIL(r, "the result has an axis twice");
  e->summed[label] = false;
  e->result[e->rank++] = label;
  return true;
}

static bool add_dots(Reader *r, Einsum *e) {
  for (int d = 0; d < r->n_dots; d++)
    if (!add_to_result(r, e, d))
      return false;
  return true;
}

static bool label_result(Reader *r, Einsum *e) {
  const Term *t = &r->result;
  if (!r->arrow) {
    if (!add_dots(r, e))
      return false;
    for (char c = 'A'; c <= 'z'; c++)
      if (r->seen[(int)c] == 1 && !add_to_result(r, e, r->label[(int)c]))
        return false;
    return true;
  }
  for (const char *c = t->start; c < t->end; c++) {
    if (*c == '.') {
      if (!add_dots(r, e))
        return false;
      c += 2;
    } else if (is_letter(*c)) {
      if (!r->seen[(int)*c])
        return FAIL(r, "axis '%c' of the result is in no operand", *c);
      if (!add_to_result(r, e, r->label[(int)*c]))
        return false;
    }
  }
  return true;
}

bool einsum_read(Ctx *ctx, const Op *op, Einsum *e) {
  Reader r = {.ctx = ctx, .op = op, .equation = op_text(op, "equation")};
  *e = (Einsum){.n_operands = op->n_operands};
  if (!read_terms(&r) || !count_axes(&r))
    return false;
  e->n_labels = r.n_dots;
  for (int k = 0; k < r.n_terms; k++)
    if (!label_operand(&r, e, k))
      return false;
  memset(e->summed, true, sizeof e->summed);
  return label_result(&r, e);
}

/* ---- the op ---- */

/* The products are counted in 64 bits. */
static bool check_count(Ctx *ctx, const Op *op, const Einsum *e) {
  int64_t count = 1, extent;
  for (int label = 0; label < e->n_labels; label++)
    if (expr_is_const(e->extent[label], &extent) && !mul_i64(count, extent ? extent : 1, &count))
      return diag_error(ctx->diags, WEFT_UNSUPPORTED, op->loc, "einsum: equation '%.80s' has more than 2^63 products",
                        op_text(op, "equation"));
  return true;
}

const Type *einsum_infer(Ctx *ctx, const Op *op) {
  Einsum e;
  if (!op_expect_types(ctx, op, "fi") || !einsum_read(ctx, op, &e) || !check_count(ctx, op, &e))
    return NULL;
  Dim dims[WEFT_MAX_RANK];
  for (int k = 0; k < e.rank; k++)
    dims[k] = e.extent[e.result[k]];
  return op_result_type(ctx, op, op->operands[0]->type->dtype, e.rank, dims);
}

#define ENOUGH_READS 8 /* of each element, that a copy pays */

/* How often an element of operand k is read at least. */
static int64_t reads_of(const Einsum *e, int k, int rank) {
  int64_t reads = 1;
  for (int label = 0; label < e->n_labels; label++) {
    bool own = false;
    for (int j = 0; j < rank; j++)
      own = own || e->operand[k][j] == label;
    int64_t extent = own ? 1 : e->extent[label]->lo;
    reads = extent < ENOUGH_READS ? reads * extent : ENOUGH_READS;
    if (reads == 0 || reads >= ENOUGH_READS)
      return reads;
  }
  return reads;
}

/* Vectors run along the result's last axis: it lies last in the operands that have it, where they are constants or read
 * so often that a copy pays. */
void einsum_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  Einsum e;
  WEFT_ASSERT(einsum_read(ctx, op, &e));
  plan->result = layout_row_major(ctx, e.rank);
  plan->why = "row-major: vectors along its last axis";
  for (int k = 0; k < op->n_operands && e.rank > 0; k++) {
    int rank = op->operands[k]->type->rank, perm[WEFT_MAX_RANK], n = 0, last = -1;
    for (int j = 0; j < rank; j++)
      last = e.operand[k][j] == e.result[e.rank - 1] ? j : last;
    if (last < 0 || layout_innermost_axis(plan->operand[k]) == last ||
        (!plan->constant[k] && reads_of(&e, k, rank) < ENOUGH_READS))
      continue;
    for (int j = 0; j < rank; j++)
      if (j != last)
        perm[n++] = j;
    perm[n++] = last;
    plan->operand[k] = layout_permutation(ctx, n, perm);
  }
}

/* How far one step of a label moves in an operand, row-major; an axis that stretches stays. */
static void label_strides(const Einsum *e, int k, const Tensor *t, const int64_t *extent, int64_t *stride) {
  memset(stride, 0, EINSUM_MAX_LABELS * sizeof *stride);
  int64_t step = 1;
  for (int j = t->rank - 1; j >= 0; j--) {
    int label = e->operand[k][j];
    stride[label] += t->shape[j] == extent[label] ? step : 0;
    step *= t->shape[j];
  }
}

typedef struct {
  int n_operands, n_loops, n_outer;
  int64_t extent[EINSUM_MAX_LABELS], index[EINSUM_MAX_LABELS];
  int64_t stride[EINSUM_MAX_OPERANDS][EINSUM_MAX_LABELS], at[EINSUM_MAX_OPERANDS];
} Walk;

/* The next point of loops lo..hi-1, the last one fastest. False where they start over. */
static bool walk_next(Walk *w, int lo, int hi) {
  for (int l = hi - 1; l >= lo; l--) {
    bool more = ++w->index[l] < w->extent[l];
    for (int k = 0; k < w->n_operands; k++)
      w->at[k] += more ? w->stride[k][l] : -(w->extent[l] - 1) * w->stride[k][l];
    if (more)
      return true;
    w->index[l] = 0;
  }
  return false;
}

static void add_loop(Walk *w, const Einsum *e, int label, const int64_t *extent,
                     int64_t stride[EINSUM_MAX_OPERANDS][EINSUM_MAX_LABELS]) {
  w->extent[w->n_loops] = extent[label];
  for (int k = 0; k < e->n_operands; k++)
    w->stride[k][w->n_loops] = stride[k][label];
  w->n_loops++;
}

static void sum_products(Walk *w, const Tensor *const *in, int64_t terms, Tensor *out, int64_t i) {
  bool is_float = dtype_is_float(out->dtype);
  double sum = 0;
  uint64_t bits = 0; /* wraps: the low bits are those of the result */
  for (int64_t t = 0; t < terms; t++) {
    double product = 1;
    uint64_t wrapped = 1;
    for (int k = 0; k < w->n_operands; k++)
      if (is_float)
        product *= tensor_get(in[k], w->at[k]);
      else
        wrapped *= (uint64_t)tensor_value(in[k], w->at[k]).i;
    sum += product;
    bits += wrapped;
    walk_next(w, w->n_outer, w->n_loops);
  }
  if (is_float)
    tensor_set(out, i, sum);
  else
    tensor_set_value(out, i, (ScalarValue){.i = (int64_t)bits});
}

void einsum_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  Einsum e;
  WEFT_ASSERT(einsum_read(ctx, op, &e));
  int64_t extent[EINSUM_MAX_LABELS], stride[EINSUM_MAX_OPERANDS][EINSUM_MAX_LABELS], terms = 1;
  for (int label = 0; label < e.n_labels; label++)
    extent[label] = expr_value(e.extent[label]);
  for (int k = 0; k < e.n_operands; k++)
    label_strides(&e, k, in[k], extent, stride[k]);
  Walk w = {.n_operands = e.n_operands};
  for (int j = 0; j < e.rank; j++)
    add_loop(&w, &e, e.result[j], extent, stride);
  w.n_outer = w.n_loops;
  for (int label = 0; label < e.n_labels; label++)
    if (e.summed[label]) {
      add_loop(&w, &e, label, extent, stride);
      terms *= extent[label];
    }
  for (int64_t i = 0; i < out->n; i++) {
    sum_products(&w, in, terms, out, i);
    walk_next(&w, 0, w.n_outer);
  }
}
