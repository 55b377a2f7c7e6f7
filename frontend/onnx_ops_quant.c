/* Quantized integers: q stands for (q - zero_point) * scale. Products of them are made of integers, as i32, which
 * wraps; convolutions go through f64, which holds every sum of them. */
#include "frontend/onnx_ops.h"

/* A scale or zero point as an operand of x: one number, or a vector along an axis. */
static Value *along_axis(ImportNode *n, Value *v, const Value *x, int64_t axis) {
  if (n->failed || node_rank(v) == 0)
    return v;
  if (node_rank(v) != 1) {
    node_error(n, WEFT_UNSUPPORTED, "a scale or zero point is %s; without blocks one number or a list is supported",
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

/* How scales and zero points lie along x: axis, and of blocks the number of elements that share one, else 0. */
typedef struct {
  int64_t axis, block;
} Spread;

static Spread spread_of(ImportNode *n) {
  Spread s = {.axis = n->im->opset >= 13 ? node_int(n, "axis", 1) : 1};
  if (n->im->opset >= 21)
    s.block = node_int(n, "block_size", 0);
  if (s.block < 0)
    node_error(n, WEFT_MALFORMED, "attribute 'block_size' is %lld, expected a number from 0", (long long)s.block);
  return s;
}

/* A scale or zero point of blocks as an operand of x's shape, without a copy: each repeated block times, the last block
 * cut where x ends. Axes before and behind are taken together: a block needs one axis more. */
static Value *along_blocks(ImportNode *n, Value *v, const Value *x, Spread s) {
  int64_t shape[WEFT_MAX_RANK], outer = 1, inner = 1;
  int rank = node_rank(x), axis = node_axis(n, s.axis, rank, "axis");
  if (n->failed)
    return NULL;
  node_shape(x, shape);
  int64_t extent = shape[axis], blocks = extent / s.block + (extent % s.block != 0);
  bool fits = node_rank(v) == rank;
  for (int k = 0; k < rank; k++) {
    fits = fits && node_extent(v, k) == (k == axis ? blocks : shape[k]);
    *(k < axis ? &outer : &inner) *= k == axis ? 1 : shape[k];
  }
  if (!fits) {
    node_error(n, WEFT_MALFORMED, "a scale or zero point is %s, which does not fit %s in blocks of %lld along axis %d",
               type_text(n->im->ctx, v->type), type_text(n->im->ctx, x->type), (long long)s.block, axis);
    return NULL;
  }
  int64_t block = s.block < extent ? s.block : extent, whole = blocks * block;
  v = node_reshape(n, v, (int64_t[]){outer, blocks, 1, inner}, 4);
  v = node_broadcast(n, v, (int64_t[]){outer, blocks, block, inner}, 4);
  v = node_reshape(n, v, (int64_t[]){outer, whole, inner}, 3);
  if (whole != extent)
    v = node_slice(n, v, 1, 0, extent);
  return node_reshape(n, v, shape, rank);
}

static Value *spread(ImportNode *n, Value *v, const Value *x, Spread s) {
  return s.block && v ? along_blocks(n, v, x, s) : along_axis(n, v, x, s.axis);
}

/* (x - zero_point) * scale */
bool onnx_dequantize(ImportNode *n) {
  Value *x = node_in(n, 0), *scale = node_in(n, 1), *zero = node_in(n, 2);
  Spread s = spread_of(n);
  int64_t to = n->im->opset >= 23 ? node_int(n, "output_dtype", 0) : 0;
  if (n->failed)
    return false;
  DType result = to ? node_dtype(n, to, "attribute 'output_dtype'") : scale->type->dtype;
  Value *v = node_cast(n, x, DT_F32);
  if (zero)
    v = NODE_MAKE(n, OP_SUB, v, spread(n, node_cast(n, zero, DT_F32), x, s));
  v = NODE_MAKE(n, OP_MUL, v, spread(n, node_cast(n, scale, DT_F32), x, s));
  return node_result(n, 0, node_cast(n, v, result));
}

/* saturate(round(x / scale) + zero_point) */
bool onnx_quantize(ImportNode *n) {
  Value *x = node_in(n, 0), *scale = node_in(n, 1), *zero = node_in(n, 2);
  Spread s = spread_of(n);
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
  Value *v = NODE_MAKE(n, OP_DIV, node_cast(n, x, DT_F32), spread(n, node_cast(n, scale, DT_F32), x, s));
  v = NODE_MAKE(n, OP_ROUND, v);
  if (zero)
    v = NODE_MAKE(n, OP_ADD, v, spread(n, node_cast(n, zero, DT_F32), x, s));
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
