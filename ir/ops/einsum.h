/* The equation of einsum, for its two files (ir/ops and lower/ops).
 *
 *   equation = term { "," term } [ "->" term ]     term = { letter | "..." }     spaces count for nothing
 *
 * A term names the axes of an operand, or of the result; "..." stands for the axes that have no letter, at most once a
 * term. Those of all operands are broadcast together from the last one on. Without "->" the result has the axes of
 * "..." and then the letters that occur once, in alphabetical order (capitals first). */
#ifndef WEFT_IR_OPS_EINSUM_H
#define WEFT_IR_OPS_EINSUM_H

#include "ir/ops/ops.h"

#define EINSUM_MAX_OPERANDS 8
#define EINSUM_MAX_LABELS 40

/* Labels are numbers: those of letters, and of the axes that "..." stands for. An axis of extent 1 of a longer label
 * stretches. */
typedef struct {
  int n_operands, n_labels, rank;                  /* rank: of the result */
  int operand[EINSUM_MAX_OPERANDS][WEFT_MAX_RANK]; /* the labels of its axes */
  int result[WEFT_MAX_RANK];
  bool summed[EINSUM_MAX_LABELS]; /* not in the result */
  Dim extent[EINSUM_MAX_LABELS];
} Einsum;

/* Reads the equation of op for its operands. False after reporting at op->loc. */
bool einsum_read(Ctx *ctx, const Op *op, Einsum *e);

#endif
