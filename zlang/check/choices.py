"""Choices, ranges, lists and zips: the expressions that make factors, and the labels of their levels."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from zlang.check import arithmetic, whole
from zlang.check.expressions import (
    LONGEST_AMONG_OPTIONS,
    Context,
    combine,
    constant,
    guarded,
    limit_size,
    resolve,
    unknown,
)
from zlang.check.factors import column_type, level, one_of, pick
from zlang.check.program import ABSENT, Axis, Expr, FactorDef, Instance, Value, axis_of
from zlang.check.scope import Path
from zlang.check.typed import resolve_typed
from zlang.check.types import NOTHING, STRING, Type
from zlang.check.values import show
from zlang.diagnostics import Code
from zlang.hints import Any
from zlang.source import Span
from zlang.suggest import Hint
from zlang.syntax import tree


def resolve_choice(context: Context, node: tree.Choice, expected: Type | None, path: Path) -> Expr:
    """Resolve `a | b`: a factor."""
    if len(node.options) > LONGEST_AMONG_OPTIONS:
        count, limit = f"{len(node.options):,}", f"{LONGEST_AMONG_OPTIONS:,}"
        finding = Code.RANGE_TOO_LONG.at(node.span, limit=limit, count=count, hint="write a range: `1..20000`")
        context.report(finding.saying(f"this choice has {count} options; the limit is {limit}"))
        return unknown(node.span)
    options: list[Expr] = []
    labels = _Labels(context)
    for option in node.options:
        if isinstance(option, tree.Range):
            from zlang.check.ranges import resolve_range_levels

            options += resolve_range_levels(context, option)
            continue
        options.append(resolve(context, option, expected, (*path, labels.of(option))))
    _report_repeated_levels(context, options)
    return pick(context, node.span, path, options, expected)


class _Labels:
    """The labels of the branches of a choice, each unique."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.taken: dict[str, int] = {}
        self.places: dict[str, Span] = {}

    def of(self, option: tree.Expr) -> str:
        """Return the label of a branch: its own label, or else the name or the kind of its value."""
        given = given_label(self.context, option.items) if isinstance(option, tree.Anonymous | tree.Amend) else None
        if given is not None:
            if given[0] in self.places:
                hint = "give the branches different labels"
                finding = Code.DUPLICATE.at(given[1], name=given[0], hint=hint)
                self.context.report(finding.also(self.places[given[0]], "first used here"))
            self.places[given[0]] = given[1]
        return _unique_label(given[0] if given else _label_of(option), self.taken)


def _report_repeated_levels(context: Context, options: list[Expr]) -> None:
    """Report each level that repeats an earlier one: both would be the same trials."""
    seen: dict[Value, Span] = {}
    for option in options:
        text = option.span.text
        if option.type.unknown or not (option.is_constant or text.isidentifier()):
            continue
        value = option.value({}) if option.is_constant else text
        if option.type.kinds and isinstance(thing := level(option), Instance):
            value = thing.label
        if value in seen:
            hint = "write each level once; `repeat = 2` measures twice"
            name = show(value) if option.is_constant else text
            is_same_text = text == name or ".." in text
            message = f"the level `{name}` occurs twice" if is_same_text else f"`{text}` is the level `{name}` again"
            finding = Code.DUPLICATE.at(option.span, name=name, hint=hint).saying(message)
            context.report(finding.also(seen[value], "same as this"))
        seen.setdefault(value, option.span)


def _label_of(option: tree.Expr) -> str:
    if isinstance(option, tree.Anonymous | tree.Amend):
        return str(option.kind if isinstance(option, tree.Anonymous) else option.base)
    return str(option) if isinstance(option, tree.Name) else "option"


def given_label(context: Context, items: tuple[tree.Item, ...]) -> tuple[str, Span] | None:
    """Return the `label` among the properties of a branch; report one that is not a valid label."""
    for item in items:
        if not isinstance(item, tree.Field) or item.name.text != "label":
            continue
        if isinstance(item.value, tree.Choice | tree.Range):
            hint = "a label names one branch; a property that varies within the branch is a factor anyway"
            context.report(Code.NOT_CONSTANT.at(item.value.span, place="`label`", hint=hint))
            return None
        label = resolve_typed(context, item.value, (), "label", STRING)
        if label.type.unknown:
            return None
        if not label.is_constant:
            hint = 'write a constant text: `label = "…"`; a property that varies within the branch is a factor anyway'
            context.report(Code.NOT_CONSTANT.at(label.span, place="`label`", hint=hint))
            return None
        value = label.value({})
        assert isinstance(value, str)
        if not value:
            hint = "remove it, or write the name of the branch"
            context.report(Code.NOT_ALLOWED.at(label.span, name="label", value="an empty text", hint=hint))
            return None
        return value, item.span
    return None


def _unique_label(label: str, taken: dict[str, int]) -> str:
    """Add a number to a label that is already taken."""
    unique = label
    while unique in taken:
        taken[label] += 1
        unique = f"{label}{taken[label]}"
    taken[unique] = 1
    return unique


def resolve_range(context: Context, node: tree.Range, path: Path) -> Expr:
    """Resolve a range: a factor whose levels are computed on demand."""
    from zlang.check.ranges import levels_between, resolve_ends

    ends = resolve_ends(context, node)
    if ends is not None and not all(end.is_constant for end in ends):
        from zlang.check.dependent_ranges import resolve_dependent_range

        return resolve_dependent_range(context, node, ends, path)
    levels = levels_between(context, node, ends) if ends else None
    if levels is None:
        return unknown(node.span)
    count, at, type_ = levels
    name = ".".join(path)
    context.factors[name] = FactorDef(
        path=name, columns=(name,), types=(column_type(type_),), size=count, level=lambda i: (at(i),), span=node.span
    )

    def value(point: Any) -> Value:
        index = point.get(name)
        return ABSENT if index is None else at(index)

    alternatives = (constant(node.span, type_, at(0)), constant(node.span, type_, at(count - 1)))
    return Expr(
        span=node.span,
        type=type_,
        value=value,
        axes=(Axis(name, count),),
        reads=frozenset({name}),
        member=None,
        whole=whole.of_levels(name, at),
        alternatives=alternatives,
    )


def resolve_list(context: Context, node: tree.ListOf, expected: Type | None, path: Path | None) -> Expr:
    """Resolve a list; with a path, an item may be a choice. A single item keeps its own label."""
    element = expected.element if expected else None
    if element is not None and element.variant("none") is not None:
        _report_none(context, node)
    of_items = element or expected  # a list where one value is expected is reported as a whole, by the caller
    is_alone = len(node.items) == 1 and not _has_own_label(context, node.items[0])
    if is_alone and element is not None and expected == element | Type(element=element):
        return resolve(context, node.items[0], expected, path)
    items: list[Expr] = []
    labels: dict[str, int] = {}
    for part in node.items:
        if isinstance(part, tree.Range):
            from zlang.check.ranges import resolve_range_levels

            levels = resolve_range_levels(context, part)
            if not levels:
                return unknown(node.span)
            items += levels
        elif path is None or is_alone:
            items.append(resolve(context, part, of_items, path))
        else:
            items.append(resolve(context, part, of_items, (*path, _unique_label(_label_of(part), labels))))
    if of_items is not element and any(item.type.unknown for item in items):
        return unknown(node.span)
    type_ = NOTHING
    for item in items:
        type_ = type_ | item.type
    listed = Type(element=type_, is_partial=type_.is_partial)

    @guarded(node.span)
    def value(at: Any) -> Value:
        return arithmetic.bounded_list(tuple([item.value(at) for item in items]))

    return combine(context, node.span, listed, value, items)


def _has_own_label(context: Context, part: tree.Expr) -> bool:
    """Whether a single item keeps its own label; collectors do, for readable names of steps."""
    kind = context.scope.kind(part.kind) if isinstance(part, tree.Anonymous) else None
    return isinstance(part, tree.Range) or (kind is not None and kind.role == "collector")


def _report_none(context: Context, node: tree.ListOf) -> None:
    """Report `none` beside other items of a list, where a choice is meant."""
    others = [part.span.text for part in node.items if part.span.text != "none"]
    if not others or len(others) == len(node.items):
        return
    event = others[0] if len(others) == 1 else f"[{', '.join(others)}]"
    hint = f"for trials with and without, write `none | {event}`"
    place = next(part.span for part in node.items if part.span.text == "none")
    context.report(Code.NO_VALUE.at(place, message="`none` adds nothing to a list", hint=hint))


def _rows_of_lists(lists: Sequence[tree.Expr], width: int) -> str:
    """Return the choice of rows that lists of the same length are columns of; an empty text if they are not."""
    columns = [[item.span.text for item in each.items] for each in lists if isinstance(each, tree.ListOf)]
    if len(columns) != width or len(lists) != width or len({len(column) for column in columns}) != 1:
        return ""
    return " | ".join(f"({', '.join(row)})" for row in zip(*columns, strict=True))


def resolve_zip(
    context: Context, node: tree.Zip | tree.LetZip, path: Path, expected: Mapping[str, Type]
) -> dict[str, Expr]:
    """Resolve fields that vary together: one factor with a column for each."""
    names = [word.text for word in node.names]
    rows = _rows_of(context, node, expected)
    if rows is None:
        return {name: unknown(node.span) for name in names}
    columns: list[list[Expr]] = [[] for _ in names]
    own = (*path, "+".join(names))
    labels = [_Labels(context) for _ in names]
    for _, items in rows:
        for i, item in enumerate(items):
            if isinstance(item, tree.Choice | tree.Range):
                context.report(Code.CHOICE_HERE.at(item.span, hint="give it a name first: `let x = …`"))
                return {name: unknown(node.span) for name in names}
            place = (*own, names[i], labels[i].of(item))
            if names[i] in expected:
                columns[i].append(resolve_typed(context, item, place, names[i], expected[names[i]]))
            else:
                columns[i].append(resolve(context, item, path=place))
    key = ".".join(own)
    branches = tuple(tuple(axis for column in columns for axis in column[r].axes) for r in range(len(rows)))
    axis = axis_of(key, branches)
    result = {
        name: limit_size(context, one_of(context, node.span, axis, column), column)
        for name, column in zip(names, columns, strict=True)
    }
    context.factors[key] = FactorDef(
        path=key,
        columns=tuple(".".join((*path, name)) for name in names),
        types=tuple(column_type(expr.type) for expr in result.values()),
        size=len(rows),
        level=lambda i: tuple(level(column[i]) for column in columns),
        span=node.span,
        places=tuple(span for span, _ in rows),
    )
    return result


def _rows_of(
    context: Context, node: tree.Zip | tree.LetZip, typed: Container[str]
) -> Sequence[tuple[Span, tuple[tree.Expr, ...]]] | None:
    """Return the values of each row of a zip, one for each name; report a row that does not fit, and return None."""
    names = [word.text for word in node.names]
    if isinstance(node.value, tree.Call):
        from zlang.check.rows import is_rows, rows_of

        if is_rows(node.value):
            return rows_of(context, node.value, node.names, typed)
    rows: list[tuple[Span, tuple[tree.Expr, ...]]] = []
    for row in node.value.options if isinstance(node.value, tree.Choice) else (node.value,):
        if len(names) == 1:
            bare = Hint(f"write `{names[0]} = …`", f"({names[0]})", names[0])
            finding = Code.ZIP_WIDTH.at(node.span, names=1, values=1, hint=bare)
            context.report(finding.saying("remove the parentheses: this is a single name"))
            return None
        if not isinstance(row, tree.Tuple) or len(row.items) != len(names):
            count = len(row.items) if isinstance(row, tree.Tuple) else 1
            blanks = ", ".join("…" for _ in names)
            hint: str = f"give each name a value in each alternative: `({', '.join(names)}) = ({blanks})`"
            if isinstance(row, tree.If):
                hint = f"write an `if` for each name: `{names[0]} = if … then … else …`"
            if isinstance(row, tree.ListOf) and all(isinstance(item, tree.Tuple) for item in row.items):
                written = " | ".join(item.span.text for item in row.items)
                hint = Hint(f"write a choice as `{written}`", row.span.text, written, is_safe=False)
            if isinstance(row, tree.Call) and len(row.arguments) == 1 and isinstance(row.arguments[0], tree.Text):
                written = f"rows({row.arguments[0].span.text})"
                hint = Hint(f"write `{written}`", row.span.text, written, is_safe=False)
            if isinstance(row, tree.Call) and (pairs := _rows_of_lists(row.arguments, len(names))):
                hint = Hint(f"write a choice as `{pairs}`", row.span.text, pairs, is_safe=False)
            context.report(Code.ZIP_WIDTH.at(row.span, names=len(names), values=count, hint=hint))
            return None
        rows.append((row.span, row.items))
    return rows
