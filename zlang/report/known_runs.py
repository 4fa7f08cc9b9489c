"""The runs of a database, and the trials of one of them.

In: a database, and the name of a run or none. Out: its `Trials`, and the problems of the run as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from zlang.errors import RunError
from zlang.metrics import column
from zlang.report.clauses import primary
from zlang.report.formulas import Trials
from zlang.store.query import run_query
from zlang.store.store import quoted
from zlang.suggest import did_you_mean


def example(trials: Trials) -> tuple[str, str]:
    """A metric and a factor of a run, to show in a hint."""
    names = [name for name, _ in trials.factors.values()]
    counts = ", ".join(f"count(DISTINCT {quoted(name)})" for name in names)
    levels = run_query(trials.db, f"SELECT {counts} FROM {trials.rows}").rows[0] if names else ()
    # Other runs of the same experiment may have had other factors.
    varying = [name for name, count in zip(names, levels, strict=True) if isinstance(count, int) and count > 1]
    return primary(trials)[0], next(iter(varying or names), "FACTOR")


def invalid(trials: Trials) -> int:
    """The number of trials of a run that were carried out but are not valid."""
    ((count,),) = run_query(trials.db, "SELECT invalid FROM runs WHERE run = ?", [trials.run]).rows
    return count if isinstance(count, int) else 0


def damage(trials: Trials) -> list[tuple[str, str]]:
    """The problems of a run as a whole, and of the other parts of its plan: pairs of run and sentence."""
    sql = "SELECT run, problem FROM problems WHERE trial IS NULL AND list_contains(?, run) ORDER BY ALL"
    rows = run_query(trials.db, sql, [[trials.run, *trials.others]]).rows
    return [(str(run), str(problem)) for run, problem in rows]


def has_runs(db: Path, names: Sequence[str]) -> bool:
    """Whether any of the names is the name of a run."""
    known_names = {str(name) for (name,) in run_query(db, "SELECT run FROM runs").rows}
    return any(Path(name).name in known_names for name in names)


def trials_of(db: Path, run: str | None) -> Trials:
    """The trials of a run, or of the run with the latest activity. Raises RunError."""
    runs = run_query(
        db,
        "SELECT run, experiment, title, repeat, plan, part FROM runs ORDER BY last_session DESC NULLS LAST, run DESC",
    ).rows
    candidates = {str(name): (str(experiment), str(title), repeat) for name, experiment, title, repeat, *_ in runs}
    parts = {str(name): (plan, part) for name, *_, plan, part in runs if part is not None}
    if not candidates:
        raise RunError(f"{db} has no runs", f"build it from run folders: zlang ingest DIR --db {db}")
    name = next(iter(candidates)) if run is None else Path(run).name
    if name not in candidates:
        raise RunError(
            f"there is no run `{name}` in {db}", did_you_mean(name, candidates) or "`zlang status` lists the runs"
        )
    experiment, title, repeat = candidates[name]
    catalogue = run_query(
        db, 'SELECT path, name, unit, role, "schema" FROM "columns" WHERE experiment = ?', [experiment]
    ).rows
    factors = {str(path): (str(n), str(unit)) for path, n, unit, role, _ in catalogue if role == "factor"}
    trial = {str(n): (str(n), str(unit)) for _, n, unit, role, _ in catalogue if role == "trial"}
    known_metrics = [(str(path), str(n), str(unit)) for path, n, unit, role, _ in catalogue if role == "metric"]
    # A metric with the name of a column that every trial has gets another name in the database.
    metrics = {name: (n, unit) for path, n, unit in known_metrics for name in (n, path, column(path))}
    schema = str(catalogue[0][4]) if catalogue else experiment
    times = repeat if isinstance(repeat, int) else 1
    return Trials(
        db=db,
        run=name,
        experiment=experiment,
        title=title,
        repeat=times,
        schema=schema,
        factors=factors,
        metrics={**trial, **metrics},
        measured=frozenset(metrics),
        others=_runs_of_other_parts(parts, name),
    )


def _runs_of_other_parts(parts: Mapping[str, tuple[object, object]], run: str) -> tuple[str, ...]:
    """If a run covers one part of a plan, the latest run of each other part, the most recent first.

    A part is a host, or one of several shares: `3/16`.
    """
    plan, own = parts.get(run, (None, None))
    latest: dict[object, str] = {}
    for other, (of, part) in parts.items():
        if of == plan and part != own and str(part).partition("/")[2] == str(own).partition("/")[2]:
            latest.setdefault(part, other)
    return tuple(latest.values())
