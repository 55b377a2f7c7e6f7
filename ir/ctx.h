/* The context of one compilation: the arena that owns everything, the intern tables, the diagnostics. One free. */
#ifndef WEFT_IR_CTX_H
#define WEFT_IR_CTX_H

#include "ir/base.h"
#include "ir/diag.h"

/* A table of interned immutable nodes: open addressing over hashes, grown by doubling. Equality is the caller's. */
typedef struct {
  struct InternSlot {
    uint64_t hash;
    const void *item;
  } *slots;
  size_t n, cap;
} Intern;

typedef struct Ctx {
  Arena *arena;
  Diags *diags;
  Intern strings, exprs, layouts, types, scalars;
  uint32_t next_expr_id, next_layout_id, next_type_id, next_scalar_id;
  void *function_cache[2][32]; /* parsed scalar functions in f32 and f64, see scalar_expand.c */
} Ctx;

Ctx *ctx_create(void);
void ctx_destroy(Ctx *ctx); /* frees everything made in it; NULL is allowed */

/* The one copy of this string, up to its first NUL or n: equal strings are equal pointers. */
const char *intern_str(Ctx *ctx, const char *s);
const char *intern_strn(Ctx *ctx, const char *s, size_t n);

/* Finds an item with this hash for which equal(item, key) holds, or NULL. */
const void *intern_find(const Intern *table, uint64_t hash, bool (*equal)(const void *item, const void *key),
                        const void *key);
void intern_add(Ctx *ctx, Intern *table, uint64_t hash, const void *item);

/* Takes `name` from a table of names, or where it is taken already the first free of NAME.1, NAME.2, ...; NULL or "": the
 * next free number. */
const char *name_take(Ctx *ctx, Intern *names, const char *name);

#endif
