/* max_poolNd_indices: where max_poolNd of the same attributes finds its results: the place of the largest element of
 * each window of data, counted in row-major order over all axes of data; of equal ones the first, of NaN the first NaN;
 * -1 for a window all of whose taps miss the data. Windows: ir/ops/window_reduce.c. */
#include "ir/ops/window_reduce.h"

const Type *window_index_infer(Ctx *ctx, const Op *op) {
  return op_expect_types(ctx, op, "fi") ? window_result(ctx, op, DT_I64) : NULL;
}

void window_index_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  window_reduce_layout(ctx, op, plan);
}

typedef struct {
  const Tensor *x;
  const Op *op;
  const Scalar *larger;
  const int64_t *at; /* of the window, in the result */
  int64_t best;      /* place, -1: none yet */
} Search;

/* The taps along spatial axis k and those behind it; place: that of the axes before, in data. */
static void search(Search *s, int k, int64_t place) {
  if (k == s->op->def->spatial) {
    if (s->best >= 0) {
      const ScalarValue both[2] = {tensor_value(s->x, place), tensor_value(s->x, s->best)};
      if (!scalar_eval_reference(s->larger, both).i)
        return;
    }
    s->best = place;
    return;
  }
  Window w = window_of(s->op, k);
  int64_t extent = s->x->shape[2 + k];
  for (int64_t tap = 0; tap < w.kernel; tap++) {
    int64_t i = s->at[2 + k] * w.stride - w.begin + tap * w.dilation;
    if (i >= 0 && i < extent)
      search(s, k + 1, place * extent + i);
  }
}

void window_index_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  DType type = dtype_compute(in[0]->dtype);
  int64_t at[WEFT_MAX_RANK] = {0};
  Search s = {.x = in[0], .op = op, .at = at};
  s.larger = op_larger(ctx, scalar_arg_typed(ctx, 0, type), scalar_arg_typed(ctx, 1, type));
  for (int64_t i = 0; i < out->n; i++) {
    s.best = -1;
    search(&s, 0, at[0] * in[0]->shape[1] + at[1]);
    tensor_set_value(out, i, (ScalarValue){.i = s.best});
    tensor_next_index(out, at);
  }
}
