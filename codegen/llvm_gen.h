/* The state of making one LLVM module of a loop program, shared by the llvm_*.c files.
 *
 * A nest becomes `void nest(const WeftFrame *frame, i64 begin, i64 end)`. Its loops open scopes. A scope has a head:
 * the basic block that runs once per iteration of its loop (once per call, for the function itself) before the body. A
 * value that depends on loop variables alone is computed in the head of the outermost scope where all of these are
 * known, and remembered there: hoisting and common subexpressions of index arithmetic cost no pass. */
#ifndef WEFT_CODEGEN_LLVM_GEN_H
#define WEFT_CODEGEN_LLVM_GEN_H

#include "codegen/codegen.h"
#include "codegen/llvm_compat.h"

/* An append-only hash map from keys to values; key 0 is not used. */
typedef struct {
  struct GenMapSlot {
    uint64_t key;
    void *value;
  } * slots;
  size_t n, cap;
} GenMap;

typedef struct GenScope {
  struct GenScope *outer;
  int depth;              /* 0: the function */
  LLVMBasicBlockRef head; /* ends in a branch to the body */
  GenMap values;          /* index expressions and addresses by key */
} GenScope;

/* An open loop's variable: either a value known from `depth` on, or (value NULL) replaced by `constant`, which is what
 * `unroll` and `vector` loops and loops of one iteration do. */
typedef struct {
  const Expr *var;
  LLVMValueRef value;
  int depth;
  const Expr *constant;
} GenVar;

/* A buffer that the nest touches. Locals are allocas; SROA makes registers of them where their indices are constant. */
typedef struct {
  const Buffer *buffer;
  LLVMTypeRef element; /* as it lies in memory */
  LLVMValueRef base;
  LLVMValueRef scope, noalias; /* metadata of its loads and stores; NULL for locals */
  int64_t strides[WEFT_MAX_DIGITS];
} GenBuffer;

typedef struct {
  Ctx *ctx;
  LoopProgram *program;
  const CodegenOptions *options;
  size_t *weight_offsets; /* of program constants */

  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder; /* at the end of the block under construction */
  LLVMBuilderRef hoist;   /* in a scope's head; see gen_hoist_at */
  LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, ptr, none;
  unsigned md_scope, md_noalias, md_prof;
  bool has_fma, has_f16;
  int vector_bytes;
  GenMap expanded; /* Scalar id to the scalar after scalar_expand */

  /* the nest */
  const Nest *nest;
  LLVMValueRef function;
  GenScope *scope;
  VEC(GenVar) vars;
  VEC(GenBuffer) buffers;
  LLVMValueRef
      fault; /* address of the run's fault flag; metadata: it is none of the buffers. NULL without index statements */
  LLVMValueRef fault_noalias;
  int64_t stores; /* emitted so far, against GEN_MAX_STORES */
} Gen;

/* Statements of one nest after unrolling: a bound on what a hostile text can make us do. */
#define GEN_MAX_STORES ((int64_t)1 << 19)

void *gen_map_get(const GenMap *map, uint64_t key);
void gen_map_put(Arena *arena, GenMap *map, uint64_t key, void *value);

/* ---- llvm_index.c: index arithmetic ---- */

LLVMValueRef gen_i64(const Gen *g, int64_t value);
/* e with the variables of unrolled loops replaced. */
const Expr *gen_subst(Gen *g, const Expr *e);
/* The value of an expression from gen_subst. */
LLVMValueRef gen_index(Gen *g, const Expr *e);
/* The address of the element at this offset (from gen_subst) of the nest's buffer number `slot`. */
LLVMValueRef gen_address(Gen *g, int slot, const Expr *offset);

/* ---- llvm_access.c: loads and stores ---- */

/* Finds the buffers of the nest, loads their addresses and that of the fault flag at the function's entry, makes
 * allocas and metadata. */
void gen_buffers(Gen *g);
/* An access by `lanes` lanes in lockstep, lane l having var = first + l; lanes 0: not in a vector loop. A load whose
 * lanes all read one element gives a scalar. A value to store is a scalar (for every lane) or a vector of `lanes`. */
typedef struct {
  const Expr *var;
  const Expr *first;
  int lanes;
} GenLanes;
/* The element offset of an access in its buffer, with the variables of unrolled loops replaced. */
const Expr *gen_offset(Gen *g, const Access *access);
/* Two buffers of a program that may hold the same memory. */
bool gen_may_overlap(const Buffer *a, const Buffer *b);
/* lanes[l] < 0: any value. */
LLVMValueRef gen_shuffle(Gen *g, LLVMValueRef a, LLVMValueRef b, const int *lanes, int n);
/* Values are of the access's compute type. */
LLVMValueRef gen_load(Gen *g, const Access *access, GenLanes lanes);
void gen_store(Gen *g, const Access *access, LLVMValueRef value, GenLanes lanes);
/* Sets the run's fault flag. */
void gen_store_fault(Gen *g);

/* ---- llvm_convert.c: element types ---- */

/* What an element of this type is in memory: bool is a byte, f16 and bf16 are their 16 bits. */
LLVMTypeRef gen_storage_type(const Gen *g, DType dtype);
/* What a value of this compute type is in a register: bool is one bit. */
LLVMTypeRef gen_compute_type(const Gen *g, DType dtype);
/* Scalars or vectors. */
LLVMValueRef gen_from_storage(Gen *g, LLVMValueRef value, DType dtype);
LLVMValueRef gen_to_storage(Gen *g, LLVMValueRef value, DType dtype);
LLVMValueRef gen_cast(Gen *g, LLVMValueRef value, DType from, DType to);
bool gen_is_vector(LLVMValueRef value);
/* A vector type of `element` as wide as `like`, or `element` itself where that is a scalar. */
LLVMTypeRef gen_type_like(LLVMTypeRef element, LLVMValueRef like);
/* This number in each lane of an integer, the shape being that of `like`. */
LLVMValueRef gen_int_like(Gen *g, LLVMTypeRef element, LLVMValueRef like, int64_t value);
LLVMValueRef gen_splat(Gen *g, LLVMValueRef scalar, int lanes);
/* types: those the intrinsic is overloaded on. */
LLVMValueRef gen_intrinsic(Gen *g, const char *name, LLVMTypeRef *types, int n_types, LLVMValueRef *args, int n);

/* ---- llvm_scalar.c ---- */

/* Operands are scalars or vectors of one width, of their compute types; the result is a scalar where all used operands
 * are. */
LLVMValueRef gen_scalar(Gen *g, const Scalar *value, const LLVMValueRef *args);
/* Bytes of the widest value that is computed in it. */
int gen_scalar_width(Gen *g, const Scalar *value);

/* ---- llvm_transpose.c ---- */

/* An unrolled loop over `rows` values from row0 on, if it is one around a vector loop whose stores lie across the
 * vectors, by transposing in registers; false where it is not. */
bool gen_transposed(Gen *g, const Stmt *unroll, const Expr *row0, int64_t rows);

/* ---- llvm_nest.c: loops ---- */

/* Has var replaced by a constant until g->vars is shortened by one. */
void gen_push_constant(Gen *g, const Expr *var, const Expr *constant);
/* The value of a store. */
LLVMValueRef gen_value(Gen *g, const Stmt *store, GenLanes lanes);
/* Lanes of one vector in a vector loop. */
int gen_vector_lanes(Gen *g, const Stmt *loop);

typedef struct {
  LLVMValueRef function; /* NULL after reporting */
  int64_t count;         /* iterations of the flattened parallel loops */
} GenNest;
/* number: of the nest in its program, for the symbol's name. */
GenNest gen_nest(Gen *g, const Nest *nest, int number);

/* ---- llvm_model.c: the model's table and the exported functions ---- */

void gen_model(Gen *g, const GenNest *nests, bool exports);

/* ---- llvm.c ---- */

/* The object with or without the exported functions (in memory, weft_compiled alone is looked up). A buffer of LLVM, to
 * be disposed of, or NULL after reporting. */
LLVMMemoryBufferRef gen_program(LoopProgram *p, const CodegenOptions *options, EmitKind kind, bool exports);

#endif
