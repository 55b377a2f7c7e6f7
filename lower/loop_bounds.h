/* Proofs that an index stays within its extent, for the checker. */
#ifndef WEFT_LOWER_LOOP_BOUNDS_H
#define WEFT_LOWER_LOOP_BOUNDS_H

#include "lower/loop.h"

typedef struct Bounds Bounds;

Bounds *bounds_create(Ctx *ctx);
/* True where 0 <= index < extent is proved for every execution of a statement inside the loops over vars, outermost
 * first. False means "not proved"; *example is then a clause with a counterexample, or NULL where none is known. */
bool bounds_hold(Bounds *b, const Expr *const *vars, int n_vars, const Expr *index, Dim extent, const char **example);

/* "%x[n, q - k + 1]": for messages. */
const char *access_text(Ctx *ctx, const Access *access);
const char *expr_text(Ctx *ctx, const Expr *e);

#endif
