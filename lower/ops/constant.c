/* constant: a buffer, one for all ops that name the same constant. */
#include "lower/lower_op.h"

bool lower_constant(LowerCtx *lc, const Group *group);

bool lower_constant(LowerCtx *lc, const Group *group) {
  LoopProgram *p = lc->program;
  Constant *c = op_attr(group->root, "value")->constant;
  Buffer **slot = &lc->buffers[group->result->id];
  for (size_t k = 0; k < p->constants.len && !*slot; k++)
    if (p->constants.data[k]->constant == c)
      *slot = p->constants.data[k];
  if (!*slot)
    *slot = loops_add_buffer(p, c->name, c->type, BUF_CONSTANT, c);
  return true;
}
