/* Joins objects to a shared object: the system's linker as a process, no compiler, no start files.
 *
 * Everything happens in a folder of its own beside the target, on the same file system, so that the last step is one
 * rename: a target is there whole or not at all. The linker runs inside that folder and sees short relative names and a
 * nearly empty environment, so that its output depends on its inputs alone (LD_RUN_PATH, for one, would change it).
 *
 * The C library's run-time files are linked by name: references get the symbol versions of this machine, and -z defs
 * proves that nothing else is needed. No development package is. */
#include "codegen/codegen.h"
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern const unsigned char weft_runtime_object[], weft_runtime_object_end[]; /* runtime/embed.S */

enum { LOG_LINES = 20, LOG_BYTES = 16384 };

static const char script_file[] = "exports", log_file[] = "log", output_file[] = "out.so", runtime_file[] = "runtime.o";

/* ---- what this machine has ---- */

static bool is_program(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The first of these names in the absolute folders of PATH. */
static const char *find_linker(Ctx *ctx) {
  static const char *const names[] = {"ld.lld-19", "ld.lld", "ld"};
  const char *path = getenv("PATH");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (const char *dir = path ? path : "/usr/bin:/bin", *end; *dir; dir = *end ? end + 1 : end) {
      end = strchrnul(dir, ':');
      if (*dir != '/')
        continue;
      const char *file = arena_printf(ctx->arena, "%.*s/%s", (int)(end - dir), dir, names[i]);
      if (is_program(file))
        return file;
    }
  diag_error(ctx->diags, WEFT_MISSING, LOC_NONE,
             "no linker found in PATH: looked for ld.lld-19, ld.lld and ld; install the package lld-19 or binutils");
  return NULL;
}

static bool is_library(const char *path) {
  Elf64_Ehdr header;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  bool whole = read(fd, &header, sizeof header) == (ssize_t)sizeof header;
  close(fd);
  return whole && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_type == ET_DYN && header.e_machine == EM_X86_64;
}

static const char *find_library(Ctx *ctx, const char *name) {
  static const char *const dirs[] = {
      "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"};
  for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
    const char *file = arena_printf(ctx->arena, "%s/%s", dirs[i], name);
    if (is_library(file))
      return file;
  }
  diag_error(ctx->diags, WEFT_MISSING, LOC_NONE,
             "no 64-bit x86 %s found in /lib, /lib64, /usr/lib, /usr/lib64 or their x86_64-linux-gnu: compiled models "
             "need the GNU C library, package libc6",
             name);
  return NULL;
}

/* ---- the folder ---- */

/* A new folder beside the target; NULL after reporting. */
static char *make_folder(Ctx *ctx, const char *path) {
  const char *slash = strrchr(path, '/');
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
    diag_error(ctx->diags, WEFT_USAGE, (Loc){.file = path}, "cannot write: it exists and is no regular file");
    return NULL;
  }
  int dir_len = slash ? (int)(slash - path + 1) : 0;
  char *folder = arena_printf(ctx->arena, "%.*s.weft-XXXXXX", dir_len, path);
  if (mkdtemp(folder))
    return folder;
  diag_error(ctx->diags, WEFT_USAGE, (Loc){.file = path}, "cannot write: %s", strerror(errno));
  return NULL;
}

static void remove_folder(const char *folder) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (dir) {
    for (struct dirent *entry; (entry = readdir(dir));)
      unlinkat(fd, entry->d_name, 0); /* fails for . and .. alone */
    closedir(dir);
  }
  rmdir(folder);
}

/* target: what the message names, the folder being gone by then. */
static bool write_file(Ctx *ctx, const char *target, const char *folder, const char *name, const void *data,
                       size_t size) {
  const char *path = arena_printf(ctx->arena, "%s/%s", folder, name);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool ok = fd >= 0;
  for (size_t at = 0; ok && at < size;) {
    ssize_t n = write(fd, (const char *)data + at, size - at);
    if (n > 0)
      at += (size_t)n;
    else
      ok = n < 0 && errno == EINTR;
  }
  int fault = errno;
  if (fd >= 0 && close(fd) != 0 && ok) {
    fault = errno;
    ok = false;
  }
  return ok || diag_error(ctx->diags, WEFT_USAGE, (Loc){.file = target}, "cannot write: %s", strerror(fault));
}

/* ---- the linker ---- */

/* What a linker may need to start, and nothing that it may write into its output. */
static char **linker_environment(Ctx *ctx) {
  static const char *const kept[] = {"PATH", "LD_LIBRARY_PATH", "TMPDIR"};
  VEC(char *) env = {0};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    const char *value = getenv(kept[i]);
    if (value)
      vec_push(ctx->arena, &env, arena_printf(ctx->arena, "%s=%s", kept[i], value));
  }
  vec_push(ctx->arena, &env, arena_strdup(ctx->arena, "LC_ALL=C"));
  vec_push(ctx->arena, &env, NULL);
  return env.data;
}

static char **linker_arguments(Ctx *ctx, const char *linker, int n_objects, const char *libc, const char *libm) {
  static const char *const options[] = {"-shared",
                                        "-z",
                                        "defs",
                                        "-z",
                                        "noexecstack",
                                        "-z",
                                        "relro",
                                        "-z",
                                        "now",
                                        "-z",
                                        "separate-code",
                                        "-z",
                                        "nodelete",
                                        "--build-id=none",
                                        "--hash-style=gnu",
                                        "--gc-sections",
                                        "--as-needed"};
  VEC(char *) args = {0};
  vec_push(ctx->arena, &args, arena_strdup(ctx->arena, linker));
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    vec_push(ctx->arena, &args, arena_strdup(ctx->arena, options[i]));
  vec_push(ctx->arena, &args, arena_printf(ctx->arena, "--version-script=%s", script_file));
  vec_push(ctx->arena, &args, arena_strdup(ctx->arena, "-o"));
  vec_push(ctx->arena, &args, arena_strdup(ctx->arena, output_file));
  for (int i = 0; i < n_objects; i++)
    vec_push(ctx->arena, &args, arena_printf(ctx->arena, "%d.o", i));
  vec_push(ctx->arena, &args, arena_strdup(ctx->arena, runtime_file));
  vec_push(ctx->arena, &args, arena_strdup(ctx->arena, libc));
  vec_push(ctx->arena, &args, arena_strdup(ctx->arena, libm));
  vec_push(ctx->arena, &args, NULL);
  return args.data;
}

/* Starts the program in the folder, its output going to log_file, and waits. Returns 0 or errno; *status as waitpid. */
static int run_in_folder(Ctx *ctx, const char *folder, char **args, int *status) {
  posix_spawn_file_actions_t actions;
  pid_t child;
  int fault = posix_spawn_file_actions_init(&actions);
  if (fault)
    return fault;
  if (!(fault = posix_spawn_file_actions_addchdir_np(&actions, folder)) &&
      !(fault = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)) &&
      !(fault = posix_spawn_file_actions_addopen(&actions, 1, log_file, O_WRONLY | O_CREAT | O_APPEND, 0600)) &&
      !(fault = posix_spawn_file_actions_adddup2(&actions, 1, 2)))
    fault = posix_spawn(&child, args[0], &actions, NULL, args, linker_environment(ctx));
  posix_spawn_file_actions_destroy(&actions);
  if (fault)
    return fault;
  while (waitpid(child, status, 0) < 0)
    if (errno != EINTR)
      return errno;
  return 0;
}

/* The linker's words, as notes to the error recorded last. */
static void note_log(Ctx *ctx, const char *folder) {
  char text[LOG_BYTES + 1];
  int fd = open(arena_printf(ctx->arena, "%s/%s", folder, log_file), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  ssize_t n = read(fd, text, LOG_BYTES);
  close(fd);
  text[n > 0 ? n : 0] = '\0';
  char *rest = text;
  for (int lines = 0; lines < LOG_LINES && *rest; lines++) {
    char *line = strsep(&rest, "\n");
    if (*line)
      diag_note(ctx->diags, LOC_NONE, "%s", line);
    if (!rest)
      break;
  }
}

static bool run_linker(Ctx *ctx, const char *folder, char **args) {
  int status, fault = run_in_folder(ctx, folder, args, &status);
  if (fault)
    return diag_error(ctx->diags, WEFT_MISSING, LOC_NONE, "the linker %s does not start: %s", args[0], strerror(fault));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return true;
  if (WIFSIGNALED(status))
    diag_error(ctx->diags, WEFT_MISSING, LOC_NONE, "the linker %s was ended by signal %d", args[0], WTERMSIG(status));
  else
    diag_error(ctx->diags, WEFT_MISSING, LOC_NONE, "the linker %s failed with status %d", args[0], WEXITSTATUS(status));
  note_log(ctx, folder);
  return false;
}

static bool link_in_folder(Ctx *ctx, const char *folder, const Bytes *objects, int n, const char *prefix, char **args,
                           const char *path) {
  const char *script = arena_printf(ctx->arena, "{ global: %s_*; local: *; };\n", prefix);
  if (!write_file(ctx, path, folder, script_file, script, strlen(script)) ||
      !write_file(ctx, path, folder, runtime_file, weft_runtime_object,
                  (size_t)(weft_runtime_object_end - weft_runtime_object)))
    return false;
  for (int i = 0; i < n; i++)
    if (!write_file(ctx, path, folder, arena_printf(ctx->arena, "%d.o", i), objects[i].data, objects[i].size))
      return false;
  if (!run_linker(ctx, folder, args))
    return false;
  if (rename(arena_printf(ctx->arena, "%s/%s", folder, output_file), path) != 0)
    return diag_error(ctx->diags, WEFT_USAGE, (Loc){.file = path}, "cannot write: %s", strerror(errno));
  return true;
}

bool link_shared(Ctx *ctx, const Bytes *objects, int n, const CodegenOptions *options, const char *path) {
  const char *linker, *libc, *libm;
  if (!codegen_prefix_ok(ctx, options->prefix) || !(linker = find_linker(ctx)) ||
      !(libc = find_library(ctx, "libc.so.6")) || !(libm = find_library(ctx, "libm.so.6")))
    return false;
  char *folder = make_folder(ctx, path);
  if (!folder)
    return false;
  char **args = linker_arguments(ctx, linker, n, libc, libm);
  bool ok = link_in_folder(ctx, folder, objects, n, options->prefix, args, path);
  remove_folder(folder);
  return ok;
}
