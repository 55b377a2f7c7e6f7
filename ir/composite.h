/* Composite ops: an op that is a formula over other ops. Its row in ops.def holds the formula as text:
 *
 *   m = reduce_max(x) {axes = [axis(axis)]}
 *   e = exp(sub(x, m))
 *   return div(e, reduce_sum(e) {axes = [axis(axis)]})
 *
 *   formula  = { name "=" call } "return" argument
 *   call     = op "(" argument { "," argument } ")" [ "{" attr { "," attr } "}" ]
 *   argument = call | name | number | "along" "(" argument "," int ")"
 *   attr     = name "=" ( item | "[" item { "," item } "]" | "from" "(" item ")" | "shape" "(" name ")" )
 *   item     = [ "-" ] number | name of an attribute | "axis" "(" name ")" | "dim" "(" int ")" | "rest"
 *
 * Names are operands of the row, attributes (as numbers; a text for an attribute that is one), and values defined above. Elementwise ops broadcast as
 * numpy's do; one whose other operand is an omitted optional operand is left out. The value of any other op that lacks an
 * operand that it needs is omitted, too. along(v, k) lays the vector v along axis k of the first operand. axis(a) is attribute a, a negative one counted from the end; from(a) the axes a, a+1,
 * ... of the first operand; dim(k) its extent; `rest` is what a reshape's other extents leave. f16 and bf16 operands
 * are widened to f32 and the result is rounded once, so that sums are never kept in 16 bits. */
#ifndef WEFT_IR_COMPOSITE_H
#define WEFT_IR_COMPOSITE_H

#include "ir/module.h"

/* The value of the formula of op's row for its operands and attributes, built before `before` at op's location. NULL
 * after reporting at op->loc. */
Value *composite_expand(Module *m, Function *f, Op *before, const Op *op);

#endif
