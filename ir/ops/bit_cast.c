/* bit_cast: the bits of each element taken as those of another element type of the same size. bool is a byte of 0 or 1;
 * a byte that is neither becomes true. Of f16 and bf16, which are computed in f32, a NaN may become another one. */
#include "ir/ops/bit_cast.h"

static DType target(const Op *op) {
  return (DType)op_attr(op, "to")->i;
}

const Type *bit_cast_infer(Ctx *ctx, const Op *op) {
  const Type *x = op->operands[0]->type;
  DType to = target(op);
  if (dtype_size(x->dtype) == dtype_size(to))
    return op_result_type(ctx, op, to, x->rank, x->dims);
  diag_error(ctx->diags, WEFT_MALFORMED, op->loc,
             "bit_cast: x is %s, of %d bits each, which cannot be those of %s, %d bits each", type_text(ctx, x),
             8 * (int)dtype_size(x->dtype), dtype_name(to), 8 * (int)dtype_size(to));
  return NULL;
}

void bit_cast_layout(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  (void)op;
  plan->result = layout_with_pad(ctx, plan->operand[0], PAD_ANY);
  plan->why = "follows its operand";
}

void bit_cast_eval(Ctx *ctx, const Op *op, const Tensor *const *in, Tensor *out) {
  (void)ctx, (void)op;
  size_t bytes = (size_t)out->n * dtype_size(out->dtype);
  if (bytes)
    memcpy(out->data, in[0]->data, bytes);
  for (size_t k = 0; out->dtype == DT_BOOL && k < bytes; k++)
    ((uint8_t *)out->data)[k] = ((uint8_t *)out->data)[k] != 0;
}

/* One of a bit_cast is one, but through bool, which has two values only. */
Value *bit_cast_simplify(Module *m, Function *f, Op *op) {
  (void)m, (void)f;
  Value *x = op->operands[0];
  if (x->type->dtype == target(op))
    return x;
  const Op *inner = op_repeated(op);
  if (!inner || x->type->dtype == DT_BOOL)
    return NULL;
  if (inner->operands[0]->type->dtype == target(op))
    return inner->operands[0];
  op->operands[0] = inner->operands[0];
  return op->result;
}

static const Scalar *formula(Ctx *ctx, const char *text, const Scalar *x) {
  const char *name = "x", *why = NULL;
  const Scalar *s = scalar_parse(ctx, text, &name, &x, 1, &why);
  if (!s)
    weft_bug(__FILE__, __LINE__, "%s: %s", text, why);
  return s;
}

/* The 16 bits of the f16 that an f32 is equal to: exponents are biased by 127 there and 15 here (112 << 10 = 114688),
 * the fraction is cut from 23 to 10 digits; numbers below 2^-14 are multiples of 2^-24; above lie infinity and NaN. */
static const char half_bits[] = "u16(or(and(shr(bits(x), 16), 32768),"
                                "select(and(bits(x), 2147483647) >= 2139095040,"
                                "  or(31744, and(shr(bits(x), 13), 1023)),"
                                "  select(abs(x) < 6.103515625e-05, u32(abs(x) * 16777216),"
                                "    shr(and(bits(x), 2147483647), 13) - 114688))))";
/* And back: x is the 16 bits as u32; 112 << 23 = 939524096. */
static const char half_value[] = "unbits(or(shl(and(x, 32768), 16),"
                                 "select(and(x, 31744) == 31744, or(2139095040, shl(and(x, 1023), 13)),"
                                 "select(and(x, 31744) == 0, bits(f32(and(x, 1023)) * 5.9604644775390625e-08),"
                                 "  shl(and(x, 32767), 13) + 939524096))))";

/* As an unsigned integer of the element's size. */
static const Scalar *to_bits(Ctx *ctx, const Scalar *x, DType from) {
  switch (from) {
  case DT_F16:
    return formula(ctx, half_bits, x);
  case DT_BF16: /* the upper half of an f32 */
    return formula(ctx, "u16(shr(bits(x), 16))", x);
  case DT_F32:
  case DT_F64:
    return scalar_make1(ctx, SC_BITS, x);
  default: {
    static const DType of_size[] = {[1] = DT_U8, [2] = DT_U16, [4] = DT_U32, [8] = DT_U64};
    return scalar_cast(ctx, x, of_size[dtype_size(from)]);
  }
  }
}

const Scalar *bit_cast_scalar(Ctx *ctx, const Scalar *x, DType from, DType to) {
  const Scalar *bits = to_bits(ctx, x, from);
  switch (to) {
  case DT_F16:
    return formula(ctx, half_value, scalar_cast(ctx, bits, DT_U32));
  case DT_BF16:
    return formula(ctx, "unbits(shl(x, 16))", scalar_cast(ctx, bits, DT_U32));
  case DT_F32:
  case DT_F64:
    return scalar_make1(ctx, SC_UNBITS, bits);
  default:
    return scalar_cast(ctx, bits, to);
  }
}
