/* The last stage of the self-check (lower/self_check.h): the compiled code, run in memory. */
#ifndef WEFT_CODEGEN_SELF_CHECK_CODE_H
#define WEFT_CODEGEN_SELF_CHECK_CODE_H

#include "codegen/codegen.h"
#include "lower/self_check.h"

/* Compiles the planned program and checks it: each nest by itself on operands that hold what the graph says, in the
 * arena as planned, then whole runs, whose results with one thread and with two must be the same bits. False where the
 * stage failed (self_check_fault) or after reporting: WEFT_MISSING where this machine cannot run the code. */
bool self_check_code(SelfCheck *check, LoopProgram *p, const CodegenOptions *options);

#endif
