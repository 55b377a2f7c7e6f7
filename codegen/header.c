/* The C header that goes with a compiled model. Valid C99 and C++, without any other header of ours; several models
 * with prefixes of their own can be included together. Names that a user gave appear in comments only, made harmless.
 */
#include "codegen/codegen.h"
#include "codegen/port.h"
#include "runtime/model.h"
#include <ctype.h>

enum { MAX_PREFIX = 128 };

bool codegen_prefix_ok(Ctx *ctx, const char *prefix) {
  size_t n = strlen(prefix), letters = 0;
  while (letters < n &&
         ((prefix[letters] >= 'a' && prefix[letters] <= 'z') || (prefix[letters] >= 'A' && prefix[letters] <= 'Z') ||
          prefix[letters] == '_' || (letters > 0 && prefix[letters] >= '0' && prefix[letters] <= '9')))
    letters++;
  if (n == 0 || letters < n)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE,
                      "prefix '%s' is no C identifier, expected letters, digits and '_', no digit first", prefix);
  if (n > MAX_PREFIX)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "prefix of %zu characters, expected at most %d", n, MAX_PREFIX);
  if (strcmp(prefix, "weft_rt") == 0)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "prefix 'weft_rt' is the runtime's own, expected another");
  return true;
}

/* Text for a comment: printable ASCII, and nothing that could end the comment, continue a line or form a trigraph. */
static const char *comment_text(Ctx *ctx, const char *text) {
  char *safe = arena_strdup(ctx->arena, text);
  for (char *c = safe; *c; c++)
    if (*c < ' ' || *c > '~' || strchr("*\\?", *c))
      *c = '_';
  return safe;
}

static void put_port(Str *out, const LoopProgram *p, const char *side, size_t k, const Port *port) {
  str_printf(out, "/* %s %zu, '%s': %s [", side, k, comment_text(p->ctx, port->name), dtype_name(port->type->dtype));
  for (int d = 0; d < port->type->rank; d++)
    str_printf(out, "%s%lld", d ? ", " : "", (long long)expr_value(port->shape[d]));
  if (port->letters)
    str_printf(out, "], axes %s", port->letters);
  else
    str_put(out, "]");
  str_put(out, ", dense, the last axis contiguous */\n");
}

static void put_port_sizes(Str *out, const LoopProgram *p, const char *macro, const char *side, size_t k,
                           const Port *port) {
  int64_t n = port_elements(p, port);
  str_printf(out, "#define %s_%s_%zu_ELEMENTS %lld\n", macro, side, k, (long long)n);
  str_printf(out, "#define %s_%s_%zu_BYTES %lld\n", macro, side, k,
             (long long)(n * (int64_t)dtype_size(port->type->dtype)));
}

static void put_functions(Str *out, const char *prefix) {
  str_printf(out,
             "/* The interface these declarations are of: compare with %s_ABI before anything else. */\n"
             "int %s_abi(void);\n"
             "\n"
             "/* A description of the model as JSON; static storage. */\n"
             "const char *%s_info(void);\n"
             "\n",
             prefix, prefix, prefix);
  str_printf(
      out,
      "/* Runs the model: one address per input and per output, in the order above. Inputs are not written; an\n"
      " * output must not overlap an input or another output. Buffers need their element's alignment; 64 bytes\n"
      " * is best. Several threads may call at once. Returns 0, or: 2 a wrong argument; 3 a value met during the\n"
      " * run; 5 this machine lacks memory or a CPU feature that the model was compiled for. */\n"
      "int %s_run(const void *const *inputs, void *const *outputs);\n"
      "\n"
      "/* As %s_run, but allocates nothing: workspace is %s_workspace_size(NULL, 0) bytes, aligned to 64. */\n"
      "int %s_run_in(const void *const *inputs, void *const *outputs, void *workspace);\n"
      "\n"
      "/* The bytes that one run needs besides inputs and outputs. dims: the sizes of the n dynamic dimensions;\n"
      " * this model has none. */\n"
      "size_t %s_workspace_size(const int64_t *dims, int n);\n"
      "\n",
      prefix, prefix, prefix, prefix, prefix);
  str_printf(
      out,
      "/* Sets the number of threads, the caller's own counted; n <= 0 only asks. Returns the number in use. The\n"
      " * default is WEFT_NUM_THREADS of the environment, else one per CPU. Results do not depend on it. */\n"
      "int %s_set_threads(int n);\n"
      "\n"
      "/* What went wrong in the calling thread's last failed call; \"\" where there was none. */\n"
      "const char *%s_error(void);\n",
      prefix, prefix);
}

const char *model_header(LoopProgram *p, const CodegenOptions *options) {
  const char *prefix = options->prefix;
  char *macro = arena_strdup(p->ctx->arena, prefix);
  for (char *c = macro; *c; c++)
    *c = (char)toupper((unsigned char)*c);

  Str out = str_new(p->ctx->arena);
  str_printf(&out, "/* The model '%s', compiled by weft %s for %s. This file is generated. */\n",
             comment_text(p->ctx, p->name), WEFT_VERSION, options->cpu->name);
  /* The guard keeps the prefix's case: two prefixes that differ in case only must not hide each other. */
  str_printf(&out, "#ifndef %s_COMPILED_H\n#define %s_COMPILED_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n",
             prefix, prefix);
  str_put(&out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  str_printf(&out, "#define %s_ABI %d\n#define %s_INPUTS %zu\n#define %s_OUTPUTS %zu\n\n", macro, WEFT_ABI, macro,
             p->inputs.len, macro, p->outputs.len);
  for (size_t k = 0; k < p->inputs.len; k++) {
    Port port = port_input(p, k);
    put_port(&out, p, "input", k, &port);
    put_port_sizes(&out, p, macro, "INPUT", k, &port);
  }
  for (size_t k = 0; k < p->outputs.len; k++) {
    Port port = port_output(p, k);
    put_port(&out, p, "output", k, &port);
    put_port_sizes(&out, p, macro, "OUTPUT", k, &port);
  }
  str_putc(&out, '\n');
  put_functions(&out, prefix);
  str_put(&out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
  return out.data;
}
