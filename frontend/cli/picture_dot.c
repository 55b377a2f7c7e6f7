/* A picture in Graphviz's language, which finds places of its own for the nodes. */
#include "frontend/cli/picture.h"

static void put_string(Str *out, const char *text) {
  for (; *text; text++) {
    if (*text == '"' || *text == '\\')
      str_putc(out, '\\');
    str_putc(out, *text);
  }
}

static void put_node(Str *out, Ctx *ctx, const Picture *p, int k) {
  const PicNode *n = &p->nodes.data[k];
  bool outside = n->kind == PIC_INPUT || n->kind == PIC_OUTPUT;
  str_printf(out, "  n%d [fillcolor=\"%s\"%s label=\"", k, picture_color(n->layout),
             n->kind == PIC_RELAYOUT ? " color=\"#d00000\" penwidth=4"
             : n->kind == PIC_VIEW   ? " style=\"filled,dashed\""
             : outside               ? " shape=ellipse"
                                     : "");
  put_string(out, n->what);
  str_put(out, "\\n");
  put_string(out, n->name);
  str_printf(out, "\\n%s ", n->type);
  put_string(out, n->letters);
  if (n->flops)
    str_printf(out, "\\n%s", picture_amount(ctx, n->flops, "FLOP"));
  if (n->bytes)
    str_printf(out, "\\n%s", picture_amount(ctx, n->bytes, "B"));
  str_put(out, "\" tooltip=\"");
  put_string(out, n->node);
  str_put(out, "\"];\n");
}

void picture_dot(Str *out, Ctx *ctx, const Picture *p) {
  str_put(out, "digraph \"");
  put_string(out, p->title);
  str_put(out, "\" {\n  node [shape=box style=filled fontname=\"sans-serif\" fontsize=11];\n");
  for (size_t k = 0; k < p->layouts.len; k++) {
    str_printf(out, "  l%zu [shape=plaintext fillcolor=\"%s\" label=\"", k, picture_color((int)k));
    put_string(out, picture_layout_text(ctx, p, (int)k));
    str_put(out, "\"];\n");
  }
  for (size_t k = 0; k < p->nodes.len; k++)
    put_node(out, ctx, p, (int)k);
  for (size_t k = 0; k < p->edges.len; k++)
    str_printf(out, "  n%d -> n%d;\n", p->edges.data[k].from, p->edges.data[k].to);
  str_put(out, "}\n");
}
