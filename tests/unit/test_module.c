/* Modules and their builder: names, lists, uses, attributes, constants and those derived from them, tensors in storage.
 */
#include <math.h>

#include "graph_util.h"

static Graph g;
static void setup(void) {
  g = graph_new();
}
static void teardown(void) {
  ctx_destroy(g.ctx);
}

static const Layout *tag(int rank, const char *text) {
  const char *why = NULL;
  const Layout *layout = layout_parse(g.ctx, rank, text, strlen(text), &why);
  ck_assert_msg(layout != NULL, "%s", why);
  return layout;
}

START_TEST(table_rows) {
  for (int k = 0; k < OP_COUNT; k++) {
    const OpDef *def = &op_table[k];
    ck_assert_int_eq(def->code, k);
    ck_assert_ptr_eq(op_find(def->name, strlen(def->name)), def);
    ck_assert(def->infer && def->layout && def->eval);
    ck_assert_int_eq(def->view_index != NULL, (def->traits & OP_VIEW) != 0);
    ck_assert_int_eq(def->expression != NULL, (def->traits & (OP_ELEMENTWISE | OP_COMPOSITE)) != 0);
  }
  const OpDef *up = op_find("conv2d_transpose", strlen("conv2d_transpose"));
  ck_assert_int_eq(up->spatial, 2);
  ck_assert_int_eq(up->n_operands, 3);
  ck_assert_int_eq(up->n_attrs, 5);
  ck_assert(up->operands[2].optional && !up->operands[1].optional);
  ck_assert_int_eq(op_attr_index(up, "dilation", 8), 3);
  ck_assert_int_eq(op_attr_index(up, "dilatio", 7), -1);
  ck_assert_str_eq(op_roles(g.ctx, up, "IO*"), "IOHW");
  ck_assert_str_eq(op_roles(g.ctx, &op_table[OP_CONV3D], "NC*"), "NCDHW");
  ck_assert_str_eq(op_roles(g.ctx, &op_table[OP_CONV1D], "OI*"), "OIW");
  ck_assert_str_eq(op_roles(g.ctx, &op_table[OP_RELU], ""), "");
  ck_assert_ptr_null(op_find("conv2", 5));
  ck_assert_str_eq(op_nearest(g.ctx, "conv2d_transposed"), "conv2d_transpose");
  ck_assert_ptr_null(op_nearest(g.ctx, "xyzzy"));
  ck_assert_int_eq(op_table[OP_CONSTANT].n_operands, 0);
  ck_assert_int_eq(op_table[OP_RELU].n_attrs, 0);
  ck_assert(op_table[OP_PRELU].operands[1].along_axis);
}
END_TEST

START_TEST(unique_names) {
  Value *a = param(&g, "x", F32(g.ctx, 4)), *b = param(&g, "x", F32(g.ctx, 4)), *c = param(&g, "x.2", F32(g.ctx, 4));
  ck_assert_str_eq(a->name, "x");
  ck_assert_str_eq(b->name, "x.1");
  ck_assert_str_eq(c->name, "x.2");
  ck_assert_str_eq(param(&g, "x", F32(g.ctx, 4))->name, "x.3");
  ck_assert_str_eq(finish(&g, new_op(&g, OP_RELU, a, NULL, NULL), NULL)->name, "0");
  param(&g, "1", F32(g.ctx, 4));
  ck_assert_str_eq(finish(&g, new_op(&g, OP_RELU, a, NULL, NULL), NULL)->name, "2");
  ck_assert_str_eq(finish(&g, new_op(&g, OP_RELU, a, NULL, NULL), "")->name, "3");
  ck_assert_ptr_eq(function_find_value(g.f, "x.1"), b);
  ck_assert_ptr_nonnull(function_find_value(g.f, "2"));
  ck_assert_ptr_null(function_find_value(g.f, "y"));
  for (int k = 0; k < 20000; k++) /* equal wishes stay cheap */
    function_take_name(g.ctx, g.f, "same");
  ck_assert_str_eq(function_take_name(g.ctx, g.f, "same"), "same.20000");
}
END_TEST

START_TEST(lists_and_uses) {
  Value *x = param(&g, "x", F32(g.ctx, 4));
  Value *a = finish(&g, new_op(&g, OP_RELU, x, NULL, NULL), "a");
  Value *b = finish(&g, new_op(&g, OP_ADD, a, a, NULL), "b");
  Value *before = op_finish(g.m, g.f, new_op(&g, OP_TANH, x, NULL, NULL), b->def, "t", NULL);
  Value *first = op_finish(g.m, g.f, new_op(&g, OP_TANH, x, NULL, NULL), g.f->first, "u", NULL);
  function_add_result(g.m, g.f, "b", b, b->type, NULL, LOC_NONE);
  ck_assert_ptr_eq(g.f->first, first->def);
  ck_assert_ptr_eq(first->def->next, a->def);
  ck_assert_ptr_eq(a->def->next, before->def);
  ck_assert_ptr_eq(before->def->next, b->def);
  ck_assert_ptr_eq(b->def->prev, before->def);
  ck_assert_ptr_eq(g.f->last, b->def);
  uint32_t *uses = function_count_uses(g.ctx, g.f);
  ck_assert_uint_eq(uses[x->id], 3);
  ck_assert_uint_eq(uses[a->id], 2);
  ck_assert_uint_eq(uses[b->id], 1);
  ck_assert_uint_eq(uses[before->id], 0);
  b->def->fused = a;
  value_replace_uses(g.f, a, before);
  ck_assert_ptr_eq(b->def->operands[0], before);
  ck_assert_ptr_eq(b->def->operands[1], before);
  ck_assert_ptr_eq(b->def->fused, before);
  value_replace_uses(g.f, b, before);
  ck_assert_ptr_eq(g.f->results.data[0].value, before);
  op_erase(g.f, first->def);
  ck_assert_ptr_eq(g.f->first, a->def);
  ck_assert_ptr_null(a->def->prev);
  op_erase(g.f, b->def);
  ck_assert_ptr_eq(g.f->last, before->def);
  op_erase(g.f, a->def);
  op_erase(g.f, before->def);
  ck_assert(g.f->first == NULL && g.f->last == NULL);
}
END_TEST

START_TEST(attributes) {
  Op *op = new_op(&g, OP_CONV2D_TRANSPOSE, NULL, NULL, NULL);
  ck_assert_int_eq(op_attr(op, "strides")->n, 2);
  ck_assert_int_eq(op_attr(op, "strides")->ints[1], 1);
  ck_assert_int_eq(op_attr(op, "padding")->n, 4);
  ck_assert_int_eq(op_attr(op, "padding")->ints[3], 0);
  ck_assert_int_eq(op_int(op, "groups"), 1);
  int64_t strides[] = {2, 3};
  op_set_ints(g.ctx, op, "strides", strides, 2);
  strides[0] = 9; /* the op has a copy */
  ck_assert_int_eq(op_attr(op, "strides")->ints[0], 2);
  op_set_int(op, "groups", 4);
  ck_assert_int_eq(op_int(op, "groups"), 4);
  Op *leaky = new_op(&g, OP_LEAKY_RELU, NULL, NULL, NULL), *clip = new_op(&g, OP_CLIP, NULL, NULL, NULL);
  ck_assert(op_attr(leaky, "alpha")->set && op_attr(leaky, "alpha")->f == 0.01);
  ck_assert(!op_attr(clip, "min")->set);
  op_set_float(clip, "min", -1);
  ck_assert(op_attr(clip, "min")->set);
}
END_TEST

static Constant *ramp(const char *name, const Type *type) {
  int64_t n = expr_value(type_storage(g.ctx, type));
  float *data = ARENA_ARRAY(g.ctx->arena, float, n);
  for (int64_t k = 0; k < n; k++)
    data[k] = (float)k;
  return module_add_constant(g.m, name, type, data, LOC_NONE);
}

START_TEST(derived_constants) {
  Constant *k = ramp("k", F32(g.ctx, 2, 3));
  ck_assert_str_eq(ramp("k", F32(g.ctx, 1))->name, "k.1");
  Constant *t = module_derive_constant(g.m, k, tag(2, "ba"));
  ck_assert_ptr_eq(t->base, k);
  ck_assert_ptr_eq(module_derive_constant(g.m, k, tag(2, "ba")), t);
  ck_assert_ptr_eq(module_derive_constant(g.m, t, tag(2, "ab")), k);
  ck_assert_ptr_eq(module_derive_constant(g.m, t, tag(2, "ba")), t);
  const float *data = constant_data(g.m, t);
  static const float transposed[] = {0, 3, 1, 4, 2, 5};
  ck_assert_mem_eq(data, transposed, sizeof transposed);
  ck_assert_ptr_eq(constant_data(g.m, t), data);
  /* From a derived one, the root is what is stored anew. */
  Constant *blocked = module_derive_constant(g.m, t, tag(2, "aB4b:zero"));
  ck_assert_ptr_eq(blocked->base, k);
  static const float zeros[] = {0, 1, 2, 0, 3, 4, 5, 0};
  ck_assert_mem_eq(constant_data(g.m, blocked), zeros, sizeof zeros);
  const float *any = constant_data(g.m, module_derive_constant(g.m, k, tag(2, "aB4b")));
  ck_assert(isnan(any[3]) && isnan(any[7]) && any[6] == 5.0f);
  ck_assert_ptr_eq(module_find_constant(g.m, blocked->name), blocked);
  ck_assert_ptr_null(module_find_constant(g.m, "q"));
  Constant *small = ramp("small", F32(g.ctx, 1, 1, 1));
  ck_assert_ptr_null(module_derive_constant(g.m, small, tag(3, "ABC1048576a1048576b1048576c")));
  int n = 0;
  for (Constant *c = g.m->first_constant; c; c = c->next)
    n++;
  ck_assert_int_eq(n, 6);
}
END_TEST

START_TEST(constant_hashes) {
  Constant *a = ramp("a", F32(g.ctx, 2, 3)), *b = ramp("b", F32(g.ctx, 2, 3)), *c = ramp("c", F32(g.ctx, 3, 2));
  ck_assert(constant_hash(g.m, a) == constant_hash(g.m, b) && constant_hash(g.m, a) != 0);
  ck_assert(constant_hash(g.m, a) != constant_hash(g.m, c));
  ((float *)b->data)[5] = 9;
  b->hash = 0;
  ck_assert(constant_hash(g.m, a) != constant_hash(g.m, b));
}
END_TEST

/* Logical order to storage and back is the identity for every kind of layout, storage is where layout_offset says, and
 * around it lie poison or zeros, in halos zeros. */
START_TEST(storage_round_trip) {
  static const char *const tags[] = {"abcd",        "acdb",     "dcba",       "aBcd8b",
                                     "aBcd8b:zero", "ABcd2a4b", "abCD2d3c4d", "dcB2bA3a:finite",
                                     "abc(1,2)d(0,3)", "d(2,0)ca(1,1)b", "aBc(1,1)d8b", "aBc(0,1)d(2,2)8b:zero"};
  const int64_t shape[] = {3, 11, 4, 5};
  Tensor *t = tensor_new(g.ctx, DT_F32, 4, shape), *back = tensor_new(g.ctx, DT_F32, 4, shape);
  for (int64_t k = 0; k < t->n; k++)
    tensor_set(t, k, (double)k);
  for (size_t k = 0; k < sizeof tags / sizeof *tags; k++) {
    const char *why = NULL;
    const Layout *layout = layout_parse(g.ctx, 4, tags[k], strlen(tags[k]), &why);
    ck_assert_msg(layout != NULL, "%s: %s", tags[k], why);
    const Type *type = type_static(g.ctx, DT_F32, 4, shape, layout);
    float *storage = arena_alloc(g.ctx->arena, (size_t)type_bytes(type));
    tensor_to_storage(t, type, storage);
    int64_t index[4] = {0}, n = type_bytes(type) / 4, poison = 0, zeros = 0, halo = 1;
    for (int axis = 0; axis < 4; axis++)
      halo *= shape[axis] + layout->halo[axis].lo + layout->halo[axis].hi;
    halo -= t->n;
    for (int64_t i = 0; i < t->n; i++, tensor_next_index(t, index))
      ck_assert(storage[layout_offset(layout, shape, index)] == (float)i);
    for (int64_t i = 0; i < n; i++) {
      poison += isnan(storage[i]);
      zeros += storage[i] == 0.0f;
    }
    ck_assert_int_eq(poison, layout->pad == PAD_ANY ? n - t->n - halo : 0);
    ck_assert_int_eq(zeros, n - t->n - poison + 1); /* element 0 is 0 too */
    memset(back->data, 0, (size_t)back->n * 4);
    tensor_from_storage(back, type, storage);
    ck_assert_mem_eq(back->data, t->data, (size_t)t->n * 4);
  }
}
END_TEST

START_TEST(elements_of_every_type) {
  static const struct {
    DType dtype;
    double in, out;
  } cases[] = {
      {DT_F32, 0.1, (double)0.1f},
      {DT_F64, 0.1, 0.1},
      {DT_F16, 1.0 / 3, 0.333251953125},
      {DT_F16, 65519, 65504},
      {DT_F16, 65520, INFINITY},
      {DT_F16, 0x1p-24, 0x1p-24},
      {DT_F16, 0x1p-25, 0},
      {DT_F16, -0x1.8p-25, -0x1p-24},
      {DT_F16, 2047.5, 2048},
      {DT_BF16, 1.00390625, 1.0},
      {DT_BF16, 1.01171875, 1.015625},
      {DT_BF16, 3.4e38, INFINITY},
      {DT_BF16, -INFINITY, -INFINITY},
      {DT_I8, 200, 127},
      {DT_I8, -200, -128},
      {DT_U8, -1, 0},
      {DT_U8, 300, 255},
      {DT_I16, 40000, 32767},
      {DT_U16, 65536, 65535},
      {DT_I32, 3e9, 2147483647},
      {DT_I32, -3e9, -2147483648.0},
      {DT_U32, 5e9, 4294967295.0},
      {DT_I64, 1e30, 0x1p63},
      {DT_I64, -1e30, -0x1p63},
      {DT_U64, 1e30, 0x1p64},
      {DT_U64, -1, 0},
      {DT_BOOL, 2, 1},
      {DT_I32, NAN, 0},
      {DT_U64, NAN, 0},
      {DT_I8, -3.9, -3},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    Tensor *t = tensor_new(g.ctx, cases[k].dtype, 1, SHAPE(2));
    tensor_set(t, 1, cases[k].in);
    ck_assert_msg(tensor_get(t, 1) == cases[k].out, "%s of %g: %.17g", dtype_name(cases[k].dtype), cases[k].in,
                  tensor_get(t, 1));
    ck_assert(tensor_get(t, 0) == 0.0);
  }
  for (int dtype = 0; dtype < DT_COUNT; dtype++) {
    Tensor *t = tensor_new(g.ctx, (DType)dtype, 1, SHAPE(3));
    tensor_poison((DType)dtype, t->data, 3 * dtype_size((DType)dtype));
    if (dtype_is_float((DType)dtype))
      ck_assert(isnan(tensor_get(t, 2)));
    else
      ck_assert_uint_eq(((const uint8_t *)t->data)[2], 0xa5);
    if (dtype_is_float((DType)dtype)) {
      tensor_set(t, 0, (double)NAN);
      ck_assert(isnan(tensor_get(t, 0)));
    }
  }
}
END_TEST

/* Every half is what it reads as: to double and back. */
START_TEST(halves_round_trip) {
  for (int dtype = DT_F16; dtype <= DT_BF16; dtype++) {
    Tensor *t = tensor_new(g.ctx, (DType)dtype, 1, SHAPE(2));
    uint16_t *bits = t->data;
    for (uint32_t k = 0; k < 65536; k++) {
      bits[0] = (uint16_t)k;
      double v = tensor_get(t, 0);
      tensor_set(t, 1, v);
      ck_assert_msg(isnan(v) ? isnan(tensor_get(t, 1)) : bits[1] == k, "%x became %x", k, bits[1]);
    }
  }
}
END_TEST

START_TEST(builders) {
  Value *x = param(&g, "x", F32(g.ctx, 2, 3));
  Value *r = build_relayout(g.m, g.f, NULL, x, tag(2, "ba"), LOC_NONE);
  ck_assert_str_eq(type_text(g.ctx, r->type), "f32[2,3]@ba");
  ck_assert_str_eq(r->name, "x.1");
  Constant *k = ramp("k", f32_type(g.ctx, 2, SHAPE(2, 3), "ba"));
  Value *c = build_constant(g.m, g.f, NULL, k, "k", LOC_NONE);
  ck_assert_ptr_eq(c->type, k->type);
  ck_assert_ptr_eq(build_broadcast(g.m, g.f, NULL, x, SHAPE(0, 1), SHAPE(2, 3), 2, LOC_NONE), x);
  Value *b = build_broadcast(g.m, g.f, NULL, x, SHAPE(2, 0), SHAPE(3, 5, 2), 3, LOC_NONE);
  ck_assert_str_eq(type_text(g.ctx, b->type), "f32[3,5,2]");
  ck_assert_uint_eq(diag_count(g.ctx->diags), 0);
  Value *small = param(&g, "small", F32(g.ctx, 1, 1, 1));
  const Layout *large = tag(3, "ABC1048576a1048576b1048576c");
  ck_assert_ptr_null(build_relayout(g.m, g.f, NULL, small, large, LOC_NONE));
  expect_error(&g, WEFT_UNSUPPORTED, "too large");
}
END_TEST

static const char *broadcast_text(const Type *a, const Type *b, OpCode code, int64_t axis) {
  Op *op = new_op(&g, code, param(&g, "a", a), param(&g, "b", b), NULL);
  Value *v = build_elementwise(g.m, g.f, op, NULL, "v", axis);
  ck_assert_ptr_nonnull(v);
  return type_text(g.ctx, v->type);
}

START_TEST(elementwise_broadcasting) {
  ck_assert_str_eq(broadcast_text(F32(g.ctx, 2, 3), F32(g.ctx, 2, 3), OP_ADD, 0), "f32[2,3]");
  ck_assert_int_eq(g.f->first->def->code, OP_ADD); /* nothing to stretch */
  ck_assert_str_eq(broadcast_text(F32(g.ctx, 2, 3), F32(g.ctx, 3), OP_ADD, 0), "f32[2,3]");
  ck_assert_int_eq(g.f->last->operands[1]->def->def->code, OP_BROADCAST);
  ck_assert_ptr_null(g.f->last->operands[0]->def);
  ck_assert_str_eq(broadcast_text(F32(g.ctx, 4, 1, 5), F32(g.ctx, 2, 1, 3, 1), OP_MUL, 0), "f32[2,4,3,5]");
  ck_assert_str_eq(broadcast_text(F32(g.ctx, 1), F32(g.ctx, 4, 4), OP_SUB, 0), "f32[4,4]");
  ck_assert_str_eq(broadcast_text(F32(g.ctx, 2, 0), F32(g.ctx, 2, 1), OP_SUB, 0), "f32[2,0]");
  ck_assert_str_eq(broadcast_text(type_static(g.ctx, DT_F32, 0, NULL, NULL), F32(g.ctx, 2), OP_DIV, 0), "f32[2]");
  ck_assert_str_eq(broadcast_text(F32(g.ctx, 2, 3, 4, 4), F32(g.ctx, 3), OP_PRELU, 1), "f32[2,3,4,4]");
  ck_assert_int_eq(op_attr(g.f->last->operands[1]->def, "axes")->ints[0], 1);
  ck_assert_str_eq(broadcast_text(F32(g.ctx, 2, 3, 4, 4), F32(g.ctx, 3), OP_PRELU, -3), "f32[2,3,4,4]");
  ck_assert_str_eq(broadcast_text(F32(g.ctx, 2, 3, 4), F32(g.ctx, 3, 1), OP_PRELU, 0), "f32[2,3,4]");
  ck_assert_uint_eq(diag_count(g.ctx->diags), 0);
}
END_TEST

static const struct {
  int rank_a, rank_b;
  int64_t a[4], b[4];
  OpCode code;
  int64_t axis;
  const char *message;
} misfits[] = {
    {2,
     1,
     {2, 3},
     {2},
     OP_ADD,
     0,
     "test.weft:7:3: error: node 'n': add: operand 'a', which is f32[2,3], and operand 'b', which is f32[2], cannot be "
     "broadcast together"},
    {2, 2, {2, 0}, {2, 3}, OP_ADD, 0, "f32[2,0], and operand 'b', which is f32[2,3], cannot be broadcast"},
    {4, 1, {1, 3, 4, 4}, {4}, OP_PRELU, 1, "f32[1,3,4,4], and operand 'slope', which is f32[4], cannot be broadcast"},
    {4, 1, {1, 3, 4, 4}, {3}, OP_PRELU, 4, "prelu: 'axis' is 4, expected -4 to 3: operand 'x' has rank 4"},
    {4, 1, {1, 3, 4, 4}, {3}, OP_PRELU, -5, "'axis' is -5"},
};

START_TEST(elementwise_misfits) {
  Value *a = param(&g, "a", f32_type(g.ctx, misfits[_i].rank_a, misfits[_i].a, NULL));
  Value *b = param(&g, "b", f32_type(g.ctx, misfits[_i].rank_b, misfits[_i].b, NULL));
  Op *op = new_op(&g, misfits[_i].code, a, b, NULL);
  ck_assert_ptr_null(build_elementwise(g.m, g.f, op, NULL, "v", misfits[_i].axis));
  expect_error(&g, WEFT_MALFORMED, misfits[_i].message);
}
END_TEST

Suite *suite_module(void);
Suite *suite_module(void) {
  Suite *suite = suite_create("module");
  TCase *tc = tcase_create("module");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, table_rows);
  tcase_add_test(tc, unique_names);
  tcase_add_test(tc, lists_and_uses);
  tcase_add_test(tc, attributes);
  tcase_add_test(tc, derived_constants);
  tcase_add_test(tc, constant_hashes);
  tcase_add_test(tc, storage_round_trip);
  tcase_add_test(tc, elements_of_every_type);
  tcase_add_test(tc, halves_round_trip);
  tcase_add_test(tc, builders);
  tcase_add_test(tc, elementwise_broadcasting);
  tcase_add_loop_test(tc, elementwise_misfits, 0, sizeof misfits / sizeof *misfits);
  suite_add_tcase(suite, tc);
  return suite;
}
