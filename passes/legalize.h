/* What lowering takes of single ops, beyond what the verifier checks. */
#ifndef WEFT_PASSES_LEGALIZE_H
#define WEFT_PASSES_LEGALIZE_H

#include "ir/module.h"

/* False after reporting, at the op, what is not lowered and what to do instead. */
bool legalize_op(Ctx *ctx, const Op *op);

#endif
