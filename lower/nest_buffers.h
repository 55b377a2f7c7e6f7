/* Which outputs and arena buffers the nests of a program read and store to. */
#ifndef WEFT_LOWER_NEST_BUFFERS_H
#define WEFT_LOWER_NEST_BUFFERS_H

#include "lower/loop.h"

typedef VEC(const Buffer *) BufferList;

typedef struct {
  BufferList read, stored;
} NestBuffers;

/* Each buffer once, in the order of the statements. */
NestBuffers nest_buffers(Ctx *ctx, const Nest *nest);

/* Per buffer the last nest that stores to it, NULL: none; and whether it updates what earlier nests stored there, as a
 * scatter does, in which case what these leave is not the value yet. */
typedef struct {
  const Nest **of_outputs, **of_arena; /* by Buffer.index */
  bool *updates_output, *updates_arena;
} LastWriters;

LastWriters last_writers(LoopProgram *p);
bool is_last_writer(const LastWriters *w, const Nest *nest, const Buffer *b);
/* True where a later nest updates what this one stores to b. */
bool is_updated_later(const LastWriters *w, const Nest *nest, const Buffer *b);

#endif
