"""Nodes of kinds and readers from the parts of a grammar rule: properties, types, actions, metrics."""

from __future__ import annotations

from collections.abc import Callable

from zlang.diagnostics import Code
from zlang.hints import Any
from zlang.source import Span
from zlang.syntax import tree
from zlang.syntax.lexer import Token
from zlang.syntax.literals import Parsing, plain_text, text_of, word_of


def _kind(driver: Parsing, span: Span, name: Token, role: Token, items: tuple[tree.KindItem, ...]) -> tree.KindDef:
    return tree.KindDef(span, word_of(driver, name), word_of(driver, role), (), items)


def _kind_on(
    driver: Parsing,
    span: Span,
    name: Token,
    role: Token,
    parents: tuple[tree.Word, ...],
    items: tuple[tree.KindItem, ...],
) -> tree.KindDef:
    return tree.KindDef(span, word_of(driver, name), word_of(driver, role), parents, items)


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


def _type_schedule(driver: Parsing, span: Span, value: tree.TypeExpr, word: Token) -> tree.TypeAtom:
    if word.text != "duration":
        place = Span(driver.source, word.start, word.end)
        driver.report(Code.UNEXPECTED.at(place, expected="`duration`", found=f"`{word.text}`"))
    return tree.TypeAtom(span, "schedule", schedule=value)


def _property(
    driver: Parsing, span: Span, name: Token, type_: tree.TypeExpr, attributes: tuple[tree.Item, ...] = ()
) -> tree.Property:
    return tree.Property(span, word_of(driver, name), type_, attributes)


def _offers(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Offers:
    return tree.Offers(span, word_of(driver, name), value)


def _trait(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Trait:
    return tree.Trait(span, word_of(driver, name), value)


def _own_trait(driver: Parsing, span: Span, name: Token, type_: Token, value: tree.Expr) -> tree.Trait:
    return tree.Trait(span, word_of(driver, name), value, word_of(driver, type_))


def _default(driver: Parsing, span: Span, name: Token, value: tree.Expr) -> tree.Default:
    return tree.Default(span, word_of(driver, name), value)


def _needs(driver: Parsing, span: Span, words: tuple[tree.Word, ...], name: Token) -> tree.Needs:
    return tree.Needs(span, words, word_of(driver, name))


def _requires(driver: Parsing, span: Span, tool: Token, hint: Token) -> tree.Requires:
    word = word_of(driver, tool)
    if tool.type == "STRING":
        word = word.replace(text=plain_text(driver, tool))
    return tree.Requires(span, word, plain_text(driver, hint))


def _without(driver: Parsing, span: Span, names: Token, reason: Token) -> tree.Without:
    return tree.Without(span, plain_text(driver, names), plain_text(driver, reason))


def _reader(driver: Parsing, span: Span, name: Token, metrics: tuple[tree.MetricDecl, ...]) -> tree.ReaderDecl:
    return tree.ReaderDecl(span, word_of(driver, name), metrics)


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
        name=word_of(driver, name),
        type=word_of(driver, type_),
        how=None,
        where=None,
        unit=unit,
        attributes=attributes,
    )


def _metric_found(driver: Parsing, span: Span, *parts: Any) -> tree.MetricDecl:
    name, type_, how, where, *others = parts
    metric = _metric(driver, span, name, type_, *others)
    return metric.replace(how=word_of(driver, how), where=text_of(driver, where))


def _distribution(
    driver: Parsing, span: Span, name: Token, type_: Token, attributes: tuple[tree.Item, ...] = ()
) -> tree.MetricDecl:
    return _metric(driver, span, name, type_, None, attributes).replace(is_distribution=True)


def _distribution_found(driver: Parsing, span: Span, *parts: Any) -> tree.MetricDecl:
    return _metric_found(driver, span, *parts).replace(is_distribution=True)


def _no_unit(_driver: Parsing, _span: Span) -> None:
    return None


def _unit(_driver: Parsing, span: Span, name: Token, *per: Token) -> tree.Word:
    return tree.Word(span, name.text + "".join(token.text for token in per))


def _unit_text(driver: Parsing, span: Span, text: Token) -> tree.Word:
    return tree.Word(span, plain_text(driver, text))


def _action(driver: Parsing, span: Span, name: Token, *remaining: Any) -> tree.ActionDef:
    return tree.ActionDef(
        span, word_of(driver, name), tuple(word_of(driver, word) for word in remaining[:-1]), remaining[-1]
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
    return tree.Reads(span, word_of(driver, reader), text_of(driver, artefact), arguments)


BUILDERS: dict[str, Callable[..., Any]] = {
    "kind": _kind,
    "kind_on": _kind_on,
    "type_word": _type_word,
    "type_more": _type_more,
    "without": _without,
    "default": _default,
    "property": _property,
    "offers": _offers,
    "trait": _trait,
    "own_trait": _own_trait,
    "needs": _needs,
    "requires": _requires,
    "reader": _reader,
    "metric": _metric,
    "metric_found": _metric_found,
    "distribution": _distribution,
    "distribution_found": _distribution_found,
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
    "type_schedule": _type_schedule,
    "sh": _sh,
    "ask": _ask,
    "sh_is": _sh_is,
    "reads": _reads,
}
