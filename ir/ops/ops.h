/* The functions that the families of ops.def must define, one file a family: FAMILY_infer, FAMILY_layout, FAMILY_eval,
 * FAMILY_view_index of views, FAMILY_simplify of views, moves and copies. Their contracts are the function types in ir/op.h. */
#ifndef WEFT_IR_OPS_OPS_H
#define WEFT_IR_OPS_OPS_H

#include "ir/layout_plan.h"
#include "ir/tensor.h"

#define FAMILY(family)                                                                                                 \
  OpInfer family##_infer;                                                                                              \
  OpLayout family##_layout;                                                                                            \
  OpEval family##_eval;                                                                                                \
  OpViewIndex family##_view_index; /* defined by views only */                                                         \
  OpSimplify family##_simplify;    /* defined by views, moves, copies and elementwise */
#define OP(code, name, family, ...) FAMILY(family)
#define ELEMENTWISE(code, ...) FAMILY(elementwise)
#define COMPOSITE(code, ...) FAMILY(composite)
#include "ir/ops.def"
#undef FAMILY

/* The checks that ops share. Each reports at op->loc and returns false where its rule is broken. */

/* Operand k (present) has this rank. */
bool op_expect_rank(Ctx *ctx, const Op *op, int k, int rank);
/* The operands have one element type, of the classes whose letters these are (OpDef.types); those that are bool in the
 * op's row are bool. */
bool op_expect_types(Ctx *ctx, const Op *op, const char *types);
/* The attribute `name` as an axis of a tensor of this rank; negative ones count from the end. */
bool op_expect_axis(Ctx *ctx, const Op *op, const char *name, int rank, int *axis);
/* Element j of a tensor of indices along an axis of operand 0, of this extent; those below 0 count from its end. False
 * after reporting one out of range. */
bool op_read_index(Ctx *ctx, const Op *op, const Tensor *indices, int64_t j, int axis, int64_t extent, int64_t *at);
/* Operand k holds integers that i64 can hold. */
bool op_expect_indices(Ctx *ctx, const Op *op, int k);
/* A bool: a is larger than b, numbers of one compute type, where a NaN is larger than all numbers. */
const Scalar *op_larger(Ctx *ctx, const Scalar *a, const Scalar *b);
/* The op that makes operand 0, where it is of the same row as op; else NULL. */
const Op *op_repeated(const Op *op);
/* The constant behind a value, not derived; NULL where the value is none. */
const Constant *op_root_constant(const Value *v);
/* The result type, or NULL after reporting where an extent may be negative or the tensor is too large. */
const Type *op_result_type(Ctx *ctx, const Op *op, DType dtype, int rank, const Dim *dims);

#endif
