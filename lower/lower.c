/* The driver of lowering: groups, buffers, views, fused chains. See lower_op.h. */
#include "lower/lower_op.h"
#include "passes/fuse.h"
#include "passes/legalize.h"

/* Every family must define its lowering: a missing one does not link. */
#define OP(code, name, family, ...) bool lower_##family(LowerCtx *lc, const Group *group);
#define ELEMENTWISE(...)
#define COMPOSITE(...)
#include "ir/ops.def"
bool lower_elementwise(LowerCtx *lc, const Group *group);

static LowerFn *const lower_table[OP_COUNT] = {
#define OP(code, name, family, ...) [OP_##code] = lower_##family,
#define ELEMENTWISE(code, ...) [OP_##code] = lower_elementwise,
#define COMPOSITE(code, ...) [OP_##code] = NULL, /* expanded before */
#include "ir/ops.def"
};

static bool is_view(const Value *v) {
  return v->def && (v->def->def->traits & OP_VIEW);
}

Access lower_read(LowerCtx *lc, const Value *value, const Expr *const *index) {
  Ctx *ctx = lc->ctx;
  const Expr *at[WEFT_MAX_RANK];
  memcpy(at, index, (size_t)value->type->rank * sizeof *at);
  while (!lc->buffers[value->id]) {
    WEFT_ASSERT(is_view(value));
    const Op *view = value->def;
    const Expr *inner[WEFT_MAX_RANK];
    view->def->view_index(ctx, view, at, inner);
    value = view->operands[0];
    memcpy(at, inner, (size_t)value->type->rank * sizeof *at);
  }
  Buffer *buffer = lc->buffers[value->id];
  const Expr **digits = ARENA_ARRAY(ctx->arena, const Expr *, buffer->type->layout->n);
  layout_indices(ctx, buffer->type->layout, at, digits);
  return (Access){buffer, digits};
}

const Scalar *lower_value(LowerCtx *lc, const Value *value, const Expr *const *index, Args *args, int first_arg) {
  const Op *op = value->def;
  const Scalar *operands[OP_MAX_OPERANDS];
  if (!lc->inlined[value->id]) {
    int arg = args_add(args, lower_read(lc, value, index));
    return arg < 0 ? NULL : scalar_arg_typed(lc->ctx, first_arg + arg, access_dtype(args->access[arg]));
  }
  for (int k = 0; k < op->def->n_operands; k++)
    if (!(operands[k] = lower_value(lc, op->operands[k], index, args, first_arg)))
      return NULL;
  return op_scalar(lc->ctx, op, operands);
}

Access lower_target(LowerCtx *lc, const Group *group, const Expr *const *index) {
  const Layout *layout = group->target->type->layout;
  const Expr **digits = ARENA_ARRAY(lc->ctx->arena, const Expr *, layout->n);
  layout_indices(lc->ctx, layout, index, digits);
  return (Access){group->target, digits};
}

Binding lower_index(LowerCtx *lc, const char *name, Access given, Dim extent) {
  Ctx *ctx = lc->ctx;
  Binding b = {.var = expr_var(ctx, name, expr_const(ctx, 0), extent)};
  args_add(&b.args, given);
  const Expr **size = ARENA_ARRAY(ctx->arena, const Expr *, 1);
  *size = extent;
  int n = args_add(&b.args, (Access){NULL, size});
  const Scalar *number = scalar_cast(ctx, scalar_arg_typed(ctx, 0, access_dtype(given)), DT_I64);
  b.value = scalar_make3(ctx, SC_SELECT, scalar_make2(ctx, SC_LT, number, scalar_const_int(ctx, DT_I64, 0)),
                         scalar_make2(ctx, SC_ADD, number, scalar_arg_typed(ctx, n, DT_I64)), number);
  return b;
}

/* Of a group written by hand: `fuse` makes smaller ones. */
static void too_much(LowerCtx *lc, const Op *op, const char *what, int most) {
  diag_error(lc->ctx->diags, WEFT_UNSUPPORTED, op->loc,
             "more than %d %s fused into one nest; leave out fused(%%%s) here", most, what, op->fused->name);
}

const Scalar *lower_chain(LowerCtx *lc, const Group *group, const Expr *const *index, const Scalar *root, Args *args,
                          int first_arg) {
  const Scalar *current = root;
  int n_read = args->n;
  for (int k = 0; k < group->n_chain; k++) {
    const Op *op = group->chain[k];
    const Scalar *operands[OP_MAX_OPERANDS];
    for (int j = 0; j < op->def->n_operands; j++) {
      if (op->operands[j] == op->fused) {
        operands[j] = current;
        continue;
      }
      operands[j] = lower_value(lc, op->operands[j], index, args, first_arg);
      if (!operands[j] || ++n_read > FUSE_MAX_OPERANDS) {
        too_much(lc, op, "operands", FUSE_MAX_OPERANDS);
        return NULL;
      }
    }
    current = op_scalar(lc->ctx, op, operands);
    bool many = k + 1 == FUSE_MAX_OPS;
    if (many || current->size > FUSE_MAX_NODES) {
      too_much(lc, op, many ? "ops" : "operations", many ? FUSE_MAX_OPS : FUSE_MAX_NODES);
      return NULL;
    }
  }
  return current;
}

void lower_axis_vars(LowerCtx *lc, const Type *type, const Expr **vars) {
  static const char *const names[WEFT_MAX_RANK] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  for (int k = 0; k < type->rank; k++)
    vars[k] = expr_var(lc->ctx, names[k], expr_const(lc->ctx, 0), type->dims[k]);
}

bool lower_move(LowerCtx *lc, const Group *group, Computation *c, const Expr *const *at, const Scalar *root) {
  c->value = lower_chain(lc, group, at, root, &c->args, 0);
  if (!c->value)
    return false;
  c->target = lower_target(lc, group, at);
  schedule_computation(lc, group, c);
  return true;
}

bool lower_pointwise(LowerCtx *lc, const Group *group, const Expr *const *vars, const Scalar *root, Args *args) {
  Computation c = {.n_axes = group->result->type->rank, .args = *args};
  memcpy(c.axes, vars, (size_t)c.n_axes * sizeof *vars);
  return lower_move(lc, group, &c, vars, root);
}

/* ---- groups ---- */

static const char *group_what(LowerCtx *lc, const Group *group) {
  Str s = str_new(lc->ctx->arena);
  str_put(&s, group->root->def->name);
  for (int k = 0; k < group->n_chain; k++)
    str_printf(&s, "+%s", group->chain[k]->def->name);
  return s.data;
}

/* A buffer for a group's result: an output of the function where it is returned as it is (for the first time), else
 * arena. */
static Buffer *result_buffer(LowerCtx *lc, const Value *v) {
  for (size_t k = 0; k < lc->function->results.len; k++) {
    Buffer *output = lc->program->outputs.data[k];
    if (lc->function->results.data[k].value == v)
      return output;
  }
  Buffer *buffer = loops_add_buffer(lc->program, v->name, v->type, BUF_ARENA, NULL);
  buffer->value = v;
  return buffer;
}

static bool lower_group(LowerCtx *lc, const Op *root) {
  VEC(const Op *) chain = {0};
  for (const Op *next = lc->fused[root->result->id]; next; next = lc->fused[next->result->id])
    vec_push(lc->ctx->arena, &chain, next);
  Group group = {.root = root, .chain = chain.data, .n_chain = (int)chain.len};
  group.result = chain.len ? chain.data[chain.len - 1]->result : root->result;
  group.what = group_what(lc, &group);
  if (!(root->def->traits & OP_LEAF)) {
    lc->buffers[group.result->id] = group.target = result_buffer(lc, group.result);
    schedule_halo(lc, &group);
  }
  return lower_table[root->def->code](lc, &group);
}

/* The root of the group whose last op is `op`, or NULL where a later op is fused onto it. */
static const Op *group_root(const LowerCtx *lc, const Op *op) {
  if (lc->fused[op->result->id])
    return NULL;
  while (op->fused)
    op = op->fused->def;
  return op;
}

/* Copies a returned value to output k where no nest writes there directly: parameters, constants, views, and values
 * returned more than once. */
static bool lower_returned(LowerCtx *lc, size_t k) {
  const FuncResult *r = &lc->function->results.data[k];
  Buffer *output = lc->program->outputs.data[k];
  if (lc->buffers[r->value->id] == output)
    return true;
  Group group = {.root = r->value->def, .result = r->value, .target = output, .what = "copy"};
  const Expr *vars[WEFT_MAX_RANK];
  lower_axis_vars(lc, r->type, vars);
  Args args = {0};
  args_add(&args, lower_read(lc, r->value, vars));
  return lower_pointwise(lc, &group, vars, scalar_arg_typed(lc->ctx, 0, access_dtype(args.access[0])), &args);
}

LoopProgram *lower_module(Module *m, LowerTarget target) {
  Ctx *ctx = m->ctx;
  const Function *f = m->main;
  LowerCtx lc = {.ctx = ctx, .module = m, .function = f, .target = target};
  lc.program = loops_create(ctx, m, f->name);
  lc.buffers = ARENA_ARRAY(ctx->arena, Buffer *, f->n_values);
  lc.fused = ARENA_ARRAY(ctx->arena, const Op *, f->n_values);
  for (const Op *op = f->first; op; op = op->next)
    if (op->fused)
      lc.fused[op->fused->id] = op;
  lc.often = views_read_often(&lc);
  lc.inlined = inlined_values(&lc);
  for (size_t k = 0; k < f->params.len; k++) {
    const Value *v = f->params.data[k];
    lc.buffers[v->id] = loops_add_buffer(lc.program, v->name, v->type, BUF_INPUT, NULL);
    lc.buffers[v->id]->value = v;
  }
  for (size_t k = 0; k < f->results.len; k++) {
    const FuncResult *r = &f->results.data[k];
    loops_add_buffer(lc.program, r->name, r->type, BUF_OUTPUT, NULL)->value = r->value;
  }
  for (const Op *op = f->first; op; op = op->next) {
    if ((op->def->traits & OP_VIEW) && !view_is_stored(&lc, op))
      continue;
    const Op *root = group_root(&lc, op);
    if (root && !lc.inlined[op->result->id] && !(legalize_op(ctx, root) && lower_group(&lc, root)))
      return NULL;
  }
  for (size_t k = 0; k < f->results.len; k++)
    if (!lower_returned(&lc, k))
      return NULL;
  return lc.program;
}
