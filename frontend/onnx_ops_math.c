/* Operators that compute element by element but are not one elementwise op with the same attributes: those of many
 * operands, of optional bounds, of mixed element types, and short formulas. */
#include "frontend/onnx_ops.h"

#include <math.h>

/* Max, Min, Sum: pairwise from the left. */
static Value *fold_operands(ImportNode *n, OpCode code) {
  Value *v = node_in(n, 0);
  for (int k = 1; k < n->n_inputs; k++)
    v = NODE_MAKE(n, code, v, node_in(n, k));
  return v;
}

bool onnx_variadic(ImportNode *n) {
  return node_result(n, 0, fold_operands(n, n->row->code));
}

bool onnx_mean(ImportNode *n) {
  Value *sum = fold_operands(n, OP_ADD);
  return node_result(n, 0, NODE_MAKE(n, OP_DIV, sum, node_number(n, sum, n->n_inputs)));
}

Value *node_cast(ImportNode *n, Value *x, DType to) {
  if (n->failed || !x || x->type->dtype == to)
    return x;
  Op *op = NODE_OP(n, OP_CAST, x);
  op_set_dtype(op, "to", to);
  return node_finish(n, op);
}

Value *node_as_floats(ImportNode *n, Value *x) {
  return n->failed || !x || dtype_is_float(x->type->dtype) ? x : node_cast(n, x, DT_F64);
}

bool onnx_in_floats(ImportNode *n) {
  Value *x = node_in(n, 0), *v = NODE_MAKE(n, n->row->code, node_as_floats(n, x));
  return node_result(n, 0, n->failed ? NULL : node_cast(n, v, x->type->dtype));
}

Value *node_number(ImportNode *n, const Value *like, double v) {
  return n->failed ? NULL : node_scalar(n, like->type->dtype, v);
}

/* ---- clip ---- */

/* x limited on one side by a value of one element. */
static Value *limit(ImportNode *n, OpCode code, Value *x, Value *bound) {
  int64_t count = 1;
  for (int k = 0; k < node_rank(bound); k++)
    count *= node_extent(bound, k);
  if (bound && count != 1)
    node_error(n, WEFT_MALFORMED, "a bound is %s, expected one number", type_text(n->im->ctx, bound->type));
  return bound || n->failed ? NODE_MAKE(n, code, x, node_reshape(n, bound, NULL, 0)) : x;
}

bool onnx_clip(ImportNode *n) {
  Value *x = node_in(n, 0), *lo = node_in(n, 1), *hi = node_in(n, 2);
  if (n->im->opset < 11) {
    double least = node_float(n, "min", -INFINITY), most = node_float(n, "max", INFINITY);
    lo = node_attr(n, "min") ? node_number(n, x, least) : NULL;
    hi = node_attr(n, "max") ? node_number(n, x, most) : NULL;
  }
  if (n->failed)
    return false;
  const Tensor *known_lo = lo ? node_known(n, lo) : NULL, *known_hi = hi ? node_known(n, hi) : NULL;
  if (known_lo && known_hi && known_lo->n == 1 && known_hi->n == 1 && dtype_is_float(x->type->dtype)) {
    Op *op = NODE_OP(n, OP_CLIP, x);
    op_set_float(op, "min", tensor_get(known_lo, 0));
    op_set_float(op, "max", tensor_get(known_hi, 0));
    return node_result(n, 0, node_finish(n, op));
  }
  return node_result(n, 0, limit(n, OP_MIN, limit(n, OP_MAX, x, lo), hi));
}

/* ---- element types ---- */

/* What only concerns types of 8 bits and fewer, which weft has not. */
static void narrow_float_attrs(ImportNode *n) {
  if (n->im->opset >= 19)
    node_flag(n, "saturate", true);
  if (n->im->opset >= 24)
    node_word(n, "round_mode", "up|down|nearest");
}

bool onnx_cast(ImportNode *n) {
  Value *x = node_in(n, 0);
  DType to = node_dtype(n, node_required_int(n, "to"), "the type to cast to");
  narrow_float_attrs(n);
  return node_result(n, 0, node_cast(n, x, to));
}

bool onnx_cast_like(ImportNode *n) {
  Value *x = node_in(n, 0), *like = node_in(n, 1);
  narrow_float_attrs(n);
  return node_result(n, 0, n->failed ? NULL : node_cast(n, x, like->type->dtype));
}

bool onnx_bit_cast(ImportNode *n) {
  Op *op = NODE_OP(n, OP_BIT_CAST, node_in(n, 0));
  op_set_dtype(op, "to", node_dtype(n, node_required_int(n, "to"), "the type to cast to"));
  return node_result(n, 0, node_finish(n, op));
}

/* The operator is for one kind of types, where weft's op takes more. */
static bool expect_kind(ImportNode *n, bool fits, const char *want) {
  return n->failed || fits ||
         node_error(n, WEFT_MALFORMED, "%s is %s, expected %s", node_in_text(n, 0),
                    type_text(n->im->ctx, node_in(n, 0)->type), want);
}

static bool logic_or_bits(ImportNode *n, bool bits) {
  Value *a = node_in(n, 0), *b = n->row->max_inputs == 2 ? node_in(n, 1) : NULL;
  if (n->failed || !expect_kind(n, (a->type->dtype == DT_BOOL) != bits, bits ? "integers" : "bool"))
    return false;
  return node_result(n, 0, b ? NODE_MAKE(n, n->row->code, a, b) : NODE_MAKE(n, n->row->code, a));
}

bool onnx_logic(ImportNode *n) {
  return logic_or_bits(n, false);
}

bool onnx_bits(ImportNode *n) {
  return logic_or_bits(n, true);
}

bool onnx_bit_shift(ImportNode *n) {
  Value *x = node_in(n, 0), *by = node_in(n, 1);
  if (!node_attr(n, "direction"))
    return node_error(n, WEFT_MALFORMED, "attribute 'direction' is missing");
  bool right = node_word(n, "direction", "LEFT|RIGHT") == 1;
  if (!n->failed && n->im->opset < 28 &&
      !expect_kind(n, dtype_is_int(x->type->dtype) && !dtype_is_signed(x->type->dtype), "integers without sign"))
    return false;
  return node_result(n, 0, NODE_MAKE(n, right ? OP_SHIFT_RIGHT : OP_SHIFT_LEFT, x, by));
}

bool onnx_mod(ImportNode *n) {
  Value *a = node_in(n, 0), *b = node_in(n, 1);
  bool fmod = node_flag(n, "fmod", false);
  if (!n->failed && !fmod && n->im->opset < 28 && !expect_kind(n, dtype_is_int(a->type->dtype), "integers, or fmod=1"))
    return false;
  return node_result(n, 0, NODE_MAKE(n, fmod ? OP_MOD : OP_FLOOR_MOD, a, b));
}

/* ---- powers ---- */

/* 2 or 3 where the exponent is known to be that everywhere, else 0. */
static int small_power(ImportNode *n, const Value *exponent) {
  const Tensor *t = exponent ? node_known(n, exponent) : NULL;
  double v = t && t->n == 1 ? tensor_get(t, 0) : 0;
  return v == 2 ? 2 : v == 3 ? 3 : 0;
}

/* The result has x's type. Integers are raised in double, which is exact up to 2^53. */
bool onnx_pow(ImportNode *n) {
  Value *x = node_in(n, 0), *exponent = node_in(n, 1);
  if (n->failed)
    return false;
  int small = node_rank(exponent) <= node_rank(x) ? small_power(n, exponent) : 0;
  if (small) {
    Value *v = NODE_MAKE(n, OP_MUL, x, x);
    return node_result(n, 0, small == 3 ? NODE_MAKE(n, OP_MUL, v, x) : v);
  }
  Value *base = node_as_floats(n, x);
  Value *v = NODE_MAKE(n, OP_POW, base, n->failed ? NULL : node_cast(n, exponent, base->type->dtype));
  return node_result(n, 0, node_cast(n, v, x->type->dtype));
}

/* ---- short formulas ---- */

bool onnx_gelu(ImportNode *n) {
  OpCode code = node_word(n, "approximate", "none|tanh") ? OP_GELU_TANH : OP_GELU;
  return node_result(n, 0, NODE_MAKE(n, code, node_in(n, 0)));
}

bool onnx_swiglu(ImportNode *n) {
  Value *x = node_in(n, 1);
  Op *swish = NODE_OP(n, OP_SWISH, node_in(n, 0));
  if (!n->failed)
    op_set_float(swish, "alpha", node_float(n, "alpha", 1));
  Value *gate = node_finish(n, swish);
  if (!n->failed && !type_same_shape(gate->type, x->type))
    return node_error(n, WEFT_MALFORMED, "the operands are %s and %s, expected equal ones",
                      type_text(n->im->ctx, gate->type), type_text(n->im->ctx, x->type));
  return node_result(n, 0, NODE_MAKE(n, OP_MUL, gate, x));
}
