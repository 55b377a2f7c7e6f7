/* Command lines: each command has a table of options that is both the parser's and the help's. */
#ifndef WEFT_FRONTEND_CLI_ARGS_H
#define WEFT_FRONTEND_CLI_ARGS_H

#include "ir/ctx.h"

typedef struct {
  const char *name;  /* without dashes; one letter: short option */
  const char *value; /* name of its value in the help, NULL: a flag */
  const char *help;
  /* Called when the option is met; value NULL for flags. False after reporting. */
  bool (*set)(Ctx *ctx, void *options, const char *value);
} OptionRow;

/* An option of the contract that no release has yet: absent from the help, answers WEFT_UNSUPPORTED naming itself. */
typedef struct {
  const char *name;
  bool has_value;
} FutureOption;

typedef struct {
  const char *name, *synopsis, *summary; /* "compile", "MODEL -o OUT.so [options]", one line */
  const OptionRow *options;              /* ended by name NULL */
  const FutureOption *future;            /* ended by name NULL; may be NULL */
  const char *examples;                  /* lines */
  int min_positional, max_positional;
} CommandSpec;

typedef VEC(const char *) Positionals;

typedef enum { ARGS_OK, ARGS_HELP, ARGS_ERROR } ArgsResult;

/* Parses argv[1..]; prints the help on --help. ARGS_ERROR after reporting. */
ArgsResult args_parse(Ctx *ctx, const char *program, const CommandSpec *spec, int argc, char **argv, void *options,
                      Positionals *positionals);
void args_print_help(const char *program, const CommandSpec *spec);

/* Numbers for set functions; false after reporting the option and the range. */
bool args_int(Ctx *ctx, const char *option, const char *value, int64_t lo, int64_t hi, int64_t *out);
bool args_double(Ctx *ctx, const char *option, const char *value, double *out);

/* Prints all diagnostics to stderr and returns the exit status. */
int finish(Ctx *ctx, Status status);

#endif
