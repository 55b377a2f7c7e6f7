/* weft: one program with subcommands. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "frontend/cli/args.h"
#include "frontend/cli/commands.h"

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *help;
} commands[] = {
    {"compile", command_compile, "compile a model to a shared object, or show a stage on the way"},
    {"run", command_run, "run a model or a compiled .so on inputs, compare with expected outputs"},
    {"verify", command_verify, "check that every stage and the compiled code compute what the model says"},
    {"inspect", command_inspect, "inputs, outputs, ops, parameters and memory of a model or .so"},
    {"import", command_import, "write a model as text, and its weights as .safetensors"},
    {"ops", command_ops, "the operators: operands, attributes, layouts"},
    {"passes", command_passes, "the compiler's passes and what holds after each"},
    {"targets", command_targets, "the CPUs to compile for, and what works on this machine"},
};
#define N_COMMANDS (sizeof commands / sizeof *commands)

static const char *const future_commands[] = {"bench"};
#define N_FUTURE (sizeof future_commands / sizeof *future_commands)

/* The status after printing to standard output. */
static int printed(void) {
  if (fflush(stdout) == 0 && !ferror(stdout))
    return WEFT_OK;
  fprintf(stderr, "weft: error: cannot write to standard output: %s\n", strerror(errno));
  return WEFT_MISSING;
}

static void print_help(void) {
  printf("weft compiles tensor graphs with layouts that are never guessed to small native code.\n\n"
         "Usage: weft COMMAND ...\n\nCommands:\n");
  for (size_t k = 0; k < N_COMMANDS; k++)
    printf("  %-10s %s\n", commands[k].name, commands[k].help);
  printf("\nweft COMMAND --help says more. Models are ONNX (.onnx), YAML graphs (.yaml) or weft's text\n"
         "form (.weft).\n\n"
         "Exit status: 0 success, 1 results differ, 2 wrong usage, 3 malformed input, 4 not supported,\n"
         "5 something is missing on this machine, 70 a bug in weft.\n\n"
         "Examples:\n"
         "  weft compile model.yaml -o model.so --header model.h\n"
         "  weft run model.yaml --input x.npy --expect y.npy\n"
         "  weft run model.so --input x.npy --output-dir out\n");
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "weft: error: a command is missing; see 'weft --help'\n");
    return WEFT_USAGE;
  }
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
    print_help();
    return printed();
  }
  if (strcmp(name, "--version") == 0) {
    printf("weft %s\n", WEFT_VERSION);
    return printed();
  }
  for (size_t k = 0; k < N_COMMANDS; k++)
    if (strcmp(name, commands[k].name) == 0)
      return commands[k].run(argc - 1, argv + 1);
  for (size_t k = 0; k < N_FUTURE; k++)
    if (strcmp(name, future_commands[k]) == 0) {
      fprintf(stderr, "weft: error: command '%s' is not supported by this version of weft\n", name);
      return WEFT_UNSUPPORTED;
    }
  const char *names[N_COMMANDS];
  for (size_t k = 0; k < N_COMMANDS; k++)
    names[k] = commands[k].name;
  const char *near = nearest_word(name, names, N_COMMANDS);
  fprintf(stderr, "weft: error: unknown command '%s'%s%s%s; see 'weft --help'\n", name, near ? ", did you mean '" : "",
          near ? near : "", near ? "'?" : "");
  return WEFT_USAGE;
}
