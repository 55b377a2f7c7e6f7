/* The constants of a program, gathered in one blob: each in the layout of its buffer, at a multiple of 64 bytes, in the
 * program's order. A constant that several buffers name lies there once. Gaps hold zeros.
 *
 * An object with weights goes to the linker as a file of its own: through LLVM, the assembler or `ld -b binary` the
 * same bytes take a multiple of the time and memory, or end up writable. */
#include "codegen/elf.h"

#include "ir/fault.h"
#include "ir/tensor.h"

enum { WEIGHT_ALIGN = 64 };

/* From here on 32-bit offsets from code may not reach all of a shared object. */
#define LARGE_BYTES ((size_t)1 << 30)

size_t weights_layout(LoopProgram *p, size_t *offsets) {
  Arena *arena = p->ctx->arena;
  /* Open addressing from constant to the number of the first buffer that has it. */
  size_t cap = 16;
  while (cap < p->constants.len * 2)
    cap *= 2;
  size_t *first = ARENA_ARRAY(arena, size_t, cap); /* number + 1; 0: free */
  int64_t end = 0;
  for (size_t k = 0; k < p->constants.len; k++) {
    const Buffer *buffer = p->constants.data[k];
    size_t slot = hash_bytes(WEFT_HASH_SEED, &buffer->constant, sizeof buffer->constant) & (cap - 1);
    while (first[slot] && p->constants.data[first[slot] - 1]->constant != buffer->constant)
      slot = (slot + 1) & (cap - 1);
    if (first[slot]) {
      offsets[k] = offsets[first[slot] - 1];
      continue;
    }
    first[slot] = k + 1;
    offsets[k] = (size_t)end;
    WEFT_ASSERT(add_i64(end, type_bytes(buffer->type), &end) && add_i64(end, WEIGHT_ALIGN - 1, &end));
    end -= end % WEIGHT_ALIGN;
  }
  return (size_t)end;
}

/* The planted fault "weights": the two halves of a kernel's first axis, which are groups where there are two, change
 * places. */
static void swap_groups(Ctx *ctx, const Type *type, void *data) {
  if (type->rank < 3 || expr_value(type->dims[0]) % 2 != 0)
    return;
  Tensor *t = tensor_of_type(ctx, type), *swapped = tensor_of_type(ctx, type);
  tensor_from_storage(t, type, data);
  for (int64_t i = 0; i < t->n; i++)
    tensor_copy_element(swapped, i, t, (i + t->n / 2) % t->n);
  tensor_to_storage(swapped, type, data);
}

void weights_fill(LoopProgram *p, const size_t *offsets, void *blob) {
  for (size_t k = 0; k < p->constants.len; k++) {
    const Buffer *buffer = p->constants.data[k];
    WEFT_ASSERT(buffer->constant->type == buffer->type);
    memcpy((char *)blob + offsets[k], constant_data(p->module, buffer->constant), (size_t)type_bytes(buffer->type));
    if (FAULT("weights"))
      swap_groups(p->ctx, buffer->type, (char *)blob + offsets[k]);
  }
}

Bytes weights_object(LoopProgram *p) {
  size_t *offsets = ARENA_ARRAY(p->ctx->arena, size_t, p->constants.len);
  size_t size = weights_layout(p, offsets);
  bool large = size >= LARGE_BYTES;
  unsigned char *blob;
  /* A program without constants has the symbol all the same: code may name it. */
  Bytes object = elf_blob_object(p->ctx, "weft_weights", large ? ".lrodata.weft_weights" : ".rodata.weft_weights",
                                 size ? size : WEIGHT_ALIGN, large, &blob);
  weights_fill(p, offsets, blob);
  return object;
}
