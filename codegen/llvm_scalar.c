/* Scalar expressions, for one element or for the lanes of a vector at once.
 *
 * Intrinsics with a polynomial are expanded first (ir/scalar.h), the others call libm, once per lane. Compiled code
 * differs from scalar_eval_compiled in one permitted way: a product and a sum may be contracted, and fma is the fused
 * operation where the target has it; without (x86-64-v2) LLVM would call libm once per lane, so there it is a product
 * and a sum, rounded twice: both are within the promise. No other fast-math flag is set: NaN, infinities, signed zeros
 * and the order of operations are as written. min and max are select(a < b, a, b) and select(a > b, a, b), which is
 * what minps and maxps do.
 *
 * Integers wrap. Machine division faults where the divisor is 0 or the quotient does not fit; a divisor of 0 or -1 is
 * replaced by 1, and the results for these two are selected: 0, and the negated dividend (or, as a remainder, 0). */
#include "codegen/llvm_gen.h"

#include "ir/scalar_walk.h"

typedef struct {
  Gen *g;
  const LLVMValueRef *args;
  GenMap done; /* by scalar id: expressions are graphs with shared parts */
} Scalars;

static LLVMValueRef contract(LLVMValueRef v) {
  if (llvm.CanValueUseFastMathFlags(v))
    llvm.SetFastMathFlags(v, LLVMFastMathAllowContract);
  return v;
}

static LLVMValueRef same_type(Gen *g, const char *intrinsic, LLVMValueRef *x, int n) {
  LLVMTypeRef type = llvm.TypeOf(x[0]);
  return gen_intrinsic(g, intrinsic, &type, 1, x, n);
}

/* ---- floats ---- */

/* 2^n for integral n in the exponent's range: the exponent's bits. freeze: the conversion of any other n is
 * unspecified, but some number, as the language says. An exponent of f64 fits 32 bits, and these convert in vectors
 * everywhere. */
static LLVMValueRef build_exp2i(Gen *g, LLVMValueRef n, DType dtype) {
  LLVMBuilderRef b = g->builder;
  bool wide = dtype == DT_F64;
  LLVMTypeRef element = wide ? g->i64 : g->i32;
  LLVMValueRef k = llvm.BuildFreeze(b, llvm.BuildFPToSI(b, n, gen_type_like(g->i32, n), ""), "");
  if (wide)
    k = llvm.BuildSExt(b, k, gen_type_like(g->i64, n), "");
  LLVMValueRef biased = llvm.BuildAdd(b, k, gen_int_like(g, element, n, wide ? 1023 : 127), "");
  LLVMValueRef bits = llvm.BuildShl(b, biased, gen_int_like(g, element, n, wide ? 52 : 23), "");
  return llvm.BuildBitCast(b, bits, llvm.TypeOf(n), "");
}

static LLVMValueRef build_exponent(Gen *g, LLVMValueRef x, DType dtype) {
  LLVMBuilderRef b = g->builder;
  bool wide = dtype == DT_F64;
  LLVMTypeRef element = wide ? g->i64 : g->i32;
  LLVMValueRef bits = llvm.BuildBitCast(b, x, gen_type_like(element, x), "");
  LLVMValueRef field = llvm.BuildLShr(b, bits, gen_int_like(g, element, x, wide ? 52 : 23), "");
  field = llvm.BuildAnd(b, field, gen_int_like(g, element, x, wide ? 2047 : 255), "");
  LLVMValueRef n = llvm.BuildSub(b, field, gen_int_like(g, element, x, wide ? 1023 : 127), "");
  return llvm.BuildSIToFP(b, n, llvm.TypeOf(x), "");
}

static LLVMValueRef build_float(Gen *g, const Scalar *s, LLVMValueRef *x) {
  LLVMBuilderRef b = g->builder;
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
      return same_type(g, "llvm.fma", x, 3);
    return llvm.BuildFAdd(b, llvm.BuildFMul(b, x[0], x[1], ""), x[2], "");
  case SC_MIN:
    return llvm.BuildSelect(b, llvm.BuildFCmp(b, LLVMRealOLT, x[0], x[1], ""), x[0], x[1], "");
  case SC_MAX:
    return llvm.BuildSelect(b, llvm.BuildFCmp(b, LLVMRealOGT, x[0], x[1], ""), x[0], x[1], "");
  case SC_ABS:
    return same_type(g, "llvm.fabs", x, 1);
  case SC_FLOOR:
    return same_type(g, "llvm.floor", x, 1);
  case SC_CEIL:
    return same_type(g, "llvm.ceil", x, 1);
  case SC_ROUND:
    return same_type(g, "llvm.roundeven", x, 1);
  case SC_SQRT:
    return same_type(g, "llvm.sqrt", x, 1);
  case SC_EXP2I:
    return build_exp2i(g, x[0], s->dtype);
  case SC_EXPONENT:
    return build_exponent(g, x[0], s->dtype);
  default:
    WEFT_UNREACHABLE();
  }
}

/* ---- integers and bool ---- */

static LLVMValueRef build_division(Gen *g, const Scalar *s, LLVMValueRef a, LLVMValueRef d) {
  LLVMBuilderRef b = g->builder;
  bool div = s->op == SC_DIV, is_signed = dtype_is_signed(s->dtype);
  LLVMTypeRef element = gen_compute_type(g, s->dtype);
  LLVMValueRef zero = llvm.ConstNull(llvm.TypeOf(a)), one = gen_int_like(g, element, a, 1);
  LLVMValueRef by_zero = llvm.BuildICmp(b, LLVMIntEQ, d, zero, "");
  LLVMValueRef safe = llvm.BuildSelect(b, by_zero, one, d, ""), result;
  if (is_signed) {
    LLVMValueRef by_minus = llvm.BuildICmp(b, LLVMIntEQ, d, gen_int_like(g, element, a, -1), "");
    safe = llvm.BuildSelect(b, by_minus, one, safe, "");
    result = div ? llvm.BuildSDiv(b, a, safe, "") : llvm.BuildSRem(b, a, safe, "");
    if (div)
      result = llvm.BuildSelect(b, by_minus, llvm.BuildSub(b, zero, a, ""), result, "");
  } else {
    result = div ? llvm.BuildUDiv(b, a, safe, "") : llvm.BuildURem(b, a, safe, "");
  }
  return llvm.BuildSelect(b, by_zero, zero, result, "");
}

/* LLVM's shifts by the width or more are poison. */
static LLVMValueRef build_shift(Gen *g, const Scalar *s, LLVMValueRef a, LLVMValueRef by) {
  LLVMBuilderRef b = g->builder;
  LLVMTypeRef element = gen_compute_type(g, s->dtype);
  LLVMValueRef last = gen_int_like(g, element, a, 8 * (int)dtype_size(s->dtype) - 1);
  LLVMValueRef too_far = llvm.BuildICmp(b, LLVMIntUGT, by, last, ""); /* of signed types those below 0 too */
  LLVMValueRef safe = llvm.BuildSelect(b, too_far, last, by, "");
  if (s->op == SC_SHR && dtype_is_signed(s->dtype))
    return llvm.BuildAShr(b, a, safe, "");
  LLVMValueRef result = s->op == SC_SHL ? llvm.BuildShl(b, a, safe, "") : llvm.BuildLShr(b, a, safe, "");
  return llvm.BuildSelect(b, too_far, llvm.ConstNull(llvm.TypeOf(a)), result, "");
}

static LLVMValueRef build_int(Gen *g, const Scalar *s, LLVMValueRef *x) {
  LLVMBuilderRef b = g->builder;
  bool is_signed = dtype_is_signed(s->dtype);
  switch (s->op) {
  case SC_ADD:
    return llvm.BuildAdd(b, x[0], x[1], "");
  case SC_SUB:
    return llvm.BuildSub(b, x[0], x[1], "");
  case SC_MUL:
    return llvm.BuildMul(b, x[0], x[1], "");
  case SC_DIV:
  case SC_MOD:
    return build_division(g, s, x[0], x[1]);
  case SC_NEG:
    return llvm.BuildSub(b, llvm.ConstNull(llvm.TypeOf(x[0])), x[0], "");
  case SC_FMA:
    return llvm.BuildAdd(b, llvm.BuildMul(b, x[0], x[1], ""), x[2], "");
  case SC_MIN:
    return llvm.BuildSelect(b, llvm.BuildICmp(b, is_signed ? LLVMIntSLT : LLVMIntULT, x[0], x[1], ""), x[0], x[1], "");
  case SC_MAX:
    return llvm.BuildSelect(b, llvm.BuildICmp(b, is_signed ? LLVMIntSGT : LLVMIntUGT, x[0], x[1], ""), x[0], x[1], "");
  case SC_ABS: {
    LLVMValueRef args[] = {x[0], llvm.ConstInt(g->i1, 0, false)}; /* the least number stays */
    return is_signed ? same_type(g, "llvm.abs", args, 2) : x[0];
  }
  case SC_FLOOR:
  case SC_CEIL:
  case SC_ROUND:
    return x[0];
  case SC_AND:
    return llvm.BuildAnd(b, x[0], x[1], "");
  case SC_OR:
    return llvm.BuildOr(b, x[0], x[1], "");
  case SC_XOR:
    return llvm.BuildXor(b, x[0], x[1], "");
  case SC_NOT:
    return llvm.BuildXor(b, x[0], gen_int_like(g, gen_compute_type(g, s->dtype), x[0], -1), "");
  case SC_SHL:
  case SC_SHR:
    return build_shift(g, s, x[0], x[1]);
  default:
    WEFT_UNREACHABLE();
  }
}

/* ---- all types ---- */

/* Comparisons: SC_LT to SC_NE in order. NaN is not equal to anything, itself included. */
static LLVMValueRef build_comparison(Gen *g, ScalarOp op, DType dtype, LLVMValueRef a, LLVMValueRef b) {
  static const struct {
    LLVMRealPredicate real;
    LLVMIntPredicate with_sign, without;
  } predicates[] = {
      {LLVMRealOLT, LLVMIntSLT, LLVMIntULT}, {LLVMRealOLE, LLVMIntSLE, LLVMIntULE},
      {LLVMRealOGT, LLVMIntSGT, LLVMIntUGT}, {LLVMRealOGE, LLVMIntSGE, LLVMIntUGE},
      {LLVMRealOEQ, LLVMIntEQ, LLVMIntEQ},   {LLVMRealUNE, LLVMIntNE, LLVMIntNE},
  };
  int k = (int)op - (int)SC_LT;
  if (dtype_is_float(dtype))
    return llvm.BuildFCmp(g->builder, predicates[k].real, a, b, "");
  return llvm.BuildICmp(g->builder, dtype_is_signed(dtype) ? predicates[k].with_sign : predicates[k].without, a, b, "");
}
_Static_assert(SC_NE == SC_LT + 5, "the comparisons follow one another");

static LLVMValueRef libm_function(Gen *g, const char *name, LLVMTypeRef type) {
  LLVMValueRef f = llvm.GetNamedFunction(g->module, name);
  return f ? f : llvm.AddFunction(g->module, name, type);
}

/* LLVM is not to know the function: it would put products in place of powers, and so on, which round otherwise. */
static LLVMValueRef call_libm(Gen *g, LLVMTypeRef type, LLVMValueRef f, LLVMValueRef *args, int n) {
  unsigned nobuiltin = llvm.GetEnumAttributeKindForName("nobuiltin", strlen("nobuiltin"));
  LLVMValueRef call = llvm.BuildCall2(g->builder, type, f, args, (unsigned)n, "");
  llvm.AddCallSiteAttribute(call, LLVMAttributeFunctionIndex, llvm.CreateEnumAttribute(g->context, nobuiltin, 0));
  return call;
}

static LLVMValueRef build_libm(Gen *g, const Scalar *s, LLVMValueRef *x) {
  LLVMTypeRef element = gen_compute_type(g, s->dtype), params[] = {element, element, element};
  LLVMTypeRef type = llvm.FunctionType(element, params, (unsigned)s->n, false);
  LLVMValueRef f = libm_function(g, scalar_op_libm(s->op, s->dtype), type);
  if (!gen_is_vector(x[0]))
    return call_libm(g, type, f, x, s->n);
  unsigned lanes = llvm.GetVectorSize(llvm.TypeOf(x[0]));
  LLVMValueRef all = llvm.GetPoison(llvm.TypeOf(x[0]));
  for (unsigned l = 0; l < lanes; l++) {
    LLVMValueRef lane[3];
    for (int k = 0; k < s->n; k++)
      lane[k] = llvm.BuildExtractElement(g->builder, x[k], gen_i64(g, l), "");
    all = llvm.BuildInsertElement(g->builder, all, call_libm(g, type, f, lane, s->n), gen_i64(g, l), "");
  }
  return all;
}

static LLVMValueRef build_op(Gen *g, const Scalar *s, LLVMValueRef *x) {
  switch (s->op) {
  case SC_LT:
  case SC_LE:
  case SC_GT:
  case SC_GE:
  case SC_EQ:
  case SC_NE:
    return build_comparison(g, s->op, s->args[0]->dtype, x[0], x[1]);
  case SC_SELECT:
    return llvm.BuildSelect(g->builder, x[0], x[1], x[2], "");
  case SC_BITS:
  case SC_UNBITS:
    return llvm.BuildBitCast(g->builder, x[0], gen_type_like(gen_compute_type(g, s->dtype), x[0]), "");
  case SC_CAST:
    return gen_cast(g, x[0], s->args[0]->dtype, s->dtype);
  default:
    if (scalar_op_libm(s->op, s->dtype))
      return build_libm(g, s, x);
    return dtype_is_float(s->dtype) ? build_float(g, s, x) : build_int(g, s, x);
  }
}

static LLVMValueRef build(Scalars *c, const Scalar *s) {
  Gen *g = c->g;
  if (s->op == SC_ARG)
    return c->args[s->index];
  if (s->op == SC_CONST)
    return dtype_is_float(s->dtype) ? llvm.ConstReal(gen_compute_type(g, s->dtype), s->value)
                                    : llvm.ConstInt(gen_compute_type(g, s->dtype), (unsigned long long)s->bits, true);
  LLVMValueRef value = gen_map_get(&c->done, s->id + (uint64_t)1);
  if (value)
    return value;
  LLVMValueRef x[3];
  int lanes = 0;
  for (int k = 0; k < s->n; k++) {
    x[k] = build(c, s->args[k]);
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

static const Scalar *expand(Gen *g, const Scalar *value) {
  const Scalar *expanded = gen_map_get(&g->expanded, value->id + (uint64_t)1);
  if (!expanded) {
    expanded = scalar_expand(g->ctx, value);
    gen_map_put(g->ctx->arena, &g->expanded, value->id + (uint64_t)1, (void *)(uintptr_t)expanded);
  }
  return expanded;
}

LLVMValueRef gen_scalar(Gen *g, const Scalar *value, const LLVMValueRef *args) {
  Scalars c = {.g = g, .args = args};
  return build(&c, expand(g, value));
}

static int width(const Scalar *s, uint64_t walk) {
  int bytes = (int)dtype_size(s->dtype);
  if (s->visit == walk)
    return bytes;
  scalar_scratch(s)->visit = walk;
  for (int k = 0; k < s->n; k++) {
    int operand = width(s->args[k], walk);
    bytes = operand > bytes ? operand : bytes;
  }
  return bytes;
}

int gen_scalar_width(Gen *g, const Scalar *value) {
  return width(expand(g, value), scalar_walk_number());
}
