/* The steps of reductions. See reduction.h. */
#include <math.h>

#include "ir/reduction.h"

#define SUM {.step = "acc + x"}
#define MEAN {.step = "acc + x", .mean = true}
#define PRODUCT {.step = "acc * x", .start = START_ONE}
/* A NaN stays: as acc by the outer select, as x because max(acc, x) is x unless acc > x. */
#define MAX {.step = "select(acc != acc, acc, max(acc, x))", .step_bool = "select(x, x, acc)", .start = START_LOWEST}
#define MIN {.step = "select(acc != acc, acc, min(acc, x))", .step_bool = "select(x, acc, x)", .start = START_HIGHEST}

const Reduction reduction_sum = SUM, reduction_product = PRODUCT, reduction_max = MAX, reduction_min = MIN;

static const Reduction reductions[OP_COUNT] = {
    [OP_REDUCE_SUM] = SUM,     [OP_REDUCE_MEAN] = MEAN,   [OP_REDUCE_PROD] = PRODUCT, [OP_REDUCE_MAX] = MAX,
    [OP_REDUCE_MIN] = MIN,     [OP_MAX_POOL1D] = MAX,     [OP_MAX_POOL2D] = MAX,      [OP_MAX_POOL3D] = MAX,
    [OP_AVG_POOL1D] = MEAN, [OP_AVG_POOL2D] = MEAN, [OP_AVG_POOL3D] = MEAN,
};

const Reduction *reduction_of(const OpDef *def) {
  WEFT_ASSERT(reductions[def->code].step);
  return &reductions[def->code];
}

bool reduction_expect_type(Ctx *ctx, const Op *op) {
  const Type *type = op->operands[0]->type;
  if (op_types_hold(op->def->types, type->dtype))
    return true;
  return diag_error(ctx->diags, WEFT_UNSUPPORTED, op->loc, "%s: operand '%s' is %s; this op takes %s", op->def->name,
                    op->def->operands[0].name, type_text(ctx, type), op_types_text(ctx, op->def->types));
}

/* The lowest (or highest) number of a compute type. */
static const Scalar *extreme(Ctx *ctx, DType type, bool highest) {
  if (dtype_is_float(type))
    return scalar_const_typed(ctx, type, highest ? INFINITY : -INFINITY);
  if (type == DT_BOOL)
    return scalar_const_int(ctx, type, highest);
  int bits = 8 * (int)dtype_size(type);
  if (!dtype_is_signed(type))
    return scalar_const_int(ctx, type, !highest ? 0 : bits == 64 ? -1 : ((int64_t)1 << bits) - 1);
  int64_t lowest = bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1));
  return scalar_const_int(ctx, type, highest ? -(lowest + 1) : lowest);
}

const Scalar *reduction_start(Ctx *ctx, const Reduction *r, DType type) {
  switch (r->start) {
  case START_ZERO:
    return scalar_const_typed(ctx, type, 0);
  case START_ONE:
    return scalar_const_typed(ctx, type, 1);
  default:
    return extreme(ctx, type, r->start == START_HIGHEST);
  }
}

const Scalar *reduction_step(Ctx *ctx, const Reduction *r, const Scalar *acc, const Scalar *x) {
  const char *names[2] = {"acc", "x"}, *why = NULL;
  const Scalar *values[2] = {acc, x};
  const Scalar *s = scalar_parse(ctx, x->dtype == DT_BOOL ? r->step_bool : r->step, names, values, 2, &why);
  if (!s)
    weft_bug(__FILE__, __LINE__, "step of a reduction: %s", why);
  return s;
}

const Scalar *reduction_finish(Ctx *ctx, const Reduction *r, const Scalar *acc, const Scalar *count) {
  return r->mean ? scalar_make2(ctx, SC_DIV, acc, count) : acc;
}

Reducer reducer_new(Ctx *ctx, const Reduction *r, DType type) {
  const Scalar *acc = scalar_arg_typed(ctx, 0, type), *other = scalar_arg_typed(ctx, 1, type);
  Reducer reducer = {.type = type};
  reducer.step = reduction_step(ctx, r, acc, other);
  reducer.finish = reduction_finish(ctx, r, acc, other);
  reducer.start = scalar_eval_reference(reduction_start(ctx, r, type), NULL);
  return reducer;
}

void reducer_begin(Reducer *r) {
  r->acc = r->start;
}

void reducer_add(Reducer *r, ScalarValue x) {
  ScalarValue args[2] = {r->acc, x};
  r->acc = scalar_eval_reference(r->step, args);
}

ScalarValue reducer_end(const Reducer *r, int64_t count) {
  ScalarValue args[2] = {r->acc, {.i = count}};
  if (dtype_is_float(r->type))
    args[1].f = (double)count;
  return scalar_eval_reference(r->finish, args);
}
