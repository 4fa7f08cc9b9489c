"""Choices, ranges and zips: what makes a factor, its levels and their labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from zlang.check.expressions import constant, unknown
from zlang.check.program import ABSENT, Axis, Expr, FactorDef, Instance, Probe, Value, axis_of
from zlang.check.ranges import Ranges
from zlang.check.scope import Path
from zlang.check.types import NOTHING, STRING, Type
from zlang.check.values import show
from zlang.diagnostics import Code
from zlang.source import Span
from zlang.syntax import tree

DEEPEST_CHOICE = 50


class Choices(Ranges):
    """Whatever is one of several at a point."""

    def _choice(self, node: tree.Choice, path: Path, expected: Type | None) -> Expr:
        options: list[Expr] = []
        labels: dict[str, int] = {}
        places: dict[str, Span] = {}
        for option in node.options:
            if isinstance(option, tree.Range):
                options += self._range_levels(option)
                continue
            given = self._given_label(option.items) if isinstance(option, tree.Make) else None
            if given is not None:
                if given[0] in places:
                    hint = "two branches of a choice have two labels"
                    finding = Code.DUPLICATE.at(given[1], name=given[0], hint=hint)
                    self.report(finding.also(places[given[0]], "first used here"))
                places[given[0]] = given[1]
            label = self._unique(given[0] if given else self._label(option), labels)
            options.append(self.resolve(option, (*path, label), expected))
        self._refuse_twice(options)
        return self.pick(node.span, path, options, expected)

    def _refuse_twice(self, options: list[Expr]) -> None:
        """A finding for a level that is the same as one before it: both would be the same trials."""
        seen: dict[Value, Span] = {}
        for option in options:
            text = option.span.source.text[option.span.start : option.span.end]
            if option.type.unknown or not (option.is_constant or text.isidentifier()):
                continue
            value = option.value({}) if option.is_constant else text
            if value in seen:
                hint = "a level stands once in a choice; `repeat = 2` measures twice"
                name = show(value) if option.is_constant else text
                is_said = text == name or ".." in text
                message = f"the level `{name}` stands twice" if is_said else f"`{text}` is the level `{name}` again"
                finding = Code.DUPLICATE.at(option.span, name=name, hint=hint).saying(message)
                self.report(finding.also(seen[value], "it is the same as this"))
            seen.setdefault(value, option.span)

    def pick(self, span: Span, path: Path, options: list[Expr], expected: Type | None = None) -> Expr:
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
            name,
            (name,),
            (column_type(type_) if expected is None or expected.accepts(type_) else "unknown",),
            len(options),
            lambda i: (level(options[i]),),
            span,
            places=tuple(option.span for option in options),
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
            return str(option.kind)
        return str(option) if isinstance(option, tree.Name) else "option"

    def _given_label(self, items: tuple[tree.Item, ...]) -> tuple[str, Span] | None:
        """The `label` among the properties of a branch; a finding where it is none."""
        for item in items:
            if not isinstance(item, tree.Field) or item.name.text != "label":
                continue
            if isinstance(item.value, tree.Choice | tree.Range):
                hint = "it names one branch; a property that varies within the branch is a factor without it"
                self.report(Code.NOT_CONSTANT.at(item.value.span, place="`label`", hint=hint))
                return None
            label = self.typed(item.value, (), "label", STRING)
            if label.type.unknown:
                return None
            if not label.is_constant:
                hint = 'write it out: `label = "…"`; what varies within the branch is a factor without it'
                self.report(Code.NOT_CONSTANT.at(label.span, place="`label`", hint=hint))
                return None
            known = label.value({})
            assert isinstance(known, str)
            if not known:
                hint = "leave it away, or say what the branch is called"
                self.report(Code.NOT_ALLOWED.at(label.span, name="label", value="an empty text", hint=hint))
                return None
            return known, item.span
        return None

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

    def zip(self, node: tree.Zip, path: Path, expected: Mapping[str, Type]) -> dict[str, Expr]:
        """Fields that vary together: one factor with a column for each."""
        names = [word.text for word in node.names]
        rows = node.value.options if isinstance(node.value, tree.Choice) else (node.value,)
        columns: list[list[Expr]] = [[] for _ in names]
        own = (*path, "+".join(names))
        for row in rows:
            if not isinstance(row, tree.Tuple) or len(row.items) != len(names):
                count = len(row.items) if isinstance(row, tree.Tuple) else 1
                hint = (
                    f"each option has a value for each name: `({', '.join(names)}) = ({', '.join('…' for _ in names)})`"
                )
                self.report(Code.ZIP_WIDTH.at(row.span, names=len(names), values=count, hint=hint))
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
            places=tuple(row.span for row in rows),
        )
        return result


def level(option: Expr) -> Value:
    """The level of a factor as it is shown: its value where it is constant, else its label."""
    if option.is_constant:
        return option.value({})
    if option.type.kinds and option.member is not None:
        return option.value(Anywhere()) if not option.axes else _label_of(option)
    return option.span.source.text[option.span.start : option.span.end]


def _label_of(option: Expr) -> str:
    known = option.value(Anywhere())
    return known.label if isinstance(known, Instance) else "option"


class Anywhere(Probe):
    """A point at which every factor that is not said has its first level: enough to learn a thing's name."""

    def get(self, key: str, _default: Any = None) -> Any:
        """The level of a factor."""
        return super().get(key, 0)


def column_type(type_: Type) -> str:
    """The type of a factor's column."""
    if type_.unknown:
        return "unknown"
    if len(type_.scalars) == 1 and not type_.words and not type_.kinds and type_ != Type(frozenset({"version"})):
        return next(iter(type_.scalars))
    if type_.scalars == {"count", "number"}:
        return "number"
    return "string" if type_.scalars else "word"


def _chosen(key: str, options: list[Callable[[Any], Value]]) -> Callable[[Any], Value]:
    def value(point: Any) -> Value:
        index = point.get(key)
        return ABSENT if index is None else options[index](point)

    return value
