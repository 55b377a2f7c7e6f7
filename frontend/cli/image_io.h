/* Pictures as inputs and outputs of `weft run`: the arguments of --image and --output-image, and their tensors. */
#ifndef WEFT_FRONTEND_CLI_IMAGE_IO_H
#define WEFT_FRONTEND_CLI_IMAGE_IO_H

#include "frontend/cli/runnable.h"
#include "frontend/image.h"

typedef struct {
  const char *arg;       /* "[NAME=]FILE.png", without the options */
  int64_t height, width; /* size=HxW; 0 where it is not given */
  int n_mean, n_std;     /* 0 where it is not given, 1 or 3 */
  double mean[3], std[3];
  double scale, offset;
  bool has_scale;
  bool bgr;           /* channels are blue, green, red */
  const char *layout; /* letters, or NULL */
} ImageOptions;

/* False after reporting. */
bool image_input_parse(Ctx *ctx, const char *value, ImageOptions *out);
bool image_output_parse(Ctx *ctx, const char *value, ImageOptions *out);

/* What a picture says about the shape of its input; -1: nothing. */
ImportShape image_shape(const ImageOptions *o, const Image *image);
/* The picture as this port takes it: (pixel / 255 - mean) / std. NULL after reporting. */
Tensor *image_to_tensor(Ctx *ctx, const ImageOptions *o, const char *file, const Image *image, const IoPort *port);
/* Writes what this port gave as a picture: value * scale + offset, a batch one below the other. False after reporting.
 */
bool image_from_tensor(Ctx *ctx, const ImageOptions *o, const char *file, const Tensor *t, const IoPort *port);

#endif
