/* The model's table (runtime/model.h) as constant data, and the exported functions of DESIGN A2, each a call of the
 * runtime with that table. These functions run before the test of the CPU's features, so they are plain code of their
 * machine. */
#include "codegen/llvm_gen.h"
#include "codegen/port.h"

#include "runtime/model.h"

/* What the constants below are laid out as: LLVM's natural alignment must give the structs of C. */
_Static_assert(sizeof(WeftNest) == 40 && offsetof(WeftNest, count) == 16 && offsetof(WeftNest, work) == 24 &&
                   offsetof(WeftNest, what) == 32,
               "WeftNest is {ptr, ptr, i64, i64, ptr}");
_Static_assert(sizeof(WeftPort) == 24 && offsetof(WeftPort, bytes) == 8 && offsetof(WeftPort, align) == 16,
               "WeftPort is {ptr, i64, i64}");
_Static_assert(offsetof(WeftModel, cpu_needs) == 4 && offsetof(WeftModel, cpu_name) == 8 &&
                   offsetof(WeftModel, info) == 16 && offsetof(WeftModel, weights) == 24 &&
                   offsetof(WeftModel, workspace) == 32 && offsetof(WeftModel, threads) == 40 &&
                   offsetof(WeftModel, poison) == 44 && offsetof(WeftModel, n_nests) == 48 &&
                   offsetof(WeftModel, n_inputs) == 52 && offsetof(WeftModel, n_outputs) == 56 &&
                   offsetof(WeftModel, nests) == 64 && offsetof(WeftModel, inputs) == 72 &&
                   offsetof(WeftModel, outputs) == 80 && sizeof(WeftModel) == 88,
               "WeftModel is {i32, i32, ptr, ptr, ptr, i64, i32, i32, i32, i32, i32, ptr, ptr, ptr}");

static LLVMValueRef const_i32(const Gen *g, int64_t v) {
  return llvm.ConstInt(g->i32, (unsigned long long)v, true);
}

static LLVMValueRef add_constant(Gen *g, const char *name, LLVMValueRef value, LLVMLinkage linkage) {
  LLVMValueRef global = llvm.AddGlobal(g->module, llvm.TypeOf(value), name);
  llvm.SetInitializer(global, value);
  llvm.SetGlobalConstant(global, true);
  llvm.SetLinkage(global, linkage);
  return global;
}

static LLVMValueRef add_text(Gen *g, const char *text) {
  LLVMValueRef value = llvm.ConstStringInContext2(g->context, text, strlen(text), false);
  LLVMValueRef global = add_constant(g, "text", value, LLVMPrivateLinkage);
  llvm.SetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
  llvm.SetAlignment(global, 1);
  return global;
}

static LLVMValueRef struct_of(const Gen *g, LLVMValueRef *fields, int n) {
  return llvm.ConstStructInContext(g->context, fields, (unsigned)n, false);
}

/* An array of structs, or NULL where it has none. */
static LLVMValueRef add_table(Gen *g, const char *name, LLVMValueRef *rows, size_t n) {
  if (n == 0)
    return llvm.ConstNull(g->ptr);
  return add_constant(g, name, llvm.ConstArray2(llvm.TypeOf(rows[0]), rows, n), LLVMInternalLinkage);
}

static LLVMValueRef add_nests(Gen *g, const GenNest *nests, size_t n) {
  LLVMValueRef *rows = ARENA_ARRAY(g->ctx->arena, LLVMValueRef, n);
  size_t k = 0;
  for (const Nest *nest = g->program->first; nest; nest = nest->next, k++)
    rows[k] = struct_of(g,
                        (LLVMValueRef[]){nests[k].function, add_text(g, nest->name), gen_i64(g, nests[k].count),
                                         gen_i64(g, nest_work(g->ctx, nest)), add_text(g, nest->what)},
                        5);
  return add_table(g, "nests", rows, n);
}

static LLVMValueRef add_ports(Gen *g, BufferSpace space, size_t n) {
  const LoopProgram *p = g->program;
  LLVMValueRef *rows = ARENA_ARRAY(g->ctx->arena, LLVMValueRef, n);
  for (size_t k = 0; k < n; k++) {
    Port port = space == BUF_INPUT ? port_input(p, k) : port_output(p, k);
    int64_t align = (int64_t)dtype_size(port.type->dtype);
    LLVMValueRef row[] = {add_text(g, port.name), gen_i64(g, type_bytes(port.type)), gen_i64(g, align)};
    rows[k] = struct_of(g, row, 3);
  }
  return add_table(g, space == BUF_INPUT ? "inputs" : "outputs", rows, n);
}

/* ---- exported functions ---- */

typedef struct {
  const char *suffix;  /* PREFIX_suffix */
  const char *runtime; /* the function called */
  bool takes_model;    /* its first argument is the model's table */
  char result;         /* p pointer, i int, z 64 bits */
  const char *params;
} Export;

static const Export exports[] = {
    {"set_threads", "weft_rt_set_threads", true, 'i', "i"},
    {"run", "weft_rt_run", true, 'i', "pp"},
    {"workspace_size", "weft_rt_workspace_size", true, 'z', "pi"},
    {"run_in", "weft_rt_run_in", true, 'i', "ppp"},
    {"error", "weft_rt_error", false, 'p', ""},
};

/* The signatures above are those of the runtime. */
#define SAME_TYPE(f, ...) _Static_assert(__builtin_types_compatible_p(__typeof__(f), __VA_ARGS__), #f)
SAME_TYPE(weft_rt_set_threads, int(const WeftModel *, int));
SAME_TYPE(weft_rt_run, int(const WeftModel *, const void *const *, void *const *));
SAME_TYPE(weft_rt_workspace_size, size_t(const WeftModel *, const int64_t *, int));
SAME_TYPE(weft_rt_run_in, int(const WeftModel *, const void *const *, void *const *, void *));
SAME_TYPE(weft_rt_error, const char *(void));

static LLVMTypeRef type_of_letter(const Gen *g, char letter) {
  return letter == 'p' ? g->ptr : letter == 'i' ? g->i32 : g->i64;
}

static LLVMValueRef open_export(Gen *g, const char *suffix, LLVMTypeRef type) {
  const char *name = arena_printf(g->ctx->arena, "%s_%s", g->options->prefix, suffix);
  LLVMValueRef f = llvm.AddFunction(g->module, name, type);
  llvm.PositionBuilderAtEnd(g->builder, llvm.AppendBasicBlockInContext(g->context, f, "entry"));
  return f;
}

static void add_export(Gen *g, const Export *e, LLVMValueRef model) {
  LLVMTypeRef types[5];
  LLVMValueRef args[5];
  unsigned n = (unsigned)strlen(e->params), extra = e->takes_model;
  types[0] = g->ptr;
  args[0] = model;
  for (unsigned k = 0; k < n; k++)
    types[extra + k] = type_of_letter(g, e->params[k]);
  LLVMTypeRef result = type_of_letter(g, e->result);
  LLVMTypeRef callee_type = llvm.FunctionType(result, types, n + extra, false);
  LLVMValueRef callee = llvm.AddFunction(g->module, e->runtime, callee_type);
  llvm.SetVisibility(callee, LLVMHiddenVisibility);
  LLVMValueRef f = open_export(g, e->suffix, llvm.FunctionType(result, types + extra, n, false));
  for (unsigned k = 0; k < n; k++)
    args[extra + k] = llvm.GetParam(f, k);
  LLVMValueRef call = llvm.BuildCall2(g->builder, callee_type, callee, args, n + extra, "");
  llvm.SetTailCall(call, true);
  llvm.BuildRet(g->builder, call);
}

/* The address of the constants: `weft_weights` of another object, or of a blob in this one. */
static LLVMValueRef add_weights(Gen *g) {
  LoopProgram *p = g->program;
  if (!p->constants.len)
    return llvm.ConstNull(g->ptr);
  LLVMValueRef weights;
  if (g->options->with_weights) {
    size_t size = weights_layout(p, g->weight_offsets);
    void *blob = arena_alloc(g->ctx->arena, size);
    weights_fill(p, g->weight_offsets, blob);
    LLVMValueRef value = llvm.ConstStringInContext2(g->context, blob, size, true);
    weights = add_constant(g, "weft_weights", value, LLVMInternalLinkage);
    llvm.SetAlignment(weights, 64);
    return weights;
  }
  /* Named in the model's table and nowhere else, by a pointer of 64 bits: code may lie any distance from large weights.
   */
  weights = llvm.AddGlobal(g->module, llvm.ArrayType2(g->i8, 0), "weft_weights");
  llvm.SetGlobalConstant(weights, true);
  llvm.SetVisibility(weights, LLVMHiddenVisibility);
  return weights;
}

void gen_model(Gen *g, const GenNest *nests, bool with_exports) {
  const LoopProgram *p = g->program;
  size_t n_nests = 0;
  for (const Nest *nest = p->first; nest; nest = nest->next)
    n_nests++;
  LLVMValueRef info = add_text(g, model_info_json(g->program, g->options));
  LLVMValueRef fields[] = {
      const_i32(g, WEFT_ABI),
      const_i32(g, g->options->cpu->needs),
      add_text(g, g->options->cpu->name),
      info,
      add_weights(g),
      gen_i64(g, expr_value(p->arena_bytes)),
      const_i32(g, g->options->threads),
      const_i32(g, g->options->poison),
      const_i32(g, (int64_t)n_nests),
      const_i32(g, (int64_t)p->inputs.len),
      const_i32(g, (int64_t)p->outputs.len),
      add_nests(g, nests, n_nests),
      add_ports(g, BUF_INPUT, p->inputs.len),
      add_ports(g, BUF_OUTPUT, p->outputs.len),
  };
  bool complete = g->options->with_weights; /* several such objects may be linked into one program */
  LLVMValueRef model = add_constant(g, "weft_compiled", struct_of(g, fields, sizeof fields / sizeof *fields),
                                    complete ? LLVMInternalLinkage : LLVMExternalLinkage);
  if (!complete)
    llvm.SetVisibility(model, LLVMHiddenVisibility);
  if (!with_exports)
    return;
  open_export(g, "abi", llvm.FunctionType(g->i32, NULL, 0, false));
  llvm.BuildRet(g->builder, const_i32(g, WEFT_ABI));
  open_export(g, "info", llvm.FunctionType(g->ptr, NULL, 0, false));
  llvm.BuildRet(g->builder, info);
  for (size_t k = 0; k < sizeof exports / sizeof *exports; k++)
    add_export(g, &exports[k], model);
}
