/* libFuzzer target: any bytes as an ONNX model. What is accepted must verify, and what is refused must be reported.
 * External data is looked up in a folder that does not exist. The second import gives a shape to the first input, as
 * `weft run` does, and its content. */
#include "frontend/onnx_wire.h"
#include "frontend/source.h"

static void import(const uint8_t *data, size_t size, bool with_input) {
  Ctx *ctx = ctx_create();
  ImportOptions options = {0};
  if (with_input) {
    Tensor *content = tensor_new(ctx, DT_I64, 1, (const int64_t[]){3});
    tensor_set(content, 0, 2);
    vec_push(ctx->arena, &options.shapes, ((ImportShape){.arg = "x.npy", .rank = 4, .dims = {1, 3, 4, 5}}));
    vec_push(ctx->arena, &options.shapes, ((ImportShape){.arg = "y.npy", .rank = 1, .dims = {3}, .content = content}));
  }
  Module *m = onnx_import(ctx, "/nonexistent/fuzz.onnx", data, size, &options);
  WEFT_ASSERT((m != NULL) == (diag_count(ctx->diags) == 0));
  WEFT_ASSERT(!m || module_verify(m));
  WEFT_ASSERT(diag_text(ctx->diags, true)[0] || m);
  ctx_destroy(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  import(data, size, false);
  import(data, size, true);
  return 0;
}
