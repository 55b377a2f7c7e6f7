/* libFuzzer target: any bytes as a YAML graph. What is accepted must verify, and what is refused must be reported.
 * Weights are looked up in a folder that does not exist. */
#include "frontend/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Ctx *ctx = ctx_create();
  char *text = arena_strndup(ctx->arena, (const char *)data, size);
  Module *m = yaml_import_text(ctx, "/nonexistent/fuzz.yaml", text, size);
  WEFT_ASSERT((m != NULL) == (diag_count(ctx->diags) == 0));
  WEFT_ASSERT(!m || module_verify(m));
  WEFT_ASSERT(diag_text(ctx->diags, true)[0] || m);
  ctx_destroy(ctx);
  return 0;
}
