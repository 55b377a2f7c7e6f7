/* What the tests of the text form share: reading and printing graphs, a loader for file(...), random numbers. */
#ifndef WEFT_TESTS_UNIT_TEXT_HELP_H
#define WEFT_TESTS_UNIT_TEXT_HELP_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/tensor.h"
#include "ir/text.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* k.npy, of any type, counts up from 0, and so does tensor t of it; nothing else is there. */
static inline void *load(void *env, Ctx *ctx, const char *file, const char *tensor, const Type *type, Loc loc) {
  ck_assert_ptr_eq(env, NULL);
  if (strcmp(file, "k.npy") != 0 || (tensor && strcmp(tensor, "t") != 0)) {
    diag_error(ctx->diags, WEFT_MALFORMED, loc, "%s: no such file", file);
    return NULL;
  }
  Tensor *t = tensor_of_type(ctx, type);
  for (int64_t k = 0; k < t->n; k++)
    tensor_set(t, k, (double)k);
  return t->data;
}

static inline Module *parse(Ctx *ctx, const char *text) {
  return module_parse(ctx, "t.weft", text, strlen(text), load, NULL);
}

static inline Module *parse_well(Ctx *ctx, const char *text) {
  Module *m = parse(ctx, text);
  if (!m)
    ck_abort_msg("expected this to parse:\n%s\n%s", text, diag_text(ctx->diags, false));
  ck_assert_uint_eq(diag_count(ctx->diags), 0);
  return m;
}

static inline const char *print(Module *m, bool file_refs, bool locations) {
  Str out = str_new(m->ctx->arena);
  module_print(&out, m, (PrintOptions){.file_refs = file_refs, .locations = locations});
  return out.data;
}

/* xorshift64*: the state is never 0. */
static inline uint64_t random_next(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 2685821657736338717u;
}

static inline int random_below(uint64_t *state, int n) {
  return (int)(random_next(state) >> 33) % n;
}

/* From WEFT_SEED, printed where it matters: on standard error. */
static inline uint64_t random_seed(const char *test) {
  const char *text = getenv("WEFT_SEED");
  uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
  fprintf(stderr, "%s: WEFT_SEED=%llu\n", test, (unsigned long long)seed);
  return seed * 2 + 1;
}

#endif
