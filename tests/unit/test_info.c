/* The info text and the C header of a compiled model. */
#include "codegen/codegen.h"
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static Ctx *ctx;
static CodegenOptions options;

static void setup(void) {
  ctx = ctx_create();
  options = (CodegenOptions){.cpu = &cpu_targets[0], .prefix = "gan"};
}

static void teardown(void) {
  ctx_destroy(ctx);
}

/* Two inputs, one constant in two layouts, another one; one result in NHWC. */
static LoopProgram *make_program(const char *name, const char *input_name) {
  Module *m = module_create(ctx, "gan.yaml", name);
  Function *f = m->main = function_create(m, "main");
  const int64_t image[4] = {1, 3, 5, 7}, kernel[2] = {4, 6}, bias[1] = {9};
  const Layout *nhwc = layout_permutation(ctx, 4, (const int[]){0, 2, 3, 1});
  const Type *x = type_static(ctx, DT_F32, 4, image, nhwc), *flat = type_static(ctx, DT_I64, 1, bias, NULL);
  const Type *w = type_static(ctx, DT_F32, 2, kernel, NULL);
  Value *param = function_add_param(m, f, input_name, x, "NCHW", LOC_NONE);
  function_add_param(m, f, "flat", flat, NULL, LOC_NONE);
  function_add_result(m, f, "y", param, x, "NCHW", LOC_NONE);
  Constant *k = module_add_constant(m, "k", w, arena_alloc(ctx->arena, 96), LOC_NONE);
  Constant *b =
      module_add_constant(m, "b", type_static(ctx, DT_F32, 1, bias, NULL), arena_alloc(ctx->arena, 36), LOC_NONE);
  Constant *kt = module_derive_constant(m, k, layout_permutation(ctx, 2, (const int[]){1, 0}));

  LoopProgram *p = loops_create(ctx, m, name);
  loops_add_buffer(p, "x", x, BUF_INPUT, NULL);
  loops_add_buffer(p, "flat", flat, BUF_INPUT, NULL);
  loops_add_buffer(p, "y", x, BUF_OUTPUT, NULL);
  loops_add_buffer(p, "k", w, BUF_CONSTANT, k);
  loops_add_buffer(p, "kt", kt->type, BUF_CONSTANT, kt);
  loops_add_buffer(p, "b", b->type, BUF_CONSTANT, b);
  p->arena_bytes = expr_const(ctx, 640);
  return p;
}

START_TEST(info_text) {
  options.cpu = &cpu_targets[1];
  const char *text = model_info_json(make_program("gan", "x"), &options);
  ck_assert_str_eq(text, "{\"abi\":1,\"name\":\"gan\",\"weft\":\"" WEFT_VERSION
                         "\",\"target\":\"cpu\",\"cpu\":\"x86-64-v3\",\"inputs\":["
                         "{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[1,5,7,3],\"layout\":\"NHWC\"},"
                         "{\"name\":\"flat\",\"dtype\":\"i64\",\"shape\":[9],\"layout\":null}],\"outputs\":["
                         "{\"name\":\"y\",\"dtype\":\"f32\",\"shape\":[1,5,7,3],\"layout\":\"NHWC\"}],\"dims\":[],"
                         "\"workspace\":640,\"parameters\":33,\"flops\":0}");
}
END_TEST

/* Names are the user's: quotes, line ends, comment ends, bytes that are no UTF-8. */
static const char *const rude_names[] = {
    "a\"b\\c\nd", "*/ int main(void) { return 1; } /*", "caf\xc3\xa9", "\xff\xfe x", "?\?/", ""};

START_TEST(info_of_rude_names) {
  for (size_t i = 0; i < sizeof rude_names / sizeof *rude_names; i++) {
    const char *text = model_info_json(make_program(rude_names[i], rude_names[i]), &options);
    json_t *info = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(info != NULL, "%s", text);
    const char *name = json_string_value(json_object_get(info, "name"));
    ck_assert_str_eq(name, i == 3 ? "?? x" : rude_names[i]);
    json_decref(info);
  }
}
END_TEST

/* Compiles a source against headers as C99 and as C++; a compiler that is not installed is passed over, but one must
 * be. */
static void compile(const char *const *names, const char *const *headers, int n, const char *body) {
  char dir[] = "/tmp/weft-test-XXXXXX", path[256], command[1024];
  ck_assert_ptr_nonnull(mkdtemp(dir));
  for (int i = 0; i < n; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, names[i]);
    FILE *f = fopen(path, "w");
    fputs(headers[i], f);
    fclose(f);
  }
  snprintf(path, sizeof path, "%s/use.c", dir);
  FILE *f = fopen(path, "w");
  for (int twice = 0; twice < 2; twice++)
    for (int i = 0; i < n; i++)
      fprintf(f, "#include \"%s\"\n", names[i]);
  fputs(body, f);
  fclose(f);
  static const char *const compilers[] = {"cc -std=c99 -Wall -Wextra -Wundef -Wstrict-prototypes -pedantic",
                                          "gcc -x c++ -std=c++11 -Wall -Wextra -pedantic",
                                          "clang-19 -x c++ -std=c++11 -Wall -Wextra -pedantic"};
  int ran = 0;
  for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
    snprintf(command, sizeof command,
             "command -v %.*s >/dev/null || exit 99; cd %s && %s -Werror -fsyntax-only use.c 2>log",
             (int)strcspn(compilers[i], " "), compilers[i], dir, compilers[i]);
    int status = system(command);
    ck_assert_msg(status == 0 || status == 99 << 8, "%s: see %s/log", compilers[i], dir);
    ran += status == 0;
  }
  ck_assert_int_gt(ran, 0);
  snprintf(command, sizeof command, "rm -r %s", dir);
  ck_assert_int_eq(system(command), 0);
}

START_TEST(header_compiles) {
  const char *names[2] = {"gan.h", "Gan.h"}, *headers[2];
  headers[0] = model_header(make_program("gan", "x"), &options);
  options.prefix = "Gan"; /* differs in case only */
  headers[1] = model_header(make_program("gan", "x"), &options);
  compile(names, headers, 2,
          "static float x[GAN_INPUT_0_ELEMENTS], y[GAN_OUTPUT_0_BYTES / sizeof(float)];\n"
          "static int64_t flat[GAN_INPUT_1_ELEMENTS];\n"
          "typedef char check[GAN_INPUT_0_ELEMENTS == 105 && GAN_INPUT_1_BYTES == 72 && GAN_INPUTS == 2 ? 1 : -1];\n"
          "int main(void) {\n"
          "  const void *in[GAN_INPUTS];\n"
          "  void *out[GAN_OUTPUTS];\n"
          "  in[0] = x; in[1] = flat; out[0] = y;\n"
          "  if (gan_abi() != GAN_ABI || gan_set_threads(0) < 1 || !gan_info() || Gan_abi() != 1) return 1;\n"
          "  return gan_run(in, out) + gan_run_in(in, out, 0) + (gan_workspace_size(0, 0) > 0) + *gan_error();\n"
          "}\n");
}
END_TEST

START_TEST(header_of_rude_names) {
  for (size_t i = 0; i < sizeof rude_names / sizeof *rude_names; i++) {
    const char *name = "gan.h", *text = model_header(make_program(rude_names[i], rude_names[i]), &options);
    compile(&name, &text, 1, "int main(void) { return gan_abi(); }\n");
  }
}
END_TEST

START_TEST(header_says_shapes) {
  const char *text = model_header(make_program("gan", "x"), &options);
  ck_assert_ptr_nonnull(strstr(text, "/* input 0, 'x': f32 [1, 5, 7, 3], axes NHWC"));
  ck_assert_ptr_nonnull(strstr(text, "/* input 1, 'flat': i64 [9], dense"));
  ck_assert_ptr_nonnull(strstr(text, "/* output 0, 'y': f32 [1, 5, 7, 3], axes NHWC"));
}
END_TEST

START_TEST(prefixes) {
  static const char *const right[] = {"a", "weft_model", "_x9", "int", "weft"};
  for (size_t i = 0; i < sizeof right / sizeof *right; i++)
    ck_assert_msg(codegen_prefix_ok(ctx, right[i]), "%s", right[i]);
  ck_assert_uint_eq(diag_count(ctx->diags), 0);
  static const char *const wrong[] = {"", "9x", "a-b", "a b", "a;b", "\xc3\xa9", "a*", "weft_rt"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(!codegen_prefix_ok(ctx, wrong[i]), "%s", wrong[i]);
  ck_assert_uint_eq(diag_count(ctx->diags), sizeof wrong / sizeof *wrong);
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_USAGE);
  char longest[200];
  memset(longest, 'a', sizeof longest);
  longest[128] = '\0';
  ck_assert(codegen_prefix_ok(ctx, longest));
  longest[128] = 'a';
  longest[129] = '\0';
  ck_assert(!codegen_prefix_ok(ctx, longest));
}
END_TEST

Suite *suite_info(void);

Suite *suite_info(void) {
  Suite *suite = suite_create("info");
  TCase *all = tcase_create("info");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 30);
  tcase_add_test(all, info_text);
  tcase_add_test(all, info_of_rude_names);
  tcase_add_test(all, header_compiles);
  tcase_add_test(all, header_of_rude_names);
  tcase_add_test(all, header_says_shapes);
  tcase_add_test(all, prefixes);
  suite_add_tcase(suite, all);
  return suite;
}
