/* libFuzzer target: any bytes as a .npy. A tensor never has more data than the file. */
#include "frontend/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Ctx *ctx = ctx_create();
  Source source = source_memory(ctx, "fuzz.npy", data, size);
  const Tensor *t = npy_read_source(&source);
  WEFT_ASSERT((t != NULL) == (diag_count(ctx->diags) == 0));
  WEFT_ASSERT(!t || (size_t)t->n * dtype_size(t->dtype) <= size);
  ctx_destroy(ctx);
  return 0;
}
