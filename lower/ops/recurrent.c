/* Recurrent layers (ir/ops/recurrent.h): a nest written by hand, since time runs in order and a state feeds the next
 * one.
 *
 *   parallel rows of the batch, a few at once, which share what is read of r
 *     local states, next states, kept values                      vectors of units, for each row
 *     for time
 *       for each stage, tile of units                             all gates of a tile are summed in registers
 *         acc[gate, row, unit] = bias + sum over k of r * over
 *         the lines of the stage, one after the other
 *       states = next states (where the row has not ended); store them
 *
 * r is read once per time and group of rows, in the order of recurrent_layout: the reading of r is what a step costs.
 */
#include "ir/ops/recurrent.h"
#include "lower/lower_op.h"

bool lower_recurrent(LowerCtx *lc, const Group *group);

#define MAX_ROWS 4

/* A value by name: where it lies for the units of a tile. */
typedef struct {
  const char *name;
  Access access;
} Named;

typedef struct {
  LowerCtx *lc;
  Ctx *ctx;
  const Group *group;
  const Op *op;
  Recurrent rec;
  DType type;
  int64_t times, units, block;        /* block: units of one vector loop */
  int64_t rows;                       /* of the batch, in one iteration */
  const Expr *first_row, *time, *row; /* row: within the rows of one iteration */
  Buffer *state[CELL_MAX_STATES], *next[CELL_MAX_STATES], *kept[CELL_MAX_LINES];
  int n_locals;
} Work;

/* Units start + block * u + lane of a tile; start may hold a loop variable. */
typedef struct {
  const Expr *start;
  int64_t blocks, lanes;
  const Expr *u, *lane, *unit;
} TileOf;

static const Expr *number(Work *w, int64_t n) {
  return expr_const(w->ctx, n);
}

/* A loop's variable; 0 where it runs once. */
static const Expr *counter(Work *w, const char *name, int64_t extent) {
  return extent == 1 ? number(w, 0) : expr_var(w->ctx, name, number(w, 0), number(w, extent));
}

static Stmt *loop(Work *w, LoopKind kind, const Expr *var, Stmt *body) {
  return var->kind == EX_VAR ? stmt_loop(w->ctx, kind, var, body) : body;
}

static const Expr *batch_row(Work *w) {
  return expr_add(w->ctx, w->first_row, w->row);
}

static Buffer *local(Work *w, const char *name, int rank, const int64_t *shape) {
  return local_buffer(w->ctx, arena_printf(w->ctx->arena, "%s%d", name, w->n_locals++), w->type, rank, shape);
}

static Access at(Work *w, Buffer *buffer, const Expr *const *index, int n) {
  const Expr **copy = ARENA_ARRAY(w->ctx->arena, const Expr *, n);
  memcpy(copy, index, (size_t)n * sizeof *copy);
  return (Access){buffer, copy};
}
#define AT(w, buffer, ...)                                                                                             \
  at(w, buffer, (const Expr *[]){__VA_ARGS__}, (int)(sizeof((const Expr *[]){__VA_ARGS__}) / sizeof(const Expr *)))
#define READ(w, k, ...) lower_read((w)->lc, (w)->op->operands[k], (const Expr *[]){__VA_ARGS__})

static TileOf tile_of(Work *w, const Expr *start, int64_t blocks, int64_t lanes) {
  TileOf t = {.start = start, .blocks = blocks, .lanes = lanes};
  t.u = counter(w, "u", blocks);
  t.lane = counter(w, "v", lanes);
  t.unit = expr_add(w->ctx, start, expr_add(w->ctx, expr_mul_const(w->ctx, t.u, w->block), t.lane));
  return t;
}

/* The loops over rows and units of a tile around one store. */
static Stmt *over_tile(Work *w, const TileOf *t, Stmt *store) {
  Stmt *body = loop(w, LOOP_VECTOR, t->lane, store);
  return loop(w, LOOP_UNROLL, w->row, loop(w, LOOP_UNROLL, t->u, body));
}

/* body(w, tile) for tiles that make up all units: several blocks at once, then one at a time, then what is left. */
static Stmt *over_units(Work *w, int64_t blocks, Stmt *(*body)(Work *w, const TileOf *t, const void *env),
                        const void *env) {
  Stmt *all = NULL;
  int64_t done = 0;
  int64_t sizes[] = {blocks, 1};
  for (int k = 0; k < 2; k++) {
    int64_t size = sizes[k] * w->block, count = (w->units - done) / size;
    if (count == 0)
      continue;
    const Expr *j = counter(w, "j", count);
    TileOf t = tile_of(w, expr_add_const(w->ctx, expr_mul_const(w->ctx, j, size), done), sizes[k], w->block);
    stmt_append(&all, loop(w, LOOP_FOR, j, body(w, &t, env)));
    done += count * size;
  }
  if (done < w->units) {
    TileOf t = tile_of(w, number(w, done), 1, w->units - done);
    stmt_append(&all, body(w, &t, env));
  }
  return all;
}

/* ---- one stage ---- */

static Buffer *vector_named(Work *w, const char *name) {
  const Cell *cell = w->rec.cell;
  for (int s = 0; s < cell->n_states; s++)
    if (strcmp(cell->state[s], name) == 0)
      return w->state[s];
  for (int k = 0; k < cell->stage[0].n_lines; k++)
    if (strcmp(cell->stage[0].lines[k].name, name) == 0)
      return w->kept[k];
  WEFT_UNREACHABLE();
}

/* acc[gate, row, u, lane] = bias + sum over k of r[gate, unit, k] * over[row, k] */
static Stmt *emit_sums(Work *w, const CellStage *stage, const TileOf *t, Buffer *acc) {
  Ctx *ctx = w->ctx;
  const Expr *g = counter(w, "g", stage->n_gates), *k = counter(w, "k", w->units);
  const Expr *gate = expr_add_const(ctx, g, stage->first_gate);
  Access sum = AT(w, acc, g, w->row, t->u, t->lane);
  const Scalar *zero = scalar_const_typed(ctx, w->type, 0), *first = scalar_arg_typed(ctx, 0, w->type);
  Stmt *start;
  if (w->rec.recurrent_bias < 0) {
    start = stmt_store(ctx, sum, zero, NULL, 0);
  } else {
    Access bias = READ(w, w->rec.recurrent_bias, gate, t->unit);
    start = stmt_store(ctx, sum, first, &bias, 1);
  }
  Access args[] = {READ(w, w->rec.r, gate, t->unit, k), AT(w, vector_named(w, stage->over), w->row, k), sum};
  const Scalar *step =
      scalar_make3(ctx, SC_FMA, first, scalar_arg_typed(ctx, 1, w->type), scalar_arg_typed(ctx, 2, w->type));
  Stmt *body = loop(w, LOOP_UNROLL, g, over_tile(w, t, start));
  Stmt *add = loop(w, LOOP_UNROLL, g, over_tile(w, t, stmt_store(ctx, sum, step, args, 3)));
  stmt_append(&body, loop(w, LOOP_FOR, k, add));
  return body;
}

/* What lines of the stage are over, before its own lines. */
static int name_operands(Work *w, const CellStage *stage, const TileOf *t, Buffer *acc, Named *named) {
  const Recurrent *rec = &w->rec;
  const Cell *cell = rec->cell;
  Arena *arena = w->ctx->arena;
  int n = 0;
  for (int g = 0; g < cell->n_gates; g++)
    named[n++] = (Named){arena_printf(arena, "x%d", g), READ(w, rec->x, w->time, batch_row(w), number(w, g), t->unit)};
  for (int g = 0; g < stage->n_gates; g++)
    named[n++] =
        (Named){arena_printf(arena, "r%d", stage->first_gate + g), AT(w, acc, number(w, g), w->row, t->u, t->lane)};
  for (int p = 0; rec->peephole >= 0 && p < cell->n_peepholes; p++)
    named[n++] = (Named){arena_printf(arena, "p%d", p), READ(w, rec->peephole, number(w, p), t->unit)};
  for (int s = 0; s < cell->n_states; s++)
    named[n++] = (Named){cell->state[s], AT(w, w->state[s], w->row, t->unit)};
  for (int k = 0; stage != cell->stage && k < cell->stage[0].n_lines; k++)
    if (w->kept[k])
      named[n++] = (Named){cell->stage[0].lines[k].name, AT(w, w->kept[k], w->row, t->unit)};
  return n;
}

/* target = the line's value over what is named; arguments are those that it uses. */
static Stmt *emit_line(Work *w, const CellLine *line, const Named *named, int n, Access target) {
  const char *names[CELL_MAX_NAMES];
  const Scalar *values[CELL_MAX_NAMES];
  Access args[CELL_MAX_NAMES];
  for (int k = 0; k < n; k++) {
    names[k] = named[k].name;
    values[k] = scalar_arg_typed(w->ctx, k, w->type);
    args[k] = named[k].access;
  }
  const Scalar *value = cell_line_value(w->ctx, w->op, line, names, values, n);
  return stmt_store(w->ctx, target, value, args, scalar_arg_count(value));
}

static Stmt *emit_stage_tile(Work *w, const TileOf *t, const void *env) {
  const CellStage *stage = env;
  const Cell *cell = w->rec.cell;
  Named named[CELL_MAX_NAMES];
  Buffer *acc = local(w, "acc", 4, (int64_t[]){stage->n_gates, w->rows, t->blocks, t->lanes});
  Stmt *body = stmt_local(w->ctx, acc);
  stmt_append(&body, emit_sums(w, stage, t, acc));
  int n = name_operands(w, stage, t, acc, named);
  for (int k = 0; k < stage->n_lines; k++) {
    const CellLine *line = &stage->lines[k];
    int s = cell_next_state(cell, line);
    Buffer *vector = s >= 0 ? w->next[s] : stage == cell->stage ? w->kept[k] : NULL;
    Access target;
    if (vector) {
      target = AT(w, vector, w->row, t->unit);
    } else {
      Buffer *b = local(w, line->name, 3, (int64_t[]){w->rows, t->blocks, t->lanes});
      stmt_append(&body, stmt_local(w->ctx, b));
      target = AT(w, b, w->row, t->u, t->lane);
    }
    stmt_append(&body, over_tile(w, t, emit_line(w, line, named, n, target)));
    named[n++] = (Named){line->name, target};
    WEFT_ASSERT(n <= CELL_MAX_NAMES);
  }
  return body;
}

/* Blocks of units at once: the sums of all gates and rows stay in registers, which leaves some for what is read. */
static int64_t blocks_at_once(const Work *w, const CellStage *stage) {
  int64_t lanes = w->lc->target.vector_bytes / (int64_t)dtype_size(w->type);
  int64_t vectors = (w->block + lanes - 1) / lanes * w->rows * stage->n_gates;
  int64_t blocks = w->lc->target.registers * 3 / 4 / vectors;
  return blocks < 1 ? 1 : blocks > 8 ? 8 : blocks;
}

/* ---- states ---- */

static Stmt *emit_start(Work *w, const TileOf *t, const void *env) {
  (void)env;
  Stmt *body = NULL;
  for (int s = 0; s < w->rec.cell->n_states; s++) {
    Access target = AT(w, w->state[s], w->row, t->unit);
    Stmt *store = stmt_store(w->ctx, target, scalar_const_typed(w->ctx, w->type, 0), NULL, 0);
    if (w->rec.initial[s] >= 0) {
      Access from = READ(w, w->rec.initial[s], batch_row(w), t->unit);
      store = stmt_store(w->ctx, target, scalar_arg_typed(w->ctx, 0, w->type), &from, 1);
    }
    stmt_append(&body, over_tile(w, t, store));
  }
  return body;
}

/* state = time < lengths[row] ? next : state */
static Stmt *emit_next(Work *w, Access state, Access next) {
  Ctx *ctx = w->ctx;
  if (w->rec.lengths < 0)
    return stmt_store(ctx, state, scalar_arg_typed(ctx, 0, w->type), &next, 1);
  const Expr **time = ARENA_ARRAY(ctx->arena, const Expr *, 1);
  *time = w->time;
  Access args[] = {next, state, {NULL, time}, READ(w, w->rec.lengths, batch_row(w))};
  const Scalar *length = scalar_cast(ctx, scalar_arg_typed(ctx, 3, access_dtype(args[3])), DT_I64);
  const Scalar *runs = scalar_make2(ctx, SC_LT, scalar_arg_typed(ctx, 2, DT_I64), length);
  const Scalar *value =
      scalar_make3(ctx, SC_SELECT, runs, scalar_arg_typed(ctx, 0, w->type), scalar_arg_typed(ctx, 1, w->type));
  return stmt_store(ctx, state, value, args, 4);
}

/* NULL after reporting. */
static Stmt *store_result(Work *w, int s, const TileOf *t, Access state) {
  bool many = w->rec.cell->n_states > 1;
  const Expr *index[4] = {number(w, s), w->time, batch_row(w), t->unit};
  Args args = {0};
  args_add(&args, state);
  const Scalar *value = lower_chain(w->lc, w->group, index + !many, scalar_arg_typed(w->ctx, 0, w->type), &args, 0);
  if (!value)
    return NULL;
  return stmt_store(w->ctx, lower_target(w->lc, w->group, index + !many), value, args.access, args.n);
}

static Stmt *emit_finish(Work *w, const TileOf *t, const void *env) {
  bool *failed = (bool *)(uintptr_t)env;
  Stmt *body = NULL;
  for (int s = 0; s < w->rec.cell->n_states; s++) {
    Access state = AT(w, w->state[s], w->row, t->unit), next = AT(w, w->next[s], w->row, t->unit);
    Stmt *store = store_result(w, s, t, state);
    *failed = *failed || !store;
    stmt_append(&body, over_tile(w, t, emit_next(w, state, next)));
    stmt_append(&body, over_tile(w, t, store));
  }
  return body;
}

/* ---- the nest ---- */

static Buffer *vector(Work *w, const char *name, Stmt **body) {
  Buffer *b = local(w, name, 2, (int64_t[]){w->rows, w->units});
  stmt_append(body, stmt_local(w->ctx, b));
  return b;
}

static Stmt *declare_vectors(Work *w) {
  const Cell *cell = w->rec.cell;
  Stmt *body = NULL;
  for (int s = 0; s < cell->n_states; s++) {
    w->state[s] = vector(w, cell->state[s], &body);
    w->next[s] = vector(w, cell->next[s], &body);
  }
  for (int k = 0; k < cell->stage[0].n_lines; k++)
    w->kept[k] = cell->stage[0].lines[k].kept ? vector(w, cell->stage[0].lines[k].name, &body) : NULL;
  return body;
}

/* A nest for groups of so many rows from row `begin` on. False after reporting. */
static bool emit_rows(Work *w, int64_t begin, int64_t groups, int64_t rows) {
  Ctx *ctx = w->ctx;
  const Cell *cell = w->rec.cell;
  bool failed = false;
  const Expr *b = counter(w, "b", groups), *step = counter(w, "t", w->times);
  w->rows = rows;
  w->row = counter(w, "m", rows);
  w->first_row = expr_add_const(ctx, expr_mul_const(ctx, b, rows), begin);
  w->time = w->rec.reverse ? expr_sub(ctx, number(w, w->times - 1), step) : step;
  Stmt *body = declare_vectors(w), *one_time = NULL;
  stmt_append(&body, over_units(w, 1, emit_start, NULL));
  for (int k = 0; k < cell->n_stages; k++)
    stmt_append(&one_time, over_units(w, blocks_at_once(w, &cell->stage[k]), emit_stage_tile, &cell->stage[k]));
  stmt_append(&one_time, over_units(w, 1, emit_finish, &failed));
  stmt_append(&body, loop(w, LOOP_FOR, step, one_time));
  Nest *nest = loops_add_nest(w->lc->program, w->group->result->name, w->group->what, w->op->loc);
  nest->body = loop(w, LOOP_PARALLEL, b, body);
  return !failed;
}

/* Rows at once: few enough for the registers, and for the local vectors. */
static int64_t rows_at_once(Work *w, int64_t batch) {
  int64_t rows = batch < MAX_ROWS ? batch : MAX_ROWS;
  int64_t lanes = w->lc->target.vector_bytes / (int64_t)dtype_size(w->type);
  int64_t vectors = (w->block + lanes - 1) / lanes * w->rec.cell->n_gates;
  while (rows > 1 && (rows * vectors > w->lc->target.registers * 3 / 4 || rows * w->units > CELL_MAX_UNITS))
    rows--;
  return rows;
}

bool lower_recurrent(LowerCtx *lc, const Group *group) {
  Work w = {.lc = lc, .ctx = lc->ctx, .group = group, .op = group->root, .rec = recurrent_of(group->root)};
  const Type *x = w.op->operands[w.rec.x]->type;
  int64_t batch = expr_value(x->dims[1]);
  w.times = expr_value(x->dims[0]);
  w.units = expr_value(x->dims[3]);
  w.type = dtype_compute(x->dtype);
  w.block = 64 / (int64_t)dtype_size(w.type);
  if (w.times == 0 || batch == 0 || w.units == 0)
    return true;
  int64_t rows = rows_at_once(&w, batch), groups = batch / rows, left = batch % rows;
  return emit_rows(&w, 0, groups, rows) && (left == 0 || emit_rows(&w, groups * rows, 1, left));
}
