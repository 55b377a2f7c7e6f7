/* What reductions compute: the ops of the families reduce and window_reduce combine elements by one of these steps.
 *
 *   acc = start;  for every element x:  acc = step(acc, x);  the mean divides acc by the number of elements at the end
 *
 * A reduction of nothing is its start: 0 for sums, 1 for products, the lowest value of the type for max, the highest
 * for min (0/0 for the mean). max and min of floats give NaN where an element is NaN. Integers wrap. f16 and bf16 are
 * reduced in f32 and rounded once. */
#ifndef WEFT_IR_REDUCTION_H
#define WEFT_IR_REDUCTION_H

#include "ir/tensor.h"

typedef enum { START_ZERO, START_ONE, START_LOWEST, START_HIGHEST } ReductionStart;

typedef struct {
  const char *step;      /* scalar language over acc and x */
  const char *step_bool; /* the same for bool; NULL: not for bool */
  ReductionStart start;
  bool mean;
} Reduction;

/* For families that name one by an attribute. */
extern const Reduction reduction_sum, reduction_product, reduction_max, reduction_min;
/* The reduction of an op of the two families. */
const Reduction *reduction_of(const OpDef *def);
/* Reports where the op's operand 0 is of an element type that its row does not list. */
bool reduction_expect_type(Ctx *ctx, const Op *op);
/* In the compute type `type`. */
const Scalar *reduction_start(Ctx *ctx, const Reduction *r, DType type);
const Scalar *reduction_step(Ctx *ctx, const Reduction *r, const Scalar *acc, const Scalar *x);
/* acc, divided by count (of acc's type) for the mean. */
const Scalar *reduction_finish(Ctx *ctx, const Reduction *r, const Scalar *acc, const Scalar *count);

/* The reference: floats in double, integers exact. */
typedef struct {
  const Scalar *step, *finish; /* over arguments acc, x and acc, count */
  ScalarValue start, acc;
  DType type;
} Reducer;

Reducer reducer_new(Ctx *ctx, const Reduction *r, DType type);
void reducer_begin(Reducer *r);
void reducer_add(Reducer *r, ScalarValue x);
/* The result of a reduction of `count` elements. */
ScalarValue reducer_end(const Reducer *r, int64_t count);

#endif
