/* What the reference and the lowering of bit_cast share. */
#ifndef WEFT_IR_OPS_BIT_CAST_H
#define WEFT_IR_OPS_BIT_CAST_H

#include "ir/ops/ops.h"

/* x, the value of an element of type `from`, as the value of the element of type `to` with the same bits. */
const Scalar *bit_cast_scalar(Ctx *ctx, const Scalar *x, DType from, DType to);

#endif
