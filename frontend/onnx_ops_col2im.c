/* Col2Im: a transposed convolution in as many groups as there are channels. What a block has at place k of its window
 * is an input channel of its own, whose kernel is 1 at place k and 0 elsewhere. */
#include "frontend/onnx_ops.h"

#define MAX_SPATIAL 3
#define LIMIT ((int64_t)1 << 31) /* of numbers, to keep sums of products far from overflow */

typedef struct {
  int spatial;
  int64_t image[MAX_SPATIAL], block[MAX_SPATIAL], strides[MAX_SPATIAL], dilation[MAX_SPATIAL], pads[2 * MAX_SPATIAL];
  int64_t blocks[MAX_SPATIAL], rest[MAX_SPATIAL]; /* blocks along an axis, and points behind the last one's window */
  int64_t block_size, n_blocks;
} Fold;

/* `count` numbers of at least lo, `otherwise` where they are absent. */
static void take(ImportNode *n, const char *name, Ints given, int count, int64_t lo, int64_t otherwise, int64_t *out) {
  if (given.given && given.n != count)
    node_error(n, WEFT_MALFORMED, "'%s' has %d numbers, expected %d", name, given.n, count);
  for (int k = 0; k < count && !n->failed; k++) {
    out[k] = given.given ? given.v[k] : otherwise;
    if (out[k] < lo || out[k] > LIMIT)
      node_error(n, WEFT_MALFORMED, "'%s' holds %lld, expected %lld to %lld", name, (long long)out[k], (long long)lo,
                 (long long)LIMIT);
  }
}

static Fold read_fold(ImportNode *n) {
  Fold f = {.block_size = 1, .n_blocks = 1};
  Ints image = node_known_ints(n, 1, "image_shape"), block = node_known_ints(n, 2, "block_shape");
  f.spatial = image.n;
  if (!n->failed && (f.spatial < 1 || f.spatial > MAX_SPATIAL))
    node_error(n, WEFT_UNSUPPORTED, "'image_shape' has %d numbers; 1 to %d spatial axes are supported", f.spatial,
               MAX_SPATIAL);
  if (n->failed)
    return f;
  take(n, "image_shape", image, f.spatial, 1, 1, f.image);
  take(n, "block_shape", block, f.spatial, 1, 1, f.block);
  take(n, "strides", node_ints(n, "strides", -1), f.spatial, 1, 1, f.strides);
  take(n, "dilations", node_ints(n, "dilations", -1), f.spatial, 1, 1, f.dilation);
  take(n, "pads", node_ints(n, "pads", -1), 2 * f.spatial, 0, 0, f.pads);
  for (int k = 0; k < f.spatial && !n->failed; k++) {
    int64_t room = f.image[k] + f.pads[k] + f.pads[f.spatial + k], window, size;
    if (!mul_i64(f.dilation[k], f.block[k] - 1, &window) || ++window > room) {
      node_error(n, WEFT_MALFORMED, "along axis %d the window has %lld points, the padded image %lld", k,
                 (long long)window, (long long)room);
      break;
    }
    f.blocks[k] = (room - window) / f.strides[k] + 1;
    f.rest[k] = (room - window) % f.strides[k];
    if (!mul_i64(f.block_size, f.block[k], &size) || !mul_i64(f.n_blocks, f.blocks[k], &f.n_blocks))
      node_error(n, WEFT_MALFORMED, "the blocks are too many");
    f.block_size = size;
  }
  return f;
}

/* Kernels [C * K, 1, block..] for K places in the window: a view of the unit matrix of K rows. */
static Value *unit_kernels(ImportNode *n, const Fold *f, DType dtype, int64_t channels) {
  int64_t k = f->block_size, cost, shape[MAX_SPATIAL + 2] = {channels * k, 1};
  if (!mul_i64(k, k, &cost) || !node_spend(n, cost))
    return NULL;
  Tensor *unit = tensor_new(n->im->ctx, dtype, 2, (int64_t[]){k, k});
  for (int64_t i = 0; i < k; i++)
    tensor_set(unit, i * k + i, 1);
  memcpy(shape + 2, f->block, (size_t)f->spatial * sizeof *shape);
  Value *all = node_broadcast(n, node_constant(n, unit), (int64_t[]){channels, k, k}, 3);
  return node_reshape(n, all, shape, f->spatial + 2);
}

bool onnx_col2im(ImportNode *n) {
  static const OpCode codes[] = {OP_CONV1D_TRANSPOSE, OP_CONV2D_TRANSPOSE, OP_CONV3D_TRANSPOSE};
  Value *x = node_in(n, 0);
  Fold f = read_fold(n);
  if (!node_expect_rank(n, 0, 3, 3))
    return false;
  if (node_extent(x, 1) % f.block_size != 0 || node_extent(x, 2) != f.n_blocks)
    return node_error(n, WEFT_MALFORMED, "%s is %s, expected [N, C * %lld, %lld]: places in a block, blocks",
                      node_in_text(n, 0), type_text(n->im->ctx, x->type), (long long)f.block_size,
                      (long long)f.n_blocks);
  int64_t channels = node_extent(x, 1) / f.block_size, shape[MAX_SPATIAL + 2] = {node_extent(x, 0), node_extent(x, 1)};
  memcpy(shape + 2, f.blocks, (size_t)f.spatial * sizeof *shape);
  Value *kernel = unit_kernels(n, &f, x->type->dtype, channels), *blocks = node_reshape(n, x, shape, f.spatial + 2);
  if (n->failed)
    return false;
  Op *op = NODE_OP(n, codes[f.spatial - 1], blocks, kernel);
  op_set_ints(n->im->ctx, op, "strides", f.strides, f.spatial);
  op_set_ints(n->im->ctx, op, "dilation", f.dilation, f.spatial);
  op_set_ints(n->im->ctx, op, "padding", f.pads, 2 * f.spatial);
  op_set_ints(n->im->ctx, op, "output_padding", f.rest, f.spatial);
  op_set_int(op, "groups", channels);
  return node_result(n, 0, node_finish(n, op));
}
