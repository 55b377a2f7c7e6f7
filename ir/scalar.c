/* Scalar expressions: nodes, folding, substitution. See scalar.h for the language.
 *
 * Nodes are interned, so equal expressions are equal pointers and an operand used twice is held once: helper functions
 * with parameters are as good as `let`. */
#include <math.h>

#include "ir/scalar_walk.h"

typedef enum { PRIMITIVE, CALLS, EXPANDS, POLYNOMIAL } Form;

typedef struct {
  const char *name, *infix;
  int arity;
  Form form;
  const char *libm[2]; /* in double and in float */
} OpInfo;

static const OpInfo info[SC_COUNT] = {
#define SCALAR(id, name, arity, infix) [SC_##id] = {name, infix, arity, PRIMITIVE, {NULL, NULL}},
#define SCALAR_INTRINSIC(id, name, arity, function, operands, form)                                                    \
  [SC_##id] = {name, NULL, arity, form, {#function, #function "f"}},
#include "ir/scalar.def"
};

const char *scalar_op_name(ScalarOp op) {
  return info[op].name;
}
int scalar_op_arity(ScalarOp op) {
  return info[op].arity;
}
const char *scalar_op_infix(ScalarOp op) {
  return info[op].infix;
}
bool scalar_op_is_intrinsic(ScalarOp op) {
  return info[op].form != PRIMITIVE;
}

bool scalar_op_expands(ScalarOp op, DType dtype) {
  return info[op].form == EXPANDS || (info[op].form == POLYNOMIAL && dtype == DT_F32);
}

const char *scalar_op_libm(ScalarOp op, DType dtype) {
  if (!dtype_is_float(dtype))
    return NULL;
  if (op == SC_MOD)
    return dtype == DT_F64 ? "fmod" : "fmodf";
  return scalar_op_is_intrinsic(op) && !scalar_op_expands(op, dtype) ? info[op].libm[dtype != DT_F64] : NULL;
}

bool scalar_op_find(const char *name, size_t len, ScalarOp *op) {
  for (int k = 0; k < SC_COUNT; k++) {
    if (info[k].arity > 0 && k != SC_CAST && strlen(info[k].name) == len && memcmp(info[k].name, name, len) == 0) {
      *op = (ScalarOp)k;
      return true;
    }
  }
  return false;
}

static bool is_comparison(ScalarOp op) {
  return op >= SC_LT && op <= SC_NE;
}

/* NULL, or what is wrong with this type of an operation's operands. */
static const char *wrong_type(ScalarOp op, DType dtype) {
  switch (op) {
  case SC_AND:
  case SC_OR:
  case SC_XOR:
  case SC_NOT:
    return dtype_is_float(dtype) ? "a float stands where a bool or an integer is expected" : NULL;
  case SC_SHL:
  case SC_SHR:
    return dtype_is_int(dtype) ? NULL : "this operation takes integers";
  case SC_UNBITS:
    return dtype == DT_U32 || dtype == DT_U64 ? NULL : "this operation takes u32 or u64";
  case SC_SQRT:
  case SC_EXP2I:
  case SC_EXPONENT:
  case SC_BITS:
    return dtype_is_float(dtype) ? NULL : "this operation takes floats";
  case SC_SELECT:
  case SC_CAST:
    return NULL;
  default:
    if (is_comparison(op))
      return NULL;
    if (scalar_op_is_intrinsic(op))
      return dtype_is_float(dtype) ? NULL : "this function takes floats";
    return dtype == DT_BOOL ? "a comparison stands where a number is expected" : NULL;
  }
}

DType scalar_result_type(ScalarOp op, DType operands) {
  if (op == SC_BITS)
    return operands == DT_F32 ? DT_U32 : DT_U64;
  if (op == SC_UNBITS)
    return operands == DT_U32 ? DT_F32 : DT_F64;
  return is_comparison(op) ? DT_BOOL : operands;
}

const char *scalar_mismatch(ScalarOp op, const Scalar *const *args) {
  int first = op == SC_SELECT ? 1 : 0;
  if (first && args[0]->dtype != DT_BOOL)
    return "the first operand of select must be a comparison or a bool";
  for (int k = first + 1; k < info[op].arity; k++)
    if (args[k]->dtype != args[first]->dtype)
      return "the operands have different types";
  return wrong_type(op, args[first]->dtype);
}

/* ---- nodes ---- */

static uint64_t node_hash(const Scalar *s) {
  uint64_t h = hash_bytes(WEFT_HASH_SEED, &s->op, sizeof s->op);
  h = hash_bytes(h, &s->dtype, sizeof s->dtype);
  h = hash_bytes(h, &s->value, sizeof s->value);
  h = hash_bytes(h, &s->bits, sizeof s->bits);
  h = hash_bytes(h, &s->index, sizeof s->index);
  for (int k = 0; k < s->n; k++)
    h = hash_bytes(h, &s->args[k]->id, sizeof s->args[k]->id);
  return h;
}

/* Values by their bits: 0 and -0 differ, a NaN is itself. */
static bool node_equal(const void *item, const void *key) {
  const Scalar *a = item, *b = key;
  return a->op == b->op && a->dtype == b->dtype && memcmp(&a->value, &b->value, sizeof a->value) == 0 &&
         a->bits == b->bits && a->index == b->index && memcmp(a->args, b->args, sizeof a->args) == 0;
}

static const Scalar *intern_node(Ctx *ctx, const Scalar *key) {
  uint64_t hash = node_hash(key);
  const Scalar *found = intern_find(&ctx->scalars, hash, node_equal, key);
  if (found)
    return found;
  Scalar *s = ARENA_NEW(ctx->arena, Scalar);
  *s = *key;
  s->id = ctx->next_scalar_id++;
  s->size = 1;
  s->arg_count = s->op == SC_ARG ? s->index + 1 : 0;
  for (int k = 0; k < s->n; k++) {
    const Scalar *arg = s->args[k];
    s->depth = arg->depth + 1 > s->depth ? arg->depth + 1 : s->depth;
    s->arg_count = arg->arg_count > s->arg_count ? arg->arg_count : s->arg_count;
    if (!add_i64(s->size, arg->size, &s->size))
      s->size = INT64_MAX;
  }
  intern_add(ctx, &ctx->scalars, hash, s);
  return s;
}

static const Scalar *float_const(Ctx *ctx, DType dtype, double value) {
  Scalar key = {.op = SC_CONST, .dtype = dtype, .value = dtype == DT_F32 ? (double)(float)value : value};
  if (isnan(value))
    key.value = (double)NAN; /* one NaN, whatever its sign and payload were */
  return intern_node(ctx, &key);
}

const Scalar *scalar_const(Ctx *ctx, double value) {
  return float_const(ctx, DT_F32, value);
}

const Scalar *scalar_const_int(Ctx *ctx, DType dtype, int64_t value) {
  WEFT_ASSERT(scalar_value_cast((ScalarValue){.i = value}, DT_I64, dtype).i == value);
  Scalar key = {.op = SC_CONST, .dtype = dtype, .bits = value};
  return intern_node(ctx, &key);
}

const Scalar *scalar_const_typed(Ctx *ctx, DType dtype, double value) {
  WEFT_ASSERT(dtype_compute(dtype) == dtype);
  if (dtype_is_float(dtype))
    return float_const(ctx, dtype, value);
  return scalar_const_int(ctx, dtype, scalar_value_cast((ScalarValue){.f = value}, DT_F64, dtype).i);
}

const Scalar *scalar_arg_typed(Ctx *ctx, int index, DType dtype) {
  WEFT_ASSERT(index >= 0 && dtype_compute(dtype) == dtype);
  Scalar key = {.op = SC_ARG, .dtype = dtype, .index = index};
  return intern_node(ctx, &key);
}

const Scalar *scalar_arg(Ctx *ctx, int index) {
  return scalar_arg_typed(ctx, index, DT_F32);
}

/* ---- folding ---- */

static bool is_value(const Scalar *s, double value) {
  if (s->op != SC_CONST)
    return false;
  return dtype_is_float(s->dtype) ? memcmp(&s->value, &value, sizeof value) == 0 : (double)s->bits == value;
}

/* True where `value`, computed without any error, is a number of this type that every target holds: 0 or normal. */
static bool exact_float(DType dtype, double value) {
  bool narrow = dtype == DT_F32;
  return (!narrow || (double)(float)value == value) && isfinite(value) &&
         (value == 0.0 || fabs(value) >= (narrow ? 0x1p-126 : 0x1p-1022));
}

/* a + b in double is without error (Knuth's two-sum). */
static bool exact_sum(double a, double b) {
  double s = a + b, bb = s - a;
  return (a - (s - bb)) + (b - bb) == 0.0;
}

/* a * b is p without error. Below this size the error itself may be too small for a double. */
static bool exact_product(double a, double b, double p) {
  return fma(a, b, -p) == 0.0 && (fabs(p) > 0x1p-900 || a == 0 || b == 0);
}

/* The value of an operation on floats, if it is exact. */
static bool fold_floats(ScalarOp op, DType dtype, double a, double b, double c, double *value) {
  if (scalar_op_is_intrinsic(op) || op == SC_SQRT)
    return false;
  *value = scalar_float_operation(op, a, b, c);
  switch (op) {
  case SC_ADD:
    return exact_sum(a, b) && exact_float(dtype, *value);
  case SC_SUB:
    return exact_sum(a, -b) && exact_float(dtype, *value);
  case SC_MUL:
    return exact_float(dtype, *value) && exact_product(a, b, *value);
  case SC_DIV:
    return exact_float(dtype, *value) && exact_float(dtype, b) && exact_product(*value, b, a);
  case SC_MOD:
    return isfinite(a) && isfinite(b) && b != 0;
  case SC_FMA:
    return exact_product(a, b, a * b) && exact_sum(a * b, c) && exact_float(dtype, *value);
  case SC_EXPONENT:
    return a != 0 && exact_float(dtype, a);
  case SC_EXP2I: {
    int bias = dtype == DT_F32 ? 127 : 1023;
    return a == floor(a) && a > -bias && a <= bias;
  }
  default:
    return true;
  }
}

/* A cast that rounds nothing. Where the number is too large for int64_t (u64), it is left to the target. */
static bool exact_cast(DType from, DType to, ScalarValue v) {
  if (!dtype_is_float(to))
    return true;
  if (dtype_is_float(from))
    return isnan(v.f) || isinf(v.f) || exact_float(to, v.f);
  double value = scalar_value_cast(v, from, to).f;
  return fabs(value) < 0x1p63 && (int64_t)value == v.i;
}

static ScalarValue const_value(const Scalar *s) {
  return dtype_is_float(s->dtype) ? (ScalarValue){.f = s->value} : (ScalarValue){.i = s->bits};
}

static const Scalar *const_of(Ctx *ctx, DType dtype, ScalarValue v) {
  return dtype_is_float(dtype) ? float_const(ctx, dtype, v.f) : scalar_const_int(ctx, dtype, v.i);
}

/* The constant that an operation on constants gives, or NULL where it is not the same for every target. */
static const Scalar *fold(Ctx *ctx, ScalarOp op, DType dtype, const Scalar *const *args) {
  ScalarValue v[3] = {{0}}, value;
  for (int k = 0; k < info[op].arity; k++) {
    if (args[k]->op != SC_CONST)
      return NULL;
    v[k] = const_value(args[k]);
  }
  DType operands = args[info[op].arity - 1]->dtype;
  if (op == SC_CAST && !exact_cast(operands, dtype, v[0]))
    return NULL;
  if (op == SC_BITS && !exact_float(operands, v[0].f) && !isinf(v[0].f))
    return NULL;
  if (!scalar_typeless(op, operands, dtype, v, &value) && !fold_floats(op, operands, v[0].f, v[1].f, v[2].f, &value.f))
    return NULL;
  if (op == SC_UNBITS && !exact_float(dtype, value.f) && !isinf(value.f))
    return NULL;
  return const_of(ctx, dtype, value);
}

/* A simpler expression of the same value for every operand, NaN and signed zeros included, or NULL. */
static const Scalar *simplify(ScalarOp op, const Scalar *const *args) {
  const Scalar *a = args[0], *b = info[op].arity > 1 ? args[1] : NULL;
  switch (op) {
  case SC_NEG:
  case SC_NOT:
    return a->op == op ? a->args[0] : NULL;
  case SC_BITS:
  case SC_UNBITS:
    return a->op == (op == SC_BITS ? SC_UNBITS : SC_BITS) ? a->args[0] : NULL;
  case SC_ADD: /* x + 0 is not x where x is -0 */
    return is_value(b, -0.0) ? a : is_value(a, -0.0) ? b : NULL;
  case SC_SUB:
    return is_value(b, 0.0) ? a : NULL;
  case SC_MUL:
    return is_value(b, 1.0) ? a : is_value(a, 1.0) ? b : NULL;
  case SC_DIV:
    return is_value(b, 1.0) ? a : NULL;
  case SC_SELECT:
    if (args[1] == args[2])
      return args[1];
    return a->op == SC_CONST ? args[a->bits ? 1 : 2] : NULL;
  default:
    return NULL;
  }
}

static const Scalar *make(Ctx *ctx, ScalarOp op, DType dtype, const Scalar *const *args) {
  const Scalar *known = fold(ctx, op, dtype, args);
  if (!known)
    known = simplify(op, args);
  if (known)
    return known;
  Scalar key = {.op = op, .dtype = dtype, .n = info[op].arity};
  for (int k = 0; k < key.n; k++)
    key.args[k] = args[k];
  return intern_node(ctx, &key);
}

const Scalar *scalar_make(Ctx *ctx, ScalarOp op, const Scalar *const *args) {
  WEFT_ASSERT(info[op].arity > 0 && op != SC_CAST && scalar_mismatch(op, args) == NULL);
  return make(ctx, op, scalar_result_type(op, args[info[op].arity - 1]->dtype), args);
}

const Scalar *scalar_cast(Ctx *ctx, const Scalar *s, DType to) {
  WEFT_ASSERT(dtype_compute(to) == to);
  return s->dtype == to ? s : make(ctx, SC_CAST, to, &s);
}

const Scalar *scalar_remake(Ctx *ctx, const Scalar *s, const Scalar *const *args) {
  return s->op == SC_CAST ? scalar_cast(ctx, args[0], s->dtype) : scalar_make(ctx, s->op, args);
}

const Scalar *scalar_make1(Ctx *ctx, ScalarOp op, const Scalar *a) {
  WEFT_ASSERT(info[op].arity == 1);
  return scalar_make(ctx, op, &a);
}

const Scalar *scalar_make2(Ctx *ctx, ScalarOp op, const Scalar *a, const Scalar *b) {
  WEFT_ASSERT(info[op].arity == 2);
  return scalar_make(ctx, op, (const Scalar *[]){a, b});
}

const Scalar *scalar_make3(Ctx *ctx, ScalarOp op, const Scalar *a, const Scalar *b, const Scalar *c) {
  WEFT_ASSERT(info[op].arity == 3);
  return scalar_make(ctx, op, (const Scalar *[]){a, b, c});
}

int scalar_arg_count(const Scalar *s) {
  return s->arg_count;
}

/* ---- substitution ---- */

uint64_t scalar_walk_number(void) {
  static _Thread_local uint64_t last;
  return ++last;
}

static const Scalar *subst(Ctx *ctx, const Scalar *s, const Scalar *const *args, uint64_t walk) {
  if (s->arg_count == 0)
    return s;
  if (s->op == SC_ARG)
    return args[s->index];
  if (s->visit == walk)
    return s->memo.node;
  const Scalar *operands[3] = {NULL};
  for (int k = 0; k < s->n; k++)
    operands[k] = subst(ctx, s->args[k], args, walk);
  const Scalar *result = scalar_remake(ctx, s, operands);
  Scalar *scratch = scalar_scratch(s);
  scratch->visit = walk;
  scratch->memo.node = result;
  return result;
}

const Scalar *scalar_subst(Ctx *ctx, const Scalar *s, const Scalar *const *args) {
  return subst(ctx, s, args, scalar_walk_number());
}
