/* Random small graphs for tests of passes and of lowering: elementwise ops, views, copies, constants, convolutions, in
 * random layouts, with parameters and constants returned as they are, values returned twice, and tensors without
 * elements. Values stay small, so that results can be compared with a plain tolerance. */
#ifndef WEFT_TESTS_UNIT_RANDOM_GRAPH_H
#define WEFT_TESTS_UNIT_RANDOM_GRAPH_H

#include "graph_util.h"
#include "ir/text.h"

#define POOL_MAX 48
#define RANDOM_ELEMENTS 1500 /* of a tensor at most */

typedef struct {
  Graph g;
  Value *pool[POOL_MAX];
  int n;
} RandomGraph;

static inline const Layout *random_layout(Ctx *ctx, int rank, bool blocked) {
  Digit d[WEFT_MAX_DIGITS];
  int n = 0;
  for (int a = 0; a < rank; a++) {
    int64_t div = 1;
    for (int64_t k = blocked && random_in(0, 2) == 0 ? random_in(1, 2) : 0; k > 0; k--) {
      d[n] = (Digit){a, div, random_in(2, 4)};
      div *= d[n++].size;
    }
    d[n++] = (Digit){a, div, 0};
  }
  for (int k = n - 1; k > 0; k--) {
    int j = (int)random_in(0, k);
    Digit t = d[k];
    d[k] = d[j];
    d[j] = t;
  }
  const Layout *layout = layout_get(ctx, rank, d, n, PAD_ANY);
  ck_assert_ptr_nonnull(layout);
  return layout;
}

static inline Value *any_value(const RandomGraph *r) {
  return r->pool[random_in(0, r->n - 1)];
}

static inline int64_t shape_of(const Value *v, int64_t shape[WEFT_MAX_RANK]) {
  int64_t n = 1;
  ck_assert(type_shape(v->type, shape));
  for (int k = 0; k < v->type->rank; k++)
    n *= shape[k];
  return n;
}

static inline void random_shape(int rank, int64_t shape[WEFT_MAX_RANK]) {
  for (int k = 0; k < rank; k++)
    shape[k] = random_in(0, 14) == 0 ? 0 : random_in(1, rank > 2 ? 6 : 9);
}

/* The layout, one time in three with a halo on axes that are not split. */
static inline const Layout *with_random_halo(Ctx *ctx, const Layout *layout) {
  Halo halo[WEFT_MAX_RANK] = {0};
  bool any = random_in(0, 2) == 0;
  for (int a = 0; a < layout->rank; a++)
    if (any && layout_block(layout, a) == 1)
      halo[a] = (Halo){random_in(0, 2), random_in(0, 2)};
  return layout_with_halo(ctx, layout, halo);
}

/* Finishes the op and gives its result any layout. */
static inline void add_op(RandomGraph *r, Op *op) {
  Value *v = finish(&r->g, op, NULL);
  if (!v)
    ck_abort_msg("%s", diag_text(r->g.ctx->diags, false));
  if (random_in(0, 2) == 0) {
    const Layout *layout = random_layout(r->g.ctx, v->type->rank, true);
    bool view = op->def->traits & OP_VIEW;
    v->type = type_with_layout(r->g.ctx, v->type, view ? layout : with_random_halo(r->g.ctx, layout));
  }
  r->pool[r->n++] = v;
}

static inline Value *random_constant(RandomGraph *r, int rank, const int64_t *shape) {
  Ctx *ctx = r->g.ctx;
  const Layout *layout = random_in(0, 1) ? with_random_halo(ctx, random_layout(ctx, rank, true)) : NULL;
  const Type *type = type_static(ctx, DT_F32, rank, shape, layout);
  Tensor *t = tensor_of_type(ctx, type);
  for (int64_t k = 0; k < t->n; k++)
    tensor_set(t, k, (double)random_in(-100, 100) / 100);
  void *data = arena_alloc(ctx->arena, (size_t)type_bytes(type));
  tensor_to_storage(t, type, data);
  return build_constant(r->g.m, r->g.f, NULL, module_add_constant(r->g.m, "c", type, data, LOC_NONE), NULL, LOC_NONE);
}

static inline void add_unary(RandomGraph *r) {
  static const OpCode codes[] = {OP_RELU, OP_LEAKY_RELU, OP_TANH, OP_SIGMOID, OP_CLIP};
  Op *op = new_op(&r->g, codes[random_in(0, 4)], any_value(r), NULL, NULL);
  if (op->def->code == OP_CLIP) {
    op_set_float(op, "min", -0.5);
    op_set_float(op, "max", 0.75);
  }
  add_op(r, op);
}

static inline void add_binary(RandomGraph *r) {
  static const OpCode codes[] = {OP_ADD, OP_SUB, OP_MUL, OP_PRELU};
  Value *a = any_value(r), *b = any_value(r);
  for (int k = 0; k < 20 && !type_same_shape(a->type, b->type); k++)
    b = any_value(r);
  if (type_same_shape(a->type, b->type))
    add_op(r, new_op(&r->g, codes[random_in(0, 3)], a, b, NULL));
}

static inline void add_transpose(RandomGraph *r) {
  Value *v = any_value(r);
  int64_t perm[WEFT_MAX_RANK];
  int rank = v->type->rank;
  for (int k = 0; k < rank; k++)
    perm[k] = k;
  for (int k = rank - 1; k > 0; k--) {
    int j = (int)random_in(0, k);
    int64_t t = perm[k];
    perm[k] = perm[j];
    perm[j] = t;
  }
  Op *op = new_op(&r->g, OP_TRANSPOSE, v, NULL, NULL);
  op_set_ints(r->g.ctx, op, "perm", perm, rank);
  add_op(r, op);
}

/* New axes anywhere, and extents of 1 stretched. */
static inline void add_broadcast(RandomGraph *r) {
  Value *v = any_value(r);
  int64_t from[WEFT_MAX_RANK], shape[WEFT_MAX_RANK], axes[WEFT_MAX_RANK], n = 1;
  int rank = 0, next = 0;
  shape_of(v, from);
  while (next < v->type->rank || (rank < 5 && random_in(0, 2) == 0)) {
    bool taken = next < v->type->rank && random_in(0, 2) > 0;
    if (taken)
      axes[next] = rank;
    shape[rank] = taken && from[next] != 1 ? from[next] : random_in(1, 4);
    next += taken;
    n *= shape[rank];
    if (++rank == 7)
      break;
  }
  if (next < v->type->rank || n > RANDOM_ELEMENTS)
    return;
  Op *op = new_op(&r->g, OP_BROADCAST, v, NULL, NULL);
  op_set_ints(r->g.ctx, op, "axes", axes, v->type->rank);
  op_set_ints(r->g.ctx, op, "shape", shape, rank);
  add_op(r, op);
}

static inline void add_copy(RandomGraph *r) {
  Value *v = any_value(r);
  const Layout *layout = random_layout(r->g.ctx, v->type->rank, true);
  if (random_in(0, 1))
    layout = layout_with_pad(r->g.ctx, layout, PAD_ZERO);
  layout = with_random_halo(r->g.ctx, layout);
  r->pool[r->n++] = build_relayout(r->g.m, r->g.f, NULL, v, layout, LOC_NONE);
}

static inline void add_conv(RandomGraph *r) {
  Value *v = any_value(r);
  int64_t in[WEFT_MAX_RANK], kernel[WEFT_MAX_RANK], strides[3], dilation[3], padding[6];
  int spatial = v->type->rank - 2;
  if (spatial < 1 || spatial > 3 || shape_of(v, in) == 0)
    return;
  bool transposed = random_in(0, 1);
  int64_t groups = in[1] % 2 == 0 ? random_in(1, 2) : 1, out = random_in(1, 3);
  kernel[0] = transposed ? in[1] : out * groups;
  kernel[1] = transposed ? out : in[1] / groups;
  for (int k = 0; k < spatial; k++) {
    kernel[2 + k] = random_in(1, 3);
    strides[k] = random_in(1, 3);
    dilation[k] = random_in(1, 2);
    int64_t reach = dilation[k] * (kernel[2 + k] - 1) + 1;
    /* At least one output is left. */
    int64_t room = transposed ? (in[2 + k] - 1) * strides[k] + reach - 1 : in[2 + k] - reach;
    int64_t sign = transposed ? 1 : -1;
    padding[k] =
        sign > 0 ? random_in(-1, room > 2 ? 2 : room) : random_in(room >= 0 ? 0 : -room, room >= 0 ? 2 : 2 - room);
    padding[k + spatial] = 0;
  }
  Value *bias = random_in(0, 1) ? random_constant(r, 1, SHAPE(out * groups)) : NULL;
  Value *weights = random_constant(r, spatial + 2, kernel);
  OpCode code = (OpCode)((transposed ? OP_CONV1D_TRANSPOSE : OP_CONV1D) + spatial - 1);
  Op *op = new_op(&r->g, code, v, weights, bias);
  op_set_ints(r->g.ctx, op, "strides", strides, spatial);
  op_set_ints(r->g.ctx, op, "dilation", dilation, spatial);
  op_set_ints(r->g.ctx, op, "padding", padding, 2 * spatial);
  op_set_int(op, "groups", groups);
  add_op(r, op);
  Value *v2 = r->pool[r->n - 1];
  int64_t shape[WEFT_MAX_RANK];
  if (shape_of(v2, shape) > RANDOM_ELEMENTS)
    r->n--; /* too large to go on with */
}

static inline void add_results(RandomGraph *r) {
  Graph *g = &r->g;
  for (int64_t k = random_in(1, 4); k > 0; k--) {
    Value *v = random_in(0, 1) ? r->pool[r->n - 1] : any_value(r);
    if (!layout_is_permutation(v->type->layout) || random_in(0, 3) == 0)
      v = build_relayout(g->m, g->f, NULL, v, random_layout(g->ctx, v->type->rank, false), LOC_NONE);
    function_add_result(g->m, g->f, arena_printf(g->ctx->arena, "y%d", (int)k), v, v->type, NULL, LOC_NONE);
  }
}

/* A graph of some `steps` ops; the caller destroys g.ctx. */
static inline RandomGraph random_graph(int steps) {
  static void (*const makers[])(RandomGraph *) = {add_unary,     add_binary,    add_binary, add_transpose,
                                                  add_broadcast, add_broadcast, add_copy,   add_conv};
  RandomGraph r = {.g = graph_new()};
  for (int64_t k = random_in(1, 3); k > 0; k--) {
    int rank = (int)random_in(0, 4);
    int64_t shape[WEFT_MAX_RANK];
    random_shape(rank, shape);
    const Type *type = type_static(r.g.ctx, DT_F32, rank, shape, random_layout(r.g.ctx, rank, false));
    r.pool[r.n++] = param(&r.g, "x", type);
    if (random_in(0, 1))
      r.pool[r.n++] = random_constant(&r, rank, shape);
  }
  for (int k = 0; k < steps && r.n < POOL_MAX; k++)
    makers[random_in(0, 7)](&r);
  add_results(&r);
  if (!module_verify(r.g.m))
    ck_abort_msg("the random graph is wrong: %s", diag_text(r.g.ctx->diags, false));
  return r;
}

/* Inputs in -1..1, one for each parameter. */
static inline const Tensor **random_inputs(Ctx *ctx, const Function *f) {
  const Tensor **inputs = ARENA_ARRAY(ctx->arena, const Tensor *, f->params.len);
  for (size_t k = 0; k < f->params.len; k++) {
    Tensor *t = tensor_of_type(ctx, f->params.data[k]->type);
    for (int64_t i = 0; i < t->n; i++)
      tensor_set(t, i, (double)random_in(-1000, 1000) / 1000);
    inputs[k] = t;
  }
  return inputs;
}

static inline Tensor **evaluate(Module *m, const Tensor *const *inputs) {
  Tensor **outputs = ARENA_ARRAY(m->ctx->arena, Tensor *, m->main->results.len);
  ck_assert(eval_function(m, m->main, inputs, outputs, NULL));
  return outputs;
}

static inline const char *graph_text(Module *m) {
  Str s = str_new(m->ctx->arena);
  module_print(&s, m, (PrintOptions){0});
  return s.data;
}

#endif
