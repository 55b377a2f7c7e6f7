/* See reproducer.h. */
#include "frontend/reproducer.h"

#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>

#include "frontend/frontend.h"
#include "ir/extract.h"
#include "lower/loop_passes.h"

#define MAX_RADIUS 4 /* in steps along operands and readers */
#define MAX_NAME 60

/* ---- choosing ops ---- */

static const Op *op_named(const Function *f, const char *name) {
  const Value *v = name ? function_find_value(f, name) : NULL;
  return v ? v->def : NULL;
}

/* The op and those that are computed in one nest with it. */
static void choose_group(const Op *op, bool *chosen) {
  for (; op; op = op->fused ? op->fused->def : NULL)
    chosen[op->result->id] = true;
}

static void choose_neighbours(Ctx *ctx, const Function *f, bool *chosen) {
  bool *more = ARENA_ARRAY(ctx->arena, bool, f->n_values);
  for (const Op *op = f->first; op; op = op->next)
    for (int k = 0; k < op->n_operands; k++) {
      const Value *v = op->operands[k];
      if (!v || !v->def || (v->def->def->traits & OP_LEAF))
        continue;
      more[v->id] = more[v->id] || chosen[op->result->id];
      more[op->result->id] = more[op->result->id] || chosen[v->id];
    }
  for (const Op *op = f->first; op; op = op->next)
    if (more[op->result->id])
      choose_group(op, chosen);
}

static void choose_all(const Function *f, bool *chosen) {
  for (const Op *op = f->first; op; op = op->next)
    chosen[op->result->id] = !(op->def->traits & OP_LEAF);
}

/* ---- trying ---- */

static const char *file_name(Ctx *ctx, const char *op) {
  Str s = str_new(ctx->arena);
  for (const char *c = op; *c && s.len < MAX_NAME; c++)
    str_putc(&s, isalnum((unsigned char)*c) || *c == '_' || *c == '-' ? *c : '_');
  return arena_printf(ctx->arena, "%s.repro", s.data);
}

typedef struct {
  Ctx *ctx;
  const Function *f;
  const Tensor *const *values;
  const char *name;
  StillFails *fails;
  void *env;
} Search;

static bool shows_it(const Search *s, const bool *chosen) {
  Module *candidate = module_extract(s->ctx, s->f, chosen, s->values, s->name);
  return candidate && module_verify(candidate) && s->fails(s->env, s->ctx, candidate);
}

/* Leaves in chosen the smallest part tried that shows the fault, or all. What the tries report is nobody's error. */
static void search(const Search *s, const Op *op, bool *chosen) {
  Diags *diags = s->ctx->diags;
  bool found = false;
  if (op)
    choose_group(op, chosen);
  for (int radius = 0; op && !found && radius <= MAX_RADIUS; radius++) {
    s->ctx->diags = diags_create(s->ctx->arena);
    if (radius)
      choose_neighbours(s->ctx, s->f, chosen);
    found = shows_it(s, chosen);
  }
  s->ctx->diags = diags;
  if (!found)
    choose_all(s->f, chosen);
}

const char *reproducer_write(Ctx *ctx, const SelfCheck *check, const char *dir, StillFails *fails, void *env) {
  const CheckFault *fault = self_check_fault(check);
  Search s = {.ctx = ctx, .fails = fails, .env = env};
  s.f = self_check_before(check, &s.values);
  if (!s.f)
    return NULL;
  s.name = file_name(ctx, fault->op ? fault->op : "model");
  bool *chosen = ARENA_ARRAY(ctx->arena, bool, s.f->n_values);
  search(&s, op_named(s.f, fault->op), chosen);
  Module *m = module_extract(ctx, s.f, chosen, s.values, s.name);
  if (!m)
    return NULL;
  if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
    diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--output-dir %s: %s", dir, strerror(errno));
    return NULL;
  }
  return text_form_write(m, dir, s.name) ? arena_printf(ctx->arena, "%s/%s.weft", dir, s.name) : NULL;
}

/* ---- passes ---- */

bool reproducer_passes_fail(void *env, Ctx *ctx, Module *candidate) {
  Unit unit = {.ctx = ctx, .module = candidate};
  SelfCheck *check = self_check_start(&unit, (SelfCheckOptions){.seed = SELF_CHECK_SEED});
  if (!check)
    return false;
  PipelineOptions options = {.verify_each = true, .check = self_check_pass, .check_env = check};
  Str log = str_new(ctx->arena);
  pipeline_run(&unit, &all_passes, env, &options, &log);
  return self_check_fault(check);
}

const char *reproducer_command(Ctx *ctx, const char *path, const Pipeline *steps) {
  Str s = str_new(ctx->arena);
  str_printf(&s, "weft-opt %s --passes '", path);
  for (size_t k = 0; k < steps->len; k++) {
    const PipelineStep *step = &steps->data[k];
    str_printf(&s, "%s%s", k ? "," : "", step->pass->name);
    for (int j = 0; j < step->n_options; j++) {
      const PassOption *o = &step->options[j];
      str_printf(&s, "%s%s%s%s%s", j ? "," : "{", o->key, *o->value ? "=" : "", o->value,
                 j + 1 == step->n_options ? "}" : "");
    }
  }
  str_put(&s, "' --check-each");
  return s.data;
}
