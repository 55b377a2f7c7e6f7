/* A part of a function as a module of its own. */
#ifndef WEFT_IR_EXTRACT_H
#define WEFT_IR_EXTRACT_H

#include "ir/tensor.h"

/* The ops of f whose results are chosen (by id of the value), in a module of this name. What they read of others comes
 * from constants, where it depends on nothing else, and else by parameters: row-major ones of this name, followed by a
 * relayout where f has the value in another layout; integers, which may be indices, are constants with what `values`
 * (by id) holds. What others read of the chosen, or the function returns, is returned. NULL after reporting. */
Module *module_extract(Ctx *ctx, const Function *f, const bool *chosen, const Tensor *const *values, const char *name);

#endif
