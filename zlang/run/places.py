"""Paths of run folders: a directory, and perhaps a name -> the paths of folders that have a plan."""

from __future__ import annotations

from pathlib import Path

from zlang.errors import RunError
from zlang.suggest import did_you_mean

FINDINGS = "findings.json"
"""The file in a run folder with the findings about the experiment on the machine that ran it."""


def every(runs: Path) -> list[Path]:
    """All run folders in a directory, by name; absolute."""
    return [path.parent.absolute() for path in sorted(runs.glob("*/plan.jsonl"))]


def find(runs: Path, run: str | None = None) -> Path:
    """Find a run by its name in `runs` or by the path of its folder; without either, the latest one in `runs`."""
    if run is None:
        paths = sorted(every(runs), key=lambda path: (path / "plan.jsonl").stat().st_mtime)
        if not paths:
            message = f"there are no runs in the directory {runs}"
            raise RunError(message, "choose another directory with --runs")
        return paths[-1]
    for path in (runs / run, Path(run)):
        if (path / "plan.jsonl").is_file():
            return path.resolve()
    message = f"there is no run `{run}` in {runs}"
    near = did_you_mean(run, [path.name for path in every(runs)])
    raise RunError(message, near or "`zlang status` lists the runs; you can also give the path of a run folder")
