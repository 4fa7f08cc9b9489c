"""Composition of the report of a run: question, results, comparisons, caveats, timeline, method, trials, reproduction.

In: the trials of a run in a database, its plan, and the findings about its program. Out: a `Document`.
Rules: a figure has its n, its interval if there is one, and a link to its trials; a trial has links to its raw files.
An inconclusive comparison is labelled as such.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote

from zlang import __version__
from zlang.check.questions import FactorRef, Table
from zlang.check.values import quote as quote_word
from zlang.diagnostics import ProgramError
from zlang.errors import RunError
from zlang.plan.order import Order
from zlang.plan.plan import Plan, Trial
from zlang.report import (
    answer,
    answers,
    clauses,
    compare,
    design,
    document,
    drawing,
    effects,
    judging,
    stopping,
    summary,
    vega,
    wording,
)
from zlang.report.answer import Answered
from zlang.report.document import Block, Cell, Document, Figure, Link, Listing, Paragraph, Section
from zlang.report.drawn import EMPTY, Drawn
from zlang.report.findings import search
from zlang.report.formulas import UNITS, Trials
from zlang.report.summary import Summary, TableColumn, cells
from zlang.run import outputs
from zlang.store.query import run_query
from zlang.store.run_rows import BEFORE
from zlang.store.store import literal, quoted
from zlang.text import visible

FindLevel = Callable[[Mapping[str, object]], object]
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
_TINY = 0.001
_EXACT = 1e15
"""Larger floats have no digit for each power of ten."""
_MOST_SERIES = 6
"""Most sampled metrics; those that vary most are shown."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The plan of a run, and the path from the report to the run folders.

    `packed` has the attempts, as `RUN/DIRECTORY`, whose files are in the file of small outputs.
    """

    run: str
    plan: Plan
    folders: str
    packed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Point:
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


def document_of(trials: Trials, recorded: RecordedRun | None) -> Document:
    """Compose the report of a run; `recorded` is None if the run folder is missing. Raises RunError."""
    answered = answer.answer_of(trials)
    points = _points(trials, answered.read.metric)
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
        Section("program", "Program", tuple(_program(trials, recorded))),
        Section("method", "Method", tuple(_method(trials, recorded))),
        Section("trials", "Trials", tuple(_every_trial(trials, points, answered.read.metric, recorded))),
        Section("reproduce", "How to reproduce this", tuple(_reproduction_section(recorded))),
    )
    kept = tuple(
        replace(section, blocks=tuple(map(_bounded, section.blocks))) for section in sections if section.blocks
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


def _bounded(block: Block) -> Block:
    """Return the block with its table cut to a size that a browser can show; a note says so, `data` has all rows."""
    match block:
        case document.DocumentTable() if len(block.data) > _MOST_ROWS:
            note = f"The first {_MOST_ROWS:,} of {len(block.data):,} rows; `zlang report --format csv` writes them all."
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
    """Make a table of data, with numbers rounded to their significant digits."""
    shown = tuple(tuple(Cell(_cell_text(value)) for value in row) for row in rows)
    return document.DocumentTable(
        title=title, columns=tuple(heads), rows=shown, names=tuple(heads), data=tuple(map(tuple, rows)), numeric=numeric
    )


def _cell_text(value: object) -> str:
    match value:
        case None:
            return ""
        case float() if 0 < abs(value) < _TINY or abs(value) >= _EXACT:
            return f"{value:.1g}"
        case float():
            return wording.digits(value)
        case int():
            return f"{value:,}"
        case _:
            return visible(str(value), keep="\n")


# -- question and program


def _question(trials: Trials, recorded: RecordedRun | None) -> Iterator[Block]:
    """The title, which asks the question, or else the comment at the head of the program."""
    if not trials.title:
        yield from _comment(recorded)


def _comment(recorded: RecordedRun | None) -> Iterator[Block]:
    """The comment at the head of the program."""
    for text in list(recorded.plan.header.sources.values())[:1] if recorded else ():
        yield from map(Paragraph, _head(text))


def _program(trials: Trials, recorded: RecordedRun | None) -> Iterator[Block]:
    if trials.title:
        yield from _comment(recorded)
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


def _results(
    trials: Trials, points: Sequence[_Point], answered: Answered, figures: Iterable[Figure]
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


def _stopped(trials: Trials, points: Sequence[_Point], sentences: Sequence[str]) -> Iterator[Block]:
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
    return replace(_table("Expectations", heads, shown), data=tuple(data))


@dataclass(frozen=True, slots=True)
class _Artist:
    """Draws plots as figures; a level has the same colour in all of them."""

    trials: Trials
    points: Sequence[_Point]
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
    title: str, details: Summary, by: Sequence[FindLevel | None], points: Sequence[_Point]
) -> document.DocumentTable:
    """A table of a summary whose figures link to their points; `by` finds the levels of each factor."""
    places: dict[tuple[object, ...], list[_Point]] = {}
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
    table = _table(title, heads, ratios, frozenset({3, 4, 5, 6}))
    ends = [tuple("" if end is None else compare.end(end) for end in row[4:6]) for row in ratios]
    rows = [(*row[:4], *map(Cell, own), *row[6:]) for row, own in zip(table.rows, ends, strict=True)]
    yield replace(table, rows=tuple(rows))
    together = f"Simultaneous intervals of {len(compared)} comparisons (Bonferroni). " if len(compared) > 1 else ""
    yield Paragraph(f"{together}`low` and `high` are the ends of the 95 % interval of a ratio.")
    columns = ("source", "share of variance, %", "degrees of freedom", "p", "tested against")
    shares = [(e.name, 100 * e.share, e.df, e.p, e.tested_against) for e in answered.sources]
    sources = _table(f"Sources of the variance of {read.metric}", columns, shares, frozenset({1, 2, 3}))
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
        yield _table("Findings about the results", ("rule", "severity", "finding"), rows)
    else:
        yield Paragraph("The rules about results found nothing.")
    problems = _asked_of(trials, "problem, count(*) FROM problems WHERE", "GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT 50")
    if problems:
        yield _table("Problems of trials and of the run", ("problem", "times"), problems, frozenset({1}))
    of_program = _asked_of(trials, _OF_PROGRAM, f"AND stage = {literal(BEFORE)} GROUP BY ALL ORDER BY min(position)")
    if of_program:
        yield _table(
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
    for (latency,) in _asked_of(trials, _COMPLETIONS, "ORDER BY 1"):
        yield from draw.figures_of(f"{latency} over latency{by}")
        yield from draw.figures_of(f"{latency} over position")
    varied = _asked_of(
        trials,
        "metric FROM samples WHERE second >= 0 AND",
        f"GROUP BY metric HAVING stddev(value) > 0 ORDER BY stddev(value) / avg(abs(value)) DESC LIMIT {_MOST_SERIES}",
    )
    for (metric,) in sorted(varied, key=str):
        yield from draw.figures_of(f"{metric} over second")


# -- method


def _method(trials: Trials, recorded: RecordedRun | None) -> Iterator[Block]:
    if recorded:
        header = recorded.plan.header
        hosts = f" on {', '.join(header.hosts)}" if any(header.hosts) else ""
        yield Paragraph(
            f"{header.counts}{hosts}, order `{header.order}` with seed {header.seed}. Plan `{header.plan}`."
        )
    facts = _asked_of(trials, "run, name, trim(value, chr(10)) FROM facts WHERE", "ORDER BY ALL")
    yield from map(Paragraph, _machines([(str(run), str(name), str(value)) for run, name, value in facts]))
    # The facts about a tool say where to get it.
    own = [fact for fact in facts if not str(fact[1]).startswith("tool ")]
    short = [fact for fact in own if len(str(fact[2])) <= _LONG and "\n" not in str(fact[2])]
    if short:
        start = 0 if trials.others else 1
        rows = [(run, name, " ".join(str(value).split()))[start:] for run, name, value in short]
        yield _table("Machine and software versions", ("run", "fact", "value")[start:], rows)
    for run, name, value in own:
        if (run, name, value) not in short:
            yield Listing(f"{name} of {run}" if trials.others else str(name), visible(str(value), keep="\n\t"))
    spent = _asked_of(trials, f"{_PURPOSE}, count(*), sum(elapsed) FROM steps WHERE", "GROUP BY ALL ORDER BY 3 DESC")
    if spent:
        heads = ("purpose", "commands", "seconds")
        yield _table("Time by purpose", heads, spent, frozenset({1, 2}))
    first = next((item for item in recorded.plan.items() if isinstance(item, Trial)), None) if recorded else None
    if first:
        steps = [f"# {step.name} ({step.action}): {step.why}\n{step.command}" for step in first.steps]
        yield Listing("Commands of the first trial", visible("\n\n".join(steps), keep="\n\t"), is_open=True)


_PURPOSE = "coalesce(action, split_part(step, '-', 1))"
"""SQL: the action of a command; if it has none, the first part of its name: `change-volume-compression`."""
_OF_MACHINES = {"cpu", "disks", "kernel", "memory", "mounts", "os", "user"}
"""Facts that are not the version of a tool."""


def _is_version(name: str, text: str) -> bool:
    return not name.startswith("tool ") and "\n" not in text and len(text) <= _LONG


def _machines(facts: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """Describe each machine in a sentence."""
    machines: dict[str, dict[str, str]] = {}
    for run, name, value in facts:
        machines.setdefault(run, {})[name] = value
    for existing in machines.values():
        models = re.findall(r"(?m)^model name\s*:\s*(.+)$", existing.get("cpu", ""))
        memory = re.search(r"(?m)^MemTotal:\s*(\d+) kB", existing.get("memory", ""))
        system = re.search(r'(?m)^PRETTY_NAME="?([^"\n]+)', existing.get("os", ""))
        parts = [
            *([f"{len(models)} × {models[0]}"] if models else []),
            *([f"{int(memory[1]) / (1 << 20):.3g} GiB of memory"] if memory else []),
            *([system[1]] if system else []),
            *([" ".join(existing["kernel"].split()[:2])] if "kernel" in existing else []),
            *(
                " ".join(text.split())
                for name, text in sorted(existing.items())
                if name not in _OF_MACHINES and _is_version(name, text)
            ),
            *([f"zlang {__version__}"]),
        ]
        yield visible(f"Measured on {', '.join(parts)}.")


def _asked_of(trials: Trials, question: str, end: str) -> list[tuple[object, ...]]:
    """Run a query about the runs of the trials; `question` ends in WHERE, and `end` follows the condition."""
    runs = ", ".join(map(literal, (trials.run, *trials.others)))
    return list(run_query(trials.db, f"SELECT {question} run IN ({runs}) {end}").rows)


# -- every trial

_OF_TRIALS = ("run", "trial", "replicate", "number", "position", "host", "started", "valid", "why_not", "cache_state")


def _points(trials: Trials, metric: str) -> list[_Point]:
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
        points.append(_Point(n, before < _MOST_ROWS, levels, tuple(rows)))
        before += len(rows)
    return points


def _shown_metrics(trials: Trials, usual: str) -> list[str]:
    """The columns of the metrics that the clauses name, and of the default metric."""
    return list(dict.fromkeys([*clauses.named(trials), trials.metrics[usual][0]]))


def _every_trial(
    trials: Trials, points: Sequence[_Point], metric: str, recorded: RecordedRun | None
) -> Iterator[Block]:
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
            if len(rows) < _MOST_ROWS:
                levels = [wording.level(row[name], sorts[name][0]) for name in factors]
                shown = [_measured_as(row[name], sorts.get(name, ("", "s"))[1]) for name in metrics]
                words = [*map(_cell_text, fixed), *levels, *shown, _cell_text(state), _cell_text(row["cache_state"])]
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
    trials: Trials, points: Sequence[_Point], recorded: RecordedRun | None
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
    result = _asked_of(
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


# -- reproduction


def _reproduction_section(recorded: RecordedRun | None) -> Iterator[Block]:
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
