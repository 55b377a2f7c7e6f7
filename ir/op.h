/* The op table. One row of ops.def makes the enum, the names, the printer's and parser's knowledge of operands and
 * attributes, `weft ops`, and the names of the functions that a family must define; a missing half does not link.
 *
 * Adding an op: one row in ops.def; the family's file ir/ops/FAMILY.c (FAMILY_infer, FAMILY_layout, FAMILY_eval, and of
 * views, moves and copies FAMILY_simplify); its lowering lower/ops/FAMILY.c (lower_FAMILY). An elementwise op is a row with an expression and nothing else. */
#ifndef WEFT_IR_OP_H
#define WEFT_IR_OP_H

#include "ir/scalar.h"

#define OP_MAX_OPERANDS 9 /* of a row; where the last one is variadic an op may have any number */
#define OP_MAX_ATTRS 8

typedef enum { ATTR_INT, ATTR_INTS, ATTR_FLOAT, ATTR_WORD, ATTR_DTYPE, ATTR_TEXT, ATTR_CONSTANT } AttrKind;

struct Constant;

/* An attribute's value. */
typedef struct {
  bool set;          /* false: not given, and the row's default does not apply (required ones are always set) */
  int64_t i;         /* ATTR_INT; ATTR_WORD: the number of the word in its row; ATTR_DTYPE: the DType */
  double f;          /* ATTR_FLOAT */
  int n;             /* ATTR_INTS */
  const int64_t *ints;
  const char *text;          /* ATTR_TEXT, interned */
  struct Constant *constant; /* ATTR_CONSTANT: printed @name */
} Attr;

/* How many numbers an ATTR_INTS has. */
typedef enum { LEN_ANY, LEN_SPATIAL, LEN_2SPATIAL } AttrLen;

typedef struct {
  const char *name;
  AttrKind kind;
  AttrLen len;
  bool required;
  double fill; /* default: the number, or what each of the ints is, or the number of the word */
  const char *words; /* ATTR_WORD: those allowed, parted by '|'; ATTR_TEXT: the default */
} AttrDef;

/* roles: the letters of the operand's logical axes, '*' for the spatial ones (W, HW, DHW by the op's rank): "NC*" data,
 * "OI*" kernel of a convolution, "IO*" of a transposed one, "C" a vector along channels; "" plain.
 * variadic: the last operand of its row, given once or more.
 * A plain operand of an elementwise op takes part in numpy's broadcasting in the frontends; `along_axis`: there, a
 * rank-1 operand lies along the frontend attribute `axis` (prelu's slope) instead of the last axis.
 * is_bool: an operand of an elementwise op that is bool whatever the element type of the others is. */
typedef struct {
  const char *name, *roles;
  bool optional, along_axis, variadic, is_bool;
} OperandDef;

typedef enum {
  OP_ELEMENTWISE = 1, /* result[i] = expression of operand[i]; all of one shape */
  OP_VIEW = 2,        /* result[i] = operand 0 at view_index(i): never computed where a reader can follow it */
  OP_CONTRACTION = 4, /* reduces (sums products, takes a maximum); takes an epilogue */
  OP_COPY = 8,        /* result[i] = operand 0 at i, in another layout */
  OP_LEAF = 16,       /* no operands, no computation: constant */
  OP_MOVE = 32,       /* each element of the result is one of an operand, or a constant; takes an epilogue */
  OP_COMPOSITE = 64,  /* a formula over other ops, which expand-composites puts in its place */
  OP_ORDERED = 128,   /* computed in an order of its own, by nests that take no epilogue */
  OP_ONCE = 256,      /* reads each element of its operand once, and may compute it there */
  OP_POSITIONS = 512, /* operands but the first are floats that say where it is read */
  OP_REDUCTION = OP_CONTRACTION | OP_ONCE,
  OP_SAMPLING = OP_CONTRACTION | OP_POSITIONS
} OpTraits;

typedef enum {
#define OP(code, ...) OP_##code,
#define ELEMENTWISE(code, ...) OP_##code,
#define COMPOSITE(code, ...) OP_##code,
#include "ir/ops.def"
  OP_COUNT
} OpCode;

struct Op;
struct Value;
struct Module;
struct Function;
struct Tensor;
struct LayoutPlan;

/* The logical result type, row-major, from operands and attributes; NULL after reporting the fault at op->loc. */
typedef const Type *OpInfer(Ctx *ctx, const struct Op *op);
/* Completes a layout plan, see ir/layout_plan.h. */
typedef void OpLayout(Ctx *ctx, const struct Op *op, struct LayoutPlan *plan);
/* The reference evaluation: plain loops over logical indices, float64 accumulation, rounded once on store. Reports what
 * makes a run fail, as an index out of range. */
typedef void OpEval(Ctx *ctx, const struct Op *op, const struct Tensor *const *in, struct Tensor *out);
/* OP_VIEW: operand index from result index, logical. */
typedef void OpViewIndex(Ctx *ctx, const struct Op *op, const Expr *const *result, const Expr **operand);
/* A value that is op's result bit for bit (but for a NaN's payload), made by fewer ops or cheaper ones: an operand of its own or
 * of its producers, or the result of an op made in front of it; op->result where op was made simpler in place; NULL
 * where nothing is simpler. A value's layout may be another. */
typedef struct Value *OpSimplify(struct Module *m, struct Function *f, struct Op *op);

typedef struct OpDef {
  OpCode code;
  const char *name, *doc;
  int spatial; /* number of spatial axes, 0 where the op has no notion of them */
  unsigned traits;
  int n_operands, n_attrs;
  OperandDef operands[OP_MAX_OPERANDS];
  const char *result_roles;
  AttrDef attrs[OP_MAX_ATTRS];
  /* Which element types T the operands may have, one letter each, f: floats, i: integers, w: those of 32 and 64 bits,
   * b: bool; of elementwise ops, behind '>' that of the result where it is not T, bool or the attribute `to`. NULL where
   * it follows from the traits: ops that only move elements take any, composites what their formula takes. */
  const char *types;
  const char *expression; /* elementwise: over operand and attribute names; composites: ir/composite.h */
  OpInfer *infer;
  OpLayout *layout;
  OpEval *eval;
  OpViewIndex *view_index; /* OP_VIEW */
  OpSimplify *simplify;    /* OP_ELEMENTWISE, OP_VIEW, OP_MOVE, OP_COPY; else NULL */
} OpDef;

extern const OpDef op_table[OP_COUNT];

const OpDef *op_find(const char *name, size_t len); /* NULL where unknown */
const char *op_nearest(Ctx *ctx, const char *name);             /* a similar op's name, or NULL */
/* Index of an attribute in its row, -1 where it has none of this name. */
int op_attr_index(const OpDef *def, const char *name, size_t len);
/* Equal attributes of ops of one row: numbers by bits, so that 0 and -0 differ; constants by identity. */
bool attr_equal(const AttrDef *row, const Attr *a, const Attr *b);
uint64_t attr_hash(uint64_t h, const AttrDef *row, const Attr *a);
/* The element types that letters stand for, in words: "fi" gives "floats and integers". */
const char *op_types_text(Ctx *ctx, const char *types);
bool op_types_hold(const char *types, DType dtype);
/* The row of operand k of an op, which may be one of many. */
const OperandDef *op_operand(const OpDef *def, int k);
bool op_is_variadic(const OpDef *def);
/* Word number k of an ATTR_WORD row, *len characters, NULL after the last one; and the number of a word, -1 where it is
 * none of them. */
const char *attr_word(const AttrDef *row, int64_t k, size_t *len);
int attr_word_index(const AttrDef *row, const char *word, size_t len);
/* Roles with '*' replaced by the spatial letters: op_roles(conv2d, "NC*") = "NCHW". Empty roles stay empty. */
const char *op_roles(Ctx *ctx, const OpDef *def, const char *roles);
/* The expression of an elementwise op over its operands' scalars, attributes as constants. */
const Scalar *op_scalar(Ctx *ctx, const struct Op *op, const Scalar *const *operands);

#endif
