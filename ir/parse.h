/* What the parsers of graphs (parse.c) and of loop nests (lower/loop_parse.c) share: the state, the preamble with its
 * symbols and constants, types, expressions, locations.
 *
 * Every function that returns bool returns false after reporting, and the parse ends there. Limits hold for all text,
 * so that a hostile one costs time and memory in proportion to its length:
 * nesting, operators and terms of expressions, elements of types, bytes of constants. */
#ifndef WEFT_IR_PARSE_H
#define WEFT_IR_PARSE_H

#include "ir/lex.h"
#include "ir/text.h"

#define PARSE_MAX_DEPTH (EXPR_FIT_DEPTH + 2) /* nesting of parentheses in an integer expression */
#define PARSE_MAX_OPERATORS 1024             /* in one integer expression */

typedef struct Parser {
  Lexer lex;
  Ctx *ctx;
  Module *module;
  TensorLoader *loader; /* NULL: file(...) cannot be read */
  void *loader_env;
  /* The loop variable of this (interned) name, or NULL; the function is NULL where there are no loops. */
  const Expr *(*find_variable)(void *scope, const char *name);
  void *scope;
  bool closed; /* a symbol must have been seen before: in loop nests, where a mistyped variable would else be one */
  Intern constants, symbols;
  VEC(const char *) known; /* names of symbols, and of loop variables in scope: for suggestions */
  size_t constant_bytes, constant_bytes_max; /* storage of constants written out in the text */
  int depth, operators;                      /* of the expression being read */
} Parser;

/* Starts on a text: reads `weft 1 model "..."`, symbol declarations and constants, and makes the module. */
bool parse_start(Parser *p, Ctx *ctx, const char *file, const char *text, size_t len, TensorLoader *loader, void *env);

/* `dim`s and indices. `what` is the noun for errors. */
bool parse_expr(Parser *p, const char *what, const Expr **out);
bool parse_type(Parser *p, const Type **out);
/* The optional loc(...): *loc is left as it is where there is none. */
bool parse_loc(Parser *p, Loc *loc);
/* The optional `as "NCHW"` of a value of this type: *roles is NULL where there is none. */
bool parse_roles(Parser *p, const Type *type, const char **roles);
/* `const @name : ...`, the word `const` being ahead. */
bool parse_constant(Parser *p);
/* The constant named by the symbol ahead. */
bool parse_constant_ref(Parser *p, Constant **out);
/* The symbol of this name with these bounds; reports at `at` where the context has it with others. */
bool parse_declare_symbol(Parser *p, Word at, const char *name, int64_t lo, int64_t hi, const Expr **out);
const Expr *parse_find_symbol(const Parser *p, const char *name);

/* Tables by interned name. */
uint64_t name_hash(const char *name);

/* Whether roles are one capital per axis, all different. */
bool roles_fit(const char *roles, int rank);

/* Whether a text is one of loop nests rather than of a graph: looks for the first `func` or `loops`. */
bool text_is_loops(Ctx *ctx, const char *text, size_t len);

#endif
