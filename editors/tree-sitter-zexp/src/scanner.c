// The tokens of .zexp files that depend on what follows them, as zlang/syntax/lexer.py finds them. A newline is a token
// only where the parser can take one, and not before a line that begins with `|`.
#include "tree_sitter/parser.h"
#include <stdlib.h>
#include <string.h>

// In the order of `externals` in grammar.js.
enum Token { NEWLINE, FIELD, ZIP_OPEN, OPEN_END, NUMBER, NOT_IN, BRACKETS, CONTINUATION = BRACKETS + 6, LINE_BREAK };
static const char *const MARKS = "()[]{}";
#define MOST_OPEN 1000

typedef struct {
  uint8_t is_ended; // whether the newline at the end of the file was given
  uint16_t depth;
  char open[MOST_OPEN]; // the opening brackets
} Scanner;

static bool is_letter(int32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(int32_t c) { return c >= '0' && c <= '9'; }
static bool begins_name(int32_t c) { return is_letter(c) || c == '_'; }
static bool is_word(int32_t c) { return begins_name(c) || is_digit(c) || c > 127; }
static void advance(TSLexer *lexer) { lexer->advance(lexer, false); }
static void skip_spaces(TSLexer *lexer) {
  while (lexer->lookahead == ' ' || lexer->lookahead == '\t') advance(lexer);
}
static bool found(TSLexer *lexer, enum Token token) {
  lexer->result_symbol = token;
  return true;
}

// A name; false where a hyphen follows it that belongs to something else.
static bool name(TSLexer *lexer, bool marks) {
  for (;;) {
    while (is_word(lexer->lookahead)) advance(lexer);
    if (marks) lexer->mark_end(lexer);
    if (lexer->lookahead != '-') return true;
    advance(lexer);
    if (!is_word(lexer->lookahead)) return false;
  }
}

static bool is_assigned(TSLexer *lexer) {
  skip_spaces(lexer);
  if (lexer->lookahead != '=') return false;
  advance(lexer);
  return lexer->lookahead != '=';
}

// `not in`, or a name before `=`.
static bool word(TSLexer *lexer, const bool *valid_symbols) {
  bool is_not = true;
  for (const char *letter = "not"; *letter && is_not; letter++) {
    is_not = lexer->lookahead == *letter;
    if (is_not) advance(lexer);
  }
  is_not = is_not && (lexer->lookahead == ' ' || lexer->lookahead == '\t');
  if (is_not && valid_symbols[NOT_IN]) {
    skip_spaces(lexer);
    for (const char *letter = "in"; *letter; letter++) {
      if (lexer->lookahead != *letter) return false;
      advance(lexer);
    }
    if (is_word(lexer->lookahead) || lexer->lookahead == '-') return false;
    lexer->mark_end(lexer);
    return found(lexer, NOT_IN);
  }
  lexer->mark_end(lexer);
  return valid_symbols[FIELD] && name(lexer, true) && is_assigned(lexer) && found(lexer, FIELD);
}

// The unit of a number is letters, `/s`, both, or `%`.
static bool number(TSLexer *lexer) {
  while (is_digit(lexer->lookahead) || lexer->lookahead == '_') advance(lexer);
  lexer->mark_end(lexer);
  if (lexer->lookahead == '.') {
    advance(lexer);
    if (!is_digit(lexer->lookahead)) return found(lexer, NUMBER);
    while (is_digit(lexer->lookahead)) advance(lexer);
    lexer->mark_end(lexer);
  }
  if (lexer->lookahead == '%') {
    advance(lexer);
    lexer->mark_end(lexer);
    return found(lexer, NUMBER);
  }
  while (is_letter(lexer->lookahead)) advance(lexer);
  lexer->mark_end(lexer);
  if (lexer->lookahead == '/') {
    advance(lexer);
    if (lexer->lookahead == 's') {
      advance(lexer);
      if (!is_word(lexer->lookahead)) lexer->mark_end(lexer);
    }
  }
  return found(lexer, NUMBER);
}

// After `(`: whether `a, b) =` follows.
static bool opens_zip(TSLexer *lexer) {
  for (;;) {
    skip_spaces(lexer);
    if (!begins_name(lexer->lookahead) || !name(lexer, false)) return false;
    skip_spaces(lexer);
    int32_t mark = lexer->lookahead;
    if (mark != ')' && mark != ',') return false;
    advance(lexer);
    if (mark == ')') return is_assigned(lexer);
  }
}

// After `..`: whether nothing follows that could end the range.
static bool is_open_end(TSLexer *lexer) {
  skip_spaces(lexer);
  if (lexer->eof(lexer) || (lexer->lookahead < 128 && strchr("\r\n#})],|", lexer->lookahead))) return true;
  return begins_name(lexer->lookahead) && name(lexer, false) && is_assigned(lexer);
}

// A bracket, which opens a level or ends one. A brace also ends parentheses that were forgotten.
static bool bracket(Scanner *scanner, TSLexer *lexer, char mark) {
  int which = (int)(strchr(MARKS, mark) - MARKS);
  if (which % 2 == 0) {
    if (scanner->depth < MOST_OPEN) scanner->open[scanner->depth++] = mark;
  } else {
    while (mark == '}' && scanner->depth && scanner->open[scanner->depth - 1] != '{') scanner->depth--;
    if (scanner->depth && scanner->open[scanner->depth - 1] == MARKS[which - 1]) scanner->depth--;
  }
  return found(lexer, (enum Token)(BRACKETS + which));
}

// After a newline: whether the next line with content continues the one before.
static bool is_continued(TSLexer *lexer) {
  while (!lexer->eof(lexer)) {
    if (lexer->lookahead == '#')
      while (lexer->lookahead != '\n' && !lexer->eof(lexer)) advance(lexer);
    else if (lexer->lookahead < 128 && strchr(" \t\r\n", lexer->lookahead))
      advance(lexer);
    else
      return lexer->lookahead == '|';
  }
  return false;
}

void *tree_sitter_zexp_external_scanner_create(void) { return calloc(1, sizeof(Scanner)); }
void tree_sitter_zexp_external_scanner_destroy(void *payload) { free(payload); }

unsigned tree_sitter_zexp_external_scanner_serialize(void *payload, char *buffer) {
  Scanner *scanner = payload;
  buffer[0] = (char)scanner->is_ended;
  memcpy(buffer + 1, scanner->open, scanner->depth);
  return 1 + scanner->depth;
}

void tree_sitter_zexp_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  Scanner *scanner = payload;
  scanner->is_ended = length && buffer[0];
  scanner->depth = length ? (uint16_t)(length - 1) : 0;
  if (length) memcpy(scanner->open, buffer + 1, length - 1);
}

bool tree_sitter_zexp_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid_symbols) {
  Scanner *scanner = payload;
  bool is_apart = lexer->get_column(lexer) == 0;
  while (lexer->lookahead == ' ' || lexer->lookahead == '\t' || lexer->lookahead == '\r') {
    is_apart = true;
    lexer->advance(lexer, true);
  }
  if (lexer->eof(lexer)) {
    if (scanner->is_ended || !valid_symbols[NEWLINE]) return false;
    scanner->is_ended = true;
    lexer->mark_end(lexer);
    return found(lexer, NEWLINE);
  }
  int32_t c = lexer->lookahead;
  if (c == '\n') {
    advance(lexer);
    lexer->mark_end(lexer);
    if (valid_symbols[CONTINUATION] && !valid_symbols[NEWLINE]) return found(lexer, CONTINUATION);
    bool is_within = scanner->depth && scanner->open[scanner->depth - 1] != '{';
    return found(lexer, is_within || is_continued(lexer) ? LINE_BREAK : NEWLINE);
  }
  if (begins_name(c)) return word(lexer, valid_symbols);
  if (is_digit(c)) return (valid_symbols[NUMBER] || is_apart) && number(lexer);
  if (c < 128 && strchr(MARKS, c)) {
    advance(lexer);
    lexer->mark_end(lexer);
    bracket(scanner, lexer, (char)c);
    return c != '(' || !is_apart || !opens_zip(lexer) || found(lexer, ZIP_OPEN);
  }
  if (c != '-' && c != '.') return false;
  advance(lexer);
  if (c == '-') return (valid_symbols[NUMBER] || is_apart) && is_digit(lexer->lookahead) && number(lexer);
  if (!valid_symbols[OPEN_END] || lexer->lookahead != '.') return false;
  advance(lexer);
  lexer->mark_end(lexer);
  return is_open_end(lexer) && found(lexer, OPEN_END);
}
