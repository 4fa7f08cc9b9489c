"""Nodes of programs from the parts of a grammar rule: imports, declarations, experiments and their clauses."""

from __future__ import annotations

from collections.abc import Callable

from zlang.hints import Any
from zlang.source import Span
from zlang.syntax import tree
from zlang.syntax.lexer import Token
from zlang.syntax.literals import Parsing, plain_text, word_of

_Pictures = tuple[tree.Name | None, bool]
"""The factor with a picture for each level, and whether the axis is logarithmic."""


def _let(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Let:
    return tree.Let(span, word_of(driver, name), value)


def _let_zip(_driver: Parsing, span: Span, _open: Token, names: tuple[tree.Word, ...], value: tree.Expr) -> tree.LetZip:
    return tree.LetZip(span, names, value)


def _param(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Param:
    return tree.Param(span, word_of(driver, name), None, value)


def _typed_param(driver: Parsing, span: Span, name: Token, type_: tree.TypeExpr, value: tree.Expr) -> tree.Param:
    return tree.Param(span, word_of(driver, name), type_, value)


def _profile(driver: Parsing, span: Span, name: Token, items: tuple[tree.Item, ...]) -> tree.Profile:
    return tree.Profile(span, word_of(driver, name), items)


def _function(
    driver: Parsing, span: Span, name: Token, parameters: tuple[tree.Word, ...], value: tree.Expr
) -> tree.FunctionDef:
    return tree.FunctionDef(span, word_of(driver, name), parameters, value)


def _import_library(driver: Parsing, span: Span, name: Token, alias: Token | None = None) -> tree.Import:
    return tree.Import(span, name.text, is_file=False, alias=word_of(driver, alias) if alias else None)


def _import_file(
    driver: Parsing, span: Span, name: Token, alias: Token | None = None, items: tuple[tree.Item, ...] = ()
) -> tree.Import:
    word = word_of(driver, alias) if alias else None
    return tree.Import(span, plain_text(driver, name), is_file=True, alias=word, items=items)


def _declaration(
    driver: Parsing, span: Span, kind: tree.Name, name: Token, items: tuple[tree.Item, ...] = ()
) -> tree.Declaration:
    return tree.Declaration(span, kind, word_of(driver, name), None, items, given=False)


def _declaration_on(
    driver: Parsing, span: Span, kind: tree.Name, name: Token, parent: tree.Expr, items: tuple[tree.Item, ...] = ()
) -> tree.Declaration:
    return tree.Declaration(span, kind, word_of(driver, name), parent, items, given=False)


def _given(driver: Parsing, span: Span, kind: tree.Name, name: Token, items: tuple[tree.Item, ...]) -> tree.Declaration:
    return tree.Declaration(span, kind, word_of(driver, name), None, items, given=True)


def _given_on(
    driver: Parsing, span: Span, kind: tree.Name, name: Token, parent: tree.Expr, items: tuple[tree.Item, ...]
) -> tree.Declaration:
    return tree.Declaration(span, kind, word_of(driver, name), parent, items, given=True)


def _experiment(driver: Parsing, span: Span, name: Token, *remaining: Any) -> tree.ExperimentDef:
    title = plain_text(driver, remaining[0]) if len(remaining) == 2 else ""  # noqa: PLR2004 - the title is optional
    return tree.ExperimentDef(span, word_of(driver, name), title, remaining[-1])


def _experiment_with(driver: Parsing, span: Span, name: Token, base: tree.Name, *remaining: Any) -> tree.ExperimentDef:
    title = plain_text(driver, remaining[0]) if len(remaining) == 2 else ""  # noqa: PLR2004 - the title is optional
    return tree.ExperimentDef(span, word_of(driver, name), title, remaining[-1], base)


def _field(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Field:
    return tree.Field(span, word_of(driver, name), value)


def _zip(_driver: Parsing, span: Span, _open: Token, names: tuple[tree.Word, ...], value: tree.Expr) -> tree.Zip:
    return tree.Zip(span, names, value)


def _where(_driver: Parsing, span: Span, condition: tree.Expr) -> tree.Where:
    return tree.Where(span, condition)


def _expect(driver: Parsing, span: Span, *parts: Any) -> tree.Expect:
    *title, condition = parts
    return tree.Expect(span, plain_text(driver, title[0]) if title else "", condition)


def _assertion(driver: Parsing, span: Span, title: Token, condition: tree.Expr) -> tree.Assert:
    return tree.Assert(span, plain_text(driver, title), condition)


def _table(
    _driver: Parsing, span: Span, measures: tuple[tree.Expr, ...], by: tuple[tree.Name, ...] = ()
) -> tree.TableClause:
    return tree.TableClause(span, measures, by)


def _until(driver: Parsing, span: Span, name: Token, value: tree.Expr, condition: tree.Expr) -> tree.UntilClause:
    return tree.UntilClause(span, word_of(driver, name), value, condition)


def _find(
    driver: Parsing,
    span: Span,
    name: tree.Name,
    values: tree.Expr,
    condition: tree.Expr,
    sense: Token,
    objective: tree.Expr,
) -> tree.Find:
    return tree.Find(
        span=span, name=name, values=values, condition=condition, sense=word_of(driver, sense), objective=objective
    )


def _plot(
    driver: Parsing, span: Span, measures: tuple[tree.Expr, ...], over: tree.Name, pictures: _Pictures
) -> tree.PlotClause:
    return _plot_by(driver, span, measures, over, (), pictures)


def _plot_by(
    _driver: Parsing,
    span: Span,
    measures: tuple[tree.Expr, ...],
    over: tree.Name,
    by: tuple[tree.Name, ...],
    pictures: _Pictures,
) -> tree.PlotClause:
    facet, is_log = pictures
    return tree.PlotClause(span=span, measures=measures, over=over, by=by, facet=facet, is_log=is_log)


def _pictures(_driver: Parsing, _span: Span, facet: tree.Name | None = None) -> _Pictures:
    return facet, False


def _pictures_log(_driver: Parsing, _span: Span, facet: tree.Name | None = None) -> _Pictures:
    return facet, True


BUILDERS: dict[str, Callable[..., Any]] = {
    "let": _let,
    "let_zip": _let_zip,
    "param": _param,
    "typed_param": _typed_param,
    "profile": _profile,
    "import_library": _import_library,
    "import_file": _import_file,
    "declaration": _declaration,
    "declaration_on": _declaration_on,
    "given": _given,
    "given_on": _given_on,
    "experiment": _experiment,
    "field": _field,
    "zip": _zip,
    "where": _where,
    "expect": _expect,
    "assertion": _assertion,
    "function": _function,
    "experiment_with": _experiment_with,
    "table": _table,
    "until": _until,
    "find": _find,
    "plot": _plot,
    "plot_by": _plot_by,
    "pictures": _pictures,
    "pictures_log": _pictures_log,
}
