/* The .npy reader and writer. Known files are bytes as numpy writes them; damaged ones must be refused with a message,
 * whatever the damage: every prefix, every kind of wrong header, random bytes. */
#include "frontend/source.h"
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

static Ctx *ctx;

static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

/* A file of version 1 (header padded to 64 bytes as numpy does), or of another version as it is. */
static Source npy_file(int version, const char *header, const void *data, size_t n) {
  size_t len = strlen(header), start = version == 1 ? 10 : 12, total = (start + len + 1 + 63) / 64 * 64;
  uint8_t *bytes = arena_alloc(ctx->arena, total + n);
  memset(bytes, ' ', total);
  memcpy(bytes, "\x93NUMPY", 6);
  bytes[6] = (uint8_t)version;
  bytes[7] = 0;
  size_t field = total - start;
  for (size_t k = 8; k < start; k++, field >>= 8)
    bytes[k] = (uint8_t)field;
  memcpy(bytes + start, header, len);
  bytes[total - 1] = '\n';
  if (n)
    memcpy(bytes + total, data, n);
  return source_memory(ctx, "t.npy", bytes, total + n);
}

static Tensor *good(Source s) {
  Tensor *t = npy_read_source(&s);
  ck_assert_msg(t != NULL, "%s", diag_text(ctx->diags, false));
  return t;
}

START_TEST(versions) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  for (int version = 1; version <= 3; version++) {
    Tensor *t =
        good(npy_file(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data, sizeof data));
    ck_assert_int_eq(t->dtype, DT_F32);
    ck_assert_int_eq(t->rank, 2);
    ck_assert_int_eq(t->shape[0], 2);
    ck_assert_int_eq(t->shape[1], 3);
    ck_assert_mem_eq(t->data, data, sizeof data);
  }
}
END_TEST

/* The same header in other spellings of the same Python literal. */
START_TEST(spellings) {
  static const char *const headers[] = {
      "{'descr':'<i2','fortran_order':False,'shape':(2,)}",
      "{\"shape\": (2L,), \"descr\": \"=i2\", \"fortran_order\": False}",
      "  { 'fortran_order' : True , 'shape' : ( 2 , ) , 'descr' : '<i2' , }   ",
  };
  const int16_t data[] = {-1, 300};
  for (size_t k = 0; k < sizeof headers / sizeof *headers; k++)
    ck_assert_mem_eq(good(npy_file(1, headers[k], data, sizeof data))->data, data, sizeof data);
}
END_TEST

START_TEST(big_endian_and_fortran) {
  /* numpy.asfortranarray(arange(6).reshape(2, 3)) as >i2: the first axis fastest, high byte first */
  const uint8_t data[] = {0, 0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5};
  Tensor *t = good(npy_file(1, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", data, sizeof data));
  for (int k = 0; k < 6; k++)
    ck_assert_int_eq(((int16_t *)t->data)[k], k);
  const uint8_t pi[] = {0x40, 0x09, 0x21, 0xFB, 0x54, 0x44, 0x2D, 0x18};
  t = good(npy_file(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (), }", pi, sizeof pi));
  ck_assert_int_eq(t->rank, 0);
  ck_assert(*(double *)t->data == 3.141592653589793);
}
END_TEST

/* Against a plain formula, in three dimensions. */
START_TEST(fortran_3d) {
  uint8_t data[2 * 3 * 4];
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++)
      for (int k = 0; k < 4; k++)
        data[i + 2 * (j + 3 * k)] = (uint8_t)(100 * i + 10 * j + k);
  Tensor *t = good(npy_file(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", data, sizeof data));
  for (int i = 0, n = 0; i < 2; i++)
    for (int j = 0; j < 3; j++)
      for (int k = 0; k < 4; k++, n++)
        ck_assert_int_eq(((uint8_t *)t->data)[n], 100 * i + 10 * j + k);
}
END_TEST

START_TEST(bool_bf16_and_empty) {
  const uint8_t flags[] = {1, 0, 2}; /* 2 is no bool: it must not survive as such */
  Tensor *t = good(npy_file(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", flags, 3));
  ck_assert_int_eq(t->dtype, DT_BOOL);
  ck_assert_mem_eq(t->data, "\1\0\1", 3);
  const uint8_t half[] = {0xC0, 0x3F, 0x00, 0xC0}; /* 1.5, -2 */
  t = good(npy_file(1, "{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }", half, 4));
  ck_assert_int_eq(t->dtype, DT_BF16);
  ck_assert(tensor_get(t, 0) == 1.5 && tensor_get(t, 1) == -2);
  t = good(npy_file(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 0, 2), }", NULL, 0));
  ck_assert_int_eq(t->n, 0);
  ck_assert_int_eq(t->rank, 3);
}
END_TEST

START_TEST(to_bf16) {
  Tensor *bits = tensor_new(ctx, DT_U16, 1, (int64_t[]){2}), *wide = tensor_new(ctx, DT_F32, 1, (int64_t[]){2});
  memcpy(bits->data, (uint16_t[]){0x3FC0, 0xC000}, 4);
  memcpy(wide->data, (float[]){1.0f + 0x1p-8f, 1.0f + 0x3p-8f}, 8); /* halfway: to the even neighbour */
  Tensor *a = tensor_convert_bf16(ctx, bits, DT_BF16), *b = tensor_convert_bf16(ctx, wide, DT_BF16);
  ck_assert(tensor_get(a, 0) == 1.5 && tensor_get(a, 1) == -2);
  ck_assert(tensor_get(b, 0) == 1.0 && tensor_get(b, 1) == 1.0 + 0x1p-6);
  ck_assert_ptr_null(tensor_convert_bf16(ctx, wide, DT_F16));
  ck_assert_ptr_null(tensor_convert_bf16(ctx, a, DT_BF16));
}
END_TEST

static const struct {
  const char *header;
  Status status;
  const char *message;
} bad_headers[] = {
    {"", WEFT_MALFORMED, "expected '{'"},
    {"{}", WEFT_MALFORMED, "lacks descr"},
    {"{'descr': '<f4', 'shape': (2,)}", WEFT_MALFORMED, "lacks fortran_order"},
    {"{'descr': '<f4', 'fortran_order': False}", WEFT_MALFORMED, "lacks shape"},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", WEFT_MALFORMED, "stands twice"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", WEFT_MALFORMED, "key 'x' is unknown"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", WEFT_MALFORMED, "True or False"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", WEFT_MALFORMED, "(3,) and not (3)"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': [2]}", WEFT_MALFORMED, "a tuple"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", WEFT_MALFORMED, "an extent"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3,)}", WEFT_MALFORMED, "',' or ')'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", WEFT_MALFORMED, "at most 2^40"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776)}", WEFT_MALFORMED, "8 bytes"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", WEFT_MALFORMED, "f32[3] takes 12"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", WEFT_MALFORMED, "f32[1] takes 4"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", WEFT_MALFORMED, "f32[0] takes 0"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}", WEFT_UNSUPPORTED, "more than 8 axes"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", WEFT_UNSUPPORTED, "type '<c8'"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", WEFT_UNSUPPORTED, "type '|O'"},
    {"{'descr': '|f4', 'fortran_order': False, 'shape': (2,)}", WEFT_UNSUPPORTED, "type '|f4'"},
    {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", WEFT_UNSUPPORTED, "type ''"},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", WEFT_UNSUPPORTED, "records"},
    {"{'descr': '<f4\\x00', 'fortran_order': False, 'shape': (2,)}", WEFT_MALFORMED, "plain characters"},
    {"{'descr': '<f4, 'fortran_order': False}", WEFT_UNSUPPORTED, "type '<f4, '"},
    {"{'descr': '<f4", WEFT_MALFORMED, "plain characters"}, /* the newline that ends the header */
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", WEFT_MALFORMED, "nothing behind"},
    {"{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}", WEFT_MALFORMED, "',' or '}'"},
    {"{'descr' '<f4', 'fortran_order': False, 'shape': (2,)}", WEFT_MALFORMED, "':'"},
};

START_TEST(headers) {
  float data[2] = {0};
  Source s = npy_file(1, bad_headers[_i].header, data, sizeof data);
  ck_assert_ptr_null(npy_read_source(&s));
  ck_assert_int_eq(diag_status(ctx->diags), bad_headers[_i].status);
  const char *text = diag_text(ctx->diags, false);
  ck_assert_msg(strstr(text, bad_headers[_i].message) && strncmp(text, "t.npy: error: ", 14) == 0, "said: %s", text);
}
END_TEST

/* Every prefix of a sound file, and the file with a byte more. */
START_TEST(truncated) {
  uint8_t data[25] = {0};
  Source s = npy_file(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", data, sizeof data);
  int64_t whole = s.size - 1;
  for (int64_t size = 0; size <= s.size; size++) {
    Source part = source_memory(ctx, "t.npy", s.bytes, (size_t)size);
    size_t before = diag_count(ctx->diags);
    Tensor *t = npy_read_source(&part);
    ck_assert_msg((t != NULL) == (size == whole), "size %lld", (long long)size);
    ck_assert_uint_eq(diag_count(ctx->diags) - before, size != whole);
  }
}
END_TEST

START_TEST(magic_and_versions) {
  float data[2] = {0};
  Source s = npy_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", data, sizeof data);
  uint8_t *bytes = (uint8_t *)s.bytes;
  bytes[6] = 4;
  ck_assert_ptr_null(npy_read_source(&s));
  ck_assert_ptr_nonnull(strstr(diag_text(ctx->diags, false), "npy version 4.0; expected 1.0, 2.0 or 3.0"));
  bytes[6] = 2; /* two more bytes of the header are taken for its length */
  ck_assert_ptr_null(npy_read_source(&s));
  bytes[6] = 1;
  bytes[0] = 'x';
  ck_assert_ptr_null(npy_read_source(&s));
  ck_assert_ptr_nonnull(strstr(diag_text(ctx->diags, false), "npy's magic bytes"));
}
END_TEST

/* Bytes of a sound file changed at random: any answer, but no crash, and data only where the size fits. */
START_TEST(random_damage) {
  const char *given = getenv("WEFT_SEED");
  unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : 1;
  float data[6] = {0};
  for (int round = 0; round < 3000; round++) {
    Ctx *own = ctx_create();
    Source s = npy_file(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", data, sizeof data);
    s.ctx = own;
    uint8_t *bytes = (uint8_t *)s.bytes;
    for (int k = rand_r(&seed) % 4; k >= 0; k--)
      bytes[rand_r(&seed) % s.size] = (uint8_t)rand_r(&seed);
    Tensor *t = npy_read_source(&s);
    ck_assert_msg(t ? t->n * (int64_t)dtype_size(t->dtype) == 24 : diag_count(own->diags) == 1, "WEFT_SEED round %d",
                  round);
    ctx_destroy(own);
  }
}
END_TEST

/* numpy.save(arange(6, dtype='f4').reshape(2, 3)) and of a vector, byte for byte. */
START_TEST(written_as_numpy_does) {
  char path[] = "/tmp/weft-npy-XXXXXX";
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  close(fd);
  Tensor *t = tensor_new(ctx, DT_F32, 2, (int64_t[]){2, 3});
  for (int k = 0; k < 6; k++)
    tensor_set(t, k, k);
  ck_assert(npy_write(ctx, path, t));
  size_t size;
  const char *got = file_read(ctx, path, 1000, &size);
  char want[128 + 24];
  memset(want, ' ', 128);
  memcpy(want, "\x93NUMPY\x01\x00\x76\x00", 10);
  const char *dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  memcpy(want + 10, dict, strlen(dict));
  want[127] = '\n';
  memcpy(want + 128, t->data, 24);
  ck_assert_uint_eq(size, sizeof want);
  ck_assert_mem_eq(got, want, size);
  t = tensor_new(ctx, DT_BF16, 1, (int64_t[]){1});
  ck_assert(npy_write(ctx, path, t));
  got = file_read(ctx, path, 1000, &size);
  ck_assert_uint_eq(size, 130);
  ck_assert_mem_eq(got + 10, "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), } ", 58);
  unlink(path);
}
END_TEST

START_TEST(round_trip) {
  char path[] = "/tmp/weft-npy-XXXXXX";
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  close(fd);
  static const int64_t shapes[][3] = {{0, 0, 0}, {5, 0, 0}, {2, 3, 0}, {2, 0, 3}};
  for (int dtype = 0; dtype < DT_COUNT; dtype++)
    for (int rank = 0; rank < 4; rank++) {
      Tensor *t = tensor_new(ctx, (DType)dtype, rank, shapes[rank]), *back;
      size_t bytes = (size_t)t->n * dtype_size(t->dtype);
      for (size_t k = 0; k < bytes; k++)
        ((uint8_t *)t->data)[k] = (uint8_t)(dtype == DT_BOOL ? k % 2 : 37 * k + 255);
      ck_assert(npy_write(ctx, path, t));
      back = npy_read(ctx, path, LOC_NONE);
      ck_assert_msg(back != NULL, "%s", diag_text(ctx->diags, false));
      ck_assert(back->dtype == t->dtype && back->rank == rank && back->n == t->n);
      for (int k = 0; k < rank; k++)
        ck_assert_int_eq(back->shape[k], t->shape[k]);
      ck_assert(bytes == 0 || memcmp(back->data, t->data, bytes) == 0);
    }
  unlink(path);
}
END_TEST

/* Where a model names the file, the model's line comes first and the file is named in the message. */
START_TEST(locations) {
  Loc loc = {.file = "m.yaml", .line = 3, .col = 9};
  ck_assert_ptr_null(npy_read(ctx, "/nonexistent/k.npy", loc));
  ck_assert_ptr_null(npy_read(ctx, "/nonexistent/k.npy", LOC_NONE));
  ck_assert_str_eq(diag_text(ctx->diags, false),
                   "m.yaml:3:9: error: cannot read '/nonexistent/k.npy': No such file or directory\n"
                   "/nonexistent/k.npy: error: cannot read: No such file or directory\n");
  ck_assert_ptr_null(npy_read(ctx, "/", LOC_NONE));
  ck_assert_ptr_null(npy_read(ctx, "/dev/zero", LOC_NONE));
  ck_assert_uint_eq(diag_count(ctx->diags), 4);
}
END_TEST

Suite *suite_npy(void);
Suite *suite_npy(void) {
  Suite *s = suite_create("npy");
  TCase *t = tcase_create("npy");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, versions);
  tcase_add_test(t, spellings);
  tcase_add_test(t, big_endian_and_fortran);
  tcase_add_test(t, fortran_3d);
  tcase_add_test(t, bool_bf16_and_empty);
  tcase_add_test(t, to_bf16);
  tcase_add_loop_test(t, headers, 0, (int)(sizeof bad_headers / sizeof *bad_headers));
  tcase_add_test(t, truncated);
  tcase_add_test(t, magic_and_versions);
  tcase_add_test(t, random_damage);
  tcase_add_test(t, written_as_numpy_does);
  tcase_add_test(t, round_trip);
  tcase_add_test(t, locations);
  suite_add_tcase(s, t);
  return s;
}
