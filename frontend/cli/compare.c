/* See compare.h. */
#include "frontend/cli/compare.h"

#include <math.h>

static bool close_enough(double a, double b, double rtol, double atol) {
  if (isnan(a) || isnan(b))
    return isnan(a) && isnan(b);
  if (isinf(a) || isinf(b))
    return a == b;
  return fabs(a - b) <= atol + rtol * fabs(b);
}

Difference tensor_compare(const Tensor *got, const Tensor *expected, double rtol, double atol) {
  Difference d = {.first = -1};
  if (!dtype_is_float(expected->dtype))
    rtol = atol = 0;
  for (int64_t k = 0; k < expected->n; k++) {
    double a = tensor_get(got, k), b = tensor_get(expected, k), diff = fabs(a - b);
    if (diff > d.max_abs)
      d.max_abs = diff;
    if (b != 0 && diff / fabs(b) > d.max_rel)
      d.max_rel = diff / fabs(b);
    if (close_enough(a, b, rtol, atol))
      continue;
    if (d.first < 0)
      d.first = k;
    d.wrong++;
  }
  return d;
}
