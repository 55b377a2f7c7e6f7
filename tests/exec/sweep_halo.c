/* The random sweep of halos: small nets of convolutions over one picture, each value read by several ops with different
 * paddings, with residual connections, and with halos given by the pass, by hand, or not at all (sweep.h).
 *
 * A case: x, copied or made by an elementwise op, goes through up to four blocks v := chain(v + f(v) [+ g(v)]), f and g
 * convolutions or transposed ones that keep the shape, by a total padding that is split between begin and end at random
 * (down to -1 in front), of v or of what views show of it. Sometimes the net ends in a reshape. Tolerance: as in sweep.c; kernels are scaled down to keep values
 * small. */
#include "sweep.h"

typedef struct {
  int spatial;
  int64_t channels, shape[WEFT_MAX_RANK];
} Picture;

static const Type *some_type(Case *c, const Picture *p) {
  const Layout *layout = NULL;
  if (between(0, 2) == 0)
    layout = random_layout(c->ctx, p->spatial + 2, between(0, 1));
  if (layout && between(0, 1))
    layout = with_random_halo(c->ctx, layout);
  return type_static(c->ctx, DT_F32, p->spatial + 2, p->shape, layout);
}

/* A kernel whose sums stay below the largest operand. */
static Value *small_kernel(Case *c, int rank, const int64_t *shape, bool known) {
  if (!known)
    return add_param(c, "k", DT_F32, rank, shape);
  Value *v = add_constant(c, "k", DT_F32, rank, shape, 0);
  Constant *k = op_attr(v->def, "value")->constant;
  Tensor *t = tensor_of_type(c->ctx, k->type);
  tensor_from_storage(t, k->type, k->data);
  for (int64_t i = 0; i < t->n; i++)
    tensor_set(t, i, tensor_get(t, i) * 4 / (double)(t->n + 3));
  tensor_to_storage(t, k->type, k->data);
  return v;
}

/* Keeps the shape: i = o*1 + k*d - p, transposed o = i + k*d - p, so that both paddings come to d*(K-1). */
static Value *same_conv(Case *c, const Picture *p, Value *v) {
  bool transposed = between(0, 1);
  int64_t groups = between(0, 3) == 0 ? p->channels : 1, padding[6], dilation[3];
  int64_t kernel[5] = {p->channels, p->channels / groups};
  for (int k = 0; k < p->spatial; k++) {
    kernel[2 + k] = between(1, 4);
    dilation[k] = between(1, 3);
    int64_t total = dilation[k] * (kernel[2 + k] - 1);
    padding[k] = between(-1, total + 1);
    padding[p->spatial + k] = total - padding[k];
  }
  Value *operands[3] = {v, small_kernel(c, p->spatial + 2, kernel, between(0, 7) > 0), NULL};
  const char *name = arena_printf(c->ctx->arena, "conv%dd%s", p->spatial, transposed ? "_transpose" : "");
  Op *op = op_create(c->ctx, op_find(name, strlen(name)), operands, 3, LOC_NONE);
  op_set_ints(c->ctx, op, "padding", padding, 2 * p->spatial);
  op_set_ints(c->ctx, op, "dilation", dilation, p->spatial);
  op_set_int(op, "groups", groups);
  return op_finish(c->m, c->m->main, op, NULL, NULL, some_type(c, p));
}

static Value *elementwise(Case *c, const Picture *p, const char *name, Value *a, Value *b) {
  Value *operands[2] = {a, b};
  Op *op = op_create(c->ctx, op_find(name, strlen(name)), operands, b ? 2 : 1, LOC_NONE);
  return op_finish(c->m, c->m->main, op, NULL, NULL, some_type(c, p));
}

static Value *view(Case *c, const char *name, Value *v, const char *attr, const int64_t *ints, int n) {
  Op *op = op_create(c->ctx, op_find(name, strlen(name)), &v, 1, LOC_NONE);
  op_set_ints(c->ctx, op, attr, ints, n);
  return op_finish(c->m, c->m->main, op, NULL, NULL, NULL);
}

/* A part of two pictures behind one another along an axis. */
static Value *part_of_two(Case *c, const Picture *p, Value *v, int axis) {
  Value *both[2] = {v, v};
  Op *op = op_create(c->ctx, op_find("concat", 6), both, 2, LOC_NONE);
  op_set_int(op, "axis", axis);
  v = op_finish(c->m, c->m->main, op, NULL, NULL, NULL);
  int64_t begins[WEFT_MAX_RANK] = {0}, ends[WEFT_MAX_RANK];
  memcpy(ends, p->shape, sizeof ends);
  begins[axis] = between(0, p->shape[axis]);
  ends[axis] = begins[axis] + p->shape[axis];
  op = op_create(c->ctx, op_find("slice", 5), &v, 1, LOC_NONE);
  op_set_ints(c->ctx, op, "begins", begins, p->spatial + 2);
  op_set_ints(c->ctx, op, "ends", ends, p->spatial + 2);
  return op_finish(c->m, c->m->main, op, NULL, NULL, NULL);
}

/* Computed in another order of axes, which are counted back from the last one. */
static Value *turned(Case *c, const Picture *p, Value *v) {
  int64_t perm[WEFT_MAX_RANK];
  for (int k = 0; k < p->spatial + 2; k++)
    perm[k] = p->spatial + 1 - k;
  v = view(c, "transpose", v, "perm", perm, p->spatial + 2);
  Op *op = op_create(c->ctx, op_find("relu", 4), &v, 1, LOC_NONE);
  v = op_finish(c->m, c->m->main, op, NULL, NULL, NULL);
  return view(c, "transpose", v, "perm", perm, p->spatial + 2);
}

/* The channels in another order, by a reshape, a transpose and a reshape. */
static Value *shuffled(Case *c, const Picture *p, Value *v) {
  int64_t groups = p->channels % 2 ? 1 : 2, shape[WEFT_MAX_RANK], perm[WEFT_MAX_RANK] = {0, 2, 1, 3, 4, 5};
  memcpy(shape, (int64_t[3]){p->shape[0], groups, p->channels / groups}, 3 * sizeof *shape);
  memcpy(shape + 3, p->shape + 2, (size_t)p->spatial * sizeof *shape);
  v = view(c, "reshape", v, "shape", shape, p->spatial + 3);
  v = view(c, "transpose", v, "perm", perm, p->spatial + 3);
  return view(c, "reshape", v, "shape", p->shape, p->spatial + 2);
}

/* The picture, one time in three as views show it. */
static Value *seen(Case *c, const Picture *p, Value *v) {
  switch (between(0, 11)) {
  case 0:
    return part_of_two(c, p, v, 1);
  case 1:
    return part_of_two(c, p, v, 2);
  case 2:
    return turned(c, p, v);
  case 3:
    return shuffled(c, p, v);
  default:
    return v;
  }
}

static Value *block(Case *c, const Picture *p, Value *v) {
  Value *sum = same_conv(c, p, seen(c, p, v));
  if (between(0, 1))
    sum = elementwise(c, p, "add", sum, same_conv(c, p, seen(c, p, v)));
  if (between(0, 1))
    sum = elementwise(c, p, "add", v, sum);
  return between(0, 1) ? elementwise(c, p, "relu", sum, NULL) : sum;
}

static bool build_case(Case *c) {
  c->m->main = function_create(c->m, "net");
  Picture p = {.spatial = (int)between(1, 3), .channels = one_of((const int64_t[]){1, 2, 3, 8, 11}, 5)};
  p.shape[0] = between(1, 2);
  p.shape[1] = p.channels;
  for (int k = 0; k < p.spatial; k++)
    p.shape[2 + k] = between(1, p.spatial == 1 ? 40 : p.spatial == 2 ? 10 : 5);
  Value *x = add_param(c, "x", DT_F32, p.spatial + 2, p.shape);
  Value *v = between(0, 2) ? elementwise(c, &p, "tanh", x, NULL) : between(0, 1) ? random_copy(c, x, true) : x;
  for (int64_t blocks = between(1, 4); blocks > 0; blocks--)
    v = block(c, &p, v);
  if (between(0, 3) == 0) {
    int64_t flat[2] = {p.shape[0], 1};
    for (int k = 1; k < p.spatial + 2; k++)
      flat[1] *= p.shape[k];
    v = view(c, "reshape", v, "shape", flat, 2);
  }
  v = random_copy(c, v, false);
  function_add_result(c->m, c->m->main, "y", v, v->type, NULL, LOC_NONE);
  return module_verify(c->m);
}

int main(int argc, char **argv) {
  return sweep_main(argc, argv, build_case, (Tolerance){.rtol = 1e-4, .atol = 1e-4});
}
