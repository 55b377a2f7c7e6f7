/* What the functions of ONNX operators share; the table of rows is onnx_ops.def. */
#ifndef WEFT_FRONTEND_ONNX_OPS_H
#define WEFT_FRONTEND_ONNX_OPS_H

#include "frontend/onnx.h"

/* Every function that a row names. */
#define OP(type, since, until, min_inputs, max_inputs, outputs, build) OnnxBuild build;
#define VIA(type, since, until, min_inputs, max_inputs, build, code) OnnxBuild build;
#define MAP(type, since, until, inputs, code, attrs) OnnxBuild onnx_elementwise;
#define NOTE(types, text)
#include "frontend/onnx_ops.def"

/* ---- onnx_ops_view.c ---- */

/* x with these extents, which have as many elements. */
Value *node_reshape(ImportNode *n, Value *x, const int64_t *shape, int rank);
Value *node_transpose(ImportNode *n, Value *x, const int64_t *perm);
/* x stretched to shape, its axes the last ones of it. */
Value *node_broadcast(ImportNode *n, Value *x, const int64_t *shape, int rank);
/* The vector x as the operand along axis `axis` of a tensor of this rank: [C,1,1]. */
Value *node_along(ImportNode *n, Value *x, int axis, int rank);
/* x[.., begin:end, ..] along axis. */
Value *node_slice(ImportNode *n, Value *x, int axis, int64_t begin, int64_t end);
/* A view of the content in a tensor of this shape, all elements v. */
Value *node_filled(ImportNode *n, DType dtype, double v, const int64_t *shape, int rank);
/* The parts one after the other along an axis. */
Value *node_concat(ImportNode *n, Value *const *parts, int count, int axis);
/* Extents of v; room for WEFT_MAX_RANK. */
void node_shape(const Value *v, int64_t *shape);

/* ---- onnx_ops_math.c ---- */

Value *node_cast(ImportNode *n, Value *x, DType to); /* NULL for NULL */
/* Integers and bool as f64, floats as they are: for functions that are not computed in integers, whose result is then cast back, toward
 * zero. */
Value *node_as_floats(ImportNode *n, Value *x);
/* A number of the element type of `like`, of rank 0. */
Value *node_number(ImportNode *n, const Value *like, double v);

/* ---- onnx_ops_index.c, _linear.c, _reduce.c, _conv.c ---- */

/* 0, 1, 2, ... along an axis of a tensor of this rank: i64[extent,1,1]. */
Value *node_positions(ImportNode *n, int64_t extent, int axis, int rank);
/* As numpy's. */
Value *node_matmul(ImportNode *n, Value *a, Value *b);
Value *node_reduce(ImportNode *n, OpCode code, Value *x, const int64_t *axes, int count, bool keepdims);
/* The convolution that the attributes of n describe of other values; k: the operand whose place the kernel takes. */
Value *node_conv(ImportNode *n, Value *data, int k, Value *kernel, Value *bias);

/* Axes given by attribute (opset < since_input) or by operand 1: sorted out into flags, negative ones counted from the
 * end of `rank`. given false where there are none. */
typedef struct {
  bool given;
  int n;
  bool has[WEFT_MAX_RANK];
} AxisSet;
AxisSet node_axes(ImportNode *n, int since_input, int rank);

#endif
