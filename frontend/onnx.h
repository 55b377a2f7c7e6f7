/* What the files of the ONNX importer share. The steps, each reporting all it finds, are in onnx.c; one row and one
 * small function per operator are in onnx_ops.def and onnx_ops_*.c.
 *
 * Every size is a number when operators are built: open dimensions of inputs have got theirs before (onnx_inputs.c). A
 * value whose content is known is one whose op is a `constant`; node_finish evaluates ops of small results over known
 * values at once, so that chains of Shape, Gather, Concat... end as constants that Reshape and the like can read. */
#ifndef WEFT_FRONTEND_ONNX_H
#define WEFT_FRONTEND_ONNX_H

#include "frontend/onnx_wire.h"
#include "frontend/source.h"

#define ONNX_OLDEST_OPSET 1
#define ONNX_NEWEST_OPSET 28

struct ImportNode;

/* A name of the graph. Exactly one of initializer, input and maker is set; an initializer that is an input too is the
 * input's default and so a constant. */
typedef struct {
  const char *name; /* interned */
  const OnnxTensor *initializer;
  const OnnxValueInfo *input;
  struct ImportNode *maker;
  Value *value;            /* NULL until built, and where building it failed */
  bool initializer_failed; /* reported */
  const Tensor *content;   /* of an input, where it is known for this run */
  bool read;               /* by an output of the model, or by a node that one depends on */
} ImportName;

typedef bool OnnxBuild(struct ImportNode *n);

/* A row of onnx_ops.def: an operator in the opsets since..until (0: to the newest). max_inputs -1: any number. */
typedef struct {
  const char *type;
  int since, until;
  int min_inputs, max_inputs, outputs; /* outputs that can be made; further ones must not be read */
  OnnxBuild *build;
  OpCode code;       /* what build makes, where many operators share it */
  const char *attrs; /* onnx_elementwise: "alpha=0.01": attributes of both and ONNX's defaults */
} OnnxRow;

struct OnnxImport;

typedef struct ImportNode {
  struct OnnxImport *im;
  const OnnxNode *node;
  const char *type, *domain; /* interned; domain "" is ONNX's own */
  Loc loc;                   /* file and name of the node */
  const OnnxRow *row;
  ImportName **inputs, **outputs; /* NULL where omitted */
  int n_inputs, n_outputs;        /* without omitted ones at the end */
  Value **results;                /* set by build */
  bool *attr_used;
  bool failed; /* reported; builders go on with harmless values */
  bool live;   /* an output of the model depends on it */
  int mark;    /* of onnx_sort: 0 not seen, 1 being walked, 2 done */
} ImportNode;

typedef struct OnnxImport {
  Ctx *ctx;
  Module *module;
  Function *function;
  const char *file; /* as given, interned */
  const OnnxModel *model;
  const OnnxGraph *graph;
  const ImportOptions *options; /* not NULL */
  int opset;                    /* of ONNX's own operators; 0: the model has none */
  Intern table;                 /* of names */
  VEC(ImportName *) inputs;     /* of the model, without those that have initializers */
  VEC(ImportName *) outputs;
  size_t n_nodes;
  ImportNode *nodes;
  ImportNode **order;      /* each behind what it reads */
  int64_t work_left;       /* elements that may still be computed, see node_spend */
  VEC(const char *) fixed; /* inputs that are taken for constants, their content being known */
  bool again;              /* an input was added to them: all is to be built anew */
} OnnxImport;

/* ---- onnx_names.c ---- */

const char *onnx_text(OnnxImport *im, OnnxBytes bytes); /* interned; "" where absent */
/* For messages: the text in at most 80 characters. */
const char *onnx_quote(OnnxImport *im, OnnxBytes bytes);
ImportName *onnx_find(const OnnxImport *im, const char *name);
/* Defines all names, resolves those that nodes and outputs read, and sorts the nodes. False after reporting. */
bool onnx_read_names(OnnxImport *im);

/* ---- onnx_inputs.c ---- */

/* Makes the parameters of the function, with a size for every dimension. */
bool onnx_make_inputs(OnnxImport *im);

/* ---- onnx_tensor.c ---- */

/* The element type of this number in ONNX; false where weft has none. */
bool onnx_dtype(int32_t number, DType *out);
const char *onnx_dtype_name(int32_t number);
/* what: "initializer 'W'". NULL after reporting at loc. */
Tensor *onnx_tensor(OnnxImport *im, const OnnxTensor *t, const char *what, Loc loc);

/* ---- onnx_ops.c ---- */

/* The row of a node's operator in the opset of the model, or NULL. */
const OnnxRow *onnx_row(const OnnxImport *im, const char *type);
/* All rows; those of one operator follow one another, in rising opsets. */
const OnnxRow *onnx_rows(size_t *n);
/* What is taken of an operator, where that is not all; NULL where it is. */
const char *onnx_note(const char *type);

/* ---- onnx_node.c, onnx_attrs.c: for the functions of operators. After a fault n->failed is set and values are NULL,
 * empty or the default, which all of these take. ---- */

bool node_error(ImportNode *n, Status status, const char *fmt, ...) WEFT_PRINTF(3, 4);

/* Attributes; each call marks it as consumed. */
const OnnxAttribute *node_attr(ImportNode *n, const char *name);
int64_t node_int(ImportNode *n, const char *name, int64_t otherwise);
double node_float(ImportNode *n, const char *name, double otherwise);
bool node_flag(ImportNode *n, const char *name, bool otherwise); /* 0 or 1 */
/* The number of the attribute's text among words, parted by '|'; 0, the default, where it is absent. */
int node_word(ImportNode *n, const char *name, const char *words);
typedef struct {
  bool given;
  int n;
  const int64_t *v;
} Ints;
/* n >= 0: it must have so many. */
Ints node_ints(ImportNode *n, const char *name, int count);
typedef struct {
  bool given;
  int n;
  const double *v;
} Floats;
typedef struct {
  bool given;
  int n;
  const char *const *v; /* interned */
} Texts;
Floats node_floats(ImportNode *n, const char *name);
const char *node_text(ImportNode *n, const char *name); /* interned; NULL where absent */
Texts node_texts(ImportNode *n, const char *name);
int64_t node_required_int(ImportNode *n, const char *name);
DType node_dtype(ImportNode *n, int64_t number, const char *what);
/* Reports attributes that no call has asked for. */
bool node_check_attrs(ImportNode *n);

/* Operands. onnx_value: the value of a name; NULL where making it has failed, which is reported. */
Value *onnx_value(OnnxImport *im, ImportName *name);
Value *node_in(ImportNode *n, int k); /* NULL where omitted */
bool node_has(const ImportNode *n, int k);
const char *node_in_text(ImportNode *n, int k); /* "operand 2 ('shape_of_x')" */
int node_rank(const Value *v);                  /* 0 for NULL */
int64_t node_extent(const Value *v, int k);     /* 0 for NULL */
/* The content of a value where it is known, else NULL. */
const Tensor *node_known(const ImportNode *n, const Value *v);
/* Operand k, which must be known; what: its name in ONNX. NULL where it is omitted or after reporting. */
const Tensor *node_need_known(ImportNode *n, int k, const char *what);
/* The same as integers of rank 0 or 1, and as floats. */
Ints node_known_ints(ImportNode *n, int k, const char *what);
Floats node_known_floats(ImportNode *n, int k, const char *what);
/* Of one number; 0 where it is omitted or after reporting. */
double node_known_number(ImportNode *n, int k, const char *what);
bool node_expect_rank(ImportNode *n, int k, int least, int most);
/* axis in -rank..rank-1, counted from the begin; 0 after reporting. */
int node_axis(ImportNode *n, int64_t axis, int rank, const char *what);

/* Making ops. node_spend: whether so many elements may be computed or tabulated at import, where a hostile file could
 * ask for any number; false after reporting. */
bool node_spend(ImportNode *n, int64_t elements);
Op *node_op(ImportNode *n, OpCode code, Value *const *operands, int count);
#define NODE_OP(n, code, ...)                                                                                          \
  node_op(n, code, (Value *const[]){__VA_ARGS__}, (int)(sizeof((Value *const[]){__VA_ARGS__}) / sizeof(Value *)))
/* Broadcasts the operands of elementwise ops, finishes the op and evaluates it where it is known and small. */
Value *node_finish(ImportNode *n, Op *op);
#define NODE_MAKE(n, code, ...) node_finish(n, NODE_OP(n, code, __VA_ARGS__))
Value *node_constant(ImportNode *n, Tensor *t);
Value *node_scalar(ImportNode *n, DType dtype, double v);                     /* rank 0 */
Value *node_ints_value(ImportNode *n, const int64_t *v, int count, int rank); /* i64; rank 0 or 1 */

/* Sets a result; false where the node has failed. */
bool node_result(ImportNode *n, int k, Value *v);
/* Builds the node and checks its results and attributes. */
bool node_build(ImportNode *n);

#endif
