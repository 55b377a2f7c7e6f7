/* libFuzzer target: any bytes as a .safetensors; every tensor of an accepted directory is read. */
#include "frontend/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Ctx *ctx = ctx_create();
  Source source = source_memory(ctx, "fuzz.safetensors", data, size);
  Safetensors index;
  bool ok = safetensors_index(&source, &index);
  WEFT_ASSERT(ok == (diag_count(ctx->diags) == 0));
  for (int64_t k = 0; ok && k < index.n; k++) {
    const Tensor *t = safetensors_load(&source, &index, index.entries[k].name);
    WEFT_ASSERT((t != NULL) == index.entries[k].known);
    WEFT_ASSERT(!t || (size_t)t->n * dtype_size(t->dtype) <= size);
  }
  ctx_destroy(ctx);
  return 0;
}
