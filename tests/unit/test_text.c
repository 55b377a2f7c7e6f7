/* The text form of graphs: round trips of written, random and mutated texts. Its errors are in test_text_error.c. */
#include "ir/parse.h"
#include "text_help.h"

/* The text is printed, read in a Ctx of its own, and printed again: the same text. Returns it, in the module's Ctx. */
static const char *round_trip(Module *m, bool file_refs, bool locations) {
  const char *once = print(m, file_refs, locations);
  Ctx *other = ctx_create();
  Module *again = parse_well(other, once);
  if (!module_verify(again))
    ck_abort_msg("expected this to be well-formed:\n%s\n%s", once, diag_text(other->diags, false));
  ck_assert_str_eq(print(again, file_refs, locations), once);
  ctx_destroy(other);
  return once;
}

/* ---- written texts ---- */

/* As the printer prints them. */
static const char *const printed[] = {
    "weft 1 model \"up\"\n"
    "const @k : f32[2,1,1,1]@cdab = [1.0, -2.5]\n"
    "func @up(%x: f32[1,2,3,3]@acdb as \"NCHW\") -> (y: f32[1,1,3,3] as \"NCHW\") {\n"
    "  %k = constant() {value = @k} : f32[2,1,1,1]@cdab\n"
    "  %0 = conv2d_transpose(%x, %k) : f32[1,1,3,3]\n"
    "  %y = relu fused(%0)(%0) : f32[1,1,3,3]\n"
    "  return %y\n"
    "}\n",
    "weft 1 model \"\"\nfunc @f() -> () {\n  return\n}\n",
    "weft 1 model \"scalar\"\nfunc @f(%x: f32[]) -> (0: f32[]) {\n  return %x\n}\n",
    "weft 1 model \"names \\\"\\\\\\n\\t\\x01\"\n"
    "const @\"a b\" : f32[1] = [0.0]\n"
    "func @\"the\\xff function\"(%\"1x\": f32[1], %a-b.c$: f32[1]) -> (\"out-1\": f32[1], r.1: f32[1]) {\n"
    "  %12 = constant() {value = @\"a b\"} : f32[1]\n"
    "  %\"\\\"\" = add(%\"1x\", %12) : f32[1]\n"
    "  return %\"\\\"\", %a-b.c$\n"
    "}\n",
    "weft 1 model \"layouts\"\n"
    "func @f(%x: f32[3,16,5,7]) -> (y: f32[3,16,5,7]@dcba) {\n"
    "  %0 = relayout(%x) : f32[3,16,5,7]@aBcd8b\n"
    "  %1 = relayout(%0) : f32[3,16,5,7]@aBcd4b2b:zero\n"
    "  %2 = relu(%1) : f32[3,16,5,7]@aBcd2b/1/4b/2\n"
    "  %3 = relayout(%2) : f32[3,16,5,7]@Bacd16b:finite\n"
    "  %4 = relayout(%3) : f32[3,16,5,7]@dcba\n"
    "  return %4\n"
    "}\n",
    "weft 1 model \"dims\"\n"
    "dim M in 1..64\n"
    "dim N in 0..1152921504606846976\n"
    "dim \"the batch\" in 1..8\n"
    "func @f(%x: f32[N,3,8*M + 1], %y: f32[(N + 1) div 2,max(7, M),M mod 3,M*N], %z: f32[\"the batch\"]) -> (a: "
    "f32[N,3,8*M + 1]) {\n"
    "  %0 = tanh(%x) : f32[N,3,8*M + 1]\n"
    "  return %0\n"
    "}\n",
    "weft 1 model \"attributes\"\n"
    "func @f(%x: f32[1,4,8,9], %w: f32[6,2,3,3], %b: f32[6]) -> (y: f32[1,6,4,4]) {\n"
    "  %0 = conv2d(%x, %w, %b) {strides = [2, 3], padding = [1, 2, 0, 2], groups = 2} : f32[1,6,4,4]\n"
    "  %1 = leaky_relu fused(%0)(%0) {alpha = 0.1} : f32[1,6,4,4]\n"
    "  %2 = clip fused(%1)(%1) {min = -inf, max = 6.0} : f32[1,6,4,4]\n"
    "  %3 = transpose(%2) {perm = [1, 0, 2, 3]} : f32[6,1,4,4]\n"
    "  %4 = transpose(%3) {perm = [1, 0, 2, 3]} : f32[1,6,4,4]\n"
    "  return %4\n"
    "}\n",
    /* One bit pattern of a NaN is not another's: a list would lose it. */
    "weft 1 model \"constants\"\n"
    "const @nan : f32[2] = hex \"010080ff00000000\"\n"
    "const @f : f32[5] = [0.1, -0.0, inf, -inf, 3.4028235e38]\n"
    "const @d : f64[2] = [0.1, 5e-324]\n"
    "const @h : f16[3] = [0.099975586, 65504.0, inf]\n"
    "const @b : bf16[2] = [0.100097656, -1.0]\n"
    "const @i8 : i8[2] = [-128, 127]\n"
    "const @u8 : u8[2] = [0, 255]\n"
    "const @i16 : i16[2] = [-32768, 32767]\n"
    "const @u16 : u16[1] = [65535]\n"
    "const @i32 : i32[2] = [-2147483648, 2147483647]\n"
    "const @u32 : u32[1] = [4294967295]\n"
    "const @i64 : i64[2] = [-9223372036854775808, 9007199254740993]\n"
    "const @u64 : u64[1] = [18446744073709551615]\n"
    "const @bool : bool[2] = [0, 1]\n"
    "const @empty : f32[0,7] = []\n"
    "const @blocked : f32[2,3]@aB4b = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n"
    "const @derived : f32[2,3]@ba = relayout(@blocked)\n"
    "func @f() -> () {\n  return\n}\n",
};

START_TEST(printed_text_is_stable) {
  Ctx *ctx = ctx_create();
  Module *m = parse_well(ctx, printed[_i]);
  ck_assert_msg(module_verify(m), "%s", diag_text(ctx->diags, false));
  ck_assert_str_eq(print(m, false, false), printed[_i]);
  round_trip(m, false, false);
  round_trip(m, true, true);
  /* In the same Ctx too, where nodes are there already. */
  ck_assert_str_eq(print(parse_well(ctx, printed[_i]), false, false), printed[_i]);
  ctx_destroy(ctx);
}
END_TEST

/* Free in space and comments, and in the spelling of defaults, numbers and expressions. */
START_TEST(other_spellings) {
  static const char text[] = "#!weft\nweft 1\tmodel\r\n\"m\" # ...\n"
                             "dim N in 1 .. 8 const@c:f32[2]=[1,-0]"
                             "func@f(%x:f32[4-1-1 , 1*N+N*2+0])->(y:f32[2,3*N]){"
                             "%c=constant(){value=@c}:f32[2]%y=leaky_relu(%x){alpha=1e-2}:f32[2,3*N]"
                             "%z=conv1d(%w,%v,null){strides=[1],groups=1}:f32[1,1,1] return%y}";
  static const char want[] = "weft 1 model \"m\"\n"
                             "dim N in 1..8\n"
                             "const @c : f32[2] = [1.0, -0.0]\n"
                             "func @f(%x: f32[2,3*N], %w: f32[1,1,1], %v: f32[1,1,1]) -> (y: f32[2,3*N]) {\n"
                             "  %c = constant() {value = @c} : f32[2]\n"
                             "  %y = leaky_relu(%x) : f32[2,3*N]\n"
                             "  %z = conv1d(%w, %v) : f32[1,1,1]\n"
                             "  return %y\n"
                             "}\n";
  Ctx *ctx = ctx_create();
  Str all = str_new(ctx->arena);
  const char *split = strstr(text, ")->");
  str_putn(&all, text, (size_t)(split - text));
  str_put(&all, ",%w:f32[1,1,1],%v:f32[1,1,1]");
  str_put(&all, split);
  ck_assert_str_eq(print(parse_well(ctx, all.data), false, false), want);
  ctx_destroy(ctx);
}
END_TEST

START_TEST(places_are_kept) {
  static const char text[] = "weft 1 model \"m\"\n"
                             "const @c : f32[1] = [1.0] loc(\"m.yaml\":3:4)\n"
                             "func @f(%x: f32[1] loc(\"m.yaml\" \"the \\\"x\\\"\")) -> (y: f32[1]) {\n"
                             "  %c = constant() {value = @c} : f32[1] loc(\"\" \"c\")\n"
                             "  %y = add(%x, %c) : f32[1] loc(\"m.yaml\":12:34 \"sum\")\n"
                             "  %z = relu(%y) : f32[1] loc(\"\")\n"
                             "  return %z\n"
                             "}\n";
  Ctx *ctx = ctx_create();
  Module *m = parse_well(ctx, text);
  Loc loc = m->main->last->prev->loc;
  ck_assert_str_eq(loc.file, "m.yaml");
  ck_assert_str_eq(loc.node, "sum");
  ck_assert_int_eq(loc.line, 12);
  ck_assert_int_eq(loc.col, 34);
  ck_assert_str_eq(print(m, false, true), text);
  round_trip(m, false, true);
  /* Without loc(...), a place in the text itself; columns count characters. */
  m = parse_well(ctx, "weft 1 model \"m\"\nfunc @f(%\"\xc3\xa4\": f32[1], %y: f32[1]) -> () { return }");
  loc = m->main->params.data[1]->loc;
  ck_assert_str_eq(loc.file, "t.weft");
  ck_assert_int_eq(loc.line, 2);
  ck_assert_int_eq(loc.col, 23);
  ctx_destroy(ctx);
}
END_TEST

START_TEST(constants_from_files) {
  static const char text[] = "weft 1 model \"m\"\n"
                             "const @a : f32[2,3]@ba = file(\"k.npy\")\n"
                             "const @b : i64[2] = file(\"k.npy\", \"t\")\n"
                             "const @c : f32[2,3] = relayout(@a)\n"
                             "func @f() -> () {\n  return\n}\n";
  Ctx *ctx = ctx_create();
  Module *m = parse_well(ctx, text);
  ck_assert_str_eq(print(m, true, false), text);
  const float *a = constant_data(m, module_find_constant(m, "a")), *c = constant_data(m, module_find_constant(m, "c"));
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++) {
      ck_assert(a[j * 2 + i] == (float)(i * 3 + j));
      ck_assert(c[i * 3 + j] == (float)(i * 3 + j));
    }
  ck_assert_ptr_nonnull(strstr(round_trip(m, false, false), "= [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]"));
  ctx_destroy(ctx);
}
END_TEST

/* A derived constant that was read is found again, not made anew. */
START_TEST(derived_constants_are_found) {
  Ctx *ctx = ctx_create();
  Module *m = parse_well(ctx, "weft 1 model \"m\"\nconst @a : f32[2,3] = [1, 2, 3, 4, 5, 6]\n"
                              "const @b : f32[2,3]@ba = relayout(@a)\nfunc @f() -> () { return }");
  Constant *a = module_find_constant(m, "a"), *b = module_find_constant(m, "b");
  ck_assert_ptr_eq(b->base, a);
  ck_assert_ptr_eq(module_derive_constant(m, a, b->type->layout), b);
  ctx_destroy(ctx);
}
END_TEST

/* All bits of all elements, in any layout, through list or hex. */
START_TEST(constants_keep_their_bits) {
  uint64_t state = random_seed("constants_keep_their_bits");
  static const char *const tags[] = {"abc", "cab", "aBc4b", "Abc2a", "ABC2a2b4c", "bCa2c/1/3c/2"};
  for (int round = 0; round < 200; round++) {
    Ctx *ctx = ctx_create();
    DType dtype = (DType)random_below(&state, DT_COUNT);
    int64_t shape[3];
    for (int k = 0; k < 3; k++)
      shape[k] = random_below(&state, 8);
    const char *why, *tag = tags[random_below(&state, COUNT(tags))];
    const Type *type = type_static(ctx, dtype, 3, shape, layout_parse(ctx, 3, tag, strlen(tag), &why));
    Tensor *t = tensor_of_type(ctx, type), *back = tensor_of_type(ctx, type);
    size_t size = (size_t)t->n * dtype_size(dtype);
    for (size_t k = 0; k < size; k++)
      ((unsigned char *)t->data)[k] =
          dtype == DT_BOOL ? (unsigned char)random_below(&state, 2) : (unsigned char)random_below(&state, 256);
    void *storage = arena_alloc(ctx->arena, (size_t)type_bytes(type) + 64);
    tensor_to_storage(t, type, storage);
    Module *m = module_create(ctx, NULL, "m");
    m->main = function_create(m, "f");
    module_add_constant(m, "c", type, storage, LOC_NONE);
    const char *text = round_trip(m, false, false);
    Module *again = parse_well(ctx, text);
    tensor_from_storage(back, type, constant_data(again, again->first_constant));
    ck_assert_mem_eq(t->data, back->data, size);
    ctx_destroy(ctx);
  }
}
END_TEST

/* ---- random modules ---- */

typedef struct {
  uint64_t state;
  Module *m;
  Ctx *ctx;
  VEC(Value *) values;
} Gen;

static const char *gen_name(Gen *g) {
  static const char alphabet[] = "abzAZ_019.-$ \"\\%@\n\x80\xc3\xa9";
  char name[8];
  int n = 1 + random_below(&g->state, 6);
  for (int k = 0; k < n; k++)
    name[k] = alphabet[random_below(&g->state, (int)sizeof alphabet - 1)];
  return intern_strn(g->ctx, name, (size_t)n);
}

static Loc gen_loc(Gen *g) {
  if (random_below(&g->state, 4) == 0)
    return LOC_NONE;
  const char *node = random_below(&g->state, 2) ? gen_name(g) : NULL;
  if (random_below(&g->state, 4) == 0)
    return (Loc){NULL, 0, 0, node};
  return (Loc){gen_name(g), random_below(&g->state, 3), random_below(&g->state, 3), node};
}

static const Layout *gen_layout(Gen *g, int rank, bool blocks) {
  Digit digits[WEFT_MAX_DIGITS];
  int n = 0;
  for (int axis = 0; axis < rank; axis++) {
    int64_t div = 1;
    while (blocks && n < WEFT_MAX_DIGITS - rank && random_below(&g->state, 4) == 0) {
      int64_t size = 2 + random_below(&g->state, 3);
      digits[n++] = (Digit){axis, div, size};
      div *= size;
    }
    digits[n++] = (Digit){axis, div, 0};
  }
  for (int k = n - 1; k > 0; k--) {
    int other = random_below(&g->state, k + 1);
    Digit d = digits[k];
    digits[k] = digits[other];
    digits[other] = d;
  }
  return layout_get(g->ctx, rank, digits, n, PAD_ANY);
}

static Value *gen_pick(Gen *g) {
  return g->values.data[random_below(&g->state, (int)g->values.len)];
}

static void gen_param(Gen *g) {
  int rank = random_below(&g->state, 5);
  Dim dims[5];
  static const char *const names[] = {"N", "M", "a b", "min", "x.1", "q-1"};
  for (int k = 0; k < rank; k++) {
    dims[k] = expr_const(g->ctx, random_below(&g->state, 7));
    if (random_below(&g->state, 4))
      continue;
    Dim s = expr_sym(g->ctx, names[random_below(&g->state, COUNT(names))], 1, 1000);
    Dim forms[] = {s, expr_add_const(g->ctx, expr_mul_const(g->ctx, s, 3), 2),
                   expr_floordiv_const(g->ctx, expr_add_const(g->ctx, s, 4), 3),
                   expr_max(g->ctx, s, expr_const(g->ctx, 5)), expr_mod_const(g->ctx, s, 7)};
    dims[k] = forms[random_below(&g->state, COUNT(forms))];
  }
  const Type *type = type_get(g->ctx, DT_F32, rank, dims, gen_layout(g, rank, false));
  char roles[5] = "NCDHW";
  roles[rank < 4 ? rank : 4] = '\0';
  bool lettered = rank <= 4 && random_below(&g->state, 2);
  vec_push(g->ctx->arena, &g->values,
           function_add_param(g->m, g->m->main, gen_name(g), type, lettered ? roles : NULL, gen_loc(g)));
}

static void gen_constant(Gen *g) {
  int rank = random_below(&g->state, 4);
  int64_t shape[4];
  for (int k = 0; k < rank; k++)
    shape[k] = random_below(&g->state, 6);
  const Type *type = type_static(g->ctx, DT_F32, rank, shape, gen_layout(g, rank, true));
  float *data = arena_alloc(g->ctx->arena, (size_t)type_bytes(type) + 64);
  for (int64_t k = 0; k < type_bytes(type) / 4; k++)
    data[k] = (float)random_below(&g->state, 1000) / 7.0f;
  Constant *c = module_add_constant(g->m, gen_name(g), type, data, gen_loc(g));
  if (random_below(&g->state, 2))
    c = module_derive_constant(g->m, c, gen_layout(g, rank, true));
  vec_push(g->ctx->arena, &g->values, build_constant(g->m, g->m->main, NULL, c, gen_name(g), gen_loc(g)));
}

/* An op on what is there; nothing where the operands drawn do not fit it. */
static void gen_op(Gen *g) {
  static const OpCode codes[] = {OP_RELU, OP_LEAKY_RELU, OP_CLIP, OP_TANH, OP_ADD, OP_MUL, OP_TRANSPOSE, OP_RELAYOUT};
  const OpDef *def = &op_table[codes[random_below(&g->state, COUNT(codes))]];
  Value *x = gen_pick(g), *operands[2] = {x, x};
  for (int tries = 0; def->n_operands == 2 && tries < 10; tries++) {
    Value *y = gen_pick(g);
    if (type_same_shape(x->type, y->type))
      operands[1] = y;
  }
  Op *op = op_create(g->ctx, def, operands, def->n_operands, gen_loc(g));
  int rank = x->type->rank;
  int64_t perm[WEFT_MAX_RANK];
  Dim dims[WEFT_MAX_RANK];
  for (int k = 0; k < rank; k++) {
    perm[k] = def->code == OP_TRANSPOSE ? (k + 1) % rank : k;
    dims[perm[k]] = x->type->dims[k];
  }
  if (def->code == OP_TRANSPOSE)
    op_set_ints(g->ctx, op, "perm", perm, rank);
  if (def->code == OP_LEAKY_RELU)
    op_set_float(op, "alpha", (double)random_below(&g->state, 100) / 100.0);
  if (def->code == OP_CLIP) {
    op_set_float(op, "min", -1.0 / (1 + random_below(&g->state, 9)));
    op_set_float(op, "max", random_below(&g->state, 2) ? 1e300 : 6.0);
  }
  const Type *type = type_get(g->ctx, DT_F32, rank, dims, gen_layout(g, rank, true));
  Value *v = type ? op_finish(g->m, g->m->main, op, NULL, random_below(&g->state, 2) ? gen_name(g) : NULL, type) : NULL;
  if (v)
    vec_push(g->ctx->arena, &g->values, v);
}

static Module *gen_module(Ctx *ctx, uint64_t *state) {
  Gen g = {.state = *state, .ctx = ctx};
  g.m = module_create(ctx, NULL, gen_name(&g));
  g.m->main = function_create(g.m, gen_name(&g));
  int params = 1 + random_below(&g.state, 3), constants = random_below(&g.state, 4), ops = random_below(&g.state, 20);
  for (int k = 0; k < params; k++)
    gen_param(&g);
  for (int k = 0; k < constants; k++)
    gen_constant(&g);
  for (int k = 0; k < ops; k++)
    gen_op(&g);
  for (int k = random_below(&g.state, 3); k > 0; k--) {
    Value *v = gen_pick(&g);
    if (layout_is_permutation(v->type->layout))
      function_add_result(g.m, g.m->main, gen_name(&g), v, v->type, NULL, gen_loc(&g));
  }
  *state = g.state;
  return g.m;
}

START_TEST(random_modules) {
  uint64_t state = random_seed("random_modules");
  for (int round = 0; round < 300; round++) {
    Ctx *ctx = ctx_create();
    Module *m = gen_module(ctx, &state);
    ck_assert_msg(module_verify(m), "round %d: %s\n%s", round, diag_text(ctx->diags, false), print(m, false, false));
    round_trip(m, false, false);
    round_trip(m, true, true);
    ctx_destroy(ctx);
  }
}
END_TEST

/* ---- hostile text ---- */

/* Neither a crash nor silence: the text parses, and then prints and reads back, or an error is reported. */
static bool survives(const char *text, size_t len) {
  Ctx *ctx = ctx_create();
  Module *m = module_parse(ctx, "t.weft", text, len, load, NULL);
  ck_assert(m || diag_count(ctx->diags) > 0);
  bool ok = m && module_verify(m);
  if (m && !ok)
    ck_assert(diag_count(ctx->diags) > 0);
  if (ok)
    round_trip(m, false, true);
  ctx_destroy(ctx);
  return ok;
}

START_TEST(mutated_text) {
  static const char *const splices[] = {"9223372036854775808",
                                        "1152921504606846975",
                                        "-1",
                                        "0",
                                        "(",
                                        "[",
                                        "{",
                                        "f32[",
                                        "%",
                                        "@",
                                        "\"",
                                        "\\x0",
                                        "..",
                                        " div 0",
                                        "*N*N*N*N",
                                        "relayout(@k)",
                                        "\0",
                                        "nan",
                                        "\xff",
                                        "2*",
                                        "min("};
  uint64_t state = random_seed("mutated_text");
  int parsed = 0, rounds = 5000;
  for (int round = 0; round < rounds; round++) {
    const char *from = printed[random_below(&state, COUNT(printed))];
    char text[4096];
    size_t len = strlen(from);
    memcpy(text, from, len + 1);
    for (int edits = 1 + random_below(&state, 3); edits > 0; edits--) {
      size_t at = (size_t)random_below(&state, (int)len + 1), n;
      const char *splice = splices[random_below(&state, COUNT(splices))];
      switch (random_below(&state, 5)) {
      case 0: /* a byte */
        text[at] = (char)random_below(&state, 256);
        break;
      case 1: /* cut off */
        len = random_below(&state, 4) ? len : at;
        break;
      case 2: /* taken out */
        n = (size_t)random_below(&state, 8);
        n = at + n > len ? len - at : n;
        memmove(text + at, text + at + n, len - at - n);
        len -= n;
        break;
      case 3: /* put in */
        n = strlen(splice);
        memmove(text + at + n, text + at, len - at);
        memcpy(text + at, splice, n);
        len += n;
        break;
      default: /* a byte from elsewhere in the text */
        text[at] = from[(size_t)random_below(&state, (int)strlen(from))];
      }
    }
    /* Of exactly this size: a read beyond its end is caught. */
    char *exact = malloc(len ? len : 1);
    memcpy(exact, text, len);
    parsed += survives(exact, len);
    free(exact);
  }
  ck_assert_int_gt(parsed, rounds / 50); /* else the mutations are too coarse to test anything */
  ck_assert_int_lt(parsed, rounds / 2);
}
END_TEST

/* Much of one thing: bounded in depth, time and memory. */
START_TEST(swollen_text) {
  static const struct {
    const char *before, *repeat, *after;
  } cases[] = {
      {"weft 1 model \"m\" func @f(%x: f32[", "(", "1])"},
      {"weft 1 model \"m\" func @f(%x: f32[", "max(N, ", "1])"},
      {"weft 1 model \"m\" func @f(%x: f32[N", "+N", "])->(){return}"},
      {"weft 1 model \"m\" func @f(%x: f32[N", "*N", "])->(){return}"},
      {"weft 1 model \"m\" func @f(%x: f32[1", "*(a+b+c+d+e+f)", "])->(){return}"},
      {"weft 1 model \"m\" func @f(%x: f32[N", " div 3 mod 7", "])->(){return}"},
      {"weft 1 model \"m\" func @f(%x: f32[", "1,", "1])->(){return}"},
      {"weft 1 model \"m\" func @f(%x: f32[1]@", "2a", "])->(){return}"},
      {"weft 1 model \"m\" const @c : f32[1099511627776] = [", "1,", "]"},
      {"weft 1 model \"m\" const @c : f32[1] = [", "1", "]"},
      {"weft 1 model \"m\" const @c : f32[1]@A1048576a = [1] ", "const @c : f32[1]@A1048576a = [1] ",
       "func @f()->(){return}"},
      {"weft 1 model \"", "m", "\""},
      {"weft 1 model \"m\" func @f(%x: f32[1])->(){", "%y = relu(%x) : f32[1] ", "return}"},
      {"weft 1 model \"m\" func @f(%x: f32[1])->(){ %y = relu(%x) {", "alpha = 1, ", "} : f32[1] return}"},
      {"weft 1 model \"m\" func @f(%x: f32[1])->(){ %y = transpose(%x) {perm = [", "0, ", "0]} : f32[1] return}"},
      {"weft 1 model \"m\" func @f(%x: f32[1])->(){ %y = relu(%x", ", %x", ") : f32[1] return}"},
      {"weft 1 model \"m\" ", "dim N in 0..1 ", "func @f()->(){return}"},
      {"weft 1 model \"m\" ", "#\n", "@"},
  };
  Ctx *ctx = ctx_create();
  Str text = str_new(ctx->arena);
  str_put(&text, cases[_i].before);
  for (int k = 0; k < 100000; k++)
    str_put(&text, cases[_i].repeat);
  str_put(&text, cases[_i].after);
  size_t used = arena_used(ctx->arena);
  module_parse(ctx, "t.weft", text.data, text.len, load, NULL);
  ck_assert_uint_eq(diag_count(ctx->diags), 1);
  ck_assert_uint_lt(arena_used(ctx->arena) - used, ((size_t)128 << 20) + 200 * text.len);
  ctx_destroy(ctx);
}
END_TEST

START_TEST(loops_are_told_apart) {
  static const struct {
    const char *text;
    bool loops;
  } cases[] = {{"weft 1 model \"loops\" dim loops in 0..1 func @f() -> () { return }", false},
               {"weft 1 model \"func\" dim func in 0..1 const @loops : f32[1] = [0] loops @p { }", true},
               {"weft 1 model \"m\"", false},
               {"\"", false}};
  Ctx *ctx = ctx_create();
  for (size_t k = 0; k < COUNT(cases); k++)
    ck_assert(text_is_loops(ctx, cases[k].text, strlen(cases[k].text)) == cases[k].loops);
  ck_assert_uint_eq(diag_count(ctx->diags), 0);
  ctx_destroy(ctx);
}
END_TEST

Suite *suite_text(void);
Suite *suite_text(void) {
  Suite *suite = suite_create("text");
  TCase *t = tcase_create("text");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, printed_text_is_stable, 0, COUNT(printed));
  tcase_add_test(t, other_spellings);
  tcase_add_test(t, places_are_kept);
  tcase_add_test(t, constants_from_files);
  tcase_add_test(t, derived_constants_are_found);
  tcase_add_test(t, constants_keep_their_bits);
  tcase_add_test(t, random_modules);
  tcase_add_test(t, mutated_text);
  tcase_add_loop_test(t, swollen_text, 0, 18);
  tcase_add_test(t, loops_are_told_apart);
  suite_add_tcase(suite, t);
  return suite;
}
