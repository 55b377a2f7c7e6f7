/* Recurrent layers: types, refusals, layouts, values by hand; random cells, with all options, against loops in double
 * written apart, by the reference, the interpreter and compiled code. */
#include "op_help.h"

static Ctx *ctx;
static void setup(void) {
  ctx = ctx_create();
}
static void teardown(void) {
  ctx_destroy(ctx);
}

static const TypeCase good[] = {
    {"%x: f32[7,2,1,5], %r: f32[1,5,5]", "rnn_scan(%x, %r)", "f32[7,2,5]"},
    {"%x: f64[7,2,3,5], %r: f64[3,5,5], %b: f64[3,5]", "gru_scan(%x, %r, %b)", "f64[7,2,5]"},
    {"%x: f16[7,2,4,5], %r: f16[4,5,5], %c: f16[2,5]", "lstm_scan(%x, %r, null, null, %c)", "f16[2,7,2,5]"},
    {"%x: f32[7,2,1,5], %r: f32[1,5,5], %n: i64[2]", "rnn_scan(%x, %r, null, null, %n) {f = \"select(x < 0, 0, x)\"}",
     "f32[7,2,5]"},
    {"%x: f32[7,2,6], %w: f32[1,5,6], %r: f32[1,5,5]", "rnn(%x, %w, %r)", "f32[7,2,5]"},
    {"%x: f32[7,2,6], %w: f32[3,5,6], %r: f32[3,5,5]", "gru(%x, %w, %r) {reverse = 1}", "f32[7,2,5]"},
    {"%x: bf16[7,2,6], %w: bf16[4,5,6], %r: bf16[4,5,5]", "lstm(%x, %w, %r) {h = \"x\"}", "bf16[2,7,2,5]"},
    {"%x: f32[N,2,1,5], %r: f32[1,5,5]", "rnn_scan(%x, %r)", "f32[N,2,5]"},
};
START_TEST(types) {
  expect_type(ctx, &good[_i]);
}
END_TEST

static const TypeCase bad[] = {
    {"%x: f32[7,2,5], %r: f32[1,5,5]", "rnn_scan(%x, %r)", "operand 'x' has rank 3 (f32[7,2,5]), expected rank 4"},
    {"%x: f32[7,2,3,5], %r: f32[1,5,5]", "rnn_scan(%x, %r)",
     "'x' is f32[7,2,3,5], expected [7,2,1,5]: times, rows, gates"},
    {"%x: f32[7,2,3,5], %r: f32[3,5,4]", "gru_scan(%x, %r)",
     "'r' is f32[3,5,4], expected [3,5,5]: gates, units, units"},
    {"%x: f32[7,2,3,5], %r: f32[3,5,5], %b: f32[5]", "gru_scan(%x, %r, %b)",
     "'recurrent_bias' is f32[5], expected [3,5]"},
    {"%x: f32[7,2,3,5], %r: f32[3,5,5], %h: f32[5]", "gru_scan(%x, %r, null, %h)",
     "'initial_h' is f32[5], expected [2,5]"},
    {"%x: f32[7,2,4,5], %r: f32[4,5,5], %p: f32[4,5]", "lstm_scan(%x, %r, null, null, null, %p)",
     "'peephole' is f32[4,5], expected [3,5]"},
    {"%x: f32[7,2,1,5], %r: f32[1,5,5], %n: i32[7]", "rnn_scan(%x, %r, null, null, %n)",
     "'lengths' is i32[7], expected [2]"},
    {"%x: f32[7,2,1,5], %r: f32[1,5,5], %n: f32[2]", "rnn_scan(%x, %r, null, null, %n)",
     "it takes integers within i64"},
    {"%x: f32[7,2,1,5], %r: f64[1,5,5]", "rnn_scan(%x, %r)",
     "operand 'r' has element type f64, but operand 'x' has f32"},
    {"%x: i32[7,2,1,5], %r: i32[1,5,5]", "rnn_scan(%x, %r)", "has element type i32; it takes floats"},
    {"%x: f32[7,2,1,5], %r: f32[1,5,5]", "rnn_scan(%x, %r) {f = \"tanh(y)\"}",
     "attribute 'f' is \"tanh(y)\", expected a function of x: at character 7: 'y' is no operand"},
    {"%x: f32[7,2,1,5], %r: f32[1,5,5]", "rnn_scan(%x, %r) {f = \"x < 0\"}", "its value is no number of x's type"},
    {"%x: f32[7,2,1,5], %r: f32[1,5,5]", "rnn_scan(%x, %r) {f = \"\"}", "expected a number, a name"},
    {"%x: f32[7,2,1,5], %r: f32[1,5,5]", "rnn_scan(%x, %r) {clip = -1.0}",
     "'clip' is -1, expected a limit, or 0 for none"},
    {"%x: f32[1,1,1,7169], %r: f32[1,7169,7169]", "rnn_scan(%x, %r)", "more than 7168 units are not supported"},
    {"%x: f32[7,2], %w: f32[1,5,6], %r: f32[1,5,5]", "rnn(%x, %w, %r)",
     "rnn: the operand has rank 2, expected at least 3"},
    {"%x: f32[7,2,6], %w: f32[1,5,5], %r: f32[1,5,5]", "rnn(%x, %w, %r)", "does not divide"},
    {"%x: f32[7,2,6], %w: f32[3,5,6], %r: f32[1,5,5]", "gru(%x, %w, %r)", "'r' is f32[1,5,5], expected [3,5,5]"},
};
START_TEST(refused) {
  expect_refusal(ctx, &bad[_i]);
}
END_TEST

START_TEST(layouts) { /* r is packed by blocks of 16 units of f32, 8 of f64, where it is a constant or read often */
  static const struct {
    const char *params, *result, *r;
  } cases[] = {{"%x: f32[7,2,3,40], %r: f32[3,40,40]", "f32[7,2,40]", "Bca16b"},
               {"%x: f64[7,2,3,40], %r: f64[3,40,40]", "f64[7,2,40]", "Bca8b"},
               {"%x: f32[7,2,3,16], %r: f32[3,16,16]", "f32[7,2,16]", "cab"},
               {"%x: f32[3,2,3,40], %r: f32[3,40,40]", "f32[3,2,40]", "abc"}};
  for (size_t k = 0; k < COUNT(cases); k++) {
    Module *m = parse_well(ctx, op_function(ctx, cases[k].params, "gru_scan(%x, %r)", cases[k].result));
    const Op *op = m->main->last;
    LayoutPlan plan = layout_plan_of(ctx, op);
    op->def->layout(ctx, op, &plan);
    Str tag = str_new(ctx->arena);
    layout_print(&tag, plan.operand[1]);
    ck_assert_str_eq(tag.data, cases[k].r);
    ck_assert_ptr_eq(plan.result, layout_row_major(ctx, 3));
  }
}
END_TEST

START_TEST(by_hand) { /* h = 2 h + x, from 3; forward and backward, the second row ends after one time */
  const char *params = "%x: f32[3,2,1,1], %r: f32[1,1,1], %b: f32[1,1], %h: f32[2,1], %n: i64[2]";
  const double x[] = {1, 10, 2, 20, 3, 30}, r[] = {2}, b[] = {0}, h[] = {3, 3}, n[] = {3, 1};
  for (int reverse = 0; reverse < 2; reverse++) {
    const char *op = arena_printf(ctx->arena, "rnn_scan(%%x, %%r, %%b, %%h, %%n) {f = \"x\", reverse = %d}", reverse);
    Module *m = parse_well(ctx, op_function(ctx, params, op, "f32[3,2,1]"));
    const Tensor *in[] = {param_tensor(m, 0, x), param_tensor(m, 1, r), param_tensor(m, 2, b), param_tensor(m, 3, h),
                          param_tensor(m, 4, n)};
    static const double forward[] = {7, 16, 16, 16, 35, 16}, backward[] = {41, 16, 20, 3, 9, 3};
    expect_everywhere(m, in, 6, reverse ? backward : forward);
  }
}
END_TEST

START_TEST(epilogue) { /* an op behind it is computed as states are stored; the states themselves stay */
  Module *m = parse_well(ctx, "weft 1 model \"m\"\nfunc @main(%x: f32[3,1,1,1], %r: f32[1,1,1]) -> (y: f32[3,1,1]) {\n"
                              "  %h = rnn_scan(%x, %r) {f = \"x\"} : f32[3,1,1]\n  %y = relu(%h) : f32[3,1,1]\n"
                              "  return %y\n}\n");
  const Tensor *in[] = {param_tensor(m, 0, (double[]){-1, 3, -2}), param_tensor(m, 1, (double[]){2})};
  expect_everywhere(m, in, 3, (double[]){0, 1, 0});
  ck_assert_ptr_nonnull(m->main->last->fused);
}
END_TEST

START_TEST(empty) {
  static const TypeCase cases[] = {{"%x: f32[0,2,1,3], %r: f32[1,3,3]", "rnn_scan(%x, %r)", "f32[0,2,3]"},
                                   {"%x: f32[2,0,1,3], %r: f32[1,3,3]", "rnn_scan(%x, %r)", "f32[2,0,3]"},
                                   {"%x: f32[2,2,1,0], %r: f32[1,0,0]", "rnn_scan(%x, %r)", "f32[2,2,0]"}};
  for (size_t k = 0; k < COUNT(cases); k++) {
    Module *m = parse_well(ctx, op_function(ctx, cases[k].params, cases[k].op, cases[k].result));
    const double none[12] = {0};
    const Tensor *in[] = {param_tensor(m, 0, none), param_tensor(m, 1, none)};
    expect_everywhere(m, in, 0, NULL);
  }
}
END_TEST

/* ---- random cells ---- */

typedef enum { RNN, GRU, LSTM } Kind;
enum { X, R, BIAS, H, C, PEEPHOLE, LENGTHS, N_OPERANDS };

typedef struct {
  Kind kind;
  int times, rows, units, gates;
  bool given[N_OPERANDS], reverse, option;
  double clip;
  double *in[N_OPERANDS], *out;
} Layer;

static double sigmoid(double v) {
  return 1 / (1 + exp(-v));
}
static double clipped(const Layer *l, double v) {
  return l->clip == 0 ? v : v < -l->clip ? -l->clip : v > l->clip ? l->clip : v;
}

/* x + recurrent part of gate g, before the activation; over: what r is multiplied with. */
static double gate(const Layer *l, int t, int row, int g, int j, const double *over, double reset) {
  int n = l->units;
  double sum = l->given[BIAS] ? l->in[BIAS][g * n + j] : 0;
  for (int k = 0; k < n; k++)
    sum += l->in[R][(g * n + j) * n + k] * over[k];
  return l->in[X][((t * l->rows + row) * l->gates + g) * n + j] + reset * sum;
}

static double peep(const Layer *l, int p, int j, double c) {
  return l->given[PEEPHOLE] ? l->in[PEEPHOLE][p * l->units + j] * c : 0;
}

static void step_gru(const Layer *l, int t, int row, const double *h, double *next) {
  double z[64], part[64], reset[64];
  for (int j = 0; j < l->units; j++) {
    z[j] = sigmoid(clipped(l, gate(l, t, row, 0, j, h, 1)));
    reset[j] = sigmoid(clipped(l, gate(l, t, row, 1, j, h, 1)));
    part[j] = reset[j] * h[j];
  }
  for (int j = 0; j < l->units; j++) {
    double v = l->option ? gate(l, t, row, 2, j, h, reset[j]) : gate(l, t, row, 2, j, part, 1);
    next[j] = (1 - z[j]) * tanh(clipped(l, v)) + z[j] * h[j];
  }
}

static void step_lstm(const Layer *l, int t, int row, const double *h, const double *c, double *next, double *next_c) {
  for (int j = 0; j < l->units; j++) {
    double i = sigmoid(clipped(l, gate(l, t, row, 0, j, h, 1) + peep(l, 0, j, c[j])));
    double f = l->option ? 1 - i : sigmoid(clipped(l, gate(l, t, row, 2, j, h, 1) + peep(l, 2, j, c[j])));
    next_c[j] = f * c[j] + i * tanh(clipped(l, gate(l, t, row, 3, j, h, 1)));
    double o = sigmoid(clipped(l, gate(l, t, row, 1, j, h, 1) + peep(l, 1, j, next_c[j])));
    next[j] = o * tanh(clipped(l, next_c[j]));
  }
}

static void run_layer(const Layer *l) {
  int n = l->units, states = l->kind == LSTM ? 2 : 1;
  for (int row = 0; row < l->rows; row++) {
    double h[2][64] = {{0}}, next[2][64] = {{0}};
    for (int s = 0; s < states; s++)
      for (int j = 0; j < n && l->given[s == 0 ? H : C]; j++)
        h[s][j] = l->in[s == 0 ? H : C][row * n + j];
    for (int step = 0; step < l->times; step++) {
      int t = l->reverse ? l->times - 1 - step : step;
      if (!l->given[LENGTHS] || t < l->in[LENGTHS][row]) {
        for (int j = 0; j < n && l->kind == RNN; j++)
          next[0][j] = tanh(clipped(l, gate(l, t, row, 0, j, h[0], 1)));
        if (l->kind == GRU)
          step_gru(l, t, row, h[0], next[0]);
        if (l->kind == LSTM)
          step_lstm(l, t, row, h[0], h[1], next[0], next[1]);
        memcpy(h, next, sizeof h);
      }
      for (int s = 0; s < states; s++)
        memcpy(l->out + ((s * l->times + t) * l->rows + row) * n, h[s], (size_t)n * sizeof **h);
    }
  }
}

static const char *operand_text(const Layer *l, int k, DType dtype) {
  static const char *const names[] = {"x", "r", "b", "h", "c", "p", "n"};
  const char *type = dtype_name(k == LENGTHS ? DT_I32 : dtype);
  int n = l->units;
  const char *shape = k == X          ? arena_printf(ctx->arena, "%d,%d,%d,%d", l->times, l->rows, l->gates, n)
                      : k == R        ? arena_printf(ctx->arena, "%d,%d,%d", l->gates, n, n)
                      : k == BIAS     ? arena_printf(ctx->arena, "%d,%d", l->gates, n)
                      : k == PEEPHOLE ? arena_printf(ctx->arena, "3,%d", n)
                      : k == LENGTHS  ? arena_printf(ctx->arena, "%d", l->rows)
                                      : arena_printf(ctx->arena, "%d,%d", l->rows, n);
  return arena_printf(ctx->arena, "%%%s: %s[%s]", names[k], type, shape);
}

/* The layer's op, all operands in the row's order. */
static Module *layer_module(const Layer *l, DType dtype) {
  static const char *const ops[] = {"rnn_scan", "gru_scan", "lstm_scan"}, *const options[] = {"", "linear_before_reset",
                                                                                              "input_forget"};
  Str params = str_new(ctx->arena), args = str_new(ctx->arena);
  for (int k = 0; k < N_OPERANDS; k++) {
    if (l->kind != LSTM && (k == C || k == PEEPHOLE))
      continue;
    const char *text = operand_text(l, k, dtype);
    str_printf(&args, "%s%.*s", k ? ", " : "", l->given[k] ? 2 : 4, l->given[k] ? text : "null");
    if (l->given[k])
      str_printf(&params, "%s%s", k ? ", " : "", text);
  }
  const char *option = l->kind == RNN ? "" : arena_printf(ctx->arena, ", %s = %d", options[l->kind], l->option);
  const char *op = arena_printf(ctx->arena, "%s(%s) {clip = %.2f, reverse = %d%s}", ops[l->kind], args.data, l->clip,
                                l->reverse, option);
  const char *states = l->kind == LSTM ? "2," : "";
  const char *result =
      arena_printf(ctx->arena, "%s[%s%d,%d,%d]", dtype_name(dtype), states, l->times, l->rows, l->units);
  return parse_well(ctx, op_function(ctx, params.data, op, result));
}

static void fill(Layer *l, uint64_t *state, int k, int n) {
  l->in[k] = ARENA_ARRAY(ctx->arena, double, n);
  for (int i = 0; i < n; i++)
    l->in[k][i] = (double)random_below(state, 257) / 128 - 1; /* exact in all types */
  for (int i = 0; i < n && k == LENGTHS; i++)
    l->in[k][i] = (double)random_below(state, l->times + 2) - 1;
}

static Layer random_layer(uint64_t *state, Kind kind) {
  static const int gates[] = {1, 3, 4};
  Layer l = {.kind = kind, .gates = gates[kind]};
  l.times = 1 + (int)random_below(state, 6);
  l.rows = 1 + (int)random_below(state, 6);
  l.units = 1 + (int)random_below(state, 50);
  l.reverse = random_below(state, 2);
  l.option = random_below(state, 2) && kind != RNN;
  l.clip = random_below(state, 3) == 0 ? 0.75 : 0;
  int n = l.units,
      sizes[] = {l.times * l.rows * l.gates * n, l.gates * n * n, l.gates * n, l.rows * n, l.rows * n, 3 * n, l.rows};
  for (int k = 0; k < N_OPERANDS; k++) {
    l.given[k] = k <= R || (random_below(state, 2) && (kind == LSTM || (k != C && k != PEEPHOLE)));
    fill(&l, state, k, sizes[k]);
  }
  l.out = ARENA_ARRAY(ctx->arena, double, 2 * l.times * l.rows * n);
  return l;
}

static void expect_near(const char *stage, const Layer *l, const Tensor *got, double tolerance) {
  for (int64_t k = 0; k < got->n; k++)
    ck_assert_msg(fabs(tensor_get(got, k) - l->out[k]) <= tolerance, "%s, kind %d, [%d]: %.9g, expected %.9g", stage,
                  l->kind, (int)k, tensor_get(got, k), l->out[k]);
}

/* States are below 1 but c, which is below 6 (so many times), and one step hands an error on with a factor of at most
 * the sum of |r| of a unit (50): absolute 1e-6 for the reference, which rounds once, in f32 (h) 1e-4; f64 1e-10; f16
 * and bf16 round what is stored: 2^-9 and 2^-6 of c. */
START_TEST(random_layers) {
  static const DType dtypes[] = {DT_F32, DT_F64, DT_F16, DT_BF16};
  static const double reference[] = {1e-6, 1e-12, 0.004, 0.03}, compiled[] = {1e-4, 1e-10, 0.004, 0.03};
  uint64_t state = random_seed("random_layers");
  for (int round = 0; round < 36; round++) {
    Layer l = random_layer(&state, (Kind)(round % 3));
    int type = round < 24 ? 0 : round % 4;
    run_layer(&l);
    Module *m = layer_module(&l, dtypes[type]);
    const Tensor *in[N_OPERANDS];
    int n = 0;
    for (int k = 0; k < N_OPERANDS; k++)
      if (l.given[k]) {
        in[n] = param_tensor(m, (size_t)n, l.in[k]);
        n++;
      }
    expect_near("reference", &l, evaluate_op(m, in), reference[type]);
    Tensor *interpreted;
    Tensor *result = run_op(m, in, &interpreted);
    expect_near("interpreter", &l, interpreted, compiled[type]);
    expect_near("compiled", &l, result, compiled[type]);
  }
}
END_TEST

Suite *suite_recurrent(void);
Suite *suite_recurrent(void) {
  Suite *s = suite_create("recurrent");
  TCase *t = tcase_create("recurrent");
  tcase_set_timeout(t, 120);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, types, 0, (int)COUNT(good));
  tcase_add_loop_test(t, refused, 0, (int)COUNT(bad));
  tcase_add_test(t, layouts);
  tcase_add_test(t, by_hand);
  tcase_add_test(t, epilogue);
  tcase_add_test(t, empty);
  tcase_add_test(t, random_layers);
  suite_add_tcase(s, t);
  return s;
}
