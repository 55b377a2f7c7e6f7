/* ONNX models to modules: the file as structs, the versions, names and order, which operators weft has not, the sizes
 * of inputs, then one function per node, then outputs. Each step reports all it finds; one that failed ends the import,
 * so that a message is never the echo of an earlier one. */
#include "frontend/onnx.h"
#include "lower/loop_passes.h"

#define MAX_ERRORS 40
#define MAX_WORK ((int64_t)1 << 24) /* elements computed at import */

static Loc model_loc(const OnnxImport *im) {
  return (Loc){.file = im->file};
}

static bool read_file(OnnxImport *im, const char *bytes, size_t size) {
  static const char pointer[] = "version https://git-lfs";
  if (size == 0)
    return diag_error(im->ctx->diags, WEFT_MALFORMED, model_loc(im), "the file is empty");
  if (size >= sizeof pointer - 1 && memcmp(bytes, pointer, sizeof pointer - 1) == 0)
    return diag_error(im->ctx->diags, WEFT_MALFORMED, model_loc(im),
                      "is a pointer of Git LFS, not the model itself; fetch it by `git lfs pull`");
  im->model = onnx_wire_read(im->ctx, im->file, bytes, size);
  if (!im->model)
    return false;
  im->graph = im->model->graph;
  if (!im->graph)
    return diag_error(im->ctx->diags, WEFT_MALFORMED, model_loc(im), "is no ONNX model: it has no graph");
  if (im->graph->sparse_initializer.n)
    return diag_error(im->ctx->diags, WEFT_UNSUPPORTED, model_loc(im), "sparse initializers are not supported");
  return true;
}

static bool read_opset(OnnxImport *im) {
  int64_t version = -1;
  for (size_t k = 0; k < im->model->opset_import.n; k++) {
    const OnnxOperatorSet *set = &im->model->opset_import.items[k];
    const char *domain = onnx_text(im, set->domain);
    if (*domain && strcmp(domain, "ai.onnx") != 0)
      continue;
    if (version >= 0 && version != set->version)
      return diag_error(im->ctx->diags, WEFT_MALFORMED, model_loc(im),
                        "imports the ONNX operators twice, in opset %lld and %lld", (long long)version,
                        (long long)set->version);
    version = set->version;
  }
  if (version < 0) /* right for a model of other operators only */
    return true;
  if (version < ONNX_OLDEST_OPSET || version > ONNX_NEWEST_OPSET)
    return diag_error(im->ctx->diags, WEFT_UNSUPPORTED, model_loc(im),
                      "is made for opset %lld of the ONNX operators; supported are %d to %d", (long long)version,
                      ONNX_OLDEST_OPSET, ONNX_NEWEST_OPSET);
  im->opset = (int)version;
  return true;
}

/* ---- operators that weft has not ---- */

typedef struct {
  const ImportNode *first;
  Str nodes;
  int n;
} Missing;

/* All of them in one message, by operator, with the names of their nodes. */
static bool check_operators(OnnxImport *im) {
  enum { MAX_KINDS = 200, MAX_NAMED = 6 };
  VEC(Missing) missing = {0};
  for (size_t k = 0; k < im->n_nodes; k++) {
    ImportNode *n = im->order[k];
    n->row = *n->domain ? NULL : onnx_row(im, n->type);
    if (!*n->domain && im->opset == 0)
      return diag_error(im->ctx->diags, WEFT_MALFORMED, n->loc,
                        "%s: the model does not say which opset of the ONNX operators it is made for", n->type);
    if (n->row || !n->live)
      continue;
    size_t j = 0;
    while (j < missing.len && (missing.data[j].first->type != n->type || missing.data[j].first->domain != n->domain))
      j++;
    if (j == missing.len && j < MAX_KINDS)
      vec_push(im->ctx->arena, &missing, ((Missing){n, str_new(im->ctx->arena), 0}));
    if (j < missing.len && missing.data[j].n++ < MAX_NAMED)
      str_printf(&missing.data[j].nodes, "%s'%.60s'", missing.data[j].n > 1 ? ", " : "", n->loc.node);
  }
  if (!missing.len)
    return true;
  Str text = str_new(im->ctx->arena);
  for (size_t j = 0; j < missing.len; j++) {
    const Missing *m = &missing.data[j];
    str_printf(&text, "%s%.80s%s%.80s (node%s %s", j ? "; " : "", m->first->domain, *m->first->domain ? "." : "",
               m->first->type, m->n > 1 ? "s" : "", m->nodes.data);
    if (m->n > MAX_NAMED)
      str_printf(&text, " and %d more", m->n - MAX_NAMED);
    str_putc(&text, ')');
  }
  return diag_error(im->ctx->diags, WEFT_UNSUPPORTED, model_loc(im), "%s%s: %s",
                    missing.len > 1 ? "these operators are not supported" : "this operator is not supported",
                    im->opset ? arena_printf(im->ctx->arena, " in opset %d", im->opset) : "", text.data);
}

/* ---- the graph ---- */

static bool make_outputs(OnnxImport *im) {
  for (size_t k = 0; k < im->outputs.len; k++) {
    ImportName *name = im->outputs.data[k];
    const OnnxType *type = im->graph->output.items[k].type;
    const OnnxTensorType *tensor = type ? type->tensor_type : NULL;
    Value *v = onnx_value(im, name);
    Loc loc = {.file = im->file, .node = name->name};
    DType declared;
    if (!v)
      return false;
    if (tensor && onnx_dtype(tensor->elem_type, &declared) && declared != v->type->dtype)
      return diag_error(im->ctx->diags, WEFT_MALFORMED, loc, "the output is declared as %s, but it is %s",
                        dtype_name(declared), type_text(im->ctx, v->type));
    function_add_result(im->module, im->function, name->name, v, v->type, NULL, loc);
  }
  return true;
}

static bool build_graph(OnnxImport *im) {
  bool ok = true;
  for (size_t k = 0; k < im->n_nodes && diag_count(im->ctx->diags) < MAX_ERRORS; k++)
    if (im->order[k]->live)
      ok = node_build(im->order[k]) && ok;
  return ok && make_outputs(im);
}

/* What was needed to compute shapes only. */
static bool drop_dead(OnnxImport *im) {
  Unit unit = {.ctx = im->ctx, .module = im->module};
  Pipeline pipeline = {0};
  Str log = str_new(im->ctx->arena);
  PipelineOptions options = {0};
  return pipeline_parse(im->ctx, &all_passes, "dce", &pipeline) &&
         pipeline_run(&unit, &all_passes, &pipeline, &options, &log);
}

static const char *model_name(OnnxImport *im) {
  if (im->graph->name.n)
    return onnx_text(im, im->graph->name);
  const char *slash = strrchr(im->file, '/');
  return intern_str(im->ctx, slash ? slash + 1 : im->file);
}

/* NULL where the import failed, or is to be done again with more inputs taken for constants. */
static Module *build(OnnxImport *im) {
  im->work_left = MAX_WORK;
  if (!onnx_read_names(im) || !check_operators(im))
    return NULL;
  im->module = module_create(im->ctx, im->file, model_name(im));
  im->function = im->module->main = function_create(im->module, im->module->name);
  return onnx_make_inputs(im) && build_graph(im) && drop_dead(im) ? im->module : NULL;
}

Module *onnx_import(Ctx *ctx, const char *path, const void *bytes, size_t size, const ImportOptions *options) {
  static const ImportOptions none = {{0}};
  OnnxImport file = {.ctx = ctx, .file = intern_str(ctx, path), .options = options ? options : &none};
  if (!read_file(&file, bytes, size) || !read_opset(&file))
    return NULL;
  for (;;) {
    OnnxImport im = file;
    Module *m = build(&im);
    if (m || diag_count(ctx->diags) || !im.again)
      return m;
    file.fixed.data = im.fixed.data;
    file.fixed.len = im.fixed.len;
    file.fixed.cap = im.fixed.cap;
  }
}
