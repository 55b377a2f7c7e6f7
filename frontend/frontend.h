/* Model files to modules. */
#ifndef WEFT_FRONTEND_FRONTEND_H
#define WEFT_FRONTEND_FRONTEND_H

#include "ir/module.h"
#include "ir/tensor.h"
#include "ir/text.h"

/* Largest model file read, and largest file of weights. */
#define WEFT_MAX_TEXT_BYTES ((int64_t)1 << 28)
#define WEFT_MAX_WEIGHT_BYTES ((int64_t)1 << 36)

/* Reads a whole file into the arena, NUL-terminated. NULL after reporting (WEFT_MALFORMED: missing, a folder, too large, unreadable). */
char *file_read(Ctx *ctx, const char *path, int64_t limit, size_t *size);
/* Writes to a temporary name beside path, then renames. False after reporting. */
bool file_write(Ctx *ctx, const char *path, const void *data, size_t size);
/* The same in pieces, and so that several files appear together. What is opened is finished or discarded; a failed write
 * or finish reports and has discarded it. */
typedef struct {
  Ctx *ctx;
  const char *path, *target, *temporary; /* temporary NULL: a device or pipe */
  int fd;                                /* -1: closed */
} OutputFile;
bool output_open(OutputFile *out, Ctx *ctx, const char *path);
bool output_write(OutputFile *out, const void *data, size_t size);
bool output_finish(OutputFile *out);
void output_discard(OutputFile *out); /* leaves nothing behind; nothing to do where it is closed */
/* The path of `name` beside the file `owner`, for files that a model names: refused where it is absolute, leaves the folder, or
 * is a link out of it. NULL after reporting at loc. */
const char *file_beside(Ctx *ctx, const char *owner, const char *name, Loc loc);

/* YAML graphs, DESIGN A3. */
Module *yaml_import(Ctx *ctx, const char *path);

/* Sizes for the dimensions that a model leaves open. */
typedef struct {
  const char *name; /* of an input, or (rank -1, the size in dims[0]) of a dimension */
  const char *arg;  /* instead: of `weft run --input`, "[NAME=]FILE", an input by name or the next that has no file */
  int rank;
  int64_t dims[WEFT_MAX_RANK]; /* -1: says nothing of this one, as a picture of channels */
  const Tensor *content; /* of arg's file, or NULL: taken for constant where a shape of the model depends on it */
} ImportShape;

typedef struct {
  VEC(ImportShape) shapes;
} ImportOptions;

/* Any model: told by content (YAML, text form `weft` or ONNX), else by name. What no importer takes yet:
 * WEFT_UNSUPPORTED, named. options may be NULL. */
Module *model_import(Ctx *ctx, const char *path, const ImportOptions *options);
/* An ONNX model in memory; path is where external data is looked up and what messages name. */
Module *onnx_import(Ctx *ctx, const char *path, const void *bytes, size_t size, const ImportOptions *options);
/* What an --input argument names: the input of this name, else -1 and *file the whole argument. */
int input_of_arg(const char *arg, const char *const *inputs, int n, const char **file);
/* The loader of constants for module_parse: env is a TextWeights with the path of the text file, otherwise zero. */
typedef struct {
  const char *path;
  struct WeightFile *cache; /* directories of files read before */
} TextWeights;
void *text_tensor_loader(void *env, Ctx *ctx, const char *file, const char *tensor, const Type *type, Loc loc);

/* npy versions 1 to 3, big-endian and Fortran order converted. loc: where the model names the file (LOC_NONE: messages
 * start with the file). NULL after reporting. */
Tensor *npy_read(Ctx *ctx, const char *path, Loc loc);
bool npy_write(Ctx *ctx, const char *path, const Tensor *tensor);
/* Where a model says bf16, files may hold its bits as u16 or f32 to be rounded: a new tensor, or NULL where t is neither
 * or the wanted type is another. */
Tensor *tensor_convert_bf16(Ctx *ctx, const Tensor *t, DType want);
/* One tensor of a safetensors file. */
Tensor *safetensors_read(Ctx *ctx, const char *path, const char *name, Loc loc);
/* Writes tensors as a safetensors file. Names are valid UTF-8, all different and not `__metadata__`. False after
 * reporting. */
typedef struct {
  const char *name;
  const Tensor *tensor;
} NamedTensor;
bool safetensors_write(OutputFile *out, const NamedTensor *tensors, size_t n);
/* Writes the module to dir/name.weft and its constants, where it has any, to dir/name.safetensors, which they then name.
 * False after reporting, with nothing left behind: WEFT_USAGE where a file of the model itself would be overwritten. */
bool text_form_write(Module *m, const char *dir, const char *name);

#endif
