"""Runs the studies of examples/studies that can run here, and writes docs/studies.md from what was measured.

In: each `NUMBER-subject.zexp` with a profile `small`, and `NUMBER-subject.sql` beside it: what was measured beside what
was published, and, as comments on top, whether both agree and why. Out: runs and a database in a directory; the page.

    python tools/studies.py run DIRECTORY [NUMBER…]     carry them out, one after the other; needs root
    python tools/studies.py page DIRECTORY              write docs/studies.md from the directory's database
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from private_daemon import started  # noqa: E402 - found only by the lines above

from zlang import pipeline  # noqa: E402
from zlang.check.check import Checked, Overrides  # noqa: E402

STUDIES = ROOT / "examples/studies"
PAGE = ROOT / "docs/studies.md"
ARC_MB = 256
# What the ARC does not hold comes from the disk then, not from the page cache of the pool's files.
OPTIONS = ("--disable-block-cache",)
_COMMENT = re.compile(r"(?:^(?:#|--).*\n)+", re.MULTILINE)
_SIGNS = {"pass": "as expected", "fail": "**not** as expected", "cannot tell": "it cannot be told"}
_ABOUT = """\
The experiments of five published studies are programs in `examples/studies`. As they stand they are plans faithful to
the originals: their sizes, times and machines. With `--profile small` they are scaled to what any Linux machine does
in a minute or two, on zfs-fuse, ext4 and loop devices. `make studies` carries those out, and here ours stand beside
theirs. Our machine has nothing in common with theirs, and it was not idle: what can be compared is the direction of an
effect, and its order of magnitude.
"""


def every() -> list[Path]:
    """The studies, by number."""
    return sorted(STUDIES.glob("[0-9]*.zexp"), key=lambda path: [int(n) for n in path.stem.split("-")[0].split(".")])


def runnable() -> list[Path]:
    """The studies that can run here."""
    return [path for path in every() if "\nprofile small " in path.read_text("utf-8")]


def run(directory: Path, numbers: list[str]) -> int:
    """Carry out studies; the exit code is that of the worst."""
    directory.mkdir(parents=True, exist_ok=True)
    worst = 0
    with started(directory.resolve(), ARC_MB, *OPTIONS) as here:
        for path in runnable():
            if not numbers or path.name.split("-")[0] in numbers:
                print(f"== {path.stem}", flush=True)
                words = here.zlang_command("run", str(path), "--profile", "small", "--yes")
                done = subprocess.run(words, stdin=subprocess.DEVNULL, check=False)
                # That an expectation does not hold here (4, 5) is a result, too: the page says so.
                worst = max(worst, done.returncode if done.returncode < 4 else 0)  # noqa: PLR2004
    return worst


def page(db: Path) -> str:
    """The text of the page."""
    return "\n".join(_page(db))


def _page(db: Path) -> Iterator[str]:
    yield "<!-- Generated from a run of `make studies` by tools/studies.py: do not edit. -->\n"
    yield "# Five studies, measured again\n"
    yield _ABOUT
    yield f"{_machine(db)}\n"
    for path in every():
        yield from _study(path, db)


def _machine(db: Path) -> str:
    asked = "select name, any_value(value) from facts group by name"
    facts = {str(name): str(value) for name, value in pipeline.query(db, asked).rows}
    ((first, last),) = pipeline.query(db, "select min(started), max(last_event) from runs").rows
    assert isinstance(first, datetime)
    assert isinstance(last, datetime)
    cpu = re.findall(r"^model name\s*: (.*)$", facts["cpu"], re.MULTILINE)
    memory = int(re.findall(r"^MemTotal:\s*(\d+)", facts["memory"], re.MULTILINE)[0]) / 2**20
    kernel = facts["kernel"].split()[1]
    tools = ", ".join(facts[tool].replace("\t", " ") for tool in ("zfs", "fio") if tool in facts)
    return (
        f"Measured on {first:%Y-%m-%d} from {first:%H:%M} to {last:%H:%M} UTC: {len(cpu)} × {cpu[0]}, {memory:.0f} GiB "
        f"of memory, a virtual disk, Linux {kernel}, an ARC of {ARC_MB} MiB, {tools}."
    )


def _study(path: Path, db: Path) -> Iterator[str]:
    text = path.read_text("utf-8")
    checked = pipeline.check(pipeline.read(str(path)), Overrides())
    (experiment,) = checked.program.experiments.values()
    yield f"## {path.stem.split('-')[0]} {experiment.title}\n"
    yield f"[{path.name}](../examples/studies/{path.name}), {_size(checked)}.\n"
    head = _COMMENT.match(text)
    assert head, path
    # The first line of the comment is the question, which is the heading here.
    _, _, told = head[0].partition("\n#\n")
    yield re.sub(r"^# ?", "", told, flags=re.MULTILINE)
    query = path.with_suffix(".sql")
    known = pipeline.query(db, "select experiment, arg_max(run, started) from runs group by experiment").rows
    run = {str(name): str(run) for name, run in known}.get(experiment.name)
    if not query.exists() or run is None:
        yield "It was not carried out here.\n"
        return
    sql = query.read_text("utf-8")
    answer = pipeline.query(db, sql)
    yield _table(answer.columns, answer.rows)
    for judged in pipeline.judge(db, run):
        yield f"- {judged.expectation.title}: {_SIGNS[judged.verdict]}"
    remark = _COMMENT.match(sql)
    assert remark, query
    yield "\n" + re.sub(r"^-- ?", "", remark[0], flags=re.MULTILINE)


def _size(checked: Checked) -> str:
    (experiment,) = checked.program.experiments.values()
    header = pipeline.plan(checked, experiment, pipeline.DEFAULT_SEED, Overrides()).plan.header
    return f"{header.points} points, {header.trials} trials"


def _table(columns: tuple[str, ...], rows: tuple[tuple[object, ...], ...]) -> str:
    """A table of Markdown."""
    lines = [columns, tuple("---" for _ in columns), *(tuple(map(_cell, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,.10g}" if isinstance(value, float | int) else str(value)


def main(words: list[str]) -> int:
    """Do what the words say; gives the exit code."""
    match words:
        case ["run", directory, *numbers]:
            return run(Path(directory), numbers)
        case ["page", directory]:
            PAGE.write_text(page(Path(directory) / "results.duckdb"), "utf-8")
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
