/* The ONNX importer on models made in memory: names and order, sizes, shape arithmetic, attributes of each opset, what
 * windows' padding becomes, and refusals that name node and attribute. */
#include "onnx_graph.h"
#include <math.h>

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
  refuse(5, WEFT_UNSUPPORTED, "not supported in opset 5: Relu (node 'y')");
  refuse(0, WEFT_UNSUPPORTED, "is made for opset 0 of the ONNX operators; supported are 1 to 28");
  refuse(29, WEFT_UNSUPPORTED, "is made for opset 29 of the ONNX operators; supported are 1 to 28");
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
      {"AveragePool x -> a,y", 'k', "kernel_shape", "output 2, 'y', is not supported", WEFT_UNSUPPORTED},
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

/* Formulas over whole rows, which must not let one element spoil others: x is -1, inf, 1, nan. */
START_TEST(by_position) {
  float v[4] = {-1, INFINITY, 1, NAN};
  put_message(&graph, 5, tensor_floats(ctx, "x", INTS(4), v, 4));
  add_ints("i", INTS(2, -4, 1));
  add_ints("axis", INTS(0));
  add_input("t", FLOAT, INTS(1));
  add_node("CumSum x,axis -> sum");
  add_node("GatherElements x,i -> some");
  ADD_NODE("ArgMax x -> most", attr_int(ctx, "keepdims", 0));
  ADD_NODE("ArgMin some -> least", attr_int(ctx, "select_last_index", 1));
  const char *outputs[] = {"sum", "some", "most", "least"};
  for (int k = 0; k < 4; k++)
    add_output(outputs[k]);
  Tensor **t = evaluate(import_well(17));
  ck_assert(tensor_get(t[0], 0) == -1 && tensor_get(t[0], 2) == INFINITY && isnan(tensor_get(t[0], 3)));
  EXPECT_VALUES(t[1], 1, -1, INFINITY);
  EXPECT_VALUES(t[2], 3);
  EXPECT_VALUES(t[3], 1);
  ck_assert(t[2]->rank == 0 && t[2]->dtype == DT_I64);
}
END_TEST

START_TEST(scatters) {
  add_ints("i", INTS(1, 1, -1));
  add_ints("w", INTS(1));
  add_input("x", FLOAT, INTS(4));
  add_input("u", FLOAT, INTS(3));
  add_input("cache", FLOAT, INTS(1, 4, 1));
  add_input("new", FLOAT, INTS(1, 3, 1));
  add_node("ScatterElements x,i,u -> plain");
  ADD_NODE("ScatterElements x,i,u -> sum", attr_text(ctx, "reduction", "add"));
  ADD_NODE("TensorScatter cache,new,w -> linear", attr_int(ctx, "axis", 1));
  ADD_NODE("TensorScatter cache,new,w -> both", attr_text(ctx, "mode", "circular"));
  const char *outputs[] = {"plain", "sum", "linear", "both"};
  for (int k = 0; k < 4; k++)
    add_output(outputs[k]);
  Tensor **t = evaluate(import_well(24));
  EXPECT_VALUES(t[0], 0, 1, 2, 2);
  EXPECT_VALUES(t[1], 0, 2, 2, 5);
  EXPECT_VALUES(t[2], 0, 0, 1, 2);
  EXPECT_VALUES(t[3], 0, 0, 1, 2);
  ADD_NODE("TensorScatter cache,new,w -> batch", attr_int(ctx, "axis", 0));
  add_output("batch");
  refuse(24, WEFT_MALFORMED, "node 'batch': error: TensorScatter: 'axis' is 0, the batch");
}
END_TEST

/* What an opset has not is refused. */
START_TEST(old_scatters) {
  add_ints("i", INTS(1, 1));
  add_input("x", FLOAT, INTS(4));
  add_input("u", FLOAT, INTS(2));
  ADD_NODE("ScatterElements x,i,u -> y", attr_text(ctx, "reduction", "max"));
  add_output("y");
  import_well(18);
  refuse(17, WEFT_UNSUPPORTED, "attribute 'reduction' is \"max\", expected one of none|add|mul");
  teardown();
  setup();
  add_ints("i", INTS(1, 1));
  add_input("x", FLOAT, INTS(4));
  add_input("u", FLOAT, INTS(2));
  add_node("Scatter x,i,u -> y");
  add_output("y");
  EXPECT_VALUES(evaluate(import_well(9))[0], 0, 1, 2, 3);
  refuse(11, WEFT_UNSUPPORTED, "not supported in opset 11: Scatter (node 'y')");
}
END_TEST

START_TEST(largest) {
  float v[4] = {1, 7, NAN, 7};
  put_message(&graph, 5, tensor_floats(ctx, "x", INTS(4), v, 4));
  add_ints("k", INTS(3));
  add_node("TopK x,k -> v,i");
  ADD_NODE("TopK x,k -> w,j", attr_int(ctx, "largest", 0));
  const char *outputs[] = {"i", "w", "j"};
  for (int k = 0; k < 3; k++)
    add_output(outputs[k]);
  Tensor **t = evaluate(import_well(24));
  EXPECT_VALUES(t[0], 2, 1, 3);
  EXPECT_VALUES(t[1], 1, 7, 7);
  EXPECT_VALUES(t[2], 0, 1, 3);
  refuse(10, WEFT_UNSUPPORTED, "node 'w': error: TopK: attribute 'largest' is not supported in opset 10");
}
END_TEST

START_TEST(old_largest) {
  add_input("x", FLOAT, INTS(4));
  ADD_NODE("TopK x -> v,i", attr_int(ctx, "k", 2));
  add_output("v");
  EXPECT_VALUES(evaluate(import_well(9))[0], 3, 2);
  ADD_NODE("TopK x -> w,j", attr_int(ctx, "k", 5));
  add_output("w");
  refuse(9, WEFT_MALFORMED, "node 'w': error: top_k: attribute 'k' is 5");
}
END_TEST

START_TEST(bits) {
  add_input("x", FLOAT, INTS(3));
  ADD_NODE("BitCast x -> y", attr_int(ctx, "to", INT32));
  add_output("y");
  EXPECT_VALUES(evaluate(import_well(26))[0], 0, 0x3f800000, 0x40000000);
  ADD_NODE("BitCast x -> z", attr_int(ctx, "to", INT64));
  add_output("z");
  refuse(26, WEFT_MALFORMED, "node 'z': error: bit_cast: x is f32[3], of 32 bits each");
}
END_TEST

/* Functions of integers that are computed in floats: toward zero, at the end alone. */
START_TEST(integers_in_floats) {
  add_input("x", INT32, INTS(2, 2));
  put_message(&graph, 5, tensor_floats(ctx, "scales", INTS(2), (const float[]){1.5f, 1.5f}, 2));
  ADD_NODE("ReduceL2 x -> norm", attr_int(ctx, "keepdims", 0));
  add_node("ReduceLogSumExp x -> lse");
  add_node("Erf x -> erf");
  ADD_NODE("Gemm x,x,x -> gemm", attr_float(ctx, "alpha", 0.5f), attr_float(ctx, "beta", 0.5f));
  ADD_NODE("Resize x,,scales -> big", attr_text(ctx, "mode", "linear"),
           attr_text(ctx, "coordinate_transformation_mode", "align_corners"));
  const char *outputs[] = {"norm", "lse", "erf", "gemm", "big"};
  for (int k = 0; k < 5; k++)
    add_output(outputs[k]);
  Tensor **t = evaluate(import_well(17));
  EXPECT_VALUES(t[0], 3);          /* of sqrt(14) */
  EXPECT_VALUES(t[1], 3);          /* of 3.44 */
  EXPECT_VALUES(t[2], 0, 0, 0, 0); /* of 0.84.. below 1: erf(3) = 0.99998 */
  EXPECT_VALUES(t[3], 1, 2, 4, 7); /* [2 3; 6 11] and [0 1; 2 3], both halved */
  EXPECT_VALUES(t[4], 0, 0, 1, 1, 1, 2, 2, 2, 3);
  for (int k = 0; k < 5; k++)
    ck_assert_int_eq(t[k]->dtype, DT_I32);
}
END_TEST

/* Each pooled element goes back to where it came from. */
START_TEST(unpooling) {
  add_input("x", FLOAT, INTS(1, 1, 4, 4));
  Str kernel = attr_ints(ctx, "kernel_shape", INTS(2, 2)), strides = attr_ints(ctx, "strides", INTS(2, 2));
  ADD_NODE("MaxPool x -> y,i", kernel, strides);
  ADD_NODE("MaxPool x -> z,j", kernel, strides, attr_int(ctx, "storage_order", 1));
  ADD_NODE("MaxUnpool y,i -> u", kernel, strides);
  add_ints("shape", INTS(1, 1, 4, 5));
  ADD_NODE("MaxUnpool y,i,shape -> v", kernel, strides);
  const char *outputs[] = {"i", "j", "u", "v"};
  for (int k = 0; k < 4; k++)
    add_output(outputs[k]);
  Tensor **t = evaluate(import_well(22));
  EXPECT_VALUES(t[0], 5, 7, 13, 15);
  EXPECT_VALUES(t[1], 5, 13, 7, 15);
  EXPECT_VALUES(t[2], 0, 0, 0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 0, 13, 0, 15);
  EXPECT_VALUES(t[3], 0, 0, 0, 0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 0, 0, 0, 13, 0, 15, 0);
  add_ints("small", INTS(1, 1, 4, 3));
  ADD_NODE("MaxUnpool y,i,small -> w", kernel, strides);
  add_output("w");
  refuse(22, WEFT_MALFORMED, "node 'w': error: MaxUnpool: f32[1,1,2,2] cannot be unpooled to 'output_shape'");
}
END_TEST

/* Two sequences of 3, of which 3 and 2 are turned; a length beyond the axis is a fault of the run. */
START_TEST(reversed) {
  add_ints("l", INTS(3, 2));
  add_input("x", FLOAT, INTS(3, 2));
  add_input("y", FLOAT, INTS(2, 3));
  add_node("ReverseSequence x,l -> a");
  ADD_NODE("ReverseSequence y,l -> b", attr_int(ctx, "time_axis", 1), attr_int(ctx, "batch_axis", 0));
  add_output("a");
  add_output("b");
  Tensor **t = evaluate(import_well(10));
  EXPECT_VALUES(t[0], 4, 3, 2, 1, 0, 5);
  EXPECT_VALUES(t[1], 2, 1, 0, 4, 3, 5);
  ADD_NODE("ReverseSequence x,l -> c", attr_int(ctx, "time_axis", 1));
  add_output("c");
  refuse(10, WEFT_MALFORMED, "node 'c': error: ReverseSequence: time is axis 1 and the batch axis 1 of f32[3,2]");
}
END_TEST

/* An odd number of elements: the larger half goes or comes at the end. */
START_TEST(cropped) {
  add_input("x", FLOAT, INTS(6));
  add_input("m", FLOAT, INTS(2, 3));
  add_ints("three", INTS(3));
  add_ints("nine", INTS(9));
  add_ints("shape", INTS(1, 5));
  add_node("CenterCropPad x,three -> a");
  add_node("CenterCropPad x,nine -> b");
  add_node("CenterCropPad m,shape -> c");
  ADD_NODE("CenterCropPad m,three -> d", attr_ints(ctx, "axes", INTS(-2)));
  const char *outputs[] = {"a", "b", "c", "d"};
  for (int k = 0; k < 4; k++)
    add_output(outputs[k]);
  Tensor **t = evaluate(import_well(18));
  EXPECT_VALUES(t[0], 1, 2, 3);
  EXPECT_VALUES(t[1], 0, 0, 1, 2, 3, 4, 5, 0, 0);
  EXPECT_VALUES(t[2], 0, 0, 1, 2, 0);
  EXPECT_VALUES(t[3], 0, 1, 2, 3, 4, 5, 0, 0, 0);
  add_node("CenterCropPad m,three -> e");
  add_output("e");
  refuse(18, WEFT_MALFORMED, "node 'e': error: CenterCropPad: 'shape' has 1 numbers, expected one for each of 2 axes");
}
END_TEST

START_TEST(bit_shifts) {
  add_ints("b", INTS(3, 2, 1, 64));
  add_input("x", INT64, INTS(4));
  add_input("u", UINT8, INTS(4));
  ADD_NODE("BitShift x,b -> left", attr_text(ctx, "direction", "LEFT"));
  ADD_NODE("BitShift b,x -> right", attr_text(ctx, "direction", "RIGHT"));
  ADD_NODE("BitShift u,u -> own", attr_text(ctx, "direction", "LEFT"));
  const char *outputs[] = {"left", "right", "own"};
  for (int k = 0; k < 3; k++)
    add_output(outputs[k]);
  Tensor **t = evaluate(import_well(28));
  EXPECT_VALUES(t[0], 0, 4, 4, 0);
  EXPECT_VALUES(t[1], 3, 1, 0, 8);
  EXPECT_VALUES(t[2], 0, 2, 8, 24);
  refuse(27, WEFT_MALFORMED, "node 'left': error: BitShift: operand 1, 'x', is i64[4], expected integers without sign");
}
END_TEST

/* Blocks of 3 along the middle axis, of extent 4: the second one is cut. */
START_TEST(quantized_blocks) {
  const int64_t wide[] = {1, 2, 2};
  const float scales[] = {1, 2, 4, 8};
  add_input("q", INT8, INTS(1, 4, 2));
  put_message(&graph, 5, tensor_floats(ctx, "s", wide, 3, scales, 4));
  put_message(&graph, 5, tensor_floats(ctx, "s2", INTS(2), scales, 2));
  ADD_NODE("DequantizeLinear q,s -> x", attr_int(ctx, "block_size", 3));
  ADD_NODE("QuantizeLinear x,s -> y", attr_int(ctx, "block_size", 3));
  add_output("x");
  add_output("y");
  Tensor **t = evaluate(import_well(21));
  EXPECT_VALUES(t[0], 0, 2, 2, 6, 4, 10, 24, 56);
  EXPECT_VALUES(t[1], 0, 1, 2, 3, 4, 5, 6, 7);
  ADD_NODE("DequantizeLinear q,s2 -> z", attr_int(ctx, "block_size", 3));
  add_output("z");
  refuse(21, WEFT_MALFORMED, "a scale or zero point is f32[2], which does not fit i8[1,4,2] in blocks of 3 along axis 1");
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
  tcase_add_test(t, by_position);
  tcase_add_test(t, scatters);
  tcase_add_test(t, old_scatters);
  tcase_add_test(t, largest);
  tcase_add_test(t, old_largest);
  tcase_add_test(t, bits);
  tcase_add_test(t, integers_in_floats);
  tcase_add_test(t, unpooling);
  tcase_add_test(t, reversed);
  tcase_add_test(t, cropped);
  tcase_add_test(t, bit_shifts);
  tcase_add_test(t, quantized_blocks);
  tcase_add_loop_test(t, transposed_padding, 0, (int)(sizeof transposed / sizeof *transposed));
  tcase_add_loop_test(t, same_padding, 0, (int)(sizeof same / sizeof *same));
  tcase_add_test(t, no_model);
  tcase_add_test(t, output_type);
  suite_add_tcase(s, t);
  return s;
}
