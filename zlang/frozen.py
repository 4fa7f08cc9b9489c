"""Frozen, slotted dataclasses that are cheap to define.

`@dataclass(frozen=True, slots=True)` compiles seven methods for each class, and importing `dataclasses` takes 6 ms.
A `@frozen` class compiles only its `__init__`, if it has more than a few objects, and shares the other methods. Its
fields are described when `dataclasses.fields`, orjson or pydantic first need them.

Why not a `Record` (`zlang/record.py`), which is cheaper still? orjson writes the fields of dataclasses by itself, but
calls back for each record (`zlang/plan/wire.py`). So the parts of trials are `@frozen`: a plan can have a million of
them. A class whose objects only `zlang check` makes is a `Record`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from zlang.hints import Any, TypeVar, dataclass_transform
from zlang.record import written_out

T = TypeVar("T")


class _Factory:
    """A factory of default values: each object gets its own."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], T]) -> T:
    """Give a field a default that is made anew for each object."""
    factory: Any = _Factory(default_factory)
    return factory  # type: ignore[no-any-return]


def replace(item: T, **changed: object) -> T:
    """Copy the object with some fields changed."""
    cls: Any = type(item)
    given = dict(zip(cls.__match_args__, cls.frozen_values(item), strict=True))
    return cls(**{**given, **changed})  # type: ignore[no-any-return]


class _Fields:
    """The descriptions of a class's fields, made on first use."""

    def __get__(self, _item: object, cls: type) -> dict[str, Any]:
        """Describe the fields as `dataclass` does."""
        import dataclasses

        made: Any = cls
        defaults = {
            name: dataclasses.field(default_factory=value.make) if isinstance(value, _Factory) else value
            for name, value in made.frozen_defaults.items()
        }
        space = {**defaults, "__annotations__": made.frozen_types, "__module__": cls.__module__}
        like: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(type(cls.__name__, (), space))
        made.__dataclass_fields__ = like.__dataclass_fields__
        return made.__dataclass_fields__  # type: ignore[no-any-return]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Turn a class into a dataclass whose fields cannot be changed."""
    return _made(cls, _SHARED)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """Turn a class into a dataclass whose fields can be changed; it has no hash."""
    return _made(cls, ("__eq__", "__repr__"))


def _made(cls: type[T], methods: Sequence[str]) -> type[T]:
    inherited: dict[str, Any] = getattr(cls, "frozen_types", {})
    types = {**inherited, **cls.__annotations__}
    given = {**getattr(cls, "frozen_defaults", {}), **cls.__dict__}
    defaults = {name: value for name, value in given.items() if name in types}
    apart = {*defaults, "__dict__", "__weakref__"}
    space = {name: value for name, value in cls.__dict__.items() if name not in apart}
    shared = {name: _Methods.__dict__[name] for name in methods if name not in space}
    slots = tuple([name for name in types if name not in inherited])
    made: Any = type(cls.__name__, cls.__bases__, {**space, **shared, "__slots__": slots})
    made.frozen_types, made.frozen_defaults, made.__dataclass_fields__ = types, defaults, _Fields()
    setattr(made, "__match_args__", tuple(types))  # noqa: B010 - a type checker knows better what it is
    made.__qualname__ = cls.__qualname__
    made.__init__ = _init_of(made)
    made.frozen_values = attrgetter(*types) if len(types) > 1 else _values
    return made  # type: ignore[no-any-return]


_FEW = 40
"""Objects of a class that are made in the time that it takes to compile an `__init__` for it."""


def _init_of(made: Any) -> Callable[..., None]:
    """Return an `__init__` that is replaced by one for these fields after a few objects: plans have few of most."""
    count = 0

    def __init__(self: object, *values: Any, **named: Any) -> None:  # noqa: N807 - it becomes this method
        nonlocal count
        count += 1
        fields, defaults = made.frozen_types, made.frozen_defaults
        first = dict(zip(fields, values))  # noqa: B905 - it is compared with the values below
        given = {**defaults, **first, **named}
        is_right = given.keys() == fields.keys() and len(first) == len(values) and first.keys().isdisjoint(named)
        if count > _FEW or not is_right:  # if it is not, the new one raises a TypeError that says what is wrong
            made.__init__ = written_out(
                [(name, getattr(made, name).__set__) for name in fields],
                {name: value for name, value in defaults.items() if not isinstance(value, _Factory)},
                {name: value.make for name, value in defaults.items() if isinstance(value, _Factory)},
            )
            made.__init__(self, *values, **named)
            return
        for name in fields:
            value = given[name]
            getattr(made, name).__set__(self, value.make() if isinstance(value, _Factory) else value)

    return __init__


def _values(item: object) -> tuple[object, ...]:
    return tuple([getattr(item, name) for name in type(item).__match_args__])  # type: ignore[attr-defined]


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
        names: tuple[str, ...] = type(self).__match_args__  # type: ignore[attr-defined]
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def __setattr__(self, name: str, _value: object) -> None:
        raise AttributeError(f"BUG: {type(self).__name__}.{name} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"BUG: {type(self).__name__}.{name} cannot be removed")

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling: rebuild the object from its values, as in another process."""
        return type(self), type(self).frozen_values(self)  # type: ignore[attr-defined]


_SHARED = ("__eq__", "__hash__", "__repr__", "__setattr__", "__delattr__", "__reduce__")
