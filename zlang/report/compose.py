"""The report of a run: question, results, comparisons, caveats, timeline, method, trials, reproduction.

In: the trials of a run in a database, its plan, and the findings about its program. Out: a `Document`.
Rules: a figure has its n, its interval if there is one, and a link to its trials; a trial has links to its raw files.
An inconclusive comparison is labelled as such.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from zlang import __version__
from zlang.check.questions import FactorRef, Plot, Table
from zlang.check.values import quote as quote_word
from zlang.diagnostics import ProgramError
from zlang.errors import RunError
from zlang.plan.order import Order
from zlang.plan.plan import Plan, Trial
from zlang.report import answers, clauses, compare, design, document, drawing, effects, stopping, summary, wording
from zlang.report.document import Block, Cell, Document, Figure, Link, Listing, Paragraph, Section
from zlang.report.drawn import Drawn
from zlang.report.findings import search
from zlang.report.formulas import UNITS, Trials
from zlang.report.summary import Summary, TableColumn, cells
from zlang.store.query import run_query
from zlang.store.store import literal, quoted
from zlang.text import visible

_MOST_ROWS = 2000
"""Rows in a table: a browser takes a second for more. The CSV file has all rows."""
_MOST_LINKS = 12
"""Points to which a row links."""
_MOST_DOTS = 2500
"""Most estimates in the pictures of a plot."""
_MOST_PICTURES = 24
"""Most pictures of a plot."""
_SHOWN = 20
"""Most combinations in which an expectation fails, and most reasons."""
_LONG = 200
"""A longer fact is a listing."""
_SMALL = 1000
_MOST_ANSWERS = 3
"""Differences of which the answer speaks."""
_MOST_SERIES = 6
"""Most sampled metrics; those that vary most are shown."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The plan of a run, and the path from the report to the run folders."""

    run: str
    plan: Plan
    folders: str


@dataclass(frozen=True, slots=True)
class _Point:
    """The trials of one identity, and the levels of all factors by the name of their column.

    If `is_listed`, the report lists its trials, and `name` is an anchor.
    """

    name: str
    is_listed: bool
    levels: dict[str, object]
    rows: tuple[dict[str, object], ...]


def document_of(trials: Trials, recorded: RecordedRun | None) -> Document:
    """The report of a run; `known` is None if the run folder is missing. Raises RunError."""
    points = _points(trials)
    sections = (
        Section("answer", "Question and answer", (*_question(recorded), *_answer(trials))),
        Section("results", "Results", tuple(_results(trials, points))),
        Section("comparisons", "Comparisons", tuple(_comparisons(trials, points))),
        Section("caveats", "Caveats", tuple(_caveats(trials, recorded))),
        Section("timeline", "Timeline", tuple(_timeline(trials, points))),
        Section("program", "Program", tuple(_program(recorded))),
        Section("method", "Method", tuple(_method(trials, recorded))),
        Section("trials", "Trials", tuple(_every_trial(trials, points, recorded))),
        Section("reproduce", "How to reproduce this", tuple(_reproduction(recorded))),
    )
    kept = tuple(
        replace(section, blocks=tuple(map(_bounded, section.blocks))) for section in sections if section.blocks
    )
    return Document(visible(trials.title or trials.experiment), _about(trials), kept)


def _about(trials: Trials) -> str:
    ((done, valid, first, last),) = run_query(
        trials.db,
        "SELECT count(*), count(*) FILTER (valid), min(started), max(started + to_seconds(elapsed)) "
        f"FROM {trials.rows}",
    ).rows
    when = f", {first:%Y-%m-%d %H:%M} to {last:%H:%M} UTC" if isinstance(first, datetime) and last else ""
    return f"{', '.join((trials.run, *trials.others))}: {valid:,} of {done:,} trials count{when}"


def _bounded(block: Block) -> Block:
    """The same block with a table that a browser can show; a note says what it omits, and `data` has all rows."""
    match block:
        case document.DocumentTable() if len(block.rows) > _MOST_ROWS:
            note = f"The first {_MOST_ROWS:,} of {len(block.rows):,} rows; `zlang report --format csv` writes them all."
            return replace(block, rows=block.rows[:_MOST_ROWS], note=f"{block.note} {note}".strip())
        case Figure():
            table = _bounded(block.table)
            assert isinstance(table, document.DocumentTable), "BUG: a bounded table is a table"
            return replace(block, table=table)
        case _:
            return block


def _table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[object]], numeric: frozenset[int] = frozenset()
) -> document.DocumentTable:
    """A table that shows its data unchanged."""
    shown = tuple(tuple(Cell(_plain(value)) for value in row) for row in rows)
    return document.DocumentTable(
        title=title, columns=tuple(heads), rows=shown, names=tuple(heads), data=tuple(map(tuple, rows)), numeric=numeric
    )


def _plain(value: object) -> str:
    match value:
        case None:
            return ""
        case float() if 0 < abs(value) < 1 / _SMALL:
            return f"{value:.1g}"
        case float():
            return f"{value:,.3f}" if abs(value) < _SMALL else f"{value:,.0f}"
        case int():
            return f"{value:,}"
        case _:
            return visible(str(value), keep="\n")


# -- answer


def _answer(trials: Trials) -> Iterator[Block]:
    """What came of each expectation, and the largest differences, in a sentence each."""
    for expected in answers.judge(trials):
        where, every = sum(finding.verdict == expected.verdict for finding in expected.findings), len(expected.findings)
        yield Paragraph(f"{expected.expectation.title}: {expected.verdict} in {where:,} of {every:,} combinations.")
    try:
        read = design.read(trials)
        compared = compare.factors(read, None, ())
    except RunError:
        return
    judged = [
        (comparison, comparison.ratio)
        for comparison in compared
        if comparison.ratio is not None and comparison.is_significant
    ]
    judged.sort(key=lambda pair: -abs(pair[1].log))
    for comparison, ratio in judged[:_MOST_ANSWERS]:
        estimate = ratio.estimate(comparison.comparisons)
        yield Paragraph(
            f"`{comparison.factor}` = {comparison.second} against {comparison.first}: "
            f"{read.metric} is {estimate.value:.3g} times as much "
            f"({estimate.low:.3g} to {estimate.high:.3g} with 95 % confidence, n = {estimate.n:,})."
        )
    if not judged:
        yield Paragraph(f"No factor has a significant effect on {read.metric}: see the comparisons.")


# -- question and program


def _question(recorded: RecordedRun | None) -> Iterator[Block]:
    """What the comment at the head of the program says."""
    for text in list(recorded.plan.header.sources.values())[:1] if recorded else ():
        yield from map(Paragraph, _head(text))


def _program(recorded: RecordedRun | None) -> Iterator[Block]:
    if recorded is None:
        yield Paragraph("The run folder is missing, so this report has neither the program nor the plan.")
        return
    for name, text in recorded.plan.header.sources.items():
        yield Listing(name, visible(text, keep="\n\t"))


def _head(text: str) -> list[str]:
    """The paragraphs of the comment at the head of a program, without allowances."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    shown = [line.lstrip("#").strip() for line in lines]
    kept = "\n".join(line for line in shown if not line.startswith("allow "))
    return [visible(" ".join(item.split())) for item in kept.split("\n\n") if item.strip()]


# -- results


def _results(trials: Trials, points: Sequence[_Point]) -> Iterator[Block]:
    judged = answers.judge(trials)
    if judged:
        yield _expectations(judged)
    declared = clauses.stored_clauses(trials, "table", Table)
    if declared:
        for clause, table in zip(declared, answers.tables(trials), strict=True):
            by = [_columns(trials, item) for item in clause.by]
            yield _summary(visible(clause.text.removeprefix("table ")), table, by, points)
    else:
        shown = summary.summarise(trials.db, trials.experiment, trials.rows)
        estimates = sum(column.type == "estimate" for column in shown.columns)
        factors = [[column.name] for column in shown.columns[: -estimates - 1]]
        yield _summary("Each combination", shown, factors, points)
    yield from _stopped(trials, points)
    for drawn in answers.plots(trials):
        yield _figure(trials, drawn, points)


def _stopped(trials: Trials, points: Sequence[_Point]) -> Iterator[Block]:
    """The steps of each search, and the outcomes of `find` and of `repeat … until`."""
    course = stopping.course(trials)
    if course is not None:
        factors = [[column.name] for column in course.columns[: len(trials.factors)]]
        yield _summary("Steps of each search", course, factors, points)
    for sentence in stopping.sentences(trials):
        yield Paragraph(f"{sentence.strip()}.")


def _expectations(judged: Sequence[answers.Judged]) -> document.DocumentTable:
    rows = []
    for item in judged:
        alike = sum(finding.verdict == item.verdict for finding in item.findings)
        odd = [answers.sentence(item, finding) for finding in item.findings if finding.verdict != answers.Verdict.PASS]
        more = [f"… and in {len(odd) - _SHOWN:,} more"] if len(odd) > _SHOWN else []
        where = f"{alike:,} of {len(item.findings):,}"
        rows.append((item.verdict, item.expectation.title, where, "\n".join([*odd[:_SHOWN], *more])))
    return _table("Expectations", ("verdict", "expectation", "combinations", "exceptions"), rows)


def _figure(trials: Trials, drawn: Drawn, points: Sequence[_Point]) -> Figure:
    columns = [TableColumn(column.name, column.type, "") for column in drawn.columns]
    measured = [TableColumn(measure.name, "estimate", UNITS.get(measure.type, "")) for measure in drawn.plot.measures]
    summary = Summary(
        experiment=trials.experiment,
        columns=(*columns, *measured),
        rows=drawn.rows,
        trials=0,
        valid=0,
        reasons=(),
        note=drawn.note,
    )
    title = visible(drawn.plot.text.removeprefix("plot "))
    table = _summary(title, summary, [_columns(trials, column) for column in drawn.columns], points)
    shown = drawing.pictures(drawn)
    if (
        len(shown) > _MOST_PICTURES
        or sum(len(line) for picture in shown for line in picture.lines.values()) > _MOST_DOTS
    ):
        note = f"This plot is too large for a page. To draw it: zlang plot '{title}' -o plot.svg. "
        return Figure(title, (), replace(table, note=note + table.note))
    note = f" ({drawn.note})" if drawn.note else ""
    return Figure(
        title, tuple((picture.named(picture.measure) + note, drawing.alone(drawn, picture)) for picture in shown), table
    )


def _automatic_figure(trials: Trials, text: str, points: Sequence[_Point]) -> Iterator[Figure]:
    """A plot that the program does not ask for; nothing if it would be empty."""
    try:
        drawings = answers.asked_now(trials, text)
    except (ProgramError, RunError):  # a name that the language has for something else, or nothing to show
        return
    yield from (_figure(trials, drawn, points) for drawn in drawings)


def _columns(trials: Trials, factor_ref: FactorRef) -> list[str]:
    return [trials.factors[path][0] for path in factor_ref.paths if path in trials.factors]


def _summary(
    title: str, details: Summary, by: Sequence[Sequence[str]], points: Sequence[_Point]
) -> document.DocumentTable:
    """A table whose figures link to their points; `by` has the database columns of each factor."""
    places: dict[tuple[object, ...], list[_Point]] = {}
    for point in points:
        places.setdefault(tuple(_first(point.levels, names) for names in by if names), []).append(point)
    rows = []
    for row in details.rows:
        # Columns that are not factors, such as a latency, do not identify points.
        own = places.get(tuple(level for level, names in zip(row, by, strict=False) if names), [])
        linked = [point for point in own[:_MOST_LINKS] if point.is_listed]
        href = f"#{linked[0].name}" if linked else ""
        shown = [summary.shown(value, column) for value, column in zip(row, details.columns, strict=True)]
        figures = [Cell(text, href if i >= len(by) and text != "-" else "") for i, text in enumerate(shown)]
        links = [Link(point.name, f"#{point.name}") for point in linked]
        if len(own) > len(linked):
            links.append(Link(f"{len(own) - len(linked):,} more" if linked else f"{len(own):,} points", "#trials"))
        rows.append((*figures, Cell("", "", tuple(links))))
    names, data = summary.flat(details)
    heads = [summary.heading(details, n) for n in range(len(details.columns))]
    numeric = frozenset(i for i, column in enumerate(details.columns) if column.type not in {"word", "string"})
    note = f"{details.note}. " if details.note else ""
    note += "".join(f"{count:,} trials do not count: {reason}. " for reason, count in details.reasons[:_SHOWN])
    return document.DocumentTable(
        title=title,
        columns=(*heads, "points"),
        rows=tuple(rows),
        names=tuple(names),
        data=tuple(map(tuple, data)),
        numeric=numeric,
        note=note,
    )


def _first(levels: dict[str, object], names: Sequence[str]) -> object:
    return next((levels[name] for name in names if levels.get(name) is not None), None)


# -- comparisons


def _comparisons(trials: Trials, points: Sequence[_Point]) -> Iterator[Block]:
    read = design.read(trials)
    try:
        compared = compare.factors(read, None, ())
        sources = effects.effects(read)
    except RunError as error:
        yield Paragraph(f"{error.message[:1].upper()}{error.message[1:]}.")
        return
    heads = ("factor", "level", "against", "ratio", "low", "high", "n", "verdict", "note")
    ratios = []
    for comparison in compared:
        shown = comparison.ratio.estimate(comparison.comparisons) if comparison.ratio else None
        figures = (shown.value, shown.low, shown.high, shown.n) if shown else (None, None, None, 0)
        ratios.append(
            (comparison.factor, comparison.second, comparison.first, *figures, comparison.verdict, comparison.note)
        )
    title = f"Levels of each factor against its first: {read.metric}"
    yield _table(title, heads, ratios, frozenset({3, 4, 5, 6}))
    together = f"Simultaneous intervals of {len(compared)} comparisons (Bonferroni). " if len(compared) > 1 else ""
    yield Paragraph(f"{together}`low` and `high` are the ends of the 95 % interval of a ratio.")
    columns = ("source", "share of variance, %", "degrees of freedom", "p")
    shares = [(source.name, 100 * source.share, source.df, source.p) for source in sources]
    yield _table(f"Sources of the variance of {read.metric}", columns, shares, frozenset({1, 2, 3}))
    yield Paragraph("Main effects: geometric means over all combinations of the other factors.")
    yield from _automatic_figure(trials, f"{read.metric} over factors", points)


# -- caveats


def _caveats(trials: Trials, recorded: RecordedRun | None) -> Iterator[Block]:
    result_findings = search.load_findings(trials)
    if result_findings:
        rows = [
            (
                f"{result_finding.lint.id} {result_finding.lint.name}",
                result_finding.lint.severity.value,
                result_finding.message,
            )
            for result_finding in result_findings
        ]
        yield _table("Findings about the results", ("rule", "severity", "finding"), rows)
    else:
        yield Paragraph("The rules about results found nothing.")
    problems = _asked_of(trials, "problem, count(*) FROM problems WHERE", "GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT 50")
    if problems:
        yield _table("Why trials do not count", ("problem", "times"), problems, frozenset({1}))
    if recorded and recorded.plan.header.findings:
        heads = ("rule", "severity", "place", "finding", "allowed because")
        findings = recorded.plan.header.findings
        of_program = [(f"{f.code} {f.name}".strip(), f.severity, f.place, f.message, f.allowed) for f in findings]
        yield _table("Findings about the program", heads, of_program)
    elif recorded:
        yield Paragraph("The rules about programs found nothing.")


# -- timeline

_COMPLETIONS = (
    "DISTINCT direction || '_' || kind FROM histograms WHERE direction || '_' || kind || '_p99' IN "
    "(SELECT name FROM \"columns\" WHERE means LIKE '%.completion.p99') AND"
)
"""The distributions of the time from submission to completion."""


def _timeline(trials: Trials, points: Sequence[_Point]) -> Iterator[Block]:
    read = design.read(trials)
    strongest = _strongest(read)
    by = f" by {strongest}" if strongest else ""
    yield from _automatic_figure(trials, f"{read.metric} over position{by}", points)
    for (latency,) in _asked_of(trials, _COMPLETIONS, "ORDER BY 1"):
        yield from _automatic_figure(trials, f"{latency} over latency{by}", points)
        yield from _automatic_figure(trials, f"{latency} over position", points)
    varied = _asked_of(
        trials,
        "metric FROM samples WHERE second >= 0 AND",
        f"GROUP BY metric HAVING stddev(value) > 0 ORDER BY stddev(value) / avg(abs(value)) DESC LIMIT {_MOST_SERIES}",
    )
    for (metric,) in sorted(varied, key=str):
        yield from _automatic_figure(trials, f"{metric} over second", points)


def _strongest(read: design.Design) -> str | None:
    """The factor with the largest share of the variance among those with few enough levels for a plot's colours."""
    names = [
        factor.name
        for factor, levels in zip(read.factors, read.levels, strict=True)
        if len(levels) <= len(drawing.COLOURS)
    ]
    try:
        return next((effect.name for effect in effects.effects(read) if effect.name in names), next(iter(names), None))
    except RunError:
        return next(iter(names), None)


# -- method


def _method(trials: Trials, recorded: RecordedRun | None) -> Iterator[Block]:
    if recorded:
        header = recorded.plan.header
        hosts = f" on {', '.join(header.hosts)}" if any(header.hosts) else ""
        yield Paragraph(f"{header.counts}{hosts}, in random order with seed {header.seed}. Plan {header.plan}.")
    facts = _asked_of(trials, "run, name, trim(value, chr(10)) FROM facts WHERE", "ORDER BY ALL")
    short = [fact for fact in facts if len(str(fact[2])) <= _LONG and "\n" not in str(fact[2])]
    if short:
        yield _table("Machine and software versions", ("run", "fact", "value"), short)
    for run, name, value in facts:
        if (run, name, value) not in short:
            yield Listing(f"{name} of {run}" if trials.others else str(name), visible(str(value), keep="\n\t"))
    spent = _asked_of(trials, "action, count(*), sum(elapsed) FROM steps WHERE", "GROUP BY ALL ORDER BY 3 DESC")
    if spent:
        heads = ("purpose", "commands", "seconds")
        yield _table("Time by purpose", heads, spent, frozenset({1, 2}))
    first = next((item for item in recorded.plan.items() if isinstance(item, Trial)), None) if recorded else None
    if first:
        steps = [(step.name, str(step.action), step.why, step.command) for step in first.steps]
        yield _table("Commands of the first trial", ("step", "purpose", "why", "command"), steps)


def _asked_of(trials: Trials, question: str, end: str) -> list[tuple[object, ...]]:
    """The rows that answer a query about the runs of the trials; `question` ends in WHERE."""
    runs = ", ".join(map(literal, (trials.run, *trials.others)))
    return list(run_query(trials.db, f"SELECT {question} run IN ({runs}) {end}").rows)


# -- every trial

_OF_TRIALS = ("run", "trial", "replicate", "number", "position", "host", "started", "valid", "why_not", "cache_state")


def _points(trials: Trials) -> list[_Point]:
    """All trials by point, in plan order."""
    factors = [name for name, _ in trials.factors.values()]
    metrics = _shown_metrics(trials)
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
        points.append(_Point(f"point-{n}", before < _MOST_ROWS, levels, tuple(rows)))
        before += len(rows)
    return points


def _shown_metrics(trials: Trials) -> list[str]:
    """The columns of the metrics that the clauses name, and of the default one."""
    tables, plots = clauses.stored_clauses(trials, "table", Table), clauses.stored_clauses(trials, "plot", Plot)
    measures = [measure for table in tables for measure in table.measures]
    terms = [item.term for item in (*measures, *(measure for plot in plots for measure in plot.measures))]
    names = [name for term in terms for name in clauses.metrics_of(term) if name in trials.metrics]
    usual = design.read(trials).metric
    return list(dict.fromkeys(trials.metrics[name][0] for name in [*names, usual]))


def _every_trial(trials: Trials, points: Sequence[_Point], recorded: RecordedRun | None) -> Iterator[Block]:
    sorts = {
        str(name): (str(sort), str(unit))
        for name, sort, unit in run_query(
            trials.db, 'SELECT name, type, unit FROM "columns" WHERE experiment = ?', [trials.experiment]
        ).rows
    }
    factors = [name for name, _ in trials.factors.values() if any(point.levels[name] is not None for point in points)]
    metrics = _shown_metrics(trials)
    hosts = ["host"] if any(row["host"] for point in points for row in point.rows) else []
    raw = _raw_files(trials, recorded)
    rows, data = [], []
    for point in points:
        for row in point.rows:
            state = "counts" if row["valid"] else f"does not count: {row['why_not']}"
            own = raw.get((row["run"], row["trial"], row["replicate"]), ())
            fixed = (point.name, row["number"], row["replicate"], row["position"], *(row[n] for n in hosts))
            levels = [wording.level(row[name], sorts[name][0]) for name in factors]
            shown = [_measured_as(row[name], sorts.get(name, ("", "s"))[1]) for name in metrics]
            words = [*map(_plain, fixed), *levels, *shown, _plain(state), _plain(row["cache_state"])]
            rows.append((*map(Cell, words), Cell("", "", own)))
            figures = [row[name] for name in (*factors, *metrics)]
            data.append((*fixed, *figures, state, row["cache_state"], " ".join(link.text for link in own)))
    heads = ("point", "trial", "replicate", "order", *hosts, *factors, *metrics, "counts", "cache", "raw files")
    texts = {
        "point",
        "host",
        "counts",
        "cache",
        "raw files",
        *(n for n in factors if sorts[n][0] in {"word", "string"}),
    }
    numeric = frozenset(i for i, name in enumerate(heads) if name not in texts)
    anchors = tuple(point.name if i == 0 else "" for point in points for i in range(len(point.rows)))
    title = "Trials by point; `order` is the place of a trial in the run"
    yield document.DocumentTable(
        title=title, columns=heads, rows=tuple(rows), names=heads, data=tuple(data), numeric=numeric, anchors=anchors
    )


def _measured_as(value: object, unit: str) -> str:
    return wording.measured(value, unit) if isinstance(value, int | float) else "-"


def _raw_files(trials: Trials, recorded: RecordedRun | None) -> dict[tuple[object, ...], tuple[Link, ...]]:
    """Links to the raw output of each trial, by run, trial and replicate, for runs whose folder exists."""
    if recorded is None:
        return {}
    artefacts: dict[tuple[object, object], list[str]] = {
        (item.identity, item.replicate): [step.reader.artefact for step in item.steps if step.reader]
        for item in recorded.plan.items()
        if isinstance(item, Trial)
    }
    links = _asked_of(
        trials,
        'run, trial, replicate, arg_max("out", position) FROM steps WHERE trial IS NOT NULL AND',
        "GROUP BY run, trial, replicate",
    )
    return {
        (run, trial, replicate): tuple(
            Link(name or str(out), quote(f"{recorded.folders}/{run}/{out}/{name}"))
            for name in ("", *artefacts.get((trial, replicate), ()))
        )
        for run, trial, replicate, out in links
    }


# -- reproduction


def _reproduction(recorded: RecordedRun | None) -> Iterator[Block]:
    if recorded is None:
        return
    header = recorded.plan.header
    program = next(iter(header.sources), "program.zexp")
    settings = dict(header.settings)
    profile = settings.pop("--profile", None)
    parts = [Path(program).name, *(f"--set {quote_word(f'{name}={text}')}" for name, text in settings.items())]
    parts += [f"--profile {quote_word(profile)}"] if profile else []
    parts += [f"--experiment {quote_word(header.experiment)}", f"--seed {header.seed}"]
    parts += [f"--order {quote_word(header.order)}"] if header.order != Order.PLANNED else []
    yield Paragraph(
        "Save the program above and the files that it imports in one directory. These commands then carry out the "
        f"same plan with zlang {__version__}. Without zlang, the script `plan.sh` does the same."
    )
    yield Listing("Commands", visible(f"zlang run {' '.join(parts)}\nzlang report", keep="\n"), is_open=True)
    folder = f"{recorded.folders}/{recorded.run}"
    files = (
        ("plan.sh", "the plan as a shell script"),
        ("plan.jsonl", "the plan"),
        ("journal.jsonl", "what the run did, and when"),
    )
    rows = tuple((Cell("", "", (Link(name, quote(f"{folder}/{name}")),)), Cell(file)) for name, file in files)
    yield document.DocumentTable("Files of the run", ("file", "contents"), rows, ("file", "contents"), files)
