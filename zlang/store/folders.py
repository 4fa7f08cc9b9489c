"""The run folders in a directory, in an order that does not depend on their paths.

Rules: a run that exists twice (a copy of a folder) is read once, from the folder with the longer journal. The parts of
one plan that scripts carried out on several machines are one run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from zlang.errors import RunError
from zlang.run.events import Session
from zlang.run.folder import Folder
from zlang.run.journal import Lines
from zlang.store import joining

_MARKS = {"journal.jsonl", "plan.jsonl"}


@dataclass(frozen=True, slots=True)
class FolderSource:
    """One run's folder, with the time when the run first began and its name at that time."""

    began: float
    run: str
    journal_size: int
    folder: Folder
    others: tuple[Folder, ...] = ()
    """The folders of other machines that took part in the same run with their own scripts."""


def run_folders(runs: Path) -> tuple[list[FolderSource], list[FolderSource]]:
    """The run folders in or below a directory, oldest run first, and the copies that are ignored."""
    if not runs.is_dir():
        raise RunError(f"there is no directory {runs}", "give the directory that contains the runs: zlang ingest DIR")
    result = sorted(map(_source, _paths(runs)), key=lambda s: (s.began, s.run, s.folder.path))
    groups: dict[str, list[FolderSource]] = {}
    for source in result:
        groups.setdefault(source.run, []).append(source)
    kept = [_whole(group) for group in groups.values()]
    taken = {folder.path for source in kept for folder in (source.folder, *source.others)}
    return kept, [source for source in result if source.folder.path not in taken]


def _whole(group: Sequence[FolderSource]) -> FolderSource:
    """The folder of a run with the longest journal, with those of the machines that carried out its other parts."""
    longest = sorted(group, key=lambda source: -source.journal_size)
    parts: dict[tuple[str, str], FolderSource] = {}
    for source in longest if len(group) > 1 else ():
        parts.setdefault(_part(source.folder), source)
    plan, own = _part(longest[0].folder) if parts else ("", "")
    others = [source.folder for (of, part), source in parts.items() if plan and of == plan and part != own]
    return replace(longest[0], others=tuple(others))


def _part(folder: Folder) -> tuple[str, str]:
    """The plan and the machine that carried out a part of it; empty if the folder has the whole run."""
    try:
        header = folder.read_plan().header
    except RunError:
        return "", ""
    return (header.plan, header.part) if joining.is_part(header) else ("", "")


def _paths(runs: Path) -> Iterator[Path]:
    for place, names, files in os.walk(runs):
        if not _MARKS.isdisjoint(files):
            names.clear()
            yield Path(place)
        else:
            names[:] = sorted(n for n in names if not n.startswith("."))


def _source(path: Path) -> FolderSource:
    folder = Folder(path.absolute())
    session = None
    with suppress(RunError):  # an unreadable journal is reported when the run is staged
        session = next((e for e in Lines(folder.journal) if isinstance(e, Session)), None)
    size = folder.journal.stat().st_size if folder.journal.is_file() else 0
    return FolderSource(session.t if session else 0.0, session.run if session else folder.name, size, folder)
