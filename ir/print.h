/* What the printers of graphs (print.c) and of loop nests (lower/loop_print.c) share. */
#ifndef WEFT_IR_PRINT_H
#define WEFT_IR_PRINT_H

#include "ir/text.h"

/* Names, quoted where they are not plain: %name, @name, name. */
void print_value_name(Str *out, const char *name);
void print_symbol_name(Str *out, const char *name);
void print_bare_name(Str *out, const char *name);
/* ` loc("file":line:col "node")`, with what is known; ` loc("")` where nothing is. */
void print_loc(Str *out, Loc loc);
/* ` as "NCHW"`; nothing for NULL. */
void print_roles(Str *out, const char *roles);

/* The symbols that a text uses, for the declarations in front of it. Zero-initialised. */
typedef struct {
  Intern seen; /* expressions, by node */
  VEC(const Expr *) list;
} SymbolSet;
void symbols_of_expr(Ctx *ctx, SymbolSet *set, const Expr *e);
void symbols_of_type(Ctx *ctx, SymbolSet *set, const Type *type);

/* The first line, the declarations of symbols in the order of their names, and the constants. */
void print_preamble(Str *out, Module *m, SymbolSet *symbols, PrintOptions options);

#endif
