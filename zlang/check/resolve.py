"""From written expressions to resolved ones: names, types, units and choices.

In: an expression of the tree and a scope. Out: `Expr`, always; what is wrong is reported, and what only follows from it
is not. Rule: the same code resolves a program's expressions (their values are taken at a point) and those in the
templates of kinds (their values are taken in a frame); only the scope differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from zlang import units
from zlang.check import types, values
from zlang.check.declarations import Declarations
from zlang.check.expressions import constant, same_unit, unknown
from zlang.check.functions import AGGREGATES, FUNCTIONS
from zlang.check.functions import call as call_function
from zlang.check.names import Names
from zlang.check.operators import Operators
from zlang.check.program import Expr, Symbol, Value
from zlang.check.scope import Path, Scope
from zlang.check.texts import Texts
from zlang.check.types import NOTHING, STRING, Type, Variant
from zlang.diagnostics import Code
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree
from zlang.units import Quantity


class Resolver(Texts, Names, Operators, Declarations):
    """Resolves whatever expression there is: by its form, and by the type that its place expects."""

    def resolve(self, node: tree.Expr, path: Path, expected: Type | None = None) -> Expr:
        """The expression; a choice in it is a factor under `path`."""
        match node:
            case tree.Choice():
                return self._choice(node, path, expected)
            case tree.Range():
                return self._range(node, path)
            case tree.ListOf():
                return self._list(node, path, expected)
            case tree.Make():
                return self._make(node, path)
            case _:
                return self.single(node, expected)

    def typed(self, node: tree.Expr, path: Path, name: str, expected: Type) -> Expr:
        """The expression, which must be of a type; `name` is what it is given to."""
        if "command" in expected.scalars and isinstance(node, tree.Text):
            return self._command(node)
        if "command" in expected.scalars and isinstance(node, tree.Choice):
            commands = [option for option in node.options if isinstance(option, tree.Text)]
            if len(commands) == len(node.options):
                return self.pick(node.span, path, [self._command(command) for command in commands])
        if isinstance(node, tree.Binary) and node.operator in {"or", "and"} and not expected.accepts(types.BOOL):
            meant = " | ".join(self._written(option) for option in _sides(node))
            choice = Hint(f"one of several is written `{meant}`", self._written(node), meant, is_safe=False)
            self.report(Code.WRONG_TYPE.at(node.span, name=name, expected=expected, found="a condition", hint=choice))
            return unknown(node.span)
        outer, self.given_to = self.given_to, name
        resolved = self.resolve(node, path, expected)
        self.given_to = outer
        for leaf in resolved.leaves or (resolved,):
            if not expected.accepts(leaf.type):
                hint: str = (
                    _with_unit(leaf, expected)
                    or _as_whole(leaf, expected)
                    or _without_quotes(leaf, expected, self.scope)
                    or _as_choice(node, leaf, expected)
                )
                if "command" in expected.scalars and leaf.type == STRING:
                    hint = "write the command itself here, so that what is put into it is quoted"
                self.report(Code.WRONG_TYPE.at(leaf.span, name=name, expected=expected, found=leaf.type, hint=hint))
                return unknown(resolved.span, resolved.axes or None)
            if "command" in expected.scalars and leaf.type == STRING:
                hint = "write the command itself here, so that what is put into it is quoted"
                self.report(Code.WRONG_TYPE.at(leaf.span, name=name, expected=expected, found="a name", hint=hint))
        return resolved

    def single(self, node: tree.Expr, expected: Type | None = None) -> Expr:
        """An expression that is no choice itself."""
        match node:
            case tree.Number():
                return constant(node.span, types.of_quantity(node.quantity), node.quantity)
            case tree.Text():
                return self._text(node)
            case tree.Name():
                return self._name(node, expected)
            case tree.Call():
                return self._call(node, expected)
            case tree.Binary():
                return self._binary(node)
            case tree.Not():
                return self._not(node)
            case tree.IsA():
                return self._is_a(node)
            case tree.If():
                return self._if(node, expected)
            case tree.ListOf():
                return self._list(node, None, expected)
            case tree.Tuple():
                self.report(
                    Code.UNEXPECTED.at(
                        node.span,
                        expected="one value",
                        found="several in parentheses",
                        hint="fields that vary together are written `(a, b) = (1, 2) | (3, 4)`",
                    )
                )
                return unknown(node.span)
            case tree.Choice() | tree.Range() | tree.Make():
                self.report(Code.CHOICE_HERE.at(node.span, hint="name it first: `let x = …`, then use `x` here"))
                return unknown(node.span)

    def condition(self, node: tree.Expr) -> Expr:
        """An expression that must be true or false."""
        if isinstance(node, tree.Choice) and isinstance(node.options[0], tree.Binary):
            first, others = node.options[0], node.options[1:]
            if first.operator in {"==", "in"} and not any(isinstance(other, tree.Binary) for other in others):
                parts = [self._written(one) for one in (first.right, *others)]
                meant = f"{self._written(first.left)} in [{', '.join(parts)}]"
                hint = Hint(f"one of several: `{meant}`", self._written(node), meant)
                self.report(Code.CHOICE_HERE.at(node.span, hint=hint))
                return unknown(node.span)
        if isinstance(node, tree.Choice) and all(tree.is_condition(option) for option in node.options):
            meant = " or ".join(self._written(option) for option in node.options)
            hint = Hint("write `or` between conditions", self._written(node), meant)
            self.report(Code.CHOICE_HERE.at(node.span, hint=hint))
            return unknown(node.span)
        resolved = self.single(node)
        if not types.BOOL.accepts(resolved.type):
            self.report(Code.BAD_CONDITION.at(resolved.span, found=resolved.type, hint="compare it with something"))
            return unknown(node.span)
        return resolved

    def _written(self, node: tree.Expr) -> str:
        return node.span.source.text[node.span.start : node.span.end]

    def _call(self, node: tree.Call, expected: Type | None) -> Expr:
        name = str(node.function)
        variant = expected.variant(name) if expected and not expected.unknown else None
        if variant is not None and variant.field is not None:
            return self._variant(node, variant)
        if name == "has" and len(node.arguments) == 1 and isinstance(node.arguments[0], tree.Name):
            given = self.scope.is_given(str(node.arguments[0]))
            if given is not None:
                return Expr(node.span, types.BOOL, given)
        is_known = name in FUNCTIONS or name in AGGREGATES
        if is_known and (node.where is not None or name not in FUNCTIONS):
            hint = "`expect`, `table` and `plot` are of several"
            self.report(Code.AGGREGATE_HERE.at(node.span, name=name, hint=hint))
            return unknown(node.span)
        function = FUNCTIONS.get(name)
        if function is None:
            known = [
                *FUNCTIONS,
                *AGGREGATES,
                *(word.name for word in (expected.words if expected else ()) if word.field),
            ]
            hint = did_you_mean(name, known) or (
                f"expected {expected}" if expected and expected.scalars | set(expected.words) else ""
            )
            self.report(Code.UNKNOWN_FUNCTION.at(node.function.span, name=name, hint=hint))
            return unknown(node.span)
        arguments = [self.single(argument) for argument in node.arguments]
        least = len(function.takes)
        if len(arguments) != least and not (function.many and arguments):
            found = f"{len(arguments)} arguments" if len(arguments) != 1 else "one argument"
            found = found if arguments else "nothing"
            self.report(Code.WRONG_ARGUMENTS.at(node.span, name=name, expected=function.said, found=found))
            return unknown(node.span)
        wrong = False
        for argument, taken in zip(arguments, (*function.takes, *function.takes[-1:] * len(arguments)), strict=False):
            if not argument.type.unknown and not taken.accepts(argument.type):
                wrong = True
                expected_here = f"for {taken.spoken}"
                self.report(Code.WRONG_TYPE.at(argument.span, name=name, expected=expected_here, found=argument.type))
        if wrong:
            return unknown(node.span)
        dimensions = {self._dimension(a) for a in arguments if a.type.scalars} - {None}
        if name in {"min", "max", "sum"} and len(dimensions) > 1:
            left, right, *_ = (units.name_of(d) for d in sorted(dimensions, key=str) if d)
            verb = "add" if name == "sum" else "compare"
            hint = same_unit(arguments)
            self.report(Code.MIXED_UNITS.at(node.span, verb=verb, left=left, right=right, hint=hint))
            return unknown(node.span)

        def value(at: Any) -> Value:
            known = tuple(a.value(at) for a in arguments)
            return self._guard(node.span, at, lambda: call_function(function, known), arguments)

        return self._risk(self._combined(node.span, function.returns([a.type for a in arguments]), value, arguments))

    def _variant(self, node: tree.Call, variant: Variant) -> Expr:
        assert variant.field is not None
        if len(node.arguments) != 1:
            found = f"{len(node.arguments)} values"
            self.report(Code.WRONG_ARGUMENTS.at(node.span, name=variant.name, expected="one value", found=found))
            return unknown(node.span)
        argument = self.single(node.arguments[0])
        wanted = Type(frozenset({variant.field[1]}))
        if not wanted.accepts(argument.type):
            name = f"{variant.name}({variant.field[0]})"
            self.report(Code.WRONG_TYPE.at(argument.span, name=name, expected=wanted, found=argument.type))
            return unknown(node.span)
        return self._combined(
            node.span, Type(words=(variant,)), lambda at: Symbol(variant.name, argument.value(at)), [argument]
        )

    def _list(self, node: tree.ListOf, path: Path | None, expected: Type | None) -> Expr:
        element = expected.element if expected else None
        items: list[Expr] = []
        labels: dict[str, int] = {}
        for part in node.items:
            if isinstance(part, tree.Range):
                items += self._range_levels(part)
            elif path is None:
                items.append(self.single(part, element))
            else:
                items.append(self.resolve(part, (*path, self._unique(self._label(part), labels)), element))
        type_ = NOTHING
        for item in items:
            type_ = type_ | item.type
        listed = Type(element=type_, is_partial=type_.is_partial)

        def value(at: Any) -> Value:
            known = tuple([item.value(at) for item in items])
            return self._guard(node.span, at, lambda: values.bounded_list(known))

        return self._combined(node.span, listed, value, items)


def _sides(node: tree.Expr) -> Iterator[tree.Expr]:
    """What is joined by `or` and `and`."""
    if isinstance(node, tree.Binary) and node.operator in {"or", "and"}:
        yield from _sides(node.left)
        yield from _sides(node.right)
    else:
        yield node


_BARE = re.compile(r"-?[\d_.]+")


def _with_unit(leaf: Expr, expected: Type) -> Hint:
    """What to write for a bare number where something with a unit is expected."""
    wanted = [scalar for scalar in ("size", "duration", "share", "rate", "iops") if scalar in expected.scalars]
    if not wanted or not leaf.type.scalars & {"count", "number"}:
        return Hint("")
    text = leaf.span.source.text[leaf.span.start : leaf.span.end]
    known = leaf.value({}) if leaf.is_constant and _BARE.fullmatch(text) else None
    if not isinstance(known, Quantity):
        return Hint("give it a unit")
    amount = known.amount / 100 if wanted[0] == "share" else known.amount
    written = units.show(Quantity(amount, types.DIMENSION_OF[wanted[0]]))
    return Hint(f"give it a unit: `{written}`", text, written, is_safe=False)


def _as_whole(leaf: Expr, expected: Type) -> Hint:
    """What to write for a number where a whole one is expected."""
    if "count" not in expected.scalars or leaf.type.scalars != {"number"}:
        return Hint("")
    text = leaf.span.source.text[leaf.span.start : leaf.span.end]
    return Hint(f"`floor({text})` is a whole number", text, f"floor({text})", is_safe=False)


def _without_quotes(leaf: Expr, expected: Type, scope: Scope) -> Hint:
    """What to write for a text where one of some words is expected, or a name."""
    word = leaf.value({}) if leaf.is_constant and leaf.type == STRING else None
    text = leaf.span.source.text[leaf.span.start : leaf.span.end]
    if not isinstance(word, str) or not text.startswith('"'):
        return Hint("")
    known = expected.variant(word)
    is_word = (known is not None and known.field is None) or ("bool" in expected.scalars and word in types.BOOLS)
    if expected.kinds and word.isidentifier() and scope.lookup(word, leaf.span) is not None:
        return Hint(f"names are written without quotes: `{word}`", text, word)
    if is_word:
        return Hint(f"words are written without quotes: `{word}`", text, word)
    with suppress(units.UnitError):
        if expected.accepts(types.of_quantity(units.parse(word))):
            return Hint(f"numbers are written without quotes: `{word}`", text, word)
    return Hint("")


def _as_choice(node: tree.Expr, leaf: Expr, expected: Type) -> Hint:
    """What to write for a list where one of several is expected, and for 1 and 0 where on and off are."""
    text = leaf.span.source.text[leaf.span.start : leaf.span.end]
    if "bool" in expected.scalars and text in {"0", "1"}:
        word = "on" if text == "1" else "off"
        return Hint(f"write `{word}`", text, word, is_safe=False)
    if expected == types.COUNT and text in types.BOOLS:
        word = "1" if types.BOOLS[text] else "0"
        return Hint(f"write `{word}`", text, word, is_safe=False)
    if isinstance(node, tree.ListOf) and leaf.type.element is not None and expected.accepts(leaf.type.element):
        parts = [item.span.source.text[item.span.start : item.span.end] for item in node.items]
        return Hint(f"one of several is written `{' | '.join(parts)}`", text, " | ".join(parts), is_safe=False)
    return Hint("")
