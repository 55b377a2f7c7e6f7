/* The halos that convolutions ask for, and the taps with and without, against counting them one by one. */
#include <math.h>

#include "graph_util.h"
#include "ir/ops/conv_halo.h"

typedef struct {
  int64_t first, last; /* inputs read */
  double all, valid;
} Count;

static Count count(const HaloAxis *a, bool transposed) {
  Count c = {INT64_MAX, INT64_MIN, 0, 0};
  for (int64_t o = 0; o < a->output; o++)
    for (int64_t k = 0; k < a->kernel; k++) {
      int64_t i = o * a->stride + k * a->dilation - a->pad;
      if (transposed) {
        int64_t n = o + a->pad - k * a->dilation;
        if (n % a->stride != 0)
          continue;
        i = n / a->stride;
      }
      c.all++;
      c.valid += i >= 0 && i < a->input;
      c.first = i < c.first ? i : c.first;
      c.last = i > c.last ? i : c.last;
    }
  return c;
}

START_TEST(against_counting) {
  start_random(51);
  int some = 0;
  for (int round = 0; round < 20000; round++) {
    bool transposed = round % 2;
    HaloAxis a = {random_in(1, 5), random_in(1, 4), random_in(-3, 9), random_in(1, 6), random_in(1, 12), random_in(1, 20)};
    Count c = count(&a, transposed);
    Halo halo = conv_halo_axis(&a, transposed);
    double all, valid;
    conv_halo_taps(&a, transposed, &all, &valid);
    ck_assert_msg(all == c.all && valid == c.valid, "round %d: %g of %g taps, expected %g of %g", round, valid, all,
                  c.valid, c.all);
    if (c.all == 0)
      continue;
    if (a.output <= (transposed ? a.stride : 1)) {
      ck_assert(halo.lo == 0 && halo.hi == 0);
      continue;
    }
    int64_t lo = c.first < 0 ? -c.first : 0, hi = c.last >= a.input ? c.last - a.input + 1 : 0;
    ck_assert_msg(halo.lo == lo && halo.hi == hi, "round %d: halo (%d,%d), expected (%d,%d)", round, (int)halo.lo,
                  (int)halo.hi, (int)lo, (int)hi);
    some += lo > 0 && hi > 0;
  }
  ck_assert_int_gt(some, 1000);
}
END_TEST

START_TEST(finite_elements) {
  static const struct {
    DType dtype;
    double bad;
  } cases[] = {{DT_F16, INFINITY}, {DT_F16, NAN},       {DT_BF16, INFINITY}, {DT_BF16, NAN}, {DT_F32, -INFINITY},
               {DT_F32, NAN},      {DT_F64, -INFINITY}, {DT_F64, NAN}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    double room[5];
    DType dtype = cases[k].dtype;
    for (int i = 0; i < 5; i++)
      dtype_store(dtype, room, i, (ScalarValue){.f = i % 2 ? 0.0 : -60000});
    ck_assert(dtype_all_finite(dtype, room, 5));
    dtype_store(dtype, room, 4, (ScalarValue){.f = cases[k].bad});
    ck_assert(!dtype_all_finite(dtype, room, 5) && dtype_all_finite(dtype, room, 4));
  }
  ck_assert(dtype_all_finite(DT_I32, (int32_t[]){-1, 0x7f800000}, 2));
}
END_TEST

Suite *suite_conv_halo(void);
Suite *suite_conv_halo(void) {
  Suite *suite = suite_create("conv_halo");
  TCase *t = tcase_create("conv_halo");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, against_counting);
  tcase_add_test(t, finite_elements);
  suite_add_tcase(suite, t);
  return suite;
}
