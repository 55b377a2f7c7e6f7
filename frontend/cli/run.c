/* weft run MODEL_OR_SO. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "frontend/cli/batch.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/compare.h"
#include "frontend/cli/inputs.h"

typedef struct {
  InputOptions in; /* first: the shared option rows set it */
  VEC(const ImageOptions *) pictures; /* outputs to write as such */
  VEC(const char *) expected;
  double rtol, atol;
  int64_t repeat;
  bool interp;
  const char *output_dir, *batch;
} RunOptions;

/* What a run says on standard output. */
typedef struct {
  VEC(const char *) lines;
  const char *differs; /* the first line of an output that is not as expected, or NULL */
} Report;

static bool add_output_image(Ctx *ctx, void *options, const char *value) {
  ImageOptions *image = ARENA_NEW(ctx->arena, ImageOptions);
  vec_push(ctx->arena, &((RunOptions *)options)->pictures, (const ImageOptions *)image);
  return image_output_parse(ctx, value, image);
}

static bool add_expected(Ctx *ctx, void *options, const char *value) {
  vec_push(ctx->arena, &((RunOptions *)options)->expected, value);
  return true;
}

static bool set_rtol(Ctx *ctx, void *options, const char *value) {
  return args_double(ctx, "rtol", value, &((RunOptions *)options)->rtol);
}

static bool set_atol(Ctx *ctx, void *options, const char *value) {
  return args_double(ctx, "atol", value, &((RunOptions *)options)->atol);
}

static bool set_repeat(Ctx *ctx, void *options, const char *value) {
  return args_int(ctx, "repeat", value, 1, 1000000, &((RunOptions *)options)->repeat);
}

static bool set_output_dir(Ctx *ctx, void *options, const char *value) {
  (void)ctx;
  ((RunOptions *)options)->output_dir = value;
  return true;
}

static bool set_batch(Ctx *ctx, void *options, const char *value) {
  (void)ctx;
  ((RunOptions *)options)->batch = value;
  return true;
}

static bool set_run_target(Ctx *ctx, void *options, const char *value) {
  ((RunOptions *)options)->interp = strcmp(value, "interp") == 0;
  return ((RunOptions *)options)->interp || set_target(ctx, options, value);
}

static const OptionRow rows[] = {
    INPUT_OPTION_ROWS,
    {"image", "[NAME=]FILE.png[,...]", "a picture as an input, see below; repeatable", add_image},
    {"expect", "FILE.npy", "compare the next output with this; repeatable, in output order", add_expected},
    {"rtol", "R", "relative tolerance (1e-3): |a-b| <= atol + rtol*|b|", set_rtol},
    {"atol", "A", "absolute tolerance (1e-5)", set_atol},
    {"output-dir", "DIR", "write output_0.npy, output_1.npy, ...", set_output_dir},
    {"output-image", "[NAME=]FILE.png[,...]", "write an output as a picture, see below; repeatable", add_output_image},
    {"repeat", "N", "run N times and print the fastest and the median time", set_repeat},
    {"batch", "FILE", "run each line of FILE ('-': standard input), see below", set_batch},
    {"target", "TARGET", "cpu (default), or interp: the reference evaluation", set_run_target},
    {"prefix", "NAME", "prefix of a shared object's symbols (weft_model)", set_prefix},
    {"threads", "N", "threads to use", set_threads},
    BUILD_OPTION_ROWS,
    {0},
};

static const FutureOption future[] = {{"gpu", true}, {"offload", true}, {"check", false}, {0}};

static const CommandSpec spec = {
    "run",
    "MODEL_OR_SO [--input [NAME=]FILE.npy ...] [options]",
    "Runs a model (compiled in memory) or a compiled shared object (which is code, and trusted).",
    rows,
    future,
    "  weft run model.yaml --input x.npy --expect y.npy --rtol 1e-3\n"
    "  weft run model.so --input x.npy --output-dir out\n"
    "  weft run model.onnx --image photo.png,size=320x480,mean=0.5,std=0.5 --output-image map.png\n"
    "  weft run model.yaml --random 7 --layout '*=NHWC' --repeat 100\n"
    "\n"
    "Pictures:\n"
    "  --image [NAME=]FILE.png,size=HxW,mean=M,std=S,order=BGR,layout=NHWC\n"
    "  puts a PNG into an input of 3 channels, or of 1: 0.299 R + 0.587 G + 0.114 B. Each element is\n"
    "  (pixel / 255 - mean) / std, pixels being 0..255. All but FILE may be left out:\n"
    "    size    resizes, bilinearly with pixel centres at halves, antialiased where it shrinks;\n"
    "            without it the picture must have the input's size\n"
    "    mean    one number (0), or one for each channel: mean=0.485,0.456,0.406\n"
    "    std     likewise (1; for integer inputs 1/255, which gives the pixels themselves)\n"
    "    order   of the channels, RGB (default) or BGR\n"
    "    layout  of an input whose axes the model does not name; one of rank 4 is taken as NCHW\n"
    "  --output-image [NAME=]FILE.png,scale=S,offset=O,order=BGR,layout=NHWC\n"
    "  writes an output of 1 or 3 channels as a PNG of pixels value * scale + offset, rounded and cut\n"
    "  to 0..255; scale is 255, for integers 1, offset 0. A batch goes one below the other.\n"
    "\n"
    "Many runs by one process:\n"
    "  weft run --batch FILE --rtol 1e-3\n"
    "  runs each line of FILE as 'weft run --rtol 1e-3 LINE', in a process of its own, and prints a line\n"
    "  'STATUS MESSAGE' for it: the exit status, then the first output, the first that differs, or the\n"
    "  first error. Words are parted by blanks: 'as it is', \"with \\\" and \\\\\", \\c for any c; # starts a\n"
    "  comment; lines without words are no runs. The exit status is the largest of all runs; one that\n"
    "  a signal ends has 70.\n",
    0,
    1};

/* ---- outputs ---- */

static void describe_output(Ctx *ctx, Str *line, const IoPort *p, const Tensor *t) {
  double lo = INFINITY, hi = -INFINITY, sum = 0;
  for (int64_t k = 0; k < t->n; k++) {
    double v = tensor_get(t, k);
    lo = v < lo || isnan(v) ? v : lo;
    hi = v > hi || isnan(v) ? v : hi;
    sum += v;
  }
  str_printf(line, "%s %s", p->name, port_text(ctx, p->dtype, p->rank, p->shape, p->layout));
  if (t->n)
    str_printf(line, " min %.6g max %.6g mean %.6g", lo, hi, sum / (double)t->n);
}

/* Compares an output with its file. Sets *differs; false after reporting a file that cannot be compared. */
static bool compare_output(Ctx *ctx, const RunOptions *o, Str *line, const IoPort *p, const Tensor *got,
                           const char *file, bool *differs) {
  Tensor *expected = convert_for_port(ctx, npy_read(ctx, file, LOC_NONE), p);
  if (!expected)
    return false;
  if (!same_type(expected, p))
    return type_mismatch(ctx, file, expected, "output", p);
  Difference d = tensor_compare(got, expected, o->rtol, o->atol);
  str_printf(line, " | max abs diff %.3g, max rel diff %.3g", d.max_abs, d.max_rel);
  if (d.wrong)
    str_printf(line, " | %lld of %lld beyond rtol %g atol %g, first at %lld: %.9g, expected %.9g", (long long)d.wrong,
               (long long)got->n, o->rtol, o->atol, (long long)d.first, tensor_get(got, d.first),
               tensor_get(expected, d.first));
  *differs = d.wrong > 0;
  return true;
}

static bool report_outputs(Ctx *ctx, const RunOptions *o, const Runnable *r, Tensor *const *outputs, Report *report) {
  if (o->output_dir && mkdir(o->output_dir, 0777) != 0 && errno != EEXIST)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--output-dir %s: %s", o->output_dir, strerror(errno));
  for (int k = 0; k < r->n_outputs; k++) {
    Str line = str_new(ctx->arena);
    bool differs = false;
    describe_output(ctx, &line, &r->outputs[k], outputs[k]);
    bool ok = (size_t)k >= o->expected.len ||
              compare_output(ctx, o, &line, &r->outputs[k], outputs[k], o->expected.data[k], &differs);
    vec_push(ctx->arena, &report->lines, (const char *)line.data);
    if (differs && !report->differs)
      report->differs = line.data;
    if (!ok)
      return false;
    if (o->output_dir && !npy_write(ctx, arena_printf(ctx->arena, "%s/output_%d.npy", o->output_dir, k), outputs[k]))
      return false;
  }
  return true;
}

/* The output that each --output-image is for. False after reporting. */
static bool find_pictures(Ctx *ctx, const RunOptions *o, const Runnable *r, int *output, const char **file) {
  Ports ports = {"output-image", "output", r->outputs, r->n_outputs, true};
  bool *given = ARENA_ARRAY(ctx->arena, bool, r->n_outputs);
  for (size_t k = 0; k < o->pictures.len; k++) {
    output[k] = port_of(ctx, &ports, o->pictures.data[k]->arg, given, &file[k]);
    if (output[k] < 0)
      return false;
    given[output[k]] = true;
  }
  return true;
}

/* ---- running ---- */

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sort_doubles(double *v, int64_t n) {
  for (int64_t gap = n / 2; gap > 0; gap /= 2) /* Shell's sort */
    for (int64_t i = gap; i < n; i++) {
      double x = v[i];
      int64_t j = i;
      for (; j >= gap && v[j - gap] > x; j -= gap)
        v[j] = v[j - gap];
      v[j] = x;
    }
}

static bool run_repeatedly(Ctx *ctx, const RunOptions *o, Runnable *r, const char *path, const void *const *inputs,
                           void *const *outputs, Report *report) {
  double *took = ARENA_ARRAY(ctx->arena, double, o->repeat);
  for (int64_t k = 0; k < o->repeat; k++) {
    double start = seconds_now();
    int status = r->run(r, inputs, outputs);
    took[k] = seconds_now() - start;
    if (status != 0)
      return diag_error(ctx->diags, (Status)status, (Loc){.file = path}, "%s", r->error(r));
  }
  if (o->repeat > 1) {
    sort_doubles(took, o->repeat);
    vec_push(ctx->arena, &report->lines,
             (const char *)arena_printf(ctx->arena, "%lld runs: fastest %.3f ms, median %.3f ms", (long long)o->repeat,
                                        took[0] * 1e3, took[o->repeat / 2] * 1e3));
  }
  return true;
}

static bool run_model(Ctx *ctx, const RunOptions *o, Runnable *r, const char *path, Report *report) {
  if (o->expected.len > (size_t)r->n_outputs)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "%zu --expect files, but the model has %d output%s",
                      o->expected.len, r->n_outputs, r->n_outputs == 1 ? "" : "s");
  int *picture_of = ARENA_ARRAY(ctx->arena, int, o->pictures.len);
  const char **picture_file = ARENA_ARRAY(ctx->arena, const char *, o->pictures.len);
  if (!find_pictures(ctx, o, r, picture_of, picture_file))
    return false;
  const void **inputs = ARENA_ARRAY(ctx->arena, const void *, r->n_inputs);
  if (!read_inputs(ctx, &o->in, r->inputs, r->n_inputs, inputs))
    return false;
  Tensor **tensors = ARENA_ARRAY(ctx->arena, Tensor *, r->n_outputs);
  void **outputs = ARENA_ARRAY(ctx->arena, void *, r->n_outputs);
  for (int k = 0; k < r->n_outputs; k++) {
    tensors[k] = tensor_new(ctx, r->outputs[k].dtype, r->outputs[k].rank, r->outputs[k].shape);
    outputs[k] = tensors[k]->data;
  }
  if (!run_repeatedly(ctx, o, r, path, inputs, outputs, report) || !report_outputs(ctx, o, r, tensors, report))
    return false;
  for (size_t k = 0; k < o->pictures.len; k++)
    if (!image_from_tensor(ctx, o->pictures.data[k], picture_file[k], tensors[picture_of[k]],
                           &r->outputs[picture_of[k]]))
      return false;
  return true;
}

/* One run as the options say; the errors are in ctx. */
static Status run_once(Ctx *ctx, RunOptions *o, const Positionals *files, Report *report) {
  if (!files->len) {
    diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "a file is missing; usage: weft run %s", spec.synopsis);
    return WEFT_USAGE;
  }
  const char *path = files->data[0];
  Runnable *r = load_inputs(ctx, &o->in) ? runnable_open(ctx, &o->in.build, path, o->interp) : NULL;
  bool ok = r && run_model(ctx, o, r, path, report);
  if (r)
    r->close(r);
  return ok && report->differs ? WEFT_DIFFER : WEFT_OK;
}

/* The options of the command line, which a line of a batch adds to. */
typedef struct {
  Ctx *ctx;
  RunOptions options;
  Positionals files;
} Common;

static int run_of_batch(void *env, int argc, char **argv) {
  Common *c = env;
  Report report = {0};
  Status status = WEFT_OK;
  c->options.batch = NULL;
  if (args_parse(c->ctx, "weft", &spec, argc, argv, &c->options, &c->files) == ARGS_OK) {
    if (c->options.batch)
      diag_error(c->ctx->diags, WEFT_USAGE, LOC_NONE, "--batch %s: a batch holds no other", c->options.batch);
    else
      status = run_once(c->ctx, &c->options, &c->files, &report);
  }
  if (!diag_count(c->ctx->diags) && report.lines.len)
    printf("%s\n", report.differs ? report.differs : report.lines.data[0]);
  return finish(c->ctx, status);
}

int command_run(int argc, char **argv) {
  Common c = {ctx_create(), {.in.build = build_defaults, .rtol = 1e-3, .atol = 1e-5, .repeat = 1}, {0}};
  if (args_parse(c.ctx, "weft", &spec, argc, argv, &c.options, &c.files) != ARGS_OK)
    return finish(c.ctx, WEFT_OK);
  if (c.options.batch)
    return batch_run(c.ctx, c.options.batch, run_of_batch, &c);
  Report report = {0};
  Status status = run_once(c.ctx, &c.options, &c.files, &report);
  for (size_t k = 0; k < report.lines.len; k++)
    printf("%s\n", report.lines.data[k]);
  return finish(c.ctx, status);
}
