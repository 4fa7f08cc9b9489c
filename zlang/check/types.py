"""The types of the language: the values that an expression may have, and those that a property accepts."""

from __future__ import annotations

import math
import re

from zlang import units
from zlang.record import Record
from zlang.suggest import with_article

AGGREGATES = ("count", "max", "mean", "median", "min", "stddev")
"""Functions that aggregate several trials in the clauses of an experiment, like percentiles such as `p99`."""


class ScalarType(Record):
    """A type of one value: its name in messages, an example, its dimension, and its representation in results.

    Results store it as `sql`, in `unit`; `parts` of that unit are one of the language's base unit. People see it
    in the largest unit of `ladder` that gives a number above one. A value that a tool has counted (`is_counted`) is not
    negative and fits into 64 bits. For speeds and times, `faster` says which values are faster: `higher` or `lower`.
    """

    phrase: str
    example: str
    sql: str = "VARCHAR"
    dimension: units.Dimension | None = None
    unit: str = ""
    parts: int = 1
    ladder: tuple[str, ...] = ()
    is_counted: bool = False
    faster: str = ""


_SIZES = ("TiB", "GiB", "MiB", "KiB", "B")
_TIMES = ("s", "ms", "us", "ns")
SCALARS = {
    "size": ScalarType(
        phrase="a size",
        example="4KiB",
        sql="BIGINT",
        dimension=units.SIZE,
        unit="bytes",
        ladder=_SIZES,
        is_counted=True,
    ),
    "duration": ScalarType(
        phrase="a duration",
        example="60s",
        sql="DOUBLE",
        dimension=units.DURATION,
        unit="s",
        ladder=_TIMES,
        faster="lower",
    ),
    "rate": ScalarType(
        phrase="a rate",
        example="200MiB/s",
        sql="DOUBLE",
        dimension=units.RATE,
        unit="bytes/s",
        ladder=tuple([f"{u}/s" for u in _SIZES]),
        is_counted=True,
        faster="higher",
    ),
    "iops": ScalarType(
        phrase="a number per second",
        example="5000/s",
        sql="DOUBLE",
        dimension=units.FREQUENCY,
        unit="1/s",
        is_counted=True,
        faster="higher",
    ),
    "share": ScalarType(phrase="a share", example="70%", sql="DOUBLE", dimension=units.SHARE, unit="%", parts=100),
    "count": ScalarType("a whole number", "4", "BIGINT", units.NUMBER, is_counted=True),
    "number": ScalarType("a number", "1.5", "DOUBLE", units.NUMBER),
    "bool": ScalarType("`on` or `off`", "on", "BOOLEAN"),
    "string": ScalarType("a text", '"data"'),
    "path": ScalarType("a path", '"/data"'),
    "version": ScalarType("a version", '"2.1.11"'),
    "command": ScalarType("a command", '"make -j4"'),
}
"""The one table of types: all that any stage knows of one."""
NANOSECONDS = "ns"
STORED = {
    **{scalar.unit: (name, scalar.parts) for name, scalar in SCALARS.items() if scalar.unit},
    NANOSECONDS: ("duration", 10**9),
}
"""The units in which results are kept: the type that each is of, and how many are one of the language's base unit."""
_OF_DIMENSION = {scalar.dimension: name for name, scalar in SCALARS.items() if scalar.dimension and name != "count"}
_SHOWN = 12
_MOST_COUNTED = 1 << 63
BOOLS = {"on": True, "off": False, "true": True, "false": False, "yes": True, "no": False}
DIMENSION_OF = {name: scalar.dimension for name, scalar in SCALARS.items() if scalar.dimension is not None}
NUMERIC = frozenset(DIMENSION_OF)
_CLEAR_WITHOUT_EXAMPLE = frozenset({"count", "number", "bool"})
"""Types that need no example."""


class Variant(Record):
    """A word of an enumeration, with the name and scalar of the value that it carries, if any.

    A word that carries a declared thing has the required offers of the thing in place of the scalar.
    `allow` are the minimum and maximum of the value, and the factor between values, if there is one; `allow_text`
    is their text.
    """

    name: str
    field: tuple[str, str] | None = None
    allow: tuple[units.Quantity | None, ...] | None = None
    allow_text: str = ""

    @property
    def has_thing(self) -> bool:
        """Whether the word carries a declared thing."""
        return self.field is not None and self.field[1] not in SCALARS

    @property
    def example(self) -> str:
        """An example of its value, or a name for one."""
        return "" if self.field is None else "NAME" if self.has_thing else SCALARS[self.field[1]].example


class Type(Record, is_frequent=True):
    """A union: scalars, words, declared things (by kind, `*` for any) and lists. `unknown` silences what follows.

    `beneath` are the kinds of what declared things are built on, `used` those of other things in their values,
    such as wrappers. If it `is_partial`, some choices are unknown.
    `dimension` is that of a number without a scalar type, such as the product of two sizes. A `schedule` has values of
    that type, each for a duration.
    """

    scalars: frozenset[str] = frozenset()
    words: tuple[Variant, ...] = ()
    kinds: frozenset[str] = frozenset()
    element: Type | None = None
    unknown: bool = False
    beneath: frozenset[str] = frozenset()
    is_partial: bool = False
    dimension: units.Dimension | None = None
    schedule: Type | None = None
    used: frozenset[str] = frozenset()

    def __or__(self, other: Type) -> Type:
        element = self.element | other.element if self.element and other.element else self.element or other.element
        schedule = self.schedule | other.schedule if self.schedule and other.schedule else None
        both = self.dimension and other.dimension
        words = self.words + tuple(word for word in other.words if word not in self.words)
        return Type(
            scalars=self.scalars | other.scalars,
            words=words,
            kinds=self.kinds | other.kinds,
            element=element,
            unknown=self.unknown or other.unknown or (bool(both) and self.dimension != other.dimension),
            beneath=self.beneath | other.beneath,
            is_partial=self.is_partial or other.is_partial,
            dimension=self.dimension or other.dimension,
            schedule=schedule or self.schedule or other.schedule,
            used=self.used | other.used,
        )

    @property
    def every_kind(self) -> frozenset[str]:
        """The kinds of all things that a value is, contains, is built on or uses."""
        own = self.kinds | self.beneath | self.used
        return own if self.element is None else own | self.element.every_kind

    @property
    def is_limited(self) -> bool:
        """Whether one of its words, or of its elements' words, limits the value that it carries."""
        return any(word.allow for word in self.words) or (self.element is not None and self.element.is_limited)

    @property
    def has_things(self) -> bool:
        """Whether one of its words carries a declared thing."""
        return any(word.has_thing for word in self.words)

    def variant(self, name: str) -> Variant | None:
        """Return the word of that name: the one without a value, if it can be written so."""
        named = self.variants(name)
        return next((word for word in named if word.field is None), named[0] if named else None)

    def variants(self, name: str) -> tuple[Variant, ...]:
        """Return the words of that name, which differ in the value that they carry."""
        return tuple(word for word in self.words if word.name == name)

    def accepts(self, other: Type) -> bool:
        """Whether every value of the other type has this type."""
        if self.unknown or other.unknown:
            return True
        scalars = set(self.scalars)
        if "number" in scalars:
            scalars.add("count")
        if scalars & {"path", "version", "command"}:
            scalars.add("string")
        if not other.scalars <= scalars or other.dimension not in {None, self.dimension}:
            return False
        if any(word not in self.words for word in other.words):
            return False
        if other.kinds and not (self.kinds >= other.kinds or "*" in self.kinds):
            return False
        if other.schedule is not None and not (self.schedule and self.schedule.accepts(other.schedule)):
            return False
        return other.element is None or (self.element is not None and self.element.accepts(other.element))

    def __str__(self) -> str:
        return self.in_words(are_many=False)

    def in_words(self, *, are_many: bool) -> str:
        """Return the type in words: `a size such as …`, or `sizes such as …` for the elements of a list."""
        phrases = [_scalar_in_words(s, are_many=are_many) for s in SCALARS if s in self.scalars]
        if self.dimension is not None:
            phrases.append(units.name_of(self.dimension))
        if self.words:
            shown = [f"`{w.name}({w.field[1]})`" if w.field else f"`{w.name}`" for w in self.words]
            if len(shown) > _SHOWN:
                shown = [*shown[:_SHOWN], "…"]
            phrases.append(" | ".join(shown))
        words = {word.name for word in self.words}
        kinds = sorted(self.kinds - words)
        things = ["declared" if kind == "*" else f"`{kind}`" for kind in kinds]
        if are_many:
            phrases += [f"{kind} things" for kind in things]
        else:
            phrases += [with_article(kind) if kind != "declared" else "a declared thing" for kind in things]
        if self.element is not None:
            of = f" of {self.element.in_words(are_many=True)}" if self.element != NOTHING else ""
            phrases.append(f"{'lists' if are_many else 'a list'}{of}")
        if self.schedule is not None:
            example = next((SCALARS[s].example for s in SCALARS if s in self.schedule.scalars), "…")
            phrases.append(f"a schedule such as `[{example} for 30s]`")
        return " or ".join(phrases) or "nothing"


def _scalar_in_words(scalar: str, *, are_many: bool) -> str:
    declared = SCALARS[scalar]
    words = re.sub(r"^an? (whole )?(\w+)", r"\1\2s", declared.phrase) if are_many else declared.phrase
    return words if scalar in _CLEAR_WITHOUT_EXAMPLE else f"{words} such as `{declared.example}`"


NOTHING = Type()
UNKNOWN = Type(unknown=True)
STRING = Type(frozenset({"string"}))
BOOL = Type(frozenset({"bool"}))
COUNT = Type(frozenset({"count"}))
SIZE = Type(frozenset({"size"}))
DURATION = Type(frozenset({"duration"}))
SHARE = Type(frozenset({"share"}))
RATE = Type(frozenset({"rate"}))
IOPS = Type(frozenset({"iops"}))
ANYTHING_DECLARED = Type(kinds=frozenset({"*"}))


def of_quantity(quantity: units.Quantity) -> Type:
    """Return the type of a number."""
    type_ = of_dimension(quantity.dimension)
    return COUNT if type_.scalars == {"number"} and quantity.is_whole else type_


def of_dimension(dimension: units.Dimension) -> Type:
    """Return the type of a computed number."""
    name = _OF_DIMENSION.get(dimension)
    if dimension == units.UNREADABLE:
        return UNKNOWN
    return Type(frozenset({name})) if name else Type(dimension=dimension)


def scalar_of(unit: str) -> str:
    """Return the type of a number that results store in this unit."""
    return STORED[unit][0] if unit in STORED else "number"


def parts_of(unit: str) -> int:
    """Return how many of a unit of the results make one base unit of the language."""
    return STORED[unit][1] if unit in STORED else 1


def can_measure(type_: str, value: float) -> bool:
    """Whether a tool can have measured this value."""
    return math.isfinite(value) and (not SCALARS[type_].is_counted or 0 <= value < _MOST_COUNTED)


def is_group(type_: Type) -> bool:
    """Whether the type is a machine or a group of machines."""
    return type_.kinds == {"host"} and not (type_.scalars or type_.words or type_.element)


def is_number(type_: Type) -> bool:
    """Whether every value is a number, of any dimension."""
    has_any = bool(type_.scalars) or type_.dimension is not None
    return has_any and Type(NUMERIC, dimension=type_.dimension).accepts(type_)


def scalar_name(type_: Type) -> str:
    """Return the scalar of a number's type."""
    return next(iter(type_.scalars)) if len(type_.scalars) == 1 else "number"


def is_text(type_: Type) -> bool:
    """Whether a value may be a text, or a list that contains one."""
    scalars = type_.scalars | (type_.element.scalars if type_.element else frozenset())
    return bool(scalars & {"string", "path", "command"})
