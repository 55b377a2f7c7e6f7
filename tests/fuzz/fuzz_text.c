/* libFuzzer target: a text parses or is reported; what parses as a well-formed module prints, and what is printed reads
 * back to the same text. Build: clang -fsanitize=fuzzer,address,undefined with the libraries of ir and lower. */
#include "ir/parse.h"
#include "lower/loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *print_graph(Module *m) {
  Str out = str_new(m->ctx->arena);
  module_print(&out, m, (PrintOptions){.file_refs = false, .locations = true});
  return out.data;
}

static const char *print_loops(const LoopProgram *p) {
  Str out = str_new(p->ctx->arena);
  loops_print(&out, p);
  return out.data;
}

static void graph(Ctx *ctx, const char *text, size_t size) {
  Module *m = module_parse(ctx, "fuzz.weft", text, size, NULL, NULL);
  WEFT_ASSERT(m || diag_count(ctx->diags) > 0);
  if (!m || !module_verify(m))
    return;
  const char *once = print_graph(m);
  Ctx *other = ctx_create();
  Module *again = module_parse(other, "fuzz.weft", once, strlen(once), NULL, NULL);
  WEFT_ASSERT(again && strcmp(print_graph(again), once) == 0);
  ctx_destroy(other);
}

static void loops(Ctx *ctx, const char *text, size_t size) {
  LoopProgram *p = loops_parse(ctx, "fuzz.weft", text, size);
  WEFT_ASSERT(p || diag_count(ctx->diags) > 0);
  if (!p)
    return;
  const char *once = print_loops(p);
  Ctx *other = ctx_create();
  LoopProgram *again = loops_parse(other, "fuzz.weft", once, strlen(once));
  WEFT_ASSERT(again && strcmp(print_loops(again), once) == 0);
  ctx_destroy(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  Ctx *ctx = ctx_create();
  if (text_is_loops(ctx, text, size))
    loops(ctx, text, size);
  else
    graph(ctx, text, size);
  ctx_destroy(ctx);
  return 0;
}
