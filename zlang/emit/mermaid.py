"""A plan as a graph for Mermaid, which Markdown viewers draw.

All characters except letters, digits and a few marks are written as `#CODE;` (mermaid.js.org/syntax/flowchart.html).
"""

from __future__ import annotations

from collections.abc import Iterator

from zlang.plan.graph import graph
from zlang.plan.plan import Plan
from zlang.text import is_visible

_PLAIN = frozenset(" .,:/_-$()=+'")


def emit(plan: Plan) -> Iterator[str]:
    """Yield the lines of a flowchart."""
    result = graph(plan)
    yield "flowchart TD\n"
    names = {name: f"n{i}" for i, name in enumerate((*result.things, *result.steps))}
    for nodes, (left, right) in ((result.things, "[]"), (result.steps, "()")):
        for name, label in nodes.items():
            yield f'  {names[name]}{left}"{_spelled(label)}"{right}\n'
    for item, other, edge in result.edges:
        yield f"  {names[item]} -->{f'|{_spelled(edge)}|' if edge else ''} {names[other]}\n"
    if result.left_out:
        yield f'  more["and {result.left_out:,} trials in other states"]\n'


def _spelled(text: str) -> str:
    return "<br>".join("".join(map(_character, line)) for line in text.split("\n"))


def _character(c: str) -> str:
    if not is_visible(c):
        return " "
    return c if c.isalnum() or c in _PLAIN else f"#{ord(c)};"
