"""The text that an editor shows for a name: a kind, property, declared name, experiment, number or metric."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from zlang import units
from zlang.check import library
from zlang.check.check import Checked, Overrides
from zlang.check.program import Experiment, FactorDef, Kind
from zlang.check.values import show
from zlang.diagnostics import ProgramError
from zlang.errors import RunError
from zlang.lsp import resolving
from zlang.lsp.documents import Analysis, Documents, ParsedText
from zlang.lsp.symbols import EXPERIMENT, Definition, FieldUse, NameUse, Sort
from zlang.metrics import Metric, in_trials
from zlang.pipeline import costs, describing, plans
from zlang.source import Span
from zlang.units import Quantity

_NUMBER = re.compile(r"[0-9][0-9_]*(?:\.[0-9]+)?[A-Za-z%]*(?:/s)?")
_LEVELS = 12
_FEW = 1000
"""Points of an experiment up to which its duration is estimated while somebody writes."""


def hover(documents: Documents, text: ParsedText, offset: int) -> tuple[str, Span] | None:
    """The description of a place in Markdown, and the characters that it describes; None if there is nothing."""
    name = text.symbols.at(offset)
    if name is None:
        return _number(text, offset)
    lines = list(_of_name(documents, text, name))
    return ("\n\n".join(lines), name.span) if lines else None


def _of_name(documents: Documents, text: ParsedText, name: Definition | NameUse | FieldUse) -> Iterator[str]:
    analysis = documents.last_analysis(text.source.name)
    if isinstance(name, FieldUse):
        yield from _field(documents, text, name)
        yield from _factor(analysis, f"{_declared_at(text, name.span)}.{name.name}")
        return
    place = resolving.definition(documents, text, name)
    if place is not None:
        yield from _definition(place, analysis)
        return
    assert isinstance(name, NameUse)
    part = name.path[name.index]
    if name.is_kind and (kind := resolving.kind(documents, text, part)):
        yield kind_page(kind)
    elif name.index and (owner := resolving.kind(documents, text, text.symbols.kind_of(name.path[name.index - 1]))):
        yield from property_page(owner, part)
    elif metric := metrics(analysis).get(part):
        yield metric_page(metric)
    elif field := _field_around(text, name.span):
        yield from _word(documents, text, field, part)


def _declared_at(text: ParsedText, span: Span) -> str:
    """The name of the declaration around a place."""
    around = [item.name for item in text.symbols.every() if item.whole.start <= span.start < item.whole.end]
    return around[0] if around else ""


def _field_around(text: ParsedText, span: Span) -> FieldUse | None:
    fields = [field for field in text.symbols.fields if field.value.start <= span.start < field.value.end]
    return fields[-1] if fields else None


def _field(documents: Documents, text: ParsedText, field: FieldUse) -> Iterator[str]:
    kind = resolving.kind(documents, text, field.owner) if field.owner != EXPERIMENT else None
    if kind is not None:
        yield from property_page(kind, field.name)
    elif field.owner == EXPERIMENT and field.name in FIELDS:
        yield FIELDS[field.name]


def _word(documents: Documents, text: ParsedText, field: FieldUse, word: str) -> Iterator[str]:
    kind = resolving.kind(documents, text, field.owner)
    if kind is not None and field.name in kind.properties and kind.properties[field.name].type.variant(word):
        yield f"`{word}`: a value of `{field.name}`"
        yield kind.properties[field.name].doc


FIELDS = {
    "on": "the resource that is measured",
    "with": "what is set on the machine during the trial",
    "before": "a workload or treatment that puts the target into a state",
    "run": "the workload",
    "during": "what happens during the measurement",
    "cache": "the cache protocol: `cold`, `hot`, `warm`, `as_is`, or one of your own",
    "repeat": "the number of replicates of every point, which can depend on levels",
    "design": "which points are measured: `full`, `pairwise`, `triples`, `sample(N)`",
    "layout": "`fresh`: data that a workload has written to are written again; `keep(20)`: 20 passes on the same data",
    "budget": "how long the run may take",
    "collect": "collectors that observe the measurement",
}
CLAUSES = {
    "where": "a condition on the points",
    "find": "a property of the workload that is searched",
    "expect": "an expectation about the results",
    "table": "a table to print at the end",
    "plot": "a plot to draw at the end",
    "assert": "what must hold in every trial",
}


def _definition(place: resolving.NamedPlace, analysis: Analysis | None) -> Iterator[str]:
    definition = place.definition
    whole = definition.whole.text
    head = whole if whole.count("\n") <= _LEVELS else "\n".join([*whole.split("\n")[:_LEVELS], "…"])
    yield f"```zexp\n{head}\n```"
    if definition.sort is Sort.EXPERIMENT:
        yield from (line for line in (size_of(analysis, definition.name),) if line)
    yield from _factor(analysis, definition.name)


def size_of(analysis: Analysis | None, name: str) -> str:
    """The points, replicates and estimate of an experiment; empty if it cannot be planned."""
    if analysis is None or plans.is_wrong(analysis.findings) or name not in analysis.checked.program.experiments:
        return ""
    experiment = analysis.checked.program.experiments[name]
    return analysis.size(experiment, lambda: _size_of(analysis.checked, experiment))


def _size_of(checked: Checked, experiment: Experiment) -> str:
    try:
        planned = plans.plan(checked, experiment, plans.DEFAULT_SEED, Overrides())
        trials = planned.plan.header.trials
        points = planned.plan.header.points
        seconds = sum(costs.estimate(planned, _NO_DATABASE).seconds.values()) if trials <= _FEW else 0.0
    except (ProgramError, RunError):
        return ""
    header = planned.plan.header
    least = f"{header.least_repeat} to " if header.least_repeat else ""
    parts = f"{points:,} points × {least}{header.repeat}" if header.repeat > 1 else f"{points:,} points"
    return f"{trials:,} trials ({parts})" + (f", about {_duration(seconds)}" if seconds else "")


_NO_DATABASE = Path("/dev/null/none")
_MINUTE, _HOUR = 60, 3600


def _duration(seconds: float) -> str:
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:.1f} h"


def factors(analysis: Analysis | None) -> dict[str, FactorDef]:
    """All factors of a program, by path."""
    return analysis.factors if analysis else {}


def _factor(analysis: Analysis | None, path: str) -> Iterator[str]:
    every = factors(analysis)
    factor = every.get(path) or next((item for name, item in every.items() if path in name.split("+")), None)
    if factor is None:
        return
    levels = [" ".join(show(value) for value in factor.level(index)) for index in range(min(factor.size, _LEVELS))]
    more = " …" if factor.size > _LEVELS else ""
    yield f"{factor.size:,} levels: {', '.join(f'`{level}`' for level in levels)}{more}"


def metrics(analysis: Analysis | None) -> dict[str, Metric]:
    """The metrics that the experiments of a program have."""
    experiments = analysis.checked.program.experiments.values() if analysis else ()
    declared = {metric: None for experiment in experiments for metric in experiment.metrics}
    return {metric.name: metric for metric in (*in_trials(declared), *declared)}


def kind_page(kind: Kind) -> str:
    """Describe a kind and its properties, as Markdown."""
    needs = f"\n\nneeds: {' or '.join(kind.needs[0])}" if kind.needs else ""
    module = "" if kind.module in {library.PRELUDE, ""} or kind.is_own else f"\n\n`import {kind.module}`"
    return f"**{kind.name}**: {kind.role}\n\n{kind.doc}{needs}{module}"


def property_page(kind: Kind, name: str) -> Iterator[str]:
    """Describe a property, and the option that it becomes in a command, as lines of Markdown."""
    if name not in kind.properties:
        return
    described = describing.describe_property(kind, kind.properties[name])
    facts = "; ".join(describing.facts(described))
    yield f"**{kind.name}.{name}**: {described.type}" + (f"  \n{facts}" if facts else "")
    yield described.doc
    if described.adds:
        yield "becomes " + ", ".join(f"`{text}`" for text in described.adds)


def metric_page(metric: Metric) -> str:
    """Describe a metric, as Markdown."""
    better = f", {metric.better} is better" if metric.better else ""
    return f"**{metric.name}**: {metric.type}{better}\n\n{metric.doc}"


def _number(text: ParsedText, offset: int) -> tuple[str, Span] | None:
    """Describe a literal in its base unit."""
    line = text.source.text.rfind("\n", 0, offset) + 1
    end = text.source.text.find("\n", offset)
    for matched in _NUMBER.finditer(text.source.text, line, end if end >= 0 else len(text.source.text)):
        if matched.start() <= offset <= matched.end():
            try:
                quantity = units.parse(matched.group())
            except units.UnitError:
                return None
            base = _in_base_unit(quantity)
            return (f"`{units.show(quantity)}` = {base}", Span(text.source, *matched.span())) if base else None
    return None


def _in_base_unit(quantity: Quantity) -> str:
    unit = units.BASE_UNITS.get(quantity.dimension)
    if unit is None:
        return ""
    amount = quantity.amount
    return f"{amount.numerator:,} {unit}" if amount.denominator == 1 else f"{float(amount):g} {unit}"
