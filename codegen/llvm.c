/* A planned loop program through LLVM to text or an object file.
 *
 * The module is verified, optimised by a short pipeline (measured: the same hot loops as default<O2> in a tenth of the
 * time, since loops, vectors and hoisting are decided before), and emitted at code generation level Default. The target
 * is fixed but for the nests' feature strings, nothing of the machine or the clock enters, so equal programs give equal
 * bytes. */
#include "codegen/llvm_gen.h"

#include "runtime/model.h"

/* A second round of instcombine would find something now and then: that is no fault. */
#define PIPELINE "sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg"

/* ---- what is compiled ---- */

static bool check_buffers(Ctx *ctx, Buffer *const *buffers, size_t n) {
  for (size_t k = 0; k < n; k++) {
    const Buffer *b = buffers[k];
    int64_t shape[WEFT_MAX_RANK];
    if (!type_shape(b->type, shape))
      return diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE,
                        "buffer '%s' is %s, compiled code works on constant dimensions", b->name,
                        type_text(ctx, b->type));
    if (b->space == BUF_ARENA && (!b->offset || !expr_is_const(b->offset, NULL)))
      return diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE,
                        "arena buffer '%s' has no constant offset; run the memory plan first", b->name);
  }
  return true;
}

static bool has_symbol(const Expr *e) {
  switch (e->kind) {
  case EX_SYM:
    return true;
  case EX_CONST:
  case EX_VAR:
    return false;
  case EX_SUM:
    for (int k = 0; k < e->n; k++)
      if (has_symbol(e->terms[k].atom))
        return true;
    return false;
  default:
    return has_symbol(e->a) || has_symbol(e->b);
  }
}

static bool access_has_symbol(const Access *a) {
  for (int k = 0; k < access_digits(*a); k++)
    if (has_symbol(a->index[k]))
      return true;
  return false;
}

static bool stmts_have_symbol(const Stmt *s) {
  for (; s; s = s->next) {
    if ((s->kind == ST_LOOP || s->kind == ST_INDEX) && (has_symbol(s->var->a) || has_symbol(s->var->b)))
      return true;
    if (s->kind == ST_LOOP && stmts_have_symbol(s->body))
      return true;
    if (s->kind != ST_STORE && s->kind != ST_INDEX)
      continue;
    bool found = s->kind == ST_STORE && access_has_symbol(&s->target);
    for (int k = 0; k < s->n_args && !found; k++)
      found = access_has_symbol(&s->args[k]);
    if (found)
      return true;
  }
  return false;
}

/* Reports what is not supported yet: dynamic dimensions. */
static bool check_program(const LoopProgram *p) {
  Ctx *ctx = p->ctx;
  if (!check_buffers(ctx, p->inputs.data, p->inputs.len) || !check_buffers(ctx, p->outputs.data, p->outputs.len) ||
      !check_buffers(ctx, p->constants.data, p->constants.len) || !check_buffers(ctx, p->arena.data, p->arena.len))
    return false;
  if (!p->arena_bytes || !expr_is_const(p->arena_bytes, NULL))
    return diag_error(ctx->diags, WEFT_UNSUPPORTED, LOC_NONE,
                      "program '%s' has no memory plan of constant size; run `plan` first", p->name);
  for (const Nest *nest = p->first; nest; nest = nest->next)
    if (stmts_have_symbol(nest->body))
      return diag_error(ctx->diags, WEFT_UNSUPPORTED, nest->loc,
                        "nest '%s' has symbolic dimensions, compiled code works on constant ones", nest->name);
  return true;
}

/* ---- the module ---- */

static void open_module(Gen *g) {
  g->module = llvm.ModuleCreateWithNameInContext("weft", g->context);
  llvm.SetSourceFileName(g->module, "weft", strlen("weft"));
  llvm.SetTarget(g->module, machine_triple(g->options->cpu->machine));
  g->builder = llvm.CreateBuilderInContext(g->context);
  g->hoist = llvm.CreateBuilderInContext(g->context);
  g->i1 = llvm.Int1TypeInContext(g->context);
  g->i8 = llvm.Int8TypeInContext(g->context);
  g->i16 = llvm.Int16TypeInContext(g->context);
  g->i32 = llvm.Int32TypeInContext(g->context);
  g->i64 = llvm.Int64TypeInContext(g->context);
  g->f16 = llvm.HalfTypeInContext(g->context);
  g->f64 = llvm.DoubleTypeInContext(g->context);
  g->f32 = llvm.FloatTypeInContext(g->context);
  g->ptr = llvm.PointerTypeInContext(g->context, 0);
  g->none = llvm.VoidTypeInContext(g->context);
  g->md_scope = llvm.GetMDKindIDInContext(g->context, "alias.scope", strlen("alias.scope"));
  g->md_noalias = llvm.GetMDKindIDInContext(g->context, "noalias", strlen("noalias"));
  g->md_prof = llvm.GetMDKindIDInContext(g->context, "prof", strlen("prof"));
  static const char pic[] = "PIC Level";
  llvm.AddModuleFlag(g->module, LLVMModuleFlagBehaviorError, pic, sizeof pic - 1,
                     llvm.ValueAsMetadata(llvm.ConstInt(g->i32, 2, false)));
}

static bool gen_nests(Gen *g, bool exports) {
  size_t n = 0, k = 0;
  for (const Nest *nest = g->program->first; nest; nest = nest->next)
    n++;
  GenNest *nests = ARENA_ARRAY(g->ctx->arena, GenNest, n);
  for (const Nest *nest = g->program->first; nest; nest = nest->next, k++) {
    nests[k] = gen_nest(g, nest, (int)k);
    if (!nests[k].function)
      return false;
  }
  gen_model(g, nests, exports);
  return true;
}

static bool verify(Gen *g) {
  char *message = NULL;
  bool broken = llvm.VerifyModule(g->module, LLVMReturnStatusAction, &message);
  if (broken)
    diag_error(g->ctx->diags, WEFT_BUG, LOC_NONE, "LLVM refuses the code made for '%s': %s", g->program->name, message);
  llvm.DisposeMessage(message);
  return !broken;
}

static bool optimise(Gen *g, LLVMTargetMachineRef machine) {
  LLVMTargetDataRef layout = llvm.CreateTargetDataLayout(machine);
  llvm.SetModuleDataLayout(g->module, layout);
  llvm.DisposeTargetData(layout);
  if (!verify(g))
    return false;
  LLVMPassBuilderOptionsRef options = llvm.CreatePassBuilderOptions();
  LLVMErrorRef error = llvm.RunPasses(g->module, PIPELINE, machine, options);
  llvm.DisposePassBuilderOptions(options);
  return llvm_succeeded(g->ctx, error, "optimise");
}

static LLVMMemoryBufferRef emit(Gen *g, LLVMTargetMachineRef machine, EmitKind kind) {
  LLVMMemoryBufferRef buffer = NULL;
  char *message = NULL;
  if (kind == EMIT_LLVM) {
    char *text = llvm.PrintModuleToString(g->module);
    buffer = llvm.CreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "weft");
    llvm.DisposeMessage(text);
  } else if (llvm.TargetMachineEmitToMemoryBuffer(
                 machine, g->module, kind == EMIT_ASM ? LLVMAssemblyFile : LLVMObjectFile, &message, &buffer)) {
    diag_error(g->ctx->diags, WEFT_BUG, LOC_NONE, "LLVM cannot emit '%s': %s", g->program->name, message);
    llvm.DisposeMessage(message);
    return NULL;
  }
  return buffer;
}

static LLVMTargetMachineRef open_machine(Ctx *ctx, Machine machine) {
  const char *triple = machine_triple(machine);
  LLVMTargetRef target;
  char *message = NULL;
  if (llvm.GetTargetFromTriple(triple, &target, &message)) {
    diag_error(ctx->diags, WEFT_MISSING, LOC_NONE, "this libLLVM has no target %s: %s", triple, message);
    llvm.DisposeMessage(message);
    return NULL;
  }
  return llvm.CreateTargetMachine(target, triple, machine_base_cpu(machine), "", LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                  LLVMCodeModelSmall);
}

LLVMMemoryBufferRef gen_program(LoopProgram *p, const CodegenOptions *options, EmitKind kind, bool exports) {
  Ctx *ctx = p->ctx;
  if (!check_program(p) || !llvm_load(ctx))
    return NULL;
  LLVMTargetMachineRef machine = open_machine(ctx, options->cpu->machine);
  if (!machine)
    return NULL;
  Str errors = str_new(ctx->arena);
  Gen g = {.ctx = ctx, .program = p, .options = options, .context = llvm.ContextCreate()};
  llvm_watch(g.context, &errors);
  g.weight_offsets = ARENA_ARRAY(ctx->arena, size_t, p->constants.len);
  weights_layout(p, g.weight_offsets);
  g.has_fma = cpu_target_has_fma(options->cpu);
  g.has_f16 = cpu_target_has_f16(options->cpu);
  g.vector_bytes = options->cpu->lower.vector_bytes;
  open_module(&g);
  LLVMMemoryBufferRef buffer = NULL;
  if (gen_nests(&g, exports) && optimise(&g, machine))
    buffer = emit(&g, machine, kind);
  if (buffer && errors.len) {
    diag_error(ctx->diags, WEFT_BUG, LOC_NONE, "LLVM reports for '%s': %s", p->name, errors.data);
    llvm.DisposeMemoryBuffer(buffer);
    buffer = NULL;
  }
  llvm.DisposeBuilder(g.builder);
  llvm.DisposeBuilder(g.hoist);
  llvm.DisposeModule(g.module);
  llvm.ContextDispose(g.context);
  llvm.DisposeTargetMachine(machine);
  return buffer;
}

bool codegen_emit(LoopProgram *p, const CodegenOptions *options, EmitKind kind, Bytes *out) {
  LLVMMemoryBufferRef buffer = gen_program(p, options, kind, true);
  if (!buffer)
    return false;
  size_t size = llvm.GetBufferSize(buffer);
  char *data = arena_alloc(p->ctx->arena, size + 1);
  memcpy(data, llvm.GetBufferStart(buffer), size);
  *out = (Bytes){(const unsigned char *)data, size};
  llvm.DisposeMemoryBuffer(buffer);
  return true;
}
