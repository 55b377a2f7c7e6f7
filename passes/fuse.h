/* Bounds of what is computed in one nest: `fuse` keeps to them, `lower` refuses more. */
#ifndef WEFT_PASSES_FUSE_H
#define WEFT_PASSES_FUSE_H

#include "passes/pass.h"

#define FUSE_MAX_OPS 16      /* the root and what is fused onto it */
#define FUSE_MAX_OPERANDS 12 /* read beside the accumulator (lower/computation.h has room for more, see lower/inline.c) */
#define FUSE_MAX_NODES 1024  /* of the scalar expression, written out as a tree */

#endif
