"""Syntax highlighting with Pygments: for documentation sites, terminals and notebooks.

Pygments finds the class by the entry point in pyproject.toml. An incomplete or invalid program is coloured as far
as it can be read.
"""

from __future__ import annotations

import re
from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from zlang import units
from zlang.syntax import tables

_NAME = r"[A-Za-z_][\w-]*"
_OPERATORS = {"and", "or", "not", "in", "is", "of", "if", "then", "else", "for", "by"}
_UNITS = "|".join(re.escape(unit) for unit in sorted({*units.UNITS, *"kKMGT"}, key=len, reverse=True))
_KEYWORDS = set(tables.load().keywords)


class ZexpLexer(RegexLexer):
    """Programs of zlang."""

    name = "zexp"
    aliases: ClassVar = ["zexp", "zlang"]
    filenames: ClassVar = ["*.zexp"]
    mimetypes: ClassVar = ["text/x-zexp"]
    tokens: ClassVar = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"#.*$", Comment.Single),
            (r'"""', String.Double, "long text"),
            (r'"', String.Double, "text"),
            (rf"[0-9][0-9_]*(?:\.[0-9]+)?(?:(?:{_UNITS})?(?:/s)?)(?!\w)", Number),
            (rf"{_NAME}(?=\s*=(?!=))", Name.Attribute),
            (words(("on", "off"), prefix=r"(?<=[=|(,]\s)", suffix=r"(?![\w-])"), Keyword.Constant),
            (words(sorted(_OPERATORS & _KEYWORDS), prefix=r"(?<![.\w-])", suffix=r"(?![\w-])"), Operator.Word),
            (words(sorted(_KEYWORDS - _OPERATORS), prefix=r"(?<![.\w-])", suffix=r"(?![\w-])"), Keyword),
            (rf"{_NAME}(?=\()", Name.Function),
            (rf"^{_NAME}(?:\.{_NAME})?(?=[^\S\n]+[A-Za-z_])", Keyword.Type),
            (_NAME, Name),
            (r"[=!<>]=|\.\.|[=|+*/<>%-]", Operator),
            (r"[\[\](){},.:]", Punctuation),
            (r".", Text),
        ],
        "text": [(r'"', String.Double, "#pop"), (r"$", String.Double, "#pop"), (r'[^"{}\\\n]+', String.Double)],
        "long text": [(r'"""', String.Double, "#pop"), (r'[^"{}\\]+', String.Double), (r'"', String.Double)],
        "inserted": [(r"\}", String.Interpol, "#pop")],
    }
    for _state in ("text", "long text"):
        tokens[_state] += [
            (r"\{\{|\}\}|\\.", String.Escape),
            (r"\{", String.Interpol, "inserted"),
            (r".", String.Double),
        ]
    tokens["inserted"] += tokens["root"]
