/* The scalar language (ir/scalar.h) as LLVM values, on scalars and on vectors alike.
 *
 * No fast-math flag but `contract`: a product may be fused with a sum into one rounding, which the contract on numbers
 * allows; NaN, infinities, zeros' signs and denormals stay. min and max are the compare-and-select of their definition,
 * which is what minps and maxps do. fma is the fused operation where the target has it; without (x86-64-v2) LLVM would
 * call libm once per lane, so there it is a product and a sum, rounded twice: both are within the promise. */
#include "codegen/llvm_gen.h"

typedef struct {
  Gen *g;
  const LLVMValueRef *args;
  GenMap done; /* by scalar id: expressions are graphs with shared parts */
} Scalars;

bool gen_is_vector(LLVMValueRef value) {
  return llvm.GetTypeKind(llvm.TypeOf(value)) == LLVMVectorTypeKind;
}

LLVMValueRef gen_splat(Gen *g, LLVMValueRef scalar, int lanes) {
  LLVMTypeRef type = llvm.VectorType(llvm.TypeOf(scalar), (unsigned)lanes);
  LLVMValueRef poison = llvm.GetPoison(type);
  LLVMValueRef one = llvm.BuildInsertElement(g->builder, poison, scalar, gen_i64(g, 0), "");
  return llvm.BuildShuffleVector(g->builder, one, poison, llvm.ConstNull(llvm.VectorType(g->i32, (unsigned)lanes)), "");
}

LLVMValueRef gen_intrinsic(Gen *g, const char *name, LLVMTypeRef type, LLVMValueRef *args, int n) {
  unsigned id = llvm.LookupIntrinsicID(name, strlen(name));
  WEFT_ASSERT(id != 0);
  LLVMValueRef f = llvm.GetIntrinsicDeclaration(g->module, id, &type, 1);
  return llvm.BuildCall2(g->builder, llvm.IntrinsicGetType(g->context, id, &type, 1), f, args, (unsigned)n, "");
}

/* A vector type of `element` as wide as `like`, or `element` itself where that is a scalar. */
static LLVMTypeRef type_like(LLVMTypeRef element, LLVMValueRef like) {
  return gen_is_vector(like) ? llvm.VectorType(element, llvm.GetVectorSize(llvm.TypeOf(like))) : element;
}

static bool is_bool(const Gen *g, LLVMValueRef v) {
  LLVMTypeRef type = llvm.TypeOf(v);
  return (gen_is_vector(v) ? llvm.GetElementType(type) : type) == g->i1;
}

static LLVMValueRef contract(LLVMValueRef v) {
  if (llvm.CanValueUseFastMathFlags(v))
    llvm.SetFastMathFlags(v, LLVMFastMathAllowContract);
  return v;
}

/* 2^n for integral n in [-126, 127]: the exponent's bits. freeze: the conversion of any other n is unspecified, but
 * some number, as the language says. */
static LLVMValueRef build_exp2i(Gen *g, LLVMValueRef n) {
  LLVMTypeRef ints = type_like(g->i32, n);
  int lanes = gen_is_vector(n) ? (int)llvm.GetVectorSize(ints) : 0;
  LLVMValueRef bias = llvm.ConstInt(g->i32, 127, false), shift = llvm.ConstInt(g->i32, 23, false);
  if (lanes) {
    bias = gen_splat(g, bias, lanes);
    shift = gen_splat(g, shift, lanes);
  }
  LLVMValueRef k = llvm.BuildFreeze(g->builder, llvm.BuildFPToSI(g->builder, n, ints, ""), "");
  LLVMValueRef bits = llvm.BuildShl(g->builder, llvm.BuildAdd(g->builder, k, bias, ""), shift, "");
  return llvm.BuildBitCast(g->builder, bits, llvm.TypeOf(n), "");
}

static LLVMValueRef compare(Gen *g, LLVMRealPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
  return llvm.BuildFCmp(g->builder, predicate, a, b, "");
}

static LLVMValueRef build_op(Gen *g, const Scalar *s, LLVMValueRef *x) {
  LLVMBuilderRef b = g->builder;
  LLVMTypeRef type = llvm.TypeOf(x[0]);
  switch (s->op) {
  case SC_ADD:
    return contract(llvm.BuildFAdd(b, x[0], x[1], ""));
  case SC_SUB:
    return contract(llvm.BuildFSub(b, x[0], x[1], ""));
  case SC_MUL:
    return contract(llvm.BuildFMul(b, x[0], x[1], ""));
  case SC_DIV:
    return llvm.BuildFDiv(b, x[0], x[1], "");
  case SC_NEG:
    return llvm.BuildFNeg(b, x[0], "");
  case SC_FMA:
    if (g->has_fma)
      return gen_intrinsic(g, "llvm.fma", type, x, 3);
    return llvm.BuildFAdd(b, llvm.BuildFMul(b, x[0], x[1], ""), x[2], "");
  case SC_MIN:
    return llvm.BuildSelect(b, compare(g, LLVMRealOLT, x[0], x[1]), x[0], x[1], "");
  case SC_MAX:
    return llvm.BuildSelect(b, compare(g, LLVMRealOGT, x[0], x[1]), x[0], x[1], "");
  case SC_ABS:
    return gen_intrinsic(g, "llvm.fabs", type, x, 1);
  case SC_FLOOR:
    return gen_intrinsic(g, "llvm.floor", type, x, 1);
  case SC_SQRT:
    return gen_intrinsic(g, "llvm.sqrt", type, x, 1);
  case SC_EXP2I:
    return build_exp2i(g, x[0]);
  case SC_LT:
    return compare(g, LLVMRealOLT, x[0], x[1]);
  case SC_LE:
    return compare(g, LLVMRealOLE, x[0], x[1]);
  case SC_GT:
    return compare(g, LLVMRealOGT, x[0], x[1]);
  case SC_GE:
    return compare(g, LLVMRealOGE, x[0], x[1]);
  case SC_EQ:
    return compare(g, LLVMRealOEQ, x[0], x[1]);
  case SC_NE:
    return compare(g, LLVMRealUNE, x[0], x[1]);
  case SC_SELECT:
    return llvm.BuildSelect(b, x[0], x[1], x[2], "");
  default: /* leaves are the caller's; intrinsics were expanded */
    WEFT_UNREACHABLE();
  }
}

static LLVMValueRef as_float(Gen *g, LLVMValueRef v) {
  return is_bool(g, v) ? llvm.BuildUIToFP(g->builder, v, type_like(g->f32, v), "") : v;
}

static LLVMValueRef as_bool(Gen *g, LLVMValueRef v) {
  return is_bool(g, v) ? v : llvm.BuildFCmp(g->builder, LLVMRealUNE, v, llvm.ConstNull(llvm.TypeOf(v)), "");
}

static LLVMValueRef build(Scalars *c, const Scalar *s) {
  Gen *g = c->g;
  if (s->op == SC_ARG)
    return c->args[s->index];
  if (s->op == SC_CONST)
    return llvm.ConstReal(g->f32, (double)(float)s->value);
  LLVMValueRef value = gen_map_get(&c->done, s->id + (uint64_t)1);
  if (value)
    return value;
  LLVMValueRef x[3];
  int lanes = 0;
  for (int k = 0; k < s->n; k++) {
    x[k] = build(c, s->args[k]);
    x[k] = s->op == SC_SELECT && k == 0 ? as_bool(g, x[k]) : as_float(g, x[k]);
    if (gen_is_vector(x[k]))
      lanes = (int)llvm.GetVectorSize(llvm.TypeOf(x[k]));
  }
  for (int k = 0; lanes && k < s->n; k++)
    if (!gen_is_vector(x[k]) && !(s->op == SC_SELECT && k == 0)) /* select takes a scalar condition as it is */
      x[k] = gen_splat(g, x[k], lanes);
  value = build_op(g, s, x);
  gen_map_put(g->ctx->arena, &c->done, s->id + (uint64_t)1, value);
  return value;
}

LLVMValueRef gen_scalar(Gen *g, const Scalar *value, const LLVMValueRef *args) {
  const Scalar *expanded = gen_map_get(&g->expanded, value->id + (uint64_t)1);
  if (!expanded) {
    expanded = scalar_expand(g->ctx, value);
    gen_map_put(g->ctx->arena, &g->expanded, value->id + (uint64_t)1, (void *)(uintptr_t)expanded);
  }
  Scalars c = {.g = g, .args = args};
  return as_float(g, build(&c, expanded));
}
