/* The rules of the loop IR (loop.h, docs/grammar.md), checked statement by statement:
 *
 *   scoping    an expression uses open variables only: those of loops around it, and of index statements before it in
 *              its block or one around; a local is declared before, in this block or one around it
 *   kinds      `vector` and `unroll` have 1..1024 iterations known now; a vector body holds stores only; `parallel`
 *              stands at the top of a nest, or alone in the body of another `parallel`
 *   values     of a store: of the type that its target computes in; of an index: i64; every operand named exists and
 *              has the type of its access
 *   stores     not to inputs and constants
 *   bounds     every index is within its digit's extent (loop_bounds.c)
 *   conflicts  a store inside `parallel` goes to a local declared in there, or names each parallel variable in some
 *              index; lanes of a vector loop touch either the same element lane by lane, or elements that are apart
 *   memory     locals are small; offsets of a planned arena hold (plan_check)
 *
 * That different parallel iterations store to different elements is checked in part here (an index names the variable)
 * and in full, for the data at hand, by the interpreter. */
#include <inttypes.h>

#include "ir/scalar_walk.h"
#include "lower/loop_bounds.h"
#include "lower/lower.h"

#define MAX_ERRORS 16
#define MAX_LANES 1024
#define MAX_VECTOR_STORES 1024
#define MAX_UNROLLED 65536 /* copies of a statement by the unrolled loops around it */
#define MAX_LOCAL_BYTES ((int64_t)1 << 18)

typedef struct {
  const Buffer *buffer;
  int n_parallel; /* parallel loops around the declaration */
} LocalScope;

typedef struct {
  LoopProgram *p;
  Ctx *ctx;
  const Nest *nest;
  Bounds *bounds;
  const Expr *vars[LOOP_MAX_DEPTH]; /* open: of loops and index statements, outermost first */
  int depth, n_parallel;            /* the first n_parallel open ones are those of parallel loops */
  VEC(LocalScope) scope;
  VEC(const char *) local_names; /* of the whole nest */
  int64_t local_bytes;
  size_t errors_before;
} Checker;

#define FAIL(c, ...)                                                                                                   \
  diag_error((c)->ctx->diags, WEFT_MALFORMED, (c)->nest->loc, "nest '@%s': %s", (c)->nest->name,                       \
             arena_printf((c)->ctx->arena, __VA_ARGS__))

static bool too_many_errors(const Checker *c) {
  return diag_count(c->ctx->diags) - c->errors_before >= MAX_ERRORS;
}

/* ---- scoping ---- */

/* A variable of e that no open loop has, or NULL. */
static const Expr *unbound(const Checker *c, const Expr *e) {
  switch (e->kind) {
  case EX_CONST:
  case EX_SYM:
    return NULL;
  case EX_VAR:
    for (int k = 0; k < c->depth; k++)
      if (c->vars[k] == e)
        return NULL;
    return e;
  case EX_SUM:
    for (int k = 0; k < e->n; k++) {
      const Expr *u = unbound(c, e->terms[k].atom);
      if (u)
        return u;
    }
    return NULL;
  case EX_PROD:
  case EX_DIV:
  case EX_MOD:
  case EX_MIN:
  case EX_MAX: {
    const Expr *u = unbound(c, e->a);
    return u ? u : unbound(c, e->b);
  }
  }
  WEFT_UNREACHABLE();
}

static const LocalScope *find_local(const Checker *c, const Buffer *b) {
  for (size_t k = c->scope.len; k-- > 0;)
    if (c->scope.data[k].buffer == b)
      return &c->scope.data[k];
  return NULL;
}

static bool known_buffer(const Checker *c, const Buffer *b) {
  const LoopProgram *p = c->p;
  size_t i = (size_t)b->index;
  switch (b->space) {
  case BUF_INPUT:
    return i < p->inputs.len && p->inputs.data[i] == b;
  case BUF_OUTPUT:
    return i < p->outputs.len && p->outputs.data[i] == b;
  case BUF_CONSTANT:
    return i < p->constants.len && p->constants.data[i] == b;
  case BUF_ARENA:
    return i < p->arena.len && p->arena.data[i] == b;
  case BUF_LOCAL:
    return find_local(c, b) != NULL;
  }
  WEFT_UNREACHABLE();
}

/* ---- accesses ---- */

static bool check_access(Checker *c, const Access *a) {
  const Buffer *b = a->buffer;
  for (int k = 0; k < access_digits(*a); k++) {
    const Expr *var = unbound(c, a->index[k]);
    if (var)
      return FAIL(c, "index %d of %s uses '%s', which is no variable in scope", k, access_text(c->ctx, a), var->name);
  }
  if (!b)
    return true;
  if (!known_buffer(c, b)) {
    if (b->space == BUF_LOCAL)
      return FAIL(c, "local '%s' is used where no declaration of it is in scope", b->name);
    return FAIL(c, "%%%s is not a buffer of this program", b->name);
  }
  bool ok = true;
  for (int k = 0; k < b->type->layout->n && ok; k++) {
    const Expr *index = a->index[k];
    Dim extent = layout_extent(c->ctx, b->type->layout, b->type->dims, k);
    const char *example;
    ok = bounds_hold(c->bounds, c->vars, c->depth, index, extent, &example);
    if (!ok) {
      FAIL(c, "cannot prove 0 <= %s < %s, index %d of %s", expr_text(c->ctx, index), expr_text(c->ctx, extent), k,
           access_text(c->ctx, a));
      if (example)
        diag_note(c->ctx->diags, LOC_NONE, "%s", example);
    }
  }
  return ok;
}

static bool runs_once(Ctx *ctx, const Expr *var) {
  int64_t extent;
  return expr_is_const(expr_sub(ctx, var->b, var->a), &extent) && extent <= 1;
}

/* The operands that the value of `what` names have the types of their accesses. */
static bool check_operands(Checker *c, const Stmt *s, const Scalar *value, const char *what, uint64_t walk) {
  if (!value->arg_count || value->visit == walk)
    return true;
  scalar_scratch(value)->visit = walk;
  if (value->op == SC_ARG && value->dtype != access_dtype(s->args[value->index]))
    return FAIL(c, "operand %d of the value of %s has element type %s, but %s has %s", value->index, what,
                dtype_name(value->dtype), access_text(c->ctx, &s->args[value->index]),
                dtype_name(access_dtype(s->args[value->index])));
  for (int k = 0; k < value->n; k++)
    if (!check_operands(c, s, value->args[k], what, walk))
      return false;
  return true;
}

/* The value of a store or index statement, and all that it reads. `type`: what the value is to be. */
static bool check_value(Checker *c, const Stmt *s, DType type, const char *what) {
  for (int k = 0; k < s->n_args; k++)
    if (!check_access(c, &s->args[k]))
      return false;
  if (scalar_arg_count(s->value) > s->n_args)
    return FAIL(c, "the value of %s has %d operands, but names operand %d", what, s->n_args,
                scalar_arg_count(s->value) - 1);
  if (s->value->dtype != type)
    return FAIL(c, "the value of %s has element type %s, expected %s", what, dtype_name(s->value->dtype),
                dtype_name(type));
  return check_operands(c, s, s->value, what, scalar_walk_number());
}

static bool check_store(Checker *c, const Stmt *s) {
  const Access *target = &s->target;
  if (!target->buffer)
    return FAIL(c, "a value is stored to %s, which is no memory", access_text(c->ctx, target));
  if (!check_access(c, target) || !check_value(c, s, access_dtype(*target), access_text(c->ctx, target)))
    return false;
  if (target->buffer->space == BUF_INPUT || target->buffer->space == BUF_CONSTANT)
    return FAIL(c, "%s is stored to, but %%%s is %s", access_text(c->ctx, target), target->buffer->name,
                target->buffer->space == BUF_INPUT ? "an input" : "a constant");
  const LocalScope *local = target->buffer->space == BUF_LOCAL ? find_local(c, target->buffer) : NULL;
  if (local && local->n_parallel == c->n_parallel)
    return true;
  for (int k = local ? local->n_parallel : 0; k < c->n_parallel; k++)
    if (!access_uses(*target, c->vars[k]) && !runs_once(c->ctx, c->vars[k]))
      return FAIL(c, "all iterations of the parallel loop over '%s' store to %s", c->vars[k]->name,
                  access_text(c->ctx, target));
  if (local)
    return FAIL(c, "%s is stored to inside a parallel loop, but the local is declared outside of it",
                access_text(c->ctx, target));
  return true;
}

/* ---- vector loops ---- */

/* Different lanes never touch one element through a and b, both of one buffer. With equal index lists a lane meets only
 * itself (the lists use var). Else some index must differ by a constant that no two lanes make up for. */
static bool lanes_apart(Ctx *ctx, const Access *a, const Access *b, const Expr *var, int64_t lanes) {
  int n = a->buffer->type->layout->n;
  bool equal = true;
  for (int k = 0; k < n; k++)
    equal = equal && a->index[k] == b->index[k];
  if (equal)
    return true;
  for (int k = 0; k < n; k++) {
    int64_t gap, step;
    if (!expr_is_const(expr_sub(ctx, a->index[k], b->index[k]), &gap) || gap == 0 ||
        !expr_linear(a->index[k], var, &step))
      continue;
    if (step == 0 || gap % step != 0 || gap / step >= lanes || gap / step <= -lanes)
      return true;
  }
  return false;
}

static bool check_lanes(Checker *c, const Stmt *loop, int64_t lanes) {
  int n = 0;
  for (const Stmt *s = loop->body; s; s = s->next) {
    if (s->kind != ST_STORE)
      return FAIL(c, "the body of the vector loop over '%s' holds a %s; only stores may stand there", loop->var->name,
                  s->kind == ST_LOOP    ? "loop"
                  : s->kind == ST_LOCAL ? "local"
                                        : "statement 'index'");
    if (++n > MAX_VECTOR_STORES)
      return FAIL(c, "the vector loop over '%s' has more than %d stores", loop->var->name, MAX_VECTOR_STORES);
  }
  if (lanes == 1)
    return true;
  for (const Stmt *s = loop->body; s; s = s->next) {
    const Access *a = &s->target;
    if (!access_uses(*a, loop->var))
      return FAIL(c, "all lanes of the vector loop over '%s' store to %s", loop->var->name, access_text(c->ctx, a));
    for (const Stmt *t = loop->body; t; t = t->next)
      for (int k = -1; k < t->n_args; k++) {
        const Access *b = k < 0 ? &t->target : &t->args[k];
        if (a->buffer == b->buffer && !lanes_apart(c->ctx, a, b, loop->var, lanes))
          return FAIL(c, "cannot prove that no lane of the vector loop over '%s' meets another's element in %s and %s",
                      loop->var->name, access_text(c->ctx, a), access_text(c->ctx, b));
      }
  }
  return true;
}

/* ---- statements ---- */

static bool check_local(Checker *c, const Buffer *b) {
  int64_t shape[WEFT_MAX_RANK], bytes = (int64_t)dtype_size(b->type->dtype);
  for (size_t k = 0; k < c->local_names.len; k++)
    if (strcmp(c->local_names.data[k], b->name) == 0)
      return FAIL(c, "local '%s' is declared twice", b->name);
  vec_push(c->ctx->arena, &c->local_names, b->name);
  LocalScope scope = {b, c->n_parallel};
  vec_push(c->ctx->arena, &c->scope, scope);
  if (!type_shape(b->type, shape) || !layout_is_row_major(b->type->layout))
    return FAIL(c, "local '%s' is a %s; expected constant extents in row-major order", b->name,
                type_text(c->ctx, b->type));
  for (int k = 0; k < b->type->rank; k++)
    if (shape[k] < 1 || !mul_i64(bytes, shape[k], &bytes))
      return FAIL(c, "local '%s' is a %s; expected extents of 1 or more", b->name, type_text(c->ctx, b->type));
  if (bytes > MAX_LOCAL_BYTES - c->local_bytes)
    return FAIL(c, "with local '%s', %s, the nest's locals take more than %" PRId64 " bytes", b->name,
                type_text(c->ctx, b->type), MAX_LOCAL_BYTES);
  c->local_bytes += bytes;
  return true;
}

/* A variable that is about to be opened. */
static bool check_variable(Checker *c, const Expr *var) {
  for (int k = 0; k < c->depth; k++)
    if (strcmp(c->vars[k]->name, var->name) == 0)
      return FAIL(c, "two variables in scope at once have the name '%s'", var->name);
  const Expr *u = unbound(c, var->a);
  if (!u)
    u = unbound(c, var->b);
  if (u)
    return FAIL(c, "a bound of '%s' uses '%s', which is no variable in scope", var->name, u->name);
  return true;
}

static bool check_index(Checker *c, const Stmt *s) {
  return check_variable(c, s->var) &&
         check_value(c, s, DT_I64, arena_printf(c->ctx->arena, "the index '%s'", s->var->name));
}

/* The loop itself; its body is checked by the caller. alone: it is the only statement of its block. */
static bool check_loop_head(Checker *c, const Stmt *s, bool alone, int64_t *unrolled) {
  const Expr *var = s->var;
  if (!check_variable(c, var))
    return false;
  if (s->loop == LOOP_PARALLEL && (c->depth > c->n_parallel || (c->depth > 0 && !alone)))
    return FAIL(c, "the parallel loop over '%s' is neither at the top of its nest nor alone in a parallel loop",
                var->name);
  if (s->loop != LOOP_VECTOR && s->loop != LOOP_UNROLL)
    return true;
  int64_t lo, hi, extent;
  if (!expr_is_const(var->a, &lo) || !expr_is_const(var->b, &hi) || !sub_i64(hi, lo, &extent) || extent < 1 ||
      extent > MAX_LANES)
    return FAIL(c, "the %s loop over '%s' runs from %s to %s; expected constant bounds and 1 to %d iterations",
                loop_kind_names[s->loop], var->name, expr_text(c->ctx, var->a), expr_text(c->ctx, var->b), MAX_LANES);
  if (s->loop == LOOP_VECTOR)
    return check_lanes(c, s, extent);
  if (extent > MAX_UNROLLED / *unrolled)
    return FAIL(c, "the unrolled loops around and over '%s' make more than %d copies of their body", var->name,
                MAX_UNROLLED);
  *unrolled *= extent;
  return true;
}

static bool check_block(Checker *c, const Stmt *first, int64_t unrolled) {
  bool ok = true;
  size_t scope = c->scope.len;
  int depth = c->depth;
  for (const Stmt *s = first; s && !too_many_errors(c); s = s->next) {
    switch (s->kind) {
    case ST_LOCAL:
      ok = check_local(c, s->local) && ok;
      break;
    case ST_STORE:
      ok = check_store(c, s) && ok;
      break;
    case ST_INDEX:
      if (c->depth == LOOP_MAX_DEPTH)
        return FAIL(c, "more than %d variables are in scope at once", LOOP_MAX_DEPTH);
      ok = check_index(c, s) && ok;
      c->vars[c->depth++] = s->var; /* to the end of the block */
      break;
    case ST_LOOP: {
      int64_t copies = unrolled;
      if (c->depth == LOOP_MAX_DEPTH)
        return FAIL(c, "more than %d variables are in scope at once", LOOP_MAX_DEPTH);
      ok = check_loop_head(c, s, s == first && !s->next, &copies) && ok;
      bool parallel = s->loop == LOOP_PARALLEL && c->depth == c->n_parallel;
      c->vars[c->depth++] = s->var;
      c->n_parallel += parallel;
      ok = check_block(c, s->body, copies) && ok;
      c->n_parallel -= parallel;
      c->depth--;
      break;
    }
    }
  }
  c->scope.len = scope;
  c->depth = depth;
  return ok;
}

static bool check_constants(LoopProgram *p) {
  bool ok = true;
  for (size_t k = 0; k < p->constants.len; k++) {
    const Buffer *b = p->constants.data[k];
    WEFT_ASSERT(b->constant);
    if (b->type != b->constant->type)
      ok = diag_error(p->ctx->diags, WEFT_MALFORMED, b->constant->loc,
                      "buffer %%%s is a %s, but its constant @%s is a %s", b->name, type_text(p->ctx, b->type),
                      b->constant->name, type_text(p->ctx, b->constant->type));
  }
  return ok;
}

bool loops_check(LoopProgram *p) {
  Checker c = {.p = p, .ctx = p->ctx, .bounds = bounds_create(p->ctx), .errors_before = diag_count(p->ctx->diags)};
  bool ok = check_constants(p);
  for (const Nest *nest = p->first; nest && !too_many_errors(&c); nest = nest->next) {
    c.nest = nest;
    c.local_bytes = 0;
    c.local_names.len = 0;
    ok = check_block(&c, nest->body, 1) && ok;
  }
  return ok && plan_check(p);
}
