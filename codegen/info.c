/* What a compiled model says about itself: one line of JSON, the same bytes for the same model and options. */
#include "codegen/codegen.h"
#include "codegen/port.h"
#include "runtime/model.h"
#include <jansson.h>
#include <stdlib.h>

/* ---- ports ---- */

static Port port_of(const LoopProgram *p, const char *name, const Type *type, const char *roles) {
  Port port = {.name = name, .type = type};
  const Layout *layout = type->layout;
  WEFT_ASSERT(layout_is_permutation(layout)); /* a blocked boundary was refused where the user asked for it */
  for (int k = 0; k < type->rank; k++)
    port.shape[k] = type->dims[layout->digits[k].axis];
  if (roles)
    port.letters = layout_to_letters(p->ctx, layout, roles);
  return port;
}

Port port_input(const LoopProgram *p, size_t k) {
  if (!p->module->main)
    return port_of(p, p->inputs.data[k]->name, p->inputs.data[k]->type, NULL);
  const Value *param = p->module->main->params.data[k];
  return port_of(p, param->name, param->type, param->roles);
}

Port port_output(const LoopProgram *p, size_t k) {
  if (!p->module->main)
    return port_of(p, p->outputs.data[k]->name, p->outputs.data[k]->type, NULL);
  const FuncResult *result = &p->module->main->results.data[k];
  return port_of(p, result->name, result->type, result->roles);
}

int64_t port_elements(const LoopProgram *p, const Port *port) {
  return expr_value(type_elements(p->ctx, port->type));
}

/* ---- JSON ---- */

/* jansson takes valid UTF-8 only; in another name every byte that is not ASCII becomes '?'. */
static json_t *text_json(Ctx *ctx, const char *text) {
  json_t *value = json_string(text);
  if (value)
    return value;
  char *ascii = arena_strdup(ctx->arena, text);
  for (char *c = ascii; *c; c++)
    if (*c & 0x80)
      *c = '?';
  return json_string(ascii);
}

static json_t *dim_json(Ctx *ctx, Dim dim) {
  int64_t value;
  if (expr_is_const(dim, &value))
    return json_integer(value);
  Str text = str_new(ctx->arena);
  expr_print(&text, dim);
  return json_string(text.data);
}

static void add_dims(json_t *dims, const Port *port) {
  for (int k = 0; k < port->type->rank; k++) {
    Dim dim = port->shape[k];
    if (dim->kind != EX_SYM)
      continue;
    size_t i = 0;
    while (i < json_array_size(dims) && strcmp(json_string_value(json_array_get(dims, i)), dim->name) != 0)
      i++;
    if (i == json_array_size(dims))
      json_array_append_new(dims, json_string(dim->name));
  }
}

static json_t *port_json(Ctx *ctx, const Port *port) {
  json_t *shape = json_array(), *object = json_object();
  for (int k = 0; k < port->type->rank; k++)
    json_array_append_new(shape, dim_json(ctx, port->shape[k]));
  json_object_set_new(object, "name", text_json(ctx, port->name));
  json_object_set_new(object, "dtype", json_string(dtype_name(port->type->dtype)));
  json_object_set_new(object, "shape", shape);
  json_object_set_new(object, "layout", port->letters ? json_string(port->letters) : json_null());
  return object;
}

static int compare_pointers(const void *a, const void *b) {
  uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
  return x < y ? -1 : x > y;
}

int64_t parameter_count(LoopProgram *p) {
  size_t n = p->constants.len;
  uintptr_t *roots = ARENA_ARRAY(p->ctx->arena, uintptr_t, n);
  for (size_t k = 0; k < n; k++) {
    const Constant *root = p->constants.data[k]->constant;
    while (root->base)
      root = root->base;
    roots[k] = (uintptr_t)root;
  }
  if (n)
    qsort(roots, n, sizeof *roots, compare_pointers);
  int64_t sum = 0;
  for (size_t k = 0; k < n; k++)
    if (k == 0 || roots[k] != roots[k - 1])
      sum += expr_value(type_elements(p->ctx, ((const Constant *)roots[k])->type));
  return sum;
}

const char *model_info_json(LoopProgram *p, const CodegenOptions *options) {
  Ctx *ctx = p->ctx;
  json_t *inputs = json_array(), *outputs = json_array(), *dims = json_array(), *info = json_object();
  for (size_t k = 0; k < p->inputs.len; k++) {
    Port port = port_input(p, k);
    json_array_append_new(inputs, port_json(ctx, &port));
    add_dims(dims, &port);
  }
  for (size_t k = 0; k < p->outputs.len; k++) {
    Port port = port_output(p, k);
    json_array_append_new(outputs, port_json(ctx, &port));
  }
  int64_t flops = 0;
  for (const Nest *nest = p->first; nest; nest = nest->next)
    if (!add_i64(flops, nest_work(ctx, nest), &flops))
      flops = INT64_MAX;

  json_object_set_new(info, "abi", json_integer(WEFT_ABI));
  json_object_set_new(info, "name", text_json(ctx, p->name));
  json_object_set_new(info, "weft", json_string(WEFT_VERSION));
  json_object_set_new(info, "target", json_string("cpu"));
  json_object_set_new(info, "cpu", json_string(options->cpu->name));
  json_object_set_new(info, "inputs", inputs);
  json_object_set_new(info, "outputs", outputs);
  json_object_set_new(info, "dims", dims);
  json_object_set_new(info, "workspace", json_integer(expr_value(p->arena_bytes)));
  json_object_set_new(info, "parameters", json_integer(parameter_count(p)));
  json_object_set_new(info, "flops", json_integer(flops));

  char *text = json_dumps(info, JSON_COMPACT | JSON_PRESERVE_ORDER);
  json_decref(info);
  WEFT_ASSERT(text);
  const char *kept = arena_strdup(ctx->arena, text);
  free(text);
  return kept;
}
