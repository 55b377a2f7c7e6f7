/* Command lines over getopt_long. See args.h. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/cli/args.h"

void args_print_help(const char *program, const CommandSpec *spec) {
  printf("%s\n\nUsage: %s%s%s%s%s\n\nOptions:\n", spec->summary, program, spec->name ? " " : "",
         spec->name ? spec->name : "", *spec->synopsis ? " " : "", spec->synopsis);
  for (const OptionRow *o = spec->options; o->name; o++) {
    char left[64];
    snprintf(left, sizeof left, "%s%s%s%s", o->name[1] ? "--" : "-", o->name, o->value ? " " : "",
             o->value ? o->value : "");
    printf(strlen(left) > 24 ? "  %s\n%28s%s\n" : "  %-24s%s  %s\n", left, "", o->help);
  }
  printf("  %-24s  this text\n", "--help");
  if (spec->examples)
    printf("\nExamples:\n%s", spec->examples);
}

typedef struct {
  VEC(struct option) longs;
  Str shorts;
} Getopt;

enum { VAL_HELP = 1 << 16, VAL_OPTION = 1 << 17, VAL_FUTURE = 1 << 18 };

static Getopt getopt_tables(Ctx *ctx, const CommandSpec *spec) {
  Getopt g = {.shorts = str_new(ctx->arena)};
  str_put(&g.shorts, ":");
  vec_push(ctx->arena, &g.longs, ((struct option){"help", no_argument, NULL, VAL_HELP}));
  for (int k = 0; spec->options[k].name; k++) {
    const OptionRow *o = &spec->options[k];
    if (o->name[1])
      vec_push(ctx->arena, &g.longs,
               ((struct option){o->name, o->value ? required_argument : no_argument, NULL, VAL_OPTION + k}));
    else
      str_printf(&g.shorts, "%s%s", o->name, o->value ? ":" : "");
  }
  for (int k = 0; spec->future && spec->future[k].name; k++) {
    const FutureOption *o = &spec->future[k];
    vec_push(ctx->arena, &g.longs,
             ((struct option){o->name, o->has_value ? required_argument : no_argument, NULL, VAL_FUTURE + k}));
  }
  vec_push(ctx->arena, &g.longs, ((struct option){0}));
  return g;
}

static bool unknown_option(Ctx *ctx, const char *program, const CommandSpec *spec, const char *word) {
  const char *name = word + strspn(word, "-");
  VEC(const char *) names = {0};
  for (const OptionRow *o = spec->options; o->name; o++)
    if (o->name[1]) /* a letter is near to every other */
      vec_push(ctx->arena, &names, o->name);
  const char *near = nearest_word(arena_strndup(ctx->arena, name, strcspn(name, "=")), names.data, names.len);
  return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "unknown option '%s'%s%s%s; see '%s%s%s --help'", word,
                    near ? ", did you mean '--" : "", near ? near : "", near ? "'?" : "", program,
                    spec->name ? " " : "", spec->name ? spec->name : "");
}

static const OptionRow *find_short(const CommandSpec *spec, int letter) {
  for (const OptionRow *o = spec->options; o->name; o++)
    if (!o->name[1] && o->name[0] == letter)
      return o;
  return NULL;
}

ArgsResult args_parse(Ctx *ctx, const char *program, const CommandSpec *spec, int argc, char **argv, void *options,
                      Positionals *positionals) {
  Getopt g = getopt_tables(ctx, spec);
  opterr = 0;
  optind = 0; /* scan anew */
  for (int c; (c = getopt_long(argc, argv, g.shorts.data, g.longs.data, NULL)) != -1;) {
    if (c == VAL_HELP) {
      args_print_help(program, spec);
      return ARGS_HELP;
    }
    if (c == ':' || c == '?') {
      if (c == ':')
        diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "option '%s' needs a value", argv[optind - 1]);
      else /* a letter may stand among others, as in -xv */
        unknown_option(ctx, program, spec,
                       optopt > 0 && optopt < VAL_HELP ? arena_printf(ctx->arena, "-%c", optopt) : argv[optind - 1]);
      return ARGS_ERROR;
    }
    if (c >= VAL_FUTURE) {
      diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE, "option '--%s' is not supported by this version of weft",
                 spec->future[c - VAL_FUTURE].name);
      return ARGS_ERROR;
    }
    const OptionRow *o = c >= VAL_OPTION ? &spec->options[c - VAL_OPTION] : find_short(spec, c);
    if (!o->set(ctx, options, optarg))
      return ARGS_ERROR;
  }
  for (; optind < argc; optind++)
    vec_push(ctx->arena, positionals, (const char *)argv[optind]);
  int n = (int)positionals->len;
  if (n < spec->min_positional || n > spec->max_positional) {
    diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "%s; usage: %s%s%s %s",
               n < spec->min_positional ? "a file is missing" : "too many arguments", program, spec->name ? " " : "",
               spec->name ? spec->name : "", spec->synopsis);
    return ARGS_ERROR;
  }
  return ARGS_OK;
}

bool args_int(Ctx *ctx, const char *option, const char *value, int64_t lo, int64_t hi, int64_t *out) {
  char *end;
  errno = 0;
  long long v = strtoll(value, &end, 10);
  if (errno || end == value || *end || v < lo || v > hi)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--%s %s: expected a number from %lld to %lld", option, value,
                      (long long)lo, (long long)hi);
  *out = v;
  return true;
}

bool args_double(Ctx *ctx, const char *option, const char *value, double *out) {
  char *end;
  double v = strtod(value, &end);
  if (end == value || *end || !isfinite(v) || v < 0)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--%s %s: expected a number of 0 or more", option, value);
  *out = v;
  return true;
}

int finish(Ctx *ctx, Status status) {
  if (diag_count(ctx->diags) && status == WEFT_OK)
    status = diag_status(ctx->diags);
  fputs(diag_text(ctx->diags, true), stderr);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fprintf(stderr, "weft: error: cannot write to standard output: %s\n", strerror(errno));
    status = status == WEFT_OK ? WEFT_MISSING : status;
  }
  ctx_destroy(ctx);
  return (int)status;
}
