"""A plan as a graph for Mermaid, which Markdown viewers draw.

All but letters, digits and a few marks are spelled as `#CODE;` (mermaid.js.org/syntax/flowchart.html).
"""

from __future__ import annotations

from collections.abc import Iterator

from zlang.plan.graph import graph
from zlang.plan.plan import Plan

_PLAIN = frozenset(" .,:/_-$()=+'")


def emit(plan: Plan) -> Iterator[str]:
    """Give the lines of a flowchart."""
    found = graph(plan)
    yield "flowchart TD\n"
    names = {name: f"n{i}" for i, name in enumerate((*found.things, *found.steps))}
    for nodes, (left, right) in ((found.things, "[]"), (found.steps, "()")):
        for name, label in nodes.items():
            yield f'  {names[name]}{left}"{_spelled(label)}"{right}\n'
    for one, other, said in found.edges:
        yield f"  {names[one]} -->{f'|{_spelled(said)}|' if said else ''} {names[other]}\n"
    if found.left_out:
        yield f'  more["and {found.left_out:,} trials in other states"]\n'


def _spelled(text: str) -> str:
    return "<br>".join("".join(map(_character, line)) for line in text.split("\n"))


def _character(c: str) -> str:
    if c.isalnum() or c in _PLAIN:
        return c
    return f"#{ord(c)};" if c.isprintable() else " "
