"""The database of results, and queries of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from zlang.frozen import frozen
from zlang.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from zlang.report.compare import Comparison
    from zlang.report.design import Design
    from zlang.report.drawn import Drawn
    from zlang.report.effects import Effect
    from zlang.report.findings.rule import ResultFinding
    from zlang.report.formulas import Trials
    from zlang.report.judging import Judged
    from zlang.report.summary import Summary
    from zlang.run.folder import Folder
    from zlang.store.ingest import Ingested
    from zlang.store.query import Parameters, QuerySession, Result
    from zlang.store.run_rows import Progress
    from zlang.store.saved import SavedQuery


def ingest(runs: Path, db: Path, progress: Progress | None = None) -> Ingested:
    """Build the database from the run folders, including the findings about each run. Raises RunError."""
    from zlang.store.ingest import building

    with building(db):
        return _build(runs, db, progress)


def _build(runs: Path, db: Path, progress: Progress | None = None) -> Ingested:
    from zlang.report.findings.search import FindingSearch
    from zlang.store.ingest import ingest as build_database

    return build_database(runs, db, progress, FindingSearch())


@frozen
class Closing:
    """The closing report of a run.

    `summary` covers all its trials, by all factors. `tables` and `plots` are those that its experiment requests; an
    experiment that requests no table gets the summary. `invalid` of the trials that were carried out do not count.
    `dropped` runs were in the database before. `caveats` say what the intervals do not include.
    """

    summary: Summary
    tables: list[Summary]
    caveats: list[str]
    course: Summary | None
    sentences: list[str]
    plots: list[Drawn]
    judged: list[Judged]
    findings: list[ResultFinding]
    invalid: int
    dropped: int


def conclude(folder: Folder, db: Path, *, is_whole: bool = True) -> Closing:
    """Update the database, and query it for the results of this run; nothing is judged unless the run `is_whole`.

    DuckDB may abort the process that opens a database (no memory, no descriptor), so a child process does this. Raises
    RunError.
    """
    from zlang.run import child_process
    from zlang.store.ingest import building
    from zlang.store.query import held

    def work() -> Closing:
        with building(db):  # no other run's database replaces it before it has been queried
            built = _build(folder.path.parent, db)
            with held(db):
                return _closing_of(db, folder.run, built.dropped, is_whole=is_whole)

    return child_process.call(work, f"building {db}")


def _closing_of(db: Path, run: str, dropped: int, *, is_whole: bool) -> Closing:
    from zlang.report import answers, design, known_runs

    trials = known_runs.trials_of(db, run)
    summary = _summary(trials)
    course, sentences = stopping(db, run) if is_whole else (None, [])
    return Closing(
        dropped=dropped,
        summary=summary,
        tables=answers.tables(trials) or [summary],
        caveats=design.caveats_of_intervals(trials),
        course=course,
        sentences=sentences,
        plots=plots(db, run),
        judged=judge(db, run) if is_whole else [],
        findings=findings(db, run) if is_whole else [],
        invalid=known_runs.invalid(trials),
    )


def _summary(trials: Trials) -> Summary:
    from zlang.report.clauses import named
    from zlang.report.summary import summarise

    return summarise(trials.db, trials.experiment, trials.rows, named(trials))


def query(db: Path, sql: str, parameters: Parameters = ()) -> Result:
    """The result of an SQL query. Raises RunError."""
    from zlang.store.query import run_query

    return run_query(db, sql, parameters)


MOST_SHOWN = 1_000_000
"""The most rows of a result that is shown: each takes about a kilobyte of memory."""


def session(db: Path, *, write: bool, unsafe: bool) -> AbstractContextManager[QuerySession]:
    """Open a database for several queries. Raises RunError."""
    from zlang.store.query import session as opened
    from zlang.store.store import Access

    return opened(db, Access(write, unsafe))


def write_parquet(db: Path, sql: str, parameters: Parameters, out: Path, partition: Sequence[str]) -> int:
    """Write a query's result as Parquet, and return the number of its rows. Raises RunError."""
    from zlang.store.query import write_parquet as written

    return written(db, sql, parameters, out, partition)


def saved_query(name: str) -> SavedQuery:
    """The saved query with that name. Raises RunError."""
    from zlang.store import saved

    return saved.named(name)


def saved_queries() -> list[SavedQuery]:
    """All saved queries, by name."""
    from zlang.store import saved

    return saved.listed()


@contextmanager
def asking(db: Path) -> Iterator[None]:
    """Keep a database open for all that a command asks of it: to open it takes 20 ms. Raises RunError."""
    from zlang.store.query import held

    with held(db):
        yield


def judge(db: Path, run: str | None, against: str | None = None) -> list[Judged]:
    """The outcome of each expectation of a run (default: the latest) against another run. Raises RunError."""
    from zlang.report import judging, known_runs

    return judging.judge(known_runs.trials_of(db, run), against)


def tables(db: Path, run: str | None, clause: str | None = None) -> list[Summary]:
    """The tables of the experiment, or one of all points, or the requested one; of a run, by default the latest.

    Raises RunError, ProgramError.
    """
    from zlang.report import answers, known_runs

    trials = known_runs.trials_of(db, run)
    return [answers.table_now(trials, clause)] if clause else answers.tables(trials) or [_summary(trials)]


def caveats_of_intervals(db: Path, run: str | None) -> list[str]:
    """The sentences about what the intervals of a run's tables do not include. Raises RunError."""
    from zlang.report import design, known_runs

    return design.caveats_of_intervals(known_runs.trials_of(db, run))


def damage(db: Path, *runs: str | None) -> list[tuple[str, str]]:
    """The problems of runs as a whole, each with its run; the run None is the latest one. Raises RunError."""
    from zlang.report import known_runs
    from zlang.store.query import held

    with held(db):
        return [problem for run in runs for problem in known_runs.damage(known_runs.trials_of(db, run))]


def example(db: Path, run: str | None = None) -> tuple[str, str]:
    """A metric and a factor of a run, by default the one that was changed last, to show in a hint. Raises RunError."""
    from zlang.report import known_runs

    return known_runs.example(known_runs.trials_of(db, run))


def stopping(db: Path, run: str | None) -> tuple[Summary | None, list[str]]:
    """The course of a run's searches, and sentences about why it stopped measuring. Raises RunError."""
    from zlang.report import known_runs, stopping

    trials = known_runs.trials_of(db, run)
    return stopping.course(trials), list(stopping.sentences(trials))


def plots(
    db: Path,
    run: str | None,
    clause: str | None = None,
    *,
    as_fields: bool = False,
    is_log: bool = False,
    is_alone: bool = False,
) -> list[Drawn]:
    """The data of the experiment's plots, or of the requested one, for a run, by default the latest.

    A plot that `is_alone`, without the tables of the run, says itself what its intervals do not include.
    Raises RunError, ProgramError.
    """
    from zlang.report import answers, design, known_runs

    trials = known_runs.trials_of(db, run)
    result = answers.plots(trials) if clause is None else answers.new_plots(trials, clause)
    shown = answers.fields(result) if as_fields else result
    shown = answers.with_log_axis(shown) if is_log else shown
    return answers.with_caveats(shown, design.caveats_of_intervals(trials)) if is_alone else shown


def compared_runs(db: Path, pair: tuple[str, ...], by: str | None, run: str | None) -> tuple[str | None, ...]:
    """The runs in a comparison: `pair`, if it names runs and not levels."""
    from zlang.report import known_runs

    return pair if pair and by is None and known_runs.has_runs(db, pair) else (run,)


def compare(
    db: Path, pair: tuple[str, ...], by: str | None, run: str | None, metric: str | None
) -> tuple[list[Comparison], list[ResultFinding], tuple[str, ...]]:
    """Compare two runs or levels: the comparisons, the findings about them, and the metrics to choose from.

    The metrics are empty if `metric` names one. Raises RunError.
    """
    from zlang.store.query import held

    with held(db):
        return _compare(db, pair, by, run, metric)


def _compare(
    db: Path, pair: tuple[str, ...], by: str | None, run: str | None, metric: str | None
) -> tuple[list[Comparison], list[ResultFinding], tuple[str, ...]]:
    from zlang.report import compare as comparing
    from zlang.report import design, interactions, known_runs
    from zlang.report.findings.search import find_in_run

    if compared_runs(db, pair, by, run) != pair:
        trials = known_runs.trials_of(db, run)
        read = design.read(trials, metric)
        by = by if by is None else comparing.factor_named(read, by)
        if pair and comparing.is_selection(read, pair, by):
            result = [comparing.selections(read, pair, by)]
            return result, _findings_by(trials, read, metric), read.others
        by = by or (comparing.factor_of(read, pair) if pair else None)
        levels = comparing.factors(read, by, pair)
        return levels if pair else interactions.noted(read, levels), _findings_by(trials, read, metric), read.others
    both = [known_runs.trials_of(db, name) for name in pair]
    content = design.read(both[0], metric)
    other = design.read(both[1], content.metric)
    compared = comparing.compare_runs((both[0].run, both[1].run), content, other)
    return [compared], [*find_in_run(both[0], content), *find_in_run(both[1], other)], content.others


def _findings_by(trials: Trials, read: Design, metric: str | None) -> list[ResultFinding]:
    """The findings about a run for a metric; those for the default metric are in the database."""
    from zlang.report.findings.search import find_in_run, load_findings

    return load_findings(trials) if metric is None else find_in_run(trials, read)


def effects(
    db: Path, run: str | None, metric: str | None
) -> tuple[list[Effect], list[str], list[ResultFinding], tuple[str, ...]]:
    """The sources of a metric's variance, effects that cannot be separated, findings, and the metrics to choose from.

    Raises RunError.
    """
    from zlang.report import design, known_runs
    from zlang.report import effects as sources
    from zlang.store.query import held

    with held(db):
        trials = known_runs.trials_of(db, run)
        read = design.read(trials, metric)
        all_effects = sources.effects(read)
        return all_effects, sources.notes(read, all_effects), _findings_by(trials, read, metric), read.others


def findings(db: Path, run: str | None) -> list[ResultFinding]:
    """The findings about a run that are in the database. Raises RunError."""
    from zlang.report import known_runs
    from zlang.report.findings.search import load_findings

    return load_findings(known_runs.trials_of(db, run))


def draw(drawn: Drawn, width: int, *, is_coloured: bool) -> str:
    """A plot as text. Raises RunError."""
    from zlang.report import terminal

    return terminal.draw(drawn, width, is_coloured=is_coloured)


def write_plots(drawn: list[Drawn], path: Path) -> None:
    """Write plots to a file as a picture. Raises RunError."""
    from zlang.report import vega

    vega.write(drawn, path)
