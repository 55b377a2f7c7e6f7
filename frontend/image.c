/* PNG files through libspng, and resampling.
 *
 * Files are hostile: before a picture is decoded its size is limited, and compared with what its file can hold at the
 * highest ratio of deflate, so that no memory is taken on a file's word alone. */
#include "frontend/image.h"
#include "frontend/frontend.h"

#include <math.h>
#include <spng.h>
#include <stdlib.h>

#define DEFLATE_RATIO 1032 /* bytes out of one, at most */
#define CHUNK_BYTES ((size_t)1 << 22)

static bool png_error(Ctx *ctx, const char *path, const char *what) {
  return diag_error(ctx->diags, WEFT_MALFORMED, (Loc){.file = intern_str(ctx, path)}, "PNG: %s", what);
}

/* ---- reading ---- */

static bool check_header(Ctx *ctx, const char *path, const struct spng_ihdr *h, size_t file_bytes) {
  if ((int64_t)h->width * h->height > WEFT_MAX_IMAGE_PIXELS)
    return diag_error(ctx->diags, WEFT_MALFORMED, (Loc){.file = intern_str(ctx, path)},
                      "PNG: %u x %u pixels; at most %lld are read", h->width, h->height,
                      (long long)WEFT_MAX_IMAGE_PIXELS);
  static const int channels[] = {[SPNG_COLOR_TYPE_GRAYSCALE] = 1,
                                 [SPNG_COLOR_TYPE_TRUECOLOR] = 3,
                                 [SPNG_COLOR_TYPE_INDEXED] = 1,
                                 [SPNG_COLOR_TYPE_GRAYSCALE_ALPHA] = 2,
                                 [SPNG_COLOR_TYPE_TRUECOLOR_ALPHA] = 4};
  int64_t bits = (int64_t)h->width * channels[h->color_type] * h->bit_depth;
  if (bits / 8 * h->height / DEFLATE_RATIO > (int64_t)file_bytes)
    return png_error(ctx, path, "the file is too short for the size it gives");
  return true;
}

static Image *decode(Ctx *ctx, const char *path, spng_ctx *png, const void *bytes, size_t size) {
  struct spng_ihdr header;
  size_t decoded;
  int e = spng_set_image_limits(png, WEFT_MAX_IMAGE_SIDE, WEFT_MAX_IMAGE_SIDE);
  e = e ? e : spng_set_chunk_limits(png, CHUNK_BYTES, 4 * CHUNK_BYTES);
  e = e ? e : spng_set_png_buffer(png, bytes, size);
  e = e ? e : spng_get_ihdr(png, &header);
  if (!e && !check_header(ctx, path, &header, size))
    return NULL;
  e = e ? e : spng_decoded_image_size(png, SPNG_FMT_RGB8, &decoded);
  uint8_t *pixels = e ? NULL : arena_alloc(ctx->arena, decoded);
  e = e ? e : spng_decode_image(png, pixels, decoded, SPNG_FMT_RGB8, 0);
  e = e ? e : spng_decode_chunks(png); /* to the end: the last checksum, and whether the file is whole */
  if (e) {
    png_error(ctx, path, spng_strerror(e));
    return NULL;
  }
  Image *image = ARENA_NEW(ctx->arena, Image);
  bool grey = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE || header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
  *image = (Image){header.height, header.width, grey ? 1 : 3, pixels};
  for (int64_t k = 1; grey && k < image->height * image->width; k++) /* the three channels are equal */
    pixels[k] = pixels[3 * k];
  return image;
}

Image *png_read(Ctx *ctx, const char *path) {
  size_t size;
  const char *bytes = file_read(ctx, path, WEFT_MAX_IMAGE_BYTES, &size);
  if (!bytes)
    return NULL;
  if (size < 8 || memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) != 0) {
    png_error(ctx, path, "the file does not start as a PNG does");
    return NULL;
  }
  spng_ctx *png = spng_ctx_new(0);
  WEFT_ASSERT(png);
  Image *image = decode(ctx, path, png, bytes, size);
  spng_ctx_free(png);
  return image;
}

/* ---- writing ---- */

bool png_write(Ctx *ctx, const char *path, const Image *image) {
  spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
  WEFT_ASSERT(png);
  struct spng_ihdr header = {.width = (uint32_t)image->width,
                             .height = (uint32_t)image->height,
                             .bit_depth = 8,
                             .color_type =
                                 image->channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR};
  size_t pixels = (size_t)(image->height * image->width * image->channels), size = 0;
  int e = spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1);
  e = e ? e : spng_set_ihdr(png, &header);
  e = e ? e : spng_encode_image(png, image->pixels, pixels, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
  void *file = e ? NULL : spng_get_png_buffer(png, &size, &e); /* ours to free */
  bool ok =
      e ? diag_error(ctx->diags, WEFT_UNSUPPORTED, (Loc){.file = intern_str(ctx, path)}, "PNG: %s", spng_strerror(e))
        : file_write(ctx, path, file, size);
  free(file);
  spng_ctx_free(png);
  return ok;
}

/* ---- resampling ---- */

/* For each new position the old ones it is made of and their weights, which sum to 1. */
typedef struct {
  int64_t first;
  int n;
  const float *weights;
} Taps;

static Taps *triangle_taps(Ctx *ctx, int64_t from, int64_t to) {
  Taps *taps = ARENA_ARRAY(ctx->arena, Taps, to);
  double step = (double)from / (double)to, radius = step > 1 ? step : 1;
  for (int64_t k = 0; k < to; k++) {
    double centre = ((double)k + 0.5) * step - 0.5, sum = 0;
    int64_t first = (int64_t)ceil(centre - radius), last = (int64_t)floor(centre + radius);
    first = first < 0 ? 0 : first;
    last = last > from - 1 ? from - 1 : last;
    int n = (int)(last - first) + 1;
    float *weights = ARENA_ARRAY(ctx->arena, float, n);
    for (int j = 0; j < n; j++)
      sum += fmax(0, 1 - fabs((double)(first + j) - centre) / radius);
    for (int j = 0; j < n; j++)
      weights[j] = (float)(fmax(0, 1 - fabs((double)(first + j) - centre) / radius) / sum);
    taps[k] = (Taps){first, n, weights};
  }
  return taps;
}

static float *channels_of(Ctx *ctx, const Image *image, int channels) {
  int64_t n = image->height * image->width;
  float *out = ARENA_ARRAY(ctx->arena, float, n *channels);
  for (int64_t k = 0; k < n; k++) {
    const uint8_t *p = &image->pixels[k * image->channels];
    if (image->channels == 3 && channels == 1)
      out[k] = (float)((299 * p[0] + 587 * p[1] + 114 * p[2]) / 1000.0);
    else
      for (int c = 0; c < channels; c++)
        out[k * channels + c] = (float)p[image->channels == 1 ? 0 : c];
  }
  return out;
}

/* to[o][k][i] = the sum over j of weights[j] * from[o][first + j][i]: one axis of three. */
static float *resample_axis(Ctx *ctx, const float *from, int64_t outer, int64_t n, int64_t to, int64_t inner) {
  if (n == to)
    return (float *)(uintptr_t)from;
  const Taps *taps = triangle_taps(ctx, n, to);
  float *out = ARENA_ARRAY(ctx->arena, float, outer *to *inner);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t k = 0; k < to; k++)
      for (int j = 0; j < taps[k].n; j++)
        for (int64_t i = 0; i < inner; i++)
          out[(o * to + k) * inner + i] += taps[k].weights[j] * from[(o * n + taps[k].first + j) * inner + i];
  return out;
}

float *image_resample(Ctx *ctx, const Image *image, int64_t height, int64_t width, int channels) {
  const float *pixels = channels_of(ctx, image, channels);
  pixels = resample_axis(ctx, pixels, image->height, image->width, width, channels);
  return resample_axis(ctx, pixels, 1, image->height, height, width * channels);
}
