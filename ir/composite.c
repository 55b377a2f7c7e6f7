/* Expanding composite ops, and their types and reference evaluation by it. See composite.h. */
#include "ir/composite.h"

#include "ir/layout_plan.h"
#include "ir/lex.h"
#include "ir/ops/ops.h"
#include "ir/tensor.h"

typedef struct {
  const char *name;
  Value *value; /* NULL: an omitted operand */
} Binding;

typedef struct {
  Ctx *ctx;
  Module *m;
  Function *f;
  Op *before;
  const Op *op;
  Value *first; /* operand 0, widened */
  Lexer lex;
  VEC(Binding) names;
} Expander;

/* The text is the table's: a fault in it is ours. */
_Noreturn static void bad_formula(const Expander *x, const char *what) {
  weft_bug(__FILE__, __LINE__, "formula of %s, line %d column %d: %s", x->op->def->name, x->lex.word.line,
           x->lex.word.col, what);
}

static void expect(Expander *x, const char *mark) {
  if (!lex_accept(&x->lex, mark))
    bad_formula(x, mark);
}

static const char *take_name(Expander *x) {
  if (x->lex.word.kind != WORD_NAME)
    bad_formula(x, "a name is expected");
  Word w = lex_take(&x->lex);
  return intern_strn(x->ctx, w.start, w.len);
}

static const Attr *attribute(const Expander *x, const char *name, const AttrDef **row) {
  int k = op_attr_index(x->op->def, name, strlen(name));
  if (k < 0)
    return NULL;
  *row = &x->op->def->attrs[k];
  return &x->op->attrs[k];
}

/* ---- attributes of the ops within ---- */

#define MAX_INTS 64

typedef struct {
  int n, rest; /* rest: which of them, -1 none */
  int64_t v[MAX_INTS];
  double number; /* the only one, as written */
} Numbers;

static void add_number(Expander *x, Numbers *n, int64_t v, double number) {
  if (n->n == MAX_INTS)
    bad_formula(x, "too many numbers");
  n->v[n->n++] = v;
  n->number = number;
}

static int64_t attribute_int(const Expander *x, const char *name) {
  const AttrDef *row;
  const Attr *a = attribute(x, name, &row);
  if (!a || row->kind != ATTR_INT)
    bad_formula(x, name);
  return a->i;
}

static const char *attribute_text(const Expander *x, const char *name) {
  const AttrDef *row;
  const Attr *a = attribute(x, name, &row);
  if (!a || row->kind != ATTR_TEXT)
    bad_formula(x, name);
  return a->text;
}

/* False after reporting an axis outside the first operand's rank. */
static bool axis_of(Expander *x, const char *name, int64_t *axis) {
  int rank = x->first->type->rank;
  *axis = attribute_int(x, name);
  if (*axis < -rank || *axis >= rank)
    return diag_error(x->ctx->diags, WEFT_MALFORMED, x->op->loc,
                      "%s: %s is %lld, expected -%d to %d for a tensor of rank %d", x->op->def->name, name,
                      (long long)*axis, rank, rank - 1, rank);
  *axis += *axis < 0 ? rank : 0;
  return true;
}

static bool read_item(Expander *x, Numbers *n) {
  if (x->lex.word.kind == WORD_INT || x->lex.word.kind == WORD_FLOAT || lex_at(&x->lex, "-")) {
    double v;
    if (!lex_number(&x->lex, "a number", false, &v))
      bad_formula(x, "number");
    add_number(x, n, (int64_t)v, v);
    return true;
  }
  const char *name = take_name(x);
  int64_t v = 0;
  if (strcmp(name, "rest") == 0) {
    n->rest = n->n;
  } else if (strcmp(name, "axis") == 0 && lex_accept(&x->lex, "(")) {
    if (!axis_of(x, take_name(x), &v))
      return false;
    expect(x, ")");
  } else if (strcmp(name, "dim") == 0) {
    expect(x, "(");
    if (!lex_int(&x->lex, "a dimension", 0, WEFT_MAX_RANK - 1, &v))
      bad_formula(x, "dim");
    expect(x, ")");
    if (v >= x->first->type->rank)
      return diag_error(x->ctx->diags, WEFT_MALFORMED, x->op->loc,
                        "%s: the operand has rank %d, expected at least %lld", x->op->def->name, x->first->type->rank,
                        (long long)v + 1);
    v = expr_value(x->first->type->dims[v]);
  } else {
    const AttrDef *row;
    const Attr *a = attribute(x, name, &row);
    if (!a)
      bad_formula(x, name);
    if (row->kind == ATTR_INTS) {
      for (int k = 0; k < a->n; k++)
        add_number(x, n, a->ints[k], 0);
      return true;
    }
    add_number(x, n, a->i, row->kind == ATTR_FLOAT ? a->f : (double)a->i);
    return true;
  }
  add_number(x, n, v, (double)v);
  return true;
}

static bool read_from(Expander *x, Numbers *n) {
  Numbers start = {.rest = -1};
  expect(x, "(");
  if (!read_item(x, &start))
    return false;
  expect(x, ")");
  for (int64_t k = start.v[0]; k < x->first->type->rank; k++)
    add_number(x, n, k, 0);
  return true;
}

static Value *find_name(const Expander *x, const char *name, bool *found) {
  for (size_t k = x->names.len; k-- > 0;)
    if (x->names.data[k].name == name) {
      *found = true;
      return x->names.data[k].value;
    }
  *found = false;
  return NULL;
}

static void read_shape(Expander *x, Numbers *n) {
  bool found;
  expect(x, "(");
  const Value *v = find_name(x, take_name(x), &found);
  expect(x, ")");
  if (!v)
    bad_formula(x, "shape of what");
  for (int k = 0; k < v->type->rank; k++)
    add_number(x, n, expr_value(v->type->dims[k]), 0);
}

static bool read_numbers(Expander *x, Numbers *n) {
  if (lex_accept(&x->lex, "[")) {
    if (!lex_at(&x->lex, "]"))
      do {
        if (!read_item(x, n))
          return false;
      } while (lex_accept(&x->lex, ","));
    expect(x, "]");
    return true;
  }
  if (lex_accept(&x->lex, "from"))
    return read_from(x, n);
  if (lex_accept(&x->lex, "shape")) {
    read_shape(x, n);
    return true;
  }
  return read_item(x, n);
}

/* Fills in what the other extents of a reshape leave. False after reporting that they do not divide. */
static bool resolve_rest(Expander *x, const Value *data, Numbers *n) {
  if (n->rest < 0 || !data)
    return true;
  int64_t all = expr_value(type_elements(x->ctx, data->type)), others = 1;
  for (int k = 0; k < n->n; k++)
    if (k != n->rest && !mul_i64(others, n->v[k], &others))
      others = 0;
  if (others <= 0 || all % others != 0)
    return diag_error(x->ctx->diags, WEFT_MALFORMED, x->op->loc, "%s: %s does not divide as its attributes ask for",
                      x->op->def->name, type_text(x->ctx, x->first->type));
  n->v[n->rest] = all / others;
  return true;
}

static bool read_attrs(Expander *x, Op *made) {
  if (!lex_accept(&x->lex, "{"))
    return true;
  do {
    const char *name = take_name(x);
    int k = op_attr_index(made->def, name, strlen(name));
    expect(x, "=");
    if (k < 0)
      bad_formula(x, name);
    if (made->def->attrs[k].kind == ATTR_TEXT) {
      op_set_text(x->ctx, made, name, attribute_text(x, take_name(x)));
      continue;
    }
    Numbers n = {.rest = -1};
    if (!read_numbers(x, &n) || !resolve_rest(x, made->operands[0], &n))
      return false;
    switch (made->def->attrs[k].kind) {
    case ATTR_INTS:
      op_set_ints(x->ctx, made, name, n.v, n.n);
      break;
    case ATTR_FLOAT:
      op_set_float(made, name, n.number);
      break;
    case ATTR_INT:
      op_set_int(made, name, n.v[0]);
      break;
    default:
      bad_formula(x, name);
    }
  } while (lex_accept(&x->lex, ","));
  expect(x, "}");
  return true;
}

/* ---- values ---- */

static Value *number_value(Expander *x, double v) {
  Tensor *t = tensor_new(x->ctx, x->first->type->dtype, 0, NULL);
  tensor_set(t, 0, v);
  const Type *type = type_static(x->ctx, t->dtype, 0, NULL, NULL);
  Constant *c = module_add_constant(x->m, "number", type, t->data, x->op->loc);
  return build_constant(x->m, x->f, x->before, c, "number", x->op->loc);
}

static bool read_argument(Expander *x, Value **out);

static bool read_along(Expander *x, Value **out) {
  int64_t axis, shape[WEFT_MAX_RANK];
  Value *v;
  if (!read_argument(x, &v))
    return false;
  expect(x, ",");
  if (!lex_int(&x->lex, "an axis", 0, WEFT_MAX_RANK - 1, &axis))
    bad_formula(x, "along");
  expect(x, ")");
  *out = v;
  if (!v)
    return true;
  if (!type_shape(x->first->type, shape))
    bad_formula(x, "dynamic dimensions");
  *out = build_broadcast(x->m, x->f, x->before, v, &axis, shape, x->first->type->rank, x->op->loc);
  return *out;
}

static bool finish_call(Expander *x, const OpDef *def, Value *const *operands, int n, Value **out) {
  Value *present = NULL;
  int n_present = 0;
  bool lacks = false; /* an operand that the op needs */
  for (int k = 0; k < n; k++)
    if (operands[k]) {
      present = operands[k];
      n_present++;
    } else {
      lacks = lacks || !op_operand(def, k)->optional;
    }
  Op *made = op_create(x->ctx, def, operands, n, x->op->loc);
  if (!read_attrs(x, made))
    return false;
  if (lacks) {
    *out = (def->traits & OP_ELEMENTWISE) && n_present == 1 ? present : NULL;
    return true;
  }
  *out = (def->traits & OP_ELEMENTWISE) ? build_elementwise(x->m, x->f, made, x->before, NULL, -1)
                                        : op_finish(x->m, x->f, made, x->before, NULL, NULL);
  return *out;
}

static bool read_call(Expander *x, const char *name, Value **out) {
  if (strcmp(name, "along") == 0)
    return read_along(x, out);
  const OpDef *def = op_find(name, strlen(name));
  if (!def)
    bad_formula(x, name);
  VEC(Value *) operands = {0};
  do {
    Value *v;
    if (!read_argument(x, &v))
      return false;
    vec_push(x->ctx->arena, &operands, v);
  } while (lex_accept(&x->lex, ","));
  expect(x, ")");
  return finish_call(x, def, operands.data, (int)operands.len, out);
}

static bool read_argument(Expander *x, Value **out) {
  if (x->lex.word.kind != WORD_NAME) {
    double v;
    if (!lex_number(&x->lex, "a number", false, &v))
      bad_formula(x, "argument");
    *out = number_value(x, v);
    return true;
  }
  const char *name = take_name(x);
  if (lex_accept(&x->lex, "("))
    return read_call(x, name, out);
  bool found;
  *out = find_name(x, name, &found);
  if (found)
    return true;
  const AttrDef *row;
  const Attr *a = attribute(x, name, &row);
  if (!a)
    bad_formula(x, name);
  *out = number_value(x, row->kind == ATTR_FLOAT ? a->f : (double)a->i);
  return true;
}

static Value *cast_to(Expander *x, Value *v, DType dtype) {
  if (!v || v->type->dtype == dtype)
    return v;
  Op *cast = op_create(x->ctx, op_find("cast", 4), &v, 1, x->op->loc);
  op_set_dtype(cast, "to", dtype);
  return op_finish(x->m, x->f, cast, x->before, NULL, NULL);
}

/* The formula's value, NULL after reporting. */
static Value *expand(Expander *x) {
  Ctx *ctx = x->ctx;
  const Op *op = x->op;
  const char *text = op->def->expression;
  if (!lex_init(&x->lex, ctx, op->def->name, text, strlen(text)))
    bad_formula(x, "too long");
  for (int k = 0; k < op->n_operands; k++) {
    Value *v = op->operands[k];
    v = v ? cast_to(x, v, dtype_compute(v->type->dtype)) : NULL;
    x->first = k == 0 ? v : x->first;
    vec_push(ctx->arena, &x->names, ((Binding){intern_str(ctx, op->def->operands[k].name), v}));
  }
  while (!lex_accept(&x->lex, "return")) {
    Binding b = {take_name(x), NULL};
    expect(x, "=");
    if (!read_argument(x, &b.value))
      return NULL;
    vec_push(ctx->arena, &x->names, b);
  }
  Value *result;
  if (!read_argument(x, &result))
    return NULL;
  if (x->lex.word.kind != WORD_END)
    bad_formula(x, "the end is expected");
  return cast_to(x, result, op->operands[0]->type->dtype);
}

Value *composite_expand(Module *m, Function *f, Op *before, const Op *op) {
  Ctx *ctx = m->ctx;
  int64_t shape[WEFT_MAX_RANK];
  for (int k = 0; k < op->n_operands; k++)
    if (op->operands[k] && !type_shape(op->operands[k]->type, shape)) {
      diag_error(ctx->diags, WEFT_UNSUPPORTED, op->loc, "%s of dynamic dimensions, %s; give every dimension a number",
                 op->def->name, type_text(ctx, op->operands[k]->type));
      return NULL;
    }
  Expander x = {.ctx = ctx, .m = m, .f = f, .before = before, .op = op};
  Value *v = expand(&x);
  if (!v)
    diag_note(ctx->diags, op->loc, "%s is computed by other ops, of which this is one", op->def->name);
  return v;
}

/* ---- the family's functions: by expansion into a module of its own ---- */

/* A function of op's operands whose result is op's formula; NULL after reporting. */
static Module *expanded_alone(Ctx *ctx, const Op *op) {
  Module *m = module_create(ctx, op->def->name, op->def->name);
  m->main = function_create(m, op->def->name);
  Op alone = *op;
  alone.operands = ARENA_ARRAY(ctx->arena, Value *, op->n_operands);
  for (int k = 0; k < op->n_operands; k++)
    if (op->operands[k])
      alone.operands[k] =
          function_add_param(m, m->main, op->def->operands[k].name, op->operands[k]->type, NULL, op->loc);
  Value *v = composite_expand(m, m->main, NULL, &alone);
  if (!v)
    return NULL;
  function_add_result(m, m->main, "result", v, v->type, NULL, op->loc);
  return m;
}

const Type *composite_infer(Ctx *ctx, const Op *op) {
  Module *m = expanded_alone(ctx, op);
  return m ? type_with_layout(ctx, m->main->results.data[0].type,
                              layout_row_major(ctx, m->main->results.data[0].type->rank))
           : NULL;
}

void composite_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  bool same_rank = op->operands[0]->type->rank == op->result->type->rank;
  plan->result = same_rank ? layout_with_pad(ctx, plan->operand[0], PAD_ANY) : op->result->type->layout;
  plan->why = same_rank ? "follows %" : "its rank is not its operand's: as it is";
}

void composite_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  Module *m = expanded_alone(ctx, op);
  WEFT_ASSERT(m);
  const Tensor **given = ARENA_ARRAY(ctx->arena, const Tensor *, op->n_operands);
  int n = 0;
  for (int k = 0; k < op->n_operands; k++)
    if (in[k])
      given[n++] = in[k];
  Tensor *result;
  bool ok = eval_function(m, m->main, given, &result, NULL);
  WEFT_ASSERT(ok);
  memcpy(out->data, result->data, (size_t)out->n * dtype_size(out->dtype));
}
