/* Intrinsics as polynomials, written in the scalar language itself, so that every target computes the same. The
 * polynomials are of f32; sigmoid is written over exp for any float type.
 *
 * A function of the table below stands for its text; its parameters are `let`, since nodes are shared. A function whose
 * name is an intrinsic's is that intrinsic's expansion and may use other intrinsics, which are expanded in turn.
 *
 * exp: x = n*ln 2 + r with n = floor(x/ln 2 + 1/2), |r| <= ln(2)/2, ln 2 in two parts so that r is exact to an ulp;
 *   exp(r) = 1 + r + r^2*q(r), q the minimax polynomial of degree 4 (relative error 2^-28.2); times 2^n in two factors,
 *   since 2^n alone leaves the range of normal numbers before the result does. The argument is first limited to where
 *   the result is 0 or infinite anyway; the comparisons let a NaN through.
 * tanh: |x| < 0.6: x*(1 + x^2*p(x^2)), p minimax of degree 4 (relative error 2^-28.4); beyond, 1 - 2/(exp(2|x|) + 1)
 * with the sign of x: no cancellation, as the result is over 1/2. sigmoid: t = exp(-|x|) never overflows; t/(1 + t)
 * left of 0, 1/(1 + t) right of it, so that small results are accurate.
 * log: x = 2^e*m with m in [sqrt(1/2), sqrt(2)) (denormal numbers are scaled first), f = m - 1, which is exact;
 *   log(x) = f - f^2/2 + f^3*p(f) + e*ln 2, p minimax of degree 7 (relative error 2^-27.4); ln 2 in two parts, of which
 *   the first has 9 bits, so that its product with e is exact.
 * erf: |x| < 0.9: x + x*p(x^2), p minimax of degree 6 (relative error 2^-31.7); beyond, 1 - exp(q(|x|)) with the sign
 * of x, q the minimax polynomial of degree 7 of log(erfc), weighted by erfc (2^-34); from 4 on the result is 1.
 *
 * The polynomials were fitted by Remez exchange in 60 digits and their coefficients rounded to float. */
#include "ir/scalar_walk.h"

typedef struct {
  const char *name;
  int n;
  const char *params[3];
  const char *text;
} Function;

/* Each may call those before it. */
static const Function functions[] = {
    {"exp_tail",
     1,
     {"r"},
     "fma(r, fma(r, fma(r, fma(r, 0.001381454, 0.008368745), 0.04166839), 0.16666521), 0.49999994)"},
    {"exp_core", 1, {"r"}, "fma(r, fma(r, exp_tail(r), 1), 1)"},
    {"scale", 3, {"y", "n", "half"}, "y * exp2i(half) * exp2i(n - half)"},
    {"exp_rest",
     2,
     {"x", "n"},
     "scale(exp_core(fma(n, 1.904654323148236e-9, fma(n, -0.693147182464599609375, x))), n, floor(n * 0.5))"},
    {"exp_limited", 1, {"x"}, "exp_rest(x, floor(fma(x, 1.44269504, 0.5)))"},
    {"exp", 1, {"x"}, "exp_limited(select(x > 89, 89, select(x < -104, -104, x)))"},
    {"tanh_tail",
     1,
     {"u"},
     "fma(u, fma(u, fma(u, fma(u, -0.0058951583, 0.020795971), -0.05378383), 0.13331924), -0.333333)"},
    {"tanh_small", 2, {"x", "u"}, "x * fma(u, tanh_tail(u), 1)"},
    {"with_sign", 2, {"y", "x"}, "select(x < 0, -y, y)"},
    {"tanh", 1, {"x"}, "select(abs(x) < 0.6, tanh_small(x, x * x), with_sign(1 - 2 / (exp(2 * abs(x)) + 1), x))"},
    {"log_tail",
     1,
     {"f"},
     "fma(f, fma(f, fma(f, fma(f, fma(f, fma(f, fma(f, -0.076345399, 0.127616122), -0.131601825), 0.142017528),"
     " -0.166233569), 0.200012267), -0.250008196), 0.333333313)"},
    {"log_sum",
     2,
     {"f", "e"},
     "fma(e, 0.693359375, f + fma(-0.5, f * f, fma(e, -0.00021219444005, f * f * f * log_tail(f))))"},
    {"log_centred", 2, {"m", "e"}, "log_sum(select(m > 1.4142135, m * 0.5, m) - 1, select(m > 1.4142135, e + 1, e))"},
    {"log_scaled", 3, {"x", "e", "less"}, "log_centred(scale(x, -e, floor(e * -0.5)), e - less)"},
    {"log_normal", 2, {"x", "less"}, "log_scaled(x, exponent(x), less)"},
    {"log_positive",
     1,
     {"x"},
     "log_normal(select(x < 1.1754944e-38, x * 16777216, x), select(x < 1.1754944e-38, 24, 0))"},
    {"log",
     1,
     {"x"},
     "select(x > 0, select(x < inf, log_positive(x), x), select(x < 0, nan, select(x == 0, -inf, x)))"},
    {"erf_tail",
     1,
     {"u"},
     "fma(u, fma(u, fma(u, fma(u, fma(u, fma(u, 8.51310469e-05, -0.000817563967), 0.00520385941), -0.0268605091),"
     " 0.112837151), -0.376126349), 0.128379166)"},
    {"log_erfc",
     1,
     {"t"},
     "fma(t, fma(t, fma(t, fma(t, fma(t, fma(t, fma(t, -2.09094615e-05, 0.000432301953), -0.00416052202),"
     " 0.0250914842), -0.108236603), -0.633386672), -1.12949514), 0.000170550586)"},
    {"erf",
     1,
     {"x"},
     "select(abs(x) < 0.9, fma(x, erf_tail(x * x), x),"
     " with_sign(1 - exp(log_erfc(select(abs(x) > 4, 4, abs(x)))), x))"},
    {"sigmoid_rest", 2, {"x", "t"}, "select(x < 0, t, 1) / (1 + t)"},
    {"sigmoid", 1, {"x"}, "sigmoid_rest(x, exp(-abs(x)))"},
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };
_Static_assert(N_FUNCTIONS <= sizeof((Ctx){0}).function_cache[0] / sizeof(void *), "one cache slot for each function");

static const Scalar *function_body(Ctx *ctx, int k, DType dtype);

static const Scalar *call(Ctx *ctx, const char *name, size_t len, const Scalar *const *args, int n) {
  for (int k = 0; k < N_FUNCTIONS; k++)
    if (functions[k].n == n && strlen(functions[k].name) == len && memcmp(functions[k].name, name, len) == 0)
      return scalar_subst(ctx, function_body(ctx, k, args[0]->dtype), args);
  return NULL;
}

/* The body over SC_ARG of a type, free of intrinsics that expand, parsed once in each Ctx. */
static const Scalar *function_body(Ctx *ctx, int k, DType dtype) {
  void **cached = &ctx->function_cache[dtype != DT_F32][k];
  if (!*cached) {
    const Scalar *params[3];
    for (int j = 0; j < functions[k].n; j++)
      params[j] = scalar_arg_typed(ctx, j, dtype);
    const char *why = NULL;
    const Scalar *body =
        scalar_parse_calls(ctx, functions[k].text, functions[k].params, params, functions[k].n, call, &why);
    if (!body)
      weft_bug(__FILE__, __LINE__, "function %s: %s", functions[k].name, why);
    *cached = scalar_scratch(scalar_expand(ctx, body));
  }
  return *cached;
}

static const Scalar *expand(Ctx *ctx, const Scalar *s, uint64_t walk) {
  if (s->n == 0)
    return s;
  if (s->visit == walk)
    return s->memo.node;
  const Scalar *args[3] = {NULL};
  for (int k = 0; k < s->n; k++)
    args[k] = expand(ctx, s->args[k], walk);
  const Scalar *result;
  if (scalar_op_expands(s->op, s->dtype)) {
    const char *name = scalar_op_name(s->op);
    result = call(ctx, name, strlen(name), args, s->n);
    WEFT_ASSERT(result != NULL);
  } else {
    result = scalar_remake(ctx, s, args);
  }
  Scalar *scratch = scalar_scratch(s);
  scratch->visit = walk;
  scratch->memo.node = result;
  return result;
}

const Scalar *scalar_expand(Ctx *ctx, const Scalar *s) {
  return expand(ctx, s, scalar_walk_number());
}
