/* Scalar expressions: nodes, folding, substitution, printing. See scalar.h for the language.
 *
 * Nodes are interned, so equal expressions are equal pointers and an operand used twice is held once: helper functions
 * with parameters are as good as `let`. */
#include <math.h>

#include "ir/scalar_walk.h"

typedef struct {
  const char *name, *infix;
  int arity;
  bool intrinsic;
} OpInfo;

static const OpInfo info[SC_COUNT] = {
#define SCALAR(id, name, arity, infix) [SC_##id] = {name, infix, arity, false},
#define SCALAR_INTRINSIC(id, name, libm) [SC_##id] = {name, NULL, 1, true},
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
  return info[op].intrinsic;
}

bool scalar_op_find(const char *name, size_t len, ScalarOp *op) {
  for (int k = 0; k < SC_COUNT; k++) {
    if (info[k].arity > 0 && strlen(info[k].name) == len && memcmp(info[k].name, name, len) == 0) {
      *op = (ScalarOp)k;
      return true;
    }
  }
  return false;
}

static bool is_comparison(ScalarOp op) {
  return op >= SC_LT && op <= SC_NE;
}

const char *scalar_mismatch(ScalarOp op, const Scalar *const *args) {
  for (int k = 0; k < info[op].arity; k++) {
    bool condition = op == SC_SELECT && k == 0;
    if (condition && args[k]->dtype != DT_BOOL)
      return "the first operand of select must be a comparison";
    if (!condition && args[k]->dtype != DT_F32)
      return "a comparison stands where a number is expected";
  }
  return NULL;
}

/* ---- nodes ---- */

static uint64_t node_hash(const Scalar *s) {
  uint64_t h = hash_bytes(WEFT_HASH_SEED, &s->op, sizeof s->op);
  h = hash_bytes(h, &s->value, sizeof s->value);
  h = hash_bytes(h, &s->index, sizeof s->index);
  for (int k = 0; k < s->n; k++)
    h = hash_bytes(h, &s->args[k]->id, sizeof s->args[k]->id);
  return h;
}

/* Values by their bits: 0 and -0 differ, a NaN is itself. */
static bool node_equal(const void *item, const void *key) {
  const Scalar *a = item, *b = key;
  return a->op == b->op && memcmp(&a->value, &b->value, sizeof a->value) == 0 && a->index == b->index &&
         memcmp(a->args, b->args, sizeof a->args) == 0;
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

const Scalar *scalar_const(Ctx *ctx, double value) {
  Scalar key = {.op = SC_CONST, .dtype = DT_F32, .value = (double)(float)value};
  if (isnan(value))
    key.value = (double)NAN; /* one NaN, whatever its sign and payload were */
  return intern_node(ctx, &key);
}

const Scalar *scalar_arg(Ctx *ctx, int index) {
  WEFT_ASSERT(index >= 0);
  Scalar key = {.op = SC_ARG, .dtype = DT_F32, .index = index};
  return intern_node(ctx, &key);
}

/* ---- folding ---- */

static bool is_value(const Scalar *s, double value) {
  return s->op == SC_CONST && memcmp(&s->value, &value, sizeof value) == 0;
}

/* True where `value`, computed without any error, is a float that every target holds: 0 or normal. */
static bool exact_float(double value) {
  return (double)(float)value == value && (value == 0.0 || fabs(value) >= 0x1p-126) && isfinite(value);
}

/* a + b in double is without error (Knuth's two-sum). */
static bool exact_sum(double a, double b) {
  double s = a + b, bb = s - a;
  return (a - (s - bb)) + (b - bb) == 0.0;
}

/* The value of an operation on constants, if it is exact. Products of two floats are exact in double. */
static bool fold_constants(ScalarOp op, double a, double b, double c, double *value) {
  switch (op) {
  case SC_NEG:
    *value = -a;
    return true;
  case SC_ABS:
    *value = fabs(a);
    return true;
  case SC_FLOOR:
    *value = floor(a);
    return true;
  case SC_MIN:
    *value = a < b ? a : b;
    return true;
  case SC_MAX:
    *value = a > b ? a : b;
    return true;
  case SC_ADD:
    *value = a + b;
    return exact_sum(a, b) && exact_float(*value);
  case SC_SUB:
    *value = a - b;
    return exact_sum(a, -b) && exact_float(*value);
  case SC_MUL:
    *value = a * b;
    return exact_float(*value);
  case SC_DIV:
    *value = a / b;
    return exact_float(*value) && exact_float(b) && *value * b == a;
  case SC_FMA:
    *value = a * b + c;
    return exact_sum(a * b, c) && exact_float(*value);
  case SC_EXP2I:
    *value = a == floor(a) && a >= -126 && a <= 127 ? ldexp(1, (int)a) : 0;
    return *value > 0;
  default:
    return false;
  }
}

static bool compare(ScalarOp op, double a, double b) {
  switch (op) {
  case SC_LT:
    return a < b;
  case SC_LE:
    return a <= b;
  case SC_GT:
    return a > b;
  case SC_GE:
    return a >= b;
  case SC_EQ:
    return a == b;
  default:
    return a != b;
  }
}

/* A simpler expression of the same value for every operand, NaN and signed zeros included, or NULL. */
static const Scalar *simplify(ScalarOp op, const Scalar *const *args) {
  const Scalar *a = args[0], *b = info[op].arity > 1 ? args[1] : NULL;
  switch (op) {
  case SC_NEG:
    return a->op == SC_NEG ? a->args[0] : NULL;
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
    if (is_comparison(a->op) && a->args[0]->op == SC_CONST && a->args[1]->op == SC_CONST)
      return compare(a->op, a->args[0]->value, a->args[1]->value) ? args[1] : args[2];
    return NULL;
  default:
    return NULL;
  }
}

const Scalar *scalar_make(Ctx *ctx, ScalarOp op, const Scalar *const *args) {
  int n = info[op].arity;
  WEFT_ASSERT(n > 0 && scalar_mismatch(op, args) == NULL);
  bool constant = true;
  double values[3] = {0};
  for (int k = 0; k < n; k++) {
    constant = constant && args[k]->op == SC_CONST;
    values[k] = args[k]->value;
  }
  double value;
  if (constant && fold_constants(op, values[0], values[1], values[2], &value))
    return scalar_const(ctx, value);
  const Scalar *simple = simplify(op, args);
  if (simple)
    return simple;
  Scalar key = {.op = op, .dtype = is_comparison(op) ? DT_BOOL : DT_F32, .n = n};
  for (int k = 0; k < n; k++)
    key.args[k] = args[k];
  return intern_node(ctx, &key);
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
  const Scalar *result = scalar_make(ctx, s->op, operands);
  Scalar *scratch = scalar_scratch(s);
  scratch->visit = walk;
  scratch->memo.node = result;
  return result;
}

const Scalar *scalar_subst(Ctx *ctx, const Scalar *s, const Scalar *const *args) {
  return subst(ctx, s, args, scalar_walk_number());
}

/* ---- printing ---- */

/* How tightly each form binds, as the grammar nests them. */
enum { BIND_COMPARISON, BIND_SUM, BIND_PRODUCT, BIND_UNARY, BIND_PRIMARY };

typedef struct {
  Str *out;
  void (*arg_text)(Str *out, int k, const void *env);
  const void *env;
} Printer;

static int binding(const Scalar *s) {
  if (is_comparison(s->op))
    return BIND_COMPARISON;
  switch (s->op) {
  case SC_ADD:
  case SC_SUB:
    return BIND_SUM;
  case SC_MUL:
  case SC_DIV:
    return BIND_PRODUCT;
  case SC_NEG:
    return BIND_UNARY;
  case SC_CONST:
    return signbit(s->value) && !isnan(s->value) ? BIND_UNARY : BIND_PRIMARY;
  default:
    return BIND_PRIMARY;
  }
}

/* In parentheses where it binds less tightly than its place asks for. */
static void print(const Printer *p, const Scalar *s, int place) {
  int bind = binding(s);
  if (bind < place)
    str_putc(p->out, '(');
  if (s->op == SC_CONST) {
    str_put_float(p->out, s->value, true);
  } else if (s->op == SC_ARG) {
    p->arg_text(p->out, s->index, p->env);
  } else if (s->op == SC_NEG) {
    str_putc(p->out, '-');
    print(p, s->args[0], BIND_PRIMARY);
  } else if (info[s->op].infix) { /* left-associative, comparisons not at all */
    print(p, s->args[0], bind == BIND_COMPARISON ? BIND_SUM : bind);
    str_printf(p->out, " %s ", info[s->op].infix);
    print(p, s->args[1], bind + 1);
  } else {
    str_printf(p->out, "%s(", info[s->op].name);
    for (int k = 0; k < s->n; k++) {
      str_put(p->out, k ? ", " : "");
      print(p, s->args[k], BIND_COMPARISON);
    }
    str_putc(p->out, ')');
  }
  if (bind < place)
    str_putc(p->out, ')');
}

void scalar_print(Str *out, const Scalar *s, void (*arg_text)(Str *out, int k, const void *env), const void *env) {
  print(&(Printer){out, arg_text, env}, s, BIND_COMPARISON);
}
