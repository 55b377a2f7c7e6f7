/* Loads and stores of a nest, and index values.
 *
 * An access is classified by its element offset, flattened over the buffer's digits, as a function of the lane: the
 * same for all lanes (one scalar), or runs of consecutive elements, each one vector instruction; lanes that stand alone
 * are scalars put together. Where the offset is linear in the vector variable its coefficient tells; otherwise each
 * lane's number is substituted, which lets div and mod fold (a blocked layout read across blocks), and offsets are
 * compared.
 *
 * Alignment is the element's: callers need to give no more, and unaligned vectors cost nothing where they do not cross
 * a cache line.
 *
 * Buffers do not overlap within a nest: inputs, outputs, weights and arena by the contract with the caller, arena
 * buffers that live at one time by the memory plan. Alias scopes say so, one per buffer; two arena buffers that do
 * overlap (one computed in place of another) are not declared apart. */
#include "codegen/llvm_gen.h"

#include "runtime/model.h"

#define LOCAL_ALIGN 64

/* ---- buffers ---- */

static int find_buffer(const Gen *g, const Buffer *b) {
  for (size_t k = 0; k < g->buffers.len; k++)
    if (g->buffers.data[k].buffer == b)
      return (int)k;
  return -1;
}

static void add_buffer(Gen *g, const Buffer *b) {
  if (!b || find_buffer(g, b) >= 0)
    return;
  GenBuffer added = {.buffer = b, .element = gen_storage_type(g, b->type->dtype)};
  int64_t stride = 1;
  for (int k = b->type->layout->n - 1; k >= 0; k--) {
    added.strides[k] = stride;
    stride *= expr_value(layout_extent(g->ctx, b->type->layout, b->type->dims, k));
  }
  vec_push(g->ctx->arena, &g->buffers, added);
}

/* Returns true where there is an index statement. */
static bool collect_buffers(Gen *g, const Stmt *s) {
  bool indices = false;
  for (; s; s = s->next) {
    indices = indices || s->kind == ST_INDEX;
    if (s->kind == ST_LOOP && collect_buffers(g, s->body))
      indices = true;
    if (s->kind != ST_STORE && s->kind != ST_INDEX)
      continue;
    for (int k = 0; k < s->n_args; k++)
      add_buffer(g, s->args[k].buffer);
    add_buffer(g, s->target.buffer);
  }
  return indices;
}

static LLVMValueRef load_pointer(Gen *g, LLVMValueRef from, size_t offset, const char *name) {
  LLVMValueRef index = gen_i64(g, (int64_t)offset);
  LLVMValueRef address = llvm.BuildGEP2(g->builder, g->i8, from, &index, 1, "");
  return llvm.BuildLoad2(g->builder, g->ptr, address, name);
}

static LLVMValueRef base_address(Gen *g, const Buffer *b) {
  LLVMValueRef frame = llvm.GetParam(g->function, 0), base, offset;
  switch (b->space) {
  case BUF_INPUT:
    base = load_pointer(g, frame, offsetof(WeftFrame, inputs), "inputs");
    return load_pointer(g, base, (size_t)b->index * sizeof(void *), b->name);
  case BUF_OUTPUT:
    base = load_pointer(g, frame, offsetof(WeftFrame, outputs), "outputs");
    return load_pointer(g, base, (size_t)b->index * sizeof(void *), b->name);
  case BUF_CONSTANT:
    base = load_pointer(g, frame, offsetof(WeftFrame, weights), "weights");
    offset = gen_i64(g, (int64_t)g->weight_offsets[b->index]);
    return llvm.BuildGEP2(g->builder, g->i8, base, &offset, 1, b->name);
  case BUF_ARENA:
    base = load_pointer(g, frame, offsetof(WeftFrame, arena), "arena");
    offset = gen_i64(g, expr_value(b->offset));
    return llvm.BuildGEP2(g->builder, g->i8, base, &offset, 1, b->name);
  case BUF_LOCAL: {
    LLVMTypeRef type =
        llvm.ArrayType2(gen_storage_type(g, b->type->dtype), (uint64_t)expr_value(type_storage(g->ctx, b->type)));
    base = llvm.BuildAlloca(g->builder, type, b->name);
    llvm.SetAlignment(base, LOCAL_ALIGN);
    return base;
  }
  }
  WEFT_UNREACHABLE();
}

bool gen_may_overlap(const Buffer *a, const Buffer *b) {
  if (a == b)
    return true;
  if (a->space != BUF_ARENA || b->space != BUF_ARENA)
    return false;
  int64_t from_a = expr_value(a->offset), from_b = expr_value(b->offset);
  return from_a < from_b + type_bytes(b->type) && from_b < from_a + type_bytes(a->type);
}

static LLVMMetadataRef md_string(const Gen *g, const char *s) {
  return llvm.MDStringInContext2(g->context, s, strlen(s));
}

static LLVMValueRef md_list(const Gen *g, LLVMMetadataRef *items, size_t n) {
  return llvm.MetadataAsValue(g->context, llvm.MDNodeInContext2(g->context, items, n));
}

/* Scopes are named by nest and buffer: names make them unique without self-references. */
static void add_alias_scopes(Gen *g) {
  size_t n = g->buffers.len, n_others;
  LLVMMetadataRef *scopes = ARENA_ARRAY(g->ctx->arena, LLVMMetadataRef, n);
  LLVMMetadataRef *others = ARENA_ARRAY(g->ctx->arena, LLVMMetadataRef, n);
  LLVMMetadataRef name = md_string(g, g->nest->name), domain = llvm.MDNodeInContext2(g->context, &name, 1);
  for (size_t k = 0; k < n; k++) {
    const char *text = arena_printf(g->ctx->arena, "%s %%%s", g->nest->name, g->buffers.data[k].buffer->name);
    scopes[k] = llvm.MDNodeInContext2(g->context, (LLVMMetadataRef[]){md_string(g, text), domain}, 2);
  }
  for (size_t k = 0; k < n; k++) {
    GenBuffer *b = &g->buffers.data[k];
    if (b->buffer->space == BUF_LOCAL)
      continue;
    n_others = 0;
    for (size_t i = 0; i < n; i++)
      if (g->buffers.data[i].buffer->space != BUF_LOCAL && !gen_may_overlap(b->buffer, g->buffers.data[i].buffer))
        others[n_others++] = scopes[i];
    b->scope = md_list(g, &scopes[k], 1);
    if (n_others)
      b->noalias = md_list(g, others, n_others);
  }
  if (n)
    g->fault_noalias = md_list(g, scopes, n);
}

void gen_buffers(Gen *g) {
  g->buffers.len = 0;
  bool indices = collect_buffers(g, g->nest->body);
  for (size_t k = 0; k < g->buffers.len; k++)
    g->buffers.data[k].base = base_address(g, g->buffers.data[k].buffer);
  g->fault = indices ? load_pointer(g, llvm.GetParam(g->function, 0), offsetof(WeftFrame, fault), "fault") : NULL;
  g->fault_noalias = NULL;
  add_alias_scopes(g);
}

/* Atomic, since other threads may store the same; in no buffer. */
void gen_store_fault(Gen *g) {
  LLVMValueRef store = llvm.BuildStore(g->builder, llvm.ConstInt(g->i32, 1, false), g->fault);
  llvm.SetOrdering(store, LLVMAtomicOrderingMonotonic);
  llvm.SetAlignment(store, sizeof(int32_t));
  if (g->fault_noalias)
    llvm.SetMetadata(store, g->md_noalias, g->fault_noalias);
}

/* ---- classification ---- */

typedef struct {
  int slot;
  int n;               /* lanes, 1 for an access outside of vector loops or one that is the same for all lanes */
  const Expr *first;   /* offset of lane 0 */
  const Expr **offset; /* of each lane; NULL where lane l is at first + l */
} Lanes;

const Expr *gen_offset(Gen *g, const Access *access) {
  int slot = find_buffer(g, access->buffer);
  const Expr *offset = expr_const(g->ctx, 0);
  for (int k = 0; k < access->buffer->type->layout->n; k++)
    offset = expr_add(g->ctx, offset, expr_mul_const(g->ctx, access->index[k], g->buffers.data[slot].strides[k]));
  return gen_subst(g, offset);
}

/* offset: of an element, or the value of an index. */
static Lanes classify(Gen *g, const Expr *offset, int slot, GenLanes v) {
  Ctx *ctx = g->ctx;
  Lanes a = {.slot = slot, .n = 1, .first = offset};
  if (!v.lanes)
    return a;
  a.first = expr_subst(ctx, offset, v.var, v.first);
  int64_t step;
  bool linear = expr_linear(offset, v.var, &step);
  if (linear && step == 0)
    return a;
  a.n = v.lanes;
  if (linear && step == 1)
    return a;
  a.offset = ARENA_ARRAY(ctx->arena, const Expr *, v.lanes);
  bool same = true, consecutive = true;
  for (int l = 0; l < v.lanes; l++) {
    a.offset[l] = linear ? expr_add_const(ctx, a.first, step * l)
                         : expr_subst(ctx, offset, v.var, expr_add_const(ctx, v.first, l));
    same = same && a.offset[l] == a.first;
    consecutive = consecutive && a.offset[l] == expr_add_const(ctx, a.first, l);
  }
  if (same)
    a.n = 1;
  if (same || consecutive)
    a.offset = NULL;
  return a;
}

/* The number of lanes from l on that are consecutive in memory. */
static int run_length(Gen *g, const Lanes *a, int l) {
  if (!a->offset)
    return a->n - l;
  int n = 1;
  while (l + n < a->n && a->offset[l + n] == expr_add_const(g->ctx, a->offset[l], n))
    n++;
  return n;
}

static LLVMValueRef address(Gen *g, const Lanes *a, int l) {
  return gen_address(g, a->slot, a->offset ? a->offset[l] : a->first);
}

/* ---- loads and stores ---- */

static void annotate(Gen *g, int slot, LLVMValueRef instruction) {
  const GenBuffer *b = &g->buffers.data[slot];
  llvm.SetAlignment(instruction, (unsigned)dtype_size(b->buffer->type->dtype));
  if (b->scope)
    llvm.SetMetadata(instruction, g->md_scope, b->scope);
  if (b->noalias)
    llvm.SetMetadata(instruction, g->md_noalias, b->noalias);
}

static LLVMTypeRef run_type(LLVMTypeRef element, int n) {
  return n == 1 ? element : llvm.VectorType(element, (unsigned)n);
}

static LLVMValueRef load_run(Gen *g, const Lanes *a, int l, int n) {
  LLVMTypeRef type = run_type(g->buffers.data[a->slot].element, n);
  LLVMValueRef value = llvm.BuildLoad2(g->builder, type, address(g, a, l), "");
  annotate(g, a->slot, value);
  return value;
}

LLVMValueRef gen_shuffle(Gen *g, LLVMValueRef a, LLVMValueRef b, const int *lanes, int n) {
  LLVMValueRef *mask = ARENA_ARRAY(g->ctx->arena, LLVMValueRef, n);
  for (int l = 0; l < n; l++)
    mask[l] = lanes[l] < 0 ? llvm.GetPoison(g->i32) : llvm.ConstInt(g->i32, (unsigned long long)lanes[l], false);
  return llvm.BuildShuffleVector(g->builder, a, b, llvm.ConstVector(mask, (unsigned)n), "");
}

/* `whole` with the n lanes from l on taken from the vector `run`. */
static LLVMValueRef insert_run(Gen *g, LLVMValueRef whole, int lanes, LLVMValueRef run, int l, int n) {
  int *mask = ARENA_ARRAY(g->ctx->arena, int, lanes);
  for (int k = 0; k < lanes; k++)
    mask[k] = k < n ? k : -1;
  LLVMValueRef wide = gen_shuffle(g, run, llvm.GetPoison(llvm.TypeOf(run)), mask, lanes);
  for (int k = 0; k < lanes; k++)
    mask[k] = k >= l && k < l + n ? lanes + k - l : k;
  return gen_shuffle(g, whole, wide, mask, lanes);
}

static LLVMValueRef extract_run(Gen *g, LLVMValueRef whole, int l, int n) {
  int *mask = ARENA_ARRAY(g->ctx->arena, int, n);
  for (int k = 0; k < n; k++)
    mask[k] = l + k;
  return gen_shuffle(g, whole, llvm.GetPoison(llvm.TypeOf(whole)), mask, n);
}

/* The lanes of an index value: one after another, or each for itself. */
static LLVMValueRef index_value(Gen *g, const Lanes *a) {
  if (a->n == 1)
    return gen_index(g, a->first);
  LLVMValueRef *steps = ARENA_ARRAY(g->ctx->arena, LLVMValueRef, a->n);
  LLVMValueRef whole = llvm.GetPoison(llvm.VectorType(g->i64, (unsigned)a->n));
  int64_t step = 0;
  bool constant = true;
  for (int l = 0; l < a->n; l++) {
    const Expr *lane = a->offset ? a->offset[l] : expr_add_const(g->ctx, a->first, l);
    constant = constant && expr_is_const(expr_sub(g->ctx, lane, a->first), &step);
    if (constant)
      steps[l] = gen_i64(g, step);
  }
  if (constant)
    return llvm.BuildAdd(g->builder, gen_splat(g, gen_index(g, a->first), a->n),
                         llvm.ConstVector(steps, (unsigned)a->n), "");
  for (int l = 0; l < a->n; l++)
    whole = llvm.BuildInsertElement(g->builder, whole, gen_index(g, a->offset[l]), gen_i64(g, l), "");
  return whole;
}

static LLVMValueRef load_lanes(Gen *g, const Lanes *a) {
  if (run_length(g, a, 0) == a->n)
    return load_run(g, a, 0, a->n);
  LLVMValueRef whole = llvm.GetPoison(run_type(g->buffers.data[a->slot].element, a->n));
  for (int l = 0, n; l < a->n; l += n) {
    n = run_length(g, a, l);
    LLVMValueRef run = load_run(g, a, l, n);
    whole = n == 1 ? llvm.BuildInsertElement(g->builder, whole, run, gen_i64(g, l), "")
                   : insert_run(g, whole, a->n, run, l, n);
  }
  return whole;
}

LLVMValueRef gen_load(Gen *g, const Access *access, GenLanes lanes) {
  if (!access->buffer) {
    Lanes a = classify(g, gen_subst(g, access->index[0]), -1, lanes);
    return index_value(g, &a);
  }
  int slot = find_buffer(g, access->buffer);
  Lanes a = classify(g, gen_offset(g, access), slot, lanes);
  return gen_from_storage(g, load_lanes(g, &a), access->buffer->type->dtype);
}

void gen_store(Gen *g, const Access *access, LLVMValueRef value, GenLanes lanes) {
  int slot = find_buffer(g, access->buffer);
  Lanes a = classify(g, gen_offset(g, access), slot, lanes);
  value = gen_to_storage(g, value, access->buffer->type->dtype);
  bool vector = gen_is_vector(value);
  for (int l = 0, n; l < a.n; l += n) {
    n = run_length(g, &a, l);
    LLVMValueRef run = value;
    if (!vector && n > 1)
      run = gen_splat(g, value, n);
    else if (vector && n == 1) /* one element for all lanes: the last one stays */
      run = llvm.BuildExtractElement(g->builder, value, gen_i64(g, a.n == 1 ? lanes.lanes - 1 : l), "");
    else if (vector && n < a.n)
      run = extract_run(g, value, l, n);
    annotate(g, a.slot, llvm.BuildStore(g->builder, run, address(g, &a, l)));
  }
}
