/* Tensors of ONNX files: every element type in every form, and data beside the model; what does not fit is refused
 * before it is allocated. */
#include "onnx_graph.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
  int type;
  const char *dtype;
  int list; /* field of a list that holds it */
  size_t size;
} types[] = {{FLOAT, "f32", 4, 4}, {DOUBLE, "f64", 10, 8}, {FLOAT16, "f16", 5, 2}, {BFLOAT16, "bf16", 5, 2},
             {INT8, "i8", 5, 1},   {UINT8, "u8", 5, 1},    {INT16, "i16", 5, 2},   {UINT16, "u16", 5, 2},
             {INT32, "i32", 5, 4}, {UINT32, "u32", 11, 4}, {INT64, "i64", 7, 8},   {UINT64, "u64", 11, 8},
             {BOOL, "bool", 5, 1}};

/* The numbers 1 and 0 as raw bytes and as a list. */
START_TEST(tensor_types) {
  int type = types[_i].type, list = types[_i].list;
  uint8_t raw[16] = {0};
  float f = 1;
  double d = 1;
  uint16_t half = type == FLOAT16 ? 0x3c00 : 0x3f80;
  raw[0] = 1;
  if (type == FLOAT)
    memcpy(raw, &f, 4);
  if (type == DOUBLE)
    memcpy(raw, &d, 8);
  if (type == FLOAT16 || type == BFLOAT16)
    memcpy(raw, &half, 2);
  put_message(&graph, 5, tensor_raw(ctx, "a", type, INTS(2, 1), raw, 2 * types[_i].size));
  Str t = str_new(ctx->arena);
  put_int(&t, 1, 2);
  put_int(&t, 1, 1);
  put_int(&t, 2, type);
  put_text(&t, 8, "b");
  if (type == FLOAT || type == DOUBLE) {
    put_bytes(&t, list, raw, 2 * types[_i].size);
  } else {
    put_int(&t, list, type == FLOAT16 || type == BFLOAT16 ? half : 1);
    put_int(&t, list, 0);
  }
  put_message(&graph, 5, t);
  add_output("a");
  add_output("b");
  Module *m = import_well(17);
  for (int k = 0; k < 2; k++) {
    ck_assert_str_eq(type_of_output(m, k), arena_printf(ctx->arena, "%s[2,1]", types[_i].dtype));
    EXPECT_VALUES(evaluate(m)[k], 1, 0);
  }
}
END_TEST

static void bad_tensor(Str t, Status status, const char *message) {
  put_message(&graph, 5, t);
  add_output("w");
  refuse(17, status, message);
  teardown();
  setup();
}

START_TEST(bad_tensors) {
  static const char zeros[64];
  bad_tensor(tensor_raw(ctx, "w", FLOAT, INTS(2, 2), zeros, 12), WEFT_MALFORMED,
             "initializer 'w' is f32[2,2] and takes 16 bytes, but 12 are stored");
  bad_tensor(tensor_raw(ctx, "w", FLOAT, INTS(2, -2), zeros, 16), WEFT_MALFORMED,
             "initializer 'w' has the dimensions [2,-2], of which one is negative");
  bad_tensor(tensor_raw(ctx, "w", FLOAT, INTS(0x4000000000000002), zeros, 8), WEFT_MALFORMED, "which are too large");
  bad_tensor(tensor_raw(ctx, "w", FLOAT, INTS(65536, 65536, 65536, 65536), zeros, 0), WEFT_MALFORMED,
             "which are too large");
  bad_tensor(tensor_raw(ctx, "w", FLOAT, INTS(1, 1, 1, 1, 1, 1, 1, 1, 1), zeros, 4), WEFT_UNSUPPORTED,
             "has 9 dimensions; at most 8 are supported");
  bad_tensor(tensor_raw(ctx, "w", 8, INTS(1), zeros, 1), WEFT_UNSUPPORTED, "has elements of type STRING (8)");
  bad_tensor(tensor_raw(ctx, "w", 99, INTS(1), zeros, 1), WEFT_UNSUPPORTED, "of type of no known number (99)");
  Str both = tensor_raw(ctx, "w", FLOAT, INTS(1), zeros, 4);
  put_float(&both, 4, 1);
  bad_tensor(both, WEFT_MALFORMED, "holds its data twice");
  Str none = str_new(ctx->arena);
  put_int(&none, 1, 3);
  put_int(&none, 2, FLOAT);
  put_text(&none, 8, "w");
  bad_tensor(none, WEFT_MALFORMED, "initializer 'w' is f32[3], but holds no data");
  Str wide = str_new(ctx->arena);
  put_int(&wide, 1, 1);
  put_int(&wide, 2, UINT8);
  put_int(&wide, 5, 256);
  put_text(&wide, 8, "w");
  bad_tensor(wide, WEFT_MALFORMED, "has elements of type u8, but element 0 is 256");
}
END_TEST

/* A model of one tensor whose data lies in a file; NULL: a key is left out. */
static Module *external(const char *folder, const char *location, const char *offset, const char *length) {
  Str t = str_new(ctx->arena);
  const char *pairs[][2] = {{"location", location}, {"offset", offset}, {"length", length}};
  put_int(&t, 1, 2);
  put_int(&t, 2, FLOAT);
  put_text(&t, 8, "w");
  put_int(&t, 14, 1);
  for (int k = 0; k < 3; k++) {
    Str pair = str_new(ctx->arena);
    put_text(&pair, 1, pairs[k][0]);
    put_text(&pair, 2, pairs[k][1] ? pairs[k][1] : "");
    if (pairs[k][1])
      put_message(&t, 13, pair);
  }
  graph = str_new(ctx->arena);
  put_message(&graph, 5, t);
  add_output("w");
  Str bytes = model(ctx, 17, graph);
  return onnx_import(ctx, arena_printf(ctx->arena, "%s/m.onnx", folder), bytes.data, bytes.len, NULL);
}

START_TEST(external_data) {
  char folder[] = "/tmp/weft-onnx-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  char *inside = arena_printf(ctx->arena, "%s/sub", folder), *outside = arena_printf(ctx->arena, "%s/w.bin", folder);
  char *link = arena_printf(ctx->arena, "%s/link.bin", inside), *own = arena_printf(ctx->arena, "%s/v.bin", inside);
  float v[4] = {9, 8, 7, 6};
  ck_assert(mkdir(inside, 0700) == 0 && file_write(ctx, outside, v, sizeof v) && file_write(ctx, own, v, sizeof v));
  ck_assert_int_eq(symlink("../w.bin", link), 0);
  Module *m = external(inside, "v.bin", "4", "8");
  ck_assert_msg(m != NULL, "%s", diag_text(ctx->diags, false));
  EXPECT_VALUES(evaluate(m)[0], 8, 7);
  ck_assert_ptr_nonnull(external(inside, "v.bin", "8", NULL));
  ck_assert_ptr_nonnull(external(folder, "sub/v.bin", NULL, NULL));
  static const struct {
    const char *location, *offset, *length, *message;
  } cases[] = {
      {"../w.bin", NULL, NULL, "node 'w': error: file '../w.bin' leaves the model's folder"},
      {"a/../../w.bin", NULL, NULL, "leaves the model's folder"},
      {"/etc/passwd", NULL, NULL, "is an absolute path"},
      {"link.bin", NULL, NULL, "is a link that leaves the model's folder"},
      {"none.bin", NULL, NULL, "cannot read"},
      {"", NULL, NULL, "has no name"},
      {".", NULL, NULL, "file '.' is"},
      {NULL, "0", NULL, "initializer 'w' has external data without a location"},
      {"v.bin", "12", NULL, "takes 8 bytes from byte 12 of 'v.bin', which has 16"},
      {"v.bin", "9223372036854775807", NULL, "takes 8 bytes from byte 9223372036854775807"},
      {"v.bin", "9223372036854775808", NULL, "of offset '9223372036854775808'; expected a number"},
      {"v.bin", "-1", NULL, "of offset '-1'; expected a number"},
      {"v.bin", "0", "16", "is f32[2] and takes 8 bytes, but its external data has the length 16"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    Ctx *outer = ctx;
    ctx = ctx_create();
    ck_assert_ptr_null(external(inside, cases[k].location, cases[k].offset, cases[k].length));
    const char *got = diag_text(ctx->diags, false);
    ck_assert_msg(strstr(got, cases[k].message) && diag_status(ctx->diags) == WEFT_MALFORMED, "expected '%s', got '%s'",
                  cases[k].message, got);
    ctx_destroy(ctx);
    ctx = outer;
  }
  unlink(link);
  unlink(own);
  unlink(outside);
  rmdir(inside);
  rmdir(folder);
}
END_TEST

Suite *suite_onnx_tensor(void);
Suite *suite_onnx_tensor(void) {
  Suite *s = suite_create("onnx_tensor");
  TCase *t = tcase_create("tensors");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, tensor_types, 0, (int)(sizeof types / sizeof *types));
  tcase_add_test(t, bad_tensors);
  tcase_add_test(t, external_data);
  suite_add_tcase(s, t);
  return s;
}
