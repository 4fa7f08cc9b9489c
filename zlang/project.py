"""The project file `zlang.toml`, in the directory of the programs or in one above it."""

from __future__ import annotations

import os
from pathlib import Path

from zlang.errors import RunError, reason_of
from zlang.hints import Any
from zlang.suggest import did_you_mean

FILE = "zlang.toml"
TABLES = ("hosts", "lint")
_LONGEST = 1 << 20


def find(directory: Path) -> Path | None:
    """Find the project file that applies to programs in a directory."""
    start = Path(os.path.abspath(directory))  # noqa: PTH100 - `Path.absolute` keeps `..`, whose parents are not above it
    return next((place / FILE for place in (start, *start.parents) if (place / FILE).is_file()), None)


def table(path: Path, name: str) -> dict[str, Any]:
    """Read one table of a project file; a missing one is empty. Raises RunError."""
    import tomllib

    from zlang.files import read_regular

    try:
        tables = tomllib.loads(read_regular(path.resolve(), _LONGEST).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"cannot read {path}: {reason_of(error)}") from None
    for other in tables:
        if other not in TABLES:
            the_tables = f"the tables are {' and '.join(f'[{each}]' for each in TABLES)}"
            raise RunError(f"{path}: unknown table `{other}`", did_you_mean(other, TABLES) or the_tables)
    value = tables.get(name, {})
    if not isinstance(value, dict):
        raise RunError(f"{path}: `{name}` must be a table, written [{name}]")
    return value
