/* Tiles that are stored across their vectors.
 *
 *   unroll r { vector l { target[..., l, ..., r] = value } }
 *
 * computes vectors along l while the target's consecutive elements lie along r, as where channels are computed in
 * lockstep and pixels are neighbours in memory. Storing lane by lane costs as much as the arithmetic, so the tile is
 * transposed in registers, P rows of L lanes at a time (P the power of two at or above the rows, at most L), and stored
 * along r. As one sequence of P*L elements the tile is in the order r*L + l; a perfect shuffle (the first half
 * interleaved with the second) rotates the bits of the position by one, so log2(P) of them give the order l*P + r.
 * Where the rows fill the gaps between the lanes, as the phases of a transposed convolution do, the tile is one run. */
#include "codegen/llvm_gen.h"

#define MAX_ROWS 64 /* of a vector: bytes */

typedef struct {
  const Stmt *store;
  const Expr *row, *lane;
  int64_t gap; /* from one lane to the next in the target, in elements */
} Tile;

/* How far an access moves in memory from one value of var to the next; false where that varies. */
static bool step_along(Gen *g, const Access *access, const Expr *var, int64_t *step) {
  return expr_linear(gen_offset(g, access), var, step);
}

static bool is_tile(Gen *g, const Stmt *unroll, Tile *tile) {
  const Stmt *vector = unroll->body;
  if (!vector || vector->next || vector->kind != ST_LOOP || vector->loop != LOOP_VECTOR)
    return false;
  const Stmt *s = vector->body;
  if (!s || s->next || s->kind != ST_STORE || s->target.buffer->type->dtype == DT_BOOL)
    return false;
  for (int k = 0; k < s->n_args; k++) /* all is read before anything is written */
    if (s->args[k].buffer && gen_may_overlap(s->args[k].buffer, s->target.buffer))
      return false;
  *tile = (Tile){.store = s, .row = unroll->var, .lane = vector->var};
  int64_t down;
  return step_along(g, &s->target, tile->row, &down) && step_along(g, &s->target, tile->lane, &tile->gap) &&
         down == 1 && tile->gap != 1 && tile->gap != 0;
}

/* The low or high half of a and b, each of `lanes` lanes, interleaved. */
static LLVMValueRef interleave(Gen *g, LLVMValueRef a, LLVMValueRef b, int lanes, bool high) {
  int mask[MAX_ROWS];
  for (int l = 0; l < lanes; l++)
    mask[l] = (high ? lanes / 2 : 0) + l / 2 + (l % 2 ? lanes : 0);
  return gen_shuffle(g, a, b, mask, lanes);
}

/* rows vectors of `lanes` become lanes vectors of `rows`, both powers of two, rows <= lanes: column l is part l % k of
 * vector l / k, k = lanes / rows. */
static void transpose(Gen *g, LLVMValueRef *v, int rows, int lanes) {
  LLVMValueRef next[MAX_ROWS];
  for (int done = 1; done < rows; done *= 2) {
    for (int k = 0; k < rows / 2; k++) {
      next[2 * k] = interleave(g, v[k], v[k + rows / 2], lanes, false);
      next[2 * k + 1] = interleave(g, v[k], v[k + rows / 2], lanes, true);
    }
    memcpy(v, next, (size_t)rows * sizeof *v);
  }
}

static int power_of_two(int64_t n) {
  int p = 1;
  while (p < n)
    p *= 2;
  return p;
}

/* rows vectors of `lanes` become as many that hold all elements in the order l*rows + r. */
static void weave(Gen *g, LLVMValueRef *v, int rows, int lanes) {
  LLVMValueRef woven[MAX_ROWS];
  int mask[MAX_ROWS];
  if (power_of_two(rows) == rows) {
    transpose(g, v, rows, lanes);
    return;
  }
  for (int k = 0; k < rows; k++) {
    woven[k] = llvm.GetPoison(llvm.TypeOf(v[0]));
    for (int r = 0; r < rows; r++) {
      for (int l = 0; l < lanes; l++) {
        int element = k * lanes + l;
        mask[l] = element % rows == r ? lanes + element / rows : l;
      }
      woven[k] = gen_shuffle(g, woven[k], v[r], mask, lanes);
    }
  }
  memcpy(v, woven, (size_t)rows * sizeof *v);
}

/* The values of `rows` rows from row0 on, `lanes` lanes from lane0 on. */
static void gen_rows(Gen *g, const Tile *tile, const Expr *row0, int rows, const Expr *lane0, int lanes,
                     LLVMValueRef *v) {
  for (int r = 0; r < rows; r++) {
    gen_push_constant(g, tile->row, expr_add_const(g->ctx, row0, r));
    v[r] = gen_value(g, tile->store, (GenLanes){tile->lane, lane0, lanes});
    if (!gen_is_vector(v[r]))
      v[r] = gen_splat(g, v[r], lanes);
    g->vars.len--;
  }
}

/* The same part of a tile whose rows fill the gaps: one run of rows*lanes elements. */
static void gen_run(Gen *g, const Tile *tile, const Expr *row0, int rows, const Expr *lane0, int lanes) {
  LLVMValueRef v[MAX_ROWS];
  gen_rows(g, tile, row0, rows, lane0, lanes, v);
  weave(g, v, rows, lanes);
  gen_push_constant(g, tile->lane, lane0);
  for (int k = 0; k < rows; k++, g->stores++)
    gen_store(g, &tile->store->target, v[k], (GenLanes){tile->row, expr_add_const(g->ctx, row0, k * lanes), lanes});
  g->vars.len--;
}

/* A part of a tile, lanes a power of two. */
static void gen_part(Gen *g, const Tile *tile, const Expr *row0, int rows, const Expr *lane0, int lanes) {
  LLVMValueRef v[MAX_ROWS];
  int all = power_of_two(rows);
  gen_rows(g, tile, row0, rows, lane0, lanes, v);
  for (int r = rows; r < all; r++)
    v[r] = llvm.GetPoison(llvm.TypeOf(v[0]));
  transpose(g, v, all, lanes);
  int columns = lanes / all;
  for (int l = 0; l < lanes; l++) {
    int mask[MAX_ROWS];
    for (int r = 0; r < rows; r++)
      mask[r] = l % columns * all + r;
    LLVMValueRef column = v[l / columns];
    if (rows < lanes)
      column = gen_shuffle(g, column, llvm.GetPoison(llvm.TypeOf(column)), mask, rows);
    gen_push_constant(g, tile->lane, expr_add_const(g->ctx, lane0, l));
    gen_store(g, &tile->store->target, column, (GenLanes){tile->row, row0, rows});
    g->vars.len--;
    g->stores++;
  }
}

bool gen_transposed(Gen *g, const Stmt *unroll, const Expr *row0, int64_t rows) {
  Tile tile;
  if (rows < 2 || !is_tile(g, unroll, &tile))
    return false;
  const Expr *lane0 = gen_subst(g, tile.lane->a);
  int64_t lanes;
  if (!expr_is_const(expr_sub(g->ctx, gen_subst(g, tile.lane->b), lane0), &lanes))
    return false;
  int most = gen_vector_lanes(g, unroll->body);
  if (lanes % most != 0 || most < 2)
    return false;
  for (int64_t l = 0; l < lanes; l += most)
    for (int64_t r = 0; r < rows; r += most) {
      int some = rows - r < most ? (int)(rows - r) : most;
      if (some > 1 && some == rows && tile.gap == rows) {
        gen_run(g, &tile, row0, some, expr_add_const(g->ctx, lane0, l), most);
      } else if (some > 1) {
        gen_part(g, &tile, expr_add_const(g->ctx, row0, r), some, expr_add_const(g->ctx, lane0, l), most);
      } else {
        gen_push_constant(g, tile.row, expr_add_const(g->ctx, row0, r));
        GenLanes at = {tile.lane, expr_add_const(g->ctx, lane0, l), most};
        gen_store(g, &tile.store->target, gen_value(g, tile.store, at), at);
        g->vars.len--;
      }
    }
  return true;
}
