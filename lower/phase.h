/* The phases of a transposed convolution along one spatial axis (docs/conv2d_transpose.md derives them).
 *
 * stride s, dilation d, kernel K, begin padding p, input extent I, output extent O; mod Euclidean; g = gcd(s, d), s' =
 * s/g, d' = d/g. Phase r in 0..s-1 makes the outputs o = o_r + q*s, 0 <= q < n_r, with o_r = (r - p) mod s      n_r =
 * ceil((O - o_r) / s) Where g does not divide r, no tap meets an input: the bias alone. Else, with r = g*r', k0 = r' *
 * inverse(d' mod s') mod s'     taps k = k0 + j*s', 0 <= j < T     T = ceil((K - k0) / s') b = (o_r + p - k0*d) / s
 * (exact)       input i = b + q - j*d' and tap j is valid for  0 <= b + q - j*d' < I.  So every output is written once
 * and nothing is multiplied by a known zero. */
#ifndef WEFT_LOWER_PHASE_H
#define WEFT_LOWER_PHASE_H

#include "ir/expr.h"

typedef struct {
  int64_t stride, dilation, pad_begin;
  Dim kernel, input, output;
} PhaseAxis;

typedef struct {
  bool taps;             /* false: bias alone */
  const Expr *offset;    /* o_r */
  const Expr *count;     /* n_r */
  const Expr *first_tap; /* k0 */
  const Expr *n_taps;    /* T */
  const Expr *base;      /* b */
  int64_t tap_step;      /* s' */
  int64_t input_step;    /* d' */
} Phase;

int64_t phase_gcd(const PhaseAxis *axis);
/* The phase r where taps: r = g * reduced; else r = reduced, which g does not divide. `reduced` is a constant or holds
 * loop variables; r counts modulo s. */
Phase phase_make(Ctx *ctx, const PhaseAxis *axis, const Expr *reduced, bool taps);

#endif
