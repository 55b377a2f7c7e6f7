/* The text form of graphs: docs/grammar.md is its definition. Printing and parsing are inverse: what is printed parses
 * to a module that prints the same text. */
#ifndef WEFT_IR_TEXT_H
#define WEFT_IR_TEXT_H

#include "ir/module.h"

/* file_refs: a constant that came from a file and is unchanged is printed as file("...", "tensor") instead of its
 * content: right where the text is to live in the same folder. locations: print loc(...) on ops. */
typedef struct {
  bool file_refs, locations;
} PrintOptions;

void module_print(Str *out, Module *m, PrintOptions options);
void op_print(Str *out, const Op *op); /* one line, no location, no newline: for diagnostics */

/* Reads a constant's tensor from a file beside the text (folder rules of the frontends); given by the caller, since
 * the file formats are the frontends'. Returns logical-order data for `type` or NULL after reporting. */
typedef void *TensorLoader(void *env, Ctx *ctx, const char *file, const char *tensor, const Type *type, Loc loc);

/* NULL after reporting to ctx->diags. file: for locations. */
Module *module_parse(Ctx *ctx, const char *file, const char *text, size_t len, TensorLoader *loader, void *env);

/* Checks every rule of the grammar page's section "what a well-formed module is"; false after reporting (as
 * WEFT_MALFORMED at the op's location). */
bool module_verify(Module *m);

#endif
