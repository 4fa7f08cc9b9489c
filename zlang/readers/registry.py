"""All readers, by the names that kinds use.

In: a name. Out: the function. Rule: a reader is there because it is written here; nothing is searched for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from zlang.readers import diskstats, fio, shell, vmstat
from zlang.readers.reading import Read

READERS: Final[Mapping[str, Read]] = {
    "diskstats": diskstats.read,
    "fio": fio.read,
    "shell": shell.read,
    "vmstat": vmstat.read,
}
