/* Layouts: tags and letters both ways, refusals, and the properties of random layouts. */
#include "ir/layout.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static Ctx *ctx;
static uint64_t rng_state;

static void setup(void) {
  ctx = ctx_create();
  const char *seed = getenv("WEFT_SEED");
  rng_state = seed ? strtoull(seed, NULL, 10) : 7041;
  printf("seed %" PRIu64 "\n", rng_state);
}

static void teardown(void) {
  ctx_destroy(ctx);
}

/* splitmix64, below n */
static int64_t rng(int64_t n) {
  uint64_t z = (rng_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (int64_t)((z ^ (z >> 31)) % (uint64_t)n);
}

static const Layout *parse(int rank, const char *tag) {
  const char *why = NULL;
  const Layout *layout = layout_parse(ctx, rank, tag, strlen(tag), &why);
  ck_assert_msg(layout != NULL, "%s: %s", tag, why);
  return layout;
}

static const char *print(const Layout *layout) {
  Str out = str_new(ctx->arena);
  layout_print(&out, layout);
  return out.data;
}

START_TEST(row_major_and_permutations) {
  const Layout *plain = layout_row_major(ctx, 4);
  ck_assert_ptr_eq(plain, parse(4, "abcd"));
  ck_assert(layout_is_row_major(plain) && layout_is_permutation(plain));
  ck_assert_int_eq(layout_innermost_axis(plain), 3);
  ck_assert_ptr_eq(layout_permutation(ctx, 4, (int[]){0, 2, 3, 1}), parse(4, "acdb"));
  ck_assert(!layout_is_row_major(parse(4, "acdb")) && layout_is_permutation(parse(4, "acdb")));
  ck_assert_int_eq(layout_innermost_axis(parse(4, "acdb")), 1);
  ck_assert_ptr_null(layout_permutation(ctx, 3, (int[]){0, 2, 2}));
  ck_assert_ptr_null(layout_permutation(ctx, 3, (int[]){0, 1, 3}));
  ck_assert_ptr_null(layout_permutation(ctx, 3, (int[]){0, -1, 2}));
  ck_assert_ptr_null(layout_row_major(ctx, 9));
  const Layout *scalar = layout_row_major(ctx, 0);
  ck_assert_ptr_eq(scalar, parse(0, ""));
  ck_assert(layout_is_row_major(scalar));
  ck_assert_int_eq(layout_innermost_axis(scalar), -1);
  ck_assert_int_eq(layout_storage_static(scalar, NULL), 1);
}
END_TEST

START_TEST(blocks_and_padding_states) {
  const Layout *blocked = parse(4, "aBcd8b");
  ck_assert(!layout_is_permutation(blocked) && !layout_is_row_major(blocked));
  ck_assert_int_eq(layout_block(blocked, 1), 8);
  ck_assert_int_eq(layout_block(blocked, 0), 1);
  ck_assert_int_eq(layout_innermost_axis(blocked), 1);
  ck_assert_int_eq(blocked->n, 5);
  ck_assert(blocked->digits[1].axis == 1 && blocked->digits[1].div == 8 && blocked->digits[1].size == 0);
  ck_assert(blocked->digits[4].axis == 1 && blocked->digits[4].div == 1 && blocked->digits[4].size == 8);
  ck_assert_int_eq(layout_block(parse(2, "AB4a16b2a"), 0), 8);
  const Layout *zero = parse(4, "aBcd8b:zero");
  ck_assert_int_eq(zero->pad, PAD_ZERO);
  ck_assert_ptr_eq(layout_with_pad(ctx, blocked, PAD_ZERO), zero);
  ck_assert_ptr_eq(layout_with_pad(ctx, zero, PAD_ANY), blocked);
  ck_assert_ptr_eq(layout_with_pad(ctx, zero, PAD_FINITE), parse(4, "aBcd8b:finite"));
  ck_assert_ptr_eq(layout_with_pad(ctx, parse(4, "acdb"), PAD_ZERO), parse(4, "acdb"));
  /* A unit digit that stands outermost: the last digit of memory is not the unit-stride one of its axis. */
  ck_assert_int_eq(layout_innermost_axis(parse(2, "2abA")), 1);
}
END_TEST

START_TEST(storage_and_offsets) {
  const int64_t extents[] = {2, 19, 3, 4}, index[] = {1, 13, 2, 3};
  ck_assert_int_eq(layout_storage_static(parse(4, "abcd"), extents), 2 * 19 * 3 * 4);
  ck_assert_int_eq(layout_offset(parse(4, "abcd"), extents, index), ((1 * 19 + 13) * 3 + 2) * 4 + 3);
  ck_assert_int_eq(layout_offset(parse(4, "acdb"), extents, index), ((1 * 3 + 2) * 4 + 3) * 19 + 13);
  ck_assert_int_eq(layout_storage_static(parse(4, "aBcd8b"), extents), 2 * 3 * 3 * 4 * 8);
  ck_assert_int_eq(layout_offset(parse(4, "aBcd8b"), extents, index), (((1 * 3 + 1) * 3 + 2) * 4 + 3) * 8 + 5);
  ck_assert_int_eq(layout_storage_static(parse(4, "abcd"), (int64_t[]){0, 1, 1, 1}), 0);
}
END_TEST

START_TEST(halos) {
  const Layout *plain = parse(4, "acdb"), *halo = parse(4, "ac(1,2)d(0,3)b");
  const int64_t extents[] = {2, 5, 4, 6}, first[] = {0, 0, 0, 0}, corner[] = {1, 4, -1, 8};
  ck_assert(layout_has_halo(halo) && !layout_has_halo(plain));
  ck_assert(!layout_is_permutation(halo) && !layout_is_row_major(parse(2, "a(1,0)b")));
  ck_assert(halo->halo[2].lo == 1 && halo->halo[2].hi == 2 && halo->halo[3].lo == 0 && halo->halo[3].hi == 3);
  ck_assert_ptr_eq(layout_with_halo(ctx, plain, halo->halo), halo);
  ck_assert_ptr_eq(layout_with_halo(ctx, halo, plain->halo), plain);
  ck_assert_ptr_eq(layout_with_pad(ctx, halo, PAD_ANY), plain);
  ck_assert_ptr_eq(layout_permute_axes(ctx, halo, (int[]){0, 2, 3, 1}), parse(4, "ab(1,2)c(0,3)d"));
  ck_assert_ptr_eq(layout_unsplit_axes(ctx, parse(4, "aBc(1,2)d8b"), (bool[]){0, 1, 0, 0}), parse(4, "abc(1,2)d"));
  ck_assert_int_eq(layout_storage_static(halo, extents), 2 * (1 + 4 + 2) * (6 + 3) * 5);
  ck_assert_int_eq(layout_offset(halo, extents, first), 9 * 5);
  ck_assert_int_eq(layout_offset(halo, extents, corner), (7 * 9 + 8) * 5 + 4);
  ck_assert_int_eq(layout_storage_static(parse(1, "a(2,3)"), (int64_t[]){0}), 5);
  Halo bad[4] = {{0, 0}, {1, 0}, {0, 0}, {0, 0}};
  ck_assert_ptr_null(layout_with_halo(ctx, parse(4, "aBcd8b"), bad)); /* on a split axis */
  bad[1].lo = -1;
  ck_assert_ptr_null(layout_with_halo(ctx, plain, bad));
  bad[1].lo = WEFT_MAX_HALO + 1;
  ck_assert_ptr_null(layout_with_halo(ctx, plain, bad));
}
END_TEST

START_TEST(tags_print_as_read) {
  static const struct {
    int rank;
    const char *tag;
  } tags[] = {{0, ""},
              {1, "a"},
              {1, "A8a"},
              {4, "abcd"},
              {4, "acdb"},
              {4, "aBcd8b"},
              {4, "ABcd16b4a"},
              {4, "ABcd8a16b"},
              {4, "aBcd8b:zero"},
              {3, "aB4bc2b:finite"},
              {2, "A2a/1b4a/2"},
              {4, "2c2dabCD"},
              {8, "hgfedcba"},
              {2, "4a2b/1/2b/2AB2a"},
              {2, "AB1048576a1048576b"},
              {1, "2a/4/4a/1/2a/8A"},
              {1, "a(1,0)"},
              {4, "abc(1,1)d(0,20)"},
              {4, "aBc(3,1048576)d8b:zero"}};
  for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
    ck_assert_str_eq(print(parse(tags[i].rank, tags[i].tag)), tags[i].tag);
  /* A divisor that says nothing new is read and not printed. */
  ck_assert_str_eq(print(parse(2, "aB4b/2/2b/1")), "aB4b2b");
  ck_assert_ptr_eq(parse(2, "aB4b/2/2b/1"), parse(2, "aB4b2b"));
}
END_TEST

START_TEST(bad_tags_are_refused) {
  static const struct {
    int rank;
    const char *tag, *why;
  } tags[] = {
      {4, "", "axis 'a' is missing"},
      {4, "abc", "axis 'd' is missing"},
      {3, "abcd", "'d' is no axis of a tensor of rank 3"},
      {0, "a", "'a' is no axis of a tensor of rank 0"},
      {4, "abcda", "axis 'a' is there twice"},
      {4, "aBcd", "'B' says that the axis is split"},
      {4, "abcd8b", "axis 'b' has blocks: its outermost digit is written 'B'"},
      {4, "acd8b", "axis 'b' has blocks, but its capital 'B' is missing"},
      {4, "aBcd8B", "an inner block is written with a small letter: '8b'"},
      {4, "aBcd8", "a letter is missing after the block size 8"},
      {4, "aBcd1b", "a block of size 1"},
      {4, "aBcd0b", "a block size or divisor is 0"},
      {4, "aBcd1048577b", "out of range"},
      {4, "aBcd99999999999999999999999999999b", "out of range"},
      {4, "aBcd1048576b2b", "multiply to more than"},
      {4, "aBcd8b/", "a number is missing after '/'"},
      {4, "aBcd8b/1/", "no block size follows"},
      {4, "ab8c/1/Cd", "no block size follows"},
      {4, "aBcd8b/0", "a block size or divisor is 0"},
      {4, "aBcd8b/2", "the divisors of an axis are not the products"},
      {4, "aBcd4b/1/2b/2", "the divisors of an axis are not the products"},
      {4, "aBcd4b/2/2b", "either all or none"},
      {4, "aBcd8b:one", "neither 'zero' nor 'finite'"},
      {4, "aBcd8b:", "neither 'zero' nor 'finite'"},
      {4, "aBcd8b:zero:zero", "neither 'zero' nor 'finite'"},
      {4, "abcd:zero", "a layout without blocks"},
      {4, "a bcd", "a character that is no letter"},
      {4, "ab-cd", "'-' is no letter"},
      {4, "ab\xff", "a character that is no letter"},
      {4, "aBcd-8b", "'-' is no letter"},
      {2, "ab(1)", "a halo is written as two numbers"},
      {2, "ab(1,2", "a halo is written as two numbers"},
      {2, "ab(,2)", "a halo is written as two numbers"},
      {2, "ab(-1,2)", "a halo is written as two numbers"},
      {2, "ab(1,2)(1,2)", "'(' is no letter"},
      {2, "(1,2)ab", "'(' is no letter"},
      {2, "ab(0,0)", "a halo of (0,0) is none"},
      {2, "ab(1048577,0)", "a halo is out of range"},
      {2, "ab(1,99999999999999999999999999)", "a halo is out of range"},
      {2, "aB(1,1)8b", "axis 'b' has blocks and a halo"},
      {2, "aB8b(1,1)", "'(' is no letter"},
      {9, "abcdefghi", "the rank is more than 8"},
      {1, "A2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a", "more than 24 digits"},
  };
  for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
    const char *why = NULL;
    ck_assert_msg(!layout_parse(ctx, tags[i].rank, tags[i].tag, strlen(tags[i].tag), &why), "%s", tags[i].tag);
    ck_assert_msg(why && strstr(why, tags[i].why), "%s: %s, expected: %s", tags[i].tag, why, tags[i].why);
  }
}
END_TEST

START_TEST(random_tags_do_no_harm) {
  static const char alphabet[] = "abcdABCD0128/(,):zfinite\0\xff-";
  int accepted = 0;
  for (int i = 0; i < 50000; i++) {
    char tag[24];
    size_t n = (size_t)rng(i % 2 ? 6 : 24);
    for (size_t j = 0; j < n; j++)
      tag[j] = alphabet[rng(i % 2 ? 10 : (int64_t)sizeof alphabet)];
    const char *why = NULL;
    int rank = (int)rng(5);
    const Layout *layout = layout_parse(ctx, rank, tag, n, &why);
    ck_assert((layout == NULL) == (why != NULL));
    if (layout) {
      accepted++;
      ck_assert_ptr_eq(layout, parse(rank, print(layout)));
    }
  }
  ck_assert_int_gt(accepted, 100);
}
END_TEST

START_TEST(letters_both_ways) {
  static const struct {
    const char *roles, *text, *tag, *letters;
  } cases[] = {
      {"NCHW", "NCHW", "abcd", NULL},
      {"NCHW", "NHWC", "acdb", NULL},
      {"NCHW", "NCHW8c", "aBcd8b", NULL},
      {"OIHW", "OIHW8i16o", "ABcd8b16a", NULL},
      {"OIHW", "HWIO", "cdba", NULL},
      {"IOHW", "OIHW", "bacd", NULL},
      {"NCHW", "NCHW8c:zero", "aBcd8b:zero", NULL},
      {"NCDHW", "NDHWC", "acdeb", NULL},
      {"", "", "", NULL},
      {"NC", "N2c/1C4c/2", "a2b/1B4b/2", NULL},
      {"NC", "NC4c/2/2c/1", "aB4b2b", "NC4c2c"},
      {"NCHW", "NH(1,1)W(0,2)C", "ac(1,1)d(0,2)b", NULL},
      {"NCHW", "NCH(1,1)W8c", "aBc(1,1)d8b", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *why = NULL, *expected = cases[i].letters ? cases[i].letters : cases[i].text;
    const Layout *layout = layout_from_letters(ctx, cases[i].roles, cases[i].text, &why);
    ck_assert_msg(layout != NULL, "%s: %s", cases[i].text, why);
    ck_assert_str_eq(print(layout), cases[i].tag);
    ck_assert_str_eq(layout_to_letters(ctx, layout, cases[i].roles), expected);
  }
}
END_TEST

START_TEST(bad_letters_are_refused) {
  static const struct {
    const char *roles, *text, *why;
  } cases[] = {
      {"NCHW", "NCH", "axis 'W' is missing"},
      {"NCHW", "NCHWK", "'K' is none of the axes NCHW"},
      {"NCHW", "NCHWC", "axis 'C' is there twice"},
      {"NCHW", "NHW8c", "axis 'C' has blocks, but its capital 'C' is missing"},
      {"NCHW", "NCHWc", "'c' has no block size in front of it"},
      {"NCHW", "nchw", "'n' has no block size in front of it"},
      {"NCHW", "NCHW8C", "an inner block is written with a small letter: '8c'"},
      {"NCHW", "NCHW8", "a letter is missing"},
      {"NCHW", "N C", "a character that is no letter"},
      {"NCHW", "", "axis 'N' is missing"},
      {"NCHN", "NCHN", "not distinct capitals"},
      {"nchw", "nchw", "not distinct capitals"},
      {"ABCDEFGHI", "ABCDEFGHI", "not distinct capitals"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *why = NULL;
    ck_assert_msg(!layout_from_letters(ctx, cases[i].roles, cases[i].text, &why), "%s", cases[i].text);
    ck_assert_msg(why && strstr(why, cases[i].why), "%s: %s", cases[i].text, why);
  }
}
END_TEST

START_TEST(bad_digits_are_refused) {
  static const struct {
    int rank, n;
    Digit digits[4];
  } cases[] = {
      {1, 0, {{0, 0, 0}}},                                          /* nothing for an axis */
      {1, 1, {{0, 2, 0}}},                                          /* no digit with div 1 */
      {1, 1, {{0, 1, 4}}},                                          /* no outermost digit */
      {1, 2, {{0, 1, 0}, {0, 1, 0}}},                               /* two outermost */
      {1, 2, {{0, 4, 0}, {0, 1, 2}}},                               /* a gap */
      {1, 2, {{0, 4, 0}, {0, 1, 8}}},                               /* an overlap */
      {1, 3, {{0, 8, 0}, {0, 1, 8}, {0, 1, 8}}},                    /* one digit twice */
      {1, 3, {{0, 2, 0}, {0, 1, 2}, {0, 16, 2}}},                   /* a digit above the outermost */
      {1, 2, {{0, 1, 0}, {0, 1, 1}}},                               /* size 1 */
      {1, 2, {{0, -8, 0}, {0, 1, -8}}},                             /* a negative size */
      {1, 2, {{0, (int64_t)1 << 21, 0}, {0, 1, (int64_t)1 << 21}}}, /* too large a block */
      {2, 2, {{0, 1, 0}, {2, 1, 0}}},                               /* an axis beyond the rank */
      {2, 2, {{0, 1, 0}, {-1, 1, 0}}},
      {-1, 0, {{0, 0, 0}}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_msg(!layout_get(ctx, cases[i].rank, cases[i].digits, cases[i].n, PAD_ANY), "case %zu", i);
  Digit many[WEFT_MAX_DIGITS + 1] = {{0, 1, 0}};
  ck_assert_ptr_null(layout_get(ctx, 1, many, WEFT_MAX_DIGITS + 1, PAD_ANY));
}
END_TEST

static void shuffle(Digit *digits, int n) {
  for (int i = n - 1; i > 0; i--) {
    int j = (int)rng(i + 1);
    Digit t = digits[i];
    digits[i] = digits[j];
    digits[j] = t;
  }
}

static const Layout *random_layout(int rank) {
  Digit digits[WEFT_MAX_DIGITS];
  int n = 0;
  for (int axis = 0; axis < rank; axis++) {
    int64_t div = 1;
    for (int64_t inner = rng(4) - 1; inner > 0; inner--) {
      digits[n++] = (Digit){axis, div, 2 + rng(4)};
      div *= digits[n - 1].size;
    }
    digits[n++] = (Digit){axis, div, 0};
  }
  shuffle(digits, n);
  const Layout *layout = layout_get(ctx, rank, digits, n, (PadState)rng(3));
  ck_assert_ptr_nonnull(layout);
  Halo halo[WEFT_MAX_RANK] = {0};
  for (int axis = 0; axis < rank; axis++)
    if (layout_block(layout, axis) == 1 && rng(2))
      halo[axis] = (Halo){rng(3), rng(3)};
  return layout_with_halo(ctx, layout, halo);
}

static void first_index(const Layout *layout, int64_t *index) {
  for (int axis = 0; axis < layout->rank; axis++)
    index[axis] = -layout->halo[axis].lo;
}

/* The next index in row-major order, halos included; false after the last. */
static bool next_index(const Layout *layout, const int64_t *extents, int64_t *index) {
  for (int axis = layout->rank - 1; axis >= 0; axis--) {
    if (++index[axis] < extents[axis] + layout->halo[axis].hi)
      return true;
    index[axis] = -layout->halo[axis].lo;
  }
  return false;
}

static void check_offsets(const Layout *layout, const int64_t *extents) {
  const char *tag = print(layout);
  int64_t storage = layout_storage_static(layout, extents), index[WEFT_MAX_RANK];
  first_index(layout, index);
  Dim dims[WEFT_MAX_RANK];
  for (int axis = 0; axis < layout->rank; axis++)
    dims[axis] = expr_const(ctx, extents[axis]);
  ck_assert_int_eq(expr_value(layout_storage(ctx, layout, dims)), storage);
  char *taken = ARENA_ARRAY(ctx->arena, char, storage);
  do {
    int64_t offset = layout_offset(layout, extents, index), by_expr = 0;
    ck_assert_msg(offset >= 0 && offset < storage, "%s: offset %" PRId64, tag, offset);
    ck_assert_msg(!taken[offset], "%s: offset %" PRId64 " taken twice", tag, offset);
    taken[offset] = 1;
    const Expr *logical[WEFT_MAX_RANK], *phys[WEFT_MAX_DIGITS];
    for (int axis = 0; axis < layout->rank; axis++)
      logical[axis] = expr_const(ctx, index[axis]);
    layout_indices(ctx, layout, logical, phys);
    for (int k = 0; k < layout->n; k++) {
      int64_t extent = expr_value(layout_extent(ctx, layout, dims, k)), digit = expr_value(phys[k]);
      ck_assert_msg(digit >= 0 && digit < extent, "%s: digit %d", tag, k);
      by_expr = by_expr * extent + digit;
    }
    ck_assert_msg(by_expr == offset, "%s", tag);
  } while (next_index(layout, extents, index));
}

static void check_permute(const Layout *layout, const int64_t *extents) {
  int rank = layout->rank, axes[WEFT_MAX_RANK], inverse[WEFT_MAX_RANK];
  for (int k = 0; k < rank; k++)
    axes[k] = k;
  for (int k = rank - 1; k > 0; k--) {
    int j = (int)rng(k + 1), t = axes[k];
    axes[k] = axes[j];
    axes[j] = t;
  }
  int64_t permuted_extents[WEFT_MAX_RANK], index[WEFT_MAX_RANK], permuted_index[WEFT_MAX_RANK];
  first_index(layout, index);
  for (int k = 0; k < rank; k++) {
    permuted_extents[k] = extents[axes[k]];
    inverse[axes[k]] = k;
  }
  const Layout *permuted = layout_permute_axes(ctx, layout, axes);
  ck_assert_ptr_eq(layout_permute_axes(ctx, permuted, inverse), layout);
  ck_assert_int_eq(permuted->pad, layout->pad);
  do {
    for (int k = 0; k < rank; k++)
      permuted_index[k] = index[axes[k]];
    ck_assert_int_eq(layout_offset(layout, extents, index), layout_offset(permuted, permuted_extents, permuted_index));
  } while (next_index(layout, extents, index));
}

START_TEST(random_layouts_have_their_properties) {
  int blocked = 0;
  for (int i = 0; i < 400; i++) {
    int rank = 1 + (int)rng(4);
    const Layout *layout = random_layout(rank);
    blocked += !layout_is_permutation(layout);
    ck_assert_ptr_eq(parse(rank, print(layout)), layout);
    const char *roles = (const char *[]){"", "W", "NC", "NCW", "NCHW"}[rank], *why = NULL;
    const char *letters = layout_to_letters(ctx, layout, roles);
    ck_assert_msg(layout_from_letters(ctx, roles, letters, &why) == layout, "%s: %s", letters, why);
    int64_t extents[WEFT_MAX_RANK];
    for (int axis = 0; axis < rank; axis++)
      extents[axis] = 1 + rng(rank < 3 ? 40 : 7);
    check_offsets(layout, extents);
    check_permute(layout, extents);
  }
  ck_assert_int_gt(blocked, 100);
}
END_TEST

START_TEST(symbolic_indices_cancel) {
  const Layout *layout = parse(2, "aB8b");
  const Expr *zero = expr_const(ctx, 0), *n = expr_sym(ctx, "n", 1, 1000);
  const Expr *c = expr_var(ctx, "c", zero, n), *l = expr_var(ctx, "l", zero, expr_const(ctx, 8));
  const Expr *logical[] = {n, expr_add(ctx, expr_mul_const(ctx, c, 8), l)}, *phys[3];
  layout_indices(ctx, layout, logical, phys);
  ck_assert_ptr_eq(phys[0], n);
  ck_assert_ptr_eq(phys[1], c);
  ck_assert_ptr_eq(phys[2], l);
  Dim dims[] = {n, expr_const(ctx, 19)};
  ck_assert_ptr_eq(layout_storage(ctx, layout, dims), expr_mul_const(ctx, n, 24));
}
END_TEST

Suite *suite_layout(void);
Suite *suite_layout(void) {
  Suite *suite = suite_create("layout");
  TCase *t = tcase_create("layout");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, row_major_and_permutations);
  tcase_add_test(t, blocks_and_padding_states);
  tcase_add_test(t, storage_and_offsets);
  tcase_add_test(t, halos);
  tcase_add_test(t, tags_print_as_read);
  tcase_add_test(t, bad_tags_are_refused);
  tcase_add_test(t, random_tags_do_no_harm);
  tcase_add_test(t, letters_both_ways);
  tcase_add_test(t, bad_letters_are_refused);
  tcase_add_test(t, bad_digits_are_refused);
  tcase_add_test(t, random_layouts_have_their_properties);
  tcase_add_test(t, symbolic_indices_cancel);
  suite_add_tcase(suite, t);
  return suite;
}
