/* weft import MODEL -o DIR. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/cli/commands.h"
#include "frontend/cli/driver.h"

typedef struct {
  BuildOptions build; /* first: the shared option rows set it */
  const char *dir;
} CommandOptions;

static bool set_dir(Ctx *ctx, void *options, const char *value) {
  ((CommandOptions *)options)->dir = value;
  return *value || diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "-o needs the name of a folder");
}

static const OptionRow rows[] = {
    {"o", "DIR", "the folder to write to, made where it is missing", set_dir},
    {"shape", "NAME=1x3x320x480", "sizes of an input that the model leaves open; or NAME=N of a dimension", set_shape},
    {"v", NULL, "say what is written", set_verbose},
    {0},
};

static const CommandSpec spec = {"import",
                                 "MODEL -o DIR [options]",
                                 "Writes a model (.onnx, .yaml, .weft) as text: DIR/NAME.weft, NAME the stem of "
                                 "MODEL's file name, and its constants as\n"
                                 "DIR/NAME.safetensors beside it. What is written compiles and runs like MODEL.",
                                 rows,
                                 NULL,
                                 "  weft import model.onnx -o text && weft run text/model.weft --random 1\n"
                                 "  weft import model.onnx -o text --shape x=1x3x320x480\n",
                                 1,
                                 1};

/* "model.v2" of "models/model.v2.onnx"; a name that only starts with a dot is its own stem. */
static const char *stem_of(Ctx *ctx, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
  return dot && dot > name ? arena_strndup(ctx->arena, name, (size_t)(dot - name)) : name;
}

static bool import(Ctx *ctx, const CommandOptions *o, const char *path) {
  Module *m = model_import(ctx, path, &o->build.import);
  if (!m)
    return false;
  bool made = mkdir(o->dir, 0777) == 0;
  if (!made && errno != EEXIST)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "-o %s: %s", o->dir, strerror(errno));
  const char *stem = stem_of(ctx, path);
  if (!text_form_write(m, o->dir, stem)) {
    if (made)
      rmdir(o->dir);
    return false;
  }
  if (o->build.verbose)
    fprintf(stderr, "weft: %s: written to %s/%s.weft%s\n", path, o->dir, stem,
            m->first_constant ? ", constants beside it" : "");
  return true;
}

int command_import(int argc, char **argv) {
  Ctx *ctx = ctx_create();
  CommandOptions o = {.build = build_defaults};
  Positionals files = {0};
  if (args_parse(ctx, "weft", &spec, argc, argv, &o, &files) == ARGS_OK) {
    if (o.dir)
      import(ctx, &o, files.data[0]);
    else
      diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "-o DIR is missing; where shall the text go?");
  }
  return finish(ctx, WEFT_OK);
}
