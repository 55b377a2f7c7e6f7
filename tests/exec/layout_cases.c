/* The cases of sweep_layouts. Spatial extents are small, since what counts is how the indices of layouts meet, and
 * compiling costs more than running; channel counts lie below, at and above the blocks. */
#include "tests/exec/layout_cases.h"

const Letters data_letters[N_DATA_LAYOUTS] = {{{NULL, "NCW", "NCHW", "NCDHW"}},
                                              {{NULL, "NWC", "NHWC", "NDHWC"}},
                                              {{NULL, "NCW8c", "NCHW8c", "NCDHW8c"}},
                                              {{NULL, "NCW16c", "NCHW16c", "NCDHW16c"}},
                                              {{NULL, "CWN", "CHWN", "CDHWN"}}};
const Letters kernel_letters[N_KERNEL_LAYOUTS] = {
    {{NULL, "OIW", "OIHW", "OIDHW"}},          {{NULL, "IOW", "IOHW", "IODHW"}},
    {{NULL, "WIO", "HWIO", "DHWIO"}},          {{NULL, "WOI", "HWOI", "DHWOI"}},
    {{NULL, "OWI", "OHWI", "ODHWI"}},          {{NULL, "OIW4i", "OIHW4i", "OIDHW4i"}},
    {{NULL, "WIO16o", "HWIO16o", "DHWIO16o"}}, {{NULL, "IOW8i16o", "IOHW8i16o", "IODHW8i16o"}}};
const Letters boundary_letters[N_BOUNDARY_LAYOUTS] = {{{NULL, "NCW", "NCHW", "NCDHW"}},
                                                      {{NULL, "NWC", "NHWC", "NDHWC"}},
                                                      {{NULL, "CWN", "CHWN", "CDHWN"}},
                                                      {{NULL, "WNC", "WNCH", "HDWNC"}}};

const char *const data_roles[4] = {NULL, "NCW", "NCHW", "NCDHW"};
const char *const conv_roles[4] = {NULL, "OIW", "OIHW", "OIDHW"};
const char *const conv_transpose_roles[4] = {NULL, "IOW", "IOHW", "IODHW"};

const Layout *layout_of(Ctx *ctx, const Letters *letters, const char *const *roles, int spatial) {
  const char *why = NULL;
  const Layout *layout = layout_from_letters(ctx, roles[spatial], letters->letters[spatial], &why);
  WEFT_ASSERT(layout);
  return layout;
}

/* ---- tensors ---- */

void fill_named(uint64_t seed, const char *name, Tensor *t) {
  state = (seed + 1) * 0x9e3779b97f4a7c15ull;
  for (; *name; name++)
    state = (state ^ (unsigned char)*name) * 0x100000001b3ull;
  fill(t, 0);
}

static const int64_t extents[4][3] = {{0}, {7}, {3, 4}, {2, 3, 2}};

/* The function's parameter of this rank and number of channels, one for all that read it. */
static Value *input(Graph *g, int spatial, int64_t channels) {
  const char *name = arena_printf(g->ctx->arena, "x%d.%d", spatial, (int)channels);
  Value *v = function_find_value(g->m->main, name);
  if (v)
    return v;
  int64_t shape[5] = {spatial == 3 ? 1 : 2, channels};
  memcpy(shape + 2, extents[spatial], sizeof *extents);
  const Layout *layout = layout_of(g->ctx, &boundary_letters[g->choice->input], data_roles, spatial);
  const Type *type = type_static(g->ctx, DT_F32, spatial + 2, shape, layout);
  return function_add_param(g->m, g->m->main, name, type, NULL, LOC_NONE);
}

/* The same in the data layout by a copy, for ops that follow their operands. */
static Value *copied_input(Graph *g, int spatial, int64_t channels) {
  const Layout *layout = layout_of(g->ctx, &data_letters[g->choice->data], data_roles, spatial);
  return build_relayout(g->m, g->m->main, NULL, input(g, spatial, channels), layout, LOC_NONE);
}

static Value *add_constant(Graph *g, const char *name, const Tensor *t) {
  const Type *type = type_static(g->ctx, t->dtype, t->rank, t->shape, NULL);
  return build_constant(g->m, g->m->main, NULL, module_add_constant(g->m, name, type, t->data, LOC_NONE), name,
                        LOC_NONE);
}

static Value *random_constant(Graph *g, const char *name, int rank, const int64_t *shape) {
  Tensor *t = tensor_new(g->ctx, DT_F32, rank, shape);
  fill_named(g->seed, name, t);
  return add_constant(g, name, t);
}

static Value *channel_vector(Graph *g, const char *name, int64_t channels) {
  return random_constant(g, name, 1, &channels);
}

/* ---- ops ---- */

static Op *new_op(Graph *g, const char *name, Value *const *operands, int n) {
  const OpDef *def = op_find(name, strlen(name));
  WEFT_ASSERT(def);
  return op_create(g->ctx, def, operands, n, LOC_NONE);
}

static Value *finish(Graph *g, Op *op) {
  return op_finish(g->m, g->m->main, op, NULL, NULL, NULL);
}

#define SET_INTS(g, op, name, ...)                                                                                     \
  op_set_ints((g)->ctx, op, name, (int64_t[]){__VA_ARGS__}, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* A convolution of any rank by a constant, with taps that lie outside of the data, and a bias. `in` and `out` are
 * the channels of one group. */
static Value *conv_of(Graph *g, Value *x, bool transposed, int64_t in, int64_t out, int64_t groups) {
  int d = x->type->rank - 2;
  int64_t shape[5] = {transposed ? in * groups : out * groups, transposed ? out : in, 2, 2, 2};
  const char *op_name = arena_printf(g->ctx->arena, "conv%dd%s", d, transposed ? "_transpose" : "");
  const char *name = arena_printf(g->ctx->arena, "%s.%d.%d.%d", op_name, (int)in, (int)out, (int)groups);
  Value *operands[3] = {x, random_constant(g, name, d + 2, shape),
                        channel_vector(g, arena_printf(g->ctx->arena, "%s.bias", name), out * groups)};
  Op *op = new_op(g, op_name, operands, 3);
  int64_t strides[3] = {1, 1, 1}, padding[6] = {0};
  strides[d - 1] = 2;
  padding[0] = padding[2 * d - 1] = 1;
  op_set_ints(g->ctx, op, "strides", strides, d);
  op_set_ints(g->ctx, op, "padding", padding, 2 * d);
  op_set_int(op, "groups", groups);
  return finish(g, op);
}

static Value *build_conv(Graph *g, const Kind *kind, Channels c) {
  return conv_of(g, input(g, kind->spatial, c.in), false, c.in, c.out, 1);
}

static Value *build_conv_transpose(Graph *g, const Kind *kind, Channels c) {
  return conv_of(g, input(g, kind->spatial, c.in), true, c.in, c.out, 1);
}

/* Two groups, whose channels share blocks. */
static Value *build_grouped(Graph *g, const Kind *kind, Channels c) {
  return conv_of(g, input(g, kind->spatial, 2 * c.in), strstr(kind->name, "transpose") != NULL, c.in, c.out, 2);
}

static Value *build_depthwise(Graph *g, const Kind *kind, Channels c) {
  return conv_of(g, input(g, kind->spatial, c.in), strstr(kind->name, "transpose") != NULL, 1, 1, c.in);
}

static Value *prelu_of(Graph *g, Value *x, int64_t channels) {
  Value *operands[2] = {x, channel_vector(g, arena_printf(g->ctx->arena, "slope.%d", (int)channels), channels)};
  return build_elementwise(g->m, g->m->main, new_op(g, "prelu", operands, 2), NULL, NULL, 1);
}

/* The epilogue in the convolution's nest. */
static Value *build_conv_prelu(Graph *g, const Kind *kind, Channels c) {
  Value *y = build_conv(g, kind, c);
  return y ? prelu_of(g, y, c.out) : NULL;
}

/* A kernel that is computed at run time. */
static Value *build_conv_by_input(Graph *g, const Kind *kind, Channels c) {
  const char *name = arena_printf(g->ctx->arena, "k.%d.%d", (int)c.in, (int)c.out);
  int64_t shape[4] = {c.out, c.in, 2, 2};
  const Type *type = type_static(g->ctx, DT_F32, 4, shape, NULL);
  Value *kernel = function_add_param(g->m, g->m->main, name, type, NULL, LOC_NONE);
  return finish(g, new_op(g, "conv2d", (Value *[]){input(g, kind->spatial, c.in), kernel}, 2));
}

/* The logical order of elements stands between the layouts of two convolutions. */
static Value *build_reshape_between(Graph *g, const Kind *kind, Channels c) {
  Value *y = conv_of(g, input(g, kind->spatial, c.in), false, c.in, 2 * c.out, 1);
  if (!y)
    return NULL;
  int64_t shape[WEFT_MAX_RANK];
  type_shape(y->type, shape);
  Op *op = new_op(g, "reshape", &y, 1);
  SET_INTS(g, op, "shape", shape[0], c.out, shape[3], 2 * shape[2]);
  return (y = finish(g, op)) ? conv_of(g, y, false, c.out, c.in, 1) : NULL;
}

static Value *build_pool(Graph *g, const Kind *kind, Channels c) {
  Value *x = input(g, kind->spatial, c.in);
  Op *op = new_op(g, kind->name, &x, 1);
  SET_INTS(g, op, "kernel", 2, 2);
  SET_INTS(g, op, "strides", 1, 2);
  SET_INTS(g, op, "padding", 1, 0, 0, 1);
  return finish(g, op);
}

static Value *build_concat(Graph *g, const Kind *kind, Channels c) {
  Value *parts[2] = {copied_input(g, kind->spatial, c.in), copied_input(g, kind->spatial, c.out)};
  Op *op = new_op(g, "concat", parts, 2);
  op_set_int(op, "axis", 1);
  return finish(g, op);
}

static Value *build_slice(Graph *g, const Kind *kind, Channels c) {
  Value *x = copied_input(g, kind->spatial, c.in);
  Op *op = new_op(g, "slice", &x, 1);
  SET_INTS(g, op, "begins", c.in / 3, -1);
  SET_INTS(g, op, "ends", c.in, -5);
  SET_INTS(g, op, "axes", 1, 3);
  SET_INTS(g, op, "steps", 1, -2);
  return finish(g, op);
}

static Value *build_pad(Graph *g, const Kind *kind, Channels c) {
  Value *x = copied_input(g, kind->spatial, c.in);
  Op *op = new_op(g, "pad", &x, 1);
  SET_INTS(g, op, "padding", 0, 1, 0, 2, 0, 4, 1, -1);
  op_set_word(op, "mode", strcmp(kind->name, "pad_edge") == 0 ? 2 : 0);
  op_set_float(op, "value", 0.5);
  return finish(g, op);
}

/* Along one axis to three times its extent, each output the mean of two neighbours or, without weights, a copy. */
static Value *resample_of(Graph *g, Value *x, int axis, bool weights) {
  int64_t shape[WEFT_MAX_RANK];
  type_shape(x->type, shape);
  int64_t extent = shape[axis], table[2] = {3 * extent, weights ? 2 : 1};
  Tensor *indices = tensor_new(g->ctx, DT_I64, 2, table), *factors = tensor_new(g->ctx, DT_F32, 2, table);
  for (int64_t k = 0; k < indices->n; k++) {
    int64_t at = k / table[1] / 3 + k % table[1];
    tensor_set(indices, k, (double)(at < extent ? at : extent - 1));
    tensor_set(factors, k, 0.5);
  }
  Value *operands[3] = {x, add_constant(g, "indices", indices), weights ? add_constant(g, "weights", factors) : NULL};
  Op *op = new_op(g, "resample", operands, 3);
  op_set_int(op, "axis", axis);
  return finish(g, op);
}

static Value *build_resize(Graph *g, const Kind *kind, Channels c) {
  Value *y = resample_of(g, copied_input(g, kind->spatial, c.in), 2, false);
  return y ? resample_of(g, y, 3, true) : NULL;
}

static Value *build_softmax(Graph *g, const Kind *kind, Channels c) {
  Value *x = copied_input(g, kind->spatial, c.in);
  Op *op = new_op(g, "softmax", &x, 1);
  op_set_int(op, "axis", strcmp(kind->name, "softmax_w") == 0 ? -1 : 1);
  return finish(g, op);
}

static Value *build_reduce(Graph *g, const Kind *kind, Channels c) {
  Value *x = copied_input(g, kind->spatial, c.in);
  bool channels = strcmp(kind->name, "reduce_sum") == 0;
  Op *op = new_op(g, kind->name, &x, 1);
  if (channels)
    SET_INTS(g, op, "axes", 1);
  else
    SET_INTS(g, op, "axes", 0, 3);
  return finish(g, op);
}

static Value *build_instance_norm(Graph *g, const Kind *kind, Channels c) {
  Value *operands[3] = {copied_input(g, kind->spatial, c.in), channel_vector(g, "scale", c.in),
                        channel_vector(g, "shift", c.in)};
  return finish(g, new_op(g, "instance_norm", operands, 3));
}

/* The other operand repeats along all axes but C, along N and H, or not at all. */
static Value *build_add(Graph *g, const Kind *kind, Channels c) {
  int64_t row[4] = {1, c.in, 1, 4}, shape[WEFT_MAX_RANK], axis = 1;
  Value *x = copied_input(g, kind->spatial, c.in), *other = x;
  type_shape(x->type, shape);
  if (strcmp(kind->name, "add_channels") == 0)
    other = build_broadcast(g->m, g->m->main, NULL, channel_vector(g, "addend", c.in), &axis, shape, 4, LOC_NONE);
  else if (strcmp(kind->name, "add_row") == 0)
    other = random_constant(g, "row", 4, row);
  return build_elementwise(g->m, g->m->main, new_op(g, "add", (Value *[]){x, other}, 2), NULL, NULL, 0);
}

static Value *build_prelu(Graph *g, const Kind *kind, Channels c) {
  return prelu_of(g, copied_input(g, kind->spatial, c.in), c.in);
}

/* ---- the table ---- */

/* Channels of data and of the result; `some` is every count once on either side, `pairs` each with each. */
static const Channels pairs[] = {{1, 1},   {1, 3},   {1, 8},  {1, 16}, {1, 19}, {3, 1},   {3, 3},  {3, 8},  {3, 16},
                                 {3, 19},  {8, 1},   {8, 3},  {8, 8},  {8, 16}, {8, 19},  {16, 1}, {16, 3}, {16, 8},
                                 {16, 16}, {16, 19}, {19, 1}, {19, 3}, {19, 8}, {19, 16}, {19, 19}};
static const Channels some[] = {{1, 19}, {3, 8}, {8, 3}, {16, 16}, {19, 1}};
static const Channels parts[] = {{3, 5}, {8, 3}, {3, 8}, {1, 16}, {16, 19}, {19, 8}, {8, 8}, {16, 16}, {1, 1}};
#define OVER(list) list, sizeof(list) / sizeof *(list)

const Kind kinds[] = {
    {"conv2d", BY_KERNEL_WISH, 2, OVER(pairs), build_conv},
    {"conv2d_transpose", BY_KERNEL_WISH, 2, OVER(pairs), build_conv_transpose},
    {"conv1d", BY_KERNEL_WISH, 1, OVER(some), build_conv},
    {"conv1d_transpose", BY_KERNEL_WISH, 1, OVER(some), build_conv_transpose},
    {"conv3d", BY_KERNEL_WISH, 3, OVER(some), build_conv},
    {"conv3d_transpose", BY_KERNEL_WISH, 3, OVER(some), build_conv_transpose},
    {"grouped", BY_KERNEL_WISH, 2, OVER(some), build_grouped},
    {"grouped_transpose", BY_KERNEL_WISH, 2, OVER(some), build_grouped},
    {"depthwise", BY_KERNEL_WISH, 2, OVER(some), build_depthwise},
    {"depthwise_transpose", BY_KERNEL_WISH, 2, OVER(some), build_depthwise},
    {"conv_prelu", BY_KERNEL_WISH, 2, OVER(some), build_conv_prelu},
    {"conv_by_input", BY_KERNEL_WISH, 2, OVER(some), build_conv_by_input},
    {"reshape_between", BY_KERNEL_WISH, 2, OVER(some), build_reshape_between},
    {"max_pool2d", BY_WISH, 2, OVER(some), build_pool},
    {"avg_pool2d", BY_WISH, 2, OVER(some), build_pool},
    {"concat", BY_TYPE, 2, OVER(parts), build_concat},
    {"slice", BY_TYPE, 2, OVER(some), build_slice},
    {"pad", BY_TYPE, 2, OVER(some), build_pad},
    {"pad_edge", BY_TYPE, 2, OVER(some), build_pad},
    {"resize", BY_TYPE, 2, OVER(some), build_resize},
    {"softmax_c", BY_TYPE, 2, OVER(some), build_softmax},
    {"softmax_w", BY_TYPE, 2, OVER(some), build_softmax},
    {"reduce_sum", BY_TYPE, 2, OVER(some), build_reduce},
    {"reduce_max", BY_TYPE, 2, OVER(some), build_reduce},
    {"instance_norm", BY_TYPE, 2, OVER(some), build_instance_norm},
    {"add_channels", BY_TYPE, 2, OVER(some), build_add},
    {"add_row", BY_TYPE, 2, OVER(some), build_add},
    {"add_itself", BY_TYPE, 2, OVER(some), build_add},
    {"prelu", BY_TYPE, 2, OVER(some), build_prelu},
};
const int n_kinds = sizeof kinds / sizeof *kinds;
