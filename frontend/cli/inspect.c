/* weft inspect MODEL_OR_SO. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/cli/commands.h"
#include "frontend/cli/picture.h"
#include "frontend/cli/runnable.h"

typedef struct {
  BuildOptions build; /* first: the shared option rows set it */
  const char *dot, *html;
} InspectOptions;

static bool set_dot(Ctx *ctx, void *options, const char *value) {
  (void)ctx;
  ((InspectOptions *)options)->dot = value;
  return true;
}

static bool set_html(Ctx *ctx, void *options, const char *value) {
  (void)ctx;
  ((InspectOptions *)options)->html = value;
  return true;
}

static const OptionRow rows[] = {
    {"dot", "FILE", "write a picture of the graph for Graphviz, layouts as colours", set_dot},
    {"html", "FILE", "write it as a page for a browser", set_html},
    {"target", "TARGET", "cpu", set_target},
    {"prefix", "NAME", "prefix of a shared object's symbols (weft_model)", set_prefix},
    BUILD_OPTION_ROWS,
    {0},
};

static const FutureOption future[] = {{0}};

static const CommandSpec spec = {
    "inspect",
    "MODEL_OR_SO [options]",
    "Shows inputs, outputs, ops, parameters, FLOPs and bytes by loop nest, and the memory plan of a model or of a "
    "compiled\n"
    "shared object (which has totals only). Bytes are an estimate: each element that a nest reads or writes, once.",
    rows,
    future,
    "  weft inspect model.yaml --layout '*=NHWC' --explain-layout\n"
    "  weft inspect model.yaml --layout '*=NHWC' --html model.html\n"
    "  weft inspect model.onnx --shape x=1x3x320x480\n"
    "  weft inspect model.so\n",
    1,
    1};

static void print_port(const char *kind, const IoPort *p) {
  printf("%-7s %s %s[", kind, p->name, dtype_name(p->dtype));
  for (int k = 0; k < p->rank; k++)
    printf("%s%lld", k ? "," : "", (long long)p->shape[k]);
  printf("]%s%s\n", p->layout ? " " : "", p->layout ? p->layout : "");
}

/* Inputs and outputs of a model as those of its compiled form: the shape in the order of the caller's buffer. */
static void print_boundary(Ctx *ctx, const char *kind, const char *name, const Type *type, const char *roles) {
  IoPort p = {.name = name, .dtype = type->dtype, .rank = type->rank};
  for (int k = 0; k < type->rank; k++)
    p.shape[k] = expr_value(type->dims[type->layout->digits[k].axis]);
  if (roles)
    p.layout = layout_to_letters(ctx, type->layout, roles);
  print_port(kind, &p);
}

/* How often each op occurs. */
typedef struct {
  int of[OP_COUNT];
} Histogram;

static Histogram count_ops(const Module *m) {
  Histogram count = {{0}};
  for (const Op *op = m->main->first; op; op = op->next)
    count.of[op->def->code]++;
  return count;
}

static void print_ops(const Histogram *imported, const Histogram *compiled) {
  printf("ops    in the model    compiled\n");
  for (int k = 0; k < OP_COUNT; k++)
    if (imported->of[k] || compiled->of[k])
      printf("  %12d  %12d  %s\n", imported->of[k], compiled->of[k], op_table[k].name);
}

static int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return add_i64(a, b, &sum) ? sum : INT64_MAX;
}

static void print_nests(Ctx *ctx, const LoopProgram *p) {
  int64_t flops = 0, read = 0, written = 0;
  printf("nests     flop    bytes read       written\n");
  for (const Nest *n = p->first; n; n = n->next) {
    int64_t work = nest_work(ctx, n);
    NestBytes bytes = nest_bytes(ctx, n);
    printf("  %12lld  %12lld  %12lld  %-24s %s\n", (long long)work, (long long)bytes.read, (long long)bytes.written,
           n->name, n->what);
    flops = plus(flops, work);
    read = plus(read, bytes.read);
    written = plus(written, bytes.written);
  }
  printf("  %12lld  %12lld  %12lld  in all\n", (long long)flops, (long long)read, (long long)written);
}

static void print_memory(Ctx *ctx, LoopProgram *p) {
  int64_t constants = 0;
  for (size_t k = 0; k < p->constants.len; k++)
    constants += type_bytes(p->constants.data[k]->type);
  printf("parameters %lld\n", (long long)parameter_count(p));
  printf("memory\n  %12lld bytes of constants\n  %12lld bytes of workspace\n", (long long)constants,
         (long long)expr_value(p->arena_bytes));
  for (size_t k = 0; k < p->arena.len; k++) {
    const Buffer *b = p->arena.data[k];
    printf("  %12lld bytes at %-10lld %s : %s\n", (long long)type_bytes(b->type), (long long)expr_value(b->offset),
           b->name, type_text(ctx, b->type));
  }
}

static bool write_pictures(Ctx *ctx, const InspectOptions *o, const Module *m, const LoopProgram *program) {
  if (!o->dot && !o->html)
    return true;
  const Picture *picture = picture_make(ctx, m, program);
  Str dot = str_new(ctx->arena), html = str_new(ctx->arena);
  picture_dot(&dot, ctx, picture);
  picture_html(&html, ctx, picture);
  return (!o->dot || file_write(ctx, o->dot, dot.data, dot.len)) &&
         (!o->html || file_write(ctx, o->html, html.data, html.len));
}

static bool inspect_model(Ctx *ctx, const InspectOptions *o, const char *path) {
  const BuildOptions *options = &o->build;
  Module *m = model_import(ctx, path, &options->import);
  Unit unit;
  if (!m)
    return false;
  Histogram imported = count_ops(m);
  if (!build_unit(ctx, options, m, true, &unit) || !write_pictures(ctx, o, m, unit.loops))
    return false;
  printf("model   %s\n", m->name);
  for (size_t k = 0; k < m->main->params.len; k++) {
    const Value *v = m->main->params.data[k];
    print_boundary(ctx, "input", v->name, v->type, v->roles);
  }
  for (size_t k = 0; k < m->main->results.len; k++) {
    const FuncResult *r = &m->main->results.data[k];
    print_boundary(ctx, "output", r->name, r->type, r->roles);
  }
  Histogram compiled = count_ops(m);
  print_ops(&imported, &compiled);
  print_nests(ctx, unit.loops);
  print_memory(ctx, unit.loops);
  return true;
}

static bool inspect_shared(Ctx *ctx, const InspectOptions *o, const char *path) {
  const BuildOptions *options = &o->build;
  if (o->dot || o->html)
    return diag_error(ctx->diags, WEFT_USAGE, (Loc){.file = path},
                      "a shared object has no graph left to draw; give the model");
  Runnable *r = runnable_open(ctx, options, path, false);
  if (!r)
    return false;
  json_t *j = json_loads(r->info, 0, NULL);
  static const char *const strings[] = {"name", "weft", "target", "cpu"}, *const numbers[] = {"abi", "parameters",
                                                                                              "workspace", "flops"};
  for (size_t k = 0; k < 4; k++) {
    const char *s = json_string_value(json_object_get(j, strings[k]));
    printf("%-7s %s\n", k ? strings[k] : "model", s ? s : "?");
  }
  for (int k = 0; k < r->n_inputs; k++)
    print_port("input", &r->inputs[k]);
  for (int k = 0; k < r->n_outputs; k++)
    print_port("output", &r->outputs[k]);
  for (size_t k = 0; k < 4; k++)
    printf("%-10s %lld\n", numbers[k], (long long)json_integer_value(json_object_get(j, numbers[k])));
  json_decref(j);
  r->close(r);
  return true;
}

int command_inspect(int argc, char **argv) {
  Ctx *ctx = ctx_create();
  InspectOptions o = {.build = build_defaults};
  Positionals files = {0};
  ArgsResult parsed = args_parse(ctx, "weft", &spec, argc, argv, &o, &files);
  if (parsed == ARGS_OK) {
    const char *path = files.data[0];
    if (is_shared_object(path))
      inspect_shared(ctx, &o, path);
    else
      inspect_model(ctx, &o, path);
  }
  return finish(ctx, WEFT_OK);
}
