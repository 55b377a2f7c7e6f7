/* --image and --output-image of `weft run`. See image_io.h.
 *
 * The axes of a port are told by letters: those of the port where the model has some, else those of layout=, else NCHW
 * for a tensor of rank 4, with a warning that says so. */
#include "frontend/cli/image_io.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- arguments ---- */

typedef struct {
  const char *key;
  bool (*set)(Ctx *ctx, ImageOptions *o, const char *value);
} Key;

/* Comma-separated numbers, at most `max`; -1 after reporting. */
static int read_numbers(Ctx *ctx, const char *key, const char *value, int max, double *out) {
  int n = 0;
  for (const char *p = value;; p++) {
    char *end;
    double v = strtod(p, &end);
    if (end == p || !isfinite(v) || n == max || (*end && *end != ','))
      break;
    out[n++] = v;
    p = end;
    if (!*p)
      return n;
  }
  diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "%s=%s: expected a number%s", key, value,
             max > 1 ? ", or one for each of red, green and blue by commas" : "");
  return -1;
}

static bool one_or_three(Ctx *ctx, const char *key, const char *value, int *n, double *out) {
  *n = read_numbers(ctx, key, value, 3, out);
  return *n == 1 || *n == 3 ||
         (*n == 2 && diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "%s=%s: expected one number or three", key, value));
}

static bool set_size(Ctx *ctx, ImageOptions *o, const char *value) {
  long long height, width;
  int end = 0;
  if (sscanf(value, "%5lldx%5lld%n", &height, &width, &end) != 2 || value[end] || height < 1 || width < 1 ||
      height > WEFT_MAX_IMAGE_SIDE || width > WEFT_MAX_IMAGE_SIDE)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "size=%s: expected HEIGHTxWIDTH, each from 1 to %d", value,
                      WEFT_MAX_IMAGE_SIDE);
  o->height = height;
  o->width = width;
  return true;
}

static bool set_mean(Ctx *ctx, ImageOptions *o, const char *value) {
  return one_or_three(ctx, "mean", value, &o->n_mean, o->mean);
}

static bool set_std(Ctx *ctx, ImageOptions *o, const char *value) {
  if (!one_or_three(ctx, "std", value, &o->n_std, o->std))
    return false;
  for (int k = 0; k < o->n_std; k++)
    if (o->std[k] == 0)
      return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "std=%s: a divisor may not be 0", value);
  return true;
}

static bool set_scale(Ctx *ctx, ImageOptions *o, const char *value) {
  o->has_scale = true;
  return read_numbers(ctx, "scale", value, 1, &o->scale) == 1;
}

static bool set_offset(Ctx *ctx, ImageOptions *o, const char *value) {
  return read_numbers(ctx, "offset", value, 1, &o->offset) == 1;
}

static bool set_order(Ctx *ctx, ImageOptions *o, const char *value) {
  o->bgr = strcmp(value, "BGR") == 0;
  return o->bgr || strcmp(value, "RGB") == 0 ||
         diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "order=%s: expected RGB or BGR", value);
}

/* Different letters of N, C, H, W, the last two among them. */
static bool set_image_layout(Ctx *ctx, ImageOptions *o, const char *value) {
  bool ok = strchr(value, 'H') && strchr(value, 'W') && strspn(value, "NCHW") == strlen(value);
  for (const char *p = value; ok && *p; p++)
    ok = !strchr(p + 1, *p);
  if (!ok)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "layout=%s: expected an order of axes such as NCHW, NHWC or HW",
                      value);
  o->layout = value;
  return true;
}

static const Key input_keys[] = {{"size", set_size},   {"mean", set_mean},           {"std", set_std},
                                 {"order", set_order}, {"layout", set_image_layout}, {0}};
static const Key output_keys[] = {
    {"scale", set_scale}, {"offset", set_offset}, {"order", set_order}, {"layout", set_image_layout}, {0}};

/* The next ",KEY=" from p on, or the end. */
static const char *next_key(const char *p) {
  for (; (p = strchr(p, ',')); p++) {
    size_t n = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz");
    if (n > 0 && p[1 + n] == '=')
      return p;
  }
  return NULL;
}

static bool parse(Ctx *ctx, const char *option, const char *value, const Key *keys, ImageOptions *o) {
  const char *at = next_key(value);
  *o = (ImageOptions){.arg = at ? arena_strndup(ctx->arena, value, (size_t)(at - value)) : value};
  while (at) {
    const char *equals = strchr(at, '='), *end = next_key(equals);
    const char *word = arena_strndup(ctx->arena, at + 1, (size_t)(equals - at) - 1);
    const char *setting = end ? arena_strndup(ctx->arena, equals + 1, (size_t)(end - equals) - 1) : equals + 1;
    const Key *key = keys;
    Str known = str_new(ctx->arena);
    for (; key->key && strcmp(key->key, word) != 0; key++)
      str_printf(&known, "%s%s", known.len ? ", " : "", key->key);
    if (!key->key)
      return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--%s %s: there is no '%s'; there are %s", option, value,
                        word, known.data);
    if (!key->set(ctx, o, setting))
      return false;
    at = end;
  }
  return *o->arg ||
         diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "--%s %s: the name of a file is missing", option, value);
}

bool image_input_parse(Ctx *ctx, const char *value, ImageOptions *out) {
  return parse(ctx, "image", value, input_keys, out);
}

bool image_output_parse(Ctx *ctx, const char *value, ImageOptions *out) {
  return parse(ctx, "output-image", value, output_keys, out);
}

/* ---- axes ---- */

/* Where the axes of a port lie. */
typedef struct {
  int64_t n, c, h, w;                     /* extents */
  int64_t n_step, c_step, h_step, w_step; /* elements from one to the next */
} Axes;

static bool axes_of(Ctx *ctx, const ImageOptions *o, const IoPort *port, Axes *axes) {
  const char *letters = port->layout ? port->layout : o->layout;
  if (o->layout && strcmp(letters, o->layout) != 0)
    return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "layout=%s: '%s' is %s in the model", o->layout, port->name,
                      letters);
  if (!letters && port->rank == 4) {
    letters = "NCHW";
    diag_warning(ctx->diags, LOC_NONE,
                 "the model does not say which axis of '%s' is which; it is taken as NCHW (layout=NCHW says so)",
                 port->name);
  }
  if (!letters || (int)strlen(letters) != port->rank || strspn(letters, "NCHW") != (size_t)port->rank ||
      !strchr(letters, 'H') || !strchr(letters, 'W'))
    return diag_error(
        ctx->diags, WEFT_USAGE, LOC_NONE,
        "'%s' has rank %d%s%s, which is no picture; where it is one, add its order of axes by layout=, such "
        "as layout=HWC",
        port->name, port->rank, letters ? " and axes " : "", letters ? letters : "");
  *axes = (Axes){.n = 1, .c = 1};
  int64_t step = 1;
  for (int k = port->rank - 1; k >= 0; k--) {
    int64_t extent = port->shape[k];
    switch (letters[k]) {
    case 'N':
      axes->n = extent;
      axes->n_step = step;
      break;
    case 'C':
      axes->c = extent;
      axes->c_step = step;
      break;
    case 'H':
      axes->h = extent;
      axes->h_step = step;
      break;
    default:
      axes->w = extent;
      axes->w_step = step;
    }
    step *= extent;
  }
  if (axes->c != 1 && axes->c != 3)
    return diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE,
                      "'%s' has %lld channels (%s); pictures have 1, grey, or 3, red, green and blue", port->name,
                      (long long)axes->c, letters);
  return true;
}

static int64_t element_at(const Axes *a, int64_t n, int64_t y, int64_t x, int64_t c) {
  return n * a->n_step + y * a->h_step + x * a->w_step + c * a->c_step;
}

static bool check_type(Ctx *ctx, const IoPort *port) {
  return port->dtype != DT_BOOL || diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE,
                                              "'%s' is bool; pictures are for integers and floats", port->name);
}

/* ---- inputs ---- */

ImportShape image_shape(const ImageOptions *o, const Image *image) {
  const char *letters = o->layout ? o->layout : "NCHW";
  ImportShape shape = {.arg = o->arg, .rank = (int)strlen(letters)};
  for (int k = 0; k < shape.rank; k++)
    shape.dims[k] = letters[k] == 'N'   ? 1
                    : letters[k] == 'C' ? -1
                    : letters[k] == 'H' ? (o->height ? o->height : image->height)
                                        : (o->width ? o->width : image->width);
  return shape;
}

static bool check_input_size(Ctx *ctx, const ImageOptions *o, const char *file, const Image *image, const IoPort *port,
                             const Axes *a) {
  Loc loc = {.file = intern_str(ctx, file)};
  if (a->n != 1)
    return diag_error(ctx->diags, WEFT_UNSUPPORTED, loc, "input '%s' takes %lld pictures at once; --image gives one",
                      port->name, (long long)a->n);
  int64_t height = o->height ? o->height : image->height, width = o->width ? o->width : image->width;
  if (height == a->h && width == a->w)
    return true;
  return diag_error(ctx->diags, WEFT_MALFORMED, loc,
                    "%s %lld x %lld (height x width), but input '%s' takes %lld x %lld; size=%lldx%lld resizes it",
                    o->height ? "is resized to" : "is", (long long)height, (long long)width, port->name,
                    (long long)a->h, (long long)a->w, (long long)a->h, (long long)a->w);
}

Tensor *image_to_tensor(Ctx *ctx, const ImageOptions *o, const char *file, const Image *image, const IoPort *port) {
  Axes a;
  if (!check_type(ctx, port) || !axes_of(ctx, o, port, &a) || !check_input_size(ctx, o, file, image, port, &a))
    return NULL;
  if (a.c == 1 && (o->n_mean == 3 || o->n_std == 3)) {
    diag_error(ctx->diags, WEFT_USAGE, LOC_NONE, "input '%s' has one channel, but mean= or std= has three numbers",
               port->name);
    return NULL;
  }
  const float *pixels = image_resample(ctx, image, a.h, a.w, (int)a.c);
  Tensor *t = tensor_new(ctx, port->dtype, port->rank, port->shape);
  bool is_float = dtype_is_float(port->dtype);
  for (int64_t c = 0; c < a.c; c++) {
    double mean = o->n_mean ? o->mean[o->n_mean == 3 ? c : 0] : 0;
    double std = o->n_std ? o->std[o->n_std == 3 ? c : 0] : is_float ? 1 : 1.0 / 255;
    for (int64_t y = 0; y < a.h; y++)
      for (int64_t x = 0; x < a.w; x++) {
        double v = ((double)pixels[(y * a.w + x) * a.c + (o->bgr ? a.c - 1 - c : c)] / 255 - mean) / std;
        tensor_set(t, element_at(&a, 0, y, x, c), is_float ? v : rint(v));
      }
  }
  return t;
}

/* ---- outputs ---- */

bool image_from_tensor(Ctx *ctx, const ImageOptions *o, const char *file, const Tensor *t, const IoPort *port) {
  Axes a;
  if (!check_type(ctx, port) || !axes_of(ctx, o, port, &a))
    return false;
  if (t->n == 0 || a.w > WEFT_MAX_IMAGE_SIDE || a.n > WEFT_MAX_IMAGE_SIDE || a.h > WEFT_MAX_IMAGE_SIDE / a.n)
    return diag_error(ctx->diags, WEFT_UNSUPPORTED, (Loc){.file = intern_str(ctx, file)},
                      "output '%s' is %lld times %lld x %lld; a picture has 1 to %d pixels a side", port->name,
                      (long long)a.n, (long long)a.h, (long long)a.w, WEFT_MAX_IMAGE_SIDE);
  Image image = {a.n * a.h, a.w, (int)a.c, ARENA_ARRAY(ctx->arena, uint8_t, t->n)};
  double scale = o->has_scale ? o->scale : dtype_is_float(port->dtype) ? 255 : 1;
  uint8_t *p = image.pixels;
  for (int64_t n = 0; n < a.n; n++)
    for (int64_t y = 0; y < a.h; y++)
      for (int64_t x = 0; x < a.w; x++)
        for (int64_t c = 0; c < a.c; c++) {
          double v = tensor_get(t, element_at(&a, n, y, x, o->bgr ? a.c - 1 - c : c)) * scale + o->offset;
          *p++ = v > 0 ? v < 255 ? (uint8_t)rint(v) : 255 : 0; /* NaN: 0 */
        }
  return png_write(ctx, file, &image);
}
