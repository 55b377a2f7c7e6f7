/* Models in memory, shared objects and the reference evaluation behind one interface. See runnable.h. */
#include "frontend/cli/runnable.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/model.h"

bool is_shared_object(const char *path) {
  char magic[4] = {0};
  FILE *f = fopen(path, "rb");
  if (!f)
    return false;
  bool elf = fread(magic, 1, 4, f) == 4 && memcmp(magic, "\177ELF", 4) == 0;
  fclose(f);
  return elf;
}

/* ---- ports from JSON ---- */

static bool bad_info(Runnable *r, const char *path, const char *what) {
  return diag_error(r->ctx->diags, WEFT_MALFORMED, (Loc){.file = path}, "its description is not one of weft's: %s",
                    what);
}

static bool read_port(Runnable *r, const char *path, const json_t *j, IoPort *port) {
  const char *name = json_string_value(json_object_get(j, "name"));
  const char *dtype = json_string_value(json_object_get(j, "dtype"));
  const json_t *shape = json_object_get(j, "shape");
  if (!name || !dtype || !json_is_array(shape) || json_array_size(shape) > WEFT_MAX_RANK ||
      !dtype_parse(dtype, strlen(dtype), &port->dtype))
    return bad_info(r, path, "an input or output lacks name, dtype or shape");
  port->name = intern_str(r->ctx, name);
  port->rank = (int)json_array_size(shape);
  for (int k = 0; k < port->rank; k++) {
    const json_t *d = json_array_get(shape, (size_t)k);
    if (!json_is_integer(d) || json_integer_value(d) < 0)
      return bad_info(r, path, "a dimension is not a number");
    port->shape[k] = json_integer_value(d);
  }
  const char *layout = json_string_value(json_object_get(j, "layout"));
  port->layout = layout ? intern_str(r->ctx, layout) : NULL;
  return true;
}

static bool read_port_list(Runnable *r, const char *path, const json_t *list, int *n, const IoPort **ports) {
  if (!json_is_array(list))
    return bad_info(r, path, "inputs or outputs are missing");
  *n = (int)json_array_size(list);
  IoPort *p = ARENA_ARRAY(r->ctx->arena, IoPort, *n);
  for (int k = 0; k < *n; k++)
    if (!read_port(r, path, json_array_get(list, (size_t)k), &p[k]))
      return false;
  *ports = p;
  return true;
}

static bool read_ports(Runnable *r, const char *path) {
  json_t *j = json_loads(r->info, JSON_REJECT_DUPLICATES, NULL);
  bool ok = json_is_object(j) || bad_info(r, path, "no JSON object");
  ok = ok && read_port_list(r, path, json_object_get(j, "inputs"), &r->n_inputs, &r->inputs) &&
       read_port_list(r, path, json_object_get(j, "outputs"), &r->n_outputs, &r->outputs);
  json_decref(j);
  return ok;
}

/* ---- compiled in memory ---- */

static int run_jit(Runnable *r, const void *const *inputs, void *const *outputs) {
  return weft_rt_run(jit_model(r->impl), inputs, outputs);
}

static const char *jit_error(Runnable *r) {
  (void)r;
  return weft_rt_error();
}

static void close_jit(Runnable *r) {
  jit_close(r->impl);
}

static bool open_jit(Runnable *r, const BuildOptions *options, Module *module) {
  Unit unit;
  if (!build_unit(r->ctx, options, module, true, &unit))
    return false;
  CodegenOptions cg = build_codegen_options(options, build_cpu(r->ctx, options));
  r->impl = jit_open(unit.loops, &cg);
  if (!r->impl)
    return false;
  r->run = run_jit;
  r->error = jit_error;
  r->close = close_jit;
  r->info = jit_model(r->impl)->info;
  weft_rt_set_threads(jit_model(r->impl), (int)options->threads);
  return true;
}

/* ---- the reference evaluation ---- */

typedef struct {
  Module *module;
  Tensor **in, **out, **values; /* of the run before, used again */
} Reference;

static int run_reference(Runnable *r, const void *const *inputs, void *const *outputs) {
  Reference *ref = r->impl;
  const Function *f = ref->module->main;
  for (size_t k = 0; k < f->params.len; k++)
    tensor_from_storage(ref->in[k], f->params.data[k]->type, inputs[k]);
  if (!eval_function(ref->module, f, (const Tensor *const *)ref->in, ref->out, ref->values))
    return WEFT_BUG;
  for (size_t k = 0; k < f->results.len; k++)
    tensor_to_storage(ref->out[k], f->results.data[k].type, outputs[k]);
  return WEFT_OK;
}

static const char *reference_error(Runnable *r) {
  (void)r;
  return "the reference evaluation failed";
}

static void close_reference(Runnable *r) {
  (void)r;
}

static void describe_port(json_t *list, const char *name, const Type *type, const char *letters) {
  json_t *shape = json_array();
  for (int k = 0; k < type->rank; k++)
    json_array_append_new(shape, json_integer(expr_value(type->dims[type->layout->digits[k].axis])));
  json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:s?}", "name", name, "dtype", dtype_name(type->dtype),
                                        "shape", shape, "layout", letters));
}

static bool open_reference(Runnable *r, Module *module) {
  Ctx *ctx = r->ctx;
  Unit unit = {.ctx = ctx, .module = module};
  Pipeline pipeline = {0};
  Str log = str_new(ctx->arena);
  PipelineOptions po = {.verify_each = true};
  /* legalize refuses what has no numbers: dynamic dimensions */
  if (!pipeline_parse(ctx, &all_passes, "expand-composites,legalize{target=cpu}", &pipeline) ||
      !pipeline_run(&unit, &all_passes, &pipeline, &po, &log))
    return false;
  json_t *in = json_array(), *out = json_array();
  const Function *f = module->main;
  for (size_t k = 0; k < f->params.len; k++) {
    const Value *v = f->params.data[k];
    describe_port(in, v->name, v->type, v->roles ? layout_to_letters(ctx, v->type->layout, v->roles) : NULL);
  }
  for (size_t k = 0; k < f->results.len; k++) {
    const FuncResult *v = &f->results.data[k];
    describe_port(out, v->name, v->type, v->roles ? layout_to_letters(ctx, v->type->layout, v->roles) : NULL);
  }
  json_t *j = json_pack("{s:o, s:o}", "inputs", in, "outputs", out);
  char *text = json_dumps(j, JSON_COMPACT);
  r->info = arena_strdup(ctx->arena, text);
  free(text);
  json_decref(j);
  Reference *ref = r->impl = ARENA_NEW(ctx->arena, Reference);
  *ref = (Reference){module, ARENA_ARRAY(ctx->arena, Tensor *, f->params.len),
                     ARENA_ARRAY(ctx->arena, Tensor *, f->results.len), ARENA_ARRAY(ctx->arena, Tensor *, f->n_values)};
  for (size_t k = 0; k < f->params.len; k++)
    ref->in[k] = tensor_of_type(ctx, f->params.data[k]->type);
  r->run = run_reference;
  r->error = reference_error;
  r->close = close_reference;
  return true;
}

/* ---- a shared object ---- */

typedef struct {
  void *handle;
  int (*run)(const void *const *inputs, void *const *outputs);
  const char *(*error)(void);
} Shared;

static int run_shared(Runnable *r, const void *const *inputs, void *const *outputs) {
  return ((Shared *)r->impl)->run(inputs, outputs);
}

static const char *shared_error(Runnable *r) {
  return ((Shared *)r->impl)->error();
}

static void close_shared(Runnable *r) {
  dlclose(((Shared *)r->impl)->handle);
}

static bool open_shared(Runnable *r, const BuildOptions *options, const char *path) {
  Ctx *ctx = r->ctx;
  Loc loc = {.file = path};
  Shared *s = ARENA_NEW(ctx->arena, Shared);
  s->handle = dlopen(strchr(path, '/') ? path : arena_printf(ctx->arena, "./%s", path), RTLD_NOW | RTLD_LOCAL);
  if (!s->handle)
    return diag_error(ctx->diags, WEFT_MALFORMED, loc, "cannot be loaded: %s", dlerror());
  r->impl = s;
  r->run = run_shared;
  r->error = shared_error;
  r->close = close_shared;
  const char *p = options->prefix;
  int (*abi)(void);
  int (*choose_threads)(int);
  const char *(*info)(void);
  /* POSIX has dlsym return object pointers for functions; the copy avoids the forbidden cast. */
  void *symbols[5] = {dlsym(s->handle, arena_printf(ctx->arena, "%s_abi", p)),
                      dlsym(s->handle, arena_printf(ctx->arena, "%s_info", p)),
                      dlsym(s->handle, arena_printf(ctx->arena, "%s_run", p)),
                      dlsym(s->handle, arena_printf(ctx->arena, "%s_error", p)),
                      dlsym(s->handle, arena_printf(ctx->arena, "%s_set_threads", p))};
  memcpy(&abi, &symbols[0], sizeof abi);
  memcpy(&info, &symbols[1], sizeof info);
  memcpy(&s->run, &symbols[2], sizeof s->run);
  memcpy(&s->error, &symbols[3], sizeof s->error);
  memcpy(&choose_threads, &symbols[4], sizeof choose_threads);
  if (!abi || !info || !s->run || !s->error || !choose_threads)
    return diag_error(ctx->diags, WEFT_MALFORMED, loc,
                      "does not export %s_abi, _info, _run, _error and _set_threads: not a model compiled by weft, or "
                      "with another --prefix",
                      p);
  if (abi() != WEFT_ABI)
    return diag_error(ctx->diags, WEFT_UNSUPPORTED, loc, "has interface version %d; this weft runs version %d", abi(),
                      WEFT_ABI);
  choose_threads((int)options->threads); /* 0, where the option is not given, changes nothing */
  r->info = info();
  return true;
}

/* A .so is compiled already: options that say how are refused, not passed over. */
static bool check_compiled(Ctx *ctx, const BuildOptions *o, const char *path) {
  bool shapes = false;
  for (size_t k = 0; k < o->import.shapes.len; k++)
    shapes = shapes || o->import.shapes.data[k].name;
  const char *given = strcmp(o->cpu, build_defaults.cpu) != 0         ? "cpu"
                      : strcmp(o->layout, build_defaults.layout) != 0 ? "layout"
                      : shapes                                        ? "shape"
                      : o->dump_dir                                   ? "dump-dir"
                      : o->time_passes                                ? "time-passes"
                                                                      : NULL;
  return !given || diag_error(ctx->diags, WEFT_USAGE, (Loc){.file = path},
                              "--%s says how a model is compiled, and a shared object is; give the model, or leave it out",
                              given);
}

Runnable *runnable_open(Ctx *ctx, const BuildOptions *options, const char *path, bool interp) {
  Runnable *r = ARENA_NEW(ctx->arena, Runnable);
  r->ctx = ctx;
  bool ok, shared = is_shared_object(path);
  if (options->explain_layout && (shared || interp)) {
    ok = diag_error(ctx->diags, WEFT_USAGE, (Loc){.file = path},
                    "--explain-layout: %s has no layouts to explain; give a model and --target cpu",
                    shared ? "a shared object" : "the reference evaluation");
  } else if (shared) {
    ok = interp ? diag_error(ctx->diags, WEFT_USAGE, (Loc){.file = path},
                             "a shared object has no graph left to evaluate; give the model")
                : check_compiled(ctx, options, path) && open_shared(r, options, path);
  } else {
    Module *module = model_import(ctx, path, &options->import);
    ok = module && (interp ? open_reference(r, module) : open_jit(r, options, module));
  }
  if (ok && read_ports(r, path))
    return r;
  if (r->close)
    r->close(r);
  return NULL;
}
