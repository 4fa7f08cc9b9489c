"""Writes docs/grammar.md from the grammar that the parser is made of.

In: `zlang/syntax/zexp.lark`. Out: the same rules without the names of their builders.

    python tools/generate_grammar.py            write it
    python tools/generate_grammar.py --check    exit with 1 and a diff if it is not what would be written
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check  # noqa: E402 - found only by the line above

GRAMMAR = ROOT / "zlang/syntax/zexp.lark"
DOCUMENT = ROOT / "docs/grammar.md"
_BUILDER = re.compile(r"[ \t]*-> \w+$", re.MULTILINE)
_COMMENT = re.compile(r"^//.*\n", re.MULTILINE)
INTRODUCTION = """\
<!-- Generated from zlang/syntax/zexp.lark by tools/generate_grammar.py: do not edit. -->

# The grammar

LALR(1); a program is a `file`. Words in quotes stand for themselves, `/…/` is a regular expression, an empty
alternative is nothing. [language.md](language.md) says what it all means.

The lexer decides which line ends matter: one inside `( )` or `[ ]`, before a line that begins with `|`, or after `|`,
`=` or `,` is dropped. A name before `=` is a `FIELD`, whatever the word; a parenthesis that begins `(a, b) =` is a
`ZIP_OPEN`; a `..` with nothing after it is an `OPEN_END`. Spaces, tabs and `# comments` stand between any two tokens.
In a `STRING`, `{expr}` is an expression.

"""


def document() -> str:
    """The whole document."""
    rules = _BUILDER.sub("", _COMMENT.sub("", GRAMMAR.read_text("utf-8"))).strip()
    return f"{INTRODUCTION}```lark\n{rules}\n```\n"


if __name__ == "__main__":
    sys.exit(write_or_check(DOCUMENT, document(), sys.argv[1:]))
