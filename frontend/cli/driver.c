/* From a model to a program, as the commands ask. See driver.h. */
#include "frontend/cli/driver.h"

#include "codegen/self_check_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "passes/layout_explain.h"

const BuildOptions build_defaults = {.cpu = "native", .layout = "auto", .prefix = "weft_model"};

static bool unsupported_value(Ctx *ctx, const char *option, const char *value, const char *works) {
  return diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE, "--%s %s is not supported by this version of weft; %s",
                    option, value, works);
}

bool set_target(Ctx *ctx, void *options, const char *value) {
  (void)options;
  static const char *const later[] = {"cuda", "opencl", "c"};
  if (strcmp(value, "cpu") == 0)
    return true;
  for (size_t k = 0; k < sizeof later / sizeof *later; k++)
    if (strcmp(value, later[k]) == 0)
      return unsupported_value(ctx, "target", value, "cpu is");
  return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--target %s: there is no such target; cpu is one", value);
}

bool set_cpu(Ctx *ctx, void *options, const char *value) {
  (void)ctx;
  ((BuildOptions *)options)->cpu = value;
  return true;
}

/* A wish without an op: nothing, or '=', behind the start or a comma. */
static bool has_nameless_wish(const char *wishes) {
  for (const char *p = wishes;; p++) {
    p += strspn(p, " ");
    if (!*p || *p == ',' || *p == '=')
      return true;
    p = strchr(p, ',');
    if (!p)
      return false;
  }
}

bool set_layout(Ctx *ctx, void *options, const char *value) {
  if (strpbrk(value, "{}") || has_nameless_wish(value)) /* braces would end the pass's options */
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--layout %s: expected auto, keep or wishes such as '*=NHWC'",
                      value);
  ((BuildOptions *)options)->layout = value;
  return true;
}

static bool shape_error(Ctx *ctx, const char *value) {
  return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE,
                    "--shape %.80s: expected NAME=1x3x320x480, the sizes of an input, or NAME=N, of a dimension",
                    value);
}

bool set_shape(Ctx *ctx, void *options, const char *value) {
  const char *equals = strrchr(value, '=');
  ImportShape shape = {0};
  if (!equals || equals == value)
    return shape_error(ctx, value);
  shape.name = intern_strn(ctx, value, (size_t)(equals - value));
  for (const char *p = equals + 1;; p++) {
    char *end;
    errno = 0;
    int64_t extent = *p >= '0' && *p <= '9' ? strtoll(p, &end, 10) : -1;
    if (extent < 0 || errno || shape.rank == WEFT_MAX_RANK)
      return shape_error(ctx, value);
    shape.dims[shape.rank++] = extent;
    p = end;
    if (!*p)
      break;
    if (*p != 'x')
      return shape_error(ctx, value);
  }
  if (shape.rank == 1)
    shape.rank = -1;
  vec_push(ctx->arena, &((BuildOptions *)options)->import.shapes, shape);
  return true;
}

bool set_prefix(Ctx *ctx, void *options, const char *value) {
  if (!codegen_prefix_ok(ctx, value))
    return false;
  ((BuildOptions *)options)->prefix = value;
  return true;
}

bool set_threads(Ctx *ctx, void *options, const char *value) {
  return args_int(ctx, "threads", value, 1, 1024, &((BuildOptions *)options)->threads);
}

bool set_precision(Ctx *ctx, void *options, const char *value) {
  (void)options;
  return strcmp(value, "f32") == 0 || unsupported_value(ctx, "precision", value, "f32 is");
}

bool set_dump_dir(Ctx *ctx, void *options, const char *value) {
  (void)ctx;
  ((BuildOptions *)options)->dump_dir = value;
  return true;
}

bool set_time_passes(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  ((BuildOptions *)options)->time_passes = true;
  return true;
}

bool set_verbose(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  ((BuildOptions *)options)->verbose = true;
  return true;
}

bool set_explain_layout(Ctx *ctx, void *options, const char *value) {
  (void)ctx, (void)value;
  ((BuildOptions *)options)->explain_layout = true;
  return true;
}

const CpuTarget *build_cpu(Ctx *ctx, const BuildOptions *options) {
  return cpu_target_find(ctx, options->cpu);
}

CodegenOptions build_codegen_options(const BuildOptions *options, const CpuTarget *cpu) {
#ifdef NDEBUG
  bool poison = false;
#else
  bool poison = true; /* unwritten memory and padding lanes read as signalling NaN */
#endif
  const char *asked = getenv("WEFT_POISON");
  if (asked)
    poison = strcmp(asked, "1") == 0;
  return (CodegenOptions){.cpu = cpu, .prefix = options->prefix, .threads = (int)options->threads, .poison = poison};
}

typedef struct {
  Ctx *ctx;
  const char *dir;
  bool failed;
} Dump;

static void dump_stage(void *env, int index, const char *pass, const char *text) {
  Dump *d = env;
  const char *path = arena_printf(d->ctx->arena, "%s/%02d-%s.weft", d->dir, index, pass);
  d->failed = !file_write(d->ctx, path, text, strlen(text)) || d->failed;
}

static bool dump_folder(Ctx *ctx, const char *dir) {
  if (mkdir(dir, 0777) == 0 || errno == EEXIST)
    return true;
  return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--dump-dir %s: %s", dir, strerror(errno));
}

/* check: NULL, or what watches the passes. */
static bool build(Ctx *ctx, const BuildOptions *options, Module *module, bool lowered, SelfCheck *check, Unit *unit) {
  const CpuTarget *cpu = build_cpu(ctx, options);
  if (!cpu || (options->dump_dir && !dump_folder(ctx, options->dump_dir)))
    return false;
  Str text = str_new(ctx->arena);
  str_put(&text, "expand-composites,fold-constants,canonicalize,cse,dce,fold-batch-norm,infer-layout");
  if (strcmp(options->layout, "keep") != 0)
    str_printf(&text, ",convert-layout{%s,vector-bytes=%d}", options->layout, cpu->lower.vector_bytes);
  str_put(&text, ",fold-constants,dce,add-halos,legalize{target=cpu},fuse");
  if (lowered)
    str_printf(&text, ",lower{vector-bytes=%d,registers=%d},plan", cpu->lower.vector_bytes, cpu->lower.registers);
  Pipeline pipeline = {0};
  if (!pipeline_parse(ctx, &all_passes, text.data, &pipeline))
    return false;
  if (options->verbose)
    fprintf(stderr, "weft: %s: cpu %s, passes %s\n", module->file, cpu->name, text.data);
  Dump dump = {ctx, options->dump_dir, false};
  PipelineOptions po = {.verify_each = true, .time_passes = options->time_passes};
  if (options->dump_dir) {
    po.dump = dump_stage;
    po.dump_env = &dump;
  }
  if (check) {
    po.check = self_check_pass;
    po.check_env = check;
  }
  *unit = (Unit){.ctx = ctx, .module = module};
  Str log = str_new(ctx->arena);
  bool ok = pipeline_run(unit, &all_passes, &pipeline, &po, &log);
  if (ok && options->explain_layout)
    layout_explain(&log, unit);
  if (log.len)
    fputs(log.data, stderr);
  return ok && !dump.failed;
}

bool build_unit(Ctx *ctx, const BuildOptions *options, Module *module, bool lowered, Unit *unit) {
  return build(ctx, options, module, lowered, NULL, unit);
}

SelfCheck *build_checked(Ctx *ctx, const BuildOptions *options, Module *module, SelfCheckOptions check, Unit *unit) {
  const CpuTarget *cpu = build_cpu(ctx, options);
  *unit = (Unit){.ctx = ctx, .module = module};
  SelfCheck *c = cpu ? self_check_start(unit, check) : NULL;
  if (!c)
    return NULL;
  CodegenOptions code = build_codegen_options(options, cpu);
  bool ok = build(ctx, options, module, true, c, unit) && self_check_code(c, unit->loops, &code);
  return ok || self_check_fault(c) ? c : NULL;
}
