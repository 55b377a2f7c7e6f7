/* What the families share: checks of operands and results, and what simplifying asks. See ir/ops/ops.h. */
#include "ir/ops/ops.h"

bool op_expect_rank(Ctx *ctx, const Op *op, int k, int rank) {
  const Value *v = op->operands[k];
  if (v->type->rank == rank)
    return true;
  const OperandDef *def = op_operand(op->def, k);
  const char *roles = op_roles(ctx, op->def, def->roles);
  return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: operand '%s' has rank %d (%s), expected rank %d%s%s",
                    op->def->name, def->name, v->type->rank, type_text(ctx, v->type), rank, *roles ? ": axes " : "",
                    roles);
}

bool op_expect_types(Ctx *ctx, const Op *op, const char *types) {
  const Value *first = NULL;
  const char *first_name = NULL;
  for (int k = 0; k < op->n_operands; k++) {
    const Value *v = op->operands[k];
    const OperandDef *row = op_operand(op->def, k);
    if (!v)
      continue;
    DType dtype = v->type->dtype;
    if (row->is_bool) {
      if (dtype != DT_BOOL)
        return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: operand '%s' has element type %s, expected bool",
                          op->def->name, row->name, dtype_name(dtype));
      continue;
    }
    if (!op_types_hold(types, dtype))
      return diag_error(ctx->diags, WEFT_UNSUPPORTED, op->loc, "%s: operand '%s' has element type %s; this op takes %s",
                        op->def->name, row->name, dtype_name(dtype), op_types_text(ctx, types));
    if (first && dtype != first->type->dtype)
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                        "%s: operand '%s' has element type %s, but operand '%s' has %s; they must be the same",
                        op->def->name, row->name, dtype_name(dtype), first_name, dtype_name(first->type->dtype));
    if (!first) {
      first = v;
      first_name = row->name;
    }
  }
  return true;
}

bool op_expect_axis(Ctx *ctx, const Op *op, const char *name, int rank, int *axis) {
  int64_t a = op_int(op, name);
  if (a < -rank || a >= rank)
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                      "%s: attribute '%s' is %lld, expected an axis of a tensor of rank %d: %d to %d", op->def->name,
                      name, (long long)a, rank, -rank, rank - 1);
  *axis = (int)(a < 0 ? a + rank : a);
  return true;
}

const Type *op_result_type(Ctx *ctx, const Op *op, DType dtype, int rank, const Dim *dims) {
  const Type *type = type_get(ctx, dtype, rank, dims, NULL);
  if (type)
    return type;
  Str shape = str_new(ctx->arena);
  for (int k = 0; k < rank; k++) {
    str_put(&shape, k ? "," : "");
    expr_print(&shape, dims[k]);
  }
  diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
             "%s: the result's shape [%s] is impossible: extents must be at least 0 and the elements at most %lld",
             op->def->name, shape.data, (long long)WEFT_MAX_ELEMENTS);
  return NULL;
}

bool op_expect_indices(Ctx *ctx, const Op *op, int k) {
  const Type *type = op->operands[k]->type;
  if (dtype_is_int(type->dtype) && type->dtype != DT_U64)
    return true;
  return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: operand '%s' is %s, expected integers within i64",
                    op->def->name, op->def->operands[k].name, type_text(ctx, type));
}

bool op_read_index(Ctx *ctx, const Op *op, const Tensor *indices, int64_t j, int axis, int64_t extent, int64_t *at) {
  int64_t given = tensor_value(indices, j).i;
  *at = given < 0 && given >= -extent ? given + extent : given;
  if (*at >= 0 && *at < extent)
    return true;
  return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: index %lld is out of range: axis %d of %s has extent %lld",
                    op->def->name, (long long)given, axis, op->def->operands[0].name, (long long)extent);
}

const Scalar *op_larger(Ctx *ctx, const Scalar *a, const Scalar *b) {
  const char *names[2] = {"a", "b"}, *why = NULL;
  const Scalar *values[2] = {a, b};
  const char *text = dtype_is_float(a->dtype) ? "or(a > b, and(a != a, b == b))" : "a > b";
  const Scalar *s = scalar_parse(ctx, text, names, values, 2, &why);
  if (!s)
    weft_bug(__FILE__, __LINE__, "%s: %s", text, why);
  return s;
}

const Op *op_repeated(const Op *op) {
  const Op *inner = op->operands[0]->def;
  return inner && inner->def == op->def ? inner : NULL;
}

const Constant *op_root_constant(const Value *v) {
  if (!v->def || v->def->def->code != OP_CONSTANT)
    return NULL;
  const Constant *c = op_attr(v->def, "value")->constant;
  while (c->base)
    c = c->base;
  return c;
}
