/* A file of weights, read in pieces by position: from a file, or from memory for tests and fuzz targets. Reading (and
 * not mapping) keeps a file that shrinks meanwhile an ordinary error. Also the in-memory entry points of the readers.
 */
#ifndef WEFT_FRONTEND_SOURCE_H
#define WEFT_FRONTEND_SOURCE_H

#include "frontend/frontend.h"

typedef struct {
  Ctx *ctx;
  const char *name; /* for messages */
  Loc loc;          /* where the model names the file; LOC_NONE: messages start with the file itself */
  int64_t size;
  int fd; /* -1: `bytes` holds the content */
  const uint8_t *bytes;
} Source;

/* False after reporting (WEFT_MALFORMED: missing, no regular file, too large, unreadable). Close what was opened. */
bool source_open(Source *source, Ctx *ctx, const char *path, Loc loc);
Source source_memory(Ctx *ctx, const char *name, const void *bytes, size_t size);
void source_close(Source *source);
/* n bytes from position `at`; false after reporting where the file is too short. */
bool source_read(const Source *source, int64_t at, void *to, int64_t n);
/* Reports a fault of this file's content; always false. */
bool source_error(const Source *source, Status status, const char *fmt, ...) WEFT_PRINTF(3, 4);

/* The status and place that fit errno after a failed look at a file that a user named. */
bool file_error(Ctx *ctx, const char *path, Loc loc, const char *what);

Tensor *npy_read_source(const Source *source);
bool npy_is(const Source *source); /* starts with npy's magic; reports nothing */

/* The directory of a safetensors file, checked in full: every range lies in the file, none overlaps another. */
typedef struct {
  const char *name, *dtype; /* dtype as written in the file */
  bool known;               /* `type` is valid */
  DType type;
  int rank;
  int64_t shape[WEFT_MAX_RANK];
  int64_t begin, end; /* in the file */
} SafetensorsEntry;

typedef struct {
  int64_t n;
  SafetensorsEntry *entries; /* sorted by name */
} Safetensors;

bool safetensors_index(const Source *source, Safetensors *index);
/* The tensor of this name, or NULL after reporting. */
Tensor *safetensors_load(const Source *source, const Safetensors *index, const char *name);

/* A tensor that a model names: a .npy, or a tensor in a .safetensors, told by content. `cache` may be NULL. */
typedef struct WeightFile {
  const char *path;
  Safetensors index;
  struct WeightFile *next;
} WeightFile;
Tensor *weights_read(Ctx *ctx, const char *owner, const char *file, const char *tensor, Loc loc, WeightFile **cache);

/* `f32[1,2]`, for messages about tensors that may have no valid Type. */
const char *shape_text(Ctx *ctx, DType dtype, int rank, const int64_t *shape);

/* yaml_import on text in memory; path is where weights are looked up and what messages name. */
Module *yaml_import_text(Ctx *ctx, const char *path, const char *text, size_t size);

#endif
