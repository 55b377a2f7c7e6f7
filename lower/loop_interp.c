/* The interpreter of loop programs. Each nest is compiled once to a tree in which every variable is a slot, every index
 * an instruction at the outermost loop or index statement that knows its operands (index_code.c), every access one
 * offset, and every value straight-line code (scalar_code.c); then the tree is run.
 *
 * What it guards while it runs:
 *   bounds     an offset is negative where any of its indices is outside its extent
 *   conflicts  in a nest with parallel loops each stored buffer has a shadow that notes which parallel iteration wrote
 *              an element; another iteration of the same loop must neither read nor write it
 *   poison     locals, arena buffers when their first writer starts, and outputs hold signalling NaN, or 0xA5 in each
 *              byte of other types, until stored to
 *   indices    the value of an index statement outside of its range ends the run behind the nest, as in compiled code
 *
 * A planned program runs in one arena at the planned offsets, so a wrong plan gives wrong numbers here as well. */
#include <inttypes.h>

#include "ir/tensor.h"
#include "lower/index_code.h"
#include "lower/loop_bounds.h"
#include "lower/loop_run.h"
#include "lower/scalar_code.h"

#define MAX_ARENA_BYTES ((int64_t)1 << 34)

/* A buffer's storage and shape. */
typedef struct {
  const Buffer *buffer;
  void *data;
  int64_t extents[WEFT_MAX_DIGITS], strides[WEFT_MAX_DIGITS], elements;
  const Nest *stored_by; /* the last nest seen that stores to it */
  uint32_t *writer;      /* per element the parallel iteration that wrote it last; NULL without parallel writers */
  unsigned char *stored; /* per element whether the nest stored to it, where that is noted; else NULL */
} Storage;

typedef struct {
  const Access *access;
  Storage *storage; /* NULL: an index value */
  int offset;       /* slot, of the index value too */
  int *digits;      /* slots, for messages */
  uint32_t *writer; /* NULL where no conflict is possible */
} Operand;

typedef struct Code {
  StmtKind kind;
  struct Code *next;
  LoopKind loop;
  const Expr *variable;
  int var, lo, hi; /* slots */
  IndexInstrs *instrs;
  struct Code *body;
  Storage *local;
  Operand target;
  Operand *args;
  ScalarCode value;
} Code;

typedef struct {
  LoopProgram *p;
  Ctx *ctx;
  Arena *arena;               /* freed after the run */
  Storage *spaces[BUF_LOCAL]; /* by space, then by number of the buffer */
  VEC(Storage *) locals;      /* of the nest */
  const Nest *nest;
  IndexCode *code;
  int64_t *slots;
  /* Parallel iterations are numbered through the whole run; those of the outermost parallel loop that is running are
   * above `base`. */
  uint32_t iteration, base;
  int n_parallel;
  bool faulted; /* an index was out of range: in this nest; the first one is described */
  const Expr *fault_var;
  int64_t fault_value, fault_lo, fault_hi;
  bool apart, note_stored;
  LoopSample sample;
  unsigned edges; /* of the parallel loops around: EDGE_FIRST where all are at their first iteration, EDGE_LAST */
} Interp;

enum { EDGE_FIRST = 1, EDGE_LAST = 2 };

/* ---- storage ---- */

static bool describe(Interp *in, Storage *s, const Buffer *b) {
  s->buffer = b;
  s->elements = 1;
  for (int k = b->type->layout->n - 1; k >= 0; k--) {
    if (!expr_is_const(layout_extent(in->ctx, b->type->layout, b->type->dims, k), &s->extents[k]))
      return diag_error(in->ctx->diags, WEFT_UNSUPPORTED, LOC_NONE,
                        "buffer %%%s is a %s; the interpreter runs programs of constant shapes only", b->name,
                        type_text(in->ctx, b->type));
    s->strides[k] = s->elements;
    s->elements *= s->extents[k];
  }
  return true;
}

static bool describe_all(Interp *in, BufferSpace space, Buffer *const *buffers, size_t n) {
  in->spaces[space] = ARENA_ARRAY(in->arena, Storage, n);
  for (size_t k = 0; k < n; k++)
    if (!describe(in, &in->spaces[space][k], buffers[k]))
      return false;
  return true;
}

static void poison(const Storage *s) {
  tensor_poison(s->buffer->type->dtype, s->data, (size_t)s->elements * dtype_size(s->buffer->type->dtype));
}

static bool place_arena(Interp *in) {
  LoopProgram *p = in->p;
  int64_t total = 0, offset;
  char *block = NULL;
  bool planned = p->arena_bytes && !in->apart;
  if (planned && !expr_is_const(p->arena_bytes, &total))
    return diag_error(in->ctx->diags, WEFT_UNSUPPORTED, LOC_NONE, "the interpreter runs arenas of constant size only");
  for (size_t k = 0; k < p->arena.len && !planned && total <= MAX_ARENA_BYTES; k++)
    total += type_bytes(p->arena.data[k]->type);
  if (total > MAX_ARENA_BYTES)
    return diag_error(in->ctx->diags, WEFT_UNSUPPORTED, LOC_NONE,
                      "the arena takes more than %" PRId64 " bytes, the interpreter's limit", MAX_ARENA_BYTES);
  if (planned) {
    block = arena_alloc(in->arena, (size_t)total);
    tensor_poison(DT_F32, block, (size_t)total);
  }
  for (size_t k = 0; k < p->arena.len; k++) {
    const Buffer *b = p->arena.data[k];
    int64_t bytes = type_bytes(b->type);
    Storage *s = &in->spaces[BUF_ARENA][k];
    if (!block) {
      s->data = arena_alloc(in->arena, (size_t)bytes);
      poison(s);
      continue;
    }
    if (!b->offset || !expr_is_const(b->offset, &offset) || offset < 0 ||
        offset % (int64_t)dtype_size(b->type->dtype) != 0 || offset > total)
      return diag_error(in->ctx->diags, WEFT_BUG, LOC_NONE, "arena buffer %%%s has no place in the arena", b->name);
    s->data = block + offset;
    if (bytes > total - offset)
      s->elements = -1; /* an unused one may lie outside; a used one is reported by resolve */
  }
  return true;
}

static Storage *storage_of(const Interp *in, const Buffer *b) {
  if (b->space != BUF_LOCAL)
    return &in->spaces[b->space][b->index];
  for (size_t k = in->locals.len; k-- > 0;)
    if (in->locals.data[k]->buffer == b)
      return in->locals.data[k];
  return NULL;
}

/* ---- compiling ---- */

#define NEST_ERROR(in, status, ...)                                                                                    \
  diag_error((in)->ctx->diags, (status), (in)->nest->loc, "nest '@%s': %s", (in)->nest->name,                          \
             arena_printf((in)->ctx->arena, __VA_ARGS__))

static bool has_parallel(const Stmt *s) {
  for (; s; s = s->next)
    if (s->kind == ST_LOOP && (s->loop == LOOP_PARALLEL || has_parallel(s->body)))
      return true;
  return false;
}

/* Notes what the nest stores to; poisons an arena buffer at its first writer. */
static void find_stored(Interp *in, const Stmt *s, bool parallel) {
  for (; s; s = s->next) {
    if (s->kind == ST_LOOP)
      find_stored(in, s->body, parallel);
    if (s->kind != ST_STORE || s->target.buffer->space == BUF_LOCAL)
      continue;
    Storage *t = storage_of(in, s->target.buffer);
    if (t->buffer->space == BUF_ARENA && !t->stored_by && t->elements >= 0)
      poison(t);
    t->stored_by = in->nest;
    if (parallel && !t->writer && t->elements >= 0)
      t->writer = ARENA_ARRAY(in->arena, uint32_t, t->elements);
    if (in->note_stored && !t->stored && t->elements >= 0)
      t->stored = ARENA_ARRAY(in->arena, unsigned char, t->elements);
  }
}

static bool resolve_index(Interp *in, const Access *a, Operand *o) {
  *o = (Operand){.access = a, .offset = index_code_slot(in->code, a->index[0])};
  return o->offset >= 0 ||
         NEST_ERROR(in, WEFT_BUG, "%s is neither over constants nor over variables in scope", access_text(in->ctx, a));
}

static bool resolve(Interp *in, const Access *a, Operand *o) {
  if (!a->buffer)
    return resolve_index(in, a, o);
  Storage *s = storage_of(in, a->buffer);
  if (!s || s->elements < 0)
    return NEST_ERROR(in, WEFT_BUG, "%s has no storage", access_text(in->ctx, a));
  int n = a->buffer->type->layout->n;
  *o = (Operand){.access = a, .storage = s, .writer = s->stored_by == in->nest ? s->writer : NULL};
  o->offset = index_code_offset(in->code, a->index, s->extents, s->strides, n);
  if (o->offset < 0)
    return NEST_ERROR(in, WEFT_BUG, "an index of %s is neither over constants nor over variables in scope",
                      access_text(in->ctx, a));
  o->digits = ARENA_ARRAY(in->arena, int, n);
  for (int k = 0; k < n; k++)
    o->digits[k] = index_code_slot(in->code, a->index[k]);
  return true;
}

static bool compile_block(Interp *in, const Stmt *s, Code **out);

/* The variable is open from here on. */
static bool compile_variable(Interp *in, const Expr *var, Code *c) {
  c->variable = var;
  c->lo = index_code_slot(in->code, var->a);
  c->hi = index_code_slot(in->code, var->b);
  if (c->lo < 0 || c->hi < 0)
    return NEST_ERROR(in, WEFT_BUG, "a bound of '%s' is neither over constants nor over variables in scope", var->name);
  c->instrs = ARENA_NEW(in->arena, IndexInstrs);
  c->var = index_code_enter(in->code, var, c->instrs);
  return true;
}

static bool compile_loop(Interp *in, const Stmt *s, Code *c) {
  c->loop = s->loop;
  if (!compile_variable(in, s->var, c))
    return false;
  bool ok = compile_block(in, s->body, &c->body);
  index_code_leave(in->code);
  return ok;
}

static bool compile_value(Interp *in, const Stmt *s, Code *c) {
  c->args = ARENA_ARRAY(in->arena, Operand, s->n_args);
  if (scalar_arg_count(s->value) > s->n_args)
    return NEST_ERROR(in, WEFT_BUG, "a value names more operands than it has");
  for (int k = 0; k < s->n_args; k++)
    if (!resolve(in, &s->args[k], &c->args[k]))
      return false;
  c->value = scalar_code(in->ctx, in->arena, s->value, s->n_args);
  return true;
}

static bool compile_index(Interp *in, const Stmt *s, Code *c) {
  return compile_value(in, s, c) && compile_variable(in, s->var, c);
}

static bool compile_store(Interp *in, const Stmt *s, Code *c) {
  if (!compile_value(in, s, c))
    return false;
  if (!s->target.buffer)
    return NEST_ERROR(in, WEFT_BUG, "a value is stored to no memory");
  if (s->target.buffer->space == BUF_INPUT || s->target.buffer->space == BUF_CONSTANT)
    return NEST_ERROR(in, WEFT_BUG, "%s is stored to, but is an input or a constant", access_text(in->ctx, &s->target));
  return resolve(in, &s->target, &c->target);
}

static bool compile_local(Interp *in, const Stmt *s, Code *c) {
  c->local = ARENA_NEW(in->arena, Storage);
  vec_push(in->arena, &in->locals, c->local);
  if (!describe(in, c->local, s->local))
    return false;
  c->local->data = arena_alloc(in->arena, (size_t)type_bytes(s->local->type));
  return true;
}

static bool compile_block(Interp *in, const Stmt *s, Code **out) {
  bool ok = true;
  size_t scope = in->locals.len;
  int n_indices = 0;
  for (; s && ok; s = s->next, out = &(*out)->next) {
    Code *c = *out = ARENA_NEW(in->arena, Code);
    c->kind = s->kind;
    ok = s->kind == ST_LOOP    ? compile_loop(in, s, c)
         : s->kind == ST_LOCAL ? compile_local(in, s, c)
         : s->kind == ST_INDEX ? compile_index(in, s, c)
                               : compile_store(in, s, c);
    n_indices += ok && s->kind == ST_INDEX;
  }
  for (; n_indices > 0; n_indices--)
    index_code_leave(in->code);
  in->locals.len = scope;
  return ok;
}

/* ---- running ---- */

static bool outside(const Interp *in, const Operand *o) {
  const Storage *s = o->storage;
  for (int k = 0; k < s->buffer->type->layout->n; k++) {
    int64_t i = in->slots[o->digits[k]];
    if (i < 0 || i >= s->extents[k])
      return NEST_ERROR(in, WEFT_BUG, "index %d of %s is %" PRId64 ", outside of its extent %" PRId64, k,
                        access_text(in->ctx, o->access), i, s->extents[k]);
  }
  WEFT_UNREACHABLE();
}

static bool conflict(const Interp *in, const Operand *o) {
  return NEST_ERROR(in, WEFT_BUG,
                    "two iterations of a parallel loop meet in element %" PRId64 " of %s, one storing to it",
                    in->slots[o->offset], access_text(in->ctx, o->access));
}

/* Another parallel iteration of the running loop has written the element. */
static bool written_elsewhere(const Interp *in, const Operand *o, int64_t offset) {
  return o->writer && o->writer[offset] > in->base && o->writer[offset] != in->iteration;
}

static bool run_value(const Interp *in, const Code *c, ScalarValue *value) {
  for (int k = 0; k < c->value.n_args; k++) {
    const Operand *o = &c->args[k];
    int64_t offset = in->slots[o->offset];
    if (!o->storage) {
      c->value.registers[k].i = offset;
      continue;
    }
    if (offset < 0)
      return outside(in, o);
    if (written_elsewhere(in, o, offset))
      return conflict(in, o);
    c->value.registers[k] = dtype_load(o->storage->buffer->type->dtype, o->storage->data, offset);
  }
  *value = scalar_code_run(&c->value);
  return true;
}

static bool run_store(const Interp *in, const Code *c) {
  ScalarValue value;
  if (!run_value(in, c, &value))
    return false;
  const Operand *t = &c->target;
  int64_t offset = in->slots[t->offset];
  if (offset < 0)
    return outside(in, t);
  if (written_elsewhere(in, t, offset))
    return conflict(in, t);
  dtype_store(t->storage->buffer->type->dtype, t->storage->data, offset, value);
  if (t->writer)
    t->writer[offset] = in->iteration;
  if (t->storage->stored)
    t->storage->stored[offset] = 1;
  return true;
}

static bool run_block(Interp *in, const Code *c);

/* Iteration number k of the n that are picked of lo..hi-1. */
static int64_t pick(const Interp *in, int64_t lo, int64_t hi, int64_t n, int64_t k) {
  int64_t all = hi - lo, each = all / n;
  uint64_t key[] = {in->sample.seed, in->iteration};
  int64_t chosen = (int64_t)(hash_bytes(WEFT_HASH_SEED, key, sizeof key) >> 20);
  if (n == all)
    return lo + k;
  if (n == 1 && !in->edges)
    return lo + chosen % all;
  if (k == 0 && (n > 1 || (in->edges & EDGE_FIRST)))
    return lo;
  return k == n - 1 ? hi - 1 : lo + k * each + chosen % each;
}

/* A parallel loop of which iterations are left out: what is picked of it, times what is picked of the loops inside. */
static bool run_sample(Interp *in, const Code *c) {
  bool ok = true;
  int64_t lo = in->slots[c->lo], hi = in->slots[c->hi], most = in->sample.most;
  int64_t n = hi - lo < most ? hi - lo : most;
  unsigned edges = in->edges;
  in->sample.most = n > 0 ? most / n : most;
  for (int64_t k = 0; k < n && ok; k++) {
    in->iteration++;
    in->slots[c->var] = pick(in, lo, hi, n, k);
    in->edges = (k == 0 ? edges & EDGE_FIRST : 0) | (k == n - 1 ? edges & EDGE_LAST : 0);
    index_code_run(c->instrs, in->slots);
    ok = run_block(in, c->body);
    in->edges = edges;
  }
  in->sample.most = most;
  return ok;
}

static bool run_all(Interp *in, const Code *c) {
  bool ok = true;
  int64_t hi = in->slots[c->hi];
  for (int64_t v = in->slots[c->lo]; v < hi && ok; v++) {
    in->iteration += c->loop == LOOP_PARALLEL;
    in->slots[c->var] = v;
    index_code_run(c->instrs, in->slots);
    ok = run_block(in, c->body);
  }
  return ok;
}

static bool run_loop(Interp *in, const Code *c) {
  bool parallel = c->loop == LOOP_PARALLEL;
  if (parallel && in->n_parallel++ == 0)
    in->base = in->iteration;
  bool ok = parallel && in->sample.most ? run_sample(in, c) : run_all(in, c);
  if (parallel && --in->n_parallel == 0)
    in->base = in->iteration;
  return ok;
}

/* *empty: the range is, so that the rest of the block does not run. */
static bool run_index(Interp *in, const Code *c, bool *empty) {
  int64_t lo = in->slots[c->lo], hi = in->slots[c->hi];
  ScalarValue value;
  if (!run_value(in, c, &value))
    return false;
  if ((value.i < lo || value.i >= hi) && !in->faulted) {
    in->faulted = true;
    in->fault_var = c->variable;
    in->fault_value = value.i;
    in->fault_lo = lo;
    in->fault_hi = hi;
  }
  *empty = lo >= hi;
  in->slots[c->var] = value.i < lo ? lo : value.i >= hi ? hi - 1 : value.i;
  if (!*empty)
    index_code_run(c->instrs, in->slots);
  return true;
}

static bool run_block(Interp *in, const Code *c) {
  bool ok = true, empty = false;
  for (; c && ok && !empty; c = c->next) {
    if (c->kind == ST_LOOP)
      ok = run_loop(in, c);
    else if (c->kind == ST_STORE)
      ok = run_store(in, c);
    else if (c->kind == ST_INDEX)
      ok = run_index(in, c, &empty);
    else
      poison(c->local);
  }
  return ok;
}

static bool run_nest(Interp *in, const Nest *nest) {
  Code *body = NULL;
  in->nest = nest;
  in->code = index_code_create(in->arena);
  find_stored(in, nest->body, has_parallel(nest->body));
  if (!compile_block(in, nest->body, &body))
    return false;
  in->slots = ARENA_ARRAY(in->arena, int64_t, index_code_slots(in->code));
  index_code_run(index_code_outer(in->code), in->slots);
  if (!run_block(in, body))
    return false;
  return !in->faulted ||
         NEST_ERROR(in, WEFT_MALFORMED,
                    "index out of range in %s: '%s' is %" PRId64 ", expected a number in %" PRId64 "..%" PRId64,
                    nest->what, in->fault_var->name, in->fault_value, in->fault_lo, in->fault_hi);
}

static bool place_all(Interp *in, const void *const *inputs, void *const *outputs) {
  LoopProgram *p = in->p;
  if (!describe_all(in, BUF_INPUT, p->inputs.data, p->inputs.len) ||
      !describe_all(in, BUF_OUTPUT, p->outputs.data, p->outputs.len) ||
      !describe_all(in, BUF_CONSTANT, p->constants.data, p->constants.len) ||
      !describe_all(in, BUF_ARENA, p->arena.data, p->arena.len) || !place_arena(in))
    return false;
  /* compile_store refuses stores to inputs and constants, so the cast away from const is harmless. */
  for (size_t k = 0; k < p->inputs.len; k++)
    in->spaces[BUF_INPUT][k].data = (void *)(uintptr_t)inputs[k];
  for (size_t k = 0; k < p->constants.len; k++)
    in->spaces[BUF_CONSTANT][k].data = (void *)(uintptr_t)constant_data(p->module, p->constants.data[k]->constant);
  for (size_t k = 0; k < p->outputs.len; k++) {
    in->spaces[BUF_OUTPUT][k].data = outputs[k];
    poison(&in->spaces[BUF_OUTPUT][k]);
  }
  return true;
}

bool loops_interpret(LoopProgram *p, const void *const *inputs, void *const *outputs) {
  Interp in = {.p = p, .ctx = p->ctx, .arena = arena_create()};
  bool ok = place_all(&in, inputs, outputs);
  for (const Nest *n = p->first; n && ok; n = n->next)
    ok = run_nest(&in, n);
  arena_destroy(in.arena);
  return ok;
}

/* ---- in steps ---- */

struct LoopRun {
  Interp in;
};

LoopRun *loop_run_open(LoopProgram *p, const void *const *inputs, void *const *outputs, bool apart) {
  Arena *arena = arena_create();
  LoopRun *r = ARENA_NEW(arena, LoopRun);
  r->in = (Interp){.p = p, .ctx = p->ctx, .arena = arena, .apart = apart, .note_stored = true};
  if (place_all(&r->in, inputs, outputs))
    return r;
  arena_destroy(arena);
  return NULL;
}

void loop_run_close(LoopRun *r) {
  arena_destroy(r ? r->in.arena : NULL);
}

static void forget_stored(Interp *in, BufferSpace space, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (in->spaces[space][k].stored)
      memset(in->spaces[space][k].stored, 0, (size_t)in->spaces[space][k].elements);
}

bool loop_run_nest(LoopRun *r, const Nest *nest, LoopSample sample) {
  Interp *in = &r->in;
  forget_stored(in, BUF_OUTPUT, in->p->outputs.len);
  forget_stored(in, BUF_ARENA, in->p->arena.len);
  in->sample = sample;
  in->edges = EDGE_FIRST | EDGE_LAST;
  return run_nest(in, nest);
}

void *loop_run_data(LoopRun *r, const Buffer *b) {
  return storage_of(&r->in, b)->data;
}

const unsigned char *loop_run_stored(LoopRun *r, const Buffer *b) {
  const Storage *s = storage_of(&r->in, b);
  return s->stored_by == r->in.nest ? s->stored : NULL;
}
