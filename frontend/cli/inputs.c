/* See inputs.h. */
#include "frontend/cli/inputs.h"

#include <sys/stat.h>

bool add_input(Ctx *ctx, void *options, const char *value) {
  vec_push(ctx->arena, &((InputOptions *)options)->inputs, (RunInput){.arg = value});
  return true;
}

bool add_image(Ctx *ctx, void *options, const char *value) {
  ImageOptions *image = ARENA_NEW(ctx->arena, ImageOptions);
  if (!image_input_parse(ctx, value, image))
    return false;
  vec_push(ctx->arena, &((InputOptions *)options)->inputs, ((RunInput){.arg = image->arg, .image = image}));
  return true;
}

bool set_random(Ctx *ctx, void *options, const char *value) {
  ((InputOptions *)options)->random = true;
  return args_int(ctx, "random", value, 0, INT64_MAX, &((InputOptions *)options)->seed);
}

int port_of(Ctx *ctx, const Ports *ports, const char *arg, const bool *given, const char **file) {
  const char **known = ARENA_ARRAY(ctx->arena, const char *, ports->n);
  for (int k = 0; k < ports->n; k++)
    known[k] = ports->ports[k].name;
  int named = input_of_arg(arg, known, ports->n, file);
  if (named >= 0)
    return named;
  struct stat st;
  /* A file that is read may well have '=' in its name. */
  if (strchr(arg, '=') && (ports->written || stat(arg, &st) != 0)) {
    Str names = str_new(ctx->arena);
    for (int k = 0; k < ports->n; k++)
      str_printf(&names, "%s%s", k ? ", " : "", known[k]);
    diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--%s %s: no %s has this name; the model's are %s", ports->option, arg,
               ports->what, names.data);
    return -1;
  }
  for (int k = 0; k < ports->n; k++)
    if (!given[k])
      return k;
  diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--%s %s: the model has only %d %s%s", ports->option, arg, ports->n,
             ports->what, ports->n == 1 ? "" : "s");
  return -1;
}

const char *port_text(Ctx *ctx, DType dtype, int rank, const int64_t *shape, const char *layout) {
  Str s = str_new(ctx->arena);
  str_printf(&s, "%s[", dtype_name(dtype));
  for (int k = 0; k < rank; k++)
    str_printf(&s, "%s%lld", k ? "," : "", (long long)shape[k]);
  str_printf(&s, "]%s%s", layout ? " " : "", layout ? layout : "");
  return s.data;
}

bool same_type(const Tensor *t, const IoPort *p) {
  return t->dtype == p->dtype && t->rank == p->rank &&
         memcmp(t->shape, p->shape, (size_t)p->rank * sizeof *p->shape) == 0;
}

bool type_mismatch(Ctx *ctx, const char *file, const Tensor *t, const char *what, const IoPort *p) {
  return diag_error(ctx->diags, WEFT_MALFORMED, (Loc){.file = file}, "holds %s, but %s '%s' is %s",
                    port_text(ctx, t->dtype, t->rank, t->shape, NULL), what, p->name,
                    port_text(ctx, p->dtype, p->rank, p->shape, p->layout));
}

Tensor *convert_for_port(Ctx *ctx, Tensor *t, const IoPort *p) {
  Tensor *converted = t ? tensor_convert_bf16(ctx, t, p->dtype) : NULL;
  return converted ? converted : t;
}

/* The file of "[NAME=]FILE", before the model's names are known. */
static const char *file_of_arg(const char *arg) {
  struct stat st;
  const char *file = arg;
  for (const char *p = arg; stat(file, &st) != 0 && (p = strchr(p, '=')) != NULL;)
    file = ++p;
  return file;
}

bool load_inputs(Ctx *ctx, InputOptions *o) {
  for (size_t k = 0; k < o->inputs.len; k++) {
    RunInput *input = &o->inputs.data[k];
    const char *arg = input->arg, *file = file_of_arg(arg);
    struct stat st;
    if (stat(file, &st) != 0)
      continue;
    if (input->image) {
      input->picture = png_read(ctx, file);
      if (!input->picture)
        return false;
      vec_push(ctx->arena, &o->build.import.shapes, image_shape(input->image, input->picture));
      continue;
    }
    Tensor *t = input->loaded = npy_read(ctx, file, LOC_NONE);
    if (!t)
      return false;
    ImportShape shape = {.arg = arg, .rank = t->rank, .content = t};
    memcpy(shape.dims, t->shape, sizeof shape.dims);
    vec_push(ctx->arena, &o->build.import.shapes, shape);
  }
  return true;
}

/* What the port gets of this argument's file; NULL after reporting. */
static Tensor *read_input(Ctx *ctx, const RunInput *input, const char *file, const IoPort *port) {
  if (input->image) {
    const Image *picture = input->picture ? input->picture : png_read(ctx, file);
    return picture ? image_to_tensor(ctx, input->image, file, picture, port) : NULL;
  }
  Tensor *t = convert_for_port(ctx, input->loaded ? input->loaded : npy_read(ctx, file, LOC_NONE), port);
  if (!t || same_type(t, port))
    return t;
  type_mismatch(ctx, file, t, "input", port);
  return NULL;
}

bool read_inputs(Ctx *ctx, const InputOptions *o, const IoPort *ports, int n, const void **data) {
  bool *given = ARENA_ARRAY(ctx->arena, bool, n);
  for (size_t j = 0; j < o->inputs.len; j++) {
    const char *file;
    const RunInput *input = &o->inputs.data[j];
    Ports all = {input->image ? "image" : "input", "input", ports, n, false};
    int k = port_of(ctx, &all, input->arg, given, &file);
    if (k < 0)
      return false;
    if (given[k])
      return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "input '%s' is given twice", ports[k].name);
    Tensor *t = read_input(ctx, input, file, &ports[k]);
    if (!t)
      return false;
    data[k] = t->data;
    given[k] = true;
  }
  for (int k = 0; k < n; k++) {
    if (given[k])
      continue;
    const IoPort *p = &ports[k];
    if (!o->random)
      return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE,
                        "input '%s', %s, is missing; give --input %s=FILE.npy or --random SEED", p->name,
                        port_text(ctx, p->dtype, p->rank, p->shape, p->layout), p->name);
    Tensor *t = tensor_new(ctx, p->dtype, p->rank, p->shape);
    tensor_fill_random(t, (uint64_t)o->seed + (uint64_t)k * 0x632be59bd9b4e019ull);
    data[k] = t->data;
  }
  return true;
}
