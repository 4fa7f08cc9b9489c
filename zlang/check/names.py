"""Names: words of an enumeration, names in a scope, and the members of declared things."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from zlang.check import types
from zlang.check.expressions import Context, constant, unknown
from zlang.check.program import Expr, Symbol
from zlang.check.types import NOTHING, Type, Variant
from zlang.diagnostics import Code
from zlang.suggest import Hint, did_you_mean, did_you_mean_part
from zlang.syntax import tree

_MOST_TAKERS = 3
UnknownName = Callable[[Context, tree.Name, str, Type | None], Expr]
"""The handler of an unknown name."""


def resolve_name(
    context: Context, node: tree.Name, expected: Type | None, report_unknown: UnknownName | None = None
) -> Expr:
    """Resolve a word that is expected, or a name and its members."""
    first = node.path[0]
    if expected is not None and len(node.path) == 1:
        word = resolve_word(context, node, first, expected)
        if word is not None:
            return word
    resolved = context.scope.lookup(first, node.span)
    if resolved is None and len(node.path) == 1 and first in types.BOOLS:
        return constant(node.span, types.BOOL, types.BOOLS[first])
    if resolved is None:
        return (report_unknown or report_unknown_name)(context, node, first, expected)
    for i, name in enumerate(node.path[1:], start=1):
        if resolved.type.unknown and resolved.member is None:
            return unknown(node.span)
        got = resolved.member(name, node.span) if resolved.member else None
        if got is None:
            subject = f"`{'.'.join(node.path[:i])}`"
            hint = _nearest_member(context, resolved, name)
            if not hint and i == len(node.path) - 1 and context.scope.lookup(name, node.span) is not None:
                hint = Hint(f"write `{name}`: a name has no prefix", str(node), name, is_safe=False)
            context.report(Code.UNKNOWN_FIELD.at(node.span, subject=subject, name=name, hint=hint))
            return unknown(node.span)
        resolved = got
    if resolved.call is not None:
        name, written = str(node), f"{node}(…)"
        context.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=f"`{name}` is a function: write `{written}`"))
        return unknown(node.span)
    return resolved.replace(span=node.span, alternatives=())


def _nearest_member(context: Context, of: Expr, name: str) -> str:
    """Return the property of a declared thing with the most similar name."""
    kinds = [context.scope.kind(tree.Name(of.span, (kind,))) for kind in sorted(of.type.kinds)]
    members = [word for kind in kinds if kind for word in (*kind.properties, *kind.offers)]
    if name in members:
        return f"only what is declared, or a choice of that, has properties here: write `NAME.{name}` of each"
    return _of_group(context, name) or did_you_mean(name, members)


def _of_group(context: Context, name: str) -> str:
    """Return the hint about the name of a machine of a group."""
    place = context.scope.place_in_group(name)
    return f"it is a machine of a group: write `{place}`, after `on` in parentheses" if place else ""


def resolve_word(context: Context, node: tree.Name, name: str, expected: Type) -> Expr | None:
    """Resolve a word of an enumeration; None if it is not an expected one."""
    if expected.unknown:
        return None
    variant = expected.variant(name)
    if variant is not None:
        if variant.field is not None:
            hint = f"write `{name}({variant.example})`"
            wanted = f"a value ({variant.field[0]})"
            context.report(Code.WRONG_ARGUMENTS.at(node.span, name=name, expected=wanted, found="nothing", hint=hint))
            return unknown(node.span)
        return constant(node.span, Type(words=(variant,)), Symbol(name))
    if "bool" in expected.scalars and name in types.BOOLS:
        return constant(node.span, types.BOOL, types.BOOLS[name])
    return None


FOREIGN = {
    **dict.fromkeys(("null", "nil", "None", "undefined"), "remove it: what is not given has its default"),
    "True": Hint("write `on`", "True", "on"),
    "False": Hint("write `off`", "False", "off"),
    **dict.fromkeys(("var", "local", "each", "params", "self"), "write the name alone: params and lets have no prefix"),
    "ram": "declare it: `param ram: size = 8GiB`",
    **dict.fromkeys(("nproc", "ncpu", "ncpus", "cpus", "cores", "cpu_count"), "declare it, as in `param NAME = 8`"),
    "memory": "declare it: `param memory: size = 8GiB`",
    "pass": "only tables, plots and expectations can use it; for fewer passes write a smaller `layout = keep(3)`",
    **dict.fromkeys(("one", "two", "three", "four", "five"), "write a number with digits: `3`"),
}
"""Names of other languages and tools, and what to write instead."""


def _with_number(name: str, expected: Type | None) -> str:
    """Return the hint for a word that takes its number in parentheses, as in `zstd-3`."""
    word, _, number = name.rpartition("-")
    if expected is None or not number.isdecimal() or not any(each.field for each in expected.variants(word)):
        return ""
    return Hint(f"write the number in parentheses: `{word}({number})`", name, f"{word}({number})")


def report_unknown_name(
    context: Context, node: tree.Name, name: str, expected: Type | None, candidates: str = ""
) -> Expr:
    """Report an unknown name, with the name that was probably meant, or else with the `candidates`."""
    words = [word.name for word in expected.words] if expected else []
    if words and expected == Type(words=expected.words if expected else ()) and context.property_name:
        reasons = context.kind.without if context.kind else {}
        reason = reasons.get(f"{context.property_name}={name}") or reasons.get(name)
        hint: str = reason or _with_number(name, expected) or did_you_mean(name, words) or f"it can be {expected}"
        context.report(Code.NOT_ALLOWED.at(node.span, name=context.property_name, value=f"`{name}`", hint=hint))
        return unknown(node.span, ())
    hint = did_you_mean_part(name, [*words, *context.scope.names()])
    with_word = list(islice(_kinds_with_word(context, name), _MOST_TAKERS)) if expected is None else []
    hint = "" if with_word else hint
    kind = context.scope.kind(node)
    if kind is not None and kind.role == "protocol" and not kind.required:
        return constant(node.span, Type(words=(Variant(name),)), Symbol(name))  # `let c = cold | hot`
    takers = [item.name for item in context.kind.properties.values() if item.type.variant(name)] if context.kind else []
    if takers:
        hint = f"`{name}` is a value of {' and of '.join(f'`{taker}`' for taker in takers[:3])}"
    if re.fullmatch(r"p\d+", name):
        hint = f"name the metric: `{name}(METRIC)`"
    hint = FOREIGN.get(name) or _as_factor_of_step(node) or _of_group(context, name) or hint
    if context.scope.is_metric(name):
        hint = f"`{name}` is known after a trial: an expectation can use it, as in `expect median({name}) > 0`"
    if node.span.source.text[: node.span.start].endswith("${"):
        hint = f"write a variable of the shell as `${{{{{name}}}}}`"
    if name == "none":
        hint = _instead_of_none(expected) or _of_default(context) or hint
    if kind is not None:
        made = f"{name} {{}}" if not kind.required else f"{name} {{ … }}"
        hint = f"`{name}` is a kind: write the name of a declaration, or declare one here: `{made}`"
        hint = hint if kind.required else Hint(hint, name, made, is_safe=False)
    elif name in context.siblings:
        hint = (
            f"a property cannot use another property of the same declaration; give the value a name: `let {name} = …`"
        )
    elif not hint and context.scope.kind_hint(name):
        hint = context.scope.kind_hint(name)
        hint = f"{hint}, and declare one: `{name} {{ … }}`" if "import" in hint else hint
    elif not hint and with_word:
        hint = f"`{name}` is a value of {' and of '.join(with_word)}: write the choice there"
    elif not hint and (owners := [f"{owner}.{name}" for owner in context.scope.owners(name)]):
        which = "which one: " + " or ".join(f"`{owner}`" for owner in owners) + "?"
        hint = which if len(owners) > 1 else Hint(f"did you mean `{owners[0]}`?", name, owners[0], is_safe=False)
    context.report(
        Code.UNKNOWN_NAME.at(node.span, name=name, hint=hint or candidates or _expected(context, node, expected))
    )
    return unknown(node.span)


def _as_factor_of_step(node: tree.Name) -> Hint:
    """Return the hint for `x2` as the step of a range."""
    name = str(node)
    if not re.fullmatch(r"x\d+", name) or not node.span.source.text.endswith("by ", 0, node.span.start):
        return Hint("")
    return Hint(f"write `*{name[1:]}`", name, f"*{name[1:]}", is_safe=False)


def _instead_of_none(expected: Type | None) -> str:
    """Return the hint for `none` where it has no meaning."""
    if expected is None:
        return "write `none` where it is used, as in `during = none | …`; in a `let`, nothing is `[]`"
    return Hint("write `as_is`", "none", "as_is", is_safe=False) if expected.variant("as_is") is not None else ""


def _of_default(context: Context) -> str:
    """Return the hint for `none` as the value of a property that has a default."""
    definition = context.kind.properties.get(context.property_name) if context.kind else None
    if definition is None or definition.default is None:
        return ""
    return f"leave it out where it has its default ({definition.default.span.text}), or write a value"


def _kinds_with_word(context: Context, name: str) -> Iterator[str]:
    """Yield the properties that accept a word, each with its kind."""
    for kind_name in context.scope.kind_names():
        kind = context.scope.kind_called(kind_name)
        for item in kind.properties.values() if kind is not None else ():
            if item.type.variant(name) is not None:
                yield f"`{item.name}` of `{kind_name}`"


def _expected(context: Context, node: tree.Name, expected: Type | None) -> str:
    """Return the hint for a name that resembles no other."""
    kinds = expected.kinds if expected is not None else frozenset()
    if not context.property_name and expected is not None and expected.words and not expected.unknown:
        return f"it is compared with {expected}: no trial has another value"
    if not context.property_name and not kinds:
        return f"declare it with `let` or `param`, or name whose property it is: `NAME.{node}`"
    if expected is None or expected.unknown or expected == NOTHING:
        return ""
    if expected.scalars & {"string", "path", "version"}:
        return Hint(f'write a text as `"{node}"`', str(node), f'"{node}"', is_safe=False)
    return f"expected {expected}"
