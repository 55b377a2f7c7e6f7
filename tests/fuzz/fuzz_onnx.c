/* libFuzzer target: any bytes as an ONNX model. What is accepted must verify, and what is refused must be reported.
 * External data is looked up in a folder that does not exist; open dimensions get sizes, so that the graph is built. */
#include "frontend/onnx_wire.h"
#include "frontend/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Ctx *ctx = ctx_create();
  ImportOptions options = {0};
  vec_push(ctx->arena, &options.shapes, ((ImportShape){.arg = "x.npy", .rank = 4, .dims = {1, 3, 4, 5}}));
  Module *m = onnx_import(ctx, "/nonexistent/fuzz.onnx", data, size, &options);
  WEFT_ASSERT((m != NULL) == (diag_count(ctx->diags) == 0));
  WEFT_ASSERT(!m || module_verify(m));
  WEFT_ASSERT(diag_text(ctx->diags, true)[0] || m);
  ctx_destroy(ctx);
  return 0;
}
