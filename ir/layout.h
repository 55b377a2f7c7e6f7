/* Layouts: how a logical tensor lies in memory.
 *
 * A layout is a list of digits in memory order, slowest first. Digit (axis, div, size) of logical index i along axis is
 *   (i div `div`) mod `size`      or, for the outermost digit of its axis (size 0),      i div `div`.
 * The digits of one axis form a mixed radix: sorted by div they start at 1, each div is the previous div * size, and
 * exactly one, the one with the largest div, has size 0. An inner digit has a size of at least 2, and the block of an
 * axis, the product of its inner digits, is at most WEFT_MAX_BLOCK. So permutations, blocking (several blocks per axis, any digit
 * anywhere) and phase-packed weights are one mechanism.
 *
 * Tag notation (positions, nothing to guess): letter = axis by position. `acdb` is a permutation; `aBcd8b`: capital =
 * that axis is split, here is its outermost digit; `8b` = an inner digit of size 8. Several inner digits of one axis
 * are read from the coarsest to the finest in the order written; where that is not so each carries its divisor, `4b/8`,
 * with another '/' before a size that follows: `4b/1/2b/4`. A suffix gives the padding state: `aBcd8b:zero`,
 * `aBcd8b:finite`.
 *
 * Padding lanes exist where a blocked axis is no multiple of its block. Their state is part of the layout.
 *
 * A halo is zeros around the elements: along an axis with the halo (lo, hi) the storage has lo places before index 0
 * and hi places behind the last one, so that indices -lo .. extent+hi-1 are in it. Whoever writes a value in such a
 * layout writes 0 there (at logical indices of the other axes), and whoever reads it may count on that. An axis with a
 * halo is not split. Notation, behind the axis' letter: `abc(1,1)d(1,2)`. */
#ifndef WEFT_IR_LAYOUT_H
#define WEFT_IR_LAYOUT_H

#include "ir/expr.h"

#define WEFT_MAX_DIGITS 24
#define WEFT_MAX_BLOCK ((int64_t)1 << 20)
#define WEFT_MAX_HALO ((int64_t)1 << 20)

typedef enum { PAD_ANY, PAD_FINITE, PAD_ZERO } PadState;

typedef struct {
  int axis;
  int64_t div;
  int64_t size; /* 0: the outermost digit of its axis */
} Digit;

/* Places of an axis before its first index and behind its last one. */
typedef struct {
  int64_t lo, hi;
} Halo;

/* Interned: equal layouts are equal pointers. */
typedef struct Layout {
  uint32_t id;
  int rank, n;
  PadState pad;
  Halo halo[WEFT_MAX_RANK]; /* by axis */
  Digit digits[];
} Layout;

/* The layout with these digits and no halo, or NULL where they break the rules above. `pad` is dropped (PAD_ANY) for a
 * layout without inner digits, which has no padding. */
const Layout *layout_get(Ctx *ctx, int rank, const Digit *digits, int n, PadState pad);
const Layout *layout_row_major(Ctx *ctx, int rank);
/* perm[k] = the logical axis that lies at position k, slowest first. NULL where perm is no permutation. */
const Layout *layout_permutation(Ctx *ctx, int rank, const int *perm);
/* The same digits, this padding state, no halo. */
const Layout *layout_with_pad(Ctx *ctx, const Layout *layout, PadState pad);
/* The same digits and padding state, and this halo, one pair per axis. NULL where a split axis would have one, or one is
 * negative or above WEFT_MAX_HALO. */
const Layout *layout_with_halo(Ctx *ctx, const Layout *layout, const Halo *halo);
bool layout_has_halo(const Layout *layout);
bool layout_is_row_major(const Layout *layout);
bool layout_is_permutation(const Layout *layout); /* no axis is split, none has a halo */
/* The block of an axis: the product of its inner digits, 1 where it is not split. */
int64_t layout_block(const Layout *layout, int axis);
/* The axis whose unit-stride digit lies last in memory; -1 for rank 0. */
int layout_innermost_axis(const Layout *layout);

/* `acdb`, `aBcd8b:zero` for a tensor of this rank. On a malformed tag returns NULL and *why says what is wrong. */
const Layout *layout_parse(Ctx *ctx, int rank, const char *tag, size_t len, const char **why);
void layout_print(Str *out, const Layout *layout);

/* Letters, for the boundary and diagnostics only. roles: the letters of the logical axes in order, e.g. "NCHW" or
 * "OIHW"; text: e.g. "NHWC", "NCHW8c", "OIHW8i16o": each capital once, its axis' outermost digit; inner digits and padding
 * states as in a tag, by the small letter of their axis. NULL and *why on error. */
const Layout *layout_from_letters(Ctx *ctx, const char *roles, const char *text, const char **why);
const char *layout_to_letters(Ctx *ctx, const Layout *layout, const char *roles);

/* The layout of a tensor whose logical axis k is axis axes[k] of `layout`'s tensor: permuted so that memory is the
 * same (a transpose absorbed), halos included. axes is a permutation of 0..rank-1. */
const Layout *layout_permute_axes(Ctx *ctx, const Layout *layout, const int *axes);

/* The layout with the inner digits of these axes dropped, as where their extents change. Halos stay. */
const Layout *layout_unsplit_axes(Ctx *ctx, const Layout *layout, const bool *axes);

/* Extent of digit k: its size, or for an outermost digit ceil(dims[axis] / div) and what its halo adds. */
Dim layout_extent(Ctx *ctx, const Layout *layout, const Dim *dims, int k);
/* The digits of a logical index, which may lie in the halo: phys[k] for k < layout->n from logical[axis]. */
void layout_indices(Ctx *ctx, const Layout *layout, const Expr *const *logical, const Expr **phys);
/* Elements of storage, padding and halo included. */
Dim layout_storage(Ctx *ctx, const Layout *layout, const Dim *dims);
/* The element offset of a concrete logical index, which may lie in the halo, in a tensor of concrete extents. */
int64_t layout_offset(const Layout *layout, const int64_t *extents, const int64_t *index);
int64_t layout_storage_static(const Layout *layout, const int64_t *extents);

#endif
