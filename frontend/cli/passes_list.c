/* See passes_list.h. */
#include "frontend/cli/passes_list.h"

#include <stdio.h>

void passes_list(const PassRegistry *registry) {
  for (int t = 0; t < registry->n_tables; t++)
    for (const Pass *p = registry->tables[t]; p->name; p++) {
      printf("%s%s%s%s\n", p->name, p->options ? "{" : "", p->options ? p->options : "", p->options ? "}" : "");
      printf("    %s%s\n",
             p->needs == p->gives ? p->needs == UNIT_GRAPH ? "[graph] " : "[loops] " : "[graph to loops] ", p->help);
    }
}
