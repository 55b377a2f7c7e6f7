/* Which halo a convolution likes to read, and what it costs. See conv_halo.h.
 *
 * The cost is that of the axis where it is largest: lowering lets taps into the halo along the axes of vectors and tiles
 * only (schedule.c, choose_bounds), mostly one of the spatial ones. */
#include "ir/ops/conv_halo.h"

#include "ir/ops/conv_common.h"

#define MAX_TAPS 4096 /* along one axis: with more, the padding is not worth a thought */

static int64_t at_least_0(int64_t x) {
  return x < 0 ? 0 : x;
}

/* Numbers x with 0 <= x < n and lo <= x*step + offset < hi; step > 0. */
static int64_t count_between(int64_t n, int64_t step, int64_t offset, int64_t lo, int64_t hi) {
  int64_t first = at_least_0(ceildiv_i64(lo - offset, step)), end = ceildiv_i64(hi - offset, step);
  return at_least_0((end < n ? end : n) - first);
}

Halo conv_halo_axis(const HaloAxis *a, bool transposed) {
  if (a->output <= (transposed ? a->stride : 1))
    return (Halo){0, 0};
  int64_t reach = (a->kernel - 1) * a->dilation, first, last; /* inputs that are read */
  if (transposed) {
    first = ceildiv_i64(a->pad - reach, a->stride);
    last = floordiv_i64(a->output - 1 + a->pad, a->stride);
  } else {
    first = -a->pad;
    last = (a->output - 1) * a->stride - a->pad + reach;
  }
  return (Halo){at_least_0(-first), at_least_0(last - (a->input - 1))};
}

void conv_halo_taps(const HaloAxis *a, bool transposed, double *all, double *valid) {
  *all = *valid = 0;
  for (int64_t k = 0; k < a->kernel; k++) {
    int64_t offset = k * a->dilation - a->pad;
    if (transposed) {
      int64_t first = floormod_i64(offset, a->stride); /* the first output that tap k has part in */
      *all += (double)at_least_0(ceildiv_i64(a->output - first, a->stride));
      *valid += (double)count_between(a->input, a->stride, offset, 0, a->output);
    } else {
      *all += (double)a->output;
      *valid += (double)count_between(a->output, a->stride, offset, 0, a->input);
    }
  }
}

/* Of a constant that is not derived. Padding lanes are not looked at. */
static bool is_finite(const Constant *c) {
  Tensor walk = {.dtype = c->type->dtype, .rank = c->type->rank, .n = 1};
  int64_t index[WEFT_MAX_RANK] = {0};
  WEFT_ASSERT(type_shape(c->type, walk.shape));
  for (int k = 0; k < walk.rank; k++)
    walk.n *= walk.shape[k];
  if (layout_is_permutation(c->type->layout))
    return dtype_all_finite(walk.dtype, c->data, walk.n);
  size_t size = dtype_size(walk.dtype);
  bool finite = true;
  for (int64_t k = 0; k < walk.n && finite; k++, tensor_next_index(&walk, index)) {
    const char *at = (const char *)c->data + (size_t)layout_offset(c->type->layout, walk.shape, index) * size;
    finite = dtype_all_finite(walk.dtype, at, 1);
  }
  return finite;
}

bool conv_may_read_halo(const Op *op) {
  const Value *v = op->operands[CONV_KERNEL];
  while (v->def && (v->def->def->traits & OP_VIEW))
    v = v->def->operands[0];
  const Constant *kernel = op_root_constant(v);
  return kernel && is_finite(kernel);
}

void conv_plan_halo(const Op *op, LayoutPlan *plan, bool transposed) {
  if (!plan->halo)
    return;
  ConvAttrs attrs = conv_attrs(op);
  int64_t x[WEFT_MAX_RANK], w[WEFT_MAX_RANK], y[WEFT_MAX_RANK];
  if (!type_shape(op->operands[CONV_DATA]->type, x) || !type_shape(op->operands[CONV_KERNEL]->type, w) ||
      !type_shape(op->result->type, y))
    return;
  Halo halo[WEFT_MAX_RANK] = {0};
  double work = 1;
  bool any = false;
  for (int k = 0; k < attrs.spatial; k++) {
    HaloAxis axis = {attrs.strides[k], attrs.dilation[k], attrs.begin[k], w[k + 2], x[k + 2], y[k + 2]};
    double all, valid;
    if (axis.kernel > MAX_TAPS || axis.output < 1)
      return;
    halo[k + 2] = conv_halo_axis(&axis, transposed);
    if (halo[k + 2].lo + halo[k + 2].hi == 0)
      continue;
    any = true;
    conv_halo_taps(&axis, transposed, &all, &valid);
    if (valid == 0)
      return;
    work = all / valid > work ? all / valid : work;
  }
  if (!any || !conv_may_read_halo(op))
    return;
  memcpy(plan->halo, halo, sizeof halo);
  plan->halo_operand = CONV_DATA;
  plan->halo_work = work;
}
