"""The pure functions of the language: a dict from each name to its parameters, result type and implementation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from zlang import units
from zlang.check import types
from zlang.check.instances import each_member, first_members
from zlang.check.program import ABSENT, Absent, Instance, Joined, Value, Variable
from zlang.check.rendering import check_length, joined
from zlang.check.types import COUNT, STRING, Type, is_group
from zlang.check.values import ValueProblem, known_pieces, plain, quote, show
from zlang.record import Record
from zlang.units import Quantity


class Taken(Record):
    """The values that an argument may have: in words, and as types."""

    phrase: str
    accepts: Callable[[Type], bool]


class Function(Record):
    """A function: its parameters, and its result type for the types of its arguments.

    If it takes `many`, the last parameter takes any number of arguments. The last `optional` arguments can be omitted.
    """

    takes: tuple[Taken, ...]
    returns: Callable[[list[Type]], Type]
    call: Callable[[tuple[Value, ...]], Value]
    many: bool = False
    optional: int = 0

    @property
    def signature(self) -> str:
        """Describe the arguments in words."""
        *first, last = [taken.phrase for taken in self.takes]
        return f"{', '.join(first)} and {last}" if first else last


def _is_text(type_: Type) -> bool:
    return bool(type_.scalars) and types.Type(frozenset({"path"})).accepts(type_)


def _is_list(type_: Type) -> bool:
    return type_.element is not None and not (type_.scalars or type_.words or type_.kinds)


def _are_numbers(type_: Type) -> bool:
    inner = type_.element
    return types.is_number(type_) or (
        _is_list(type_) and inner is not None and (not inner.scalars or types.is_number(inner))
    )


def _is_count(type_: Type) -> bool:
    return type_.scalars == {"count"}


NUMBER = Taken("a number", types.is_number)
NUMBERS = Taken("numbers", _are_numbers)
TEXT = Taken("a text", _is_text)
LIST = Taken("a list", _is_list)
TEXT_OR_LIST = Taken("a text or a list", lambda type_: _is_text(type_) or _is_list(type_))
LIST_OR_GROUP = Taken("a list or a group of hosts", lambda type_: _is_list(type_) or is_group(type_))
ANYTHING = Taken("one value", lambda _: True)


def _quantities(values: tuple[Value, ...]) -> list[Quantity]:
    for value in values:
        if not isinstance(value, Quantity):
            raise ValueProblem(f"{show(value)} is not a number")
    return [value for value in values if isinstance(value, Quantity)]


def _spread_of(values: tuple[Value, ...]) -> tuple[Value, ...]:
    return values[0] if len(values) == 1 and isinstance(values[0], tuple) else values


def _pick(best: Callable[..., Quantity]) -> Callable[[tuple[Value, ...]], Value]:
    def call(values: tuple[Value, ...]) -> Value:
        numbers = _quantities(_spread_of(values))
        if not numbers:
            raise ValueProblem("an empty list has no such value")
        return best(numbers, key=lambda q: q.amount)

    return call


def _sum(values: tuple[Value, ...]) -> Value:
    numbers = _quantities(_spread_of(values))
    dimension = numbers[0].dimension if numbers else units.NUMBER
    return Quantity(sum((q.amount for q in numbers), Fraction(0)), dimension)


def _rounding(how: Callable[[Fraction], int]) -> Callable[[tuple[Value, ...]], Value]:
    def call(values: tuple[Value, ...]) -> Value:
        (number,) = _quantities(values)
        return Quantity(Fraction(how(number.amount)), number.dimension)

    return call


def _log2(values: tuple[Value, ...]) -> Value:
    (number,) = _quantities(values)
    if number.amount <= 0:
        raise ValueProblem(f"{show(number)} has no logarithm")
    return Quantity(Fraction(math.log2(number.amount)).limit_denominator(10**9))


def _len(values: tuple[Value, ...]) -> Value:
    (value,) = values
    return Quantity(Fraction(len(value if isinstance(value, tuple) else _text(value))))


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise ValueProblem(f"{show(value)} is known only at run time")
    return value


def _starts_with(values: tuple[Value, ...]) -> Value:
    text, beginning = values[0], _text(values[1])
    first, *others = known_pieces(text)
    is_open = others and beginning.startswith(first) and beginning != first
    return first.startswith(beginning) if not is_open else _text(text)


def _ends_with(values: tuple[Value, ...]) -> Value:
    text, end = values[0], _text(values[1])
    *others, last = known_pieces(text)
    is_open = others and end.endswith(last) and end != last
    return last.endswith(end) if not is_open else _text(text)


def _of_texts(function: Callable[..., Value]) -> Callable[[tuple[Value, ...]], Value]:
    return lambda values: function(*[_text(value) for value in values])


def _replace(text: str, old: str, new: str) -> Value:
    if not old:
        raise ValueProblem("an empty text cannot be replaced")
    check_length(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def _join(values: tuple[Value, ...]) -> Value:
    many, separator = values
    assert isinstance(many, tuple)
    check_length(sum(len(item) for item in many if isinstance(item, str)) + len(_text(separator)) * len(many))
    parts = [part for item in many for part in (separator, item)]
    return joined(parts[1:])


def _end(place: int, name: str) -> Callable[[tuple[Value, ...]], Value]:
    def call(values: tuple[Value, ...]) -> Value:
        (many,) = values
        if not isinstance(many, tuple) or not many:
            raise ValueProblem(f"an empty list has no {name} value")
        return many[place]

    return call


def _first(values: tuple[Value, ...]) -> Value:
    many, *counts = values
    if not counts:
        return next(each_member(many)) if isinstance(many, Instance) else _end(0, "first")(values)
    (count,) = _quantities(tuple(counts))
    number = int(count.amount)
    if isinstance(many, Instance):
        return first_members(many, number)
    assert isinstance(many, tuple)
    if not 1 <= number <= len(many):
        raise ValueProblem(f"the list has {len(many)} values, so it has no first {number}")
    return many[:number]


def _last(values: tuple[Value, ...]) -> Value:
    (many,) = values
    return list(each_member(many))[-1] if isinstance(many, Instance) else _end(-1, "last")(values)


def _type_of_first(types: list[Type]) -> Type:
    return types[0] if len(types) > 1 else _same(types)


def _same(types: list[Type]) -> Type:
    return types[0].element or types[0]


def _type_of_rounding(types: list[Type]) -> Type:
    return COUNT if types[0].scalars <= {"count", "number"} else _same(types)


def _string(_: list[Type]) -> Type:
    return STRING


def _command(_: list[Type]) -> Type:
    return Type(frozenset({"command"}))


def _bool(_: list[Type]) -> Type:
    return types.BOOL


def _quoted(words: tuple[Value, ...]) -> Value:
    """Return one text that a shell reads as these words, for a command that passes them to a second shell (ssh)."""
    separated = [part for word in _flattened(words) for part in (" ", *_quoted_word(word))]
    return joined(separated[1:])


def _flattened(words: tuple[Value, ...]) -> Iterator[Value]:
    for word in words:
        yield from _flattened(word) if isinstance(word, tuple) else (word,)


def _quoted_word(word: Value) -> Iterator[Value]:
    """Yield the parts of a quoted word: the run's name, `[a-z0-9-]+`, needs no quotes; `out` cannot be quoted twice."""
    parts = word.parts if isinstance(word, Joined) else (word,)
    for part in parts:
        if not isinstance(part, Variable):
            yield quote(plain(part))
        elif part.name == "RUN":
            yield part
        else:
            raise ValueProblem(
                "`out` is a directory of this machine that is known only at run time; it cannot be quoted twice"
            )


FUNCTIONS: dict[str, Function] = {
    "min": Function((NUMBERS,), _same, _pick(min), many=True),
    "max": Function((NUMBERS,), _same, _pick(max), many=True),
    "sum": Function((NUMBERS,), _same, _sum, many=True),
    "round": Function((NUMBER,), _type_of_rounding, _rounding(round)),
    "floor": Function((NUMBER,), _type_of_rounding, _rounding(math.floor)),
    "ceil": Function((NUMBER,), _type_of_rounding, _rounding(math.ceil)),
    "log2": Function((NUMBER,), lambda _: Type(frozenset({"number"})), _log2),
    "len": Function((TEXT_OR_LIST,), lambda _: COUNT, _len),
    "first": Function((LIST_OR_GROUP, Taken("how many of it", _is_count)), _type_of_first, _first, optional=1),
    "last": Function((LIST_OR_GROUP,), _same, _last),
    "join": Function((LIST, Taken("a text to put between them", _is_text)), _string, _join),
    "upper": Function((TEXT,), _string, _of_texts(str.upper)),
    "lower": Function((TEXT,), _string, _of_texts(str.lower)),
    "replace": Function(
        (TEXT, Taken("a text to replace", _is_text), Taken("a text to put there", _is_text)),
        _string,
        _of_texts(_replace),
    ),
    "starts_with": Function((TEXT, Taken("a text that it may begin with", _is_text)), _bool, _starts_with),
    "ends_with": Function((TEXT, Taken("a text that it may end with", _is_text)), _bool, _ends_with),
    "text": Function((ANYTHING,), _string, lambda values: _written(values[0])),
    "quoted": Function((Taken("values or lists of them", lambda _: True),), _command, _quoted, many=True),
}


def _written(value: Value) -> Value:
    return value if isinstance(value, str) else show(value)


def call(function: Function, values: tuple[Value, ...]) -> Value:
    """Return the value of the function; absent if an argument is."""
    return ABSENT if any(isinstance(value, Absent) for value in values) else function.call(values)
