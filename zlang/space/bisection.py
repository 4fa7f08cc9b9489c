"""The levels that a search measures, in order: both ends, then the middle between two of them.

In: the number of levels, in order, and those at which the condition holds. Out: rounds, each decided by earlier ones.
Rule: at most two levels are measured in the first round, and one in each later round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

Condition = Callable[[int], bool | None]
"""Whether the condition holds at a level; None where that is not known."""


def rounds(levels: int) -> tuple[tuple[int, ...], ...]:
    """Return all levels by the round in which a search could reach them."""
    result = [tuple(dict.fromkeys((0, levels - 1)))]
    gaps = [(0, levels - 1)]
    while gaps := [gap for gap in gaps if gap[1] - gap[0] > 1]:
        result.append(tuple(map(_middle_of, gaps)))
        gaps = [
            part for low, high in gaps for part in ((low, _middle_of((low, high))), (_middle_of((low, high)), high))
        ]
    return tuple(result)


def longest(levels: int) -> tuple[int, ...]:
    """Return the levels of a search with the greatest number of measurements."""
    result = [*dict.fromkeys((0, levels - 1))]
    gap = (0, levels - 1)
    while gap[1] - gap[0] > 1:
        result.append(middle := _middle_of(gap))
        gap = max(((gap[0], middle), (middle, gap[1])), key=lambda part: part[1] - part[0])
    return tuple(result)


def course(levels: int, holds: Condition) -> Iterator[int]:
    """Yield the levels to measure, each before its result is read; stop at an unknown result or when no level remains.

    If the condition holds at both ends, or at neither, bisection cannot find a boundary between them.
    """
    low, high = 0, levels - 1
    yield low
    if levels > 1:
        yield high
    at_low, at_high = holds(low), holds(high)
    if at_low is None or at_high is None or at_low == at_high:
        return
    while high - low > 1:
        yield (middle := _middle_of((low, high)))
        is_held = holds(middle)
        if is_held is None:
            return
        low, high = (middle, high) if is_held == at_low else (low, middle)


def _middle_of(gap: tuple[int, int]) -> int:
    return sum(gap) // 2
