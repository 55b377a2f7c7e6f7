/* The inputs of an ONNX model and a size for every dimension that it leaves open.
 *
 * A dimension is a number, or open: negative, unnamed, or named. A name that is an identifier stands for one size
 * wherever it occurs; any other text (`?`, `8*h8`) says nothing about other dimensions, each is its own. Sizes come
 * from --shape and from the files given as inputs; all that is said of a dimension must agree. */
#include "frontend/onnx.h"

typedef struct {
  const char *name;   /* interned, of a dimension named in the model; NULL: unnamed */
  bool shared;        /* an identifier */
  int64_t size;       /* -1 while open */
  const char *origin; /* what has set the size; NULL: the model itself */
} OpenDim;

typedef struct {
  ImportName *name;
  DType dtype;
  bool has_rank;
  int rank;
  OpenDim dims[WEFT_MAX_RANK];
} InputShape;

typedef struct {
  OnnxImport *im;
  size_t n;
  InputShape *inputs;
  bool *has_file;
} Inputs;

static Loc model_loc(const Inputs *s) {
  return (Loc){.file = s->im->file};
}

/* ---- what the model declares ---- */

static bool is_identifier(const char *s) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return s[0] && !(s[0] >= '0' && s[0] <= '9') && !s[strspn(s, letters)];
}

static OpenDim read_dim(OnnxImport *im, const OnnxDimension *d) {
  OpenDim dim = {.size = -1};
  if (ONNX_SEEN(d, Dimension, dim_value) && d->dim_value >= 0) {
    dim.size = d->dim_value;
  } else if (d->dim_param.n) {
    dim.name = onnx_text(im, d->dim_param);
    dim.shared = is_identifier(dim.name);
  }
  return dim;
}

static bool read_input(const Inputs *s, ImportName *name, InputShape *input) {
  OnnxImport *im = s->im;
  const OnnxType *type = name->input->type;
  const OnnxTensorType *tensor = type ? type->tensor_type : NULL;
  const char *quoted = onnx_quote(im, name->input->name);
  *input = (InputShape){.name = name};
  if (!tensor && type && type->seen)
    return diag_error(im->ctx->diags, WEFT_UNSUPPORTED, model_loc(s),
                      "input '%s' is a sequence, a map, optional or sparse; only dense tensors are supported", quoted);
  if (!tensor || !tensor->elem_type)
    return diag_error(im->ctx->diags, WEFT_MALFORMED, model_loc(s), "input '%s' has no element type", quoted);
  if (!onnx_dtype(tensor->elem_type, &input->dtype))
    return diag_error(im->ctx->diags, WEFT_UNSUPPORTED, model_loc(s),
                      "input '%s' has elements of type %s (%d), which is not supported", quoted,
                      onnx_dtype_name(tensor->elem_type), tensor->elem_type);
  input->has_rank = tensor->shape != NULL;
  size_t rank = tensor->shape ? tensor->shape->dim.n : 0;
  if (rank > WEFT_MAX_RANK)
    return diag_error(im->ctx->diags, WEFT_UNSUPPORTED, model_loc(s),
                      "input '%s' has %zu dimensions; at most %d are supported", quoted, rank, WEFT_MAX_RANK);
  input->rank = (int)rank;
  for (int k = 0; k < input->rank; k++)
    input->dims[k] = read_dim(im, &tensor->shape->dim.items[k]);
  return true;
}

/* "f32[N,3,?,8]" */
static const char *declared(const Inputs *s, const InputShape *input) {
  Str text = str_new(s->im->ctx->arena);
  str_printf(&text, "%s[", dtype_name(input->dtype));
  for (int k = 0; k < input->rank; k++) {
    const OpenDim *d = &input->dims[k];
    str_put(&text, k ? "," : "");
    if (d->name)
      str_printf(&text, "%.40s", d->name);
    else if (d->size >= 0)
      str_printf(&text, "%lld", (long long)d->size);
    else
      str_putc(&text, '?');
  }
  str_put(&text, input->has_rank ? "]" : "...]");
  return text.data;
}

/* ---- sizes ---- */

/* Sets one dimension; what has set it before must have said the same. */
static bool set_dim(const Inputs *s, OpenDim *d, int64_t size, const ImportShape *from, const char *origin) {
  if (d->size == size)
    return true;
  if (d->size < 0) {
    d->size = size;
    d->origin = origin;
    return true;
  }
  Status status = from->arg ? WEFT_MALFORMED : WEFT_USAGE;
  return diag_error(s->im->ctx->diags, status, from->arg ? (Loc){.file = intern_str(s->im->ctx, origin)} : LOC_NONE,
                    "%s%sdimension '%s' is %lld here, but %lld%s%s", from->arg ? "" : origin, from->arg ? "" : ": ",
                    d->name ? d->name : "?", (long long)size, (long long)d->size, d->origin ? " by " : "",
                    d->origin ? d->origin : " in the model");
}

/* The same for all dimensions of a shared name. */
static bool set_named(Inputs *s, const char *name, int64_t size, const ImportShape *from, const char *origin) {
  for (size_t k = 0; k < s->n; k++)
    for (int j = 0; j < s->inputs[k].rank; j++)
      if (s->inputs[k].dims[j].name == name && !set_dim(s, &s->inputs[k].dims[j], size, from, origin))
        return false;
  return true;
}

static const char *given_text(Ctx *ctx, const ImportShape *from) {
  Str text = str_new(ctx->arena);
  for (int k = 0; k < from->rank; k++)
    if (from->dims[k] < 0)
      str_printf(&text, "%s?", k ? "x" : "");
    else
      str_printf(&text, "%s%lld", k ? "x" : "", (long long)from->dims[k]);
  return text.len ? text.data : "scalar";
}

/* A number of the model against one of --shape. A file's shape is compared with the final one when it is read. */
static bool check_fixed(const Inputs *s, const InputShape *input, int axis, const ImportShape *from,
                        const char *origin) {
  if (from->arg || from->dims[axis] == input->dims[axis].size)
    return true;
  return diag_error(s->im->ctx->diags, WEFT_USAGE, LOC_NONE,
                    "%s: the model fixes axis %d of input '%s' to %lld: it is %s", origin, axis, input->name->name,
                    (long long)input->dims[axis].size, declared(s, input));
}

static bool set_input(Inputs *s, InputShape *input, const ImportShape *from, const char *origin) {
  Ctx *ctx = s->im->ctx;
  if (!input->has_rank) {
    input->has_rank = true;
    input->rank = from->rank;
    for (int k = 0; k < input->rank; k++)
      input->dims[k] = (OpenDim){.size = -1};
  }
  if (input->rank != from->rank)
    return diag_error(ctx->diags, from->arg ? WEFT_MALFORMED : WEFT_USAGE,
                      from->arg ? (Loc){.file = intern_str(ctx, origin)} : LOC_NONE,
                      "%s%shas %d dimensions (%s), but input '%s' is %s", from->arg ? "" : origin,
                      from->arg ? "" : ": ", from->rank, given_text(ctx, from), input->name->name, declared(s, input));
  for (int k = 0; k < input->rank; k++) {
    OpenDim *d = &input->dims[k];
    if (from->dims[k] < 0) /* not said */
      continue;
    bool fixed = d->size >= 0 && !d->origin;
    bool ok = fixed && !d->name ? check_fixed(s, input, k, from, origin)
              : d->shared       ? set_named(s, d->name, from->dims[k], from, origin)
                                : set_dim(s, d, from->dims[k], from, origin);
    if (!ok)
      return false;
  }
  return true;
}

static bool unknown_name(const Inputs *s, const char *name) {
  Str known = str_new(s->im->ctx->arena);
  for (size_t k = 0; k < s->n && k < 20; k++)
    str_printf(&known, "%s'%.60s', %s", k ? "; " : "", s->inputs[k].name->name, declared(s, &s->inputs[k]));
  return diag_error(s->im->ctx->diags, WEFT_USAGE, LOC_NONE,
                    "--shape %.80s: no input or dimension of the model has this name; its inputs are %s", name,
                    known.len ? known.data : "none");
}

/* A row of --shape. */
static bool apply_shape(Inputs *s, const ImportShape *from) {
  const char *name = intern_str(s->im->ctx, from->name);
  bool found = false;
  if (from->rank < 0) {
    const char *origin = arena_printf(s->im->ctx->arena, "--shape %.80s=%lld", name, (long long)from->dims[0]);
    for (size_t k = 0; k < s->n; k++)
      for (int j = 0; j < s->inputs[k].rank; j++)
        found = found || s->inputs[k].dims[j].name == name;
    if (found)
      return set_named(s, name, from->dims[0], from, origin);
  }
  ImportShape whole = *from;
  whole.rank = from->rank < 0 ? 1 : from->rank;
  for (size_t k = 0; k < s->n; k++)
    if (s->inputs[k].name->name == name)
      return set_input(s, &s->inputs[k], &whole,
                       arena_printf(s->im->ctx->arena, "--shape %.80s=%s", name, given_text(s->im->ctx, &whole)));
  return unknown_name(s, name);
}

int input_of_arg(const char *arg, const char *const *inputs, int n, const char **file) {
  const char *equals = strchr(arg, '=');
  *file = arg;
  for (; equals; equals = strchr(equals + 1, '=')) /* a name may hold '=' too */
    for (int k = 0; k < n; k++)
      if (strlen(inputs[k]) == (size_t)(equals - arg) && strncmp(arg, inputs[k], (size_t)(equals - arg)) == 0) {
        *file = equals + 1;
        return k;
      }
  return -1;
}

/* The shape of a file given to `weft run`. Which input it is for is checked again, with better words, when it is read.
 */
static bool apply_file(Inputs *s, const ImportShape *from) {
  const char **names = ARENA_ARRAY(s->im->ctx->arena, const char *, s->n);
  for (size_t k = 0; k < s->n; k++)
    names[k] = s->inputs[k].name->name;
  const char *file;
  int found = input_of_arg(from->arg, names, (int)s->n, &file);
  for (size_t k = 0; found < 0 && k < s->n; k++)
    if (!s->has_file[k])
      found = (int)k;
  if (found < 0 || s->has_file[found])
    return true;
  s->has_file[found] = true;
  s->inputs[found].name->content = from->content;
  return set_input(s, &s->inputs[found], from, file);
}

static bool check_complete(const Inputs *s, const InputShape *input) {
  Ctx *ctx = s->im->ctx;
  const char *name = input->name->name;
  if (!input->has_rank)
    return diag_error(ctx->diags, WEFT_UNSUPPORTED, model_loc(s),
                      "input '%s' has no shape in the model; give it by --shape '%s=1x3x...'", name, name);
  Str example = str_new(ctx->arena);
  int open = -1;
  for (int k = 0; k < input->rank; k++) {
    int64_t size = input->dims[k].size;
    str_printf(&example, "%s%s", k ? "x" : "", size < 0 ? "N" : "");
    if (size >= 0)
      str_printf(&example, "%lld", (long long)size);
    open = open < 0 && size < 0 ? k : open;
  }
  if (open < 0)
    return true;
  return diag_error(ctx->diags, WEFT_UNSUPPORTED, model_loc(s),
                    "input '%s' is %s: the size of axis %d ('%s') is open; give it by --shape '%s=%s'%s%s%s", name,
                    declared(s, input), open, input->dims[open].name ? input->dims[open].name : "?", name, example.data,
                    input->dims[open].name ? " or --shape '" : "", input->dims[open].name ? input->dims[open].name : "",
                    input->dims[open].name ? "=N'" : "");
}

static bool is_fixed(const OnnxImport *im, const char *name) {
  for (size_t k = 0; k < im->fixed.len; k++)
    if (im->fixed.data[k] == name)
      return true;
  return false;
}

/* A parameter; nothing reads it where the input is taken for a constant. */
static bool make_param(const Inputs *s, const InputShape *input) {
  OnnxImport *im = s->im;
  int64_t shape[WEFT_MAX_RANK];
  for (int k = 0; k < input->rank; k++)
    shape[k] = input->dims[k].size;
  const Type *type = type_static(im->ctx, input->dtype, input->rank, shape, NULL);
  if (!type)
    return diag_error(im->ctx->diags, WEFT_MALFORMED, model_loc(s),
                      "input '%s' is %s: its dimensions are too large, at most %lld elements", input->name->name,
                      shape_text(im->ctx, input->dtype, input->rank, shape), (long long)WEFT_MAX_ELEMENTS);
  Loc loc = {.file = im->file, .node = input->name->name};
  input->name->value = function_add_param(im->module, im->function, input->name->name, type, NULL, loc);
  const Tensor *t = input->name->content;
  if (t && (t->dtype != input->dtype || t->rank != input->rank ||
            memcmp(t->shape, shape, (size_t)t->rank * sizeof *shape) != 0))
    input->name->content = t = NULL; /* no fit, as is reported when it is given to the program */
  if (t && is_fixed(im, input->name->name)) {
    Constant *c = module_add_constant(im->module, input->name->name, type, t->data, loc);
    input->name->value = build_constant(im->module, im->function, NULL, c, input->name->name, loc);
  }
  return true;
}

bool onnx_make_inputs(OnnxImport *im) {
  Inputs s = {.im = im, .n = im->inputs.len};
  s.inputs = ARENA_ARRAY(im->ctx->arena, InputShape, s.n);
  s.has_file = ARENA_ARRAY(im->ctx->arena, bool, s.n);
  bool ok = true;
  for (size_t k = 0; k < s.n; k++)
    ok = read_input(&s, im->inputs.data[k], &s.inputs[k]) && ok;
  for (size_t k = 0; ok && k < im->options->shapes.len; k++)
    if (im->options->shapes.data[k].name)
      ok = apply_shape(&s, &im->options->shapes.data[k]);
  for (size_t k = 0; ok && k < im->options->shapes.len; k++)
    if (im->options->shapes.data[k].arg)
      ok = apply_file(&s, &im->options->shapes.data[k]);
  for (size_t k = 0; ok && k < s.n; k++)
    ok = check_complete(&s, &s.inputs[k]);
  for (size_t k = 0; ok && k < s.n; k++)
    ok = make_param(&s, &s.inputs[k]);
  return ok;
}
