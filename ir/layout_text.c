/* Layouts as text, both ways: tags (`aBcd8b`, axes by position) and letters (`NCHW8c`, axes by the roles of an
 * operand).
 *
 * Both are one notation: a letter for each axis, capital for the outermost digit of a split axis, `8b` for an inner
 * digit, `4b/8` where its divisor is written, `:zero` and `:finite` for the padding. They differ in the letters, and in
 * that letters write the outermost digit of every axis as a capital while a tag writes that of an axis that is not
 * split as a small letter. A divisor is left out where the inner digits of the axis stand coarsest first: it then is
 * the product of the sizes that follow. A '/' parts a divisor from a size that follows it: `4b/1/2b/4`. Behind the
 * outermost digit of an axis its halo is written, `d(1,2)`, where it has one. */
#include "ir/layout.h"

#define POSITIONS "ABCDEFGH"

typedef struct {
  const char *letters; /* capital of axis k at k */
  int rank;
  bool tag;
} Notation;

/* An inner digit is read with div 0 where none is written. */
typedef struct {
  const Notation *notation;
  Ctx *ctx;
  const char *p, *end;
  Digit digits[WEFT_MAX_DIGITS];
  int n;
  Halo halo[WEFT_MAX_RANK];
  const char **why;
} Reader;

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_small(char c) {
  return c >= 'a' && c <= 'z';
}
static bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}
static char capital_of(char c) {
  return is_small(c) ? (char)(c - 'a' + 'A') : c;
}
static char small_of(char c) {
  return (char)(c - 'A' + 'a');
}

static int axis_of(const Notation *notation, char letter) {
  for (int axis = 0; axis < notation->rank; axis++)
    if (notation->letters[axis] == capital_of(letter))
      return axis;
  return -1;
}

WEFT_PRINTF(2, 3) static bool bad(Reader *r, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  *r->why = arena_vprintf(r->ctx->arena, fmt, args);
  va_end(args);
  return false;
}

static bool read_int(Reader *r, int64_t *out) {
  int64_t value = 0;
  const char *start = r->p;
  for (; r->p < r->end && is_digit(*r->p); r->p++)
    value = value > WEFT_MAX_BLOCK ? value : value * 10 + (*r->p - '0');
  *out = value;
  if (r->p == start)
    return bad(r, "a number is missing after '/'");
  if (value < 1)
    return bad(r, "a block size or divisor is 0");
  if (value > WEFT_MAX_BLOCK)
    return bad(r, "a block size or divisor is out of range: at most %d", (int)WEFT_MAX_BLOCK);
  return true;
}

static bool read_halo_side(Reader *r, char after, int64_t *out) {
  *out = 0;
  const char *start = r->p;
  for (; r->p < r->end && is_digit(*r->p) && *out <= WEFT_MAX_HALO; r->p++)
    *out = *out * 10 + (*r->p - '0');
  if (*out > WEFT_MAX_HALO)
    return bad(r, "a halo is out of range: at most %d", (int)WEFT_MAX_HALO);
  if (r->p == start || r->p == r->end || *r->p != after)
    return bad(r, "a halo is written as two numbers, (1,2)");
  r->p++;
  return true;
}

/* Reads the halo of an axis, '(' being ahead. */
static bool read_halo(Reader *r, int axis) {
  Halo *halo = &r->halo[axis];
  r->p++;
  if (!read_halo_side(r, ',', &halo->lo) || !read_halo_side(r, ')', &halo->hi))
    return false;
  return halo->lo + halo->hi > 0 || bad(r, "a halo of (0,0) is none");
}

/* Reads one digit of the layout: a letter and perhaps a halo, or a size, a small letter and perhaps a divisor. */
static bool read_digit(Reader *r) {
  Digit digit = {0, 0, 0};
  bool inner = is_digit(*r->p);
  if (inner && !read_int(r, &digit.size))
    return false;
  if (inner && digit.size < 2)
    return bad(r, "a block of size 1 is no block");
  if (r->p == r->end)
    return bad(r, "a letter is missing after the block size %d", (int)digit.size);
  char letter = *r->p++;
  if (!is_small(letter) && !is_capital(letter)) {
    if (letter > ' ' && letter < 0x7f)
      return bad(r, "'%c' is no letter of an axis", letter);
    return bad(r, "a character that is no letter of an axis");
  }
  digit.axis = axis_of(r->notation, letter);
  if (digit.axis < 0)
    return r->notation->tag ? bad(r, "'%c' is no axis of a tensor of rank %d", letter, r->notation->rank)
                            : bad(r, "'%c' is none of the axes %s", letter, r->notation->letters);
  if (inner && is_capital(letter))
    return bad(r, "an inner block is written with a small letter: '%d%c'", (int)digit.size, small_of(letter));
  if (!inner && is_small(letter) && !r->notation->tag)
    return bad(r, "'%c' has no block size in front of it", letter);
  if (!inner)
    digit.div = is_capital(letter) ? 0 : 1; /* for now: tells the two spellings of a tag apart */
  if (inner && r->p < r->end && *r->p == '/') {
    r->p++;
    if (!read_int(r, &digit.div))
      return false;
    if (r->p < r->end && *r->p == '/' && (++r->p == r->end || !is_digit(*r->p)))
      return bad(r, "no block size follows the second '/'");
  }
  if (r->n == WEFT_MAX_DIGITS)
    return bad(r, "more than %d digits", WEFT_MAX_DIGITS);
  r->digits[r->n++] = digit;
  return inner || r->p == r->end || *r->p != '(' || read_halo(r, digit.axis);
}

/* Gives the digits of one axis their divisors. */
static bool complete_axis(Reader *r, int axis) {
  const Notation *notation = r->notation;
  char letter = notation->tag ? small_of(notation->letters[axis]) : notation->letters[axis];
  int outer = -1, inner = 0, with_div = 0;
  int64_t block = 1;
  for (int i = r->n - 1; i >= 0; i--) {
    Digit *digit = &r->digits[i];
    if (digit->axis != axis)
      continue;
    if (digit->size == 0) {
      if (outer >= 0)
        return bad(r, "axis '%c' is there twice", letter);
      outer = i;
      continue;
    }
    inner++;
    with_div += digit->div != 0;
    if (digit->div == 0)
      digit->div = block;
    if (block > WEFT_MAX_BLOCK / digit->size)
      return bad(r, "the blocks of axis '%c' multiply to more than %d", letter, (int)WEFT_MAX_BLOCK);
    block *= digit->size;
  }
  if (outer < 0)
    return inner ? bad(r, "axis '%c' has blocks, but its capital '%c' is missing", letter, notation->letters[axis])
                 : bad(r, "axis '%c' is missing", letter);
  if (with_div && with_div != inner)
    return bad(r, "either all or none of the blocks of axis '%c' have a divisor", letter);
  if (notation->tag && r->digits[outer].div == 0 && !inner)
    return bad(r, "'%c' says that the axis is split, but it has no block", notation->letters[axis]);
  if (notation->tag && r->digits[outer].div == 1 && inner)
    return bad(r, "axis '%c' has blocks: its outermost digit is written '%c'", letter, notation->letters[axis]);
  if (inner && r->halo[axis].lo + r->halo[axis].hi > 0)
    return bad(r, "axis '%c' has blocks and a halo; it can have only one of them", letter);
  r->digits[outer].div = block;
  return true;
}

static bool read_pad(Reader *r, PadState *pad) {
  *pad = PAD_ANY;
  if (r->p == r->end)
    return true;
  size_t n = (size_t)(r->end - r->p);
  if (n == 5 && memcmp(r->p, ":zero", 5) == 0)
    *pad = PAD_ZERO;
  else if (n == 7 && memcmp(r->p, ":finite", 7) == 0)
    *pad = PAD_FINITE;
  else
    return bad(r, "the padding state after ':' is neither 'zero' nor 'finite'");
  return true;
}

static const Layout *layout_read(Ctx *ctx, const Notation *notation, const char *text, size_t len, const char **why) {
  Reader r = {.notation = notation, .ctx = ctx, .p = text, .end = text + len, .why = why};
  while (r.p < r.end && *r.p != ':')
    if (!read_digit(&r))
      return NULL;
  PadState pad;
  if (!read_pad(&r, &pad))
    return NULL;
  for (int axis = 0; axis < notation->rank; axis++)
    if (!complete_axis(&r, axis))
      return NULL;
  if (pad != PAD_ANY && r.n == notation->rank) {
    bad(&r, "a padding state on a layout without blocks, which has no padding");
    return NULL;
  }
  const Layout *layout = layout_get(ctx, notation->rank, r.digits, r.n, pad);
  if (!layout) {
    bad(&r, "the divisors of an axis are not the products of its finer blocks");
    return NULL;
  }
  return layout_with_halo(ctx, layout, r.halo);
}

const Layout *layout_parse(Ctx *ctx, int rank, const char *tag, size_t len, const char **why) {
  Notation notation = {POSITIONS, rank, true};
  if (rank < 0 || rank > WEFT_MAX_RANK) {
    *why = "the rank is more than 8";
    return NULL;
  }
  return layout_read(ctx, &notation, tag, len, why);
}

/* The roles are distinct capitals, at most WEFT_MAX_RANK. */
static bool roles_are_sound(const char *roles) {
  size_t n = strnlen(roles, WEFT_MAX_RANK + 1);
  if (n > WEFT_MAX_RANK)
    return false;
  for (size_t i = 0; i < n; i++)
    if (!is_capital(roles[i]) || memchr(roles, roles[i], i))
      return false;
  return true;
}

const Layout *layout_from_letters(Ctx *ctx, const char *roles, const char *text, const char **why) {
  if (!roles_are_sound(roles)) {
    *why = "the letters of the axes are not distinct capitals, at most 8";
    return NULL;
  }
  Notation notation = {roles, (int)strlen(roles), false};
  return layout_read(ctx, &notation, text, strlen(text), why);
}

/* Inner digits of an axis need their divisors written where one stands before a coarser one. */
static bool needs_divisors(const Layout *layout, int axis) {
  int64_t last = INT64_MAX;
  for (int i = 0; i < layout->n; i++) {
    const Digit *digit = &layout->digits[i];
    if (digit->axis != axis || digit->size == 0)
      continue;
    if (digit->div > last)
      return true;
    last = digit->div;
  }
  return false;
}

static void layout_write(Str *out, const Layout *layout, const Notation *notation) {
  for (int i = 0; i < layout->n; i++) {
    const Digit *digit = &layout->digits[i];
    char capital = notation->letters[digit->axis];
    if (digit->size == 0) {
      const Halo *halo = &layout->halo[digit->axis];
      str_putc(out, notation->tag && digit->div == 1 ? small_of(capital) : capital);
      if (halo->lo + halo->hi > 0)
        str_printf(out, "(%lld,%lld)", (long long)halo->lo, (long long)halo->hi);
      continue;
    }
    str_printf(out, "%lld%c", (long long)digit->size, small_of(capital));
    if (needs_divisors(layout, digit->axis)) {
      bool size_follows = i + 1 < layout->n && layout->digits[i + 1].size != 0;
      str_printf(out, "/%lld%s", (long long)digit->div, size_follows ? "/" : "");
    }
  }
  if (layout->pad != PAD_ANY)
    str_put(out, layout->pad == PAD_ZERO ? ":zero" : ":finite");
}

void layout_print(Str *out, const Layout *layout) {
  Notation notation = {POSITIONS, layout->rank, true};
  layout_write(out, layout, &notation);
}

const char *layout_to_letters(Ctx *ctx, const Layout *layout, const char *roles) {
  WEFT_ASSERT(roles_are_sound(roles) && (int)strlen(roles) == layout->rank);
  Notation notation = {roles, layout->rank, false};
  Str out = str_new(ctx->arena);
  layout_write(&out, layout, &notation);
  return out.data;
}
