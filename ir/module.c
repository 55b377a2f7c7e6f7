/* Modules: constants, functions. */
#include "ir/tensor.h"

const char *function_take_name(Ctx *ctx, Function *f, const char *name) {
  return name_take(ctx, &f->names, name);
}

/* ---- modules and constants ---- */

Module *module_create(Ctx *ctx, const char *file, const char *name) {
  Module *m = ARENA_NEW(ctx->arena, Module);
  m->ctx = ctx;
  m->file = file ? intern_str(ctx, file) : NULL;
  m->name = intern_str(ctx, name);
  return m;
}

Constant *module_add_constant(Module *m, const char *name, const Type *type, void *data, Loc loc) {
  Constant *c = ARENA_NEW(m->ctx->arena, Constant);
  c->name = name_take(m->ctx, &m->constant_names, name);
  c->type = type;
  c->data = data;
  c->loc = loc;
  if (m->last_constant)
    m->last_constant->next = c;
  else
    m->first_constant = c;
  m->last_constant = c;
  return c;
}

static bool derived_equal(const void *item, const void *key) {
  const Constant *a = item, *b = key;
  return a->base == b->base && a->type == b->type;
}

static uint64_t derived_hash(const Constant *c) {
  const char *root = c->base->name;
  return hash_bytes(hash_bytes(WEFT_HASH_SEED, &c->type->id, sizeof c->type->id), root, strlen(root));
}

Constant *module_add_derived(Module *m, const char *name, Constant *base, const Type *type, Loc loc) {
  Constant *c = module_add_constant(m, name, type, NULL, loc);
  c->base = base;
  intern_add(m->ctx, &m->derived, derived_hash(c), c);
  return c;
}

Constant *module_derive_constant(Module *m, Constant *base, const Layout *layout) {
  Constant *root = base;
  while (root->base)
    root = root->base;
  if (root->type->layout == layout)
    return root;
  const Type *type = type_with_layout(m->ctx, root->type, layout);
  if (!type)
    return NULL;
  Constant key = {.base = root, .type = type};
  const Constant *found = intern_find(&m->derived, derived_hash(&key), derived_equal, &key);
  return found ? (Constant *)(uintptr_t)found : module_add_derived(m, root->name, root, type, root->loc);
}

Constant *module_find_constant(const Module *m, const char *name) {
  for (Constant *c = m->first_constant; c; c = c->next)
    if (strcmp(c->name, name) == 0)
      return c;
  return NULL;
}

const void *constant_data(Module *m, Constant *c) {
  if (!c->data) {
    WEFT_ASSERT(c->base != NULL);
    Tensor *t = tensor_of_type(m->ctx, c->type);
    tensor_from_storage(t, c->base->type, constant_data(m, c->base));
    c->data = arena_alloc(m->ctx->arena, (size_t)type_bytes(c->type));
    tensor_to_storage(t, c->type, c->data);
  }
  return c->data;
}

uint64_t constant_hash(Module *m, Constant *c) {
  if (c->hash == 0) {
    const char *type = type_text(m->ctx, c->type);
    uint64_t h = hash_bytes(WEFT_HASH_SEED, type, strlen(type));
    h = hash_bytes(h, constant_data(m, c), (size_t)type_bytes(c->type));
    c->hash = h ? h : 1; /* 0 stands for "not asked yet" */
  }
  return c->hash;
}

static bool constant_equal(const void *item, const void *key) {
  return item == key;
}

static uint64_t address_hash(const Constant *c) {
  return hash_bytes(WEFT_HASH_SEED, &c, sizeof c);
}

/* Adds c and what it is derived from to the set. */
static void keep_constant(Ctx *ctx, Intern *kept, const Constant *c) {
  for (; c && !intern_find(kept, address_hash(c), constant_equal, c); c = c->base)
    intern_add(ctx, kept, address_hash(c), c);
}

void module_drop_unused_constants(Module *m) {
  Intern kept = {0};
  for (const Op *op = m->main->first; op; op = op->next)
    for (int k = 0; k < op->def->n_attrs; k++)
      keep_constant(m->ctx, &kept, op->attrs[k].constant);
  Constant *c = m->first_constant;
  m->first_constant = m->last_constant = NULL;
  m->derived = (Intern){0};
  for (Constant *next; c; c = next) {
    next = c->next;
    c->next = NULL;
    if (!intern_find(&kept, address_hash(c), constant_equal, c))
      continue;
    *(m->last_constant ? &m->last_constant->next : &m->first_constant) = c;
    m->last_constant = c;
    if (c->base)
      intern_add(m->ctx, &m->derived, derived_hash(c), c);
  }
}

/* ---- functions ---- */

Function *function_create(Module *m, const char *name) {
  Function *f = ARENA_NEW(m->ctx->arena, Function);
  f->name = intern_str(m->ctx, name);
  return f;
}

Value *function_add_param(Module *m, Function *f, const char *name, const Type *type, const char *roles, Loc loc) {
  Value *v = ARENA_NEW(m->ctx->arena, Value);
  v->id = f->n_values++;
  v->name = name_take(m->ctx, &f->names, name);
  v->type = type;
  v->index = (int)f->params.len;
  v->roles = roles ? intern_str(m->ctx, roles) : NULL;
  v->loc = loc;
  vec_push(m->ctx->arena, &f->params, v);
  return v;
}

void function_add_result(Module *m, Function *f, const char *name, Value *value, const Type *type, const char *roles,
                         Loc loc) {
  FuncResult r = {.name = intern_str(m->ctx, name), .value = value, .type = type, .loc = loc};
  r.roles = roles ? intern_str(m->ctx, roles) : NULL;
  vec_push(m->ctx->arena, &f->results, r);
}

Value *function_find_value(const Function *f, const char *name) {
  for (size_t k = 0; k < f->params.len; k++)
    if (strcmp(f->params.data[k]->name, name) == 0)
      return f->params.data[k];
  for (const Op *op = f->first; op; op = op->next)
    if (strcmp(op->result->name, name) == 0)
      return op->result;
  return NULL;
}

void op_erase(Function *f, Op *op) {
  if (op->prev)
    op->prev->next = op->next;
  else
    f->first = op->next;
  if (op->next)
    op->next->prev = op->prev;
  else
    f->last = op->prev;
  op->prev = op->next = NULL;
}

void value_replace_uses(Function *f, Value *from, Value *to) {
  for (Op *op = f->first; op; op = op->next) {
    for (int k = 0; k < op->n_operands; k++)
      if (op->operands[k] == from)
        op->operands[k] = to;
    if (op->fused == from)
      op->fused = to;
  }
  for (size_t k = 0; k < f->results.len; k++)
    if (f->results.data[k].value == from)
      f->results.data[k].value = to;
}

uint32_t *function_count_uses(Ctx *ctx, const Function *f) {
  uint32_t *uses = ARENA_ARRAY(ctx->arena, uint32_t, f->n_values);
  for (const Op *op = f->first; op; op = op->next)
    for (int k = 0; k < op->n_operands; k++)
      if (op->operands[k])
        uses[op->operands[k]->id]++;
  for (size_t k = 0; k < f->results.len; k++)
    uses[f->results.data[k].value->id]++;
  return uses;
}
