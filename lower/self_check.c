/* The driver of the self-check: its start, its stages, comparisons. See self_check.h. */
#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "lower/self_check_impl.h"

#define INPUT_SEED_STEP 0x632be59bd9b4e019ull /* as `weft run --random` */

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- rows ---- */

CheckTimer self_check_begin(const char *name, const char *of) {
  return (CheckTimer){.row = {.name = name, .of = of}, .start = seconds_now()};
}

bool self_check_end(SelfCheck *c, CheckTimer *t) {
  t->row.seconds = seconds_now() - t->start;
  t->row.failed = c->failed;
  vec_push(c->ctx->arena, &c->stages, t->row);
  return !c->failed;
}

const CheckStage *self_check_stages(const SelfCheck *c, size_t *n) {
  *n = c->stages.len;
  return c->stages.data;
}

const CheckFault *self_check_fault(const SelfCheck *c) {
  return c->failed ? &c->fault : NULL;
}

bool check_fail(SelfCheck *c, CheckTimer *t, const CheckFault *fault) {
  if (!c->failed)
    c->fault = *fault;
  c->failed = true;
  c->fault.stage = t->row.name;
  return false;
}

bool check_fail_run(SelfCheck *c, CheckTimer *t, const char *what) {
  return check_fail(c, t, &(CheckFault){.what = what});
}

/* ---- comparing ---- */

CheckDiff check_compare(const Tensor *got, const Tensor *expected, const double *tolerance, const unsigned char *mask) {
  CheckDiff d = {.worst = -1};
  if (memcmp(got->data, expected->data, (size_t)got->n * dtype_size(got->dtype)) == 0)
    return d;
  const float *floats = expected->dtype == DT_F32 ? expected->data : NULL, *mine = got->data;
  for (int64_t i = 0; i < expected->n; i++) {
    if ((mask && !mask[i]) || (floats && floats[i] == mine[i]))
      continue;
    ScalarValue x = tensor_value(got, i), y = tensor_value(expected, i);
    bool is_float = dtype_is_float(expected->dtype);
    if (is_float ? x.f == y.f || (isnan(x.f) && isnan(y.f)) : x.i == y.i)
      continue;
    double a = tensor_get(got, i), b = tensor_get(expected, i), diff = fabs(a - b);
    double allowed = (tolerance ? tolerance[i] : 0) + (is_float ? CHECK_ATOL : 0);
    double share = isnan(diff) ? INFINITY : diff > 0 ? diff / allowed : is_float ? 0 : INFINITY;
    d.max_abs = diff > d.max_abs || isnan(diff) ? (isnan(diff) ? INFINITY : diff) : d.max_abs;
    if (share > d.max_share) {
      d.max_share = share;
      d.worst = i;
      d.got = a;
      d.expected = b;
      d.tolerance = allowed;
    }
  }
  return d;
}

bool check_note(CheckTimer *t, const CheckDiff *d) {
  t->row.max_abs = d->max_abs > t->row.max_abs ? d->max_abs : t->row.max_abs;
  t->row.max_share = d->max_share > t->row.max_share ? d->max_share : t->row.max_share;
  return d->max_share <= 1;
}

void check_set_diff(CheckFault *fault, const CheckDiff *d, const Tensor *t) {
  fault->diff = *d;
  fault->rank = t->rank;
  int64_t at = d->worst;
  for (int k = t->rank - 1; k >= 0 && at >= 0; k--) {
    fault->index[k] = at % t->shape[k];
    at /= t->shape[k];
  }
}

/* ---- start ---- */

static const void *random_storage(Ctx *ctx, const Type *type, uint64_t seed) {
  Tensor *t = tensor_of_type(ctx, type); /* in the order of the storage, as inputs from files are */
  void *storage = arena_alloc(ctx->arena, (size_t)type_bytes(type));
  tensor_fill_random(t, seed);
  memcpy(storage, t->data, (size_t)type_bytes(type));
  return storage;
}

static bool set_inputs(SelfCheck *c, const Type *const *types, size_t n) {
  Ctx *ctx = c->ctx;
  c->n_inputs = n;
  c->inputs = ARENA_ARRAY(ctx->arena, const void *, n);
  c->input_types = ARENA_ARRAY(ctx->arena, const Type *, n);
  c->input_tensors = ARENA_ARRAY(ctx->arena, const Tensor *, n);
  int64_t shape[WEFT_MAX_RANK];
  for (size_t k = 0; k < n; k++) {
    if (!type_shape(types[k], shape))
      return diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE,
                        "input %zu is %s; a check needs numbers for all dimensions: give inputs, or --shape", k,
                        type_text(ctx, types[k]));
    const void *given = c->options.inputs ? c->options.inputs[k] : NULL;
    c->input_types[k] = types[k];
    c->inputs[k] = given ? given : random_storage(ctx, types[k], c->options.seed + k * INPUT_SEED_STEP);
    Tensor *t = tensor_of_type(ctx, types[k]);
    tensor_from_storage(t, types[k], c->inputs[k]);
    c->input_tensors[k] = evaluator_intern(&c->eval, t);
  }
  return true;
}

void check_set_graph(SelfCheck *c, const Function *f, const Tensor **values) {
  c->before = function_clone(c->ctx, f);
  c->values = values;
  c->errors = ARENA_ARRAY(c->ctx->arena, const double *, f->n_values);
  c->asked_error = ARENA_ARRAY(c->ctx->arena, bool, f->n_values);
}

/* The graph as imported, with composites expanded: what rounding does to it is seen on its parts. Its own module, so
 * that no name is taken in the one that is compiled; the ops' constants are shared. */
static Module *expanded_copy(SelfCheck *c, const Module *m) {
  Module *copy = module_create(c->ctx, m->file, m->name);
  copy->main = function_clone(c->ctx, m->main);
  Unit unit = {.ctx = c->ctx, .module = copy};
  PassRegistry registry = {(const Pass *const[]){graph_passes}, 1, NULL, NULL};
  const Pass *expand = pass_find(&registry, "expand-composites");
  return expand->run(&unit, NULL, 0) ? copy : NULL;
}

static bool start_graph(SelfCheck *c, Module *m) {
  Ctx *ctx = c->ctx;
  const Function *f = m->main;
  const Type **types = ARENA_ARRAY(ctx->arena, const Type *, f->params.len);
  for (size_t k = 0; k < f->params.len; k++)
    types[k] = f->params.data[k]->type;
  if (!set_inputs(c, types, f->params.len))
    return false;
  const Tensor **values = evaluator_function(&c->eval, f, c->input_tensors);
  if (!values || !(c->imported = expanded_copy(c, m)))
    return false;
  check_set_graph(c, f, values);
  c->n_results = f->results.len;
  c->results = ARENA_ARRAY(ctx->arena, const Tensor *, f->results.len);
  c->result_types = ARENA_ARRAY(ctx->arena, const Type *, f->results.len);
  for (size_t k = 0; k < f->results.len; k++) {
    c->results[k] = values[f->results.data[k].value->id];
    c->result_types[k] = f->results.data[k].type;
  }
  return true;
}

static bool start_loops(SelfCheck *c, LoopProgram *p) {
  Ctx *ctx = c->ctx;
  const Type **types = ARENA_ARRAY(ctx->arena, const Type *, p->inputs.len);
  for (size_t k = 0; k < p->inputs.len; k++)
    types[k] = p->inputs.data[k]->type;
  if (!set_inputs(c, types, p->inputs.len))
    return false;
  c->n_results = p->outputs.len;
  c->outputs = ARENA_ARRAY(ctx->arena, void *, p->outputs.len);
  c->results = ARENA_ARRAY(ctx->arena, const Tensor *, p->outputs.len);
  for (size_t k = 0; k < p->outputs.len; k++)
    c->outputs[k] = arena_alloc(ctx->arena, (size_t)type_bytes(p->outputs.data[k]->type));
  if (!loops_interpret(p, c->inputs, c->outputs))
    return false;
  for (size_t k = 0; k < p->outputs.len; k++) {
    Tensor *t = tensor_of_type(ctx, p->outputs.data[k]->type);
    tensor_from_storage(t, p->outputs.data[k]->type, c->outputs[k]);
    c->results[k] = t;
  }
  return true;
}

SelfCheck *self_check_start(Unit *unit, SelfCheckOptions options) {
  SelfCheck *c = ARENA_NEW(unit->ctx->arena, SelfCheck);
  c->ctx = unit->ctx;
  c->options = options;
  c->eval.ctx = unit->ctx;
  CheckTimer t = self_check_begin(unit->loops ? "as read" : "as imported", unit->loops ? "nests" : "values");
  if (unit->loops ? !start_loops(c, unit->loops) : !start_graph(c, unit->module))
    return NULL;
  for (const Nest *n = unit->loops ? unit->loops->first : NULL; n; n = n->next)
    t.row.all++;
  if (!unit->loops)
    t.row.all = (int)c->before->n_values;
  t.row.fresh = unit->loops ? t.row.all : c->eval.fresh;
  self_check_end(c, &t);
  return c;
}

/* ---- a pass ---- */

bool self_check_pass(void *env, Unit *unit, const PipelineStep *step, bool verified) {
  SelfCheck *c = env;
  if (step->pass->gives == UNIT_LOOPS)
    vec_push(c->ctx->arena, &c->loop_steps, *step);
  CheckTimer t = self_check_begin(step->pass->name, unit->loops ? "nests" : "values");
  if (!verified)
    check_broken(c, &t, unit, step);
  else if (!(unit->loops ? check_loops : check_graph)(c, &t, unit, step) && !c->failed)
    return false;
  return self_check_end(c, &t);
}

/* ---- what the check of compiled code asks ---- */

const Function *self_check_before(const SelfCheck *c, const Tensor *const **values) {
  *values = c->values;
  return c->before;
}

Pipeline self_check_steps(const SelfCheck *c) {
  Pipeline steps = c->loop_steps;
  if (!steps.len && c->fault.step)
    vec_push(c->ctx->arena, &steps, *c->fault.step);
  return steps;
}

const void *const *self_check_inputs(const SelfCheck *c) {
  return c->inputs;
}

const Tensor *self_check_truth(SelfCheck *c, const Buffer *b) {
  return c->values[b->value->id];
}

static const double *value_tolerance(SelfCheck *c, const Value *v) {
  if (!v->def || c->asked_error[v->id])
    return v->def ? c->errors[v->id] : NULL;
  const Op *op = v->def;
  const double **of_operands = ARENA_ARRAY(c->ctx->arena, const double *, op->n_operands);
  for (int k = 0; k < op->n_operands; k++)
    if (op->fused && op->operands[k] == op->fused)
      of_operands[k] = value_tolerance(c, op->fused);
  c->errors[v->id] =
      check_rounding(&c->eval, op, evaluator_operands(&c->eval, op, c->values), of_operands, c->values[v->id], CHECK_C);
  c->asked_error[v->id] = true;
  return c->errors[v->id];
}

const double *self_check_tolerance(SelfCheck *c, const Buffer *b) {
  return value_tolerance(c, b->value);
}

const double *self_check_noise_of(SelfCheck *c, size_t result) {
  if (!c->imported)
    return NULL;
  if (!c->tolerances) {
    if (!c->imported_values)
      c->imported_values = evaluator_function(&c->eval, c->imported->main, c->input_tensors);
    WEFT_ASSERT(c->imported_values);
    c->tolerances = check_noise(&c->eval, c->imported->main, c->imported_values, c->options.seed);
  }
  return c->tolerances[result];
}

bool self_check_outputs(SelfCheck *c, CheckTimer *t, LoopProgram *p, void *const *storage) {
  for (size_t k = 0; k < p->outputs.len; k++) {
    const Buffer *b = p->outputs.data[k];
    Tensor *got = tensor_of_type(c->ctx, b->type);
    tensor_from_storage(got, b->type, storage[k]);
    CheckDiff d = check_compare(got, c->results[k], NULL, NULL);
    if (d.worst >= 0)
      d = check_compare(got, c->results[k], self_check_noise_of(c, k), NULL);
    if (check_note(t, &d))
      continue;
    CheckFault fault = {.what = arena_printf(c->ctx->arena, "output '%s' differs", b->name), .op = b->name};
    check_set_diff(&fault, &d, got);
    return check_fail(c, t, &fault);
  }
  return true;
}
