"""A plan as a graph for Graphviz: `zlang plan FILE --emit dot | dot -Tsvg`.

Quotes and backslashes are all that a quoted text of the DOT language has to have spelled out
(graphviz.org/doc/info/lang.html).
"""

from __future__ import annotations

from collections.abc import Iterator

from zlang.plan.graph import graph
from zlang.plan.plan import Plan


def emit(plan: Plan) -> Iterator[str]:
    """Give the lines of a digraph."""
    found = graph(plan)
    yield f"digraph {_quoted(plan.header.experiment)} {{\n"
    yield '  node [fontname="sans-serif"]\n'
    for nodes, shape in ((found.things, "box"), (found.steps, "ellipse")):
        for name, label in nodes.items():
            yield f"  {_quoted(name)} [shape={shape} label={_quoted(label)}]\n"
    for one, other, said in found.edges:
        yield f"  {_quoted(one)} -> {_quoted(other)}{f' [label={_quoted(said)}]' if said else ''}\n"
    if found.left_out:
        yield f"  more [shape=plaintext label={_quoted(f'and {found.left_out:,} trials in other states')}]\n"
    yield "}\n"


def _quoted(text: str) -> str:
    plain = "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
