/* The import of Attention: heads that share K, operands split by heads or not, masks by hand, refusals. That the
 * numbers are right in general is for ONNX's own cases. */
#include "onnx_graph.h"

#include <math.h>

static void add_operands(const int64_t *q, const int64_t *kv, int rank) {
  add_input("q", FLOAT, q, rank);
  add_input("k", FLOAT, kv, rank);
  add_input("v", FLOAT, kv, rank);
  add_output("y");
}

static int count_code(const Module *m, OpCode code) {
  int n = 0;
  for (const Op *op = m->main->first; op; op = op->next)
    n += op->def->code == code;
  return n;
}

START_TEST(shared_heads) { /* the four heads of q are two matrices; nothing is repeated */
  add_operands((int64_t[]){1, 4, 3, 8}, (int64_t[]){1, 2, 5, 8}, 4);
  add_node("Attention q,k,v -> y");
  Module *m = import_well(24);
  ck_assert_str_eq(type_of_output(m, 0), "f32[1,4,3,8]");
  ck_assert_int_eq(count_code(m, OP_MATMUL), 2);
  for (const Op *op = m->main->first; op; op = op->next)
    if (op->def->code == OP_MATMUL)
      ck_assert(strstr(type_text(ctx, op->operands[0]->type), "f32[1,2,6,") &&
                type_elements(ctx, op->operands[1]->type)->lo == 80);
}
END_TEST

START_TEST(split_heads) {
  add_operands((int64_t[]){2, 3, 8}, (int64_t[]){2, 5, 4}, 3);
  ADD_NODE("Attention q,k,v -> y,present,,products", attr_int(ctx, "q_num_heads", 4), attr_int(ctx, "kv_num_heads", 2));
  add_output("present");
  add_output("products");
  Module *m = import_well(23);
  ck_assert_str_eq(type_of_output(m, 0), "f32[2,3,8]");
  ck_assert_str_eq(type_of_output(m, 1), "f32[2,2,5,2]");
  ck_assert_str_eq(type_of_output(m, 2), "f32[2,4,3,5]");
}
END_TEST

/* One head of size 1, scale 0: each key that is seen counts alike, so that y is the mean of their v, which are 0, 1,
 * 2, 3. */
static Tensor *mean_of_seen(const char *text, int opset, int n_attrs, const Str *attrs) {
  Str all[4];
  all[0] = attr_float(ctx, "scale", 0);
  for (int k = 0; k < n_attrs; k++)
    all[k + 1] = attrs[k];
  add_operands((int64_t[]){1, 1, 2, 1}, (int64_t[]){1, 1, 4, 1}, 4);
  add_node_with(text, n_attrs + 1, all);
  return evaluate(import_well(opset))[0];
}

START_TEST(causal) {
  EXPECT_VALUES(mean_of_seen("Attention q,k,v -> y", 23, 1, (Str[]){attr_int(ctx, "is_causal", 1)}), 0, 0.5);
}
END_TEST

START_TEST(causal_from_the_valid_end) { /* three valid keys: the queries are the second and third */
  add_ints("n", (int64_t[]){3}, 1);
  EXPECT_VALUES(mean_of_seen("Attention q,k,v,,,,n -> y", 24, 1, (Str[]){attr_int(ctx, "is_causal", 1)}), 0.5, 1);
}
END_TEST

START_TEST(no_key_is_seen) { /* one valid key: the first query is in front of it, and gives 0, not NaN */
  add_ints("n", (int64_t[]){1}, 1);
  EXPECT_VALUES(mean_of_seen("Attention q,k,v,,,,n -> y", 24, 1, (Str[]){attr_int(ctx, "is_causal", 1)}), 0, 0);
}
END_TEST

START_TEST(window) {
  EXPECT_VALUES(mean_of_seen("Attention q,k,v -> y", 25, 2,
                             (Str[]){attr_int(ctx, "left_window_size", 0), attr_int(ctx, "right_window_size", 1)}),
                0.5, 1.5);
}
END_TEST

START_TEST(short_mask) { /* keys that the mask does not name are not seen */
  const uint8_t mask[] = {1, 1, 0, 1};
  put_message(&graph, 5, tensor_raw(ctx, "m", BOOL, INTS(2, 2), mask, sizeof mask));
  EXPECT_VALUES(mean_of_seen("Attention q,k,v,m -> y", 23, 0, NULL), 0.5, 1);
}
END_TEST

static const struct {
  const char *node, *attr;
  int64_t value;
  int opset;
  Status status;
  const char *message;
} bad[] = {
    {"Attention q,k,m -> y", NULL, 0, 24, WEFT_MALFORMED, "operand 3, 'm', has rank 1 (f32[9]), expected rank 3 to 4"},
    {"Attention q,k,o -> y", NULL, 0, 24, WEFT_MALFORMED, "which do not fit together"},
    {"Attention q,k,v,m -> y", NULL, 0, 24, WEFT_MALFORMED, "operand 4, 'm', is f32[9], but there are 4 keys"},
    {"Attention q,k,v,,k -> y", NULL, 0, 24, WEFT_MALFORMED, "past_key and past_value together"},
    {"Attention q,k,v -> y", "qk_matmul_output_mode", 4, 24, WEFT_MALFORMED, "is 4, expected 0 to 3"},
    {"Attention q,k,v -> y", "left_window_size", 1, 24, WEFT_UNSUPPORTED,
     "'left_window_size' is not supported in opset 24"},
    {"Attention q,k,v -> y", "left_window_size", -2, 25, WEFT_MALFORMED, "a window size is -2"},
    {"Attention s,s,s -> y", NULL, 0, 24, WEFT_MALFORMED, "f32[1,2,6] does not divide into 0 heads"},
    {"Attention q,k,v -> y", "softmax_precision", 7, 24, WEFT_MALFORMED, "is i64, expected a float type"},
    {"Attention q,k,v -> y", "softmax_precision", 8, 24, WEFT_UNSUPPORTED, "softmax_precision is STRING (8)"},
};

START_TEST(refused) {
  add_operands((int64_t[]){1, 1, 2, 1}, (int64_t[]){1, 1, 4, 1}, 4);
  add_input("m", FLOAT, INTS(9));
  add_input("o", FLOAT, INTS(1, 2, 4, 1));
  add_input("s", FLOAT, INTS(1, 2, 6));
  Str attr = bad[_i].attr ? attr_int(ctx, bad[_i].attr, bad[_i].value) : (Str){0};
  add_node_with(bad[_i].node, bad[_i].attr != NULL, &attr);
  refuse(bad[_i].opset, bad[_i].status, bad[_i].message);
}
END_TEST

Suite *suite_onnx_attention(void);
Suite *suite_onnx_attention(void) {
  Suite *s = suite_create("onnx_attention");
  TCase *t = tcase_create("onnx_attention");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, shared_heads);
  tcase_add_test(t, split_heads);
  tcase_add_test(t, causal);
  tcase_add_test(t, causal_from_the_valid_end);
  tcase_add_test(t, no_key_is_seen);
  tcase_add_test(t, window);
  tcase_add_test(t, short_mask);
  tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
  suite_add_tcase(s, t);
  return s;
}
