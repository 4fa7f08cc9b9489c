"""Writes the TextMate grammar of the VS Code extension from the language's own words.

In: the keywords of the grammar, the types, the units and the roles of kinds. Out: `zexp.tmLanguage.json`.

    python tools/generate_textmate.py            write it
    python tools/generate_textmate.py --check    exit with 1 and a diff if it is not what would be written
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check  # noqa: E402 - found only by the line above
from zlang import units  # noqa: E402
from zlang.check import functions, kinds, types  # noqa: E402
from zlang.syntax import tables  # noqa: E402

GRAMMAR = ROOT / "editors/vscode/syntaxes/zexp.tmLanguage.json"
NAME = r"[A-Za-z_][\w-]*"
OPERATORS = {"and", "or", "not", "in", "is", "of", "if", "then", "else", "for", "by"}
DECLARING = {"let", "param", "profile", "experiment", "kind", "reader", "metric", "distribution", "property", "offers"}
DECLARING |= {"trait"}


def words(candidates: Iterable[str]) -> str:
    """A pattern for any of some words."""
    return rf"(?<![\w.-])(?:{'|'.join(sorted(candidates))})(?![\w-])"


def rule(name: str, match: str, **captures: str) -> dict[str, object]:
    """A rule with the scopes of its groups, `_1` for the first."""
    groups = {key.removeprefix("_"): {"name": f"{scope}.zexp"} for key, scope in captures.items()}
    named = {"name": f"{name}.zexp"} if name else {}
    return {**named, "match": match, **({"captures": groups} if groups else {})}


def text(begin: str, scope: str) -> dict[str, object]:
    """A quoted text with what is inserted into it."""
    inserted = {
        "name": "meta.embedded.zexp",
        "begin": r"\{(?!\{)",
        "end": r"\}",
        "beginCaptures": {"0": {"name": "punctuation.section.embedded.zexp"}},
        "endCaptures": {"0": {"name": "punctuation.section.embedded.zexp"}},
        "patterns": [{"include": "#expression"}],
    }
    escape = rule("constant.character.escape", r"\{\{|\}\}|\\.")
    return {"name": f"{scope}.zexp", "begin": begin, "end": begin, "patterns": [escape, inserted]}


def grammar() -> dict[str, object]:
    """The whole grammar."""
    keywords = set(tables.load().keywords)
    every_unit = sorted(
        {re.escape(unit) for unit in units.UNITS} | {"k", "K", "M", "G", "T"}, key=lambda unit: (-len(unit), unit)
    )
    expression = [
        rule("comment.line.number-sign", r"#.*$"),
        text('"""', "string.quoted.triple"),
        text('"', "string.quoted.double"),
        rule(
            "constant.numeric",
            rf"(?<![\w.-])-?[0-9][0-9_]*(?:\.[0-9]+)?((?:{'|'.join(every_unit)})?(?:/s)?)(?![\w])",
            _1="keyword.other.unit",
        ),
        rule("", rf"({NAME})\s*(=)(?!=)", _1="variable.other.property", _2="keyword.operator.assignment"),
        rule("constant.language", words(types.BOOLS)),
        rule("keyword.operator.word", words(OPERATORS & keywords)),
        rule("support.function", rf"(?<![\w.-])(?:{'|'.join(sorted(functions.FUNCTIONS))})(?=\()"),
        rule("entity.name.function", rf"{NAME}(?=\()"),
        rule("keyword.operator", r"[=!<>]=|\.\.|[|+*/<>%]|(?<=\s)-(?=\s)"),
    ]
    lines = [
        rule(
            "",
            rf"^\s*({'|'.join(sorted(DECLARING & keywords))})\s+({NAME})",
            _1="keyword.declaration",
            _2="entity.name",
        ),
        rule("", rf"^\s*(import)\s+({NAME})", _1="keyword.control.import", _2="entity.name.namespace"),
        rule(
            "",
            rf"^\s*(given)\s+({NAME}(?:\.{NAME})?)\s+({NAME})",
            _1="keyword.declaration",
            _2="entity.name.type",
            _3="entity.name",
        ),
        rule(
            "", rf"^\s*({NAME}(?:\.{NAME})?)\s+({NAME})(?=\s*(?:\{{|on\b|$))", _1="entity.name.type", _2="entity.name"
        ),
        rule("storage.type", rf"(?<=:\s)(?:{'|'.join(sorted({*types.SCALARS, *kinds.ROLES}))})(?![\w-])"),
    ]
    switch = rule("constant.language", rf"(?<=[=|(,]\s)(?:{'|'.join(sorted(types.BOOLS))})(?![\w-])")
    patterns = [switch, rule("keyword.control", words(keywords - OPERATORS)), {"include": "#expression"}]
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "zexp",
        "scopeName": "source.zexp",
        "patterns": [{"include": "#comment"}, *lines, {"include": "#property"}, *patterns],
        "repository": {
            "comment": expression[0],
            "property": expression[4],
            "expression": {"patterns": expression},
        },
    }


if __name__ == "__main__":
    sys.exit(write_or_check(GRAMMAR, json.dumps(grammar(), indent=2) + "\n", sys.argv[1:]))
