/* The YAML importer: layouts at the boundary, attributes, names and order, inline data, and the messages of bad graphs.
 * Files that must be refused as whole models are in tests/error. */
#include "frontend/source.h"
#include "frontend/yaml_tree.h"
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

static Ctx *ctx;

static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

static Module *import(const char *text) {
  return yaml_import_text(ctx, "m.yaml", text, strlen(text));
}

static Module *good(const char *text) {
  Module *m = import(text);
  ck_assert_msg(m != NULL, "%s\n%s", text, diag_text(ctx->diags, false));
  ck_assert_msg(module_verify(m), "%s", diag_text(ctx->diags, false));
  return m;
}

static const char *printed(Module *m) {
  Str s = str_new(ctx->arena);
  module_print(&s, m, (PrintOptions){0});
  return s.data;
}

/* The text imports, and its printed module holds these words in this order. */
static void expect(const char *text, const char *const *words, size_t n) {
  const char *all = printed(good(text)), *at = all;
  for (size_t k = 0; k < n; k++) {
    const char *found = strstr(at, words[k]);
    ck_assert_msg(found != NULL, "no '%s' in\n%s", words[k], all);
    at = found + strlen(words[k]);
  }
}
#define EXPECT(text, ...)                                                                                              \
  expect(text, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* ---- layouts ---- */

static int next_permutation(int *p, int n) {
  int k = n - 2, j = n - 1;
  while (k >= 0 && p[k] > p[k + 1])
    k--;
  if (k < 0)
    return 0;
  while (p[j] < p[k])
    j--;
  int t = p[k];
  p[k] = p[j];
  p[j] = t;
  for (int a = k + 1, b = n - 1; a < b; a++, b--) {
    t = p[a];
    p[a] = p[b];
    p[b] = t;
  }
  return 1;
}

/* Letters, shape and row-major data of a tensor of logical extents, written in another order of the axes. Element e of
 * the logical row-major order is e % 7 - 3. */
static const char *in_order(const char *letters, const int64_t *extents, const int *perm, const char **layout,
                            const char **shape) {
  char text[5] = {0};
  Str dims = str_new(ctx->arena), data = str_new(ctx->arena);
  int64_t stride[4], own[4];
  stride[3] = 1;
  for (int k = 2; k >= 0; k--)
    stride[k] = stride[k + 1] * extents[k + 1];
  for (int k = 0; k < 4; k++) {
    text[k] = letters[perm[k]];
    own[k] = extents[perm[k]];
    str_printf(&dims, "%s%lld", k ? ", " : "", (long long)own[k]);
  }
  for (int64_t a = 0; a < own[0]; a++)
    for (int64_t b = 0; b < own[1]; b++)
      for (int64_t c = 0; c < own[2]; c++)
        for (int64_t d = 0; d < own[3]; d++) {
          int64_t e = a * stride[perm[0]] + b * stride[perm[1]] + c * stride[perm[2]] + d * stride[perm[3]];
          str_printf(&data, "%s%lld", data.len ? ", " : "", (long long)(e % 7 - 3));
        }
  *layout = arena_strdup(ctx->arena, text);
  *shape = dims.data;
  return data.data;
}

/* A kernel means the same in all 24 orders of its axes, and so do the data: the result of the reference evaluation is
 * the same to the last bit. */
static void same_in_all_orders(const char *op, const char *letters) {
  const int64_t kernel_extents[] = {3, 2, 2, 3}, data_extents[] = {1, letters[0] == 'I' ? 3 : 2, 4, 3};
  double *want = NULL;
  int perm[] = {0, 1, 2, 3}, rounds = 0;
  do {
    const char *layout, *shape, *data_layout, *data_shape;
    const char *kernel = in_order(letters, kernel_extents, perm, &layout, &shape);
    const char *data = in_order("NCHW", data_extents, perm, &data_layout, &data_shape);
    Module *m = good(arena_printf(ctx->arena,
                                  "weft: 1\n"
                                  "constants:\n"
                                  "  x: {dtype: f32, shape: [%s], layout: %s, data: [%s]}\n"
                                  "  k: {dtype: f32, shape: [%s], layout: %s, data: [%s]}\n"
                                  "nodes: [{op: %s, inputs: [x, k], output: y, padding: 1}]\n"
                                  "outputs: {y: {layout: %s}}\n",
                                  data_shape, data_layout, data, shape, layout, kernel, op, data_layout));
    ck_assert_str_eq(m->main->results.data[0].roles, "NCHW");
    ck_assert_str_eq(layout_to_letters(ctx, m->main->results.data[0].type->layout, "NCHW"), data_layout);
    Tensor *out;
    ck_assert(eval_function(m, m->main, NULL, &out, NULL));
    ck_assert(out->rank == 4 && out->n > 10);
    bool varied = false;
    if (!want)
      want = ARENA_ARRAY(ctx->arena, double, out->n);
    for (int64_t k = 0; k < out->n; k++) {
      if (rounds == 0)
        want[k] = tensor_get(out, k);
      ck_assert_msg(want[k] == tensor_get(out, k), "%s %s", layout, data_layout);
      varied |= want[k] != want[0];
    }
    ck_assert(varied);
    rounds++;
  } while (next_permutation(perm, 4));
  ck_assert_int_eq(rounds, 24);
}

START_TEST(kernels_in_all_orders) {
  same_in_all_orders("conv2d", "OIHW");
  same_in_all_orders("conv2d_transpose", "IOHW");
}
END_TEST

START_TEST(boundary_types) {
  EXPECT("weft: 1\nname: bugreport\ninputs: {x: {dtype: f32, shape: [1, 8, 8, 32], layout: NHWC}}\n"
         "constants: {k: {dtype: f32, shape: [2, 32, 1, 1], layout: OIHW, data: [" /* 64 values */
         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}}\n"
         "nodes:\n  - {op: conv2d_transpose, inputs: [x, k], output: y}\n  - {op: relu, inputs: [y], output: z}\n"
         "outputs: {z: {layout: NHWC}}\n",
         "model \"bugreport\"", "@k : f32[32,2,1,1]@bacd", "%x: f32[1,32,8,8]@acdb as \"NCHW\"",
         "(z: f32[1,2,8,8]@acdb as \"NCHW\")", "conv2d_transpose(%x, %k) : f32[1,2,8,8]", "relu", "relayout(%z)");
  /* Only elementwise ops: the letters are those of data, in one, two and three spatial dimensions. */
  EXPECT(
      "weft: 1\ninputs:\n  x: {dtype: f32, shape: [1, 5, 3], layout: NWC}\n"
      "  y: {dtype: f32, shape: [1, 2, 3, 4, 5], layout: NDHWC}\n  p: {dtype: f32, shape: [1, 5, 3], layout: plain}\n"
      "  v: {dtype: f32, shape: [5, 3]}\n  s: {dtype: f32, shape: []}\n  w: {dtype: f32, shape: [3, 5], layout: CN}\n"
      "nodes:\n  - {op: relu, inputs: [x], output: a}\n"
      "outputs: [a, y, p, v, s, w]\n",
      "%x: f32[1,3,5]@acb as \"NCW\"", "%y: f32[1,5,2,3,4]@acdeb as \"NCDHW\"", "%p: f32[1,5,3],", "%v: f32[5,3],",
      "%s: f32[]", "%w: f32[5,3]@ba as \"NC\"", "a: f32[1,3,5],", "y: f32[1,5,2,3,4]@acdeb as \"NCDHW\"");
  /* A layout that is the logical order already needs no relayout. */
  ck_assert_ptr_null(
      strstr(printed(good("weft: 1\ninputs: {x: {dtype: f32, shape: [1, 2, 3, 4], layout: NCHW}}\n"
                          "nodes: [{op: relu, inputs: [x], output: y}]\noutputs: {y: {layout: NCHW}}\n")),
             "relayout"));
}
END_TEST

START_TEST(roles_disagree) {
  const char *text = "weft: 1\ninputs: {x: {dtype: f32, shape: [1, 2, 4, 4], layout: NCHW}}\n"
                     "constants: {k: {dtype: f32, shape: [2, 2, 1, 1], layout: %s, data: [1, 2, 3, 4]}}\n"
                     "nodes:\n  - {op: conv2d, inputs: [x, k], output: y, name: down}\n"
                     "  - {op: conv2d_transpose, inputs: [y, k], output: z, name: up}\noutputs: [z]\n";
  ck_assert_ptr_null(import(arena_printf(ctx->arena, text, "OIHW")));
  ck_assert_str_eq(
      diag_text(ctx->diags, false),
      "m.yaml:3:58: error: constant 'k' is read in different roles by 'down' and 'up'; expected layout: plain\n");
  EXPECT(arena_printf(ctx->arena, text, "plain"), "@k : f32[2,2,1,1] = ", "%k = constant", "conv2d(%x, %k)",
         "conv2d_transpose(%y, %k)");
}
END_TEST

/* ---- attributes ---- */

static const char conv_head[] = "weft: 1\ninputs: {x: {dtype: f32, shape: [1, 2, 9, 9], layout: NCHW}}\n"
                                "constants: {k: {dtype: f32, shape: [2, 2, 1, 1], layout: OIHW, data: [1, 2, 3, 4]}}\n"
                                "outputs: [y]\nnodes: [{op: conv2d, inputs: [x, k, null], output: y";

START_TEST(attributes) {
  static const char *const cases[][2] = {
      {", padding: 3", "{padding = [3, 3, 3, 3]}"},
      {", padding: [1, 2]", "{padding = [1, 2, 1, 2]}"},
      {", padding: [1, 2, 3, 4], strides: 2", "{strides = [2, 2], padding = [1, 2, 3, 4]}"},
      {", strides: [2, 3], dilation: [1, 2]", "{strides = [2, 3], dilation = [1, 2]}"},
      {", groups: 1, padding: 0", "conv2d(%x, %k) : f32[1,2,9,9]"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    EXPECT(arena_printf(ctx->arena, "%s%s}]\n", conv_head, cases[k][0]), cases[k][1]);
  EXPECT("weft: 1\ninputs: {x: {dtype: f32, shape: [4]}}\nnodes:\n"
         "  - {op: clip, inputs: [x], output: a, min: -.inf, max: 6}\n"
         "  - {op: leaky_relu, inputs: [a], output: b, alpha: 2.5e-1}\n"
         "  - {op: leaky_relu, inputs: [b], output: c}\noutputs: [c]\n",
         "{min = -inf, max = 6.0}", "{alpha = 0.25}", "leaky_relu(%b) : ");
  EXPECT("weft: 1\ninputs: {x: {dtype: f32, shape: [4, 3]}}\noutputs: [y]\n"
         "nodes: [{op: transpose, inputs: [x], outputs: [y], perm: [1, 0]}]\n",
         "{perm = [1, 0]} : f32[3,4]");
}
END_TEST

/* A slope of rank 1 lies along the channels, or along `axis`; of data of rank 1, along its only axis. */
START_TEST(axis_of_slope) {
  const char *text = "weft: 1\ninputs: {x: {dtype: f32, shape: [2, 3, 4], layout: plain}}\n"
                     "constants: {s: {dtype: f32, shape: [%d], data: [1, 2, 3, 4]}}\noutputs: [y]\n"
                     "nodes: [{op: prelu, inputs: [x, s], output: y%s}]\n";
  Str three = str_new(ctx->arena);
  str_put(&three, arena_printf(ctx->arena, text, 3, ""));
  char *four = strstr(three.data, ", 4]}}");
  memcpy(four, "]}}   ", 6);
  EXPECT(three.data, "broadcast(%s) {axes = [1], shape = [2, 3, 4]}");
  EXPECT(arena_printf(ctx->arena, text, 4, ", axis: -1"), "broadcast(%s) {axes = [2], shape = [2, 3, 4]}");
  EXPECT("weft: 1\ninputs: {x: {dtype: f32, shape: [2]}, s: {dtype: f32, shape: [2]}}\n"
         "nodes: [{op: prelu, inputs: [x, s], output: y}]\noutputs: [y]\n",
         "prelu(%x, %s)");
}
END_TEST

/* ---- names and order ---- */

START_TEST(any_order) {
  EXPECT("outputs: [c]\nnodes:\n  - {op: relu, inputs: [b], output: c}\n  - {op: add, inputs: [a, x], output: b}\n"
         "  - {op: tanh, inputs: [x], output: a}\ninputs: {x: {dtype: f32, shape: [2]}}\nweft: 1\n",
         "%a = tanh(%x)", "%b = add(%a, %x)", "%c = relu(%b)", "return %c");
}
END_TEST

/* 3,000 nodes against the order, so that the sort goes as deep as there are nodes. */
START_TEST(long_chain) {
  Str s = str_new(ctx->arena);
  str_put(&s, "weft: 1\ninputs: {v0: {dtype: f32, shape: [1]}}\noutputs: [v3000]\nnodes:\n");
  for (int k = 3000; k > 0; k--)
    str_printf(&s, "- {op: relu, inputs: [v%d], output: v%d}\n", k - 1, k);
  Module *m = good(s.data);
  int n = 0;
  for (const Op *op = m->main->first; op; op = op->next, n++)
    ck_assert_str_eq(op->result->name, arena_printf(ctx->arena, "v%d", n + 1));
  ck_assert_int_eq(n, 3000);
}
END_TEST

START_TEST(locations) {
  Module *m = good("weft: 1\ninputs: {x: {dtype: f32, shape: [2]}}\nnodes:\n  - {op: relu, inputs: [x], output: y}\n"
                   "  - op: tanh\n    name: last one\n    inputs: [y]\n    output: z\noutputs: [z]\n");
  const Op *relu = m->main->first, *tanh_op = m->main->last;
  ck_assert(relu->loc.line == 4 && relu->loc.col == 5 && tanh_op->loc.line == 5 && tanh_op->loc.col == 5);
  ck_assert_str_eq(relu->loc.file, "m.yaml");
  ck_assert_str_eq(relu->loc.node, "y");
  ck_assert_str_eq(tanh_op->loc.node, "last one");
  ck_assert_str_eq(m->name, "m");
}
END_TEST

START_TEST(symbols) {
  EXPECT("weft: 1\ninputs: {x: {dtype: f32, shape: [N, H, W, 3], layout: NHWC}}\n"
         "nodes: [{op: relu, inputs: [x], output: y}]\noutputs: [y]\n",
         "%x: f32[N,3,H,W]@acdb as \"NCHW\"", "relu(%x) : f32[N,3,H,W]");
}
END_TEST

START_TEST(unused_constants_are_left_out) {
  ck_assert_ptr_null(strstr(printed(good("weft: 1\nconstants: {u: {dtype: f32, shape: [1], data: [1]}}\n"
                                         "inputs: {x: {dtype: f32, shape: [1]}}\noutputs: [x]\n")),
                            "const"));
  EXPECT("weft: 1\nconstants: {u: {dtype: f32, shape: [1], data: [1]}}\noutputs: [u]\n", "const @u", "return %u");
}
END_TEST

/* ---- inline data ---- */

static Tensor *constant_of(const char *spec) {
  Module *m = import(arena_printf(ctx->arena, "weft: 1\nconstants: {c: {%s}}\noutputs: [c]\n", spec));
  if (!m)
    return NULL;
  Tensor *t = tensor_of_type(ctx, m->first_constant->type);
  tensor_from_storage(t, m->first_constant->type, constant_data(m, m->first_constant));
  return t;
}

START_TEST(inline_data) {
  Tensor *flat = constant_of("dtype: f32, shape: [2, 3], data: [1, 2.5, -3, 4e2, .5, 6]");
  Tensor *nested = constant_of("dtype: f32, shape: [2, 3], data: [[1, 2.5, -3], [4e2, .5, 6]]");
  ck_assert_msg(flat && nested, "%s", diag_text(ctx->diags, false));
  const float want[] = {1, 2.5f, -3, 400, 0.5f, 6};
  ck_assert_mem_eq(flat->data, want, sizeof want);
  ck_assert_mem_eq(nested->data, want, sizeof want);
  ck_assert_mem_eq(constant_of("dtype: i8, shape: [2], data: [-128, 127]")->data, "\x80\x7f", 2);
  ck_assert(*(int64_t *)constant_of("dtype: i64, shape: [], data: 9223372036854775807")->data == INT64_MAX);
  ck_assert_mem_eq(constant_of("dtype: bool, shape: [3], data: [true, false, 1]")->data, "\1\0\1", 3);
  ck_assert_int_eq(constant_of("dtype: f32, shape: [2, 0], data: []")->n, 0);
  ck_assert_int_eq(constant_of("dtype: f32, shape: [2, 0], data: [[], []]")->n, 0);
  ck_assert_uint_eq(diag_count(ctx->diags), 0);
}
END_TEST

static const char *const bad_data[][2] = {
    {"dtype: f32, shape: [2], data: [1]", "a list of 1 where a list of 2"},
    {"dtype: f32, shape: [2], data: [1, 2, 3]", "a list of 3 where a list of 2"},
    {"dtype: f32, shape: [2, 2], data: [[1, 2], [3]]", "a list of 1 where a list of 2"},
    {"dtype: f32, shape: [2, 2], data: [[1, 2], 3]", "a scalar where a list of 2"},
    {"dtype: f32, shape: [2, 2], data: [1, 2, 3, [4]]", "is a list; expected a number"},
    {"dtype: f32, shape: [2, 2], data: [[[1], 2], [3, 4]]", "is a list; expected a number"},
    {"dtype: f32, shape: [1000000, 1000000], data: [1]", "fewer values than its shape"},
    {"dtype: f32, shape: [1000000, 1000000, 1000000, 1000000], data: 1", "fewer values than its shape"},
    {"dtype: f32, shape: [2], data: 1", "fewer values than its shape"},
    {"dtype: f32, shape: [1], data: [x]", "'x'; expected a number"},
    {"dtype: f32, shape: [1], data: ['1']", "the string '1'; expected a number"},
    {"dtype: f32, shape: [1], data: [1e39]", "too large for f32"},
    {"dtype: f64, shape: [1], data: [1e999]", "expected a number"},
    {"dtype: f32, shape: [1], data: [0x10]", "expected a number"},
    {"dtype: u8, shape: [1], data: [256]", "256 is no u8; expected 0 to 255"},
    {"dtype: u8, shape: [1], data: [-1]", "-1 is no u8"},
    {"dtype: i32, shape: [1], data: [1.0]", "'1.0'; expected an integer"},
    {"dtype: i32, shape: [1], data: [010]", "'010'; expected an integer"},
    {"dtype: i64, shape: [1], data: [9223372036854775808]", "expected an integer"},
    {"dtype: bool, shape: [1], data: [2]", "expected true or false"},
    {"dtype: f31, shape: [1], data: [2]", "unknown dtype 'f31'"},
    {"shape: [1], data: [2]", "lacks 'dtype'"},
    {"dtype: f32, data: [2]", "lacks 'shape'"},
    {"dtype: f32, shape: [N], data: [2]", "'N'; expected an integer"},
    {"dtype: f32, shape: [-1], data: [2]", "extent -1"},
    {"dtype: f32, shape: 1, data: [2]", "expected a list of extents"},
    {"dtype: f32, shape: [1,1,1,1,1,1,1,1,1], data: [2]", "9 axes; expected at most 8"},
    {"dtype: f32, shape: [1], data: [2], file: a.npy", "both 'file' and 'data'"},
    {"dtype: f32, shape: [1]", "neither 'file' nor 'data'"},
    {"dtype: f32, shape: [1], data: [2], tensor: t", "has 'tensor'"},
};

START_TEST(refused_data) {
  ck_assert_ptr_null(constant_of(bad_data[_i][0]));
  const char *text = diag_text(ctx->diags, false);
  ck_assert_msg(strstr(text, bad_data[_i][1]) && strncmp(text, "m.yaml:2:", 9) == 0, "said: %s", text);
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
}
END_TEST

/* ---- files of weights ---- */

/* Imports a graph with a kernel in a .npy, then reads its text form back from the same folder. */
START_TEST(files_and_text_form) {
  char folder[] = "/tmp/weft-yaml-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  const char *npy = arena_printf(ctx->arena, "%s/k.npy", folder), *yaml = arena_printf(ctx->arena, "%s/g.yaml", folder);
  const char *text = arena_printf(ctx->arena, "%s/g.weft", folder);
  Tensor *k = tensor_new(ctx, DT_F32, 4, (int64_t[]){1, 2, 3, 2}); /* H, W, I, O */
  for (int e = 0; e < 12; e++)
    tensor_set(k, e, e);
  const char *graph = "weft: 1\ninputs: {x: {dtype: f32, shape: [1, 3, 4, 4], layout: NCHW}}\n"
                      "constants: {k: {file: k.npy, layout: HWIO}}\n"
                      "nodes: [{op: conv2d, inputs: [x, k], output: y}]\noutputs: [y]\n";
  ck_assert(npy_write(ctx, npy, k) && file_write(ctx, yaml, graph, strlen(graph)));
  Module *m = model_import(ctx, yaml, NULL);
  ck_assert_msg(m != NULL, "%s", diag_text(ctx->diags, false));
  const Constant *c = m->first_constant;
  ck_assert_str_eq(type_text(ctx, c->type), "f32[2,3,1,2]@cdba");
  ck_assert_str_eq(c->file, "k.npy");
  ck_assert_mem_eq(constant_data(m, m->first_constant), k->data, 48);
  Str out = str_new(ctx->arena);
  module_print(&out, m, (PrintOptions){.file_refs = true});
  ck_assert_ptr_nonnull(strstr(out.data, "file(\"k.npy\")"));
  ck_assert(file_write(ctx, text, out.data, out.len));
  Module *again = model_import(ctx, text, NULL);
  ck_assert_msg(again != NULL, "%s", diag_text(ctx->diags, false));
  ck_assert_ptr_eq(again->first_constant->type, c->type);
  ck_assert_mem_eq(constant_data(again, again->first_constant), k->data, 48);
  unlink(npy);
  unlink(yaml);
  unlink(text);
  ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* ---- the tree ---- */

static YamlNode *tree(const char *text, size_t n) {
  return yaml_parse(ctx, "t.yaml", text, n);
}

START_TEST(tree_marks) {
  const char text[] = "\xEF\xBB\xBF# comment\na: [1, 'two', ~]\n\"\xC3\xA9\": {b: null, c: }\n";
  const YamlNode *root = tree(text, sizeof text - 1);
  ck_assert_msg(root != NULL, "%s", diag_text(ctx->diags, false));
  ck_assert(root->kind == YAML_MAP && root->n == 2 && root->line == 2 && root->col == 1);
  const YamlNode *a = yaml_get(root, "a"), *e = yaml_get(root, "\xC3\xA9");
  ck_assert(a->kind == YAML_LIST && a->n == 3 && a->col == 4);
  ck_assert(a->items[0]->plain && !a->items[1]->plain && a->items[1]->col == 8);
  ck_assert_str_eq(a->items[1]->text, "two");
  ck_assert(yaml_is_null(a->items[2]) && !yaml_is_null(a->items[0]));
  ck_assert(e->line == 3 && e->col == 6 && yaml_is_null(yaml_get(e, "b")) && yaml_is_null(yaml_get(e, "c")));
  ck_assert_ptr_null(yaml_get(e, "d"));
}
END_TEST

#define BYTES(s) s, sizeof(s) - 1
static const struct {
  const char *text;
  size_t n;
  const char *message;
} bad_trees[] = {
    {BYTES(""), "1:1: error: holds no document"},
    {BYTES("# nothing\n"), "1:1: error: holds no document"},
    {BYTES("a: 1\na: 2\n"), "2:1: error: duplicate key 'a'"},
    {BYTES("{a: {b: 1, c: 2, b: 3}}"), "1:18: error: duplicate key 'b'"},
    {BYTES("a: &x 1\n"), "1:4: error: anchors and aliases"},
    {BYTES("a: *x\n"), "1:4: error: anchors and aliases"},
    {BYTES("a: &x [*x]\n"), "1:4: error: anchors and aliases"},
    {BYTES("a: !!python/object:os.system x\n"), "1:4: error: tags are not"},
    {BYTES("a: ! x\n"), "1:4: error: tags are not"},
    {BYTES("!t {a: 1}\n"), "1:1: error: tags are not"},
    {BYTES("a: 1\n---\nb: 2\n"), "2:1: error: a second document"},
    {BYTES("[a]: 1\n"), "1:1: error: a key must be a scalar"},
    {BYTES("? {a: 1}\n: 1\n"), "1:3: error: a key must be a scalar"},
    {BYTES("a: \"b\\0c\"\n"), "1:4: error: a string with a NUL"},
    {BYTES("a: b\0c\n"), "1:5: error: control characters are not allowed"},
    {BYTES("a: 1\nb: \x07\n"), "2:4: error: control characters are not allowed"},
    {BYTES("a: 1\n\xC3\xA9\xC3\xA9: \xFF\n"), "2:5: error: invalid leading UTF-8 octet (0xFF); expected UTF-8"},
    {BYTES("\xFF\xFE"
           "a\0:\0"),
     "1:1: error: UTF-16 text"},
    {BYTES("\xFE\xFF\0a\0:"), "1:1: error: UTF-16 text"},
    {BYTES("a:\n\tb: 1\n"), "2:1: error: found character that cannot start any token"},
    {BYTES("a: \"open\n"), "2:1: error: found unexpected end of stream"},
    {BYTES("a: [1, 2\n"), "2:1: error: did not find expected ',' or ']'"},
    {BYTES("a: 1\n b: 2\n"), "2:3: error: mapping values are not allowed in this context"},
    {BYTES("%YAML 2.0\n---\na: 1\n"), "error: found incompatible YAML document"},
};

START_TEST(refused_trees) {
  ck_assert_ptr_null(tree(bad_trees[_i].text, bad_trees[_i].n));
  const char *text = diag_text(ctx->diags, false), *first = arena_strndup(ctx->arena, text, strcspn(text, "\n"));
  ck_assert_msg(strstr(first, bad_trees[_i].message) && strncmp(first, "t.yaml:", 7) == 0, "said: %s", text);
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
}
END_TEST

START_TEST(tree_limits) {
  Str deep = str_new(ctx->arena);
  for (int depth = 63; depth <= 66; depth++) {
    deep.len = 0;
    for (int k = 0; k < depth; k++)
      str_putc(&deep, '[');
    for (int k = 0; k < depth; k++)
      str_putc(&deep, ']');
    ck_assert_int_eq(tree(deep.data, deep.len) != NULL, depth <= YAML_MAX_DEPTH);
  }
  /* One more than the limit of nodes: the list itself counts. */
  size_t n = YAML_MAX_NODES;
  char *wide = arena_alloc(ctx->arena, 2 * n + 2);
  for (size_t k = 0; k < n; k++)
    memcpy(wide + 1 + 2 * k, "1,", 2);
  wide[0] = '[';
  wide[2 * n] = ']';
  ck_assert_ptr_null(tree(wide, 2 * n + 1));
  ck_assert_ptr_nonnull(strstr(diag_text(ctx->diags, false), "more than 2097152 nodes"));
  ck_assert_ptr_null(tree(wide, YAML_MAX_BYTES + 1));
  ck_assert_ptr_nonnull(strstr(diag_text(ctx->diags, false), "of YAML are read"));
}
END_TEST

Suite *suite_yaml(void);
Suite *suite_yaml(void) {
  Suite *s = suite_create("yaml");
  TCase *t = tcase_create("yaml");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  tcase_add_test(t, kernels_in_all_orders);
  tcase_add_test(t, boundary_types);
  tcase_add_test(t, roles_disagree);
  tcase_add_test(t, attributes);
  tcase_add_test(t, axis_of_slope);
  tcase_add_test(t, any_order);
  tcase_add_test(t, long_chain);
  tcase_add_test(t, locations);
  tcase_add_test(t, symbols);
  tcase_add_test(t, unused_constants_are_left_out);
  tcase_add_test(t, inline_data);
  tcase_add_loop_test(t, refused_data, 0, (int)(sizeof bad_data / sizeof *bad_data));
  tcase_add_test(t, files_and_text_form);
  tcase_add_test(t, tree_marks);
  tcase_add_loop_test(t, refused_trees, 0, (int)(sizeof bad_trees / sizeof *bad_trees));
  tcase_add_test(t, tree_limits);
  suite_add_tcase(s, t);
  return s;
}
