"""One experiment's share of what is staged: the columns of its wide table, and when it was last worked on."""

from __future__ import annotations

from dataclasses import dataclass, field

from zlang.store.columns import Columns


@dataclass(slots=True)
class StoredExperiment:
    """An experiment whose runs are being read; `table` is what its rows are staged as."""

    name: str
    table: str
    columns: Columns = field(default_factory=Columns)
    newest: tuple[float, str] = (0.0, "")
