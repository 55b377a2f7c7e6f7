/* What the functions of operators stand on: operands, known values, and making ops; attributes are in onnx_attrs.c. See
 * onnx.h. A fault is reported once and sets n->failed; everything here then returns harmless values, so that these
 * functions need no checks of their own between one step and the next. */
#include "frontend/onnx.h"

#define MAX_KNOWN ((int64_t)1 << 14)     /* elements of a value that is computed at import */
#define MAX_BROADCAST ((int64_t)1 << 10) /* of one that costs nothing where it is left alone */

bool node_error(ImportNode *n, Status status, const char *fmt, ...) {
  if (n->failed) /* what follows from a fault is no news */
    return false;
  va_list args;
  va_start(args, fmt);
  const char *text = arena_vprintf(n->im->ctx->arena, fmt, args);
  va_end(args);
  n->failed = true;
  return diag_error(n->im->ctx->diags, status, n->loc, "%s: %s", n->type, text);
}

/* ---- operands ---- */

bool node_has(const ImportNode *n, int k) {
  return k < n->n_inputs && n->inputs[k];
}

const char *node_in_text(ImportNode *n, int k) {
  return arena_printf(n->im->ctx->arena, "operand %d, '%.80s',", k + 1, node_has(n, k) ? n->inputs[k]->name : "");
}

/* An initializer's constant, made where it is read first. */
static Value *value_of_initializer(OnnxImport *im, const ImportName *name) {
  Loc loc = {.file = im->file, .node = name->name};
  const char *what = arena_printf(im->ctx->arena, "initializer '%.80s'", name->name);
  const Tensor *t = onnx_tensor(im, name->initializer, what, loc);
  if (!t)
    return NULL;
  Constant *c = module_add_constant(im->module, name->name, type_static(im->ctx, t->dtype, t->rank, t->shape, NULL),
                                    t->data, loc);
  return build_constant(im->module, im->function, NULL, c, name->name, loc);
}

Value *onnx_value(OnnxImport *im, ImportName *name) {
  if (!name->value && name->initializer && !name->initializer_failed) {
    name->value = value_of_initializer(im, name);
    name->initializer_failed = !name->value;
  }
  return name->value;
}

Value *node_in(ImportNode *n, int k) {
  if (n->failed || !node_has(n, k))
    return NULL;
  Value *v = onnx_value(n->im, n->inputs[k]);
  n->failed = !v; /* reported where it was made */
  return v;
}

int node_rank(const Value *v) {
  return v ? v->type->rank : 0;
}

int64_t node_extent(const Value *v, int k) {
  return v && k < v->type->rank ? expr_value(v->type->dims[k]) : 0;
}

static Constant *constant_of(const Value *v) {
  return v && v->def && v->def->def->code == OP_CONSTANT ? op_attr(v->def, "value")->constant : NULL;
}

const Tensor *node_known(const ImportNode *n, const Value *v) {
  Constant *c = constant_of(v);
  if (!c)
    return NULL;
  Tensor *t = ARENA_NEW(n->im->ctx->arena, Tensor);
  t->dtype = c->type->dtype;
  t->rank = c->type->rank;
  t->n = 1;
  for (int k = 0; k < t->rank; k++)
    t->n *= t->shape[k] = expr_value(c->type->dims[k]);
  t->data = c->data; /* the importer makes row-major constants only */
  return t;
}

/* Takes the inputs that v is computed from for constants, where the content of all of them is known. */
static bool fix_inputs(OnnxImport *im, const Value *v) {
  VEC(const Value *) stack = {0};
  bool *seen = ARENA_ARRAY(im->ctx->arena, bool, im->function->n_values);
  vec_push(im->ctx->arena, &stack, v);
  size_t had = im->fixed.len;
  while (stack.len) {
    v = stack.data[--stack.len];
    if (seen[v->id])
      continue;
    seen[v->id] = true;
    if (!v->def && !im->inputs.data[v->index]->content)
      return false;
    if (!v->def)
      vec_push(im->ctx->arena, &im->fixed, im->inputs.data[v->index]->name);
    for (int k = 0; v->def && k < v->def->n_operands; k++)
      if (v->def->operands[k])
        vec_push(im->ctx->arena, &stack, v->def->operands[k]);
  }
  im->again = im->again || im->fixed.len > had;
  return im->fixed.len > had;
}

const Tensor *node_need_known(ImportNode *n, int k, const char *what) {
  const Value *v = node_in(n, k);
  const Tensor *t = v ? node_known(n, v) : NULL;
  if (t || !v)
    return t;
  if (fix_inputs(n->im, v))
    n->failed = true;
  else
    node_error(n, WEFT_UNSUPPORTED, "%s which is '%s', depends on the model's inputs; it must be known when compiling",
               node_in_text(n, k), what);
  return NULL;
}

static const Tensor *known_vector(ImportNode *n, int k, const char *what) {
  const Tensor *t = node_need_known(n, k, what);
  if (t && t->rank > 1)
    node_error(n, WEFT_MALFORMED, "%s which is '%s', is %s; expected a list", node_in_text(n, k), what,
               shape_text(n->im->ctx, t->dtype, t->rank, t->shape));
  return n->failed ? NULL : t;
}

Ints node_known_ints(ImportNode *n, int k, const char *what) {
  const Tensor *t = known_vector(n, k, what);
  if (!t)
    return (Ints){0};
  if (t->n > MAX_KNOWN || (t->dtype != DT_I64 && t->dtype != DT_I32)) {
    node_error(n, WEFT_MALFORMED, "%s which is '%s', is %s; expected a short list of i64 or i32", node_in_text(n, k),
               what, shape_text(n->im->ctx, t->dtype, t->rank, t->shape));
    return (Ints){0};
  }
  int64_t *v = ARENA_ARRAY(n->im->ctx->arena, int64_t, t->n);
  for (int64_t i = 0; i < t->n; i++)
    v[i] = t->dtype == DT_I64 ? ((const int64_t *)t->data)[i] : ((const int32_t *)t->data)[i];
  return (Ints){true, (int)t->n, v};
}

Floats node_known_floats(ImportNode *n, int k, const char *what) {
  const Tensor *t = known_vector(n, k, what);
  if (!t)
    return (Floats){0};
  if (t->n > MAX_KNOWN || !dtype_is_float(t->dtype)) {
    node_error(n, WEFT_MALFORMED, "%s which is '%s', is %s; expected a short list of floats", node_in_text(n, k), what,
               shape_text(n->im->ctx, t->dtype, t->rank, t->shape));
    return (Floats){0};
  }
  double *v = ARENA_ARRAY(n->im->ctx->arena, double, t->n);
  for (int64_t i = 0; i < t->n; i++)
    v[i] = tensor_get(t, i);
  return (Floats){true, (int)t->n, v};
}

double node_known_number(ImportNode *n, int k, const char *what) {
  const Tensor *t = node_need_known(n, k, what);
  if (t && t->n != 1)
    node_error(n, WEFT_MALFORMED, "%s is %s, expected one number", node_in_text(n, k),
               shape_text(n->im->ctx, t->dtype, t->rank, t->shape));
  return n->failed || !t ? 0 : tensor_get(t, 0);
}

bool node_expect_rank(ImportNode *n, int k, int least, int most) {
  const Value *v = node_in(n, k);
  if (!v || (v->type->rank >= least && v->type->rank <= most))
    return !n->failed;
  const char *want = least == most ? arena_printf(n->im->ctx->arena, "%d", least)
                                   : arena_printf(n->im->ctx->arena, "%d to %d", least, most);
  return node_error(n, WEFT_MALFORMED, "%s has rank %d (%s), expected rank %s", node_in_text(n, k), v->type->rank,
                    type_text(n->im->ctx, v->type), want);
}

int node_axis(ImportNode *n, int64_t axis, int rank, const char *what) {
  if (axis >= -rank && axis < rank)
    return (int)(axis < 0 ? axis + rank : axis);
  node_error(n, WEFT_MALFORMED, "'%s' is %lld, expected %d to %d: the rank is %d", what, (long long)axis, -rank,
             rank - 1, rank);
  return 0;
}

/* ---- making ops ---- */

Op *node_op(ImportNode *n, OpCode code, Value *const *operands, int count) {
  return op_create(n->im->ctx, &op_table[code], operands, count, n->loc);
}

/* -1 where they are more than are computed at import. */
static int64_t few_elements(const Type *type) {
  int64_t shape[WEFT_MAX_RANK], n = 1;
  if (!type_shape(type, shape))
    return -1;
  for (int k = 0; k < type->rank; k++)
    if (!mul_i64(n, shape[k], &n) || n > MAX_KNOWN)
      return -1;
  return n;
}

static const Tensor *evaluate(ImportNode *n, const Op *op);

/* A value's content: a small constant, or a broadcast of one that an elementwise op has made for it. */
static const Tensor *content(ImportNode *n, const Value *v) {
  if (few_elements(v->type) < 0)
    return NULL;
  if (v->def && v->def->def->code == OP_BROADCAST)
    return evaluate(n, v->def);
  return node_known(n, v);
}

/* Elements made and, where products are summed, at most so many of those; -1 where it is too much. */
static int64_t work_of(const Op *op) {
  int64_t work = few_elements(op->result->type), most = 1;
  for (int k = 0; k < op->n_operands; k++) {
    int64_t n = op->operands[k] ? few_elements(op->operands[k]->type) : 0;
    if (n < 0)
      return -1;
    most = n > most ? n : most;
  }
  return work < 0 || !(op->def->traits & (OP_CONTRACTION | OP_COMPOSITE)) ? work : work * most;
}

static const Tensor *evaluate(ImportNode *n, const Op *op) {
  const Tensor **in = ARENA_ARRAY(n->im->ctx->arena, const Tensor *, op->n_operands);
  int64_t work = work_of(op);
  if (work < 0 || work > n->im->work_left)
    return NULL;
  for (int k = 0; k < op->n_operands; k++)
    if (op->operands[k] && !(in[k] = content(n, op->operands[k])))
      return NULL;
  n->im->work_left -= work;
  Tensor *out = tensor_of_type(n->im->ctx, op->result->type);
  op->def->eval(n->im->ctx, op, in, out);
  return out;
}

bool node_spend(ImportNode *n, int64_t elements) {
  if (n->failed)
    return false;
  if (elements > n->im->work_left)
    return node_error(n, WEFT_UNSUPPORTED, "%lld more elements would have to be computed when importing the model",
                      (long long)elements);
  n->im->work_left -= elements;
  return true;
}

Value *node_constant(ImportNode *n, Tensor *t) {
  if (n->failed)
    return NULL;
  OnnxImport *im = n->im;
  const Type *type = type_static(im->ctx, t->dtype, t->rank, t->shape, NULL);
  Constant *c = module_add_constant(im->module, n->loc.node, type, t->data, n->loc);
  return build_constant(im->module, im->function, NULL, c, NULL, n->loc);
}

Value *node_finish(ImportNode *n, Op *op) {
  if (n->failed)
    return NULL;
  OnnxImport *im = n->im;
  bool broadcasts = (op->def->traits & OP_ELEMENTWISE) != 0;
  Value *v = broadcasts ? build_elementwise(im->module, im->function, op, NULL, NULL, -1) /* as numpy has it */
                        : op_finish(im->module, im->function, op, NULL, NULL, NULL);
  n->failed = !v;
  bool cheap = op->def->code == OP_BROADCAST && v && few_elements(v->type) > MAX_BROADCAST;
  const Tensor *t = v && v->def == op && !cheap ? evaluate(n, op) : NULL;
  if (!t)
    return v;
  op_erase(im->function, op);
  return node_constant(n, (Tensor *)(uintptr_t)t);
}

Value *node_scalar(ImportNode *n, DType dtype, double v) {
  Tensor *t = tensor_new(n->im->ctx, dtype, 0, NULL);
  tensor_set(t, 0, v);
  return node_constant(n, t);
}

Value *node_ints_value(ImportNode *n, const int64_t *v, int count, int rank) {
  int64_t shape[1] = {count};
  Tensor *t = tensor_new(n->im->ctx, DT_I64, rank, shape);
  if (count)
    memcpy(t->data, v, (size_t)count * sizeof *v);
  return node_constant(n, t);
}

bool node_result(ImportNode *n, int k, Value *v) {
  if (k < n->n_outputs)
    n->results[k] = v;
  return !n->failed;
}

/* ---- a node ---- */

static bool check_operands(ImportNode *n) {
  const OnnxRow *row = n->row;
  int most = row->max_inputs;
  if (n->n_inputs < row->min_inputs || (most >= 0 && n->n_inputs > most)) {
    const char *want = most < 0                 ? arena_printf(n->im->ctx->arena, "at least %d", row->min_inputs)
                       : most > row->min_inputs ? arena_printf(n->im->ctx->arena, "%d to %d", row->min_inputs, most)
                                                : arena_printf(n->im->ctx->arena, "%d", most);
    return node_error(n, WEFT_MALFORMED, "%d operands, expected %s in opset %d", n->n_inputs, want, n->im->opset);
  }
  for (int k = 0; k < n->n_inputs; k++)
    if (!n->inputs[k] && (k < row->min_inputs || most < 0))
      return node_error(n, WEFT_MALFORMED, "operand %d is omitted, which is not allowed", k + 1);
  return true;
}

bool node_build(ImportNode *n) {
  OnnxImport *im = n->im;
  for (int k = 0; k < n->n_inputs; k++)
    if (n->inputs[k] && !n->inputs[k]->value && !n->inputs[k]->initializer)
      return false; /* what makes it has failed and said so, or is to be built anew */
  uint32_t first = im->function->n_values;
  if (!check_operands(n) || !n->row->build(n) || n->failed || !node_check_attrs(n))
    return false;
  for (int k = 0; k < n->n_outputs; k++) {
    Value *v = n->results[k];
    if (!n->outputs[k])
      continue;
    if (!v && n->outputs[k]->read)
      return node_error(n, WEFT_UNSUPPORTED, "output %d, '%.80s', is not supported", k + 1, n->outputs[k]->name);
    n->outputs[k]->value = v;
    if (v && v->id >= first) /* made here: it takes the name in the model */
      v->name = function_take_name(im->ctx, im->function, n->outputs[k]->name);
  }
  return true;
}
