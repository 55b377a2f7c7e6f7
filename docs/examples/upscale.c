/* Enlarges a grey photo three times with FSRCNN: a program that calls a compiled model through its emitted header.
 *
 *   weft compile docs/examples/fsrcnn_x3/model.yaml -o upscale.so --header upscale.h --prefix upscale
 *   cc -I. docs/examples/upscale.c -L. -l:upscale.so '-Wl,-rpath,$ORIGIN' -lspng -lm -o upscale
 *   ./upscale upscale.so IN.png KNOWN.npy ORIGINAL.png BICUBIC.png OUT.png      (the files of docs/examples/fsrcnn_x3)
 *
 * PSNR = 10 log10(255^2 / mean squared error) of 8-bit pixels, a border of 3 pixels left out, where the zero padding of
 * a convolution and the edge rule of a resampling filter differ. */
#include "upscale.h"
#include "files.h"

enum { SMALL = 120, LARGE = 360, BORDER = 3 };

_Static_assert(UPSCALE_INPUT_0_ELEMENTS == SMALL * SMALL, "the model takes a picture of 120 x 120");
_Static_assert(UPSCALE_OUTPUT_0_ELEMENTS == LARGE * LARGE, "the model makes a picture of 360 x 360");

static uint8_t small[SMALL * SMALL], large[LARGE * LARGE], original[LARGE * LARGE], bicubic[LARGE * LARGE];

static double psnr(const uint8_t *a, const uint8_t *b) {
  double sum = 0;
  for (int y = BORDER; y < LARGE - BORDER; y++)
    for (int x = BORDER; x < LARGE - BORDER; x++) {
      double d = (double)a[y * LARGE + x] - (double)b[y * LARGE + x];
      sum += d * d;
    }
  return 10.0 * log10(255.0 * 255.0 * (LARGE - 2 * BORDER) * (LARGE - 2 * BORDER) / sum);
}

int main(int argc, char **argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: %s MODEL.so IN.png KNOWN.npy ORIGINAL.png BICUBIC.png OUT.png\n", argv[0]);
    return 2;
  }
  float *lr = buffer(UPSCALE_INPUT_0_BYTES), *sr = buffer(UPSCALE_OUTPUT_0_BYTES);
  float *known = buffer(UPSCALE_OUTPUT_0_BYTES);
  png_read(argv[2], small, SMALL, SMALL);
  npy_read(argv[3], known, UPSCALE_OUTPUT_0_ELEMENTS);
  png_read(argv[4], original, LARGE, LARGE);
  png_read(argv[5], bicubic, LARGE, LARGE);
  for (int k = 0; k < SMALL * SMALL; k++)
    lr[k] = (float)small[k] / 255.0f;

  const void *inputs[] = {lr};
  void *outputs[] = {sr};
  double time = median_time(upscale_run, inputs, outputs, upscale_error);
  for (int k = 0; k < LARGE * LARGE; k++)
    large[k] = to_pixel(sr[k]);
  png_write(argv[6], large, LARGE, LARGE);

  printf("upscale: a photo of 120 x 120 pixels enlarged to 360 x 360\n");
  printf("  %.3f ms a run (median of 101, %d threads), %s is %.2f MB\n", time, upscale_set_threads(0), argv[1],
         (double)file_size(argv[1]) * 1e-6);
  int ok = matches(sr, known, UPSCALE_OUTPUT_0_ELEMENTS);
  printf("  PSNR against the original: %.2f dB, bicubic %.2f dB\n", psnr(large, original), psnr(bicubic, original));
  printf("  written to %s\n", argv[6]);
  free(lr);
  free(sr);
  free(known);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
