/* Types: interning, limits, sizes, text. */
#include "ir/type.h"

#include <check.h>
#include <stdio.h>

static Ctx *ctx;

static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

static const Layout *tag(int rank, const char *text) {
  const char *why = NULL;
  const Layout *layout = layout_parse(ctx, rank, text, strlen(text), &why);
  ck_assert_msg(layout != NULL, "%s: %s", text, why);
  return layout;
}

START_TEST(dtypes) {
  static const size_t sizes[DT_COUNT] = {4, 8, 2, 2, 1, 1, 2, 2, 4, 4, 8, 8, 1};
  for (int i = 0; i < DT_COUNT; i++) {
    DType back;
    const char *name = dtype_name((DType)i);
    ck_assert(dtype_parse(name, strlen(name), &back));
    ck_assert_int_eq((int)back, i);
    ck_assert_uint_eq(dtype_size((DType)i), sizes[i]);
    ck_assert_int_eq(dtype_is_float((DType)i), strchr(name, 'f') != NULL);
  }
  DType out;
  ck_assert(!dtype_parse("f3", 2, &out) && !dtype_parse("f320", 4, &out) && !dtype_parse("", 0, &out));
  ck_assert(dtype_parse("f32x", 3, &out) && out == DT_F32);
}
END_TEST

START_TEST(types_are_interned) {
  const int64_t shape[] = {1, 32, 8, 8};
  const Type *plain = type_static(ctx, DT_F32, 4, shape, NULL);
  ck_assert_ptr_eq(plain, type_static(ctx, DT_F32, 4, shape, layout_row_major(ctx, 4)));
  const Type *nhwc = type_with_layout(ctx, plain, tag(4, "acdb"));
  ck_assert_ptr_ne(plain, nhwc);
  ck_assert_ptr_eq(nhwc, type_static(ctx, DT_F32, 4, shape, tag(4, "acdb")));
  ck_assert_ptr_ne(plain, type_static(ctx, DT_F16, 4, shape, NULL));
  ck_assert_ptr_ne(plain, type_static(ctx, DT_F32, 3, shape, NULL));
  ck_assert(type_same_shape(plain, nhwc));
  ck_assert(!type_same_shape(plain, type_static(ctx, DT_F32, 3, shape, NULL)));
  ck_assert(!type_same_shape(plain, type_static(ctx, DT_I32, 4, shape, NULL)));
  ck_assert(!type_same_shape(plain, type_static(ctx, DT_F32, 4, (int64_t[]){1, 32, 8, 9}, NULL)));
  int64_t back[WEFT_MAX_RANK];
  ck_assert(type_shape(nhwc, back) && memcmp(back, shape, sizeof shape) == 0);
}
END_TEST

START_TEST(sizes) {
  const int64_t shape[] = {2, 19, 3, 4};
  const Type *blocked = type_static(ctx, DT_F64, 4, shape, tag(4, "aBcd8b"));
  ck_assert_int_eq(expr_value(type_elements(ctx, blocked)), 2 * 19 * 3 * 4);
  ck_assert_int_eq(expr_value(type_storage(ctx, blocked)), 2 * 24 * 3 * 4);
  ck_assert_int_eq(type_bytes(blocked), 2 * 24 * 3 * 4 * 8);
  ck_assert_int_eq(type_bytes(type_static(ctx, DT_F16, 4, shape, tag(4, "ac(1,2)d(0,1)b"))), 2 * 6 * 5 * 19 * 2);
  const Type *scalar = type_static(ctx, DT_F16, 0, NULL, NULL);
  ck_assert_int_eq(expr_value(type_elements(ctx, scalar)), 1);
  ck_assert_int_eq(type_bytes(scalar), 2);
  ck_assert_int_eq(type_bytes(type_static(ctx, DT_F32, 2, (int64_t[]){0, 5}, NULL)), 0);
}
END_TEST

START_TEST(limits) {
  const int64_t large = WEFT_MAX_ELEMENTS, wrap = (int64_t)1 << 32;
  ck_assert_ptr_nonnull(type_static(ctx, DT_F32, 2, (int64_t[]){large, 1}, NULL));
  ck_assert_ptr_null(type_static(ctx, DT_F32, 2, (int64_t[]){large, 2}, NULL));
  ck_assert_ptr_null(type_static(ctx, DT_F32, 1, (int64_t[]){large + 1}, NULL));
  ck_assert_ptr_null(type_static(ctx, DT_F32, 1, (int64_t[]){INT64_MAX}, NULL));
  ck_assert_ptr_null(type_static(ctx, DT_F32, 2, (int64_t[]){wrap, wrap}, NULL));
  ck_assert_ptr_null(type_static(ctx, DT_F32, 3, (int64_t[]){0, wrap, wrap}, NULL));
  ck_assert_ptr_null(type_static(ctx, DT_F32, 3, (int64_t[]){wrap, wrap, 0}, NULL));
  ck_assert_ptr_null(type_static(ctx, DT_F32, 1, (int64_t[]){-1}, NULL));
  ck_assert_ptr_null(type_static(ctx, DT_F32, 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, NULL));
  /* Padding counts. */
  ck_assert_ptr_nonnull(type_static(ctx, DT_F32, 2, (int64_t[]){1, 1}, tag(2, "AB1048576a1048576b")));
  ck_assert_ptr_null(type_static(ctx, DT_F32, 3, (int64_t[]){1, 1, 1}, tag(3, "ABC1048576a1048576b2c")));
  const Type *fits = type_static(ctx, DT_F32, 2, (int64_t[]){large, 1}, NULL);
  ck_assert_ptr_null(type_with_layout(ctx, fits, tag(2, "aB2b")));
  ck_assert_ptr_null(type_with_layout(ctx, fits, tag(2, "ab(0,1)")));
}
END_TEST

START_TEST(symbolic_dimensions) {
  Dim n = expr_sym(ctx, "N", 1, 1024), any = expr_sym(ctx, "M", 0, EXPR_MAX), negative = expr_sym(ctx, "K", -1, 5);
  const Type *type = type_get(ctx, DT_F32, 2, (Dim[]){n, expr_const(ctx, 3)}, NULL);
  ck_assert_ptr_nonnull(type);
  ck_assert_ptr_eq(type, type_get(ctx, DT_F32, 2, (Dim[]){n, expr_const(ctx, 3)}, NULL));
  ck_assert_str_eq(type_text(ctx, type), "f32[N,3]");
  ck_assert_ptr_eq(type_elements(ctx, type), expr_mul_const(ctx, n, 3));
  int64_t shape[WEFT_MAX_RANK];
  ck_assert(!type_shape(type, shape));
  ck_assert_ptr_null(type_get(ctx, DT_F32, 1, (Dim[]){negative}, NULL));
  ck_assert_ptr_null(type_get(ctx, DT_F32, 2, (Dim[]){n, expr_const(ctx, (int64_t)1 << 31)}, NULL));
  ck_assert_ptr_nonnull(type_get(ctx, DT_F32, 2, (Dim[]){n, expr_const(ctx, (int64_t)1 << 30)}, NULL));
  ck_assert_ptr_nonnull(type_get(ctx, DT_F32, 2, (Dim[]){any, expr_const(ctx, WEFT_MAX_ELEMENTS)}, NULL));
  ck_assert_str_eq(type_text(ctx, type_get(ctx, DT_F32, 2, (Dim[]){any, n}, tag(2, "aB8b"))), "f32[M,N]@aB8b");
}
END_TEST

START_TEST(text) {
  const int64_t shape[] = {1, 32, 8, 8};
  ck_assert_str_eq(type_text(ctx, type_static(ctx, DT_F32, 4, shape, NULL)), "f32[1,32,8,8]");
  ck_assert_str_eq(type_text(ctx, type_static(ctx, DT_F32, 4, shape, tag(4, "acdb"))), "f32[1,32,8,8]@acdb");
  ck_assert_str_eq(type_text(ctx, type_static(ctx, DT_BF16, 4, shape, tag(4, "aBcd8b:zero"))),
                   "bf16[1,32,8,8]@aBcd8b:zero");
  ck_assert_str_eq(type_text(ctx, type_static(ctx, DT_BOOL, 0, NULL, NULL)), "bool[]");
}
END_TEST

Suite *suite_type(void);
Suite *suite_type(void) {
  Suite *suite = suite_create("type");
  TCase *t = tcase_create("type");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, dtypes);
  tcase_add_test(t, types_are_interned);
  tcase_add_test(t, sizes);
  tcase_add_test(t, limits);
  tcase_add_test(t, symbolic_dimensions);
  tcase_add_test(t, text);
  suite_add_tcase(suite, t);
  return suite;
}
