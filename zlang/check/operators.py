"""Operators: three-valued logic, comparisons, arithmetic with units, `is`, `in` and `if`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from zlang import units
from zlang.cache import Cache
from zlang.check import arithmetic, digests, types, values, versions, whole
from zlang.check.expressions import (
    Context,
    NoneYet,
    combine,
    constant,
    dimension_of,
    guarded,
    note_risk,
    resolve,
    same_unit,
    unknown,
)
from zlang.check.factors import each_level
from zlang.check.program import (
    ABSENT,
    Absent,
    Axis,
    Expr,
    Instance,
    Joined,
    PartialPoint,
    Symbol,
    Undecided,
    Value,
    Variable,
    axis_of,
    merge_axes,
    reached_axes,
)
from zlang.check.rendering import is_outside_name
from zlang.check.typed import resolve_condition
from zlang.check.types import NOTHING, Type
from zlang.check.values import known_pieces
from zlang.diagnostics import Code
from zlang.hints import Any
from zlang.source import Span
from zlang.suggest import Hint, did_you_mean, nearest
from zlang.syntax import tree
from zlang.units import Quantity

MOST_BRANCHES = 10_000
"""Combinations of levels for which an `if` is decided that has choices in its sides."""
TEXT = Type(frozenset({"path"}))
"""A path, or any text."""


_ABSENT_WORDS = dict.fromkeys(
    ("null", "None", "nil", "undefined", "absent"), "what a trial does not have is never compared: remove it"
)


def may_be_word(node: tree.Expr) -> bool:
    """Whether a side of a comparison may be one of the words that the other side can be."""
    return isinstance(node, tree.Name) and len(node.path) == 1


def resolve_binary(context: Context, node: tree.Binary, may_be_word: Callable[[tree.Expr], bool] = may_be_word) -> Expr:
    """Resolve two expressions with an operator between them."""
    if node.operator == "or" and isinstance(node.right, tree.Number | tree.Text) and isinstance(node.left, tree.Binary):
        meant = f"{node.left.left.span.text} in [{node.left.right.span.text}, {node.right.span.text}]"
        hint = Hint(f"write a list as `{meant}`", node.span.text, meant, is_safe=False)
        context.report(Code.BAD_CONDITION.at(node.right.span, found=f"`{node.right.span.text}`", hint=hint))
        return unknown(node.span)
    if node.operator in {"and", "or"}:
        sides = [resolve_condition(context, side) for side in _operands(node, node.operator)]
        deciding = node.operator == "or"
        # A condition may have another value for each element of a list, at the same levels.
        conditions = [side.value if context.is_repeated else _by_levels(side) for side in sides]
        made = combine(context, node.span, types.BOOL, lambda at: _joined(conditions, deciding, at), sides)
        return made if made.is_constant else made.replace(whole=whole.of_joined(sides, deciding))
    if node.operator == "in":
        return _resolve_contains(context, node)
    if node.operator in {"==", "!=", "<", "<=", ">", ">="}:
        return _resolve_comparison(context, node, may_be_word)
    return _resolve_arithmetic(context, node)


def _resolve_contains(context: Context, node: tree.Binary) -> Expr:
    if isinstance(node.right, tree.Range) and node.right.high is not None and node.right.step is None:
        meant = f"{node.right.low.span.text} <= {node.left.span.text} <= {node.right.high.span.text}"
        between = Hint(f"write `{meant}`", node.span.text, meant, is_safe=False)
        context.report(Code.CHOICE_HERE.at(node.right.span, hint=between))
        return unknown(node.span)
    left = resolve(context, node.left)
    right = resolve(context, node.right, Type(element=left.type))

    contains = digests.Memory(_contains_value)

    @guarded(node.span, [left, right])
    def value(at: Any) -> Value:
        return contains(left.value(at), right.value(at))

    both_texts = all(side.type.scalars and TEXT.accepts(side.type) for side in (left, right))
    if right.type.element is None and not right.type.unknown and not both_texts:
        hint: str = '`"a" in name` asks whether a text contains `"a"`' if TEXT.accepts(right.type) else ""
        expected = "followed by a list"
        if isinstance(node.right, tree.Number | tree.Name | tree.Text):
            written = f"[{right.span.text}]"
            hint = hint or Hint(f"write a list as `{written}`", right.span.text, written, is_safe=False)
        context.report(Code.WRONG_TYPE.at(right.span, name="in", expected=expected, found=right.type, hint=hint))
    element = right.type.element
    if element and not any(type_.unknown or type_ == NOTHING for type_ in (left.type, element)):
        is_comparable = _may_be_equal(left.type, element) or _is_labelled(left, right)
        if not is_comparable:
            item = node.right.items[0] if isinstance(node.right, tree.ListOf) else node.right
            hint = _nearest_label(left, right) or _without_quotes(item, left.type)
            context.report(Code.MIXED_UNITS.at(item.span, verb="compare", left=left.type, right=element, hint=hint))
    made = combine(context, node.span, types.BOOL, value, [left, right])
    return note_risk(context, made) if both_texts else made  # some texts are only known to the run


def _may_be_equal(left: Type, right: Type) -> bool:
    """Whether values of the two types can be equal."""
    common = left.scalars & right.scalars or left.kinds & right.kinds or {*left.words} & {*right.words}
    return bool(common) or left.accepts(right) or right.accepts(left)


def _is_labelled(left: Expr, right: Expr) -> bool:
    """Whether one side is a choice between things, and the other one of their labels, or a list of labels."""
    labels, texts = _labels_and_texts(left, right)
    return bool(texts) and labels.issuperset(texts)


def _label_without_quotes(context: Context, node: tree.Expr, thing: Expr) -> Expr | None:
    """Return the label of a level that is written as a word; None for any other word."""
    if not isinstance(node, tree.Name) or len(node.path) > 1 or not thing.type.kinds:
        return None
    label = constant(node.span, TEXT, node.path[0])
    is_label = context.scope.lookup(node.path[0], node.span) is None and _is_labelled(thing, label)
    return label if is_label else None


def _nearest_label(left: Expr, right: Expr) -> str:
    """Return the hint for a text that is nearly the label of a thing that it is compared with."""
    labels, texts = _labels_and_texts(left, right)
    odd = next((text for text in texts if text not in labels), "")
    near = nearest(odd, labels)
    if near:
        return Hint(f'did you mean `"{near[0]}"`?', f'"{odd}"', f'"{near[0]}"', is_safe=False)
    written = [f'`"{label}"`' for label in sorted(labels)]
    return f"the labels are {', '.join(written)}" if odd else ""


def _labels_and_texts(left: Expr, right: Expr) -> tuple[set[str], tuple[str, ...]]:
    """Return the labels of the things of one side, and the texts of the other side if it is constant."""
    thing, other = (left, right) if left.type.kinds else (right, left)
    if not thing.type.kinds or not other.is_constant:
        return set(), ()
    things = (thing.value(at) for at in each_level(thing.axes))
    labels = {each.label for each in things if isinstance(each, Instance)}
    texts = other.value({})
    return labels, tuple([text for text in (texts if isinstance(texts, tuple) else (texts,)) if isinstance(text, str)])


def _without_target(node: tree.Binary, left: Expr, right: Expr) -> str:
    """Return the hint for a condition that is compared with `on`, which is the target in an experiment."""
    for target, other, condition in ((node.left, right, node.right), (node.right, left, node.left)):
        if target.span.text == "on" and other.type == types.BOOL and condition.span.text not in types.BOOLS:
            return f"`on` is the target here: write `{condition.span.text}` alone"
    return ""


def _as_number(expr: Expr) -> Hint:
    """Return a hint for a number that is written as a text."""
    text = expr.span.text
    try:
        units.parse(text.strip('"'))
    except units.UnitError:
        return Hint("")
    number = text.strip('"')
    return Hint(f"write numbers without quotes: `{number}`", text, number)


def _without_quotes(node: tree.Expr, other: Type) -> Hint:
    """Return a hint for a text that is compared with a word."""
    word = node.parts[0] if isinstance(node, tree.Text) and len(node.parts) == 1 else ""
    if isinstance(word, str) and other.words and word.replace("_", "").isalnum():
        return Hint(f"write words without quotes: `{word}`", node.span.text, word)
    return Hint("")


def _resolve_comparison(context: Context, node: tree.Binary, may_be_word: Callable[[tree.Expr], bool]) -> Expr:
    if (may_be_word(node.left) or isinstance(node.left, tree.Text)) and not may_be_word(node.right):
        right = resolve(context, node.right)
        left = resolve(context, node.left, right.type)
    else:
        left = resolve(context, node.left)
        if (kind := _compared_kind(context, node, left.type)) is not None:
            return kind
        right = _label_without_quotes(context, node.right, left) or resolve(context, node.right, left.type)
        if left.type.kinds and node.operator in {"==", "!="} and (key := _key_of_thing(node.right, right)):
            return _is_thing(context, node, left, key)
    span, operator = node.span, node.operator
    if left.type.unknown or right.type.unknown:
        return combine(context, span, types.BOOL, _comparing(span, operator, left, right), [left, right])
    if "version" in left.type.scalars | right.type.scalars and all(_VERSION.accepts(e.type) for e in (left, right)):

        @guarded(span)
        def compared(at: Any) -> Value:
            return versions.compare_versions(operator, left.value(at), right.value(at))

        return combine(context, span, types.BOOL, compared, [left, right])
    item, other = dimension_of(left), dimension_of(right)
    if item is not None and other is not None and item != other:
        shown = {"left": units.name_of(item), "right": units.name_of(other)}
        context.report(Code.MIXED_UNITS.at(span, verb="compare", hint=same_unit([left, right]), **shown))
    elif operator not in {"==", "!="} and (item is None or other is None):
        odd = left if item is None else right
        without = _as_number(odd)
        context.report(
            Code.WRONG_TYPE.at(odd.span, name=operator, expected="used with numbers", found=odd.type, hint=without)
        )
        return unknown(span)
    elif (item is None or other is None) and not (
        left.type.accepts(right.type) or right.type.accepts(left.type) or _is_labelled(left, right)
    ):
        words = _without_quotes(node.right, left.type) or _without_quotes(node.left, right.type)
        number = _as_number(right) if item is not None else _as_number(left) if other is not None else ""
        label = _nearest_label(left, right)
        hint = _without_target(node, left, right) or words or number or label or same_unit([left, right])
        context.report(Code.MIXED_UNITS.at(span, verb="compare", left=left.type, right=right.type, hint=hint))
    made = combine(context, span, types.BOOL, _comparing(span, operator, left, right), [left, right])
    is_whole = not made.is_constant and item is not None and item == other
    return made.replace(whole=whole.of_comparison(operator, left, right)) if is_whole else made


def _key_of_thing(node: tree.Expr, named: Expr) -> str:
    """Return the key of a thing that a name stands for at each point; empty if it stands for anything else."""
    if not isinstance(node, tree.Name) or not named.type.kinds:
        return ""
    things = [named.value(at) for at in each_level(named.axes, 2)]
    keys = {thing.key if isinstance(thing, Instance) else "" for thing in things}
    return keys.pop() if len(keys) == 1 else ""


def _is_thing(context: Context, node: tree.Binary, left: Expr, key: str) -> Expr:
    """Compare a thing with a declared one, whose values may depend on factors that not all points have."""

    def value(at: Any) -> Value:
        result = left.value(at)
        is_same = isinstance(result, Instance) and result.key == key
        return None if isinstance(result, Absent) else is_same == (node.operator == "==")

    return combine(context, node.span, types.BOOL, value, [left])


def _compared_kind(context: Context, node: tree.Binary, type_: Type) -> Expr | None:
    """Report a comparison of a thing with its kind, as in `volume == ext4`."""
    name = str(node.right)
    is_label = type_.variant(name) is not None
    if name not in type_.kinds or is_label or context.scope.lookup(name, node.right.span) is not None:
        return None
    meant = f"{node.left.span.text} {'is not' if node.operator == '!=' else 'is'} {name}"
    hint = Hint(f"write `{meant}`", node.span.text, meant)
    context.report(Code.UNKNOWN_NAME.at(node.right.span, name=name, hint=hint))
    return unknown(node.span)


def _comparing(span: Span, operator: str, left: Expr, right: Expr) -> Callable[[Any], Value]:
    return guarded(span)(lambda at: arithmetic.compare(operator, left.value(at), right.value(at)))


def _resolve_arithmetic(context: Context, node: tree.Binary) -> Expr:
    left, right = resolve(context, node.left), resolve(context, node.right)
    operator = node.operator
    if left.type.unknown or right.type.unknown:
        if left.type.is_partial or right.type.is_partial:  # the error has been reported already
            return unknown(node.span)
        # In a kind's templates, the type of another thing's property is known only at a point.
        return _computed(context, node.span, types.UNKNOWN, operator, left, right)
    if operator == "+" and left.type.element is not None and right.type.element is not None:
        return _computed(context, node.span, left.type | right.type, operator, left, right)
    item, other = dimension_of(left), dimension_of(right)
    if operator == "of" and item != units.SHARE:
        context.report(
            Code.WRONG_TYPE.at(left.span, name="of", expected="used with shares such as `50%`", found=left.type)
        )
        return unknown(node.span)
    verb = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "divide", "of": "take a share of"}[
        operator
    ]
    if item is None or other is None or (operator in {"+", "-", "%"} and item != other):
        shown = [units.name_of(d) if d else str(e.type) for d, e in ((item, left), (other, right))]
        hint = same_unit([left, right]) if operator in {"+", "-", "%"} else "this works with numbers only"
        if operator == "%" and TEXT.accepts(left.type):
            hint = 'insert values into a text: `"{a}{b}"`'
        if operator == "*" and (left.type.kinds or right.type.kinds):
            hint = "write `copies = 2` where it is declared: it makes several"
        if left.type.element or right.type.element:
            hint = "write each value, `[a, a]`; `copies = 3` of a workload runs it three times"
        if operator == "-" and left.type.element and right.type.element:
            hint = f"write `[x for x in {left.span.text} if x not in {right.span.text}]`"
        if operator == "of" and right.type.kinds:
            hint = f"a share is of a number: write a property, as in `{right.span.text}.size`"
        if left.type.kinds and right.type.kinds:
            hint = "write `[a, b]` for both at the same time, and `a | b` for one after the other"
        context.report(Code.MIXED_UNITS.at(node.span, verb=verb, left=shown[0], right=shown[1], hint=hint))
        return unknown(node.span)
    dimension = item if operator in {"+", "-", "%"} else arithmetic.result_dimension(operator, item, other)
    both_counts = left.type == types.COUNT and right.type == types.COUNT and operator != "/"
    type_ = types.COUNT if both_counts else types.of_dimension(dimension)

    combined = _computed(context, node.span, type_, operator, left, right)
    if combined.is_constant and not combined.type.unknown:
        result = combined.value({})
        return constant(node.span, types.of_quantity(result), result) if isinstance(result, Quantity) else combined
    return combined


def _computed(context: Context, span: Span, type_: Type, operator: str, left: Expr, right: Expr) -> Expr:
    compute: Callable[[Value, Value], Value] = partial(arithmetic.arithmetic, operator)
    if type_.element is None:  # thousands of lists would be too many to cache
        compute = digests.Memory(compute)

    @guarded(span, (left, right))
    def value(at: Any) -> Value:
        return compute(left.value(at), right.value(at))

    made = note_risk(context, combine(context, span, type_, value, [left, right]))
    return made if made.is_constant else made.replace(whole=whole.of_arithmetic(operator, left, right))


def resolve_not(context: Context, node: tree.Not) -> Expr:
    """Resolve `not`."""
    operand = resolve_condition(context, node.operand)

    def value(at: Any) -> Value:
        result = operand.value(at)
        return None if result is None or isinstance(result, Absent) else not result

    return combine(context, node.span, types.BOOL, value, [operand])


def resolve_is_a(context: Context, node: tree.IsA) -> Expr:
    """Resolve `x is kind`, `x is word`."""
    subject = resolve(context, node.value)
    name = str(node.kind)
    declared = context.scope.kind(node.kind) is not None or context.scope.lookup(node.kind.path[0], node.kind.span)
    if not declared and subject.type.variant(name) is None and not subject.type.unknown:
        candidates = [*context.scope.kind_names(), *context.scope.names(), *(word.name for word in subject.type.words)]
        hint = _ABSENT_WORDS.get(name) or did_you_mean(name, candidates) or context.scope.kind_hint(name)
        context.report(Code.UNKNOWN_NAME.at(node.kind.span, name=name, hint=hint))
    kind = context.scope.kind(node.kind)

    def value(at: Any) -> Value:
        result = subject.value(at)
        if isinstance(result, Instance):
            return name in {result.label, result.key} or (kind is not None and result.kind.name == kind.name)
        if isinstance(result, Symbol):
            return result.name == name
        return None if isinstance(result, Absent) else False

    return combine(context, node.span, types.BOOL, value, [subject])


def resolve_if(context: Context, node: tree.If, expected: Type | None) -> Expr:
    """Resolve `if … then … else …`."""
    condition = resolve_condition(context, node.condition)
    sides = [resolve(context, node.then, expected), resolve(context, node.otherwise, expected)]

    def value(at: Any) -> Value:
        result = condition.value(at)
        if result is None or isinstance(result, Absent):
            return ABSENT
        return sides[0 if result else 1].value(at)

    type_ = sides[0].type | sides[1].type
    if type_.kinds and condition.is_constant and isinstance(result := condition.value({}), bool):
        type_ = sides[0 if result else 1].type  # an unreachable branch needs no tools
    combined = combine(context, node.span, type_, value, [condition, *sides])
    axes = _axes_of_if(context, condition, *sides)
    return note_risk(context, combined.replace(axes=axes, whole=whole.of_if(condition, *sides)))


def _axes_of_if(context: Context, condition: Expr, then: Expr, otherwise: Expr) -> tuple[Axis, ...]:
    """Return the choices in the condition, and under each level that decides it the choices of the branch taken."""
    every = {axis.path: axis for axis in condition.axes}
    every |= {axis.path: axis for axis in then.axes if axis in otherwise.axes}
    own = [tuple(axis for axis in side.axes if every.get(axis.path) != axis) for side in (then, otherwise)]
    if not any(own):
        return merge_axes((*condition.axes, *then.axes, *otherwise.axes))
    remaining = MOST_BRANCHES

    def decide(levels: dict[str, int]) -> tuple[Axis, ...]:
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            return ()
        try:
            value = condition.value(PartialPoint(levels, levels.keys()))
        except Undecided as undecided:
            path = undecided.path
            branches = tuple(decide({**levels, path: level}) for level in range(context.factors[path].size))
            return (axis_of(path, branches),) if any(branches) else ()
        return reached_axes(own[0 if value else 1], levels) if isinstance(value, bool) else ()

    try:
        decided = decide({})
    except NoneYet:  # each element of an enclosing list decides, so a point may reach both branches
        return merge_axes((*condition.axes, *then.axes, *otherwise.axes))
    if remaining < 0:
        names = ", ".join(f"`{name}`" for name in sorted(condition.reads))
        context.report(Code.TOO_CONNECTED.at(condition.span, limit=f"{MOST_BRANCHES:,}", names=names))
    return merge_axes((*every.values(), *decided))


_VERSION = Type(frozenset({"version"}))
_LEAST_WORK = 3
"""A condition with less work than this is evaluated each time: to look up its result would be no faster."""


def _contains_value(value: Value, many: Value) -> Value:
    """Whether a list contains a value, or a text another text; None (unknown) if one of them is absent."""
    if isinstance(value, Absent) or isinstance(many, Absent):
        return None
    if isinstance(many, str | Joined | Variable):
        pieces = known_pieces(many)
        is_known = isinstance(value, str) and any(value in piece for piece in pieces)
        is_open = len(pieces) > 1 and not (isinstance(value, str) and is_outside_name(value, many))
        if not is_known and (is_open or isinstance(value, Joined | Variable)):
            raise values.ValueProblem("this text is known only at run time")
        return is_known
    return isinstance(many, tuple) and any(arithmetic.equal(value, other) for other in many)


def _operands(node: tree.Expr, operator: str) -> Iterator[tree.Expr]:
    """Yield the operands of a chain such as `a and b and c`."""
    if isinstance(node, tree.Binary) and node.operator == operator:
        yield from _operands(node.left, operator)
        yield node.right
    else:
        yield node


def _by_levels(condition: Expr) -> Callable[[Any], Value]:
    """Return the condition, evaluated once for all points of a space that agree in the factors that it reads."""
    if condition.is_constant or condition.work < _LEAST_WORK:
        return condition.value
    compute, paths = condition.value, tuple(sorted(condition.reads))
    cache = Cache[tuple[int | None, ...], tuple[Value]]()

    def value(at: Any) -> Value:
        if type(at) is not dict:  # only plain points can be looked up by their levels
            return compute(at)
        levels = tuple(map(at.get, paths))
        cached = cache.get(levels)
        if cached is None:
            cached = cache[levels] = (compute(at),)
        return cached[0]

    return value


def _joined(conditions: Sequence[Callable[[Any], Value]], deciding: bool, at: Any) -> Value:
    """Return the value of conditions joined by `and` or `or`; those after a deciding one need not have a value."""
    result: Value
    result = otherwise = not deciding
    for condition in conditions:
        value = condition(at)
        if value is deciding:
            return deciding
        if value is not otherwise:
            result = None
    return result
