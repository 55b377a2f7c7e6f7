/* Layouts as lists of digits: the rules, interning, and the arithmetic from a logical index to a place in memory.
 *
 * Invariant: a Layout that exists obeys the rules of layout.h. Hence the digits of an axis are the digits of the index
 * in a mixed radix, index <-> digits is one-to-one, and so is index <-> offset within the storage
 *   offset = sum_k digit_k * prod_{j > k} extent_j,
 * which is evaluated by Horner's scheme from the slowest digit on. */
#include "ir/layout.h"

typedef struct {
  int rank, n;
  PadState pad;
  const Digit *digits;
  Halo halo[WEFT_MAX_RANK];
} LayoutKey;

static bool layout_equal(const void *item, const void *key) {
  const Layout *layout = item;
  const LayoutKey *k = key;
  if (layout->rank != k->rank || layout->n != k->n || layout->pad != k->pad)
    return false;
  for (int i = 0; i < k->n; i++) {
    const Digit *a = &layout->digits[i], *b = &k->digits[i];
    if (a->axis != b->axis || a->div != b->div || a->size != b->size)
      return false;
  }
  for (int axis = 0; axis < k->rank; axis++)
    if (layout->halo[axis].lo != k->halo[axis].lo || layout->halo[axis].hi != k->halo[axis].hi)
      return false;
  return true;
}

static uint64_t layout_hash(const LayoutKey *key) {
  uint64_t head[3] = {(uint64_t)key->rank, (uint64_t)key->n, (uint64_t)key->pad};
  uint64_t hash = hash_bytes(WEFT_HASH_SEED, head, sizeof head);
  for (int i = 0; i < key->n; i++) {
    uint64_t digit[3] = {(uint64_t)key->digits[i].axis, (uint64_t)key->digits[i].div, (uint64_t)key->digits[i].size};
    hash = hash_bytes(hash, digit, sizeof digit);
  }
  return hash_bytes(hash, key->halo, sizeof key->halo);
}

/* The digits of one axis form a mixed radix. Follows the chain div 1 -> div * size -> ... to the outermost digit: each
 * step must find exactly one digit, and the steps must use all digits of the axis. */
static bool axis_is_mixed_radix(const Digit *digits, int n, int axis) {
  int of_axis = 0;
  for (int i = 0; i < n; i++)
    of_axis += digits[i].axis == axis;
  int64_t div = 1;
  for (int step = 0; step < of_axis; step++) {
    const Digit *found = NULL;
    for (int i = 0; i < n; i++)
      if (digits[i].axis == axis && digits[i].div == div) {
        if (found)
          return false;
        found = &digits[i];
      }
    if (!found)
      return false;
    if (found->size == 0)
      return step == of_axis - 1;
    if (found->size < 2 || found->size > WEFT_MAX_BLOCK || !mul_i64(div, found->size, &div) || div > WEFT_MAX_BLOCK)
      return false;
  }
  return false;
}

/* The digits have been checked. */
static const Layout *intern_layout(Ctx *ctx, const LayoutKey *key) {
  uint64_t hash = layout_hash(key);
  const Layout *found = intern_find(&ctx->layouts, hash, layout_equal, key);
  if (found)
    return found;
  Layout *layout = arena_alloc(ctx->arena, sizeof(Layout) + (size_t)key->n * sizeof(Digit));
  layout->id = ctx->next_layout_id++;
  layout->rank = key->rank;
  layout->n = key->n;
  layout->pad = key->pad;
  memcpy(layout->halo, key->halo, sizeof layout->halo);
  for (int i = 0; i < key->n; i++)
    layout->digits[i] = key->digits[i];
  intern_add(ctx, &ctx->layouts, hash, layout);
  return layout;
}

const Layout *layout_get(Ctx *ctx, int rank, const Digit *digits, int n, PadState pad) {
  if (rank < 0 || rank > WEFT_MAX_RANK || n < rank || n > WEFT_MAX_DIGITS)
    return NULL;
  for (int i = 0; i < n; i++)
    if (digits[i].axis < 0 || digits[i].axis >= rank)
      return NULL;
  for (int axis = 0; axis < rank; axis++)
    if (!axis_is_mixed_radix(digits, n, axis))
      return NULL;
  LayoutKey key = {.rank = rank, .n = n, .pad = n == rank ? PAD_ANY : pad, .digits = digits};
  return intern_layout(ctx, &key);
}

const Layout *layout_with_halo(Ctx *ctx, const Layout *layout, const Halo *halo) {
  LayoutKey key = {.rank = layout->rank, .n = layout->n, .pad = layout->pad, .digits = layout->digits};
  for (int axis = 0; axis < layout->rank; axis++) {
    int64_t lo = halo[axis].lo, hi = halo[axis].hi;
    if (lo < 0 || hi < 0 || lo > WEFT_MAX_HALO || hi > WEFT_MAX_HALO ||
        (lo + hi > 0 && layout_block(layout, axis) != 1))
      return NULL;
    key.halo[axis] = halo[axis];
  }
  return intern_layout(ctx, &key);
}

const Layout *layout_permutation(Ctx *ctx, int rank, const int *perm) {
  if (rank < 0 || rank > WEFT_MAX_RANK)
    return NULL;
  Digit digits[WEFT_MAX_RANK];
  for (int i = 0; i < rank; i++)
    digits[i] = (Digit){perm[i], 1, 0};
  return layout_get(ctx, rank, digits, rank, PAD_ANY);
}

const Layout *layout_row_major(Ctx *ctx, int rank) {
  static const int identity[WEFT_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
  return layout_permutation(ctx, rank, identity);
}

const Layout *layout_with_pad(Ctx *ctx, const Layout *layout, PadState pad) {
  return layout_get(ctx, layout->rank, layout->digits, layout->n, pad);
}

bool layout_has_halo(const Layout *layout) {
  for (int axis = 0; axis < layout->rank; axis++)
    if (layout->halo[axis].lo + layout->halo[axis].hi > 0)
      return true;
  return false;
}

bool layout_is_permutation(const Layout *layout) {
  return layout->n == layout->rank && !layout_has_halo(layout);
}

bool layout_is_row_major(const Layout *layout) {
  for (int i = 0; i < layout->n; i++)
    if (layout->digits[i].axis != i)
      return false;
  return layout_is_permutation(layout);
}

int64_t layout_block(const Layout *layout, int axis) {
  for (int i = 0; i < layout->n; i++)
    if (layout->digits[i].axis == axis && layout->digits[i].size == 0)
      return layout->digits[i].div;
  WEFT_UNREACHABLE();
}

int layout_innermost_axis(const Layout *layout) {
  for (int i = layout->n - 1; i >= 0; i--)
    if (layout->digits[i].div == 1)
      return layout->digits[i].axis;
  return -1;
}

const Layout *layout_permute_axes(Ctx *ctx, const Layout *layout, const int *axes) {
  int now[WEFT_MAX_RANK] = {0}; /* now[a]: what axis a is called after the permutation */
  for (int k = 0; k < layout->rank; k++) {
    WEFT_ASSERT(axes[k] >= 0 && axes[k] < layout->rank);
    now[axes[k]] = k;
  }
  Digit digits[WEFT_MAX_DIGITS];
  for (int i = 0; i < layout->n; i++) {
    digits[i] = layout->digits[i];
    digits[i].axis = now[layout->digits[i].axis];
  }
  Halo halo[WEFT_MAX_RANK];
  for (int k = 0; k < layout->rank; k++)
    halo[k] = layout->halo[axes[k]];
  const Layout *permuted = layout_get(ctx, layout->rank, digits, layout->n, layout->pad);
  WEFT_ASSERT(permuted != NULL);
  return layout_with_halo(ctx, permuted, halo);
}

Dim layout_extent(Ctx *ctx, const Layout *layout, const Dim *dims, int k) {
  const Digit *digit = &layout->digits[k];
  const Halo *halo = &layout->halo[digit->axis];
  return digit->size ? expr_const(ctx, digit->size)
                     : expr_add_const(ctx, expr_ceildiv_const(ctx, dims[digit->axis], digit->div), halo->lo + halo->hi);
}

void layout_indices(Ctx *ctx, const Layout *layout, const Expr *const *logical, const Expr **phys) {
  for (int k = 0; k < layout->n; k++) {
    const Digit *digit = &layout->digits[k];
    const Expr *place = expr_add_const(ctx, logical[digit->axis], layout->halo[digit->axis].lo);
    const Expr *quotient = expr_floordiv_const(ctx, place, digit->div);
    phys[k] = digit->size ? expr_mod_const(ctx, quotient, digit->size) : quotient;
  }
}

Dim layout_storage(Ctx *ctx, const Layout *layout, const Dim *dims) {
  Dim storage = expr_const(ctx, 1);
  for (int k = 0; k < layout->n; k++)
    storage = expr_mul(ctx, storage, layout_extent(ctx, layout, dims, k));
  return storage;
}

static int64_t extent_static(const Layout *layout, const Digit *digit, const int64_t *extents) {
  const Halo *halo = &layout->halo[digit->axis];
  return digit->size ? digit->size : ceildiv_i64(extents[digit->axis], digit->div) + halo->lo + halo->hi;
}

int64_t layout_offset(const Layout *layout, const int64_t *extents, const int64_t *index) {
  int64_t offset = 0;
  for (int k = 0; k < layout->n; k++) {
    const Digit *digit = &layout->digits[k];
    int64_t place = (index[digit->axis] + layout->halo[digit->axis].lo) / digit->div;
    offset = offset * extent_static(layout, digit, extents) + (digit->size ? place % digit->size : place);
  }
  return offset;
}

int64_t layout_storage_static(const Layout *layout, const int64_t *extents) {
  int64_t storage = 1;
  for (int k = 0; k < layout->n; k++)
    WEFT_ASSERT(mul_i64(storage, extent_static(layout, &layout->digits[k], extents), &storage));
  return storage;
}

const Layout *layout_unsplit_axes(Ctx *ctx, const Layout *layout, const bool *axes) {
  Digit digits[WEFT_MAX_DIGITS];
  int n = 0;
  for (int k = 0; k < layout->n; k++) {
    Digit d = layout->digits[k];
    if (axes[d.axis] && d.size != 0)
      continue;
    digits[n++] = axes[d.axis] ? (Digit){d.axis, 1, 0} : d;
  }
  return layout_with_halo(ctx, layout_get(ctx, layout->rank, digits, n, layout->pad), layout->halo);
}
