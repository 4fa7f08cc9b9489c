"""Bounded caches for values that many trials of a long plan share."""

from __future__ import annotations

from collections.abc import Callable

from zlang.hints import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(dict[K, V]):
    """A mapping that is emptied when it is full."""

    def __init__(self, most: int = 4096) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self._most:
            self.clear()
        super().__setitem__(key, value)


def by_object(compute: Callable[[K], V], most: int = 4096) -> Callable[[K], V]:
    """Return the function, run once for each object even if it cannot be hashed."""
    cache: dict[int, tuple[K, V]] = {}

    def value(item: K) -> V:
        cached = cache.get(id(item))
        if cached is None:
            if len(cache) >= most:
                cache.clear()
            # Keep the object too, so that its memory address is not reused.
            cached = cache[id(item)] = item, compute(item)
        return cached[1]

    return value
