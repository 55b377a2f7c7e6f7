/* Compiles index expressions, see index_code.h. A table maps nodes to slots; an entry is valid while the level that
 * computes it is the same open level as when it was made (levels carry serial numbers, so nothing is ever deleted). */
#include "lower/index_code.h"

typedef struct {
  const Expr *expr;
  int slot, level;
  uint64_t serial;
} Entry;

typedef struct {
  const Expr *var;
  int slot;
  uint64_t serial;
  IndexInstrs *instrs;
} Level;

struct IndexCode {
  Arena *arena;
  VEC(Level) levels;
  IndexInstrs outer;
  Entry *table;
  size_t n_entries, cap; /* cap: a power of two */
  int n_slots;
  uint64_t next_serial;
};

typedef struct {
  int slot, level; /* slot -1: not to be had */
} Place;

static const Place NOWHERE = {-1, 0};

IndexCode *index_code_create(Arena *arena) {
  IndexCode *c = ARENA_NEW(arena, IndexCode);
  c->arena = arena;
  c->cap = 64;
  c->table = ARENA_ARRAY(arena, Entry, c->cap);
  Level outer = {.slot = -1, .serial = c->next_serial++, .instrs = &c->outer};
  vec_push(arena, &c->levels, outer);
  return c;
}

/* The entry of e, or the free one where it belongs. */
static Entry *find(Entry *table, size_t cap, const Expr *e) {
  size_t i = (size_t)(e->id * 0x9e3779b97f4a7c15ull >> 20) & (cap - 1);
  while (table[i].expr && table[i].expr != e)
    i = (i + 1) & (cap - 1);
  return &table[i];
}

static void remember(IndexCode *c, const Expr *e, Place place) {
  if ((c->n_entries + 1) * 2 > c->cap) {
    Entry *grown = ARENA_ARRAY(c->arena, Entry, c->cap * 2);
    for (size_t k = 0; k < c->cap; k++)
      if (c->table[k].expr)
        *find(grown, c->cap * 2, c->table[k].expr) = c->table[k];
    c->table = grown;
    c->cap *= 2;
  }
  Entry *entry = find(c->table, c->cap, e);
  if (!entry->expr)
    c->n_entries++;
  *entry = (Entry){e, place.slot, place.level, c->levels.data[place.level].serial};
}

static Place recall(const IndexCode *c, const Expr *e) {
  const Entry *entry = find(c->table, c->cap, e);
  if (entry->expr && (size_t)entry->level < c->levels.len && c->levels.data[entry->level].serial == entry->serial)
    return (Place){entry->slot, entry->level};
  return NOWHERE;
}

int index_code_enter(IndexCode *c, const Expr *var, IndexInstrs *instrs) {
  Level level = {.var = var, .slot = c->n_slots++, .serial = c->next_serial++, .instrs = instrs};
  vec_push(c->arena, &c->levels, level);
  remember(c, var, (Place){level.slot, (int)c->levels.len - 1});
  return level.slot;
}

void index_code_leave(IndexCode *c) {
  WEFT_ASSERT(c->levels.len > 1);
  c->levels.len--;
}

static Place emit(IndexCode *c, int level, IndexInstr instr) {
  instr.dst = c->n_slots++;
  vec_push(c->arena, c->levels.data[level].instrs, instr);
  return (Place){instr.dst, level};
}

static int max_int(int a, int b) {
  return a > b ? a : b;
}

static Place compile(IndexCode *c, const Expr *e);

/* Terms of outer levels are added up first, so that their partial sum stays out of the inner loops. */
static Place compile_sum(IndexCode *c, const Expr *e) {
  Place *terms = ARENA_ARRAY(c->arena, Place, e->n);
  int deepest = 0;
  for (int k = 0; k < e->n; k++) {
    terms[k] = compile(c, e->terms[k].atom);
    if (terms[k].slot < 0)
      return NOWHERE;
    deepest = max_int(deepest, terms[k].level);
  }
  Place sum = NOWHERE;
  for (int level = 0; level <= deepest; level++)
    for (int k = 0; k < e->n; k++) {
      if (terms[k].level != level)
        continue;
      if (sum.slot < 0)
        sum = emit(c, level, (IndexInstr){.op = IX_SCALE, .a = terms[k].slot, .k = e->terms[k].coef, .c = e->value});
      else
        sum = emit(c, level, (IndexInstr){.op = IX_AXPY, .a = terms[k].slot, .k = e->terms[k].coef, .b = sum.slot});
    }
  return sum;
}

static Place compile(IndexCode *c, const Expr *e) {
  Place place = recall(c, e);
  if (place.slot >= 0)
    return place;
  switch (e->kind) {
  case EX_SYM:
  case EX_VAR:
    return NOWHERE;
  case EX_CONST:
    place = emit(c, 0, (IndexInstr){.op = IX_CONST, .k = e->value});
    break;
  case EX_SUM:
    place = compile_sum(c, e);
    break;
  case EX_PROD:
  case EX_DIV:
  case EX_MOD:
  case EX_MIN:
  case EX_MAX: {
    IndexOp op = e->kind == EX_PROD  ? IX_MUL
                 : e->kind == EX_DIV ? IX_DIV
                 : e->kind == EX_MOD ? IX_MOD
                 : e->kind == EX_MIN ? IX_MIN
                                     : IX_MAX;
    Place a = compile(c, e->a), b = compile(c, e->b);
    if (a.slot < 0 || b.slot < 0)
      return NOWHERE;
    place = emit(c, max_int(a.level, b.level), (IndexInstr){.op = op, .a = a.slot, .b = b.slot});
    break;
  }
  }
  if (place.slot >= 0)
    remember(c, e, place);
  return place;
}

int index_code_slot(IndexCode *c, const Expr *e) {
  return compile(c, e).slot;
}

int index_code_offset(IndexCode *c, const Expr *const *index, const int64_t *extents, const int64_t *strides, int n) {
  Place *digits = ARENA_ARRAY(c->arena, Place, n);
  int deepest = 0;
  for (int k = 0; k < n; k++) {
    digits[k] = compile(c, index[k]);
    if (digits[k].slot < 0)
      return -1;
    deepest = max_int(deepest, digits[k].level);
  }
  Place sum = emit(c, 0, (IndexInstr){.op = IX_CONST, .k = 0});
  for (int level = 0; level <= deepest; level++)
    for (int k = 0; k < n; k++)
      if (digits[k].level == level)
        sum = emit(c, level,
                   (IndexInstr){.op = IX_DIGIT, .a = digits[k].slot, .b = sum.slot, .k = extents[k], .c = strides[k]});
  return sum.slot;
}

const IndexInstrs *index_code_outer(const IndexCode *c) {
  return &c->outer;
}

int index_code_slots(const IndexCode *c) {
  return c->n_slots;
}

static int64_t wrap_mul(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}
static int64_t wrap_add(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

void index_code_run(const IndexInstrs *code, int64_t *slots) {
  for (size_t n = 0; n < code->len; n++) {
    const IndexInstr *i = &code->data[n];
    int64_t a = slots[i->a], b = slots[i->b], r = 0;
    switch (i->op) {
    case IX_CONST:
      r = i->k;
      break;
    case IX_AXPY:
      r = wrap_add(wrap_mul(a, i->k), b);
      break;
    case IX_SCALE:
      r = wrap_add(wrap_mul(a, i->k), i->c);
      break;
    case IX_MUL:
      r = wrap_mul(a, b);
      break;
    case IX_DIV:
      r = b > 0 ? floordiv_i64(a, b) : 0;
      break;
    case IX_MOD:
      r = b > 0 ? floormod_i64(a, b) : 0;
      break;
    case IX_MIN:
      r = a < b ? a : b;
      break;
    case IX_MAX:
      r = a > b ? a : b;
      break;
    case IX_DIGIT:
      r = b + (a >= 0 && a < i->k ? a * i->c : INDEX_OUTSIDE);
      break;
    }
    slots[i->dst] = r;
  }
}
