/* Common subexpressions: of ops with the same row, operands, attributes and result type the first one stays, and so it
 * does of constants with the same type and bytes. Constants derived from equal ones become derived from the one that
 * stays. */
#include "passes/rewrite.h"

bool pass_cse(Unit *unit, const PassOption *options, int n_options);

/* ---- constants ---- */

typedef struct {
  const Constant *from;
  Constant *to;
} Merged;

typedef struct {
  Module *m;
  Intern by_content, merged; /* Constant; Merged by `from` */
} Constants;

typedef struct {
  Module *m;
  Constant *c;
} ContentKey;

static bool content_equal(const void *item, const void *key) {
  const ContentKey *k = key;
  const Constant *c = item;
  return c->type == k->c->type && memcmp(constant_data(k->m, (Constant *)(uintptr_t)c), constant_data(k->m, k->c),
                                         (size_t)type_bytes(c->type)) == 0;
}

static uint64_t address_hash(const void *p) {
  return hash_bytes(WEFT_HASH_SEED, &p, sizeof p);
}

static bool merged_equal(const void *item, const void *key) {
  return ((const Merged *)item)->from == key;
}

static Constant *first_equal(const Constants *all, Constant *c) {
  const Merged *merged = intern_find(&all->merged, address_hash(c), merged_equal, c);
  return merged ? merged->to : c;
}

static void merge(Constants *all, const Constant *from, Constant *to) {
  if (from == to)
    return;
  Merged *merged = ARENA_NEW(all->m->ctx->arena, Merged);
  *merged = (Merged){from, to};
  intern_add(all->m->ctx, &all->merged, address_hash(from), merged);
}

/* A constant that no other shares its type with need not be read. */
static bool *shared_types(const Module *m) {
  bool *one = ARENA_ARRAY(m->ctx->arena, bool, m->ctx->next_type_id);
  bool *more = ARENA_ARRAY(m->ctx->arena, bool, m->ctx->next_type_id);
  for (const Constant *c = m->first_constant; c; c = c->next) {
    if (c->base)
      continue;
    more[c->type->id] = one[c->type->id];
    one[c->type->id] = true;
  }
  return more;
}

/* Bases stand before what is derived from them. */
static Constants merge_constants(Module *m) {
  Constants all = {.m = m};
  const bool *shared = shared_types(m);
  const Constant *last = m->last_constant;
  for (Constant *c = m->first_constant; c; c = c == last ? NULL : c->next) {
    if (c->base) {
      Constant *base = first_equal(&all, c->base);
      merge(&all, c, base == c->base ? c : module_derive_constant(m, base, c->type->layout));
    } else if (shared[c->type->id]) {
      ContentKey key = {m, c};
      const Constant *first = intern_find(&all.by_content, constant_hash(m, c), content_equal, &key);
      if (first)
        merge(&all, c, (Constant *)(uintptr_t)first);
      else
        intern_add(m->ctx, &all.by_content, constant_hash(m, c), c);
    }
  }
  return all;
}

/* ---- ops ---- */

static uint64_t op_hash(const Op *op) {
  uint64_t h = hash_bytes(WEFT_HASH_SEED, &op->def->code, sizeof op->def->code);
  h = hash_bytes(h, &op->result->type->id, sizeof op->result->type->id);
  for (int k = 0; k < op->n_operands; k++) {
    uint32_t id = op->operands[k] ? op->operands[k]->id : UINT32_MAX;
    h = hash_bytes(h, &id, sizeof id);
  }
  for (int k = 0; k < op->def->n_attrs; k++)
    h = attr_hash(h, &op->def->attrs[k], &op->attrs[k]);
  return h;
}

static bool op_equal(const void *item, const void *key) {
  const Op *a = item, *b = key;
  if (a->def != b->def || a->result->type != b->result->type || a->n_operands != b->n_operands)
    return false;
  for (int k = 0; k < a->n_operands; k++)
    if (a->operands[k] != b->operands[k])
      return false;
  for (int k = 0; k < a->def->n_attrs; k++)
    if (!attr_equal(&a->def->attrs[k], &a->attrs[k], &b->attrs[k]))
      return false;
  return true;
}

static void use_first_constants(const Constants *all, Op *op) {
  for (int k = 0; k < op->def->n_attrs; k++)
    if (op->attrs[k].constant)
      op->attrs[k].constant = first_equal(all, op->attrs[k].constant);
}

bool pass_cse(Unit *unit, const PassOption *options, int n_options) {
  (void)options, (void)n_options;
  Rewrite r = rewrite_start(unit);
  Constants constants = merge_constants(unit->module);
  Intern ops = {0};
  for (Op *op = unit->module->main->first, *next; op; op = next) {
    next = op->next;
    rewrite_operands(&r, op);
    use_first_constants(&constants, op);
    uint64_t hash = op_hash(op);
    const Op *first = intern_find(&ops, hash, op_equal, op);
    if (first)
      rewrite_op(&r, op, first->result);
    else
      intern_add(unit->ctx, &ops, hash, op);
  }
  return rewrite_finish(&r);
}
