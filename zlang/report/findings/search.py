"""A results database in, findings about its runs out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from zlang.check.questions import Search, Until, path_of_pass
from zlang.diagnostics import Lint, Severity
from zlang.report import design, findings, known_runs, wording
from zlang.report.clauses import stored_clauses
from zlang.report.design import Design
from zlang.report.findings.rule import OF_MACHINE, OF_TIME, MeasuredTrial, ResultFinding, Results
from zlang.report.formulas import Trials
from zlang.report.summary import cells
from zlang.store.query import held, run_query
from zlang.store.run_rows import AFTER, BEFORE
from zlang.store.staging import Row
from zlang.store.store import literal, quoted

_OF_THE_BUSIEST = ("processor", "pressure")
"""Meanings of metrics that have no sum over streams or machines: of several values, the largest counts."""
_PROCESSORS = "len(regexp_extract_all(value, '(?m)^processor\\s*:'))"
"""SQL: how many processors the fact `cpu` lists, as Linux prints it."""
_Key = tuple[object, object, object]
"""Run, trial, replicate."""


class FindingSearch:
    """Computes the rows that `ingest` stores in the table `findings`."""

    code: tuple[str, ...] = ("zlang.report", "zlang.report.findings")

    def __call__(self, db: Path, runs: Sequence[str]) -> Iterable[Row]:
        """Rows about these runs, each by its default metric."""
        with held(db):
            for run in runs:
                trials = known_runs.trials_of(db, run)
                read = design.read(trials)
                for position, finding in enumerate(find_in_run(trials, read), 1):
                    row = {"run": run, "experiment": trials.experiment, "position": position, "metric": read.metric}
                    rule = {"code": finding.lint.id, "name": finding.lint.name, "severity": finding.lint.severity.value}
                    yield {**row, **rule, "message": finding.message}


def load_findings(trials: Trials) -> list[ResultFinding]:
    """The findings about a run that the database has: by its default metric."""
    rows = run_query(
        trials.db,
        "SELECT code, name, severity, message FROM findings WHERE run = ? AND stage = ? ORDER BY position",
        [trials.run, AFTER],
    ).rows
    return [
        ResultFinding(Lint(str(code), str(name), Severity(severity)), str(message))
        for code, name, severity, message in rows
    ]


def find_in_run(trials: Trials, read: Design) -> list[ResultFinding]:
    """All findings about a run that are not allowed, with the severities of its project; `read` is its design."""
    measured = tuple(_measured(trials, read))
    all_findings = findings.find(
        Results(read, measured, _is_sequential(trials), _factor_of_passes(trials), trials.repeat)
    )
    severities, allowed = _levels_of_project(trials)
    return [_with_severity(finding, severities) for finding in all_findings if finding.lint.name not in allowed]


def _levels_of_project(trials: Trials) -> tuple[Mapping[str, Severity], AbstractSet[str]]:
    """The severities that the project file gives to rules about results, and the rules that are allowed."""
    rows = run_query(
        trials.db,
        "SELECT name, severity, allowed IS NOT NULL FROM findings WHERE run = ? AND stage = ?",
        [trials.run, BEFORE],
    ).rows
    allowed = {str(name) for name, _, is_allowed in rows if is_allowed}
    return {str(name): Severity(severity) for name, severity, is_allowed in rows if not is_allowed}, allowed


def _with_severity(finding: ResultFinding, severities: Mapping[str, Severity]) -> ResultFinding:
    lint = finding.lint
    return ResultFinding(Lint(lint.id, lint.name, severities.get(lint.name, lint.severity)), finding.message)


def _is_sequential(trials: Trials) -> bool:
    """Whether results decided which trials were carried out."""
    return bool(stored_clauses(trials, "until", Until) or stored_clauses(trials, "find", Search))


def _factor_of_passes(trials: Trials) -> str:
    """The factor that numbers the passes over kept data; empty without one."""
    query = 'SELECT any_value(name) FROM "columns" WHERE experiment = ? AND path = ?'
    return str(run_query(trials.db, query, [trials.experiment, path_of_pass(trials.experiment)]).rows[0][0] or "")


def _measured(trials: Trials, read: Design) -> Iterator[MeasuredTrial]:
    traits = _traits(trials)
    metrics = _meanings(trials)
    of_trial = (_tail_by_trial(trials), _busiest_streams(trials, metrics), _busiest_machines(trials, metrics))
    columns = [f"{quoted(name)}::DOUBLE" for name, _ in metrics] + [quoted(item.name) for item in read.factors]
    rows = run_query(
        trials.db,
        f"SELECT {', '.join(['run', 'trial', 'replicate', 'position', 'cache_state', *columns])} "
        f"FROM {trials.rows} WHERE valid ORDER BY run, position",
    ).rows
    levels_of: dict[tuple[object, ...], dict[str, str]] = {}
    for run, trial, replicate, position, cache, *values in rows:
        measured: dict[str, float] = {}
        for (_, means), value in zip(metrics, values, strict=False):
            if isinstance(value, float):
                measured[means] = measured.get(means, 0.0) + value
        key = tuple(map(repr, values[len(metrics) :]))
        if key not in levels_of:
            levels_of[key] = {
                factor.name: wording.level(level, factor.type)
                for factor, level in zip(read.factors, cells(values[len(metrics) :]), strict=True)
                if level is not None
            }
        for others in of_trial:
            measured.update(others.get((run, trial, replicate), ()))
        place = position if isinstance(position, int) else 0
        yield MeasuredTrial(
            run=str(run),
            position=place,
            cache_state=str(cache or ""),
            levels=levels_of[key],
            traits=traits[run, trial],
            metrics=measured,
        )


def _meanings(trials: Trials) -> list[tuple[str, str]]:
    """The metrics with a declared meaning, and the meaning; metrics of the same meaning are summed."""
    rows = run_query(
        trials.db, "SELECT name, means FROM \"columns\" WHERE experiment = ? AND means <> ''", [trials.experiment]
    ).rows
    return [(str(name), str(means)) for name, means in rows]


def _traits(trials: Trials) -> Mapping[tuple[object, object], Mapping[str, float]]:
    result: dict[tuple[object, object], dict[str, float]] = defaultdict(dict)
    rows = run_query(trials.db, f"SELECT run, trial, trait, value FROM traits WHERE run IN ({_runs(trials)})").rows
    for run, trial, trait, value in rows:
        result[run, trial][str(trait)] = float(str(value))
    return result


def _tail_by_trial(trials: Trials) -> Mapping[_Key, Mapping[str, float]]:
    """For each trial, the completion time in ns above which operations took 1 % of all time."""
    rows = run_query(
        trials.db,
        f"SELECT run, trial, replicate, means || {literal(OF_TIME)}, tail::DOUBLE FROM histograms "
        f'JOIN "columns" c ON metric = distribution AND c.experiment = {literal(trials.experiment)} '
        f"WHERE valid AND run IN ({_runs(trials)}) AND ends_with(means, '.completion.p99')",
    ).rows
    result: dict[_Key, dict[str, float]] = defaultdict(dict)
    for run, trial, replicate, means, ns in rows:
        if isinstance(ns, float):
            result[run, trial, replicate][str(means)] = ns
    return result


def _busiest_streams(trials: Trials, metrics: Sequence[tuple[str, str]]) -> Mapping[_Key, Mapping[str, float]]:
    """For each trial of several streams or machines, how busy the busiest of them was, by meaning."""
    result: dict[_Key, dict[str, float]] = defaultdict(dict)
    for meaning in _OF_THE_BUSIEST:
        names = ", ".join(literal(name) for name, means in metrics if means == meaning)
        if not names:
            continue
        rows = run_query(
            trials.db,
            "WITH each AS (SELECT run, trial, replicate, sum(value) AS share FROM stream_metrics WHERE valid "
            f"AND metric IN ({names}) AND run IN ({_runs(trials)}) GROUP BY run, trial, replicate, stream, host) "
            "SELECT run, trial, replicate, max(share) FROM each GROUP BY ALL",
        ).rows
        for run, trial, replicate, share in rows:
            result[run, trial, replicate][meaning] = float(str(share))
    return result


def _busiest_machines(trials: Trials, metrics: Sequence[tuple[str, str]]) -> Mapping[_Key, Mapping[str, float]]:
    """For each trial, the share of all processors of a machine that its load took: that of the busiest machine."""
    result: dict[_Key, dict[str, float]] = defaultdict(dict)
    names = ", ".join(literal(name) for name, means in metrics if means == "processor")
    if names:
        rows = run_query(
            trials.db,
            f"WITH cores AS (SELECT run, name, {_PROCESSORS} AS cores FROM facts WHERE name = 'cpu' "
            "OR ends_with(name, '.cpu')), load AS (SELECT m.run, m.trial, m.replicate, "
            "coalesce(m.host, t.host) AS host, sum(m.value) AS share FROM metrics m "
            f"JOIN {trials.rows} t USING (run, trial, replicate) WHERE m.metric IN ({names}) "
            f"AND m.run IN ({_runs(trials)}) GROUP BY ALL) "
            "SELECT load.run, load.trial, load.replicate, max(share * workers.value / cores) FROM load "
            "JOIN traits workers ON workers.run = load.run AND workers.trial = load.trial AND trait = 'workers' "
            "JOIN cores ON cores.run = load.run AND cores.name IN ('cpu', load.host || '.cpu') "
            "WHERE cores > 0 GROUP BY ALL",
        ).rows
        for run, trial, replicate, share in rows:
            result[run, trial, replicate][f"processor{OF_MACHINE}"] = float(str(share))
    return result


def _runs(trials: Trials) -> str:
    return ", ".join(map(literal, (trials.run, *trials.others)))
