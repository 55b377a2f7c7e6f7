/* An object file of one section and one symbol. Layout of the file:
 *
 *   ELF header | blob (at 64) | symbol table | symbol names | section names | section headers
 *
 * Sections: 0 null, 1 the blob, 2 .symtab, 3 .strtab, 4 .shstrtab, 5 .note.GNU-stack (empty: the stack needs not be
 * executable). The blob starts at the header's end, so one buffer aligned to 64 is the file, and weights of any size
 * are written once, in place. Sources: System V ABI, chapters 4 and 5, and its AMD64 supplement (SHF_X86_64_LARGE). */
#include "codegen/elf.h"
#include <elf.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elf.c writes its structs as they lie in memory: little-endian machines only"
#endif

enum { BLOB_ALIGN = 64, SECTIONS = 6, SHF_LARGE = 0x10000000 };
_Static_assert(sizeof(Elf64_Ehdr) == BLOB_ALIGN, "the blob follows the header");

static size_t align_up(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

/* Appends a string and its NUL; returns its offset. */
static uint32_t put_name(Str *names, const char *name) {
  uint32_t at = (uint32_t)names->len;
  str_put(names, name);
  str_putc(names, '\0');
  return at;
}

Bytes elf_blob_object(Ctx *ctx, const char *symbol, const char *section, size_t size, bool large,
                      unsigned char **blob) {
  Str symbol_names = str_new(ctx->arena), section_names = str_new(ctx->arena);
  put_name(&symbol_names, "");
  const Elf64_Sym symbols[2] = {
      {0},
      {.st_name = put_name(&symbol_names, symbol),
       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
       .st_other = STV_HIDDEN,
       .st_shndx = 1,
       .st_size = size},
  };

  const size_t blob_at = sizeof(Elf64_Ehdr), symbols_at = align_up(blob_at + size, 8);
  const size_t symbol_names_at = symbols_at + sizeof symbols, section_names_at = symbol_names_at + symbol_names.len;
  put_name(&section_names, "");
  Elf64_Shdr sections[SECTIONS] = {
      {0},
      {.sh_name = put_name(&section_names, section),
       .sh_type = SHT_PROGBITS,
       .sh_flags = SHF_ALLOC | (large ? SHF_LARGE : 0),
       .sh_offset = blob_at,
       .sh_size = size,
       .sh_addralign = BLOB_ALIGN},
      {.sh_name = put_name(&section_names, ".symtab"),
       .sh_type = SHT_SYMTAB,
       .sh_offset = symbols_at,
       .sh_size = sizeof symbols,
       .sh_link = 3,
       .sh_info = 1, /* the first global symbol */
       .sh_addralign = 8,
       .sh_entsize = sizeof *symbols},
      {.sh_name = put_name(&section_names, ".strtab"),
       .sh_type = SHT_STRTAB,
       .sh_offset = symbol_names_at,
       .sh_size = symbol_names.len,
       .sh_addralign = 1},
      {.sh_name = put_name(&section_names, ".shstrtab"),
       .sh_type = SHT_STRTAB,
       .sh_offset = section_names_at,
       .sh_addralign = 1},
      {.sh_name = put_name(&section_names, ".note.GNU-stack"), .sh_type = SHT_PROGBITS, .sh_addralign = 1},
  };
  sections[4].sh_size = section_names.len;
  sections[5].sh_offset = section_names_at + section_names.len;

  const size_t sections_at = align_up(section_names_at + section_names.len, 8);
  const Elf64_Ehdr header = {
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_SYSV},
      .e_type = ET_REL,
      .e_machine = EM_X86_64,
      .e_version = EV_CURRENT,
      .e_shoff = sections_at,
      .e_ehsize = sizeof header,
      .e_shentsize = sizeof *sections,
      .e_shnum = SECTIONS,
      .e_shstrndx = 4,
  };

  const size_t total = sections_at + sizeof sections;
  unsigned char *file = arena_alloc(ctx->arena, total);
  memcpy(file, &header, sizeof header);
  memcpy(file + symbols_at, symbols, sizeof symbols);
  memcpy(file + symbol_names_at, symbol_names.data, symbol_names.len);
  memcpy(file + section_names_at, section_names.data, section_names.len);
  memcpy(file + sections_at, sections, sizeof sections);
  *blob = file + blob_at;
  return (Bytes){file, total};
}
