/* The loop IR: what a model is once layouts and operators are gone. A program has buffers and nests, run in order; a
 * nest is a tree of loops over stores. Text form: docs/grammar.md.
 *
 *   loops @gan {
 *     buffer %x : f32[1,32,8,8]@acdb input 0
 *     buffer %k : f32[32,16,3,3]@cdab constant @k
 *     buffer %t : f32[1,16,16,16] arena 0
 *     nest @up {
 *       parallel n in 0..1 {
 *         for q in 0..8 {
 *           local acc : f32[16]
 *           vector v in 0..16 { acc[v] = 0.0 }
 *           for k in max(0, q - 6)..min(3, q + 2) {
 *             vector v in 0..16 { acc[v] = fma(%x[n, q - k + 1, 0, 4], %k[k, 0, 4, v], acc[v]) }
 *           }
 *           vector v in 0..16 { %t[n, v, 2*q, 0] = select(acc[v] < 0.0, 0.0, acc[v]) }
 *         }
 *       }
 *     }
 *   }
 *
 * An access names one physical digit per dimension: the digits of the buffer's layout in memory order. So layout is
 * nothing but index arithmetic here, and every access can be checked against the extents.
 *
 * Loops: `for` runs in order; `parallel` iterations are independent (only outermost, perfectly nested ones are split
 * over threads); `unroll` and `vector` have constant bounds; the iterations of a `vector` loop run in lockstep, so its
 * body holds stores only. Bounds are expressions over outer variables; a loop with hi <= lo does not run. */
#ifndef WEFT_LOWER_LOOP_H
#define WEFT_LOWER_LOOP_H

#include "ir/module.h"

typedef enum { BUF_INPUT, BUF_OUTPUT, BUF_CONSTANT, BUF_ARENA, BUF_LOCAL } BufferSpace;

typedef struct Buffer {
  const char *name; /* unique in the program; locals: unique in their nest */
  const Type *type;
  BufferSpace space;
  int index;          /* input or output number; others: position in the program's list */
  Constant *constant; /* BUF_CONSTANT */
  Dim offset;         /* BUF_ARENA: bytes from the arena's start, a multiple of 64; NULL before `plan` */
  const Value *value; /* of the graph: what it holds; NULL in programs read from text, of constants and locals */
} Buffer;

/* buffer NULL: not memory, but the value of the expression index[0] itself, as an i64 operand: `index(2*q + 1)`. */
typedef struct {
  Buffer *buffer;
  const Expr **index; /* buffer->type->layout->n digits */
} Access;

/* So many variables, of loops and index statements, may be in scope at once: all that walks a nest recurses. */
#define LOOP_MAX_DEPTH 64

typedef enum { LOOP_FOR, LOOP_PARALLEL, LOOP_VECTOR, LOOP_UNROLL, LOOP_KINDS } LoopKind;
extern const char *const loop_kind_names[LOOP_KINDS];

/* ST_INDEX, `index j in 0..N = %idx[i]`: binds a variable to an integer computed from memory, for the rest of its block. A value
 * outside lo <= j < hi is a fault of the run: the run ends with status 3 naming the nest's ops, and here the value is clamped
 * into the range (an empty range: the rest of the block does not run). Not inside a vector loop. */
typedef enum { ST_LOOP, ST_LOCAL, ST_STORE, ST_INDEX } StmtKind;

typedef struct Stmt {
  StmtKind kind;
  struct Stmt *next; /* the following statement of the same block */
  /* ST_LOOP, ST_INDEX: var->a <= var < var->b */
  LoopKind loop;
  const Expr *var;
  struct Stmt *body; /* first statement; NULL: empty */
  /* ST_LOCAL: a small row-major array of constant shape, uninitialised, visible in the rest of its block */
  Buffer *local;
  /* ST_STORE: target = value, ST_INDEX: var = value (i64), SC_ARG(k) standing for args[k] */
  Access target;
  const Scalar *value;
  int n_args;
  Access *args;
} Stmt;

typedef struct Nest {
  const char *name;
  const char *what; /* the ops computed here, "conv2d_transpose+relu", for people and profiles */
  Loc loc;
  Stmt *body;
  struct Nest *next;
} Nest;

typedef struct LoopProgram {
  Ctx *ctx;
  Module *module; /* constants live there; names and roles of inputs and outputs too */
  const char *name;
  VEC(Buffer *) inputs;
  VEC(Buffer *) outputs;
  VEC(Buffer *) constants;
  VEC(Buffer *) arena;
  Nest *first, *last;
  Intern buffer_names, nest_names; /* taken */
  Dim arena_bytes; /* NULL before `plan` */
} LoopProgram;

LoopProgram *loops_create(Ctx *ctx, Module *module, const char *name);
/* Appends to the list of its space; the name is made unique by a suffix. space is not BUF_LOCAL. */
Buffer *loops_add_buffer(LoopProgram *p, const char *name, const Type *type, BufferSpace space, Constant *constant);
Nest *loops_add_nest(LoopProgram *p, const char *name, const char *what, Loc loc);

Stmt *stmt_loop(Ctx *ctx, LoopKind kind, const Expr *var, Stmt *body);
Stmt *stmt_local(Ctx *ctx, Buffer *local);
/* args are copied (shallowly). */
Stmt *stmt_store(Ctx *ctx, Access target, const Scalar *value, const Access *args, int n_args);
Stmt *stmt_index(Ctx *ctx, const Expr *var, const Scalar *value, const Access *args, int n_args);
/* The compute type of an access: of its buffer's elements, or i64 for an index value. */
DType access_dtype(Access access);
/* Index expressions of an access: one per digit of its buffer's layout, one for an index value. */
int access_digits(Access access);
bool access_uses(Access access, const Expr *var);
/* Appends b (a list) to the list *a. */
void stmt_append(Stmt **a, Stmt *b);
Buffer *local_buffer(Ctx *ctx, const char *name, DType dtype, int rank, const int64_t *shape);

/* Multiplications and additions of a nest, from its loop extents where constant (an upper estimate otherwise). */
int64_t nest_work(Ctx *ctx, const Nest *nest);
/* Bytes of buffers (locals are none) that a nest reads and writes, each element once. */
typedef struct {
  int64_t read, written;
} NestBytes;
NestBytes nest_bytes(Ctx *ctx, const Nest *nest);

/* ---- text ---- */
void loops_print(Str *out, const LoopProgram *p);
void nest_print(Str *out, const Nest *n); /* as it stands in the text of its program */
/* The module (with its constants) is made along: the text of a program starts with its constants, as a graph's does.
 * NULL after reporting. */
struct LoopProgram *loops_parse(Ctx *ctx, const char *file, const char *text, size_t len);

/* ---- check. False after reporting. The rules:
 *   - expressions use variables in scope only: of loops around them, and of index statements before them in the blocks
 *     around; names of variables in scope differ, and there are at most LOOP_MAX_DEPTH of them at once;
 *   - a local is declared before it is used, in the same block or one around it, once per nest; a nest's locals take
 *     256 KiB at most;
 *   - `vector` and `unroll` have constant bounds and 1..1024 iterations, unrolled loops make at most 65536 copies of a
 *     statement; a vector body holds stores only, each names the variable in an index, and what different lanes touch
 *     of one stored buffer is apart;
 *   - `parallel` stands at the top of a nest or alone in another `parallel`; a store in it goes to a local declared in
 *     there, or names every parallel variable of more than one iteration in an index;
 *   - inputs and constants are never stored to; a value has the compute type of what it is stored to, that of an index
 *     statement is i64; operands that a value names exist and have the type of their access;
 *   - every index is within the extent of its digit: proved for all values of symbols, or by running through the points
 * of the loops around (up to 200000); what can't be proved is an error;
 *   - plan_check (lower.h) holds.
 * That accesses have as many indices as their buffer has digits is the constructor's and the parser's part. ---- */
bool loops_check(LoopProgram *p);

/* ---- interpreter: as compiled code computes, element by element. Locals, outputs and arena start as poison, and an
 * arena buffer whose first writer starts is poisoned anew. inputs and outputs: storage in the layouts of their buffers'
 * types. False after reporting: an index out of bounds, or two parallel iterations that meet in an element (WEFT_BUG);
 * shapes that are not constant (WEFT_UNSUPPORTED). ---- */
bool loops_interpret(LoopProgram *p, const void *const *inputs, void *const *outputs);

#endif
