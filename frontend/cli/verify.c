/* weft verify MODEL: the self-check, docs/verify.md. */
#include <stdio.h>

#include "frontend/cli/commands.h"
#include "frontend/cli/inputs.h"
#include "frontend/reproducer.h"

typedef struct {
  InputOptions in; /* first: the shared option rows set it */
  const char *output_dir;
} VerifyOptions;

static bool set_output_dir(Ctx *ctx, void *options, const char *value) {
  ((VerifyOptions *)options)->output_dir = value;
  return *value || diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--output-dir needs the name of a folder");
}

static const OptionRow rows[] = {
    INPUT_OPTION_ROWS,
    {"output-dir", "DIR", "where to write a reproducer, if a stage fails (.)", set_output_dir},
    {"target", "TARGET", "cpu", set_target},
    BUILD_OPTION_ROWS,
    {0},
};

static const FutureOption future[] = {{"gpu", true}, {"offload", true}, {"json", false}, {0}};

static const CommandSpec spec = {
    "verify",
    "MODEL [--input [NAME=]FILE.npy ...] [options]",
    "Checks weft itself on a model (.onnx, .yaml, .weft): evaluates the graph as imported by its definition, then "
    "what\n"
    "each pass makes of it, then the loop nests, then the compiled code, all on the same inputs, and prints how far\n"
    "each stage is off. Where a stage is off by more than rounding explains, names the pass and the first wrong op,\n"
    "writes a small graph that shows it, and exits 1.",
    rows,
    future,
    "  weft verify model.onnx\n"
    "  weft verify model.yaml --layout '*=NHWC' --random 7\n"
    "  weft verify model.onnx --input x.npy --cpu x86-64-v3\n"
    "  weft verify model.onnx --shape x=1x3x320x480\n"
    "\n"
    "The table:\n"
    "  stage       as imported, each pass, code generation\n"
    "  evaluated   values (or loop nests) computed anew, since something they depend on changed\n"
    "  difference  the largest, of the model's outputs or of what one nest stores\n"
    "  of allowed  the largest share of its tolerance that a difference takes; above 1 the stage failed\n",
    1,
    1};

/* The model's inputs as the caller's buffers hold them. */
static IoPort *input_ports(Ctx *ctx, const Function *f) {
  IoPort *ports = ARENA_ARRAY(ctx->arena, IoPort, f->params.len);
  for (size_t k = 0; k < f->params.len; k++) {
    const Value *v = f->params.data[k];
    const Layout *layout = v->type->layout;
    ports[k] = (IoPort){.name = v->name, .dtype = v->type->dtype, .rank = v->type->rank};
    ports[k].layout = v->roles ? layout_to_letters(ctx, layout, v->roles) : NULL;
    for (int j = 0; j < v->type->rank; j++)
      ports[k].shape[j] = expr_value(v->type->dims[layout->digits[j].axis]);
  }
  return ports;
}

static bool has_sizes(Ctx *ctx, const Function *f) {
  int64_t shape[WEFT_MAX_RANK];
  for (size_t k = 0; k < f->params.len; k++) {
    const Value *v = f->params.data[k];
    if (!type_shape(v->type, shape))
      return diag_error(ctx->diags, WEFT_UNSUPPORTED, v->loc,
                        "input '%s' is %s: give its sizes by --shape %s=..., or a file by --input", v->name,
                        type_text(ctx, v->type), v->name);
  }
  return true;
}

static bool build_fails(void *env, Ctx *ctx, Module *candidate) {
  Unit unit;
  const SelfCheck *check = build_checked(ctx, env, candidate, (SelfCheckOptions){.seed = SELF_CHECK_SEED}, &unit);
  return check && self_check_fault(check);
}

/* Writes what shows the fault, and says how. */
static void reproduce(Ctx *ctx, const VerifyOptions *o, const SelfCheck *check) {
  Pipeline steps = self_check_steps(check);
  BuildOptions build = o->in.build;
  build.layout = "keep"; /* the graph before `lower` has its layouts */
  build.dump_dir = NULL;
  build.verbose = build.time_passes = false;
  bool passes = self_check_fault(check)->step;
  const char *dir = o->output_dir ? o->output_dir : ".";
  const char *path = reproducer_write(ctx, check, dir, passes ? reproducer_passes_fail : build_fails,
                                      passes ? (void *)&steps : (void *)&build);
  if (path && passes)
    printf("  again    %s\n", reproducer_command(ctx, path, &steps));
  else if (path)
    printf("  again    weft verify %s --cpu %s\n", path, build.cpu);
}

static bool verify(Ctx *ctx, VerifyOptions *o, const char *path, bool *differs) {
  Module *module = load_inputs(ctx, &o->in) ? model_import(ctx, path, &o->in.build.import) : NULL;
  if (!module || !has_sizes(ctx, module->main))
    return false;
  int n = (int)module->main->params.len;
  const void **inputs = ARENA_ARRAY(ctx->arena, const void *, n);
  if (!o->in.random) {
    o->in.random = true;
    o->in.seed = SELF_CHECK_SEED;
  }
  if (!read_inputs(ctx, &o->in, input_ports(ctx, module->main), n, inputs))
    return false;
  size_t given = o->in.inputs.len;
  printf("%s: %zu input%s given, random seed %lld\n", path, given, given == 1 ? "" : "s", (long long)o->in.seed);
  Unit unit;
  SelfCheck *check = build_checked(ctx, &o->in.build, module,
                                   (SelfCheckOptions){.seed = (uint64_t)o->in.seed, .inputs = inputs}, &unit);
  if (!check)
    return false;
  Str text = str_new(ctx->arena);
  self_check_print(&text, check);
  fputs(text.data, stdout);
  *differs = self_check_fault(check);
  if (*differs)
    reproduce(ctx, o, check);
  return true;
}

int command_verify(int argc, char **argv) {
  Ctx *ctx = ctx_create();
  VerifyOptions o = {.in.build = build_defaults};
  Positionals files = {0};
  bool differs = false;
  ArgsResult parsed = args_parse(ctx, "weft", &spec, argc, argv, &o, &files);
  if (parsed == ARGS_OK)
    verify(ctx, &o, files.data[0], &differs);
  return finish(ctx, differs ? WEFT_DIFFER : WEFT_OK);
}
