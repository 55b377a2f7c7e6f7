/* Evaluation of scalar expressions: the reference, floats in double, and as compiled code does it. */
#include "ir/scalar_walk.h"

static ScalarValue remember(const Scalar *s, uint64_t walk, ScalarValue value) {
  Scalar *scratch = scalar_scratch(s);
  scratch->visit = walk;
  scratch->memo.value = value;
  return value;
}

static ScalarValue eval(const Scalar *s, const ScalarValue *args, uint64_t walk, bool reference) {
  if (s->op == SC_CONST)
    return dtype_is_float(s->dtype) ? (ScalarValue){.f = s->value} : (ScalarValue){.i = s->bits};
  if (s->op == SC_ARG)
    return args[s->index];
  if (s->visit == walk)
    return s->memo.value;
  ScalarValue v[3] = {{0}}, value;
  for (int k = 0; k < s->n; k++)
    v[k] = eval(s->args[k], args, walk, reference);
  DType operands = s->args[s->n - 1]->dtype;
  value = (reference ? scalar_apply_reference : scalar_apply)(s->op, operands, s->dtype, v);
  return remember(s, walk, value);
}

ScalarValue scalar_eval_reference(const Scalar *s, const ScalarValue *args) {
  return eval(s, args, scalar_walk_number(), true);
}

ScalarValue scalar_eval_compiled(const Scalar *s, const ScalarValue *args) {
  return eval(s, args, scalar_walk_number(), false);
}
