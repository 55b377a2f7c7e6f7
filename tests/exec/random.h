/* What the sweeps share: random numbers, layouts and tensors, a pipeline of passes, and comparison. */
#ifndef WEFT_TESTS_EXEC_RANDOM_H
#define WEFT_TESTS_EXEC_RANDOM_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "codegen/codegen.h"
#include "ir/tensor.h"
#include "lower/loop_passes.h"
#include "lower/lower.h"
#include "runtime/model.h"

static uint64_t state;

static inline uint64_t next_random(void) { /* xorshift64*, Vigna 2016 */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 2685821657736338717ull;
}

static inline int64_t between(int64_t lo, int64_t hi) {
  return lo + (int64_t)((next_random() >> 33) % (uint64_t)(hi - lo + 1));
}
static inline int64_t one_of(const int64_t *values, int n) {
  return values[between(0, n - 1)];
}

/* ---- random layouts ---- */

static inline void shuffle(Digit *d, int n) {
  for (int k = n - 1; k > 0; k--) {
    int j = (int)between(0, k);
    Digit t = d[k];
    d[k] = d[j];
    d[j] = t;
  }
}

/* Any order of digits; axes split at random where blocked. */
static inline const Layout *random_layout(Ctx *ctx, int rank, bool blocked) {
  static const int64_t sizes[] = {2, 3, 4, 8};
  Digit d[WEFT_MAX_DIGITS];
  int n = 0;
  for (int a = 0; a < rank; a++) {
    int64_t div = 1;
    int splits = blocked && between(0, 2) == 0 ? (int)between(1, 2) : 0;
    for (int k = 0; k < splits; k++) {
      int64_t size = one_of(sizes, 4);
      d[n++] = (Digit){a, div, size};
      div *= size;
    }
    d[n++] = (Digit){a, div, 0};
  }
  shuffle(d, n);
  const Layout *layout = layout_get(ctx, rank, d, n, PAD_ANY);
  WEFT_ASSERT(layout);
  return layout;
}

/* The layout, one time in two with a halo on some of the axes that are not split. */
static inline const Layout *with_random_halo(Ctx *ctx, const Layout *layout) {
  Halo halo[WEFT_MAX_RANK] = {0};
  bool any = between(0, 1);
  for (int a = 0; a < layout->rank; a++)
    if (any && layout_block(layout, a) == 1 && between(0, 2) > 0)
      halo[a] = (Halo){between(0, 6), between(0, 6)};
  return layout_with_halo(ctx, layout, halo);
}

/* ---- tensors ---- */

/* Floats in -1..1, integers in -100..100 as far as the type has them, indices of an axis of this extent. */
static inline void fill(Tensor *t, int64_t extent) {
  for (int64_t k = 0; k < t->n; k++) {
    double v = (double)between(-1000, 1000) / 1000.0;
    if (extent)
      v = (double)between(dtype_is_signed(t->dtype) ? -extent : 0, extent - 1);
    else if (!dtype_is_float(t->dtype))
      v = (double)between(-100, 100);
    tensor_set(t, k, v);
  }
}

/* |a - b| <= atol + rtol*|b|, equal where both are 0; a NaN is one in both. */
typedef struct {
  double rtol, atol;
} Tolerance;

/* In units of the tolerance. */
static inline double largest_error(const Tensor *got, const Tensor *expected, Tolerance t) {
  double worst = 0;
  for (int64_t k = 0; k < expected->n; k++) {
    double a = tensor_get(got, k), b = tensor_get(expected, k);
    double e = a == b || (isnan(a) && isnan(b)) ? 0
               : isnan(a) || isnan(b)           ? (double)INFINITY
                                                : fabs(a - b) / (t.atol + t.rtol * fabs(b));
    worst = e > worst ? e : worst;
  }
  return worst;
}

static inline bool run_pipeline(Unit *unit, const char *text, Str *log) {
  Pipeline pipeline = {0};
  PipelineOptions options = {.verify_each = true};
  return pipeline_parse(unit->ctx, &all_passes, text, &pipeline) &&
         pipeline_run(unit, &all_passes, &pipeline, &options, log);
}

#endif
