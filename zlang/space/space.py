"""The space of an experiment's points: counted, indexed, filtered and sampled without being listed.

In: axes (a tree of choices) and conditions over them. Out: a `Space`.
Laws, tested against brute force: `len(list(space)) == space.count`; `list(space)[i] == space[i]`; an axis reached by
two paths is one factor; parts that share no axis and no condition multiply. Only parts that do are listed,
and only by the factors in their conditions, up to `LIMIT` combinations.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from math import prod

from zlang.check.program import Axis, Point, every_axis, merge_axes
from zlang.record import Record

LIMIT = 1_000_000
MOST_WORK = 1_500_000
"""Steps that all conditions but the first may take over all combinations: about 2 s."""
MOST_WORK_OF_FIRST = 15_000_000
"""Steps that the first condition may take: about 20 s."""


class TooConnected(Exception):
    """A connected part of a space has too many combinations to list, or to test against its conditions."""

    def __init__(self, paths: Sequence[str], tried: int = 0) -> None:
        super().__init__(", ".join(paths))
        self.paths = tuple(paths)
        self.tried = tried


class Condition(Record):
    """A predicate over some factors: False drops a point, unknown (None) keeps it. `work` is its number of steps."""

    reads: frozenset[str]
    holds: Callable[[Point], object]
    work: int = 1


class Space:
    """A finite sequence of points; a point maps each factor that exists in it to its level's index."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self.counts = tuple(part.count for part in self.parts)
        self.count = prod(self.counts)
        self._last_first = tuple(zip(reversed(self.parts), reversed(self.counts), strict=True))

    def __getitem__(self, index: int) -> dict[str, int]:
        """Return the point at an index, with the first factor varying slowest."""
        if not 0 <= index < self.count:
            raise IndexError(index)
        point: dict[str, int] = {}
        self.put(index, point)
        return point

    def put(self, index: int, point: dict[str, int]) -> None:
        """Add the factors of the point at an index to another point."""
        for part, count in self._last_first:
            index, digit = divmod(index, count)
            part.put(digit, point)

    def __iter__(self) -> Iterator[dict[str, int]]:
        return (self[i] for i in range(self.count))

    def sample(self, size: int, seed: int) -> list[dict[str, int]]:
        """Return `size` different points (or all), drawn by a seed, in the order of the space.

        A larger sample with the same seed extends a smaller one: a shuffle (Fisher and Yates) stops after `size` steps.
        """
        import random

        source, moved, chosen = random.Random(seed), dict[int, int](), list[int]()
        for i in range(min(size, self.count)):
            j = source.randrange(i, self.count)
            chosen.append(moved.get(j, j))
            moved[j] = moved.get(i, i)
        return [self[i] for i in sorted(chosen)]

    def split(self, paths: Iterable[str]) -> tuple[Space, Space]:
        """Return the parts that have any of these factors, and the others: the space is their product."""
        wanted = set(paths)
        having = [part for part in self.parts if part.paths & wanted]
        return Space(having), Space([part for part in self.parts if not part.paths & wanted])


class Part:
    """One factor of the product: a part that can be counted and indexed."""

    count: int
    paths: frozenset[str]

    def put(self, index: int, point: dict[str, int]) -> None:
        """Add the factors of the point at an index to another point."""
        raise NotImplementedError


class _Choice(Part):
    """An axis together with the axes that exist only under its levels."""

    def __init__(self, axis: Axis, built: _Built) -> None:
        self.path = axis.path
        self.paths = _paths((axis,))
        self.branches = None if axis.branches is None else [_shared(branch, built) for branch in axis.branches]
        if self.branches is None:
            self.count = axis.size
        else:
            self.ends = list(accumulate(branch.count for branch in self.branches))
            self.count = self.ends[-1]

    def put(self, index: int, point: dict[str, int]) -> None:
        if self.branches is None:
            point[self.path] = index
            return
        point[self.path] = level = bisect_right(self.ends, index)
        self.branches[level].put(index - (self.ends[level - 1] if level else 0), point)


class _Listed(Part):
    """Parts that depend on each other: combinations of the factors that connect them, each with its free axes."""

    def __init__(self, combinations: list[tuple[dict[str, int], Space]], paths: frozenset[str]) -> None:
        self.combinations = combinations
        self.paths = paths
        self.ends = list(accumulate(free.count for _, free in combinations))
        self.count = self.ends[-1] if self.ends else 0

    def put(self, index: int, point: dict[str, int]) -> None:
        which = bisect_right(self.ends, index)
        chosen, remaining = self.combinations[which]
        point.update(chosen)
        remaining.put(index - (self.ends[which - 1] if which else 0), point)


def build(axes: Iterable[Axis], conditions: Iterable[Condition] = ()) -> Space:
    """Return the space of these axes under these conditions. Raises TooConnected."""
    return _space(tuple(axes), tuple(conditions), {})


def combinations(
    axes: Iterable[Axis], conditions: Iterable[Condition], factors: frozenset[str]
) -> Iterator[tuple[dict[str, int], int]]:
    """Yield each combination of some factors: one of its points, and the number of its points. Raises TooConnected."""
    tie = Condition(factors, lambda _: None)
    built = build(axes, [*conditions, tie])
    space = Space([part for part in built.parts if not part.paths & factors])
    for part in built.parts:
        if isinstance(part, _Listed) and part.paths & factors and space.count:
            for chosen, free in part.combinations:
                yield {**space[0], **chosen, **free[0]}, free.count * space.count


_Built = dict[tuple[int, ...], tuple[tuple[Axis, ...], Space]]
"""The spaces of branches by the identity of their axes: names that many branches share are worked out once."""


def _shared(axes: tuple[Axis, ...], built: _Built) -> Space:
    key = tuple(map(id, axes))
    if key not in built:
        built[key] = axes, _space(axes, (), built)
    return built[key][1]


def _space(axes: tuple[Axis, ...], conditions: tuple[Condition, ...], built: _Built) -> Space:
    top = _distinct(axes)
    parts: list[Part] = []
    for group in _connected(top, conditions):
        paths = _paths(group)
        own = tuple(condition for condition in conditions if condition.reads & paths)
        if len(group) == 1 and not own:
            parts.append(_Choice(group[0], built))
        else:
            parts.append(_listed(group, own, paths, built))
    constant = [condition for condition in conditions if not condition.reads & _paths(top)]
    if any(condition.holds({}) is False for condition in constant):
        return Space([_Listed([], frozenset())])
    return Space(parts)


def _distinct(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Return each axis once; an axis at the top is dropped from the branches of others, unless it adds something."""
    merged = merge_axes(axes)
    if len(merged) == 1:
        return merged
    top = {axis.path: axis for axis in merged}
    return tuple(_pruned(axis, {path: item for path, item in top.items() if path != axis.path}, {}) for axis in merged)


def _pruned(axis: Axis, top: Mapping[str, Axis], axes: dict[int, Axis]) -> Axis:
    if axis.branches is None or not _paths(branch for b in axis.branches for branch in b) & top.keys():
        return axis
    if id(axis) not in axes:
        branches = tuple(
            tuple(_pruned(inner, top, axes) for inner in b if not _adds_nothing(inner, top)) for b in axis.branches
        )
        axes[id(axis)] = Axis(axis.path, axis.size, branches if any(branches) else None)
    return axes[id(axis)]


def _adds_nothing(axis: Axis, top: Mapping[str, Axis]) -> bool:
    """Whether an axis exists at the top already, with the same axes under its levels."""
    return axis.path in top and (axis.branches is None or axis.branches == top[axis.path].branches)


def _paths(axes: Iterable[Axis]) -> frozenset[str]:
    return frozenset(axis.path for axis in every_axis(axes))


def _connected(axes: tuple[Axis, ...], conditions: tuple[Condition, ...]) -> list[tuple[Axis, ...]]:
    """Group the axes that share a factor or a condition, in the order of their first axis."""
    groups: list[tuple[set[str], list[Axis]]] = []
    ties = [set(condition.reads) for condition in conditions]
    for axis in axes:
        paths = set(_paths((axis,)))
        for tie in ties:
            if tie & paths:
                paths |= tie
        touching = [group for group in groups if group[0] & paths]
        merged = (paths.union(*(group[0] for group in touching)), [a for group in touching for a in group[1]] + [axis])
        place = groups.index(touching[0]) if touching else len(groups)
        groups = [group for group in groups if not any(group is other for other in touching)]
        groups.insert(place, merged)
    order = {axis.path: i for i, axis in enumerate(axes)}
    return [tuple(sorted(group, key=lambda a: order[a.path])) for _, group in groups]


def _listed(
    group: tuple[Axis, ...], conditions: tuple[Condition, ...], paths: frozenset[str], built: _Built
) -> _Listed:
    needed = frozenset[str]().union(*(condition.reads for condition in conditions)) | _selectors(group)
    flat = prod(axis.size for axis in group if axis.path in needed and axis.branches is None)
    if flat > LIMIT:
        raise TooConnected(sorted(needed & paths))
    combinations: list[tuple[dict[str, int], Space]] = []
    seen = work = 0
    first = conditions[0].work if conditions else 0
    for chosen, remaining in _expand(group, needed & paths, {}):
        seen += 1
        if seen > LIMIT:
            raise TooConnected(sorted(needed & paths))
        if seen * first > MOST_WORK_OF_FIRST:
            raise TooConnected(sorted(needed & paths), seen)
        for number, condition in enumerate(conditions):
            work += condition.work if number else 0
            if condition.holds(chosen) is False:
                break
        else:
            if work > MOST_WORK:
                raise TooConnected(sorted(needed & paths), seen)
            combinations.append((chosen, _shared(remaining, built)))
    return _Listed(combinations, paths)


def _selectors(group: tuple[Axis, ...]) -> frozenset[str]:
    """Return the axes that have a factor in their branches which also exists under another axis of the group."""
    times: dict[str, int] = {}
    for axis in group:
        for path in _paths((axis,)):
            times[path] = times.get(path, 0) + 1
    shared = {path for path, count in times.items() if count > 1}
    shapes: dict[str, Axis] = {}
    result = {axis.path for axis in every_axis(group) if axis.branches != shapes.setdefault(axis.path, axis).branches}
    walked: dict[int, bool] = {}

    def walk(axis: Axis) -> bool:
        if id(axis) not in walked:
            below = [walk(inner) for branch in axis.branches or () for inner in branch]
            if any(below):
                result.add(axis.path)
            walked[id(axis)] = any(below) or axis.path in shared
        return walked[id(axis)]

    for axis in group:
        walk(axis)
    return frozenset(result)


def _expand(
    axes: tuple[Axis, ...], needed: frozenset[str], levels: Mapping[str, int]
) -> Iterator[tuple[dict[str, int], tuple[Axis, ...]]]:
    """Yield every choice of the needed factors, the first varying slowest, with the axes that remain free under it."""
    axes = _distinct(axes)
    mentioned = [axis for axis in axes if _paths((axis,)) & needed]
    if all(axis.branches is None for axis in mentioned):
        paths = [axis.path for axis in mentioned]
        free = tuple(axis for axis in axes if axis.path not in paths)
        for places in product(*(range(axis.size) for axis in mentioned)):
            chosen = dict(levels)
            chosen.update(zip(paths, places))  # noqa: B905 - `strict=True` takes half as long again
            yield chosen, free
        return
    axis, i = mentioned[0], axes.index(mentioned[0])
    for level in range(axis.size):
        chosen = {**levels, axis.path: level}
        inner = _opened_axes(axis.branches[level] if axis.branches else (), chosen)
        yield from _expand(axes[:i] + inner + axes[i + 1 :], needed, chosen)


def _opened_axes(axes: tuple[Axis, ...], chosen: Mapping[str, int]) -> tuple[Axis, ...]:
    """Return these axes, with each chosen axis replaced by the axes under its levels."""
    result: list[Axis] = []
    for axis in axes:
        if axis.path not in chosen:
            result.append(axis)
        elif axis.branches is not None:
            result += _opened_axes(axis.branches[chosen[axis.path]], chosen)
    return tuple(result)
