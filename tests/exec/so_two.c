/* Two models in one program, linked by their emitted headers: so.py compiles big.yaml with the prefix `one` and
 * small.yaml with the prefix `Two`, and passes the files with inputs and expected outputs as raw floats.
 *
 *   so_two BIG_INPUT BIG_OUTPUT SMALL_INPUT SMALL_OUTPUT
 *
 * Prints what is wrong, one line each, and exits with 1 then. */
#include "one.h"
#include "two.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int faults;

static void expect(int ok, const char *what) {
  if (ok)
    return;
  printf("%s\n", what);
  faults++;
}

static float *read_floats(const char *path, size_t bytes) {
  float *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
  FILE *f = fopen(path, "rb");
  if (!data || !f || fread(data, 1, bytes, f) != bytes || fgetc(f) != EOF) {
    fprintf(stderr, "%s: cannot be read, or has another size\n", path);
    exit(2);
  }
  fclose(f);
  return data;
}

/* Tolerance: |a-b| <= 1e-5 + 1e-4*|b|. */
static void expect_close(const float *got, const float *expected, size_t n, const char *what) {
  for (size_t k = 0; k < n; k++) {
    double a = (double)got[k], b = (double)expected[k], diff = a < b ? b - a : a - b;
    if (!(diff <= 1e-5 + 1e-4 * (b < 0 ? -b : b))) {
      printf("%s: element %zu is %g, expected %g\n", what, k, a, b);
      faults++;
      return;
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 5)
    return 2;
  float *x1 = read_floats(argv[1], ONE_INPUT_0_BYTES), *y1 = read_floats(argv[2], ONE_OUTPUT_0_BYTES);
  float *x2 = read_floats(argv[3], TWO_INPUT_0_BYTES), *y2 = read_floats(argv[4], TWO_OUTPUT_0_BYTES);
  static _Alignas(64) float out1[ONE_OUTPUT_0_ELEMENTS], out2[TWO_OUTPUT_0_ELEMENTS];
  const void *in1[ONE_INPUTS] = {x1}, *in2[TWO_INPUTS] = {x2};
  void *to1[ONE_OUTPUTS] = {out1}, *to2[TWO_OUTPUTS] = {out2};

  expect(one_abi() == ONE_ABI && Two_abi() == TWO_ABI, "abi differs from the header");
  expect(strstr(one_info(), "\"big\"") != NULL && strstr(Two_info(), "\"small\"") != NULL, "info of another model");
  for (int round = 0; round < 3; round++) {
    memset(out1, 0xff, sizeof out1);
    memset(out2, 0xff, sizeof out2);
    expect(one_run(in1, to1) == 0, "one_run fails");
    expect(Two_run(in2, to2) == 0, "Two_run fails");
    expect_close(out1, y1, ONE_OUTPUT_0_ELEMENTS, "one");
    expect_close(out2, y2, TWO_OUTPUT_0_ELEMENTS, "two");
  }

  size_t bytes = one_workspace_size(NULL, 0);
  expect(bytes > 0, "the big model needs no workspace");
  char *workspace = aligned_alloc(64, (bytes + 127) / 64 * 64);
  memset(out1, 0xff, sizeof out1);
  expect(one_run_in(in1, to1, workspace) == 0, "one_run_in fails");
  expect_close(out1, y1, ONE_OUTPUT_0_ELEMENTS, "one_run_in");
  expect(one_run_in(in1, to1, workspace + 4) == 2, "a workspace at no multiple of 64 is taken");
  expect(strstr(one_error(), "workspace") != NULL, "the error does not name the workspace");
  expect(Two_error()[0] == '\0', "one model's error shows in the other");

  expect(one_set_threads(2) == 2 && one_set_threads(0) == 2, "one_set_threads(2) is not kept");
  expect(Two_set_threads(3) == 3 && one_set_threads(0) == 2, "the models share their number of threads");
  expect(one_run(in1, to1) == 0, "one_run with 2 threads fails");
  expect_close(out1, y1, ONE_OUTPUT_0_ELEMENTS, "one with 2 threads");
  free(workspace);
  free(x1), free(x2), free(y1), free(y2);
  return faults ? 1 : 0;
}
