/* The one gate before lowering: what the target takes passes, everything else is an error where the user wrote it, all
 * of them at once. The target takes every element type, where the op's row does; shapes must be constant. Copies that
 * copy nothing go. */
#include "passes/legalize.h"

#include "ir/fault.h"
#include "passes/pass.h"

bool pass_legalize(Unit *unit, const PassOption *options, int n_options);

static bool is_static(const Type *type) {
  int64_t shape[WEFT_MAX_RANK];
  return type_shape(type, shape);
}

static bool check_type(Ctx *ctx, const Value *v, Loc loc) {
  if (!is_static(v->type))
    return diag_error(ctx->diags, WEFT_UNSUPPORTED, loc,
                      "%%%s has dynamic dimensions, %s; give every dimension a number", v->name,
                      type_text(ctx, v->type));
  return true;
}

bool legalize_op(Ctx *ctx, const Op *op) {
  if (!(op->def->traits & OP_COMPOSITE))
    return true;
  return diag_error(ctx->diags, WEFT_UNSUPPORTED, op->loc,
                    "%s is computed by other ops; run the pass expand-composites before, which puts them in its place",
                    op->def->name);
}

static void drop_identity_copies(Function *f) {
  for (Op *op = f->first, *next; op; op = next) {
    next = op->next;
    if (!(op->def->traits & OP_COPY) || op->operands[0]->type != op->result->type)
      continue;
    value_replace_uses(f, op->result, op->operands[0]);
    op_erase(f, op);
  }
}

/* The planted fault "legalize". */
static void drop_output_padding(Ctx *ctx, Op *op) {
  int k = op_attr_index(op->def, "output_padding", strlen("output_padding"));
  if (k >= 0)
    op_set_ints(ctx, op, "output_padding", ARENA_ARRAY(ctx->arena, int64_t, op->attrs[k].n), op->attrs[k].n);
}

bool pass_legalize(Unit *unit, const PassOption *options, int n_options) {
  Ctx *ctx = unit->ctx;
  Function *f = unit->module->main;
  for (int k = 0; k < n_options; k++) {
    if (strcmp(options[k].key, "target") != 0)
      return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "legalize: unknown option '%s'; it takes target=cpu",
                        options[k].key);
    if (strcmp(options[k].value, "cpu") != 0)
      return diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE, "legalize: target '%s' is not supported; cpu is",
                        options[k].value);
  }
  bool ok = true;
  for (size_t k = 0; k < f->params.len; k++)
    ok = check_type(ctx, f->params.data[k], f->params.data[k]->loc) && ok;
  for (const Op *op = f->first; op; op = op->next)
    ok = legalize_op(ctx, op) && check_type(ctx, op->result, op->loc) && ok;
  for (Op *op = f->first; FAULT("legalize") && op; op = op->next)
    drop_output_padding(ctx, op);
  if (ok)
    drop_identity_copies(f);
  return ok;
}
