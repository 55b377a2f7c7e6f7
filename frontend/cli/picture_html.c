/* A picture as a page that needs nothing else: HTML with SVG in it, without scripts. */
#include "frontend/cli/picture.h"

static const double WIDTH = 210, HEIGHT = 76, GAP_X = 40, GAP_Y = 44, MARGIN = 20, BOW_MAX = 150;

static void put_text(Str *out, const char *text) {
  for (; *text; text++) {
    switch (*text) {
    case '&':
      str_put(out, "&amp;");
      break;
    case '<':
      str_put(out, "&lt;");
      break;
    case '>':
      str_put(out, "&gt;");
      break;
    case '"':
      str_put(out, "&quot;");
      break;
    case '\'':
      str_put(out, "&#39;");
      break;
    default:
      str_putc(out, *text);
    }
  }
}

static const char style[] = "body{font:13px sans-serif;margin:20px}td,th{padding:1px 10px;text-align:right}"
                            "td:first-child{text-align:left}.k{padding:2px 8px;margin-right:6px;border:1px solid #666}"
                            "rect{stroke:#666}.relayout{stroke:#d00000;stroke-width:5}.view{stroke-dasharray:5 4}"
                            "path{fill:none;stroke:#888;stroke-width:1.2}text{font-size:11px}.w{font-weight:bold}";

/* The least (sign 1) or largest (sign -1) column. */
static double outer_column(const Picture *p, int sign) {
  double outer = 0;
  for (size_t k = 0; k < p->nodes.len; k++)
    outer = sign * p->nodes.data[k].column < sign * outer ? p->nodes.data[k].column : outer;
  return outer;
}

static double x_of(const PicNode *n, double left) {
  return MARGIN + (n->column - left) * (WIDTH + GAP_X);
}

static double y_of(const PicNode *n) {
  return MARGIN + n->rank * (HEIGHT + GAP_Y);
}

/* From row to row downwards; past other rows around the right, the further the longer the way. */
static void put_edge(Str *out, const Picture *p, PicEdge e, double left) {
  const PicNode *a = &p->nodes.data[e.from], *b = &p->nodes.data[e.to];
  double x1 = x_of(a, left), y1 = y_of(a), x2 = x_of(b, left), y2 = y_of(b), bow = 12 + 6 * (b->rank - a->rank);
  if (b->rank > a->rank + 1) {
    double x = (x1 > x2 ? x1 : x2) + WIDTH + (bow < BOW_MAX ? bow : BOW_MAX);
    str_printf(out, "<path d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\" marker-end=\"url(#a)\"/>\n", x1 + WIDTH,
               y1 + HEIGHT / 2, x, y1 + HEIGHT, x, y2, x2 + WIDTH, y2 + HEIGHT / 2);
    return;
  }
  x1 += WIDTH / 2;
  x2 += WIDTH / 2;
  str_printf(out, "<path d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\" marker-end=\"url(#a)\"/>\n", x1, y1 + HEIGHT,
             x1, y1 + HEIGHT + GAP_Y, x2, y2 - GAP_Y, x2, y2);
}

static void put_line(Str *out, double x, double y, const char *class, const char *text) {
  str_printf(out, "<text%s x=\"%.0f\" y=\"%.0f\">", class, x, y);
  put_text(out, text);
  str_put(out, "</text>");
}

/* At most `most` characters of a UTF-8 text. */
static const char *cut(Ctx *ctx, const char *text, int most) {
  const char *p = text;
  for (int k = 0; k < most && *p; k++)
    p += utf8_length(p, strlen(p));
  return *p ? arena_printf(ctx->arena, "%.*s...", (int)(p - text), text) : text;
}

static void put_node(Str *out, Ctx *ctx, const PicNode *n, double left) {
  double x = x_of(n, left), y = y_of(n);
  bool outside = n->kind == PIC_INPUT || n->kind == PIC_OUTPUT;
  const char *amounts = arena_printf(ctx->arena, "%s%s%s", n->flops ? picture_amount(ctx, n->flops, "FLOP") : "",
                                     n->flops ? ", " : "", n->bytes ? picture_amount(ctx, n->bytes, "B") : "");
  str_put(out, "<g><title>");
  put_text(out, arena_printf(ctx->arena, "%s\n%s : %s %s\n%s\n%lld FLOP, %lld bytes", n->what, n->name, n->type,
                             n->letters, n->node, (long long)n->flops, (long long)n->bytes));
  str_printf(out, "</title><rect%s x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"%.0f\" fill=\"%s\"/>",
             n->kind == PIC_RELAYOUT ? " class=\"relayout\""
             : n->kind == PIC_VIEW   ? " class=\"view\""
                                     : "",
             x, y, WIDTH, HEIGHT, outside ? HEIGHT / 2 : 4, picture_color(n->layout));
  double indent = outside ? 30 : 8;
  put_line(out, x + indent, y + 17, " class=\"w\"", cut(ctx, n->what, outside ? 20 : 28));
  put_line(out, x + indent, y + 33, "", cut(ctx, n->name, outside ? 22 : 30));
  put_line(out, x + indent, y + 49, "", cut(ctx, arena_printf(ctx->arena, "%s %s", n->type, n->letters), 34));
  put_line(out, x + indent, y + 65, "", amounts);
  str_put(out, "</g>\n");
}

static void put_head(Str *out, Ctx *ctx, const Picture *p) {
  str_put(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
  put_text(out, p->title);
  str_printf(out, "</title><style>%s</style></head><body>\n<h1>", style);
  put_text(out, p->title);
  str_printf(out, "</h1>\n<p>%zu nodes, %s, %s read and written; %d relayout%s with %s of it.</p>\n<p>",
             p->nodes.len, picture_amount(ctx, p->flops, "FLOP"), picture_amount(ctx, p->bytes, "B"), p->relayouts,
             p->relayouts == 1 ? "" : "s", picture_amount(ctx, p->relayout_bytes, "B"));
  for (size_t k = 0; k < p->layouts.len; k++) {
    str_printf(out, "<span class=\"k\" style=\"background:%s\">", picture_color((int)k));
    put_text(out, picture_layout_text(ctx, p, (int)k));
    str_put(out, "</span>");
  }
  str_put(out, "</p>\n");
}

static void put_relayouts(Str *out, Ctx *ctx, const Picture *p) {
  if (!p->relayouts)
    return;
  str_put(out, "<table><tr><th>relayout</th><th>bytes</th><th>type</th><th>to</th></tr>\n");
  for (size_t k = 0; k < p->nodes.len; k++) {
    const PicNode *n = &p->nodes.data[k];
    if (n->kind != PIC_RELAYOUT)
      continue;
    str_put(out, "<tr><td>");
    put_text(out, n->name);
    str_printf(out, "</td><td>%s</td><td>%s</td><td>", picture_amount(ctx, n->bytes, "B"), n->type);
    put_text(out, n->letters);
    str_put(out, "</td></tr>\n");
  }
  str_put(out, "</table>\n");
}

void picture_html(Str *out, Ctx *ctx, const Picture *p) {
  double left = outer_column(p, 1), width = 2 * MARGIN + (outer_column(p, -1) - left) * (WIDTH + GAP_X) + WIDTH + BOW_MAX;
  put_head(out, ctx, p);
  put_relayouts(out, ctx, p);
  str_printf(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\"><defs><marker id=\"a\" "
             "viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path "
             "d=\"M0 0L8 4L0 8\"/></marker></defs>\n",
             width, 2 * MARGIN + p->ranks * (HEIGHT + GAP_Y) - GAP_Y);
  for (size_t k = 0; k < p->edges.len; k++)
    put_edge(out, p, p->edges.data[k], left);
  for (size_t k = 0; k < p->nodes.len; k++)
    put_node(out, ctx, &p->nodes.data[k], left);
  str_put(out, "</svg></body></html>\n");
}
