/* The self-check of a graph after a pass: its results on the same inputs, and where they differ the first op to blame.
 */
#include <math.h>

#include "lower/self_check_impl.h"

#define NOTICED 1e-4 /* of a value's largest element: a change that rounding does not make */

/* ---- the interface ---- */

/* Parameters and results are what callers pass: no pass may change them. */
static const char *changed_interface(const SelfCheck *c, const Function *f) {
  if (f->params.len != c->n_inputs || f->results.len != c->n_results)
    return "the number of inputs or outputs changed";
  for (size_t k = 0; k < c->n_inputs; k++)
    if (f->params.data[k]->type != c->input_types[k])
      return arena_printf(c->ctx->arena, "the type of input %%%s changed to %s", f->params.data[k]->name,
                          type_text(c->ctx, f->params.data[k]->type));
  for (size_t k = 0; k < c->n_results; k++)
    if (f->results.data[k].type != c->result_types[k])
      return arena_printf(c->ctx->arena, "the type of output '%s' changed to %s", f->results.data[k].name,
                          type_text(c->ctx, f->results.data[k].type));
  return NULL;
}

/* ---- the first wrong op ---- */

static bool same_shape(const Tensor *a, const Tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

static double largest(const Tensor *t) {
  double most = 0;
  for (int64_t i = 0; i < t->n; i++) {
    double x = fabs(tensor_get(t, i));
    most = x > most && isfinite(x) ? x : most;
  }
  return most;
}

/* The values are one to the eye, `size` being the largest element of b. Integers: equal. */
static bool alike(const Tensor *a, const Tensor *b, double size) {
  if (a == b || !same_shape(a, b) || !dtype_is_float(a->dtype))
    return a == b;
  double allowed = NOTICED * size;
  for (int64_t i = 0; i < a->n; i++) {
    double x = tensor_get(a, i), y = tensor_get(b, i);
    if (!(fabs(x - y) <= allowed) && !(isnan(x) && isnan(y)) && x != y)
      return false;
  }
  return true;
}

/* Some value of the graph before the pass is like this one. sizes: their largest elements, by id. */
static bool is_explained(const SelfCheck *c, const Tensor *t, const double *sizes) {
  for (uint32_t id = 0; id < c->before->n_values; id++)
    if (c->values[id] && alike(t, c->values[id], sizes[id]))
      return true;
  return false;
}

/* The first op, in program order, that had another value under its name before the pass, and whose value now is none
 * that the graph had. */
static const Op *first_wrong(const SelfCheck *c, const Function *f, const Tensor *const *values) {
  double *sizes = ARENA_ARRAY(c->ctx->arena, double, c->before->n_values);
  for (uint32_t id = 0; id < c->before->n_values; id++)
    sizes[id] = c->values[id] ? largest(c->values[id]) : 0;
  for (const Op *op = f->first; op; op = op->next) {
    const Value *was = function_find_value(c->before, op->result->name);
    const Tensor *now = values[op->result->id];
    if (was && c->values[was->id] != now && !is_explained(c, now, sizes))
      return op;
  }
  return NULL;
}

static const char *printed_op(Ctx *ctx, const Op *op) {
  Str s = str_new(ctx->arena);
  op_print(&s, op);
  return s.data;
}

/* Ops that the pass made, a line each, in front of op: those that its operands come from. */
static void add_made(const SelfCheck *c, const Op *op, Str *out) {
  for (int k = 0; k < op->n_operands; k++) {
    const Value *v = op->operands[k];
    if (!v || !v->def || function_find_value(c->before, v->name))
      continue;
    add_made(c, v->def, out);
    str_printf(out, "%s%s", out->len ? "\n" : "", printed_op(c->ctx, v->def));
  }
}

static const char *layout_text(Ctx *ctx, const Type *type, const char *roles) {
  const char *letters = roles && *roles ? layout_to_letters(ctx, type->layout, roles) : NULL;
  if (letters)
    return letters;
  Str s = str_new(ctx->arena);
  layout_print(&s, type->layout);
  return s.data;
}

const char *check_layouts_text(Ctx *ctx, const Op *op) {
  Str s = str_new(ctx->arena);
  for (int k = 0; k < op->n_operands; k++) {
    const OperandDef *row = op_operand(op->def, k);
    if (op->operands[k])
      str_printf(&s, "%s %s, ", row->name, layout_text(ctx, op->operands[k]->type, op_roles(ctx, op->def, row->roles)));
  }
  str_printf(&s, "result %s", layout_text(ctx, op->result->type, op_roles(ctx, op->def, op->def->result_roles)));
  return s.data;
}

static void describe_op(const SelfCheck *c, CheckFault *fault, const Op *op) {
  Ctx *ctx = c->ctx;
  fault->op = op->result->name;
  fault->loc = op->loc;
  fault->after = printed_op(ctx, op);
  fault->layouts = check_layouts_text(ctx, op);
  const Value *was = c->before ? function_find_value(c->before, op->result->name) : NULL;
  if (was && was->def) {
    const char *layouts = check_layouts_text(ctx, was->def);
    fault->before = printed_op(ctx, was->def);
    if (strcmp(layouts, fault->layouts) != 0)
      fault->layouts = arena_printf(ctx->arena, "%s; before: %s", fault->layouts, layouts);
  }
  Str made = str_new(ctx->arena);
  if (c->before)
    add_made(c, op, &made);
  fault->made = made.len ? made.data : NULL;
}

/* ---- a stage ---- */

static void fail_values(SelfCheck *c, CheckTimer *t, const Function *f, const Tensor *const *values,
                        const PipelineStep *step, size_t result, const CheckDiff *d) {
  const Op *op = first_wrong(c, f, values);
  CheckFault fault = {.step = step};
  const FuncResult *r = &f->results.data[result];
  fault.what = arena_printf(c->ctx->arena, "output '%s' changed", r->name);
  check_set_diff(&fault, d, c->results[result]);
  if (!op)
    op = r->value->def;
  if (op) {
    describe_op(c, &fault, op);
    const Value *was = function_find_value(c->before, op->result->name);
    const Tensor *now = values[op->result->id], *then = was ? c->values[was->id] : NULL;
    if (then && same_shape(now, then)) {
      CheckDiff of_op = check_compare(now, then, NULL, NULL);
      check_set_diff(&fault, &of_op, now);
    }
  }
  check_fail(c, t, &fault);
}

bool check_graph(SelfCheck *c, CheckTimer *t, Unit *unit, const PipelineStep *step) {
  Function *f = unit->module->main;
  const char *interface = changed_interface(c, f);
  if (interface)
    return check_fail(c, t, &(CheckFault){.step = step, .what = interface});
  int fresh = c->eval.fresh;
  const Tensor **values = evaluator_function(&c->eval, f, c->input_tensors);
  if (!values)
    return false;
  t->row.fresh = c->eval.fresh - fresh;
  for (const Op *op = f->first; op; op = op->next)
    t->row.all++;
  for (size_t k = 0; k < c->n_results; k++) {
    const Tensor *now = values[f->results.data[k].value->id];
    if (now == c->results[k])
      continue;
    CheckDiff d = check_compare(now, c->results[k], self_check_noise_of(c, k), NULL);
    if (check_note(t, &d))
      continue;
    fail_values(c, t, f, values, step, k, &d);
    return false;
  }
  check_set_graph(c, f, values);
  return true;
}

/* The op whose row refuses it, or whose result is not of the type that it gives. */
static const Op *broken_op(Ctx *ctx, const Function *f) {
  Diags *diags = ctx->diags;
  ctx->diags = diags_create(ctx->arena);
  const Op *op = f->first;
  for (; op; op = op->next) {
    const Type *type = op_check(ctx, op);
    if (!type || !type_same_shape(type, op->result->type))
      break;
  }
  ctx->diags = diags;
  return op;
}

void check_broken(SelfCheck *c, CheckTimer *t, Unit *unit, const PipelineStep *step) {
  CheckFault fault = {.step = step, .what = "what the pass made breaks the rules of its form"};
  const Op *op = unit->loops ? NULL : broken_op(c->ctx, unit->module->main);
  if (op)
    describe_op(c, &fault, op);
  check_fail(c, t, &fault);
}
