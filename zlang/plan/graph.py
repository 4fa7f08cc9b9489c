"""A plan as a graph: the resources, what they are built on, and the steps carried out on them in order.

In: a `Plan`. Out: `Edge`s between labelled nodes. Rule: trials that need the same setups and take the same steps share
one path through the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from zlang.plan.plan import Plan, Scalar, Setup

MOST = 100
"""The most paths that are drawn, as nobody can read more."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Labels of the nodes by name, and edges: from, to, label. `left_out` counts trials that are not drawn."""

    things: dict[str, str]
    steps: dict[str, str]
    edges: tuple[tuple[str, str, str], ...]
    left_out: int


_Way = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]


def graph(plan: Plan) -> Graph:
    """Build the graph in one pass through a plan."""
    setups: dict[str, Setup] = {}
    ways: Counter[_Way] = Counter()
    levels: dict[str, dict[str, Scalar]] = {}
    left_out = 0
    for item in plan.items():
        if isinstance(item, Setup):
            setups[item.signature] = item
            continue
        way = item.setups, tuple((step.name, f"{step.action}: {step.why or step.name}") for step in item.steps)
        if way not in ways and len(ways) >= MOST:
            left_out += 1
            continue
        ways[way] += 1
        for signature in item.setups:
            level_by_factor = levels.setdefault(signature, dict(item.factors))
            for name in [name for name, level in level_by_factor.items() if item.factors[name] != level]:
                del level_by_factor[name]
    swept = {factor.name for factor in plan.header.factors if factor.count > 1}
    things = {
        signature: "\n".join(
            [setups[signature].creates or setups[signature].key]
            + [f"{name} = {level}" for name, level in levels[signature].items() if name in swept and level is not None]
        )
        for signature in dict.fromkeys(signature for needed, _ in ways for signature in needed)
    }
    chains = {taken: f"{number}." for number, taken in enumerate(dict.fromkeys(taken for _, taken in ways), start=1)}
    steps = {chains[taken] + name: label for taken in chains for name, label in taken}
    return Graph(things, steps, tuple(dict.fromkeys(_edges(setups, ways, chains))), left_out)


def _edges(
    setups: Mapping[str, Setup], ways: Mapping[_Way, int], chains: Mapping[tuple[tuple[str, str], ...], str]
) -> Iterator[tuple[str, str, str]]:
    for (needed, taken), count in ways.items():
        keys = {setups[signature].key: signature for signature in needed}
        for signature in needed:
            for under in setups[signature].beneath:
                if under in keys:
                    yield keys[under], signature, ""
        if needed and taken:
            yield needed[-1], chains[taken] + taken[0][0], f"{count:,} trial{'s' if count > 1 else ''}"
    for taken, prefix in chains.items():
        for (item, _), (other, _) in pairwise(taken):
            yield prefix + item, prefix + other, ""
