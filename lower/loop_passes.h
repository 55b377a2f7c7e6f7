/* The passes that make and change loop nests, and how a unit of either kind is printed and verified. */
#ifndef WEFT_LOWER_LOOP_PASSES_H
#define WEFT_LOWER_LOOP_PASSES_H

#include "passes/pass.h"

extern const Pass loop_passes[]; /* ended by a row with name NULL */
/* All passes of weft, graph and loops. */
extern const PassRegistry all_passes;

#endif
