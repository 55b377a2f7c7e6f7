/* Where the nodes of a picture stand: rank by rank, those of a rank ordered by the mean column of what they read, and as near
 * to it as their width lets them. See picture.h. */
#include "frontend/cli/picture.h"

#include <stdlib.h>

typedef struct {
  int node;
  double wanted; /* column */
} Place;

static int compare_places(const void *a, const void *b) {
  const Place *x = a, *y = b;
  return x->wanted != y->wanted ? (x->wanted < y->wanted ? -1 : 1) : x->node - y->node;
}

/* Each at least 1 from the next, all moved so that their mean is where the mean of the wanted columns is. */
static void place_rank(Picture *p, Place *v, int n) {
  double at = 0, shift = 0;
  qsort(v, (size_t)n, sizeof *v, compare_places);
  for (int k = 0; k < n; k++) {
    at = k == 0 || v[k].wanted > at + 1 ? v[k].wanted : at + 1;
    p->nodes.data[v[k].node].column = at;
    shift += (v[k].wanted - at) / n;
  }
  for (int k = 0; k < n; k++)
    p->nodes.data[v[k].node].column += shift;
}

/* Lists of numbers below n, one for each rank. */
typedef struct {
  int *first, *next; /* -1: none */
} Lists;

static Lists lists_create(Ctx *ctx, int ranks, size_t n) {
  Lists l = {ARENA_ARRAY(ctx->arena, int, ranks), ARENA_ARRAY(ctx->arena, int, n)};
  for (int r = 0; r < ranks; r++)
    l.first[r] = -1;
  return l;
}

static void lists_add(Lists *l, int rank, int item) {
  l->next[item] = l->first[rank];
  l->first[rank] = item;
}

void picture_place(Ctx *ctx, Picture *p) {
  int n = (int)p->nodes.len;
  PicNode *nodes = p->nodes.data;
  double *sum = ARENA_ARRAY(ctx->arena, double, n);
  int *count = ARENA_ARRAY(ctx->arena, int, n);
  Place *places = ARENA_ARRAY(ctx->arena, Place, n);
  for (int k = 0; k < n; k++)
    p->ranks = nodes[k].rank >= p->ranks ? nodes[k].rank + 1 : p->ranks;
  Lists members = lists_create(ctx, p->ranks, p->nodes.len), leaving = lists_create(ctx, p->ranks, p->edges.len);
  for (int k = n - 1; k >= 0; k--)
    lists_add(&members, nodes[k].rank, k);
  for (int e = 0; e < (int)p->edges.len; e++)
    lists_add(&leaving, nodes[p->edges.data[e].from].rank, e);
  for (int r = 0; r < p->ranks; r++) {
    int width = 0;
    for (int k = members.first[r]; k >= 0; k = members.next[k], width++)
      places[width] = (Place){k, count[k] ? sum[k] / count[k] : width};
    place_rank(p, places, width);
    if (r == 0) /* its middle is the picture's */
      for (int k = 0; k < width; k++)
        nodes[places[k].node].column -= (width - 1) / 2.0;
    for (int e = leaving.first[r]; e >= 0; e = leaving.next[e]) {
      sum[p->edges.data[e].to] += nodes[p->edges.data[e].from].column;
      count[p->edges.data[e].to]++;
    }
  }
}
