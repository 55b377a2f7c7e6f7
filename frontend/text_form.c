/* A module as files: DIR/NAME.weft, its graph in the text form, and DIR/NAME.safetensors beside it, all its constants.
 * Both appear complete or not at all: each is written under a temporary name, and they are renamed at the end.
 *
 * A constant of a permutation layout lies in the file in the order of its layout, as the text form reads it; others in
 * the logical order. Derived constants are `relayout` in the text and have no bytes of their own. */
#include "frontend/frontend.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* The places in a text that may travel name the model without its folder. */
static Loc local_loc(Ctx *ctx, Loc loc) {
  if (loc.file)
    loc.file = intern_str(ctx, base_name(loc.file));
  return loc;
}

static void make_locs_local(Module *m) {
  Ctx *ctx = m->ctx;
  for (Constant *c = m->first_constant; c; c = c->next)
    c->loc = local_loc(ctx, c->loc);
  for (size_t k = 0; k < m->main->params.len; k++)
    m->main->params.data[k]->loc = local_loc(ctx, m->main->params.data[k]->loc);
  for (Op *op = m->main->first; op; op = op->next)
    op->loc = local_loc(ctx, op->loc);
}

static bool is_utf8(const char *s) {
  for (size_t n = strlen(s), step; n > 0; s += step, n -= step)
    if (!(step = utf8_length(s, n)))
      return false;
  return true;
}

/* The constant as its file holds it. */
static Tensor *stored_tensor(Module *m, Constant *c) {
  Ctx *ctx = m->ctx;
  const Type *type = c->type;
  if (!layout_is_permutation(type->layout)) {
    Tensor *logical = tensor_of_type(ctx, type);
    tensor_from_storage(logical, type, constant_data(m, c));
    return logical;
  }
  Tensor *t = ARENA_NEW(ctx->arena, Tensor);
  *t = (Tensor){.dtype = type->dtype, .rank = type->rank, .n = expr_value(type_elements(ctx, type))};
  for (int k = 0; k < type->rank; k++)
    t->shape[k] = expr_value(type->dims[type->layout->digits[k].axis]);
  t->data = (void *)(uintptr_t)constant_data(m, c); /* only read */
  return t;
}

/* Whether an output would take the place of a file that the model was read from. */
static bool is_same_file(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool check_sources(Module *m, const char *output) {
  const char *source = is_same_file(output, m->file) ? m->file : NULL;
  const char *folder_end = strrchr(m->file, '/');
  int folder = folder_end ? (int)(folder_end - m->file) + 1 : 0;
  for (Constant *c = m->first_constant; c && !source; c = c->next) {
    const char *path = c->file ? arena_printf(m->ctx->arena, "%.*s%s", folder, m->file, c->file) : NULL;
    source = path && is_same_file(output, path) ? path : NULL;
  }
  return !source || diag_error(m->ctx->diags, WEFT_USAGE, (Loc){.file = output},
                               "is a file of the model itself and would be overwritten; choose another folder");
}

typedef VEC(NamedTensor) Tensors;

static Tensors collect(Module *m, const char *file) {
  Ctx *ctx = m->ctx;
  Tensors tensors = {0};
  for (Constant *c = m->first_constant; c; c = c->next) {
    if (c->base)
      continue;
    bool fit = is_utf8(c->name) && strcmp(c->name, "__metadata__") != 0;
    c->file = file;
    /* Names of constants are UTF-8 where a file gave them; a text may hold any byte. */
    c->tensor = fit ? c->name : intern_str(ctx, arena_printf(ctx->arena, "%zu \xc3\x97", tensors.len));
    vec_push(ctx->arena, &tensors, ((NamedTensor){c->tensor, stored_tensor(m, c)}));
  }
  return tensors;
}

bool text_form_write(Module *m, const char *dir, const char *name) {
  Ctx *ctx = m->ctx;
  const char *text_path = arena_printf(ctx->arena, "%s/%s.weft", dir, name);
  const char *weights_name = arena_printf(ctx->arena, "%s.safetensors", name);
  const char *weights_path = arena_printf(ctx->arena, "%s/%s", dir, weights_name);
  if (!check_sources(m, text_path) || !check_sources(m, weights_path))
    return false;
  Tensors tensors = collect(m, weights_name);
  make_locs_local(m);
  Str text = str_new(ctx->arena);
  module_print(&text, m, (PrintOptions){.locations = true, .file_refs = true});

  OutputFile graph, weights = {.fd = -1};
  if (!output_open(&graph, ctx, text_path))
    return false;
  bool ok = tensors.len == 0 ||
            (output_open(&weights, ctx, weights_path) && safetensors_write(&weights, tensors.data, tensors.len));
  ok = ok && output_write(&graph, text.data, text.len);
  ok = ok && (tensors.len == 0 || output_finish(&weights));
  if (ok && !output_finish(&graph)) {
    if (tensors.len)
      unlink(weights_path);
    ok = false;
  }
  output_discard(&weights);
  output_discard(&graph);
  return ok;
}
