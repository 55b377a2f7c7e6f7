/* Tables of resampling against values worked out by hand from the formulas of the ONNX operator Resize. */
#include <check.h>
#include <math.h>

#include "ir/resize_table.h"

#define ATOL 1e-12

static Ctx *ctx;
static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

static ResizeTable table(ResizeSpec spec, int64_t in, int64_t out, double scale) {
  return resize_table(ctx, &spec, in, out, scale, 0, 1);
}

static void expect_indices(ResizeTable t, int n, const int64_t *expected) {
  ck_assert_int_eq(t.outputs * t.taps, n);
  for (int k = 0; k < n; k++)
    ck_assert_msg(t.indices[k] == expected[k], "index %d is %lld, expected %lld", k, (long long)t.indices[k],
                  (long long)expected[k]);
}
static void expect_weights(ResizeTable t, int n, const double *expected) {
  ck_assert_int_eq(t.outputs * t.taps, n);
  for (int k = 0; k < n; k++)
    ck_assert_msg(fabs(t.weights[k] - expected[k]) <= ATOL, "weight %d is %.15g, expected %.15g", k, t.weights[k],
                  expected[k]);
}
#define INDICES(t, ...)                                                                                                \
  expect_indices(t, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})
#define WEIGHTS(t, ...)                                                                                                \
  expect_weights(t, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

static ResizeSpec nearest(ResizeCoordinates c, ResizeRounding r) {
  return (ResizeSpec){.mode = RESIZE_NEAREST, .coordinates = c, .rounding = r};
}
static ResizeSpec linear(ResizeCoordinates c) {
  return (ResizeSpec){.mode = RESIZE_LINEAR, .coordinates = c};
}
static ResizeSpec cubic(ResizeCoordinates c) {
  return (ResizeSpec){.mode = RESIZE_CUBIC, .coordinates = c, .cubic_a = -0.75};
}

/* The positions of a table of linear weights, base + 1 - (1 - r), where the second tap is not clamped. */
static void expect_positions(ResizeTable t, int n, const double *expected) {
  ck_assert_int_eq(t.outputs, n);
  for (int k = 0; k < n; k++) {
    double p = (double)t.indices[2 * k + 1] - t.weights[2 * k];
    ck_assert_msg(fabs(p - expected[k]) <= ATOL, "position %d is %.15g, expected %.15g", k, p, expected[k]);
  }
}
#define POSITIONS(t, ...)                                                                                              \
  expect_positions(t, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

START_TEST(coordinates) {
  POSITIONS(table(linear(RESIZE_HALF_PIXEL), 8, 2, 0.25), 1.5, 5.5);
  POSITIONS(table(linear(RESIZE_ASYMMETRIC), 9, 2, 0.3), 0, 1 / 0.3);
  POSITIONS(table(linear(RESIZE_TF_HALF_PIXEL_FOR_NN), 5, 2, 0.4), 1.25, 3.75);
  POSITIONS(table(linear(RESIZE_PYTORCH_HALF_PIXEL), 8, 2, 0.25), 1.5, 5.5);
  /* the length 4*0.6 = 2.4 is not rounded here: 1 * 3/1.4 */
  POSITIONS(table(linear(RESIZE_ALIGN_CORNERS), 4, 2, 0.6), 0, 3 / 1.4);
  /* 4/2 * (1 - 2/2.4) = 1/3 further than half_pixel, 1/3 and 2 */
  POSITIONS(table(linear(RESIZE_HALF_PIXEL_SYMMETRIC), 4, 2, 0.6), 2 / 3.0, 7 / 3.0);
  ResizeSpec crop = linear(RESIZE_TF_CROP_AND_RESIZE);
  POSITIONS(resize_table(ctx, &crop, 4, 3, 0.75, 0.4, 0.6), 1.2, 1.5, 1.8);
  POSITIONS(resize_table(ctx, &crop, 4, 1, 0.25, 0.4, 0.6), 1.5);
}
END_TEST

START_TEST(one_output) {
  INDICES(table(nearest(RESIZE_PYTORCH_HALF_PIXEL, RESIZE_FLOOR), 4, 1, 0.25), 0);
  INDICES(table(nearest(RESIZE_HALF_PIXEL, RESIZE_FLOOR), 4, 1, 0.25), 1);
  INDICES(table(nearest(RESIZE_ALIGN_CORNERS, RESIZE_CEIL), 4, 1, 0.25), 0);
}
END_TEST

START_TEST(rounding) { /* positions 0, 0.5, 1, 1.5 (beyond the end from 1.5 up) */
  INDICES(table(nearest(RESIZE_ASYMMETRIC, RESIZE_ROUND_PREFER_FLOOR), 3, 6, 2), 0, 0, 1, 1, 2, 2);
  INDICES(table(nearest(RESIZE_ASYMMETRIC, RESIZE_ROUND_PREFER_CEIL), 3, 6, 2), 0, 1, 1, 2, 2, 2);
  INDICES(table(nearest(RESIZE_ASYMMETRIC, RESIZE_FLOOR), 3, 6, 2), 0, 0, 1, 1, 2, 2);
  INDICES(table(nearest(RESIZE_ASYMMETRIC, RESIZE_CEIL), 3, 6, 2), 0, 1, 1, 2, 2, 2);
  INDICES(table(nearest(RESIZE_HALF_PIXEL, RESIZE_ROUND_PREFER_FLOOR), 2, 4, 2), 0, 0, 1, 1);
  INDICES(table(nearest(RESIZE_TF_HALF_PIXEL_FOR_NN, RESIZE_FLOOR), 4, 2, 0.5), 1, 3);
  /* positions o * 3/7: 0, .43, .86, 1.29, 1.71, 2.14, 2.57, 3 */
  INDICES(table(nearest(RESIZE_ALIGN_CORNERS, RESIZE_FLOOR), 4, 8, 2), 0, 0, 0, 1, 1, 2, 2, 3);
}
END_TEST

START_TEST(inexact_scale) { /* 0.3f is a little more than 0.3: 3/0.3f is 9.9999996 */
  double scale = (double)0.3f;
  INDICES(table(nearest(RESIZE_ASYMMETRIC, RESIZE_FLOOR), 20, 6, scale), 0, 3, 6, 10, 13, 16);
  /* a scale that is no float is exact: 2999 * 3001/3000 is less than 3000 */
  ResizeTable t = table(nearest(RESIZE_ASYMMETRIC, RESIZE_FLOOR), 3001, 3000, 3000.0 / 3001);
  ck_assert_int_eq(t.indices[2999], 2999);
}
END_TEST

START_TEST(linear_weights) {
  ResizeTable t = table(linear(RESIZE_HALF_PIXEL), 2, 4, 2); /* positions -0.25, 0.25, 0.75, 1.25 */
  INDICES(t, 0, 0, 0, 1, 0, 1, 1, 1);
  WEIGHTS(t, 0.25, 0.75, 0.75, 0.25, 0.25, 0.75, 0.75, 0.25);
  ResizeSpec excluding = linear(RESIZE_HALF_PIXEL);
  excluding.exclude_outside = true;
  WEIGHTS(table(excluding, 2, 4, 2), 0, 1, 0.75, 0.25, 0.25, 0.75, 1, 0);
}
END_TEST

START_TEST(cubic_weights) { /* K(1.5) = -0.09375, K(0.5) = 0.59375; r = 1 at the position 0 */
  ResizeTable t = table(cubic(RESIZE_ASYMMETRIC), 4, 3, 2);
  INDICES(t, 0, 0, 0, 1, 0, 0, 1, 2, 0, 0, 1, 2);
  WEIGHTS(t, 0, 0, 1, 0, -0.09375, 0.59375, 0.59375, -0.09375, 0, 0, 1, 0);
  ResizeSpec excluding = cubic(RESIZE_ASYMMETRIC);
  excluding.exclude_outside = true;
  WEIGHTS(table(excluding, 4, 2, 2), 0, 0, 1, 0, 0, 0.59375 / 1.09375, 0.59375 / 1.09375, -0.09375 / 1.09375);
  ResizeSpec half = cubic(RESIZE_ASYMMETRIC);
  half.cubic_a = -0.5; /* K(1.5) = -0.0625, K(0.5) = 0.5625 */
  WEIGHTS(table(half, 4, 2, 2), 0, 0, 1, 0, -0.0625, 0.5625, 0.5625, -0.0625);
}
END_TEST

START_TEST(antialias_weights) { /* positions 0.5, 2.5; taps base - 1 to base + 2 */
  ResizeSpec spec = linear(RESIZE_HALF_PIXEL);
  spec.antialias = true;
  ResizeTable t = table(spec, 4, 2, 0.5);
  INDICES(t, 0, 0, 1, 2, 1, 2, 3, 3);
  WEIGHTS(t, 0.125, 0.375, 0.375, 0.125, 0.125, 0.375, 0.375, 0.125);
  spec.exclude_outside = true;
  WEIGHTS(table(spec, 4, 2, 0.5), 0, 3 / 7.0, 3 / 7.0, 1 / 7.0, 1 / 7.0, 3 / 7.0, 3 / 7.0, 0);
  spec.exclude_outside = false;
  ck_assert_int_eq(resize_taps(&spec, 2), 2); /* not when enlarging */
  WEIGHTS(table(spec, 2, 4, 2), 0.25, 0.75, 0.75, 0.25, 0.25, 0.75, 0.75, 0.25);
  ResizeSpec c = cubic(RESIZE_HALF_PIXEL);
  c.antialias = true;
  ck_assert_int_eq(resize_taps(&c, 0.5), 8);
  t = table(c, 8, 4, 0.5); /* r = 0.5: K at 0.25 (i - r) = 1.75, 1.25, 0.75, 0.25 and the same back */
  double k[4] = {-0.03515625, -0.10546875, 0.26171875, 0.87890625}, sum = 2 * (k[0] + k[1] + k[2] + k[3]);
  for (int j = 0; j < 8; j++)
    ck_assert_double_eq_tol(t.weights[j], k[j < 4 ? j : 7 - j] / sum, ATOL);
}
END_TEST

START_TEST(outside) { /* positions 0, 1.5, 3, 4.5 of 0..3 */
  ResizeSpec spec = linear(RESIZE_TF_CROP_AND_RESIZE);
  ResizeTable t = resize_table(ctx, &spec, 4, 4, 1, 0, 1.5);
  ck_assert_ptr_nonnull(t.outside);
  for (int o = 0; o < 4; o++)
    ck_assert_int_eq(t.outside[o], o == 3);
  ck_assert_ptr_null(resize_table(ctx, &spec, 4, 4, 1, 0, 1).outside);
  spec = linear(RESIZE_HALF_PIXEL);
  ck_assert_ptr_null(table(spec, 2, 4, 2).outside);
}
END_TEST

START_TEST(far_outside) { /* every index stays an index */
  ResizeSpec spec = cubic(RESIZE_TF_CROP_AND_RESIZE);
  spec.exclude_outside = true;
  ResizeTable t = resize_table(ctx, &spec, 4, 8, 2, -1e30, 1e30);
  for (int k = 0; k < 32; k++) {
    ck_assert(t.indices[k] >= 0 && t.indices[k] < 4);
    ck_assert(isfinite(t.weights[k]));
  }
  spec.antialias = true;
  ck_assert(resize_taps(&spec, 1e-300) > ((int64_t)1 << 40));
}
END_TEST

START_TEST(names) {
  ck_assert_int_eq(resize_mode_find("cubic", 5), RESIZE_CUBIC);
  ck_assert_int_eq(resize_mode_find("cubics", 6), -1);
  ck_assert_int_eq(resize_coordinates_find("half_pixel", 10), RESIZE_HALF_PIXEL);
  ck_assert_int_eq(resize_coordinates_find("half_pixel_symmetric", 20), RESIZE_HALF_PIXEL_SYMMETRIC);
  ck_assert_int_eq(resize_coordinates_find("tf_crop_and_resize", 18), RESIZE_TF_CROP_AND_RESIZE);
  ck_assert_int_eq(resize_coordinates_find("centre", 6), -1);
  ck_assert_int_eq(resize_rounding_find("ceil", 4), RESIZE_CEIL);
  ck_assert_int_eq(resize_rounding_find("round_prefer_ceil", 17), RESIZE_ROUND_PREFER_CEIL);
}
END_TEST

Suite *suite_resize_table(void);
Suite *suite_resize_table(void) {
  Suite *s = suite_create("resize_table");
  TCase *t = tcase_create("tables");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, coordinates);
  tcase_add_test(t, one_output);
  tcase_add_test(t, rounding);
  tcase_add_test(t, inexact_scale);
  tcase_add_test(t, linear_weights);
  tcase_add_test(t, cubic_weights);
  tcase_add_test(t, antialias_weights);
  tcase_add_test(t, outside);
  tcase_add_test(t, far_outside);
  tcase_add_test(t, names);
  suite_add_tcase(s, t);
  return s;
}
