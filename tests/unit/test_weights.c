/* The blob of weights and its object file, read back by a parser of our own that trusts nothing. */
#include "codegen/elf.h"
#include <check.h>
#include <elf.h>
#include <stdlib.h>

static Ctx *ctx;
static Module *module;
static LoopProgram *program;

static void setup(void) {
  ctx = ctx_create();
  module = module_create(ctx, "test.weft", "test");
  program = loops_create(ctx, module, "test");
}

static void teardown(void) {
  ctx_destroy(ctx);
}

/* A constant of n bytes whose byte i is first + i. */
static Constant *add_constant(const char *name, int64_t n, int first) {
  unsigned char *data = arena_alloc(ctx->arena, (size_t)n);
  for (int64_t i = 0; i < n; i++)
    data[i] = (unsigned char)(first + i);
  return module_add_constant(module, name, type_static(ctx, DT_U8, 1, &n, NULL), data, LOC_NONE);
}

static void add_buffer(Constant *c) {
  loops_add_buffer(program, c->name, c->type, BUF_CONSTANT, c);
}

/* Checks the file's structure and returns its blob. */
static const unsigned char *read_object(Bytes object, size_t *size, const char *symbol, const char *section,
                                        bool large) {
  ck_assert_uint_ge(object.size, sizeof(Elf64_Ehdr));
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)object.data;
  ck_assert(memcmp(header->e_ident, ELFMAG, SELFMAG) == 0);
  ck_assert_int_eq(header->e_ident[EI_CLASS], ELFCLASS64);
  ck_assert_int_eq(header->e_ident[EI_DATA], ELFDATA2LSB);
  ck_assert_int_eq(header->e_type, ET_REL);
  ck_assert_int_eq(header->e_machine, EM_X86_64);
  ck_assert_uint_eq(header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr), object.size);
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(object.data + header->e_shoff);
  const char *names = (const char *)object.data + sections[header->e_shstrndx].sh_offset;
  const Elf64_Shdr *blob = NULL, *symbols = NULL, *stack = NULL;
  for (int i = 0; i < header->e_shnum; i++) {
    ck_assert_uint_le(sections[i].sh_offset + sections[i].sh_size, header->e_shoff);
    const char *name = names + sections[i].sh_name;
    if (strcmp(name, section) == 0)
      blob = &sections[i];
    else if (strcmp(name, ".symtab") == 0)
      symbols = &sections[i];
    else if (strcmp(name, ".note.GNU-stack") == 0)
      stack = &sections[i];
  }
  ck_assert(blob && symbols && stack);
  ck_assert_uint_eq(stack->sh_flags, 0);
  ck_assert_uint_eq(stack->sh_size, 0);
  ck_assert_uint_eq(blob->sh_flags, SHF_ALLOC | (large ? 0x10000000u : 0)); /* not writable */
  ck_assert_uint_eq(blob->sh_addralign, 64);
  ck_assert_uint_eq(symbols->sh_size, 2 * sizeof(Elf64_Sym));
  ck_assert_uint_eq(symbols->sh_info, 1);
  const Elf64_Sym *s = (const Elf64_Sym *)(const void *)(object.data + symbols->sh_offset) + 1;
  ck_assert_str_eq((const char *)object.data + sections[symbols->sh_link].sh_offset + s->st_name, symbol);
  ck_assert_int_eq(s->st_info, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT));
  ck_assert_int_eq(s->st_other, STV_HIDDEN);
  ck_assert_ptr_eq(&sections[s->st_shndx], blob);
  ck_assert_uint_eq(s->st_value, 0);
  ck_assert_uint_eq(s->st_size, blob->sh_size);
  *size = blob->sh_size;
  return object.data + blob->sh_offset;
}

START_TEST(layout_is_aligned_and_shares) {
  Constant *a = add_constant("a", 3, 1), *b = add_constant("b", 64, 10), *c = add_constant("c", 0, 0),
           *d = add_constant("d", 65, 100);
  add_buffer(a);
  add_buffer(b);
  add_buffer(a);
  add_buffer(c);
  add_buffer(d);
  size_t offsets[5];
  ck_assert_uint_eq(weights_layout(program, offsets), 64 + 64 + 128);
  ck_assert_uint_eq(offsets[0], 0);
  ck_assert_uint_eq(offsets[1], 64);
  ck_assert_uint_eq(offsets[2], 0);
  ck_assert_uint_eq(offsets[3], 128);
  ck_assert_uint_eq(offsets[4], 128);
  unsigned char blob[256] = {0};
  weights_fill(program, offsets, blob);
  for (int i = 0; i < 256; i++) {
    int expected = i < 3 ? 1 + i : i < 64 ? 0 : i < 128 ? 10 + i - 64 : i < 128 + 65 ? 100 + i - 128 : 0;
    ck_assert_int_eq(blob[i], (unsigned char)expected);
  }
}
END_TEST

/* Many constants, some named by several buffers: distinct ones never overlap. */
START_TEST(layout_of_many) {
  enum { N = 500 };
  size_t offsets[2 * N];
  for (int i = 0; i < N; i++) {
    Constant *c = add_constant("c", i % 130, i);
    add_buffer(c);
    if (i % 3 == 0)
      add_buffer(c);
  }
  size_t end = weights_layout(program, offsets);
  unsigned char *blob = arena_alloc(ctx->arena, end);
  weights_fill(program, offsets, blob);
  for (size_t k = 0; k < program->constants.len; k++) {
    const Constant *c = program->constants.data[k]->constant;
    ck_assert_uint_eq(offsets[k] % 64, 0);
    ck_assert_uint_le(offsets[k] + (size_t)type_bytes(c->type), end);
    ck_assert(memcmp(blob + offsets[k], c->data, (size_t)type_bytes(c->type)) == 0);
  }
}
END_TEST

START_TEST(derived_constant_is_made) {
  const int64_t shape[2] = {2, 3};
  float *data = arena_alloc(ctx->arena, sizeof(float) * 6);
  for (int i = 0; i < 6; i++)
    data[i] = (float)i;
  Constant *base = module_add_constant(module, "w", type_static(ctx, DT_F32, 2, shape, NULL), data, LOC_NONE);
  Constant *turned = module_derive_constant(module, base, layout_permutation(ctx, 2, (const int[]){1, 0}));
  add_buffer(turned);
  size_t size;
  const float *blob = (const float *)(const void *)read_object(weights_object(program), &size, "weft_weights",
                                                               ".rodata.weft_weights", false);
  ck_assert_uint_eq(size, 64);
  static const float expected[6] = {0, 3, 1, 4, 2, 5};
  ck_assert(memcmp(blob, expected, sizeof expected) == 0);
}
END_TEST

START_TEST(object_of_nothing) {
  size_t size;
  read_object(weights_object(program), &size, "weft_weights", ".rodata.weft_weights", false);
  ck_assert_uint_gt(size, 0); /* the symbol has a place */
}
END_TEST

START_TEST(object_sizes) {
  for (size_t n = 1; n < 140; n++)
    for (int large = 0; large < 2; large++) {
      unsigned char *blob;
      const char *section = large ? ".lrodata.s" : ".rodata.s";
      Bytes object = elf_blob_object(ctx, "some_symbol", section, n, large, &blob);
      ck_assert_uint_eq((uintptr_t)blob % 64, 0);
      memset(blob, 0x5a, n);
      size_t size;
      const unsigned char *back = read_object(object, &size, "some_symbol", section, large);
      ck_assert_uint_eq(size, n);
      ck_assert_ptr_eq(back, blob);
    }
}
END_TEST

Suite *suite_weights(void);

Suite *suite_weights(void) {
  Suite *suite = suite_create("weights");
  TCase *all = tcase_create("weights");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, layout_is_aligned_and_shares);
  tcase_add_test(all, layout_of_many);
  tcase_add_test(all, derived_constant_is_made);
  tcase_add_test(all, object_of_nothing);
  tcase_add_test(all, object_sizes);
  suite_add_tcase(suite, all);
  return suite;
}
