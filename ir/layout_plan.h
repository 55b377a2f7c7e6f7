/* What an op's layout function answers: which encodings of its operands and result go together.
 *
 * The caller fills operand[] with the layouts that the operands have now and the wish with what the user asked for
 * (NULL where nothing). The function completes it: operand[k] is the layout the op is to read operand k in (left as it
 * is where any layout serves as well), result the layout it is to write. Every op can be lowered in every layout, so a
 * plan is about speed and never about legality. */
#ifndef WEFT_IR_LAYOUT_PLAN_H
#define WEFT_IR_LAYOUT_PLAN_H

#include "ir/module.h"

typedef struct LayoutPlan {
  /* in: now and wished (wishes are for the ranks and roles of this op already) */
  const Layout *wish_data, *wish_kernel, *wish_out;
  bool *constant; /* the operand is a constant: a relayout of it costs nothing at run time */
  /* in: as they are now; out: as the op is to read them */
  const Layout **operand;
  const Layout *result;
  const char *why; /* out: one clause for explanations, "follows %"; '%' stands for operand `leader` */
  int leader;
  const char **reads; /* out: why operand k is read in another layout than it had, where `why` does not say it */
  /* in: NULL, or room for WEFT_MAX_RANK pairs of 0, which asks; out: the halo that operand halo_operand had best have,
   * all 0 where it needs none, and the op's work with it in relation to that without (0 where there is no halo). */
  Halo *halo;
  int halo_operand;
  double halo_work;
} LayoutPlan;

/* The plan of an op as it stands, without wishes. */
LayoutPlan layout_plan_of(Ctx *ctx, const Op *op);

#endif
