/* bit_cast: types, refusals, values by hand, and every pattern of 16 bits through f16 and bf16 at every stage. */
#include "op_help.h"

static Ctx *ctx;
static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}
#define COUNT(a) (sizeof(a) / sizeof *(a))

static const TypeCase good[] = {
    {"%x: f32[4,5]", "bit_cast(%x) {to = i32}", "i32[4,5]"},
    {"%x: bool[N]", "bit_cast(%x) {to = u8}", "u8[N]"},
    {"%x: f16[]", "bit_cast(%x) {to = bf16}", "bf16[]"},
    {"%x: i64[0]", "bit_cast(%x) {to = f64}", "f64[0]"},
};

START_TEST(types) {
  expect_type(ctx, &good[_i]);
}
END_TEST

static const TypeCase bad[] = {
    {"%x: f32[4]", "bit_cast(%x) {to = i64}",
     "bit_cast: x is f32[4], of 32 bits each, which cannot be those of i64, 64 bits each"},
    {"%x: bool[4]", "bit_cast(%x) {to = f16}", "x is bool[4], of 8 bits each"},
    {"%x: bool[4]", "bit_cast(%x)", "attribute 'to' is required"},
};

START_TEST(refused) {
  expect_refusal(ctx, &bad[_i]);
}
END_TEST

typedef struct {
  TypeCase op;
  double x[4], expected[4];
} ValueCase;

static const ValueCase valued[] = {
    {{"%x: f32[4]", "bit_cast(%x) {to = i32}", "i32[4]"},
     {1, -0.0, INFINITY, -2},
     {0x3f800000, INT32_MIN, 0x7f800000, -0x40000000}},
    {{"%x: f32[2]", "bit_cast(%x) {to = u32}", "u32[2]"}, {-0.0, 0x1p-149}, {0x80000000, 1}},
    {{"%x: u32[2]", "bit_cast(%x) {to = f32}", "f32[2]"}, {0x3f800000, 0xff800000}, {1, -(double)INFINITY}},
    {{"%x: i32[2]", "bit_cast(%x) {to = f32}", "f32[2]"}, {0x7fc00000, -0x40000000}, {NAN, -2}},
    {{"%x: f64[2]", "bit_cast(%x) {to = i64}", "i64[2]"}, {2, -0.0}, {0x1p62, -0x1p63}},
    {{"%x: i64[2]@a", "bit_cast(%x) {to = f64}", "f64[2]"}, {0x1p62, 0}, {2, 0}},
    {{"%x: i8[3]", "bit_cast(%x) {to = u8}", "u8[3]"}, {-1, 5, -128}, {255, 5, 128}},
    {{"%x: u16[2]", "bit_cast(%x) {to = i16}", "i16[2]"}, {65535, 5}, {-1, 5}},
    {{"%x: bool[2]", "bit_cast(%x) {to = i8}", "i8[2]"}, {1, 0}, {1, 0}},
    {{"%x: u8[3]", "bit_cast(%x) {to = bool}", "bool[3]"}, {1, 0, 7}, {1, 0, 1}},
    {{"%x: f16[4]", "bit_cast(%x) {to = u16}", "u16[4]"},
     {1, -0x1p-24, 65504, INFINITY},
     {0x3c00, 0x8001, 0x7bff, 0x7c00}},
    {{"%x: bf16[2]", "bit_cast(%x) {to = i16}", "i16[2]"}, {1, -2}, {0x3f80, -0x4000}},
};

START_TEST(values) {
  const ValueCase *c = &valued[_i];
  Module *m = parse_well(ctx, op_function(ctx, c->op.params, c->op.op, c->op.result));
  const Tensor *in[1] = {param_tensor(m, 0, c->x)};
  expect_everywhere(m, in, in[0]->n, c->expected);
}
END_TEST

/* There and back, the bits of all but NaN stay; those of a NaN are a NaN's. */
START_TEST(all_halves) {
  enum { N = 65536 };
  static const char *const names[] = {"f16", "bf16"};
  uint32_t infinity = _i ? 0x7f80 : 0x7c00;
  const char *text = "weft 1 model \"m\"\nfunc @main(%%x: u16[65536]) -> (y: u16[65536]) {\n"
                     "  %%h = bit_cast(%%x) {to = %s} : %s[65536]\n"
                     "  %%y = bit_cast(%%h) {to = u16} : u16[65536]\n  return %%y\n}\n";
  Module *m = parse_well(ctx, arena_printf(ctx->arena, text, names[_i], names[_i]));
  Tensor *x = tensor_of_type(ctx, m->main->params.data[0]->type), *interpreted;
  for (int64_t k = 0; k < N; k++)
    ((uint16_t *)x->data)[k] = (uint16_t)k;
  const Tensor *in[1] = {x};
  Tensor *results[3] = {evaluate_op(m, in), run_op(m, in, &interpreted), NULL};
  results[2] = interpreted;
  for (int r = 0; r < 3; r++)
    for (uint32_t k = 0; k < N; k++) {
      uint32_t got = ((const uint16_t *)results[r]->data)[k];
      bool nan = (k & 0x7fff) > infinity, ok = nan ? (got & 0x7fff) > infinity : got == k;
      if (!ok)
        ck_abort_msg("stage %d: %x became %x", r, k, got);
    }
}
END_TEST

/* And what the numbers are, against the conversion of tensors. */
START_TEST(half_numbers) {
  static const char *const names[] = {"f16", "bf16"};
  static const DType dtypes[] = {DT_F16, DT_BF16};
  const char *params = "%x: u16[65536]", *result = arena_printf(ctx->arena, "%s[65536]", names[_i]);
  Module *m =
      parse_well(ctx, op_function(ctx, params, arena_printf(ctx->arena, "bit_cast(%%x) {to = %s}", names[_i]), result));
  Tensor *x = tensor_of_type(ctx, m->main->params.data[0]->type), *interpreted;
  double *expected = ARENA_ARRAY(ctx->arena, double, x->n);
  for (int64_t k = 0; k < x->n; k++)
    ((uint16_t *)x->data)[k] = (uint16_t)k;
  for (int64_t k = 0; k < x->n; k++)
    expected[k] = dtype_load(dtypes[_i], x->data, k).f;
  const Tensor *in[1] = {x};
  Tensor *results[2] = {run_op(m, in, &interpreted), NULL};
  results[1] = interpreted;
  for (int r = 0; r < 2; r++)
    for (int64_t k = 0; k < x->n; k++)
      if (!is_number(tensor_get(results[r], k), expected[k]))
        ck_abort_msg("stage %d: %x became %g, expected %g", r, (unsigned)k, tensor_get(results[r], k), expected[k]);
}
END_TEST

Suite *suite_bit_cast(void);
Suite *suite_bit_cast(void) {
  Suite *s = suite_create("bit_cast");
  TCase *t = tcase_create("bit_cast");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, types, 0, (int)COUNT(good));
  tcase_add_loop_test(t, refused, 0, (int)COUNT(bad));
  tcase_add_loop_test(t, values, 0, (int)COUNT(valued));
  tcase_add_loop_test(t, all_halves, 0, 2);
  tcase_add_loop_test(t, half_numbers, 0, 2);
  suite_add_tcase(s, t);
  return s;
}
