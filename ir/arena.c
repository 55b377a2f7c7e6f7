/* The arena, and the small things that everything else stands on: growable arrays, hashing, the report of our own
 * faults, spelling suggestions.
 *
 * An arena is a list of chunks. Small blocks are cut one after another from the newest chunk; a block larger than a
 * quarter of a chunk gets a chunk of its own, so that a large tensor neither wastes the rest of a chunk nor ends it.
 * Chunks come zeroed from calloc, which leaves pages of a large block untouched until they are used, and every byte is
 * handed out once: memory is zero without a memset. Under AddressSanitizer what is not handed out is poisoned and
 * blocks stand apart, so that an overrun is seen. */
#include "ir/base.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define RED_ZONE ((size_t)16)
#define POISON(p, n) __asan_poison_memory_region((p), (n))
#define UNPOISON(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define RED_ZONE ((size_t)0)
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define CHUNK_MIN ((size_t)64 << 10)
#define CHUNK_MAX ((size_t)4 << 20)
#define SMALL_ALIGN ((size_t)16)
#define LARGE_ALIGN ((size_t)64)

typedef struct Chunk {
  struct Chunk *next;
  size_t used, size; /* of bytes[] */
  char bytes[];
} Chunk;

struct Arena {
  Chunk *chunks; /* the first is the one that small blocks are cut from */
  size_t chunk_size;
  size_t handed_out;
};

_Noreturn static void out_of_memory(size_t size) {
  fflush(stdout);
  fprintf(stderr, "weft: error: out of memory (a block of %zu bytes was asked for)\n", size);
  _Exit(WEFT_MISSING);
}

const char *weft_bug_input;

_Noreturn void weft_bug(const char *file, int line, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fflush(stdout);
  fprintf(stderr, "weft: internal error: %s:%d: ", file, line);
  vfprintf(stderr, fmt, args);
  fprintf(stderr, "; this is a fault of weft itself, please report this with %s\n",
          weft_bug_input ? weft_bug_input : "the input that caused it");
  va_end(args);
  _Exit(WEFT_BUG); /* no handlers: the state is not to be trusted */
}

static Chunk *chunk_create(size_t size) {
  if (size > PTRDIFF_MAX - sizeof(Chunk))
    out_of_memory(size);
  Chunk *chunk = calloc(1, sizeof(Chunk) + size);
  if (!chunk)
    out_of_memory(size);
  chunk->size = size;
  POISON(chunk->bytes, size);
  return chunk;
}

Arena *arena_create(void) {
  Arena *arena = calloc(1, sizeof *arena);
  if (!arena)
    out_of_memory(sizeof *arena);
  arena->chunk_size = CHUNK_MIN;
  return arena;
}

void arena_destroy(Arena *arena) {
  if (!arena)
    return;
  for (Chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    UNPOISON(chunk->bytes, chunk->size);
    free(chunk);
  }
  free(arena);
}

/* Cuts an aligned block from the chunk, or returns NULL where it does not fit. */
static void *chunk_cut(Chunk *chunk, size_t size, size_t align) {
  uintptr_t base = (uintptr_t)chunk->bytes;
  size_t start = ((base + chunk->used + align - 1) & ~(uintptr_t)(align - 1)) - base;
  if (start > chunk->size || size > chunk->size - start)
    return NULL;
  size_t rest = chunk->size - start - size;
  chunk->used = start + size + (rest > RED_ZONE ? RED_ZONE : rest);
  UNPOISON(chunk->bytes + start, size);
  return chunk->bytes + start;
}

void *arena_alloc(Arena *arena, size_t size) {
  size_t align = size >= LARGE_ALIGN ? LARGE_ALIGN : SMALL_ALIGN;
  if (size > PTRDIFF_MAX - LARGE_ALIGN - RED_ZONE)
    out_of_memory(size);
  arena->handed_out += size;
  void *block = arena->chunks ? chunk_cut(arena->chunks, size, align) : NULL;
  if (block)
    return block;
  if (size > arena->chunk_size / 4) {
    Chunk *own = chunk_create(size + LARGE_ALIGN + RED_ZONE);
    if (arena->chunks) {
      own->next = arena->chunks->next;
      arena->chunks->next = own;
    } else {
      arena->chunks = own;
    }
    return chunk_cut(own, size, align);
  }
  if (arena->chunks && arena->chunk_size < CHUNK_MAX)
    arena->chunk_size *= 2;
  Chunk *chunk = chunk_create(arena->chunk_size);
  chunk->next = arena->chunks;
  arena->chunks = chunk;
  return chunk_cut(chunk, size, align);
}

void *arena_alloc_array(Arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes))
    weft_bug(__FILE__, __LINE__, "an array of %zu elements of %zu bytes was asked for", count, size);
  return arena_alloc(arena, bytes);
}

char *arena_strndup(Arena *arena, const char *s, size_t n) {
  char *copy = arena_alloc(arena, n + 1);
  if (n)
    memcpy(copy, s, n);
  return copy;
}

char *arena_strdup(Arena *arena, const char *s) {
  return arena_strndup(arena, s, strlen(s));
}

char *arena_vprintf(Arena *arena, const char *fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  WEFT_ASSERT(n >= 0);
  char *text = arena_alloc(arena, (size_t)n + 1);
  vsnprintf(text, (size_t)n + 1, fmt, args);
  return text;
}

char *arena_printf(Arena *arena, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char *text = arena_vprintf(arena, fmt, args);
  va_end(args);
  return text;
}

size_t arena_used(const Arena *arena) {
  return arena->handed_out;
}

void *vec_grow_(Arena *arena, void *data, size_t *cap, size_t size) {
  size_t old = *cap, wanted = old ? 2 * old : 8;
  void *grown = arena_alloc_array(arena, wanted, size);
  if (old)
    memcpy(grown, data, old * size);
  *cap = wanted;
  return grown;
}

uint64_t hash_bytes(uint64_t seed, const void *data, size_t n) {
  const unsigned char *p = data;
  for (size_t i = 0; i < n; i++)
    seed = (seed ^ p[i]) * 1099511628211ull;
  return seed;
}

#define NEAREST_MAX 64

/* Levenshtein distance by its usual recurrence, one row kept; both words are shorter than NEAREST_MAX. */
static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb) {
  size_t row[NEAREST_MAX];
  for (size_t j = 0; j <= nb; j++)
    row[j] = j;
  for (size_t i = 1; i <= na; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= nb; j++) {
      size_t best = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      best = best <= row[j] ? best : row[j] + 1;
      row[j] = best <= row[j - 1] ? best : row[j - 1] + 1;
    }
  }
  return row[nb];
}

const char *nearest_word(const char *word, const char *const *known, size_t n) {
  size_t length = strnlen(word, NEAREST_MAX);
  if (length == NEAREST_MAX)
    return NULL;
  const char *nearest = NULL;
  size_t least = 2 + length / 4;
  for (size_t i = 0; i < n; i++) {
    size_t other = strnlen(known[i], NEAREST_MAX);
    if (other == NEAREST_MAX)
      continue;
    size_t distance = edit_distance(word, length, known[i], other);
    if (distance < least) {
      least = distance;
      nearest = known[i];
    }
  }
  return nearest;
}
