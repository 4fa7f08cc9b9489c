"""Calls: of functions, of words that carry a value, and of `has(property)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zlang import units
from zlang.check import types
from zlang.check.expressions import Context, combine, dimension_of, guarded, note_risk, resolve, same_unit, unknown
from zlang.check.functions import FUNCTIONS, Function
from zlang.check.functions import call as call_function
from zlang.check.program import Expr, Symbol, Value
from zlang.check.typed import one_for_several, with_unit
from zlang.check.types import Type, Variant
from zlang.diagnostics import Code
from zlang.hints import Any
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree

_RANGE = "write a range as `4KiB..64KiB by *2`, or `1..10 by 2`"
FOREIGN = {
    "avg": Hint("use `mean(…)`", "avg", "mean"),
    "average": Hint("use `mean(…)`", "average", "mean"),
    "range": _RANGE,
    "seq": _RANGE,
    "linspace": _RANGE,
    "length": Hint("use `len(…)`", "length", "len"),
    "size": Hint("use `len(…)`", "size", "len", is_safe=False),
    **dict.fromkeys(("toset", "tolist", "list", "set", "tuple"), "write a list as `[a, b]`, and a choice as `a | b`"),
    "concat": 'insert values into a text: `"{a}{b}"`',
    "str": Hint("use `text(…)`", "str", "text"),
    "tostring": Hint("use `text(…)`", "tostring", "text"),
    "int": Hint("use `floor(…)`", "int", "floor", is_safe=False),
    "log": Hint("use `log2(…)`", "log", "log2", is_safe=False),
    **dict.fromkeys(("env", "getenv", "environ"), "write `param NAME = VALUE`, which `--set NAME=…` changes"),
    "tonumber": "write the number without quotes",
    **dict.fromkeys(("coalesce", "try", "lookup", "iif"), "write `if CONDITION then A else B`"),
    **dict.fromkeys(("format", "sprintf", "printf"), 'insert values into a text: `"{a}{b}"`'),
    **dict.fromkeys(("map", "filter", "sorted", "distinct"), "write a list as `[VALUE for NAME in LIST if CONDITION]`"),
    **dict.fromkeys(("rows", "csv", "csvdecode", "read_csv", "open"), 'write `let (a, b) = rows("axes.csv")`'),
    **dict.fromkeys(("percentile", "quantile", "percentile_cont"), "write a percentile as `p99(METRIC)`"),
    **dict.fromkeys(("parallel", "concurrent", "together", "all"), "to run several at the same time, write `[a, b]`"),
    **dict.fromkeys(("serial", "sequence", "sequential", "one_of", "choice"), "write a choice as `a | b`"),
    **dict.fromkeys(
        ("heatmap", "histogram", "hist", "cdf", "boxplot", "bar", "line", "scatter"),
        "write `plot METRIC over FACTOR`; `plot LATENCY over latency` draws a distribution",
    ),
    "pow": "there is no power operator; multiply instead",
}
"""Functions of other languages, and what to write instead."""


_WITH_CONDITION = 2
"""Arguments of an aggregate, if the second is meant as the condition of the trials."""


def resolve_call(context: Context, node: tree.Call, expected: Type | None) -> Expr:
    """Resolve a call."""
    name = str(node.function)
    words = expected.variants(name) if expected and not expected.unknown else ()
    if variants := [each for each in words if each.field is not None]:
        return _resolve_variant(context, node, variants)
    if name == "has" and len(node.arguments) == 1 and isinstance(node.arguments[0], tree.Name):
        given = context.scope.is_given(str(node.arguments[0]), node.span)
        if given is not None:
            return given
    is_known = name in FUNCTIONS or name in types.AGGREGATES
    if is_known and (node.where is not None or name not in FUNCTIONS):
        hint = Hint("write it in `expect`, `table` or `plot`, which use all trials")
        if len(node.arguments) == _WITH_CONDITION and node.where is None:
            meant = f"{name}({node.arguments[0].span.text} where {node.arguments[1].span.text})"
            hint = Hint(f"write a condition as `{meant}`", node.span.text, meant, is_safe=False)
        context.report(Code.AGGREGATE_HERE.at(node.span, name=name, hint=hint))
        return unknown(node.span)
    function = FUNCTIONS.get(name)
    if function is None and (own := _declared(context, node)) is not None:
        return own
    if function is None:
        _report_unknown(context, node, expected)
        return unknown(node.span)
    arguments = [resolve(context, argument) for argument in node.arguments]
    if not _are_accepted(context, node, function, arguments):
        return unknown(node.span)

    @guarded(node.span, arguments)
    def value(at: Any) -> Value:
        return call_function(function, tuple([argument.value(at) for argument in arguments]))

    return note_risk(
        context, combine(context, node.span, function.returns([a.type for a in arguments]), value, arguments)
    )


def _of_value(context: Context, node: tree.Call) -> str:
    """Return the hint for a value that is called like a function, such as a metric at a level."""
    name = str(node.function)
    if name not in context.scope.names():
        return ""
    at_level = f"; levels follow `where`: `median({name} where FACTOR == LEVEL)`"
    return f"`{name}` is a value, not a function{'' if context.property_name else at_level}"


def _report_unknown(context: Context, node: tree.Call, expected: Type | None) -> None:
    """Report a call of an undeclared function."""
    name = str(node.function)
    candidates = [
        *context.scope.names(),
        *FUNCTIONS,
        *types.AGGREGATES,
        *(word.name for word in (expected.words if expected else ()) if word.field),
    ]
    method = node.function.path[-1]
    if len(node.function.path) > 1 and not node.arguments and (method in FUNCTIONS or method in types.AGGREGATES):
        meant = f"{method}({'.'.join(node.function.path[:-1])})"
        hint: str = Hint(f"write a function before its value: `{meant}`", node.span.text, meant)
        context.report(Code.UNKNOWN_FUNCTION.at(node.function.span, name=name, hint=hint))
        return
    if listed := _as_list(node, expected):
        context.report(Code.UNKNOWN_FUNCTION.at(node.span, name=name, hint=listed))
        return
    hint = (
        FOREIGN.get(name)
        or _of_value(context, node)
        or _of_kind(context, node)
        or _as_one_word(node, expected)
        or (_in_its_kind(context, node) if expected is None or expected.kinds else "")
        or did_you_mean(name, candidates)
        or (f"expected {expected}" if expected and expected.scalars | set(expected.words) else "")
    )
    context.report(Code.UNKNOWN_FUNCTION.at(node.function.span, name=name, hint=hint))


def _of_kind(context: Context, node: tree.Call) -> str:
    """Return the hint for a kind that is called like a function."""
    kind = context.scope.kind(node.function)
    if kind is None:
        elsewhere = context.scope.kind_hint(str(node.function))
        in_braces = f"write properties in braces, `{node.function} {{ NAME = VALUE }}`"
        return f"{elsewhere}, and {in_braces}" if "import" in elsewhere else ""
    if len(node.arguments) == 1 and isinstance(node.arguments[0], tree.Name):
        name = str(node.arguments[0])
        return Hint(
            f"`{node.function}` is a kind: write `{name}`, a thing of that kind", node.span.text, name, is_safe=False
        )
    return f"`{node.function}` is a kind: write properties in braces, `{node.function} {{ NAME = VALUE }}`"


def _in_its_kind(context: Context, node: tree.Call) -> str:
    """Return the hint for a value of a property that stands outside of the thing that has the property."""
    for kind_name in context.scope.kind_names():
        kind = context.scope.kind_called(kind_name)
        for item in kind.properties.values() if kind is not None else ():
            if item.type.variants(str(node.function)):
                declared = f"{kind_name} NAME {{ {item.name} = {node.span.text}  … }}"
                return f"it is a value of `{item.name}`: declare `{declared}`"
    return ""


def _as_list(node: tree.Call, expected: Type | None) -> str:
    """Return the hint for one item of a list that is written without brackets."""
    if expected is None or expected.element is None or not expected.element.variants(str(node.function)):
        return ""
    meant = f"[{node.span.text}]"
    return Hint(f"write a list: `{meant}`", node.span.text, meant)


def _as_one_word(node: tree.Call, expected: Type | None) -> str:
    """Return the hint for a number that is part of the word, as in `gzip(9)`, or for a word that takes no value."""
    written = [f"{node.function}{sign}{argument.span.text}" for argument in node.arguments for sign in ("", "-", "_")]
    words = {word.name for word in expected.words} if expected and len(node.arguments) == 1 else set()
    pattern = rf"{re.escape(str(node.function))}-\d+"
    numbered = [word.name for word in expected.words if re.fullmatch(pattern, word.name)] if expected else []
    meant = next((word for word in (*written, *([] if numbered else [str(node.function)])) if word in words), "")
    if words and numbered and not meant:
        return f"write one word, from `{numbered[0]}` to `{numbered[-1]}`"
    return Hint(f"write one word: `{meant}`", node.span.text, meant) if meant else ""


def _are_accepted(context: Context, node: tree.Call, function: Function, arguments: list[Expr]) -> bool:
    """Whether a function takes these arguments; report those that it does not take."""
    name, most = str(node.function), len(function.takes)
    if not most - function.optional <= len(arguments) <= most and not (function.many and arguments):
        result = f"{len(arguments)} arguments" if len(arguments) != 1 else "one argument"
        result = result if arguments else "nothing"
        given = ", ".join(argument.span.text for argument in node.arguments[:most])
        hint = f"write `{name}({given})`" if len(arguments) > most else ""
        finding = Code.WRONG_ARGUMENTS.at(node.span, name=name, expected=function.signature, found=result, hint=hint)
        context.report(finding)
        return False
    wrong = False
    for argument, taken in zip(arguments, (*function.takes, *function.takes[-1:] * len(arguments)), strict=False):
        if not argument.type.unknown and not taken.accepts(argument.type):
            wrong = True
            expected_here = f"used with {taken.phrase}"
            context.report(Code.WRONG_TYPE.at(argument.span, name=name, expected=expected_here, found=argument.type))
    if wrong:
        return False
    dimensions = {dimension_of(a) for a in arguments if a.type.scalars} - {None}
    if name in {"min", "max", "sum"} and len(dimensions) > 1:
        left, right, *_ = (units.name_of(d) for d in sorted(dimensions, key=str) if d)
        verb = "add" if name == "sum" else "compare"
        hint = same_unit(arguments)
        context.report(Code.MIXED_UNITS.at(node.span, verb=verb, left=left, right=right, hint=hint))
        return False
    return True


def _declared(context: Context, node: tree.Call) -> Expr | None:
    """Return the value of a call of a function that the program declares; None for any other function."""
    resolved = context.scope.lookup(node.function.path[0], node.function.span)
    for part in node.function.path[1:]:
        resolved = (
            resolved.member(part, node.function.span) if resolved is not None and resolved.member is not None else None
        )
    if resolved is not None and resolved.call is None and resolved.type.is_partial:
        return resolved  # the error has been reported already
    if resolved is None or resolved.call is None:
        return None
    if node.where is not None:
        context.report(Code.AGGREGATE_HERE.at(node.span, name=str(node.function)))
        return unknown(node.span)
    return resolved.call(context, node, [resolve(context, argument) for argument in node.arguments])


def _resolve_variant(context: Context, node: tree.Call, variants: Sequence[Variant]) -> Expr:
    """Resolve a word and the value that it carries; `variants` differ in the type of that value."""
    if len(node.arguments) != 1:
        result, name = f"{len(node.arguments)} values", variants[0].name
        hint = one_for_several(context, _kinds_named(context, node.arguments)) or _as_one_value(node)
        context.report(Code.WRONG_ARGUMENTS.at(node.span, name=name, expected="one value", found=result, hint=hint))
        return unknown(node.span)
    carried_scalars = frozenset(each.field[1] for each in variants if each.field and not each.has_thing)
    argument = resolve(context, node.arguments[0], Type(carried_scalars) if carried_scalars else None)
    if argument.type.unknown and argument.type.is_partial:
        return unknown(node.span)  # the error has been reported already
    variant = next((each for each in variants if _can_carry(context, each, argument.type)), None)
    if variant is None:
        offers = [f"something with `{each.field[1]}`" for each in variants if each.field and each.has_thing]
        wanted = " or ".join([*([str(Type(carried_scalars))] if carried_scalars else []), *offers])
        name = f"{variants[0].name}(…)" if offers else f"{variants[0].name}({(variants[0].field or [''])[0]})"
        several = one_for_several(context, argument.type.element.kinds) if argument.type.element else ""
        hint = several or with_unit(argument, Type(carried_scalars))
        if not hint and argument.type == Type(frozenset({"share"})):
            hint = f"write a number: `{variants[0].name}(20)`" if "count" in carried_scalars else ""
        context.report(Code.WRONG_TYPE.at(argument.span, name=name, expected=wanted, found=argument.type, hint=hint))
        return unknown(node.span)
    carried = argument.type.kinds | argument.type.beneath
    type_ = Type(words=(variant,), beneath=carried, used=argument.type.used)
    return combine(context, node.span, type_, lambda at: Symbol(variant.name, argument.value(at)), [argument])


def _as_one_value(node: tree.Call) -> str:
    """Return the hint for several values after a word: texts are one text with dots, such as `module("zfs.name")`."""
    texts = [item.parts[0] for item in node.arguments if isinstance(item, tree.Text) and len(item.parts) == 1]
    if texts and len(texts) == len(node.arguments):
        meant = f'{node.function}("{".".join(map(str, texts))}")'
    elif node.arguments and not texts:
        meant = f"{node.function}({node.arguments[0].span.text})"
    else:
        return ""
    return Hint(f"write one value: `{meant}`", node.span.text, meant, is_safe=False)


def _kinds_named(context: Context, nodes: Sequence[tree.Expr]) -> frozenset[str]:
    """Return the kinds of the things that some expressions name."""
    names = [node for node in nodes if isinstance(node, tree.Name) and context.scope.lookup(node.path[0], node.span)]
    return frozenset().union(*(resolve(context, name).type.kinds for name in names))


def _can_carry(context: Context, variant: Variant, type_: Type) -> bool:
    """Whether a word can carry a value of a type: its scalar, or things with the required offers."""
    assert variant.field is not None, f"BUG: {variant.name} carries nothing"
    if type_.unknown or not variant.has_thing:
        return Type(frozenset({variant.field[1]})).accepts(type_)
    kinds = [context.scope.kind_called(name) for name in type_.kinds]
    return bool(kinds) and all(kind is not None and variant.field[1] in kind.offers for kind in kinds)
