/* Constants of the text form.
 *
 * Content stands in the logical row-major order and is moved into the layout of the type once all of it has been read,
 * so that a type that promises much costs nothing before its content is there. What padding adds is bounded over the
 * whole text by Parser.constant_bytes_max. */
#include "ir/parse.h"
#include "ir/tensor.h"

#include <math.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "hex content is copied as it stands");

static bool constant_named(const void *item, const void *key) {
  return ((const Constant *)item)->name == key;
}

bool parse_constant_ref(Parser *p, Constant **out) {
  Lexer *lex = &p->lex;
  Word at = lex->word;
  const char *name = lex_symbol(lex, "the name of a constant, such as @k");
  if (!name)
    return false;
  /* The table holds what this parser may change through the module's list anyway. */
  *out = (Constant *)(uintptr_t)intern_find(&p->constants, name_hash(name), constant_named, name);
  if (*out)
    return true;
  VEC(const char *) names = {0};
  for (const Constant *c = p->module->first_constant; c; c = c->next)
    vec_push(p->ctx->arena, &names, c->name);
  return lex_error(lex, at, "expected a constant that stands before, found unknown '@%s'%s", name,
                   lex_suggestion(lex, nearest_word(name, names.data, names.len)));
}

/* ---- content ---- */

/* Exactly, over the whole range of the type. */
static bool parse_integer_element(Parser *p, DType dtype, unsigned char *out) {
  static const int64_t least[DT_COUNT] = {
      [DT_I8] = INT8_MIN, [DT_I16] = INT16_MIN, [DT_I32] = INT32_MIN, [DT_I64] = INT64_MIN};
  static const int64_t most[DT_COUNT] = {
      [DT_I8] = INT8_MAX,    [DT_U8] = UINT8_MAX,  [DT_I16] = INT16_MAX, [DT_U16] = UINT16_MAX, [DT_I32] = INT32_MAX,
      [DT_U32] = UINT32_MAX, [DT_I64] = INT64_MAX, [DT_U64] = INT64_MAX, [DT_BOOL] = 1};
  Lexer *lex = &p->lex;
  const char *what = arena_printf(p->ctx->arena, "an element of %s", dtype_name(dtype));
  int64_t value;
  if (dtype == DT_U64 && lex->word.kind == WORD_INT) {
    Word word = lex_take(lex);
    uint64_t u = 0;
    for (size_t k = 0; k < word.len; k++)
      if (__builtin_mul_overflow(u, 10, &u) || __builtin_add_overflow(u, (uint64_t)(word.start[k] - '0'), &u))
        return lex_error(lex, word, "expected %s at most %llu, found a larger one", what,
                         (unsigned long long)UINT64_MAX);
    memcpy(out, &u, sizeof u);
    return true;
  }
  if (!lex_int(lex, what, least[dtype], most[dtype], &value))
    return false;
  memcpy(out, &value, dtype_size(dtype));
  return true;
}

static bool parse_element(Parser *p, DType dtype, Tensor *one) {
  if (!dtype_is_float(dtype))
    return parse_integer_element(p, dtype, one->data);
  double value;
  Word at = p->lex.word;
  if (!lex_number(&p->lex, "a number", dtype == DT_F32, &value))
    return false;
  tensor_set(one, 0, value);
  return !isfinite(value) || isfinite(tensor_get(one, 0)) ||
         lex_error(&p->lex, at, "expected a number within %s, found a larger one", dtype_name(dtype));
}

/* The list behind '['. */
static bool parse_list(Parser *p, DType dtype, int64_t n, Word start, Str *bytes) {
  Lexer *lex = &p->lex;
  Tensor *one = tensor_new(p->ctx, dtype, 0, NULL);
  int64_t count = 0;
  if (!lex_accept(lex, "]")) {
    do {
      if (count == n)
        return lex_error(lex, lex->word, "expected %lld element%s, found more", (long long)n, n == 1 ? "" : "s");
      if (!parse_element(p, dtype, one))
        return false;
      str_putn(bytes, one->data, dtype_size(dtype));
      count++;
    } while (lex_accept(lex, ","));
    if (!lex_expect(lex, "]"))
      return false;
  }
  return count == n || lex_error(lex, start, "expected %lld element%s, found %lld", (long long)n, n == 1 ? "" : "s",
                                 (long long)count);
}

static int nibble(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hex(Parser *p, size_t size, Str *bytes) {
  Lexer *lex = &p->lex;
  if (lex->word.kind != WORD_STRING)
    return lex_expected(lex, "hexadecimal bytes in quotes");
  Word word = lex_take(lex);
  size_t n = word.len - 2;
  if (n != 2 * size)
    return lex_error(lex, word, "expected %zu hexadecimal digits, found %zu characters", 2 * size, n);
  for (const char *c = word.start + 1; c < word.start + 1 + n; c += 2) {
    int high = nibble(c[0]), low = nibble(c[1]);
    if (high < 0 || low < 0)
      return lex_error(lex, word, "expected the digits 0-9 and a-f only, found '%.2s'", c);
    str_putc(bytes, (char)(high * 16 + low));
  }
  return true;
}

/* Logical bytes in the order of the type's layout. */
static void *to_storage(Parser *p, const Type *type, const int64_t *shape, void *logical) {
  Tensor *t = tensor_new(p->ctx, type->dtype, 0, NULL);
  t->rank = type->rank;
  t->n = 1;
  for (int k = 0; k < type->rank; k++) {
    t->shape[k] = shape[k];
    t->n *= shape[k];
  }
  t->data = logical;
  size_t size = (size_t)type_bytes(type);
  void *storage = arena_alloc(p->ctx->arena, size < 64 ? 64 : size);
  tensor_to_storage(t, type, storage);
  return storage;
}

static bool parse_file(Parser *p, const Type *type, Loc loc, Constant *c, void **logical) {
  Lexer *lex = &p->lex;
  Word at = lex->word;
  if (!lex_expect(lex, "("))
    return false;
  c->file = lex_string(lex, "a file name in quotes");
  if (!c->file)
    return false;
  if (lex_accept(lex, ",") && !(c->tensor = lex_string(lex, "the name of a tensor in quotes")))
    return false;
  if (!lex_expect(lex, ")"))
    return false;
  if (!p->loader)
    return lex_error(lex, at, "expected content, found file(\"%s\"), which cannot be read in this place", c->file);
  *logical = p->loader(p->loader_env, p->ctx, c->file, c->tensor, type, loc);
  if (!*logical)
    lex->failed = true; /* the loader has reported */
  return *logical != NULL;
}

static bool parse_relayout(Parser *p, const Type *type, Constant *c) {
  Lexer *lex = &p->lex;
  if (!lex_expect(lex, "("))
    return false;
  Word at = lex->word;
  if (!parse_constant_ref(p, &c->base) || !lex_expect(lex, ")"))
    return false;
  return type_same_shape(c->base->type, type) ||
         lex_error(lex, at, "expected a constant of the element type and shape of %s, found @%s of type %s",
                   type_text(p->ctx, type), c->base->name, type_text(p->ctx, c->base->type));
}

/* Content other than relayout: to *data in the order of the type's layout. */
static bool parse_content(Parser *p, const Type *type, Loc loc, Constant *c, void **data) {
  Lexer *lex = &p->lex;
  Word start = lex->word;
  int64_t shape[WEFT_MAX_RANK] = {0}, n = 1;
  if (!type_shape(type, shape))
    return lex_error(lex, start, "expected a constant of constant shape, found one of type %s",
                     type_text(p->ctx, type));
  for (int k = 0; k < type->rank; k++)
    n *= shape[k];
  Str bytes = str_new(p->ctx->arena);
  void *logical = NULL;
  if (lex_accept(lex, "[")) {
    if (!parse_list(p, type->dtype, n, start, &bytes))
      return false;
    logical = bytes.data;
  } else if (lex_accept(lex, "hex")) {
    if (!parse_hex(p, (size_t)n * dtype_size(type->dtype), &bytes))
      return false;
    logical = bytes.data;
  } else if (lex_accept(lex, "file")) {
    if (!parse_file(p, type, loc, c, &logical))
      return false;
  } else {
    return lex_expected(lex, "content: '[', 'hex', 'file' or 'relayout'");
  }
  p->constant_bytes += (size_t)type_bytes(type);
  if (!c->file && p->constant_bytes > p->constant_bytes_max)
    return lex_error(lex, start,
                     "expected constants of at most %zu bytes in all in a text of this size, padding "
                     "included, found more",
                     p->constant_bytes_max);
  *data = to_storage(p, type, shape, logical);
  return true;
}

bool parse_constant(Parser *p) {
  Lexer *lex = &p->lex;
  Word at = lex->word;
  if (!lex_expect(lex, "const"))
    return false;
  Word name_at = lex->word;
  const char *name = lex_symbol(lex, "the name of a constant, such as @k");
  const Type *type = NULL;
  if (!name || !lex_expect(lex, ":") || !parse_type(p, &type) || !lex_expect(lex, "="))
    return false;
  if (intern_find(&p->constants, name_hash(name), constant_named, name))
    return lex_error(lex, name_at, "expected a name that no other constant has, found '@%s' again", name);
  Loc loc = lex_loc(lex, at);
  Constant read = {0};
  void *data = NULL;
  bool derived = lex_accept(lex, "relayout");
  if (derived ? !parse_relayout(p, type, &read) : !parse_content(p, type, loc, &read, &data))
    return false;
  if (!parse_loc(p, &loc))
    return false;
  Constant *c = derived ? module_add_derived(p->module, name, read.base, type, loc)
                        : module_add_constant(p->module, name, type, data, loc);
  c->file = read.file;
  c->tensor = read.tensor;
  intern_add(p->ctx, &p->constants, name_hash(name), c);
  return true;
}
