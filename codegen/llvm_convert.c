/* Element types as LLVM types, between memory and registers, and casts.
 *
 * Memory holds f16 and bf16 as 16 bits and bool as a byte that is 0 or not; values are computed in f32 and in one bit.
 * Only instructions are used, never the compiler's helper functions (__extendhfsf2, __truncsfbf2, ...), which no
 * library that we link has to offer: bf16 is the upper half of an f32; rounding adds half a unit in the last place,
 * less one where the last bit is even f16 by instructions where the target has them, else by integer arithmetic after F. Giesen
 * ("half_to_float_fast", "float_to_half_fast3_rtne", 2012): shift the fields into place and correct the exponent's
 * bias; denormals by one addition or subtraction of floats that rounds in the right place. The NaNs are those of the
 * instruction.
 *
 * Casts are those of the scalar language: float to integer saturates and takes NaN to 0, between integers they wrap. */
#include "codegen/llvm_gen.h"

/* ---- types and shapes ---- */

LLVMTypeRef gen_storage_type(const Gen *g, DType dtype) {
  switch (dtype) {
  case DT_F32:
    return g->f32;
  case DT_F64:
    return g->f64;
  case DT_F16:
  case DT_BF16:
  case DT_I16:
  case DT_U16:
    return g->i16;
  case DT_I8:
  case DT_U8:
  case DT_BOOL:
    return g->i8;
  case DT_I32:
  case DT_U32:
    return g->i32;
  case DT_I64:
  case DT_U64:
    return g->i64;
  }
  WEFT_UNREACHABLE();
}

LLVMTypeRef gen_compute_type(const Gen *g, DType dtype) {
  return dtype == DT_BOOL ? g->i1 : gen_storage_type(g, dtype_compute(dtype));
}

bool gen_is_vector(LLVMValueRef value) {
  return llvm.GetTypeKind(llvm.TypeOf(value)) == LLVMVectorTypeKind;
}

LLVMTypeRef gen_type_like(LLVMTypeRef element, LLVMValueRef like) {
  return gen_is_vector(like) ? llvm.VectorType(element, llvm.GetVectorSize(llvm.TypeOf(like))) : element;
}

LLVMValueRef gen_splat(Gen *g, LLVMValueRef scalar, int lanes) {
  LLVMTypeRef type = llvm.VectorType(llvm.TypeOf(scalar), (unsigned)lanes);
  LLVMValueRef poison = llvm.GetPoison(type);
  LLVMValueRef one = llvm.BuildInsertElement(g->builder, poison, scalar, gen_i64(g, 0), "");
  return llvm.BuildShuffleVector(g->builder, one, poison, llvm.ConstNull(llvm.VectorType(g->i32, (unsigned)lanes)), "");
}

LLVMValueRef gen_int_like(Gen *g, LLVMTypeRef element, LLVMValueRef like, int64_t value) {
  LLVMValueRef one = llvm.ConstInt(element, (unsigned long long)value, true);
  return gen_is_vector(like) ? gen_splat(g, one, (int)llvm.GetVectorSize(llvm.TypeOf(like))) : one;
}

LLVMValueRef gen_intrinsic(Gen *g, const char *name, LLVMTypeRef *types, int n_types, LLVMValueRef *args, int n) {
  unsigned id = llvm.LookupIntrinsicID(name, strlen(name));
  WEFT_ASSERT(id != 0);
  LLVMValueRef f = llvm.GetIntrinsicDeclaration(g->module, id, types, (size_t)n_types);
  LLVMTypeRef type = llvm.IntrinsicGetType(g->context, id, types, (size_t)n_types);
  return llvm.BuildCall2(g->builder, type, f, args, (unsigned)n, "");
}

/* ---- f16 and bf16: h are 16 bits each, f floats ---- */

#define INT32(like, value) gen_int_like(g, g->i32, (like), (value))

static LLVMValueRef bits_of(Gen *g, LLVMValueRef f) {
  return llvm.BuildBitCast(g->builder, f, gen_type_like(g->i32, f), "");
}

static LLVMValueRef float_of(Gen *g, LLVMValueRef bits) {
  return llvm.BuildBitCast(g->builder, bits, gen_type_like(g->f32, bits), "");
}

static LLVMValueRef is_nan(Gen *g, LLVMValueRef f) {
  return llvm.BuildFCmp(g->builder, LLVMRealUNO, f, f, "");
}

static LLVMValueRef bf16_to_float(Gen *g, LLVMValueRef h) {
  LLVMValueRef wide = llvm.BuildZExt(g->builder, h, gen_type_like(g->i32, h), "");
  return float_of(g, llvm.BuildShl(g->builder, wide, INT32(h, 16), ""));
}

static LLVMValueRef float_to_bf16(Gen *g, LLVMValueRef f) {
  LLVMBuilderRef b = g->builder;
  LLVMValueRef bits = bits_of(g, f), top = llvm.BuildLShr(b, bits, INT32(f, 16), "");
  LLVMValueRef odd = llvm.BuildAnd(b, top, INT32(f, 1), "");
  LLVMValueRef sum = llvm.BuildAdd(b, llvm.BuildAdd(b, bits, INT32(f, 0x7fff), ""), odd, "");
  LLVMValueRef rounded = llvm.BuildLShr(b, sum, INT32(f, 16), "");
  LLVMValueRef quiet = llvm.BuildOr(b, top, INT32(f, 0x40), "");
  LLVMValueRef value = llvm.BuildSelect(b, is_nan(g, f), quiet, rounded, "");
  return llvm.BuildTrunc(b, value, gen_type_like(g->i16, f), "");
}

static LLVMValueRef f16_to_float(Gen *g, LLVMValueRef h) {
  LLVMBuilderRef b = g->builder;
  if (g->has_f16)
    return llvm.BuildFPExt(b, llvm.BuildBitCast(b, h, gen_type_like(g->f16, h), ""), gen_type_like(g->f32, h), "");
  LLVMValueRef wide = llvm.BuildZExt(b, h, gen_type_like(g->i32, h), "");
  LLVMValueRef sign = llvm.BuildShl(b, llvm.BuildAnd(b, wide, INT32(h, 0x8000), ""), INT32(h, 16), "");
  LLVMValueRef fields = llvm.BuildShl(b, llvm.BuildAnd(b, wide, INT32(h, 0x7fff), ""), INT32(h, 13), "");
  LLVMValueRef exponent = llvm.BuildAnd(b, fields, INT32(h, 0x7c00 << 13), "");
  LLVMValueRef normal = llvm.BuildAdd(b, fields, INT32(h, (127 - 15) << 23), "");
  LLVMValueRef special = llvm.BuildAdd(b, normal, INT32(h, (128 - 16) << 23), ""); /* infinite, NaN */
  LLVMValueRef quiet = llvm.BuildOr(b, special, INT32(h, 1 << 22), "");
  LLVMValueRef tiny = INT32(h, (127 - 14) << 23); /* 2^-14: a denormal is a fraction of it on top of itself */
  LLVMValueRef above = llvm.BuildAdd(b, fields, tiny, "");
  LLVMValueRef denormal = bits_of(g, llvm.BuildFSub(b, float_of(g, above), float_of(g, tiny), ""));
  LLVMValueRef infinite = INT32(h, 0x7c00 << 13);
  LLVMValueRef nan = llvm.BuildICmp(b, LLVMIntUGT, fields, infinite, "");
  LLVMValueRef value =
      llvm.BuildSelect(b, llvm.BuildICmp(b, LLVMIntEQ, exponent, INT32(h, 0), ""), denormal, normal, "");
  value = llvm.BuildSelect(b, llvm.BuildICmp(b, LLVMIntEQ, exponent, infinite, ""), special, value, "");
  value = llvm.BuildSelect(b, nan, quiet, value, "");
  return float_of(g, llvm.BuildOr(b, value, sign, ""));
}

static LLVMValueRef float_to_f16(Gen *g, LLVMValueRef f) {
  LLVMBuilderRef b = g->builder;
  if (g->has_f16) {
    LLVMValueRef half = llvm.BuildFPTrunc(b, f, gen_type_like(g->f16, f), "");
    return llvm.BuildBitCast(b, half, gen_type_like(g->i16, f), "");
  }
  LLVMValueRef bits = bits_of(g, f), plain = llvm.BuildAnd(b, bits, INT32(f, 0x7fffffff), "");
  LLVMValueRef sign = llvm.BuildAnd(b, llvm.BuildLShr(b, bits, INT32(f, 16), ""), INT32(f, 0x8000), "");
  /* A float of this size has its last bit where an f16 denormal has it: the sum is rounded there. */
  LLVMValueRef magic = INT32(f, (127 - 1) << 23);
  LLVMValueRef sum = bits_of(g, llvm.BuildFAdd(b, float_of(g, plain), float_of(g, magic), ""));
  LLVMValueRef denormal = llvm.BuildSub(b, sum, magic, "");
  LLVMValueRef last = llvm.BuildLShr(b, plain, INT32(f, 13), ""), odd = llvm.BuildAnd(b, last, INT32(f, 1), "");
  LLVMValueRef rebiased = llvm.BuildAdd(b, plain, INT32(f, (15 - 127) * (1 << 23) + 0xfff), "");
  LLVMValueRef normal = llvm.BuildLShr(b, llvm.BuildAdd(b, rebiased, odd, ""), INT32(f, 13), "");
  LLVMValueRef payload = llvm.BuildAnd(b, last, INT32(f, 0x3ff), "");
  LLVMValueRef nan = llvm.BuildOr(b, payload, INT32(f, 0x7e00), "");
  LLVMValueRef is_small = llvm.BuildICmp(b, LLVMIntULT, plain, INT32(f, (127 - 14) << 23), "");
  LLVMValueRef is_large = llvm.BuildICmp(b, LLVMIntUGE, plain, INT32(f, (127 + 16) << 23), "");
  LLVMValueRef value = llvm.BuildSelect(b, is_small, denormal, normal, "");
  value = llvm.BuildSelect(b, is_large, INT32(f, 0x7c00), value, "");
  value = llvm.BuildSelect(b, is_nan(g, f), nan, value, "");
  return llvm.BuildTrunc(b, llvm.BuildOr(b, value, sign, ""), gen_type_like(g->i16, f), "");
}

/* ---- memory and registers ---- */

LLVMValueRef gen_from_storage(Gen *g, LLVMValueRef value, DType dtype) {
  if (dtype == DT_F16)
    return f16_to_float(g, value);
  if (dtype == DT_BF16)
    return bf16_to_float(g, value);
  if (dtype == DT_BOOL)
    return llvm.BuildICmp(g->builder, LLVMIntNE, value, llvm.ConstNull(llvm.TypeOf(value)), "");
  return value;
}

LLVMValueRef gen_to_storage(Gen *g, LLVMValueRef value, DType dtype) {
  if (dtype == DT_F16)
    return float_to_f16(g, value);
  if (dtype == DT_BF16)
    return float_to_bf16(g, value);
  if (dtype == DT_BOOL)
    return llvm.BuildZExt(g->builder, value, gen_type_like(g->i8, value), "");
  return value;
}

/* ---- casts ---- */

static LLVMValueRef to_bool(Gen *g, LLVMValueRef value, DType from) {
  LLVMValueRef zero = llvm.ConstNull(llvm.TypeOf(value));
  return dtype_is_float(from) ? llvm.BuildFCmp(g->builder, LLVMRealUNE, value, zero, "")
                              : llvm.BuildICmp(g->builder, LLVMIntNE, value, zero, "");
}

static LLVMValueRef float_to_int(Gen *g, LLVMValueRef value, LLVMTypeRef type, DType to) {
  LLVMTypeRef types[] = {type, llvm.TypeOf(value)};
  return gen_intrinsic(g, dtype_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2, &value, 1);
}

LLVMValueRef gen_cast(Gen *g, LLVMValueRef value, DType from, DType to) {
  LLVMBuilderRef b = g->builder;
  LLVMTypeRef type = gen_type_like(gen_compute_type(g, to), value);
  if (from == to)
    return value;
  if (to == DT_BOOL)
    return to_bool(g, value, from);
  if (dtype_is_float(from) && dtype_is_float(to))
    return dtype_size(to) > dtype_size(from) ? llvm.BuildFPExt(b, value, type, "")
                                             : llvm.BuildFPTrunc(b, value, type, "");
  if (dtype_is_float(from))
    return float_to_int(g, value, type, to);
  if (dtype_is_float(to))
    return dtype_is_signed(from) ? llvm.BuildSIToFP(b, value, type, "") : llvm.BuildUIToFP(b, value, type, "");
  size_t from_size = from == DT_BOOL ? 0 : dtype_size(from), to_size = dtype_size(to);
  if (from_size == to_size)
    return value;
  if (from_size > to_size)
    return llvm.BuildTrunc(b, value, type, "");
  return dtype_is_signed(from) ? llvm.BuildSExt(b, value, type, "") : llvm.BuildZExt(b, value, type, "");
}
