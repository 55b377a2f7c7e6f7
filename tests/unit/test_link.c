/* Linking: a small model written in C becomes a shared object, is loaded and run, and its dynamic section is read. The
 * system's C compiler makes the model's object; weights and everything after that are ours. */
#include "codegen/elf.h"
#include "runtime/model.h"
#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 4096, WEIGHTS = 4096 };

/* y[i] = expf(w[i] * x[i] / 16), over the workspace; PREFIX stands for the exported prefix. */
static const char model_source[] =
    "#include \"runtime/model.h\"\n"
    "extern float expf(float);\n"
    "extern const char weft_weights[] __attribute__((visibility(\"hidden\")));\n"
    "#define HIDDEN __attribute__((visibility(\"hidden\")))\n"
    "#define GLUE(a, b) a##_##b\n"
    "#define NAME(a, b) GLUE(a, b)\n"
    "static void mul(const WeftFrame *f, int64_t begin, int64_t end) {\n"
    "  const float *x = f->inputs[0], *w = (const float *)f->weights;\n"
    "  for (int64_t i = begin; i < end; i++) ((float *)f->arena)[i] = x[i] * w[i % 1024];\n"
    "}\n"
    "static void exponent(const WeftFrame *f, int64_t begin, int64_t end) {\n"
    "  float *y = f->outputs[0];\n"
    "  for (int64_t i = begin; i < end; i++) y[i] = expf(((float *)f->arena)[i] / 16);\n"
    "}\n"
    "static const WeftNest nests[] = {{mul, \"mul\", 4096, 1000000, \"mul\"}, {exponent, \"exp\", 4096, 1000000, \"exp\"}};\n"
    "static const WeftPort in = {\"x\", 16384, 4}, out = {\"y\", 16384, 4};\n"
    "HIDDEN const WeftModel weft_compiled = {.abi = 1, .cpu_name = \"x86-64\", .info = \"{}\", .weights = "
    "weft_weights,\n"
    "  .workspace = 16384, .threads = 3, .n_nests = 2, .n_inputs = 1, .n_outputs = 1, .nests = nests, .inputs = &in,\n"
    "  .outputs = &out};\n"
    "int NAME(PREFIX, abi)(void) { return 1; }\n"
    "const char *NAME(PREFIX, info)(void) { return weft_compiled.info; }\n"
    "int NAME(PREFIX, set_threads)(int n) { return weft_rt_set_threads(&weft_compiled, n); }\n"
    "int NAME(PREFIX, run)(const void *const *i, void *const *o) { return weft_rt_run(&weft_compiled, i, o); }\n"
    "int NAME(PREFIX, run_in)(const void *const *i, void *const *o, void *w) {\n"
    "  return weft_rt_run_in(&weft_compiled, i, o, w);\n"
    "}\n"
    "size_t NAME(PREFIX, workspace_size)(const int64_t *d, int n) {\n"
    "  return weft_rt_workspace_size(&weft_compiled, d, n);\n"
    "}\n"
    "const char *NAME(PREFIX, error)(void) { return weft_rt_error(); }\n"
    "int not_to_be_seen(void) { return 1; }\n";

static Ctx *ctx;
static char dir[] = "/tmp/weft-test-XXXXXX";
static Bytes tiny, other, broken; /* objects of models with these prefixes; broken needs a symbol that nobody has */
static char *search_path;

static const char *in_dir(const char *name) {
  return arena_printf(ctx->arena, "%s/%s", dir, name);
}

static void write_text(const char *path, const char *text, mode_t mode) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
}

static Bytes read_bytes(const char *path) {
  struct stat st;
  int fd = open(path, O_RDONLY);
  ck_assert_msg(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
  unsigned char *data = arena_alloc(ctx->arena, (size_t)st.st_size);
  ck_assert_int_eq(read(fd, data, (size_t)st.st_size), st.st_size);
  close(fd);
  return (Bytes){data, (size_t)st.st_size};
}

static Bytes compile(const char *prefix, const char *options) {
  int root = (int)(strlen(__FILE__) - strlen("tests/unit/test_link.c"));
  const char *command =
      arena_printf(ctx->arena, "cc -std=gnu11 -O2 -fPIC -ffreestanding -I'%.*s.' -DPREFIX=%s %s -c %s -o %s", root,
                   __FILE__, prefix, options, in_dir("model.c"), in_dir("model.o"));
  ck_assert_msg(system(command) == 0, "%s", command);
  return read_bytes(in_dir("model.o"));
}

static void setup(void) {
  ctx = ctx_create();
  strcpy(dir + strlen(dir) - 6, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(dir));
  search_path = strdup(getenv("PATH"));
  write_text(in_dir("model.c"), model_source, 0600);
  tiny = compile("tiny", "");
  other = compile("other", "");
  broken = compile("tiny", "-Dexpf=no_such_function");
  ck_assert_int_eq(unlink(in_dir("model.c")) | unlink(in_dir("model.o")), 0);
}

static void teardown(void) {
  setenv("PATH", search_path, 1);
  free(search_path);
  ck_assert_int_eq(system(arena_printf(ctx->arena, "rm -r %s", dir)), 0);
  ctx_destroy(ctx);
}

static Bytes weights(bool large) {
  unsigned char *blob;
  Bytes object = elf_blob_object(ctx, "weft_weights", large ? ".lrodata.weft_weights" : ".rodata.weft_weights", WEIGHTS,
                                 large, &blob);
  for (int i = 0; i < WEIGHTS / 4; i++)
    ((float *)(void *)blob)[i] = (float)(i % 7);
  return object;
}

static bool link_model(Bytes code, bool large, const char *prefix, const char *path) {
  const Bytes objects[2] = {code, weights(large)};
  const CodegenOptions options = {.cpu = &cpu_targets[0], .prefix = prefix};
  return link_shared(ctx, objects, 2, &options, path);
}

/* The names in a folder, sorted, to see that nothing is left. */
static const char *listing(const char *folder) {
  struct dirent **entries;
  int n = scandir(folder, &entries, NULL, alphasort);
  ck_assert_int_ge(n, 0);
  Str out = str_new(ctx->arena);
  str_put(&out, "");
  for (int i = 0; i < n; i++) {
    if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0)
      str_printf(&out, "%s ", entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return out.data;
}

/* ---- what comes out ---- */

static const char null_input[] = "input 0 'x' is NULL, expected a buffer of 16384 bytes";

/* last_error: its text before, "" where the object was never loaded. */
static void run_model(const char *path, const char *prefix, const char *last_error) {
  static float x[N];
  static _Alignas(64) float y[N], workspace[N];
  void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(so != NULL, "%s", so ? "" : dlerror());
  ck_assert_ptr_null(dlsym(so, "not_to_be_seen"));
  ck_assert_ptr_null(dlsym(so, "weft_rt_run"));
#define FUNCTION(type, name) type *name = (type *)dlsym(so, arena_printf(ctx->arena, "%s_" #name, prefix))
  typedef int Abi(void);
  typedef int Threads(int);
  typedef int Run(const void *const *, void *const *);
  typedef int RunIn(const void *const *, void *const *, void *);
  typedef size_t Size(const int64_t *, int);
  typedef const char *Text(void);
  FUNCTION(Abi, abi);
  FUNCTION(Threads, set_threads);
  FUNCTION(Run, run);
  FUNCTION(RunIn, run_in);
  FUNCTION(Size, workspace_size);
  FUNCTION(Text, error);
  FUNCTION(Text, info);
#undef FUNCTION
  ck_assert(abi && set_threads && run && run_in && workspace_size && error && info);
  ck_assert_int_eq(abi(), 1);
  ck_assert_str_eq(info(), "{}");
  ck_assert_str_eq(error(), last_error);
  ck_assert_uint_eq(workspace_size(NULL, 0), sizeof workspace);
  ck_assert_int_eq(set_threads(4), 4);
  const void *in[1] = {NULL};
  void *out[1] = {y};
  ck_assert_int_eq(run(in, out), 2);
  ck_assert_str_eq(error(), null_input);
  in[0] = x;
  for (int way = 0; way < 2; way++) {
    for (int i = 0; i < N; i++) {
      x[i] = (float)(i % 33) - 16;
      y[i] = 0;
    }
    ck_assert_int_eq(way ? run_in(in, out, workspace) : run(in, out), 0);
    for (int i = 0; i < N; i++) { /* rtol 1e-6: expf is good to 1 ulp */
      double expected = __builtin_exp((double)(x[i] * (float)(i % 1024 % 7)) / 16);
      ck_assert_double_lt(__builtin_fabs(y[i] - expected), 1e-6 * expected);
    }
  }
  ck_assert_int_eq(dlclose(so), 0); /* workers are asleep in it: it must stay */
  usleep(1000);
}

START_TEST(linked_model_runs) {
  ck_assert(link_model(tiny, false, "tiny", in_dir("tiny.so")));
  ck_assert(link_model(other, true, "other", in_dir("other.so")));
  ck_assert_str_eq(listing(dir), "other.so tiny.so ");
  struct stat st;
  ck_assert_int_eq(stat(in_dir("tiny.so"), &st), 0);
  mode_t mask = umask(0);
  umask(mask);
  ck_assert_uint_eq(st.st_mode & 0777, 0777 & ~mask);

  run_model(in_dir("tiny.so"), "tiny", "");
  run_model(in_dir("other.so"), "other", "");
  run_model(in_dir("tiny.so"), "tiny", null_input); /* it stayed, in spite of dlclose */
  ck_assert_uint_eq(diag_count(ctx->diags), 0);
}
END_TEST

/* ---- the dynamic section ---- */

static const char *const allowed[] = {"__sched_cpucount",
                                      "aligned_alloc",
                                      "clock_gettime",
                                      "expf",
                                      "free",
                                      "getenv",
                                      "getpid",
                                      "pthread_attr_destroy",
                                      "pthread_attr_init",
                                      "pthread_attr_setdetachstate",
                                      "pthread_create",
                                      "pthread_sigmask",
                                      "sched_getaffinity",
                                      "sigfillset",
                                      "snprintf",
                                      "syscall",
                                      "sysconf",
                                      "vsnprintf",
                                      "memset",
                                      "memcpy"};

START_TEST(dynamic_section) {
  ck_assert(link_model(tiny, false, "tiny", in_dir("tiny.so")));
  Bytes so = read_bytes(in_dir("tiny.so"));
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)so.data;
  const Elf64_Phdr *segments = (const Elf64_Phdr *)(const void *)(so.data + header->e_phoff);
  bool relro = false, stack = false;
  for (int i = 0; i < header->e_phnum; i++) {
    relro |= segments[i].p_type == PT_GNU_RELRO;
    if (segments[i].p_type == PT_GNU_STACK) {
      stack = true;
      ck_assert_uint_eq(segments[i].p_flags & PF_X, 0);
    }
    ck_assert((segments[i].p_flags & (PF_W | PF_X)) != (PF_W | PF_X));
  }
  ck_assert(relro && stack);

  const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(so.data + header->e_shoff);
  const Elf64_Shdr *dynamic = NULL, *symbols = NULL;
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type == SHT_DYNAMIC)
      dynamic = &sections[i];
    if (sections[i].sh_type == SHT_DYNSYM)
      symbols = &sections[i];
    ck_assert(sections[i].sh_type != SHT_NOTE || sections[i].sh_size == 0); /* no build id */
  }
  ck_assert(dynamic && symbols);

  const char *text = (const char *)so.data + sections[dynamic->sh_link].sh_offset;
  const Elf64_Dyn *entries = (const Elf64_Dyn *)(const void *)(so.data + dynamic->sh_offset);
  Str needed = str_new(ctx->arena);
  uint64_t flags = 0, flags_1 = 0;
  for (size_t i = 0; i < dynamic->sh_size / sizeof *entries; i++) {
    ck_assert(entries[i].d_tag != DT_TEXTREL && entries[i].d_tag != DT_RPATH && entries[i].d_tag != DT_RUNPATH);
    if (entries[i].d_tag == DT_NEEDED)
      str_printf(&needed, "%s ", text + entries[i].d_un.d_val);
    if (entries[i].d_tag == DT_FLAGS)
      flags = entries[i].d_un.d_val;
    if (entries[i].d_tag == DT_FLAGS_1)
      flags_1 = entries[i].d_un.d_val;
  }
  ck_assert_str_eq(needed.data, "libc.so.6 libm.so.6 ");
  ck_assert_uint_eq(flags & (DF_TEXTREL | DF_STATIC_TLS), 0);
  ck_assert_uint_ne(flags_1 & DF_1_NODELETE, 0);
  ck_assert_uint_ne(flags_1 & DF_1_NOW, 0);

  const Elf64_Sym *s = (const Elf64_Sym *)(const void *)(so.data + symbols->sh_offset);
  text = (const char *)so.data + sections[symbols->sh_link].sh_offset;
  int exported = 0;
  for (size_t i = 1; i < symbols->sh_size / sizeof *s; i++) {
    const char *name = text + s[i].st_name;
    if (s[i].st_shndx == SHN_UNDEF) {
      size_t k = 0;
      while (k < sizeof allowed / sizeof *allowed && strcmp(name, allowed[k]) != 0)
        k++;
      ck_assert_msg(k < sizeof allowed / sizeof *allowed, "needs %s", name);
    } else {
      ck_assert_msg(strncmp(name, "tiny_", 5) == 0, "exports %s", name);
      exported++;
    }
  }
  ck_assert_int_eq(exported, 7);
}
END_TEST

START_TEST(same_bytes_everywhere) {
  char here[4096];
  ck_assert_ptr_nonnull(getcwd(here, sizeof here));
  ck_assert_int_eq(mkdir(in_dir("a"), 0700) | mkdir(in_dir("b"), 0700), 0);
  ck_assert(link_model(tiny, false, "tiny", in_dir("a/model.so")));
  /* From elsewhere, by a relative name, with an environment that linkers look at. */
  ck_assert_int_eq(chdir(in_dir("b")), 0);
  setenv("LD_RUN_PATH", "/somewhere", 1);
  setenv("LLD_VERSION", "another", 1);
  bool ok = link_model(tiny, false, "tiny", "renamed.so");
  unsetenv("LD_RUN_PATH");
  unsetenv("LLD_VERSION");
  ck_assert_int_eq(chdir(here), 0);
  ck_assert_msg(ok, "%s", diag_text(ctx->diags, false));
  Bytes a = read_bytes(in_dir("a/model.so")), b = read_bytes(in_dir("b/renamed.so"));
  ck_assert_uint_eq(a.size, b.size);
  ck_assert(memcmp(a.data, b.data, a.size) == 0);
  ck_assert_ptr_null(memmem(a.data, a.size, "weft-test", 9)); /* no path of the folder it was made in */
  ck_assert_str_eq(listing(in_dir("b")), "renamed.so ");
}
END_TEST

/* Each linker that this machine has, alone in PATH under the name `ld`. */
START_TEST(any_linker_will_do) {
  static const char *const linkers[] = {"ld.lld-19", "ld.bfd"};
  int found = 0;
  ck_assert_int_eq(mkdir(in_dir("bin"), 0700), 0);
  for (size_t i = 0; i < 2; i++) {
    const char *find = arena_printf(
        ctx->arena,
        "cd %s/bin && rm -f ld* && p=$(command -v %s) && printf '#!/bin/sh\\nexec %%s \"$@\"\\n' $p >ld && chmod +x ld",
        dir, linkers[i]);
    if (system(find) != 0)
      continue;
    found++;
    setenv("PATH", in_dir("bin"), 1);
    const char *path = in_dir(arena_printf(ctx->arena, "%s.so", linkers[i]));
    bool ok = link_model(tiny, false, "tiny", path);
    setenv("PATH", search_path, 1);
    ck_assert_msg(ok, "%s", diag_text(ctx->diags, false));
    run_model(path, "tiny", "");
  }
  ck_assert_int_gt(found, 0);
}
END_TEST

/* ---- what goes wrong ---- */

static void expect_failure(bool ok, Status status, const char *text) {
  ck_assert(!ok);
  const char *found = diag_text(ctx->diags, false);
  ck_assert_msg(diag_status(ctx->diags) == status, "status %d: %s", diag_status(ctx->diags), found);
  ck_assert_msg(strstr(found, text) != NULL, "'%s' expected in: %s", text, found);
}

START_TEST(no_linker) {
  setenv("PATH", in_dir("nothing"), 1);
  expect_failure(link_model(tiny, false, "tiny", in_dir("x.so")), WEFT_MISSING, "lld-19");
  unsetenv("PATH");
  setenv("PATH", ":.:", 1); /* the current folder is no place to take programs from */
  ck_assert(!link_model(tiny, false, "tiny", in_dir("x.so")));
  ck_assert_str_eq(listing(dir), "");
}
END_TEST

START_TEST(failing_linker) {
  write_text(in_dir("x.so"), "old", 0600);
  ck_assert_int_eq(mkdir(in_dir("bin"), 0700), 0);
  write_text(in_dir("bin/ld"), "#!/bin/sh\necho out >out.so\necho cannot do this >&2\nexit 3\n", 0700);
  setenv("PATH", in_dir("bin"), 1);
  expect_failure(link_model(tiny, false, "tiny", in_dir("x.so")), WEFT_MISSING, "bin/ld failed with status 3");
  expect_failure(false, WEFT_MISSING, "cannot do this");
  write_text(in_dir("bin/ld"), "#!/bin/sh\nkill -9 $$\n", 0700);
  expect_failure(link_model(tiny, false, "tiny", in_dir("x.so")), WEFT_MISSING, "ended by signal 9");
  write_text(in_dir("bin/ld"), "#!/no/such/interpreter\n", 0700);
  expect_failure(link_model(tiny, false, "tiny", in_dir("x.so")), WEFT_MISSING, "does not start");
  write_text(in_dir("bin/ld"), "#!/bin/sh\nexit 0\n", 0700);
  ck_assert(!link_model(tiny, false, "tiny", in_dir("x.so"))); /* says it worked, wrote nothing */
  setenv("PATH", search_path, 1);
  ck_assert_int_eq(system(arena_printf(ctx->arena, "rm -r %s/bin", dir)), 0);
  ck_assert_str_eq(listing(dir), "x.so ");
  ck_assert_uint_eq(read_bytes(in_dir("x.so")).size, 3); /* the old file is as it was */
}
END_TEST

START_TEST(unresolved_symbol) {
  expect_failure(link_model(broken, false, "tiny", in_dir("x.so")), WEFT_MISSING, "no_such_function");
  ck_assert_str_eq(listing(dir), "");
}
END_TEST

START_TEST(targets_that_cannot_be) {
  ck_assert_int_eq(mkdir(in_dir("folder"), 0700), 0);
  expect_failure(link_model(tiny, false, "tiny", in_dir("none/x.so")), WEFT_USAGE,
                 "none/x.so: error: cannot write: No such");
  expect_failure(link_model(tiny, false, "tiny", in_dir("folder")), WEFT_USAGE, "no regular file");
  expect_failure(link_model(tiny, false, "tiny", "/dev/null"), WEFT_USAGE, "/dev/null: error");
  expect_failure(link_model(tiny, false, "no-name", in_dir("x.so")), WEFT_USAGE, "prefix 'no-name'");
  ck_assert_str_eq(listing(dir), "folder ");
  ck_assert_str_eq(listing(in_dir("folder")), "");
}
END_TEST

Suite *suite_link(void);

Suite *suite_link(void) {
  Suite *suite = suite_create("link");
  TCase *all = tcase_create("link");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 60);
  tcase_add_test(all, linked_model_runs);
  tcase_add_test(all, dynamic_section);
  tcase_add_test(all, same_bytes_everywhere);
  tcase_add_test(all, any_linker_will_do);
  tcase_add_test(all, no_linker);
  tcase_add_test(all, failing_linker);
  tcase_add_test(all, unresolved_symbol);
  tcase_add_test(all, targets_that_cannot_be);
  suite_add_tcase(suite, all);
  return suite;
}
