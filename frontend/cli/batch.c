/* Many runs by one process. See batch.h. */
#include "frontend/cli/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "frontend/cli/args.h"

#define LINE_MAX_BYTES ((size_t)1 << 20)
#define MESSAGE_MAX 4096

/* ---- lines ---- */

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/* Appends what the quote at *p holds, and moves *p behind its end; false where it has none. */
static bool split_quoted(Str *word, const char **p, const char *end) {
  char quote = *(*p)++;
  for (; *p < end && **p != quote; (*p)++) {
    if (quote == '"' && **p == '\\' && *p + 1 < end && ((*p)[1] == '"' || (*p)[1] == '\\'))
      (*p)++;
    str_putc(word, **p);
  }
  return (*p)++ < end;
}

bool batch_split(Arena *arena, const Str *line, BatchWords *words, const char **fault) {
  const char *p = line->data, *end = p + line->len;
  if (memchr(p, 0, line->len)) {
    *fault = "a byte 0 stands in the line";
    return false;
  }
  for (;;) {
    while (p < end && is_blank(*p))
      p++;
    if (p == end || *p == '#')
      return true;
    Str word = str_new(arena);
    while (p < end && !is_blank(*p)) {
      if (*p == '\'' || *p == '"') {
        *fault = *p == '"' ? "a \" has no partner" : "a ' has no partner";
        if (!split_quoted(&word, &p, end))
          return false;
        continue;
      }
      if (*p == '\\' && ++p == end) {
        *fault = "nothing follows the last \\";
        return false;
      }
      str_putc(&word, *p++);
    }
    vec_push(arena, words, word.data);
  }
}

/* The next line, without its end and cut behind LINE_MAX_BYTES; false at the end of the file. */
static bool read_line(FILE *f, Str *line) {
  line->len = 0;
  int c;
  while ((c = getc(f)) != EOF && c != '\n')
    if (line->len <= LINE_MAX_BYTES)
      str_putc(line, (char)c);
  return c != EOF || line->len > 0;
}

static bool has_words(const Str *line) {
  size_t k = 0;
  while (k < line->len && is_blank(line->data[k]))
    k++;
  return k < line->len && line->data[k] != '#';
}

/* ---- children ---- */

typedef struct {
  Ctx *ctx;
  const char *file;
  FILE *in;
  int out, err; /* files in memory for what a child prints */
  BatchRun *run;
  void *env;
} Batch;

static int run_line(Batch *b, const Str *line, int number) {
  BatchWords words = {0};
  const char *fault = NULL;
  vec_push(b->ctx->arena, &words, arena_strdup(b->ctx->arena, "run"));
  if (line->len > LINE_MAX_BYTES)
    fault = "the line is longer than 1 MiB";
  if (fault || !batch_split(b->ctx->arena, line, &words, &fault)) {
    diag_error(b->ctx->diags, WEFT_USAGE, (Loc){.file = b->file, .line = number, .col = 1}, "%s", fault);
    return finish(b->ctx, WEFT_OK);
  }
  int argc = (int)words.len;
  vec_push(b->ctx->arena, &words, NULL);
  return b->run(b->env, argc, words.data);
}

/* _exit: the streams of the parent are not the child's to close. */
_Noreturn static void child(Batch *b, const Str *line, int number) {
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(b->out, STDOUT_FILENO) < 0 || dup2(b->err, STDERR_FILENO) < 0)
    _exit(WEFT_MISSING);
  int status = run_line(b, line, number);
  fflush(stdout);
  _exit(status);
}

/* The first line of what a child printed; empty where it is nothing. */
static void first_line(int fd, char message[MESSAGE_MAX]) {
  ssize_t n = pread(fd, message, MESSAGE_MAX - 1, 0);
  message[n > 0 ? n : 0] = '\0';
  message[strcspn(message, "\n")] = '\0';
}

/* Runs one line; its status, or -1 after reporting that no process can be had. */
static int run_child(Batch *b, const Str *line, int number) {
  char message[MESSAGE_MAX];
  fflush(stdout); /* or else the child prints it once more */
  if (ftruncate(b->out, 0) != 0 || ftruncate(b->err, 0) != 0 || lseek(b->out, 0, SEEK_SET) != 0 ||
      lseek(b->err, 0, SEEK_SET) != 0)
    return -1;
  pid_t pid = fork();
  if (pid < 0)
    return -1;
  if (pid == 0)
    child(b, line, number);
  int ended;
  while (waitpid(pid, &ended, 0) < 0)
    if (errno != EINTR)
      return -1;
  if (WIFSIGNALED(ended)) {
    int sig = WTERMSIG(ended);
    printf("%d ended by signal %d (%s)\n", WEFT_BUG, sig, strsignal(sig));
    return WEFT_BUG;
  }
  first_line(b->out, message);
  if (!*message)
    first_line(b->err, message);
  printf("%d%s%s\n", WEXITSTATUS(ended), *message ? " " : "", message);
  return WEXITSTATUS(ended);
}

static int run_lines(Batch *b) {
  int largest = WEFT_OK;
  Str line = str_new(b->ctx->arena);
  for (int number = 1; read_line(b->in, &line); number++) {
    if (!has_words(&line))
      continue;
    int status = run_child(b, &line, number);
    if (status < 0) {
      diag_error(b->ctx->diags, WEFT_MISSING, (Loc){.file = b->file, .line = number, .col = 1},
                 "no process for this line can be started: %s", strerror(errno));
      return largest;
    }
    largest = status > largest ? status : largest;
    fflush(stdout); /* a reader at a pipe sees it now */
  }
  if (ferror(b->in))
    diag_error(b->ctx->diags, WEFT_MALFORMED, (Loc){.file = b->file}, "cannot be read");
  return largest;
}

int batch_run(Ctx *ctx, const char *file, BatchRun *run, void *env) {
  bool is_stdin = strcmp(file, "-") == 0, available;
  Batch b = {ctx, is_stdin ? "<stdin>" : file, NULL, -1, -1, run, env};
  int status = WEFT_OK;
  b.in = is_stdin ? stdin : fopen(file, "re");
  b.out = memfd_create("out", MFD_CLOEXEC);
  b.err = memfd_create("err", MFD_CLOEXEC);
  if (!b.in) {
    diag_error(ctx->diags, WEFT_MALFORMED, (Loc){.file = file}, "cannot read: %s", strerror(errno));
  } else if (b.out < 0 || b.err < 0) {
    diag_error(ctx->diags, WEFT_MISSING, LOC_NONE, "no files in memory: %s", strerror(errno));
  } else {
    llvm_description(ctx, &available); /* loads it; each run that needs it says so where it is missing */
    status = run_lines(&b);
  }
  if (b.in && !is_stdin)
    fclose(b.in);
  int failed = (int)diag_status(ctx->diags);
  int done = finish(ctx, (Status)status);
  return failed > done ? failed : done;
}
