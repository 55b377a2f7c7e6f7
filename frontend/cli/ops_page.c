/* The op tables as text, and as a page of Markdown. See ops_page.h. */
#include "frontend/cli/ops_page.h"

#include <stdio.h>

#include "frontend/onnx.h"

/* ---- rows of weft's ops ---- */

const char *attr_describe(Ctx *ctx, const OpDef *def, const AttrDef *a) {
  static const char *const kinds[] = {"int", "ints", "float", "word", "type", "text", "constant"};
  Str s = str_new(ctx->arena);
  str_printf(&s, "%s: %s", a->name, kinds[a->kind]);
  if (a->kind == ATTR_INTS && a->len != LEN_ANY)
    str_printf(&s, " (%d)", def->spatial * (a->len == LEN_2SPATIAL ? 2 : 1));
  if (a->required || a->kind == ATTR_CONSTANT)
    str_put(&s, ", required");
  else if (a->kind == ATTR_WORD)
    str_printf(&s, " = %.*s, of %s", (int)strcspn(a->words, "|"), a->words, a->words);
  else if (a->kind == ATTR_TEXT)
    str_printf(&s, " = \"%s\"", a->words);
  else if (a->kind == ATTR_INTS && a->len == LEN_ANY)
    str_put(&s, " = []");
  else
    str_printf(&s, " = %g", a->fill);
  return s.data;
}

const char *operands_describe(Ctx *ctx, const OpDef *def) {
  Str s = str_new(ctx->arena);
  for (int k = 0; k < def->n_operands; k++) {
    const OperandDef *o = &def->operands[k];
    const char *roles = op_roles(ctx, def, o->roles);
    str_printf(&s, "%s%s%s%s%s", k ? ", " : "", o->name, roles[0] ? " " : "", roles,
               o->optional   ? "?"
               : o->variadic ? "..."
                             : "");
  }
  return s.data;
}

/* The classes of both lists; w, the wide integers, are a part of i. */
static const char *types_of_both(Ctx *ctx, const char *a, const char *b) {
  Str s = str_new(ctx->arena);
  for (const char *c = "fiwb"; *c; c++) {
    bool in_a = memchr(a, *c, strcspn(a, ">")), in_b = memchr(b, *c, strcspn(b, ">"));
    if (*c == 'w')
      in_a = in_a || (in_b && strchr(a, 'i')), in_b = in_b || (in_a && strchr(b, 'i'));
    if (in_a && in_b)
      str_putc(&s, *c);
  }
  return s.data;
}

/* What all ops of a formula take: names with a parenthesis behind them, where they are ops. */
static const char *formula_types(Ctx *ctx, const char *formula) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
  const char *types = "fib";
  for (const char *p = formula; *p;) {
    size_t n = strspn(p, letters);
    const OpDef *def = n && p[n] == '(' ? op_find(p, n) : NULL;
    if (def && def->types)
      types = types_of_both(ctx, types, def->types);
    p += n ? n : 1;
  }
  return types;
}

const char *types_describe(Ctx *ctx, const OpDef *def) {
  if (def->traits & OP_COMPOSITE)
    return op_types_text(ctx, formula_types(ctx, def->expression));
  if (!def->types)
    return def->traits & (OP_VIEW | OP_MOVE | OP_COPY | OP_LEAF) ? "any" : "?";
  const char *result = strchr(def->types, '>'), *taken = op_types_text(ctx, def->types);
  if (!result)
    return taken;
  return arena_printf(ctx->arena, "%s; the result's type is %s", taken,
                      strcmp(result + 1, "to") == 0 ? "what 'to' says" : result + 1);
}

/* ---- Markdown ---- */

/* One cell: a bar would end it. */
static void print_cell(const char *text) {
  printf(" ");
  for (; *text; text++)
    printf(*text == '|' ? "\\|" : "%c", *text);
  printf(" |");
}

static void print_op_row(Ctx *ctx, const OpDef *def) {
  Str attrs = str_new(ctx->arena);
  for (int k = 0; k < def->n_attrs; k++)
    str_printf(&attrs, "%s%s", k ? "; " : "", attr_describe(ctx, def, &def->attrs[k]));
  printf("|");
  print_cell(arena_printf(ctx->arena, "`%s`", def->name));
  print_cell(operands_describe(ctx, def));
  print_cell(attrs.data);
  print_cell(types_describe(ctx, def));
  print_cell(def->doc);
  printf("\n");
}

/* "7 to 28", of the rows first..last-1, which are one operator's in rising opsets. */
static const char *opsets(Ctx *ctx, const OnnxRow *first, const OnnxRow *last) {
  Str s = str_new(ctx->arena);
  while (first < last) {
    const OnnxRow *end = first + 1;
    while (end < last && end->since == end[-1].until + 1)
      end++;
    str_printf(&s, "%s%d to %d", s.len ? ", " : "",
               first->since > ONNX_OLDEST_OPSET ? first->since : ONNX_OLDEST_OPSET,
               end[-1].until ? end[-1].until : ONNX_NEWEST_OPSET);
    first = end;
  }
  return s.data;
}

static const char *operand_count(Ctx *ctx, const OnnxRow *row) {
  if (row->max_inputs < 0)
    return arena_printf(ctx->arena, "%d or more", row->min_inputs);
  return arena_printf(ctx->arena, row->max_inputs > row->min_inputs ? "%d to %d" : "%d", row->min_inputs,
                      row->max_inputs);
}

static void print_onnx_row(Ctx *ctx, const OnnxRow *first, const OnnxRow *last) {
  const OnnxRow *row = last - 1;
  const OpDef *def = row->code < OP_COUNT ? &op_table[row->code] : NULL;
  const char *note = onnx_note(row->type);
  printf("|");
  print_cell(arena_printf(ctx->arena, "`%s`", row->type));
  print_cell(opsets(ctx, first, last));
  print_cell(operand_count(ctx, row));
  print_cell(def ? arena_printf(ctx->arena, "`%s`", def->name) : "");
  print_cell(def ? types_describe(ctx, def) : "");
  print_cell(note ? note : "");
  printf("\n");
}

void ops_page_print(Ctx *ctx) {
  printf("# Operators\n\n"
         "Written by `weft ops --markdown` from ir/ops.def and frontend/onnx_ops.def; the test `docs` compares.\n\n"
         "Element types: floats are f16, bf16, f32 and f64; integers i8 to i64 and u8 to u64.\n\n"
         "## weft\n\n"
         "Operands are written with the letters of their axes, `?` behind one that may be left out, `...` behind one\n"
         "that may be given many times. A number behind `ints` says how many.\n\n"
         "| operator | operands | attributes | element types | computes |\n| --- | --- | --- | --- | --- |\n");
  for (int k = 0; k < OP_COUNT; k++)
    print_op_row(ctx, &op_table[k]);
  printf("\n## ONNX\n\n"
         "docs/onnx.md says how models are read. The number of operands is that of the newest opset. Where an operator\n"
         "has an op of weft as its core, that and its element types are named; the others are made of several ops, or of\n"
         "one for each number of axes, and take what ONNX allows among the types above. What goes beyond a limit is\n"
         "refused with exit status 4 and the node's name.\n\n"
         "| operator | opsets | operands | op of weft | element types | limits |\n| --- | --- | --- | --- | --- | --- |\n");
  size_t n;
  const OnnxRow *rows = onnx_rows(&n);
  for (size_t k = 0, end; k < n; k = end) {
    for (end = k + 1; end < n && strcmp(rows[end].type, rows[k].type) == 0;)
      end++;
    print_onnx_row(ctx, rows + k, rows + end);
  }
}
