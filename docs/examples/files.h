/* What the examples need beside the compiled models: .npy files (float32, little-endian, row-major), grey PNG files
 * through libspng, a clock, and the comparison with known answers. A failure ends the program with a message. */
#ifndef EXAMPLES_FILES_H
#define EXAMPLES_FILES_H

#include <math.h>
#include <spng.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RTOL 1e-3
#define ATOL 1e-5

static inline _Noreturn void fail(const char *file, const char *what) {
  fprintf(stderr, "%s: error: %s\n", file, what);
  exit(EXIT_FAILURE);
}

/* Buffers of a model: 64-byte aligned, as its header recommends. */
static inline void *buffer(size_t bytes) {
  void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!data)
    fail("memory", "out of memory");
  return data;
}

/* Reads exactly n floats of a version 1 .npy file. */
static inline void npy_read(const char *file, float *data, size_t n) {
  unsigned char head[10];
  char text[65536];
  FILE *f = fopen(file, "rb");
  if (!f)
    fail(file, "cannot be opened");
  if (fread(head, 1, 10, f) != 10 || memcmp(head, "\x93NUMPY\x01\x00", 8) != 0)
    fail(file, "is not a version 1 .npy file");
  size_t length = head[8] + 256u * head[9];
  if (fread(text, 1, length, f) != length)
    fail(file, "is truncated");
  text[length] = '\0';
  if (!strstr(text, "'<f4'") || !strstr(text, "'fortran_order': False"))
    fail(file, "is not float32 in row-major order");
  if (fread(data, sizeof *data, n, f) != n || fgetc(f) != EOF)
    fail(file, "does not have the size that the model asks for");
  fclose(f);
}

/* Reads a PNG of exactly this size as 8-bit grey. */
static inline void png_read(const char *file, uint8_t *pixels, uint32_t width, uint32_t height) {
  struct spng_ihdr ihdr;
  FILE *f = fopen(file, "rb");
  spng_ctx *png = spng_ctx_new(0);
  if (!f || !png)
    fail(file, "cannot be opened");
  if (spng_set_png_file(png, f) || spng_get_ihdr(png, &ihdr))
    fail(file, "is not a PNG file");
  if (ihdr.width != width || ihdr.height != height || ihdr.color_type != SPNG_COLOR_TYPE_GRAYSCALE ||
      ihdr.bit_depth != 8)
    fail(file, "is not an 8-bit grey picture of the size that the model asks for");
  if (spng_decode_image(png, pixels, (size_t)width * height, SPNG_FMT_G8, 0))
    fail(file, "is a damaged PNG file");
  spng_ctx_free(png);
  fclose(f);
}

static inline void png_write(const char *file, const uint8_t *pixels, uint32_t width, uint32_t height) {
  struct spng_ihdr ihdr = {.width = width, .height = height, .bit_depth = 8, .color_type = SPNG_COLOR_TYPE_GRAYSCALE};
  FILE *f = fopen(file, "wb");
  spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
  if (!f || !png)
    fail(file, "cannot be opened for writing");
  if (spng_set_png_file(png, f) || spng_set_ihdr(png, &ihdr) ||
      spng_encode_image(png, pixels, (size_t)width * height, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE))
    fail(file, "cannot be written");
  spng_ctx_free(png);
  if (fclose(f) != 0)
    fail(file, "cannot be written");
}

/* 0..255 from a number in 0..1: rounded, clamped. */
static inline uint8_t to_pixel(float v) {
  float p = roundf(v * 255.0f);
  return p >= 255.0f ? 255 : p > 0.0f ? (uint8_t)p : 0;
}

static inline double milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The middle one of the times that `runs` calls take, in milliseconds, after one call that warms up. */
static inline int compare_times(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline double median_time(int (*run)(const void *const *, void *const *), const void *const *inputs,
                                 void *const *outputs, const char *(*error)(void)) {
  enum { RUNS = 101 };
  double times[RUNS];
  if (run(inputs, outputs) != 0)
    fail("the model", error());
  for (int k = 0; k < RUNS; k++) {
    double start = milliseconds();
    if (run(inputs, outputs) != 0)
      fail("the model", error());
    times[k] = milliseconds() - start;
  }
  qsort(times, RUNS, sizeof *times, compare_times);
  return times[RUNS / 2];
}

/* Prints the largest difference; true where |got - known| <= ATOL + RTOL*|known| everywhere. */
static inline int matches(const float *got, const float *known, size_t n) {
  double largest = 0;
  size_t wrong = 0;
  for (size_t k = 0; k < n; k++) {
    double difference = fabs((double)got[k] - (double)known[k]);
    if (!(difference <= ATOL + RTOL * fabs((double)known[k])))
      wrong++;
    if (difference > largest)
      largest = difference;
  }
  printf("  against the known answer: largest difference %.2g in %zu numbers, %zu beyond %g + %g*|known|: %s\n",
         largest, n, wrong, ATOL, RTOL, wrong ? "WRONG" : "ok");
  return wrong == 0;
}

static inline long file_size(const char *file) {
  FILE *f = fopen(file, "rb");
  if (!f || fseek(f, 0, SEEK_END) != 0)
    fail(file, "cannot be read");
  long size = ftell(f);
  fclose(f);
  return size;
}

#endif
