/* Inputs from the command line: --input, --image, --random. And ports, what a model's inputs and outputs are. */
#ifndef WEFT_FRONTEND_CLI_INPUTS_H
#define WEFT_FRONTEND_CLI_INPUTS_H

#include "frontend/cli/image_io.h"
#include "frontend/cli/runnable.h"

/* An --input or an --image, in the order given. */
typedef struct {
  const char *arg;
  const ImageOptions *image; /* NULL: a .npy */
  Tensor *loaded;            /* what its file holds; NULL where it was not there */
  Image *picture;
} RunInput;

typedef struct {
  BuildOptions build; /* first: the shared option rows set it */
  VEC(RunInput) inputs;
  bool random;
  int64_t seed;
} InputOptions;

/* Rows for OptionRow tables whose options struct starts with an InputOptions. */
bool add_input(Ctx *ctx, void *options, const char *value);
bool add_image(Ctx *ctx, void *options, const char *value);
bool set_random(Ctx *ctx, void *options, const char *value);

#define INPUT_OPTION_ROWS                                                                                              \
  {"input", "[NAME=]FILE.npy", "an input, in the model's order or by name; repeatable", add_input}, {                  \
    "random", "SEED", "make the inputs that are not given: uniform in -1..1 (integers: -1, 0, 1)", set_random          \
  }

/* Reads the input files first: the importer takes sizes from them that the model leaves open, and the content of those
 * that a shape depends on, since the program is for this run only. One that is missing is reported later, since a fault
 * of the model is of more interest. False after reporting. */
bool load_inputs(Ctx *ctx, InputOptions *o);
/* Storage for each port from the loaded files, and random where none is given. False after reporting. */
bool read_inputs(Ctx *ctx, const InputOptions *o, const IoPort *ports, int n, const void **data);

/* ---- ports ---- */

typedef struct {
  const char *option, *what; /* for messages */
  const IoPort *ports;
  int n;
  bool written; /* outputs */
} Ports;

/* The port that an argument names, and its file; takes the next free port without a name. -1 after reporting. */
int port_of(Ctx *ctx, const Ports *ports, const char *arg, const bool *given, const char **file);
/* "f32[1,3,8,8] NCHW". */
const char *port_text(Ctx *ctx, DType dtype, int rank, const int64_t *shape, const char *layout);
bool same_type(const Tensor *t, const IoPort *p);
bool type_mismatch(Ctx *ctx, const char *file, const Tensor *t, const char *what, const IoPort *p); /* false */
/* What a file holds, as the port takes it: numpy has no bf16, so its bits may come as u16, its values as f32. NULL for
 * NULL. */
Tensor *convert_for_port(Ctx *ctx, Tensor *t, const IoPort *p);

#endif
