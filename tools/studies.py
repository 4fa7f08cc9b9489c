"""Runs the studies of examples/studies that can run here, and writes docs/studies.md from what was measured.

In: each `NUMBER-subject.zexp` with a profile `small`, and `NUMBER-subject.sql` beside it: what was measured beside what
was published, and, as comments on top, whether both agree and why. Out: runs and a database in a directory; the page.

    python tools/studies.py run DIRECTORY [NUMBER…]     carry them out, one after the other; needs root
    python tools/studies.py page DIRECTORY              write docs/studies.md and docs/studies/*.svg from its database
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import measured
from zlang.check.check import Checked, Overrides
from zlang.check.questions import Plot, Table
from zlang.pipeline import plans, programs, results
from zlang.report import answers, known_runs
from zlang.report.clauses import stored_clauses
from zlang.report.drawn import Drawn

STUDIES = measured.ROOT / "examples/studies"
PAGE = measured.ROOT / "docs/studies.md"
PICTURES = measured.ROOT / "docs/studies"
_ABOUT = """\
The experiments of five published studies are programs in `examples/studies`. Unchanged, they are plans that follow
the originals in size, time and machines. With `--profile small` they take a minute or two on any Linux machine, with
zfs-fuse, ext4 and loop devices. `make studies` runs those, and this page compares their results with the published
ones (`theirs_…`). Our machine has nothing in common with theirs, so only the direction of an effect and its order of
magnitude can be compared.
"""


def every() -> list[Path]:
    """The studies, by number."""
    return sorted(STUDIES.glob("[0-9]*.zexp"), key=lambda path: [int(n) for n in path.stem.split("-")[0].split(".")])


def runnable() -> list[Path]:
    """The studies that can run here."""
    return [path for path in every() if "\nprofile small " in path.read_text("utf-8")]


def run(directory: Path, numbers: list[str]) -> int:
    """Carry out studies; the exit code is that of the worst."""
    chosen = [path for path in runnable() if not numbers or path.name.split("-")[0] in numbers]
    words = ("--profile", "small", "--order", "blocked")
    codes = measured.carry_out(directory, dict.fromkeys(chosen, words)).values()
    # That an expectation does not hold here (4, 5) is a result, too: the page says so.
    return max((code for code in codes if code < 4), default=0)  # noqa: PLR2004


def page(db: Path) -> str:
    """The text of the page."""
    return "\n".join(_page(db))


def _page(db: Path) -> Iterator[str]:
    yield "<!-- Generated from a run of `make studies` by tools/studies.py: do not edit. -->\n"
    yield "# Five studies, measured again\n"
    yield _ABOUT
    yield f"{measured.machine(db)}\n"
    for path in every():
        yield from _study(path, db)


def _study(path: Path, db: Path) -> Iterator[str]:
    checked = programs.check(programs.read(str(path)), Overrides())
    (experiment,) = checked.program.experiments.values()
    yield f"## {path.stem.split('-')[0]} {experiment.title}\n"
    yield f"[{path.name}](../examples/studies/{path.name}), {_size(checked)}.\n"
    # The first line of the comment is the question, which is the heading here.
    yield measured.remark(path.read_text("utf-8")).partition("\n\n")[2]
    query = path.with_suffix(".sql")
    run = measured.runs(db).get(experiment.name)
    if not query.exists() or run is None:
        yield "It was not carried out here.\n"
        return
    sql = query.read_text("utf-8")
    answer = results.query(db, sql)
    yield measured.table(answer.columns, answer.rows)
    yield f"![{_plot(db, run)[0].plot.text}]({PICTURES.name}/{path.stem}.svg)\n"
    yield from measured.verdicts(db, run)
    yield "\n" + measured.remark(sql)


def draw(db: Path) -> None:
    """Draw what was measured of each study, in place of the pictures that are there."""
    PICTURES.mkdir(exist_ok=True)
    for old in PICTURES.glob("*.svg"):
        old.unlink()
    for path in runnable():
        checked = programs.check(programs.read(str(path)), Overrides())
        (name,) = checked.program.experiments
        run = measured.runs(db).get(name)
        if run is not None:
            results.write_plots(_plot(db, run), PICTURES / f"{path.stem}.svg")


def _plot(db: Path, run: str) -> list[Drawn]:
    """The plots that a study's experiment asks for, or one of what stands first in its table."""
    trials = known_runs.trials_of(db, run)
    plots = answers.plots(trials)
    if plots:
        return plots
    table, *_ = stored_clauses(trials, "table", Table)
    (measure, *_), (*others, over) = table.measures, table.by
    # The lines of two factors can be told apart.
    facet = others.pop(0) if len(others) > 2 else None  # noqa: PLR2004
    by = f" by {', '.join(factor.name for factor in others)}" if others else ""
    text = f"plot {measure.name} over {over.name}{by}{f', facet {facet.name}' if facet else ''}"
    return answers.drawn(trials, Plot(text, (measure,), over, tuple(others), facet))


def _size(checked: Checked) -> str:
    (experiment,) = checked.program.experiments.values()
    header = plans.plan(checked, experiment, plans.DEFAULT_SEED, Overrides()).plan.header
    return f"{header.points} points, {header.trials} trials"


def main(words: list[str]) -> int:
    """Do what the words say; gives the exit code."""
    match words:
        case ["run", directory, *numbers]:
            return run(Path(directory), numbers)
        case ["page", directory]:
            db = Path(directory) / "results.duckdb"
            PAGE.write_text(page(db), "utf-8")
            draw(db)
            print("Remarks at the head of examples/studies/*.sql contain figures: compare them with the new tables.")
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
