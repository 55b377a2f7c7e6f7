/* The list of passes, for `weft passes` and `weft-opt --list-passes`. */
#ifndef WEFT_FRONTEND_CLI_PASSES_LIST_H
#define WEFT_FRONTEND_CLI_PASSES_LIST_H

#include "passes/pass.h"

void passes_list(const PassRegistry *registry);

#endif
