/* Index expressions and addresses as LLVM values.
 *
 * The terms of a sum are added from the outermost loop inward, so that each partial sum lands in the head of its own
 * loop and an inner loop adds what changes in it and nothing else; the constant comes last, where the addressing mode
 * of the instruction takes it for nothing. Offsets count elements. Address arithmetic is not marked inbounds: a partial
 * sum may point outside of the buffer. */
#include "codegen/llvm_gen.h"

/* ---- maps ---- */

static struct GenMapSlot *find_slot(const GenMap *map, uint64_t key) {
  size_t k = (size_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (map->cap - 1);
  while (map->slots[k].key && map->slots[k].key != key)
    k = (k + 1) & (map->cap - 1);
  return &map->slots[k];
}

void *gen_map_get(const GenMap *map, uint64_t key) {
  return map->cap ? find_slot(map, key)->value : NULL;
}

void gen_map_put(Arena *arena, GenMap *map, uint64_t key, void *value) {
  if (2 * (map->n + 1) > map->cap) {
    GenMap grown = {.n = map->n, .cap = map->cap ? 2 * map->cap : 16};
    grown.slots = ARENA_ARRAY(arena, struct GenMapSlot, grown.cap);
    for (size_t k = 0; k < map->cap; k++)
      if (map->slots[k].key)
        *find_slot(&grown, map->slots[k].key) = map->slots[k];
    *map = grown;
  }
  struct GenMapSlot *slot = find_slot(map, key);
  map->n += slot->key == 0;
  *slot = (struct GenMapSlot){key, value};
}

/* ---- scopes and variables ---- */

static const GenVar *find_var(const Gen *g, const Expr *var) {
  for (size_t k = g->vars.len; k-- > 0;)
    if (g->vars.data[k].var == var)
      return &g->vars.data[k];
  WEFT_UNREACHABLE();
}

/* The depth of the outermost scope that knows all variables of e. */
static int depth_of(const Gen *g, const Expr *e) {
  int depth = 0;
  switch (e->kind) {
  case EX_CONST:
    return 0;
  case EX_VAR:
    return find_var(g, e)->depth;
  case EX_SUM:
    for (int k = 0; k < e->n; k++) {
      int d = depth_of(g, e->terms[k].atom);
      depth = d > depth ? d : depth;
    }
    return depth;
  case EX_PROD:
  case EX_DIV:
  case EX_MOD:
  case EX_MIN:
  case EX_MAX: {
    int a = depth_of(g, e->a), b = depth_of(g, e->b);
    return a > b ? a : b;
  }
  case EX_SYM: /* codegen_emit has refused programs with symbols */
    break;
  }
  WEFT_UNREACHABLE();
}

static GenScope *scope_at(const Gen *g, int depth) {
  GenScope *s = g->scope;
  while (s->depth > depth)
    s = s->outer;
  return s;
}

/* g->hoist in the head of this scope, behind what is there. */
static LLVMBuilderRef hoist_to(const Gen *g, const GenScope *scope) {
  llvm.PositionBuilderBefore(g->hoist, llvm.GetBasicBlockTerminator(scope->head));
  return g->hoist;
}

LLVMValueRef gen_i64(const Gen *g, int64_t value) {
  return llvm.ConstInt(g->i64, (unsigned long long)value, true);
}

const Expr *gen_subst(Gen *g, const Expr *e) {
  for (size_t k = 0; k < g->vars.len; k++)
    if (!g->vars.data[k].value && g->vars.data[k].constant)
      e = expr_subst(g->ctx, e, g->vars.data[k].var, g->vars.data[k].constant);
  return e;
}

/* ---- values ---- */

static int64_t constant_part(const Expr *e) {
  return e->kind == EX_CONST || e->kind == EX_SUM ? e->value : 0;
}

/* The terms of e (without constant part) that are known outside of scope `depth`. */
static const Expr *terms_outside(Gen *g, const Expr *e, int depth) {
  const Expr *sum = expr_const(g->ctx, 0);
  if (e->kind != EX_SUM)
    return sum;
  for (int k = 0; k < e->n; k++)
    if (depth_of(g, e->terms[k].atom) < depth)
      sum = expr_add(g->ctx, sum, expr_mul_const(g->ctx, e->terms[k].atom, e->terms[k].coef));
  return sum;
}

/* a div b and a mod b, Euclidean, b > 0. Machine division truncates: where the dividend may be negative the result is
 * corrected by the sign of the remainder; a power of two needs a shift or a mask. */
static LLVMValueRef build_divmod(const Gen *g, LLVMBuilderRef at, const Expr *e, LLVMValueRef a, LLVMValueRef b) {
  bool div = e->kind == EX_DIV;
  int64_t divisor;
  if (e->a->lo >= 0)
    return div ? llvm.BuildUDiv(at, a, b, "") : llvm.BuildURem(at, a, b, "");
  if (expr_is_const(e->b, &divisor) && (divisor & (divisor - 1)) == 0)
    return div ? llvm.BuildAShr(at, a, gen_i64(g, __builtin_ctzll((unsigned long long)divisor)), "")
               : llvm.BuildAnd(at, a, gen_i64(g, divisor - 1), "");
  LLVMValueRef zero = gen_i64(g, 0), rem = llvm.BuildSRem(at, a, b, "");
  LLVMValueRef negative = llvm.BuildICmp(at, LLVMIntSLT, rem, zero, "");
  if (div)
    return llvm.BuildAdd(at, llvm.BuildSDiv(at, a, b, ""), llvm.BuildSExt(at, negative, g->i64, ""), "");
  return llvm.BuildAdd(at, rem, llvm.BuildSelect(at, negative, b, zero, ""), "");
}

static LLVMValueRef build_sum(Gen *g, const Expr *e, const GenScope *scope) {
  const Expr *outer = terms_outside(g, e, scope->depth);
  LLVMValueRef sum = expr_is_const(outer, NULL) ? NULL : gen_index(g, outer);
  for (int k = 0; k < e->n; k++) {
    if (depth_of(g, e->terms[k].atom) < scope->depth)
      continue;
    LLVMValueRef term = gen_index(g, e->terms[k].atom);
    LLVMBuilderRef at = hoist_to(g, scope);
    if (e->terms[k].coef != 1)
      term = llvm.BuildMul(at, term, gen_i64(g, e->terms[k].coef), "");
    sum = sum ? llvm.BuildAdd(at, sum, term, "") : term;
  }
  return e->value ? llvm.BuildAdd(hoist_to(g, scope), sum, gen_i64(g, e->value), "") : sum;
}

LLVMValueRef gen_index(Gen *g, const Expr *e) {
  if (e->kind == EX_CONST)
    return gen_i64(g, e->value);
  if (e->kind == EX_VAR)
    return find_var(g, e)->value;
  GenScope *scope = scope_at(g, depth_of(g, e));
  LLVMValueRef value = gen_map_get(&scope->values, e->id + (uint64_t)1);
  if (value)
    return value;
  if (e->kind == EX_SUM) {
    value = build_sum(g, e, scope);
  } else {
    LLVMValueRef a = gen_index(g, e->a), b = gen_index(g, e->b);
    LLVMBuilderRef at = hoist_to(g, scope);
    if (e->kind == EX_PROD)
      value = llvm.BuildMul(at, a, b, "");
    else if (e->kind == EX_DIV || e->kind == EX_MOD)
      value = build_divmod(g, at, e, a, b);
    else
      value = llvm.BuildSelect(at, llvm.BuildICmp(at, e->kind == EX_MIN ? LLVMIntSLT : LLVMIntSGT, a, b, ""), a, b, "");
  }
  gen_map_put(g->ctx->arena, &scope->values, e->id + (uint64_t)1, value);
  return value;
}

/* The address at an offset without constant part. */
static LLVMValueRef address_of_terms(Gen *g, int slot, const Expr *offset) {
  if (expr_is_const(offset, NULL))
    return g->buffers.data[slot].base;
  GenScope *scope = scope_at(g, depth_of(g, offset));
  uint64_t key = ((uint64_t)slot + 1) << 32 | offset->id;
  LLVMValueRef address = gen_map_get(&scope->values, key);
  if (address)
    return address;
  const Expr *outer = terms_outside(g, offset, scope->depth);
  LLVMValueRef base = address_of_terms(g, slot, outer);
  LLVMValueRef index = gen_index(g, expr_sub(g->ctx, offset, outer));
  address = llvm.BuildGEP2(hoist_to(g, scope), g->buffers.data[slot].element, base, &index, 1, "");
  gen_map_put(g->ctx->arena, &scope->values, key, address);
  return address;
}

LLVMValueRef gen_address(Gen *g, int slot, const Expr *offset) {
  int64_t constant = constant_part(offset);
  LLVMValueRef address = address_of_terms(g, slot, expr_add_const(g->ctx, offset, -constant));
  if (!constant)
    return address;
  LLVMValueRef index = gen_i64(g, constant);
  return llvm.BuildGEP2(g->builder, g->buffers.data[slot].element, address, &index, 1, "");
}
