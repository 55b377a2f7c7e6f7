/* Quantized integers: q stands for (q - zero_point) * scale. Products of them are made of integers, as i32, which
 * wraps; convolutions go through f64, which holds every sum of them. */
#include "frontend/onnx_ops.h"

/* A scale or zero point as an operand of x: one number, or a vector along an axis. */
static Value *along_axis(ImportNode *n, Value *v, const Value *x, int64_t axis) {
  if (n->failed || node_rank(v) == 0)
    return v;
  if (node_rank(v) != 1) {
    node_error(n, WEFT_UNSUPPORTED, "a scale or zero point is %s; blocks are not supported, one number or a list is",
               type_text(n->im->ctx, v->type));
    return NULL;
  }
  if (node_extent(v, 0) == 1)
    return node_reshape(n, v, NULL, 0);
  int at = node_axis(n, axis, node_rank(x), "axis");
  if (!n->failed && node_extent(v, 0) != node_extent(x, at))
    node_error(n, WEFT_MALFORMED, "a scale or zero point is %s, but axis %d of %s has extent %lld",
               type_text(n->im->ctx, v->type), at, type_text(n->im->ctx, x->type), (long long)node_extent(x, at));
  return node_along(n, v, at, node_rank(x));
}

static int64_t quantized_axis(ImportNode *n) {
  int64_t axis = n->im->opset >= 13 ? node_int(n, "axis", 1) : 1;
  if (n->im->opset >= 21 && node_int(n, "block_size", 0) != 0)
    node_error(n, WEFT_UNSUPPORTED, "attribute 'block_size': blocks are not supported");
  return axis;
}

/* (x - zero_point) * scale */
bool onnx_dequantize(ImportNode *n) {
  Value *x = node_in(n, 0), *scale = node_in(n, 1), *zero = node_in(n, 2);
  int64_t axis = quantized_axis(n), to = n->im->opset >= 23 ? node_int(n, "output_dtype", 0) : 0;
  if (n->failed)
    return false;
  DType result = to ? node_dtype(n, to, "attribute 'output_dtype'") : scale->type->dtype;
  Value *v = node_cast(n, x, DT_F32);
  if (zero)
    v = NODE_MAKE(n, OP_SUB, v, along_axis(n, node_cast(n, zero, DT_F32), x, axis));
  v = NODE_MAKE(n, OP_MUL, v, along_axis(n, node_cast(n, scale, DT_F32), x, axis));
  return node_result(n, 0, node_cast(n, v, result));
}

/* saturate(round(x / scale) + zero_point) */
bool onnx_quantize(ImportNode *n) {
  Value *x = node_in(n, 0), *scale = node_in(n, 1), *zero = node_in(n, 2);
  int64_t axis = quantized_axis(n);
  int64_t to = n->im->opset >= 21 ? node_int(n, "output_dtype", 0) : 0;
  if (n->im->opset >= 19)
    node_flag(n, "saturate", true); /* of float8 types */
  if (n->im->opset >= 23 && node_int(n, "precision", 0) > 1)
    return node_error(n, WEFT_UNSUPPORTED, "attribute 'precision': only float is supported");
  DType result = to ? node_dtype(n, to, "attribute 'output_dtype'") : DT_U8;
  if (n->failed)
    return false;
  if (zero && to && result != zero->type->dtype)
    return node_error(n, WEFT_MALFORMED, "attribute 'output_dtype' is %s, but the zero point is %s", dtype_name(result),
                      type_text(n->im->ctx, zero->type));
  result = zero ? zero->type->dtype : result;
  Value *v = NODE_MAKE(n, OP_DIV, node_cast(n, x, DT_F32), along_axis(n, node_cast(n, scale, DT_F32), x, axis));
  v = NODE_MAKE(n, OP_ROUND, v);
  if (zero)
    v = NODE_MAKE(n, OP_ADD, v, along_axis(n, node_cast(n, zero, DT_F32), x, axis));
  return node_result(n, 0, node_cast(n, v, result));
}

/* As quantize, with the least and greatest element of x, and 0, as the range of u8. */
bool onnx_dynamic_quantize(ImportNode *n) {
  Value *x = node_in(n, 0), *zero = n->failed ? NULL : node_number(n, x, 0);
  int64_t axes[WEFT_MAX_RANK];
  for (int k = 0; k < node_rank(x); k++)
    axes[k] = k;
  Value *most = node_reduce(n, OP_REDUCE_MAX, x, axes, node_rank(x), false);
  Value *least = node_reduce(n, OP_REDUCE_MIN, x, axes, node_rank(x), false);
  most = NODE_MAKE(n, OP_MAX, most, zero);
  least = NODE_MAKE(n, OP_MIN, least, zero);
  Value *scale = NODE_MAKE(n, OP_DIV, NODE_MAKE(n, OP_SUB, most, least), n->failed ? NULL : node_number(n, x, 255));
  Value *point = node_cast(n, NODE_MAKE(n, OP_ROUND, NODE_MAKE(n, OP_NEG, NODE_MAKE(n, OP_DIV, least, scale))), DT_U8);
  Value *v = NODE_MAKE(n, OP_ROUND, NODE_MAKE(n, OP_DIV, x, scale));
  v = NODE_MAKE(n, OP_ADD, v, n->failed ? NULL : node_cast(n, point, x->type->dtype));
  node_result(n, 1, scale);
  node_result(n, 2, point);
  return node_result(n, 0, node_cast(n, v, DT_U8));
}

/* ---- products ---- */

/* A scale or zero point of one number or one for each row or column, laid along them. */
static Value *along_rows(ImportNode *n, Value *v, bool rows) {
  if (n->failed || node_rank(v) != 1)
    return v;
  if (node_extent(v, 0) == 1)
    return node_reshape(n, v, NULL, 0);
  return rows ? node_reshape(n, v, (int64_t[]){node_extent(v, 0), 1}, 2) : v;
}

/* Operand k less its zero point, as i32. */
static Value *less_zero(ImportNode *n, int k, int zero, bool rows) {
  Value *v = node_cast(n, node_in(n, k), DT_I32), *z = node_in(n, zero);
  return z && !n->failed ? NODE_MAKE(n, OP_SUB, v, along_rows(n, node_cast(n, z, DT_I32), rows)) : v;
}

bool onnx_matmul_integer(ImportNode *n) {
  return node_result(n, 0, node_matmul(n, less_zero(n, 0, 2, true), less_zero(n, 1, 3, false)));
}

/* saturate(round(v * a / y) + zero), a the scale of the product v. */
static Value *requantize(ImportNode *n, Value *v, Value *scale, int y_scale, int y_zero) {
  Value *zero = node_in(n, y_zero), *y = along_rows(n, node_cast(n, node_in(n, y_scale), DT_F32), true);
  v = NODE_MAKE(n, OP_MUL, node_cast(n, v, DT_F32), NODE_MAKE(n, OP_DIV, scale, y));
  v = NODE_MAKE(n, OP_ADD, NODE_MAKE(n, OP_ROUND, v), along_rows(n, node_cast(n, zero, DT_F32), true));
  return node_cast(n, v, n->failed ? DT_U8 : zero->type->dtype);
}

bool onnx_qlinear_matmul(ImportNode *n) {
  Value *v = node_matmul(n, less_zero(n, 0, 2, true), less_zero(n, 3, 5, false));
  Value *a = along_rows(n, node_cast(n, node_in(n, 1), DT_F32), true);
  Value *b = along_rows(n, node_cast(n, node_in(n, 4), DT_F32), false);
  return node_result(n, 0, requantize(n, v, NODE_MAKE(n, OP_MUL, a, b), 6, 7));
}

/* Operand k less its zero point, as f64; the kernel's zero point may be one for each output channel. */
static Value *wide_less_zero(ImportNode *n, int k, int zero) {
  Value *v = node_cast(n, node_in(n, k), DT_F64), *z = node_cast(n, node_in(n, zero), DT_F64);
  return z && !n->failed ? NODE_MAKE(n, OP_SUB, v, along_axis(n, z, v, 0)) : v;
}

bool onnx_conv_integer(ImportNode *n) {
  Value *v = node_conv(n, wide_less_zero(n, 0, 2), 1, wide_less_zero(n, 1, 3), NULL);
  return node_result(n, 0, node_cast(n, v, DT_I32));
}

bool onnx_qlinear_conv(ImportNode *n) {
  Value *bias = node_cast(n, node_in(n, 8), DT_F64);
  Value *v = node_conv(n, wide_less_zero(n, 0, 2), 3, wide_less_zero(n, 3, 5), bias);
  Value *b = along_axis(n, node_cast(n, node_in(n, 4), DT_F32), v, 1);
  Value *scale = NODE_MAKE(n, OP_MUL, along_rows(n, node_cast(n, node_in(n, 1), DT_F32), false), b);
  return node_result(n, 0, requantize(n, v, scale, 6, 7));
}
