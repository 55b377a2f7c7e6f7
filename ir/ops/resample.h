/* What the two files of resample share (ir/ops and lower/ops). */
#ifndef WEFT_IR_OPS_RESAMPLE_H
#define WEFT_IR_OPS_RESAMPLE_H

#include "ir/ops/ops.h"

enum { RESAMPLE_DATA, RESAMPLE_INDICES, RESAMPLE_WEIGHTS };

/* The type that the sum is made in. */
DType resample_type(const Op *op);

#endif
