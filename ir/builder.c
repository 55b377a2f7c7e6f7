/* Making ops: operands, attributes, the checks that hold for every op, and what passes and frontends make most. */
#include "ir/module.h"

/* ---- one op ---- */

static void set_default(Ctx *ctx, const OpDef *def, const AttrDef *row, Attr *attr) {
  if (row->required)
    return;
  attr->set = true;
  attr->i = (int64_t)row->fill;
  attr->f = row->fill;
  if (row->kind == ATTR_TEXT)
    attr->text = intern_str(ctx, row->words);
  if (row->kind == ATTR_INTS && row->len != LEN_ANY) {
    attr->n = row->len == LEN_SPATIAL ? def->spatial : 2 * def->spatial;
    int64_t *ints = ARENA_ARRAY(ctx->arena, int64_t, attr->n);
    for (int k = 0; k < attr->n; k++)
      ints[k] = (int64_t)row->fill;
    attr->ints = ints;
  }
}

Op *op_create(Ctx *ctx, const OpDef *def, Value *const *operands, int n, Loc loc) {
  Op *op = ARENA_NEW(ctx->arena, Op);
  op->def = def;
  op->loc = loc;
  op_set_operands(ctx, op, operands, n);
  for (int k = 0; k < def->n_attrs; k++)
    set_default(ctx, def, &def->attrs[k], &op->attrs[k]);
  return op;
}

void op_set_operands(Ctx *ctx, Op *op, Value *const *operands, int n) {
  int own = op->def->n_operands;
  op->n_given = n;
  op->n_operands = op_is_variadic(op->def) && n > own ? n : own;
  op->operands = ARENA_ARRAY(ctx->arena, Value *, op->n_operands);
  for (int k = 0; k < n && k < op->n_operands; k++)
    op->operands[k] = operands[k];
}

static Attr *attr_of_kind(Op *op, const char *name, AttrKind kind) {
  int k = op_attr_index(op->def, name, strlen(name));
  WEFT_ASSERT(k >= 0 && op->def->attrs[k].kind == kind);
  op->attrs[k].set = true;
  return &op->attrs[k];
}

void op_set_int(Op *op, const char *name, int64_t v) {
  attr_of_kind(op, name, ATTR_INT)->i = v;
}
void op_set_float(Op *op, const char *name, double v) {
  attr_of_kind(op, name, ATTR_FLOAT)->f = v;
}
void op_set_word(Op *op, const char *name, int64_t word) {
  attr_of_kind(op, name, ATTR_WORD)->i = word;
}
void op_set_dtype(Op *op, const char *name, DType dtype) {
  attr_of_kind(op, name, ATTR_DTYPE)->i = dtype;
}
void op_set_text(Ctx *ctx, Op *op, const char *name, const char *text) {
  attr_of_kind(op, name, ATTR_TEXT)->text = intern_str(ctx, text);
}
void op_set_constant(Op *op, const char *name, Constant *c) {
  attr_of_kind(op, name, ATTR_CONSTANT)->constant = c;
}

void op_set_ints(Ctx *ctx, Op *op, const char *name, const int64_t *v, int n) {
  Attr *attr = attr_of_kind(op, name, ATTR_INTS);
  int64_t *ints = ARENA_ARRAY(ctx->arena, int64_t, n);
  for (int k = 0; k < n; k++)
    ints[k] = v[k];
  attr->ints = ints;
  attr->n = n;
}

const Attr *op_attr(const Op *op, const char *name) {
  int k = op_attr_index(op->def, name, strlen(name));
  WEFT_ASSERT(k >= 0);
  return &op->attrs[k];
}

int64_t op_int(const Op *op, const char *name) {
  return op_attr(op, name)->i;
}

const char *op_text(const Op *op, const char *name) {
  return op_attr(op, name)->text;
}

/* ---- checks ---- */

static bool check_operands(Ctx *ctx, const Op *op) {
  const OpDef *def = op->def;
  int least = 0;
  for (int k = 0; k < def->n_operands; k++)
    least += !def->operands[k].optional;
  if ((op->n_given > def->n_operands && !op_is_variadic(def)) || op->n_given < least) {
    const char *expected = op_is_variadic(def)        ? arena_printf(ctx->arena, "%d or more", least)
                           : least == def->n_operands ? arena_printf(ctx->arena, "%d", least)
                                                      : arena_printf(ctx->arena, "%d to %d", least, def->n_operands);
    Str names = str_new(ctx->arena);
    for (int k = 0; k < def->n_operands; k++)
      str_printf(&names, "%s%s%s", k ? ", " : " (", def->operands[k].optional ? "optional " : "",
                 def->operands[k].name);
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: %d operands given, expected %s%s%s", def->name,
                      op->n_given, expected, names.data, def->n_operands ? ")" : "");
  }
  for (int k = 0; k < op->n_operands; k++)
    if (!op->operands[k] && !op_operand(def, k)->optional)
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: operand %d, '%s', is missing and is not optional",
                        def->name, k + 1, op_operand(def, k)->name);
  return true;
}

static bool check_attrs(Ctx *ctx, const Op *op) {
  const OpDef *def = op->def;
  for (int k = 0; k < def->n_attrs; k++) {
    const AttrDef *row = &def->attrs[k];
    const Attr *attr = &op->attrs[k];
    if (!attr->set || (row->kind == ATTR_CONSTANT && !attr->constant))
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: attribute '%s' is required", def->name, row->name);
    int length = row->len == LEN_SPATIAL ? def->spatial : 2 * def->spatial;
    if (row->kind == ATTR_INTS && row->len != LEN_ANY && attr->n != length)
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: attribute '%s' has %d numbers, expected %d%s",
                        def->name, row->name, attr->n, length,
                        row->len == LEN_SPATIAL ? ": one per spatial axis"
                                                : ": begins, then ends, of the spatial axes");
  }
  return true;
}

const Type *op_check(Ctx *ctx, const Op *op) {
  if (!check_operands(ctx, op) || !check_attrs(ctx, op))
    return NULL;
  return op->def->infer(ctx, op);
}

static void insert(Function *f, Op *op, Op *before) {
  op->next = before;
  op->prev = before ? before->prev : f->last;
  if (op->prev)
    op->prev->next = op;
  else
    f->first = op;
  if (before)
    before->prev = op;
  else
    f->last = op;
}

Value *op_finish(Module *m, Function *f, Op *op, Op *before, const char *name, const Type *type) {
  const Type *inferred = op_check(m->ctx, op);
  if (!inferred)
    return NULL;
  if (type && !type_same_shape(type, inferred)) {
    diag_error(m->ctx->diags, WEFT_MALFORMED, op->loc, "%s: the result is declared as %s, but it is %s", op->def->name,
               type_text(m->ctx, type), type_text(m->ctx, inferred));
    return NULL;
  }
  if (type && (op->def->traits & OP_LEAF) && type != inferred) {
    diag_error(m->ctx->diags, WEFT_MALFORMED, op->loc, "%s: the result is declared as %s, but is stored as %s",
               op->def->name, type_text(m->ctx, type), type_text(m->ctx, inferred));
    return NULL;
  }
  Value *v = ARENA_NEW(m->ctx->arena, Value);
  v->id = f->n_values++;
  v->name = function_take_name(m->ctx, f, name);
  v->type = type ? type : inferred;
  v->def = op;
  v->loc = op->loc;
  op->result = v;
  insert(f, op, before);
  return v;
}

/* ---- what is made most ---- */

static const OpDef *row(OpCode code) {
  return &op_table[code];
}

Value *build_relayout(Module *m, Function *f, Op *before, Value *x, const Layout *layout, Loc loc) {
  const Type *type = type_with_layout(m->ctx, x->type, layout);
  if (!type) {
    diag_error(m->ctx->diags, WEFT_UNSUPPORTED, loc, "relayout: %s is too large in the layout asked for",
               type_text(m->ctx, x->type));
    return NULL;
  }
  return op_finish(m, f, op_create(m->ctx, row(OP_RELAYOUT), &x, 1, loc), before, x->name, type);
}

Value *build_constant(Module *m, Function *f, Op *before, Constant *c, const char *name, Loc loc) {
  Op *op = op_create(m->ctx, row(OP_CONSTANT), NULL, 0, loc);
  op_set_constant(op, "value", c);
  return op_finish(m, f, op, before, name, NULL);
}

Value *build_broadcast(Module *m, Function *f, Op *before, Value *x, const int64_t *axes, const int64_t *shape,
                       int rank, Loc loc) {
  bool same = rank == x->type->rank;
  for (int k = 0; same && k < rank; k++) {
    int64_t extent;
    same = axes[k] == k && expr_is_const(x->type->dims[k], &extent) && extent == shape[k];
  }
  if (same)
    return x;
  Op *op = op_create(m->ctx, row(OP_BROADCAST), &x, 1, loc);
  op_set_ints(m->ctx, op, "axes", axes, x->type->rank);
  op_set_ints(m->ctx, op, "shape", shape, rank);
  return op_finish(m, f, op, before, x->name, NULL);
}

/* Where the axes of operand k lie in a result of this rank: at its end, or along `axis`. False after reporting. */
static bool place_axes(Ctx *ctx, const Op *op, int k, int rank, int64_t axis, int64_t *axes) {
  int own = op->operands[k]->type->rank;
  for (int j = 0; j < own; j++)
    axes[j] = rank - own + j;
  if (!op->def->operands[k].along_axis || own != 1)
    return true;
  axes[0] = axis < 0 ? axis + rank : axis;
  if (axes[0] >= 0 && axes[0] < rank)
    return true;
  return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                    "%s: 'axis' is %lld, expected %d to %d: operand '%s' has rank %d", op->def->name, (long long)axis,
                    -rank, rank - 1, op->def->operands[0].name, op->operands[0]->type->rank);
}

/* The rank of the result: the largest, but a rank-1 operand that lies along an axis says nothing of it. */
static int common_rank(const Op *op) {
  int rank = 0;
  for (int k = 0; k < op->def->n_operands; k++)
    if (op->operands[k]->type->rank > rank)
      rank = op->operands[k]->type->rank;
  return rank;
}

/* Reports that operand k does not fit those before it. */
static bool cannot_broadcast(Ctx *ctx, const Op *op, int k, int rank, const int64_t *shape) {
  Str text = str_new(ctx->arena);
  for (int j = 0; j < rank; j++)
    str_printf(&text, "%s%lld", j ? "," : "", (long long)shape[j]);
  const OperandDef *def = op->def->operands;
  if (k == 1)
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                      "%s: operand '%s', which is %s, and operand '%s', which is %s, cannot be broadcast together",
                      op->def->name, def[0].name, type_text(ctx, op->operands[0]->type), def[1].name,
                      type_text(ctx, op->operands[1]->type));
  return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                    "%s: operand '%s', which is %s, cannot be broadcast with [%s], the shape of those before it",
                    op->def->name, def[k].name, type_text(ctx, op->operands[k]->type), text.data);
}

/* numpy's rule: extents are equal or one of them is 1, which stretches. */
static bool broadcast_shape(Ctx *ctx, const Op *op, int rank, int64_t axes[][WEFT_MAX_RANK], int64_t *shape) {
  for (int j = 0; j < rank; j++)
    shape[j] = 1;
  for (int k = 0; k < op->def->n_operands; k++) {
    int64_t own[WEFT_MAX_RANK];
    if (!type_shape(op->operands[k]->type, own))
      return diag_error(ctx->diags, WEFT_UNSUPPORTED, op->loc,
                        "%s: operand '%s' is %s; broadcasting needs constant extents so far", op->def->name,
                        op->def->operands[k].name, type_text(ctx, op->operands[k]->type));
    for (int j = 0; j < op->operands[k]->type->rank; j++) {
      int64_t *common = &shape[axes[k][j]];
      if (*common == 1)
        *common = own[j];
      else if (own[j] != 1 && own[j] != *common)
        return cannot_broadcast(ctx, op, k, rank, shape);
    }
  }
  return true;
}

Value *build_elementwise(Module *m, Function *f, Op *op, Op *before, const char *name, int64_t axis) {
  if (!check_operands(m->ctx, op) || !check_attrs(m->ctx, op))
    return NULL;
  int rank = common_rank(op);
  bool same = true;
  for (int k = 1; k < op->def->n_operands; k++)
    same = same && type_same_shape(op->operands[0]->type, op->operands[k]->type);
  if (same)
    return op_finish(m, f, op, before, name, NULL);
  int64_t axes[OP_MAX_OPERANDS][WEFT_MAX_RANK], shape[WEFT_MAX_RANK];
  for (int k = 0; k < op->def->n_operands; k++)
    if (!place_axes(m->ctx, op, k, rank, axis, axes[k]))
      return NULL;
  if (!broadcast_shape(m->ctx, op, rank, axes, shape))
    return NULL;
  for (int k = 0; k < op->def->n_operands; k++) {
    op->operands[k] = build_broadcast(m, f, before, op->operands[k], axes[k], shape, rank, op->loc);
    if (!op->operands[k])
      return NULL;
  }
  return op_finish(m, f, op, before, name, NULL);
}
