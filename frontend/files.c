/* Files: whole texts in, results out by a temporary name and a rename, names inside models confined to the model's
 * folder, and weights read in pieces.
 *
 * A name that a model gives is hostile: it may not be absolute, may not climb by "..", and what it leads to, links
 * resolved, must be a regular file under the folder of the model. */
#include "frontend/source.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static Loc at_file(Ctx *ctx, const char *path) {
  return (Loc){.file = intern_str(ctx, path)};
}

bool file_error(Ctx *ctx, const char *path, Loc loc, const char *what) {
  const char *why = strerror(errno);
  if (loc.file)
    return diag_error(ctx->diags, WEFT_MALFORMED, loc, "cannot %s '%s': %s", what, path, why);
  return diag_error(ctx->diags, WEFT_MALFORMED, at_file(ctx, path), "cannot %s: %s", what, why);
}

/* Opens for reading. Pipes are taken where the user names the file, so that `/dev/stdin` works; devices never. */
static int open_file(Ctx *ctx, const char *path, Loc loc, bool pipes, int64_t limit, struct stat *st) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | (pipes ? 0 : O_NONBLOCK));
  if (fd < 0 || fstat(fd, st) != 0) {
    file_error(ctx, path, loc, "read");
    if (fd >= 0)
      close(fd);
    return -1;
  }
  Loc place = loc.file ? loc : at_file(ctx, path);
  if (S_ISREG(st->st_mode) ? st->st_size <= limit : pipes && S_ISFIFO(st->st_mode))
    return fd;
  if (S_ISDIR(st->st_mode))
    diag_error(ctx->diags, WEFT_MALFORMED, place, "'%s' is a folder; expected a file", path);
  else if (S_ISREG(st->st_mode))
    diag_error(ctx->diags, WEFT_MALFORMED, place, "'%s' has %lld bytes; at most %lld are read", path,
               (long long)st->st_size, (long long)limit);
  else
    diag_error(ctx->diags, WEFT_MALFORMED, place, "'%s' is no regular file", path);
  close(fd);
  return -1;
}

char *file_read(Ctx *ctx, const char *path, int64_t limit, size_t *size) {
  struct stat st;
  int fd = open_file(ctx, path, LOC_NONE, true, limit, &st);
  if (fd < 0)
    return NULL;
  size_t cap = S_ISREG(st.st_mode) ? (size_t)st.st_size : 65536, len = 0;
  char *data = arena_alloc(ctx->arena, cap + 1);
  bool ok = true, whole = false;
  while (ok && !whole) {
    if (len == cap) { /* a pipe, or a file that grows; one byte more tells whether this was all */
      size_t more = cap + cap / 2 + 65536;
      char *grown = arena_alloc(ctx->arena, more + 1);
      memcpy(grown, data, len);
      data = grown;
      cap = more;
    }
    ssize_t got = read(fd, data + len, cap - len);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      ok = file_error(ctx, path, LOC_NONE, "read");
    } else if (got == 0) {
      whole = true;
    } else {
      len += (size_t)got;
      whole = S_ISREG(st.st_mode) && len == (size_t)st.st_size;
      if (len > (size_t)limit)
        ok = diag_error(ctx->diags, WEFT_MALFORMED, at_file(ctx, path), "has more than the %lld bytes that are read",
                        (long long)limit);
    }
  }
  close(fd);
  if (!ok)
    return NULL;
  data[len] = '\0';
  *size = len;
  return data;
}

static bool write_error(Ctx *ctx, const char *path) {
  int e = errno;
  Status status = e == ENOSPC || e == EDQUOT || e == EIO || e == EFBIG ? WEFT_MISSING : WEFT_USAGE;
  return diag_error(ctx->diags, status, at_file(ctx, path), "cannot write: %s", strerror(e));
}

static bool write_all(int fd, const char *data, size_t size) {
  while (size > 0) {
    ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    data += n;
    size -= (size_t)n;
  }
  return true;
}

bool output_open(OutputFile *out, Ctx *ctx, const char *path) {
  struct stat st;
  bool exists = stat(path, &st) == 0;
  *out = (OutputFile){.ctx = ctx, .path = path, .target = path, .fd = -1};
  if (exists && !S_ISREG(st.st_mode)) { /* a device or pipe is written to, never replaced; a folder fails to open */
    out->fd = open(path, O_WRONLY | O_CLOEXEC);
    return out->fd >= 0 || write_error(ctx, path);
  }
  char resolved[PATH_MAX]; /* through a link: the file it leads to is replaced, not the link */
  if (exists && realpath(path, resolved))
    out->target = arena_strdup(ctx->arena, resolved);
  for (int k = 0; out->fd < 0 && k < 100; k++) {
    out->temporary = arena_printf(ctx->arena, "%s.%ld.%d.tmp", out->target, (long)getpid(), k);
    out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out->fd < 0 && errno != EEXIST)
      break;
  }
  return out->fd >= 0 || write_error(ctx, path);
}

void output_discard(OutputFile *out) {
  if (out->fd < 0)
    return;
  close(out->fd);
  out->fd = -1;
  if (out->temporary)
    unlink(out->temporary);
}

static bool output_error(OutputFile *out) {
  int failure = errno;
  output_discard(out);
  errno = failure;
  return write_error(out->ctx, out->path);
}

bool output_write(OutputFile *out, const void *data, size_t size) {
  return write_all(out->fd, data, size) || output_error(out);
}

bool output_finish(OutputFile *out) {
  int fd = out->fd;
  out->fd = -1;
  bool ok = close(fd) == 0 && (!out->temporary || rename(out->temporary, out->target) == 0);
  if (ok)
    return true;
  int failure = errno;
  if (out->temporary)
    unlink(out->temporary);
  errno = failure;
  return write_error(out->ctx, out->path);
}

bool file_write(Ctx *ctx, const char *path, const void *data, size_t size) {
  OutputFile out;
  return output_open(&out, ctx, path) && output_write(&out, data, size) && output_finish(&out);
}

static bool climbs(const char *name) {
  for (const char *p = name; *p;) {
    size_t n = strcspn(p, "/");
    if (n == 2 && p[0] == '.' && p[1] == '.')
      return true;
    p += n + (p[n] == '/');
  }
  return false;
}

const char *file_beside(Ctx *ctx, const char *owner, const char *name, Loc loc) {
  const char *rule = "expected a file in the folder of the model or below it";
  if (!name[0] || name[0] == '/' || climbs(name)) {
    diag_error(ctx->diags, WEFT_MALFORMED, loc, "file '%s' %s; %s", name,
               !name[0]         ? "has no name"
               : name[0] == '/' ? "is an absolute path"
                                : "leaves the model's folder",
               rule);
    return NULL;
  }
  const char *slash = strrchr(owner, '/');
  const char *folder = slash ? arena_strndup(ctx->arena, owner, (size_t)(slash - owner) + 1) : "./";
  const char *path = slash ? arena_printf(ctx->arena, "%s%s", folder, name) : arena_strdup(ctx->arena, name);
  char root[PATH_MAX], real[PATH_MAX];
  struct stat st;
  if (!realpath(folder, root) || !realpath(path, real) || stat(real, &st) != 0) {
    file_error(ctx, path, loc, "read");
    return NULL;
  }
  size_t n = strlen(root);
  if (n == 1) /* the root folder: its name ends in the slash that others lack */
    n = 0;
  if (strncmp(real, root, n) != 0 || real[n] != '/') {
    diag_error(ctx->diags, WEFT_MALFORMED, loc, "file '%s' is a link that leaves the model's folder; %s", name, rule);
    return NULL;
  }
  if (!S_ISREG(st.st_mode)) {
    diag_error(ctx->diags, WEFT_MALFORMED, loc, "file '%s' is no regular file; %s", name, rule);
    return NULL;
  }
  return path;
}

bool source_open(Source *source, Ctx *ctx, const char *path, Loc loc) {
  struct stat st;
  int fd = open_file(ctx, path, loc, false, WEFT_MAX_WEIGHT_BYTES, &st);
  *source = (Source){.ctx = ctx, .name = path, .loc = loc, .fd = fd, .size = fd < 0 ? 0 : (int64_t)st.st_size};
  return fd >= 0;
}

Source source_memory(Ctx *ctx, const char *name, const void *bytes, size_t size) {
  return (Source){.ctx = ctx, .name = name, .fd = -1, .bytes = bytes, .size = (int64_t)size};
}

void source_close(Source *source) {
  if (source->fd >= 0)
    close(source->fd);
  source->fd = -1;
}

bool source_error(const Source *source, Status status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = arena_vprintf(source->ctx->arena, fmt, args);
  va_end(args);
  if (source->loc.file)
    return diag_error(source->ctx->diags, status, source->loc, "file '%s': %s", source->name, text);
  return diag_error(source->ctx->diags, status, at_file(source->ctx, source->name), "%s", text);
}

bool source_read(const Source *source, int64_t at, void *to, int64_t n) {
  if (at < 0 || n < 0 || at > source->size || n > source->size - at)
    return source_error(source, WEFT_MALFORMED, "is truncated: %lld bytes wanted at byte %lld, but it has %lld",
                        (long long)n, (long long)at, (long long)source->size);
  if (n > 0 && source->fd < 0)
    memcpy(to, source->bytes + at, (size_t)n);
  for (int64_t done = 0; source->fd >= 0 && done < n;) {
    ssize_t got = pread(source->fd, (char *)to + done, (size_t)(n - done), at + done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return source_error(source, WEFT_MALFORMED, "cannot be read: %s", got < 0 ? strerror(errno) : "it ended early");
    done += got;
  }
  return true;
}
