/* Loops of a nest as a function.
 *
 * The function runs iterations [begin, end) of the outermost perfectly nested parallel loops with constant bounds,
 * counted as one (the last one fastest); their variables come back from the count by division. Other parallel loops run
 * in order. A loop has the form
 *
 *       lo < hi ? head : exit
 *   head: var = phi [lo], [var + 1]; what depends on loop variables only        (the scope's head)
 *   body: ...
 *       var + 1 < hi ? head : exit
 *   exit:
 *
 * with the first test left out where it is known to hold. `unroll` loops, and loops of one iteration, are expanded by
 * putting constants in place of their variable. `vector` loops are cut into vectors of the target's width, for the
 * widest of the values that they compute, and a rest: legal because no lane meets another's element
 * (lower/loop_check.c).
 *
 * An index statement, `index j in lo..hi = value`, opens a scope like a loop of one iteration does, which lasts to the
 * end of its block:
 *
 *       lo <= value < hi ? in : out
 *   out: set the fault flag
 *       lo < hi ? in : exit
 *   in:  j = clamped value
 *   body: the rest of the block
 *   exit: */
#include "codegen/llvm_gen.h"

static void gen_block(Gen *g, const Stmt *s);

typedef struct {
  GenScope scope;
  LLVMBasicBlockRef exit;
  LLVMValueRef var, end;
} OpenLoop;

static LLVMBasicBlockRef new_block(Gen *g, const char *name) {
  return llvm.AppendBasicBlockInContext(g->context, g->function, name);
}

static void open_scope(Gen *g, GenScope *scope, LLVMBasicBlockRef head, LLVMBasicBlockRef body) {
  *scope = (GenScope){.outer = g->scope, .depth = g->scope ? g->scope->depth + 1 : 0, .head = head};
  g->scope = scope;
  llvm.BuildBr(g->builder, body);
  llvm.PositionBuilderAtEnd(g->builder, body);
}

static void open_loop(Gen *g, OpenLoop *loop, const char *name, LLVMValueRef first, LLVMValueRef end, bool guard) {
  LLVMBasicBlockRef before = llvm.GetInsertBlock(g->builder);
  LLVMBasicBlockRef head = new_block(g, name), body = new_block(g, "body");
  *loop = (OpenLoop){.exit = new_block(g, "exit"), .end = end};
  if (guard)
    llvm.BuildCondBr(g->builder, llvm.BuildICmp(g->builder, LLVMIntSLT, first, end, ""), head, loop->exit);
  else
    llvm.BuildBr(g->builder, head);
  llvm.PositionBuilderAtEnd(g->builder, head);
  loop->var = llvm.BuildPhi(g->builder, g->i64, name);
  llvm.AddIncoming(loop->var, &first, &before, 1);
  open_scope(g, &loop->scope, head, body);
}

static void close_loop(Gen *g, OpenLoop *loop) {
  LLVMBasicBlockRef last = llvm.GetInsertBlock(g->builder);
  LLVMValueRef next = llvm.BuildAdd(g->builder, loop->var, gen_i64(g, 1), "");
  LLVMValueRef more = llvm.BuildICmp(g->builder, LLVMIntSLT, next, loop->end, "");
  llvm.BuildCondBr(g->builder, more, loop->scope.head, loop->exit);
  llvm.AddIncoming(loop->var, &next, &last, 1);
  g->scope = loop->scope.outer;
  llvm.MoveBasicBlockAfter(loop->exit, last);
  llvm.PositionBuilderAtEnd(g->builder, loop->exit);
}

void gen_push_constant(Gen *g, const Expr *var, const Expr *constant) {
  GenVar v = {.var = var, .constant = constant};
  vec_push(g->ctx->arena, &g->vars, v);
}

static void push_value(Gen *g, const Expr *var, LLVMValueRef value) {
  GenVar v = {.var = var, .value = value, .depth = g->scope->depth};
  vec_push(g->ctx->arena, &g->vars, v);
}

/* ---- statements ---- */

static LLVMValueRef *gen_args(Gen *g, const Stmt *s, GenLanes lanes) {
  LLVMValueRef *args = ARENA_ARRAY(g->ctx->arena, LLVMValueRef, s->n_args);
  for (int k = 0; k < s->n_args; k++)
    args[k] = gen_load(g, &s->args[k], lanes);
  return args;
}

LLVMValueRef gen_value(Gen *g, const Stmt *store, GenLanes lanes) {
  return gen_scalar(g, store->value, gen_args(g, store, lanes));
}

static void gen_statement(Gen *g, const Stmt *s, GenLanes lanes) {
  g->stores++;
  gen_store(g, &s->target, gen_value(g, s, lanes), lanes);
}

/* Lanes of one vector: as many as the widest value that the loop computes, loads or stores has room for. */
int gen_vector_lanes(Gen *g, const Stmt *loop) {
  int widest = 1;
  for (const Stmt *s = loop->body; s; s = s->next) {
    int width = gen_scalar_width(g, s->value), target = (int)dtype_size(s->target.buffer->type->dtype);
    width = width > target ? width : target;
    widest = width > widest ? width : widest;
  }
  return g->vector_bytes / widest;
}

static void gen_vector(Gen *g, const Stmt *loop, const Expr *lo, int64_t n) {
  int most = gen_vector_lanes(g, loop);
  for (int64_t k = 0; k < n; k += most) {
    int lanes = n - k < most ? (int)(n - k) : most;
    const Expr *first = expr_add_const(g->ctx, lo, k);
    if (lanes == 1)
      gen_push_constant(g, loop->var, first);
    for (const Stmt *s = loop->body; s; s = s->next)
      gen_statement(g, s, lanes == 1 ? (GenLanes){0} : (GenLanes){loop->var, first, lanes});
    g->vars.len -= lanes == 1;
  }
}

static void gen_loop(Gen *g, const Stmt *s) {
  Ctx *ctx = g->ctx;
  const Expr *lo = gen_subst(g, s->var->a), *hi = gen_subst(g, s->var->b), *extent = expr_sub(ctx, hi, lo);
  int64_t n = 0;
  bool constant = expr_is_const(extent, &n);
  if (constant && n <= 0)
    return;
  if (s->loop == LOOP_VECTOR) {
    WEFT_ASSERT(constant);
    gen_vector(g, s, lo, n);
  } else if (s->loop == LOOP_UNROLL || (constant && n == 1)) {
    WEFT_ASSERT(constant);
    if (s->loop == LOOP_UNROLL && gen_transposed(g, s, lo, n))
      return;
    for (int64_t k = 0; k < n && g->stores <= GEN_MAX_STORES; k++) {
      gen_push_constant(g, s->var, expr_add_const(ctx, lo, k));
      gen_block(g, s->body);
      g->vars.len--;
    }
  } else {
    bool guard = !constant && !expr_prove_nonneg(ctx, expr_add_const(ctx, extent, -1));
    OpenLoop loop;
    open_loop(g, &loop, s->var->name, gen_index(g, lo), gen_index(g, hi), guard);
    push_value(g, s->var, loop.var);
    gen_block(g, s->body);
    g->vars.len--;
    close_loop(g, &loop);
  }
}

/* A conditional branch whose second way is hardly ever taken. */
static void branch_likely(Gen *g, LLVMValueRef condition, LLVMBasicBlockRef likely, LLVMBasicBlockRef unlikely) {
  static const char name[] = "branch_weights";
  LLVMValueRef branch = llvm.BuildCondBr(g->builder, condition, likely, unlikely);
  LLVMMetadataRef weights[] = {llvm.MDStringInContext2(g->context, name, sizeof name - 1),
                               llvm.ValueAsMetadata(llvm.ConstInt(g->i32, 1 << 20, false)),
                               llvm.ValueAsMetadata(llvm.ConstInt(g->i32, 1, false))};
  llvm.SetMetadata(branch, g->md_prof, llvm.MetadataAsValue(g->context, llvm.MDNodeInContext2(g->context, weights, 3)));
}

/* An index statement and the rest of its block. */
static void gen_indexed(Gen *g, const Stmt *s) {
  LLVMBuilderRef b = g->builder;
  g->stores++;
  LLVMValueRef value = gen_scalar(g, s->value, gen_args(g, s, (GenLanes){0}));
  const Expr *lo_expr = gen_subst(g, s->var->a), *hi_expr = gen_subst(g, s->var->b);
  LLVMValueRef lo = gen_index(g, lo_expr), hi = gen_index(g, hi_expr);
  LLVMBasicBlockRef in = new_block(g, s->var->name), out = new_block(g, "out"), body = new_block(g, "body");
  LLVMBasicBlockRef exit = new_block(g, "exit");
  LLVMValueRef inside =
      llvm.BuildAnd(b, llvm.BuildICmp(b, LLVMIntSGE, value, lo, ""), llvm.BuildICmp(b, LLVMIntSLT, value, hi, ""), "");
  branch_likely(g, inside, in, out);
  llvm.PositionBuilderAtEnd(b, out);
  gen_store_fault(g);
  llvm.BuildCondBr(b, llvm.BuildICmp(b, LLVMIntSLT, lo, hi, ""), in, exit);
  llvm.PositionBuilderAtEnd(b, in);
  LLVMValueRef last = llvm.BuildSub(b, hi, gen_i64(g, 1), "");
  LLVMValueRef low = llvm.BuildSelect(b, llvm.BuildICmp(b, LLVMIntSGT, value, lo, ""), value, lo, "");
  LLVMValueRef clamped = llvm.BuildSelect(b, llvm.BuildICmp(b, LLVMIntSLT, low, last, ""), low, last, s->var->name);
  GenScope scope;
  open_scope(g, &scope, in, body);
  push_value(g, s->var, clamped);
  gen_block(g, s->next);
  g->vars.len--;
  g->scope = scope.outer;
  llvm.BuildBr(b, exit);
  llvm.MoveBasicBlockAfter(exit, llvm.GetInsertBlock(b));
  llvm.PositionBuilderAtEnd(b, exit);
}

static void gen_block(Gen *g, const Stmt *s) {
  for (; s && g->stores <= GEN_MAX_STORES; s = s->next)
    if (s->kind == ST_LOOP) {
      gen_loop(g, s);
    } else if (s->kind == ST_STORE) {
      gen_statement(g, s, (GenLanes){0});
    } else if (s->kind == ST_INDEX) {
      gen_indexed(g, s);
      return;
    }
}

/* ---- the function ---- */

/* The loop at the head of a block if it is parallel, alone there, and has constant bounds. */
static bool is_outer_parallel(Ctx *ctx, const Stmt *s, int64_t *lo, int64_t *extent) {
  return s && s->kind == ST_LOOP && s->loop == LOOP_PARALLEL && !s->next && expr_is_const(s->var->a, lo) &&
         expr_is_const(expr_sub(ctx, s->var->b, s->var->a), extent);
}

/* Opens the flattened parallel loops: their variables over `index`, which counts all of them. Returns the body. */
static const Stmt *open_parallel(Gen *g, LLVMValueRef index) {
  Ctx *ctx = g->ctx;
  int64_t lo, extent, inner = 1;
  VEC(const Stmt *) loops = {0};
  const Stmt *body = g->nest->body;
  for (; is_outer_parallel(ctx, body, &lo, &extent); body = body->body)
    vec_push(ctx->arena, &loops, body);
  const Expr *all = expr_var(ctx, "index", expr_const(ctx, 0), expr_const(ctx, EXPR_MAX));
  push_value(g, all, index);
  for (size_t k = loops.len; k-- > 0;) {
    const Expr *var = loops.data[k]->var;
    is_outer_parallel(ctx, loops.data[k], &lo, &extent);
    if (extent <= 1) { /* never run, or once */
      gen_push_constant(g, var, expr_const(ctx, lo));
      continue;
    }
    const Expr *count = expr_floordiv_const(ctx, all, inner);
    if (k > 0)
      count = expr_mod_const(ctx, count, extent);
    push_value(g, var, gen_index(g, expr_add_const(ctx, count, lo)));
    inner *= extent;
  }
  return body;
}

static bool count_parallel(Gen *g, int64_t *count) {
  int64_t lo, extent;
  *count = 1;
  for (const Stmt *s = g->nest->body; is_outer_parallel(g->ctx, s, &lo, &extent); s = s->body)
    if (!mul_i64(*count, extent > 0 ? extent : 0, count))
      return false;
  return true;
}

/* A symbol that any linker takes: nests carry the user's names. */
static const char *symbol_name(Ctx *ctx, const Nest *nest, int number) {
  Str name = str_new(ctx->arena);
  str_printf(&name, "nest%d_", number);
  for (const char *s = nest->name; *s; s++) {
    bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9');
    str_putc(&name, plain ? *s : '_');
  }
  return name.data;
}

static void add_string_attribute(Gen *g, const char *key, const char *value) {
  LLVMAttributeRef attribute =
      llvm.CreateStringAttribute(g->context, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
  llvm.AddAttributeAtIndex(g->function, LLVMAttributeFunctionIndex, attribute);
}

static void add_function(Gen *g, int number) {
  LLVMTypeRef params[] = {g->ptr, g->i64, g->i64}, type = llvm.FunctionType(g->none, params, 3, false);
  g->function = llvm.AddFunction(g->module, symbol_name(g->ctx, g->nest, number), type);
  llvm.SetLinkage(g->function, LLVMInternalLinkage);
  unsigned nounwind = llvm.GetEnumAttributeKindForName("nounwind", strlen("nounwind"));
  llvm.AddAttributeAtIndex(g->function, LLVMAttributeFunctionIndex, llvm.CreateEnumAttribute(g->context, nounwind, 0));
  add_string_attribute(g, "target-cpu", machine_base_cpu(g->options->cpu->machine));
  add_string_attribute(g, "tune-cpu", g->options->cpu->llvm_cpu);
  add_string_attribute(g, "target-features", g->options->cpu->features);
  static const char *const names[] = {"frame", "begin", "end"};
  for (unsigned k = 0; k < 3; k++)
    llvm.SetValueName2(llvm.GetParam(g->function, k), names[k], strlen(names[k]));
}

GenNest gen_nest(Gen *g, const Nest *nest, int number) {
  GenNest result = {0};
  g->nest = nest;
  g->scope = NULL;
  g->stores = 0;
  g->vars.len = 0;
  if (!count_parallel(g, &result.count)) {
    diag_error(g->ctx->diags, WEFT_UNSUPPORTED, nest->loc, "nest '%s' has more than 2^63 parallel iterations",
               nest->name);
    return result;
  }
  add_function(g, number);
  LLVMBasicBlockRef entry = new_block(g, "entry"), start = new_block(g, "start");
  llvm.PositionBuilderAtEnd(g->builder, entry);
  gen_buffers(g);
  GenScope scope;
  open_scope(g, &scope, entry, start);
  OpenLoop loop;
  open_loop(g, &loop, "index", llvm.GetParam(g->function, 1), llvm.GetParam(g->function, 2), true);
  gen_block(g, open_parallel(g, loop.var));
  close_loop(g, &loop);
  llvm.BuildRetVoid(g->builder);
  g->scope = NULL;
  if (g->stores > GEN_MAX_STORES)
    diag_error(g->ctx->diags, WEFT_UNSUPPORTED, nest->loc, "nest '%s' has more than %lld stores after unrolling",
               nest->name, (long long)GEN_MAX_STORES);
  else
    result.function = g->function;
  return result;
}
