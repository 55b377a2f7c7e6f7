/* Inputs and outputs of a program as its caller sees them: what the info text and the C header say. */
#ifndef WEFT_CODEGEN_PORT_H
#define WEFT_CODEGEN_PORT_H

#include "lower/loop.h"

typedef struct {
  const char *name;
  const Type *type;
  const char *letters;      /* the order of the axes in the caller's buffer, "NHWC"; NULL for a plain tensor */
  Dim shape[WEFT_MAX_RANK]; /* in that order */
} Port;

/* The caller's names, types and letters are the module's; a program read from text has none, and its buffers speak. */
Port port_input(const LoopProgram *p, size_t k);
Port port_output(const LoopProgram *p, size_t k);
int64_t port_elements(const LoopProgram *p, const Port *port); /* static shapes */

#endif
