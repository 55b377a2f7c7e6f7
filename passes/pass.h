/* The pass manager. A pass is a row in a table: name, one-line help, options, function. A pipeline is text:
 *   infer-layout,convert-layout{conv2d_transpose=NHWC:HWIO},legalize{target=cpu},fuse
 * Braces hold comma-separated KEY=VALUE options. After each pass the unit is verified. */
#ifndef WEFT_PASSES_PASS_H
#define WEFT_PASSES_PASS_H

#include "ir/module.h"
#include "ir/text.h"

struct LoopProgram;

/* What passes work on: a graph, or after `lower` loop nests. Exactly one is current: loops once it is set. */
typedef struct {
  Ctx *ctx;
  Module *module;
  struct LoopProgram *loops;
  VEC(struct LayoutReason *) reasons; /* by value id, NULL or absent: none; see layout_explain.h */
} Unit;

typedef struct {
  const char *key, *value; /* interned; value "" where there is no '=' */
} PassOption;

typedef enum { UNIT_GRAPH, UNIT_LOOPS } UnitKind;

typedef struct Pass {
  const char *name, *help; /* help says what holds after the pass */
  const char *options;     /* one line for --list-passes, or NULL: takes none */
  UnitKind needs, gives;
  /* False after reporting. Options that the pass does not know must be reported (WEFT_USAGE). */
  bool (*run)(Unit *unit, const PassOption *options, int n_options);
} Pass;

/* Graph passes are passes/passes.def; lower/ adds its own. A registry is the concatenation of tables plus how to print
 * and verify each kind of unit. */
typedef struct {
  const Pass *const *tables; /* arrays ended by a row with name NULL */
  int n_tables;
  void (*print)(Str *out, Unit *unit);
  bool (*verify)(Unit *unit);
} PassRegistry;

extern const Pass graph_passes[];

const Pass *pass_find(const PassRegistry *registry, const char *name);

typedef struct {
  const Pass *pass;
  const PassOption *options;
  int n_options;
} PipelineStep;
typedef VEC(PipelineStep) Pipeline;

/* Parses the text of a pipeline; false after reporting (WEFT_USAGE, with a suggestion for an unknown name). */
bool pipeline_parse(Ctx *ctx, const PassRegistry *registry, const char *text, Pipeline *out);

typedef struct {
  const char *print_before, *print_after; /* names of passes, or NULL */
  bool print_after_all;                   /* "(unchanged)" where the text is the same */
  bool verify_each, time_passes;
  /* Called after each pass with its name and the unit's text, for --dump-dir; may be NULL. */
  void (*dump)(void *env, int index, const char *pass, const char *text);
  void *dump_env;
  /* Called after each pass; may be NULL. verified: the unit was found to keep the rules of its form; where it does not,
   * what is wrong has been reported. False ends the run. */
  bool (*check)(void *env, Unit *unit, const PipelineStep *step, bool verified);
  void *check_env;
} PipelineOptions;

/* Runs the steps; prints go to `log` (a Str). False after a pass reported, the check said so, or the verification
 * failed: that pass is named in a note, and the status is WEFT_BUG. */
bool pipeline_run(Unit *unit, const PassRegistry *registry, const Pipeline *pipeline, const PipelineOptions *options,
                  Str *log);

#endif
