/* Private to the parser of loop nests: its state, and what loop_parse_value.c offers to loop_parse.c.
 *
 * Names: buffers in a table of the program, locals in one of their nest with a mark for being in scope, variables on a
 * stack of at most LOOP_MAX_DEPTH. Equal accesses of a statement share one argument. */
#ifndef WEFT_LOWER_LOOP_PARSE_H
#define WEFT_LOWER_LOOP_PARSE_H

#include "ir/parse.h"
#include "lower/loop.h"

typedef struct {
  Buffer *buffer;
  bool visible;
} LoopLocal;

typedef struct {
  Access access;
  int number;
} LoopArg;

typedef struct {
  Parser p;
  Function *ports; /* names and roles of inputs and outputs */
  LoopProgram *program;
  int n_buffers, n_nests;
  Intern buffers;
  VEC(const Expr *) variables;  /* in scope, the innermost last */
  Intern locals;                /* of this nest */
  VEC(LoopLocal *) local_stack; /* in scope */
  VEC(LoopArg *) args;          /* of this statement */
  Intern arg_table;             /* the same, once there are many */
  int nesting;
} LoopParser;

/* NULL where there is none of this (interned) name. */
Buffer *loop_find_buffer(const LoopParser *lp, const char *name);
LoopLocal *loop_find_local(const LoopParser *lp, const char *name);

/* An access whose name has been taken, '[' being ahead. */
bool loop_parse_access(LoopParser *lp, Word at, Access *a);
/* The value of a statement, of this compute type; its operands are left in lp->args. `of`: a noun for what takes the
 * value. NULL after reporting. */
const Scalar *loop_parse_value(LoopParser *lp, DType type, const char *of);

#endif
