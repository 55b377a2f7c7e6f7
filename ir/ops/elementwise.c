/* Elementwise ops: rows of ops.def with an expression and nothing else. All operands have one shape here; numpy's
 * broadcasting has become broadcast ops before (build_elementwise). */
#include "ir/ops/ops.h"

static bool same_extents(const Type *a, const Type *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* The number of the first operand that has the op's element type. */
static int typed_operand(const OpDef *def) {
  int k = 0;
  while (def->operands[k].is_bool)
    k++;
  return k;
}

static DType result_type(const Op *op) {
  const char *result = strchr(op->def->types, '>');
  if (!result)
    return op->operands[typed_operand(op->def)]->type->dtype;
  return strcmp(result, ">bool") == 0 ? DT_BOOL : (DType)op_attr(op, result + 1)->i;
}

const Type *elementwise_infer(Ctx *ctx, const Op *op) {
  if (!op_expect_types(ctx, op, op->def->types))
    return NULL;
  const Type *first = op->operands[0]->type;
  for (int k = 1; k < op->def->n_operands; k++) {
    const Type *type = op->operands[k]->type;
    if (!same_extents(first, type)) {
      diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                 "%s: operand '%s' is %s, but operand '%s' is %s; the operands of this op must have one shape",
                 op->def->name, op->def->operands[k].name, type_text(ctx, type), op->def->operands[0].name,
                 type_text(ctx, first));
      return NULL;
    }
  }
  return type_get(ctx, result_type(op), first->rank, first->dims, NULL);
}

static bool is_broadcast(const Value *v) {
  return v->def && v->def->def->code == OP_BROADCAST;
}

/* The result follows the first operand that is computed in full, or the wish. A broadcast is read in place whatever its
 * layout, since it is never materialised; a constant costs nothing to store anew. */
void elementwise_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  int leader = -1;
  for (int k = op->def->n_operands - 1; k >= 0; k--)
    if (!plan->constant[k] && !is_broadcast(op->operands[k]))
      leader = k;
  const Layout *layout = plan->operand[leader < 0 ? 0 : leader];
  plan->leader = leader < 0 ? 0 : leader;
  plan->why = leader < 0 ? "as % is, with no computed operand to follow" : "follows %";
  if (plan->wish_data) {
    layout = plan->wish_data;
    plan->why = "as wished";
  }
  plan->result = plan->wish_out ? plan->wish_out : layout_with_pad(ctx, layout, PAD_ANY);
  for (int k = 0; k < op->def->n_operands; k++)
    if (!is_broadcast(op->operands[k]) && (plan->constant[k] || plan->wish_data)) {
      plan->operand[k] = layout_with_pad(ctx, layout, PAD_ANY);
      plan->reads[k] = plan->wish_data ? NULL : "as the result is";
    }
}

/* Attributes are numbers of the op's element type; one that is an element type itself is the result's. */
const Scalar *op_scalar(Ctx *ctx, const Op *op, const Scalar *const *operands) {
  const OpDef *def = op->def;
  const char *names[OP_MAX_OPERANDS + OP_MAX_ATTRS];
  const Scalar *values[OP_MAX_OPERANDS + OP_MAX_ATTRS];
  DType dtype = operands[typed_operand(def)]->dtype, to = dtype;
  int n = 0;
  bool casts = false;
  for (int k = 0; k < def->n_operands; k++, n++) {
    names[n] = def->operands[k].name;
    values[n] = operands[k];
  }
  for (int k = 0; k < def->n_attrs; k++) {
    const Attr *attr = &op->attrs[k];
    if (def->attrs[k].kind == ATTR_DTYPE) {
      to = dtype_compute((DType)attr->i);
      casts = true;
      continue;
    }
    names[n] = def->attrs[k].name;
    values[n++] = scalar_const_typed(ctx, dtype, def->attrs[k].kind == ATTR_INT ? (double)attr->i : attr->f);
  }
  const char *why = NULL;
  const Scalar *s = scalar_parse(ctx, def->expression, names, values, n, &why);
  if (!s)
    weft_bug(__FILE__, __LINE__, "expression of %s: %s", def->name, why);
  return casts ? scalar_cast(ctx, s, to) : s;
}

void elementwise_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  const Scalar *args[OP_MAX_OPERANDS];
  ScalarValue x[OP_MAX_OPERANDS] = {{0}};
  int n = op->def->n_operands;
  for (int k = 0; k < n; k++)
    args[k] = scalar_arg_typed(ctx, k, dtype_compute(in[k]->dtype));
  const Scalar *s = op_scalar(ctx, op, args);
  for (int64_t i = 0; i < out->n; i++) {
    for (int k = 0; k < n; k++)
      x[k] = tensor_value(in[k], i);
    tensor_set_value(out, i, scalar_eval_reference(s, x));
  }
}

/* ---- simplifying ---- */

#define MAX_VIEWS 8
#define MAX_UNIFORM 65536 /* elements looked at */

/* The number that every element of v is, where v is views of a small constant; else NULL. */
static const Scalar *uniform(Ctx *ctx, const Value *v) {
  for (int k = 0; k < MAX_VIEWS && v->def && (v->def->def->traits & OP_VIEW); k++)
    v = v->def->operands[0];
  const Constant *c = op_root_constant(v);
  int64_t n;
  if (!c || !layout_is_permutation(c->type->layout) || !expr_is_const(type_elements(ctx, c->type), &n) || n < 1 ||
      n > MAX_UNIFORM)
    return NULL;
  size_t size = dtype_size(c->type->dtype);
  if (memcmp(c->data, (const char *)c->data + size, (size_t)(n - 1) * size) != 0)
    return NULL;
  ScalarValue x = dtype_load(c->type->dtype, c->data, 0);
  DType dtype = dtype_compute(c->type->dtype);
  return dtype_is_float(dtype) ? scalar_const_typed(ctx, dtype, x.f) : scalar_const_int(ctx, dtype, x.i);
}

/* The values that an expression is over, SC_ARG(k) for the k-th. */
typedef struct {
  Value *value[OP_MAX_OPERANDS * OP_MAX_OPERANDS];
  int n;
} Leaves;

static const Scalar *leaf(Ctx *ctx, Leaves *leaves, Value *v) {
  const Scalar *number = uniform(ctx, v);
  if (number)
    return number;
  int k = 0;
  while (k < leaves->n && leaves->value[k] != v)
    k++;
  leaves->value[k] = v;
  leaves->n += k == leaves->n;
  return scalar_arg_typed(ctx, k, dtype_compute(v->type->dtype));
}

/* Elementwise, and what is stored in memory is what was computed. */
static bool can_look_into(const Value *v) {
  return v->def && (v->def->def->traits & OP_ELEMENTWISE) && dtype_compute(v->type->dtype) == v->type->dtype;
}

static const Scalar *over_leaves(Ctx *ctx, const Op *op, bool look_into, Leaves *leaves) {
  const Scalar *operands[OP_MAX_OPERANDS];
  for (int k = 0; k < op->def->n_operands; k++) {
    Value *v = op->operands[k];
    operands[k] = look_into && can_look_into(v) ? over_leaves(ctx, v->def, false, leaves) : leaf(ctx, leaves, v);
  }
  return op_scalar(ctx, op, operands);
}

/* Where the expression, with what is known of the operands and of those of the producers, comes to one of them, the op
 * is that value: x * 1, x + -0, where(true, a, b), -(-x), a cast to x's own type, or there and back. */
Value *elementwise_simplify(Module *m, Function *f, Op *op) {
  (void)f;
  for (int look_into = 0; look_into < 2; look_into++) {
    Leaves leaves = {.n = 0};
    const Scalar *s = over_leaves(m->ctx, op, look_into, &leaves);
    if (s->op == SC_ARG && type_same_shape(leaves.value[s->index]->type, op->result->type))
      return leaves.value[s->index];
  }
  return NULL;
}
