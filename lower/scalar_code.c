/* Compiles scalar expressions, see scalar_code.h: the nodes in an order where operands come first, one register each.
 */
#include "lower/scalar_code.h"

typedef struct {
  Arena *arena;
  ScalarCode code;
  VEC(ScalarValue) initial; /* of the registers */
  const Scalar **keys;      /* open addressing by id: which node a register holds */
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

static int new_register(Builder *b, ScalarValue initial) {
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
    slot = new_register(b, scalar_eval_compiled(s, NULL));
  } else {
    int args[3] = {0};
    for (int k = 0; k < s->n; k++)
      args[k] = compile(b, s->args[k]);
    slot = new_register(b, (ScalarValue){0});
    ScalarInstr instr = {s->op, s->args[s->n - 1]->dtype, s->dtype, slot, args[0], args[1], args[2]};
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
    new_register(&b, (ScalarValue){0});
  b.code.result = compile(&b, scalar_expand(ctx, value));
  b.code.registers = b.initial.data;
  return b.code;
}

ScalarValue scalar_code_run(const ScalarCode *code) {
  ScalarValue *r = code->registers;
  for (size_t n = 0; n < code->code.len; n++) {
    const ScalarInstr *i = &code->code.data[n];
    r[i->dst] = scalar_apply(i->op, i->operands, i->result, (ScalarValue[3]){r[i->a], r[i->b], r[i->c]});
  }
  return r[code->result];
}
