/* What the op tables say, as text. */
#ifndef WEFT_FRONTEND_CLI_OPS_PAGE_H
#define WEFT_FRONTEND_CLI_OPS_PAGE_H

#include "ir/op.h"

/* An attribute with its kind and default: `alpha: float = 0.01`. */
const char *attr_describe(Ctx *ctx, const OpDef *def, const AttrDef *a);
/* The operands in the order of the row: `data NCHW, kernel OIHW, bias C?`. */
const char *operands_describe(Ctx *ctx, const OpDef *def);
/* The element types that an op takes, and its result's where that is another; "?" where the row does not say. */
const char *types_describe(Ctx *ctx, const OpDef *def);
/* Prints docs/operators.md: the operators of weft, and those of ONNX that the importer takes. */
void ops_page_print(Ctx *ctx);

#endif
