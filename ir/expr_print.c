/* Prints index expressions (docs/grammar.md, Expressions). */
#include "ir/expr_impl.h"
#include "ir/lex.h"

/* An operand of *, div or mod. */
static void print_factor(Str *out, const Expr *e) {
  bool plain = e->kind == EX_SYM || e->kind == EX_VAR || e->kind == EX_MIN || e->kind == EX_MAX ||
               (e->kind == EX_CONST && e->value >= 0);
  if (!plain)
    str_putc(out, '(');
  expr_print(out, e);
  if (!plain)
    str_putc(out, ')');
}

/* The magnitude of coef, times the atom. */
static void print_term(Str *out, int64_t coef, const Expr *atom) {
  uint64_t m = magnitude(coef);
  if (m == 1) {
    expr_print(out, atom);
    return;
  }
  str_printf(out, "%llu*", (unsigned long long)m);
  if (atom->kind == EX_PROD)
    expr_print(out, atom);
  else
    print_factor(out, atom);
}

/* The terms by falling coefficient, equal ones in their order: each pass prints those of the next smaller one. */
static void print_sum(Str *out, const Expr *e) {
  bool first = true, more = true;
  for (int64_t last = INT64_MAX; more;) {
    int64_t next = INT64_MIN;
    more = false;
    for (int i = 0; i < e->n; i++) {
      int64_t c = e->terms[i].coef;
      if ((first || c < last) && c >= next) {
        next = c;
        more = true;
      }
    }
    for (int i = 0; i < e->n && more; i++) {
      if (e->terms[i].coef != next)
        continue;
      if (!first)
        str_put(out, next < 0 ? " - " : " + ");
      else if (next < 0)
        str_putc(out, '-');
      print_term(out, next, e->terms[i].atom);
      first = false;
    }
    last = next;
  }
  if (e->value != 0)
    str_printf(out, " %c %llu", e->value < 0 ? '-' : '+', (unsigned long long)magnitude(e->value));
}

void expr_print(Str *out, const Expr *e) {
  switch (e->kind) {
  case EX_CONST:
    str_printf(out, "%lld", (long long)e->value);
    return;
  case EX_SYM:
  case EX_VAR:
    if (lex_name_is_variable(e->name))
      str_put(out, e->name);
    else
      str_put_quoted(out, e->name);
    return;
  case EX_SUM:
    print_sum(out, e);
    return;
  case EX_PROD:
    if (e->a->kind == EX_PROD)
      expr_print(out, e->a);
    else
      print_factor(out, e->a);
    str_putc(out, '*');
    print_factor(out, e->b);
    return;
  case EX_DIV:
  case EX_MOD:
    print_factor(out, e->a);
    str_put(out, e->kind == EX_DIV ? " div " : " mod ");
    print_factor(out, e->b);
    return;
  case EX_MIN:
  case EX_MAX:
    str_put(out, e->kind == EX_MIN ? "min(" : "max(");
    expr_print(out, e->a);
    str_put(out, ", ");
    expr_print(out, e->b);
    str_putc(out, ')');
    return;
  }
}
