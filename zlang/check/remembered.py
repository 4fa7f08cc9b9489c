"""Expressions and commands in the templates of kinds, evaluated once for all frames with the same inputs.

In such an expression, `Expr.reads` has the names of the properties that it reads and also `TARGET` for the target of a
workload, `PARENT` for the parent of a thing, `NAME` for its name, `GATE` for the commands of a gate, `SEED` for the
seed of a workload, and `FRAME` for anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter

from zlang.cache import Cache
from zlang.check.instances import Levels
from zlang.check.program import Expr, Instance
from zlang.check.rendering import shell_text, shell_value
from zlang.hints import Any, Generic, TypeVar

T = TypeVar("T")
TARGET, PARENT, NAME, GATE, SEED, FRAME = (
    frozenset({f"({part})"}) for part in ("target", "parent", "name", "gate", "seed", "frame")
)
BESIDE_PROPERTIES = TARGET | PARENT | NAME | GATE | SEED | FRAME
_LEAST_WORK = 3
"""Evaluations with less work than this are as fast as a lookup."""


def expression(expr: Expr) -> Expr:
    """Return the expression, evaluated once for all frames that agree in what it reads."""
    if expr.is_constant or expr.work < _LEAST_WORK:
        return expr
    return expr.giving(once(expr.value, expr.reads))


def once(compute: Callable[[Any], T], reads: frozenset[str]) -> Callable[[Any], T]:
    """Return the function of a frame, run once for all frames that agree in what it reads."""
    if reads & (FRAME | SEED):  # a seed belongs to one frame
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
            read.append(frame.name)
        if has_gate:
            read.append(frame.context.get("gate"))
        key = tuple(map(id, read))
        cached = cache.get(key)
        if cached is None:
            # Keep the values that were read too, so that their memory addresses are not reused.
            cached = cache[key] = (read, compute(frame))
        return cached[1]

    return value


Member = Callable[[Any, Levels], T]
"""A function of a frame of a family, and of its levels."""


def of_any(compute: Callable[[Any], T], reads: frozenset[str]) -> Member[T]:
    """Return the function, run once for all frames of any family that agree in what it reads."""
    shared = once(compute, reads)
    return lambda frame, _: shared(frame)


class Same(Generic[T]):
    """A value that all frames of a family have in common, as a function of one of them."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def __call__(self, _frame: Any, _levels: Levels) -> T:
        """Return it."""
        return self.value


class Family:
    """Frames that agree with the `first` in everything but the values of the `varying` properties, and their seeds.

    What they have in common is evaluated at the first one. Anything else is evaluated once for each combination of
    the values that it reads; what reads more than properties, in each frame. Without `varying`, there is no other.
    """

    def __init__(self, first: Any, varying: Iterable[str] | None = None) -> None:
        given = first.instance.values if first.instance else {}
        self.first, self._is_single = first, varying is None
        self._names = tuple([name for name in varying or () if name in given])

    def levels(self, frame: Any) -> Levels:
        """Return the levels of a frame."""
        given = frame.instance.values
        return tuple([id(given[name]) for name in self._names])

    def once(self, compute: Callable[[Any], T], reads: frozenset[str]) -> Member[T]:
        """Return the function of a frame that reads this, run no more often than necessary."""
        if self._is_single:
            return Same(compute(self.first))
        if reads >= FRAME:
            return lambda frame, _: compute(frame)
        if reads >= SEED:
            return _for_seed(compute, reads)
        places = [place for place, name in enumerate(self._names) if name in reads]
        if not places:
            return Same(compute(self.first))
        names, pick = [self._names[place] for place in places], itemgetter(*places)
        cache = Cache[object, tuple[T, list[object]]]()

        def value(frame: Any, levels: Levels) -> T:
            key = pick(levels)
            cached = cache.get(key)
            if cached is None:
                # Keep the values that were read too, so that their memory addresses are not reused.
                cached = cache[key] = compute(frame), [frame.instance.values[name] for name in names]
            return cached[0]

        return value

    def text(self, parts: Iterable[str | Expr], write: Callable[[Expr, Any], str]) -> Member[str]:
        """Return the function that fills in a text; `write` returns the text of a part in a frame."""
        return _joined("", [part if isinstance(part, str) else self._written(part, write) for part in parts])

    def command(self, parts: Iterable[str | Expr]) -> Member[str]:
        """Return the function that fills in a command, with every value quoted."""
        if self._is_single:
            return Same(shell_text(tuple(parts), self.first))
        return _joined("", [part if isinstance(part, str) else self._words(part) for part in parts])

    def _words(self, part: Expr) -> Member[str]:
        if part.pieces is None:
            return self._written(part, lambda part, frame: shell_value(part, part.value(frame)))
        pieces, thing = [*part.pieces(self.first)], self.first.instance
        if not thing.family or any(piece.reads & BESIDE_PROPERTIES for piece in pieces):
            return _joined(" ", [self._words(piece) for piece in pieces])
        key = id(part), thing.family, tuple(thing.values)
        cached = _WORDS.get(key)
        if cached is None:
            cached = _WORDS[key] = part, _for_levels(_joined(" ", [self._words(piece) for piece in pieces]))
        return cached[1]

    def _written(self, part: Expr, write: Callable[[Expr, Any], str]) -> Member[str]:
        return self.once(lambda frame: write(part, frame), part.reads)


_WORDS: Cache[object, tuple[Expr, Member[str]]] = Cache(512)
"""The words of lists that read properties alone: those of a family have them in common, with or without their names.

The list is kept, so that no other gets its memory address.
"""


def _for_levels(compute: Member[T]) -> Member[T]:
    """Return the function, run once for the same levels in a row."""
    if isinstance(compute, Same):
        return compute
    last: tuple[Levels | None, Any] = None, None

    def value(frame: Any, levels: Levels) -> T:
        nonlocal last
        if levels is not last[0]:
            last = levels, compute(frame, levels)
        return last[1]  # type: ignore[no-any-return]

    return value


def _for_seed(compute: Callable[[Any], T], reads: frozenset[str]) -> Member[T]:
    """Return the function, which frames in a row share if they have one seed and it reads nothing else."""
    if reads > SEED:
        return lambda frame, _: compute(frame)
    last: tuple[object, Any] = None, None

    def value(frame: Any, _levels: Levels) -> T:
        nonlocal last
        seed = frame.context.get("seed")
        if seed is None or seed is not last[0]:
            last = seed, compute(frame)
        return last[1]  # type: ignore[no-any-return]

    return value


def _joined(between: str, pieces: Iterable[str | Member[str]]) -> Member[str]:
    """Return the function that joins pieces; where something stands between them, empty ones are left out."""
    merged: list[str | Member[str]] = []
    for piece in pieces:
        item = piece.value if isinstance(piece, Same) else piece
        if isinstance(item, str) and merged and isinstance(merged[-1], str):
            merged[-1] = between.join(filter(None, (merged[-1], item)))
        else:
            merged.append(item)
    template = [piece if isinstance(piece, str) else "" for piece in merged]
    filled = [(place, piece) for place, piece in enumerate(merged) if not isinstance(piece, str)]
    if not filled:
        return Same(between.join(template))

    def text(frame: Any, levels: Levels) -> str:
        texts = template.copy()
        for place, piece in filled:
            texts[place] = piece(frame, levels)
        return between.join(filter(None, texts) if between else texts)

    return text
