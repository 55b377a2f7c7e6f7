/* The lexer of the text form.
 *
 * Invariant: p never passes end, and `line`, `col` are those of p; a column counts characters, so continuation bytes
 * of UTF-8, which occur in strings and comments only, do not advance it. Each word costs time linear in its length. */
#include "ir/lex.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_name_char(char c) {
  return is_letter(c) || is_digit(c) || c == '$';
}
static int hex_digit(char c) {
  return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Length of the plain name that text starts with. A '.' belongs to a name only in front of a name's character, so that
 * `q..8` is a range; '-' only behind a sigil, so that `q-1` is a difference. */
static size_t plain_length(const char *p, const char *end, bool sigil) {
  const char *start = p;
  if (p == end || !is_letter(*p))
    return 0;
  while (p < end && (is_name_char(*p) || (sigil && *p == '-') || (*p == '.' && end - p > 1 && is_name_char(p[1]))))
    p++;
  return (size_t)(p - start);
}

static size_t digits_length(const char *p, const char *end) {
  const char *start = p;
  while (p < end && is_digit(*p))
    p++;
  return (size_t)(p - start);
}

bool lex_name_is_plain(const char *name, bool sigil) {
  size_t n = strlen(name);
  return n > 0 && (plain_length(name, name + n, sigil) == n || digits_length(name, name + n) == n);
}

static bool is_expression_word(const char *s, size_t n) {
  return n == 3 && (!memcmp(s, "div", 3) || !memcmp(s, "mod", 3) || !memcmp(s, "min", 3) || !memcmp(s, "max", 3));
}

bool lex_name_is_variable(const char *name) {
  size_t n = strlen(name);
  return n > 0 && plain_length(name, name + n, false) == n && !is_expression_word(name, n);
}

/* ---- scanning ---- */

static void advance(Lexer *lex, size_t n) {
  for (const char *stop = lex->p + n; lex->p < stop; lex->p++) {
    if (*lex->p == '\n') {
      lex->line++;
      lex->col = 1;
    } else if (((unsigned char)*lex->p & 0xc0) != 0x80) {
      lex->col++;
    }
  }
}

static void skip_space(Lexer *lex) {
  while (lex->p < lex->end) {
    if (*lex->p == '#') {
      const char *newline = memchr(lex->p, '\n', (size_t)(lex->end - lex->p));
      advance(lex, (size_t)((newline ? newline : lex->end) - lex->p));
    } else if (*lex->p == ' ' || *lex->p == '\t' || *lex->p == '\r' || *lex->p == '\n') {
      advance(lex, 1);
    } else {
      return;
    }
  }
}

/* Length of the quoted string at p, or 0 and *why. */
static size_t string_length(const char *p, const char *end, const char **why) {
  const char *start = p++;
  for (; p < end && *p != '"'; p++) {
    if (*p == '\n')
      break;
    if (*p == '\0') {
      *why = "a string with a NUL byte";
      return 0;
    }
    if (*p != '\\')
      continue;
    if (++p == end)
      break;
    if (*p == 'x') {
      int high = end - p > 2 ? hex_digit(p[1]) : -1, low = end - p > 2 ? hex_digit(p[2]) : -1;
      if (high < 0 || low < 0 || high + low == 0) {
        *why = "a string in which \\x is not followed by two hexadecimal digits other than 00";
        return 0;
      }
      p += 2;
    } else if (*p != '"' && *p != '\\' && *p != 'n' && *p != 't') {
      *why = "a string with an unknown escape (known: \\\" \\\\ \\n \\t \\xNN)";
      return 0;
    }
  }
  if (p == end || *p != '"') {
    *why = "a string that does not end on its line";
    return 0;
  }
  return (size_t)(p + 1 - start);
}

static size_t number_length(const char *p, const char *end, WordKind *kind, const char **why) {
  const char *start = p;
  *kind = WORD_INT;
  p += digits_length(p, end);
  if (p < end && *p == '.' && (end - p < 2 || p[1] != '.')) {
    *kind = WORD_FLOAT;
    p++;
    p += digits_length(p, end);
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    const char *exp = p + 1;
    if (exp < end && (*exp == '+' || *exp == '-'))
      exp++;
    size_t n = digits_length(exp, end);
    if (n) {
      *kind = WORD_FLOAT;
      p = exp + n;
    }
  }
  if (p < end && is_name_char(*p)) {
    *why = "a number that runs into a name (names that start with a digit need quotes)";
    return 0;
  }
  if ((size_t)(p - start) > LEX_MAX_DIGITS) {
    *why = "a number of more than 512 characters";
    return 0;
  }
  return (size_t)(p - start);
}

static size_t sigil_length(const char *p, const char *end, const char **why) {
  const char *name = p + 1;
  if (name < end && *name == '"') {
    size_t n = string_length(name, end, why);
    return n ? n + 1 : 0;
  }
  size_t n = plain_length(name, end, true);
  if (n)
    return n + 1;
  n = digits_length(name, end);
  if (n && name + n < end && is_name_char(name[n])) {
    *why = "a name that starts with a digit, which needs quotes";
    return 0;
  }
  if (n)
    return n + 1;
  *why = *p == '%' ? "a '%' without a name right behind it" : "a '@' without a name right behind it";
  return 0;
}

static size_t mark_length(const char *p, const char *end) {
  static const char *const two[] = {"->", "<=", ">=", "==", "!=", ".."};
  if (end - p >= 2)
    for (size_t k = 0; k < sizeof two / sizeof *two; k++)
      if (p[0] == two[k][0] && p[1] == two[k][1])
        return 2;
  return *p && strchr("()[]{},:=+-*/<>", *p) ? 1 : 0;
}

/* Puts the next word ahead. */
static void scan(Lexer *lex) {
  skip_space(lex);
  Word *w = &lex->word;
  *w = (Word){.kind = WORD_END, .start = lex->p, .line = lex->line, .col = lex->col};
  if (lex->p == lex->end)
    return;
  char c = *lex->p;
  if (is_letter(c)) {
    w->kind = WORD_NAME;
    w->len = plain_length(lex->p, lex->end, false);
  } else if (is_digit(c)) {
    w->len = number_length(lex->p, lex->end, &w->kind, &w->why);
  } else if (c == '"') {
    w->kind = WORD_STRING;
    w->len = string_length(lex->p, lex->end, &w->why);
  } else if (c == '%' || c == '@') {
    w->kind = c == '%' ? WORD_VALUE : WORD_SYMBOL;
    w->len = sigil_length(lex->p, lex->end, &w->why);
  } else {
    w->kind = WORD_MARK;
    w->len = mark_length(lex->p, lex->end);
  }
  if (!w->len) {
    w->kind = WORD_BAD;
    w->len = 1;
  }
  advance(lex, w->len);
}

bool lex_init(Lexer *lex, Ctx *ctx, const char *file, const char *text, size_t len) {
  *lex = (Lexer){.ctx = ctx, .p = text, .end = text + len, .line = 1, .col = 1};
  lex->file = file ? intern_str(ctx, file) : NULL;
  if (len > LEX_MAX_TEXT) {
    lex->failed = true;
    return diag_error(ctx->diags, WEFT_MALFORMED, (Loc){lex->file, 1, 1, NULL},
                      "expected a text of at most %zu bytes, found %zu", LEX_MAX_TEXT, len);
  }
  scan(lex);
  return true;
}

Loc lex_loc(const Lexer *lex, Word word) {
  return (Loc){lex->file, word.line, word.col, NULL};
}

Word lex_take(Lexer *lex) {
  Word word = lex->word;
  if (word.kind != WORD_END && word.kind != WORD_BAD)
    scan(lex);
  return word;
}

bool lex_tag(Lexer *lex, Word *tag) {
  Word *w = &lex->word;
  WEFT_ASSERT(w->len > 0 && *w->start == '@');
  lex->p = w->start;
  lex->line = w->line;
  lex->col = w->col;
  const char *p = w->start + 1;
  bool halo = false; /* between '(' and ')', which stand behind a letter */
  for (; p < lex->end && *p != '_'; p++) {
    if (*p == '(' && !halo && is_letter(p[-1]))
      halo = true;
    else if (*p == ')' && halo)
      halo = false;
    else if (halo ? !is_digit(*p) && *p != ',' : !is_letter(*p) && !is_digit(*p) && *p != '/')
      break;
  }
  if (p < lex->end && *p == ':')
    for (p++; p < lex->end && is_letter(*p) && *p != '_';)
      p++;
  *tag = *w;
  tag->start++;
  tag->len = (size_t)(p - tag->start);
  tag->col++;
  advance(lex, tag->len + 1);
  scan(lex);
  return tag->len > 0 ||
         lex_error(lex, *tag, "expected the tag of a layout such as 'acdb' or 'aBcd8b' right behind '@'");
}

/* ---- errors ---- */

/* A word as it is shown in an error: its text, cut. */
static const char *found(const Lexer *lex, Word word) {
  const size_t most = 40;
  switch (word.kind) {
  case WORD_END:
    return "the end of the text";
  case WORD_BAD:
    return word.why ? word.why
                    : arena_printf(lex->ctx->arena, "a character that begins no word (byte 0x%02x)",
                                   (unsigned char)*word.start);
  default:
    return arena_printf(lex->ctx->arena, "'%.*s%s'", (int)(word.len > most ? most : word.len), word.start,
                        word.len > most ? "..." : "");
  }
}

bool lex_error(Lexer *lex, Word at, const char *fmt, ...) {
  if (lex->failed)
    return false;
  lex->failed = true;
  va_list args;
  va_start(args, fmt);
  const char *text = arena_vprintf(lex->ctx->arena, fmt, args);
  va_end(args);
  return diag_error(lex->ctx->diags, WEFT_MALFORMED, lex_loc(lex, at), "%s", text);
}

bool lex_expected(Lexer *lex, const char *what) {
  return lex->failed ? false : lex_error(lex, lex->word, "expected %s, found %s", what, found(lex, lex->word));
}

const char *lex_suggestion(Lexer *lex, const char *near) {
  return near ? arena_printf(lex->ctx->arena, "; did you mean '%s'?", near) : "";
}

/* ---- words ---- */

bool word_is(Word word, const char *text) {
  return (word.kind == WORD_NAME || word.kind == WORD_MARK) && strlen(text) == word.len &&
         !memcmp(word.start, text, word.len);
}

bool lex_at(const Lexer *lex, const char *text) {
  return word_is(lex->word, text);
}

bool lex_accept(Lexer *lex, const char *text) {
  if (!lex_at(lex, text))
    return false;
  lex_take(lex);
  return true;
}

bool lex_expect(Lexer *lex, const char *text) {
  return lex_accept(lex, text) || lex_expected(lex, arena_printf(lex->ctx->arena, "'%s'", text));
}

/* The text of a string word: escapes replaced. The lexer has found it sound. */
static const char *unescape(Lexer *lex, const char *p, size_t len) {
  char *text = arena_alloc(lex->ctx->arena, len), *out = text;
  for (const char *end = p + len - 1, *q = p + 1; q < end; q++) {
    if (*q != '\\') {
      *out++ = *q;
      continue;
    }
    q++;
    if (*q == 'x') {
      *out++ = (char)(hex_digit(q[1]) * 16 + hex_digit(q[2]));
      q += 2;
    } else {
      *out++ = *q == 'n' ? '\n' : *q == 't' ? '\t' : *q;
    }
  }
  return intern_strn(lex->ctx, text, (size_t)(out - text));
}

const char *lex_name_of(Lexer *lex, Word word) {
  const char *p = word.start;
  size_t n = word.len;
  if (word.kind == WORD_VALUE || word.kind == WORD_SYMBOL) {
    p++;
    n--;
  }
  if (n > LEX_MAX_NAME) {
    lex_error(lex, word, "expected a name of at most %zu bytes, found %zu", LEX_MAX_NAME, n);
    return NULL;
  }
  const char *name = *p == '"' ? unescape(lex, p, n) : intern_strn(lex->ctx, p, n);
  if (*name)
    return name;
  lex_error(lex, word, "expected a name, found an empty string");
  return NULL;
}

static const char *take_name(Lexer *lex, const char *what, bool fits) {
  if (!fits) {
    lex_expected(lex, what);
    return NULL;
  }
  return lex_name_of(lex, lex_take(lex));
}

const char *lex_value(Lexer *lex, const char *what) {
  return take_name(lex, what, lex->word.kind == WORD_VALUE);
}

const char *lex_symbol(Lexer *lex, const char *what) {
  return take_name(lex, what, lex->word.kind == WORD_SYMBOL);
}

const char *lex_bare_name(Lexer *lex, const char *what) {
  WordKind kind = lex->word.kind;
  return take_name(lex, what, kind == WORD_NAME || kind == WORD_INT || kind == WORD_STRING);
}

const char *lex_variable(Lexer *lex, const char *what) {
  const Word *w = &lex->word;
  return take_name(lex, what,
                   w->kind == WORD_STRING || (w->kind == WORD_NAME && !is_expression_word(w->start, w->len)));
}

const char *lex_string(Lexer *lex, const char *what) {
  if (lex->word.kind != WORD_STRING) {
    lex_expected(lex, what);
    return NULL;
  }
  Word word = lex_take(lex);
  if (word.len <= LEX_MAX_NAME)
    return unescape(lex, word.start, word.len);
  lex_error(lex, word, "expected a string of at most %zu bytes, found %zu", LEX_MAX_NAME, word.len);
  return NULL;
}

/* ---- numbers ---- */

bool lex_int(Lexer *lex, const char *what, int64_t lo, int64_t hi, int64_t *out) {
  Word first = lex->word;
  bool negative = lex_accept(lex, "-");
  if (lex->word.kind != WORD_INT)
    return lex_expected(lex, what);
  Word digits = lex_take(lex);
  int64_t value = 0;
  bool fits = true;
  for (size_t k = 0; k < digits.len && fits; k++) {
    int64_t d = digits.start[k] - '0';
    fits = mul_i64(value, 10, &value) && (negative ? sub_i64(value, d, &value) : add_i64(value, d, &value));
  }
  *out = value;
  if (fits && value >= lo && value <= hi)
    return true;
  first.len = (size_t)(digits.start + digits.len - first.start);
  return lex_error(lex, first, "expected %s between %lld and %lld, found %s", what, (long long)lo, (long long)hi,
                   found(lex, first));
}

bool lex_number(Lexer *lex, const char *what, bool single, double *out) {
  Word first = lex->word;
  double sign = lex_accept(lex, "-") ? -1 : 1;
  if (lex_accept(lex, "inf")) {
    *out = sign * (double)INFINITY;
    return true;
  }
  if (lex_accept(lex, "nan")) {
    *out = (double)NAN;
    return true;
  }
  if (lex->word.kind != WORD_INT && lex->word.kind != WORD_FLOAT)
    return lex_expected(lex, what);
  Word word = lex_take(lex);
  char text[LEX_MAX_DIGITS + 1];
  memcpy(text, word.start, word.len);
  text[word.len] = '\0';
  /* In the C locale whatever the process has set: the C locale's object is static, nothing is to be freed. */
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  *out = sign * (single ? (double)strtof_l(text, NULL, c) : strtod_l(text, NULL, c));
  if (isfinite(*out))
    return true;
  return lex_error(lex, first, "expected %s, found %s, which is too large for %s", what, found(lex, word),
                   single ? "f32" : "f64");
}
