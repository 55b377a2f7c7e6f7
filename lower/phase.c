/* The phase formula. See phase.h. */
#include "lower/phase.h"

int64_t phase_gcd(const PhaseAxis *axis) {
  int64_t a = axis->stride, b = axis->dilation;
  while (b) {
    int64_t t = a % b;
    a = b;
    b = t;
  }
  return a;
}

/* The inverse of a modulo m, gcd(a, m) = 1, by the extended Euclidean algorithm; 0 for m = 1. */
static int64_t inverse_mod(int64_t a, int64_t m) {
  if (m == 1)
    return 0;
  int64_t r0 = m, r1 = floormod_i64(a, m), t0 = 0, t1 = 1;
  while (r1 > 1) {
    int64_t q = r0 / r1, r2 = r0 - q * r1, t2 = t0 - q * t1;
    r0 = r1, r1 = r2, t0 = t1, t1 = t2;
  }
  return floormod_i64(t1, m);
}

Phase phase_make(Ctx *ctx, const PhaseAxis *axis, const Expr *reduced, bool taps) {
  int64_t g = phase_gcd(axis), s = axis->stride;
  Phase p = {.taps = taps, .tap_step = s / g, .input_step = axis->dilation / g};
  const Expr *zero = expr_const(ctx, 0);
  const Expr *r = taps ? expr_mul_const(ctx, reduced, g) : reduced;
  p.offset = expr_mod_const(ctx, expr_add_const(ctx, r, -axis->pad_begin), s);
  p.count = expr_max(ctx, zero, expr_ceildiv_const(ctx, expr_sub(ctx, axis->output, p.offset), s));
  if (!taps) {
    p.first_tap = p.n_taps = p.base = zero;
    return p;
  }
  p.first_tap = expr_mod_const(ctx, expr_mul_const(ctx, reduced, inverse_mod(p.input_step, p.tap_step)), p.tap_step);
  p.n_taps = expr_max(ctx, zero, expr_ceildiv_const(ctx, expr_sub(ctx, axis->kernel, p.first_tap), p.tap_step));
  const Expr *at = expr_add_const(ctx, p.offset, axis->pad_begin);
  if (axis->dilation != 1) /* else k0 is the remainder of the division */
    at = expr_sub(ctx, at, expr_mul_const(ctx, p.first_tap, axis->dilation));
  p.base = expr_floordiv_const(ctx, at, s);
  return p;
}
