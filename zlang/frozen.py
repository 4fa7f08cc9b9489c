"""Frozen, slotted dataclasses that are cheap to define.

`@dataclass(frozen=True, slots=True)` compiles seven methods for each class. Of a class that is `@frozen` only its
`__init__` is compiled, and the others are shared, so it takes a quarter of the time to be defined.

Why not a `Record` (`zlang/record.py`), which takes a tenth? orjson writes the fields of dataclasses by itself, and
calls back for each record (`zlang/plan/wire.py`). So what each trial of a plan has is `@frozen`: a plan can have a
million of them. What only `zlang check` makes is a `Record`.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

from zlang.record import written_out

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a dataclass of a class whose fields are given once, and never changed."""
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    every = fields(made)
    made.__init__ = written_out(
        [(item.name, getattr(made, item.name).__set__) for item in every],
        {item.name: item.default for item in every if item.default is not MISSING},
        {item.name: item.default_factory for item in every if item.default_factory is not MISSING},
    )
    made.frozen_values = attrgetter(*[item.name for item in every]) if len(every) > 1 else _values
    for name in _SHARED:
        setattr(made, name, _Methods.__dict__[name])
    return made  # type: ignore[no-any-return]


def _values(item: object) -> tuple[object, ...]:
    return tuple([getattr(item, each.name) for each in fields(item)])  # type: ignore[arg-type]


class _Methods:
    """The methods that frozen dataclasses share."""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        read: Any = type(self).frozen_values  # type: ignore[attr-defined]
        return type(other) is type(self) and bool(read(self) == read(other))

    def __hash__(self) -> int:
        read: Any = type(self).frozen_values  # type: ignore[attr-defined]
        return hash(read(self))

    def __repr__(self) -> str:
        shown = [f"{item.name}={getattr(self, item.name)!r}" for item in fields(self)]  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __setattr__(self, name: str, _value: object) -> None:
        raise AttributeError(f"BUG: {type(self).__name__}.{name} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"BUG: {type(self).__name__}.{name} cannot be removed")

    def __reduce__(self) -> tuple[Any, ...]:
        """Be made again of the same values, in another process."""
        return type(self), type(self).frozen_values(self)  # type: ignore[attr-defined]


_SHARED = ("__eq__", "__hash__", "__repr__", "__setattr__", "__delattr__", "__reduce__")
