"""Where runs are: a directory in, its run folders out, in an order that does not depend on where they lie.

Rule: a run that is there twice (a copy of a folder) is taken once, from the folder whose journal is longer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zlang.errors import RunError
from zlang.run.events import Session
from zlang.run.folder import Folder
from zlang.run.journal import Lines

_MARKS = {"journal.jsonl", "plan.jsonl"}


@dataclass(frozen=True, slots=True)
class FolderSource:
    """One run's folder: when the run first began, and the name under which it did."""

    began: float
    run: str
    journal_size: int
    folder: Folder


def run_folders(runs: Path) -> tuple[list[FolderSource], list[FolderSource]]:
    """The run folders in or under a directory, oldest run first, and the copies that are left out."""
    if not runs.is_dir():
        raise RunError(f"there is no directory {runs}", "name the folder that holds the runs: zlang ingest DIR")
    result = sorted(map(_source, _paths(runs)), key=lambda s: (s.began, s.run, s.folder.path))
    best: dict[str, FolderSource] = {}
    for source in result:
        cached = best.get(source.run)
        if cached is None or source.journal_size > cached.journal_size:
            best[source.run] = source
    kept = [s for s in result if best[s.run] is s]
    return kept, [s for s in result if best[s.run] is not s]


def _paths(runs: Path) -> Iterator[Path]:
    for place, names, files in os.walk(runs):
        if not _MARKS.isdisjoint(files):
            names.clear()
            yield Path(place)
        else:
            names[:] = sorted(n for n in names if not n.startswith("."))


def _source(path: Path) -> FolderSource:
    folder = Folder(path.absolute())
    session = next((e for e in Lines(folder.journal) if isinstance(e, Session)), None)
    size = folder.journal.stat().st_size if folder.journal.is_file() else 0
    return FolderSource(session.t if session else 0.0, session.run if session else folder.name, size, folder)
