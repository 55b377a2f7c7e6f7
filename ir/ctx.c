/* The context of a compilation and its intern tables.
 *
 * A table holds (hash, item) in open addressing with linear probing, at most three quarters full; the hash is kept so
 * that growing needs no look at the items and a probe compares items of equal hash only. */
#include "ir/ctx.h"

Ctx *ctx_create(void) {
  Arena *arena = arena_create();
  Ctx *ctx = ARENA_NEW(arena, Ctx);
  ctx->arena = arena;
  ctx->diags = diags_create(arena);
  return ctx;
}

void ctx_destroy(Ctx *ctx) {
  if (ctx)
    arena_destroy(ctx->arena);
}

/* FNV-1a is weak in its low bits where only the last bytes differ: fold the high half in. */
static size_t intern_start(uint64_t hash, size_t cap) {
  return (size_t)(hash ^ (hash >> 32)) & (cap - 1);
}

const void *intern_find(const Intern *table, uint64_t hash, bool (*equal)(const void *item, const void *key),
                        const void *key) {
  if (!table->cap)
    return NULL;
  for (size_t i = intern_start(hash, table->cap); table->slots[i].item; i = (i + 1) & (table->cap - 1))
    if (table->slots[i].hash == hash && equal(table->slots[i].item, key))
      return table->slots[i].item;
  return NULL;
}

static void intern_place(Intern *table, uint64_t hash, const void *item) {
  size_t i = intern_start(hash, table->cap);
  while (table->slots[i].item)
    i = (i + 1) & (table->cap - 1);
  table->slots[i].hash = hash;
  table->slots[i].item = item;
}

void intern_add(Ctx *ctx, Intern *table, uint64_t hash, const void *item) {
  WEFT_ASSERT(item != NULL);
  if (4 * (table->n + 1) > 3 * table->cap) {
    Intern grown = {.n = table->n, .cap = table->cap ? 2 * table->cap : 64};
    grown.slots = ARENA_ARRAY(ctx->arena, struct InternSlot, grown.cap);
    for (size_t i = 0; i < table->cap; i++)
      if (table->slots[i].item)
        intern_place(&grown, table->slots[i].hash, table->slots[i].item);
    *table = grown;
  }
  intern_place(table, hash, item);
  table->n++;
}

typedef struct {
  const char *s;
  size_t n;
} StrKey;

static bool string_equal(const void *item, const void *key) {
  const StrKey *k = key;
  const char *s = item;
  return strncmp(s, k->s, k->n) == 0 && s[k->n] == '\0';
}

const char *intern_strn(Ctx *ctx, const char *s, size_t n) {
  StrKey key = {s, n ? strnlen(s, n) : 0};
  uint64_t hash = hash_bytes(WEFT_HASH_SEED, s, key.n);
  const char *found = intern_find(&ctx->strings, hash, string_equal, &key);
  if (found)
    return found;
  const char *copy = arena_strndup(ctx->arena, s, key.n);
  intern_add(ctx, &ctx->strings, hash, copy);
  return copy;
}

const char *intern_str(Ctx *ctx, const char *s) {
  return intern_strn(ctx, s, strlen(s));
}

/* ---- unique names: each taken one remembers the suffix to try next, so that many equal wishes stay cheap ---- */

typedef struct {
  const char *name;
  uint32_t next; /* suffix to try next; of the entry "": the number for a value without a name */
} NameEntry;

static bool name_equal(const void *item, const void *key) {
  return ((const NameEntry *)item)->name == key;
}

static uint64_t name_hash(const char *name) {
  return hash_bytes(WEFT_HASH_SEED, name, strlen(name));
}

/* name must be interned. */
static NameEntry *name_find(const Intern *names, const char *name) {
  return (NameEntry *)(uintptr_t)intern_find(names, name_hash(name), name_equal, name);
}

static NameEntry *name_add(Ctx *ctx, Intern *names, const char *name) {
  NameEntry *entry = ARENA_NEW(ctx->arena, NameEntry);
  entry->name = name;
  entry->next = *name ? 1 : 0;
  intern_add(ctx, names, name_hash(name), entry);
  return entry;
}

const char *name_take(Ctx *ctx, Intern *names, const char *name) {
  name = intern_str(ctx, name ? name : "");
  NameEntry *entry = name_find(names, name);
  if (!entry) {
    entry = name_add(ctx, names, name);
    if (*name)
      return name;
  }
  const char *variant;
  do
    variant = intern_str(ctx, arena_printf(ctx->arena, *name ? "%s.%u" : "%s%u", name, entry->next++));
  while (name_find(names, variant));
  name_add(ctx, names, variant);
  return variant;
}
