"""A mapping that computes each value on first use: fio has hundreds of properties, a program uses ten."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from zlang.hints import TypeVar

N = TypeVar("N")
V = TypeVar("V")


class LazyMapping(Mapping[str, V]):
    """Values by name, each computed once from its node."""

    def __init__(self, nodes: Mapping[str, N], make: Callable[[N], V]) -> None:
        self._made: dict[str, V] = {}
        self._make: Callable[[str], V] = lambda name: make(nodes[name])
        self._nodes: Mapping[str, object] = nodes

    def add(self, name: str, value: V) -> None:
        """Add a value that has no node."""
        self._made[name] = value

    def __getitem__(self, name: str) -> V:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names that have nodes, which may be in a chain of mappings."""
        return frozenset(self._nodes)

    def __contains__(self, name: object) -> bool:
        return name in self._names or name in self._made

    def __iter__(self) -> Iterator[str]:
        yield from self._nodes
        yield from [name for name in self._made if name not in self._nodes]

    def __len__(self) -> int:
        return sum(1 for _ in self)
