"""A plan as a graph for Graphviz: `zlang plan FILE --emit dot | dot -Tsvg`.

Only quotes and backslashes have to be escaped in a quoted text of the DOT language (graphviz.org/doc/info/lang.html).
"""

from __future__ import annotations

from collections.abc import Iterator

from zlang.plan.graph import graph
from zlang.plan.plan import Plan
from zlang.text import is_visible


def emit(plan: Plan) -> Iterator[str]:
    """Yield the lines of a digraph."""
    result = graph(plan)
    yield f"digraph {_quoted(plan.header.experiment)} {{\n"
    yield '  node [fontname="sans-serif"]\n'
    for nodes, shape in ((result.things, "box"), (result.steps, "ellipse")):
        for name, label in nodes.items():
            yield f"  {_quoted(name)} [shape={shape} label={_quoted(label)}]\n"
    for item, other, edge in result.edges:
        yield f"  {_quoted(item)} -> {_quoted(other)}{f' [label={_quoted(edge)}]' if edge else ''}\n"
    if result.left_out:
        yield f"  more [shape=plaintext label={_quoted(f'and {result.left_out:,} trials in other states')}]\n"
    yield "}\n"


def _quoted(text: str) -> str:
    plain = "".join(c if is_visible(c) or c == "\n" else " " for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
