/* The words of the text form, shared by the parsers of graphs and of loop nests: docs/grammar.md, section Words.
 *
 * A lexer holds one word of lookahead, `word`; everything in front of it has been taken. A fault in the text of a word
 * makes a WORD_BAD that is reported only where a parser meets it, so that looking ahead never reports. The first error
 * is reported, at its line and column, with what was found and what was expected; later ones of the same text are not.
 */
#ifndef WEFT_IR_LEX_H
#define WEFT_IR_LEX_H

#include "ir/ctx.h"

#define LEX_MAX_TEXT ((size_t)1 << 30) /* bytes of a text */
#define LEX_MAX_NAME ((size_t)1 << 16) /* bytes of a name or string, other than hex content */
#define LEX_MAX_DIGITS ((size_t)512)   /* characters of a number */

typedef enum {
  WORD_END,
  WORD_BAD,
  WORD_NAME, /* letters first: also every key word */
  WORD_INT,  /* digits: no sign */
  WORD_FLOAT,
  WORD_STRING, /* with its quotes and escapes */
  WORD_VALUE,  /* %name */
  WORD_SYMBOL, /* @name */
  WORD_MARK    /* punctuation */
} WordKind;

typedef struct {
  WordKind kind;
  const char *start;
  size_t len;
  int line, col;
  const char *why; /* WORD_BAD: what was found, as a noun */
} Word;

typedef struct {
  Ctx *ctx;
  const char *file;
  const char *p, *end; /* what follows `word` */
  int line, col;       /* of p */
  bool failed;         /* an error has been reported */
  Word word;
} Lexer;

/* Reports and returns false where the text is too large. The text must outlive the lexer. */
bool lex_init(Lexer *lex, Ctx *ctx, const char *file, const char *text, size_t len);

Loc lex_loc(const Lexer *lex, Word word);
/* Takes the word ahead. */
Word lex_take(Lexer *lex);
/* Reads the tag of a layout from the word ahead, which starts with '@', and takes it: the text after '@'. */
bool lex_tag(Lexer *lex, Word *tag);

/* Whether the word ahead is this key word or mark; accept also takes it; expect reports where it is not. */
bool lex_at(const Lexer *lex, const char *text);
bool lex_accept(Lexer *lex, const char *text);
bool lex_expect(Lexer *lex, const char *text);
bool word_is(Word word, const char *text);

/* Reports "expected WHAT, found ..." at the word ahead; false. */
bool lex_expected(Lexer *lex, const char *what);
/* Reports at this word; false. */
bool lex_error(Lexer *lex, Word at, const char *fmt, ...) WEFT_PRINTF(3, 4);
/* "; did you mean 'NEAR'?", or "" where near is NULL. */
const char *lex_suggestion(Lexer *lex, const char *near);

/* The name of a WORD_NAME, WORD_INT, WORD_STRING, WORD_VALUE or WORD_SYMBOL without its sigil, unescaped, interned.
 * NULL after reporting where it is empty or too long. */
const char *lex_name_of(Lexer *lex, Word word);
/* Takes a name of one of these kinds; `what` is the noun for the error. NULL after reporting. */
const char *lex_value(Lexer *lex, const char *what);
const char *lex_symbol(Lexer *lex, const char *what);
const char *lex_bare_name(Lexer *lex, const char *what); /* a plain name, digits, or a string */
const char *lex_string(Lexer *lex, const char *what);    /* may be empty */
/* Takes the name of a loop variable or symbol: a plain name other than div, mod, min, max, or a string. */
const char *lex_variable(Lexer *lex, const char *what);
/* Takes an integer, perhaps with a sign, that lies in lo..hi. */
bool lex_int(Lexer *lex, const char *what, int64_t lo, int64_t hi, int64_t *out);
/* Takes a number, perhaps with a sign: an integer or a float, `inf`, `nan`. single: read and bounded as a float. */
bool lex_number(Lexer *lex, const char *what, bool single, double *out);

/* Whether a name needs no quotes behind % and @ (sigil), or bare. */
bool lex_name_is_plain(const char *name, bool sigil);
/* Whether the name of a loop variable or symbol needs no quotes in an expression. */
bool lex_name_is_variable(const char *name);

#endif
