/* The safetensors reader on files made in memory: right tensors, and refusal of every header that does not describe
 * its bytes exactly. */
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

static Source file_of(const char *header, size_t len, const void *data, size_t n) {
  size_t header_size = strlen(header);
  uint8_t *bytes = arena_alloc(ctx->arena, 8 + header_size + n);
  for (int k = 0; k < 8; k++)
    bytes[k] = (uint8_t)((uint64_t)len >> 8 * k);
  memcpy(bytes + 8, header, header_size);
  if (n)
    memcpy(bytes + 8 + header_size, data, n);
  return source_memory(ctx, "w.safetensors", bytes, 8 + header_size + n);
}

static Tensor *load(Source s, const char *name) {
  Safetensors index;
  return safetensors_index(&s, &index) ? safetensors_load(&s, &index, name) : NULL;
}

static const char sound[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                            "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},"
                            "\"a\":{\"dtype\":\"BF16\",\"shape\":[1,2],\"data_offsets\":[0,4]},"
                            "\"e\":{\"dtype\":\"I64\",\"shape\":[3,0],\"data_offsets\":[12,12]},"
                            "\"s\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[12,13]},"
                            "\"f8\":{\"dtype\":\"F8_E4M3\",\"shape\":[3],\"data_offsets\":[13,16]}}   ";
static const uint8_t sound_data[16] = {0xC0, 0x3F, 0, 0xC0, 0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0, 7, 1, 2, 3};

START_TEST(right) {
  Source s = file_of(sound, strlen(sound), sound_data, 16);
  Tensor *a = load(s, "a"), *b = load(s, "b"), *e = load(s, "e"), *one = load(s, "s");
  ck_assert_msg(a && b && e && one, "%s", diag_text(ctx->diags, false));
  ck_assert(a->dtype == DT_BF16 && a->rank == 2 && a->shape[0] == 1 && a->shape[1] == 2);
  ck_assert(tensor_get(a, 0) == 1.5 && tensor_get(a, 1) == -2);
  ck_assert(b->dtype == DT_F32 && b->rank == 1 && tensor_get(b, 0) == 1 && tensor_get(b, 1) == -2);
  ck_assert(e->dtype == DT_I64 && e->rank == 2 && e->n == 0);
  ck_assert(one->dtype == DT_BOOL && one->rank == 0 && *(uint8_t *)one->data == 1);
}
END_TEST

START_TEST(names) {
  Source s = file_of(sound, strlen(sound), sound_data, 16);
  ck_assert_ptr_null(load(s, "aa"));
  ck_assert_ptr_nonnull(
      strstr(diag_text(ctx->diags, false), "w.safetensors: error: has no tensor 'aa'; did you mean 'a'?"));
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
  ck_assert_ptr_null(load(s, "f8"));
  ck_assert_ptr_nonnull(strstr(diag_text(ctx->diags, false), "elements of type F8_E4M3"));
  Source none = file_of("{}", 2, NULL, 0);
  ck_assert_ptr_null(load(none, "a"));
}
END_TEST

#define ONE(fields) "{\"a\":{" fields "}}"
static const struct {
  const char *header;
  size_t data;
  const char *message;
} bad[] = {
    {"", 0, "safetensors header"},
    {"[]", 0, "expected a JSON object"},
    {"{", 0, "safetensors header, byte"},
    {"{} x", 0, "safetensors header, byte"},
    {"{}", 1, "1 bytes of data belong to no tensor"},
    {"{\"a\":1}", 0, "tensor 'a': expected an object"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1]"), 4, "expected an object of dtype"},
    {ONE("\"dtype\":5,\"shape\":[1],\"data_offsets\":[0,4]"), 4, "expected an object of dtype"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1"), 4, "expected an object of dtype"},
    {ONE("\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]"), 4, "expected a shape"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]"), 4, "expected a shape"},
    {ONE("\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]"), 4, "expected a shape"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]"), 4, "at most 8"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]"), 4, "expected data_offsets"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,-4]"), 4, "expected data_offsets"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]"), 4, "do not lie"},
    {ONE("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]"), 4, "do not lie in the 4 bytes"},
    {ONE("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,9223372036854775807]"), 4, "do not lie"},
    {ONE("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,99999999999999999999]"), 4, "safetensors header"},
    {ONE("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]"), 4, "which its shape does not take"},
    {ONE("\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]"), 0, "its shape does not"},
    {ONE("\"dtype\":\"F32\",\"shape\":[0,4611686018427387904],\"data_offsets\":[0,0]"), 0, "its shape does not"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]"), 5, "leave a gap before it"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
     3, "overlap"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
     2, "duplicate object key"},
    {"{\"a\\u0000\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "safetensors header"},
};

START_TEST(refused) {
  uint8_t data[8] = {0};
  ck_assert_ptr_null(load(file_of(bad[_i].header, strlen(bad[_i].header), data, bad[_i].data), "a"));
  const char *text = diag_text(ctx->diags, false);
  ck_assert_msg(strstr(text, bad[_i].message) && strncmp(text, "w.safetensors: error: ", 22) == 0, "said: %s", text);
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
}
END_TEST

START_TEST(header_length) {
  static const size_t lengths[] = {3, 100000001, (size_t)1 << 62, SIZE_MAX};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
    ck_assert_ptr_null(load(file_of("{}", lengths[k], NULL, 0), "a"));
  ck_assert_ptr_null(load(file_of("{}", 1, NULL, 0), "a")); /* the header is cut to "{" */
  ck_assert_uint_eq(diag_count(ctx->diags), 5);
}
END_TEST

START_TEST(truncated) {
  Source s = file_of(sound, strlen(sound), sound_data, 16);
  for (int64_t size = 0; size < s.size; size++)
    ck_assert_ptr_null(load(source_memory(ctx, "w.safetensors", s.bytes, (size_t)size), "a"));
  ck_assert_uint_eq(diag_count(ctx->diags), (size_t)s.size);
}
END_TEST

/* 3,000 arrays within arrays: the JSON reader's own limit ends it. */
START_TEST(nested) {
  Str deep = str_new(ctx->arena);
  str_put(&deep, "{\"a\":");
  for (int k = 0; k < 3000; k++)
    str_putc(&deep, '[');
  ck_assert_ptr_null(load(file_of(deep.data, deep.len, NULL, 0), "a"));
  ck_assert_ptr_nonnull(strstr(diag_text(ctx->diags, false), "maximum parsing depth"));
}
END_TEST

START_TEST(random_damage) {
  const char *given = getenv("WEFT_SEED");
  unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : 1;
  for (int round = 0; round < 2000; round++) {
    Ctx *own = ctx_create();
    Source s = file_of(sound, strlen(sound), sound_data, 16);
    s.ctx = own;
    uint8_t *bytes = (uint8_t *)s.bytes;
    for (int k = rand_r(&seed) % 3; k >= 0; k--)
      bytes[8 + rand_r(&seed) % (unsigned)(s.size - 8)] = (uint8_t)(32 + rand_r(&seed) % 95);
    Tensor *t = load(s, "b");
    ck_assert_msg(t ? t->n <= 8 : diag_count(own->diags) == 1, "WEFT_SEED round %d", round);
    ctx_destroy(own);
  }
}
END_TEST

/* What is written reads back, elements aligned by their size; the same bytes every time. */
START_TEST(written) {
  const char *path =
      arena_printf(ctx->arena, "%s/w.safetensors", mkdtemp(arena_strdup(ctx->arena, "/tmp/weft-XXXXXX")));
  const int64_t shape[] = {2, 3}, none[] = {0, 5}, three[] = {3};
  const DType types[] = {DT_BOOL, DT_F32, DT_BF16, DT_U64, DT_I8};
  NamedTensor tensors[7];
  const char *const labels[] = {"flag", "w \"1\"", "h", "big", "a\nb", "empty", "scalar"};
  for (int k = 0; k < 7; k++) {
    Tensor *t = k < 5    ? tensor_new(ctx, types[k], k % 2 ? 2 : 1, k % 2 ? shape : three)
                : k == 5 ? tensor_new(ctx, DT_F64, 2, none)
                         : tensor_new(ctx, DT_F64, 0, NULL);
    for (int64_t i = 0; i < t->n; i++)
      tensor_set(t, i, types[k % 5] == DT_BOOL ? (double)(i & 1) : (double)(i - (k == 3 ? 0 : 1)));
    tensors[k] = (NamedTensor){labels[k], t};
  }
  size_t size[2];
  char *bytes[2];
  for (int k = 0; k < 2; k++) {
    OutputFile out;
    ck_assert(output_open(&out, ctx, path) && safetensors_write(&out, tensors, 7) && output_finish(&out));
    bytes[k] = file_read(ctx, path, 1 << 20, &size[k]);
  }
  ck_assert(size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0);
  Source s = source_memory(ctx, "w", bytes[0], size[0]);
  Safetensors index;
  ck_assert_msg(safetensors_index(&s, &index) && index.n == 7, "%s", diag_text(ctx->diags, false));
  for (int k = 0; k < 7; k++) {
    const Tensor *t = tensors[k].tensor, *read = safetensors_load(&s, &index, labels[k]);
    ck_assert(read && read->dtype == t->dtype && read->rank == t->rank);
    ck_assert(memcmp(read->shape, t->shape, sizeof t->shape) == 0);
    ck_assert(t->n == 0 || memcmp(read->data, t->data, (size_t)t->n * dtype_size(t->dtype)) == 0);
  }
  for (int64_t k = 0; k < index.n; k++)
    ck_assert_int_eq(index.entries[k].begin % (int64_t)dtype_size(index.entries[k].type), 0);
  unlink(path);
  rmdir(arena_strndup(ctx->arena, path, strlen(path) - strlen("/w.safetensors")));
}
END_TEST

/* A full device: reported, and nothing is left. */
START_TEST(not_written) {
  OutputFile out;
  Tensor *t = tensor_new(ctx, DT_F32, 1, (int64_t[]){1 << 16});
  ck_assert(output_open(&out, ctx, "/dev/full"));
  ck_assert(!safetensors_write(&out, &(NamedTensor){"t", t}, 1));
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MISSING);
  output_discard(&out);
}
END_TEST

Suite *suite_safetensors(void);
Suite *suite_safetensors(void) {
  Suite *s = suite_create("safetensors");
  TCase *t = tcase_create("safetensors");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, right);
  tcase_add_test(t, names);
  tcase_add_test(t, written);
  tcase_add_test(t, not_written);
  tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
  tcase_add_test(t, header_length);
  tcase_add_test(t, truncated);
  tcase_add_test(t, nested);
  tcase_add_test(t, random_damage);
  suite_add_tcase(s, t);
  return s;
}
