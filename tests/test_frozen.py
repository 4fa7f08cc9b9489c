"""Check that frozen dataclasses behave as those of the standard library."""

from __future__ import annotations

import pickle
from dataclasses import asdict, dataclass
from dataclasses import field as model_field
from pathlib import Path

import orjson
import pytest
from pydantic import TypeAdapter

from zlang.frozen import field, frozen, replace
from zlang.record import Record


@frozen
class Place:
    """One with everything that fields can be."""

    path: Path
    names: tuple[str, ...]
    depth: int = 0
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """The same, as the standard library makes it."""

    path: Path
    names: tuple[str, ...]
    depth: int = 0
    tags: dict[str, str] = model_field(default_factory=dict)


@frozen
class Alone:
    """A class with a single field."""

    path: str


class Frequent(Record, is_frequent=True):
    """A record with an `__init__` of its own."""

    first: int
    second: int = 2


PLACE = Place(Path("a"), ("x", "y"), tags={"k": "v"})


def test_frozen_records_behave_like_dataclasses() -> None:
    model = Model(Path("a"), ("x", "y"), tags={"k": "v"})
    assert repr(PLACE) == repr(model).replace("Model", "Place")
    assert asdict(PLACE) == asdict(model)
    assert orjson.dumps(PLACE, default=str) == orjson.dumps(model, default=str)
    assert TypeAdapter(Place).validate_json(b'{"path": "a", "names": ["x", "y"], "tags": {"k": "v"}}') == PLACE
    assert TypeAdapter(Place).json_schema() | {"title": ""} == TypeAdapter(Model).json_schema() | {
        "title": "",
        "description": Place.__doc__,
    }
    assert pickle.loads(pickle.dumps(PLACE)) == PLACE
    assert pickle.loads(pickle.dumps(Alone("a"))) == Alone("a")
    match PLACE:
        case Place(path, names, depth=0):
            assert (path, names) == (Path("a"), ("x", "y"))


@pytest.mark.parametrize("earlier", [0, 100])
def test_objects_are_made_in_the_same_way_however_many_there_are(earlier: int) -> None:
    @frozen
    class Point:
        """A point of a plane."""

        x: int
        y: int = 2
        names: list[str] = field(default_factory=list)

    for n in range(earlier):
        Point(n)
    assert Point(1) == Point(x=1, y=2, names=[]) == Point(1, names=[])
    assert Point(1).names is not Point(1).names
    calls: list[tuple[tuple[int, ...], dict[str, int], str]] = [
        ((), {}, "missing 1 required positional argument: 'x'"),
        ((), {"y": 1, "z": 1}, "unexpected keyword argument 'z'"),
        ((1, 2, 3, 4), {}, "takes from 2 to 4 positional arguments but 5 were given"),
        ((1,), {"x": 1}, "multiple values for argument 'x'"),
    ]
    for values, named, message in calls:
        with pytest.raises(TypeError, match=message):
            Point(*values, **named)  # type: ignore[arg-type]
    assert Point(3).x == 3


def test_two_are_equal_if_their_classes_and_values_are() -> None:
    assert replace(PLACE, depth=1) != PLACE
    assert replace(PLACE, depth=1) == Place(Path("a"), ("x", "y"), 1, {"k": "v"})
    others: list[object] = [Model(PLACE.path, PLACE.names, tags=PLACE.tags), PLACE.path]
    assert PLACE not in others
    assert len({Alone("a"), Alone("a"), Alone("b")}) == 2


def test_each_has_its_own_default_that_is_made() -> None:
    first, other = Place(Path("a"), ()), Place(Path("a"), ())
    assert first == other
    assert first.tags is not other.tags


def test_nothing_of_it_is_changed() -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        PLACE.depth = 1  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot be removed"):
        del PLACE.depth
    with pytest.raises(AttributeError):
        PLACE.other = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("made", [Place, Alone, Frequent])
def test_wrong_arguments_are_refused(made: type) -> None:
    with pytest.raises(TypeError):
        made()
    with pytest.raises(TypeError):
        made("a", ("b",), 1, {}, 2)
    with pytest.raises(TypeError):
        made("a", other=1)


def test_a_frequent_record_is_as_any_other() -> None:
    assert Frequent(1) == Frequent(first=1, second=2) == Frequent(3).replace(first=1)
    assert repr(Frequent(1)) == "Frequent(first=1, second=2)"
    assert pickle.loads(pickle.dumps(Frequent(1, 3))) == Frequent(1, 3)
