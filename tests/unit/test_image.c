/* PNG files and resampling: pictures come back as written, damaged ones are refused, and resampling is the formula of
 * its header. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "frontend/frontend.h"
#include "frontend/image.h"

static Ctx *ctx;
static char folder[] = "/tmp/weft-image-XXXXXX";
static const char *path;

static void setup(void) {
  ctx = ctx_create();
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  path = arena_printf(ctx->arena, "%s/p.png", folder);
}

static void teardown(void) {
  unlink(path);
  rmdir(folder);
  ctx_destroy(ctx);
}

static Image picture(int64_t height, int64_t width, int channels) {
  Image image = {height, width, channels, ARENA_ARRAY(ctx->arena, uint8_t, height *width *channels)};
  for (int64_t k = 0; k < height * width * channels; k++)
    image.pixels[k] = (uint8_t)(k * 37 + k * k % 101);
  return image;
}

START_TEST(test_round_trip) {
  for (int channels = 1; channels <= 3; channels += 2)
    for (int64_t width = 1; width < 9; width += 3) {
      Image image = picture(5, width, channels);
      ck_assert(png_write(ctx, path, &image));
      const Image *read = png_read(ctx, path);
      ck_assert_msg(read != NULL, "%s", diag_text(ctx->diags, false));
      ck_assert(read->height == 5 && read->width == width && read->channels == channels);
      ck_assert(memcmp(read->pixels, image.pixels, (size_t)(5 * width * channels)) == 0);
    }
}
END_TEST

static bool refused(const void *bytes, size_t size) {
  ck_assert(file_write(ctx, path, bytes, size));
  size_t before = diag_count(ctx->diags);
  const Image *image = png_read(ctx, path);
  ck_assert((image == NULL) == (diag_count(ctx->diags) > before));
  return image == NULL;
}

/* Cut anywhere; bytes changed anywhere: refused or read, never a crash; a wrong checksum is always noticed. */
START_TEST(test_damage) {
  Image image = picture(7, 6, 3);
  ck_assert(png_write(ctx, path, &image));
  size_t size;
  char *bytes = file_read(ctx, path, 1 << 20, &size);
  for (size_t k = 0; k + 12 < size; k++) /* the last chunk is empty */
    ck_assert_msg(refused(bytes, k), "cut to %zu of %zu bytes", k, size);
  for (size_t k = 8; k < size - 12; k++) {
    bytes[k] ^= 0x10;
    ck_assert_msg(refused(bytes, size), "byte %zu changed", k);
    bytes[k] ^= 0x10;
  }
  ck_assert(!refused(bytes, size));
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
}
END_TEST

static uint32_t crc32_of(const uint8_t *p, size_t n) {
  uint32_t crc = 0xffffffff;
  for (size_t k = 0; k < n; k++) {
    crc ^= p[k];
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

/* Small files of large pictures take no memory. */
START_TEST(test_large) {
  static const struct {
    uint32_t width, height;
    const char *word;
  } cases[] = {{30000, 30000, "exceed"},  {1, 16385, "exceed"},   {16384, 16384, "pixels; at most"},
               {8000, 8000, "too short"}, {0x80000000, 1, "PNG"}, {0, 1, "PNG"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    Image image = picture(1, 1, 3);
    ck_assert(png_write(ctx, path, &image));
    size_t size;
    uint8_t *bytes = (uint8_t *)file_read(ctx, path, 1 << 20, &size);
    for (int j = 0; j < 4; j++) {
      bytes[16 + j] = (uint8_t)(cases[k].width >> (24 - 8 * j));
      bytes[20 + j] = (uint8_t)(cases[k].height >> (24 - 8 * j));
    }
    uint32_t crc = crc32_of(bytes + 12, 17);
    for (int j = 0; j < 4; j++)
      bytes[29 + j] = (uint8_t)(crc >> (24 - 8 * j));
    size_t used = arena_used(ctx->arena);
    ck_assert(refused(bytes, size));
    ck_assert_uint_lt(arena_used(ctx->arena) - used, 1 << 20);
    const char *text = diag_text(ctx->diags, false);
    ck_assert_msg(strstr(text, cases[k].word), "%s: %s", cases[k].word, text);
  }
}
END_TEST

/* RGB to grey as its header says, grey to RGB three times. */
START_TEST(test_channels) {
  uint8_t pixels[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255};
  Image image = {2, 2, 3, pixels};
  const float *grey = image_resample(ctx, &image, 2, 2, 1);
  static const double luma[] = {0.299 * 255, 0.587 * 255, 0.114 * 255, 255};
  for (int k = 0; k < 4; k++)
    ck_assert_double_eq_tol((double)grey[k], luma[k], 1e-5 * 255);
  Image one = {1, 2, 1, pixels};
  const float *rgb = image_resample(ctx, &one, 1, 2, 3);
  ck_assert(rgb[0] == 255 && rgb[1] == 255 && rgb[2] == 255 && rgb[3] == 0 && rgb[4] == 0 && rgb[5] == 0);
}
END_TEST

/* By hand, along both axes. Twice as many: 1/4 and 3/4 of neighbours. Half as many: weights 1, 3, 3, 1 of 8, cut off at
 * the edges. */
START_TEST(test_sizes) {
  uint8_t pixels[] = {0, 80, 160, 240};
  static const float twice[] = {0, 20, 60, 100, 140, 180, 220, 240};
  static const float half[] = {(float)(3 * 0 + 3 * 80 + 160) / 7, (float)(80 + 3 * 160 + 3 * 240) / 7};
  for (int tall = 0; tall < 2; tall++) {
    Image image = {tall ? 4 : 1, tall ? 1 : 4, 1, pixels};
    const float *up = image_resample(ctx, &image, tall ? 8 : 1, tall ? 1 : 8, 1);
    const float *down = image_resample(ctx, &image, tall ? 2 : 1, tall ? 1 : 2, 1);
    for (int k = 0; k < 8; k++)
      ck_assert_float_eq_tol(up[k], twice[k], 1e-4f);
    for (int k = 0; k < 2; k++)
      ck_assert_float_eq_tol(down[k], half[k], 1e-4f);
  }
}
END_TEST

/* One colour stays so in any size. */
START_TEST(test_constant) {
  uint8_t pixels[35];
  memset(pixels, 200, sizeof pixels);
  Image image = {5, 7, 1, pixels};
  for (int64_t h = 1; h < 13; h += 2)
    for (int64_t w = 1; w < 40; w += 3) {
      const float *out = image_resample(ctx, &image, h, w, 1);
      for (int64_t k = 0; k < h * w; k++)
        ck_assert_float_eq_tol(out[k], 200, 1e-3f);
    }
}
END_TEST

Suite *suite_image(void);
Suite *suite_image(void) {
  Suite *s = suite_create("image");
  TCase *t = tcase_create("image");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, test_round_trip);
  tcase_add_test(t, test_damage);
  tcase_add_test(t, test_large);
  tcase_add_test(t, test_channels);
  tcase_add_test(t, test_sizes);
  tcase_add_test(t, test_constant);
  suite_add_tcase(s, t);
  return s;
}
