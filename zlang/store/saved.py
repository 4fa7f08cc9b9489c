"""Saved queries: those of zlang, and the user's own.

In: `@name`. Out: its SQL, with the default values of its parameters. A query is a file `name.sql` in `queries/` of the
working directory, in the user's configuration, or in this package; the first one found is used. Lines at its head that
begin with `--` describe it; `-- param least = 4KiB` gives a parameter a default. A parameter without a default is NULL
if the user gives no value; `-- param metric` is then the metric that a summary of the results shows first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from zlang import units
from zlang.errors import RunError, reason_of
from zlang.files import user_directory
from zlang.frozen import frozen
from zlang.suggest import did_you_mean
from zlang.units import UnitError

_PARAM = re.compile(r"--\s*param\s+(\w+)\s*(?:=\s*(.*?)\s*)?")


@frozen
class SavedQuery:
    """A query with a name: its description, its SQL, and its parameters with their defaults, if any, as written."""

    name: str
    about: str
    sql: str
    params: dict[str, str | None]
    place: str


def listed() -> list[SavedQuery]:
    """All saved queries, by name."""
    saved_queries: dict[str, SavedQuery] = {}
    for place, file in _files():
        name = file.name.removesuffix(".sql")
        if name not in saved_queries:
            saved_queries[name] = _read(name, place, file)
    return [saved_queries[name] for name in sorted(saved_queries)]


def named(name: str) -> SavedQuery:
    """The query of that name. Raises RunError."""
    for place, file in _files():
        if file.name == f"{name}.sql":
            return _read(name, place, file)
    candidates = sorted({file.name.removesuffix(".sql") for _, file in _files()})
    raise RunError(
        f"there is no saved query `@{name}`", did_you_mean(name, candidates) or "`zlang sql @` lists the saved queries"
    )


def value(text: str) -> object:
    """Parse the value of a parameter: `4KiB` is 4096, `90s` is 90.0, `70%` is 70.0, and `'16'` is a text."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    try:
        quantity = units.parse(text)
    except UnitError:
        return {"true": True, "false": False}.get(text, text)
    amount = quantity.amount * (100 if quantity.dimension == units.SHARE else 1)
    return int(amount) if amount.denominator == 1 else float(amount)


def _files() -> Iterator[tuple[str, Path]]:
    places: list[tuple[str, Path]] = [("here", Path("queries"))]
    if (home := user_directory("XDG_CONFIG_HOME", ".config")) is not None:
        places.append(("yours", home / "zlang" / "queries"))
    places.append(("zlang", Path(__file__).with_name("queries")))
    for text, place in places:
        with suppress(PermissionError):
            if place.is_dir():
                yield from [(text, file) for file in place.iterdir() if file.name.endswith(".sql")]


def _read(name: str, place: str, file: Path) -> SavedQuery:
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"the saved query {file} cannot be read: {reason_of(error)}") from None
    lines = [line.strip() for line in text.splitlines()]
    about = next((line.removeprefix("--").strip() for line in lines if line.startswith("--")), "")
    params = {match[1]: match[2] for line in lines if (match := _PARAM.fullmatch(line))}
    return SavedQuery(name, about, text, params, place)
