/* Views: reshape and slice (broadcast and transpose have tests of their own, test_infer.c and test_eval.c). Types,
 * refusals, values against answers of numpy, and that the index map and the evaluation of every view agree. */
#include "ir/layout_plan.h"
#include "text_help.h"

static Ctx *ctx;
static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

/* A function of %x whose result %y is made by these ops. */
static const char *function(const char *type, const char *result, const char *ops) {
  return arena_printf(ctx->arena, "weft 1 model \"m\"\nfunc @main(%%x: %s) -> (y: %s) {\n%s\nreturn %%y\n}\n", type,
                      result, ops);
}

/* ---- types ---- */

typedef struct {
  const char *type, *op, *result; /* result: the type, or what the refusal says */
} TypeCase;

static const TypeCase good[] = {
    {"f32[2,3,4]", "reshape(%x) {shape = [6, 4]}", "f32[6,4]"},
    {"f32[2,3,4]", "reshape(%x) {shape = [-1]}", "f32[24]"},
    {"f32[2,3,4]", "reshape(%x) {shape = [4, -1, 2]}", "f32[4,3,2]"},
    {"f32[2,3,4]", "reshape(%x) {shape = [1, 24, 1]}", "f32[1,24,1]"},
    {"f32[]", "reshape(%x) {shape = [1, 1]}", "f32[1,1]"},
    {"f32[1]", "reshape(%x) {shape = []}", "f32[]"},
    {"i64[0,3]", "reshape(%x) {shape = [5, 0]}", "i64[5,0]"},
    {"i64[0,3]", "reshape(%x) {shape = [5, -1]}", "i64[5,0]"},
    {"f32[N,3,4]", "reshape(%x) {shape = [-1, 12]}", "f32[N,12]"},
    {"f32[N,3,4]", "reshape(%x) {shape = [-1, 2]}", "f32[6*N,2]"},
    {"f32[10]", "slice(%x) {begins = [2], ends = [7]}", "f32[5]"},
    {"f32[10]", "slice(%x) {begins = [2], ends = [7], steps = [2]}", "f32[3]"},
    {"f32[10]", "slice(%x) {begins = [-3], ends = [9223372036854775807]}", "f32[3]"},
    {"f32[10]", "slice(%x) {begins = [-1], ends = [-9223372036854775808], steps = [-1]}", "f32[10]"},
    {"f32[10]", "slice(%x) {begins = [9], ends = [0], steps = [-4]}", "f32[3]"},
    {"f32[10]", "slice(%x) {begins = [7], ends = [2]}", "f32[0]"},
    {"f32[10]", "slice(%x) {begins = [-20], ends = [20], steps = [9223372036854775807]}", "f32[1]"},
    {"f32[0]", "slice(%x) {begins = [0], ends = [5], steps = [-1]}", "f32[0]"},
    {"u8[4,5,6]", "slice(%x) {begins = [1, 0], ends = [3, 6], axes = [-2, 2]}", "u8[4,2,6]"},
    {"f32[4,5]", "slice(%x) {begins = [], ends = []}", "f32[4,5]"},
    {"f32[1,W]", "slice(%x) {begins = [0], ends = [-1], axes = [1]}", "f32[1,max(0, W - 1)]"},
};

START_TEST(types) {
  const TypeCase *c = &good[_i];
  Module *m =
      parse_well(ctx, function(c->type, c->result, arena_printf(ctx->arena, "%%y = %s : %s", c->op, c->result)));
  ck_assert_str_eq(type_text(ctx, m->main->last->result->type), c->result);
}
END_TEST

static const TypeCase bad[] = {
    {"f32[2,3]", "reshape(%x) {shape = [4]}", "reshape: x is f32[2,3], 6 elements; expected 4 of them"},
    {"f32[2,3]", "reshape(%x) {shape = [4, -1]}", "reshape: x is f32[2,3], 6 elements; expected a multiple of 4"},
    {"f32[2,3]", "reshape(%x) {shape = [-1, -1]}", "reshape: attribute 'shape' holds -1, expected extents from 0"},
    {"f32[2,3]", "reshape(%x) {shape = [-2, 3]}", "reshape: attribute 'shape' holds -2"},
    {"f32[0,3]", "reshape(%x) {shape = [0, -1]}", "has both 0 and -1"},
    {"f32[2,3]", "reshape(%x) {shape = [1, 1, 1, 1, 1, 1, 1, 2, 3]}", "has 9 extents, at most 8"},
    {"f32[2,3]", "reshape(%x) {shape = [1099511627776, 1099511627776]}", "asks for too many elements"},
    {"f32[N,3]", "reshape(%x) {shape = [6]}", "reshape: x is f32[N,3], 3*N elements; expected 6 of them"},
    {"f32[N,3]", "reshape(%x) {shape = [-1, 2]}", "expected a multiple of 2"},
    {"f32[2,3]", "slice(%x) {begins = [0], ends = [1, 2]}", "'ends' has 2 numbers, expected 1: as many as 'begins'"},
    {"f32[2,3]", "slice(%x) {begins = [0], ends = [1], axes = [0, 1]}", "'axes' has 2 numbers, expected 1"},
    {"f32[2,3]", "slice(%x) {begins = [0], ends = [1], steps = [1, 1]}", "'steps' has 2 numbers, expected 1"},
    {"f32[2,3]", "slice(%x) {begins = [0], ends = [1], steps = [0]}", "'steps' holds 0"},
    {"f32[2,3]", "slice(%x) {begins = [0], ends = [1], axes = [2]}",
     "'axes' holds 2, expected different axes from -2 to 1"},
    {"f32[2,3]", "slice(%x) {begins = [0, 0], ends = [1, 1], axes = [1, -1]}", "'axes' holds -1"},
    {"f32[2,3]", "slice(%x) {begins = [0, 0, 0], ends = [1, 1, 1]}", "'begins' has 3 numbers, expected at most 2"},
};

START_TEST(refused) {
  const TypeCase *c = &bad[_i];
  ck_assert_ptr_null(parse(ctx, function(c->type, "f32[1]", arena_printf(ctx->arena, "%%y = %s : f32[1]", c->op))));
  ck_assert_msg(strstr(diag_text(ctx->diags, false), c->result) != NULL, "%s", diag_text(ctx->diags, false));
  ck_assert_int_eq(diag_status(ctx->diags), WEFT_MALFORMED);
}
END_TEST

/* ---- values: x counts up from 0; answers of numpy ---- */

static Tensor *counting(const Type *type) {
  Tensor *t = tensor_of_type(ctx, type);
  for (int64_t k = 0; k < t->n; k++)
    tensor_set(t, k, (double)k);
  return t;
}

static const Tensor *run(Module *m) {
  const Tensor *x = counting(m->main->params.data[0]->type);
  Tensor *out = NULL;
  ck_assert_msg(eval_function(m, m->main, &x, &out, NULL), "%s", diag_text(ctx->diags, false));
  return out;
}

typedef struct {
  const char *type, *op, *result;
  int values[12];
} ValueCase;

static const ValueCase valued[] = {
    {"f32[10]", "slice(%x) {begins = [-3], ends = [100]}", "f32[3]", {7, 8, 9}},
    {"f32[10]", "slice(%x) {begins = [8], ends = [-9], steps = [-3]}", "f32[3]", {8, 5, 2}},
    {"i64[10]", "slice(%x) {begins = [100], ends = [-100], steps = [-4]}", "i64[3]", {9, 5, 1}},
    {"i32[3,4]", "slice(%x) {begins = [1, 2], ends = [0, 4], steps = [-1, 1]}", "i32[1,2]", {6, 7}},
    {"u8[3,4]",
     "slice(%x) {begins = [3, -1], ends = [-4, -4], axes = [1, 0], steps = [-2, -1]}",
     "u8[3,2]",
     {11, 9, 7, 5, 3, 1}},
    {"bool[1,2]", "reshape(%x) {shape = [2]}", "bool[2]", {0, 1}},
    {"f64[2,3]@ba", "reshape(%x) {shape = [3, 2]}", "f64[3,2]@ba", {0, 1, 2, 3, 4, 5}},
    {"f16[]", "reshape(%x) {shape = [1]}", "f16[1]", {0}},
};

START_TEST(values) {
  const ValueCase *c = &valued[_i];
  const Tensor *y =
      run(parse_well(ctx, function(c->type, c->result, arena_printf(ctx->arena, "%%y = %s : %s", c->op, c->result))));
  for (int64_t k = 0; k < y->n; k++)
    ck_assert_msg(tensor_get(y, k) == c->values[k], "element %d is %g", (int)k, tensor_get(y, k));
}
END_TEST

/* ---- index maps ---- */

/* The index of the parameter that %y reads at the variables. */
static const Expr **index_map(const Module *m, const Expr *const *vars) {
  const Expr **at = ARENA_ARRAY(ctx->arena, const Expr *, WEFT_MAX_RANK), *inner[WEFT_MAX_RANK];
  const Value *v = m->main->results.data[0].value;
  for (int k = 0; k < v->type->rank; k++)
    at[k] = vars[k];
  for (; v->def; v = v->def->operands[0]) {
    v->def->def->view_index(ctx, v->def, at, inner);
    memcpy(at, inner, (size_t)v->def->operands[0]->type->rank * sizeof *at);
  }
  return at;
}

static const Expr **variables(const Type *type) {
  static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  const Expr **vars = ARENA_ARRAY(ctx->arena, const Expr *, WEFT_MAX_RANK);
  for (int k = 0; k < type->rank; k++)
    vars[k] = expr_var(ctx, names[k], expr_const(ctx, 0), type->dims[k]);
  return vars;
}

typedef struct {
  const char *type, *ops, *result, *map;
} MapCase;

static const MapCase maps[] = {
    /* an axis that stays keeps its index, whatever is done beside it */
    {"f32[2,3,4]", "%y = reshape(%x) {shape = [2, 12]} : f32[2,12]", "f32[2,12]", "a, b div 4, b mod 4"},
    {"f32[2,12]", "%y = reshape(%x) {shape = [2, 3, 4]} : f32[2,3,4]", "f32[2,3,4]", "a, 4*b + c"},
    {"f32[6,4]", "%y = reshape(%x) {shape = [4, 6]} : f32[4,6]", "f32[4,6]", "a + (2*a + b) div 4, (2*a + b) mod 4"},
    {"f32[1,5,1,7]", "%y = reshape(%x) {shape = [5, 7]} : f32[5,7]", "f32[5,7]", "0, a, 0, b"},
    {"f32[N,3,4]", "%y = reshape(%x) {shape = [-1, 12]} : f32[N,12]", "f32[N,12]", "a, b div 4, b mod 4"},
    {"f32[10]", "%y = slice(%x) {begins = [8], ends = [-9], steps = [-3]} : f32[3]", "f32[3]", "-3*a + 8"},
    /* depth to space and back: no more than the definition says, and nothing at all */
    {"f32[1,12,2,3]",
     "%a = reshape(%x) {shape = [1, 2, 2, 3, 2, 3]} : f32[1,2,2,3,2,3]"
     "%b = transpose(%a) {perm = [0, 3, 4, 1, 5, 2]} : f32[1,3,2,2,3,2]"
     "%y = reshape(%b) {shape = [1, 3, 4, 6]} : f32[1,3,4,6]",
     "f32[1,3,4,6]", "a, 6*(c mod 2) + 3*(d mod 2) + b, c div 2, d div 2"},
    {"f32[1,3,4,6]",
     "%a = reshape(%x) {shape = [1, 3, 2, 2, 3, 2]} : f32[1,3,2,2,3,2]"
     "%b = transpose(%a) {perm = [0, 3, 5, 1, 2, 4]} : f32[1,2,2,3,2,3]"
     "%c = reshape(%b) {shape = [1, 12, 2, 3]} : f32[1,12,2,3]"
     "%d = reshape(%c) {shape = [1, 2, 2, 3, 2, 3]} : f32[1,2,2,3,2,3]"
     "%e = transpose(%d) {perm = [0, 3, 4, 1, 5, 2]} : f32[1,3,2,2,3,2]"
     "%y = reshape(%e) {shape = [1, 3, 4, 6]} : f32[1,3,4,6]",
     "f32[1,3,4,6]", "a, b, c, d"},
};

START_TEST(index_maps) {
  const MapCase *c = &maps[_i];
  Module *m = parse_well(ctx, function(c->type, c->result, c->ops));
  const Value *y = m->main->results.data[0].value, *x = m->main->params.data[0];
  const Expr **at = index_map(m, variables(y->type));
  Str text = str_new(ctx->arena);
  for (int k = 0; k < x->type->rank; k++) {
    str_put(&text, k ? ", " : "");
    expr_print(&text, at[k]);
  }
  ck_assert_str_eq(text.data, c->map);
}
END_TEST

/* ---- random chains: the index map and the evaluation agree ---- */

static int64_t between(uint64_t *state, int64_t lo, int64_t hi) {
  return lo + random_below(state, (int)(hi - lo + 1));
}

/* A factorisation of n at random, with some ones. */
static int random_shape(uint64_t *state, int64_t n, int64_t *shape) {
  int rank = 0;
  if (n == 0) {
    shape[0] = random_below(state, 3);
    shape[1] = 0;
    return 2;
  }
  while (rank < 5 && (n > 1 || random_below(state, 3) == 0)) {
    int64_t f = n > 1 && rank < 4 ? between(state, 1, n) : n;
    while (n % f != 0)
      f--;
    shape[rank++] = f;
    n /= f;
  }
  return rank;
}

static Value *random_view(Module *m, Value *x, uint64_t *state) {
  int64_t shape[WEFT_MAX_RANK], own[WEFT_MAX_RANK], a[WEFT_MAX_RANK], b[WEFT_MAX_RANK], s[WEFT_MAX_RANK], n = 1;
  int rank = x->type->rank, kind = random_below(state, 4);
  ck_assert(type_shape(x->type, own));
  for (int k = 0; k < rank; k++)
    n *= own[k];
  static const OpCode codes[] = {OP_RESHAPE, OP_RESHAPE, OP_SLICE, OP_TRANSPOSE};
  Op *op = op_create(ctx, &op_table[codes[kind]], &x, 1, LOC_NONE);
  switch (codes[kind]) {
  case OP_RESHAPE: {
    int to = random_shape(state, n, shape);
    op_set_ints(ctx, op, "shape", shape, to);
    break;
  }
  case OP_SLICE:
    for (int k = 0; k < rank; k++) {
      a[k] = between(state, -own[k] - 1, own[k] + 1);
      b[k] = between(state, -own[k] - 2, own[k] + 2);
      s[k] = between(state, 1, 3) * (random_below(state, 2) ? 1 : -1);
      if (random_below(state, 3) > 0) { /* most axes lose little: else nothing is left soon */
        a[k] = s[k] < 0 ? own[k] - 1 : 0;
        b[k] = s[k] < 0 ? -own[k] - 1 : own[k];
      }
    }
    op_set_ints(ctx, op, "begins", a, rank);
    op_set_ints(ctx, op, "ends", b, rank);
    op_set_ints(ctx, op, "steps", s, rank);
    break;
  default:
    for (int k = 0; k < rank; k++) {
      int j = random_below(state, k + 1);
      a[k] = a[j];
      a[j] = k;
    }
    op_set_ints(ctx, op, "perm", a, rank);
  }
  Value *y = op_finish(m, m->main, op, NULL, NULL, NULL);
  ck_assert_msg(y != NULL, "%s", diag_text(ctx->diags, false));
  return y;
}

typedef struct {
  const Expr *const *vars;
  const int64_t *index;
  int n;
} Point;

static int64_t lookup(const void *env, const Expr *atom) {
  const Point *p = env;
  for (int k = 0; k < p->n; k++)
    if (p->vars[k] == atom)
      return p->index[k];
  ck_abort_msg("a variable that is not the result's: %s", atom->name);
}

START_TEST(chains_agree) {
  uint64_t state = random_seed("chains_agree");
  int64_t points = 0;
  for (int round = 0; round < 400; round++) {
    Ctx *outer = ctx;
    ctx = ctx_create();
    Module *m = module_create(ctx, "m", "m");
    m->main = function_create(m, "main");
    int64_t shape[WEFT_MAX_RANK], sizes[] = {12, 24, 30, 36, 48, 60, 72};
    int rank = random_shape(&state, sizes[random_below(&state, 7)], shape);
    const Type *type = type_static(ctx, DT_I32, rank, shape, NULL);
    Value *v = function_add_param(m, m->main, "x", type, NULL, LOC_NONE);
    for (int k = random_below(&state, 5) + 1; k > 0; k--)
      v = random_view(m, v, &state);
    function_add_result(m, m->main, "y", v, v->type, NULL, LOC_NONE);
    const Tensor *y = run(m);
    const Expr **vars = variables(v->type), **at = index_map(m, vars);
    int64_t index[WEFT_MAX_RANK] = {0};
    Point p = {vars, index, v->type->rank};
    for (int64_t i = 0; i < y->n; i++, points++) {
      int64_t from = 0;
      for (int k = 0; k < rank; k++) {
        int64_t own = expr_eval(at[k], lookup, &p);
        ck_assert_msg(own >= 0 && own < shape[k], "index %d is %d in\n%s", k, (int)own, print(m, false, false));
        from = from * shape[k] + own;
      }
      if (tensor_get(y, i) != (double)from)
        ck_abort_msg("element %d is %g, the map says %d in\n%s", (int)i, tensor_get(y, i), (int)from,
                     print(m, false, false));
      tensor_next_index(y, index);
    }
    ctx_destroy(ctx);
    ctx = outer;
  }
  ck_assert_int_gt(points, 2000);
}
END_TEST

/* ---- the layout of a reshape ---- */

static const Layout *random_permutation(uint64_t *state, int rank) {
  int perm[WEFT_MAX_RANK];
  for (int k = 0; k < rank; k++) {
    int j = random_below(state, k + 1);
    perm[k] = perm[j];
    perm[j] = k;
  }
  return layout_permutation(ctx, rank, perm);
}

/* Whether the elements lie in the same order in both: by their number in the logical order, which a reshape keeps. */
static bool same_memory(const Layout *a, const int64_t *a_shape, const Layout *b, const int64_t *b_shape, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int64_t at_a[WEFT_MAX_RANK], at_b[WEFT_MAX_RANK], rest = i;
    for (int k = a->rank; k-- > 0; rest /= a_shape[k])
      at_a[k] = rest % a_shape[k];
    rest = i;
    for (int k = b->rank; k-- > 0; rest /= b_shape[k])
      at_b[k] = rest % b_shape[k];
    if (layout_offset(a, a_shape, at_a) != layout_offset(b, b_shape, at_b))
      return false;
  }
  return true;
}

/* A plan says that the memory is the operand's just where it is. */
START_TEST(reshape_keeps_memory) {
  uint64_t state = random_seed("reshape_keeps_memory");
  int kept = 0, moved = 0;
  for (int round = 0; round < 3000; round++) {
    Ctx *outer = ctx;
    ctx = ctx_create();
    Module *m = module_create(ctx, "m", "m");
    m->main = function_create(m, "main");
    int64_t from[WEFT_MAX_RANK], to[WEFT_MAX_RANK], sizes[] = {0, 1, 12, 24, 36, 60, 72}, n = sizes[random_below(&state, 7)];
    int rank = random_shape(&state, n, from), result_rank = random_shape(&state, n, to);
    const Type *type = type_static(ctx, DT_I32, rank, from, random_permutation(&state, rank));
    Value *x = function_add_param(m, m->main, "x", type, NULL, LOC_NONE);
    Op *op = op_create(ctx, &op_table[OP_RESHAPE], &x, 1, LOC_NONE);
    op_set_ints(ctx, op, "shape", to, result_rank);
    ck_assert_ptr_nonnull(op_finish(m, m->main, op, NULL, "y", NULL));
    LayoutPlan plan = layout_plan_of(ctx, op);
    op->def->layout(ctx, op, &plan);
    ck_assert(plan.result && plan.result->rank == result_rank && layout_is_permutation(plan.result));
    bool says = strncmp(plan.why, "the memory of %", strlen("the memory of %")) == 0;
    Str tag = str_new(ctx->arena);
    layout_print(&tag, plan.result);
    if (n > 0 && says != same_memory(type->layout, from, plan.result, to, n))
      ck_abort_msg("@%s: '%s' is wrong in\n%s", tag.data, plan.why, print(m, false, false));
    kept += n > 1 && says;
    moved += n > 1 && !says;
    ctx_destroy(ctx);
    ctx = outer;
  }
  ck_assert_int_gt(kept, 300);
  ck_assert_int_gt(moved, 300);
}
END_TEST

Suite *suite_views(void);
Suite *suite_views(void) {
  Suite *s = suite_create("views");
  TCase *t = tcase_create("views");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, types, 0, (int)COUNT(good));
  tcase_add_loop_test(t, refused, 0, (int)COUNT(bad));
  tcase_add_loop_test(t, values, 0, (int)COUNT(valued));
  tcase_add_loop_test(t, index_maps, 0, (int)COUNT(maps));
  tcase_add_test(t, chains_agree);
  tcase_add_test(t, reshape_keeps_memory);
  suite_add_tcase(s, t);
  return s;
}
