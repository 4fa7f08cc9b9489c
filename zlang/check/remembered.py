"""Expressions and commands in the templates of kinds, worked out once for all frames that agree in what they read.

In such an expression `Expr.reads` has the names of the properties that it reads, and beside these `TARGET` for what is
run on, `PARENT` for what a thing stands on, `GATE` for the commands of a gate, and `FRAME` for anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from zlang.cache import Cache
from zlang.check.program import Expr, Instance
from zlang.check.rendering import shell_text

T = TypeVar("T")
TARGET, PARENT, GATE, FRAME = (frozenset({f"({part})"}) for part in ("target", "parent", "gate", "frame"))
BESIDE_PROPERTIES = TARGET | PARENT | GATE | FRAME
_LEAST_WORK = 3
"""Evaluations with less work than this are as fast as a lookup."""


def expression(expr: Expr) -> Expr:
    """The same expression, worked out once for all frames that agree in what it reads."""
    if expr.is_constant or expr.work < _LEAST_WORK:
        return expr
    return expr.giving(once(expr.value, expr.reads))


def once(compute: Callable[[Any], T], reads: frozenset[str]) -> Callable[[Any], T]:
    """The same function of a frame, carried out once for all frames that agree in what it reads."""
    if reads >= FRAME:
        return compute
    names = tuple(sorted(reads - TARGET - PARENT - GATE))
    has_target, has_parent, has_gate = reads >= TARGET, reads >= PARENT, reads >= GATE
    cache = Cache[tuple[int, ...], tuple[list[object], T]]()

    def value(frame: Any) -> T:
        instance: Instance | None = frame.instance
        given = instance.values if instance else {}
        if type(given) is not dict:  # other mappings note what is read of them
            return compute(frame)
        read: list[object] = list(map(given.get, names))
        if has_target:
            read.append(frame.target)
        if has_parent:
            read.append(instance and instance.parent)
        if has_gate:
            read.append(frame.context.get("gate"))
        key = tuple(map(id, read))
        cached = cache.get(key)
        if cached is None:
            # What was read is kept as well, so that nothing else can get its place in memory.
            cached = cache[key] = (read, compute(frame))
        return cached[1]

    return value


def command(parts: Sequence[str | Expr]) -> Callable[[Any], str]:
    """The parts that fill a command in; neighbours that read the same factors are filled in together, once."""
    pieces: list[tuple[list[str | Expr], frozenset[str]]] = []
    for part in parts:
        reads = frozenset[str]() if isinstance(part, str) else part.reads
        group, common = pieces[-1] if pieces else ([], reads)
        if pieces and (reads <= common or common <= reads) and not (reads or common) >= FRAME:
            group.append(part)
            pieces[-1] = group, common | reads
        else:
            pieces.append(([part], reads))
    fill = [_filled(tuple(group), reads) for group, reads in pieces]
    return lambda frame: "".join([piece(frame) for piece in fill])


def _filled(parts: tuple[str | Expr, ...], reads: frozenset[str]) -> Callable[[Any], str]:
    return once(lambda frame: shell_text(parts, frame), reads)
