/* What the commands share: from a model file through the passes to a program. */
#ifndef WEFT_FRONTEND_CLI_DRIVER_H
#define WEFT_FRONTEND_CLI_DRIVER_H

#include "codegen/codegen.h"
#include "frontend/cli/args.h"
#include "frontend/frontend.h"
#include "lower/loop_passes.h"
#include "lower/self_check.h"

/* Options of `compile` that concern target, layout and reports; `run` and `inspect` take them too. */
typedef struct {
  ImportOptions import; /* sizes that the model leaves open */
  const char *cpu, *layout, *prefix, *dump_dir;
  int64_t threads;
  bool time_passes, verbose, explain_layout;
} BuildOptions;

extern const BuildOptions build_defaults;

/* Rows for OptionRow tables whose options struct starts with a BuildOptions. */
bool set_target(Ctx *ctx, void *options, const char *value); /* cpu only; others are named as not supported */
bool set_cpu(Ctx *ctx, void *options, const char *value);
bool set_layout(Ctx *ctx, void *options, const char *value);
bool set_shape(Ctx *ctx, void *options, const char *value);
bool set_prefix(Ctx *ctx, void *options, const char *value);
bool set_threads(Ctx *ctx, void *options, const char *value);
bool set_precision(Ctx *ctx, void *options, const char *value);
bool set_dump_dir(Ctx *ctx, void *options, const char *value);
bool set_time_passes(Ctx *ctx, void *options, const char *value);
bool set_verbose(Ctx *ctx, void *options, const char *value);
bool set_explain_layout(Ctx *ctx, void *options, const char *value);

#define BUILD_OPTION_ROWS                                                                                              \
  {"cpu", "NAME", "CPU to compile for: native (default), x86-64-v2, -v3, -v4, or a name of `weft targets`", set_cpu},  \
      {"layout", "WISHES", "auto (default), keep, OP=DATA[:KERNEL[:OUT]],...: '*=NHWC', conv2d_transpose=NHWC:HWIO", \
       set_layout},                                                                                                    \
      {"explain-layout", NULL, "say on standard error which layout each op has, why, and what is copied for it",       \
       set_explain_layout},                                                                                            \
      {"shape", "NAME=1x3x320x480", "sizes of an input that the model leaves open; or NAME=N of a dimension", set_shape}, \
      {"precision", "TYPE", "f32", set_precision},                                                                     \
      {"dump-dir", "DIR", "write the text after each stage to DIR", set_dump_dir},                                     \
      {"time-passes", NULL, "print the time of each pass", set_time_passes}, {                                         \
    "v", NULL, "say what is done", set_verbose                                                                         \
  }

/* The module brought as far as the graph passes go (lowered false), or to planned loop nests. False after reporting. */
bool build_unit(Ctx *ctx, const BuildOptions *options, Module *module, bool lowered, Unit *unit);
/* As build_unit to loop nests, then to code in memory, every stage checked against the module as it is (docs/verify.md).
 * The unit is the planned program where self_check_fault of the result is NULL. NULL after reporting. */
SelfCheck *build_checked(Ctx *ctx, const BuildOptions *options, Module *module, SelfCheckOptions check, Unit *unit);
/* The CPU of the options; NULL after reporting. */
const CpuTarget *build_cpu(Ctx *ctx, const BuildOptions *options);
CodegenOptions build_codegen_options(const BuildOptions *options, const CpuTarget *cpu);

#endif
