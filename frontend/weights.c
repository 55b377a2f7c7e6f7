/* Tensors that a model names by file: a .npy or one tensor of a .safetensors beside the model, told by content. */
#include "frontend/source.h"

static Tensor *read_open(const Source *source, const char *tensor, WeightFile **cache) {
  Ctx *ctx = source->ctx;
  if (npy_is(source)) {
    if (!tensor)
      return npy_read_source(source);
    source_error(source, WEFT_MALFORMED, "is a .npy with one array; 'tensor' is for .safetensors");
    return NULL;
  }
  if (!tensor) {
    size_t n = strlen(source->name);
    bool named = n > 12 && strcmp(source->name + n - 12, ".safetensors") == 0;
    source_error(source, WEFT_MALFORMED,
                 named ? "a .safetensors holds several tensors; expected 'tensor' to name one of them"
                       : "is no .npy file: it does not start with npy's magic bytes");
    return NULL;
  }
  WeightFile *known = cache ? *cache : NULL;
  while (known && strcmp(known->path, source->name) != 0)
    known = known->next;
  if (!known) {
    known = ARENA_NEW(ctx->arena, WeightFile);
    if (!safetensors_index(source, &known->index))
      return NULL;
    known->path = source->name;
    if (cache) {
      known->next = *cache;
      *cache = known;
    }
  }
  return safetensors_load(source, &known->index, tensor);
}

Tensor *weights_read(Ctx *ctx, const char *owner, const char *file, const char *tensor, Loc loc, WeightFile **cache) {
  const char *path = file_beside(ctx, owner, file, loc);
  Source source;
  if (!path || !source_open(&source, ctx, path, loc))
    return NULL;
  Tensor *t = read_open(&source, tensor, cache);
  source_close(&source);
  return t;
}

const char *shape_text(Ctx *ctx, DType dtype, int rank, const int64_t *shape) {
  Str s = str_new(ctx->arena);
  str_printf(&s, "%s[", dtype_name(dtype));
  for (int k = 0; k < rank; k++)
    str_printf(&s, "%s%lld", k ? "," : "", (long long)shape[k]);
  str_putc(&s, ']');
  return s.data;
}

/* The file holds the axes in the order of a permutation layout, as a YAML graph says it; for others the logical one. */
void *text_tensor_loader(void *env, Ctx *ctx, const char *file, const char *tensor, const Type *type, Loc loc) {
  TextWeights *weights = env;
  Tensor *t = weights_read(ctx, weights->path, file, tensor, loc, &weights->cache);
  if (!t)
    return NULL;
  int64_t logical[WEFT_MAX_RANK], shape[WEFT_MAX_RANK];
  bool permuted = layout_is_permutation(type->layout);
  if (!type_shape(type, logical)) {
    diag_error(ctx->diags, WEFT_MALFORMED, loc, "a constant of type %s; expected constant extents",
               type_text(ctx, type));
    return NULL;
  }
  for (int k = 0; k < type->rank; k++)
    shape[k] = logical[permuted ? type->layout->digits[k].axis : k];
  if (t->dtype != type->dtype) {
    Tensor *converted = tensor_convert_bf16(ctx, t, type->dtype);
    t = converted ? converted : t;
  }
  bool same = t->dtype == type->dtype && t->rank == type->rank;
  for (int k = 0; same && k < t->rank; k++)
    same = t->shape[k] == shape[k];
  if (!same) {
    diag_error(ctx->diags, WEFT_MALFORMED, loc, "file '%s' holds %s; expected %s", file,
               shape_text(ctx, t->dtype, t->rank, t->shape), shape_text(ctx, type->dtype, type->rank, shape));
    return NULL;
  }
  if (!permuted || layout_is_row_major(type->layout))
    return t->data;
  Tensor *out = tensor_new(ctx, type->dtype, type->rank, logical);
  tensor_from_storage(out, type, t->data);
  return out->data;
}
