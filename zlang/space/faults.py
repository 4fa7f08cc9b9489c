"""Errors that occur only at some points of an experiment: one finding for each place, with its trials.

In: an experiment and its space. Out: findings, and what was not tried. Only the factors that fallible expressions read
are enumerated, with the choices under which they exist; the rest of the space is counted. If that
would be too many combinations, points are sampled instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import prod

from zlang.check import hosts, naming, streams
from zlang.check.afresh import AFRESH, Afresh, SubjectResult
from zlang.check.expressions import violation
from zlang.check.instances import MOST_STEPS, Frame, carried_by, chain, explored, leaves_changed, treatment_site
from zlang.check.program import (
    Absent,
    Axis,
    Effort,
    Experiment,
    Expr,
    FactorDef,
    FaultPoint,
    Instance,
    Kind,
    Point,
    Symbol,
    Value,
)
from zlang.check.values import ValueProblem
from zlang.diagnostics import Code, Diagnostic, Lint, ProgramError
from zlang.errors import suppress
from zlang.record import Record
from zlang.space import points, space, twins
from zlang.space.space import Space, TooConnected
from zlang.space.trial_config import AS_IS, trial_config
from zlang.suggest import quoted_list, with_article
from zlang.units import Quantity

MOST = 4096
"""Combinations of factors that are tried for what they decide together; drawn points, where there are more."""
MOST_IN_ALL = 4 * MOST
MOST_KEPT = 10_000
"""The most trials of an experiment that keeps its data: their order is gone through."""
_NAMED = 4
_NOTED = 3
_MOST_COMPARED = 200_000
"""The most combinations, times the square of the number of factors, among which those are sought that decide."""
Levels = tuple[int | None, ...]
Place = tuple[Code | Lint, tuple[str, int, int]]


class Question(Record):
    """A question about points: the factors that decide it, and a function that returns the findings at a point."""

    reads: frozenset[str]
    answer: Callable[[Point, Effort], tuple[Diagnostic, ...]]


class _Tried(Record):
    """A combination of levels (None: the factor does not exist in it), its number of points, and its problem."""

    levels: Levels
    points: int
    faults: tuple[Diagnostic, ...]


def of(experiments: Iterable[Experiment], seed: int, work: Afresh = AFRESH) -> tuple[list[Diagnostic], list[str]]:
    """Return findings about the points of some experiments, one for each place, and a sentence about each space."""
    diagnostics: dict[Place, Diagnostic] = {}
    summaries: list[str] = []
    for experiment in experiments:
        findings, summary = work.findings(experiment, "points", partial(_in_one, experiment, seed))
        for finding in findings:
            diagnostics.setdefault(place_of(finding), finding)
        summaries += [summary] * bool(summary)
    return sorted(diagnostics.values(), key=lambda finding: finding.span.start), summaries


def _in_one(experiment: Experiment, seed: int) -> SubjectResult:
    """Return findings about the points of one experiment, and a sentence about its space."""
    diagnostics: dict[Place, Diagnostic] = {}
    try:
        fixed = points.without_added(experiment)
        built = fixed if experiment.search is None else points.of(experiment)
        chosen = points.chosen(experiment, fixed, seed)
        measured = points.plots(fixed, chosen, ()).points
    except ProgramError as error:
        return (error.diagnostic,), ""
    requested = [Question(risk, partial(_faults, experiment)) for risk in _largest(experiment.risks)]
    untried = answer(experiment, built, [*requested, *_question_together(experiment)], diagnostics)
    for finding in naming.found_at(experiment):
        diagnostics.setdefault(place_of(finding), finding)
    if not diagnostics:
        every = (*_without_value(experiment), *_kept_unchanged(experiment, built))
        diagnostics.update((place_of(finding), finding) for finding in every)
    same = None if diagnostics else twins.of(experiment, built, chosen)
    if same is not None:
        diagnostics.setdefault(place_of(same), same)
    try:
        replicates = points.replicates(experiment, fixed, chosen)
    except ProgramError as error:
        diagnostics.setdefault(place_of(error.diagnostic), error.diagnostic)
        return tuple(diagnostics.values()), ""
    some = f"{measured:,} of {fixed.count:,}" if measured < fixed.count else f"{measured:,}"
    count = sum(times * number for times, number in replicates.items())
    passes = ""
    if experiment.kept is not None:
        passes = f" × {experiment.kept.passes:,} passes"
        count *= experiment.kept.passes
        if count > MOST_KEPT:
            words = {"count": f"{count:,}", "what": "trials on kept data", "limit": f"{MOST_KEPT:,}"}
            finding = Code.DESIGN_TOO_LARGE.at(experiment.kept.span, design="layout", hint="make fewer passes", **words)
            diagnostics.setdefault(place_of(finding), finding)
    trials = _counted(count, "trial")
    if experiment.search is not None:
        from zlang.space import bisection

        most = len(bisection.longest(experiment.search.levels))
        some += f" × {most:,} of {experiment.search.levels:,}"
        trials = f"at most {_counted(most * count, 'trial')}"
    elif experiment.until is not None:
        trials = f"at most {trials}"
    counts = f"{experiment.name}: {some} point{'' if some == '1' else 's'}{passes}, {trials}"
    return tuple(diagnostics.values()), ", ".join([counts, *untried])


def _kept_unchanged(experiment: Experiment, built: Space) -> Iterator[Diagnostic]:
    """Find data that are kept although no trial changes any; a space with many points is not examined."""
    if experiment.kept is None or built.count > MOST_KEPT:
        return
    for number in range(built.count):
        with suppress(ProgramError):  # reported at the point itself
            config = trial_config(experiment, built[number])
            writers = zip(config.streams, config.writes, strict=True)
            if config.during or any(is_writer and stream.on for stream, is_writer in writers):
                return
    message = "no workload writes, so its data are always kept"
    hint = "remove `layout`, or run a workload that writes, too"
    yield Code.NOT_MEASURABLE.at(experiment.kept.span, message=message, hint=hint)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def answer(
    experiment: Experiment, built: Space, questions: Iterable[Question], diagnostics: dict[Place, Diagnostic]
) -> list[str]:
    """Find the problems at some points; return the factors with too many combinations to try all."""
    untried: list[str] = []
    remaining = MOST_IN_ALL
    effort = Effort()
    for question in questions:
        decide = question.reads | _choices_above(experiment.axes, question.reads)
        needed = tuple(path for path in experiment.factors if path in decide)
        everywhere = {(): (built[0], built.count)} if not needed else None
        whole = everywhere or listed(experiment, needed, min(remaining, MOST))
        possible = _drawn(built, needed, min(remaining, MOST)) if whole is None else whole
        tried: list[_Tried] = []
        for levels, (point, count) in possible.items():
            if tried and effort.steps > MOST_STEPS:
                break
            tried.append(_Tried(levels, count, question.answer(point, effort)))
        remaining = max(0, remaining - len(tried))
        is_all = whole is not None and len(tried) == len(whole)
        wrong: dict[Place, list[_Tried]] = {}
        for item in tried:
            for place in dict.fromkeys(place_of(fault) for fault in item.faults):
                wrong.setdefault(place, []).append(item)
        for place, those in wrong.items():
            if place not in diagnostics:
                diagnostics[place] = _folded(place, experiment, needed, tried, those, is_all=is_all)
        if len(tried) < prod(experiment.factors[path].size for path in needed) and not is_all:
            names = ", ".join(f"`{points.name_of(experiment.factors[path])}`" for path in needed)
            untried.append(f"{len(tried):,} combinations of {names} were tried")
    return untried


def unmet_need(experiment: Experiment, workload: Instance, on: Instance | None) -> Diagnostic | None:
    """Return the finding if a workload or a collector needs something that its target does not offer."""
    needs, at = workload.kind.needs, treatment_site(workload, on)
    if needs is None or (at is not None and set(needs[0]) & set(at.kind.offers)):
        return None
    return _nothing_offered(experiment, workload.kind, needs[0], on)


def _asserted(thing: Instance, at: Instance | None) -> Iterator[Diagnostic]:
    """Yield the findings about a kind's assertions on its target that are false."""
    for assertion in thing.kind.asserts_of_target:
        place = next((thing.places[name] for name in assertion.names if name in thing.places), thing.span)
        assert place is not None, f"BUG: {thing.key} was declared nowhere"
        finding = violation(assertion, Frame(thing, at), place)
        if finding is not None:
            yield finding


def _nothing_offered(experiment: Experiment, kind: Kind, needs: Sequence[str], on: Instance | None) -> Diagnostic:
    wanted = " or ".join(with_article(f"`{need}`") for need in needs)
    offers = f"only {quoted_list(on.kind.offers)}" if on and on.kind.offers else "nothing"
    target = f"`{on.kind.name}`" if on else "an empty list"
    fields = {
        "collector": experiment.collect,
        "event": experiment.during,
        "treatment": experiment.before,
        "protocol": experiment.cache,
    }
    span = (fields.get(kind.role) or experiment.run).span
    hint = f"measure on a thing that offers {wanted}: `zlang kinds NAME` shows what a kind offers"
    return Code.NOTHING_OFFERED.at(span, workload=kind.name, needs=wanted, target=target, offers=offers, hint=hint)


def changed_given(experiment: Experiment, treatment: Instance, on: Instance) -> Diagnostic | None:
    """Return the finding if a treatment before the measurement would change a thing that the run did not create."""
    at = treatment_site(treatment, on)
    if at is None or not at.is_given or not leaves_changed(treatment, _seeded(treatment, at)):
        return None
    assert experiment.before is not None, "BUG: a treatment that nobody asked for"
    message = f"`{treatment.label}` would change `{at.label}`, which is `given`"
    hint = "apply it to something that the run creates"
    return Code.CHANGES_GIVEN.at(experiment.before.span, message=message, hint=hint)


def in_two_states(experiment: Experiment, before: Instance | None, targets: Sequence[Instance]) -> Iterator[Diagnostic]:
    """Yield a finding if two targets need a thing in two states at the same time."""
    states: dict[str, tuple[str, str, bool]] = {}
    for target in targets if len(targets) > 1 else ():
        site = treatment_site(before, target) if before else None
        resources = [thing for thing in chain(target) if thing.kind.role == "resource"]
        for thing in resources:
            carried = carried_by(thing, resources) if thing.kind.rebuilt_per_child else None
            state = thing.digest, carried.key if carried else "", thing is site
            if states.setdefault(thing.key, state) != state:
                message = f"two streams need `{thing.label}` in different states at the same time"
                hint = "give each stream a target of its own"
                yield Code.NOT_MEASURABLE.at(experiment.run.span, message=message, hint=hint)
                return


def unverifiable(experiment: Experiment, on: Instance, state: str) -> Diagnostic:
    """Return the finding if nothing beneath a target can verify the state of its cache."""
    message = f"nothing beneath `{on.key}` can verify that its cache is {state}"
    return Code.NOT_MEASURABLE.at(experiment.cache.span, message=message, hint=f"write `cache = {AS_IS}`")


# -- which points are tried


def _largest(risks: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return the sets that no other set contains."""
    kept: list[frozenset[str]] = []
    for risk in sorted(risks, key=len, reverse=True):
        if not any(risk <= other for other in kept):
            kept.append(risk)
    return kept


def _choices_above(axes: Iterable[Axis], risk: frozenset[str]) -> set[str]:
    """Return the choices under which some of these factors exist."""
    names: set[str] = set()
    verdicts: dict[int, bool] = {}

    def walk(axis: Axis) -> bool:
        if id(axis) not in verdicts:
            below = [walk(inner) for branch in axis.branches or () for inner in branch]
            if any(below):
                names.add(axis.path)
            verdicts[id(axis)] = any(below) or axis.path in risk
        return verdicts[id(axis)]

    for axis in axes:
        walk(axis)
    return names


_Possible = dict[Levels, tuple[Point, int]]
"""Combinations of levels, each with one of its points and their number."""


def listed(experiment: Experiment, needed: Sequence[str], most: int) -> _Possible | None:
    """Return every combination of these factors; None if there are too many."""
    conditions = points.conditions(experiment)
    tied = frozenset(needed).union(*(condition.reads for condition in conditions))
    if prod(experiment.factors[path].size for path in tied if path in experiment.factors) > most:
        return None
    by_levels: _Possible = {}
    try:
        for point, count in space.combinations(experiment.axes, conditions, frozenset(needed)):
            levels = _levels(point, needed)
            first, before = by_levels.get(levels, (point, 0))
            by_levels[levels] = first, before + count
    except TooConnected:
        return None
    return by_levels


def _drawn(built: Space, needed: Sequence[str], most: int) -> _Possible:
    import random

    drawn = random.Random(1)
    some = (built[drawn.randrange(built.count)] for _ in range(most))
    return {_levels(point, needed): (point, 1) for point in some}


def _levels(point: Point, needed: Sequence[str]) -> Levels:
    return tuple(point.get(path) for path in needed)


def _read(experiment: Experiment) -> tuple[Expr | None, ...]:
    made_of = (experiment.on, experiment.with_, experiment.before, experiment.during)
    return (*made_of, experiment.run, experiment.cache, experiment.collect)


def _without_value(experiment: Experiment) -> Iterator[Diagnostic]:
    """Find names in workload commands that their targets lack, at points that differ from the first in one choice."""
    tried = set[tuple[str, ...]]()
    for point in hosts.each_choice(experiment, [*experiment.run.axes, *(experiment.on.axes if experiment.on else ())]):
        with suppress(ProgramError, ValueProblem):  # reported at the point itself, if it is part of the space
            for stream in streams.at(experiment, point):
                on = (stream.on.key, stream.on.digest) if stream.on else ()
                pair = stream.workload.key, stream.workload.digest, *on
                if pair not in tried:
                    yield from _without_value_in(experiment, stream.workload, stream.on)
                    tried.add(pair)


def _without_value_in(experiment: Experiment, workload: Instance, on: Instance | None) -> Iterator[Diagnostic]:
    action = hosts.action_of(workload, "run", at=on)
    frame = _seeded(workload, on)
    for part in (part for command in action.commands for part in command.text) if action else ():
        if not isinstance(part, str) and isinstance(part.value(frame), Absent):
            target = f" on `{on.kind.name}`" if on else ""
            message = f"`{part.span.text}`, which a command of `{workload.kind.name}` uses, has no value{target}"
            hint = "a property has a value if it has a `default`, or `required = on`"
            if on and (name := _missing_name(part, workload, on)):
                message = f"`{on.kind.name}` has no `{name}`, which `{workload.kind.name}` needs"
                hint = f"measure something on it that has `{name}`, such as a `file` on a file system"
            finding = Code.NO_VALUE.at(experiment.run.span, message=message, hint=hint)
            yield finding.also(part.span, "this has no value")


def _missing_name(part: Expr, workload: Instance, on: Instance) -> str:
    """Return the name in a part of a command that a target of that kind never has."""
    called = workload.kind.needs[1] if workload.kind.needs else ""
    names = re.findall(rf"\b{called}\.(\w+)", part.span.text) if called else ()
    attributes = {*on.kind.offers, *on.kind.properties}
    return next((name for name in names if name not in attributes), "")


def _seeded(thing: Instance, on: Instance | None) -> Frame:
    """Return a frame with a seed, whose value does not matter."""
    return Frame(thing, on, {"seed": Quantity(Fraction(0))})


def _faults(experiment: Experiment, levels: Point, effort: Effort) -> tuple[Diagnostic, ...]:
    """Return all problems of the values at a point."""
    point = FaultPoint(levels, effort)
    for expr in _read(experiment):
        try:
            if expr is not None:
                expr.value(point)
        except ProgramError as error:
            point.faults.append(error.diagnostic)
    point.faults += points.violated(experiment, point)
    point.faults += points.without_repeat(experiment, point)
    return tuple(point.faults)


def _question_together(experiment: Experiment) -> Iterator[Question]:
    """Yield the question whether the things of a trial fit together, unless they do in every trial."""
    result, reads, is_all = explored(experiment.factors, MOST, lambda point: bool(_unfitting(experiment, point)))
    if not is_all:
        reads = reads.union(*(expr.reads for expr in _read(experiment) if expr is not None))
    if any(result) or not is_all:
        yield Question(reads, lambda levels, effort: _unfitting(experiment, FaultPoint(levels, effort)))


def _unfitting(experiment: Experiment, point: FaultPoint) -> tuple[Diagnostic, ...]:
    """Return the findings about things of a trial that do not fit together."""
    try:
        return tuple(_together(experiment, point))
    except ProgramError as error:
        return (error.diagnostic,)


def _together(experiment: Experiment, point: FaultPoint) -> Iterator[Diagnostic]:
    """Find things of a trial that do not fit together. Raises ProgramError where there are too many streams."""

    def value_of(field: Expr | None) -> Value:
        return field.value(point) if field is not None else None

    with_, before, cache = (value_of(field) for field in (experiment.with_, experiment.before, experiment.cache))
    yield from hosts.set_twice(experiment, streams.things_of(with_))
    run = value_of(experiment.run)
    every = streams.of(run, value_of(experiment.on))
    if not every:
        yield from [streams.nothing_run(experiment)] if run == () else []
        return
    events = hosts.on_each_machine(streams.things_of(value_of(experiment.during)), every)
    happening = [(event, hosts.target_of(event, every)) for event in events]
    collectors = hosts.on_each_machine(streams.things_of(value_of(experiment.collect)), every)
    targets = (*streams.targets(every), *(event.parent for event in events if event.parent is not None))
    treatment = before if isinstance(before, Instance) else None
    pairs = [(stream.workload, stream.on) for stream in every]
    pairs += happening
    pairs += [(collector, target) for collector in collectors for target in streams.targets(every) or (None,)]
    pairs += [(treatment, target) for target in targets if treatment is not None]
    for thing, target in pairs:
        lacking = unmet_need(experiment, thing, target)
        yield from [lacking] if lacking is not None else _asserted(thing, treatment_site(thing, target))
    yield from streams.findings(experiment, every)
    called = cache.kind if isinstance(cache, Instance) else experiment.protocols.get(getattr(cache, "name", ""))
    yield from hosts.rehearsal_findings(experiment, every, called)
    yield from in_two_states(experiment, treatment, targets)
    yield from hosts.one_path_findings(every)
    yield from streams.event_findings(experiment, happening, every)
    for target in targets:
        if called is not None and called.needs is not None and not set(called.needs[0]) & set(target.kind.offers):
            yield _nothing_offered(experiment, called, called.needs[0], target)
        yield from _flushed(experiment, called, target)
        changed = changed_given(experiment, treatment, target) if treatment is not None else None
        yield from [changed] if changed is not None else []
    named = {thing.key for stream in every for thing, _ in stream.workload.named}
    beside = [thing for thing in streams.things_of(with_) if thing.key in named]
    yield from _unverified(experiment, called, targets, beside)


def _flushed(experiment: Experiment, kind: Kind | None, on: Instance) -> Iterator[Diagnostic]:
    """Find given things whose caches would be emptied although other things may rely on them."""
    if kind is None or "flush" not in kind.phases:
        return
    for thing in chain(on):
        if thing.is_given and thing.kind.has("flush"):
            hint = "write `cache = as_is`"
            finding = Code.SHARED_CACHE.at(experiment.cache.span, name=thing.label, protocol=kind.name, hint=hint)
            yield finding.also(thing.span, "declared as given here") if thing.span else finding


def _unverified(
    experiment: Experiment, kind: Kind | None, targets: Sequence[Instance], beside: Iterable[Instance]
) -> Iterator[Diagnostic]:
    """Find cache states that a protocol needs and that nothing can verify."""
    if kind is None or not targets:
        return
    resources = [thing for top in (*targets, *beside) for thing in chain(top) if thing.kind.role == "resource"]
    platform = hosts.platform_of(hosts.host_of(targets[0]))
    for phase in kind.phases:
        verb, _, state = phase.partition("_")
        if state and kind.action(phase, platform) is None:
            if not any(hosts.action_of(thing, verb, state) for thing in resources):
                yield unverifiable(experiment, targets[0], state)


# -- how they are reported


def _folded(
    place: Place,
    experiment: Experiment,
    needed: Sequence[str],
    tried: Sequence[_Tried],
    wrong: Sequence[_Tried],
    *,
    is_all: bool,
) -> Diagnostic:
    """Return one finding for a place, with the number of affected trials and the levels of the first."""
    faults = [next(fault for fault in item.faults if place_of(fault) == place) for item in wrong]
    decisive = _decisive(
        len(needed),
        tried,
        {id(combination): fault.message for combination, fault in zip(wrong, faults, strict=True)},
    )
    factors = [experiment.factors[needed[i]] for i in decisive]
    levels = [{combination.levels[i] for combination in wrong} for i in decisive]
    first = wrong[0]
    share = _share(experiment, tried, wrong) if is_all else "some points"
    is_everywhere = is_all and not decisive and len(wrong) == len(tried)
    message = faults[0].message + ("" if is_everywhere else f", in {share}")
    if decisive:
        those = {combination.levels for combination in wrong}
        is_exact = (
            is_all
            and len({fault.message for fault in faults}) == 1
            and all(
                combination.levels in those
                or any(combination.levels[i] not in some for i, some in zip(decisive, levels, strict=True))
                for combination in tried
            )
        )
        some = levels if is_exact else [{first.levels[i]} for i in decisive]
        conditions = [_levels_in_words(factor, which) for factor, which in zip(factors, some, strict=True)]
        message += f", {'' if is_exact else 'such as '}where {' and '.join(conditions)}"
    finding = faults[0].saying(message)
    for i, factor in list(zip(decisive, factors, strict=True))[:_NOTED]:
        index = first.levels[i]
        if index is not None:
            where = factor.places[index] if factor.places else factor.span
            finding = finding.also(where, f"`{points.name_of(factor)}` is {points.shown(factor, index)}")
    return finding


def place_of(finding: Diagnostic) -> Place:
    """Return what tells findings apart: their code and their place."""
    return finding.code, finding.span.place


def _share(experiment: Experiment, tried: Iterable[_Tried], wrong: Iterable[_Tried]) -> str:
    """Return the number of trials with a problem, out of all; a number of points if the design takes only some."""
    is_full = experiment.design.value({}) == Symbol("full")
    is_even = is_full and experiment.repeat.is_constant
    times, subject = (points.repeat_at(experiment, {}), "trials") if is_even else (1, "points")
    every, those = (times * sum(item.points for item in some) for some in (tried, wrong))
    return f"{those:,} of {every:,} {subject}" if those < every else f"all {every:,} {subject}"


def _decisive(width: int, tried: Sequence[_Tried], messages: Mapping[int, str]) -> list[int]:
    """Return the indices of the factors that decide whether a combination has a problem, and which one.

    `messages` has the problems by the `id` of their combination: a hash of many levels takes long. Among too many
    factors, only those are looked at that some combination with a problem has; empty if others decide.
    """
    kept = list(range(width))
    if len(tried) * width**2 > _MOST_COMPARED:
        wrong = [item.levels for item in tried if id(item) in messages]
        kept = [i for i in kept if any(levels[i] is not None for levels in wrong)]
    rows = _verdicts((tuple([item.levels[i] for i in kept]), messages.get(id(item))) for item in tried)
    place = 0
    while rows is not None and place < len(kept):
        fewer = _verdicts((levels[:place] + levels[place + 1 :], verdict) for levels, verdict in rows.items())
        if fewer is None:
            place += 1
        else:
            rows = fewer
            del kept[place]
    return kept if rows is not None else []


def _verdicts(rows: Iterable[tuple[Levels, str | None]]) -> dict[Levels, str | None] | None:
    """Return the problem at each combination; None if the same combination has different ones."""
    verdicts: dict[Levels, str | None] = {}
    is_one = all(verdicts.setdefault(levels, verdict) == verdict for levels, verdict in rows)
    return verdicts if is_one else None


def _levels_in_words(factor: FactorDef, levels: Iterable[int | None]) -> str:
    indexes = sorted(level for level in levels if level is not None)
    if not indexes:
        return f"`{points.name_of(factor)}` is absent"
    if len(indexes) > _NAMED:
        return (
            f"`{points.name_of(factor)}` is one of {len(indexes):,} values, such as {points.shown(factor, indexes[0])}"
        )
    return f"`{points.name_of(factor)}` is {' or '.join(points.shown(factor, index) for index in indexes)}"
