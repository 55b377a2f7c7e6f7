/* The import of Einsum: more than two operands two at a time, permutations as views, refusals. */
#include "onnx_graph.h"

static void add_einsum(const char *text, const char *equation) {
  ADD_NODE(text, attr_text(ctx, "equation", equation));
  add_output("y");
}

static const char *equation_of(const Op *op) {
  ck_assert_int_eq(op->def->code, OP_EINSUM);
  return op_text(op, "equation");
}

START_TEST(two_operands) {
  add_input("a", FLOAT, INTS(2, 2));
  add_input("b", FLOAT, INTS(2, 2));
  add_einsum("Einsum a,b -> y", "ij, jk");
  Module *m = import_well(12);
  ck_assert_str_eq(equation_of(op_of_output(m, 0)), "ij, jk");
  EXPECT_VALUES(evaluate(m)[0], 2, 3, 6, 11);
}
END_TEST

START_TEST(permutation) {
  add_input("a", FLOAT, INTS(2, 1, 3));
  add_einsum("Einsum a -> y", "bca->abc");
  Module *m = import_well(12);
  ck_assert_int_eq(op_of_output(m, 0)->def->code, OP_TRANSPOSE);
  ck_assert_str_eq(type_of_output(m, 0), "f32[3,2,1]");
  EXPECT_VALUES(evaluate(m)[0], 0, 3, 1, 4, 2, 5);
}
END_TEST

static const struct {
  const char *equation, *first, *second, *type;
  double out[8];
} three[] = {
    /* a = [[0, 1], [2, 3]], b = [0, 1], c = [[0, 1], [2, 3]] */
    {"ij,j,jk->ik", "ij,j->ij", "ij,jk->ik", "f32[2,2]", {2, 3, 6, 9}},
    {"ij,i,kl", "ij,i->j", "j,kl->jkl", "f32[2,2,2]", {0, 2, 4, 6, 0, 3, 6, 9}}, /* i is summed at once */
    {"...j,j,k...->k", "...j,j->...", "...,k...->k", "f32[2]", {3, 11}},
    {"..., ..., ... -> ...", "...,...->...", "...,...->...", "f32[2,2]", {0, 1, 0, 9}},
};

START_TEST(three_operands) {
  add_input("a", FLOAT, INTS(2, 2));
  add_input("b", FLOAT, INTS(2));
  add_input("c", FLOAT, INTS(2, 2));
  add_einsum("Einsum a,b,c -> y", three[_i].equation);
  Module *m = import_well(12);
  const Op *last = op_of_output(m, 0);
  ck_assert_str_eq(equation_of(last), three[_i].second);
  ck_assert_str_eq(equation_of(last->operands[0]->def), three[_i].first);
  ck_assert_str_eq(type_of_output(m, 0), three[_i].type);
  const Tensor *out = evaluate(m)[0];
  expect_values(out, three[_i].out, (int)out->n);
}
END_TEST

static const struct {
  const char *equation, *message;
} bad[] = {
    {"ij->k", "axis 'k' of the result is in no operand"},
    {"ij,jk->ik", "it is of 2 operands, but 1 are given"},
    {"", "it names 0 axes of operand 1"},
    {"i!", "character 2 is neither a letter"},
    {NULL, "Einsum: attribute 'equation' is missing"},
};

START_TEST(refused) {
  add_input("a", FLOAT, INTS(2, 2));
  if (bad[_i].equation) {
    add_einsum("Einsum a -> y", bad[_i].equation);
  } else {
    add_node("Einsum a -> y");
    add_output("y");
  }
  refuse(12, WEFT_MALFORMED, bad[_i].message);
}
END_TEST

Suite *suite_onnx_einsum(void);
Suite *suite_onnx_einsum(void) {
  Suite *s = suite_create("onnx_einsum");
  TCase *t = tcase_create("onnx_einsum");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, two_operands);
  tcase_add_test(t, permutation);
  tcase_add_loop_test(t, three_operands, 0, (int)(sizeof three / sizeof *three));
  tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
  suite_add_tcase(s, t);
  return s;
}
