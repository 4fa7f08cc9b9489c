"""The findings of all rules about a program's experiments, one for each place, without the allowed ones.

In: a program without errors. Out: findings. Rule: each rule is tried on the combinations of the factors that it reads,
and all other points are only counted. Trying a rule shows which factors it reads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from zlang.check.afresh import AFRESH, Afresh, SubjectResult
from zlang.check.check import MOST_EXPERIMENTS
from zlang.check.instances import explored
from zlang.check.program import Effort, Experiment, Instance, PartialPoint, Point, Program, Undecided
from zlang.diagnostics import Diagnostic, ProgramError
from zlang.lint import allowances
from zlang.lint.after import AFTER
from zlang.lint.levels import Levels
from zlang.lint.rule import Rule
from zlang.lint.rules import RULES
from zlang.lint.trial import TrialView, each
from zlang.record import Record
from zlang.source import Span
from zlang.space import faults, points
from zlang.space.faults import Place, Question

_MOST_ASKED = 4096
"""The number of combinations that are evaluated to find the factors that a rule reads."""


def findings(program: Program, levels: Levels, here: Instance | None = None, work: Afresh = AFRESH) -> list[Diagnostic]:
    """The findings about all experiments, by their places; `here` has the known facts of this machine."""
    unallowed, _, wrong = allowances.apply(program, _find_in_experiments(program.experiments.values(), here, work))
    weighed = (levels.of(finding) for finding in (*unallowed, *wrong))
    return sorted((finding for finding in weighed if finding is not None), key=lambda finding: finding.span.start)


def judged(
    program: Program, experiment: Experiment, levels: Levels, here: Instance | None = None
) -> list[tuple[Diagnostic, str]]:
    """All findings about an experiment, by place, each with the reason why it is allowed, or an empty text.

    This includes placeholders for rules about results, since there are no results yet.
    """
    unallowed, allowed, _ = allowances.apply(program, _find_in_experiments([experiment], here))
    whole = Span(program.source, 0, 0)
    in_results = [allowances.in_results(lint, whole) for name, lint in AFTER.items() if name in levels.by_name]
    for finding in (*unallowed, *in_results):
        weighed = levels.of(finding)
        allowed.append((weighed, "") if weighed else (finding, levels.reason(finding)))
    return sorted(allowed, key=lambda pair: pair[0].span.start)


def _find_in_experiments(
    experiments: Iterable[Experiment], here: Instance | None, work: Afresh = AFRESH
) -> list[Diagnostic]:
    diagnostics: dict[Place, Diagnostic] = {}
    for experiment in experiments:
        findings, _ = work.findings(experiment, "pitfalls", partial(_pitfalls, experiment, here))
        for finding in findings:
            diagnostics.setdefault((finding.code, finding.span.place), finding)
    return list(diagnostics.values())


def _pitfalls(experiment: Experiment, here: Instance | None) -> SubjectResult:
    return tuple(_found_in(experiment, here).values()), ""


def _found_in(experiment: Experiment, here: Instance | None) -> dict[Place, Diagnostic]:
    """The findings of the rules in one experiment; cached, because a command that checks and plans needs them twice."""
    key = (id(experiment), id(here))
    for cached_key, objects, result in _CACHED:
        if cached_key == key and objects[0] is experiment:
            return result
    result = {}
    try:
        built = points.of(experiment)
    except ProgramError:
        return result  # reported where points are counted
    faults.answer(experiment, built, _questions(experiment, here), result)
    _CACHED.append((key, (experiment, here), result))
    return result


_CACHED: deque[tuple[tuple[int, int], tuple[Experiment, Instance | None], dict[Place, Diagnostic]]] = deque(
    maxlen=MOST_EXPERIMENTS
)
"""The last findings. It keeps the experiments alive, so no other object gets their `id`."""


def _questions(experiment: Experiment, here: Instance | None) -> Iterator[Question]:
    points: dict[frozenset[tuple[str, int]], PartialPoint] = {}
    views: dict[int, list[TrialView]] = {}
    effort = Effort()

    def views_at(point: PartialPoint) -> list[TrialView]:
        # The points are kept alive, so that no other point can get the id of one.
        return views.get(id(point)) or views.setdefault(id(point), list(each(experiment, point, here)))

    for rule in RULES:
        for subject in _joined(_subjects(experiment, rule, views_at, points, effort)):
            yield Question(subject.reads, partial(_answer, experiment, rule, subject, here))


class _Subject(Record):
    """Streams of the trials, the factors that a rule reads to judge them, and the places of its findings."""

    streams: frozenset[int]
    reads: frozenset[str]
    places: frozenset[Place]


def _answer(
    experiment: Experiment, rule: Rule, subject: _Subject, here: Instance | None, point: Point, effort: Effort
) -> tuple[Diagnostic, ...]:
    decided = {path: point[path] for path in subject.reads if path in point}
    try:
        views = each(experiment, PartialPoint(decided, subject.reads, effort), here)
        return tuple(
            dict.fromkeys(finding for view in views if view.stream in subject.streams for finding in rule(view))
        )
    except ProgramError:
        return ()  # reported where the points are tried
    except Undecided:
        return ()


def _subjects(
    experiment: Experiment,
    rule: Rule,
    views_at: Callable[[PartialPoint], Sequence[TrialView]],
    points: dict[frozenset[tuple[str, int]], PartialPoint],
    effort: Effort,
) -> Iterator[_Subject]:
    """Ask a rule about each stream alone, and yield those in which it may find something.

    Several streams together would read the factors of all, which have too many combinations.
    """
    stream, most = 0, 1

    def ask(point: PartialPoint) -> tuple[Diagnostic, ...]:
        nonlocal most
        views = views_at(point)
        most = max(most, len(views))
        return rule(views[stream]) if stream < len(views) else ()

    while stream < most:
        answers, reads, is_all = explored(experiment.factors, _MOST_ASKED, ask, points, effort)
        places = frozenset(faults.place_of(finding) for findings in answers for finding in findings)
        if places or not is_all:
            yield _Subject(frozenset({stream}), reads, places)
        stream += 1


def _joined(every: Iterable[_Subject]) -> list[_Subject]:
    """Join streams with findings at the same place, so that the trials of each place are counted once."""
    result: list[_Subject] = []
    for subject in every:
        joined = [other for other in result if other.places & subject.places] + [subject]
        streams, reads = (some.streams for some in joined), (some.reads for some in joined)
        places = frozenset[Place]().union(*(some.places for some in joined))
        result = [other for other in result if other not in joined]
        result.append(_Subject(frozenset[int]().union(*streams), frozenset[str]().union(*reads), places))
    return result
