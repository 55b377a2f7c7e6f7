/* Draws the ten digits of the digit GAN: a program that calls a compiled model through its emitted header.
 *
 *   weft compile docs/examples/digits_gan/model.yaml -o digits.so --header digits.h --prefix digits
 *   cc -I. docs/examples/digits.c -L. -l:digits.so '-Wl,-rpath,$ORIGIN' -lspng -lm -o digits
 *   ./digits digits.so docs/examples/digits_gan/input_0.npy docs/examples/digits_gan/output_0.npy digits.png */
#include "digits.h"
#include "files.h"

enum {
  DIGITS = 10,
  ROWS = 2,
  COLUMNS = 5,
  SIDE = 32,
  ZOOM = 4,
  WIDTH = COLUMNS * SIDE * ZOOM,
  HEIGHT = ROWS * SIDE * ZOOM
};

_Static_assert(DIGITS_OUTPUT_0_ELEMENTS == DIGITS * SIDE * SIDE, "the model makes ten pictures of 32 x 32");

static uint8_t picture[HEIGHT][WIDTH];

/* The model's numbers are in -1..1, white on black. */
static void draw(const float *images) {
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) {
      int digit = y / (SIDE * ZOOM) * COLUMNS + x / (SIDE * ZOOM);
      int row = y / ZOOM % SIDE, column = x / ZOOM % SIDE;
      picture[y][x] = to_pixel((images[(digit * SIDE + row) * SIDE + column] + 1.0f) / 2.0f);
    }
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: %s MODEL.so INPUT.npy KNOWN.npy OUT.png\n", argv[0]);
    return 2;
  }
  float *latent = buffer(DIGITS_INPUT_0_BYTES), *images = buffer(DIGITS_OUTPUT_0_BYTES);
  float *known = buffer(DIGITS_OUTPUT_0_BYTES);
  npy_read(argv[2], latent, DIGITS_INPUT_0_ELEMENTS);
  npy_read(argv[3], known, DIGITS_OUTPUT_0_ELEMENTS);

  const void *inputs[] = {latent};
  void *outputs[] = {images};
  double time = median_time(digits_run, inputs, outputs, digits_error);
  draw(images);
  png_write(argv[4], &picture[0][0], WIDTH, HEIGHT);

  printf("digits: ten digits of 32 x 32 pixels\n");
  printf("  %.3f ms a run (median of 101, %d threads), %s is %.2f MB\n", time, digits_set_threads(0), argv[1],
         (double)file_size(argv[1]) * 1e-6);
  int ok = matches(images, known, DIGITS_OUTPUT_0_ELEMENTS);
  printf("  written to %s\n", argv[4]);
  free(latent);
  free(images);
  free(known);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
