/* Diagnostics: the forms of the first line, source lines with a caret, hostile text, limits. */
#include "ir/ctx.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static Ctx *ctx;
static char path[64];

static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

static void write_source(const char *text, size_t n) {
  snprintf(path, sizeof path, "/tmp/weft_diag_XXXXXX");
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq((int)write(fd, text, n), (int)n);
  close(fd);
}

/* The text with the temporary file's name replaced by FILE. */
static const char *text_of(bool with_source) {
  const char *text = diag_text(ctx->diags, with_source);
  Str out = str_new(ctx->arena);
  for (const char *hit; path[0] && (hit = strstr(text, path)); text = hit + strlen(path)) {
    str_putn(&out, text, (size_t)(hit - text));
    str_put(&out, "FILE");
  }
  str_put(&out, text);
  return out.data;
}

START_TEST(first_lines) {
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_OK);
  ck_assert_str_eq(diag_text(ctx->diags, true), "");
  Diags *d = ctx->diags;
  ck_assert(!diag_error(d, WEFT_UNSUPPORTED, (Loc){"m.yaml", 3, 7, NULL}, "found %d", 5));
  diag_note(d, (Loc){"m.yaml", 1, 1, NULL}, "here");
  diag_note(d, LOC_NONE, "and %s", "so on");
  diag_error(d, WEFT_MALFORMED, (Loc){"m.yaml", 3, 7, "conv 1"}, "bad");
  diag_error(d, WEFT_MALFORMED, (Loc){"m.onnx", 0, 0, "conv 1"}, "bad");
  diag_error(d, WEFT_MALFORMED, (Loc){"m.onnx", 0, 0, NULL}, "bad");
  diag_error(d, WEFT_USAGE, LOC_NONE, "bad");
  diag_error(d, WEFT_MISSING, (Loc){NULL, 4, 4, "n"}, "bad");
  diag_warning(d, (Loc){"m.yaml", 9, 0, NULL}, "odd");
  ck_assert_str_eq(diag_text(d, false), "m.yaml:3:7: error: found 5\n"
                                        "m.yaml:1:1: note: here\n"
                                        "weft: note: and so on\n"
                                        "m.yaml:3:7: error: node 'conv 1': bad\n"
                                        "m.onnx: node 'conv 1': error: bad\n"
                                        "m.onnx: error: bad\n"
                                        "weft: error: bad\n"
                                        "weft: error: node 'n': bad\n"
                                        "m.yaml:9: warning: odd\n");
  ck_assert_uint_eq(diag_count(d), 6);
  ck_assert_int_eq(diag_status(d), WEFT_UNSUPPORTED);
}
END_TEST

START_TEST(a_warning_is_no_error) {
  diag_warning(ctx->diags, LOC_NONE, "odd");
  ck_assert_uint_eq(diag_count(ctx->diags), 0);
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_OK);
}
END_TEST

START_TEST(source_line_and_caret) {
  static const char source[] = "first\n\tx: [1, 2]\r\n\xc3\xa9\xc3\xa9: z\nb\x1b[31m\xff y\n\nlast";
  write_source(source, sizeof source - 1);
  Diags *d = ctx->diags;
  diag_error(d, WEFT_MALFORMED, (Loc){path, 1, 1, NULL}, "a");
  diag_error(d, WEFT_MALFORMED, (Loc){path, 2, 5, NULL}, "b");
  diag_error(d, WEFT_MALFORMED, (Loc){path, 3, 5, NULL}, "c");
  diag_error(d, WEFT_MALFORMED, (Loc){path, 4, 9, NULL}, "d");
  diag_error(d, WEFT_MALFORMED, (Loc){path, 5, 1, NULL}, "e");
  diag_error(d, WEFT_MALFORMED, (Loc){path, 6, 99, NULL}, "f");
  diag_error(d, WEFT_MALFORMED, (Loc){path, 7, 1, NULL}, "g");
  diag_error(d, WEFT_MALFORMED, (Loc){path, 1, 0, NULL}, "h");
  ck_assert_str_eq(text_of(true), "FILE:1:1: error: a\n"
                                  "  first\n"
                                  "  ^\n"
                                  "FILE:2:5: error: b\n"
                                  "      x: [1, 2]\n"
                                  "         ^\n"
                                  "FILE:3:5: error: c\n"
                                  "  \xc3\xa9\xc3\xa9: z\n"
                                  "      ^\n"
                                  "FILE:4:9: error: d\n"
                                  "  b?[31m? y\n"
                                  "          ^\n"
                                  "FILE:5:1: error: e\n"
                                  "FILE:6:99: error: f\n"
                                  "  last\n"
                                  "      ^\n"
                                  "FILE:7:1: error: g\n"
                                  "FILE:1: error: h\n"
                                  "  first\n");
  unlink(path);
}
END_TEST

START_TEST(long_lines_are_cut_around_the_caret) {
  char source[1001];
  for (int i = 0; i < 1000; i++)
    source[i] = (char)('a' + i % 26);
  source[499] = '!';
  source[1000] = '\n';
  write_source(source, sizeof source);
  diag_error(ctx->diags, WEFT_MALFORMED, (Loc){path, 1, 500, NULL}, "a");
  const char *text = text_of(true);
  const char *line = strchr(text, '\n') + 1, *caret = strchr(line, '\n') + 1;
  ck_assert_int_eq(memcmp(line, "  ...", 5), 0);
  ck_assert_int_eq((int)(caret - line), 2 + 3 + 120 + 3 + 1);
  ck_assert_int_eq(line[strchr(caret, '^') - caret], '!');
  unlink(path);
}
END_TEST

START_TEST(sources_that_cannot_be_shown) {
  Diags *d = ctx->diags;
  char *large = arena_alloc(ctx->arena, (size_t)1 << 20);
  memset(large, 'x', (size_t)1 << 20);
  write_source(large, (size_t)1 << 20);
  char fifo[80];
  snprintf(fifo, sizeof fifo, "%s.fifo", path);
  ck_assert_int_eq(mkfifo(fifo, 0600), 0);
  diag_error(d, WEFT_MALFORMED, (Loc){path, 1, 500000, NULL}, "a");
  diag_error(d, WEFT_MALFORMED, (Loc){"/dev/zero", 1, 5, NULL}, "b");
  diag_error(d, WEFT_MALFORMED, (Loc){fifo, 1, 5, NULL}, "c");
  diag_error(d, WEFT_MALFORMED, (Loc){"/tmp", 1, 5, NULL}, "d");
  diag_error(d, WEFT_MALFORMED, (Loc){"/no/such/file", 1, 5, NULL}, "e");
  ck_assert_str_eq(text_of(true), "FILE:1:500000: error: a\n"
                                  "/dev/zero:1:5: error: b\n"
                                  "FILE.fifo:1:5: error: c\n"
                                  "/tmp:1:5: error: d\n"
                                  "/no/such/file:1:5: error: e\n");
  unlink(path);
  unlink(fifo);
}
END_TEST

START_TEST(hostile_names_stay_on_one_line) {
  diag_error(ctx->diags, WEFT_MALFORMED, (Loc){"a\nb", 1, 1, "n\x1b[0m"}, "no op '%s'", "x\ny\xff\x01\xc2\x9b\xc3\xa9");
  ck_assert_str_eq(diag_text(ctx->diags, false),
                   "a\\nb:1:1: error: node 'n\\x1b[0m': no op 'x\\ny\\xff\\x01\\xc2\\x9b\xc3\xa9'\n");
}
END_TEST

START_TEST(long_messages_are_cut) {
  char *name = arena_alloc(ctx->arena, 100001);
  for (int i = 0; i < 100000; i += 2)
    memcpy(name + i, "\xc3\xa9", 2);
  diag_error(ctx->diags, WEFT_MALFORMED, (Loc){"m.yaml", 1, 1, name}, "no op '%s'", name);
  const char *text = diag_text(ctx->diags, false);
  size_t n = strlen(text);
  ck_assert_uint_lt(n, 3000);
  ck_assert_str_eq(text + n - 4, "...\n");
  for (size_t i = 0; i < n; i += utf8_length(text + i, n - i))
    ck_assert_uint_ge(utf8_length(text + i, n - i), 1);
}
END_TEST

START_TEST(many_errors_are_counted) {
  for (int i = 0; i < 100000; i++) {
    diag_error(ctx->diags, WEFT_MALFORMED, LOC_NONE, "e%d", i);
    diag_note(ctx->diags, LOC_NONE, "n%d", i);
  }
  diag_warning(ctx->diags, LOC_NONE, "w");
  const char *text = diag_text(ctx->diags, false);
  ck_assert_uint_eq(diag_count(ctx->diags), 100000);
  ck_assert_ptr_nonnull(strstr(text, "e49\nweft: note: n49\nweft: warning: w\nweft: 99950 more errors not shown\n"));
  ck_assert_ptr_null(strstr(text, "e50"));
  ck_assert_ptr_null(strstr(text, "n50"));
  ck_assert_uint_lt(arena_used(ctx->arena), 100000);
}
END_TEST

Suite *suite_diag(void);
Suite *suite_diag(void) {
  Suite *suite = suite_create("diag");
  TCase *t = tcase_create("diag");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, first_lines);
  tcase_add_test(t, a_warning_is_no_error);
  tcase_add_test(t, source_line_and_caret);
  tcase_add_test(t, long_lines_are_cut_around_the_caret);
  tcase_add_test(t, sources_that_cannot_be_shown);
  tcase_add_test(t, hostile_names_stay_on_one_line);
  tcase_add_test(t, long_messages_are_cut);
  tcase_add_test(t, many_errors_are_counted);
  suite_add_tcase(suite, t);
  return suite;
}
