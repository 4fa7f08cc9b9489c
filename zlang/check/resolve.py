"""From written expressions to resolved ones: names, types, units and choices.

In: an expression of the tree and a scope. Out: `Expr`, always; what is wrong is reported, and what only follows from it
is not. Rule: the same code resolves a program's expressions (their values are taken at a point) and those in the
templates of kinds (their values are taken in a frame); only the scope differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Protocol

from zlang import units
from zlang.check import types, values
from zlang.check.functions import FUNCTIONS
from zlang.check.functions import call as call_function
from zlang.check.program import (
    ABSENT,
    COSTS,
    Absent,
    Axis,
    Expr,
    FactorDef,
    Instance,
    Joined,
    Kind,
    PropertyDef,
    Symbol,
    Value,
    Variable,
    axis_of,
)
from zlang.check.types import NOTHING, STRING, UNKNOWN, Type, Variant
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.source import Span
from zlang.suggest import did_you_mean, nearest
from zlang.syntax import tree
from zlang.syntax.parse import DEEPEST
from zlang.units import Quantity

DEEPEST_CHOICE = 50
LONGEST_RANGE = 1_000_000
LONGEST_AMONG_OPTIONS = 10_000
MOST_WORK = 100_000
LONGEST_TEXT = 1 << 20
Path = tuple[str, ...]


class Scope(Protocol):
    """Where names are looked up."""

    def lookup(self, name: str, span: Span) -> Expr | None:
        """What the name stands for."""

    def names(self) -> Iterable[str]:
        """All names, for suggestions."""

    def kind(self, name: tree.Name) -> Kind | None:
        """The kind of that name."""

    def kind_called(self, name: str) -> Kind | None:
        """The kind of a name as types know it, imported under whatever name."""

    def kind_names(self) -> Iterable[str]:
        """All kinds, for suggestions."""

    def kind_hint(self, name: str) -> str:
        """What to do about a kind that is not there."""

    def is_given(self, name: str) -> Callable[[Any], Value] | None:
        """In the templates of a kind: whether a property was given, which is what `has(property)` asks."""


def constant(span: Span, type_: Type, value: Value) -> Expr:
    """An expression that is the same everywhere."""
    return Expr(span, type_, lambda _: value, is_constant=True)


def unknown(span: Span) -> Expr:
    """Stands for what could not be resolved."""
    return Expr(span, UNKNOWN, lambda _: ABSENT)


class Resolver:
    """Resolves the expressions of one scope; collects findings and the factors it meets."""

    def __init__(
        self, scope: Scope, report: Callable[[Diagnostic], None], factors: dict[str, FactorDef] | None = None
    ) -> None:
        self.scope = scope
        self.report = report
        self.factors = {} if factors is None else factors
        self.given_to = ""

    # -- entry points

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
        outer, self.given_to = self.given_to, name
        resolved = self.resolve(node, path, expected)
        self.given_to = outer
        for leaf in resolved.leaves or (resolved,):
            if not expected.accepts(leaf.type):
                hint = ""
                if leaf.type.scalars & {"count", "number"} and expected.scalars & {"size", "duration", "share"}:
                    hint = "give it a unit"
                if "command" in expected.scalars and leaf.type == STRING:
                    hint = "write the command itself here, so that what is put into it is quoted"
                self.report(Code.WRONG_TYPE.at(leaf.span, name=name, expected=expected, found=leaf.type, hint=hint))
                return unknown(resolved.span)
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
        resolved = self.single(node)
        if not types.BOOL.accepts(resolved.type):
            self.report(Code.BAD_CONDITION.at(resolved.span, found=resolved.type, hint="compare it with something"))
            return unknown(node.span)
        return resolved

    # -- choices

    def _choice(self, node: tree.Choice, path: Path, expected: Type | None) -> Expr:
        options: list[Expr] = []
        labels: dict[str, int] = {}
        for option in node.options:
            if isinstance(option, tree.Range):
                options += self._range_levels(option)
                continue
            label = self._unique(self._label(option), labels)
            options.append(self.resolve(option, (*path, label), expected))
        return self.pick(node.span, path, options)

    def pick(self, span: Span, path: Path, options: list[Expr]) -> Expr:
        """One of the options: a factor."""
        name = ".".join(path)
        branches = tuple(option.axes for option in options)
        axis = axis_of(name, branches)
        if axis.depth > DEEPEST_CHOICE:
            self.report(Code.TOO_DEEP.at(span, limit=DEEPEST_CHOICE, hint="choices are within each other here"))
            return unknown(span)
        chosen = tuple(option.value for option in options)
        type_ = NOTHING
        for option in options:
            type_ = type_ | option.type
        self.factors[name] = FactorDef(
            name, (name,), (column_type(type_),), len(options), lambda i: (level(options[i]),), span
        )

        def value(point: Any) -> Value:
            index = point.get(name)
            return ABSENT if index is None else chosen[index](point)

        def member(what: str, where: Span) -> Expr | None:
            found = [option.member(what, where) if option.member else None for option in options]
            if all(one is None for one in found):
                return None
            got = NOTHING
            for one in found:
                got = got | one.type if one else got

            def of_chosen(point: Any) -> Value:
                index = point.get(name)
                one = None if index is None else found[index]
                return ABSENT if one is None else one.value(point)

            reads = frozenset({name}).union(*(one.reads for one in found if one))
            return self._sized(Expr(where, got, of_chosen, reads=reads), [one for one in found if one])

        reads = frozenset({name}).union(*(option.reads for option in options))
        leaves = tuple(leaf for option in options for leaf in (option.leaves or (option,)))
        return self._sized(Expr(span, type_, value, (axis,), reads, member, leaves), options)

    def _label(self, option: tree.Expr) -> str:
        if isinstance(option, tree.Make):
            for item in option.items:
                if isinstance(item, tree.Field) and item.name.text == "label" and isinstance(item.value, tree.Text):
                    return "".join(part for part in item.value.parts if isinstance(part, str))
            return str(option.kind)
        return str(option) if isinstance(option, tree.Name) else "option"

    def _unique(self, label: str, taken: dict[str, int]) -> str:
        unique = label
        while unique in taken:
            taken[label] += 1
            unique = f"{label}{taken[label]}"
        taken[unique] = 1
        return unique

    def _range(self, node: tree.Range, path: Path) -> Expr:
        levels = self._levels(node)
        if levels is None:
            return unknown(node.span)
        count, at, type_ = levels
        name = ".".join(path)
        self.factors[name] = FactorDef(name, (name,), (column_type(type_),), count, lambda i: (at(i),), node.span)

        def value(point: Any) -> Value:
            index = point.get(name)
            return ABSENT if index is None else at(index)

        ends = (constant(node.span, type_, at(0)), constant(node.span, type_, at(count - 1)))
        return Expr(node.span, type_, value, (Axis(name, count),), frozenset({name}), None, ends)

    def _range_levels(self, node: tree.Range) -> list[Expr]:
        levels = self._levels(node)
        if levels is None:
            return []
        count, at, type_ = levels
        if count > LONGEST_AMONG_OPTIONS:
            hint = "a range on its own may be longer"
            limit = f"{LONGEST_AMONG_OPTIONS:,}"
            self.report(Code.RANGE_TOO_LONG.at(node.span, limit=limit, count=f"{count:,}", hint=hint))
            return []
        return [constant(node.span, type_, at(i)) for i in range(count)]

    def _levels(self, node: tree.Range) -> tuple[int, Callable[[int], Quantity], Type] | None:
        """How many values a range has, the i-th of them, and their type; None and a finding where it has none."""
        if node.high is None:
            self.report(Code.UNEXPECTED.at(node.span, expected="the end of the range", found="nothing after `..`"))
            return None
        ends = [self.single(end) for end in (node.low, node.high) + ((node.step,) if node.step else ())]
        if any(end.type.unknown for end in ends):
            return None
        for end in ends:
            if not end.is_constant:
                self.report(Code.NOT_CONSTANT.at(end.span, place="the end of a range"))
                return None
            if not end.type.scalars <= types.NUMERIC or not end.type.scalars:
                self.report(Code.WRONG_TYPE.at(end.span, name="..", expected="for numbers", found=end.type))
                return None
        low, high, *steps = (end.value({}) for end in ends)
        assert isinstance(low, Quantity)
        assert isinstance(high, Quantity)
        step = steps[0] if steps else Quantity(Fraction(1, 100) if low.dimension.share else Fraction(1), low.dimension)
        assert isinstance(step, Quantity)
        if low.dimension != high.dimension or (not node.times and step.dimension != low.dimension):
            other = ends[1] if low.dimension != high.dimension else ends[2]
            found = units.name_of(low.dimension)
            self.report(Code.MIXED_UNITS.at(other.span, verb="make a range of", left=found, right=str(other.type)))
            return None
        if not steps and low.dimension not in (units.NUMBER, units.SHARE):
            hint = f"say the step: `{units.show(low)}..{units.show(high)} by *2`"
            found_type = ends[0].type
            self.report(Code.WRONG_TYPE.at(node.span, name="..", expected="for counts", found=found_type, hint=hint))
            return None
        if node.times:
            return self._geometric(node, low, high, step)
        count = 0 if step.amount <= 0 else int((high.amount - low.amount) // step.amount) + 1
        if count < 1:
            hint = f"it goes from {units.show(low)} to {units.show(high)} by {units.show(step)}"
            self.report(Code.EMPTY_RANGE.at(node.span, hint=hint))
            return None
        if count > LONGEST_RANGE:
            self.report(Code.RANGE_TOO_LONG.at(node.span, limit=f"{LONGEST_RANGE:,}", count=f"{count:,}"))
            return None
        base, width, dimension = low.amount, step.amount, low.dimension
        known: dict[int, Quantity] = {}

        def at(i: int) -> Quantity:
            if i not in known:
                if len(known) >= 4096:  # noqa: PLR2004 - long ranges are not kept whole
                    known.clear()
                known[i] = Quantity(base + i * width, dimension)
            return known[i]

        whole = all(q.is_whole for q in (low, step))
        type_ = ends[0].type if whole or dimension != units.NUMBER else types.of_dimension(dimension)
        return count, at, type_

    def _geometric(
        self, node: tree.Range, low: Quantity, high: Quantity, step: Quantity
    ) -> tuple[int, Callable[[int], Quantity], Type] | None:
        amounts: list[Fraction] = []
        amount = low.amount
        if amount > 0 and step.amount > 1:
            while amount <= high.amount and not units.is_large(amount):
                amounts.append(amount)
                amount *= step.amount
        if amounts and amount <= high.amount:
            message = f"the values of this range get more than {units.MOST_BITS} bits long"
            self.report(Code.BAD_NUMBER.at(node.span, message=message))
            return None
        if not amounts:
            hint = f"it goes from {units.show(low)} to {units.show(high)} by *{units.show(step)}"
            self.report(Code.EMPTY_RANGE.at(node.span, hint=hint))
            return None
        whole = all(a.denominator == 1 for a in amounts)
        type_ = types.of_quantity(low) if whole else types.of_dimension(low.dimension)
        levels = [Quantity(amount, low.dimension) for amount in amounts]
        return len(levels), levels.__getitem__, type_

    def zip(self, node: tree.Zip, path: Path, expected: Mapping[str, Type]) -> dict[str, Expr]:
        """Fields that vary together: one factor with a column for each."""
        names = [word.text for word in node.names]
        rows = node.value.options if isinstance(node.value, tree.Choice) else (node.value,)
        columns: list[list[Expr]] = [[] for _ in names]
        own = (*path, "+".join(names))
        for row in rows:
            if not isinstance(row, tree.Tuple) or len(row.items) != len(names):
                count = len(row.items) if isinstance(row, tree.Tuple) else 1
                self.report(Code.ZIP_WIDTH.at(row.span, names=len(names), values=count))
                return {name: unknown(row.span) for name in names}
            for i, item in enumerate(row.items):
                if isinstance(item, tree.Choice | tree.Range):
                    self.report(Code.CHOICE_HERE.at(item.span, hint="name it first: `let x = …`"))
                    return {name: unknown(row.span) for name in names}
                if names[i] in expected:
                    columns[i].append(self.typed(item, (*own, names[i]), names[i], expected[names[i]]))
                else:
                    columns[i].append(self.resolve(item, (*own, names[i])))
        key = ".".join(own)
        branches = tuple(tuple(axis for column in columns for axis in column[r].axes) for r in range(len(rows)))
        axis = axis_of(key, branches)
        result: dict[str, Expr] = {}
        found_types = []
        for name, column in zip(names, columns, strict=True):
            type_ = NOTHING
            for one in column:
                type_ = type_ | one.type
            found_types.append(column_type(type_))
            result[name] = Expr(
                node.span,
                type_,
                _chosen(key, [one.value for one in column]),
                (axis,),
                frozenset({key}).union(*(one.reads for one in column)),
                None,
                tuple(column),
            )
        self.factors[key] = FactorDef(
            key,
            tuple(".".join((*path, name)) for name in names),
            tuple(found_types),
            len(rows),
            lambda i: tuple(level(column[i]) for column in columns),
            node.span,
        )
        return result

    # -- values

    def _text(self, node: tree.Text) -> Expr:
        if all(isinstance(part, str) for part in node.parts):
            return constant(node.span, STRING, "".join(part for part in node.parts if isinstance(part, str)))
        parts = [part if isinstance(part, str) else self.single(part) for part in node.parts]
        inner = [part for part in parts if isinstance(part, Expr)]

        def value(at: Any) -> Value:
            known = [part if isinstance(part, str) else part.value(at) for part in parts]
            return self._guard(node.span, lambda: _short(joined(known)))

        return self._combined(node.span, STRING, value, inner)

    def _command(self, node: tree.Text) -> Expr:
        """A text that is code of the shell: what is put into it is quoted."""
        parts = self.template(node)
        inner = [part for part in parts if isinstance(part, Expr)]
        return self._combined(node.span, Type(frozenset({"command"})), lambda at: shell_text(parts, at), inner)

    def template(self, node: tree.Text) -> tuple[str | Expr, ...]:
        """The parts of a command, checked that no value stands inside quotes of the shell."""
        parts: list[str | Expr] = []
        quotes = ""
        for part in node.parts:
            if isinstance(part, str):
                quotes = _quotes_after(part, quotes)
                parts.append(part)
                continue
            if quotes:
                message = "a value is quoted by zlang and must not stand inside quotes of the shell"
                self.report(Code.BAD_KIND.at(part.span, message=message, hint="take the quotes away"))
            parts.append(self.single(part))
        return tuple(parts)

    def _name(self, node: tree.Name, expected: Type | None) -> Expr:
        first = node.path[0]
        if expected is not None and len(node.path) == 1:
            word = self._as_word(node, first, expected)
            if word is not None:
                return word
        found = self.scope.lookup(first, node.span)
        if found is None and len(node.path) == 1 and first in types.BOOLS:
            return constant(node.span, types.BOOL, types.BOOLS[first])
        if found is None:
            self._report_unknown(node, first, expected)
            return unknown(node.span)
        for i, name in enumerate(node.path[1:], start=1):
            if found.type.unknown and found.member is None:
                return unknown(node.span)
            got = found.member(name, node.span) if found.member else None
            if got is None:
                subject = f"`{'.'.join(node.path[:i])}`"
                hint = self._members(found, name)
                self.report(Code.UNKNOWN_FIELD.at(node.span, subject=subject, name=name, hint=hint))
                return unknown(node.span)
            found = got
        return Expr(
            node.span,
            found.type,
            found.value,
            found.axes,
            found.reads,
            found.member,
            (),
            found.is_constant,
            found.depth,
            found.work,
        )

    def _members(self, of: Expr, name: str) -> str:
        """What a declared thing has whose name is near."""
        kinds = [self.scope.kind(tree.Name(of.span, (kind,))) for kind in sorted(of.type.kinds)]
        return did_you_mean(name, [word for kind in kinds if kind for word in (*kind.properties, *kind.offers)])

    def _as_word(self, node: tree.Name, name: str, expected: Type) -> Expr | None:
        if expected.unknown:
            return None
        variant = expected.variant(name)
        if variant is not None:
            if variant.field is not None:
                field, scalar = variant.field
                hint = f"write `{name}({_EXAMPLES.get(scalar, '…')})`"
                self.report(
                    Code.WRONG_ARGUMENTS.at(node.span, name=name, expected=f"its {field}", found="nothing", hint=hint)
                )
                return unknown(node.span)
            return constant(node.span, Type(words=(variant,)), Symbol(name))
        if "bool" in expected.scalars and name in types.BOOLS:
            return constant(node.span, types.BOOL, types.BOOLS[name])
        return None

    def _report_unknown(self, node: tree.Name, name: str, expected: Type | None) -> None:
        words = [word.name for word in expected.words] if expected else []
        if words and expected == Type(words=expected.words if expected else ()) and self.given_to:
            hint = did_you_mean(name, words) or f"it can be {expected}"
            self.report(Code.NOT_ALLOWED.at(node.span, name=self.given_to, value=f"`{name}`", hint=hint))
            return
        hint = did_you_mean(name, [*words, *self.scope.names()])
        if not hint and expected is not None and not expected.unknown and expected != NOTHING:
            hint = f"expected {expected}"
            if expected.scalars & {"string", "path"}:
                hint = f'a text is written `"{name}"`'
        self.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=hint))

    def _call(self, node: tree.Call, expected: Type | None) -> Expr:
        name = str(node.function)
        variant = expected.variant(name) if expected and not expected.unknown else None
        if variant is not None and variant.field is not None:
            return self._variant(node, variant)
        if name == "has" and len(node.arguments) == 1 and isinstance(node.arguments[0], tree.Name):
            given = self.scope.is_given(str(node.arguments[0]))
            if given is not None:
                return Expr(node.span, types.BOOL, given)
        function = FUNCTIONS.get(name)
        if function is None:
            known = [*FUNCTIONS, *(word.name for word in expected.words if word.field)] if expected else FUNCTIONS
            self.report(Code.UNKNOWN_FUNCTION.at(node.function.span, name=name, hint=did_you_mean(name, known)))
            return unknown(node.span)
        arguments = [self.single(argument) for argument in node.arguments]
        if not function.least <= len(arguments) <= function.most:
            found = f"{len(arguments)} arguments" if len(arguments) != 1 else "one argument"
            found = found if arguments else "nothing"
            self.report(Code.WRONG_ARGUMENTS.at(node.span, name=name, expected=function.takes, found=found))
            return unknown(node.span)
        dimensions = {self._dimension(a) for a in arguments if a.type.scalars} - {None}
        if name in {"min", "max", "sum"} and len(dimensions) > 1:
            left, right, *_ = (units.name_of(d) for d in sorted(dimensions, key=str) if d)
            verb = "add" if name == "sum" else "compare"
            self.report(Code.MIXED_UNITS.at(node.span, verb=verb, left=left, right=right))
            return unknown(node.span)

        def value(at: Any) -> Value:
            return self._guard(node.span, lambda: call_function(function, tuple(a.value(at) for a in arguments)))

        return self._combined(node.span, function.returns([a.type for a in arguments]), value, arguments)

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
            if path is None:
                items.append(self.single(part, element))
            else:
                items.append(self.resolve(part, (*path, self._unique(self._label(part), labels)), element))
        type_ = NOTHING
        for item in items:
            type_ = type_ | item.type
        listed = Type(element=type_)
        return self._combined(node.span, listed, lambda at: tuple([item.value(at) for item in items]), items)

    def _binary(self, node: tree.Binary) -> Expr:
        if node.operator in {"and", "or"}:
            sides = [self.condition(node.left), self.condition(node.right)]
            combine = _both if node.operator == "and" else _either
            left, right = sides
            return self._combined(node.span, types.BOOL, lambda at: combine(left.value(at), right.value(at)), sides)
        if node.operator == "in":
            return self._contains(node)
        if node.operator in {"==", "!=", "<", "<=", ">", ">="}:
            return self._comparison(node)
        return self._arithmetic(node)

    def _contains(self, node: tree.Binary) -> Expr:
        left = self.single(node.left)
        right = self.single(node.right, Type(element=left.type))

        def value(at: Any) -> Value:
            one, many = left.value(at), right.value(at)
            if isinstance(one, Absent) or isinstance(many, Absent):
                return None
            return isinstance(many, tuple) and any(values.equal(one, other) for other in many)

        if right.type.element is None and not right.type.unknown:
            self.report(Code.WRONG_TYPE.at(right.span, name="in", expected="followed by a list", found=right.type))
        return self._combined(node.span, types.BOOL, value, [left, right])

    def _comparison(self, node: tree.Binary) -> Expr:
        if _is_plain_word(node.left) and not _is_plain_word(node.right):
            right = self.single(node.right)
            left = self.single(node.left, right.type)
        else:
            left = self.single(node.left)
            right = self.single(node.right, left.type)
        span, operator = node.span, node.operator
        if left.type.unknown or right.type.unknown:
            return self._combined(span, types.BOOL, self._comparing(span, operator, left, right), [left, right])
        one, other = self._dimension(left), self._dimension(right)
        if one is not None and other is not None and one != other:
            verb = "compare"
            self.report(Code.MIXED_UNITS.at(span, verb=verb, left=units.name_of(one), right=units.name_of(other)))
        elif operator not in {"==", "!="} and (one is None or other is None):
            odd = left if one is None else right
            self.report(Code.WRONG_TYPE.at(odd.span, name=operator, expected="for numbers", found=odd.type))
            return unknown(span)
        elif (one is None or other is None) and not (left.type.accepts(right.type) or right.type.accepts(left.type)):
            self.report(Code.MIXED_UNITS.at(span, verb="compare", left=left.type, right=right.type))
        return self._combined(span, types.BOOL, self._comparing(span, operator, left, right), [left, right])

    def _comparing(self, span: Span, operator: str, left: Expr, right: Expr) -> Callable[[Any], Value]:
        return lambda at: self._guard(span, lambda: values.compare(operator, left.value(at), right.value(at)))

    def _arithmetic(self, node: tree.Binary) -> Expr:
        left, right = self.single(node.left), self.single(node.right)
        operator = node.operator
        if left.type.unknown or right.type.unknown:
            return unknown(node.span)
        one, other = self._dimension(left), self._dimension(right)
        if operator == "of" and one != units.SHARE:
            self.report(Code.WRONG_TYPE.at(left.span, name="of", expected="for shares such as `50%`", found=left.type))
            return unknown(node.span)
        verb = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "of": "take a share of"}[operator]
        if one is None or other is None or (operator in {"+", "-"} and one != other):
            shown = [units.name_of(d) if d else str(e.type) for d, e in ((one, left), (other, right))]
            self.report(Code.MIXED_UNITS.at(node.span, verb=verb, left=shown[0], right=shown[1]))
            return unknown(node.span)
        dimension = one if operator in {"+", "-"} else values.result_dimension(operator, one, other)
        both_counts = left.type == types.COUNT and right.type == types.COUNT and operator != "/"
        type_ = types.COUNT if both_counts else types.of_dimension(dimension)

        last: tuple[Value, Value, Value] = (None, None, None)

        def computed(at: Any) -> Value:
            nonlocal last
            first, second = left.value(at), right.value(at)
            if first is not last[0] or second is not last[1]:  # most trials share both
                last = (first, second, values.arithmetic(operator, first, second))
            return last[2]

        def value(at: Any) -> Value:
            return self._guard(node.span, lambda: computed(at))

        combined = self._combined(node.span, type_, value, [left, right])
        if combined.is_constant and not combined.type.unknown:
            known = combined.value({})
            return constant(node.span, types.of_quantity(known), known) if isinstance(known, Quantity) else combined
        return combined

    def _dimension(self, expr: Expr) -> units.Dimension | None:
        numbers = {types.DIMENSION_OF[s] for s in expr.type.scalars if s in types.DIMENSION_OF}
        return next(iter(numbers)) if len(numbers) == 1 and expr.type.scalars <= types.NUMERIC else None

    def _not(self, node: tree.Not) -> Expr:
        operand = self.condition(node.operand)

        def value(at: Any) -> Value:
            known = operand.value(at)
            return None if known is None or isinstance(known, Absent) else not known

        return self._combined(node.span, types.BOOL, value, [operand])

    def _is_a(self, node: tree.IsA) -> Expr:
        subject = self.single(node.value)
        name = str(node.what)
        declared = self.scope.kind(node.what) is not None or self.scope.lookup(node.what.path[0], node.what.span)
        if not declared and subject.type.variant(name) is None and not subject.type.unknown:
            known = [*self.scope.kind_names(), *self.scope.names(), *(word.name for word in subject.type.words)]
            hint = did_you_mean(name, known) or self.scope.kind_hint(name)
            self.report(Code.UNKNOWN_NAME.at(node.what.span, name=name, hint=hint))
        kind = self.scope.kind(node.what)

        def value(at: Any) -> Value:
            known = subject.value(at)
            if isinstance(known, Instance):
                return known.label == name or (kind is not None and known.kind.name == kind.name)
            if isinstance(known, Symbol):
                return known.name == name
            return None if isinstance(known, Absent) else False

        return self._combined(node.span, types.BOOL, value, [subject])

    def _if(self, node: tree.If, expected: Type | None) -> Expr:
        condition = self.condition(node.condition)
        sides = [self.single(node.then, expected), self.single(node.otherwise, expected)]

        def value(at: Any) -> Value:
            known = condition.value(at)
            if known is None or isinstance(known, Absent):
                return ABSENT
            return sides[0 if known else 1].value(at)

        return self._combined(node.span, sides[0].type | sides[1].type, value, [condition, *sides])

    def _guard(self, span: Span, work: Callable[[], Value]) -> Value:
        try:
            return work()
        except ZeroDivisionError:
            raise ProgramError(Code.DIVISION.at(span)) from None
        except values.ValueProblem as problem:
            raise ProgramError(Code.NOT_SHOWN.at(span, message=str(problem))) from None

    def _combined(self, span: Span, type_: Type, value: Callable[[Any], Value], parts: list[Expr]) -> Expr:
        """What is worked out from parts: at once where they are the same everywhere."""
        reads = frozenset[str]().union(*(part.reads for part in parts))
        axes = tuple({axis.path: axis for part in parts for axis in part.axes}.values())
        made = self._sized(Expr(span, type_, value, axes, reads), parts)
        if made.type.unknown or not all(part.is_constant for part in parts):
            return made
        try:
            known = value({})
        except ProgramError as error:
            self.report(error.diagnostic)
            return unknown(span)
        if isinstance(known, Quantity):
            return constant(span, type_, known)
        return Expr(span, type_, lambda _: known, is_constant=True, depth=made.depth, work=made.work)

    def _sized(self, expr: Expr, parts: Iterable[Expr]) -> Expr:
        """The expression with what it takes to work it out; a finding where that is too much."""
        depth, work = 1, 1
        for part in parts:
            depth, work = max(depth, part.depth + 1), work + part.work
        if depth > DEEPEST:
            hint = "it uses names that use names that use names …"
            self.report(Code.TOO_DEEP.at(expr.span, limit=DEEPEST, hint=hint))
            return unknown(expr.span)
        if work > MOST_WORK:
            self.report(Code.TOO_MUCH.at(expr.span, limit=f"{MOST_WORK:,}"))
            return unknown(expr.span)
        given = (expr.span, expr.type, expr.value, expr.axes, expr.reads, expr.member, expr.leaves, expr.is_constant)
        return Expr(*given, depth, work)

    # -- declarations

    def _make(self, node: tree.Make, path: Path) -> Expr:
        return self.declare(node.span, node.kind, node.parent, node.items, path, path[-1], is_given=False)

    def declare(
        self,
        span: Span,
        kind_name: tree.Name,
        parent: tree.Expr | None,
        items: tuple[tree.Item, ...],
        path: Path,
        label: str,
        *,
        is_given: bool,
    ) -> Expr:
        """A declared thing: its properties by type, its parent by kind."""
        kind = self.scope.kind(kind_name)
        if kind is None:
            name = str(kind_name)
            hint = self.scope.kind_hint(name) or did_you_mean(name, self.scope.kind_names())
            self.report(Code.UNKNOWN_KIND.at(kind_name.span, name=name, hint=hint))
            return unknown(span)
        if is_given and kind.action("present") is None:
            self.report(Code.NOT_GIVEN.at(kind_name.span, kind=kind.name))
        stands_on = self._parent(kind, parent, span, path)
        fields = self._fields(kind, items, path)
        for name in kind.required:
            given = name in fields or any(_names(item, name) for item in items)
            if not given and not _misspelt(kind, items, name):
                hint = f"add `{name} = {_example(kind.properties[name].type)}`"
                self.report(Code.MISSING_PROPERTY.at(kind_name.span, kind=kind.name, name=name, hint=hint))
        exprs = [*fields.values(), *([stands_on] if stands_on else [])]
        axes = tuple(axis for expr in exprs for axis in expr.axes)
        reads = frozenset[str]().union(*(expr.reads for expr in exprs))
        builder = _InstanceBuilder(kind, path, label, fields, stands_on, reads, is_given=is_given)

        def member(what: str, where: Span) -> Expr | None:
            if what in fields:
                return fields[what]
            if what in kind.properties:
                return self._default(kind.properties[what], where, builder, reads)
            if what in kind.offers:
                offer = kind.offers[what]

                def offered(point: Any) -> Value:
                    return offer.value(Frame(builder(point)))

                return Expr(where, STRING, offered, reads=reads, depth=1 + max((e.depth for e in exprs), default=0))
            return None

        beneath = stands_on.type.kinds | stands_on.type.beneath if stands_on else frozenset[str]()
        made = Expr(span, Type(kinds=frozenset({kind.name}), beneath=beneath), builder, axes, reads, member)
        return self._sized(made, [*exprs, *([stands_on] if stands_on else [])])

    def _default(self, definition: PropertyDef, where: Span, builder: _InstanceBuilder, reads: frozenset[str]) -> Expr:
        """A property that was not given."""
        default = definition.default
        if default is None:
            return constant(where, definition.type, ABSENT)
        if default.is_constant:
            return constant(where, definition.type, default.value(None))
        return Expr(where, definition.type, lambda point: default.value(Frame(builder(point))), reads=reads, depth=1)

    def _parent(self, kind: Kind, parent: tree.Expr | None, span: Span, path: Path) -> Expr | None:
        if parent is None:
            if kind.parents and "host" not in kind.parents and kind.role == "resource":
                expected = " or ".join(f"a `{p}`" for p in kind.parents)
                self.report(
                    Code.MISSING_PROPERTY.at(span, kind=kind.name, name="on …", hint=f"it stands on {expected}")
                )
            return None
        resolved = self.single(parent) if isinstance(parent, tree.Name) else self.resolve(parent, (*path, "on"))
        if resolved.type.unknown:
            return resolved
        if not resolved.type.kinds or not all(self._carries(name, kind) for name in resolved.type.kinds):
            expected = " or ".join(f"a `{p}`" for p in kind.parents) or "nothing"
            place = f"what `{kind.name}` stands on"
            self.report(Code.WRONG_ROLE.at(resolved.span, place=place, expected=expected, found=resolved.type))
        return resolved

    def _carries(self, parent: str, kind: Kind) -> bool:
        """Whether a kind may stand on another: it is named, or it offers what is named."""
        offered = self.scope.kind_called(parent)
        return parent in kind.parents or (offered is not None and bool(set(offered.offers) & set(kind.parents)))

    def _fields(self, kind: Kind, items: tuple[tree.Item, ...], path: Path) -> dict[str, Expr]:
        fields: dict[str, Expr] = {}
        places: dict[str, Span] = {}
        for item in items:
            words = item.names if isinstance(item, tree.Zip) else (item.name,) if isinstance(item, tree.Field) else ()
            for word in words:
                if word.text in places:
                    finding = Code.DUPLICATE.at(word.span, name=word.text)
                    self.report(finding.also(places[word.text], "first defined here"))
            if any(word.text in places for word in words):
                continue
            places |= {word.text: word.span for word in words}
            if isinstance(item, tree.Where):
                hint = "`where` belongs to an experiment"
                self.report(Code.UNEXPECTED.at(item.span, expected="`name = value`", found="`where`", hint=hint))
            elif isinstance(item, tree.Zip):
                known = {w.text: d.type for w in item.names if (d := self._definition(kind, w))}
                for name, one in self.zip(item, path, known).items():
                    if name in known:
                        self._note_cost(kind, kind.properties[name], one)
                        fields[name] = self._checked(kind.properties[name], one)
            elif item.name.text == "label":
                continue
            elif (definition := self._definition(kind, item.name)) is not None:
                name = item.name.text
                resolved = self.typed(item.value, (*path, name), name, definition.type)
                self._note_cost(kind, definition, resolved)
                fields[name] = self._checked(definition, resolved)
        return fields

    def _note_cost(self, kind: Kind, definition: PropertyDef, given: Expr) -> None:
        """What it takes to go to another level of a factor: as much as the dearest property that it decides."""
        if kind.role != "resource":
            return
        cost = definition.cost if kind.action("change") or definition.cost == "manual" else "create"
        for axis in given.axes:
            factor = self.factors.get(axis.path)
            if factor is not None and (not factor.cost or COSTS.index(cost) > COSTS.index(factor.cost)):
                columns = (factor.columns, factor.types, factor.size, factor.level)
                self.factors[axis.path] = FactorDef(factor.path, *columns, factor.span, cost)

    def _definition(self, kind: Kind, word: tree.Word) -> PropertyDef | None:
        found = kind.properties.get(word.text)
        if found is None:
            hint = did_you_mean(word.text, kind.properties) or f"`zlang kinds {kind.name}` lists them"
            self.report(Code.UNKNOWN_PROPERTY.at(word.span, kind=kind.name, name=word.text, hint=hint))
        return found

    def _checked(self, definition: PropertyDef, resolved: Expr) -> Expr:
        """The value, held to what its property allows: now where it is constant, at its point where it is not."""
        if resolved.type.unknown:
            return resolved
        faults: set[tuple[int, int]] = set()
        for leaf in resolved.leaves or (resolved,):
            if not leaf.is_constant:
                continue
            try:
                checked_value(definition, leaf.value(None), leaf.span)
            except ProgramError as error:
                if (leaf.span.start, leaf.span.end) not in faults:
                    self.report(error.diagnostic)
                faults.add((leaf.span.start, leaf.span.end))
        is_path = "path" in definition.type.scalars
        if resolved.is_constant:
            known = resolved.value(None)
            if is_path and isinstance(known, str) and known.startswith("-"):
                known = f"./{known}"
            return Expr(resolved.span, resolved.type, lambda _: known, is_constant=True)
        plain = definition.allow is None and definition.unit is None and not is_path
        all_constant = all(leaf.is_constant for leaf in resolved.leaves) if resolved.leaves else False
        if plain or (all_constant and not is_path):
            return resolved

        def value(point: Any) -> Value:
            known = resolved.value(point)
            checked_value(definition, known, resolved.span)
            return f"./{known}" if is_path and isinstance(known, str) and known.startswith("-") else known

        return Expr(
            resolved.span,
            resolved.type,
            value,
            resolved.axes,
            resolved.reads,
            resolved.member,
            resolved.leaves,
            depth=resolved.depth,
            work=resolved.work,
        )


class Frame:
    """Where a kind's templates are filled in: a declared thing, its target, and what the plan knows."""

    __slots__ = ("context", "instance", "target")

    def __init__(
        self, instance: Instance | None, target: Instance | None = None, context: Mapping[str, Value] | None = None
    ) -> None:
        self.instance = instance
        self.target = target
        self.context = context or {}


class _InstanceBuilder:
    """The declared thing at a point; points that agree in what it reads share one."""

    __slots__ = ("cache", "fields", "is_given", "key", "kind", "kind_digest", "label", "order", "parent", "said")

    def __init__(
        self,
        kind: Kind,
        path: Path,
        label: str,
        fields: Mapping[str, Expr],
        parent: Expr | None,
        reads: frozenset[str],
        *,
        is_given: bool,
    ) -> None:
        self.kind, self.fields, self.parent, self.is_given = kind, fields, parent, is_given
        self.key, self.label = values.safe_name(path), label
        self.order = tuple(sorted(reads))
        self.cache: dict[tuple[int | None, ...], Instance] = {}
        self.kind_digest = ""
        self.said = values.Memory(lambda name, value: f"{name}={values.canonical(value)}{kind.properties[name].said}")

    def __call__(self, point: Any) -> Instance:
        key = tuple([point.get(path) for path in self.order])
        known = self.cache.get(key)
        if known is None:
            if len(self.cache) >= 1024:  # noqa: PLR2004 - enough for the things that trials share; the rest stream by
                self.cache.clear()
            known = self.cache[key] = self._build(point)
        return known

    def _build(self, point: Any) -> Instance:
        given: dict[str, Value] = {}
        for name, field in self.fields.items():
            value = field.value(point)
            if not isinstance(value, Absent):
                given[name] = value
        parent = self.parent.value(point) if self.parent else None
        on = parent if isinstance(parent, Instance) else None
        text = "\n".join([self.said(name, given[name]) for name in sorted(given)])
        self.kind_digest = self.kind_digest or values.template_digest(self.kind)
        digest = values.digest(self.kind_digest, on.digest if on else "", text)
        return Instance(self.kind, self.key, self.label, given, on, self.is_given, digest)


def checked_value(definition: PropertyDef, value: Value, span: Span) -> None:
    """Raise ProgramError where a property cannot have this value."""
    if isinstance(value, Absent):
        return
    if definition.unit is not None and isinstance(value, Quantity):
        unit = definition.unit
        if (value.amount / unit.amount).denominator != 1:
            raise ProgramError(
                Code.NOT_WHOLE.at(span, name=definition.name, value=units.show(value), unit=f"`{units.show(unit)}`")
            )
    elif isinstance(value, Quantity) and value.dimension in (units.SIZE, units.DURATION, units.RATE):
        if not value.is_whole:
            unit_name = {units.SIZE: "bytes", units.DURATION: "seconds"}.get(value.dimension, "bytes per second")
            raise ProgramError(Code.NOT_WHOLE.at(span, name=definition.name, value=units.show(value), unit=unit_name))
    if definition.allow is not None and isinstance(value, Quantity):
        limits = definition.allow.value(None)
        assert isinstance(limits, tuple)
        low, high = limits
        below = isinstance(low, Quantity) and value.amount < low.amount
        above = isinstance(high, Quantity) and value.amount > high.amount
        if below or above:
            hint = f"it can be {definition.allow_text}"
            raise ProgramError(Code.NOT_ALLOWED.at(span, name=definition.name, value=units.show(value), hint=hint))
    if isinstance(value, str) and "\0" in value:
        raise ProgramError(Code.NOT_ALLOWED.at(span, name=definition.name, value="a text with a NUL character"))


def joined(parts: list[Value]) -> Value:
    """A text from parts, of which some may be shell variables."""
    if any(isinstance(part, Absent) for part in parts):
        return ABSENT
    flat: list[Value] = []
    for part in parts:
        flat += part.parts if isinstance(part, Joined) else [part]
    if any(isinstance(part, Variable | tuple) for part in flat):
        return Joined(tuple(part if isinstance(part, str | Variable) else values.plain(part) for part in flat))
    return "".join(values.plain(part) for part in flat)


def _short(text: Value) -> Value:
    if isinstance(text, str) and len(text) > LONGEST_TEXT:
        raise values.ValueProblem(f"this text gets longer than {LONGEST_TEXT:,} characters")
    return text


def shell_text(parts: tuple[str | Expr, ...], at: Any) -> str:
    """A command with its values filled in, each quoted."""
    pieces = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
            continue
        try:
            pieces.append(values.shell_words(part.value(at)))
        except values.ValueProblem as problem:
            raise ProgramError(Code.NOT_SHOWN.at(part.span, message=str(problem))) from None
    return "".join(pieces)


def level(option: Expr) -> Value:
    """The level of a factor as it is shown: its value where it is constant, else its label."""
    if option.is_constant:
        return option.value({})
    if option.type.kinds and option.member is not None:
        return option.value(_Anywhere()) if not option.axes else _label_of(option)
    return option.span.source.text[option.span.start : option.span.end]


def _label_of(option: Expr) -> str:
    known = option.value(_Anywhere())
    return known.label if isinstance(known, Instance) else "option"


class _Anywhere(dict[str, int]):
    """A point at which every factor has its first level: enough to learn a thing's name."""

    def get(self, _key: str, _default: Any = None) -> Any:
        return 0


def column_type(type_: Type) -> str:
    """The type of a factor's column."""
    if len(type_.scalars) == 1 and not type_.words and not type_.kinds:
        return next(iter(type_.scalars))
    if type_.scalars == {"count", "number"}:
        return "number"
    return "string" if type_.scalars else "word"


def _chosen(key: str, options: list[Callable[[Any], Value]]) -> Callable[[Any], Value]:
    def value(point: Any) -> Value:
        index = point.get(key)
        return ABSENT if index is None else options[index](point)

    return value


def _names(item: tree.Item, name: str) -> bool:
    if isinstance(item, tree.Zip):
        return any(word.text == name for word in item.names)
    return isinstance(item, tree.Field) and item.name.text == name


def _misspelt(kind: Kind, items: tuple[tree.Item, ...], name: str) -> bool:
    """Whether a field that the kind does not have may have been meant to be this one."""
    given = [item.name.text for item in items if isinstance(item, tree.Field)]
    return any(word not in kind.properties and nearest(word, [name]) for word in given)


def _both(left: Value, right: Value) -> Value:
    if left is False or right is False:
        return False
    return True if left is True and right is True else None


def _either(left: Value, right: Value) -> Value:
    if left is True or right is True:
        return True
    return False if left is False and right is False else None


def _is_plain_word(node: tree.Expr) -> bool:
    return isinstance(node, tree.Name) and len(node.path) == 1


def _quotes_after(text: str, quotes: str) -> str:
    """Which quotes of the shell are open after a piece of a command."""
    i = 0
    while i < len(text):
        char = text[i]
        if char == "\\" and quotes != "'":
            i += 1
        elif quotes:
            quotes = "" if char == quotes else quotes
        elif char in "'\"":
            quotes = char
        i += 1
    return quotes


_EXAMPLES = {"share": "50%", "size": "4KiB", "duration": "60s", "count": "4", "string": '"text"'}


def _example(type_: Type) -> str:
    for scalar in types.SCALARS:
        if scalar in type_.scalars:
            return _EXAMPLES.get(scalar, '"…"' if scalar in {"path", "command"} else "…")
    return type_.words[0].name if type_.words else "…"
