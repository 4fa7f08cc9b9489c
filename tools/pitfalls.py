"""Runs the pitfalls of examples/pitfalls, and writes docs/pitfalls.md from what was measured.

In: each `RULE.zexp` or `RULE.subject.zexp`, called after the pitfall's name in docs/lints, where it is a rule of `zlang
check`: one experiment with `let way = "wrong" | "right"`, the question as its title, expectations, and a `table … by
way` of which the first measure is what goes wrong. If the same trials give a wrong and a right answer, there is no
`way`, and the first two measures are these answers. The comment at its head has the question, an empty line, and what
is wrong and right. Out: runs and a database in a directory; the page.

    python tools/pitfalls.py run DIRECTORY [NAME…]     carry them out, one after the other; needs root
    python tools/pitfalls.py page DIRECTORY            write docs/pitfalls.md from the directory's database
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import measured
from zlang.check.check import Overrides
from zlang.errors import RunError
from zlang.lint.rules import EXCLUDED, RULES
from zlang.pipeline import programs, results
from zlang.report import ratios
from zlang.report.ratios import Ratio
from zlang.report.summary import Cell, Estimate, Summary, TableColumn
from zlang.report.wording import measured as shown

PITFALLS = measured.ROOT / "examples/pitfalls"
PAGE = measured.ROOT / "docs/pitfalls.md"
_WAYS = ("wrong", "right")
NAMES = {rule.lint.name: rule.lint.id for rule in RULES}
_PAGES = NAMES | {lint.name: lint.id for lint in EXCLUDED}
_ABOUT = """\
Each pitfall is a program in `examples/pitfalls`. It measures the same thing in two ways, `wrong` and `right`, in random
order, and expects them to differ. `make pitfalls` runs all of them, on zfs-fuse, on file systems on loop devices, and
on files of 256 MiB at most.

If a pitfall has a rule, `zlang check` warns of it, and the program allows the warning with a reason. Some rules are
about pitfalls that the language excludes. The ratio is `wrong` divided by `right`, with its 95 % interval. The interval
is omitted if its ends are equal in these digits, if one of the two values is zero, or if one was measured once.
"""


@dataclass(frozen=True, slots=True)
class Pitfall:
    """The measurements of a pitfall: its table, and the ratio of wrong to right by the table's first measure."""

    path: Path
    title: str
    run: str
    table: Summary
    ratio: Ratio | None = None
    note: str = ""


def every() -> list[Path]:
    """The programs, by name; what they import is none."""
    return sorted(path for path in PITFALLS.glob("*.zexp") if "\nexperiment " in path.read_text("utf-8"))


def rule(path: Path) -> str:
    """The name of the pitfall that a program shows."""
    return path.stem.partition(".")[0]


def of(name: str) -> list[Path]:
    """The programs that show a pitfall."""
    return [path for path in every() if rule(path) == name]


def anchor(path: Path) -> str:
    """The anchor of a program in the page."""
    return path.stem.replace(".", "")


def run(directory: Path, names: list[str]) -> int:
    """Carry out programs; 1 if any did not do what it expects."""
    chosen = [path for path in every() if not names or path.stem in names]
    codes = measured.carry_out(directory, {path: ("--order", order(path)) for path in chosen})
    for path, code in codes.items():
        if code:
            print(f"{path.stem}: exit code {code}", file=sys.stderr)
    return int(any(codes.values()))


def order(path: Path) -> str:
    """The order of its trials: everything is set up for each replicate, unless the program's head says otherwise."""
    return "planned" if "`--order planned`" in path.read_text("utf-8") else "blocked"


def page(db: Path) -> str:
    """The text of the page. Raises RunError where a pitfall was not measured."""
    return "\n".join(_page(db))


def _page(db: Path) -> Iterator[str]:
    runs = measured.runs(db)
    pitfalls = [_measured(db, path, runs) for path in every()]
    yield "<!-- Generated from a run of `make pitfalls` by tools/pitfalls.py: do not edit. -->\n"
    yield "# Pitfalls, measured\n"
    yield _ABOUT
    yield f"{measured.machine(db)}\n"
    columns = ("pitfall", "rule", "measured", "wrong", "right", "ratio")
    yield measured.table(columns, [_line(pitfall) for pitfall in pitfalls])
    for pitfall in pitfalls:
        yield from _section(db, pitfall)


def _measured(db: Path, path: Path, runs: dict[str, str]) -> Pitfall:
    checked = programs.check(programs.read(str(path)), Overrides())
    (experiment,) = checked.program.experiments.values()
    name = runs.get(experiment.name)
    if name is None:
        raise RunError(f"{path.stem} was not measured", "make pitfalls")
    table = results.tables(db, name)[0]
    pitfall = Pitfall(path, experiment.title, name, table)
    measure, *_ = _answers(table)
    if table.columns[0].name != "way" or "(" in measure.name:
        return pitfall  # what is one number of all trials has no interval
    query = f'select way, {measure.name} from "{experiment.name}".trials where run = ?'  # noqa: S608 - ours
    rows = [(way, value) for way, value in results.query(db, query, [name]).rows if isinstance(value, float | int)]
    if not all(value > 0 for _, value in rows):
        return pitfall  # of nothing there is no logarithm
    if measure.name.isidentifier():
        (comparison,), *_ = results.compare(db, ("right", "wrong"), "way", name, measure.name)
        return replace(pitfall, ratio=comparison.ratio, note=comparison.note)
    wrong, right = (
        dict[Hashable, list[float]]({measure: [math.log(value) for its, value in rows if its == way]}) for way in _WAYS
    )
    return replace(pitfall, ratio=ratios.unpaired(right, wrong))


def _line(pitfall: Pitfall) -> list[str]:
    measure, *values = _answers(pitfall.table)
    name = rule(pitfall.path)
    return [
        f"[{pitfall.path.stem}](#{anchor(pitfall.path)})",
        f"[{_PAGES[name]}](lints/{_PAGES[name]}.md)" if name in _PAGES else "",
        f"`{measure.name}`",
        *(shown(value, measure.unit) if value is not None else "" for value in values),
        _ratio(pitfall.ratio, *values),
    ]


def _answers(table: Summary) -> tuple[TableColumn, float | None, float | None]:
    """The results of the wrong and of the right program."""
    if table.columns[0].name == "way":
        cell_by_way = {row[0]: row[2] for row in table.rows}
        measure, cells = table.columns[2], [cell_by_way[way] for way in _WAYS]
    else:
        measure, cells = table.columns[1], list(table.rows[0][1:3])
    wrong, right = (cell.value if isinstance(cell, Estimate) else None for cell in cells)
    return measure, wrong, right


def _ratio(ratio: Ratio | None, wrong: float | None, right: float | None) -> str:
    if ratio is not None:
        return _interval(ratio.estimate(), _two_digits)
    if wrong and right:
        return _two_digits(wrong / right)
    return "0" if right else "∞" if wrong else ""


def _two_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"  # noqa: PLR2004 - from 10 on digits are whole


def _section(db: Path, pitfall: Pitfall) -> Iterator[str]:
    yield f"## {pitfall.path.stem}\n"
    yield f"**{pitfall.title}** [{pitfall.path.name}](../examples/pitfalls/{pitfall.path.name})\n"
    # The first line of the comment is the question.
    yield measured.remark(pitfall.path.read_text("utf-8")).partition("\n\n")[2]
    columns = pitfall.table.columns
    rows = [[_cell(cell, column.unit) for cell, column in zip(row, columns, strict=True)] for row in pitfall.table.rows]
    yield measured.table([column.name for column in columns], rows)
    yield from measured.verdicts(db, pitfall.run)
    if pitfall.note:
        yield f"\n{pitfall.note[0].upper()}{pitfall.note[1:]}."
    yield ""


def _cell(cell: Cell, unit: str) -> object:
    return _interval(cell, lambda value: shown(value, unit)) if isinstance(cell, Estimate) else cell


def _interval(estimate: Estimate, show: Callable[[float], str]) -> str:
    middle, low, high = (
        None if value is None else show(value) for value in (estimate.value, estimate.low, estimate.high)
    )
    if middle is None or low is None or low == high:
        return middle or ""
    return f"{middle} [{low} … {high}]"


def main(words: list[str]) -> int:
    """Do what the words say; gives the exit code."""
    match words:
        case ["run", directory, *names]:
            return run(Path(directory), names)
        case ["page", directory]:
            try:
                PAGE.write_text(page(Path(directory) / "results.duckdb"), "utf-8")
            except RunError as error:
                print(error, file=sys.stderr)
                return 1
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
