/* How far apart the results of two right ways to compute a thing may lie: docs/verify.md, section Tolerance.
 *
 * A sum of K products computed in floats differs from the exact one by about eps * sqrt(K) * sum|a||b| (the bound is K
 * instead of its root; rounding errors are of either sign). sum|a||b| is the op itself on the absolute values of its
 * operands, K the op on ones: so both are had of every contraction without knowing which it is. */
#include <math.h>

#include "lower/self_check_impl.h"

#define NOISE_WINDOW 16  /* elements to either side that one sample of the noise speaks for */
#define NOISE_SAMPLES 32 /* at least so many per result, */
#define NOISE_RUNS 8     /* in at most so many runs */

double check_epsilon(DType dtype) {
  switch (dtype) {
  case DT_F64:
    return 0x1p-53;
  case DT_F32:
    return 0x1p-24;
  case DT_F16:
    return 0x1p-11;
  case DT_BF16:
    return 0x1p-8;
  default:
    return 0;
  }
}

/* ---- contractions ---- */

/* t with `change` done to each element; t itself where it is no tensor of floats. */
static const Tensor *changed(Evaluator *e, const Tensor *t, double (*change)(double)) {
  if (!t || !dtype_is_float(t->dtype))
    return t;
  Tensor *copy = tensor_new(e->ctx, t->dtype, t->rank, t->shape);
  for (int64_t i = 0; i < t->n; i++)
    tensor_set(copy, i, change(tensor_get(t, i)));
  return evaluator_intern(e, copy);
}

static double one(double x) {
  (void)x;
  return 1;
}

static const Tensor *on_changed(Evaluator *e, const Op *op, const Tensor *const *in, double (*change)(double)) {
  const Tensor **with = ARENA_ARRAY(e->ctx->arena, const Tensor *, op->n_operands);
  for (int k = 0; k < op->n_operands; k++)
    with[k] = changed(e, in[k], change);
  const Tensor *out = evaluator_op(e, op, with);
  WEFT_ASSERT(out);
  return out;
}

/* The most terms that an element of the result sums: the op on ones; a mean divides them away, so at least what the
 * first operand has per element of the result. */
static double terms(Evaluator *e, const Op *op, const Tensor *const *in, const Tensor *out) {
  double most = out->n ? ceil((double)in[0]->n / (double)out->n) : 1;
  if (op->n_operands > 1) {
    const Tensor *ones = on_changed(e, op, in, one);
    for (int64_t i = 0; i < ones->n; i++) {
      double n = tensor_get(ones, i);
      most = n > most ? n : most;
    }
  }
  return most > 1 ? most : 1;
}

static const double *contraction(Evaluator *e, const Op *op, const Tensor *const *in, const Tensor *out, double scale) {
  DType compute = dtype_compute(out->dtype);
  double unit = scale * check_epsilon(compute) * sqrt(terms(e, op, in, out));
  double stored = compute == out->dtype ? 0 : scale * check_epsilon(out->dtype);
  const Tensor *size = on_changed(e, op, in, fabs);
  double *all = ARENA_ARRAY(e->ctx->arena, double, out->n);
  for (int64_t i = 0; i < out->n; i++) {
    double error = unit * fabs(tensor_get(size, i)) + stored * fabs(tensor_get(out, i));
    all[i] = isnan(error) ? 0 : error;
  }
  return all;
}

/* ---- samples at computed positions ---- */

/* A rounding error of a position, which is computed from `x` as (x + 1) times an extent. */
static double nudged(double x) {
  return x + 0x1p-23 * (1 + fabs(x));
}

/* As of a contraction, whose first operand alone is taken by its absolute values, and the change that rounding the
 * positions makes. */
static const double *sampling(Evaluator *e, const Op *op, const Tensor *const *in, const Tensor *out, double scale) {
  const Tensor **sizes = ARENA_ARRAY(e->ctx->arena, const Tensor *, op->n_operands);
  const Tensor **moved = ARENA_ARRAY(e->ctx->arena, const Tensor *, op->n_operands);
  for (int k = 0; k < op->n_operands; k++) {
    sizes[k] = k == 0 ? changed(e, in[k], fabs) : in[k];
    moved[k] = k == 0 ? in[k] : changed(e, in[k], nudged);
  }
  const Tensor *size = evaluator_op(e, op, sizes), *there = evaluator_op(e, op, moved);
  WEFT_ASSERT(size && there);
  double terms = exp2(2.0 * op->def->spatial); /* of a cubic: four along each axis */
  double unit = scale * check_epsilon(dtype_compute(out->dtype)) * sqrt(terms), stored = scale * check_epsilon(out->dtype);
  double *all = ARENA_ARRAY(e->ctx->arena, double, out->n);
  for (int64_t i = 0; i < out->n; i++) {
    double error = unit * fabs(tensor_get(size, i)) + stored * fabs(tensor_get(out, i)) +
                   scale * fabs(tensor_get(there, i) - tensor_get(out, i));
    all[i] = isnan(error) ? 0 : error;
  }
  return all;
}

const double *check_rounding(Evaluator *e, const Op *op, const Tensor *const *in, const double *const *errors,
                             const Tensor *out, double scale) {
  if (op->def->traits & OP_ELEMENTWISE)
    return check_elementwise(e->ctx, op, in, errors, out, scale);
  if (!dtype_is_float(out->dtype) || (op->def->traits & (OP_VIEW | OP_COPY | OP_LEAF | OP_MOVE)))
    return NULL;
  return op->def->traits & OP_POSITIONS ? sampling(e, op, in, out, scale) : contraction(e, op, in, out, scale);
}

/* ---- noise ---- */

/* t with every element off by its error, up or down. */
static const Tensor *disturbed(Evaluator *e, const Tensor *t, const double *error, uint64_t seed) {
  if (!error || !dtype_is_float(t->dtype))
    return t;
  Tensor *copy = tensor_new(e->ctx, t->dtype, t->rank, t->shape);
  for (int64_t i = 0; i < t->n; i++) {
    uint64_t h = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15ull;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
    tensor_set(copy, i, tensor_get(t, i) + (h >> 63 ? error[i] : -error[i]));
  }
  return copy;
}

/* The values of f where each op's result is off. */
static const Tensor **noisy_run(Evaluator *e, const Function *f, const Tensor *const *values,
                                const double *const *errors, uint64_t seed) {
  const Tensor **noisy = ARENA_ARRAY(e->ctx->arena, const Tensor *, f->n_values);
  Diags *diags = e->ctx->diags;
  e->ctx->diags = diags_create(e->ctx->arena); /* an index computed from floats may leave its range */
  for (size_t k = 0; k < f->params.len; k++)
    noisy[f->params.data[k]->id] = values[f->params.data[k]->id];
  for (const Op *op = f->first; op; op = op->next) {
    uint32_t id = op->result->id;
    const Tensor *out = evaluator_op(e, op, evaluator_operands(e, op, noisy));
    noisy[id] = disturbed(e, out ? out : values[id], errors[id], hash_bytes(seed, &id, sizeof id));
  }
  e->ctx->diags = diags;
  return noisy;
}

/* Raises each element to CHECK_C times the largest distance of a and b within the window around it, and to half of
 * that times the mean distance of all: a relu may hide what its neighbours show. */
static void add_distance(double *all, const Tensor *a, const Tensor *b) {
  double squares = 0;
  for (int64_t i = 0; a != b && i < a->n; i++) {
    double d = fabs(tensor_get(a, i) - tensor_get(b, i));
    squares += d > 0 && isfinite(d) ? d * d : 0;
    for (int64_t j = i - NOISE_WINDOW; d > 0 && j <= i + NOISE_WINDOW; j++)
      if (j >= 0 && j < a->n && all[j] < CHECK_C * d)
        all[j] = CHECK_C * d;
  }
  double floor = a->n ? CHECK_C / 2 * sqrt(squares / (double)a->n) : 0;
  for (int64_t i = 0; i < a->n; i++)
    all[i] = all[i] < floor ? floor : all[i];
}

static int noise_runs(const Function *f, const Tensor *const *values) {
  int64_t runs = 1;
  for (size_t k = 0; k < f->results.len; k++) {
    int64_t n = values[f->results.data[k].value->id]->n;
    if (n > 0 && ceildiv_i64(NOISE_SAMPLES, n) > runs)
      runs = ceildiv_i64(NOISE_SAMPLES, n);
  }
  return (int)(runs < NOISE_RUNS ? runs : NOISE_RUNS);
}

const double **check_noise(Evaluator *e, const Function *f, const Tensor *const *values, uint64_t seed) {
  const double **errors = ARENA_ARRAY(e->ctx->arena, const double *, f->n_values);
  for (const Op *op = f->first; op; op = op->next)
    errors[op->result->id] = check_rounding(e, op, evaluator_operands(e, op, values), NULL, values[op->result->id], 1);
  double **all = ARENA_ARRAY(e->ctx->arena, double *, f->results.len);
  for (size_t k = 0; k < f->results.len; k++)
    all[k] = ARENA_ARRAY(e->ctx->arena, double, values[f->results.data[k].value->id]->n);
  for (int run = noise_runs(f, values); run > 0; run--) {
    const Tensor **noisy = noisy_run(e, f, values, errors, seed + (uint64_t)run);
    for (size_t k = 0; k < f->results.len; k++) {
      uint32_t id = f->results.data[k].value->id;
      add_distance(all[k], noisy[id], values[id]);
    }
  }
  return (const double **)all;
}
