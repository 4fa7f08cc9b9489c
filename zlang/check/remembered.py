"""Expressions and commands in the templates of kinds, evaluated once for all frames with the same inputs.

In such an expression, `Expr.reads` has the names of the properties that it reads and also `TARGET` for the target of a
workload, `PARENT` for the parent of a thing, `NAME` for its name, `GATE` for the commands of a gate, and `FRAME` for
anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from zlang.cache import Cache
from zlang.check.program import Expr, Instance
from zlang.check.rendering import shell_text, shell_value

T = TypeVar("T")
TARGET, PARENT, NAME, GATE, FRAME = (frozenset({f"({part})"}) for part in ("target", "parent", "name", "gate", "frame"))
BESIDE_PROPERTIES = TARGET | PARENT | NAME | GATE | FRAME
_LEAST_WORK = 3
"""Evaluations with less work than this are as fast as a lookup."""


def expression(expr: Expr) -> Expr:
    """Return the expression, evaluated once for all frames that agree in what it reads."""
    if expr.is_constant or expr.work < _LEAST_WORK:
        return expr
    return expr.giving(once(expr.value, expr.reads))


def once(compute: Callable[[Any], T], reads: frozenset[str]) -> Callable[[Any], T]:
    """Return the function of a frame, run once for all frames that agree in what it reads."""
    if reads >= FRAME:
        return compute
    names = tuple(sorted(reads - BESIDE_PROPERTIES))
    has_target, has_parent, has_name, has_gate = (reads >= part for part in (TARGET, PARENT, NAME, GATE))
    cache = Cache[tuple[int, ...], tuple[list[object], T]]()

    def value(frame: Any) -> T:
        instance: Instance | None = frame.instance
        given = instance.values if instance else {}
        if type(given) is not dict:  # other mappings record which values are read
            return compute(frame)
        read: list[object] = list(map(given.get, names))
        if has_target:
            read.append(frame.target)
        if has_parent:
            read.append(instance and instance.parent)
        if has_name:
            read.append(instance and instance.name)
        if has_gate:
            read.append(frame.context.get("gate"))
        key = tuple(map(id, read))
        cached = cache.get(key)
        if cached is None:
            # Keep the values that were read too, so that their memory addresses are not reused.
            cached = cache[key] = (read, compute(frame))
        return cached[1]

    return value


def command(parts: Sequence[str | Expr]) -> Callable[[Any], str]:
    """Return the function that fills in a command. The parts that frames share are filled in once for all of them."""
    exprs = [part for part in parts if not isinstance(part, str)]
    own = [part for part in exprs if part.reads >= FRAME]
    reads = frozenset[str]().union(*(part.reads for part in exprs if part not in own))

    def pattern(frame: Any) -> str:
        texts = ("%s" if part in own else shell_text((part,), frame).replace("%", "%%") for part in parts)
        return "".join(texts)

    shared, words = once(pattern, reads), [_words(part) for part in own]
    return lambda frame: shared(frame) % tuple([fill(frame) for fill in words])


def _words(part: Expr) -> Callable[[Any], str]:
    """Return the function that renders a part as shell words. Successive frames often share the value."""
    last: tuple[object, str] = (object(), "")

    def words(frame: Any) -> str:
        nonlocal last
        value = part.value(frame)
        if value is not last[0]:
            last = value, shell_value(part, value)
        return last[1]

    return words
