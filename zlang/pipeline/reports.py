"""Write the report of a run."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from zlang.errors import unwritable
from zlang.files import write_output
from zlang.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from zlang.report.document import Document
    from zlang.report.provenance import RecordedRun


def report(db: Path, run: str | None, runs: Path, place: Path | None) -> Document:
    """The report of a run, with paths relative to `place` (None: a directory beside `runs`). Raises RunError."""
    from zlang.report import compose, known_runs
    from zlang.store.query import held

    with held(db):
        trials = known_runs.trials_of(db, run)
        return compose.document_of(trials, _load_context((trials.run, *trials.others), runs, place))


def _load_context(names: Sequence[str], runs: Path, place: Path | None) -> RecordedRun | None:
    """The facts of the first of some runs beside its trials, if its folder exists."""
    from zlang.report.provenance import RecordedRun
    from zlang.run import outputs
    from zlang.run.folder import Folder

    folder = Folder((runs / names[0]).absolute())
    if not folder.plan.is_file():
        return None
    plan = folder.read_plan()
    folders = "runs" if place is None else os.path.relpath(folder.path.parent, place.absolute())
    packed = frozenset(
        f"{run}/{out}"
        for run in names
        for out in outputs.packed_in(runs / run)
        if not os.path.isdir(f"{runs}/{run}/{out}")  # noqa: PTH112 - of each trial
    )
    return RecordedRun(names[0], plan, folders, packed)


def write_report(db: Path, run: str | None, runs: Path, form: str, target: Path) -> list[Path]:
    """Write the report of a run as a page, Markdown, or a directory of CSV files; return the files. Raises RunError."""
    from zlang.report import page

    _, write, is_directory = page.FORMATS[form]
    written = write(report(db, run, runs, target if is_directory else target.parent))
    texts = {target: written} if isinstance(written, str) else {target / name: text for name, text in written.items()}
    try:
        if is_directory:
            target.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            write_output(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise unwritable(target, error) from None
    return list(texts)


def write_bundle(db: Path, run: str | None, runs: Path, target: Path) -> None:
    """Write the report of a run and its run folders as a ZIP archive, in which the links lead to the files.

    Raises RunError.
    """
    import tempfile

    from zlang.report import known_runs, page

    trials = known_runs.trials_of(db, run)
    text = page.html(report(db, run, runs, None)).encode("utf-8", "replace")
    try:
        with tempfile.TemporaryFile(dir=target.absolute().parent) as archive:
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as bundle:
                bundle.writestr(zipfile.ZipInfo("report.html"), text, zipfile.ZIP_DEFLATED)
                for name in (trials.run, *trials.others):
                    for path in _regular_files(runs / name):
                        bundle.write(path, Path("runs", name, path.relative_to(runs / name)))
            archive.seek(0)
            write_output(target, iter(lambda: archive.read(1 << 20), b""))
    except OSError as error:
        raise unwritable(target, error) from None


def _regular_files(folder: Path) -> Iterator[Path]:
    """The regular files of a run folder, in order, without links."""
    for directory, names, files in os.walk(folder):
        names.sort()
        for name in sorted(files):
            path = Path(directory, name)
            if path.is_file() and not path.is_symlink():
                yield path
