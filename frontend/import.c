/* Which importer a model file is for. Told by content: the text form begins with the word `weft` and a number, a YAML
 * graph is any other text; an ONNX model by its
 * first fields or its name; other binary models are named, since no importer takes them yet. */
#include "frontend/onnx_wire.h"
#include "frontend/source.h"
#include "frontend/yaml_tree.h"

static bool has_suffix(const char *path, const char *suffix) {
  size_t n = strlen(path), m = strlen(suffix);
  return n > m && strcmp(path + n - m, suffix) == 0;
}

/* `weft 1 model ...` behind blanks and comments; `weft: 1` is YAML. */
static bool is_text_form(const char *text) {
  const char *p = text;
  for (;;) {
    p += strspn(p, " \t\r\n");
    if (*p != '#')
      break;
    p += strcspn(p, "\n");
  }
  if (strncmp(p, "weft", 4) != 0)
    return false;
  size_t blanks = strspn(p + 4, " \t\r\n");
  return blanks > 0 && p[4 + blanks] >= '0' && p[4 + blanks] <= '9';
}

/* Control characters that no text has, near the start. */
static bool is_binary(const char *text, size_t size) {
  for (size_t k = 0; k < size && k < 4096; k++) {
    unsigned char c = (unsigned char)text[k];
    if (c < 32 && c != '\n' && c != '\r' && c != '\t')
      return true;
  }
  return false;
}

/* Field 1, the version of the IR, then one of the fields that follow it in a ModelProto. */
static bool is_onnx(const char *text, size_t size) {
  return size > 2 && text[0] == 0x08 && text[1] > 0 && text[1] < 32 && text[2] != 0 &&
         strchr("\x12\x1a\x22\x3a\x42", text[2]);
}

static const struct {
  const char *suffix, *magic, *name;
  size_t n;
} formats[] = {{".pt2", NULL, "a PyTorch .pt2 archive", 0},
               {NULL, "PK\x03\x04", "a zip archive", 4},
               {NULL,
                "\x7f"
                "ELF",
                "a compiled object", 4},
               {NULL, "\x93NUMPY", "a numpy array", 6}};

static Module *not_taken(Ctx *ctx, const char *path, const char *text, size_t size) {
  Loc loc = {.file = intern_str(ctx, path)};
  for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
    bool named = formats[k].suffix && has_suffix(path, formats[k].suffix);
    bool magic = formats[k].magic && size >= formats[k].n && memcmp(text, formats[k].magic, formats[k].n) == 0;
    if (!named && !magic)
      continue;
    diag_error(ctx->diags, WEFT_UNSUPPORTED, loc,
               "found %s, which is not supported; expected an ONNX model (.onnx), a YAML graph (.yaml) or the text "
               "form (.weft)",
               formats[k].name);
    return NULL;
  }
  diag_error(ctx->diags, WEFT_MALFORMED, loc,
             "found binary data; expected an ONNX model (.onnx), a YAML graph (.yaml) or the text form (.weft)");
  return NULL;
}

/* Sizes by --shape are for dimensions that an ONNX model leaves open. */
static bool check_sizes(Ctx *ctx, const ImportOptions *options) {
  for (size_t k = 0; k < options->shapes.len; k++)
    if (options->shapes.data[k].name)
      return diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE, "--shape %.80s: only ONNX models take sizes",
                        options->shapes.data[k].name);
  return true;
}

Module *model_import(Ctx *ctx, const char *path, const ImportOptions *options) {
  weft_bug_input = path;
  size_t size;
  bool named_onnx = has_suffix(path, ".onnx");
  const char *text = file_read(ctx, path, named_onnx ? ONNX_MAX_BYTES : WEFT_MAX_TEXT_BYTES, &size);
  if (!text)
    return NULL;
  if (named_onnx || is_onnx(text, size))
    return onnx_import(ctx, path, text, size, options);
  if (options && !check_sizes(ctx, options))
    return NULL;
  bool utf16 = size >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0);
  if (has_suffix(path, ".weft") || (!is_binary(text, size) && is_text_form(text))) {
    TextWeights weights = {.path = path};
    Module *m = module_parse(ctx, path, text, size, text_tensor_loader, &weights);
    return m && module_verify(m) ? m : NULL;
  }
  bool yaml = has_suffix(path, ".yaml") || has_suffix(path, ".yml") || utf16 || !is_binary(text, size);
  if (yaml && !has_suffix(path, ".pt2"))
    return yaml_import_text(ctx, path, text, size);
  return not_taken(ctx, path, text, size);
}
