"""The types of the language: what an expression may be, and what a property takes."""

from __future__ import annotations

from zlang import units
from zlang.record import Record

SCALARS = (
    "size",
    "duration",
    "rate",
    "iops",
    "share",
    "count",
    "number",
    "bool",
    "string",
    "path",
    "version",
    "command",
)
_OF_DIMENSION = {
    units.SIZE: "size",
    units.DURATION: "duration",
    units.RATE: "rate",
    units.FREQUENCY: "iops",
    units.SHARE: "share",
    units.NUMBER: "number",
}
_SPOKEN = {
    "size": "a size such as `4KiB`",
    "duration": "a duration such as `60s`",
    "rate": "a rate such as `200MiB/s`",
    "iops": "a number per second such as `5000/s`",
    "share": "a share such as `70%`",
    "count": "a whole number",
    "number": "a number",
    "bool": "`on` or `off`",
    "string": 'a text such as `"data"`',
    "path": 'a path such as `"/data"`',
    "version": 'a version such as `"2.1.11"`',
    "command": 'a command such as `"make -j4"`',
}
_SHOWN = 12
BOOLS = {"on": True, "off": False, "true": True, "false": False, "yes": True, "no": False}
NUMERIC = frozenset({"size", "duration", "rate", "iops", "share", "count", "number"})


class Variant(Record):
    """A word of an enumeration, with the name and scalar of the value it carries, if it carries one.

    `allow` are the least and the most that this value may be, and by which factor it goes up, if it does; `allow_text`
    is that as it is written.
    """

    name: str
    field: tuple[str, str] | None = None
    allow: tuple[units.Quantity | None, ...] | None = None
    allow_text: str = ""


class Type(Record):
    """A union: scalars, words, declared things (by kind, `*` for any) and lists. `unknown` silences what follows.

    `beneath` are the kinds of all that declared things stand on. Of what `is_partial` some choices are not known.
    """

    scalars: frozenset[str] = frozenset()
    words: tuple[Variant, ...] = ()
    kinds: frozenset[str] = frozenset()
    element: Type | None = None
    unknown: bool = False
    beneath: frozenset[str] = frozenset()
    is_partial: bool = False

    def __or__(self, other: Type) -> Type:
        element = self.element | other.element if self.element and other.element else self.element or other.element
        words = self.words + tuple(word for word in other.words if word not in self.words)
        return Type(
            self.scalars | other.scalars,
            words,
            self.kinds | other.kinds,
            element,
            self.unknown or other.unknown,
            self.beneath | other.beneath,
            self.is_partial or other.is_partial,
        )

    @property
    def is_limited(self) -> bool:
        """Whether a word of it, or of what it lists, limits the value that it carries."""
        return any(word.allow for word in self.words) or (self.element is not None and self.element.is_limited)

    def variant(self, name: str) -> Variant | None:
        """The word of that name."""
        return next((word for word in self.words if word.name == name), None)

    def accepts(self, other: Type) -> bool:
        """Whether every value of the other type is one of this."""
        if self.unknown or other.unknown:
            return True
        scalars = set(self.scalars)
        if "number" in scalars:
            scalars.add("count")
        if scalars & {"path", "version", "command"}:
            scalars.add("string")
        if not other.scalars <= scalars:
            return False
        if any(word not in self.words for word in other.words):
            return False
        if other.kinds and not (self.kinds >= other.kinds or "*" in self.kinds):
            return False
        return other.element is None or (self.element is not None and self.element.accepts(other.element))

    def __str__(self) -> str:
        spoken = [_SPOKEN[s] for s in SCALARS if s in self.scalars]
        if self.words:
            shown = [f"`{w.name}({w.field[1]})`" if w.field else f"`{w.name}`" for w in self.words]
            if len(shown) > _SHOWN:
                shown = [*shown[:_SHOWN], "…"]
            spoken.append(" | ".join(shown))
        spoken += ["something declared" if k == "*" else f"a `{k}`" for k in sorted(self.kinds)]
        if self.element is not None:
            spoken.append(f"a list of {self.element}" if self.element != NOTHING else "a list")
        return " or ".join(spoken) or "nothing"


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
    """The type of a number."""
    name = _OF_DIMENSION.get(quantity.dimension)
    if name is None:
        return UNKNOWN
    return COUNT if name == "number" and quantity.is_whole else Type(frozenset({name}))


DIMENSION_OF = {
    "size": units.SIZE,
    "duration": units.DURATION,
    "rate": units.RATE,
    "iops": units.FREQUENCY,
    "share": units.SHARE,
    "count": units.NUMBER,
    "number": units.NUMBER,
}


def of_dimension(dimension: units.Dimension) -> Type:
    """The type of a computed number."""
    name = _OF_DIMENSION.get(dimension)
    return Type(frozenset({name})) if name else UNKNOWN
