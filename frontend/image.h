/* Pictures of 8 bits a channel, in PNG files. */
#ifndef WEFT_FRONTEND_IMAGE_H
#define WEFT_FRONTEND_IMAGE_H

#include "ir/ctx.h"

/* Largest side and number of pixels of a picture, and largest file. */
#define WEFT_MAX_IMAGE_SIDE 16384
#define WEFT_MAX_IMAGE_PIXELS ((int64_t)1 << 26)
#define WEFT_MAX_IMAGE_BYTES ((int64_t)1 << 28)

typedef struct {
  int64_t height, width;
  int channels;    /* 1: grey, 3: red, green, blue */
  uint8_t *pixels; /* rows from the top, channels of a pixel together */
} Image;

/* Any PNG as grey or RGB of 8 bits: palettes are looked up, 16 bits reduced to 8, alpha is dropped, gamma and colour
 * profiles are not applied. NULL after reporting (WEFT_MALFORMED). */
Image *png_read(Ctx *ctx, const char *path);
bool png_write(Ctx *ctx, const char *path, const Image *image);

/* Numbers 0..255, as pixels lie in an Image, in this size and number of channels, 1 or 3. From RGB to grey by the luma
 * of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, not rounded. Bilinear, pixel centres at halves (x + 1/2); where the
 * picture shrinks, the triangle is as wide as the step between new pixels, so that every old pixel counts. */
float *image_resample(Ctx *ctx, const Image *image, int64_t height, int64_t width, int channels);

#endif
