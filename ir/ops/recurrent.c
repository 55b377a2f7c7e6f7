/* rnn_scan, gru_scan, lstm_scan: the states of a recurrent layer at all times, from what its gates get of the input.
 *
 *   x [T, B, G, H]   r [G, H, H], output unit first   recurrent_bias [G, H]   initial_h, initial_c [B, H], else 0
 *   peephole [P, H]  lengths [B], integers: the times of each row; from there on its states stay
 *   result [T, B, H], the state h; of two states [2, T, B, H]: h and c
 *
 * The states are kept in the type that the elements are computed in, and rounded where they are stored to the result
 * only. The activations are texts in the scalar language over x. */
#include "ir/ops/recurrent.h"

/* ---- types ---- */

/* Operand k (-1: none) has this shape, `what` in words. */
static bool expect_shape(Ctx *ctx, const Op *op, int k, const Dim *dims, int rank, const char *what) {
  if (k < 0)
    return true;
  const Type *type = op->operands[k]->type;
  bool same = type->rank == rank;
  for (int j = 0; same && j < rank; j++) {
    int64_t a, b;
    same = !expr_is_const(type->dims[j], &a) || !expr_is_const(dims[j], &b) || a == b;
  }
  if (same)
    return true;
  Str shape = str_new(ctx->arena);
  for (int j = 0; j < rank; j++) {
    str_put(&shape, j ? "," : "");
    expr_print(&shape, dims[j]);
  }
  return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: operand '%s' is %s, expected [%s]: %s", op->def->name,
                    op_operand(op->def, k)->name, type_text(ctx, type), shape.data, what);
}

static bool check_types(Ctx *ctx, const Op *op, int lengths) {
  for (int k = 0; k < op->n_operands; k++) {
    if (!op->operands[k])
      continue;
    DType dtype = op->operands[k]->type->dtype, first = op->operands[0]->type->dtype;
    const char *name = op_operand(op->def, k)->name;
    if (k == lengths ? !dtype_is_int(dtype) || dtype == DT_U64 : !dtype_is_float(dtype))
      return diag_error(ctx->diags, WEFT_UNSUPPORTED, op->loc, "%s: operand '%s' has element type %s; it takes %s",
                        op->def->name, name, dtype_name(dtype), k == lengths ? "integers within i64" : "floats");
    if (k != lengths && dtype != first)
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                        "%s: operand '%s' has element type %s, but operand 'x' has %s; they must be the same",
                        op->def->name, name, dtype_name(dtype), dtype_name(first));
  }
  return true;
}

static bool check_shapes(Ctx *ctx, const Op *op, const Recurrent *rec) {
  const Type *x = op->operands[rec->x]->type;
  const Cell *cell = rec->cell;
  Dim gates = expr_const(ctx, cell->n_gates);
  if (!op_expect_rank(ctx, op, rec->x, 4))
    return false;
  Dim batch = x->dims[1], units = x->dims[3];
  if (!expect_shape(ctx, op, rec->x, (Dim[]){x->dims[0], batch, gates, units}, 4, "times, rows, gates, units") ||
      !expect_shape(ctx, op, rec->r, (Dim[]){gates, units, units}, 3, "gates, units, units") ||
      !expect_shape(ctx, op, rec->recurrent_bias, (Dim[]){gates, units}, 2, "gates, units") ||
      !expect_shape(ctx, op, rec->peephole, (Dim[]){expr_const(ctx, cell->n_peepholes), units}, 2, "gates, units") ||
      !expect_shape(ctx, op, rec->lengths, &batch, 1, "rows"))
    return false;
  for (int s = 0; s < cell->n_states; s++)
    if (!expect_shape(ctx, op, rec->initial[s], (Dim[]){batch, units}, 2, "rows, units"))
      return false;
  if (units->hi > CELL_MAX_UNITS)
    return diag_error(ctx->diags, WEFT_UNSUPPORTED, op->loc, "%s: x is %s; more than %d units are not supported",
                      op->def->name, type_text(ctx, x), CELL_MAX_UNITS);
  return true;
}

#define MAX_ACTIVATION_DEPTH 1000

static bool check_attributes(Ctx *ctx, const Op *op, const Recurrent *rec) {
  DType type = dtype_compute(op->operands[rec->x]->type->dtype);
  for (int k = 0; k < op->def->n_attrs; k++) {
    const char *name = op->def->attrs[k].name, *why = NULL;
    if (op->def->attrs[k].kind != ATTR_TEXT)
      continue;
    const Scalar *s = cell_activation(ctx, op->attrs[k].text, type, &why);
    if (s && (s->dtype != type || s->depth > MAX_ACTIVATION_DEPTH))
      why = s->dtype != type ? "its value is no number of x's type" : "it is too deep";
    if (why || !s)
      return diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
                        "%s: attribute '%s' is \"%.80s\", expected a function of x: %s", op->def->name, name,
                        op->attrs[k].text, why ? why : "");
  }
  double clip = op_attr(op, "clip")->f;
  if (!(clip >= 0))
    return diag_error(ctx->diags, WEFT_MALFORMED, op->loc, "%s: attribute 'clip' is %g, expected a limit, or 0 for none",
                      op->def->name, clip);
  return true;
}

const Type *recurrent_infer(Ctx *ctx, const Op *op) {
  Recurrent rec = recurrent_of(op);
  if (!check_types(ctx, op, rec.lengths) || !check_shapes(ctx, op, &rec) || !check_attributes(ctx, op, &rec))
    return NULL;
  const Type *x = op->operands[rec.x]->type;
  Dim dims[4] = {expr_const(ctx, rec.cell->n_states), x->dims[0], x->dims[1], x->dims[3]};
  int more = rec.cell->n_states > 1;
  return op_result_type(ctx, op, x->dtype, 3 + more, dims + 1 - more);
}

/* ---- layout ---- */

#define BLOCK_BYTES 64 /* of f32: units that lie together in r */
#define ENOUGH_TIMES 4 /* that a copy of r pays */

/* r lies as it is read: blocks of units, in each one input unit after the other, gates inside. */
static const Layout *packed(Ctx *ctx, const Type *r) {
  int64_t block = BLOCK_BYTES / (int64_t)dtype_size(dtype_compute(r->dtype));
  if (r->dims[1]->lo <= block)
    return layout_permutation(ctx, 3, (int[]){2, 0, 1});
  Digit digits[] = {{1, block, 0}, {2, 1, 0}, {0, 1, 0}, {1, 1, block}};
  return layout_get(ctx, 3, digits, 4, PAD_ANY);
}

void recurrent_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  Recurrent rec = recurrent_of(op);
  for (int k = 0; k < op->n_operands; k++)
    if (op->operands[k] && k != rec.r)
      plan->operand[k] = layout_row_major(ctx, op->operands[k]->type->rank);
  if (plan->constant[rec.r] || op->operands[rec.x]->type->dims[0]->lo >= ENOUGH_TIMES)
    plan->operand[rec.r] = packed(ctx, op->operands[rec.r]->type);
  plan->result = layout_row_major(ctx, op->result->type->rank);
  plan->why = "row-major: vectors along the units";
}

/* ---- the reference ---- */

typedef struct {
  const Recurrent *rec;
  const Tensor *const *in;
  int64_t n_units, row, time;
  /* Vectors of units. */
  double *state[CELL_MAX_STATES];
  double *line[CELL_MAX_LINES]; /* of all stages */
  /* Names of what lines are over, and the lines as expressions over them. */
  int n_names;
  const char *names[CELL_MAX_NAMES];
  const Scalar *value[CELL_MAX_LINES];
} Run;

static double *vector_named(const Run *run, const char *name) {
  const Cell *cell = run->rec->cell;
  for (int s = 0; s < cell->n_states; s++)
    if (strcmp(cell->state[s], name) == 0)
      return run->state[s];
  for (int stage = 0, at = 0; stage < cell->n_stages; stage++)
    for (int k = 0; k < cell->stage[stage].n_lines; k++, at++)
      if (strcmp(cell->stage[stage].lines[k].name, name) == 0)
        return run->line[at];
  WEFT_UNREACHABLE();
}

/* Names in the order of arguments: x0.. r0.. p0.., states, lines. */
static void name_values(Ctx *ctx, const Op *op, Run *run) {
  const Cell *cell = run->rec->cell;
  DType type = dtype_compute(op->operands[run->rec->x]->type->dtype);
  const Scalar *args[CELL_MAX_NAMES];
  for (int g = 0; g < cell->n_gates; g++)
    run->names[run->n_names++] = arena_printf(ctx->arena, "x%d", g);
  for (int g = 0; g < cell->n_gates; g++)
    run->names[run->n_names++] = arena_printf(ctx->arena, "r%d", g);
  for (int p = 0; p < cell->n_peepholes; p++)
    run->names[run->n_names++] = arena_printf(ctx->arena, "p%d", p);
  for (int s = 0; s < cell->n_states; s++)
    run->names[run->n_names++] = cell->state[s];
  for (int k = 0; k < CELL_MAX_NAMES; k++)
    args[k] = scalar_arg_typed(ctx, k, type);
  for (int stage = 0, at = 0; stage < cell->n_stages; stage++)
    for (int k = 0; k < cell->stage[stage].n_lines; k++) {
      const CellLine *line = &cell->stage[stage].lines[k];
      run->value[at++] = cell_line_value(ctx, op, line, run->names, args, run->n_names);
      run->names[run->n_names++] = line->name;
      WEFT_ASSERT(at <= CELL_MAX_LINES && run->n_names <= CELL_MAX_NAMES);
    }
}

/* The lines of one stage, the first of which is number `first`, for unit j. */
static void run_unit(const Run *run, const CellStage *stage, int first, int64_t j) {
  const Recurrent *rec = run->rec;
  const Cell *cell = rec->cell;
  const Tensor *x = run->in[rec->x], *r = run->in[rec->r],
               *bias = rec->recurrent_bias < 0 ? NULL : run->in[rec->recurrent_bias];
  ScalarValue args[CELL_MAX_NAMES] = {{0}};
  int64_t n = run->n_units, rows = x->shape[1];
  const double *over = vector_named(run, stage->over);
  for (int g = 0; g < cell->n_gates; g++)
    args[g].f = tensor_get(x, ((run->time * rows + run->row) * cell->n_gates + g) * n + j);
  for (int g = stage->first_gate; g < stage->first_gate + stage->n_gates; g++) {
    double sum = bias ? tensor_get(bias, g * n + j) : 0;
    for (int64_t k = 0; k < n; k++)
      sum += tensor_get(r, (g * n + j) * n + k) * over[k];
    args[cell->n_gates + g].f = sum;
  }
  int at = 2 * cell->n_gates;
  for (int p = 0; p < cell->n_peepholes; p++, at++)
    args[at].f = rec->peephole < 0 ? 0 : tensor_get(run->in[rec->peephole], p * n + j);
  for (int s = 0; s < cell->n_states; s++)
    args[at++].f = run->state[s][j];
  for (int k = 0; k < first; k++)
    args[at++].f = run->line[k][j];
  for (int k = first; k < first + stage->n_lines; k++)
    args[at++].f = run->line[k][j] = scalar_eval_reference(run->value[k], args).f;
}

static void run_row(Run *run, Tensor *out) {
  const Recurrent *rec = run->rec;
  const Cell *cell = rec->cell;
  const Tensor *x = run->in[rec->x];
  int64_t times = x->shape[0], rows = x->shape[1], n = run->n_units;
  int64_t length = rec->lengths < 0 ? times : tensor_value(run->in[rec->lengths], run->row).i;
  for (int s = 0; s < cell->n_states; s++)
    for (int64_t j = 0; j < n; j++)
      run->state[s][j] = rec->initial[s] < 0 ? 0 : tensor_get(run->in[rec->initial[s]], run->row * n + j);
  for (int64_t step = 0; step < times; step++) {
    run->time = rec->reverse ? times - 1 - step : step;
    for (int stage = 0, first = 0; run->time < length && stage < cell->n_stages; stage++) {
      for (int64_t j = 0; j < n; j++)
        run_unit(run, &cell->stage[stage], first, j);
      first += cell->stage[stage].n_lines;
    }
    for (int s = 0; s < cell->n_states; s++) {
      const double *next = vector_named(run, cell->next[s]);
      for (int64_t j = 0; j < n; j++) {
        run->state[s][j] = run->time < length ? next[j] : run->state[s][j];
        tensor_set(out, ((s * times + run->time) * rows + run->row) * n + j, run->state[s][j]);
      }
    }
  }
}

void recurrent_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  Recurrent rec = recurrent_of(op);
  Run run = {.rec = &rec, .in = in, .n_units = in[rec.x]->shape[3]};
  name_values(ctx, op, &run);
  for (int s = 0; s < rec.cell->n_states; s++)
    run.state[s] = ARENA_ARRAY(ctx->arena, double, run.n_units);
  for (int k = 0; k < CELL_MAX_LINES; k++)
    run.line[k] = ARENA_ARRAY(ctx->arena, double, run.n_units);
  for (; run.row < in[rec.x]->shape[1]; run.row++)
    run_row(&run, out);
}
