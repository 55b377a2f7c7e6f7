/* The errors of the text form of graphs: every class that the parser reports, and every rule of the verifier. */
#include "text_help.h"

/* ---- the parser ---- */

#define HEAD "weft 1 model \"m\"\n"
#define F(params, results, body) HEAD "func @f(" params ") -> (" results ") {\n" body "}\n"

/* The whole message behind "t.weft:". */
static const struct {
  const char *text, *want;
} faults[] = {
    /* words */
    {"", "1:1: error: expected 'weft', found the end of the text"},
    {"weft 2 model \"m\"", "1:6: error: expected version 1 of the text form, found version 2"},
    {"weft one", "1:6: error: expected the version of the text form, found 'one'"},
    {"weft 99999999999999999999", "1:6: error: expected the version of the text form between 0 and 2147483647, found "
                                  "'99999999999999999999'"},
    {"weft 1 model m", "1:14: error: expected the model's name in quotes, found 'm'"},
    {"weft 1 model \"m",
     "1:14: error: expected the model's name in quotes, found a string that does not end on its line"},
    {"weft 1 model \"m\\q\"", "1:14: error: expected the model's name in quotes, found a string with an unknown escape "
                              "(known: \\\" \\\\ \\n \\t \\xNN)"},
    {"weft 1 model \"\\x00\"", "1:14: error: expected the model's name in quotes, found a string in which \\x is not "
                               "followed by two hexadecimal digits other than 00"},
    {HEAD "?", "2:1: error: expected 'dim', 'const' or 'func', found a character that begins no word (byte 0x3f)"},
    {HEAD "\xc3\xa4",
     "2:1: error: expected 'dim', 'const' or 'func', found a character that begins no word (byte 0xc3)"},
    {HEAD "# \xc3\xa4\n @",
     "3:2: error: expected 'dim', 'const' or 'func', found a '@' without a name right behind it"},
    {HEAD "loops @p {}", "2:1: error: expected 'func' (this text holds loop nests), found 'loops'"},
    {HEAD "func @1x", "2:6: error: expected the function's name, such as @main, found a name that starts with a digit, "
                      "which needs quotes"},
    {HEAD "func @\"\"", "2:6: error: expected a name, found an empty string"},
    {HEAD "const @c : f32[2x]",
     "2:16: error: expected a dimension, found a number that runs into a name (names that start "
     "with a digit need quotes)"},
    {HEAD "averyveryveryveryveryveryveryveryverylongword", "2:1: error: expected 'dim', 'const' or 'func', found "
                                                           "'averyveryveryveryveryveryveryveryverylon...'"},
    /* symbols */
    {HEAD "dim div in 1..2", "2:5: error: expected the name of a symbolic dimension, found 'div'"},
    {HEAD "dim N in 3..2", "2:13: error: expected an upper bound, not below the lower one, between 3 and "
                           "1152921504606846976, found '2'"},
    {HEAD "dim N in 1..2 dim N in 1..2", "2:19: error: expected a symbol that is not declared yet, found 'N' again"},
    /* types and expressions */
    {HEAD "const @c : f31[2]", "2:12: error: expected an element type, found 'f31'; did you mean 'f32'?"},
    {HEAD "const @c : [2]", "2:12: error: expected a type such as f32[1,32,8,8], found '['"},
    {HEAD "const @c : f32 = [1]", "2:16: error: expected '[', found '='"},
    {HEAD "const @c : f32[1,]", "2:18: error: expected a dimension, found ']'"},
    {HEAD "const @c : f32[1 2]", "2:18: error: expected ']', found '2'"},
    {HEAD "const @c : f32[-1]", "2:16: error: expected a dimension of at least 0, found one that may be -1"},
    {HEAD "const @c : f32[N - 1]", "2:16: error: expected a dimension of at least 0, found one that may be -1"},
    {HEAD "const @c : f32[1,1,1,1,1,1,1,1,1]", "2:32: error: expected at most 8 dimensions, found more"},
    {HEAD "const @c : f32[1152921504606846976]", "2:16: error: expected an integer between 0 and 1152921504606846975, "
                                                 "found '1152921504606846976'"},
    {HEAD "const @c : f32[1099511627777]", "2:16: error: expected a type of at most 1099511627776 elements, found a "
                                           "larger one"},
    {HEAD "const @c : f32[1048576,1048576]@A3ab",
     "2:12: error: expected a type of at most 1099511627776 elements, padding "
     "included, found a larger one"},
    {HEAD "const @c : f32[8 div 0]", "2:18: error: expected a positive divisor behind 'div', found 0"},
    {HEAD "const @c : f32[8 mod (N - 1)]",
     "2:18: error: expected a positive divisor behind 'mod', found N - 1, which is "
     "not known to be positive"},
    {HEAD "const @c : f32[1152921504606846975 + 1]", "2:36: error: expected an expression of at most 64 terms and 64 "
                                                     "levels with numbers below 1152921504606846976, found "
                                                     "one that grows beyond that here"},
    {HEAD "const @c : f32[8 * ]", "2:20: error: expected a factor, found ']'"},
    {HEAD "const @c : f32[8 + ]", "2:20: error: expected a term, found ']'"},
    {HEAD "const @c : f32[-]", "2:17: error: expected an expression behind '-', found ']'"},
    {HEAD "const @c : f32[min(1]", "2:21: error: expected ',', found ']'"},
    {HEAD "const @c : f32[2]@",
     "2:19: error: expected the tag of a layout such as 'acdb' or 'aBcd8b' right behind '@'"},
    {HEAD "const @c : f32[2,2]@ac",
     "2:21: error: expected a layout of rank 2, found 'ac': 'c' is no axis of a tensor of "
     "rank 2"},
    {HEAD "const @c : f32[2,2]@aB4b:one",
     "2:21: error: expected a layout of rank 2, found 'aB4b:one': the padding state "
     "after ':' is neither 'zero' nor 'finite'"},
    /* constants */
    {HEAD "const c", "2:7: error: expected the name of a constant, such as @k, found 'c'"},
    {HEAD "const @c : f32[1] = 1", "2:21: error: expected content: '[', 'hex', 'file' or 'relayout', found '1'"},
    {HEAD "const @c : f32[N] = [1]", "2:21: error: expected a constant of constant shape, found one of type f32[N]"},
    {HEAD "const @c : f32[2] = [1]", "2:21: error: expected 2 elements, found 1"},
    {HEAD "const @c : f32[1] = [1, 2]", "2:25: error: expected 1 element, found more"},
    {HEAD "const @c : f32[1] = [x]", "2:22: error: expected a number, found 'x'"},
    {HEAD "const @c : f32[1] = [1e39]", "2:22: error: expected a number, found '1e39', which is too large for f32"},
    {HEAD "const @c : f16[1] = [-7e4]", "2:22: error: expected a number within f16, found a larger one"},
    {HEAD "const @c : u8[1] = [256]", "2:21: error: expected an element of u8 between 0 and 255, found '256'"},
    {HEAD "const @c : i8[1] = [-129]", "2:21: error: expected an element of i8 between -128 and 127, found '-129'"},
    {HEAD "const @c : i8[1] = [1.0]", "2:21: error: expected an element of i8, found '1.0'"},
    {HEAD "const @c : u64[1] = [18446744073709551616]", "2:22: error: expected an element of u64 at most "
                                                        "18446744073709551615, found a larger one"},
    {HEAD "const @c : i64[1] = [9223372036854775808]", "2:22: error: expected an element of i64 between "
                                                       "-9223372036854775808 and 9223372036854775807, found "
                                                       "'9223372036854775808'"},
    {HEAD "const @c : bool[1] = [2]", "2:23: error: expected an element of bool between 0 and 1, found '2'"},
    {HEAD "const @c : f32[1] = hex \"0000\"", "2:25: error: expected 8 hexadecimal digits, found 4 characters"},
    {HEAD "const @c : f32[1] = hex \"0000000G\"", "2:25: error: expected the digits 0-9 and a-f only, found '0G'"},
    {HEAD "const @c : f32[1] = hex 00", "2:25: error: expected hexadecimal bytes in quotes, found '00'"},
    {HEAD "const @c : f32[1] = file(k)", "2:26: error: expected a file name in quotes, found 'k'"},
    {HEAD "const @c : f32[1] = file(\"l.npy\")", "2:1: error: l.npy: no such file"},
    {HEAD "const @cat : f32[1] = [1] const @d : f32[1] = relayout(@cut)",
     "2:56: error: expected a constant that stands before, found unknown '@cut'; did you mean 'cat'?"},
    {HEAD "const @c : f32[1] = [1] const @d : f32[2] = relayout(@c)",
     "2:54: error: expected a constant of the element type and shape of f32[2], found @c of type f32[1]"},
    {HEAD "const @c : f32[1] = [1] const @c : f32[1] = [1]",
     "2:31: error: expected a name that no other constant has, found '@c' again"},
    /* functions */
    {HEAD "func @f x", "2:9: error: expected '(', found 'x'"},
    {HEAD "func @f(x: f32[1])", "2:9: error: expected a parameter such as %x, found 'x'"},
    {HEAD "func @f(%x: f32[1] %y: f32[1])", "2:20: error: expected ',' or ')', found '%y'"},
    {HEAD "func @f(%x: f32[1], %x: f32[1])", "2:21: error: expected a name that no other value has, found '%x' again"},
    {HEAD "func @f(%x: f32[1] as NCHW)",
     "2:23: error: expected the letters of the axes, such as \"NCHW\", found 'NCHW'"},
    {HEAD "func @f(%x: f32[1] as \"NC\")",
     "2:23: error: expected one capital letter for each of 1 axes, all different, "
     "found 'NC'"},
    {HEAD "func @f(%x: f32[1,1] as \"NN\")", "2:25: error: expected one capital letter for each of 2 axes, all "
                                             "different, found 'NN'"},
    {HEAD "func @f(%x: f32[1,1] as \"Nc\")", "2:25: error: expected one capital letter for each of 2 axes, all "
                                             "different, found 'Nc'"},
    {HEAD "func @f(%x: f32[1] loc(f))", "2:24: error: expected a file name in quotes, found 'f'"},
    {HEAD "func @f(%x: f32[1] loc(\"f\":0:1))",
     "2:28: error: expected a line number between 1 and 2147483647, found '0'"},
    {HEAD "func @f() {", "2:11: error: expected '->', found '{'"},
    {HEAD "func @f() -> (%y: f32[1]) {", "2:15: error: expected the name of a result, found '%y'"},
    {F("%x: f32[1]", "y: f32[1]", "return\n"), "3:1: error: expected 1 value to be returned, found 0"},
    {F("%x: f32[1]", "y: f32[1]", "return %x, %x\n"), "3:1: error: expected 1 value to be returned, found 2"},
    {F("%x: f32[1]", "", "return\n} func @g() -> () { return "),
     "4:3: error: expected the end of the text, found 'func'"},
    {F("%x: f32[1]", "", "retrun\n"), "3:1: error: expected an op such as '%y = relu(%x) : f32[8]', or 'return', found "
                                      "'retrun'"},
    /* ops */
    {F("%x: f32[1]", "", "%y = rleu(%x) : f32[1]"),
     "3:6: error: expected the name of an op, found unknown 'rleu'; did you "
     "mean 'relu'?"},
    {F("%x: f32[1]", "", "%y = frobnicate(%x) : f32[1]"), "3:6: error: expected the name of an op, found unknown "
                                                          "'frobnicate'"},
    {F("%x: f32[1]", "", "%x = relu(%x) : f32[1]"), "3:1: error: expected a name that no other value has, found '%x' "
                                                    "again"},
    {F("%image: f32[1]", "", "%y = relu(%imag) : f32[1]"),
     "3:11: error: expected a value that is defined before, found "
     "unknown '%imag'; did you mean 'image'?"},
    {F("%x: f32[1]", "", "%y = relu(%y) : f32[1]"),
     "3:11: error: expected a value that is defined before, found unknown "
     "'%y'; did you mean 'x'?"},
    {F("%x: f32[1]", "", "%y = relu(x) : f32[1]"),
     "3:11: error: expected an operand: a value such as %x, or null, found "
     "'x'"},
    {F("%x: f32[1]", "", "%y = relu(%x, %x) : f32[1]"), "3:15: error: expected at most 1 operand of relu, found more"},
    {F("%x: f32[1]", "", "%y = relu(%x : f32[1]"), "3:14: error: expected ',' or ')', found ':'"},
    {F("%x: f32[1]", "", "%y = add(%x) : f32[1]"), "3:1: error: add: 1 operands given, expected 2 (a, b)"},
    {F("%x: f32[1]", "", "%y = add(%x, null) : f32[1]"),
     "3:1: error: add: operand 2, 'b', is missing and is not optional"},
    {F("%x: f32[1]", "", "%y = relu(%x)"), "3:14: error: expected ':', found '}'"},
    {F("%x: f32[1]", "", "%y = relu(%x) : f32[2]"),
     "3:1: error: relu: the result is declared as f32[2], but it is f32[1]"},
    {F("%x: f32[1]", "", "%y = leaky_relu(%x) {alhpa = 1} : f32[1]"),
     "3:22: error: expected an attribute of leaky_relu, found unknown 'alhpa'; did you mean 'alpha'?"},
    {F("%x: f32[1]", "", "%y = relu(%x) {} : f32[1]"), "3:16: error: expected the name of an attribute, found '}'"},
    {F("%x: f32[1]", "", "%y = leaky_relu(%x) {alpha = 1, alpha = 2} : f32[1]"),
     "3:33: error: expected each attribute once, found 'alpha' again"},
    {F("%x: f32[1]", "", "%y = leaky_relu(%x) {alpha = @x} : f32[1]"), "3:30: error: expected a number, found '@x'"},
    {F("%x: f32[1]", "", "%y = leaky_relu(%x) {alpha = 1 : f32[1]"), "3:32: error: expected ',' or '}', found ':'"},
    {F("%x: f32[1]", "", "%y = clip(%x) {min = 1} : f32[1]"), "3:1: error: clip: attribute 'max' is required"},
    {F("%x: f32[1]", "", "%y = transpose(%x) {perm = [0.5]} : f32[1]"),
     "3:29: error: expected an integer, found '0.5'"},
    {F("%x: f32[1]", "", "%y = transpose(%x) {perm = 0} : f32[1]"), "3:28: error: expected '[', found '0'"},
    {F("%x: f32[1]", "", "%y = transpose(%x) {perm = [9223372036854775808]} : f32[1]"),
     "3:29: error: expected an integer between -9223372036854775808 and 9223372036854775807, found "
     "'9223372036854775808'"},
    {F("", "", "%y = constant() {value = @c} : f32[1]"),
     "3:26: error: expected a constant that stands before, found unknown "
     "'@c'"},
    {F("", "", "%y = constant() : f32[1]"), "3:1: error: constant: attribute 'value' is required"},
    {F("%x: f32[1]", "", "%y = relu fused(%z)(%x) : f32[1]"),
     "3:17: error: expected a value that is defined before, found "
     "unknown '%z'; did you mean 'x'?"},
};

START_TEST(parser_reports) {
  Ctx *ctx = ctx_create();
  ck_assert_msg(!parse(ctx, faults[_i].text), "expected a fault in:\n%s", faults[_i].text);
  Str want = str_new(ctx->arena);
  str_printf(&want, "t.weft:%s\n", faults[_i].want);
  ck_assert_str_eq(diag_text(ctx->diags, false), want.data);
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
  ctx_destroy(ctx);
}
END_TEST

/* An op that was read with the place of its origin is reported there, and where it stands in a note. */
START_TEST(both_places_are_named) {
  Ctx *ctx = ctx_create();
  ck_assert_ptr_null(parse(ctx, F("%x: f32[1]", "", "%y = relu(%x) : f32[2] loc(\"m.yaml\":7:3 \"act\")")));
  ck_assert_str_eq(diag_text(ctx->diags, false),
                   "m.yaml:7:3: error: node 'act': relu: the result is declared as f32[2], but it is f32[1]\n"
                   "t.weft:3:1: note: the op stands here in the text form\n");
  ctx_destroy(ctx);
}
END_TEST

/* A symbol's bounds are those of the whole context. */
START_TEST(bounds_do_not_change) {
  Ctx *ctx = ctx_create();
  parse_well(ctx, HEAD "dim N in 1..4 func @f(%x: f32[N]) -> () { return }");
  ck_assert_ptr_null(parse(ctx, HEAD "dim N in 1..5 func @f(%x: f32[N]) -> () { return }"));
  ck_assert_str_eq(diag_text(ctx->diags, false),
                   "t.weft:2:5: error: symbol 'N' is in 1..5 here, but in 1..4 in what was read before\n");
  ctx_destroy(ctx);
}
END_TEST

START_TEST(files_need_a_loader) {
  static const char text[] = HEAD "const @c : f32[1] = file(\"k.npy\") func @f() -> () { return }";
  Ctx *ctx = ctx_create();
  ck_assert_ptr_null(module_parse(ctx, "t.weft", text, strlen(text), NULL, NULL));
  ck_assert_str_eq(diag_text(ctx->diags, false),
                   "t.weft:2:25: error: expected content, found file(\"k.npy\"), which cannot be read in this place\n");
  ctx_destroy(ctx);
}
END_TEST

/* ---- the verifier ---- */

/* Texts that parse; one message each. */
static const struct {
  const char *text, *want;
} broken[] = {
    {F("%x: f32[4]@A4a", "", "return"),
     "2:9: error: parameter 'x': expected a layout that is a permutation of the axes, "
     "found f32[4]@A4a"},
    {F("%x: f32[4]", "y: f32[4]@A4a", "%0 = relayout(%x) : f32[4]@A4a\nreturn %0\n"),
     "2:25: error: result 'y': expected a layout that is a permutation of the axes, found f32[4]@A4a"},
    {F("%x: f32[4,4]", "y: f32[4,4]@ba", "return %x"), "2:27: error: result 'y': expected a value of exactly the type "
                                                       "f32[4,4]@ba, found %x of type f32[4,4]"},
    {F("%x: f32[4]", "", "%0 = relu(%x) : f32[4]@A4a:zero return"),
     "3:1: error: relu: expected a padding state on results "
     "of constant and relayout only, found "
     "f32[4]@A4a:zero"},
    {F("%x: f32[4]", "", "%0 = relu(%x) : f32[4] %1 = transpose fused(%0)(%0) {perm = [0]} : f32[4] return"),
     "3:24: error: transpose: expected an elementwise op with fused(%0)"},
    {F("%x: f32[4]", "", "%0 = relu(%x) : f32[4] %1 = relu fused(%0)(%x) : f32[4] return"),
     "3:24: error: relu: expected fused(...) to name one of its operands, found %0"},
    {F("%x: f32[4]", "", "%0 = relu(%x) : f32[4] %1 = add fused(%0)(%0, %0) : f32[4] return"),
     "3:24: error: add: expected %0 of fused(...) to have no other use, found 2 uses"},
    {F("%x: f32[4]", "y: f32[4]", "%0 = relu(%x) : f32[4] %1 = relu fused(%0)(%0) : f32[4] return %0"),
     "3:24: error: relu: expected %0 of fused(...) to have no other use, found 2 uses"},
    {F("%x: f32[4]", "", "%0 = relu fused(%x)(%x) : f32[4] return"),
     "3:1: error: relu: expected fused(%x) to name the result of an op that takes an epilogue, found a "
     "parameter"},
    {F("%x: f32[4]", "", "%0 = transpose(%x) {perm = [0]} : f32[4] %1 = relu fused(%0)(%0) : f32[4] return"),
     "3:42: error: relu: expected fused(%0) to name the result of an op that takes an epilogue, found transpose"},
};

START_TEST(verifier_reports) {
  Ctx *ctx = ctx_create();
  Module *m = parse_well(ctx, broken[_i].text);
  ck_assert(!module_verify(m));
  Str want = str_new(ctx->arena);
  str_printf(&want, "t.weft:%s\n", broken[_i].want);
  ck_assert_str_eq(diag_text(ctx->diags, false), want.data);
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
  ctx_destroy(ctx);
}
END_TEST

/* What no text can say, but a pass could do. Each change breaks one rule of a sound module. */
typedef void Change(Module *m);

static Op *op_number(Module *m, int n) {
  Op *op = m->main->first;
  while (n-- > 0)
    op = op->next;
  return op;
}

static void use_before_definition(Module *m) {
  op_number(m, 1)->operands[0] = m->main->last->result;
}
static void use_of_an_erased_value(Module *m) {
  op_erase(m->main, op_number(m, 1));
}
static void two_values_of_one_name(Module *m) {
  m->main->last->result->name = m->main->params.data[0]->name;
}
static void two_values_of_one_id(Module *m) {
  m->main->last->result->id = 0;
}
static void id_out_of_range(Module *m) {
  m->main->last->result->id = 1000;
}
static void wrong_parameter_number(Module *m) {
  m->main->params.data[0]->index = 1;
}
static void result_of_another_function(Module *m) {
  Value *v = ARENA_NEW(m->ctx->arena, Value);
  *v = *m->main->results.data[0].value;
  v->name = "stranger";
  m->main->results.data[0].value = v;
}
static void two_constants_of_one_name(Module *m) {
  m->last_constant->name = m->first_constant->name;
}
static void base_behind(Module *m) {
  m->first_constant->base = m->last_constant;
}
static void base_of_another_shape(Module *m) {
  m->last_constant->base = m->first_constant;
  m->last_constant->type = type_static(m->ctx, DT_F32, 1, (int64_t[]){9}, NULL);
}
static void symbolic_constant(Module *m) {
  m->last_constant->type = type_get(m->ctx, DT_F32, 1, (Dim[]){expr_sym(m->ctx, "N", 1, 8)}, NULL);
}
static void constant_of_no_module(Module *m) {
  Constant *c = ARENA_NEW(m->ctx->arena, Constant);
  *c = *m->first_constant;
  op_set_constant(m->main->first, "value", c);
}
static void constant_of_another_type(Module *m) {
  m->main->first->result->type = type_static(m->ctx, DT_F32, 1, (int64_t[]){5}, NULL);
}
static void broken_link(Module *m) {
  m->main->last->prev = NULL;
}
static void wrong_letters(Module *m) {
  m->main->params.data[0]->roles = "NC";
}
static void wrong_shape(Module *m) {
  op_number(m, 2)->result->type = type_static(m->ctx, DT_F32, 1, (int64_t[]){5}, NULL);
}
static void attribute_missing(Module *m) {
  m->main->last->attrs[0].set = false;
}

static const struct {
  Change *change;
  const char *want;
} changes[] = {
    {use_before_definition, "add: expected operand 'a' to be defined before, found %z"},
    {use_of_an_erased_value, "relu: expected operand 'x' to be defined before, found %y"},
    {two_values_of_one_name, "value %x: expected a name that no other value has"},
    {two_values_of_one_id, "value %z: expected an id of its own, found that of %x"},
    {id_out_of_range, "value %z: expected an id below 6, found 1000"},
    {wrong_parameter_number, "parameter 'x': expected number 0, found 1"},
    {result_of_another_function, "result 'y': expected a value of the function, found %stranger"},
    {two_constants_of_one_name, "constant @c: expected a name that no other constant has"},
    {base_behind, "constant @c: expected its base @d to stand before it"},
    {base_of_another_shape, "constant @d: expected the element type and shape of its base @c, f32[4], found f32[9]"},
    {symbolic_constant, "constant @d: expected a constant shape, found type f32[N]"},
    {constant_of_no_module, "constant: expected 'value' to be a constant of this module, found @c"},
    {constant_of_another_type, "constant: expected a result of element type and shape f32[4], found f32[5]"},
    {broken_link, "clip: expected the list of ops to be linked both ways, found a broken link"},
    {wrong_letters, "parameter 'x': expected one capital letter for each of 1 axes, all different, found \"NC\""},
    {wrong_shape, "relu: expected a result of element type and shape f32[4], found f32[5]"},
    {attribute_missing, "clip: attribute 'min' is required"},
};

START_TEST(verifier_finds_what_passes_break) {
  Ctx *ctx = ctx_create();
  Module *m = parse_well(ctx, HEAD "const @c : f32[4] = [1, 2, 3, 4] const @d : f32[4] = [1, 2, 3, 4]"
                                   "func @f(%x: f32[4] as \"N\") -> (y: f32[4]) {"
                                   "%c = constant() {value = @c} : f32[4]"
                                   "%y = add(%x, %c) : f32[4]"
                                   "%w = relu(%y) : f32[4]"
                                   "%v = relu(%x) : f32[4]"
                                   "%z = clip(%v) {min = 0, max = 1} : f32[4]"
                                   "return %v }");
  ck_assert(module_verify(m));
  changes[_i].change(m);
  ck_assert(!module_verify(m));
  if (!strstr(diag_text(ctx->diags, false), changes[_i].want))
    ck_abort_msg("expected \"%s\" in\n%s", changes[_i].want, diag_text(ctx->diags, false));
  ctx_destroy(ctx);
}
END_TEST

Suite *suite_text_error(void);
Suite *suite_text_error(void) {
  Suite *suite = suite_create("text_error");
  TCase *t = tcase_create("text_error");
  tcase_add_loop_test(t, parser_reports, 0, COUNT(faults));
  tcase_add_test(t, both_places_are_named);
  tcase_add_test(t, bounds_do_not_change);
  tcase_add_test(t, files_need_a_loader);
  tcase_add_loop_test(t, verifier_reports, 0, COUNT(broken));
  tcase_add_loop_test(t, verifier_finds_what_passes_break, 0, COUNT(changes));
  suite_add_tcase(suite, t);
  return suite;
}
