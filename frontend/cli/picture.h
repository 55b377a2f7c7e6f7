/* A picture of a compiled graph: the nodes are groups of ops that one nest computes, views, inputs and outputs; each has a
 * rank (its row) and a column. Constants are no nodes. */
#ifndef WEFT_FRONTEND_CLI_PICTURE_H
#define WEFT_FRONTEND_CLI_PICTURE_H

#include "lower/loop.h"

typedef enum { PIC_INPUT, PIC_OUTPUT, PIC_OP, PIC_VIEW, PIC_RELAYOUT } PicKind;

/* Texts are UTF-8 without control characters and of bounded length, whatever the model calls its nodes. */
typedef struct {
  PicKind kind;
  const char *what, *name; /* "conv2d_transpose+relu"; the value */
  const char *type;        /* "f32[1,32,8,8]" */
  const char *node;        /* the user's name and place of it, or "" */
  int layout;              /* of the value, in Picture.layouts */
  const char *letters;     /* "NHWC" where the axes have letters, else the tag */
  int64_t flops, bytes;    /* of its nests: bytes read and written */
  int rank;
  double column;           /* in widths of a node, 0 in the middle */
} PicNode;

typedef struct {
  int from, to;
} PicEdge;

typedef struct {
  const char *title;
  VEC(PicNode) nodes;
  VEC(PicEdge) edges;
  VEC(const Layout *) layouts; /* the row-major ones count as one, the first */
  int ranks;
  int64_t flops, bytes, relayout_bytes; /* saturated sums */
  int relayouts;
} Picture;

/* p: the module's program, of constant extents. */
Picture *picture_make(Ctx *ctx, const Module *m, const LoopProgram *p);
/* Gives the nodes their columns, by their ranks and edges; picture_make calls it. */
void picture_place(Ctx *ctx, Picture *p);
/* Colours as #rrggbb, by layout; with more layouts than colours some share one. */
const char *picture_color(int layout);
const char *picture_layout_text(Ctx *ctx, const Picture *p, int layout);
/* "12.3 MFLOP", "7 FLOP" */
const char *picture_amount(Ctx *ctx, int64_t n, const char *unit);

/* As text for Graphviz, and as a page with the picture in it that needs nothing else. */
void picture_dot(Str *out, Ctx *ctx, const Picture *p);
void picture_html(Str *out, Ctx *ctx, const Picture *p);

#endif
