"""Run folders: a directory in, its run folders out, in an order that does not depend on their paths.

Rules: a run that exists twice (a copy of a folder) is taken once, from the folder with the longer journal. The parts of
one plan that scripts of several machines carried out are one run.
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
    """One run's folder: when the run first began, and the name under which it did."""

    began: float
    run: str
    journal_size: int
    folder: Folder
    others: tuple[Folder, ...] = ()
    """The folders of other machines that took part in the same run with their own scripts."""


def run_folders(runs: Path) -> tuple[list[FolderSource], list[FolderSource]]:
    """The run folders in or under a directory, oldest run first, and the copies that are left out."""
    if not runs.is_dir():
        raise RunError(f"there is no directory {runs}", "name the folder that holds the runs: zlang ingest DIR")
    result = sorted(map(_source, _paths(runs)), key=lambda s: (s.began, s.run, s.folder.path))
    groups: dict[str, list[FolderSource]] = {}
    for source in result:
        groups.setdefault(source.run, []).append(source)
    kept = [_whole(group) for group in groups.values()]
    taken = {folder.path for source in kept for folder in (source.folder, *source.others)}
    return kept, [source for source in result if source.folder.path not in taken]


def _whole(group: Sequence[FolderSource]) -> FolderSource:
    """The folder of a run with the longest journal, with those of other machines that did other parts of it."""
    longest = sorted(group, key=lambda source: -source.journal_size)
    parts: dict[tuple[str, str], FolderSource] = {}
    for source in longest if len(group) > 1 else ():
        parts.setdefault(_part(source.folder), source)
    plan, own = _part(longest[0].folder) if parts else ("", "")
    others = [source.folder for (of, part), source in parts.items() if plan and of == plan and part != own]
    return replace(longest[0], others=tuple(others))


def _part(folder: Folder) -> tuple[str, str]:
    """The plan, and the machine that did its part of it; empty where the folder has all that was done."""
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
    with suppress(RunError):  # who stages the run says that its journal cannot be read
        session = next((e for e in Lines(folder.journal) if isinstance(e, Session)), None)
    size = folder.journal.stat().st_size if folder.journal.is_file() else 0
    return FolderSource(session.t if session else 0.0, session.run if session else folder.name, size, folder)
