/* The printer of graphs in the text form, docs/grammar.md.
 *
 * The text depends on the module alone, not on the order in which nodes were made nor on addresses: it is what tests
 * compare and what a stage is read back from. */
#include "ir/print.h"
#include "ir/lex.h"
#include "ir/tensor.h"

#include <math.h>
#include <stdlib.h>

/* ---- names and places ---- */

static void print_name(Str *out, const char *sigil, const char *name) {
  str_put(out, sigil);
  if (lex_name_is_plain(name, *sigil))
    str_put(out, name);
  else
    str_put_quoted(out, name);
}

void print_value_name(Str *out, const char *name) {
  print_name(out, "%", name);
}

void print_symbol_name(Str *out, const char *name) {
  print_name(out, "@", name);
}

void print_bare_name(Str *out, const char *name) {
  print_name(out, "", name);
}

void print_loc(Str *out, Loc loc) {
  str_put(out, " loc(");
  str_put_quoted(out, loc.file ? loc.file : "");
  if (loc.file && loc.line > 0)
    str_printf(out, ":%d:%d", loc.line, loc.col > 0 ? loc.col : 0);
  if (loc.node && *loc.node) {
    str_putc(out, ' ');
    str_put_quoted(out, loc.node);
  }
  str_putc(out, ')');
}

void print_roles(Str *out, const char *roles) {
  if (!roles)
    return;
  str_put(out, " as ");
  str_put_quoted(out, roles);
}

/* ---- symbols ---- */

static bool same_node(const void *item, const void *key) {
  return item == key;
}

void symbols_of_expr(Ctx *ctx, SymbolSet *set, const Expr *e) {
  if (e->kind == EX_CONST || e->kind == EX_VAR)
    return;
  uint64_t hash = hash_bytes(WEFT_HASH_SEED, &e, sizeof e);
  if (intern_find(&set->seen, hash, same_node, e))
    return;
  intern_add(ctx, &set->seen, hash, e);
  if (e->kind == EX_SYM)
    vec_push(ctx->arena, &set->list, e);
  if (e->a) {
    symbols_of_expr(ctx, set, e->a);
    symbols_of_expr(ctx, set, e->b);
  }
  for (int k = 0; k < e->n; k++)
    symbols_of_expr(ctx, set, e->terms[k].atom);
}

void symbols_of_type(Ctx *ctx, SymbolSet *set, const Type *type) {
  for (int k = 0; k < type->rank; k++)
    symbols_of_expr(ctx, set, type->dims[k]);
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(const Expr *const *)a)->name, (*(const Expr *const *)b)->name);
}

static void print_symbols(Str *out, SymbolSet *set) {
  if (set->list.len)
    qsort(set->list.data, set->list.len, sizeof *set->list.data, by_name);
  for (size_t k = 0; k < set->list.len; k++) {
    const Expr *e = set->list.data[k];
    str_put(out, "dim ");
    expr_print(out, e);
    str_printf(out, " in %lld..%lld\n", (long long)e->lo, (long long)e->hi);
  }
}

/* ---- constants ---- */

/* Up to so many elements are listed as numbers. */
#define MAX_LISTED 64

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "hex content is printed as it lies in memory");

static void print_element(Str *out, DType dtype, const void *p) {
  Tensor element = {.dtype = dtype, .n = 1, .data = (void *)(uintptr_t)p}; /* only read */
  uint64_t u = 0;
  switch (dtype) {
  case DT_F32:
  case DT_F16:
  case DT_BF16:
    str_put_float(out, tensor_get(&element, 0), true);
    return;
  case DT_F64:
    str_put_float(out, tensor_get(&element, 0), false);
    return;
  case DT_U64:
    memcpy(&u, p, sizeof u);
    str_printf(out, "%llu", (unsigned long long)u);
    return;
  case DT_I64:
    memcpy(&u, p, sizeof u);
    str_printf(out, "%lld", (long long)u);
    return;
  default:
    str_printf(out, "%lld", (long long)tensor_get(&element, 0));
    return;
  }
}

static void print_hex(Str *out, const unsigned char *p, size_t size) {
  for (size_t k = 0; k < size; k++) {
    str_putc(out, "0123456789abcdef"[p[k] >> 4]);
    str_putc(out, "0123456789abcdef"[p[k] & 15]);
  }
}

/* The elements in logical row-major order, as a list where that is short and says all. Their padding lanes, which may
 * hold NaN of their own, are not looked at. */
static void print_content(Str *out, Module *m, Constant *c) {
  const Type *type = c->type;
  const unsigned char *data = constant_data(m, c);
  size_t size = dtype_size(type->dtype);
  Tensor walk = {.dtype = type->dtype, .rank = type->rank, .n = 1};
  WEFT_ASSERT(type_shape(type, walk.shape));
  for (int k = 0; k < type->rank; k++)
    walk.n *= walk.shape[k];
  bool list = walk.n <= MAX_LISTED;
  int64_t index[WEFT_MAX_RANK] = {0};
  for (int64_t k = 0; list && k < walk.n; k++, tensor_next_index(&walk, index)) {
    Tensor element = {.dtype = type->dtype, .n = 1};
    element.data = (void *)(uintptr_t)(data + (size_t)layout_offset(type->layout, walk.shape, index) * size);
    list = !isnan(tensor_get(&element, 0));
  }
  memset(index, 0, sizeof index);
  str_put(out, list ? "[" : "hex \"");
  for (int64_t k = 0; k < walk.n; k++, tensor_next_index(&walk, index)) {
    const unsigned char *element = data + (size_t)layout_offset(type->layout, walk.shape, index) * size;
    if (!list) {
      print_hex(out, element, size);
      continue;
    }
    str_put(out, k ? ", " : "");
    print_element(out, type->dtype, element);
  }
  str_put(out, list ? "]" : "\"");
}

static void print_constant(Str *out, Module *m, Constant *c, PrintOptions options) {
  str_put(out, "const ");
  print_symbol_name(out, c->name);
  str_put(out, " : ");
  type_print(out, c->type);
  str_put(out, " = ");
  if (c->base) {
    str_put(out, "relayout(");
    print_symbol_name(out, c->base->name);
    str_putc(out, ')');
  } else if (options.file_refs && c->file) {
    str_put(out, "file(");
    str_put_quoted(out, c->file);
    if (c->tensor) {
      str_put(out, ", ");
      str_put_quoted(out, c->tensor);
    }
    str_putc(out, ')');
  } else {
    print_content(out, m, c);
  }
  if (options.locations)
    print_loc(out, c->loc);
  str_putc(out, '\n');
}

void print_preamble(Str *out, Module *m, SymbolSet *symbols, PrintOptions options) {
  str_put(out, "weft 1 model ");
  str_put_quoted(out, m->name);
  str_putc(out, '\n');
  print_symbols(out, symbols);
  for (Constant *c = m->first_constant; c; c = c->next)
    print_constant(out, m, c, options);
}

/* ---- functions ---- */

static bool is_default(const OpDef *def, const AttrDef *attr, const Attr *value) {
  if (attr->required)
    return false;
  switch (attr->kind) {
  case ATTR_INT:
  case ATTR_WORD:
  case ATTR_DTYPE:
    return (double)value->i == attr->fill;
  case ATTR_FLOAT:
    return value->f == attr->fill;
  case ATTR_INTS:
    for (int k = 0; k < value->n; k++)
      if ((double)value->ints[k] != attr->fill)
        return false;
    return value->n == (attr->len == LEN_SPATIAL ? def->spatial : attr->len == LEN_2SPATIAL ? 2 * def->spatial : 0);
  case ATTR_TEXT:
    return strcmp(value->text, attr->words) == 0;
  case ATTR_CONSTANT:
    return false;
  }
  WEFT_UNREACHABLE();
}

static void print_attr(Str *out, const AttrDef *def, const Attr *attr) {
  const char *word;
  size_t len;
  str_printf(out, "%s = ", def->name);
  switch (def->kind) {
  case ATTR_INT:
    str_printf(out, "%lld", (long long)attr->i);
    return;
  case ATTR_FLOAT:
    str_put_float(out, attr->f, false);
    return;
  case ATTR_INTS:
    str_putc(out, '[');
    for (int k = 0; k < attr->n; k++)
      str_printf(out, "%s%lld", k ? ", " : "", (long long)attr->ints[k]);
    str_putc(out, ']');
    return;
  case ATTR_WORD:
    word = attr_word(def, attr->i, &len);
    str_putn(out, word, len);
    return;
  case ATTR_DTYPE:
    str_put(out, dtype_name((DType)attr->i));
    return;
  case ATTR_TEXT:
    str_put_quoted(out, attr->text);
    return;
  case ATTR_CONSTANT:
    print_symbol_name(out, attr->constant->name);
    return;
  }
}

static void print_operands(Str *out, const Op *op) {
  int n = op->n_operands;
  while (n > 0 && !op->operands[n - 1])
    n--;
  str_putc(out, '(');
  for (int k = 0; k < n; k++) {
    str_put(out, k ? ", " : "");
    if (op->operands[k])
      print_value_name(out, op->operands[k]->name);
    else
      str_put(out, "null");
  }
  str_putc(out, ')');
}

void op_print(Str *out, const Op *op) {
  if (op->result) {
    print_value_name(out, op->result->name);
    str_put(out, " = ");
  }
  str_put(out, op->def->name);
  if (op->fused) {
    str_put(out, " fused(");
    print_value_name(out, op->fused->name);
    str_putc(out, ')');
  }
  print_operands(out, op);
  bool any = false;
  for (int k = 0; k < op->def->n_attrs; k++) {
    if (!op->attrs[k].set || is_default(op->def, &op->def->attrs[k], &op->attrs[k]))
      continue;
    str_put(out, any ? ", " : " {");
    print_attr(out, &op->def->attrs[k], &op->attrs[k]);
    any = true;
  }
  str_put(out, any ? "}" : "");
  if (op->result) {
    str_put(out, " : ");
    type_print(out, op->result->type);
  }
}

static void print_head(Str *out, const Function *f, PrintOptions options) {
  str_put(out, "func ");
  print_symbol_name(out, f->name);
  str_putc(out, '(');
  for (size_t k = 0; k < f->params.len; k++) {
    const Value *v = f->params.data[k];
    str_put(out, k ? ", " : "");
    print_value_name(out, v->name);
    str_put(out, ": ");
    type_print(out, v->type);
    print_roles(out, v->roles);
    if (options.locations)
      print_loc(out, v->loc);
  }
  str_put(out, ") -> (");
  for (size_t k = 0; k < f->results.len; k++) {
    const FuncResult *r = &f->results.data[k];
    str_put(out, k ? ", " : "");
    print_bare_name(out, r->name);
    str_put(out, ": ");
    type_print(out, r->type);
    print_roles(out, r->roles);
  }
  str_put(out, ") {\n");
}

static void symbols_of_function(Ctx *ctx, SymbolSet *set, const Function *f) {
  for (size_t k = 0; k < f->params.len; k++)
    symbols_of_type(ctx, set, f->params.data[k]->type);
  for (size_t k = 0; k < f->results.len; k++)
    symbols_of_type(ctx, set, f->results.data[k].type);
  for (const Op *op = f->first; op; op = op->next)
    symbols_of_type(ctx, set, op->result->type);
}

void module_print(Str *out, Module *m, PrintOptions options) {
  const Function *f = m->main;
  SymbolSet symbols = {0};
  symbols_of_function(m->ctx, &symbols, f);
  print_preamble(out, m, &symbols, options);
  print_head(out, f, options);
  for (const Op *op = f->first; op; op = op->next) {
    str_put(out, "  ");
    op_print(out, op);
    if (options.locations)
      print_loc(out, op->loc);
    str_putc(out, '\n');
  }
  str_put(out, "  return");
  for (size_t k = 0; k < f->results.len; k++) {
    str_put(out, k ? ", " : " ");
    print_value_name(out, f->results.data[k].value->name);
  }
  str_put(out, "\n}\n");
}
