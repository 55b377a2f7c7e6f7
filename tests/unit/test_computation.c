/* Substitution in computations: splitting, restricting and dropping axes keeps the set of iterations, told by the
 * elements that each touches. The computations have bounds that depend on axes: taps at a border, outputs of a phase.
 */
#include <check.h>

#include "graph_util.h"
#undef F32 /* loop_build.h has its own */
#include "loop_build.h"
#include "lower/computation.h"

/* ---- iterations as numbers ---- */

typedef struct {
  Ctx *ctx;
  const Computation *c;
  int n;
  const Expr *vars[2 * COMPUTATION_MAX_VARS];
  int64_t values[2 * COMPUTATION_MAX_VARS];
  VEC(uint64_t) seen; /* a number for what one iteration touches */
} Walk;

static int64_t lookup(const void *env, const Expr *atom) {
  const Walk *w = env;
  for (int k = 0; k < w->n; k++)
    if (w->vars[k] == atom)
      return w->values[k];
  ck_abort_msg("variable '%s' is used, but it is no loop around", atom->name);
}

static void add_access(Walk *w, uint64_t *hash, Access a) {
  for (int k = 0; k < a.buffer->type->layout->n; k++) {
    int64_t at = expr_eval(a.index[k], lookup, w);
    int64_t extent = expr_eval(layout_extent(w->ctx, a.buffer->type->layout, a.buffer->type->dims, k), lookup, w);
    if (at < 0 || at >= extent)
      ck_abort_msg("%s: index %d is %d", a.buffer->name, k, (int)at);
    *hash = hash_bytes(*hash, &at, sizeof at);
  }
}

static void walk(Walk *w, int depth) {
  const Computation *c = w->c;
  if (depth == c->n_axes + c->n_reds) {
    uint64_t hash = WEFT_HASH_SEED;
    add_access(w, &hash, c->target);
    for (int k = 0; k < c->step_args.n; k++)
      add_access(w, &hash, c->step_args.access[k]);
    for (int k = 0; k < c->init_args.n; k++)
      add_access(w, &hash, c->init_args.access[k]);
    for (int k = 0; k < c->args.n; k++)
      add_access(w, &hash, c->args.access[k]);
    vec_push(w->ctx->arena, &w->seen, hash);
    return;
  }
  const Expr *var = depth < c->n_axes ? c->axes[depth] : c->reds[depth - c->n_axes];
  int64_t lo = expr_eval(var->a, lookup, w), hi = expr_eval(var->b, lookup, w);
  int at = w->n++;
  w->vars[at] = var;
  for (int64_t v = lo; v < hi; v++) {
    w->values[at] = v;
    walk(w, depth + 1);
  }
  w->n--;
}

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Of several computations together. */
static void iterations(Ctx *ctx, Walk *w, const Computation *parts, int n) {
  *w = (Walk){.ctx = ctx};
  for (int k = 0; k < n; k++) {
    w->c = &parts[k];
    walk(w, 0);
  }
  qsort(w->seen.data, w->seen.len, sizeof *w->seen.data, compare_u64);
}

static void assert_same(Ctx *ctx, const Computation *whole, const Computation *parts, int n) {
  Walk a, b;
  iterations(ctx, &a, whole, 1);
  iterations(ctx, &b, parts, n);
  ck_assert_uint_gt(a.seen.len, 0);
  ck_assert_uint_eq(a.seen.len, b.seen.len);
  ck_assert_mem_eq(a.seen.data, b.seen.data, a.seen.len * sizeof(uint64_t));
}

/* ---- a computation like that of a transposed convolution with phases in a loop ---- */

static Computation sample(Ctx *ctx, int64_t channels, int64_t columns) {
  LoopProgram *p = new_program(ctx);
  const Type *data = type_static(ctx, DT_F32, 3, SHAPE(channels, columns + 8, 3), NULL);
  Buffer *x = loops_add_buffer(p, "x", data, BUF_INPUT, NULL);
  Buffer *k = loops_add_buffer(p, "k", type_static(ctx, DT_F32, 2, SHAPE(3, 2), NULL), BUF_INPUT, NULL);
  Buffer *b = loops_add_buffer(p, "b", type_static(ctx, DT_F32, 1, SHAPE(channels), NULL), BUF_INPUT, NULL);
  Buffer *y =
      loops_add_buffer(p, "y", type_static(ctx, DT_F32, 3, SHAPE(channels, 3, columns + 8), NULL), BUF_OUTPUT, NULL);
  const Expr *c = VAR("c", 0, channels), *r = VAR("r", 0, 3);
  const Expr *q = expr_var(ctx, "q", K(0), expr_sub(ctx, K(columns), r)); /* fewer in later phases */
  const Expr *t = expr_var(ctx, "t", expr_max(ctx, K(0), expr_sub(ctx, K(2), q)),
                           expr_min(ctx, K(3), expr_sub(ctx, K(columns + 1), q))); /* fewer at the borders */
  const Expr *i = VAR("i", 0, 2);
  Computation s = {.n_axes = 3, .n_reds = 2, .reduces = true, .axes = {c, r, q}, .reds = {t, i}};
  args_add(&s.step_args, AT(x, c, expr_add(ctx, q, t), i));
  args_add(&s.step_args, AT(k, t, i));
  args_add(&s.init_args, AT(b, c));
  s.init = scalar_arg(ctx, 0);
  s.step = scalar_make3(ctx, SC_FMA, scalar_arg(ctx, 1), scalar_arg(ctx, 2), scalar_arg(ctx, 0));
  args_add(&s.args, AT(y, c, r, q));
  s.target = AT(y, c, r, q);
  s.value = scalar_arg(ctx, 0);
  return s;
}

static Computation split(Ctx *ctx, const Computation *c, int k, int64_t size) {
  int64_t extent = var_extent(ctx, c->axes[k]);
  ck_assert(extent > 0 && extent % size == 0);
  const Expr *outer = VAR("o", 0, extent / size), *inner = VAR("i", 0, size);
  const Expr *to = expr_add(ctx, expr_add(ctx, expr_mul_const(ctx, outer, size), inner), c->axes[k]->a);
  const Expr *vars[2] = {outer, inner};
  return computation_replace_axis(ctx, c, k, to, vars, 2);
}

START_TEST(test_split) {
  Ctx *ctx = ctx_create();
  Computation c = sample(ctx, 6, 7);
  Computation channels = split(ctx, &c, 0, 3), phases = split(ctx, &channels, 2, 1);
  ck_assert_int_eq(channels.n_axes, 4);
  assert_same(ctx, &c, &channels, 1);
  ck_assert_int_eq(phases.n_axes, 5);
  assert_same(ctx, &c, &phases, 1); /* the bounds of q and of the taps follow */
  ctx_destroy(ctx);
}
END_TEST

START_TEST(test_restrict) {
  Ctx *ctx = ctx_create();
  Computation c = sample(ctx, 4, 7);
  for (int64_t cut = 1; cut < 3; cut++) {
    Computation parts[2] = {computation_restrict_axis(ctx, &c, 1, K(0), K(cut)),
                            computation_restrict_axis(ctx, &c, 1, K(cut), K(3))};
    ck_assert_int_eq(parts[0].n_axes, cut == 1 ? 2 : 3); /* a single point is no axis */
    assert_same(ctx, &c, parts, 2);
  }
  ctx_destroy(ctx);
}
END_TEST

/* Once an axis is restricted to the interior, the bounds of the taps are constants by themselves. */
START_TEST(test_interior) {
  Ctx *ctx = ctx_create();
  Computation c = sample(ctx, 2, 9), phase = computation_restrict_axis(ctx, &c, 1, K(0), K(1));
  ck_assert(computation_bounds_use(&c, 1) && computation_bounds_use(&phase, 1) && !computation_bounds_use(&c, 0));
  Computation parts[3] = {computation_restrict_axis(ctx, &phase, 1, K(0), K(2)),
                          computation_restrict_axis(ctx, &phase, 1, K(2), K(8)),
                          computation_restrict_axis(ctx, &phase, 1, K(8), K(9))};
  assert_same(ctx, &phase, parts, 3);
  ck_assert(computation_bounds_use(&parts[0], 1));
  ck_assert(!computation_bounds_use(&parts[1], 1));
  ck_assert_int_eq(var_extent(ctx, parts[1].reds[0]), 3);
  ck_assert_int_eq(var_extent(ctx, phase.reds[0]), -1);
  ctx_destroy(ctx);
}
END_TEST

START_TEST(test_drop_unit_loops) {
  Ctx *ctx = ctx_create();
  Computation c = sample(ctx, 1, 5), one = computation_restrict_axis(ctx, &c, 2, K(1), K(2));
  Computation dropped = computation_drop_unit_loops(ctx, &one);
  ck_assert_int_eq(one.n_axes, 2);
  ck_assert_int_eq(dropped.n_axes, 1); /* channels went, phases stay */
  assert_same(ctx, &one, &dropped, 1);

  Computation single = computation_restrict_axis(ctx, &c, 2, K(0), K(1)); /* of the taps only the last meets an input */
  Computation bare = computation_drop_unit_loops(ctx, &single);
  ck_assert_int_eq(bare.n_reds, 1);
  assert_same(ctx, &single, &bare, 1);
  ctx_destroy(ctx);
}
END_TEST

/* Any sequence of splits and cuts. */
START_TEST(test_random) {
  start_random(13);
  for (int round = 0; round < 300; round++) {
    Ctx *ctx = ctx_create();
    Computation whole = sample(ctx, 12, random_in(4, 9)), parts[16] = {whole};
    int n = 1;
    for (int step = 0; step < 6 && n < 16; step++) {
      int at = (int)random_in(0, n - 1);
      Computation c = parts[at];
      int k = c.n_axes ? (int)random_in(0, c.n_axes - 1) : -1;
      int64_t lo, extent = k < 0 ? -1 : var_extent(ctx, c.axes[k]);
      if (extent > 1 && expr_is_const(c.axes[k]->a, &lo) && random_in(0, 1)) {
        int64_t cut = lo + random_in(1, extent - 1);
        parts[at] = computation_restrict_axis(ctx, &c, k, K(lo), K(cut));
        parts[n++] = computation_restrict_axis(ctx, &c, k, K(cut), K(lo + extent));
      } else if (extent > 0) {
        int64_t size = random_in(1, extent);
        parts[at] = extent % size == 0 ? split(ctx, &c, k, size) : computation_drop_unit_loops(ctx, &c);
      }
    }
    assert_same(ctx, &whole, parts, n);
    ctx_destroy(ctx);
  }
}
END_TEST

/* Equal accesses are one argument; a full table says so. */
START_TEST(test_args) {
  Ctx *ctx = ctx_create();
  LoopProgram *p = new_program(ctx);
  Buffer *b = loops_add_buffer(p, "b", type_static(ctx, DT_F32, 1, SHAPE(100), NULL), BUF_INPUT, NULL);
  Args args = {0};
  for (int k = 0; k < COMPUTATION_MAX_ARGS; k++)
    ck_assert_int_eq(args_add(&args, AT(b, K(k))), k);
  ck_assert_int_eq(args_add(&args, AT(b, K(3))), 3);
  ck_assert_int_eq(args_add(&args, AT(b, K(COMPUTATION_MAX_ARGS))), -1);
  ck_assert_int_eq(args.n, COMPUTATION_MAX_ARGS);
  ctx_destroy(ctx);
}
END_TEST

START_TEST(test_offset) {
  Ctx *ctx = ctx_create();
  LoopProgram *p = new_program(ctx);
  const char *why;
  const Layout *layout = layout_parse(ctx, 2, "aB4b", 4, &why);
  Buffer *b = loops_add_buffer(p, "b", type_static(ctx, DT_F32, 2, SHAPE(3, 10), layout), BUF_INPUT, NULL);
  const Expr *i = VAR("i", 0, 3), *o = VAR("o", 0, 3), *l = VAR("l", 0, 4);
  int64_t coef;
  const Expr *offset = access_offset(ctx, AT(b, i, o, l));
  ck_assert(expr_linear(offset, i, &coef) && coef == 12);
  ck_assert(expr_linear(offset, o, &coef) && coef == 4);
  ck_assert(expr_linear(offset, l, &coef) && coef == 1);
  ctx_destroy(ctx);
}
END_TEST

Suite *suite_computation(void);
Suite *suite_computation(void) {
  Suite *s = suite_create("computation");
  TCase *t = tcase_create("computation");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, test_split);
  tcase_add_test(t, test_restrict);
  tcase_add_test(t, test_interior);
  tcase_add_test(t, test_drop_unit_loops);
  tcase_add_test(t, test_random);
  tcase_add_test(t, test_args);
  tcase_add_test(t, test_offset);
  suite_add_tcase(s, t);
  return s;
}
