/* Compiles scalar expressions, see scalar_code.h: the nodes in an order where operands come first, one register each.
 */
#include "lower/scalar_code.h"

#include <math.h>

typedef struct {
  Arena *arena;
  ScalarCode code;
  VEC(float) initial;  /* of the registers */
  const Scalar **keys; /* open addressing by id: which node a register holds */
  int *slots;
  size_t n, cap;
} Builder;

static size_t find(const Scalar *const *keys, size_t cap, const Scalar *s) {
  size_t i = (size_t)(s->id * 0x9e3779b97f4a7c15ull >> 20) & (cap - 1);
  while (keys[i] && keys[i] != s)
    i = (i + 1) & (cap - 1);
  return i;
}

static void remember(Builder *b, const Scalar *s, int slot) {
  if ((b->n + 1) * 2 > b->cap) {
    size_t cap = b->cap * 2;
    const Scalar **keys = ARENA_ARRAY(b->arena, const Scalar *, cap);
    int *slots = ARENA_ARRAY(b->arena, int, cap);
    for (size_t k = 0; k < b->cap; k++)
      if (b->keys[k]) {
        size_t i = find(keys, cap, b->keys[k]);
        keys[i] = b->keys[k];
        slots[i] = b->slots[k];
      }
    b->keys = keys;
    b->slots = slots;
    b->cap = cap;
  }
  size_t i = find(b->keys, b->cap, s);
  b->keys[i] = s;
  b->slots[i] = slot;
  b->n++;
}

static int new_register(Builder *b, float initial) {
  vec_push(b->arena, &b->initial, initial);
  return (int)b->initial.len - 1;
}

static int compile(Builder *b, const Scalar *s) {
  size_t i = find(b->keys, b->cap, s);
  if (b->keys[i])
    return b->slots[i];
  int slot;
  if (s->op == SC_ARG) {
    WEFT_ASSERT(s->index < b->code.n_args);
    slot = s->index;
  } else if (s->op == SC_CONST) {
    slot = new_register(b, (float)s->value);
  } else {
    int args[3] = {0};
    for (int k = 0; k < s->n; k++)
      args[k] = compile(b, s->args[k]);
    slot = new_register(b, 0);
    ScalarInstr instr = {s->op, slot, args[0], args[1], args[2]};
    vec_push(b->arena, &b->code.code, instr);
  }
  remember(b, s, slot);
  return slot;
}

ScalarCode scalar_code(Ctx *ctx, Arena *arena, const Scalar *value, int n_args) {
  Builder b = {.arena = arena, .code.n_args = n_args, .cap = 16};
  b.keys = ARENA_ARRAY(arena, const Scalar *, b.cap);
  b.slots = ARENA_ARRAY(arena, int, b.cap);
  for (int k = 0; k < n_args; k++)
    new_register(&b, 0);
  b.code.result = compile(&b, scalar_expand(ctx, value));
  b.code.registers = b.initial.data;
  return b.code;
}

float scalar_code_run(const ScalarCode *code) {
  float *f = code->registers;
  for (size_t n = 0; n < code->code.len; n++) {
    const ScalarInstr *i = &code->code.data[n];
    float a = f[i->a], b = f[i->b], c = f[i->c], r = 0;
    switch (i->op) {
    case SC_ADD:
      r = a + b;
      break;
    case SC_SUB:
      r = a - b;
      break;
    case SC_MUL:
      r = a * b;
      break;
    case SC_DIV:
      r = a / b;
      break;
    case SC_NEG:
      r = -a;
      break;
    case SC_FMA:
      r = fmaf(a, b, c);
      break;
    case SC_MIN:
      r = a < b ? a : b;
      break;
    case SC_MAX:
      r = a > b ? a : b;
      break;
    case SC_ABS:
      r = fabsf(a);
      break;
    case SC_FLOOR:
      r = floorf(a);
      break;
    case SC_SQRT:
      r = sqrtf(a);
      break;
    case SC_EXP2I:
      r = ldexpf(1.0f, a >= -126 ? (a <= 127 ? (int)a : 127) : -126);
      break;
    case SC_LT:
      r = a < b;
      break;
    case SC_LE:
      r = a <= b;
      break;
    case SC_GT:
      r = a > b;
      break;
    case SC_GE:
      r = a >= b;
      break;
    case SC_EQ:
      r = a == b;
      break;
    case SC_NE:
      r = a != b;
      break;
    case SC_SELECT:
      r = a != 0 ? b : c;
      break;
    case SC_CONST:
    case SC_ARG:
    case SC_EXP:
    case SC_TANH:
    case SC_SIGMOID:
    case SC_COUNT:
      WEFT_UNREACHABLE();
    }
    f[i->dst] = r;
  }
  return f[code->result];
}
