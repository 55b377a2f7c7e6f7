/* The text form of loop nests: round trips of written, random and mutated texts, and the errors of the parser. */
#include <math.h>

#include "lower/loop.h"
#include "text_help.h"

static const char *print_loops(const LoopProgram *p) {
  Str out = str_new(p->ctx->arena);
  loops_print(&out, p);
  return out.data;
}

static LoopProgram *parse_loops(Ctx *ctx, const char *text) {
  return loops_parse(ctx, "t.weft", text, strlen(text));
}

static LoopProgram *parse_loops_well(Ctx *ctx, const char *text) {
  LoopProgram *p = parse_loops(ctx, text);
  if (!p)
    ck_abort_msg("expected this to parse:\n%s\n%s", text, diag_text(ctx->diags, false));
  ck_assert_uint_eq(diag_count(ctx->diags), 0);
  return p;
}

/* What is printed reads back, in a Ctx of its own, as what prints the same. */
static void round_trip(const LoopProgram *p) {
  const char *once = print_loops(p);
  Ctx *other = ctx_create();
  ck_assert_str_eq(print_loops(parse_loops_well(other, once)), once);
  ctx_destroy(other);
}

/* ---- written texts ---- */

#define HEAD "weft 1 model \"m\"\n"
#define NEST "  nest @n \"\" loc(\"\") {\n"

/* As the printer prints them. */
static const char *const printed[] = {
    HEAD "loops @empty {\n}\n",
    HEAD "const @k : f32[3,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]\n"
         "const @p : f32[3,3]@Ab2a = relayout(@k)\n"
         "loops @gan {\n"
         "  buffer %x : f32[1,32,8,8]@acdb input 0 as \"NCHW\"\n"
         "  buffer %b : f32[7] input 1\n"
         "  buffer %\"out 1\" : f32[1,32,8,8] output 0 as \"ABCD\"\n"
         "  buffer %k : f32[3,3]@Ab2a constant @p\n"
         "  buffer %t : f32[1,16,16,16] arena 0\n"
         "  buffer %u : f32[1,16,16,16]@aBcd8b arena 65536\n"
         "  arena 131072\n"
         "  nest @up \"conv2d_transpose+relu\" loc(\"gan.yaml\":8:5 \"up\") {\n"
         "    parallel n in 0..1 {\n"
         "      for q in 0..8 {\n"
         "        local acc : f32[16]\n"
         "        vector v in 0..16 { acc[v] = 0.0 }\n"
         "        for k in max(0, q - 6)..min(3, q + 2) {\n"
         "          vector v in 0..16 { acc[v] = fma(%x[n, q - k + 1, 0, 4], %k[k div 2, 0, k mod 2], acc[v]) }\n"
         "        }\n"
         "        vector v in 0..16 { %t[n, v, 2*q, 0] = select(acc[v] < 0.0, 0.0, acc[v]) }\n"
         "      }\n"
         "    }\n"
         "  }\n"
         "  nest @\"copy it\" \"\" loc(\"\") {\n"
         "    unroll i in 0..2 {\n"
         "    }\n"
         "    %u[0, 0, 0, 0, 7] = %b[6]\n"
         "  }\n"
         "}\n",
    /* Symbols, and offsets that depend on them. */
    HEAD "dim N in 1..1024\n"
         "dim \"a b\" in 0..8\n"
         "loops @p {\n"
         "  buffer %x : f32[N,\"a b\"] input 0\n"
         "  buffer %t : f32[N] arena\n"
         "  buffer %u : f32[N] arena (64*((N + 15) div 16))\n"
         "  arena 128*((N + 15) div 16)\n" NEST "    for i.1 in 0..N {\n"
         "      for \"div\" in i.1..i.1 + 1 { %t[\"div\"] = %x[i.1, \"a b\" - 1] }\n"
         "    }\n"
         "  }\n"
         "}\n",
    /* The structure of scalar expressions, and names that look like words of the grammar. */
    HEAD "loops @p {\n"
         "  buffer %x : f32[8] input 0\n"
         "  buffer %s : f32[] output 0\n"
         "  buffer %m : bool[] output 1\n" NEST "    local for : f32[2]\n"
         "    local inf : f32[]\n"
         "    local \"max\" : f32[2]\n"
         "    local \"a b\" : f32[2]\n"
         "    for[0] = %x[0] - (%x[1] - %x[2])\n"
         "    for[1] = %x[0] - %x[1] - %x[2] * (%x[3] + %x[4]) / (%x[5] / %x[6])\n"
         "    inf[] = -%x[0] * -(%x[1] + -1.5) - -%x[2]\n"
         "    \"max\"[0] = -(%x[0] * %x[1]) * inf + nan - -inf\n"
         "    \"a b\"[1] = select(for[0] + 1.0 <= inf[], max(\"max\"[0], -0.0), min(exp(abs(%x[7])), 1e-45))\n"
         "    %s[] = select(%x[0] != %x[1], fma(2.0, %x[2], 3.4028235e38), exp2i(floor(sqrt(%x[3]))))\n"
         "    %m[] = %x[0] >= %x[1]\n"
         "  }\n"
         "}\n",
    /* Index statements, index values and numbers of every type. */
    HEAD "loops @p {\n"
         "  buffer %i : i32[24] input 0\n"
         "  buffer %x : f16[16,8] input 1\n"
         "  buffer %y : bf16[24,8] output 0\n"
         "  buffer %u : u64[] output 1\n"
         "  buffer %b : bool[8] output 2\n"
         "  buffer %d : f64[] output 3\n"
         "  buffer %l : i64[2] output 4\n" NEST "    local index : i64[1]\n"
         "    index[0] = i64(%i[0])\n"
         "    for i in 0..24 {\n"
         "      index j in 0..16 = select(%i[i] < 0, i64(%i[i]) + 16, i64(%i[i]))\n"
         "      vector v in 0..8 { %y[i, v] = %x[j, v] * 0.1 }\n"
         "      index k in 0..j + 1 = index(j div 2) + index[0]\n"
         "      %y[i, k mod 8] = f32(index(3*k + 1)) + f32(%u[])\n"
         "    }\n"
         "    %u[] = 18446744073709551615\n"
         "    %b[1] = 1\n"
         "    %b[0] = %d[] < 0.1\n"
         "    %d[] = 0.1 * f64(%x[0, 0])\n"
         "    %l[0] = -9223372036854775808\n"
         "    %l[1] = 9223372036854775807 - %l[0]\n"
         "  }\n"
         "}\n",
};

START_TEST(printed_text_is_stable) {
  Ctx *ctx = ctx_create();
  LoopProgram *p = parse_loops_well(ctx, printed[_i]);
  ck_assert_str_eq(print_loops(p), printed[_i]);
  round_trip(p);
  ck_assert_str_eq(print_loops(parse_loops_well(ctx, printed[_i])), printed[_i]); /* where nodes are there already */
  ctx_destroy(ctx);
}
END_TEST

/* What is read is what is built: one variable for a loop and its uses, one argument for equal accesses, the boundary.
 */
START_TEST(structure_is_read) {
  Ctx *ctx = ctx_create();
  LoopProgram *p =
      parse_loops_well(ctx, HEAD "loops @p { buffer %x : f32[8]@a input 0 as \"C\" buffer %y : f32[8] output 0"
                                 "  buffer %t : f32[8] arena 64 arena 4096"
                                 "  nest @n \"what\" { for i in 0..8 {"
                                 "    %y[i] = %x[i] * %x[1 + i - 1] + %x[7 - i] } } }");
  ck_assert_str_eq(p->name, "p");
  ck_assert_int_eq((int)p->inputs.len, 1);
  ck_assert_int_eq((int)p->outputs.len, 1);
  ck_assert_int_eq((int)expr_value(p->arena.data[0]->offset), 64);
  ck_assert_int_eq((int)expr_value(p->arena_bytes), 4096);
  ck_assert_str_eq(p->module->main->params.data[0]->roles, "C");
  ck_assert_str_eq(p->module->main->results.data[0].name, "y");
  ck_assert_str_eq(p->first->what, "what");
  ck_assert_int_eq(p->first->loc.line, 2);
  const Stmt *loop = p->first->body, *store = loop->body;
  ck_assert_int_eq(loop->kind, ST_LOOP);
  ck_assert_int_eq(loop->loop, LOOP_FOR);
  ck_assert_int_eq(store->n_args, 2);
  ck_assert_ptr_eq(store->target.buffer, p->outputs.data[0]);
  ck_assert_ptr_eq(store->target.index[0], loop->var);
  ck_assert_ptr_eq(store->args[0].index[0], loop->var);
  ck_assert_ptr_eq(store->args[1].index[0], expr_sub(ctx, expr_const(ctx, 7), loop->var));
  ck_assert_int_eq(store->value->op, SC_ADD);
  ctx_destroy(ctx);
}
END_TEST

/* More arguments than are looked up one by one: still one for equal accesses. */
START_TEST(many_arguments) {
  Ctx *ctx = ctx_create();
  Str text = str_new(ctx->arena);
  str_put(&text, HEAD "loops @p { buffer %x : f32[100] input 0 buffer %y : f32[] output 0 nest @n \"\" { %y[] = 0.5");
  for (int k = 0; k < 300; k++)
    str_printf(&text, " + %%x[%d]", k % 100);
  str_put(&text, "} }");
  LoopProgram *p = parse_loops_well(ctx, text.data);
  ck_assert_int_eq(p->first->body->n_args, 100);
  for (int k = 0; k < 100; k++)
    ck_assert_int_eq((int)expr_value(p->first->body->args[k].index[0]), k);
  round_trip(p);
  ctx_destroy(ctx);
}
END_TEST

/* ---- random programs ---- */

typedef struct {
  uint64_t state;
  Ctx *ctx;
  LoopProgram *p;
  const Expr *vars[4];
  int depth;
  Buffer *local; /* of the nest */
} Gen;

static const Expr *gen_index(Gen *g, int depth) {
  Ctx *ctx = g->ctx;
  int pick = random_below(&g->state, depth > 3 ? 3 : 9);
  if (pick < 2 && g->depth)
    return g->vars[random_below(&g->state, g->depth)];
  if (pick < 3)
    return pick ? expr_const(ctx, random_below(&g->state, 40) - 20)
                : expr_sym(ctx, random_below(&g->state, 2) ? "M" : "N", 1, 64);
  const Expr *a = gen_index(g, depth + 1), *b = gen_index(g, depth + 1);
  int64_t c = 1 + random_below(&g->state, 12);
  static const ExprKind kinds[] = {EX_SUM, EX_PROD, EX_MIN, EX_MAX};
  ExprKind kind = kinds[random_below(&g->state, COUNT(kinds))];
  switch (random_below(&g->state, 4)) {
  case 0:
    return expr_floordiv_const(ctx, a, c);
  case 1:
    return expr_mod_const(ctx, a, c);
  default:
    if (!expr_fits(kind, a, b))
      return a;
    return kind == EX_SUM    ? (random_below(&g->state, 2) ? expr_add(ctx, a, b) : expr_sub(ctx, a, b))
           : kind == EX_PROD ? expr_mul(ctx, a, b)
           : kind == EX_MIN  ? expr_min(ctx, a, b)
                             : expr_max(ctx, a, b);
  }
}

static Access gen_access(Gen *g) {
  Buffer *const of[] = {g->p->inputs.data[0], g->p->arena.data[0], g->p->outputs.data[0], g->local};
  Access a = {.buffer = of[random_below(&g->state, COUNT(of))]};
  int n = a.buffer->type->layout->n;
  a.index = ARENA_ARRAY(g->ctx->arena, const Expr *, n);
  for (int k = 0; k < n; k++)
    a.index[k] = gen_index(g, 0);
  return a;
}

/* Of either kind: an f32, or a comparison. */
static const Scalar *gen_scalar(Gen *g, int n_args, int depth);

static const Scalar *gen_number(Gen *g, int n_args, int depth) {
  const Scalar *s = gen_scalar(g, n_args, depth);
  return scalar_cast(g->ctx, s, DT_F32);
}

static const Scalar *gen_scalar(Gen *g, int n_args, int depth) {
  if (depth > 4 || random_below(&g->state, 5) == 0) {
    if (n_args && random_below(&g->state, 3))
      return scalar_arg(g->ctx, random_below(&g->state, n_args));
    double v = ldexp((double)random_below(&g->state, 1 << 24) - (1 << 23), random_below(&g->state, 260) - 150);
    return scalar_const(g->ctx, v);
  }
  static const DType types[] = {DT_F64, DT_I32, DT_U8, DT_BOOL};
  ScalarOp op;
  const Scalar *args[3];
  do {
    op = (ScalarOp)random_below(&g->state, SC_COUNT);
    for (int k = 0; k < 3; k++)
      args[k] = gen_number(g, n_args, depth + 1);
    if (op == SC_SELECT)
      args[0] = scalar_make2(g->ctx, SC_LT, args[0], gen_number(g, n_args, depth + 1));
    if (op == SC_CAST) /* to another type and back */
      return scalar_cast(g->ctx, scalar_cast(g->ctx, args[0], types[random_below(&g->state, COUNT(types))]), DT_F32);
  } while (scalar_op_arity(op) == 0 || scalar_mismatch(op, args));
  return scalar_make(g->ctx, op, args);
}

/* Arguments are all different, as a text has them. */
static Stmt *gen_store(Gen *g) {
  Access args[3];
  int n = 0;
  for (int tries = random_below(&g->state, 4); tries > 0; tries--) {
    args[n] = gen_access(g);
    bool is_new = true;
    for (int k = 0; k < n; k++)
      is_new = is_new && (args[k].buffer != args[n].buffer ||
                          memcmp(args[k].index, args[n].index,
                                 (size_t)args[n].buffer->type->layout->n * sizeof *args[n].index) != 0);
    n += is_new;
  }
  return stmt_store(g->ctx, gen_access(g), gen_number(g, n, 0), args, n);
}

static Stmt *gen_block(Gen *g) {
  static const char *const names[] = {"i", "j.x", "k$", "a b"};
  Stmt *first = NULL;
  for (int n = random_below(&g->state, 4); n > 0; n--) {
    if (g->depth < 4 && random_below(&g->state, 2)) {
      const Expr *lo = gen_index(g, 2), *hi = gen_index(g, 2);
      const Expr *var = expr_var(g->ctx, names[g->depth], lo, hi);
      g->vars[g->depth++] = var;
      Stmt *body = gen_block(g);
      g->depth--;
      stmt_append(&first, stmt_loop(g->ctx, (LoopKind)random_below(&g->state, LOOP_KINDS), var, body));
    } else {
      stmt_append(&first, gen_store(g));
    }
  }
  return first;
}

static LoopProgram *gen_program(Ctx *ctx, uint64_t *state) {
  Gen g = {.state = *state, .ctx = ctx};
  /* In an order of its own, so that the order in which nodes are made is not that of the text. */
  expr_sym(ctx, random_below(&g.state, 2) ? "N" : "M", 1, 64);
  g.p = loops_create(ctx, module_create(ctx, NULL, "m"), "p");
  const char *why;
  const Type *x = type_static(ctx, DT_F32, 2, (int64_t[]){8, 9}, layout_parse(ctx, 2, "Ba4b", 4, &why));
  Dim dims[] = {expr_sym(ctx, "N", 1, 64), expr_const(ctx, 3)};
  loops_add_buffer(g.p, "x", x, BUF_INPUT, NULL);
  loops_add_buffer(g.p, "x", type_get(ctx, DT_F32, 2, dims, NULL), BUF_OUTPUT, NULL);
  Buffer *t = loops_add_buffer(g.p, "t-1", x, BUF_ARENA, NULL);
  if (random_below(&g.state, 2)) {
    t->offset = random_below(&g.state, 2) ? expr_mul_const(ctx, dims[0], 64) : expr_const(ctx, 640);
    g.p->arena_bytes = expr_add_const(ctx, t->offset, 4096);
  }
  for (int n = random_below(&g.state, 3); n > 0; n--) {
    Nest *nest = loops_add_nest(g.p, "nest", "op \"x\"", (Loc){"f", n, 0, NULL});
    g.local = local_buffer(ctx, random_below(&g.state, 2) ? "acc" : "min", DT_F32, 1, (int64_t[]){16});
    nest->body = stmt_local(ctx, g.local);
    stmt_append(&nest->body, gen_block(&g));
  }
  *state = g.state;
  return g.p;
}

START_TEST(random_programs) {
  uint64_t state = random_seed("random_programs");
  for (int round = 0; round < 500; round++) {
    Ctx *ctx = ctx_create();
    round_trip(gen_program(ctx, &state));
    ctx_destroy(ctx);
  }
}
END_TEST

/* ---- errors ---- */

#define BODY(stmts)                                                                                                    \
  HEAD "dim N in 1..8 loops @p { buffer %x : f32[8] input 0 buffer %y : f32[8,8]@bA4a output 0 nest @n \"\" {\n" stmts \
       " } }"

/* The whole message behind "t.weft:". */
static const struct {
  const char *text, *want;
} faults[] = {
    {HEAD "func @f", "2:1: error: expected 'loops' (this text holds a graph), found 'func'"},
    {HEAD "loop @f", "2:1: error: expected 'dim', 'const' or 'loops', found 'loop'"},
    {HEAD "loops f", "2:7: error: expected the program's name, such as @main, found 'f'"},
    {HEAD "loops @p { x", "2:12: error: expected 'buffer', 'arena', 'nest' or '}', found 'x'"},
    {HEAD "loops @p { } }", "2:14: error: expected the end of the text, found '}'"},
    {HEAD "const @k : f32[1] = file(\"k.npy\") loops @p { }",
     "2:25: error: expected content, found file(\"k.npy\"), which cannot be read in this place"},
    /* buffers */
    {HEAD "loops @p { buffer x", "2:19: error: expected the name of a buffer, such as %x, found 'x'"},
    {HEAD "loops @p { buffer %x : f32[1] heap", "2:31: error: expected 'input', 'output', 'constant' or 'arena', found "
                                                "'heap'"},
    {HEAD "loops @p { buffer %x : f32[1] input 1", "2:37: error: expected input 0 next, found 1"},
    {HEAD "loops @p { buffer %x : f32[1] output",
     "2:37: error: expected the number of the output, found the end of the "
     "text"},
    {HEAD "loops @p { buffer %x : f32[1] input 0 as \"NC\"",
     "2:42: error: expected one capital letter for each of 1 axes, "
     "all different, found 'NC'"},
    {HEAD "loops @p { buffer %x : f32[1] constant @k",
     "2:40: error: expected a constant that stands before, found unknown "
     "'@k'"},
    {HEAD "const @k : f32[2] = [1, 2] loops @p { buffer %x : f32[1] constant @k",
     "2:58: error: expected a buffer of the type of @k, f32[2], found f32[1]"},
    {HEAD "loops @p { buffer %x : f32[1] arena buffer %x : f32[1] arena",
     "2:44: error: expected a name that no other buffer has, found '%x' again"},
    {HEAD "loops @p { buffer %x : f32[1] arena (N)",
     "2:38: error: expected a loop variable in scope or a declared symbol, "
     "found 'N'"},
    {HEAD "loops @p { arena }", "2:18: error: expected the bytes of the arena, found '}'"},
    /* nests */
    {HEAD "loops @p { nest @n {", "2:20: error: expected a string: the ops that the nest computes, found '{'"},
    {HEAD "loops @p { nest @n \"\" {} nest @n \"\" {}",
     "2:31: error: expected a name that no other nest has, found '@n' "
     "again"},
    {BODY("fr i in 0..8 { }"),
     "3:1: error: expected a loop, 'local', 'index' or a store, found 'fr'; did you mean 'for'?"},
    {BODY("for 1 in 0..8 { }"), "3:5: error: expected the name of a loop variable, found '1'"},
    {BODY("for i of 0..8 { }"), "3:7: error: expected 'in', found 'of'"},
    {BODY("for i in ..8 { }"), "3:10: error: expected the lower bound of a loop, found '..'"},
    {BODY("for i in 0..{ }"), "3:13: error: expected the upper bound of a loop, found '{'"},
    {BODY("for ii in 0..ii { }"), "3:14: error: expected a loop variable in scope or a declared symbol, found 'ii'"},
    {BODY("for i in 0..8 { for i in 0..8 { } }"),
     "3:21: error: expected a name that no variable in scope and no symbol "
     "has, found 'i' again"},
    {BODY("for N in 0..8 { }"),
     "3:5: error: expected a name that no variable in scope and no symbol has, found 'N' again"},
    {BODY("for i in 0..8 %x"), "3:15: error: expected '{', found '%x'"},
    {BODY("for i in 0..8 { 7"), "3:17: error: expected a loop, 'local', 'index', a store or '}', found '7'"},
    {BODY("for ii in 0..8 { } %x[ii] = 0"),
     "3:23: error: expected a loop variable in scope or a declared symbol, found 'ii'"},
    {BODY("for row in 0..8 { %x[rw] = 0 }"),
     "3:22: error: expected a loop variable in scope or a declared symbol, found "
     "'rw'; did you mean 'row'?"},
    {BODY("local a : f32[N]"),
     "3:11: error: expected a row-major local of constant shape and at most 1048576 bytes, found "
     "f32[N]"},
    {BODY("local a : f32[2,2]@ba"),
     "3:11: error: expected a row-major local of constant shape and at most 1048576 bytes, "
     "found f32[2,2]@ba"},
    {BODY("local a : f32[1] local a : f32[1]"),
     "3:24: error: expected a name that no other local of the nest has, found "
     "'a' again"},
    /* accesses */
    {BODY("%z[0] = 0"), "3:1: error: expected a buffer of the program, found unknown '%z'; did you mean 'x'?"},
    {BODY("acc[0] = 0"), "3:1: error: expected a local in scope, found unknown 'acc'"},
    {BODY("local sum : f32[1] su[0] = 0"), "3:20: error: expected a local in scope, found unknown 'su'; did you mean "
                                           "'sum'?"},
    {BODY("for i in 0..8 { local a : f32[1] } a[0] = 0"),
     "3:36: error: expected a local in scope, found an ended one, 'a'"},
    {BODY("%x[0, 1] = 0"), "3:7: error: expected 1 index of 'x', which is f32[8], found more"},
    {BODY("%y[0, 1] = 0"), "3:1: error: expected 3 indices of 'y', which is f32[8,8]@bA4a, found 2"},
    {BODY("%x[] = 0"), "3:1: error: expected 1 index of 'x', which is f32[8], found 0"},
    {BODY("%x[0 = 0"), "3:6: error: expected ',' or ']', found '='"},
    {BODY("%x[0] 0"), "3:7: error: expected '=', found '0'"},
    /* scalars */
    {BODY("%x[0] = "), "3:10: error: expected a number, an access such as %x[i], a function or '(', found '}'"},
    {BODY("%x[0] = (1"), "3:12: error: expected ')', found '}'"},
    {BODY("%x[0] = y"), "3:9: error: expected a local in scope, found unknown 'y'"},
    {BODY("%x[0] = 1 < 2"), "3:9: error: expected a value of type f32 for 'x', found one of type bool"},
    {BODY("%x[0] = (1 < 2) + 1"),
     "3:17: error: expected operands that fit 'add': a comparison stands where a number is "
     "expected"},
    {BODY("%x[0] = select(1 < 2 < 3, 1, 2)"), "3:22: error: expected ',' or ')', found '<'"},
    {BODY("%x[0] = select(%x[1], 2, 3)"),
     "3:9: error: expected operands that fit 'select': the first operand of select must be "
     "a comparison or a bool"},
    {BODY("%x[0] = expp(1)"), "3:9: error: expected a scalar function, found unknown 'expp'; did you mean 'exp'?"},
    {BODY("%x[0] = const(1)"), "3:9: error: expected a scalar function, found unknown 'const'; did you mean 'cos'?"},
    {BODY("%x[0] = arg(1)"), "3:9: error: expected a scalar function, found unknown 'arg'"},
    {BODY("%x[0] = exp(1, 2)"), "3:16: error: expected 1 operand of 'exp', found more"},
    {BODY("%x[0] = fma(1, 2)"), "3:9: error: expected 3 operands of 'fma', found 2"},
    {BODY("%x[0] = exp()"), "3:13: error: expected a number, an access such as %x[i], a function or '(', found ')'"},
    {BODY("%x[0] = exp(1"), "3:15: error: expected ',' or ')', found '}'"},
    {BODY("%x[0] = 1e39"), "3:9: error: expected a number of type f32, found '1e39'"},
    {BODY("%x[0] = 1e400"), "3:9: error: expected a number, found '1e400', which is too large for f64"},
    {BODY("%x[0] = select(2, %x[1], 3)"), "3:16: error: expected a number of type bool, found '2'"},
    {BODY("local a : u8[1] a[0] = 256"), "3:24: error: expected a number of type u8, found '256'"},
    {BODY("local a : u8[1] a[0] = a[0] + -1"), "3:32: error: expected a number of type u8, found '-1'"},
    {BODY("local a : i16[1] a[0] = 1.5"), "3:25: error: expected a number of type i16, found '1.5'"},
    {BODY("local a : i32[1] a[0] = %x[0]"), "3:25: error: expected a value of type i32 for 'a', found one of type f32"},
    {BODY("local a : i64[1] a[0] = -9223372036854775809"),
     "3:26: error: expected a number of type i64, found '-9223372036854775809'"},
    {BODY("local a : f16[1] %x[0] = f16(a[0])"), "3:26: error: expected a type that values are computed in, found f16"},
    {BODY("%x[0] = f32(1, 2)"), "3:14: error: expected ')', found ','"},
    {BODY("%x[0] = index(1)"), "3:9: error: expected a value of type f32 for 'x', found one of type i64"},
    {BODY("%x[0] = f32(index(q))"),
     "3:19: error: expected a loop variable in scope or a declared symbol, found 'q'; did you mean 'N'?"},
    /* index statements */
    {BODY("index 1 in 0..8 = 0"), "3:7: error: expected the name of an index variable, found '1'"},
    {BODY("index j in 0..8 { }"), "3:17: error: expected '=', found '{'"},
    {BODY("index j in 0..8 = %x[0]"),
     "3:19: error: expected a value of type i64 for the index 'j', found one of type f32"},
    {BODY("index j in 0..8 = index(j)"),
     "3:25: error: expected a loop variable in scope or a declared symbol, found 'j'; did you mean 'N'?"},
    {BODY("index j in 0..8 = 1 index j in 0..8 = 1"),
     "3:27: error: expected a name that no variable in scope and no symbol has, found 'j' again"},
    {BODY("for i in 0..2 { index j in 0..8 = 1 } %x[j] = 0"),
     "3:42: error: expected a loop variable in scope or a declared symbol, found 'j'; did you mean 'N'?"},
    {BODY("%x[0] = --1"), "3:10: error: expected a number, an access such as %x[i], a function or '(', found '-'"},
};

START_TEST(parser_reports) {
  Ctx *ctx = ctx_create();
  ck_assert_msg(!parse_loops(ctx, faults[_i].text), "expected a fault in:\n%s", faults[_i].text);
  Str want = str_new(ctx->arena);
  str_printf(&want, "t.weft:%s\n", faults[_i].want);
  ck_assert_str_eq(diag_text(ctx->diags, false), want.data);
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
  ctx_destroy(ctx);
}
END_TEST

/* ---- hostile text ---- */

/* Neither a crash nor silence; what parses prints and reads back. */
static bool survives(const char *text, size_t len) {
  Ctx *ctx = ctx_create();
  LoopProgram *p = loops_parse(ctx, "t.weft", text, len);
  ck_assert(p || diag_count(ctx->diags) > 0);
  if (p)
    round_trip(p);
  ctx_destroy(ctx);
  return p;
}

START_TEST(mutated_text) {
  static const char *const splices[] = {
      "1152921504606846975", "-1", " div 0", "*N*N*N*N", "(",  "[", "{ ",     "}",   "for",
      "local a : f32[1]",    "%x", "@p",     "\"\\x",    "..", "q", " mod N", "exp("};
  uint64_t state = random_seed("mutated_text");
  int parsed = 0, rounds = 4000;
  for (int round = 0; round < rounds; round++) {
    const char *from = printed[random_below(&state, COUNT(printed))];
    size_t len = strlen(from), most = len + 64;
    char *text = malloc(most);
    memcpy(text, from, len);
    for (int edits = 1 + random_below(&state, 2); edits > 0; edits--) {
      size_t at = (size_t)random_below(&state, (int)len), n;
      const char *splice = splices[random_below(&state, COUNT(splices))];
      switch (random_below(&state, 4)) {
      case 0: /* a byte */
        text[at] = (char)random_below(&state, 256);
        break;
      case 1: /* taken out */
        n = len - at < 6 ? len - at : (size_t)random_below(&state, 6);
        memmove(text + at, text + at + n, len - at - n);
        len -= n;
        break;
      case 2: /* put in */
        n = strlen(splice);
        memmove(text + at + n, text + at, len - at);
        memcpy(text + at, splice, n);
        len += n;
        break;
      default: /* a byte from elsewhere in the text */
        text[at] = from[random_below(&state, (int)strlen(from))];
      }
    }
    if (random_below(&state, 8) == 0)
      len = (size_t)random_below(&state, (int)len);
    text = realloc(text, len + 1); /* a read beyond its end is caught */
    parsed += survives(text, len);
    free(text);
  }
  ck_assert_int_gt(parsed, rounds / 50); /* else the mutations are too coarse to test anything */
  ck_assert_int_lt(parsed, rounds / 2);
}
END_TEST

/* Much of one thing: one error, bounded in depth, time and memory. */
static const struct {
  const char *before, *repeat, *after;
} swollen[] = {
    {"", "buffer %x : f32[8] arena ", "} "},
    {"nest @n \"\" { ", "for i in 0..1 { ", "} "},
    {"buffer %x : f32[8] arena nest @n \"\" { %x[0] = ", "(", "1"},
    {"buffer %x : f32[8] arena nest @n \"\" { %x[0] = ", "exp(", "1"},
    {"buffer %x : f32[8] arena nest @n \"\" { %x[0] = 1", " + %x[0]", "} }"},
    {"buffer %x : f32[8] arena nest @n \"\" { %x[0] = 1", " * -%x[0]", "} }"},
    {"buffer %x : f32[8] arena nest @n \"\" { %x[0", " + 0", "] = 0 } }"},
    {"buffer %x : f32[8] arena nest @n \"\" { %x[", "0, ", "0] = 0 } }"},
    {"nest @n \"\" { ", "local a : f32[1] ", "} }"},
    {"buffer %x : f32[8] arena nest @n \"\" { ", "%x[0] = 0 ", "} } }"},
};

START_TEST(swollen_text) {
  Ctx *ctx = ctx_create();
  Str text = str_new(ctx->arena);
  str_put(&text, HEAD "loops @p { ");
  str_put(&text, swollen[_i].before);
  for (int k = 0; k < 100000; k++)
    str_put(&text, swollen[_i].repeat);
  str_put(&text, swollen[_i].after);
  size_t used = arena_used(ctx->arena);
  ck_assert_ptr_null(loops_parse(ctx, "t.weft", text.data, text.len));
  ck_assert_uint_eq(diag_count(ctx->diags), 1);
  ck_assert_uint_lt(arena_used(ctx->arena) - used, 100 * text.len);
  ctx_destroy(ctx);
}
END_TEST

/* Nesting up to the limits is read, printed and read again. */
START_TEST(deep_text) {
  Ctx *ctx = ctx_create();
  Str text = str_new(ctx->arena);
  str_put(&text, HEAD "loops @p { buffer %x : f32[8] arena nest @n \"\" { ");
  for (int k = 0; k < LOOP_MAX_DEPTH; k++)
    str_printf(&text, "for i%d in 0..2 { ", k);
  str_put(&text, "%x[");
  for (int k = 0; k < 20; k++)
    str_put(&text, "(1 + i1 * (");
  str_put(&text, "i2");
  for (int k = 0; k < 20; k++)
    str_put(&text, ") mod 5) div 3");
  str_put(&text, "] = ");
  for (int k = 0; k < 900; k++)
    str_put(&text, "exp(");
  str_put(&text, "%x[0]");
  for (int k = 0; k < 900; k++)
    str_put(&text, ")");
  for (int k = 0; k < LOOP_MAX_DEPTH; k++)
    str_put(&text, " }");
  str_put(&text, " } }");
  round_trip(parse_loops_well(ctx, text.data));
  ctx_destroy(ctx);
}
END_TEST

Suite *suite_loop_text(void);
Suite *suite_loop_text(void) {
  Suite *suite = suite_create("loop_text");
  TCase *t = tcase_create("loop_text");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, printed_text_is_stable, 0, COUNT(printed));
  tcase_add_test(t, structure_is_read);
  tcase_add_test(t, many_arguments);
  tcase_add_test(t, random_programs);
  tcase_add_loop_test(t, parser_reports, 0, COUNT(faults));
  tcase_add_test(t, mutated_text);
  tcase_add_loop_test(t, swollen_text, 0, COUNT(swollen));
  tcase_add_test(t, deep_text);
  suite_add_tcase(suite, t);
  return suite;
}
