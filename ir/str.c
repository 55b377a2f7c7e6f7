/* Text under construction, and the two things that must be printed with care: floats and quoted strings.
 *
 * Floats: digits and exponent come from printf at the least precision whose text reads back as the same number, and
 * are then laid out here, so that the locale's decimal point never shows. printf rounds to the nearest decimal; beside
 * a power of two, where the floats below are twice as dense, the nearest one of some length may fail where the next
 * larger one reads back, so that one is tried as well. */
#include "ir/base.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

Str str_new(Arena *arena) {
  Str s = {.arena = arena, .cap = 32};
  s.data = arena_alloc(arena, s.cap);
  return s;
}

/* Makes room for n more characters and the NUL. */
static void str_reserve(Str *s, size_t n) {
  if (n < s->cap - s->len)
    return;
  WEFT_ASSERT(n < SIZE_MAX / 4 && s->len < SIZE_MAX / 4);
  size_t cap = 2 * s->cap > s->len + n + 1 ? 2 * s->cap : s->len + n + 1;
  char *data = arena_alloc(s->arena, cap);
  memcpy(data, s->data, s->len);
  s->data = data;
  s->cap = cap;
}

void str_putn(Str *s, const char *text, size_t n) {
  if (!n)
    return;
  str_reserve(s, n);
  memcpy(s->data + s->len, text, n);
  s->len += n;
  s->data[s->len] = '\0';
}

void str_put(Str *s, const char *text) {
  str_putn(s, text, strlen(text));
}

void str_putc(Str *s, char c) {
  str_putn(s, &c, 1);
}

void str_printf(Str *s, const char *fmt, ...) {
  va_list args, again;
  va_start(args, fmt);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  WEFT_ASSERT(n >= 0);
  str_reserve(s, (size_t)n);
  vsnprintf(s->data + s->len, (size_t)n + 1, fmt, args);
  va_end(args);
  s->len += (size_t)n;
}

/* 0.d1d2d3... * 10^(point): up to 17 digits. */
typedef struct {
  char digits[24];
  int n, point;
} Decimal;

static void decimal_round(Decimal *d, double value, int precision) {
  char text[48];
  snprintf(text, sizeof text, "%.*e", precision - 1, value);
  d->n = 0;
  const char *p = text;
  for (; *p && *p != 'e'; p++)
    if (*p >= '0' && *p <= '9' && d->n < 17)
      d->digits[d->n++] = *p;
  WEFT_ASSERT(*p == 'e' && d->n == precision);
  d->point = (int)strtol(p + 1, NULL, 10) + 1;
}

/* The next larger decimal of the same length. */
static void decimal_increment(Decimal *d) {
  int i = d->n - 1;
  while (i >= 0 && d->digits[i] == '9')
    d->digits[i--] = '0';
  if (i >= 0) {
    d->digits[i]++;
  } else {
    d->digits[0] = '1';
    d->point++;
  }
}

static bool decimal_reads_as(const Decimal *d, double value, bool is_f32) {
  char text[48];
  snprintf(text, sizeof text, "%.*se%d", d->n, d->digits, d->point - d->n);
  return is_f32 ? (double)strtof(text, NULL) == value : strtod(text, NULL) == value;
}

/* The shortest decimal of a positive finite number. A decimal of at most DBL_DIG digits is what the normal number it
 * reads as prints as with DBL_DIG digits, but for zeros at the end: so the search starts there. */
static Decimal decimal_shortest(double value, bool is_f32) {
  Decimal d = {.n = 0};
  int exponent;
  bool power_of_two = frexp(value, &exponent) == 0.5;
  bool normal = value >= (is_f32 ? (double)FLT_MIN : DBL_MIN);
  for (int precision = !normal ? 1 : is_f32 ? FLT_DIG : DBL_DIG; precision <= 17; precision++) {
    decimal_round(&d, value, precision);
    if (decimal_reads_as(&d, value, is_f32))
      break;
    if (power_of_two) {
      decimal_increment(&d);
      if (decimal_reads_as(&d, value, is_f32))
        break;
    }
  }
  while (d.n > 1 && d.digits[d.n - 1] == '0')
    d.n--;
  return d;
}

void str_put_float(Str *s, double value, bool is_f32) {
  if (is_f32)
    value = (double)(float)value;
  if (isnan(value)) {
    str_put(s, "nan");
    return;
  }
  if (signbit(value))
    str_putc(s, '-');
  value = fabs(value);
  if (isinf(value)) {
    str_put(s, "inf");
    return;
  }
  if (value == 0) {
    str_put(s, "0.0");
    return;
  }
  Decimal d = decimal_shortest(value, is_f32);
  if (d.point < -3 || d.point > 16) {
    str_putn(s, d.digits, 1);
    if (d.n > 1) {
      str_putc(s, '.');
      str_putn(s, d.digits + 1, (size_t)(d.n - 1));
    }
    str_printf(s, "e%d", d.point - 1);
    return;
  }
  if (d.point <= 0)
    str_put(s, "0.");
  for (int i = d.point < 0 ? d.point : 0; i < d.n || i < d.point; i++) {
    if (i == d.point && i > 0)
      str_putc(s, '.');
    str_putc(s, i >= 0 && i < d.n ? d.digits[i] : '0');
  }
  if (d.n <= d.point)
    str_put(s, ".0");
}

size_t utf8_length(const char *text, size_t n) {
  const unsigned char *p = (const unsigned char *)text;
  if (n == 0)
    return 0;
  if (p[0] < 0x80)
    return 1;
  size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  if (p[0] < 0xc2 || p[0] > 0xf4 || length > n)
    return 0;
  for (size_t i = 1; i < length; i++)
    if ((p[i] & 0xc0) != 0x80)
      return 0;
  /* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
  if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
      (p[0] == 0xf4 && p[1] > 0x8f))
    return 0;
  return length;
}

void str_put_quoted(Str *s, const char *text) {
  size_t left = strlen(text);
  str_putc(s, '"');
  while (left) {
    unsigned char c = (unsigned char)*text;
    size_t length = utf8_length(text, left);
    if (c == '"' || c == '\\')
      str_printf(s, "\\%c", c);
    else if (c == '\n')
      str_put(s, "\\n");
    else if (c == '\t')
      str_put(s, "\\t");
    else if (length == 0 || c < 0x20 || c == 0x7f)
      str_printf(s, "\\x%02x", c);
    else
      str_putn(s, text, length);
    length = length ? length : 1;
    text += length;
    left -= length;
  }
  str_putc(s, '"');
}
