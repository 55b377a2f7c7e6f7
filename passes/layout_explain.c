/* See layout_explain.h. What stands in the table is taken from the graph, so that it is true whatever passes have done
 * since; only the reasons are from layout_assign. */
#include "passes/layout_explain.h"

#include "ir/print.h"

static LayoutReason *reason_of(const Unit *unit, const Value *v) {
  return v->id < unit->reasons.len ? unit->reasons.data[v->id] : NULL;
}

void layout_note_plan(Unit *unit, const Op *op, const LayoutPlan *plan) {
  while (unit->reasons.len <= op->result->id)
    vec_push(unit->ctx->arena, &unit->reasons, NULL);
  LayoutReason *r = ARENA_NEW(unit->ctx->arena, LayoutReason);
  *r = (LayoutReason){*plan, op->n_operands, false};
  unit->reasons.data[op->result->id] = r;
}

void layout_note_direct(Unit *unit, const Value *v) {
  LayoutReason *r = reason_of(unit, v);
  if (r)
    r->direct = true;
}

/* Who reads a value: the first op with its operand's number, or output; and how many there are. */
typedef struct {
  const Op *op;
  int operand;
  const FuncResult *output;
  int n;
} Reader;

#define N_COLUMNS 5
#define MAX_WIDTH 48 /* of a column; a longer text pushes its line's others to the right */

typedef struct {
  const char *text[N_COLUMNS]; /* what, reads, writes, where, why */
} Row;

typedef struct {
  Ctx *ctx;
  const Unit *unit;
  Reader *readers; /* by value id */
  VEC(Row) rows;
  VEC(const Constant *) derived;
  int relayouts;
  int64_t moved, stored; /* bytes of relayouts per run, and of derived constants */
  bool open;             /* a relayout's size is not known */
} Explain;

static void add_reader(Explain *e, const Value *v, Reader reader) {
  Reader *r = &e->readers[v->id];
  if (r->n++ == 0) {
    reader.n = 1;
    *r = reader;
  }
}

static void find_readers(Explain *e, const Function *f) {
  e->readers = ARENA_ARRAY(e->ctx->arena, Reader, f->n_values);
  for (const Op *op = f->first; op; op = op->next)
    for (int k = 0; k < op->n_operands; k++)
      if (op->operands[k])
        add_reader(e, op->operands[k], (Reader){.op = op, .operand = k});
  for (size_t k = 0; k < f->results.len; k++)
    add_reader(e, f->results.data[k].value, (Reader){.output = &f->results.data[k]});
}

/* ---- the columns ---- */

/* roles: letters of the axes, NULL or "": none. */
static void put_layout(Str *s, Ctx *ctx, const Type *type, const char *roles) {
  if (type->rank == 0)
    str_putc(s, '-');
  else if (roles && (int)strlen(roles) == type->rank)
    str_put(s, layout_to_letters(ctx, type->layout, roles));
  else
    layout_print(s, type->layout);
}

static const char *layout_text(Explain *e, const Type *type, const char *roles) {
  Str s = str_new(e->ctx->arena);
  put_layout(&s, e->ctx, type, roles);
  return s.data;
}

/* What lies in one way only, like a bias, is left out. */
static const char *reads_text(Explain *e, const Op *op) {
  Str s = str_new(e->ctx->arena);
  for (int k = 0; k < op->n_operands; k++) {
    const Value *v = op->operands[k];
    if (!v || (v->type->rank < 2 && layout_is_row_major(v->type->layout)))
      continue;
    str_put(&s, s.len ? ", " : "");
    print_value_name(&s, v->name);
    str_putc(&s, ' ');
    put_layout(&s, e->ctx, v->type, op_roles(e->ctx, op->def, op_operand(op->def, k)->roles));
  }
  return s.len ? s.data : "-";
}

static const char *what_text(Explain *e, const Value *v, const char *what) {
  Str s = str_new(e->ctx->arena);
  print_value_name(&s, v->name);
  str_printf(&s, " %s", what);
  return s.data;
}

/* The file is left out where it is the model. */
static const char *where_text(Explain *e, Loc loc) {
  const char *model = e->unit->module->file;
  Str s = str_new(e->ctx->arena);
  if (loc.file && (!model || strcmp(loc.file, model) != 0))
    str_printf(&s, "%s:", loc.file);
  if (loc.line)
    str_printf(&s, "%d:%d", loc.line, loc.col);
  if (loc.node) {
    str_put(&s, s.len ? " " : "");
    print_bare_name(&s, loc.node);
  }
  return s.data;
}

/* A copy is written in the letters of its reader. */
static const char *roles_of_copy(Explain *e, const Value *copy) {
  const Reader *r = &e->readers[copy->id];
  if (r->output)
    return r->output->roles;
  return r->op ? op_roles(e->ctx, r->op->def, op_operand(r->op->def, r->operand)->roles) : NULL;
}

static const char *copied_text(Explain *e, const char *name, const Type *type, const char *roles,
                               void (*put_name)(Str *out, const char *name)) {
  Str s = str_new(e->ctx->arena);
  put_name(&s, name);
  str_putc(&s, ' ');
  put_layout(&s, e->ctx, type, roles);
  return s.data;
}

/* ---- why ---- */

/* The reader's name: `data of %y`, `output y`. */
static void put_reader(Str *s, const Reader *r) {
  if (r->output) {
    str_put(s, "output ");
    print_bare_name(s, r->output->name);
    return;
  }
  str_printf(s, "%s of ", op_operand(r->op->def, r->operand)->name);
  print_value_name(s, r->op->result->name);
}

/* The plan's clause with the leader's name in it. */
static void put_clause(Str *s, const Op *op, const LayoutPlan *plan) {
  const char *why = plan->why ? plan->why : "", *mark = strchr(why, '%');
  if (!mark || plan->leader >= op->n_operands || !op->operands[plan->leader]) {
    str_put(s, why);
    return;
  }
  str_putn(s, why, (size_t)(mark - why));
  print_value_name(s, op->operands[plan->leader]->name);
  str_put(s, mark + 1);
}

static const char *why_text(Explain *e, const Op *op) {
  const LayoutReason *r = reason_of(e->unit, op->result);
  Str s = str_new(e->ctx->arena);
  if (!r)
    return "as the text has it";
  bool follows = r->plan.why && strchr(r->plan.why, '%');
  if (!r->direct || !follows)
    put_clause(&s, op, &r->plan);
  if (r->direct && e->readers[op->result->id].n) {
    str_put(&s, follows ? "as wanted for " : "; written as wanted for ");
    put_reader(&s, &e->readers[op->result->id]);
  }
  return s.data;
}

/* Whom a copy is for, and why it is wanted. */
static void put_purpose(Explain *e, Str *s, const Value *copy) {
  const Reader *r = &e->readers[copy->id];
  if (r->n == 0) {
    str_put(s, "read by nothing");
    return;
  }
  str_put(s, "for ");
  put_reader(s, r);
  if (r->n > 1)
    str_printf(s, " and %d more", r->n - 1);
  const LayoutReason *reason = r->op ? reason_of(e->unit, r->op->result) : NULL;
  const char *reads = reason && r->operand < reason->n ? reason->plan.reads[r->operand] : NULL;
  if (!reads && reason && reason->plan.why && !strchr(reason->plan.why, '%'))
    reads = reason->plan.why;
  if (r->output)
    reads = "boundary";
  str_printf(s, "%s%s", reads ? ": " : "", reads ? reads : "");
}

/* ---- the rows ---- */

static void add_row(Explain *e, const char *what, const char *reads, const char *writes, const char *why, Loc loc) {
  vec_push(e->ctx->arena, &e->rows, ((Row){{what, reads, writes, where_text(e, loc), why}}));
}

static void add_relayout(Explain *e, const Op *op) {
  int64_t n = 0;
  Str why = str_new(e->ctx->arena);
  put_purpose(e, &why, op->result);
  if (expr_is_const(type_elements(e->ctx, op->result->type), &n)) {
    n *= 2 * (int64_t)dtype_size(op->result->type->dtype);
    str_printf(&why, "; moves %lld bytes", (long long)n);
  } else {
    e->open = true;
  }
  e->relayouts++;
  if (!add_i64(e->moved, n, &e->moved))
    e->moved = INT64_MAX;
  const char *roles = roles_of_copy(e, op->result);
  const Value *x = op->operands[0];
  add_row(e, what_text(e, op->result, arena_printf(e->ctx->arena, "= %s", op->def->name)),
          copied_text(e, x->name, x->type, roles, print_value_name), layout_text(e, op->result->type, roles), why.data,
          op->loc);
}

static void add_derived(Explain *e, const Op *op, const Constant *c) {
  Str why = str_new(e->ctx->arena);
  int64_t bytes = type_bytes(c->type);
  const char *roles = roles_of_copy(e, op->result);
  put_purpose(e, &why, op->result);
  str_printf(&why, "; %lld bytes", (long long)bytes);
  add_row(e, what_text(e, op->result, "= constant"),
          copied_text(e, c->base->name, c->base->type, roles, print_symbol_name), layout_text(e, c->type, roles),
          why.data, op->loc);
  for (size_t k = 0; k < e->derived.len; k++)
    if (e->derived.data[k] == c)
      return;
  vec_push(e->ctx->arena, &e->derived, c);
  if (!add_i64(e->stored, bytes, &e->stored))
    e->stored = INT64_MAX;
}

static void add_op(Explain *e, const Op *op) {
  if (op->def->traits & OP_COPY) {
    add_relayout(e, op);
  } else if (op->def->traits & OP_LEAF) {
    const Constant *c = op_attr(op, "value")->constant;
    if (c->base && e->readers[op->result->id].n)
      add_derived(e, op, c);
  } else {
    add_row(e, what_text(e, op->result, arena_printf(e->ctx->arena, "= %s", op->def->name)), reads_text(e, op),
            layout_text(e, op->result->type, op_roles(e->ctx, op->def, op->def->result_roles)), why_text(e, op),
            op->loc);
  }
}

static void add_function(Explain *e, const Function *f) {
  for (size_t k = 0; k < f->params.len; k++) {
    const Value *v = f->params.data[k];
    add_row(e, what_text(e, v, "input"), "-", layout_text(e, v->type, v->roles), "boundary", v->loc);
  }
  for (const Op *op = f->first; op; op = op->next)
    add_op(e, op);
  for (size_t k = 0; k < f->results.len; k++) {
    const FuncResult *r = &f->results.data[k];
    Str what = str_new(e->ctx->arena), reads = str_new(e->ctx->arena);
    print_bare_name(&what, r->name);
    str_put(&what, " output");
    print_value_name(&reads, r->value->name);
    add_row(e, what.data, reads.data, layout_text(e, r->type, r->roles), "boundary", r->loc);
  }
}

static void put_rows(Str *out, const Explain *e) {
  int width[N_COLUMNS] = {0};
  for (size_t k = 0; k < e->rows.len; k++)
    for (int c = 0; c < N_COLUMNS; c++) {
      int n = (int)strlen(e->rows.data[k].text[c]);
      if (n > width[c] && n <= MAX_WIDTH)
        width[c] = n;
    }
  for (size_t k = 0; k < e->rows.len; k++) {
    const Row *row = &e->rows.data[k];
    for (int c = 0; c < N_COLUMNS; c++)
      str_printf(out, "  %-*s", c + 1 < N_COLUMNS ? width[c] : 0, row->text[c]);
    str_putc(out, '\n');
  }
}

void layout_explain(Str *out, const Unit *unit) {
  Explain e = {.ctx = unit->ctx, .unit = unit};
  find_readers(&e, unit->module->main);
  str_printf(out, "layouts of %s: what, reads, writes, where, why\n", unit->module->file ? unit->module->file : "");
  add_function(&e, unit->module->main);
  put_rows(out, &e);
  str_printf(out, "relayouts: %d, %lld bytes moved per run%s\nderived constants: %zu, %lld bytes\n", e.relayouts,
             (long long)e.moved, e.open ? " and those of open size" : "", e.derived.len, (long long)e.stored);
}
