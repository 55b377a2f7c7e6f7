/* The graph: a Module has constants and one function (later: functions for bodies); a Function is one block of ops in
 * SSA form. Everything lives in the Ctx's arena. */
#ifndef WEFT_IR_MODULE_H
#define WEFT_IR_MODULE_H

#include "ir/op.h"

/* A constant of the module. data: its bytes in the order of type->layout (padding lanes included), native byte order,
 * 64-byte aligned. A derived constant (base set) is the relayout of `base` to its own type; its data is made on demand by
 * constant_data. Padding lanes of state `any` hold signalling NaN, others 0. */
typedef struct Constant {
  const char *name;
  const Type *type;
  void *data;             /* through constant_data only */
  struct Constant *base;  /* NULL where it is not derived */
  const char *file, *tensor; /* origin: file name as written in the model, tensor name in it (or NULL); NULL: none */
  uint64_t hash;          /* of type and content, 0 until constant_hash is asked */
  Loc loc;
  struct Constant *next;
} Constant;

typedef struct Value {
  uint32_t id;        /* dense in its function, for side arrays */
  const char *name;   /* without %, unique in its function; never NULL */
  const Type *type;
  struct Op *def;     /* NULL for a parameter */
  int index;          /* parameter number, or result number of def */
  const char *roles;  /* parameters: letters of the logical axes ("NCHW") where the user gave a layout, else NULL */
  Loc loc;
} Value;

typedef struct Op {
  const OpDef *def;
  Loc loc;
  int n_given;      /* operands given, for op_check: perhaps more than the row has */
  int n_operands;   /* of the row, or more where its last one is variadic */
  Value **operands; /* NULL where an optional one is omitted */
  Value *result;                    /* ops of several results come with a later issue */
  Attr attrs[OP_MAX_ATTRS];         /* in the row's order */
  Value *fused; /* set by `fuse`: the operand whose producer's nest computes this op too; NULL: a nest of its own */
  struct Op *prev, *next;
} Op;

typedef struct {
  const char *name;
  Value *value;
  const Type *type;  /* what the caller gets: a permutation layout; value->type must equal it */
  const char *roles; /* as Value.roles */
  Loc loc;
} FuncResult;

typedef struct Function {
  const char *name;
  VEC(Value *) params;
  VEC(FuncResult) results;
  Op *first, *last;
  uint32_t n_values; /* next value id */
  Intern names;
} Function;

typedef struct Module {
  Ctx *ctx;
  const char *file; /* the model's file name, for messages */
  const char *name; /* the model's name */
  Constant *first_constant, *last_constant;
  Intern constant_names, derived; /* names taken; constants by (root, layout) */
  Function *main;
} Module;

Module *module_create(Ctx *ctx, const char *file, const char *name);

/* ---- constants ---- */

/* Appends; the name is made unique by a suffix where it is taken. data is kept, not copied; NULL for a derived one. */
Constant *module_add_constant(Module *m, const char *name, const Type *type, void *data, Loc loc);
/* A derived constant of this name: `base` in the layout of `type`, which has the same element type and shape. */
Constant *module_add_derived(Module *m, const char *name, Constant *base, const Type *type, Loc loc);
/* The constant `base` in another layout: found or made, keyed by (root of base, layout). base itself where the layout is
 * its own. NULL where the padding would make it larger than a tensor may be. */
Constant *module_derive_constant(Module *m, Constant *base, const Layout *layout);
Constant *module_find_constant(const Module *m, const char *name); /* NULL */
const void *constant_data(Module *m, Constant *c);
uint64_t constant_hash(Module *m, Constant *c);
/* Drops the constants that no op names and no kept constant is derived from. */
void module_drop_unused_constants(Module *m);

/* ---- functions, values, ops ---- */

Function *function_create(Module *m, const char *name);
/* name is made unique by a suffix. */
Value *function_add_param(Module *m, Function *f, const char *name, const Type *type, const char *roles, Loc loc);
/* Takes the name for a value, or a variant of it where it is taken; NULL or "": the next free number. op_finish does it. */
const char *function_take_name(Ctx *ctx, Function *f, const char *name);
void function_add_result(Module *m, Function *f, const char *name, Value *value, const Type *type, const char *roles, Loc loc);
Value *function_find_value(const Function *f, const char *name); /* by walking; NULL */

/* An op with these operands (any number n of them, op_check reports too many; NULL for an omitted optional one) and the
 * row's default attributes, not in any list yet and without a result. */
Op *op_create(Ctx *ctx, const OpDef *def, Value *const *operands, int n, Loc loc);
/* Sets attributes after op_create, before op_finish. ints are copied. Names are of the row: another is a bug. */
void op_set_int(Op *op, const char *name, int64_t v);
void op_set_ints(Ctx *ctx, Op *op, const char *name, const int64_t *v, int n);
void op_set_float(Op *op, const char *name, double v);
void op_set_word(Op *op, const char *name, int64_t word); /* by its number in the row */
void op_set_dtype(Op *op, const char *name, DType dtype);
void op_set_text(Ctx *ctx, Op *op, const char *name, const char *text);
/* Gives the op other operands, as op_create does. */
void op_set_operands(Ctx *ctx, Op *op, Value *const *operands, int n);
void op_set_constant(Op *op, const char *name, Constant *c);
int64_t op_int(const Op *op, const char *name);
const char *op_text(const Op *op, const char *name);
const Attr *op_attr(const Op *op, const char *name);
/* Checks operands and attributes against the row (count, required ones, lengths), infers the result type, makes the
 * result value (name is made unique; NULL: a number) and inserts the op before `before` (NULL: at the end). type: the
 * result's declared type or NULL for the inferred one; a declared type must have the inferred logical shape, its layout
 * is free. NULL after reporting at op->loc. */
Value *op_finish(Module *m, Function *f, Op *op, Op *before, const char *name, const Type *type);
/* The checks of op_finish without side effects, for the verifier: the inferred type or NULL after reporting. */
const Type *op_check(Ctx *ctx, const Op *op);

void op_erase(Function *f, Op *op); /* its result must have no uses */
void value_replace_uses(Function *f, Value *from, Value *to); /* in operands, `fused` and results of the function */
/* uses[id] = number of uses of each value, function results included; array of n_values in the arena. */
uint32_t *function_count_uses(Ctx *ctx, const Function *f);

/* A copy with ops and values of its own (the same ids, names and constants), so that f may change. */
Function *function_clone(Ctx *ctx, const Function *f);

/* Builders for what passes and frontends make most. */
Value *build_relayout(Module *m, Function *f, Op *before, Value *x, const Layout *layout, Loc loc);
Value *build_constant(Module *m, Function *f, Op *before, Constant *c, const char *name, Loc loc);
/* x stretched to shape by an axis map; x itself where nothing changes. NULL after reporting. */
Value *build_broadcast(Module *m, Function *f, Op *before, Value *x, const int64_t *axes, const int64_t *shape, int rank, Loc loc);
/* An elementwise op after numpy's broadcasting of its operands (explicit broadcast ops are inserted). axis: where a
 * rank-1 `along_axis` operand lies. The op must have been made by op_create with its attributes set. */
Value *build_elementwise(Module *m, Function *f, Op *op, Op *before, const char *name, int64_t axis);

#endif
