"""The trials in a report: each trial with its levels, its figures and links to its raw files.

In: the trials in a database, and the plan of their run, if its folder exists. Out: the points, to which other tables
link, and a table of all trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from urllib.parse import quote

from zlang.plan.plan import Trial
from zlang.report import blocks, clauses, document, wording
from zlang.report.document import Block, Cell, Link
from zlang.report.formulas import Trials
from zlang.report.provenance import RecordedRun
from zlang.report.summary import cells
from zlang.run import outputs
from zlang.store.query import run_query
from zlang.store.store import quoted


@dataclass(frozen=True, slots=True)
class ListedPoint:
    """The trials of one point, and the levels of all factors by their column names.

    If it `is_listed`, the report lists its trials, and links lead to its `anchor`.
    """

    number: int
    is_listed: bool
    levels: dict[str, object]
    rows: tuple[dict[str, object], ...]

    @property
    def anchor(self) -> str:
        """The anchor of the point, for links."""
        return f"point-{self.number}"


_OF_TRIALS = ("run", "trial", "replicate", "number", "position", "host", "started", "valid", "why_not", "cache_state")


def points_of(trials: Trials, metric: str) -> list[ListedPoint]:
    """All trials by point, in plan order."""
    factors = [name for name, _ in trials.factors.values()]
    metrics = _shown_metrics(trials, metric)
    chosen = ", ".join(map(quoted, [*_OF_TRIALS, *factors, *metrics]))
    answer = run_query(trials.db, f"SELECT {chosen} FROM {trials.rows} ORDER BY number, replicate, run")
    result: dict[str, list[dict[str, object]]] = {}
    for row in answer.rows:
        item: dict[str, object] = dict(zip([*_OF_TRIALS, *factors, *metrics], cells(row), strict=True))
        result.setdefault(str(item["trial"]), []).append(item)
    points = []
    before = 0
    for n, rows in enumerate(result.values(), 1):
        levels = {name: rows[0][name] for name in factors}
        points.append(ListedPoint(n, before < blocks.MOST_ROWS, levels, tuple(rows)))
        before += len(rows)
    return points


def _shown_metrics(trials: Trials, usual: str) -> list[str]:
    """The columns of the metrics that the clauses name, and of the default metric."""
    return list(dict.fromkeys([*clauses.named(trials), trials.metrics[usual][0]]))


def listing(
    trials: Trials, points: Sequence[ListedPoint], metric: str, recorded: RecordedRun | None
) -> Iterator[Block]:
    """A table of all trials."""
    sorts = {
        str(name): (str(sort), str(unit))
        for name, sort, unit in run_query(
            trials.db, 'SELECT name, type, unit FROM "columns" WHERE experiment = ?', [trials.experiment]
        ).rows
    }
    factors = [name for name, _ in trials.factors.values() if any(point.levels[name] is not None for point in points)]
    metrics = _shown_metrics(trials, metric)
    hosts = ["host"] if any(row["host"] for point in points for row in point.rows) else []
    raw = _raw_files(trials, points, recorded)
    rows: list[tuple[Cell, ...]] = []
    data = []
    for point in points:
        for row in point.rows:
            state = "yes" if row["valid"] else f"no: {row['why_not']}"
            own = raw(row)
            fixed = (point.number, row["number"], row["replicate"], row["position"], *(row[n] for n in hosts))
            if len(rows) < blocks.MOST_ROWS:
                levels = [wording.level(row[name], sorts[name][0]) for name in factors]
                shown = [_measured_as(row[name], sorts.get(name, ("", "s"))[1]) for name in metrics]
                words = [
                    *map(blocks.cell_text, fixed),
                    *levels,
                    *shown,
                    blocks.cell_text(state),
                    blocks.cell_text(row["cache_state"]),
                ]
                rows.append((*map(Cell, words), Cell("", "", own.links())))
            figures = [row[name] for name in (*factors, *metrics)]
            data.append((*fixed, *figures, state, row["cache_state"], " ".join(own.names)))
    heads = ("point", "trial", "replicate", "order", *hosts, *factors, *metrics, "counts", "cache", "raw files")
    texts = {
        "host",
        "counts",
        "cache",
        "raw files",
        *(n for n in factors if sorts[n][0] in {"word", "string"}),
    }
    numeric = frozenset(i for i, name in enumerate(heads) if name not in texts)
    anchors = tuple(point.anchor if i == 0 else "" for point in points for i in range(len(point.rows)))
    title = "Trials by point; `order` is the place of a trial in the run"
    if recorded and recorded.packed:
        title += "; `zlang status RUN --trial N` prints its packed files"
    whole = document.DocumentTable(
        title=title, columns=heads, rows=tuple(rows), names=heads, data=tuple(data), numeric=numeric, anchors=anchors
    )
    yield _without_constants(whole, {*hosts, "replicate", "counts", "cache"})


def _without_constants(table: document.DocumentTable, names: AbstractSet[str]) -> document.DocumentTable:
    """Return the table without the named columns that are constant; a note has their values, and `data` keeps them."""
    constants = {
        n: table.rows[0][n].shown
        for n, name in enumerate(table.columns)
        if name in names and len(table.data) > 1 and len({row[n] for row in table.data}) == 1
    }
    shown = [n for n in range(len(table.columns)) if n not in constants]
    same = ", ".join(f"`{table.columns[n]}` = {text}" for n, text in constants.items())
    return replace(
        table,
        columns=tuple(table.columns[n] for n in shown),
        rows=tuple(tuple(row[n] for n in shown) for row in table.rows),
        numeric=frozenset(at for at, n in enumerate(shown) if n in table.numeric),
        note=f"The same in all trials: {same}." if constants else "",
    )


def _measured_as(value: object, unit: str) -> str:
    return wording.measured(value, unit) if isinstance(value, int | float) else "-"


@dataclass(frozen=True, slots=True)
class _RawFiles:
    """The raw output of a trial: the `place` of its directory, and the names of its files, the main one first.

    If it `is_packed`, the place is a file that also has the output of other trials.
    """

    place: str
    names: tuple[str, ...]
    is_packed: bool = False

    def links(self) -> tuple[Link, ...]:
        """Links to the directory and to each file in it."""
        if self.is_packed:
            return (Link("packed", quote(self.place)),)
        ends = ("", *self.names[1:]) if self.names else ()
        return tuple(Link(end or "all", quote(f"{self.place}/{end}")) for end in ends)


def _raw_files(
    trials: Trials, points: Sequence[ListedPoint], recorded: RecordedRun | None
) -> Callable[[dict[str, object]], _RawFiles]:
    """Return a function from a trial's row to its raw output, for runs whose folder exists."""
    none = _RawFiles("", ())
    if recorded is None:
        return lambda _: none
    missing = {row["trial"] for point in points for row in point.rows[:1]}
    artefacts: dict[object, list[str]] = {}
    for item in recorded.plan.items():
        if not missing:
            break
        if isinstance(item, Trial) and item.identity in missing:
            missing.discard(item.identity)
            artefacts[item.identity] = [step.reader.artefact for step in item.steps if step.reader]
    result = blocks.query_runs(
        trials,
        'run, trial, replicate, arg_max("out", position) FROM steps WHERE trial IS NOT NULL AND',
        "GROUP BY run, trial, replicate",
    )
    outs = {(run, trial, replicate): str(out) for run, trial, replicate, out in result}

    def of(row: dict[str, object]) -> _RawFiles:
        out = outs.get((row["run"], row["trial"], row["replicate"]))
        if out is None:
            return none
        if f"{row['run']}/{out}" in recorded.packed:
            return _RawFiles(f"{recorded.folders}/{row['run']}/{outputs.FILE}", (out,), is_packed=True)
        return _RawFiles(f"{recorded.folders}/{row['run']}/{out}", (out, *artefacts.get(row["trial"], ())))

    return of
