/* weft ops, weft passes, weft targets: the tables themselves. */
#include <math.h>
#include <stdio.h>

#include "frontend/cli/commands.h"
#include "frontend/cli/driver.h"
#include "frontend/cli/ops_page.h"
#include "frontend/cli/passes_list.h"

static const OptionRow no_options[] = {{0}};

static bool set_markdown(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  return *(bool *)options = true;
}

static const OptionRow ops_options[] = {
    {"markdown", NULL, "write docs/operators.md: these, and the operators of ONNX that are imported", set_markdown},
    {0}};

static const CommandSpec ops_spec = {
    "ops",
    "[OP] [options]",
    "Lists the operators, or describes one: operands with the letters of their axes, attributes with defaults.",
    ops_options,
    NULL,
    "  weft ops\n  weft ops conv2d_transpose\n  weft ops --markdown > docs/operators.md\n",
    0,
    1};
static const CommandSpec passes_spec = {
    "passes", "", "Lists the passes in the order of the usual pipeline; weft-opt runs them.", no_options, NULL, NULL,
    0,        0};
static const CommandSpec targets_spec = {
    "targets", "", "Lists the CPUs to compile for and what works on this machine.", no_options, NULL, NULL, 0, 0};

/* ---- ops ---- */

static void print_op(Ctx *ctx, const OpDef *def) {
  const char *result = op_roles(ctx, def, def->result_roles);
  printf("%s(%s)%s%s\n    %s\n    of %s\n", def->name, operands_describe(ctx, def), result[0] ? " -> " : "", result,
         def->doc, types_describe(ctx, def));
  for (int k = 0; k < def->n_attrs; k++)
    printf("    %s\n", attr_describe(ctx, def, &def->attrs[k]));
}

static bool list_ops(Ctx *ctx, const Positionals *names) {
  if (names->len) {
    const char *name = names->data[0];
    const OpDef *def = op_find(name, strlen(name));
    if (!def) {
      const char *near = op_nearest(ctx, name);
      return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "unknown op '%s'%s%s%s", name, near ? ", did you mean '" : "",
                        near ? near : "", near ? "'?" : "");
    }
    print_op(ctx, def);
    return true;
  }
  for (int k = 0; k < OP_COUNT; k++)
    print_op(ctx, &op_table[k]);
  return true;
}

int command_ops(int argc, char **argv) {
  Ctx *ctx = ctx_create();
  Positionals names = {0};
  bool markdown = false;
  if (args_parse(ctx, "weft", &ops_spec, argc, argv, &markdown, &names) == ARGS_OK) {
    if (!markdown)
      list_ops(ctx, &names);
    else if (names.len)
      diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--markdown writes the page of all operators, not of '%s' alone",
                 names.data[0]);
    else
      ops_page_print(ctx);
  }
  return finish(ctx, WEFT_OK);
}

/* ---- passes ---- */

int command_passes(int argc, char **argv) {
  Ctx *ctx = ctx_create();
  Positionals none = {0};
  if (args_parse(ctx, "weft", &passes_spec, argc, argv, NULL, &none) == ARGS_OK)
    passes_list(&all_passes);
  return finish(ctx, WEFT_OK);
}

/* ---- targets ---- */

static void list_targets(Ctx *ctx) {
  uint32_t here = cpu_features_here();
  bool llvm;
  const char *description = llvm_description(ctx, &llvm);
  printf("cpu: %s\n", description);
  for (const CpuTarget *t = cpu_targets; t->name; t++) {
    uint32_t lacks = t->needs & ~here;
    const char *not_here = t->machine != MACHINE_X86_64 ? "; objects only, --emit obj"
                           : lacks                      ? "; not on this machine, which lacks "
                                                        : "";
    printf("  %-16s %2d-byte vectors  %s%s%s\n", t->name, t->lower.vector_bytes, t->help, not_here,
           lacks ? cpu_feature_names(ctx, lacks) : "");
  }
  const CpuTarget *native = cpu_target_find(ctx, "native");
  if (native)
    printf("  %-16s is %s here\n", "native", native->name);
  printf("interp: the reference evaluation, 'weft run --target interp'\n");
}

int command_targets(int argc, char **argv) {
  Ctx *ctx = ctx_create();
  Positionals none = {0};
  if (args_parse(ctx, "weft", &targets_spec, argc, argv, NULL, &none) == ARGS_OK)
    list_targets(ctx);
  return finish(ctx, WEFT_OK);
}
