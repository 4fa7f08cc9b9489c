"""The logs that fio writes of single operations or intervals (`--write_lat_log="$OUT/fio"` and so on).

In: the directory of an attempt, and the names in it. Out: its logs, each with the format of its lines.
https://fio.readthedocs.io/en/latest/fio_doc.html#log-file-formats
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from zlang.files import open_regular
from zlang.readers.reading import Log, LogFormat

_NAME = re.compile(r".*_(?P<kind>lat|clat|slat|bw|iops)(?:\.(?P<job>\d+))?\.log")
_LINES = ("ms", "value", "direction", "block")
"""The fields of every line; before 3.36 a priority follows them, and `log_offset` puts the offset between."""
_WITH_OFFSET = 6
_DIRECTIONS = ("read", "write", "trim")
_KIB = 1024


def may_be_log(name: str) -> bool:
    """Whether a file with this name can be a log."""
    return name.endswith(".log")


def find_logs(directory: Path, names: Iterable[str]) -> Iterator[Log]:
    """The logs in a directory that are not empty, of the files with these names."""
    for name in sorted(filter(may_be_log, names)):
        match = _NAME.fullmatch(name)
        if match is None:
            continue
        try:
            with open_regular(directory / name) as file:
                count = file.readline(200).count(b",") + 1
        except OSError:
            continue
        if count >= len(_LINES):
            kind = match["kind"]
            fields = (*_LINES, "offset") if count >= _WITH_OFFSET else _LINES
            unread = ("",) * (count - len(fields))
            line = LogFormat("fio", (*fields, *unread), _DIRECTIONS, scale=_KIB if kind == "bw" else 1)
            yield Log(directory / name, kind, int(match["job"] or 1), line)
