/* Recording and printing of diagnostics.
 *
 * Invariants: an error costs bounded memory (its text is cut, and beyond a number of errors only a count is kept), so
 * that a hostile file cannot swell it; what is printed is one line of printable text per diagnostic, whatever bytes
 * names and sources hold; showing a source line never waits (regular files only) nor reads on without bound. */
#include "ir/diag.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum { SEV_ERROR, SEV_WARNING, SEV_NOTE } Severity;
#define SEV_COUNT 3

static const char *const severity_name[SEV_COUNT] = {"error", "warning", "note"};
static const size_t severity_kept[SEV_COUNT] = {50, 50, 200};

#define MESSAGE_MAX ((size_t)2000) /* bytes of a message */
#define NAME_MAX_SHOWN ((size_t)500)
#define SCAN_MAX ((size_t)8 << 20)    /* bytes of a source file searched for a line */
#define LINE_MAX_READ ((size_t)65536) /* bytes of a line looked at */
#define WINDOW ((size_t)120)          /* columns of a source line shown */
#define TAB_WIDTH ((size_t)4)

typedef struct {
  Severity severity;
  Loc loc;
  const char *text;
} Record;

struct Diags {
  Arena *arena;
  VEC(Record) records;
  size_t seen[SEV_COUNT], kept[SEV_COUNT];
  Status first;
  bool last_dropped; /* the error or warning recorded last was only counted: its notes go with it */
};

Diags *diags_create(Arena *arena) {
  Diags *diags = ARENA_NEW(arena, Diags);
  diags->arena = arena;
  return diags;
}

/* Text as one line of printable characters, cut at `max` bytes. */
static void put_printable(Str *out, const char *text, size_t max) {
  size_t length = strnlen(text, max + 1), left = length;
  while (left) {
    size_t n = utf8_length(text, left);
    if (length > max && (size_t)4 + 3 > left) { /* keep clear of a character that was cut */
      str_put(out, "...");
      return;
    }
    unsigned char c = (unsigned char)*text;
    bool c1 = n == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0;
    if (c == '\n')
      str_put(out, "\\n");
    else if (n == 0 || c < 0x20 || c == 0x7f || c1)
      for (size_t i = 0; i < (n ? n : 1); i++)
        str_printf(out, "\\x%02x", (unsigned char)text[i]);
    else
      str_putn(out, text, n);
    text += n ? n : 1;
    left -= n ? n : 1;
  }
}

static void record(Diags *diags, Severity severity, Loc loc, const char *fmt, va_list args) {
  diags->seen[severity]++;
  bool drop = diags->kept[severity] == severity_kept[severity];
  if (severity != SEV_NOTE)
    diags->last_dropped = drop;
  if (drop)
    return;
  diags->kept[severity]++;
  Str text = str_new(diags->arena);
  char message[MESSAGE_MAX + 2];
  vsnprintf(message, sizeof message, fmt, args);
  put_printable(&text, message, MESSAGE_MAX);
  vec_push(diags->arena, &diags->records, ((Record){severity, loc, text.data}));
}

bool diag_error(Diags *diags, Status status, Loc loc, const char *fmt, ...) {
  WEFT_ASSERT((status >= WEFT_USAGE && status <= WEFT_MISSING) || status == WEFT_BUG);
  if (diags->first == WEFT_OK)
    diags->first = status;
  va_list args;
  va_start(args, fmt);
  record(diags, SEV_ERROR, loc, fmt, args);
  va_end(args);
  return false;
}

void diag_note(Diags *diags, Loc loc, const char *fmt, ...) {
  if (diags->last_dropped)
    return;
  va_list args;
  va_start(args, fmt);
  record(diags, SEV_NOTE, loc, fmt, args);
  va_end(args);
}

void diag_warning(Diags *diags, Loc loc, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  record(diags, SEV_WARNING, loc, fmt, args);
  va_end(args);
}

size_t diag_count(const Diags *diags) {
  return diags->seen[SEV_ERROR];
}

void diag_internal(Diags *diags) {
  diags->first = WEFT_BUG;
  diag_note(diags, LOC_NONE, "this is a fault of weft itself, please report it with %s",
            weft_bug_input ? weft_bug_input : "the input that caused it");
}

Status diag_status(const Diags *diags) {
  return diags->first;
}

/* Reads line `wanted` of a regular file into out, without its newline. False where it cannot be shown. */
static bool read_line(const char *file, int wanted, Str *out) {
  int fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0)
    return false;
  struct stat st;
  bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode), done = !ok;
  int line = 1;
  char buffer[16384];
  for (size_t scanned = 0; !done;) {
    ssize_t got = scanned < SCAN_MAX ? read(fd, buffer, sizeof buffer) : 0;
    if (got <= 0)
      break;
    scanned += (size_t)got;
    for (const char *p = buffer, *end = buffer + got; p < end && !done;) {
      const char *newline = memchr(p, '\n', (size_t)(end - p));
      const char *stop = newline ? newline : end;
      if (line == wanted) {
        str_putn(out, p, (size_t)(stop - p));
        done = newline || out->len > LINE_MAX_READ;
      }
      line += newline != NULL;
      p = newline ? newline + 1 : end;
    }
  }
  close(fd);
  if (out->len && out->data[out->len - 1] == '\r')
    out->data[--out->len] = '\0';
  return ok && line >= wanted && out->len > 0 && out->len <= LINE_MAX_READ;
}

/* One character of a source line as it is shown: `width` columns. */
typedef struct {
  const char *text; /* NULL: spaces */
  size_t bytes, width;
} Cell;

static Cell next_cell(const char **p, size_t *left) {
  size_t n = utf8_length(*p, *left);
  unsigned char c = (unsigned char)**p;
  Cell cell = {*p, n, 1};
  if (c == '\t')
    cell = (Cell){NULL, 1, TAB_WIDTH};
  else if (n == 0 || c < 0x20 || c == 0x7f || (n == 2 && c == 0xc2 && (unsigned char)(*p)[1] < 0xa0))
    cell = (Cell){"?", 1, 1};
  n = n ? n : 1;
  *p += n;
  *left -= n;
  return cell;
}

/* The source line and a caret under its column, both indented by two; a long line is cut to a window around it. */
static void put_source(Str *out, Arena *arena, Loc loc) {
  Str line = str_new(arena);
  if (!loc.file || loc.line <= 0 || !read_line(loc.file, loc.line, &line))
    return;
  const char *p = line.data;
  size_t left = line.len, caret = 0;
  for (int col = 1; col < loc.col && left; col++)
    caret += next_cell(&p, &left).width;
  size_t from = caret > WINDOW * 2 / 3 ? caret - WINDOW * 2 / 3 : 0, column = 0;
  str_put(out, from ? "  ..." : "  ");
  size_t indent = from ? 5 : 2, caret_at = indent + caret - from;
  p = line.data;
  left = line.len;
  while (left && column < from + WINDOW) {
    Cell cell = next_cell(&p, &left);
    /* A tab that the window cuts shows the part inside. */
    for (size_t i = 0; i < cell.width; i++)
      if (column + i >= from && column + i < from + WINDOW)
        str_putn(out, cell.text ? cell.text : " ", cell.text ? cell.bytes : 1);
    column += cell.width;
  }
  str_put(out, left ? "...\n" : "\n");
  if (loc.col <= 0)
    return;
  for (size_t i = 0; i < caret_at; i++)
    str_putc(out, ' ');
  str_put(out, "^\n");
}

static void put_record(Str *out, const Record *r) {
  const char *severity = severity_name[r->severity];
  Loc loc = r->loc;
  put_printable(out, loc.file ? loc.file : "weft", NAME_MAX_SHOWN);
  if (loc.file && loc.line > 0)
    str_printf(out, ":%d", loc.line);
  if (loc.file && loc.line > 0 && loc.col > 0)
    str_printf(out, ":%d", loc.col);
  bool node_first = loc.node && loc.file && loc.line <= 0;
  if (!node_first)
    str_printf(out, ": %s", severity);
  if (loc.node) {
    str_put(out, ": node '");
    put_printable(out, loc.node, NAME_MAX_SHOWN);
    str_putc(out, '\'');
  }
  if (node_first)
    str_printf(out, ": %s", severity);
  str_printf(out, ": %s\n", r->text);
}

const char *diag_text(const Diags *diags, bool with_source) {
  Str out = str_new(diags->arena);
  for (size_t i = 0; i < diags->records.len; i++) {
    put_record(&out, &diags->records.data[i]);
    if (with_source)
      put_source(&out, diags->arena, diags->records.data[i].loc);
  }
  const char *before = "weft: ";
  for (int s = 0; s < SEV_COUNT; s++) {
    size_t more = diags->seen[s] - diags->kept[s];
    if (more) {
      str_printf(&out, "%s%zu more %s%s", before, more, severity_name[s], more == 1 ? "" : "s");
      before = ", ";
    }
  }
  if (before[0] == ',')
    str_put(&out, " not shown\n");
  return out.data;
}
