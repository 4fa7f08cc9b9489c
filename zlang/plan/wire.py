"""A plan as JSON lines: `Plan` -> lines, and lines -> `Plan`.

The first line is `{"header": …}`; then one `{"setup": …}` or `{"trial": …}` a line, in plan order. The line
`{"outlook": …}`, the estimate for one machine, is not part of the plan: it may follow the header, and is skipped when a
plan is read. Rule: `load(dump(plan))` gives the same items; neither holds more than one item at a time; input that is
not a complete plan in this format is refused with one sentence that gives the place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import orjson

from zlang.errors import RunError
from zlang.hints import TYPE_CHECKING
from zlang.plan.estimate import Outlook
from zlang.plan.plan import Header, Plan, Setup, Trial, trial_place
from zlang.record import Record
from zlang.text import visible_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT = 2
_NAMES_IN_FORMAT_1 = {"spoils": "invalidates", "natures": "traits", "load": "footprint"}
"""The names of fields of setups and trials in format 1, and their current names."""
_HINT = "create the plan again with `zlang plan` or `zlang run`"


def dump(plan: Plan, outlook: Outlook | None = None) -> Iterator[bytes]:
    """Yield the lines of a plan, each with its newline."""
    yield _line("header", plan.header)
    if outlook is not None:
        yield _line("outlook", outlook)
    for item in plan.items():
        yield _line("setup" if isinstance(item, Setup) else "trial", item)


def load(lines: Callable[[], Iterable[bytes]], name: str) -> Plan:
    """Read a plan from `lines`, which reopens the file at each call; messages call it `name`."""
    header = _header(lines, name)
    return Plan(
        replace(header, format=FORMAT),
        lambda: _items(lines, header, name, ()),
        lambda done: _items(lines, header, name, done),
    )


def schema() -> dict[str, object]:
    """The JSON Schema of a line."""
    result = _adapter().json_schema()
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"A line of a plan, format {FORMAT}"}
    return {**about, **{name: value for name, value in result.items() if name not in about}}


@dataclass(frozen=True, slots=True)
class _Line:
    """One of these: the header in the first line, the outlook for this machine, then setups and trials."""

    header: Header | None = None
    outlook: Outlook | None = None
    setup: Setup | None = None
    trial: Trial | None = None


_DELETE = b"\x7f"
"""The one invisible character of ASCII that JSON does not escape."""


_WITHOUT_HISTORY = b',"follows":0,"history":"","keeps":[]}}\n'
"""The last fields of most trials, which are left out: a plan can have a million lines, and a script repeats them."""
_BEGINNING = re.compile(rb'\{"trial":\{"number":\d+,"identity":"(\w+)","replicate":(\d+),')


def _line(tag: str, item: Header | Outlook | Setup | Trial) -> bytes:
    line = orjson.dumps({tag: item}, default=_jsonable, option=orjson.OPT_APPEND_NEWLINE)
    if line.endswith(_WITHOUT_HISTORY):
        line = line[: -len(_WITHOUT_HISTORY)] + b"}}\n"
    return line if line.isascii() and _DELETE not in line else visible_json(line.decode()).encode()


def _jsonable(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Record):
        return value.as_dict()
    message = f"BUG: a plan holds a {type(value).__name__}"
    raise TypeError(message)


@cache
def _adapter() -> TypeAdapter[_Line]:
    from pydantic import TypeAdapter

    return TypeAdapter(_Line)


@lru_cache(maxsize=256)
def _parse(line: bytes, number: int, name: str, written_in: int = FORMAT) -> _Line:
    """Parse a line. The last ones are kept: lanes of a run need the same setups, and each reads the plan."""
    if not line.endswith(b"\n"):
        message = f"{name} ends in the middle of line {number}"
        raise RunError(message, _HINT)
    try:
        return _adapter().validate_json(line if written_in == FORMAT else _with_present_names(line), strict=True)
    except ValueError as error:
        message = f"{name}, line {number}, is not a line of a plan: {_first_fault(error)}"
        raise RunError(message, _HINT) from error


def _with_present_names(line: bytes) -> bytes:
    """Rename the fields of a line of format 1 to their current names."""
    whole = orjson.loads(line)
    for part in whole.values() if isinstance(whole, dict) else ():
        for before, now in _NAMES_IN_FORMAT_1.items():
            if isinstance(part, dict) and before in part:
                part[now] = part.pop(before)
    return orjson.dumps(whole)


def _first_fault(error: ValueError) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg']}" if place else fault["msg"]


def _is_done(line: bytes, done: Container[str]) -> bool:
    """Whether a line is that of a trial at one of these places, on whose data no other trial depends."""
    beginning = _BEGINNING.match(line)
    if beginning is None or b',"follows":' in line or not line.endswith(b"}}\n"):
        return False
    return trial_place(beginning[1].decode(), int(beginning[2])) in done


def _header(lines: Callable[[], Iterable[bytes]], name: str) -> Header:
    for line in lines():
        header = _parse(line, 1, name).header
        if header is None:
            break
        if header.format not in {1, FORMAT}:
            message = f"{name} has plan format {header.format}; this zlang reads formats 1 and {FORMAT}"
            raise RunError(message, "use the version of zlang that created the plan, or create the plan again")
        return header
    message = f"{name} does not begin with a plan header"
    raise RunError(message, _HINT)


def _items(
    lines: Callable[[], Iterable[bytes]], header: Header, name: str, done: Container[str]
) -> Iterator[Setup | Trial]:
    trials = 0
    for number, line in enumerate(lines(), 1):
        if number == 1:
            continue
        if done and _is_done(line, done):
            trials += 1
            continue
        parsed = _parse(line, number, name, header.format)
        if parsed.setup is not None:
            yield parsed.setup
        elif parsed.trial is not None:
            trials += 1
            yield parsed.trial
        elif parsed.outlook is None:
            message = f"{name}, line {number}, is neither a setup nor a trial"
            raise RunError(message, _HINT)
    if trials != header.trials:
        message = f"{name} is incomplete: it has {trials} of {header.trials} trials"
        raise RunError(message, _HINT)
