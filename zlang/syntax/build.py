"""From the parts of a grammar rule to a node of the tree: one function for each `-> name` in zexp.lark.

Rule: what is still being collected is a list, which the parser makes a tuple before it becomes part of a node.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from zlang import units
from zlang.diagnostics import Code
from zlang.source import Span
from zlang.syntax import tree
from zlang.syntax.lexer import Token
from zlang.syntax.literals import Parsing, plain_text, text_of

Builder = Callable[..., Any]


def _word(driver: Parsing, token: Token) -> tree.Word:
    return tree.Word(Span(driver.source, token.start, token.end), token.text)


def _nothing(_driver: Parsing, _span: Span) -> list[Any]:
    return []


def _first(_driver: Parsing, _span: Span, first: Any, *_others: Any) -> Any:
    return first


def _append(driver: Parsing, _span: Span, many: list[Any], item: Any, *_newline: Any) -> list[Any]:
    many.append(_word(driver, item) if isinstance(item, Token) else item)
    return many


def _list_of_one(driver: Parsing, _span: Span, item: Any) -> list[Any]:
    return [_word(driver, item) if isinstance(item, Token) else item]


def _pair(_driver: Parsing, _span: Span, expr: tree.Expr, other: tree.Expr) -> list[tree.Expr]:
    return [expr, other]


def _let(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Let:
    return tree.Let(span, _word(driver, name), value)


def _param(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Param:
    return tree.Param(span, _word(driver, name), None, value)


def _typed_param(driver: Parsing, span: Span, name: Token, type_: tree.TypeExpr, value: tree.Expr) -> tree.Param:
    return tree.Param(span, _word(driver, name), type_, value)


def _profile(driver: Parsing, span: Span, name: Token, items: tuple[tree.Item, ...]) -> tree.Profile:
    return tree.Profile(span, _word(driver, name), items)


def _function(
    driver: Parsing, span: Span, name: Token, parameters: tuple[tree.Word, ...], value: tree.Expr
) -> tree.FunctionDef:
    return tree.FunctionDef(span, _word(driver, name), parameters, value)


def _import_library(driver: Parsing, span: Span, name: Token, alias: Token | None = None) -> tree.Import:
    return tree.Import(span, name.text, is_file=False, alias=_word(driver, alias) if alias else None)


def _import_file(
    driver: Parsing, span: Span, name: Token, alias: Token | None = None, items: tuple[tree.Item, ...] = ()
) -> tree.Import:
    word = _word(driver, alias) if alias else None
    return tree.Import(span, plain_text(driver, name), is_file=True, alias=word, items=items)


def _declaration(
    driver: Parsing, span: Span, kind: tree.Name, name: Token, items: tuple[tree.Item, ...] = ()
) -> tree.Declaration:
    return tree.Declaration(span, kind, _word(driver, name), None, items, given=False)


def _declaration_on(
    driver: Parsing, span: Span, kind: tree.Name, name: Token, parent: tree.Expr, items: tuple[tree.Item, ...] = ()
) -> tree.Declaration:
    return tree.Declaration(span, kind, _word(driver, name), parent, items, given=False)


def _given(driver: Parsing, span: Span, kind: tree.Name, name: Token, items: tuple[tree.Item, ...]) -> tree.Declaration:
    return tree.Declaration(span, kind, _word(driver, name), None, items, given=True)


def _given_on(
    driver: Parsing, span: Span, kind: tree.Name, name: Token, parent: tree.Expr, items: tuple[tree.Item, ...]
) -> tree.Declaration:
    return tree.Declaration(span, kind, _word(driver, name), parent, items, given=True)


def _experiment(driver: Parsing, span: Span, name: Token, *remaining: Any) -> tree.ExperimentDef:
    title = plain_text(driver, remaining[0]) if len(remaining) == 2 else ""  # noqa: PLR2004 - the title is optional
    return tree.ExperimentDef(span, _word(driver, name), title, remaining[-1])


def _experiment_with(driver: Parsing, span: Span, name: Token, base: tree.Name, *remaining: Any) -> tree.ExperimentDef:
    title = plain_text(driver, remaining[0]) if len(remaining) == 2 else ""  # noqa: PLR2004 - the title is optional
    return tree.ExperimentDef(span, _word(driver, name), title, remaining[-1], base)


def _kind(driver: Parsing, span: Span, name: Token, role: Token, items: tuple[tree.KindItem, ...]) -> tree.KindDef:
    return tree.KindDef(span, _word(driver, name), _word(driver, role), (), items)


def _kind_on(
    driver: Parsing,
    span: Span,
    name: Token,
    role: Token,
    parents: tuple[tree.Word, ...],
    items: tuple[tree.KindItem, ...],
) -> tree.KindDef:
    return tree.KindDef(span, _word(driver, name), _word(driver, role), parents, items)


def _type_word(_driver: Parsing, span: Span, name: Token) -> tree.TypeExpr:
    return tree.TypeExpr(span, (tree.TypeAtom(span, name.text),))


def _type_more(_driver: Parsing, span: Span, type_: tree.TypeExpr, name: Token) -> tree.TypeExpr:
    return tree.TypeExpr(span, (*type_.atoms, tree.TypeAtom(span, name.text)))


def _type_first(_driver: Parsing, span: Span, atom: tree.TypeAtom) -> tree.TypeExpr:
    return tree.TypeExpr(span, (atom,))


def _type_add(_driver: Parsing, span: Span, type_: tree.TypeExpr, atom: tree.TypeAtom) -> tree.TypeExpr:
    return tree.TypeExpr(span, (*type_.atoms, atom))


def _type_name(_driver: Parsing, span: Span, name: Token | None = None) -> tree.TypeAtom:
    return tree.TypeAtom(span, name.text if name else span.text)


def _type_variant(_driver: Parsing, span: Span, name: Token, field: Token, type_: Token) -> tree.TypeAtom:
    return tree.TypeAtom(span, name.text, field=(field.text, type_.text))


def _type_limited(
    _driver: Parsing, span: Span, name: Token, field: Token, type_: Token, allow: tree.Expr
) -> tree.TypeAtom:
    return tree.TypeAtom(span, name.text, field=(field.text, type_.text), allow=allow)


def _type_list(_driver: Parsing, span: Span, element: tree.TypeExpr) -> tree.TypeAtom:
    return tree.TypeAtom(span, "list", element=element)


def _property(
    driver: Parsing, span: Span, name: Token, type_: tree.TypeExpr, attributes: tuple[tree.Item, ...] = ()
) -> tree.Property:
    return tree.Property(span, _word(driver, name), type_, attributes)


def _offers(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Offers:
    return tree.Offers(span, _word(driver, name), value)


def _trait(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Trait:
    return tree.Trait(span, _word(driver, name), value)


def _default(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Default:
    return tree.Default(span, _word(driver, name), value)


def _needs(driver: Parsing, span: Span, words: tuple[tree.Word, ...], name: Token) -> tree.Needs:
    return tree.Needs(span, words, _word(driver, name))


def _requires(driver: Parsing, span: Span, tool: Token, hint: Token) -> tree.Requires:
    return tree.Requires(span, _word(driver, tool), plain_text(driver, hint))


def _without(driver: Parsing, span: Span, names: Token, reason: Token) -> tree.Without:
    return tree.Without(span, plain_text(driver, names), plain_text(driver, reason))


def _reader(driver: Parsing, span: Span, name: Token, metrics: tuple[tree.MetricDecl, ...]) -> tree.ReaderDecl:
    return tree.ReaderDecl(span, _word(driver, name), metrics)


def _metric(
    driver: Parsing,
    span: Span,
    name: Token,
    type_: Token,
    unit: tree.Word | None,
    attributes: tuple[tree.Item, ...] = (),
) -> tree.MetricDecl:
    return tree.MetricDecl(
        span=span,
        name=_word(driver, name),
        type=_word(driver, type_),
        how=None,
        where=None,
        unit=unit,
        attributes=attributes,
    )


def _metric_found(driver: Parsing, span: Span, *parts: Any) -> tree.MetricDecl:
    name, type_, how, where, unit, *attributes = parts
    return tree.MetricDecl(
        span=span,
        name=_word(driver, name),
        type=_word(driver, type_),
        how=_word(driver, how),
        where=text_of(driver, where),
        unit=unit,
        attributes=attributes[0] if attributes else (),
    )


def _distribution(
    driver: Parsing, span: Span, name: Token, type_: Token, attributes: tuple[tree.Item, ...] = ()
) -> tree.MetricDecl:
    return tree.MetricDecl(
        span=span,
        name=_word(driver, name),
        type=_word(driver, type_),
        how=None,
        where=None,
        unit=None,
        attributes=attributes,
        is_distribution=True,
    )


def _no_unit(_driver: Parsing, _span: Span) -> None:
    return None


def _unit(_driver: Parsing, span: Span, name: Token, *per: Token) -> tree.Word:
    return tree.Word(span, name.text + "".join(token.text for token in per))


def _unit_text(driver: Parsing, span: Span, text: Token) -> tree.Word:
    return tree.Word(span, plain_text(driver, text))


def _action(driver: Parsing, span: Span, name: Token, *remaining: Any) -> tree.ActionDef:
    return tree.ActionDef(
        span, _word(driver, name), tuple(_word(driver, word) for word in remaining[:-1]), remaining[-1]
    )


def _sh(driver: Parsing, span: Span, text: Token, attributes: tuple[tree.Item, ...] = ()) -> tree.Sh:
    return tree.Sh(span, text_of(driver, text), None, attributes)


def _sh_is(driver: Parsing, span: Span, text: Token, expect: Token, attributes: tuple[tree.Item, ...] = ()) -> tree.Sh:
    return tree.Sh(span, text_of(driver, text), text_of(driver, expect), attributes)


def _ask(driver: Parsing, span: Span, text: Token, attributes: tuple[tree.Item, ...] = ()) -> tree.Sh:
    return tree.Sh(span, text_of(driver, text), None, attributes, is_asked=True)


def _reads(
    driver: Parsing, span: Span, reader: Token, artefact: Token, arguments: tuple[tree.Item, ...] = ()
) -> tree.Reads:
    return tree.Reads(span, _word(driver, reader), text_of(driver, artefact), arguments)


def _field(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Field:
    return tree.Field(span, _word(driver, name), value)


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
    return tree.UntilClause(span, _word(driver, name), value, condition)


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
        span=span, name=name, values=values, condition=condition, sense=_word(driver, sense), objective=objective
    )


def _plot(
    _driver: Parsing, span: Span, measures: tuple[tree.Expr, ...], over: tree.Name, by: tuple[tree.Name, ...] = ()
) -> tree.PlotClause:
    return tree.PlotClause(span, measures, over, by, None)


def _plot_facet(
    _driver: Parsing, span: Span, measures: tuple[tree.Expr, ...], over: tree.Name, facet: tree.Name
) -> tree.PlotClause:
    return tree.PlotClause(span, measures, over, (), facet)


def _plot_by_facet(
    _driver: Parsing,
    span: Span,
    measures: tuple[tree.Expr, ...],
    over: tree.Name,
    by: tuple[tree.Name, ...],
    facet: tree.Name,
) -> tree.PlotClause:
    return tree.PlotClause(span, measures, over, by, facet)


def _choice(_driver: Parsing, span: Span, options: tuple[tree.Expr, ...]) -> tree.Choice:
    return tree.Choice(span, options)


def _conditional(_driver: Parsing, span: Span, condition: tree.Expr, then: tree.Expr, otherwise: tree.Expr) -> tree.If:
    return tree.If(span, condition, then, otherwise)


def _binary(_driver: Parsing, span: Span, left: tree.Expr, operator: Token, right: tree.Expr) -> tree.Binary:
    return tree.Binary(span, operator.text, left, right)


def _either(_driver: Parsing, span: Span, left: tree.Expr, right: tree.Expr) -> tree.Binary:
    return tree.Binary(span, "or", left, right)


def _both(_driver: Parsing, span: Span, left: tree.Expr, right: tree.Expr) -> tree.Binary:
    return tree.Binary(span, "and", left, right)


def _contains(_driver: Parsing, span: Span, left: tree.Expr, right: tree.Expr) -> tree.Binary:
    return tree.Binary(span, "in", left, right)


def _contains_not(_driver: Parsing, span: Span, left: tree.Expr, _not_in: Token, right: tree.Expr) -> tree.Not:
    return tree.Not(span, tree.Binary(span, "in", left, right))


def _chained(driver: Parsing, span: Span, left: tree.Binary, operator: Token, right: tree.Expr) -> tree.Binary:
    last = left.right if left.operator == "and" else left
    assert isinstance(last, tree.Binary)
    begin = Span(driver.source, last.right.span.start, span.end)
    return tree.Binary(span, "and", left, tree.Binary(begin, operator.text, last.right, right))


def _negation(_driver: Parsing, span: Span, operand: tree.Expr) -> tree.Not:
    return tree.Not(span, operand)


def _is_a(_driver: Parsing, span: Span, value: tree.Expr, name: tree.Name) -> tree.IsA:
    return tree.IsA(span, value, name)


def _is_not_a(_driver: Parsing, span: Span, value: tree.Expr, name: tree.Name) -> tree.Not:
    return tree.Not(span, tree.IsA(span, value, name))


def _range(_driver: Parsing, span: Span, low: tree.Expr, high: tree.Expr) -> tree.Range:
    return tree.Range(span, low, high, None, times=False)


def _range_open(_driver: Parsing, span: Span, low: tree.Expr, _end: Token) -> tree.Range:
    return tree.Range(span, low, None, None, times=False)


def _range_by(_driver: Parsing, span: Span, low: tree.Expr, high: tree.Expr, step: tree.Expr) -> tree.Range:
    return tree.Range(span, low, high, step, times=False)


def _range_times(_driver: Parsing, span: Span, low: tree.Expr, high: tree.Expr, step: tree.Expr) -> tree.Range:
    return tree.Range(span, low, high, step, times=True)


def _share_of(driver: Parsing, span: Span, share: Token, whole: tree.Expr) -> tree.Binary:
    number = _number(driver, Span(driver.source, share.start, share.end), share)
    return tree.Binary(span, "of", number, whole)


def _name(_driver: Parsing, _span: Span, path: tree.Name) -> tree.Name:
    return path


def _make(_driver: Parsing, span: Span, kind: tree.Name, items: tuple[tree.Item, ...]) -> tree.Anonymous:
    return tree.Anonymous(span, kind, None, items)


def _make_on(
    _driver: Parsing, span: Span, kind: tree.Name, parent: tree.Expr, items: tuple[tree.Item, ...]
) -> tree.Anonymous:
    return tree.Anonymous(span, kind, parent, items)


def _amend(_driver: Parsing, span: Span, base: tree.Name, items: tuple[tree.Item, ...]) -> tree.Amend:
    return tree.Amend(span, base, items)


def _index(_driver: Parsing, span: Span, many: tree.Expr, place: tree.Expr) -> tree.Index:
    return tree.Index(span, many, place)


def _list_from(
    driver: Parsing, span: Span, value: tree.Expr, name: Token, many: tree.Expr, condition: tree.Expr | None = None
) -> tree.ListFrom:
    return tree.ListFrom(span, value, _word(driver, name), many, condition)


def _call(_driver: Parsing, span: Span, function: tree.Name, arguments: tuple[tree.Expr, ...] = ()) -> tree.Call:
    return tree.Call(span, function, arguments)


def _call_where(_driver: Parsing, span: Span, function: tree.Name, argument: tree.Expr, where: tree.Expr) -> tree.Call:
    return tree.Call(span, function, (argument,), where)


def _path(_driver: Parsing, span: Span, name: Token) -> tree.Name:
    return tree.Name(span, (name.text,))


def _path_on(_driver: Parsing, span: Span, name: Token) -> tree.Name:
    return tree.Name(span, ("on", name.text))


def _path_more(_driver: Parsing, span: Span, path: tree.Name, name: Token) -> tree.Name:
    return tree.Name(span, (*path.path, name.text))


def _number(driver: Parsing, span: Span, token: Token) -> tree.Number:
    try:
        return tree.Number(span, units.parse(token.text))
    except units.UnitError as error:
        driver.report(Code.BAD_NUMBER.at(span, message=error.message, hint=error.hint))
        return tree.Number(span, UNKNOWN_QUANTITY)


UNKNOWN_QUANTITY = units.Quantity(Fraction(1), units.Dimension(size=99))
"""Stands for a number that was refused, so that nothing is said of it twice."""


def _string(driver: Parsing, _span: Span, token: Token) -> tree.Text:
    return text_of(driver, token)


def _word_on(_driver: Parsing, span: Span) -> tree.Name:
    return tree.Name(span, ("on",))


def _list_of(_driver: Parsing, span: Span, items: tuple[tree.Expr, ...] = ()) -> tree.ListOf:
    return tree.ListOf(span, items)


def _tuple_of(_driver: Parsing, span: Span, first: tree.Expr, expressions: tuple[tree.Expr, ...]) -> tree.Tuple:
    return tree.Tuple(span, (first, *expressions))


BUILDERS: dict[str, Builder] = {
    "name": _name,
    "nothing": _nothing,
    "first": _first,
    "append": _append,
    "let": _let,
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
    "kind": _kind,
    "kind_on": _kind_on,
    "type_word": _type_word,
    "type_more": _type_more,
    "field": _field,
    "zip": _zip,
    "where": _where,
    "expect": _expect,
    "assertion": _assertion,
    "function": _function,
    "without": _without,
    "experiment_with": _experiment_with,
    "default": _default,
    "contains_not": _contains_not,
    "chained": _chained,
    "is_not_a": _is_not_a,
    "amend": _amend,
    "index": _index,
    "list_from": _list_from,
    "table": _table,
    "until": _until,
    "find": _find,
    "plot": _plot,
    "plot_facet": _plot_facet,
    "plot_by_facet": _plot_by_facet,
    "one": _list_of_one,
    "property": _property,
    "offers": _offers,
    "trait": _trait,
    "needs": _needs,
    "requires": _requires,
    "reader": _reader,
    "metric": _metric,
    "metric_found": _metric_found,
    "distribution": _distribution,
    "no_unit": _no_unit,
    "unit": _unit,
    "unit_text": _unit_text,
    "action": _action,
    "type_first": _type_first,
    "type_add": _type_add,
    "type_name": _type_name,
    "type_variant": _type_variant,
    "type_limited": _type_limited,
    "type_list": _type_list,
    "sh": _sh,
    "ask": _ask,
    "sh_is": _sh_is,
    "reads": _reads,
    "choice": _choice,
    "pair": _pair,
    "conditional": _conditional,
    "either": _either,
    "both": _both,
    "negation": _negation,
    "binary": _binary,
    "is_a": _is_a,
    "contains": _contains,
    "range": _range,
    "range_open": _range_open,
    "range_by": _range_by,
    "range_times": _range_times,
    "share_of": _share_of,
    "make": _make,
    "make_on": _make_on,
    "call": _call,
    "call_where": _call_where,
    "path": _path,
    "path_on": _path_on,
    "path_more": _path_more,
    "number": _number,
    "string": _string,
    "word_on": _word_on,
    "list_of": _list_of,
    "tuple_of": _tuple_of,
}
