"""Writes the tree-sitter grammar from the language's own grammar.

In: `zexp.lark` and the words of the parser's tables. Out: `grammar.js` and the queries for
highlights. tree-sitter's command then makes `parser.c` of `grammar.js` (`make tree-sitter`), and `parser.sha256` says
of which text it was made.

    python tools/generate_tree_sitter.py            write them
    python tools/generate_tree_sitter.py --check    exit with 1 and a diff if they are not what would be written
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check  # noqa: E402 - found only by the line above
from zlang.check import types  # noqa: E402
from zlang.syntax import tables  # noqa: E402
from zlang.syntax.parse import SOFT  # noqa: E402

LARK = ROOT / "zlang/syntax/zexp.lark"
FOLDER = ROOT / "editors/tree-sitter-zexp"
WITHOUT_NODE = {"nothing", "first", "append", "one"}
"""Labels of alternatives that stand for their parts."""
EXTERNAL = {
    "NEWLINE": "_newline",
    "FIELD": "field_name",
    "ZIP_OPEN": "_zip_open",
    "OPEN_END": "_open_end",
    "NUMBER": "number",
    "NOT_IN": "not_in",
}
"""Terminals that the scanner finds, for they depend on what follows."""
BRACKETS = "()[]{}"
"""They are the scanner's too: within `()` and `[]` no newline ends an entry."""
CONTINUED = ("=", "|", ",")
"""Marks after which a newline does not end an entry."""
WRITTEN = {
    "NAME": "$.identifier",
    "FUNCTION": "alias($.identifier, $.function_name)",
    "COMPARE": "$.comparison_operator",
    "STRING": "$.string",
    "ZIP_OPEN": 'alias($._zip_open, "(")',
    "OPEN_END": 'alias($._open_end, "..")',
}
OPERATORS = {"and", "or", "not", "in", "is", "of", "if", "then", "else", "for", "by", "until"}
PUNCTUATION = {"brackets": "()[]{}", "delimiters": ",.:"}

Alternative = tuple[list[str], str]


def rules(text: str) -> dict[str, list[Alternative]]:
    """The alternatives of each rule: their symbols and their label."""
    alternatives: dict[str, list[Alternative]] = {}
    current: list[Alternative] = []
    for line in text.splitlines():
        matched = re.fullmatch(r"([a-z_]+):(.*)|\s+\|(.*)", line)
        if matched is None or line.startswith("//"):
            continue
        if matched[1]:
            current = alternatives.setdefault(matched[1], [])
        body, _, label = (matched[2] if matched[1] else matched[3]).partition("->")
        current.append((re.findall(r'"[^"]*"|\w+', body), label.strip()))
    return alternatives


def nullable(grammar: dict[str, list[Alternative]]) -> set[str]:
    """The rules that can stand for no token."""
    result: set[str] = set()
    while True:
        more = {rule for rule, sides in grammar.items() if any(set(side) <= result for side, _ in sides)}
        if more == result:
            return result
        result = more


def terminals(grammar: dict[str, list[Alternative]]) -> list[str]:
    """All terminals, in the order in which the grammar uses them."""
    symbols = (symbol for sides in grammar.values() for side, _ in sides for symbol in side)
    return list(dict.fromkeys(symbol for symbol in symbols if symbol not in grammar))


def operators(text: str) -> dict[str, str]:
    """Terminals that are one fixed text, such as PLUS."""
    return dict(re.findall(r'^([A-Z_]+): ("[^"]*")$', text, re.MULTILINE))


class Writer:
    """The rules as tree-sitter has them."""

    def __init__(self, text: str) -> None:
        self.grammar, self.fixed = rules(text), operators(text)
        self.nullable = nullable(self.grammar)
        owners: dict[str, set[str]] = {}
        for rule, sides in self.grammar.items():
            for _, label in sides:
                owners.setdefault(label, set()).add(rule)
        self.shared = {label for label, owning in owners.items() if len(owning) > 1}

    def symbol(self, symbol: str) -> str:
        """A symbol within a sequence."""
        if symbol in self.grammar:
            return f"optional($._{symbol})" if symbol in self.nullable else f"$._{symbol}"
        if symbol.strip('"') in CONTINUED:
            return f"seq({symbol}, repeat($._continuation))"
        return (
            WRITTEN.get(symbol) or self.fixed.get(symbol) or (f"$.{EXTERNAL[symbol]}" if symbol in EXTERNAL else symbol)
        )

    def sequence(self, side: Sequence[str]) -> str:
        """The symbols of an alternative."""
        parts = [self.symbol(symbol) for symbol in side]
        return parts[0] if len(parts) == 1 else f"seq({', '.join(parts)})"

    def is_own_node(self, side: Sequence[str], label: str) -> bool:
        """Whether an alternative is a node; a terminal that has one needs no other."""
        is_terminal = len(side) == 1 and side[0] not in self.grammar
        return bool(label) and label not in WITHOUT_NODE and not (is_terminal and self.symbol(side[0]) == f"$.{label}")

    def lines(self) -> Iterator[str]:
        """The rules of `grammar.js`."""
        for rule, sides in self.grammar.items():
            if rule == "file":
                yield "source_file: $ => optional($._lines),"
                continue
            nodes: dict[str, list[str]] = {}
            choices: list[str] = []
            for side, label in sides:
                if not side:
                    continue
                if not self.is_own_node(side, label):
                    choices.append(self.sequence(side))
                    continue
                name = f"_{rule}_{label}" if label in self.shared else label
                reference = f"alias($.{name}, $.{label})" if label in self.shared else f"$.{name}"
                choices += [reference] if name not in nodes else []
                nodes.setdefault(name, []).append(self.sequence(side))
            yield f"_{rule}: $ => {choice(choices)},"
            for name, bodies in nodes.items():
                yield f"{name}: $ => {choice(bodies)},"


def choice(bodies: Sequence[str]) -> str:
    """One of several bodies."""
    return bodies[0] if len(bodies) == 1 else "choice(\n      " + ",\n      ".join(bodies) + ",\n    )"


def grammar_js(writer: Writer) -> str:
    """The text of `grammar.js`."""
    body = "\n".join(f"    {line}" for line in writer.lines())
    externals = ", ".join([*(f"$.{name}" for name in EXTERNAL.values()), *map(json.dumps, BRACKETS)])
    keywords = ", ".join(
        json.dumps(word) for word, token in sorted(tables.load().keywords.items()) if token not in SOFT
    )
    return (
        "// The grammar of .zexp files, written by tools/generate_tree_sitter.py from zlang/syntax/zexp.lark.\n"
        "module.exports = grammar({\n"
        "  name: 'zexp',\n"
        "  word: $ => $.identifier,\n"
        f"  reserved: {{ global: $ => [{keywords}] }},\n"
        "  extras: $ => [/[ \\t\\r]/, /\\\\\\n/, $.comment, $._line_break],\n"
        f"  externals: $ => [{externals}, $._continuation, $._line_break],\n"
        f"  rules: {{\n{body}\n"
        "    identifier: $ => /[A-Za-z_][\\p{L}\\p{N}_]*(-[\\p{L}\\p{N}_]+)*/,\n"
        '    string: $ => token(choice(/"""([^"]|"[^"]|""[^"])*"""/, /"([^"\\\\\\n]|\\\\[^\\n])*"/)),\n'
        '    comparison_operator: $ => choice("==", "!=", "<=", ">=", "<", ">"),\n'
        "    comment: $ => /#[^\\n]*/,\n"
        "  },\n});\n"
    )


def highlights(writer: Writer) -> str:
    """The queries that give nodes their colours."""
    words = {symbol[1:-1] for symbol in terminals(writer.grammar) if re.fullmatch(r'"[a-z]+"', symbol)}
    marks = {text[1:-1] for text in writer.fixed.values()} | {"=", "|", ".."}

    def any_of(texts: set[str], capture: str) -> str:
        return f"[{' '.join(json.dumps(text) for text in sorted(texts))}] @{capture}"

    scalars = " ".join(json.dumps(name) for name in sorted(types.SCALARS))
    lines = [
        "; Written by tools/generate_tree_sitter.py.",
        "(identifier) @variable",
        any_of(words - OPERATORS - {"import", "on"}, "keyword"),
        any_of(words & OPERATORS, "keyword.operator"),
        '"import" @keyword.import',
        '"on" @keyword',
        any_of(marks, "operator"),
        "[(comparison_operator) (not_in)] @operator",
        any_of(set(PUNCTUATION["brackets"]), "punctuation.bracket"),
        any_of(set(PUNCTUATION["delimiters"]), "punctuation.delimiter"),
        "(comment) @comment",
        "(string) @string",
        "(number) @number",
        "(field_name) @property",
        "(function_name) @function",
        "(call (path (identifier) @function.call))",
        "(declaration (path (identifier) @type))",
        "(declaration_on (path (identifier) @type))",
        "(declaration (path) . (identifier) @variable)",
        "(declaration_on (path) . (identifier) @variable)",
        "(make (path (identifier) @type))",
        "(make_on (path (identifier) @type))",
        "(type_name (identifier) @type)",
        f"((identifier) @type.builtin (#any-of? @type.builtin {scalars}))",
        '((identifier) @boolean (#any-of? @boolean "on" "off"))',
        "(word_on) @boolean",
    ]
    return "\n".join([*lines, ""])


def main() -> int:
    """Write the files, or check them."""
    writer = Writer(LARK.read_text("utf-8"))
    pages = {
        "grammar.js": grammar_js(writer),
        "queries/highlights.scm": highlights(writer),
    }
    return max(write_or_check(FOLDER / name, text, sys.argv) for name, text in pages.items())


if __name__ == "__main__":
    sys.exit(main())
