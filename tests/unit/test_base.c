/* The arena, growable arrays, text with floats and quoting, spelling suggestions, interning. */
#include "ir/ctx.h"

#include <check.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t rng_state;

static void rng_start(void) {
  const char *seed = getenv("WEFT_SEED");
  rng_state = seed ? strtoull(seed, NULL, 10) : 20240611;
  printf("seed %" PRIu64 "\n", rng_state);
}

/* splitmix64 */
static uint64_t rng(void) {
  uint64_t z = (rng_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

START_TEST(arena_blocks_are_zero_aligned_and_apart) {
  rng_start();
  Arena *arena = arena_create();
  enum { COUNT = 2000 };
  static unsigned char *blocks[COUNT];
  static size_t sizes[COUNT];
  size_t total = 0;
  for (size_t i = 0; i < COUNT; i++) {
    sizes[i] = (size_t)(rng() % (i % 50 == 0 ? 100000 : 200));
    total += sizes[i];
    blocks[i] = arena_alloc(arena, sizes[i]);
    ck_assert_uint_eq((uintptr_t)blocks[i] % (sizes[i] >= 64 ? 64 : 16), 0);
    for (size_t j = 0; j < sizes[i]; j++)
      ck_assert_uint_eq(blocks[i][j], 0);
    memset(blocks[i], (int)(i % 255) + 1, sizes[i]);
  }
  for (size_t i = 0; i < COUNT; i++)
    for (size_t j = 0; j < sizes[i]; j++)
      ck_assert_uint_eq(blocks[i][j], i % 255 + 1);
  ck_assert_uint_eq(arena_used(arena), total);
  arena_destroy(arena);
}
END_TEST

START_TEST(arena_large_block_first_and_size_zero) {
  Arena *arena = arena_create();
  char *large = arena_alloc(arena, (size_t)32 << 20);
  large[((size_t)32 << 20) - 1] = 1;
  ck_assert_ptr_nonnull(arena_alloc(arena, 0));
  char *small = arena_alloc(arena, 64);
  memset(small, 1, 64);
  ck_assert_int_eq(large[0], 0);
  arena_destroy(arena);
  arena_destroy(NULL);
}
END_TEST

START_TEST(out_of_memory_exits) {
  arena_alloc(arena_create(), PTRDIFF_MAX);
}
END_TEST

START_TEST(array_overflow_is_a_bug) {
  arena_alloc_array(arena_create(), SIZE_MAX / 2, 4);
}
END_TEST

START_TEST(failed_assertion_is_a_bug) {
  WEFT_ASSERT(1 + 1 == 3);
}
END_TEST

START_TEST(vec_keeps_what_is_pushed) {
  Arena *arena = arena_create();
  VEC(int) v = {0};
  for (int i = 0; i < 10000; i++)
    vec_push(arena, &v, i * 7);
  ck_assert_uint_eq(v.len, 10000);
  for (int i = 0; i < 10000; i++)
    ck_assert_int_eq(v.data[i], i * 7);
  arena_destroy(arena);
}
END_TEST

START_TEST(str_grows_and_stays_terminated) {
  Arena *arena = arena_create();
  Str s = str_new(arena);
  ck_assert_str_eq(s.data, "");
  for (int i = 0; i < 1000; i++) {
    str_printf(&s, "%d,", i);
    ck_assert_uint_eq(strlen(s.data), s.len);
  }
  ck_assert_int_eq(memcmp(s.data, "0,1,2,3,", 8), 0);
  ck_assert_str_eq(s.data + s.len - 8, "998,999,");
  ck_assert_str_eq(arena_printf(arena, "%s-%d", "a", 5), "a-5");
  arena_destroy(arena);
}
END_TEST

static const char *float_text(Arena *arena, double value, bool is_f32) {
  Str s = str_new(arena);
  str_put_float(&s, value, is_f32);
  return s.data;
}

START_TEST(floats_print_as_expected) {
  Arena *arena = arena_create();
  static const struct {
    double value;
    bool is_f32;
    const char *text;
  } cases[] = {
      {0.0, false, "0.0"},
      {-0.0, false, "-0.0"},
      {1.0, false, "1.0"},
      {-1.5, true, "-1.5"},
      {0.1, true, "0.1"},
      {0.1, false, "0.1"},
      {(double)0.1f, false, "0.10000000149011612"},
      {100.0, true, "100.0"},
      {123456.789, false, "123456.789"},
      {0.001, false, "0.001"},
      {0.0001, false, "0.0001"},
      {0.00001, false, "1e-5"},
      {1e15, false, "1000000000000000.0"},
      {1e16, false, "1e16"},
      {1.25e22, false, "1.25e22"},
      {5e-324, false, "5e-324"},
      {1.401298464324817e-45, true, "1e-45"},
      {1.7976931348623157e308, false, "1.7976931348623157e308"},
      {3.4028234663852886e38, true, "3.4028235e38"},
      {9007199254740993.0, false, "9007199254740992.0"},
      {9.5367431640625e-07, false, "9.5367431640625e-7"},
      {INFINITY, false, "inf"},
      {-INFINITY, true, "-inf"},
      {NAN, true, "nan"},
      {-NAN, true, "nan"},
      {1e300, true, "inf"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_str_eq(float_text(arena, cases[i].value, cases[i].is_f32), cases[i].text);
  arena_destroy(arena);
}
END_TEST

static void check_round_trip_f64(Arena *arena, double value) {
  const char *text = float_text(arena, value, false);
  double back = strtod(text, NULL);
  ck_assert_msg(memcmp(&back, &value, sizeof value) == 0, "%a printed as %s", value, text);
  ck_assert_msg(strpbrk(text, ".e") != NULL, "%s reads as an integer", text);
}

static void check_round_trip_f32(Arena *arena, float value) {
  const char *text = float_text(arena, (double)value, true);
  float back = strtof(text, NULL);
  ck_assert_msg(memcmp(&back, &value, sizeof value) == 0, "%a printed as %s", (double)value, text);
  ck_assert_msg(strpbrk(text, ".e") != NULL, "%s reads as an integer", text);
}

/* Significant digits of a decimal. */
static int significant(const char *text) {
  int n = 0, zeros = 0;
  for (; *text && *text != 'e'; text++) {
    if (*text < '0' || *text > '9' || (*text == '0' && n == 0))
      continue;
    if (*text == '0') {
      zeros++;
    } else {
      n += zeros + 1;
      zeros = 0;
    }
  }
  return n;
}

START_TEST(floats_round_trip) {
  rng_start();
  for (int round = 0; round < 20; round++) {
    Arena *arena = arena_create();
    for (int i = 0; i < 1000; i++) {
      uint64_t bits = rng();
      double d;
      memcpy(&d, &bits, sizeof d);
      if (isfinite(d)) {
        check_round_trip_f64(arena, d);
        check_round_trip_f64(arena, ldexp(1.0 + (double)(i % 3), (int)(bits % 600) - 300));
      }
      uint32_t low = (uint32_t)(bits >> 13);
      float f;
      memcpy(&f, &low, sizeof f);
      if (isfinite(f)) {
        check_round_trip_f32(arena, f);
        check_round_trip_f32(arena, (float)(i - 500) / 64);
      }
    }
    arena_destroy(arena);
  }
}
END_TEST

START_TEST(floats_are_shortest) {
  rng_start();
  Arena *arena = arena_create();
  for (int i = 0; i < 3000; i++) {
    int digits = 1 + (int)(rng() % 15);
    char text[64];
    snprintf(text, sizeof text, "%.*e", digits - 1, (double)(rng() % 1000000007) * pow(10, (double)(rng() % 40) - 20));
    ck_assert_msg(significant(float_text(arena, strtod(text, NULL), false)) <= digits, "%s", text);
    int short_digits = 1 + (int)(rng() % 6);
    snprintf(text, sizeof text, "%.*e", short_digits - 1, (double)(rng() % 1000003) * 1e-3);
    ck_assert_msg(significant(float_text(arena, (double)strtof(text, NULL), true)) <= short_digits, "%s", text);
  }
  /* Below a power of two the floats are denser: the decimal nearest to 2^-1017 with 16 digits does not read back. */
  ck_assert_str_eq(float_text(arena, ldexp(1, -1017), false), "7.120236347223045e-307");
  arena_destroy(arena);
}
END_TEST

START_TEST(floats_ignore_the_locale) {
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
  Arena *arena = arena_create();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    setlocale(LC_NUMERIC, names[i]);
  ck_assert_str_eq(float_text(arena, -1234.5625, true), "-1234.5625");
  ck_assert_str_eq(float_text(arena, 6.25e-30, false), "6.25e-30");
  setlocale(LC_NUMERIC, "C");
  arena_destroy(arena);
}
END_TEST

START_TEST(quoting_escapes) {
  Arena *arena = arena_create();
  Str s = str_new(arena);
  str_put_quoted(&s, "a\"b\\c\nd\te\x01\x7f\r \xc3\xa9 \xff \xe2\x82 \xed\xa0\x80");
  ck_assert_str_eq(s.data, "\"a\\\"b\\\\c\\nd\\te\\x01\\x7f\\x0d \xc3\xa9 \\xff \\xe2\\x82 \\xed\\xa0\\x80\"");
  s = str_new(arena);
  str_put_quoted(&s, "");
  ck_assert_str_eq(s.data, "\"\"");
  arena_destroy(arena);
}
END_TEST

START_TEST(utf8_lengths) {
  ck_assert_uint_eq(utf8_length("a", 1), 1);
  ck_assert_uint_eq(utf8_length("", 0), 0);
  ck_assert_uint_eq(utf8_length("\xc3\xa9", 2), 2);
  ck_assert_uint_eq(utf8_length("\xc3\xa9", 1), 0);
  ck_assert_uint_eq(utf8_length("\xe2\x82\xac", 3), 3);
  ck_assert_uint_eq(utf8_length("\xf0\x9f\x98\x80", 4), 4);
  ck_assert_uint_eq(utf8_length("\xc0\xaf", 2), 0);
  ck_assert_uint_eq(utf8_length("\xe0\x80\x80", 3), 0);
  ck_assert_uint_eq(utf8_length("\xf4\x90\x80\x80", 4), 0);
  ck_assert_uint_eq(utf8_length("\x80", 1), 0);
}
END_TEST

START_TEST(nearest_words) {
  static const char *const known[] = {"relu", "tanh", "conv2d", "conv2d_transpose", "leaky_relu"};
  ck_assert_str_eq(nearest_word("rleu", known, 5), "relu");
  ck_assert_str_eq(nearest_word("relu", known, 5), "relu");
  ck_assert_str_eq(nearest_word("con2d", known, 5), "conv2d");
  ck_assert_str_eq(nearest_word("conv2d_transposed", known, 5), "conv2d_transpose");
  ck_assert_str_eq(nearest_word("leakyrelu", known, 5), "leaky_relu");
  ck_assert_ptr_null(nearest_word("softmax", known, 5));
  ck_assert_ptr_null(nearest_word("", known, 5));
  ck_assert_ptr_null(nearest_word("relu", known, 0));
  char hostile[100000];
  memset(hostile, 'r', sizeof hostile);
  hostile[sizeof hostile - 1] = '\0';
  ck_assert_ptr_null(nearest_word(hostile, known, 5));
}
END_TEST

START_TEST(checked_and_euclidean_arithmetic) {
  int64_t out;
  ck_assert(!mul_i64(INT64_MAX, 2, &out) && !add_i64(INT64_MAX, 1, &out) && !sub_i64(INT64_MIN, 1, &out));
  for (int64_t a = -20; a <= 20; a++)
    for (int64_t b = 1; b <= 7; b++) {
      int64_t r = floormod_i64(a, b);
      ck_assert(r >= 0 && r < b && floordiv_i64(a, b) * b + r == a);
      ck_assert(ceildiv_i64(a, b) * b >= a && (ceildiv_i64(a, b) - 1) * b < a);
    }
}
END_TEST

START_TEST(strings_are_interned) {
  Ctx *ctx = ctx_create();
  static const char *first[5000];
  for (int i = 0; i < 5000; i++)
    first[i] = intern_str(ctx, arena_printf(ctx->arena, "name%d", i));
  for (int i = 0; i < 5000; i++) {
    const char *text = arena_printf(ctx->arena, "name%d", i);
    ck_assert_str_eq(first[i], text);
    ck_assert_ptr_eq(first[i], intern_str(ctx, text));
  }
  ck_assert_ptr_eq(intern_strn(ctx, "name42xyz", 6), first[42]);
  ck_assert_ptr_eq(intern_strn(ctx, "name42\0xyz", 10), first[42]);
  ck_assert_ptr_eq(intern_strn(ctx, NULL, 0), intern_str(ctx, ""));
  ck_assert_uint_eq(ctx->strings.n, 5001);
  ctx_destroy(ctx);
  ctx_destroy(NULL);
}
END_TEST

Suite *suite_base(void);
Suite *suite_base(void) {
  Suite *suite = suite_create("base");
  TCase *t = tcase_create("base");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, arena_blocks_are_zero_aligned_and_apart);
  tcase_add_test(t, arena_large_block_first_and_size_zero);
  tcase_add_exit_test(t, out_of_memory_exits, WEFT_MISSING);
  tcase_add_exit_test(t, array_overflow_is_a_bug, WEFT_BUG);
  tcase_add_exit_test(t, failed_assertion_is_a_bug, WEFT_BUG);
  tcase_add_test(t, vec_keeps_what_is_pushed);
  tcase_add_test(t, str_grows_and_stays_terminated);
  tcase_add_test(t, floats_print_as_expected);
  tcase_add_test(t, floats_round_trip);
  tcase_add_test(t, floats_are_shortest);
  tcase_add_test(t, floats_ignore_the_locale);
  tcase_add_test(t, quoting_escapes);
  tcase_add_test(t, utf8_lengths);
  tcase_add_test(t, nearest_words);
  tcase_add_test(t, checked_and_euclidean_arithmetic);
  tcase_add_test(t, strings_are_interned);
  suite_add_tcase(suite, t);
  return suite;
}
