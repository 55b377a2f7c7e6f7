/* Comparing results with what was expected: |a - b| <= atol + rtol*|b|, NaN equal to NaN, infinities by sign, integers
 * exactly; shapes and element types equal. */
#ifndef WEFT_FRONTEND_CLI_COMPARE_H
#define WEFT_FRONTEND_CLI_COMPARE_H

#include "ir/tensor.h"

typedef struct {
  int64_t wrong;           /* elements beyond the tolerance */
  int64_t first;           /* the first of them */
  double max_abs, max_rel; /* over all elements */
} Difference;

Difference tensor_compare(const Tensor *got, const Tensor *expected, double rtol, double atol);

#endif
