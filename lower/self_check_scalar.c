/* Running error analysis of elementwise expressions (J. H. Wilkinson; N. J. Higham, Accuracy and Stability of Numerical
 * Algorithms, 2nd edition, section 3.3): beside each node's value its error bound is carried along.
 *
 * The error of a node is what its own rounding makes, plus for each operand the most that the node changes where the
 * operand moves by its error. That is tried rather than derived, so that one rule serves all operations: comparisons
 * that flip, saturating casts and poles show themselves. A result that the type holds exactly is not rounded; an
 * intrinsic is off by a few units and feels the last bit of its operands. */
#include <math.h>

#include "lower/self_check_impl.h"

#define INTRINSIC_UNITS 4.0 /* half units in the last place */

typedef struct {
  const Scalar *s;
  int args[3];
} Node;

typedef VEC(Node) Nodes;

/* The number of s in the list, where it is put behind its operands. */
static int add_node(Ctx *ctx, Nodes *nodes, const Scalar *s) {
  for (size_t k = 0; k < nodes->len; k++)
    if (nodes->data[k].s == s)
      return (int)k;
  Node node = {.s = s};
  for (int k = 0; k < s->n; k++)
    node.args[k] = add_node(ctx, nodes, s->args[k]);
  vec_push(ctx->arena, nodes, node);
  return (int)nodes->len - 1;
}

static double difference(DType dtype, ScalarValue a, ScalarValue b) {
  double d = dtype_is_float(dtype) ? fabs(a.f - b.f) : fabs((double)a.i - (double)b.i);
  return isnan(d) ? 0 : d;
}

static ScalarValue moved(DType dtype, ScalarValue v, double by) {
  if (dtype == DT_BOOL)
    v.i = !v.i;
  else if (dtype_is_float(dtype))
    v.f += by;
  else
    v.i += (int64_t)(by < 0 ? floor(by) : ceil(by));
  return v;
}

/* How far the node's value moves where operand k moves by error either way. */
static double sensitivity(const Scalar *s, DType operands, const ScalarValue *v, ScalarValue value, int k,
                          double error) {
  double most = 0;
  for (int sign = -1; sign <= 1; sign += 2) {
    ScalarValue w[3] = {v[0], v[1], v[2]};
    w[k] = moved(s->args[k]->dtype, v[k], sign * error);
    double d = difference(s->dtype, scalar_apply_reference(s->op, operands, s->dtype, w), value);
    most = d > most ? d : most;
  }
  return most;
}

static double own_rounding(const Scalar *s, double value, double epsilon) {
  if (!dtype_is_float(s->dtype))
    return 0;
  if (scalar_op_is_intrinsic(s->op))
    return INTRINSIC_UNITS * epsilon * fabs(value);
  return s->dtype == DT_F32 && (double)(float)value == value ? 0 : epsilon * fabs(value);
}

/* Value and error of an inner node. */
static void run_node(const Node *node, const ScalarValue *values, const double *errors, double scale,
                     ScalarValue *value, double *error) {
  const Scalar *s = node->s;
  DType operands = s->args[s->n - 1]->dtype;
  ScalarValue v[3] = {{0}};
  for (int k = 0; k < s->n; k++)
    v[k] = values[node->args[k]];
  *value = scalar_apply_reference(s->op, operands, s->dtype, v);
  *error = own_rounding(s, value->f, scale * check_epsilon(s->dtype));
  bool intrinsic = scalar_op_is_intrinsic(s->op);
  for (int k = 0; k < s->n; k++) {
    double e = errors[node->args[k]];
    if (intrinsic)
      e += 2 * scale * check_epsilon(s->args[k]->dtype) * fabs(v[k].f);
    if (e == 0)
      continue;
    *error += sensitivity(s, operands, v, *value, k, e);
    for (int j = 0; s->args[k]->dtype == DT_BOOL && j < s->n; j++)
      *error += errors[node->args[j]] * (j != k); /* the other choice has an error of its own */
  }
}

/* Operations that may give what the type does not hold; the others choose, compare, or change a sign. */
static bool may_round(const Scalar *s) {
  switch (s->op) {
  case SC_ADD:
  case SC_SUB:
  case SC_MUL:
  case SC_DIV:
  case SC_MOD:
  case SC_FMA:
  case SC_SQRT:
  case SC_CAST:
    return dtype_is_float(s->dtype);
  default:
    return scalar_op_is_intrinsic(s->op);
  }
}

static bool any_errors(const double *const *errors, int n) {
  for (int k = 0; errors && k < n; k++)
    if (errors[k])
      return true;
  return false;
}

/* The error of one rounding, per element of a result: `unit` times its size. */
static const double *one_rounding(Ctx *ctx, const Tensor *out, double unit) {
  double *all = ARENA_ARRAY(ctx->arena, double, out->n);
  for (int64_t i = 0; i < out->n; i++) {
    double e = unit * fabs(tensor_get(out, i));
    all[i] = isnan(e) ? 0 : e;
  }
  return all;
}

const double *check_elementwise(Ctx *ctx, const Op *op, const Tensor *const *in, const double *const *errors,
                                const Tensor *out, double scale) {
  const Scalar *args[OP_MAX_OPERANDS];
  for (int k = 0; k < op->n_operands; k++)
    args[k] = scalar_arg_typed(ctx, k, dtype_compute(in[k]->dtype));
  Nodes nodes = {0};
  int last = add_node(ctx, &nodes, op_scalar(ctx, op, args));
  double stored = dtype_compute(out->dtype) == out->dtype ? 0 : scale * check_epsilon(out->dtype);
  if (!any_errors(errors, op->n_operands)) {
    const Scalar *s = nodes.data[last].s;
    int roundings = 0;
    for (size_t k = 0; k < nodes.len; k++)
      roundings += may_round(nodes.data[k].s);
    double unit = stored + (roundings ? scale * check_epsilon(s->dtype) : 0);
    if (roundings == 0 || (roundings == 1 && may_round(s) && !scalar_op_is_intrinsic(s->op)))
      return unit > 0 ? one_rounding(ctx, out, unit) : NULL;
  }
  ScalarValue *values = ARENA_ARRAY(ctx->arena, ScalarValue, nodes.len);
  double *error = ARENA_ARRAY(ctx->arena, double, nodes.len), *all = ARENA_ARRAY(ctx->arena, double, out->n);
  bool any = false;
  for (int64_t i = 0; i < out->n; i++) {
    for (size_t k = 0; k < nodes.len; k++) {
      const Scalar *s = nodes.data[k].s;
      if (s->op == SC_ARG) {
        values[k] = tensor_value(in[s->index], i);
        error[k] = errors && errors[s->index] ? errors[s->index][i] : 0;
      } else if (s->op == SC_CONST) {
        values[k] = dtype_is_float(s->dtype) ? (ScalarValue){.f = s->value} : (ScalarValue){.i = s->bits};
      } else {
        run_node(&nodes.data[k], values, error, scale, &values[k], &error[k]);
      }
    }
    all[i] = error[last] + (stored > 0 ? stored * fabs(values[last].f) : 0);
    all[i] = isnan(all[i]) ? 0 : all[i];
    any = any || all[i] > 0;
  }
  return any ? all : NULL;
}
