/* The cases of sweep_layouts: what is computed, over which channel counts, and in which layouts. */
#ifndef WEFT_TESTS_EXEC_LAYOUT_CASES_H
#define WEFT_TESTS_EXEC_LAYOUT_CASES_H

#include "tests/exec/random.h"

/* Letters by the number of spatial axes, 1 to 3; a wish is written with those of 2. */
typedef struct {
  const char *letters[4];
} Letters;
#define N_DATA_LAYOUTS 5
#define N_KERNEL_LAYOUTS 8
#define N_BOUNDARY_LAYOUTS 4
extern const Letters data_letters[N_DATA_LAYOUTS], kernel_letters[N_KERNEL_LAYOUTS],
    boundary_letters[N_BOUNDARY_LAYOUTS];

/* The layouts of one graph, by their numbers in these tables: what every op in it reads and writes, and in what order
 * of axes the caller's buffers are. */
typedef struct {
  int data, kernel, out;
  int input, output;
} Choice;

typedef struct {
  Ctx *ctx;
  Module *m;
  const Choice *choice;
  uint64_t seed;
} Graph;

typedef struct {
  int64_t in, out; /* of a concat: of its two parts */
} Channels;

/* How the layouts are brought about: by wishes, data, kernel and result; by wishes, data and result; or, where the row
 * of the op gives it no letters, by a copy in front and by the result's type. */
typedef enum { BY_KERNEL_WISH, BY_WISH, BY_TYPE } Way;

typedef struct Kind {
  const char *name;
  Way way;
  int spatial;
  const Channels *channels;
  int n_channels;
  Value *(*build)(Graph *g, const struct Kind *kind, Channels channels); /* NULL after reporting */
} Kind;
extern const Kind kinds[];
extern const int n_kinds;

/* A tensor's numbers depend on the seed and its name only, so that a case has the same ones in any company. */
void fill_named(uint64_t seed, const char *name, Tensor *t);
const Layout *layout_of(Ctx *ctx, const Letters *letters, const char *const *roles, int spatial);
extern const char *const data_roles[4], *const conv_roles[4], *const conv_transpose_roles[4];

#endif
