/* Faults planted to test the self-check with (tests/exec/faults.py): in a build with WEFT_PLANT_FAULTS, FAULT("name")
 * holds where the environment has WEFT_FAULT=name. In every other build it is the constant false. */
#ifndef WEFT_IR_FAULT_H
#define WEFT_IR_FAULT_H

#ifdef WEFT_PLANT_FAULTS
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool fault_is_planted(const char *name) {
  const char *chosen = getenv("WEFT_FAULT");
  return chosen && strcmp(chosen, name) == 0;
}
#define FAULT(name) fault_is_planted(name)
#else
#define FAULT(name) 0
#endif

#endif
