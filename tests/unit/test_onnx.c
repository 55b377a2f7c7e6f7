/* The ONNX importer on models made in memory: names and order, sizes, shape arithmetic, attributes of each opset, what
 * windows' padding becomes, tensors in every form, and refusals that name node and attribute. */
#include "frontend/source.h"
#include "onnx_encode.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static Ctx *ctx;
static Str graph; /* under construction */
static ImportOptions options;

static void setup(void) {
  ctx = ctx_create();
  graph = str_new(ctx->arena);
  options = (ImportOptions){0};
}
static void teardown(void) {
  ctx_destroy(ctx);
}

enum {
  FLOAT = 1,
  UINT8 = 2,
  INT8 = 3,
  UINT16 = 4,
  INT16 = 5,
  INT32 = 6,
  INT64 = 7,
  BOOL = 9,
  FLOAT16 = 10,
  DOUBLE = 11,
  UINT32 = 12,
  UINT64 = 13,
  BFLOAT16 = 16
};

/* ---- building ---- */

static void add_node_with(const char *text, int n_attrs, const Str *attrs) {
  Str n = node(ctx, NULL, text);
  for (int k = 0; k < n_attrs; k++)
    put_message(&n, 5, attrs[k]);
  put_message(&graph, 1, n);
}
static void add_node(const char *text) {
  add_node_with(text, 0, NULL);
}
#define ADD_NODE(text, ...) add_node_with(text, (int)(sizeof((Str[]){__VA_ARGS__}) / sizeof(Str)), (Str[]){__VA_ARGS__})
static void add_input(const char *name, int type, const int64_t *dims, int rank) {
  put_message(&graph, 11, value_info(ctx, name, type, dims, rank, NULL));
}
static void add_output(const char *name) {
  Str s = str_new(ctx->arena);
  put_text(&s, 1, name);
  put_message(&graph, 12, s);
}
static void add_ints(const char *name, const int64_t *v, int n) {
  put_message(&graph, 5, tensor_ints(ctx, name, v, n));
}
static void add_floats(const char *name, const int64_t *dims, int rank) {
  int64_t n = 1;
  for (int k = 0; k < rank; k++)
    n *= dims[k];
  float *v = ARENA_ARRAY(ctx->arena, float, n);
  for (int64_t k = 0; k < n; k++)
    v[k] = (float)(k % 7) - 3;
  put_message(&graph, 5, tensor_floats(ctx, name, dims, rank, v, (size_t)n));
}

/* ---- importing ---- */

static Module *import(int opset) {
  Str bytes = model(ctx, opset, graph);
  return onnx_import(ctx, "m.onnx", bytes.data, bytes.len, &options);
}
static Module *import_well(int opset) {
  Module *m = import(opset);
  ck_assert_msg(m && diag_count(ctx->diags) == 0, "%s", diag_text(ctx->diags, false));
  ck_assert(module_verify(m));
  return m;
}
static void refuse(int opset, Status status, const char *text) {
  Module *m = import(opset);
  const char *got = diag_text(ctx->diags, false);
  ck_assert_msg(!m && strstr(got, text), "expected '%s', got '%s'", text, got);
  ck_assert_msg(strncmp(got, "m.onnx: ", 8) == 0, "got '%s'", got);
  ck_assert_int_eq(diag_status(ctx->diags), status);
}
static const char *type_of_output(const Module *m, int k) {
  return type_text(ctx, m->main->results.data[k].type);
}
static const Op *op_of_output(const Module *m, int k) {
  return m->main->results.data[k].value->def;
}
static int count_ops(const Module *m) {
  int n = 0;
  for (const Op *op = m->main->first; op; op = op->next)
    n += op->def->code != OP_CONSTANT;
  return n;
}
/* The outputs for inputs of 0, 1, 2, ... each. */
static Tensor **evaluate(Module *m) {
  const Tensor **in = ARENA_ARRAY(ctx->arena, const Tensor *, m->main->params.len);
  for (size_t k = 0; k < m->main->params.len; k++) {
    Tensor *t = tensor_of_type(ctx, m->main->params.data[k]->type);
    for (int64_t i = 0; i < t->n; i++)
      tensor_set(t, i, (double)i);
    in[k] = t;
  }
  Tensor **out = ARENA_ARRAY(ctx->arena, Tensor *, m->main->results.len);
  ck_assert(eval_function(m, m->main, in, out, NULL));
  return out;
}
static void expect_values(const Tensor *t, const double *v, int n) {
  ck_assert_int_eq(t->n, n);
  for (int k = 0; k < n; k++)
    ck_assert_msg(tensor_get(t, k) == v[k], "element %d is %g, expected %g", k, tensor_get(t, k), v[k]);
}
#define EXPECT_VALUES(t, ...)                                                                                          \
  expect_values(t, (const double[]){__VA_ARGS__}, (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

/* ---- names and order ---- */

START_TEST(defined_names) {
  add_input("x", FLOAT, INTS(2, 3));
  add_input("w", FLOAT, INTS(3)); /* an initializer gives it a default: no input */
  add_floats("w", INTS(3));
  put_message(&graph, 1, node(ctx, "adding", "Add x,w -> y"));
  add_output("y");
  Module *m = import_well(17);
  ck_assert(m->main->params.len == 1 && strcmp(m->main->params.data[0]->name, "x") == 0);
  const Op *op = op_of_output(m, 0);
  ck_assert(op->def->code == OP_ADD && strcmp(op->result->name, "y") == 0);
  ck_assert_str_eq(op->loc.file, "m.onnx");
  ck_assert_str_eq(op->loc.node, "adding");
  ck_assert_int_eq(op->loc.line, 0);
  ck_assert_ptr_nonnull(module_find_constant(m, "w"));
  EXPECT_VALUES(evaluate(m)[0], -3, -1, 1, 0, 2, 4);
}
END_TEST

START_TEST(any_order) {
  add_node("Relu c -> d");
  add_node("Neg b -> c");
  add_node("Neg a -> b");
  add_node("Neg x -> a");
  add_input("x", FLOAT, INTS(2));
  add_output("d");
  EXPECT_VALUES(evaluate(import_well(17))[0], 0, 0);
}
END_TEST

/* A chain longer than any stack, backwards. */
START_TEST(long_chain) {
  enum { N = 100000 };
  add_input("v0", FLOAT, INTS(2));
  for (int k = N; k > 0; k--)
    add_node(arena_printf(ctx->arena, "Identity v%d -> v%d", k - 1, k));
  add_output(arena_printf(ctx->arena, "v%d", N));
  Module *m = import_well(17);
  ck_assert(m->main->results.data[0].value == m->main->params.data[0]);
}
END_TEST

START_TEST(dead_nodes) {
  add_input("x", FLOAT, INTS(2));
  add_node("Relu x -> y");
  add_node("NoSuchOperator x -> z"); /* nobody reads it */
  add_output("y");
  ck_assert_int_eq(count_ops(import_well(17)), 1);
}
END_TEST

START_TEST(bad_names) {
  static const struct {
    const char *nodes[3], *output, *message;
  } cases[] = {
      {{"Add x,b -> a", "Relu a -> b"}, "b", "the node lies on a cycle, which no order can compute: 'b' <- 'a' <- 'b'"},
      {{"Add x,a -> a"}, "a", "node 'a': error: the node lies on a cycle"},
      {{"Add x,a -> a", "Relu x -> y"}, "y", "lies on a cycle"},
      {{"Relu q -> y"}, "y", "node 'y': error: Relu: reads 'q', which no input, initializer or node makes"},
      {{"Relu x -> y"}, "z", "output 'z' is made by no input, initializer or node"},
      {{"Relu x -> y", "Neg x -> y"}, "y", "output 'y' is the output of a node already: duplicate name"},
      {{"Relu x -> x"}, "x", "output 'x' is an input already"},
      {{"Relu x -> w"}, "w", "output 'w' is an initializer already"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    teardown();
    setup();
    add_input("x", FLOAT, INTS(2));
    add_floats("w", INTS(2));
    for (int j = 0; j < 3 && cases[k].nodes[j]; j++)
      add_node(cases[k].nodes[j]);
    add_output(cases[k].output);
    refuse(17, WEFT_MALFORMED, cases[k].message);
  }
}
END_TEST

START_TEST(unsupported_in_one_message) {
  add_input("x", FLOAT, INTS(2));
  add_node("Frob x -> a");
  Str other = node(ctx, "named", "Frob a -> b");
  put_message(&graph, 1, other);
  Str foreign = node(ctx, NULL, "Relu b -> c");
  put_text(&foreign, 7, "com.example");
  put_message(&graph, 1, foreign);
  add_output("c");
  refuse(17, WEFT_UNSUPPORTED,
         "these operators are not supported in opset 17: Frob (nodes 'a', 'named'); com.example.Relu (node 'c')");
  ck_assert_uint_eq(diag_count(ctx->diags), 1);
}
END_TEST

START_TEST(opsets) {
  add_input("x", FLOAT, INTS(2));
  add_node("Relu x -> y");
  add_output("y");
  import_well(7);
  import_well(28);
  refuse(6, WEFT_UNSUPPORTED, "is made for opset 6 of the ONNX operators; supported are 7 to 28");
  teardown();
  setup();
  add_input("x", FLOAT, INTS(2));
  add_node("Gelu x -> y");
  add_output("y");
  refuse(19, WEFT_UNSUPPORTED, "not supported in opset 19: Gelu (node 'y')");
}
END_TEST

/* ---- sizes ---- */

static void size(const char *name, int rank, int64_t a, int64_t b) {
  vec_push(ctx->arena, &options.shapes, ((ImportShape){.name = name, .rank = rank, .dims = {a, b}}));
}
static void file_size(const char *arg, int rank, int64_t a, int64_t b) {
  vec_push(ctx->arena, &options.shapes, ((ImportShape){.arg = arg, .rank = rank, .dims = {a, b}}));
}

/* x[N,H], y[N,8*h], z[?,4] */
static void open_model(void) {
  put_message(&graph, 11, value_info(ctx, "x", FLOAT, INTS(-1, -1), (const char *const[]){"N", "H"}));
  put_message(&graph, 11, value_info(ctx, "y", FLOAT, INTS(-1, -1), (const char *const[]){"N", "8*h"}));
  put_message(&graph, 11, value_info(ctx, "z", FLOAT, INTS(-1, 4), (const char *const[]){"8*h", NULL}));
  add_output("x");
  add_output("y");
  add_output("z");
}

START_TEST(given_sizes) {
  open_model();
  size("x", 2, 5, 6);
  size("8*h", -1, 16, 0);
  Module *m = import_well(17);
  ck_assert_str_eq(type_of_output(m, 0), "f32[5,6]");
  ck_assert_str_eq(type_of_output(m, 1), "f32[5,16]"); /* N is x's */
  ck_assert_str_eq(type_of_output(m, 2), "f32[16,4]");
}
END_TEST

START_TEST(sizes_from_files) {
  open_model();
  file_size("z=a.npy", 2, 9, 4);
  file_size("b.npy", 2, 5, 6);
  file_size("c.npy", 2, 5, 24); /* 8*h is no identifier: it need not be z's 9 */
  Module *m = import_well(17);
  ck_assert_str_eq(type_of_output(m, 0), "f32[5,6]");
  ck_assert_str_eq(type_of_output(m, 1), "f32[5,24]");
  ck_assert_str_eq(type_of_output(m, 2), "f32[9,4]");
}
END_TEST

START_TEST(sizes_missing) {
  open_model();
  size("N", -1, 5, 0);
  refuse(17, WEFT_UNSUPPORTED,
         "input 'x' is f32[N,H]: the size of axis 1 ('H') is open; give it by --shape 'x=5xN' or --shape 'H=N'");
}
END_TEST

START_TEST(sizes_wrong) {
  static const struct {
    const char *name;
    int rank;
    int64_t a, b;
    const char *message;
  } cases[] = {
      {"q", 2, 1, 2, "--shape q: no input or dimension of the model has this name; its inputs are 'x', f32[N,H]"},
      {"x", 1, 4, 0, "--shape x=4: has 1 dimensions (4), but input 'x' is f32[N,H]"},
      {"z", 2, 1, 5, "--shape z=1x5: the model fixes axis 1 of input 'z' to 4: it is f32[8*h,4]"},
      {"y", 2, 6, 8, "--shape y=6x8: dimension 'N' is 6 here, but 5 by --shape x=5x6"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    teardown();
    setup();
    open_model();
    size("x", 2, 5, 6);
    size(cases[k].name, cases[k].rank, cases[k].a, cases[k].b);
    ck_assert_ptr_null(import(17));
    const char *got = diag_text(ctx->diags, false);
    ck_assert_msg(strstr(got, cases[k].message), "expected '%s', got '%s'", cases[k].message, got);
    ck_assert_int_eq(diag_status(ctx->diags), WEFT_USAGE);
  }
  teardown();
  setup();
  open_model();
  file_size("x.npy", 2, 5, 6);
  file_size("y.npy", 2, 7, 8);
  ck_assert_ptr_null(import(17));
  ck_assert_ptr_nonnull(strstr(diag_text(ctx->diags, false), "y.npy: error: dimension 'N' is 7 here, but 5 by x.npy"));
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
}
END_TEST

START_TEST(inputs_of_arguments) {
  static const char *const names[] = {"a", "a=b", "c"};
  const char *file;
  ck_assert_int_eq(input_of_arg("c=x.npy", names, 3, &file), 2);
  ck_assert_str_eq(file, "x.npy");
  ck_assert_int_eq(input_of_arg("a=b.npy", names, 3, &file), 0);
  ck_assert_int_eq(input_of_arg("a=b=x", names, 3, &file), 0); /* the shortest name */
  ck_assert_int_eq(input_of_arg("x.npy", names, 3, &file), -1);
  ck_assert_str_eq(file, "x.npy");
}
END_TEST

/* ---- shape arithmetic ---- */

/* x.reshape(x.shape[0], prod(x.shape[1:3]), -1) as exporters spell it, then a slice by computed bounds. */
START_TEST(shape_chain) {
  put_message(&graph, 11, value_info(ctx, "x", FLOAT, INTS(-1, 3, 4, 2), (const char *const[]){"N", 0, 0, 0}));
  size("N", -1, 2, 0);
  add_ints("i0", INTS(0));
  add_ints("i1", INTS(1));
  add_ints("i2", INTS(2));
  add_ints("rest", INTS(-1));
  add_ints("far", INTS(INT64_MAX));
  add_node("Shape x -> s");
  add_node("Gather s,i0 -> n");
  add_node("Gather s,i1 -> c");
  add_node("Gather s,i2 -> h");
  add_node("Mul c,h -> ch");
  ADD_NODE("Cast ch -> chf", attr_int(ctx, "to", FLOAT));
  add_node("Floor chf -> fl");
  ADD_NODE("Cast fl -> chi", attr_int(ctx, "to", INT64));
  ADD_NODE("Concat n,chi,rest -> shape", attr_int(ctx, "axis", 0));
  add_node("Reshape x,shape -> r");
  add_node("Div chi,i2 -> half");
  add_node("Slice r,half,far,i1 -> y");
  add_output("y");
  Module *m = import_well(17);
  ck_assert_str_eq(type_of_output(m, 0), "f32[2,6,2]");
  ck_assert_int_eq(count_ops(m), 2);
  Tensor *y = evaluate(m)[0];
  ck_assert(tensor_get(y, 0) == 12 && tensor_get(y, 23) == 47);
}
END_TEST

START_TEST(known_values) {
  add_input("x", FLOAT, INTS(2, 3, 4));
  add_ints("two", INTS(2));
  add_ints("three", INTS(3));
  ADD_NODE("Shape x -> tail", attr_int(ctx, "start", -2));
  add_node("Size x -> all");
  add_node("ConstantOfShape tail -> zeros");
  ADD_NODE("ConstantOfShape two -> sevens", ({
             Str a = str_new(ctx->arena);
             put_text(&a, 1, "value");
             put_message(&a, 5, tensor_ints(ctx, "", INTS(7)));
             put_int(&a, 20, 4);
             a;
           }));
  ADD_NODE("Constant -> from", attr_int(ctx, "value_int", 1));
  ADD_NODE("Constant -> to", attr_int(ctx, "value_int", 8));
  ADD_NODE("Constant -> step", attr_int(ctx, "value_int", 3));
  add_node("Range from,to,step -> range");
  add_node("Equal tail,three -> eq");
  add_node("Where eq,sevens,tail -> picked");
  const char *outputs[] = {"tail", "all", "zeros", "sevens", "range", "picked"};
  for (int k = 0; k < 6; k++)
    add_output(outputs[k]);
  Module *m = import_well(17);
  ck_assert_int_eq(count_ops(m), 0);
  Tensor **t = evaluate(m);
  EXPECT_VALUES(t[0], 3, 4);
  EXPECT_VALUES(t[1], 24);
  ck_assert(t[2]->n == 12 && t[2]->dtype == DT_F32 && tensor_get(t[2], 5) == 0);
  EXPECT_VALUES(t[3], 7, 7);
  EXPECT_VALUES(t[4], 1, 4, 7);
  EXPECT_VALUES(t[5], 7, 4);
}
END_TEST

START_TEST(unknown_shape) {
  add_input("x", FLOAT, INTS(2, 3));
  add_input("s", INT64, INTS(2));
  add_node("Reshape x,s -> y");
  add_output("y");
  refuse(17, WEFT_UNSUPPORTED,
         "node 'y': error: Reshape: operand 2, 's', which is 'shape', depends on the model's inputs");
}
END_TEST

/* For a run, the content of an input that a shape depends on is known: here through an addition, and of no other. */
START_TEST(shape_from_content) {
  add_input("x", FLOAT, INTS(2, 3));
  add_input("s", INT64, INTS(2));
  add_input("t", INT64, INTS(2));
  add_ints("one", INTS(1));
  add_node("Add s,one -> s1");
  add_node("Reshape x,s1 -> y");
  add_node("Add s,t -> z");
  add_output("y");
  add_output("z");
  Tensor *content = tensor_new(ctx, DT_I64, 1, (const int64_t[]){2});
  tensor_set(content, 0, 2);
  tensor_set(content, 1, 1);
  vec_push(ctx->arena, &options.shapes, ((ImportShape){.arg = "s=f.npy", .rank = 1, .dims = {2}, .content = content}));
  Module *m = import_well(17);
  ck_assert_str_eq(type_of_output(m, 0), "f32[3,2]");
  ck_assert_int_eq(m->main->params.len, 3); /* the program still takes s */
  EXPECT_VALUES(evaluate(m)[1], 2, 2);
}
END_TEST

START_TEST(reshapes) {
  static const struct {
    int64_t want[3];
    const char *type;
  } cases[] = {{{0, -1, 2}, "f32[2,6,2]"}, {{4, 0, 2}, "f32[4,3,2]"}, {{-1, 24, 1}, "f32[1,24,1]"},
               {{5, -1, 1}, NULL},         {{-1, -1, 1}, NULL},       {{2, 2, 2}, NULL},
               {{-2, 1, 1}, NULL}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    teardown();
    setup();
    add_input("x", FLOAT, INTS(2, 3, 4));
    add_ints("s", cases[k].want, 3);
    add_node("Reshape x,s -> y");
    add_output("y");
    if (cases[k].type)
      ck_assert_str_eq(type_of_output(import_well(13), 0), cases[k].type);
    else
      refuse(13, WEFT_MALFORMED, "Reshape: operand 1, 'x', is f32[2,3,4]; its 24 elements cannot take the shape [");
  }
}
END_TEST

/* ---- attributes ---- */

START_TEST(attributes_refused) {
  static const struct {
    const char *text;
    int kind; /* of the attribute */
    const char *name, *message;
    Status status;
  } cases[] = {
      {"LeakyRelu x -> y", 'f', "beta", "LeakyRelu: attribute 'beta' is not supported in opset 13", WEFT_UNSUPPORTED},
      {"LeakyRelu x -> y", 'i', "alpha", "attribute 'alpha' is an int, expected a float", WEFT_MALFORMED},
      {"Clip x -> y", 'f', "min", "attribute 'min' is not supported in opset 13", WEFT_UNSUPPORTED},
      {"Squeeze x -> y", 'l', "axes", "attribute 'axes' is not supported in opset 13", WEFT_UNSUPPORTED},
      {"Transpose x -> y", 'l', "perm", "attribute 'perm' has 2 numbers, expected 4", WEFT_MALFORMED},
      {"Concat x -> y", 0, "", "attribute 'axis' is missing", WEFT_MALFORMED},
      {"Concat x -> y", 'i', "axis", "'axis' is 9, expected -4 to 3: the rank is 4", WEFT_MALFORMED},
      {"MaxPool x -> y", 'l', "kernel_shape", "attribute 'strides' has 3 numbers, expected 2", WEFT_MALFORMED},
      {"MaxPool x -> y", 's', "auto_pad", "attribute 'auto_pad' is \"no\", expected one of NOTSET|SAME_UPPER",
       WEFT_UNSUPPORTED},
      {"Add x -> y", 0, "", "1 operands, expected 2 in opset 13", WEFT_MALFORMED},
      {"Add x, -> y", 0, "", "1 operands, expected 2", WEFT_MALFORMED},
      {"Add ,x -> y", 0, "", "operand 1 is omitted, which is not allowed", WEFT_MALFORMED},
      {"MaxPool x -> a,y", 'k', "kernel_shape", "output 2, 'y', is not supported", WEFT_UNSUPPORTED},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    teardown();
    setup();
    add_input("x", FLOAT, INTS(1, 3, 5, 6));
    const char *name = cases[k].name;
    Str strides = attr_ints(ctx, "strides", INTS(1, 1, 1));
    switch (cases[k].kind) {
    case 'f':
      ADD_NODE(cases[k].text, attr_float(ctx, name, 1));
      break;
    case 'i':
      ADD_NODE(cases[k].text, attr_int(ctx, name, 9));
      break;
    case 's':
      ADD_NODE(cases[k].text, attr_text(ctx, name, "no"));
      break;
    case 'l':
      if (strcmp(name, "kernel_shape") == 0)
        ADD_NODE(cases[k].text, attr_ints(ctx, name, INTS(2, 2)), strides);
      else
        ADD_NODE(cases[k].text, attr_ints(ctx, name, INTS(0, 1)));
      break;
    case 'k':
      ADD_NODE(cases[k].text, attr_ints(ctx, name, INTS(2, 2)));
      break;
    default:
      add_node(cases[k].text);
    }
    add_output("y");
    refuse(13, cases[k].status, cases[k].message);
  }
}
END_TEST

START_TEST(attribute_twice) {
  add_input("x", FLOAT, INTS(2));
  ADD_NODE("LeakyRelu x -> y", attr_float(ctx, "alpha", 1), attr_float(ctx, "alpha", 2));
  add_output("y");
  refuse(13, WEFT_MALFORMED, "attribute 'alpha' occurs twice");
}
END_TEST

/* What stands in attributes in old opsets and in operands in new ones comes to the same. */
START_TEST(old_and_new) {
  for (int old = 0; old <= 1; old++) {
    teardown();
    setup();
    add_input("x", FLOAT, INTS(1, 4));
    float bounds[2] = {1, 2};
    put_message(&graph, 5, tensor_floats(ctx, "lo", NULL, 0, &bounds[0], 1));
    put_message(&graph, 5, tensor_floats(ctx, "hi", NULL, 0, &bounds[1], 1));
    add_ints("zero", INTS(0));
    add_ints("one", INTS(1));
    add_ints("pads", INTS(1, 0));
    if (old) {
      ADD_NODE("Squeeze x -> a", attr_ints(ctx, "axes", INTS(0)));
      ADD_NODE("Clip a -> b", attr_float(ctx, "min", 1), attr_float(ctx, "max", 2));
      ADD_NODE("Pad b -> c", attr_ints(ctx, "pads", INTS(1, 0)), attr_float(ctx, "value", 2));
      ADD_NODE("ReduceSum c -> d", attr_ints(ctx, "axes", INTS(0)));
      ADD_NODE("Unsqueeze d -> e", attr_ints(ctx, "axes", INTS(1)));
    } else {
      add_node("Squeeze x,zero -> a");
      add_node("Clip a,lo,hi -> b");
      add_node("Pad b,pads,hi -> c");
      add_node("ReduceSum c,zero -> d");
      add_node("Unsqueeze d,one -> e");
    }
    add_output("e");
    Module *m = import_well(old ? 10 : 13);
    ck_assert_str_eq(type_of_output(m, 0), "f32[1,1]");
    EXPECT_VALUES(evaluate(m)[0], 8); /* 2 + clip(0, 1, 2, 3) */
  }
}
END_TEST

/* Softmax over the last axis, or over all axes from the second on. */
START_TEST(softmax_by_opset) {
  for (int opset = 11; opset <= 13; opset += 2) {
    teardown();
    setup();
    add_input("x", FLOAT, INTS(1, 2, 2));
    add_node("Softmax x -> y");
    add_output("y");
    Tensor *y = evaluate(import_well(opset))[0];
    double sum = tensor_get(y, 0) + tensor_get(y, 1);
    ck_assert_msg(opset == 11 ? sum < 0.2 : sum > 0.999999 && sum < 1.000001, "opset %d: %g", opset, sum);
  }
}
END_TEST

/* ---- windows ---- */

enum { NOTSET, SAME_UPPER, SAME_LOWER, VALID };
static const char *const auto_pads[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};

/* 3 pixels, kernel 3, stride 2 unless said: as ONNX Runtime 1.32 has it. wanted 0: no output_shape. */
static const struct {
  int auto_pad;
  int64_t kernel, stride, wanted, extent, begin, end;
} transposed[] = {
    {NOTSET, 3, 2, 0, 7, 0, 0},     {VALID, 3, 2, 0, 7, 0, 0},       {SAME_UPPER, 3, 2, 0, 6, 0, 1},
    {SAME_LOWER, 3, 2, 0, 6, 1, 0}, {NOTSET, 3, 2, 6, 6, 1, 0},      {SAME_UPPER, 3, 2, 6, 6, 0, 1},
    {SAME_LOWER, 3, 2, 6, 6, 1, 0}, {NOTSET, 3, 2, 4, 4, 2, 1},      {SAME_UPPER, 3, 2, 4, 4, 1, 2},
    {NOTSET, 3, 2, 8, 8, 0, -1},    {SAME_UPPER, 3, 2, 8, 8, 0, -1}, {NOTSET, 3, 2, 7, 7, 0, 0},
    {SAME_UPPER, 1, 2, 0, 5, 0, 0}, {SAME_LOWER, 4, 1, 0, 3, 2, 1},
};

START_TEST(transposed_padding) {
  int64_t k = transposed[_i].kernel, s = transposed[_i].stride, wanted = transposed[_i].wanted;
  add_input("x", FLOAT, INTS(1, 1, 3));
  add_floats("w", INTS(1, 1, k));
  Str strides = attr_ints(ctx, "strides", INTS(s)), shape = attr_ints(ctx, "output_shape", INTS(wanted));
  Str pad = attr_text(ctx, "auto_pad", auto_pads[transposed[_i].auto_pad]);
  if (wanted)
    ADD_NODE("ConvTranspose x,w -> y", strides, pad, shape);
  else
    ADD_NODE("ConvTranspose x,w -> y", strides, pad);
  add_output("y");
  Module *m = import_well(17);
  ck_assert_int_eq(expr_value(m->main->results.data[0].type->dims[2]), transposed[_i].extent);
  const int64_t *padding = op_attr(op_of_output(m, 0), "padding")->ints;
  ck_assert(padding[0] == transposed[_i].begin && padding[1] == transposed[_i].end);
}
END_TEST

/* Convolution and pools: extent, kernel, stride, dilation to begin and end. */
static const struct {
  int auto_pad;
  int64_t in, kernel, stride, dilation, extent, begin, end;
} same[] = {
    {SAME_UPPER, 6, 3, 2, 1, 3, 0, 1}, {SAME_LOWER, 6, 3, 2, 1, 3, 1, 0}, {SAME_UPPER, 5, 2, 1, 1, 5, 0, 1},
    {SAME_LOWER, 5, 2, 1, 3, 5, 2, 1}, {SAME_UPPER, 7, 1, 3, 1, 3, 0, 0}, {VALID, 7, 3, 2, 1, 3, 0, 0},
    {SAME_UPPER, 5, 3, 5, 1, 1, 0, 0},
};

START_TEST(same_padding) {
  add_input("x", FLOAT, INTS(1, 1, same[_i].in));
  add_floats("w", INTS(1, 1, same[_i].kernel));
  Str attrs[] = {attr_ints(ctx, "strides", INTS(same[_i].stride)), attr_ints(ctx, "dilations", INTS(same[_i].dilation)),
                 attr_text(ctx, "auto_pad", auto_pads[same[_i].auto_pad]),
                 attr_ints(ctx, "kernel_shape", INTS(same[_i].kernel))};
  add_node_with("Conv x,w -> y", 4, attrs);
  add_node_with("MaxPool x -> z", 4, attrs);
  add_output("y");
  add_output("z");
  Module *m = import_well(17);
  for (int k = 0; k < 2; k++) {
    ck_assert_int_eq(expr_value(m->main->results.data[k].type->dims[2]), same[_i].extent);
    const int64_t *padding = op_attr(op_of_output(m, k), "padding")->ints;
    ck_assert(padding[0] == same[_i].begin && padding[1] == same[_i].end);
  }
}
END_TEST

/* ---- tensors ---- */

static const struct {
  int type;
  const char *dtype;
  int list; /* field of a list that holds it */
  size_t size;
} types[] = {{FLOAT, "f32", 4, 4}, {DOUBLE, "f64", 10, 8}, {FLOAT16, "f16", 5, 2}, {BFLOAT16, "bf16", 5, 2},
             {INT8, "i8", 5, 1},   {UINT8, "u8", 5, 1},    {INT16, "i16", 5, 2},   {UINT16, "u16", 5, 2},
             {INT32, "i32", 5, 4}, {UINT32, "u32", 11, 4}, {INT64, "i64", 7, 8},   {UINT64, "u64", 11, 8},
             {BOOL, "bool", 5, 1}};

/* The numbers 1 and 0 as raw bytes and as a list. */
START_TEST(tensor_types) {
  int type = types[_i].type, list = types[_i].list;
  uint8_t raw[16] = {0};
  float f = 1;
  double d = 1;
  uint16_t half = type == FLOAT16 ? 0x3c00 : 0x3f80;
  raw[0] = 1;
  if (type == FLOAT)
    memcpy(raw, &f, 4);
  if (type == DOUBLE)
    memcpy(raw, &d, 8);
  if (type == FLOAT16 || type == BFLOAT16)
    memcpy(raw, &half, 2);
  put_message(&graph, 5, tensor_raw(ctx, "a", type, INTS(2, 1), raw, 2 * types[_i].size));
  Str t = str_new(ctx->arena);
  put_int(&t, 1, 2);
  put_int(&t, 1, 1);
  put_int(&t, 2, type);
  put_text(&t, 8, "b");
  if (type == FLOAT || type == DOUBLE) {
    put_bytes(&t, list, raw, 2 * types[_i].size);
  } else {
    put_int(&t, list, type == FLOAT16 || type == BFLOAT16 ? half : 1);
    put_int(&t, list, 0);
  }
  put_message(&graph, 5, t);
  add_output("a");
  add_output("b");
  Module *m = import_well(17);
  for (int k = 0; k < 2; k++) {
    ck_assert_str_eq(type_of_output(m, k), arena_printf(ctx->arena, "%s[2,1]", types[_i].dtype));
    EXPECT_VALUES(evaluate(m)[k], 1, 0);
  }
}
END_TEST

static void bad_tensor(Str t, Status status, const char *message) {
  put_message(&graph, 5, t);
  add_output("w");
  refuse(17, status, message);
  teardown();
  setup();
}

START_TEST(bad_tensors) {
  static const char zeros[64];
  bad_tensor(tensor_raw(ctx, "w", FLOAT, INTS(2, 2), zeros, 12), WEFT_MALFORMED,
             "initializer 'w' is f32[2,2] and takes 16 bytes, but 12 are stored");
  bad_tensor(tensor_raw(ctx, "w", FLOAT, INTS(2, -2), zeros, 16), WEFT_MALFORMED,
             "initializer 'w' has the dimensions [2,-2], of which one is negative");
  bad_tensor(tensor_raw(ctx, "w", FLOAT, INTS(0x4000000000000002), zeros, 8), WEFT_MALFORMED, "which are too large");
  bad_tensor(tensor_raw(ctx, "w", FLOAT, INTS(65536, 65536, 65536, 65536), zeros, 0), WEFT_MALFORMED,
             "which are too large");
  bad_tensor(tensor_raw(ctx, "w", FLOAT, INTS(1, 1, 1, 1, 1, 1, 1, 1, 1), zeros, 4), WEFT_UNSUPPORTED,
             "has 9 dimensions; at most 8 are supported");
  bad_tensor(tensor_raw(ctx, "w", 8, INTS(1), zeros, 1), WEFT_UNSUPPORTED, "has elements of type STRING (8)");
  bad_tensor(tensor_raw(ctx, "w", 99, INTS(1), zeros, 1), WEFT_UNSUPPORTED, "of type of no known number (99)");
  Str both = tensor_raw(ctx, "w", FLOAT, INTS(1), zeros, 4);
  put_float(&both, 4, 1);
  bad_tensor(both, WEFT_MALFORMED, "holds its data twice");
  Str none = str_new(ctx->arena);
  put_int(&none, 1, 3);
  put_int(&none, 2, FLOAT);
  put_text(&none, 8, "w");
  bad_tensor(none, WEFT_MALFORMED, "initializer 'w' is f32[3], but holds no data");
  Str wide = str_new(ctx->arena);
  put_int(&wide, 1, 1);
  put_int(&wide, 2, UINT8);
  put_int(&wide, 5, 256);
  put_text(&wide, 8, "w");
  bad_tensor(wide, WEFT_MALFORMED, "has elements of type u8, but element 0 is 256");
}
END_TEST

/* A model of one tensor whose data lies in a file; NULL: a key is left out. */
static Module *external(const char *folder, const char *location, const char *offset, const char *length) {
  Str t = str_new(ctx->arena);
  const char *pairs[][2] = {{"location", location}, {"offset", offset}, {"length", length}};
  put_int(&t, 1, 2);
  put_int(&t, 2, FLOAT);
  put_text(&t, 8, "w");
  put_int(&t, 14, 1);
  for (int k = 0; k < 3; k++) {
    Str pair = str_new(ctx->arena);
    put_text(&pair, 1, pairs[k][0]);
    put_text(&pair, 2, pairs[k][1] ? pairs[k][1] : "");
    if (pairs[k][1])
      put_message(&t, 13, pair);
  }
  graph = str_new(ctx->arena);
  put_message(&graph, 5, t);
  add_output("w");
  Str bytes = model(ctx, 17, graph);
  return onnx_import(ctx, arena_printf(ctx->arena, "%s/m.onnx", folder), bytes.data, bytes.len, NULL);
}

START_TEST(external_data) {
  char folder[] = "/tmp/weft-onnx-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  char *inside = arena_printf(ctx->arena, "%s/sub", folder), *outside = arena_printf(ctx->arena, "%s/w.bin", folder);
  char *link = arena_printf(ctx->arena, "%s/link.bin", inside), *own = arena_printf(ctx->arena, "%s/v.bin", inside);
  float v[4] = {9, 8, 7, 6};
  ck_assert(mkdir(inside, 0700) == 0 && file_write(ctx, outside, v, sizeof v) && file_write(ctx, own, v, sizeof v));
  ck_assert_int_eq(symlink("../w.bin", link), 0);
  Module *m = external(inside, "v.bin", "4", "8");
  ck_assert_msg(m != NULL, "%s", diag_text(ctx->diags, false));
  EXPECT_VALUES(evaluate(m)[0], 8, 7);
  ck_assert_ptr_nonnull(external(inside, "v.bin", "8", NULL));
  ck_assert_ptr_nonnull(external(folder, "sub/v.bin", NULL, NULL));
  static const struct {
    const char *location, *offset, *length, *message;
  } cases[] = {
      {"../w.bin", NULL, NULL, "node 'w': error: file '../w.bin' leaves the model's folder"},
      {"a/../../w.bin", NULL, NULL, "leaves the model's folder"},
      {"/etc/passwd", NULL, NULL, "is an absolute path"},
      {"link.bin", NULL, NULL, "is a link that leaves the model's folder"},
      {"none.bin", NULL, NULL, "cannot read"},
      {"", NULL, NULL, "has no name"},
      {".", NULL, NULL, "file '.' is"},
      {NULL, "0", NULL, "initializer 'w' has external data without a location"},
      {"v.bin", "12", NULL, "takes 8 bytes from byte 12 of 'v.bin', which has 16"},
      {"v.bin", "9223372036854775807", NULL, "takes 8 bytes from byte 9223372036854775807"},
      {"v.bin", "9223372036854775808", NULL, "of offset '9223372036854775808'; expected a number"},
      {"v.bin", "-1", NULL, "of offset '-1'; expected a number"},
      {"v.bin", "0", "16", "is f32[2] and takes 8 bytes, but its external data has the length 16"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    Ctx *outer = ctx;
    ctx = ctx_create();
    ck_assert_ptr_null(external(inside, cases[k].location, cases[k].offset, cases[k].length));
    const char *got = diag_text(ctx->diags, false);
    ck_assert_msg(strstr(got, cases[k].message) && diag_status(ctx->diags) == WEFT_MALFORMED, "expected '%s', got '%s'",
                  cases[k].message, got);
    ctx_destroy(ctx);
    ctx = outer;
  }
  unlink(link);
  unlink(own);
  unlink(outside);
  rmdir(inside);
  rmdir(folder);
}
END_TEST

START_TEST(no_model) {
  static const struct {
    const char *bytes, *message;
  } cases[] = {{"", "m.onnx: error: the file is empty"},
               {"version https://git-lfs.github.com/spec/v1\noid", "is a pointer of Git LFS"},
               {"\x08\x07", "is no ONNX model: it has no graph"},
               {"hello", "is damaged, cut short or no ONNX model"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    teardown();
    setup();
    ck_assert_ptr_null(onnx_import(ctx, "m.onnx", cases[k].bytes, strlen(cases[k].bytes), NULL));
    const char *got = diag_text(ctx->diags, false);
    ck_assert_msg(strstr(got, cases[k].message), "expected '%s', got '%s'", cases[k].message, got);
    ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
  }
}
END_TEST

START_TEST(output_type) {
  add_input("x", FLOAT, INTS(2));
  add_node("Relu x -> y");
  put_message(&graph, 12, value_info(ctx, "y", INT64, INTS(2), NULL));
  refuse(17, WEFT_MALFORMED, "node 'y': error: the output is declared as i64, but it is f32[2]");
}
END_TEST

Suite *suite_onnx(void);
Suite *suite_onnx(void) {
  Suite *s = suite_create("onnx");
  TCase *t = tcase_create("onnx");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  tcase_add_test(t, defined_names);
  tcase_add_test(t, any_order);
  tcase_add_test(t, long_chain);
  tcase_add_test(t, dead_nodes);
  tcase_add_test(t, bad_names);
  tcase_add_test(t, unsupported_in_one_message);
  tcase_add_test(t, opsets);
  tcase_add_test(t, given_sizes);
  tcase_add_test(t, sizes_from_files);
  tcase_add_test(t, sizes_missing);
  tcase_add_test(t, sizes_wrong);
  tcase_add_test(t, inputs_of_arguments);
  tcase_add_test(t, shape_chain);
  tcase_add_test(t, known_values);
  tcase_add_test(t, unknown_shape);
  tcase_add_test(t, shape_from_content);
  tcase_add_test(t, reshapes);
  tcase_add_test(t, attributes_refused);
  tcase_add_test(t, attribute_twice);
  tcase_add_test(t, old_and_new);
  tcase_add_test(t, softmax_by_opset);
  tcase_add_loop_test(t, transposed_padding, 0, (int)(sizeof transposed / sizeof *transposed));
  tcase_add_loop_test(t, same_padding, 0, (int)(sizeof same / sizeof *same));
  tcase_add_loop_test(t, tensor_types, 0, (int)(sizeof types / sizeof *types));
  tcase_add_test(t, bad_tensors);
  tcase_add_test(t, external_data);
  tcase_add_test(t, no_model);
  tcase_add_test(t, output_type);
  suite_add_tcase(s, t);
  return s;
}
