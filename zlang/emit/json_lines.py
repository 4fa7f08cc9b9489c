"""A plan as `plan.jsonl`: the header in the first line, then one setup or trial per line."""

from __future__ import annotations

from collections.abc import Iterator

from zlang.plan import wire
from zlang.plan.plan import Plan


def emit(plan: Plan) -> Iterator[str]:
    """Yield the lines, each with its newline."""
    for line in wire.dump(plan):
        yield line.decode()
