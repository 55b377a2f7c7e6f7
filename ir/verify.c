/* The verifier: docs/grammar.md, section "What a well-formed module is". One function per rule or group of rules.
 *
 * Every broken rule is reported, at the op, value or constant that breaks it, since a pass or a text may break several.
 */
#include "ir/parse.h"

typedef struct {
  Module *m;
  Ctx *ctx;
  const Function *f;
  bool ok;
  Intern names, constants; /* seen so far: names of values, constants */
  Value **defined;         /* by id: the value, once it is defined */
  const uint32_t *uses;    /* by id */
} Verifier;

WEFT_PRINTF(3, 4) static void fault(Verifier *v, Loc loc, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = arena_vprintf(v->ctx->arena, fmt, args);
  va_end(args);
  v->ok = diag_error(v->ctx->diags, WEFT_MALFORMED, loc, "%s", text);
}

static bool same(const void *item, const void *key) {
  return item == key;
}

static uint64_t pointer_hash(const void *p) {
  return hash_bytes(WEFT_HASH_SEED, &p, sizeof p);
}

static bool is_noted(const Intern *set, const void *p) {
  return intern_find(set, pointer_hash(p), same, p);
}

/* Adds a pointer to a set; false where it was there. */
static bool note(Verifier *v, Intern *set, const void *p) {
  if (is_noted(set, p))
    return false;
  intern_add(v->ctx, set, pointer_hash(p), p);
  return true;
}

/* ---- constants ---- */

static void check_constants(Verifier *v) {
  Intern names = {0};
  for (const Constant *c = v->m->first_constant; c; c = c->next) {
    if (!note(v, &names, c->name))
      fault(v, c->loc, "constant @%s: expected a name that no other constant has", c->name);
    int64_t shape[WEFT_MAX_RANK];
    if (!type_shape(c->type, shape))
      fault(v, c->loc, "constant @%s: expected a constant shape, found type %s", c->name, type_text(v->ctx, c->type));
    if (c->base && !type_same_shape(c->base->type, c->type))
      fault(v, c->loc, "constant @%s: expected the element type and shape of its base @%s, %s, found %s", c->name,
            c->base->name, type_text(v->ctx, c->base->type), type_text(v->ctx, c->type));
    if (c->base && !is_noted(&v->constants, c->base))
      fault(v, c->loc, "constant @%s: expected its base @%s to stand before it", c->name, c->base->name);
    note(v, &v->constants, c);
  }
}

/* ---- values ---- */

/* A value's definition: its name is its own. */
static void define(Verifier *v, Value *value) {
  if (v->defined[value->id])
    fault(v, value->loc, "value %%%s: expected an id of its own, found that of %%%s", value->name,
          v->defined[value->id]->name);
  v->defined[value->id] = value;
  if (!note(v, &v->names, value->name))
    fault(v, value->loc, "value %%%s: expected a name that no other value has", value->name);
}

static bool is_defined(const Verifier *v, const Value *value) {
  return v->defined[value->id] == value;
}

static bool has_id(Verifier *v, const Value *value) {
  if (value->id < v->f->n_values)
    return true;
  fault(v, value->loc, "value %%%s: expected an id below %u, found %u", value->name, v->f->n_values, value->id);
  return false;
}

/* Every value spoken of can be looked up by its id. */
static bool check_ids(Verifier *v) {
  bool ok = true;
  for (size_t k = 0; k < v->f->params.len; k++)
    ok = has_id(v, v->f->params.data[k]) && ok;
  for (const Op *op = v->f->first; op; op = op->next) {
    ok = has_id(v, op->result) && ok;
    for (int k = 0; k < op->n_operands; k++)
      ok = (!op->operands[k] || has_id(v, op->operands[k])) && ok;
    ok = (!op->fused || has_id(v, op->fused)) && ok;
  }
  for (size_t k = 0; k < v->f->results.len; k++)
    ok = has_id(v, v->f->results.data[k].value) && ok;
  return ok;
}

static void check_boundary(Verifier *v, Loc loc, const char *what, const char *name, const Type *type,
                           const char *roles) {
  if (!layout_is_permutation(type->layout))
    fault(v, loc, "%s '%s': expected a layout that is a permutation of the axes, found %s", what, name,
          type_text(v->ctx, type));
  if (roles && !roles_fit(roles, type->rank))
    fault(v, loc, "%s '%s': expected one capital letter for each of %d axes, all different, found \"%s\"", what, name,
          type->rank, roles);
}

/* ---- ops ---- */

static bool check_operands(Verifier *v, const Op *op) {
  bool ok = true;
  for (int k = 0; k < op->n_operands; k++) {
    const Value *x = op->operands[k];
    if (!x || is_defined(v, x))
      continue;
    fault(v, op->loc, "%s: expected operand '%s' to be defined before, found %%%s", op->def->name,
          op_operand(op->def, k)->name, x->name);
    ok = false;
  }
  return ok;
}

static void check_result(Verifier *v, const Op *op) {
  const Type *inferred = op_check(v->ctx, op), *type = op->result->type;
  if (!inferred) {
    v->ok = false; /* op_check has reported */
    return;
  }
  if (!type_same_shape(inferred, type))
    fault(v, op->loc, "%s: expected a result of element type and shape %s, found %s", op->def->name,
          type_text(v->ctx, inferred), type_text(v->ctx, type));
  if (op->def->code == OP_CONSTANT && inferred != type)
    fault(v, op->loc, "constant: expected the type of the constant, %s, found %s", type_text(v->ctx, inferred),
          type_text(v->ctx, type));
  if (type->layout->pad != PAD_ANY && op->def->code != OP_CONSTANT && op->def->code != OP_RELAYOUT)
    fault(v, op->loc, "%s: expected a padding state on results of constant and relayout only, found %s", op->def->name,
          type_text(v->ctx, type));
}

/* The constant of a `constant` op is one of the module's. */
static bool check_attrs(Verifier *v, const Op *op) {
  for (int k = 0; k < op->def->n_attrs; k++) {
    const Constant *c = op->attrs[k].constant;
    if (op->def->attrs[k].kind != ATTR_CONSTANT || !op->attrs[k].set)
      continue;
    if (c && is_noted(&v->constants, c))
      continue;
    fault(v, op->loc, "%s: expected '%s' to be a constant of this module, found %s%s", op->def->name,
          op->def->attrs[k].name, c ? "@" : "none", c ? c->name : "");
    return false;
  }
  return true;
}

static void check_fused(Verifier *v, const Op *op) {
  const Value *x = op->fused;
  if (!x)
    return;
  int operand = 0;
  while (operand < op->n_operands && op->operands[operand] != x)
    operand++;
  if (!(op->def->traits & OP_ELEMENTWISE))
    fault(v, op->loc, "%s: expected an elementwise op with fused(%%%s)", op->def->name, x->name);
  if (operand == op->n_operands) {
    fault(v, op->loc, "%s: expected fused(...) to name one of its operands, found %%%s", op->def->name, x->name);
    return;
  }
  if (!is_defined(v, x))
    return; /* reported as an operand */
  if (!x->def || !(x->def->def->traits & (OP_ELEMENTWISE | OP_CONTRACTION | OP_MOVE)))
    fault(v, op->loc, "%s: expected fused(%%%s) to name the result of an op that takes an epilogue, found %s",
          op->def->name, x->name, x->def ? x->def->def->name : "a parameter");
  if (v->uses[x->id] != 1)
    fault(v, op->loc, "%s: expected %%%s of fused(...) to have no other use, found %u uses", op->def->name, x->name,
          v->uses[x->id]);
  if (!type_same_extents(x->type, op->result->type))
    fault(v, op->loc, "%s: expected %%%s of fused(...) to have the result's shape %s, found %s", op->def->name, x->name,
          type_text(v->ctx, op->result->type), type_text(v->ctx, x->type));
}

static void check_op(Verifier *v, const Op *op, const Op *prev) {
  if (op->prev != prev || (op->next ? op->next->prev != op : v->f->last != op) || op->result->def != op)
    fault(v, op->loc, "%s: expected the list of ops to be linked both ways, found a broken link", op->def->name);
  if (check_attrs(v, op) && check_operands(v, op)) {
    check_result(v, op);
    check_fused(v, op);
  }
  define(v, op->result);
}

/* ---- functions ---- */

static void check_results(Verifier *v) {
  for (size_t k = 0; k < v->f->results.len; k++) {
    const FuncResult *r = &v->f->results.data[k];
    check_boundary(v, r->loc, "result", r->name, r->type, r->roles);
    if (!is_defined(v, r->value))
      fault(v, r->loc, "result '%s': expected a value of the function, found %%%s", r->name, r->value->name);
    if (r->value->type != r->type)
      fault(v, r->loc, "result '%s': expected a value of exactly the type %s, found %%%s of type %s", r->name,
            type_text(v->ctx, r->type), r->value->name, type_text(v->ctx, r->value->type));
  }
}

static void check_params(Verifier *v) {
  for (size_t k = 0; k < v->f->params.len; k++) {
    Value *p = v->f->params.data[k];
    if (p->def || p->index != (int)k)
      fault(v, p->loc, "parameter '%s': expected number %zu, found %d", p->name, k, p->index);
    check_boundary(v, p->loc, "parameter", p->name, p->type, p->roles);
    define(v, p);
  }
}

bool module_verify(Module *m) {
  const Function *f = m->main;
  Verifier v = {.m = m, .ctx = m->ctx, .f = f, .ok = true};
  check_constants(&v);
  if (!check_ids(&v))
    return false;
  v.defined = ARENA_ARRAY(v.ctx->arena, Value *, f->n_values);
  check_params(&v);
  v.uses = function_count_uses(v.ctx, f);
  const Op *prev = NULL;
  for (const Op *op = f->first; op; prev = op, op = op->next)
    check_op(&v, op, prev);
  check_results(&v);
  return v.ok;
}
