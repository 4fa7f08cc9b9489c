"""Digests of values: the same exactly where the values are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

from zlang.cache import Cache
from zlang.check.program import ChangingValue, Instance, Joined, Kind, Symbol, Value
from zlang.units import Quantity

if TYPE_CHECKING:
    import hashlib

A = TypeVar("A")
B = TypeVar("B")
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
    if isinstance(value, ChangingValue):
        return "t" + canonical(tuple(part for p in value.periods for part in (p.value, p.end, p.duration)))
    return f"v{value!r}"


class Memory(Generic[A, B, T]):
    """Remembers the result for each two objects: many trials share their values."""

    __slots__ = ("_cache", "_make")

    def __init__(self, make: Callable[[A, B], T]) -> None:
        self._make = make
        self._cache = Cache[tuple[int, int], tuple[A, B, T]]()

    def __call__(self, first: A, second: B) -> T:
        """The result for two objects, computed once."""
        key = (id(first), id(second))
        cached = self._cache.get(key)
        if cached is None:
            # The objects are kept as well, so that no other can get their place in memory.
            cached = self._cache[key] = (first, second, self._make(first, second))
        return cached[2]


@cache
def template_digest(kind: Kind) -> str:
    """The hash of what a kind does, different from those of other kinds of the program."""
    return digest(kind.name, kind.template_source)


def digest(*parts: str) -> str:
    """Sixteen hexadecimal digits that are the same exactly where the parts are."""
    sha256: Callable[[bytes], hashlib._Hash] = getattr(sys.modules.get("hashlib"), "sha256", None) or _own_sha256()
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@cache
def _own_sha256() -> Callable[[bytes], hashlib._Hash]:
    """SHA-256 of Python's own, as `random` has SHA-512.

    `hashlib` loads OpenSSL, which takes 4 ms: what only checks a program, and computes a hundred digests, does without.
    """
    with suppress(ImportError):  # some distributions build Python without it
        return __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256  # type: ignore[no-any-return]
    from hashlib import sha256

    return sha256
