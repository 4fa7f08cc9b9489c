"""From the parts of a grammar rule to a node of the tree, with one function for each `-> name` in zexp.lark.

Rule: a collection in progress is a list, which the parser converts to a tuple before it becomes part of a node.
"""

from __future__ import annotations

from collections.abc import Callable

from zlang.hints import Any
from zlang.source import Span
from zlang.syntax import build_expressions, build_kinds, build_programs, tree
from zlang.syntax.lexer import Token
from zlang.syntax.literals import Parsing, word_of


def _nothing(_driver: Parsing, _span: Span) -> list[Any]:
    return []


def _first(_driver: Parsing, _span: Span, first: Any, *_others: Any) -> Any:
    return first


def _append(driver: Parsing, _span: Span, many: list[Any], item: Any, *_newline: Any) -> list[Any]:
    many.append(word_of(driver, item) if isinstance(item, Token) else item)
    return many


def _list_of_one(driver: Parsing, _span: Span, item: Any) -> list[Any]:
    return [word_of(driver, item) if isinstance(item, Token) else item]


def _pair(_driver: Parsing, _span: Span, expr: tree.Expr, other: tree.Expr) -> list[tree.Expr]:
    return [expr, other]


BUILDERS: dict[str, Callable[..., Any]] = {
    **build_programs.BUILDERS,
    **build_kinds.BUILDERS,
    **build_expressions.BUILDERS,
    "nothing": _nothing,
    "first": _first,
    "append": _append,
    "one": _list_of_one,
    "pair": _pair,
}
