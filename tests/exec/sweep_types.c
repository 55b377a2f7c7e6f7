/* The random sweep of elementwise ops in every element type: each row of the table alone, and chains of ops that mix
 * types by casts, comparisons and choices, in random layouts. Where only integers and bool are computed, results are
 * equal; in f32 and f64 ops that round are alone or continuous, so that errors stay errors of rounding; f16 and bf16
 * may differ by a unit in the last place for each op, since compiled code rounds to f32 on the way. */
#include "sweep.h"

static const DType exact[] = {DT_I8, DT_U8, DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64, DT_BOOL};
static const DType wide[] = {DT_F32, DT_F32, DT_F64};
static const DType narrow[] = {DT_F16, DT_BF16};
static const OpCode continuous[] = {OP_ADD, OP_SUB, OP_MUL, OP_RELU, OP_ABS, OP_NEG, OP_MIN, OP_MAX, OP_CLIP, OP_TANH};
#define ONE_OF(list) (list)[between(0, (int64_t)(sizeof(list) / sizeof *(list)) - 1)]

static const DType *types;
static int n_types;

static DType random_type(void) {
  return types[between(0, n_types - 1)];
}

static Value *finish(Case *c, Op *op) {
  str_printf(&c->text, " %s", op->def->name);
  const Type *type = op_check(c->ctx, op);
  if (!type)
    return NULL;
  return op_finish(c->m, c->m->main, op, NULL, NULL,
                   type_with_layout(c->ctx, type, random_layout(c->ctx, type->rank, between(0, 1))));
}

/* A value of this type and shape that is not computed. */
static Value *source(Case *c, DType dtype, int rank, const int64_t *shape) {
  if (c->m->main->params.len == MAX_PARAMS || between(0, 2) == 0)
    return add_constant(c, "k", dtype, rank, shape, 0);
  return add_param(c, "x", dtype, rank, shape);
}

static Op *row(Case *c, const OpDef *def, Value *x) {
  int64_t shape[WEFT_MAX_RANK];
  Value *operands[OP_MAX_OPERANDS];
  type_shape(x->type, shape);
  bool placed = false;
  for (int k = 0; k < def->n_operands; k++) {
    DType dtype = def->operands[k].is_bool ? DT_BOOL : x->type->dtype;
    bool own = dtype == x->type->dtype && (!placed || between(0, 3) == 0);
    placed = placed || own;
    operands[k] = own ? x : source(c, dtype, x->type->rank, shape);
  }
  Op *op = op_create(c->ctx, def, operands, def->n_operands, LOC_NONE);
  for (int k = 0; k < def->n_attrs; k++) {
    if (def->attrs[k].kind == ATTR_FLOAT)
      op_set_float(op, def->attrs[k].name, k == 0 ? 0.25 : 0.75);
    else if (def->attrs[k].kind == ATTR_DTYPE)
      op_set_dtype(op, def->attrs[k].name, random_type());
  }
  return op;
}

/* Any row that takes the value's type. */
static Value *any_row(Case *c, Value *x) {
  const OpDef *def;
  do
    def = &op_table[between(0, OP_COUNT - 1)];
  while (!(def->traits & OP_ELEMENTWISE) || !op_types_hold(def->types, x->type->dtype));
  return finish(c, row(c, def, x));
}

static Value *smooth_row(Case *c, Value *x) {
  return finish(c, row(c, &op_table[ONE_OF(continuous)], x));
}

static bool build_case(Case *c) {
  static const int64_t extents[] = {0, 1, 2, 3, 5, 8, 16, 17};
  int64_t shape[WEFT_MAX_RANK];
  int rank = (int)between(0, 3);
  for (int k = 0; k < rank; k++)
    shape[k] = between(0, 9) ? one_of(extents + 1, 7) : 0;
  c->m->main = function_create(c->m, "sweep");
  DType dtype = random_type();
  str_printf(&c->text, " %s", dtype_name(dtype));
  Value *v = add_param(c, "x", dtype, rank, shape);
  if (types == exact)
    for (int64_t k = between(1, 5); v && k > 0; k--)
      v = between(0, 5) ? any_row(c, v) : random_copy(c, v, true);
  else if (between(0, 1))
    v = any_row(c, v);
  else
    for (int64_t k = between(1, 4); v && k > 0; k--)
      v = smooth_row(c, v);
  if (!v || !(v = random_copy(c, v, false)))
    return false;
  function_add_result(c->m, c->m->main, "z", v, v->type, NULL, LOC_NONE);
  return module_verify(c->m);
}

static int sweep_of(int argc, char **argv, const DType *list, size_t n, Tolerance tolerance) {
  types = list;
  n_types = (int)n;
  return sweep_main(argc, argv, build_case, tolerance);
}
#define SWEEP(list, ...) sweep_of(argc, argv, list, sizeof(list) / sizeof *(list), (Tolerance){__VA_ARGS__})

int main(int argc, char **argv) {
  int failed = SWEEP(exact, 0, 0);
  failed |= SWEEP(wide, 4e-6, 4e-6);
  failed |= SWEEP(narrow, 0.02, 0.02); /* bf16 has 8 digits: 4 units */
  return failed;
}
