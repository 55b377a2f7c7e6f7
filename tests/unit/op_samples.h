/* A small valid op of every row of the table, for tests that walk over it: made from the row (operands, attributes) by
 * a recipe of its family, over operands of one element type, in one kind of layout. A row without a recipe has none:
 * the tests say so. */
#ifndef WEFT_TESTS_UNIT_OP_SAMPLES_H
#define WEFT_TESTS_UNIT_OP_SAMPLES_H

#include "graph_util.h"
#include "ir/ops/ops.h"

/* Forms of layouts: as they are; the axes rotated; the channels (axis 1, of a vector its only one) in blocks of 8, of
 * which 9 channels leave padding. */
typedef enum { FORM_ROW_MAJOR, FORM_PERMUTED, FORM_BLOCKED } Form;
#define FORM_COUNT 3
static const char *const form_names[FORM_COUNT] = {"row-major", "permuted", "blocked"};

typedef struct {
  Graph *g;
  const OpDef *def;
  DType dtype;
  Form form;
  int variant; /* of the recipe */
} Sample;

typedef struct {
  OpInfer *family;
  const char *name; /* of one row of the family; NULL: all others */
  int variants;
  Op *(*build)(const Sample *s);
} Recipe;

static inline const Layout *form_layout(Ctx *ctx, int rank, Form form) {
  Digit d[WEFT_MAX_RANK + 1];
  int n = 0, channels = rank > 1 ? 1 : 0;
  if (rank == 0 || form == FORM_ROW_MAJOR)
    return layout_row_major(ctx, rank);
  for (int k = 0; k < rank; k++) {
    int axis = form == FORM_PERMUTED ? (k + 1) % rank : k;
    d[n++] = (Digit){axis, form == FORM_BLOCKED && axis == channels ? 8 : 1, 0};
  }
  if (form == FORM_BLOCKED)
    d[n++] = (Digit){channels, 1, 8};
  const Layout *layout = layout_get(ctx, rank, d, n, PAD_ANY);
  ck_assert_ptr_nonnull(layout);
  return layout;
}

/* ---- operands ---- */

/* A parameter in the caller's order, copied to the form. Parameters of one name and shape are one; those whose name
 * starts with `index` hold numbers in 0..3. */
static inline Value *operand_of(const Sample *s, const char *name, DType dtype, int rank, const int64_t *shape) {
  Ctx *ctx = s->g->ctx;
  Str full = str_new(ctx->arena);
  str_printf(&full, "%s_%s", name, dtype_name(dtype));
  for (int k = 0; k < rank; k++)
    str_printf(&full, "%c%d", k ? 'x' : '_', (int)shape[k]);
  Value *v = function_find_value(s->g->f, full.data);
  if (!v)
    v = param(s->g, full.data, type_static(ctx, dtype, rank, shape, NULL));
  const Layout *layout = form_layout(ctx, rank, s->form);
  return layout == v->type->layout ? v : build_relayout(s->g->m, s->g->f, NULL, v, layout, LOC_NONE);
}
#define OPERAND_OF(s, name, dtype, ...) operand_of(s, name, dtype, RANK(__VA_ARGS__), SHAPE(__VA_ARGS__))

/* A constant in the form, of numbers 0, 1, 2, 3, 0, ... */
static inline Constant *constant_of(const Sample *s, DType dtype, int rank, const int64_t *shape) {
  Ctx *ctx = s->g->ctx;
  const Type *type = type_static(ctx, dtype, rank, shape, form_layout(ctx, rank, s->form));
  Tensor *t = tensor_of_type(ctx, type);
  for (int64_t k = 0; k < t->n; k++)
    tensor_set(t, k, (double)(k % 4));
  void *data = arena_alloc(ctx->arena, (size_t)type_bytes(type));
  tensor_to_storage(t, type, data);
  return module_add_constant(s->g->m, "k", type, data, LOC_NONE);
}
#define CONSTANT_OF(s, dtype, ...)                                                                                     \
  build_constant((s)->g->m, (s)->g->f, NULL, constant_of(s, dtype, RANK(__VA_ARGS__), SHAPE(__VA_ARGS__)), NULL,       \
                 LOC_NONE)

static inline Op *op_of(const Sample *s, int n, Value *const *operands) {
  return op_create(s->g->ctx, s->def, operands, n, (Loc){"test.weft", 7, 3, "n"});
}

static inline void set_ints_of(const Sample *s, Op *op, const char *name, int n, const int64_t *v) {
  op_set_ints(s->g->ctx, op, name, v, n);
}
#define SET(s, op, name, ...) set_ints_of(s, op, name, RANK(__VA_ARGS__), SHAPE(__VA_ARGS__))

/* ---- recipes ---- */

/* A variant for each element type that a cast may have. */
static inline Op *sample_elementwise(const Sample *s) {
  Value *operands[OP_MAX_OPERANDS];
  for (int k = 0; k < s->def->n_operands; k++)
    operands[k] = OPERAND_OF(s, k ? "y" : "x", s->def->operands[k].is_bool ? DT_BOOL : s->dtype, 2, 9, 5);
  Op *op = op_of(s, s->def->n_operands, operands);
  for (int k = 0; k < s->def->n_attrs; k++) {
    const AttrDef *attr = &s->def->attrs[k];
    if (attr->kind == ATTR_FLOAT && attr->required)
      op_set_float(op, attr->name, k ? 0.75 : 0.25);
    else if (attr->kind == ATTR_DTYPE)
      op_set_dtype(op, attr->name, (DType)(s->variant % DT_COUNT));
  }
  return op;
}

/* Of one group with a bias and a constant kernel; of three groups with neither. */
static inline Op *sample_conv(const Sample *s) {
  int d = s->def->spatial;
  bool grouped = s->variant == 1, transposed = s->def->infer == conv_transpose_infer;
  int64_t data[5] = {1, 9, 3, 2, 2}, kernel[5] = {9, grouped ? 3 : 9, 2, 2, 2}, strides[3] = {2, 1, 1},
          padding[6] = {1};
  Value *operands[3] = {operand_of(s, "x", s->dtype, d + 2, data)};
  if (grouped)
    operands[1] = operand_of(s, "kernel", s->dtype, d + 2, kernel);
  else
    operands[1] = build_constant(s->g->m, s->g->f, NULL, constant_of(s, s->dtype, d + 2, kernel), NULL, LOC_NONE);
  operands[2] = grouped ? NULL : OPERAND_OF(s, "bias", s->dtype, 9);
  Op *op = op_of(s, 3, operands);
  set_ints_of(s, op, "strides", d, strides);
  set_ints_of(s, op, "padding", 2 * d, padding);
  op_set_int(op, "groups", grouped ? 3 : 1);
  if (transposed && grouped) {
    int64_t more[3] = {1, 0, 0};
    set_ints_of(s, op, "output_padding", d, more);
  }
  return op;
}

static inline Op *sample_reduce(const Sample *s) {
  Op *op = op_of(s, 1, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5)});
  SET(s, op, "axes", 1);
  op_set_int(op, "keepdims", s->variant);
  return op;
}

static inline Op *sample_pool(const Sample *s) {
  int d = s->def->spatial;
  int64_t data[5] = {1, 9, 4, 3, 2}, two[3] = {2, 2, 2}, padding[6] = {1};
  Op *op = op_of(s, 1, (Value *[]){operand_of(s, "x", s->dtype, d + 2, data)});
  set_ints_of(s, op, "kernel", d, two);
  set_ints_of(s, op, "padding", 2 * d, padding);
  return op;
}

static inline Op *sample_matmul(const Sample *s) {
  return op_of(s, 2, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 3, 9), OPERAND_OF(s, "y", s->dtype, 2, 9, 5)});
}

/* Without weights, with those of either type; a table of parameters is gathered at run time. */
static inline Op *sample_resample(const Sample *s) {
  Value *weights = s->variant == 0 ? NULL : CONSTANT_OF(s, s->variant == 1 ? DT_F32 : DT_F64, 5, 2);
  Value *indices = s->variant == 2 ? OPERAND_OF(s, "index", DT_I32, 5, 2) : CONSTANT_OF(s, DT_I64, 5, 2);
  Op *op = op_of(s, 3, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5), indices, weights});
  op_set_int(op, "axis", 2);
  return op;
}

static inline Op *sample_broadcast(const Sample *s) {
  Op *op = op_of(s, 1, (Value *[]){OPERAND_OF(s, "x", s->dtype, 9, 1)});
  SET(s, op, "axes", 1, 2);
  SET(s, op, "shape", 2, 9, 5);
  return op;
}

static inline Op *sample_transpose(const Sample *s) {
  Op *op = op_of(s, 1, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5)});
  SET(s, op, "perm", 2, 0, 1);
  return op;
}

static inline Op *sample_reshape(const Sample *s) {
  Op *op = op_of(s, 1, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5)});
  SET(s, op, "shape", 3, 6, -1);
  return op;
}

static inline Op *sample_slice(const Sample *s) {
  Op *op = op_of(s, 1, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5)});
  SET(s, op, "begins", 3, -1);
  SET(s, op, "ends", 9, -6);
  SET(s, op, "axes", 1, 2);
  SET(s, op, "steps", 1, -2);
  return op;
}

static inline Op *sample_concat(const Sample *s) {
  Op *op = op_of(s, 3,
                 (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 3, 5), OPERAND_OF(s, "x", s->dtype, 2, 9, 5),
                             OPERAND_OF(s, "y", s->dtype, 2, 1, 5)});
  op_set_int(op, "axis", 1);
  return op;
}

/* A variant for each mode. */
static inline Op *sample_pad(const Sample *s) {
  Op *op = op_of(s, 1, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5)});
  SET(s, op, "padding", 0, 1, 2, 0, 3, -1);
  op_set_word(op, "mode", s->variant);
  return op;
}

/* Indices by constants, and by parameters of each type that they may have. */
static inline Op *sample_gather(const Sample *s) {
  static const DType types[] = {DT_I64, DT_I64, DT_I32, DT_I16, DT_I8, DT_U32, DT_U16, DT_U8};
  Value *indices = s->variant ? OPERAND_OF(s, "index", types[s->variant], 2, 2) : CONSTANT_OF(s, DT_I64, 3);
  Op *op = op_of(s, 2, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5), indices});
  op_set_int(op, "axis", s->variant ? 2 : 1);
  return op;
}

/* To another type of the same size, where there is one; else refused. */
static inline Op *sample_bit_cast(const Sample *s) {
  Op *op = op_of(s, 1, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5)});
  DType to = s->dtype;
  for (int k = 0; k < DT_COUNT; k++)
    if (k != DT_BOOL && (DType)k != s->dtype && dtype_size((DType)k) == dtype_size(s->dtype))
      to = (DType)k;
  op_set_dtype(op, "to", to);
  return op;
}

/* A variant for each reduction; indices 0..3 are within every extent. */
static inline Op *sample_scatter_elements(const Sample *s) {
  Value *indices = OPERAND_OF(s, "index", DT_I64, 2, 4, 5);
  Op *op = op_of(s, 3, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5), indices, OPERAND_OF(s, "y", s->dtype, 2, 4, 5)});
  op_set_int(op, "axis", 1);
  op_set_word(op, "reduction", s->variant);
  return op;
}

static inline Op *sample_scatter_nd(const Sample *s) {
  Value *indices = OPERAND_OF(s, "index", DT_I64, 3, 1);
  Op *op = op_of(s, 3, (Value *[]){OPERAND_OF(s, "x", s->dtype, 4, 9, 5), indices, OPERAND_OF(s, "y", s->dtype, 3, 9, 5)});
  op_set_word(op, "reduction", s->variant);
  return op;
}

static inline Op *sample_top_k(const Sample *s) {
  Op *op = op_of(s, 1, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5)});
  op_set_int(op, "k", 4);
  op_set_int(op, "axis", 1);
  op_set_int(op, "largest", s->variant);
  return op;
}

static inline Op *sample_einsum(const Sample *s) {
  Op *op = op_of(s, 2, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5), OPERAND_OF(s, "y", s->dtype, 9, 3, 5)});
  op_set_text(s->g->ctx, op, "equation", s->variant ? "abc,bdc->dab" : "abc,bdc->bd");
  return op;
}

/* Of data with as many spatial axes as the row; variants: the modes. */
static inline Op *sample_grid(const Sample *s) {
  int d = s->def->spatial;
  int64_t data[5] = {2, 9, 4, 3, 2}, grid[5] = {2, 3, 2, 2, 2};
  grid[d + 1] = d;
  Op *op = op_of(s, 2, (Value *[]){operand_of(s, "x", s->dtype, d + 2, data), operand_of(s, "y", s->dtype, d + 2, grid)});
  op_set_word(op, "mode", s->variant);
  return op;
}

/* The number of gates of a recurrent row, by its name. */
static inline int64_t gates_of(const Sample *s) {
  return s->def->name[0] == 'r' ? 1 : s->def->name[0] == 'g' ? 3 : 4;
}

/* Three times, two rows, nine units. */
static inline Op *sample_scan(const Sample *s) {
  int64_t gates = gates_of(s);
  Value *operands[OP_MAX_OPERANDS] = {OPERAND_OF(s, "x", s->dtype, 3, 2, gates, 9),
                                      OPERAND_OF(s, "y", s->dtype, gates, 9, 9)};
  return op_of(s, s->def->n_operands, operands);
}

static inline Op *sample_recurrent(const Sample *s) {
  int64_t gates = gates_of(s);
  Value *operands[OP_MAX_OPERANDS] = {OPERAND_OF(s, "x", s->dtype, 3, 2, 5), OPERAND_OF(s, "w", s->dtype, gates, 9, 5),
                                      OPERAND_OF(s, "y", s->dtype, gates, 9, 9)};
  return op_of(s, s->def->n_operands, operands);
}

static inline Op *sample_relayout(const Sample *s) {
  return op_of(s, 1, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5)});
}

static inline Op *sample_constant(const Sample *s) {
  Op *op = op_of(s, 0, NULL);
  op_set_constant(op, "value", constant_of(s, s->dtype, 3, SHAPE(2, 9, 5)));
  return op;
}

/* Formulas over x alone, reducing along axes where they have such an attribute. */
static inline Op *sample_of_x(const Sample *s) {
  Op *op = op_of(s, 1, (Value *[]){OPERAND_OF(s, "x", s->dtype, 2, 9, 5)});
  if (op_attr_index(s->def, "axes", 4) >= 0)
    SET(s, op, "axes", 1);
  return op;
}

/* Norms with a scale and a shift per channel, in three groups where there are groups. */
static inline Op *sample_channel_norm(const Sample *s) {
  Value *x = OPERAND_OF(s, "x", s->dtype, 2, 9, 5);
  Op *op = op_of(s, 3, (Value *[]){x, OPERAND_OF(s, "x", s->dtype, 9), OPERAND_OF(s, "y", s->dtype, 9)});
  if (op_attr_index(s->def, "groups", 6) >= 0)
    op_set_int(op, "groups", 3);
  return op;
}

static inline Op *sample_layer_norm(const Sample *s) {
  Value *x = OPERAND_OF(s, "x", s->dtype, 2, 9, 5), *bias = s->variant ? OPERAND_OF(s, "y", s->dtype, 5) : NULL;
  return op_of(s, 3, (Value *[]){x, OPERAND_OF(s, "x", s->dtype, 5), bias});
}

static const Recipe recipes[] = {
    {elementwise_infer, "cast", DT_COUNT, sample_elementwise},
    {elementwise_infer, NULL, 1, sample_elementwise},
    {conv_infer, NULL, 2, sample_conv},
    {conv_transpose_infer, NULL, 2, sample_conv},
    {reduce_infer, NULL, 2, sample_reduce},
    {window_reduce_infer, NULL, 1, sample_pool},
    {matmul_infer, NULL, 1, sample_matmul},
    {resample_infer, NULL, 3, sample_resample},
    {broadcast_infer, NULL, 1, sample_broadcast},
    {transpose_infer, NULL, 1, sample_transpose},
    {reshape_infer, NULL, 1, sample_reshape},
    {slice_infer, NULL, 1, sample_slice},
    {concat_infer, NULL, 1, sample_concat},
    {pad_infer, NULL, 4, sample_pad},
    {gather_infer, NULL, 8, sample_gather},
    {bit_cast_infer, NULL, 1, sample_bit_cast},
    {scatter_elements_infer, NULL, 5, sample_scatter_elements},
    {scatter_nd_infer, NULL, 5, sample_scatter_nd},
    {top_k_infer, NULL, 2, sample_top_k},
    {window_index_infer, NULL, 1, sample_pool},
    {einsum_infer, NULL, 2, sample_einsum},
    {grid_sample_infer, NULL, 3, sample_grid},
    {recurrent_infer, NULL, 1, sample_scan},
    {composite_infer, "rnn", 1, sample_recurrent},
    {composite_infer, "gru", 1, sample_recurrent},
    {composite_infer, "lstm", 1, sample_recurrent},
    {relayout_infer, NULL, 1, sample_relayout},
    {constant_infer, NULL, 1, sample_constant},
    {composite_infer, "softmax", 1, sample_of_x},
    {composite_infer, "log_softmax", 1, sample_of_x},
    {composite_infer, "reduce_l1", 1, sample_of_x},
    {composite_infer, "reduce_l2", 1, sample_of_x},
    {composite_infer, "reduce_sum_square", 1, sample_of_x},
    {composite_infer, "reduce_log_sum", 1, sample_of_x},
    {composite_infer, "instance_norm", 1, sample_channel_norm},
    {composite_infer, "group_norm", 1, sample_channel_norm},
    {composite_infer, "layer_norm", 2, sample_layer_norm},
};

/* The recipe of a row, NULL where it has none. */
static inline const Recipe *recipe_of(const OpDef *def) {
  for (size_t k = 0; k < sizeof recipes / sizeof *recipes; k++)
    if (recipes[k].family == def->infer && (!recipes[k].name || strcmp(recipes[k].name, def->name) == 0))
      return &recipes[k];
  return NULL;
}

/* The op, its result in the form too. NULL after reporting, at test.weft:7:3, that it does not take the element type.
 */
static inline Value *sample_build(const Sample *s) {
  Ctx *ctx = s->g->ctx;
  Op *op = recipe_of(s->def)->build(s);
  const Type *type = op_check(ctx, op);
  if (!type)
    return NULL;
  if (!(s->def->traits & OP_LEAF))
    type = type_with_layout(ctx, type, form_layout(ctx, type->rank, s->form));
  return op_finish(s->g->m, s->g->f, op, NULL, NULL, type);
}

#endif
