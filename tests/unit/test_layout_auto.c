/* Choosing layouts by cost: against every choice there is on small graphs, against the greedy choice on larger ones. */
#include "passes/layout_auto.h"
#include "random_graph.h"
#include "text_help.h"

static Ctx *ctx;

static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

/* ---- random graphs, as text ---- */

typedef struct {
  int64_t channels, extent;
} Made;

typedef struct {
  Str params, body;
  Made made[64];
  int n;
} Writer;

static const char *type_of(Made m) {
  return arena_printf(ctx->arena, "f32[1,%lld,%lld,%lld]", (long long)m.channels, (long long)m.extent,
                      (long long)m.extent);
}

static void put(Writer *w, const char *op, Made m) {
  str_printf(&w->body, "  %%v%d = %s : %s\n", w->n, op, type_of(m));
  w->made[w->n++] = m;
}

static const char *kernel(Writer *w, int64_t first, int64_t second, int extent) {
  str_printf(&w->params, ", %%k%d: f32[%lld,%lld,%d,%d]", w->n, (long long)first, (long long)second, extent, extent);
  return arena_printf(ctx->arena, "%%k%d", w->n);
}

static void put_convolution(Writer *w, int from) {
  static const int64_t channels[] = {1, 3, 8, 16, 32, 64, 128};
  Made m = w->made[from], out = {channels[random_in(0, 6)], m.extent};
  if (random_in(0, 3) == 0 && m.extent <= 32) {
    out.extent = 2 * m.extent;
    put(w,
        arena_printf(ctx->arena, "conv2d_transpose(%%v%d, %s) {strides = [2, 2]}", from,
                     kernel(w, m.channels, out.channels, 2)),
        out);
    return;
  }
  put(w,
      arena_printf(ctx->arena, "conv2d(%%v%d, %s) {padding = [1, 1, 1, 1]}", from,
                   kernel(w, out.channels, m.channels, 3)),
      out);
}

/* A graph with so many convolutions, each followed by a relu or an add now and then. */
static Module *random_module(int convolutions) {
  Writer w = {.params = str_new(ctx->arena), .body = str_new(ctx->arena), .n = 1};
  w.made[0] = (Made){16, 16};
  for (int k = 0; k < convolutions; k++) {
    int from = random_in(0, 3) ? w.n - 1 : (int)random_in(0, w.n - 1);
    put_convolution(&w, from);
    Made last = w.made[w.n - 1];
    if (random_in(0, 1))
      put(&w, arena_printf(ctx->arena, "relu(%%v%d)", w.n - 1), last);
    for (int j = 0; j < w.n - 1; j++)
      if (w.made[j].channels == last.channels && w.made[j].extent == last.extent && random_in(0, 3) == 0) {
        put(&w, arena_printf(ctx->arena, "add(%%v%d, %%v%d)", w.n - 1, j), last);
        break;
      }
  }
  const char *text =
      arena_printf(ctx->arena, "weft 1 model \"m\"\nfunc @main(%%v0: %s%s) -> (y: %s) {\n%s  return %%v%d\n}\n",
                   type_of(w.made[0]), w.params.data, type_of(w.made[w.n - 1]), w.body.data, w.n - 1);
  return parse_well(ctx, text);
}

/* The least cost of all choices, by trying them: the sites are the convolutions. */
static double least_cost(Unit *unit, LayoutTarget target, double most_copied) {
  const Op *sites[8];
  int number[8], n = 0, k = 0, digits[8] = {0};
  for (const Op *op = unit->module->main->first; op; op = op->next, k++)
    if (op->def->spatial) {
      sites[n] = op;
      number[n++] = k;
    }
  const Layout **choice = ARENA_ARRAY(ctx->arena, const Layout *, k);
  static const char *const letters[] = {NULL, "NCHW", "NHWC", "NCHW8c"};
  double least = -1;
  for (;;) {
    for (int j = 0; j < n; j++) {
      const char *why, *tag = letters[digits[j]];
      choice[number[j]] = tag ? layout_from_letters(ctx, "NCHW", tag, &why) : NULL;
    }
    LayoutCost cost = layout_choice_cost(unit, NULL, 0, target, choice);
    if (cost.copied <= most_copied && (least < 0 || cost.cycles < least))
      least = cost.cycles;
    int j = 0;
    for (; j < n; j++) {
      int64_t channels = expr_value(sites[j]->operands[0]->type->dims[1]);
      if (digits[j]++ < (channels % 8 == 0 && channels > 8 ? 3 : 2))
        break;
      digits[j] = 0;
    }
    if (j == n)
      return least;
  }
}

START_TEST(small_graphs) {
  start_random(5);
  LayoutTarget target = {.lanes = 8};
  for (int k = 0; k < 30; k++) {
    int convolutions = (int)random_in(1, 7); /* with 7 the search no longer tries every choice */
    Unit unit = {.ctx = ctx, .module = random_module(convolutions)};
    LayoutCost cost, none = layout_choice_cost(&unit, NULL, 0, target, NULL);
    LayoutCost greedy = layout_choice_cost(&unit, NULL, 0, target, layout_greedy(&unit, NULL, 0, target));
    ck_assert_ptr_nonnull(layout_auto(&unit, NULL, 0, target, &cost));
    double least = least_cost(&unit, target, greedy.copied);
    ck_assert_double_ge(cost.cycles * 1.0000001, least < none.cycles ? least : none.cycles);
    if (least <= 0.97 * none.cycles) /* else no choice is as good */
      ck_assert_msg(cost.cycles <= least * (convolutions < 7 ? 1.0000001 : 1.1), "%g, the least is %g\n%s", cost.cycles,
                    least, graph_text(unit.module));
  }
}
END_TEST

START_TEST(never_more_bytes_than_greedy) {
  start_random(6);
  LayoutTarget target = {.lanes = 16};
  int moved = 0;
  for (int k = 0; k < 60; k++) {
    Unit unit = {.ctx = ctx, .module = random_module((int)random_in(5, 14))};
    LayoutCost cost, none = layout_choice_cost(&unit, NULL, 0, target, NULL);
    LayoutCost greedy = layout_choice_cost(&unit, NULL, 0, target, layout_greedy(&unit, NULL, 0, target));
    const Layout **choice = layout_auto(&unit, NULL, 0, target, &cost);
    ck_assert_ptr_nonnull(choice);
    ck_assert_double_le(cost.cycles, none.cycles);
    if (cost.cycles < none.cycles) {
      ck_assert_double_le(cost.copied, greedy.copied);
      moved++;
    }
    LayoutCost again = layout_choice_cost(&unit, NULL, 0, target, choice);
    ck_assert_double_eq(again.cycles, cost.cycles);
  }
  ck_assert_int_gt(moved, 10); /* or the test shows nothing */
}
END_TEST

/* The estimate of bytes is what layout_assign then does, relayouts absorbed by their producer aside. */
START_TEST(estimate_and_assignment) {
  start_random(7);
  LayoutTarget target = {.lanes = 8};
  for (int k = 0; k < 40; k++) {
    Unit unit = {.ctx = ctx, .module = random_module((int)random_in(2, 10))};
    LayoutCost cost;
    const Layout **choice = layout_auto(&unit, NULL, 0, target, &cost);
    ck_assert(layout_assign(&unit, NULL, 0, choice));
    ck_assert(module_verify(unit.module));
    double copied = 0;
    for (const Op *op = unit.module->main->first; op; op = op->next)
      if (op->def->traits & OP_COPY)
        copied += layout_copy_bytes(op->operands[0]->type);
    ck_assert_double_le(copied, cost.copied);
  }
}
END_TEST

Suite *suite_layout_auto(void);
Suite *suite_layout_auto(void) {
  Suite *s = suite_create("layout_auto");
  TCase *t = tcase_create("layout_auto");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 120);
  tcase_add_test(t, small_graphs);
  tcase_add_test(t, never_more_bytes_than_greedy);
  tcase_add_test(t, estimate_and_assignment);
  suite_add_tcase(s, t);
  return s;
}
