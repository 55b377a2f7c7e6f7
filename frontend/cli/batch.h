/* Many runs by one process: the lines of a file, each the arguments of a run. */
#ifndef WEFT_FRONTEND_CLI_BATCH_H
#define WEFT_FRONTEND_CLI_BATCH_H

#include "ir/ctx.h"

/* One run, in a process of its own: prints at most one line to standard output, and its diagnostics to stderr. argv[0]
 * is no argument. Returns the exit status. */
typedef int BatchRun(void *env, int argc, char **argv);

/* Runs each line of the file (`-`: standard input), in order, in a child that is forked for it with LLVM loaded, and
 * prints `STATUS MESSAGE` for it: the first line that the run printed, else the first of its diagnostics. A child that a
 * signal ends has status WEFT_BUG. Lines without words are no runs. Returns the largest status, that of a file which
 * cannot be read included; destroys ctx. */
int batch_run(Ctx *ctx, const char *file, BatchRun *run, void *env);

typedef VEC(char *) BatchWords;

/* The words of a line: parted by blanks, 'as it is', "with \" and \\", \c for the character c; # at the start of a word
 * ends the line. False with *fault set where a quote or an escape is not complete. */
bool batch_split(Arena *arena, const Str *line, BatchWords *words, const char **fault);

#endif
