/* What the reference and the lowering of top_k share. */
#ifndef WEFT_IR_OPS_TOP_K_H
#define WEFT_IR_OPS_TOP_K_H

#include "ir/ops/ops.h"

/* A bool: element a comes strictly before element b, both of one compute type. */
const Scalar *top_k_before(Ctx *ctx, const Op *op, const Scalar *a, const Scalar *b);

#endif
