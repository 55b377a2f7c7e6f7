/* The reader of ONNX's wire format: what it reads, that it copies nothing it need not, and that damaged, hostile and
 * cut files are refused with the byte and the message. */
#include "onnx_encode.h"
#include <stdlib.h>

static Ctx *ctx;

static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

static const OnnxModel *read(Str s) {
  return onnx_wire_read(ctx, "m.onnx", s.data, s.len);
}

static const OnnxModel *read_well(Str s) {
  const OnnxModel *m = read(s);
  ck_assert_msg(m != NULL, "%s", diag_text(ctx->diags, false));
  return m;
}

static bool is_text(OnnxBytes b, const char *text) {
  return b.n == strlen(text) && memcmp(b.data, text, b.n) == 0;
}

/* A model of one tensor. */
static Str with_tensor(Str tensor) {
  Str graph = str_new(ctx->arena);
  put_message(&graph, 5, tensor);
  return model(ctx, 17, graph);
}

static const OnnxTensor *first_tensor(const OnnxModel *m) {
  ck_assert(m->graph && m->graph->initializer.n == 1);
  return &m->graph->initializer.items[0];
}

START_TEST(every_field) {
  Str graph = str_new(ctx->arena);
  Str first = node(ctx, "first", "Conv x,w,,b -> y"), second = node(ctx, NULL, "Relu y -> z");
  put_message(&first, 5, attr_ints(ctx, "pads", INTS(1, -2, 3)));
  put_message(&first, 5, attr_float(ctx, "alpha", 0.25f));
  put_message(&graph, 1, first);
  put_text(&graph, 2, "net");
  put_message(&graph, 1, second);
  Str bytes = model(ctx, 17, graph);
  put_text(&bytes, 2, "maker");
  put_text(&bytes, 3, "1");
  put_text(&bytes, 3, "2"); /* the last one holds */
  const OnnxModel *m = read_well(bytes);
  ck_assert(m->ir_version == 8 && is_text(m->producer_name, "maker") && is_text(m->producer_version, "2"));
  ck_assert(m->opset_import.n == 1 && m->opset_import.items[0].version == 17);
  ck_assert(m->opset_import.items[0].domain.data && m->opset_import.items[0].domain.n == 0);
  ck_assert(is_text(m->graph->name, "net") && m->graph->node.n == 2);
  const OnnxNode *n = &m->graph->node.items[0];
  ck_assert(is_text(n->op_type, "Conv") && is_text(n->name, "first") && n->input.n == 4 && n->output.n == 1);
  ck_assert(is_text(n->input.items[0], "x") && n->input.items[2].n == 0 && is_text(n->input.items[3], "b"));
  ck_assert(n->attribute.n == 2 && n->attribute.items[0].type == 7 && n->attribute.items[0].ints.n == 3);
  ck_assert(n->attribute.items[0].ints.items[1] == -2 && n->attribute.items[1].f == 0.25f);
  ck_assert(ONNX_SEEN(n, Node, name) && !ONNX_SEEN(&m->graph->node.items[1], Node, name) &&
            !ONNX_SEEN(n, Node, domain));
}
END_TEST

START_TEST(lists_of_numbers) {
  Str t = str_new(ctx->arena), packed = str_new(ctx->arena);
  float f[4] = {1.5f, -0.0f, 3, 4};
  uint32_t nan = 0x7fa12345; /* a signalling NaN with a payload */
  memcpy(&f[2], &nan, 4);
  put_bytes(&t, 4, f, 8); /* packed, then single, then packed: one after the other */
  put_float(&t, 4, f[2]);
  put_bytes(&t, 4, &f[3], 4);
  put_int(&t, 1, 4);
  put_varint(&packed, 2);
  put_varint(&packed, 300);
  put_message(&t, 1, packed);
  put_int(&t, 5, -5);                     /* ten bytes */
  put_int(&t, 5, ((int64_t)7 << 32) | 9); /* the low 32 bits hold */
  put_tag(&t, 10, 1);
  double d = 2.5;
  str_putn(&t, (const char *)&d, 8);
  const OnnxTensor *got = first_tensor(read_well(with_tensor(t)));
  ck_assert(got->float_data.n == 4 && memcmp(got->float_data.items, f, 16) == 0);
  ck_assert(got->dims.n == 3 && got->dims.items[0] == 4 && got->dims.items[2] == 300);
  ck_assert(got->int32_data.n == 2 && got->int32_data.items[0] == -5 && got->int32_data.items[1] == 9);
  ck_assert(got->double_data.n == 1 && memcmp(got->double_data.items, &d, 8) == 0);
}
END_TEST

START_TEST(copies_nothing) {
  enum { N = 1 << 20 };
  char *data = arena_alloc(ctx->arena, N);
  Str t = tensor_raw(ctx, "w", 1, INTS(N / 4), data, N);
  put_bytes(&t, 4, data, N);
  Str bytes = with_tensor(t);
  size_t before = arena_used(ctx->arena);
  const OnnxTensor *got = first_tensor(read_well(bytes));
  ck_assert_uint_lt(arena_used(ctx->arena) - before, 16384);
  ck_assert(got->raw_data.data > bytes.data && got->raw_data.data + N <= bytes.data + bytes.len);
  ck_assert(got->float_data.n == N / 4 && got->float_data.items > bytes.data);
}
END_TEST

START_TEST(unknown_fields) {
  Str graph = str_new(ctx->arena);
  put_int(&graph, 99, 5);
  put_text(&graph, 10, "documentation with \xff");
  put_float(&graph, 1000, 1);
  put_tag(&graph, 536870911, 1);
  str_putn(&graph, "12345678", 8);
  put_text(&graph, 2, "g");
  ck_assert(is_text(read_well(model(ctx, 17, graph))->graph->name, "g"));
  ck_assert(read_well(str_new(ctx->arena))->graph == NULL);
}
END_TEST

/* Every beginning of a sound file: refused, or a file that ends between two fields of the model. */
START_TEST(truncated) {
  Str graph = str_new(ctx->arena), n = node(ctx, "n", "Relu x -> y");
  float f[3] = {1, 2, 3};
  put_message(&n, 5, attr_ints(ctx, "axes", INTS(0, 300)));
  put_message(&graph, 1, n);
  put_message(&graph, 5, tensor_floats(ctx, "w", INTS(3), f, 3));
  put_message(&graph, 11, value_info(ctx, "x", 1, INTS(1, -1), (const char *const[]){NULL, "N"}));
  Str bytes = model(ctx, 17, graph);
  put_text(&bytes, 2, "maker");
  int sound = 0;
  for (size_t len = 0; len < bytes.len; len++) {
    char *copy = malloc(len + (len == 0)); /* so that a read past the end is seen */
    memcpy(copy, bytes.data, len);
    size_t errors = diag_count(ctx->diags);
    const OnnxModel *m = onnx_wire_read(ctx, "m.onnx", copy, len);
    ck_assert_uint_eq(diag_count(ctx->diags), errors + (m == NULL));
    sound += m != NULL;
    free(copy);
  }
  ck_assert_int_eq(sound, 4); /* nothing, ir_version, opset_import, graph */
}
END_TEST

#define BYTES(text) text, sizeof text - 1
static const struct {
  const char *bytes;
  size_t n;
  const char *message;
} bad[] = {
    {BYTES("\x08"), "byte 1, in Model: a number does not end within its message"},
    {BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "a number is longer than 64 bits"},
    {BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "a number is longer than 64 bits"},
    {BYTES("\x00"), "byte 0, in Model: 0 is no tag"},
    {BYTES("\x07"), "7 is no tag"},
    {BYTES("\xff\xff\xff\xff\xff\x01"), "is no tag of a field"},
    {BYTES("\x0b"), "field 1 has wire type 3, which ONNX does not use"},
    {BYTES("\x0c"), "field 1 has wire type 4"},
    {BYTES("\x0e"), "field 1 has wire type 6"},
    {BYTES("\x0a\x01x"), "field 1, ir_version, has wire type 2, expected 0"},
    {BYTES("\x38\x01"), "field 7, graph, has wire type 0, expected 2"},
    {BYTES("\x3a\x05"), "field 7 claims 5 bytes, but 0 are left"},
    {BYTES("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "field 7 claims 9223372036854775807 bytes, but 0 are left"},
    {BYTES("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "claims 18446744073709551615 bytes"},
    {BYTES("\x9d\x06\x01\x02"), "field 99 takes 4 bytes, but 2 are left"},
    {BYTES("\x99\x06\x01\x02"), "field 99 takes 8 bytes, but 2 are left"},
    {BYTES("\x3a\x00\x3a\x00"), "byte 2, in Model: field 7, graph, occurs twice"},
    {BYTES("\x12\x01\xff"), "byte 2, in Model: field 2, producer_name, is no text"},
    {BYTES("\x12\x03"
           "a\0b"),
     "byte 3, in Model: field 2, producer_name, is no text: expected UTF-8 without NUL"},
    {BYTES("\x12\x02\xc0\x80"), "is no text"},
    {BYTES("\x3a\x05\x2a\x03\x22\x01z"), "in Tensor: field 4, float_data, has 1 bytes, expected a multiple of 4"},
    {BYTES("\x3a\x06\x2a\x04\x0a\x02\x01\x80"), "in Tensor: field 1, dims: its last number does not end"},
    {BYTES("\x3a\x04\x2a\x02\x0a\x05"), "in Tensor: field 1 claims 5 bytes, but 0 are left"},
    {BYTES("<html>"), "byte"},
};

START_TEST(refused) {
  onnx_wire_read(ctx, "m.onnx", bad[_i].bytes, bad[_i].n);
  const char *text = diag_text(ctx->diags, false);
  ck_assert_uint_eq(diag_count(ctx->diags), 1);
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
  ck_assert_msg(strncmp(text, "m.onnx: error: is damaged, cut short or no ONNX model: byte ", 58) == 0 &&
                    strstr(text, bad[_i].message),
                "expected '%s', got '%s'", bad[_i].message, text);
}
END_TEST

/* Graphs within attributes of nodes, `depth` messages in all, the model included. */
static Str nested(int depth) {
  Str s = str_new(ctx->arena);
  static const int fields[3] = {6, 1, 5}; /* of what holds a graph, a node, an attribute */
  for (int level = depth; level >= 2; level--) {
    Str outer = str_new(ctx->arena);
    put_message(&outer, level == 2 ? 7 : fields[(level - 2) % 3], s);
    s = outer;
  }
  return s;
}

START_TEST(depth) {
  const OnnxModel *m = read_well(nested(ONNX_MAX_DEPTH));
  const OnnxGraph *g = m->graph;
  int graphs = 0;
  for (; g; graphs++)
    g = g->node.n && g->node.items[0].attribute.n ? g->node.items[0].attribute.items[0].g : NULL;
  ck_assert_int_eq(graphs, 33);
  ck_assert_ptr_null(read(nested(ONNX_MAX_DEPTH + 1)));
  ck_assert_ptr_nonnull(strstr(diag_text(ctx->diags, false), "nested too deeply: more than 100 messages"));
  ck_assert_ptr_null(read(nested(20000)));
}
END_TEST

/* Two bytes of a file make a node of some 150 bytes: refused before it is allocated. */
START_TEST(memory) {
  enum { N = 5000000 };
  Str graph = str_new(ctx->arena);
  char *nodes = arena_alloc(ctx->arena, 2 * N);
  for (size_t k = 0; k < N; k++)
    nodes[2 * k] = 0x0a; /* a node of no bytes */
  str_putn(&graph, nodes, 2 * N);
  Str bytes = model(ctx, 17, graph);
  size_t before = arena_used(ctx->arena);
  ck_assert_ptr_null(read(bytes));
  ck_assert_uint_lt(arena_used(ctx->arena) - before, (size_t)1 << 20);
  ck_assert_ptr_nonnull(strstr(diag_text(ctx->diags, false), "bytes of memory"));
}
END_TEST

Suite *suite_onnx_wire(void);
Suite *suite_onnx_wire(void) {
  Suite *s = suite_create("onnx_wire");
  TCase *t = tcase_create("wire");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  tcase_add_test(t, every_field);
  tcase_add_test(t, lists_of_numbers);
  tcase_add_test(t, copies_nothing);
  tcase_add_test(t, unknown_fields);
  tcase_add_test(t, truncated);
  tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
  tcase_add_test(t, depth);
  tcase_add_test(t, memory);
  suite_add_tcase(s, t);
  return s;
}
