/* The printer of loop nests in the text form: docs/grammar.md, section Loop nests. A loop whose body is one store
 * stands on one line. */
#include "ir/lex.h"
#include "ir/print.h"
#include "lower/loop.h"

/* ---- symbols ---- */

static void symbols_of_access(Ctx *ctx, SymbolSet *set, const Access *a) {
  for (int k = 0; k < access_digits(*a); k++)
    symbols_of_expr(ctx, set, a->index[k]);
}

/* Of the arguments that the value reads: others do not show in the text. */
static void symbols_of_value(Ctx *ctx, SymbolSet *set, const Stmt *s, const Scalar *value) {
  if (value->op == SC_ARG)
    symbols_of_access(ctx, set, &s->args[value->index]);
  for (int k = 0; k < value->n; k++)
    if (value->args[k]->arg_count)
      symbols_of_value(ctx, set, s, value->args[k]);
}

static void symbols_of_stmts(Ctx *ctx, SymbolSet *set, const Stmt *s) {
  for (; s; s = s->next) {
    if (s->kind == ST_LOOP || s->kind == ST_INDEX) {
      symbols_of_expr(ctx, set, s->var->a);
      symbols_of_expr(ctx, set, s->var->b);
    }
    if (s->kind == ST_LOOP)
      symbols_of_stmts(ctx, set, s->body);
    if (s->kind == ST_STORE)
      symbols_of_access(ctx, set, &s->target);
    if (s->kind == ST_STORE || s->kind == ST_INDEX)
      symbols_of_value(ctx, set, s, s->value);
  }
}

static void symbols_of_buffers(Ctx *ctx, SymbolSet *set, Buffer *const *buffers, size_t n) {
  for (size_t k = 0; k < n; k++) {
    symbols_of_type(ctx, set, buffers[k]->type);
    if (buffers[k]->offset)
      symbols_of_expr(ctx, set, buffers[k]->offset);
  }
}

static void symbols_of_program(Ctx *ctx, SymbolSet *set, const LoopProgram *p) {
  symbols_of_buffers(ctx, set, p->inputs.data, p->inputs.len);
  symbols_of_buffers(ctx, set, p->outputs.data, p->outputs.len);
  symbols_of_buffers(ctx, set, p->constants.data, p->constants.len);
  symbols_of_buffers(ctx, set, p->arena.data, p->arena.len);
  if (p->arena_bytes)
    symbols_of_expr(ctx, set, p->arena_bytes);
  for (const Nest *n = p->first; n; n = n->next)
    symbols_of_stmts(ctx, set, n->body);
}

/* ---- buffers ---- */

static void print_buffer(Str *out, const LoopProgram *p, const Buffer *b) {
  const Function *f = p->module->main;
  size_t k = (size_t)b->index;
  str_put(out, "  buffer ");
  print_value_name(out, b->name);
  str_put(out, " : ");
  type_print(out, b->type);
  switch (b->space) {
  case BUF_INPUT:
    str_printf(out, " input %d", b->index);
    print_roles(out, f && k < f->params.len ? f->params.data[k]->roles : NULL);
    break;
  case BUF_OUTPUT:
    str_printf(out, " output %d", b->index);
    print_roles(out, f && k < f->results.len ? f->results.data[k].roles : NULL);
    break;
  case BUF_CONSTANT:
    str_put(out, " constant ");
    print_symbol_name(out, b->constant->name);
    break;
  case BUF_ARENA:
    str_put(out, " arena");
    if (b->offset) {
      bool plain = expr_is_const(b->offset, NULL);
      str_put(out, plain ? " " : " (");
      expr_print(out, b->offset);
      str_put(out, plain ? "" : ")");
    }
    break;
  case BUF_LOCAL:
    WEFT_UNREACHABLE();
  }
  str_putc(out, '\n');
}

static void print_buffers(Str *out, const LoopProgram *p, Buffer *const *buffers, size_t n) {
  for (size_t k = 0; k < n; k++)
    print_buffer(out, p, buffers[k]);
}

/* ---- statements ---- */

static void print_local_name(Str *out, const char *name) {
  if (lex_name_is_variable(name))
    str_put(out, name);
  else
    str_put_quoted(out, name);
}

static void print_access(Str *out, const Access *a) {
  if (!a->buffer) {
    str_put(out, "index(");
    expr_print(out, a->index[0]);
    str_putc(out, ')');
    return;
  }
  if (a->buffer->space == BUF_LOCAL)
    print_local_name(out, a->buffer->name);
  else
    print_value_name(out, a->buffer->name);
  str_putc(out, '[');
  for (int k = 0; k < a->buffer->type->layout->n; k++) {
    str_put(out, k ? ", " : "");
    expr_print(out, a->index[k]);
  }
  str_putc(out, ']');
}

static void print_arg(Str *out, int k, const void *env) {
  const Stmt *s = env;
  WEFT_ASSERT(k < s->n_args);
  print_access(out, &s->args[k]);
}

static void print_store(Str *out, const Stmt *s) {
  print_access(out, &s->target);
  str_put(out, " = ");
  scalar_print(out, s->value, print_arg, s);
}

static void indent(Str *out, int depth) {
  for (int k = 0; k < depth; k++)
    str_put(out, "  ");
}

static void print_stmts(Str *out, const Stmt *s, int depth);

static void print_range(Str *out, const char *what, const Expr *var) {
  str_printf(out, "%s ", what);
  expr_print(out, var);
  str_put(out, " in ");
  expr_print(out, var->a);
  str_put(out, "..");
  expr_print(out, var->b);
}

static void print_loop(Str *out, const Stmt *s, int depth) {
  print_range(out, loop_kind_names[s->loop], s->var);
  if (s->body && s->body->kind == ST_STORE && !s->body->next) {
    str_put(out, " { ");
    print_store(out, s->body);
    str_put(out, " }");
    return;
  }
  str_put(out, " {\n");
  print_stmts(out, s->body, depth + 1);
  indent(out, depth);
  str_putc(out, '}');
}

static void print_stmts(Str *out, const Stmt *s, int depth) {
  for (; s; s = s->next) {
    indent(out, depth);
    switch (s->kind) {
    case ST_LOOP:
      print_loop(out, s, depth);
      break;
    case ST_LOCAL:
      str_put(out, "local ");
      print_local_name(out, s->local->name);
      str_put(out, " : ");
      type_print(out, s->local->type);
      break;
    case ST_STORE:
      print_store(out, s);
      break;
    case ST_INDEX:
      print_range(out, "index", s->var);
      str_put(out, " = ");
      scalar_print(out, s->value, print_arg, s);
      break;
    }
    str_putc(out, '\n');
  }
}

/* ---- programs ---- */

void nest_print(Str *out, const Nest *n) {
  str_put(out, "  nest ");
  print_symbol_name(out, n->name);
  str_putc(out, ' ');
  str_put_quoted(out, n->what ? n->what : "");
  print_loc(out, n->loc);
  str_put(out, " {\n");
  print_stmts(out, n->body, 2);
  str_put(out, "  }\n");
}

void loops_print(Str *out, const LoopProgram *p) {
  SymbolSet symbols = {0};
  symbols_of_program(p->ctx, &symbols, p);
  print_preamble(out, p->module, &symbols, (PrintOptions){false, false});
  str_put(out, "loops ");
  print_symbol_name(out, p->name);
  str_put(out, " {\n");
  print_buffers(out, p, p->inputs.data, p->inputs.len);
  print_buffers(out, p, p->outputs.data, p->outputs.len);
  print_buffers(out, p, p->constants.data, p->constants.len);
  print_buffers(out, p, p->arena.data, p->arena.len);
  if (p->arena_bytes) {
    str_put(out, "  arena ");
    expr_print(out, p->arena_bytes);
    str_putc(out, '\n');
  }
  for (const Nest *n = p->first; n; n = n->next)
    nest_print(out, n);
  str_put(out, "}\n");
}
