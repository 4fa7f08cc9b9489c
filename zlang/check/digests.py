"""Digests of values: the same exactly where the values are."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Generic, TypeVar

from zlang.check.program import Instance, Joined, Kind, Symbol, Value
from zlang.units import Quantity

T = TypeVar("T")


def canonical(value: Value) -> str:
    """A text that is the same exactly where the value is."""
    if isinstance(value, Quantity):
        return f"q{value.amount}:{value.dimension.key}"
    if isinstance(value, str):
        return f"s{len(value)}:{value}"
    if isinstance(value, Symbol):
        return f"w{value.name}({canonical(value.argument)})"
    if isinstance(value, Instance):
        return f"i{value.digest}"
    if isinstance(value, tuple | Joined):
        parts = value if isinstance(value, tuple) else value.parts
        return f"l{len(parts)}:" + "".join(canonical(part) for part in parts)
    return f"v{value!r}"


class Memory(Generic[T]):
    """Remembers the result for each value under a name: many trials share their values."""

    __slots__ = ("_cache", "_make")

    def __init__(self, make: Callable[[str, Value], T]) -> None:
        self._make = make
        self._cache: dict[tuple[str, int], tuple[Value, T]] = {}

    def __call__(self, name: str, value: Value) -> T:
        """The result for a value, computed once."""
        key = (name, id(value))
        cached = self._cache.get(key)
        if cached is None or cached[0] is not value:
            if len(self._cache) >= _REMEMBERED:
                self._cache.clear()
            cached = self._cache[key] = (value, self._make(name, value))
        return cached[1]


_REMEMBERED = 4096


@cache
def template_digest(kind: Kind) -> str:
    """The hash that tells what a kind does from what others of its program do."""
    return digest(kind.name, kind.template_source)


def digest(*parts: str) -> str:
    """Sixteen hexadecimal digits that are the same exactly where the parts are."""
    import hashlib

    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
