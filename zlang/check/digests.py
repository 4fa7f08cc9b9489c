"""Digests of values: equal if and only if the values are equal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

from zlang.cache import Cache
from zlang.check.program import ChangingValue, Instance, Joined, Kind, Symbol, Value
from zlang.errors import suppress
from zlang.hints import TYPE_CHECKING, Generic, TypeVar
from zlang.units import Quantity

if TYPE_CHECKING:
    import hashlib

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


def canonical(value: Value) -> str:
    """Return a text that is equal for equal values only."""
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
    """A cache of results for pairs of objects: many trials share their values."""

    __slots__ = ("_cache", "_make")

    def __init__(self, make: Callable[[A, B], T]) -> None:
        self._make = make
        self._cache = Cache[tuple[int, int], tuple[A, B, T]]()

    def __call__(self, first: A, second: B) -> T:
        """Return the result for two objects, computed once."""
        key = (id(first), id(second))
        cached = self._cache.get(key)
        if cached is None:
            # Keep the objects too, so that their memory addresses are not reused.
            cached = self._cache[key] = (first, second, self._make(first, second))
        return cached[2]


@cache
def template_digest(kind: Kind) -> str:
    """Return the hash of a kind's behaviour, which is unique among the kinds of the program."""
    return digest(kind.name, kind.template_source)


def digest(*parts: str) -> str:
    """Return sixteen hexadecimal digits that are equal for equal parts only."""
    openssl = sys.modules.get("hashlib")
    sha256: Callable[[bytes], hashlib._Hash] = openssl.sha256 if openssl else _own_sha256()
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def expect_many() -> None:
    """Load OpenSSL, whose SHA-256 is three times as fast as Python's own, for a plan of many trials."""
    import hashlib  # noqa: F401 - `digest` uses it where it is loaded


@cache
def _own_sha256() -> Callable[[bytes], hashlib._Hash]:
    """Return Python's built-in SHA-256, as `random` imports SHA-512.

    `hashlib` loads OpenSSL, which takes 4 ms: a check, which computes about a hundred digests, does not need it.
    """
    with suppress(ImportError):  # some distributions build Python without this module
        return __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256  # type: ignore[no-any-return]
    from hashlib import sha256

    return sha256
