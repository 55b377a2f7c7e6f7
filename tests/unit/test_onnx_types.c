/* Element types of ONNX operators: every type that the standard allows an operator is imported, in a model of one node,
 * and lowered. tests/onnx_types.txt holds the models; tests/onnx_types.py wrote it and says what its words are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lower/loop_passes.h"
#include "onnx_graph.h"

#define MAX_WORDS 64
#define MAX_TYPES 13

typedef struct {
  char name[8];
  int n;
  DType types[MAX_TYPES];
} TypeList;

typedef struct {
  char *words[MAX_WORDS]; /* of the line, parted by spaces; the first three are operator, opset and outputs */
  int n;
  TypeList lists[4];
  int n_lists;
} Line;

static const char *read_all(void) {
  FILE *f = fopen(WEFT_TEST_DIR "/onnx_types.txt", "rb");
  ck_assert_msg(f != NULL, "%s", strerror(errno));
  Str s = str_new(ctx->arena);
  for (int c; (c = fgetc(f)) != EOF;)
    str_putc(&s, (char)c);
  fclose(f);
  return s.data;
}

/* "!T=f32,f16" */
static TypeList type_list(const char *word) {
  TypeList list = {.n = 0};
  size_t len = strcspn(word + 1, "=");
  ck_assert_uint_lt(len, sizeof list.name);
  memcpy(list.name, word + 1, len);
  for (const char *p = word + 1 + len; *p; p += len) {
    len = strcspn(++p, ",");
    ck_assert_int_lt(list.n, MAX_TYPES);
    ck_assert(dtype_parse(p, len, &list.types[list.n++]));
  }
  return list;
}

static Line split(char *text) {
  Line line = {.n = 0};
  for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
    ck_assert_int_lt(line.n, MAX_WORDS);
    if (*word == '!')
      line.lists[line.n_lists++] = type_list(word);
    else
      line.words[line.n++] = word;
  }
  return line;
}

/* "1,2,3", up to `most`; how many. */
static int numbers(const char *text, int64_t *out, int most) {
  int n = 0;
  char *end;
  for (; *text && *text != '='; text = *end == ',' ? end + 1 : end) {
    ck_assert_int_lt(n, most);
    out[n++] = strtoll(text, &end, 10);
    ck_assert(end != text);
  }
  return n;
}

static int onnx_type(DType dtype) {
  static const int types[] = {
      [DT_F32] = FLOAT, [DT_F64] = DOUBLE, [DT_F16] = FLOAT16, [DT_BF16] = BFLOAT16, [DT_I8] = INT8,
      [DT_U8] = UINT8,  [DT_I16] = INT16,  [DT_U16] = UINT16,  [DT_I32] = INT32,     [DT_U32] = UINT32,
      [DT_I64] = INT64, [DT_U64] = UINT64, [DT_BOOL] = BOOL};
  return types[dtype];
}

/* "alpha:f=0.5" */
static Str attribute(const char *word) {
  const char *kind = strchr(word, ':') + 1, *value = kind + 2;
  const char *name = arena_strndup(ctx->arena, word, (size_t)(kind - word) - 1);
  int64_t list[16];
  switch (*kind) {
  case 'i':
    return attr_int(ctx, name, strtoll(value, NULL, 10));
  case 'f':
    return attr_float(ctx, name, strtof(value, NULL));
  case 's':
    return attr_text(ctx, name, value);
  default:
    return attr_ints(ctx, name, list, numbers(value, list, 16));
  }
}

/* content: "0.5,2,3" */
static Str initializer(const char *name, DType dtype, const int64_t *dims, int rank, const char *content) {
  Tensor *t = tensor_new(ctx, dtype, rank, dims);
  Str s = str_new(ctx->arena);
  char *end = (char *)(uintptr_t)content;
  for (int64_t k = 0; k < t->n; k++) {
    ck_assert(k == 0 || *end++ == ',');
    tensor_set(t, k, strtod(end, &end));
  }
  ck_assert(*end == 0);
  for (int k = 0; k < rank; k++)
    put_int(&s, 1, dims[k]);
  put_int(&s, 2, onnx_type(dtype));
  put_text(&s, 8, name);
  put_bytes(&s, 9, t->data, (size_t)t->n * dtype_size(dtype));
  return s;
}

/* The type that stands at an input: one of the line's lists, of which number `list` has its type number `which`, the
 * others f32 or their first; or a type itself. */
static DType type_at(const Line *line, const char *word, size_t len, int list, int which) {
  DType dtype = DT_F32;
  for (int k = 0; k < line->n_lists; k++) {
    const TypeList *l = &line->lists[k];
    if (strlen(l->name) != len || memcmp(l->name, word, len) != 0)
      continue;
    dtype = l->types[0];
    for (int j = 0; j < l->n; j++)
      dtype = l->types[j] == DT_F32 ? DT_F32 : dtype;
    return k == list ? l->types[which] : dtype;
  }
  ck_assert_msg(dtype_parse(word, len, &dtype), "%s", word);
  return dtype;
}

/* "x:T:2,3=0,1,2,3,4,5" */
static void add_operand(const Line *line, const char *word, int list, int which, Str *text) {
  const char *type = strchr(word, ':') + 1, *extents = strchr(type, ':') + 1, *content = strchr(extents, '=');
  const char *name = arena_strndup(ctx->arena, word, (size_t)(type - word) - 1);
  DType dtype = type_at(line, type, (size_t)(extents - type) - 1, list, which);
  int64_t dims[WEFT_MAX_RANK];
  int rank = numbers(extents, dims, WEFT_MAX_RANK);
  if (content)
    put_message(&graph, 5, initializer(name, dtype, dims, rank, content + 1));
  else
    add_input(name, onnx_type(dtype), dims, rank);
  str_put(text, name);
}

static void build(const Line *line, int list, int which) {
  Str text = str_new(ctx->arena), attrs[16];
  int n_attrs = 0, n_inputs = 0, outputs = atoi(line->words[2]);
  str_printf(&text, "%s ", line->words[0]);
  for (int k = 3; k < line->n; k++) {
    if (line->words[k][0] == '@') {
      attrs[n_attrs++] = attribute(line->words[k] + 1);
      continue;
    }
    str_put(&text, n_inputs++ ? "," : "");
    if (line->words[k][0] != '-')
      add_operand(line, line->words[k], list, which, &text);
  }
  str_put(&text, " -> ");
  for (int k = 0; k < outputs; k++) {
    str_printf(&text, "%sresult%d", k ? "," : "", k);
    add_output(arena_printf(ctx->arena, "result%d", k));
  }
  add_node_with(text.data, n_attrs, attrs);
}

static bool lowers(Module *m) {
  Unit unit = {.ctx = ctx, .module = m};
  Pipeline pipeline = {0};
  PipelineOptions pipeline_options = {.verify_each = true};
  Str log = str_new(ctx->arena);
  const char *passes =
      "expand-composites,fold-constants,dce,infer-layout,legalize,fuse,lower{vector-bytes=32,registers=16},plan";
  return pipeline_parse(ctx, &all_passes, passes, &pipeline) &&
         pipeline_run(&unit, &all_passes, &pipeline, &pipeline_options, &log);
}

START_TEST(allowed_types) {
  Str failures = str_new(ctx->arena);
  Ctx *own = ctx;
  char *text = arena_strdup(own->arena, read_all());
  int tried = 0;
  for (char *next; *text; text = next) {
    next = text + strcspn(text, "\n");
    next += *next ? (*next = 0, 1) : 0;
    if (*text == '#')
      continue;
    Line line = split(text);
    for (int list = 0; list < line.n_lists; list++)
      for (int which = 0; which < line.lists[list].n; which++, tried++) {
        setup();
        build(&line, list, which);
        Module *m = import(atoi(line.words[1]));
        if (!m || !lowers(m))
          str_printf(&failures, "%s, opset %s, %s=%s: %s\n", line.words[0], line.words[1], line.lists[list].name,
                     dtype_name(line.lists[list].types[which]), diag_text(ctx->diags, false));
        teardown();
      }
  }
  ctx = own;
  ck_assert_int_gt(tried, 1000);
  ck_assert_msg(failures.len == 0, "%.4000s", failures.data);
}
END_TEST

Suite *suite_onnx_types(void);
Suite *suite_onnx_types(void) {
  Suite *s = suite_create("onnx_types");
  TCase *t = tcase_create("onnx_types");
  tcase_set_timeout(t, 300);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, allowed_types);
  suite_add_tcase(s, t);
  return s;
}
