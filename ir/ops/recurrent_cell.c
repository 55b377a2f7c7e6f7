/* The cells of recurrent layers, and their lines as expressions. See ir/ops/recurrent.h. Formulas: the ONNX standard's
 * RNN, GRU and LSTM. */
#include "ir/ops/recurrent.h"

/* ---- cells ---- */

static const CellLine rnn_lines[] = {{"new_h", "f", "x0 + r0", NULL, false}};
static const Cell rnn = {1, 0, 1, 1, {"h"}, {"new_h"}, {{"h", 0, 1, 1, rnn_lines}}};

/* Gates z, r, h: update, reset, candidate. */
static const CellLine gru_gates[] = {
    {"z", "f", "x0 + r0", NULL, true}, {"reset", "f", "x1 + r1", NULL, false}, {"part", NULL, "reset * h", NULL, true}};
static const CellLine gru_candidate[] = {{"candidate", "g", "x2 + r2", NULL, false},
                                         {"new_h", NULL, "(1 - z) * candidate + z * h", NULL, false}};
static const Cell gru = {3, 0, 1, 2, {"h"}, {"new_h"}, {{"h", 0, 2, 3, gru_gates}, {"part", 2, 1, 2, gru_candidate}}};

static const CellLine gru_linear[] = {{"z", "f", "x0 + r0", NULL, false},
                                      {"reset", "f", "x1 + r1", NULL, false},
                                      {"candidate", "g", "x2 + reset * r2", NULL, false},
                                      {"new_h", NULL, "(1 - z) * candidate + z * h", NULL, false}};
static const Cell gru_before_reset = {3, 0, 1, 1, {"h"}, {"new_h"}, {{"h", 0, 3, 4, gru_linear}}};

/* Gates i, o, f, c: input, output, forget, candidate. */
#define LSTM_LINES(forget)                                                                                             \
  {                                                                                                                    \
    {"i", "f", "x0 + r0", "p0 * c", false}, forget, {"candidate", "g", "x3 + r3", NULL, false},                        \
        {"new_c", NULL, "forget * c + i * candidate", NULL, false}, {"o", "f", "x1 + r1", "p1 * new_c", false},        \
        {"shown", "h", "new_c", NULL, false}, {                                                                        \
      "new_h", NULL, "o * shown", NULL, false                                                                          \
    }                                                                                                                  \
  }
#define FORGET(...) {__VA_ARGS__}
static const CellLine lstm_lines[] = LSTM_LINES(FORGET("forget", "f", "x2 + r2", "p2 * c", false));
static const CellLine lstm_coupled[] = LSTM_LINES(FORGET("forget", NULL, "1 - i", NULL, false));
static const Cell lstm = {4, 3, 2, 1, {"h", "c"}, {"new_h", "new_c"}, {{"h", 0, 4, 7, lstm_lines}}};
static const Cell lstm_input_forget = {4, 3, 2, 1, {"h", "c"}, {"new_h", "new_c"}, {{"h", 0, 4, 7, lstm_coupled}}};

/* The cell of each row, and the one that it has where the attribute is set. */
static const struct {
  OpCode code;
  const Cell *cell;
  const char *option;
  const Cell *other;
} cells[] = {{OP_RNN_SCAN, &rnn, NULL, NULL},
             {OP_GRU_SCAN, &gru, "linear_before_reset", &gru_before_reset},
             {OP_LSTM_SCAN, &lstm, "input_forget", &lstm_input_forget}};

static const Cell *cell_of(const Op *op) {
  for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
    if (cells[k].code == op->def->code)
      return cells[k].option && op_int(op, cells[k].option) ? cells[k].other : cells[k].cell;
  WEFT_UNREACHABLE();
}

static int operand_named(const Op *op, const char *name) {
  for (int k = 0; k < op->n_operands; k++)
    if (strcmp(op->def->operands[k].name, name) == 0)
      return op->operands[k] ? k : -1;
  return -1;
}

Recurrent recurrent_of(const Op *op) {
  static const char *const initial[CELL_MAX_STATES] = {"initial_h", "initial_c"};
  Recurrent rec = {.cell = cell_of(op),
                   .x = operand_named(op, "x"),
                   .r = operand_named(op, "r"),
                   .recurrent_bias = operand_named(op, "recurrent_bias"),
                   .peephole = operand_named(op, "peephole"),
                   .lengths = operand_named(op, "lengths"),
                   .reverse = op_int(op, "reverse") != 0};
  for (int s = 0; s < CELL_MAX_STATES; s++)
    rec.initial[s] = operand_named(op, initial[s]);
  return rec;
}

int cell_next_state(const Cell *cell, const CellLine *line) {
  for (int s = 0; s < cell->n_states; s++)
    if (strcmp(cell->next[s], line->name) == 0)
      return s;
  return -1;
}

/* ---- expressions ---- */

const Scalar *cell_activation(Ctx *ctx, const char *text, DType type, const char **why) {
  static const char *const x = "x";
  const Scalar *arg = scalar_arg_typed(ctx, 0, type);
  return scalar_parse(ctx, text, &x, &arg, 1, why);
}

static const Scalar *clipped(Ctx *ctx, const Scalar *s, double limit) {
  if (limit == 0)
    return s;
  static const char *const names[] = {"x", "limit"};
  const Scalar *values[] = {s, scalar_const_typed(ctx, s->dtype, limit)};
  const char *why;
  return scalar_parse(ctx, "select(x < -limit, -limit, select(x > limit, limit, x))", names, values, 2, &why);
}

const Scalar *cell_line_value(Ctx *ctx, const Op *op, const CellLine *line, const char *const *names,
                              const Scalar *const *values, int n) {
  bool peeps = line->peephole && operand_named(op, "peephole") >= 0;
  const char *text = peeps ? arena_printf(ctx->arena, "%s + %s", line->text, line->peephole) : line->text, *why = NULL;
  const Scalar *s = scalar_parse(ctx, text, names, values, n, &why);
  if (!s)
    weft_bug(__FILE__, __LINE__, "cell of %s: %s", op->def->name, why);
  if (!line->activation)
    return s;
  s = clipped(ctx, s, op_attr(op, "clip")->f);
  const Scalar *function = cell_activation(ctx, op_text(op, line->activation), s->dtype, &why);
  WEFT_ASSERT(function);
  return scalar_subst(ctx, function, &s);
}
