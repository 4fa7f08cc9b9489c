"""Composition of the report of a run: question, results, comparisons, caveats, timeline, method, trials, reproduction.

In: the trials of a run in a database, its plan, and the findings about its program. Out: a `Document`.
Rules: a figure has its n, its interval if there is one, and a link to its trials; a trial has links to its raw files.
An inconclusive comparison is labelled as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from zlang.check.questions import FactorRef, Table
from zlang.check.values import quote as quote_word
from zlang.diagnostics import ProgramError
from zlang.errors import RunError
from zlang.report import (
    answer,
    answers,
    blocks,
    clauses,
    compare,
    design,
    document,
    drawing,
    effects,
    every_trial,
    judging,
    provenance,
    stopping,
    summary,
    vega,
)
from zlang.report.answer import Answered
from zlang.report.document import Block, Cell, Document, Figure, Link, Paragraph, Section
from zlang.report.drawn import EMPTY, Drawn
from zlang.report.every_trial import ListedPoint
from zlang.report.findings import search
from zlang.report.formulas import UNITS, Trials
from zlang.report.provenance import RecordedRun
from zlang.report.summary import Summary, TableColumn
from zlang.store.query import run_query
from zlang.store.run_rows import BEFORE
from zlang.store.store import literal
from zlang.text import visible

FindLevel = Callable[[Mapping[str, object]], object]
_MOST_LINKS = 12
"""Points to which a row links."""
_MOST_DOTS = 2500
"""Most estimates in the pictures of a plot."""
_MOST_PICTURES = 24
"""Most pictures of a plot."""
_SHOWN = 20
"""Most combinations in which an expectation fails, and most reasons."""
_MOST_SERIES = 6
"""Most sampled metrics; those that vary most are shown."""


def document_of(trials: Trials, recorded: RecordedRun | None) -> Document:
    """Compose the report of a run; `recorded` is None if the run folder is missing. Raises RunError."""
    answered = answer.answer_of(trials)
    points = every_trial.points_of(trials, answered.read.metric)
    plots = answers.plots(trials)
    draw = _Artist(trials, points, drawing.Palette(plots))
    first = (plots or _plots_now(trials, answered.usual_plot))[:1]
    sections = (
        Section(
            "answer",
            "Question and answer",
            (*_question(trials, recorded), *map(Paragraph, answer.in_sentences(answered)), *map(draw.figure, first)),
        ),
        Section("results", "Results", tuple(_results(trials, points, answered, map(draw.figure, plots[1:])))),
        Section("comparisons", "Comparisons", tuple(_comparisons(answered, draw))),
        Section("caveats", "Caveats", tuple(_caveats(trials))),
        Section("timeline", "Timeline", tuple(_timeline(trials, answered, draw))),
        Section("program", "Program", tuple(provenance.program(trials, recorded))),
        Section("method", "Method", tuple(provenance.method(trials, recorded))),
        Section("trials", "Trials", tuple(every_trial.listing(trials, points, answered.read.metric, recorded))),
        Section("reproduce", "How to reproduce this", tuple(provenance.reproduction(recorded))),
    )
    kept = tuple(
        replace(section, blocks=tuple(map(blocks.bounded, section.blocks))) for section in sections if section.blocks
    )
    return Document(visible(trials.title or trials.experiment), _subtitle(trials), kept)


def _subtitle(trials: Trials) -> str:
    ((done, valid, first, last),) = run_query(
        trials.db,
        "SELECT count(*), count(*) FILTER (valid), min(started), max(started + to_seconds(elapsed)) "
        f"FROM {trials.rows}",
    ).rows
    when = ""
    if isinstance(first, datetime) and isinstance(last, datetime):
        same_minute = f"{first:%Y-%m-%d %H:%M}" == f"{last:%Y-%m-%d %H:%M}"
        end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
        when = f", {first:%Y-%m-%d %H:%M}{'' if same_minute else f' to {end}'} UTC"
    return f"{', '.join((trials.run, *trials.others))}: {valid:,} of {done:,} trials count{when}"


def _question(trials: Trials, recorded: RecordedRun | None) -> Iterator[Block]:
    """The title, which asks the question, or else the comment at the head of the program."""
    if not trials.title:
        yield from provenance.opening_comment(recorded)


# -- results


def _results(
    trials: Trials, points: Sequence[ListedPoint], answered: Answered, figures: Iterable[Figure]
) -> Iterator[Block]:
    if answered.judged:
        yield _expectations(answered.judged)
    declared = clauses.stored_clauses(trials, "table", Table)
    if declared:
        for clause, table in zip(declared, answers.tables(trials), strict=True):
            by = [_level_finder(trials, item) for item in clause.by]
            yield _summary(visible(clause.text.removeprefix("table ")), table, by, points)
    else:
        shown = summary.summarise(trials.db, trials.experiment, trials.rows, clauses.named(trials))
        estimates = sum(column.type == "estimate" for column in shown.columns)
        factors = [partial(_first_present, [column.name]) for column in shown.columns[: -estimates - 1]]
        yield _summary("Each combination", shown, factors, points)
    for caveat in design.caveats_of_intervals(trials):
        yield Paragraph(answer.sentence(caveat))
    yield from _stopped(trials, points, answered.sentences)
    yield from figures


def _uncounted(count: int) -> str:
    return "1 trial does not count" if count == 1 else f"{count:,} trials do not count"


def _stopped(trials: Trials, points: Sequence[ListedPoint], sentences: Sequence[str]) -> Iterator[Block]:
    """The steps of each search, and the outcomes of `find` and `repeat … until`."""
    course = stopping.course(trials)
    if course is not None:
        factors = [partial(_first_present, [column.name]) for column in course.columns[: len(trials.factors)]]
        yield _summary("Steps of each search", course, factors, points)
    for sentence in sentences[answer.MOST_ANSWERS :]:
        yield Paragraph(f"{sentence}.")


def _expectations(judged: Sequence[judging.Judged]) -> document.DocumentTable:
    """A row for each expectation, and one for each combination in which it does not pass."""
    heads = ("verdict", "expectation", "combinations", "where", "exceptions")
    shown, data = [], []
    for item in judged:
        alike = sum(finding.verdict == item.verdict for finding in item.findings)
        own = (item.verdict, item.expectation.title, f"{alike:,} of {len(item.findings):,}")
        odd = [finding for finding in item.findings if finding.verdict != judging.Verdict.PASS]
        places = [
            (judging.levels_in_words(item, finding), judging.figures_in_words(finding)) for finding in odd[:_SHOWN]
        ]
        more = f"… and in {len(odd) - _SHOWN:,} more" if len(odd) > _SHOWN else ""
        places += [("", text) for text in (more, judging.omission(item)) if text]
        reasons = [finding.why for finding in odd[:_SHOWN]]
        for n, place in enumerate(places or [("", "")]):
            data.append((*own, *place))
            is_repeated = 0 < n < len(reasons) and reasons[n] in reasons[:n]
            where, exception = place
            shown_exception = exception.removesuffix(f": {reasons[n]}") if is_repeated else exception
            shown.append((*(("", "", "") if n else own), where, shown_exception))
    return replace(blocks.table("Expectations", heads, shown), data=tuple(data))


@dataclass(frozen=True, slots=True)
class _Artist:
    """Draws plots as figures; a level has the same colour in all of them."""

    trials: Trials
    points: Sequence[ListedPoint]
    palette: drawing.Palette

    def figure(self, drawn: Drawn) -> Figure:
        """The pictures of a plot, and its numbers as a table."""
        columns = [TableColumn(item.name, item.type, "") for item in drawn.columns]
        measured = [TableColumn(item.name, "estimate", UNITS.get(item.type, "")) for item in drawn.plot.measures]
        text = Summary(
            experiment=self.trials.experiment,
            columns=(*columns, *measured),
            rows=drawn.rows,
            trials=0,
            valid=0,
            reasons=(),
            note=drawn.note if drawn.has_values else EMPTY,
        )
        title = visible(drawn.plot.text.removeprefix("plot "))
        table = _summary(title, text, [_level_finder(self.trials, item) for item in drawn.columns], self.points)
        shown = drawing.pictures(drawn)
        if len(shown) > _MOST_PICTURES or sum(len(line) for item in shown for line in item.lines.values()) > _MOST_DOTS:
            note = f"This plot is too large for a page. To draw it: `zlang plot {quote_word(title)} -o plot.svg`. "
            return Figure(title, (), replace(table, note=note + table.note))
        captions = [item.named(item.measure) for item in shown]
        specs = [vega.alone(drawn, item, self.palette) for item in shown]
        return Figure(title, tuple(zip(captions, specs, strict=True)), table, drawing.caption(drawn))

    def figures_of(self, clause: str) -> Iterator[Figure]:
        """The figures of a plot that the program does not request; none if it would be empty."""
        yield from map(self.figure, _plots_now(self.trials, clause))


def _plots_now(trials: Trials, clause: str) -> list[Drawn]:
    try:
        return answers.new_plots(trials, clause)
    except (ProgramError, RunError):  # a name with another meaning in the language, or nothing to show
        return []


def _level_finder(trials: Trials, factor_ref: FactorRef) -> FindLevel | None:
    """Return a function from a row to its level of a factor; None for a column that is not a factor."""
    if not factor_ref.values:
        names = [trials.factors[path][0] for path in factor_ref.paths if path in trials.factors]
        return partial(_first_present, names) if names else None
    paths = [trials.factors.get(path, ("", ""))[0] for path in factor_ref.paths]
    by_levels: dict[tuple[object, ...], object] = {item.levels: item.value for item in factor_ref.values}
    return lambda levels: by_levels.get(tuple(levels.get(path) for path in paths))


def _summary(
    title: str, details: Summary, by: Sequence[FindLevel | None], points: Sequence[ListedPoint]
) -> document.DocumentTable:
    """A table of a summary whose figures link to their points; `by` finds the levels of each factor."""
    places: dict[tuple[object, ...], list[ListedPoint]] = {}
    for point in points:
        places.setdefault(tuple(find(point.levels) for find in by if find), []).append(point)
    rows = []
    for row in details.rows:
        # Columns that are not factors, such as a latency, do not identify points.
        own = places.get(tuple(level for level, find in zip(row, by, strict=False) if find), [])
        linked = [point for point in own[:_MOST_LINKS] if point.is_listed]
        href = f"#{linked[0].anchor}" if linked else ""
        shown = [summary.shown(value, column) for value, column in zip(row, details.columns, strict=True)]
        figures = [Cell(text, href if i >= len(by) and text != "-" else "") for i, text in enumerate(shown)]
        links = [Link(f"{point.number:,}", f"#{point.anchor}") for point in linked]
        if len(own) > len(linked):
            links.append(Link(f"{len(own) - len(linked):,} more" if linked else f"{len(own):,} points", "#trials"))
        rows.append((*figures, Cell("", "", tuple(links))))
    names, data = summary.flat(details)
    heads = [summary.heading(details, n) for n in range(len(details.columns))]
    numeric = frozenset(i for i, column in enumerate(details.columns) if column.type not in {"word", "string"})
    note = f"{details.note}. " if details.note else ""
    note += "".join(f"{_uncounted(count)}: {reason}. " for reason, count in details.reasons[:_SHOWN])
    return document.DocumentTable(
        title=title,
        columns=(*heads, "points"),
        rows=tuple(rows),
        names=tuple(names),
        data=tuple(map(tuple, data)),
        numeric=numeric,
        note=note,
    )


def _first_present(names: Sequence[str], levels: Mapping[str, object]) -> object:
    return next((levels[name] for name in names if levels.get(name) is not None), None)


# -- comparisons


def _comparisons(answered: Answered, draw: _Artist) -> Iterator[Block]:
    read, compared = answered.read, answered.compared
    if answered.why:
        yield Paragraph(answer.sentence(answered.why))
        return
    heads = ("factor", "level", "baseline", "ratio", "low", "high", "n", "verdict", "note")
    ratios = []
    for comparison in compared:
        shown = comparison.ratio.estimate(comparison.comparisons) if comparison.ratio else None
        figures = (shown.value, shown.low, shown.high, shown.n) if shown else (None, None, None, 0)
        ratios.append(
            (comparison.factor, comparison.second, comparison.first, *figures, comparison.verdict, comparison.note)
        )
    title = f"Each level compared with the first level of its factor: {read.metric}"
    table = blocks.table(title, heads, ratios, frozenset({3, 4, 5, 6}))
    ends = [tuple("" if end is None else compare.end(end) for end in row[4:6]) for row in ratios]
    rows = [(*row[:4], *map(Cell, own), *row[6:]) for row, own in zip(table.rows, ends, strict=True)]
    yield replace(table, rows=tuple(rows))
    together = f"Simultaneous intervals of {len(compared)} comparisons (Bonferroni). " if len(compared) > 1 else ""
    yield Paragraph(f"{together}`low` and `high` are the ends of the 95 % interval of a ratio.")
    columns = ("source", "share of variance, %", "degrees of freedom", "p", "tested against")
    shares = [(e.name, 100 * e.share, e.df, e.p, e.tested_against) for e in answered.sources]
    sources = blocks.table(f"Sources of the variance of {read.metric}", columns, shares, frozenset({1, 2, 3}))
    chances = [Cell("") if e.p is None else Cell(effects.chance(e.p)) for e in answered.sources]
    percents = [Cell(effects.percent(e.share)) for e in answered.sources]
    rows = [(row[0], share, row[2], p, row[4]) for row, share, p in zip(sources.rows, percents, chances, strict=True)]
    yield replace(sources, rows=tuple(rows))
    yield from (Paragraph(answer.sentence(note)) for note in effects.notes(read, answered.sources))
    of_setups = (
        "; their intervals are of trials, and leave out how setups differ" if any(r.setups for r in read.rows) else ""
    )
    yield Paragraph(f"Main effects: geometric means over all combinations of the other factors{of_setups}.")
    yield from draw.figures_of(f"{read.metric} over factors")


# -- caveats


def _caveats(trials: Trials) -> Iterator[Block]:
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
        yield blocks.table("Findings about the results", ("rule", "severity", "finding"), rows)
    else:
        yield Paragraph("The rules about results found nothing.")
    problems = blocks.query_runs(
        trials, "problem, count(*) FROM problems WHERE", "GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT 50"
    )
    if problems:
        yield blocks.table("Problems of trials and of the run", ("problem", "times"), problems, frozenset({1}))
    of_program = blocks.query_runs(
        trials, _OF_PROGRAM, f"AND stage = {literal(BEFORE)} GROUP BY ALL ORDER BY min(position)"
    )
    if of_program:
        yield blocks.table(
            "Findings about the program", ("rule", "severity", "place", "finding", "allowed because"), of_program
        )
    else:
        yield Paragraph("The rules about programs found nothing.")


_OF_PROGRAM = "trim(concat_ws(' ', code, name)), severity, place, message, allowed FROM findings WHERE"


# -- timeline

_COMPLETIONS = (
    "DISTINCT metric FROM histograms "
    "WHERE metric IN (SELECT distribution FROM \"columns\" WHERE means LIKE '%.completion.p99') AND"
)
"""The distributions of the time from submission to completion."""


def _timeline(trials: Trials, answered: Answered, draw: _Artist) -> Iterator[Block]:
    strongest = answered.strongest_factor
    by = f" by {strongest}" if strongest else ""
    yield from draw.figures_of(f"{answered.read.metric} over position{by}")
    for (latency,) in blocks.query_runs(trials, _COMPLETIONS, "ORDER BY 1"):
        yield from draw.figures_of(f"{latency} over latency{by}")
        yield from draw.figures_of(f"{latency} over position")
    varied = blocks.query_runs(
        trials,
        "metric FROM samples WHERE second >= 0 AND",
        f"GROUP BY metric HAVING stddev(value) > 0 ORDER BY stddev(value) / avg(abs(value)) DESC LIMIT {_MOST_SERIES}",
    )
    for (metric,) in sorted(varied, key=str):
        yield from draw.figures_of(f"{metric} over second")
