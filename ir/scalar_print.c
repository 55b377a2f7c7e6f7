/* The printer of scalar expressions. A number takes its type from its place, as scalar_parse and the parser of loop
 * nests have it: from the other operands, else from what is wanted there. Where that is not its type, the number is
 * printed as a cast: f64(2.0). */
#include <math.h>

#include "ir/scalar.h"

/* How tightly each form binds, as the grammar nests them. */
enum { BIND_COMPARISON, BIND_SUM, BIND_PRODUCT, BIND_UNARY, BIND_PRIMARY };

typedef struct {
  Str *out;
  void (*arg_text)(Str *out, int k, const void *env);
  const void *env;
} Printer;

static bool is_comparison(const Scalar *s) {
  return s->op >= SC_LT && s->op <= SC_NE;
}

static bool is_negative(const Scalar *s) {
  return dtype_is_float(s->dtype) ? signbit(s->value) && !isnan(s->value) : dtype_is_signed(s->dtype) && s->bits < 0;
}

static int binding(const Scalar *s, bool bare) {
  if (is_comparison(s))
    return BIND_COMPARISON;
  switch (s->op) {
  case SC_ADD:
  case SC_SUB:
    return BIND_SUM;
  case SC_MUL:
  case SC_DIV:
    return BIND_PRODUCT;
  case SC_NEG:
    return BIND_UNARY;
  case SC_CONST:
    return bare && is_negative(s) ? BIND_UNARY : BIND_PRIMARY;
  default:
    return BIND_PRIMARY;
  }
}

static void print_number(Str *out, const Scalar *s) {
  if (dtype_is_float(s->dtype))
    str_put_float(out, s->value, s->dtype == DT_F32);
  else if (s->dtype == DT_U64)
    str_printf(out, "%llu", (unsigned long long)s->bits);
  else
    str_printf(out, "%lld", (long long)s->bits);
}

static void print(const Printer *p, const Scalar *s, int place, DType wanted);

/* What is wanted of operand k. Of a number: the type of the operands that are none; of all else, what its place says
 * before the other operands are known. */
static DType wanted_operand(const Scalar *s, int k, DType wanted) {
  int first = s->op == SC_SELECT;
  if (k < first)
    return DT_BOOL;
  for (int j = first; j < s->n && s->args[k]->op == SC_CONST; j++)
    if (s->args[j]->op != SC_CONST)
      return s->args[j]->dtype;
  return is_comparison(s) && k > 0 ? DT_F32 : s->op == SC_CAST ? s->dtype : wanted;
}

static void print_call(const Printer *p, const Scalar *s, DType wanted) {
  str_printf(p->out, "%s(", s->op == SC_CAST ? dtype_name(s->dtype) : scalar_op_name(s->op));
  for (int k = 0; k < s->n; k++) {
    str_put(p->out, k ? ", " : "");
    print(p, s->args[k], BIND_COMPARISON, wanted_operand(s, k, wanted));
  }
  str_putc(p->out, ')');
}

/* In parentheses where it binds less tightly than its place asks for. */
static void print(const Printer *p, const Scalar *s, int place, DType wanted) {
  bool bare = s->dtype == wanted;
  int bind = binding(s, bare);
  const char *infix = scalar_op_infix(s->op);
  if (bind < place)
    str_putc(p->out, '(');
  if (s->op == SC_CONST) {
    if (!bare)
      str_printf(p->out, "%s(", dtype_name(s->dtype));
    print_number(p->out, s);
    str_put(p->out, bare ? "" : ")");
  } else if (s->op == SC_ARG) {
    p->arg_text(p->out, s->index, p->env);
  } else if (s->op == SC_NEG) {
    str_putc(p->out, '-');
    print(p, s->args[0], BIND_PRIMARY, wanted_operand(s, 0, wanted));
  } else if (infix) { /* left-associative, comparisons not at all */
    print(p, s->args[0], bind == BIND_COMPARISON ? BIND_SUM : bind, wanted_operand(s, 0, wanted));
    str_printf(p->out, " %s ", infix);
    print(p, s->args[1], bind + 1, wanted_operand(s, 1, wanted));
  } else {
    print_call(p, s, wanted);
  }
  if (bind < place)
    str_putc(p->out, ')');
}

void scalar_print(Str *out, const Scalar *s, void (*arg_text)(Str *out, int k, const void *env), const void *env) {
  print(&(Printer){out, arg_text, env}, s, BIND_COMPARISON, s->dtype);
}
