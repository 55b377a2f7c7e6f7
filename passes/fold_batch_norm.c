/* Batch normalization at inference is a scale and a shift per channel. Where constants scale and shift the result of a
 * convolution by constants, they go into its kernel and bias:
 *
 *   scale[o] * (bias[o] + sum x * w[o, ..]) + shift[o]  =  (scale[o]*bias[o] + shift[o]) + sum x * (scale[o]*w[o, ..])
 *
 * A convolution is known by the roles of its row: a kernel with axes O and I, an optional bias C. A scale and shift is
 * any elementwise op whose expression is affine in the convolution's result, its other operands being the same constant
 * at all indices of one channel, seen through views. The whole chain of them is composed in double, and each new
 * constant is rounded once. Where a new constant would not be finite, nothing is folded; and a kernel that something
 * else reads stays shared. */
#include <math.h>

#include "ir/tensor.h"
#include "passes/rewrite.h"

bool pass_fold_batch_norm(Unit *unit, const PassOption *options, int n_options);

#define MAX_VIEWS 8 /* between an operand and its constant */
#define MAX_CHAIN 8 /* ops that are composed */

typedef struct {
  double scale, shift;
} Affine;

typedef struct {
  Module *m;
  Rewrite rewrite;
  uint32_t *uses; /* by value id */
  Op **reader;    /* by value id: the last op that reads it */
} Fold;

/* A convolution: operand numbers and axes. */
typedef struct {
  Op *op;
  int data, kernel, bias;              /* bias: of the row, given or not */
  int channel_axis, out_axis, in_axis; /* of the result; of the kernel */
  int64_t channels, groups;
} Conv;

static Constant *constant_of(const Value *v) {
  return v && v->def && v->def->def->code == OP_CONSTANT ? op_attr(v->def, "value")->constant : NULL;
}

static Tensor *constant_tensor(Module *m, Constant *c) {
  Tensor *t = tensor_of_type(m->ctx, c->type);
  tensor_from_storage(t, c->type, constant_data(m, c));
  return t;
}

static int axis_of_role(const char *roles, char letter) {
  const char *at = strchr(roles, letter);
  return at ? (int)(at - roles) : -1;
}

/* False where op is no convolution of f32 or f64 with constant kernel and bias. */
static bool match_conv(const Fold *fold, Op *op, Conv *c) {
  const OpDef *def = op->def;
  *c = (Conv){.op = op, .data = -1, .kernel = -1, .bias = -1, .channel_axis = axis_of_role(def->result_roles, 'C')};
  for (int k = 0; k < def->n_operands; k++) {
    const char *roles = def->operands[k].roles;
    if (strchr(roles, 'O') && strchr(roles, 'I'))
      c->kernel = k;
    else if (strcmp(roles, "C") == 0 && def->operands[k].optional)
      c->bias = k;
    else if (strchr(roles, 'C'))
      c->data = k;
  }
  if (c->data < 0 || c->kernel < 0 || c->bias < 0 || c->channel_axis < 0 || def->n_operands != 3)
    return false;
  const Value *kernel = op->operands[c->kernel], *bias = op->operands[c->bias];
  const Type *type = op->result->type;
  int64_t elements = 1, shape[WEFT_MAX_RANK];
  if (!constant_of(kernel) || fold->uses[kernel->id] != 1 || (bias && !constant_of(bias)) ||
      !type_shape(kernel->type, shape) || !dtype_is_float(type->dtype) || dtype_compute(type->dtype) != type->dtype)
    return false;
  for (int k = 0; k < kernel->type->rank; k++)
    elements *= shape[k];
  c->out_axis = axis_of_role(def->operands[c->kernel].roles, 'O');
  c->in_axis = axis_of_role(def->operands[c->kernel].roles, 'I');
  /* Without input channels there may be any number of output channels. */
  if (!expr_is_const(type->dims[c->channel_axis], &c->channels) || c->channels < 1 || c->channels > elements)
    return false;
  c->groups = c->channels / shape[c->out_axis]; /* as far as axis O does not hold those of all groups */
  return c->groups * shape[c->out_axis] == c->channels && shape[c->in_axis] % c->groups == 0;
}

/* ---- what scales and shifts ---- */

static int64_t index_of_channel(const void *env, const Expr *atom) {
  (void)atom;
  return *(const int64_t *)env;
}

/* Each e as a function of `channel` alone; false where one uses anything else. */
static bool depend_on(Ctx *ctx, const Expr *const *e, int n, const Expr *channel) {
  for (int k = 0; k < n; k++)
    if (!expr_is_const(expr_subst(ctx, e[k], channel, expr_const(ctx, 0)), NULL))
      return false;
  return true;
}

/* The elements of v at each channel, where v is views of a constant and nothing but the channel matters. */
static bool channel_values(Module *m, const Value *v, const Conv *conv, double *out) {
  Ctx *ctx = m->ctx;
  const Expr *at[WEFT_MAX_RANK], *inner[WEFT_MAX_RANK], *zero = expr_const(ctx, 0), *channel = NULL;
  for (int k = 0; k < v->type->rank; k++) {
    int64_t extent;
    bool one = expr_is_const(v->type->dims[k], &extent) && extent == 1;
    at[k] = one ? zero : expr_var(ctx, "i", zero, v->type->dims[k]);
    if (k == conv->channel_axis)
      channel = at[k];
  }
  for (int n = 0; n < MAX_VIEWS && v->def && (v->def->def->traits & OP_VIEW); n++) {
    v->def->def->view_index(ctx, v->def, at, inner);
    v = v->def->operands[0];
    memcpy(at, inner, (size_t)v->type->rank * sizeof *at);
  }
  Constant *c = constant_of(v);
  if (!c || !layout_is_permutation(c->type->layout) || !depend_on(ctx, at, c->type->rank, channel))
    return false;
  for (int64_t o = 0; o < conv->channels; o++) {
    int64_t i = 0;
    for (int d = 0; d < c->type->layout->n; d++) {
      int axis = c->type->layout->digits[d].axis;
      i = i * expr_value(c->type->dims[axis]) + expr_eval(at[axis], index_of_channel, &o);
    }
    out[o] = dtype_load(c->type->dtype, constant_data(m, c), i).f;
  }
  return true;
}

/* s as an affine function of argument number `of`, the others being numbers; false where it is none. */
static bool affine(const Scalar *s, int of, const double *args, Affine *out) {
  Affine a, b = {0, 0};
  switch (s->op) {
  case SC_ARG:
    *out = s->index == of ? (Affine){1, 0} : (Affine){0, args[s->index]};
    return true;
  case SC_CONST:
    *out = (Affine){0, s->value};
    return true;
  case SC_ADD:
  case SC_SUB:
  case SC_NEG:
  case SC_MUL:
  case SC_DIV:
    break;
  default:
    return false;
  }
  if (!affine(s->args[0], of, args, &a) || (s->n > 1 && !affine(s->args[1], of, args, &b)))
    return false;
  switch (s->op) {
  case SC_ADD:
    *out = (Affine){a.scale + b.scale, a.shift + b.shift};
    return true;
  case SC_SUB:
    *out = (Affine){a.scale - b.scale, a.shift - b.shift};
    return true;
  case SC_NEG:
    *out = (Affine){-a.scale, -a.shift};
    return true;
  case SC_MUL:
    *out =
        a.scale == 0 ? (Affine){a.shift * b.scale, a.shift * b.shift} : (Affine){a.scale * b.shift, a.shift * b.shift};
    return a.scale == 0 || b.scale == 0;
  default:
    *out = (Affine){a.scale / b.shift, a.shift / b.shift};
    return b.scale == 0;
  }
}

/* Memory for the work on one convolution. */
typedef struct {
  Affine *all, *next;              /* by channel */
  double *values[OP_MAX_OPERANDS]; /* by channel, of each operand */
  Op *chain[MAX_CHAIN];
  int n;
} Work;

static Work work_start(Ctx *ctx, int64_t channels) {
  Work w = {.all = ARENA_ARRAY(ctx->arena, Affine, channels), .next = ARENA_ARRAY(ctx->arena, Affine, channels)};
  for (int k = 0; k < OP_MAX_OPERANDS; k++)
    w.values[k] = ARENA_ARRAY(ctx->arena, double, channels);
  for (int64_t o = 0; o < channels; o++)
    w.all[o] = (Affine){1, 0};
  return w;
}

/* Composes op, which reads v, onto what is there; false where it cannot be. */
static bool compose(Module *m, const Conv *conv, Op *op, const Value *v, Work *w) {
  Ctx *ctx = m->ctx;
  if (!op || w->n == MAX_CHAIN || !(op->def->traits & OP_ELEMENTWISE) || op->result->type != v->type)
    return false;
  const Scalar *operands[OP_MAX_OPERANDS];
  int of = -1;
  for (int k = 0; k < op->def->n_operands; k++) {
    const Value *x = op->operands[k];
    operands[k] = scalar_arg_typed(ctx, k, dtype_compute(x->type->dtype));
    if (x == v)
      of = k;
    else if (x->type->dtype != v->type->dtype || !channel_values(m, x, conv, w->values[k]))
      return false;
  }
  const Scalar *s = op_scalar(ctx, op, operands);
  double args[OP_MAX_OPERANDS];
  for (int64_t o = 0; o < conv->channels; o++) {
    for (int k = 0; k < OP_MAX_OPERANDS; k++)
      args[k] = w->values[k][o];
    if (!affine(s, of, args, &w->next[o]))
      return false;
  }
  for (int64_t o = 0; o < conv->channels; o++)
    w->all[o] = (Affine){w->next[o].scale * w->all[o].scale, w->next[o].scale * w->all[o].shift + w->next[o].shift};
  w->chain[w->n++] = op;
  return true;
}

/* ---- the new constants ---- */

static bool is_finite(const Tensor *t) {
  for (int64_t k = 0; k < t->n; k++)
    if (!isfinite(tensor_get(t, k)))
      return false;
  return true;
}

static Value *new_constant(Module *m, Op *before, const char *name, const Tensor *t, const Type *type) {
  void *data = arena_alloc(m->ctx->arena, (size_t)type_bytes(type));
  tensor_to_storage(t, type, data);
  return build_constant(m, m->main, before, module_add_constant(m, name, type, data, before->loc), name, before->loc);
}

/* Output channels lie along O alone; or O is that of one group, and I of all of them, one after the other. */
static Tensor *scaled_kernel(Module *m, const Conv *conv, const Affine *all) {
  Tensor *t = constant_tensor(m, constant_of(conv->op->operands[conv->kernel]));
  int64_t out = t->shape[conv->out_axis], in = t->shape[conv->in_axis] / conv->groups, index[WEFT_MAX_RANK] = {0};
  for (int64_t k = 0; k < t->n; k++) {
    int64_t group = index[conv->in_axis] / in;
    tensor_set(t, k, all[group * out + index[conv->out_axis]].scale * tensor_get(t, k));
    tensor_next_index(t, index);
  }
  return t;
}

static Tensor *shifted_bias(Module *m, const Conv *conv, const Affine *all) {
  Constant *bias = constant_of(conv->op->operands[conv->bias]);
  Tensor *t = bias ? constant_tensor(m, bias) : tensor_new(m->ctx, conv->op->result->type->dtype, 1, &conv->channels);
  for (int64_t o = 0; o < conv->channels; o++)
    tensor_set(t, o, all[o].scale * tensor_get(t, o) + all[o].shift);
  return t;
}

/* False where a constant would not be finite; then nothing has changed. */
static bool put_into(Module *m, const Conv *conv, const Affine *all) {
  Op *op = conv->op;
  bool scales = false, shifts = op->operands[conv->bias] != NULL;
  for (int64_t o = 0; o < conv->channels; o++) {
    scales = scales || all[o].scale != 1;
    shifts = shifts || all[o].shift != 0;
  }
  const Tensor *kernel = scaled_kernel(m, conv, all), *bias = shifted_bias(m, conv, all);
  if (!is_finite(kernel) || !is_finite(bias))
    return false;
  Value *operands[OP_MAX_OPERANDS];
  memcpy(operands, op->operands, (size_t)op->n_operands * sizeof *operands);
  if (scales) {
    const Value *old = operands[conv->kernel];
    operands[conv->kernel] = new_constant(m, op, constant_of(old)->name, kernel, old->type);
  }
  if (shifts) {
    const Value *old = operands[conv->bias];
    const char *name = old ? constant_of(old)->name : arena_printf(m->ctx->arena, "%s.bias", op->result->name);
    const Type *type = old ? old->type : type_static(m->ctx, bias->dtype, 1, bias->shape, NULL);
    operands[conv->bias] = new_constant(m, op, name, bias, type);
  }
  op_set_operands(m->ctx, op, operands, op->n_operands);
  return true;
}

/* Takes as many ops as can be composed. */
static void fold_conv(Fold *fold, const Conv *conv) {
  Value *first = conv->op->result;
  const Value *v = first;
  Work w = work_start(fold->m->ctx, conv->channels);
  while (fold->uses[v->id] == 1 && compose(fold->m, conv, fold->reader[v->id], v, &w))
    v = w.chain[w.n - 1]->result;
  if (w.n == 0 || !put_into(fold->m, conv, w.all))
    return;
  for (int k = 0; k < w.n; k++)
    rewrite_op(&fold->rewrite, w.chain[k], first);
}

bool pass_fold_batch_norm(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  Module *m = unit->module;
  Function *f = m->main;
  Fold fold = {.m = m, .rewrite = rewrite_start(unit), .uses = function_count_uses(unit->ctx, f)};
  fold.reader = ARENA_ARRAY(unit->ctx->arena, Op *, f->n_values);
  for (Op *op = f->first; op; op = op->next)
    for (int k = 0; k < op->n_operands; k++)
      if (op->operands[k])
        fold.reader[op->operands[k]->id] = op;
  for (Op *op = f->first; op; op = op->next) {
    Conv conv;
    rewrite_operands(&fold.rewrite, op);
    if (match_conv(&fold, op, &conv))
      fold_conv(&fold, &conv);
  }
  return rewrite_finish(&fold.rewrite);
}
