/* The nodes and edges of a picture. See picture.h. A node's rank is the length of the longest path to it, so that every
 * edge points down. */
#include "frontend/cli/picture.h"

enum { TEXT_MAX = 60, N_COLORS = 10 };

/* Light enough for black text. The first is of row-major values. */
static const char *const colors[N_COLORS] = {"#f2f2f2", "#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6",
                                             "#ffff99", "#8dd3c7", "#fccde5", "#d9c6a5", "#bebada"};

const char *picture_color(int layout) {
  return colors[layout == 0 ? 0 : 1 + (layout - 1) % (N_COLORS - 1)];
}

const char *picture_amount(Ctx *ctx, int64_t n, const char *unit) {
  static const char prefixes[] = " kMGTPE"; /* an int64_t is below 10 E */
  int k = 0;
  double v = (double)n;
  for (; v >= 999.5; v /= 1000)
    k++;
  if (k == 0)
    return arena_printf(ctx->arena, "%lld %s", (long long)n, unit);
  return arena_printf(ctx->arena, "%.3g %c%s", v, prefixes[k], unit);
}

/* A text of the model, fit for any picture: '?' for what is no printable character, cut behind TEXT_MAX of them. */
static const char *clean(Ctx *ctx, const char *text) {
  Str s = str_new(ctx->arena);
  size_t left = strlen(text);
  for (int k = 0; left && k < TEXT_MAX; k++) {
    size_t n = utf8_length(text, left);
    bool fit = n > 1 ? (unsigned char)text[0] != 0xc2 || (unsigned char)text[1] >= 0xa0 : n && *text >= ' ' && *text != 127;
    if (fit)
      str_putn(&s, text, n);
    else
      str_putc(&s, '?');
    n = n ? n : 1;
    text += n;
    left -= n;
  }
  str_put(&s, left ? "..." : "");
  return s.data;
}

/* ---- nodes ---- */

typedef struct {
  Ctx *ctx;
  Picture *p;
  int *node_of;       /* by value id; -1: none, a constant */
  const char **roles; /* by value id: the letters of its axes, or NULL */
} Maker;

static int layout_number(Maker *mk, const Layout *layout) {
  Picture *p = mk->p;
  if (layout_is_row_major(layout))
    return 0;
  for (size_t k = 1; k < p->layouts.len; k++)
    if (p->layouts.data[k] == layout)
      return (int)k;
  vec_push(mk->ctx->arena, &p->layouts, layout);
  return (int)p->layouts.len - 1;
}

static const char *tag_text(Ctx *ctx, const Layout *layout) {
  Str s = str_new(ctx->arena);
  if (layout_is_row_major(layout))
    return "row-major";
  layout_print(&s, layout);
  return s.data;
}

const char *picture_layout_text(Ctx *ctx, const Picture *p, int layout) {
  return layout == 0 ? "row-major" : tag_text(ctx, p->layouts.data[layout]);
}

/* What the node shows of a value; where several ops are one node, of the last. */
static void show_value(Maker *mk, PicNode *n, const char *name, const Type *type, const char *roles) {
  Ctx *ctx = mk->ctx;
  Str shape = str_new(ctx->arena);
  str_printf(&shape, "%s[", dtype_name(type->dtype));
  for (int k = 0; k < type->rank; k++) {
    str_put(&shape, k ? "," : "");
    expr_print(&shape, type->dims[k]);
  }
  str_putc(&shape, ']');
  n->name = clean(ctx, name);
  n->type = shape.data;
  n->layout = layout_number(mk, type->layout);
  n->letters = roles ? clean(ctx, layout_to_letters(ctx, type->layout, roles)) : tag_text(ctx, type->layout);
}

static int add_node(Maker *mk, PicKind kind, const char *what, const char *name, const Type *type, const char *roles,
                    Loc loc) {
  Ctx *ctx = mk->ctx;
  PicNode n = {.kind = kind, .what = clean(ctx, what), .node = ""};
  show_value(mk, &n, name, type, roles);
  if (loc.node)
    n.node = clean(ctx, loc.line ? arena_printf(ctx->arena, "%s, line %d", loc.node, loc.line) : loc.node);
  vec_push(ctx->arena, &mk->p->nodes, n);
  return (int)mk->p->nodes.len - 1;
}

/* Letters travel with the axes: from the op's row, or from the first operand whose axes the result has. */
static const char *roles_of(Maker *mk, const Op *op) {
  const Type *type = op->result->type;
  if (*op->def->result_roles)
    return op_roles(mk->ctx, op->def, op->def->result_roles);
  for (int k = 0; !(op->def->traits & OP_VIEW) && k < op->n_operands; k++) {
    const Value *v = op->operands[k];
    if (v && mk->roles[v->id] && v->type->rank == type->rank &&
        (op->def->traits & OP_MOVE || memcmp(v->type->dims, type->dims, (size_t)type->rank * sizeof *type->dims) == 0))
      return mk->roles[v->id];
  }
  return NULL;
}

/* A constant, or a view of constants. */
static bool is_constant(const Maker *mk, const Op *op) {
  for (int k = 0; op->def->traits & OP_VIEW && k < op->n_operands; k++)
    if (op->operands[k] && mk->node_of[op->operands[k]->id] >= 0)
      return false;
  return op->def->traits & (OP_LEAF | OP_VIEW);
}

static void add_edge(Maker *mk, const Value *from, int to) {
  int k = mk->node_of[from->id];
  if (k < 0 || k == to)
    return;
  vec_push(mk->ctx->arena, &mk->p->edges, ((PicEdge){k, to}));
  PicNode *nodes = mk->p->nodes.data;
  if (nodes[to].rank <= nodes[k].rank)
    nodes[to].rank = nodes[k].rank + 1;
}

static void add_op(Maker *mk, const Op *op) {
  const Value *v = op->result;
  int *at = &mk->node_of[v->id];
  mk->roles[v->id] = roles_of(mk, op);
  if (is_constant(mk, op))
    return;
  if (op->fused) {
    *at = mk->node_of[op->fused->id];
    PicNode *n = &mk->p->nodes.data[*at];
    n->what = arena_printf(mk->ctx->arena, "%s+%s", n->what, op->def->name);
    show_value(mk, n, v->name, v->type, mk->roles[v->id]);
    return;
  }
  PicKind kind = op->def->traits & OP_COPY ? PIC_RELAYOUT : op->def->traits & OP_VIEW ? PIC_VIEW : PIC_OP;
  *at = add_node(mk, kind, op->def->name, v->name, v->type, mk->roles[v->id], op->loc);
}

/* The edges of all ops of a group, when its last one is met: what it reads has its rank by then. */
static void add_edges(Maker *mk, const Op *op) {
  for (const Op *part = op;; part = part->fused->def) {
    for (int k = 0; k < part->n_operands; k++)
      if (part->operands[k])
        add_edge(mk, part->operands[k], mk->node_of[op->result->id]);
    if (!part->fused)
      return;
  }
}

/* ---- amounts ---- */

static int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return add_i64(a, b, &sum) ? sum : INT64_MAX;
}

/* The buffer that a nest stores to; NULL: none. */
static const Buffer *stored_buffer(const Stmt *s) {
  for (; s; s = s->next) {
    const Buffer *b = s->kind == ST_LOOP ? stored_buffer(s->body) : s->kind == ST_STORE ? s->target.buffer : NULL;
    if (b && b->space != BUF_LOCAL)
      return b;
  }
  return NULL;
}

static void add_amounts(Maker *mk, const LoopProgram *program, int first_output) {
  Picture *p = mk->p;
  for (const Nest *nest = program->first; nest; nest = nest->next) {
    const Buffer *b = stored_buffer(nest->body);
    NestBytes bytes = nest_bytes(mk->ctx, nest);
    int64_t both = plus(bytes.read, bytes.written), flops = nest_work(mk->ctx, nest);
    p->flops = plus(p->flops, flops);
    p->bytes = plus(p->bytes, both);
    bool copies = b && b->space == BUF_OUTPUT && strcmp(nest->what, "copy") == 0; /* what another nest computed */
    int k = copies ? first_output + b->index : b && b->value ? mk->node_of[b->value->id] : -1;
    if (k < 0)
      continue;
    PicNode *n = &p->nodes.data[k];
    n->flops = plus(n->flops, flops);
    n->bytes = plus(n->bytes, both);
    if (n->kind == PIC_RELAYOUT)
      p->relayout_bytes = plus(p->relayout_bytes, both);
  }
}

Picture *picture_make(Ctx *ctx, const Module *m, const LoopProgram *program) {
  const Function *f = m->main;
  Picture *p = ARENA_NEW(ctx->arena, Picture);
  Maker mk = {ctx, p, ARENA_ARRAY(ctx->arena, int, f->n_values), ARENA_ARRAY(ctx->arena, const char *, f->n_values)};
  bool *goes_on = ARENA_ARRAY(ctx->arena, bool, f->n_values); /* an op is fused onto this value */
  p->title = clean(ctx, m->name);
  vec_push(ctx->arena, &p->layouts, NULL);
  for (uint32_t k = 0; k < f->n_values; k++)
    mk.node_of[k] = -1;
  for (size_t k = 0; k < f->params.len; k++) {
    const Value *v = f->params.data[k];
    mk.roles[v->id] = v->roles;
    mk.node_of[v->id] = add_node(&mk, PIC_INPUT, "input", v->name, v->type, v->roles, LOC_NONE);
  }
  for (const Op *op = f->first; op; op = op->next) {
    add_op(&mk, op);
    if (op->fused)
      goes_on[op->fused->id] = true;
  }
  for (const Op *op = f->first; op; op = op->next)
    if (!goes_on[op->result->id] && mk.node_of[op->result->id] >= 0)
      add_edges(&mk, op);
  int first_output = (int)p->nodes.len;
  for (size_t k = 0; k < f->results.len; k++) {
    const FuncResult *r = &f->results.data[k];
    add_edge(&mk, r->value, add_node(&mk, PIC_OUTPUT, "output", r->name, r->type, r->roles, LOC_NONE));
  }
  add_amounts(&mk, program, first_output);
  for (size_t k = 0; k < p->nodes.len; k++)
    p->relayouts += p->nodes.data[k].kind == PIC_RELAYOUT;
  picture_place(ctx, p);
  return p;
}
