"""One experiment in the staging: the columns of its wide table, and the time of its latest activity."""

from __future__ import annotations

from dataclasses import dataclass, field

from zlang.store.columns import Columns


@dataclass(slots=True)
class StoredExperiment:
    """An experiment whose runs are being read; `table` is the name under which its rows are staged."""

    name: str
    table: str
    columns: Columns = field(default_factory=Columns)
    newest: tuple[float, str] = (0.0, "")
