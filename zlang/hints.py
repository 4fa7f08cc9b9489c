"""The names of `typing`, without its import, which takes 2.5 ms (bench/README.md).

Type checkers see those of `typing`. When zlang runs, nobody reads annotations, so one object stands for most of them.
Only what evaluates annotations, such as Typer, needs the real ones.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Annotated,
        Any,
        BinaryIO,
        Final,
        Generic,
        Literal,
        NamedTuple,
        NoReturn,
        Protocol,
        Self,
        TextIO,
        TypeGuard,
        TypeVar,
        dataclass_transform,
    )
else:

    class _Base:
        """A base class in place of `Generic` and `Protocol`: its parameters mean nothing."""

        def __class_getitem__(cls, _parameters: object) -> type:
            return cls

    class _Name:
        """A name that only annotations, base classes and names of types use."""

        def __call__(self, *_words: object, **_options: object) -> _Name:
            return self

        def __getitem__(self, _parameters: object) -> _Name:
            return self

        def __mro_entries__(self, _bases: tuple[object, ...]) -> tuple[type, ...]:
            return (_Base,)

    class _NamedTupleType(type):
        """Turn a class with annotated fields into a named tuple with its methods."""

        def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, space)
            fields = space.pop("__annotations__")
            defaults = [space.pop(field) for field in fields if field in space]
            made = namedtuple(name, fields, defaults=defaults, module=space["__module__"])  # noqa: PYI024 - this replaces typing's
            return type(name, (made,), {"__slots__": (), **space})

    class NamedTuple(metaclass=_NamedTupleType):
        """The base class of named tuples."""

    def dataclass_transform(**_options: object) -> Callable[[type], type]:
        """Return a decorator that changes nothing."""
        return lambda decorated: decorated

    Annotated = Any = BinaryIO = Final = Generic = Literal = NoReturn = Protocol = Self = _Name()
    TextIO = TypeGuard = TypeVar = _Name()

__all__ = [
    "TYPE_CHECKING",
    "Annotated",
    "Any",
    "BinaryIO",
    "Final",
    "Generic",
    "Literal",
    "NamedTuple",
    "NoReturn",
    "Protocol",
    "Self",
    "TextIO",
    "TypeGuard",
    "TypeVar",
    "dataclass_transform",
]
