/* Memory, strings, growable arrays, checked arithmetic: what every other file stands on.
 *
 * One arena per unit of work (a compilation owns one through its Ctx). Nothing is freed singly; out of memory ends
 * the process in one place, arena.c, with exit status 5. No file outside arena.c calls malloc, except the runtime,
 * which is linked into compiled models and has its own rules. */
#ifndef WEFT_IR_BASE_H
#define WEFT_IR_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WEFT_MAX_RANK 8

#if defined(__GNUC__)
#define WEFT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args), nonnull(fmt)))
#else
#define WEFT_PRINTF(fmt, args)
#endif

/* Exit statuses of every command, and the severity of a diagnostic. */
typedef enum {
  WEFT_OK = 0,
  WEFT_DIFFER = 1,      /* results differ from what was expected */
  WEFT_USAGE = 2,       /* wrong usage of a command */
  WEFT_MALFORMED = 3,   /* the input is malformed, truncated, inconsistent, or of the wrong shape or type */
  WEFT_UNSUPPORTED = 4, /* valid, but not supported */
  WEFT_MISSING = 5,     /* something needed is missing on this machine */
  WEFT_BUG = 70         /* a fault of weft itself */
} Status;

/* Our own faults: prints file, line and message, asks for a report, exits with 70. User errors never come here. */
extern const char *weft_bug_input; /* the file at work, which reproduces the fault; NULL: not known */
_Noreturn void weft_bug(const char *file, int line, const char *fmt, ...) WEFT_PRINTF(3, 4);
#define WEFT_ASSERT(cond) ((cond) ? (void)0 : weft_bug(__FILE__, __LINE__, "assertion failed: %s", #cond))
#define WEFT_UNREACHABLE() weft_bug(__FILE__, __LINE__, "unreachable code was reached")

/* ---- arena ---- */

typedef struct Arena Arena;

Arena *arena_create(void);
void arena_destroy(Arena *arena); /* NULL is allowed */

/* Zeroed memory, aligned to 64 bytes when size >= 64, else to 16. Lives until arena_destroy. size 0 gives a valid
 * pointer. */
void *arena_alloc(Arena *arena, size_t size);
/* count * size bytes; an overflow of the product is a bug of the caller, who checks sizes of outside files before. */
void *arena_alloc_array(Arena *arena, size_t count, size_t size);
#define ARENA_NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define ARENA_ARRAY(arena, T, n) ((T *)arena_alloc_array((arena), (size_t)(n), sizeof(T)))

char *arena_strndup(Arena *arena, const char *s, size_t n);
char *arena_strdup(Arena *arena, const char *s);
char *arena_printf(Arena *arena, const char *fmt, ...) WEFT_PRINTF(2, 3);
char *arena_vprintf(Arena *arena, const char *fmt, va_list args);

/* Bytes handed out so far: for --time-passes and limits. */
size_t arena_used(const Arena *arena);

/* ---- growable array in an arena: struct { T *data; size_t len, cap; } ---- */

#define VEC(T)                                                                                                         \
  struct {                                                                                                             \
    T *data;                                                                                                           \
    size_t len, cap;                                                                                                   \
  }
#define vec_push(arena, v, x)                                                                                          \
  do {                                                                                                                 \
    if ((v)->len == (v)->cap)                                                                                          \
      (v)->data = vec_grow_((arena), (v)->data, &(v)->cap, sizeof *(v)->data);                                         \
    (v)->data[(v)->len++] = (x);                                                                                       \
  } while (0)
void *vec_grow_(Arena *arena, void *data, size_t *cap, size_t size);

/* ---- text under construction; grows in an arena, always NUL-terminated ---- */

typedef struct {
  Arena *arena;
  char *data;
  size_t len, cap;
} Str;

Str str_new(Arena *arena);
void str_put(Str *s, const char *text);
void str_putn(Str *s, const char *text, size_t n);
void str_putc(Str *s, char c);
void str_printf(Str *s, const char *fmt, ...) WEFT_PRINTF(2, 3);
/* The shortest decimal that reads back as the same float (is_f32) or double; `inf`, `-inf`, `nan` otherwise; always
 * with a '.', an exponent or a letter, so that it never reads as an integer. Independent of the locale. */
void str_put_float(Str *s, double value, bool is_f32);
/* A double-quoted string with \" \\ \n \t \xNN escapes; the parser of the text form reads it back. */
void str_put_quoted(Str *s, const char *text);
/* Bytes of the UTF-8 character that starts at text, n bytes of which may be read; 0 where no valid one starts there. */
size_t utf8_length(const char *text, size_t n);

/* ---- checked arithmetic: false on overflow, and *out is then unspecified ---- */

static inline bool mul_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool add_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool sub_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_sub_overflow(a, b, out);
}

/* Euclidean: the remainder is in [0, b), b > 0. C's / and % round toward zero, which is a trap for negative padding. */
static inline int64_t floordiv_i64(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}
static inline int64_t floormod_i64(int64_t a, int64_t b) {
  return a % b < 0 ? a % b + b : a % b;
}
static inline int64_t ceildiv_i64(int64_t a, int64_t b) {
  return -floordiv_i64(-a, b);
}

/* FNV-1a, for intern tables and content keys. Start with WEFT_HASH_SEED. */
#define WEFT_HASH_SEED 1469598103934665603ull
uint64_t hash_bytes(uint64_t seed, const void *data, size_t n);

/* The known word nearest to `word` (edit distance <= 1 + length/4), or NULL: for "did you mean". */
const char *nearest_word(const char *word, const char *const *known, size_t n);

#endif
