/* Reading and writing of whole files, and names inside models, which may not lead out of the model's folder. */
#include "frontend/source.h"
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static Ctx *ctx;
static char folder[64];

static const char *in_folder(const char *name) {
  return arena_printf(ctx->arena, "%s/%s", folder, name);
}

static void setup(void) {
  ctx = ctx_create();
  strcpy(folder, "/tmp/weft-files-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(mkdir(in_folder("model"), 0777), 0);
  ck_assert_int_eq(mkdir(in_folder("model/sub"), 0777), 0);
  ck_assert(file_write(ctx, in_folder("outside.npy"), "o", 1));
  ck_assert(file_write(ctx, in_folder("model/inside.npy"), "i", 1));
  ck_assert(file_write(ctx, in_folder("model/sub/deep.npy"), "d", 1));
  ck_assert_int_eq(symlink("../outside.npy", in_folder("model/out.npy")), 0);
  ck_assert_int_eq(symlink("..", in_folder("model/up")), 0);
  ck_assert_int_eq(symlink("sub/deep.npy", in_folder("model/in.npy")), 0);
}

static void teardown(void) {
  static const char *const all[] = {"outside.npy",
                                    "model/inside.npy",
                                    "model/sub/deep.npy",
                                    "model/out.npy",
                                    "model/up",
                                    "model/in.npy",
                                    "model/sub",
                                    "model",
                                    "written",
                                    "link"};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    remove(in_folder(all[k]));
  ck_assert_int_eq(rmdir(folder), 0);
  ctx_destroy(ctx);
}

static const struct {
  const char *name, *message; /* NULL: allowed */
} names[] = {{"inside.npy", NULL},
             {"./inside.npy", NULL},
             {"sub/deep.npy", NULL},
             {"in.npy", NULL},
             {"out.npy", "is a link that leaves"},
             {"up/outside.npy", "is a link that leaves"},
             {"up/model/inside.npy", NULL},
             {"../outside.npy", "leaves the model's folder"},
             {"sub/../../outside.npy", "leaves the model's folder"},
             {"sub/../inside.npy", "leaves the model's folder"},
             {"..", "leaves the model's folder"},
             {"/etc/passwd", "is an absolute path"},
             {"", "has no name"},
             {".", "is a link that leaves"},
             {"sub", "no regular file"},
             {"nothing.npy", "No such file"},
             {"inside.npy/x", "Not a directory"}};

START_TEST(beside) {
  const char *path =
      file_beside(ctx, in_folder("model/m.yaml"), names[_i].name, (Loc){.file = "m.yaml", .line = 1, .col = 2});
  const char *text = diag_text(ctx->diags, false);
  ck_assert_msg((path != NULL) == (names[_i].message == NULL), "'%s': %s", names[_i].name, text);
  if (names[_i].message)
    ck_assert_msg(strstr(text, names[_i].message) && strncmp(text, "m.yaml:1:2: error: ", 19) == 0, "%s", text);
  else
    ck_assert_int_eq(access(path, R_OK), 0);
}
END_TEST

START_TEST(read_limits) {
  size_t size;
  ck_assert_ptr_nonnull(file_read(ctx, in_folder("outside.npy"), 1, &size));
  ck_assert_ptr_null(file_read(ctx, in_folder("outside.npy"), 0, &size));
  ck_assert_ptr_null(file_read(ctx, in_folder("model"), 100, &size));
  ck_assert_ptr_null(file_read(ctx, in_folder("nothing"), 100, &size));
  ck_assert_ptr_null(file_read(ctx, "/dev/zero", 100, &size));
  ck_assert_uint_eq(diag_count(ctx->diags), 4);
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
}
END_TEST

START_TEST(write_replaces) {
  size_t size;
  ck_assert(file_write(ctx, in_folder("written"), "first", 5));
  ck_assert_int_eq(symlink("written", in_folder("link")), 0);
  ck_assert(file_write(ctx, in_folder("link"), "second", 6));
  ck_assert_str_eq(file_read(ctx, in_folder("written"), 100, &size), "second");
  struct stat st;
  ck_assert_int_eq(lstat(in_folder("link"), &st), 0);
  ck_assert(S_ISLNK(st.st_mode));
  int entries = 0;
  DIR *d = opendir(folder);
  while (readdir(d))
    entries++;
  closedir(d);
  ck_assert_int_eq(entries, 6); /* ., .., outside.npy, model, written, link: no temporary file */
}
END_TEST

START_TEST(write_fails) {
  ck_assert(!file_write(ctx, in_folder("nowhere/x"), "a", 1));
  ck_assert(!file_write(ctx, in_folder("model"), "a", 1));
  ck_assert(!file_write(ctx, "/dev/full", "a", 1));
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_USAGE);
  ck_assert(file_write(ctx, "/dev/null", "a", 1));
  struct stat st;
  ck_assert(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode)); /* written to, not replaced */
}
END_TEST

Suite *suite_files(void);
Suite *suite_files(void) {
  Suite *s = suite_create("files");
  TCase *t = tcase_create("files");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, beside, 0, (int)(sizeof names / sizeof *names));
  tcase_add_test(t, read_limits);
  tcase_add_test(t, write_replaces);
  tcase_add_test(t, write_fails);
  suite_add_tcase(s, t);
  return s;
}
