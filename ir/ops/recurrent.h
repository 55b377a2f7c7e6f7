/* Recurrent layers, for their two files (ir/ops and lower/ops). One algorithm for all; what differs is the cell, which
 * is data.
 *
 *   for t in 0..T (from the end where `reverse` is set), each unit j of a row:
 *     for each stage in turn:
 *       r[g] = recurrent_bias[g, j] + sum over k of r[g, j, k] * over[k]      for the gates g of the stage
 *       each line: value = activation(clip(text))                             over x0.., r0.., states, earlier values
 *     the states take their next values, where t is less than the row's length
 *
 * x0, x1.. are the gates of x at this time: all that does not depend on the states, in one matrix product before. */
#ifndef WEFT_IR_OPS_RECURRENT_H
#define WEFT_IR_OPS_RECURRENT_H

#include "ir/ops/ops.h"

#define CELL_MAX_STATES 2
#define CELL_MAX_STAGES 2
#define CELL_MAX_LINES 8 /* of all stages */
#define CELL_MAX_GATES 4
#define CELL_MAX_NAMES 24
#define CELL_MAX_UNITS 7168 /* a row's states and kept values lie in 256 KiB */

/* A value of one unit. */
typedef struct {
  const char *name;
  const char *activation; /* the attribute that holds it; NULL: none, and no clip */
  const char *text;       /* in the scalar language */
  const char *peephole;   /* added to text where the operand is given, over p0, p1.. */
  bool kept;              /* for later stages */
} CellLine;

typedef struct {
  const char *over; /* a state, or a value kept by the stage before */
  int first_gate, n_gates, n_lines;
  const CellLine *lines;
} CellStage;

typedef struct {
  int n_gates, n_peepholes, n_states, n_stages;
  const char *state[CELL_MAX_STATES], *next[CELL_MAX_STATES]; /* h first; and the lines of their next values */
  CellStage stage[CELL_MAX_STAGES];
} Cell;

/* The operands by their names, NULL where the row has none or it is omitted. */
typedef struct {
  const Cell *cell;
  int x, r, recurrent_bias, peephole, lengths, initial[CELL_MAX_STATES]; /* operand numbers, -1: none */
  bool reverse;
} Recurrent;

Recurrent recurrent_of(const Op *op);
/* The state whose next value a line is, -1: none. */
int cell_next_state(const Cell *cell, const CellLine *line);
/* An activation over SC_ARG(0). NULL and *why where the text is none. */
const Scalar *cell_activation(Ctx *ctx, const char *text, DType type, const char **why);
/* A line's expression, names[k] standing for values[k]. */
const Scalar *cell_line_value(Ctx *ctx, const Op *op, const CellLine *line, const char *const *names,
                              const Scalar *const *values, int n);

#endif
