/* A writer of relocatable ELF64 objects for x86-64 that hold one read-only blob under one symbol. */
#ifndef WEFT_CODEGEN_ELF_H
#define WEFT_CODEGEN_ELF_H

#include "codegen/codegen.h"

/* Makes the object for a blob of `size` bytes, zeroed; *blob receives where the caller writes them, aligned to 64 both
 * in memory and once linked. The symbol is global and hidden. large: a section out of reach of 32-bit offsets, which
 * code must address by 64-bit ones. section: its name, e.g. ".rodata.weft_weights". */
Bytes elf_blob_object(Ctx *ctx, const char *symbol, const char *section, size_t size, bool large, unsigned char **blob);

#endif
