/* The pass manager: the text of pipelines, and how steps are run, printed, dumped, verified and timed. The passes here
 * write down that they ran. */
#include <check.h>

#include "graph_util.h"
#include "passes/pass.h"

/* ---- passes of a registry of our own; a unit's text is the names of the passes that changed it ---- */

static Str history;      /* what print shows */
static bool verify_says; /* the verifier's answer */
static int n_verified;
static PassOption seen_options[4];
static int n_seen;

static bool run_change(Unit *unit, const PassOption *options, int n_options) {
  (void)unit;
  str_put(&history, "changed\n");
  n_seen = n_options;
  for (int k = 0; k < n_options && k < 4; k++)
    seen_options[k] = options[k];
  return true;
}

static bool run_nothing(Unit *unit, const PassOption *options, int n_options) {
  (void)unit, (void)options, (void)n_options;
  return true;
}

static bool run_failing(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  return diag_error(unit->ctx->diags, WEFT_UNSUPPORTED, LOC_NONE, "it fails");
}

static bool run_to_loops(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  unit->loops = (struct LoopProgram *)unit; /* only its presence counts here */
  return true;
}

static void print_unit(Str *out, Unit *unit) {
  (void)unit;
  str_put(out, history.data);
}

static bool verify_unit(Unit *unit) {
  n_verified++;
  return verify_says || diag_error(unit->ctx->diags, WEFT_MALFORMED, LOC_NONE, "it is not well-formed");
}

static const Pass graph_rows[] = {
    {"change", "changes the text", "KEY=VALUE", UNIT_GRAPH, UNIT_GRAPH, run_change},
    {"nothing", "changes nothing", NULL, UNIT_GRAPH, UNIT_GRAPH, run_nothing},
    {"failing", "fails", NULL, UNIT_GRAPH, UNIT_GRAPH, run_failing},
    {0},
};
static const Pass loop_rows[] = {
    {"to-loops", "graph to loops", NULL, UNIT_GRAPH, UNIT_LOOPS, run_to_loops},
    {"on-loops", "works on loops", NULL, UNIT_LOOPS, UNIT_LOOPS, run_nothing},
    {0},
};
static const Pass *const tables[] = {graph_rows, loop_rows};
static const PassRegistry registry = {tables, 2, print_unit, verify_unit};

static Graph g;
static Pipeline pipeline;

static void setup(void) {
  g = graph_new();
  history = str_new(g.ctx->arena);
  str_put(&history, "start\n");
  verify_says = true;
  n_verified = n_seen = 0;
  pipeline = (Pipeline){0};
}

static void teardown(void) {
  ctx_destroy(g.ctx);
}

static void parse_well(const char *text) {
  pipeline = (Pipeline){0};
  if (!pipeline_parse(g.ctx, &registry, text, &pipeline))
    ck_abort_msg("expected '%s' to parse: %s", text, diag_text(g.ctx->diags, false));
}

static const char *run(const char *text, PipelineOptions options, bool expected) {
  parse_well(text);
  Unit unit = {.ctx = g.ctx, .module = g.m};
  Str log = str_new(g.ctx->arena);
  ck_assert_int_eq(pipeline_run(&unit, &registry, &pipeline, &options, &log), expected);
  return log.data;
}

/* ---- text ---- */

START_TEST(test_find) {
  ck_assert_ptr_eq(pass_find(&registry, "nothing"), &graph_rows[1]);
  ck_assert_ptr_eq(pass_find(&registry, "on-loops"), &loop_rows[1]);
  ck_assert_ptr_null(pass_find(&registry, "on-loop"));
  ck_assert_ptr_null(pass_find(&registry, ""));
}
END_TEST

START_TEST(test_parse) {
  parse_well("");
  ck_assert_uint_eq(pipeline.len, 0);
  parse_well(" \n\t");
  ck_assert_uint_eq(pipeline.len, 0);
  parse_well(" change , to-loops,on-loops ");
  ck_assert_uint_eq(pipeline.len, 3);
  ck_assert_ptr_eq(pipeline.data[2].pass, &loop_rows[1]);
  parse_well("nothing{}");
  ck_assert_int_eq(pipeline.data[0].n_options, 0);
}
END_TEST

/* Values are taken as they stand: colons, globs and everything but a comma or a brace. */
START_TEST(test_parse_options) {
  parse_well("change{ a = NHWC:HWIO , *=NCHW8c, flag, empty=, x=y=z},nothing");
  ck_assert_uint_eq(pipeline.len, 2);
  ck_assert_int_eq(pipeline.data[0].n_options, 5);
  static const char *const expected[5][2] = {
      {"a", "NHWC:HWIO"}, {"*", "NCHW8c"}, {"flag", ""}, {"empty", ""}, {"x", "y=z"}};
  for (int k = 0; k < 5; k++) {
    ck_assert_str_eq(pipeline.data[0].options[k].key, expected[k][0]);
    ck_assert_str_eq(pipeline.data[0].options[k].value, expected[k][1]);
  }
  ck_assert_int_eq(pipeline.data[1].n_options, 0);
}
END_TEST

static const struct {
  const char *text, *error;
} bad[] = {
    {"chance", "unknown pass 'chance', did you mean 'change'?"},
    {"vectorize", "unknown pass 'vectorize'; --list-passes"},
    {",change", "unknown pass ''"},
    {"change,", "character 8: a pass is missing after ','"},
    {"change,,nothing", "unknown pass ''"},
    {"change nothing", "unknown pass 'change nothing'"},
    {"change{a=b", "character 11: the options of a pass are not closed"},
    {"change{", "character 8: the options of a pass are not closed"},
    {"change{a{", "character 9: expected ',' or '}'"},
    {"change{a=b}nothing", "character 12: expected ',' between passes"},
    {"change}", "character 7: expected ',' between passes"},
    {"change{=b}", "character 8: an option of a pass has no name"},
    {"change{,}", "character 8: expected ',' or '}'"},
    {"nothing{a}", "pass 'nothing' takes no options"},
};

START_TEST(test_parse_errors) {
  ck_assert(!pipeline_parse(g.ctx, &registry, bad[_i].text, &pipeline));
  expect_error(&g, WEFT_USAGE, bad[_i].error);
}
END_TEST

/* ---- running ---- */

START_TEST(test_run_order) {
  const char *log = run("change{a=1},nothing,change{b=2}", (PipelineOptions){.verify_each = true}, true);
  ck_assert_str_eq(history.data, "start\nchanged\nchanged\n");
  ck_assert_str_eq(log, "");
  ck_assert_int_eq(n_verified, 3);
  ck_assert_int_eq(n_seen, 1);
  ck_assert_str_eq(seen_options[0].key, "b");
}
END_TEST

START_TEST(test_run_prints) {
  const char *log = run("change,nothing", (PipelineOptions){.print_after_all = true}, true);
  ck_assert_str_eq(log, "# after change\nstart\nchanged\n# after nothing (unchanged)\n");
  ck_assert_int_eq(n_verified, 0);
  log = run("nothing,change", (PipelineOptions){.print_before = "change", .print_after = "nothing"}, true);
  ck_assert_str_eq(log, "# after nothing\nstart\nchanged\n# before change\nstart\nchanged\n");
}
END_TEST

START_TEST(test_run_times) {
  const char *log = run("change,nothing", (PipelineOptions){.time_passes = true}, true);
  ck_assert_ptr_nonnull(strstr(log, " ms  change\n"));
  ck_assert_ptr_nonnull(strstr(log, " ms  nothing\n"));
  ck_assert_ptr_nonnull(strstr(log, " ms  total of passes\n"));
}
END_TEST

static void dump(void *env, int index, const char *pass, const char *text) {
  str_printf(env, "%d %s %s", index, pass, text);
}

START_TEST(test_run_dumps) {
  Str dumped = str_new(g.ctx->arena);
  run("nothing,change", (PipelineOptions){.dump = dump, .dump_env = &dumped}, true);
  ck_assert_str_eq(dumped.data, "1 nothing start\n2 change start\nchanged\n");
}
END_TEST

START_TEST(test_run_stops) {
  run("change,failing,change", (PipelineOptions){.verify_each = true}, false);
  expect_error(&g, WEFT_UNSUPPORTED, "it fails");
  ck_assert_str_eq(history.data, "start\nchanged\n");
}
END_TEST

START_TEST(test_run_verifies) {
  verify_says = false;
  run("nothing,change", (PipelineOptions){.verify_each = true}, false);
  expect_error(&g, WEFT_BUG, "it is not well-formed");
  ck_assert_ptr_nonnull(strstr(diag_text(g.ctx->diags, false), "after pass 'nothing'"));
  ck_assert_ptr_nonnull(strstr(diag_text(g.ctx->diags, false), "please report it"));
  ck_assert_str_eq(history.data, "start\n"); /* the next one did not run */
}
END_TEST

START_TEST(test_run_kinds) {
  run("change,to-loops,on-loops", (PipelineOptions){.verify_each = true}, true);
  run("to-loops,change", (PipelineOptions){.verify_each = true}, false);
  expect_error(&g, WEFT_USAGE, "pass 'change' works on a graph, but here the module is loop nests");
}
END_TEST

START_TEST(test_run_kinds_graph) {
  run("on-loops", (PipelineOptions){.verify_each = true}, false);
  expect_error(&g, WEFT_USAGE, "pass 'on-loops' works on loop nests, but here the module is a graph");
}
END_TEST

Suite *suite_pipeline(void);
Suite *suite_pipeline(void) {
  Suite *s = suite_create("pipeline");
  TCase *t = tcase_create("pipeline");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, test_find);
  tcase_add_test(t, test_parse);
  tcase_add_test(t, test_parse_options);
  tcase_add_loop_test(t, test_parse_errors, 0, sizeof bad / sizeof *bad);
  tcase_add_test(t, test_run_order);
  tcase_add_test(t, test_run_prints);
  tcase_add_test(t, test_run_times);
  tcase_add_test(t, test_run_dumps);
  tcase_add_test(t, test_run_stops);
  tcase_add_test(t, test_run_verifies);
  tcase_add_test(t, test_run_kinds);
  tcase_add_test(t, test_run_kinds_graph);
  suite_add_tcase(s, t);
  return s;
}
