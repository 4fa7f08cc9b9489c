"""Records: frozen, slotted classes of values, as `@dataclass(frozen=True, slots=True)` makes them.

A dataclass compiles six methods for each class, in 0.3 ms; for the seventy classes that `zlang check` loads before its
first output that would be a fifth of its time (bench/README.md). Records share their methods. Type checkers treat both
alike. A class that `is_frequent`, with several objects for each trial, has an `__init__` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType

from zlang.hints import Any, Self, dataclass_transform


@dataclass_transform(frozen_default=True)
class _RecordType(type):
    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any], *, is_frequent: bool = False) -> Any:
        fields = tuple(space.get("__annotations__", ()))
        defaults = {field: space.pop(field) for field in fields if field in space}
        space["__slots__"] = space["__match_args__"] = space["record_fields"] = fields
        space["record_defaults"] = defaults
        space["record_values"] = attrgetter(*fields) if len(fields) > 1 else _values
        made: Any = super().__new__(cls, name, bases, space)
        slots = made.__dict__
        made.record_setters = tuple([slots[field].__set__ for field in fields])
        if is_frequent:
            made.__init__ = written_out(list(zip(fields, made.record_setters, strict=True)), defaults)
        return made


def written_out(
    setters: Sequence[tuple[str, Any]], defaults: Mapping[str, Any], factories: Mapping[str, Any] = MappingProxyType({})
) -> Any:
    """An `__init__` that names each field: calls take a quarter of the time, but defining it takes 0.1 ms."""
    names: dict[str, Any] = {f"set_{field}": set_field for field, set_field in setters}
    names |= {f"default_{field}": value for field, value in {**defaults, **factories}.items()}
    taken = ", ".join(f"{field}=default_{field}" if f"default_{field}" in names else field for field, _ in setters)
    lines = [
        f" set_{field}(self, {f'{field}() if {field} is default_{field} else ' * (field in factories)}{field})"
        for field, _ in setters
    ]
    exec(f"def __init__(self, {taken}):\n" + "\n".join(lines), names)  # noqa: S102 - a text of names of fields
    return names["__init__"]


def _values(item: Any) -> tuple[object, ...]:
    return tuple([getattr(item, field) for field in item.record_fields])


class Record(metaclass=_RecordType):
    """An immutable value with fields; two records are equal if their fields are."""

    def __init__(self, *values: Any, **named: Any) -> None:
        setters: tuple[Any, ...] = self.record_setters  # type: ignore[attr-defined]
        if named or len(values) != len(setters):
            values = self._completed(values, named)
        for set_field, value in zip(setters, values):  # noqa: B905 - `strict=False` takes half as long again
            set_field(self, value)

    def _completed(self, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Return the values of all fields: those given in order, those given by name, and defaults."""
        fields: tuple[str, ...] = self.record_fields  # type: ignore[attr-defined]
        defaults: dict[str, Any] = self.record_defaults  # type: ignore[attr-defined]
        if len(values) > len(fields):
            raise TypeError(f"BUG: {type(self).__name__} takes {len(fields)} values")
        later = [named.pop(field) if field in named else defaults[field] for field in fields[len(values) :]]
        if named:
            raise TypeError(f"BUG: {type(self).__name__} has no {', '.join(named)}")
        return (*values, *later)

    def replace(self, **changed: Any) -> Self:
        """Copy the record with some of its fields changed."""
        cls: Any = type(self)
        values = [*cls.record_values(self)]
        for field, value in changed.items():
            if field not in cls.record_fields:
                raise TypeError(f"BUG: {cls.__name__} has no {field}")
            values[cls.record_fields.index(field)] = value
        return cls(*values)  # type: ignore[no-any-return]

    def as_dict(self) -> dict[str, object]:
        """The values of all fields, by name."""
        return dict(zip(self.record_fields, _values(self), strict=True))  # type: ignore[attr-defined]

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, handler: Callable[[Any], Any]) -> Any:
        """Make pydantic read a record as it would read a dataclass with the same fields."""
        from dataclasses import field, make_dataclass
        from typing import get_type_hints

        from pydantic_core import core_schema

        defaults: dict[str, Any] = cls.record_defaults  # type: ignore[attr-defined]
        fields = [
            (name, hint, field(default=defaults[name]) if name in defaults else field())
            for name, hint in get_type_hints(cls).items()
        ]
        like = handler(make_dataclass(cls.__name__, fields, frozen=True, namespace={"__doc__": cls.__doc__}))
        return core_schema.no_info_after_validator_function(lambda value: cls(**vars(value)), like)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        read: Any = type(self).record_values  # type: ignore[attr-defined]
        return type(other) is type(self) and bool(read(self) == read(other))

    def __hash__(self) -> int:
        read: Any = type(self).record_values  # type: ignore[attr-defined]
        return hash((type(self), *read(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling: rebuild the record from its values, as in another process."""
        return type(self), _values(self)

    def __repr__(self) -> str:
        inner = ", ".join(f"{f}={getattr(self, f)!r}" for f in self.record_fields)  # type: ignore[attr-defined]
        return f"{type(self).__name__}({inner})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"BUG: {type(self).__name__}.{name} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"BUG: {type(self).__name__}.{name} cannot be removed")
