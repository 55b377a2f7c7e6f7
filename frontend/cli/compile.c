/* weft compile MODEL -o OUT. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/cli/commands.h"
#include "frontend/cli/driver.h"

typedef struct {
  BuildOptions build; /* first: the shared option rows set it */
  const char *out, *emit, *header;
  bool check;
} CompileOptions;

static bool set_out(Ctx *ctx, void *options, const char *value) {
  ((CompileOptions *)options)->out = value;
  return *value || diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "-o needs the name of a file");
}

static bool set_check(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  ((CompileOptions *)options)->check = true;
  return true;
}

static bool set_header(Ctx *ctx, void *options, const char *value) {
  (void)ctx;
  ((CompileOptions *)options)->header = value;
  return true;
}

static const char *const emits[] = {"so", "obj", "asm", "llvm", "graph", "loops"};

static bool one_of(const char *value, const char *const *words, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (strcmp(value, words[k]) == 0)
      return true;
  return false;
}

static bool set_emit(Ctx *ctx, void *options, const char *value) {
  static const char *const later[] = {"c", "cuda", "ptx", "cubin", "opencl"};
  if (one_of(value, later, sizeof later / sizeof *later))
    return diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE,
                      "--emit %s is not supported by this version of weft; so, obj, asm, llvm, graph and loops are",
                      value);
  if (!one_of(value, emits, sizeof emits / sizeof *emits))
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--emit %s: expected so, obj, asm, llvm, graph or loops",
                      value);
  ((CompileOptions *)options)->emit = value;
  return true;
}

static const OptionRow rows[] = {
    {"o", "FILE", "where to write; text stages go to standard output without it", set_out},
    {"emit", "KIND", "so (default), obj (code and weights; needs weft's runtime), asm, llvm, graph (after the graph passes), loops", set_emit},
    {"target", "TARGET", "cpu", set_target},
    {"header", "FILE.h", "also write a C header for the compiled model", set_header},
    {"prefix", "NAME", "prefix of exported symbols (weft_model), so that several models link into one program",
     set_prefix},
    {"check", NULL, "check every stage and the code on random inputs first, as `weft verify` does; exit 1 and write nothing where one is wrong",
     set_check},
    {"threads", "N", "threads the compiled model uses where WEFT_NUM_THREADS does not say (default: all CPUs)",
     set_threads},
    BUILD_OPTION_ROWS,
    {0},
};

static const FutureOption future[] = {{"gpu", true},
                                      {"offload", true},
                                      {"tune", false},
                                      {0}};

static const CommandSpec spec = {
    "compile",
    "MODEL -o OUT.so [options]",
    "Compiles a model (.onnx, .yaml, .weft) to a shared object that depends on libc, libm and pthreads only.",
    rows,
    future,
    "  weft compile model.yaml -o model.so --header model.h --prefix gan\n"
    "  weft compile model.yaml -o model.so --cpu x86-64-v3 --layout '*=NHWC'\n"
    "  weft compile model.onnx -o model.so --shape x=1x3x320x480\n"
    "  weft compile model.yaml --emit obj --cpu neoverse-n1 -o model.o\n"
    "  weft compile model.yaml --emit loops | less\n",
    1,
    1};

static bool is_text(const char *emit) {
  return strcmp(emit, "asm") == 0 || strcmp(emit, "llvm") == 0 || strcmp(emit, "graph") == 0 ||
         strcmp(emit, "loops") == 0;
}

static bool write_out(Ctx *ctx, const CompileOptions *o, const void *data, size_t size) {
  if (o->out)
    return file_write(ctx, o->out, data, size);
  fwrite(data, 1, size, stdout);
  return true;
}

static bool write_graph(Ctx *ctx, const CompileOptions *o, Module *module) {
  Str text = str_new(ctx->arena);
  module_print(&text, module, (PrintOptions){.locations = true});
  return write_out(ctx, o, text.data, text.len);
}

static bool emit_graph(Ctx *ctx, const CompileOptions *o, Module *module) {
  Unit unit;
  return build_unit(ctx, &o->build, module, false, &unit) && write_graph(ctx, o, unit.module);
}

static bool emit_loops(Ctx *ctx, const CompileOptions *o, LoopProgram *program) {
  Str text = str_new(ctx->arena);
  loops_print(&text, program);
  return write_out(ctx, o, text.data, text.len);
}

static bool emit_code(Ctx *ctx, const CompileOptions *o, LoopProgram *program, const CodegenOptions *cg) {
  EmitKind kind = strcmp(o->emit, "llvm") == 0 ? EMIT_LLVM : strcmp(o->emit, "asm") == 0 ? EMIT_ASM : EMIT_OBJ;
  Bytes code;
  bool linked = strcmp(o->emit, "so") == 0;
  CodegenOptions options = *cg;
  options.with_weights = kind == EMIT_OBJ && !linked;
  if (!codegen_emit(program, &options, kind, &code))
    return false;
  if (linked) {
    Bytes objects[2] = {code, program->constants.len ? weights_object(program) : (Bytes){0}};
    return link_shared(ctx, objects, program->constants.len ? 2 : 1, cg, o->out);
  }
  return write_out(ctx, o, code.data, code.size);
}

/* The module as a planned program, checked where that is asked for. False after reporting, or where *differs. */
static bool lower_model(Ctx *ctx, const CompileOptions *o, Module *module, Unit *unit, bool *differs) {
  if (!o->check)
    return build_unit(ctx, &o->build, module, true, unit);
  SelfCheck *check = build_checked(ctx, &o->build, module, (SelfCheckOptions){.seed = SELF_CHECK_SEED}, unit);
  if (!check)
    return false;
  *differs = self_check_fault(check);
  if (!*differs && !o->build.verbose)
    return true;
  Str text = str_new(ctx->arena);
  self_check_print(&text, check);
  fputs(text.data, stderr);
  return !*differs;
}

static bool compile(Ctx *ctx, const CompileOptions *o, const char *path, bool *differs) {
  const CpuTarget *cpu = build_cpu(ctx, &o->build);
  if (!cpu || (strcmp(o->emit, "so") == 0 && !cpu_target_check_runs(ctx, cpu)))
    return false;
  Module *module = model_import(ctx, path, &o->build.import);
  if (!module)
    return false;
  if (strcmp(o->emit, "graph") == 0 && !o->check)
    return emit_graph(ctx, o, module);
  Unit unit;
  if (!lower_model(ctx, o, module, &unit, differs))
    return false;
  if (strcmp(o->emit, "graph") == 0)
    return write_graph(ctx, o, unit.module);
  CodegenOptions cg = build_codegen_options(&o->build, cpu);
  const char *header = o->header ? model_header(unit.loops, &cg) : NULL;
  if (header && !file_write(ctx, o->header, header, strlen(header)))
    return false;
  if (strcmp(o->emit, "loops") == 0 ? emit_loops(ctx, o, unit.loops) : emit_code(ctx, o, unit.loops, &cg))
    return true;
  struct stat st;
  if (header && lstat(o->header, &st) == 0 && S_ISREG(st.st_mode))
    unlink(o->header); /* both files or neither; a device is no file of ours */
  return false;
}

int command_compile(int argc, char **argv) {
  Ctx *ctx = ctx_create();
  CompileOptions o = {.build = build_defaults, .emit = "so"};
  Positionals files = {0};
  bool differs = false;
  ArgsResult r = args_parse(ctx, "weft", &spec, argc, argv, &o, &files);
  if (r == ARGS_HELP)
    return finish(ctx, WEFT_OK);
  if (r == ARGS_OK) {
    if (!o.out && !is_text(o.emit))
      diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "-o FILE is missing; where shall the %s go?",
                 strcmp(o.emit, "so") ? "object" : "shared object");
    else
      compile(ctx, &o, files.data[0], &differs);
  }
  return finish(ctx, differs ? WEFT_DIFFER : WEFT_OK);
}
