"""Phases in clauses: `median(METRIC where phase == scrub)`, `by phase` and `over phase`.

In: a clause and its vocabulary. Out: the clause with separate metrics for each phase, as trials have
them (`phase.scrub.METRIC`). Rules: a list is "and", so `phase == [scrub, hog]` is the time in which both are active
(`phase.hog+scrub.METRIC`); a factor with the name `phase` takes precedence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from zlang.check.vocabulary import Vocabulary
from zlang.diagnostics import Code, Diagnostic
from zlang.hints import TypeVar
from zlang.metrics import AFTER, PHASE, QUIET, overlap
from zlang.suggest import did_you_mean
from zlang.syntax import tree

NONE = "trials have phases if something happens (`during = …`) while a tool runs that logs what it does"
"""The hint if there are no phases."""
_Node = TypeVar("_Node", tree.Expr, tree.Clause)
_Written = tree.Name | tree.ListOf | tree.Text
Report = Callable[[Diagnostic], None]


def phases_of(words: Vocabulary) -> tuple[str, ...]:
    """Return the phases for which there are metrics, with the first and the last in their places."""
    paths = (name.split(".") for name in words.metrics)
    names = dict.fromkeys(path[1] for path in paths if path[0] == PHASE and len(path) > 1)
    return tuple(sorted(names, key=lambda name: (name == AFTER) - (name == QUIET)))


def is_phase(node: object, words: Vocabulary) -> bool:
    """Whether this is the name `phase`, and not that of a factor."""
    return isinstance(node, tree.Name) and node.path == (PHASE,) and not words.find(node.path)


def split(measures: Iterable[tree.Expr], words: Vocabulary, report: Report) -> list[tuple[tree.Expr, str]]:
    """Return each measure in each phase, with the phase."""
    return [(_of(node, phase, words, report), phase) for node in measures for phase in phases_of(words)]


def resolved(node: _Node, words: Vocabulary, report: Report) -> _Node:
    """Return the node with the metrics of phases in place of `where phase == …`."""
    match node:
        case tree.Expect(condition=condition):
            return node.replace(condition=resolved(condition, words, report))
        case tree.TableClause(measures=measures) | tree.PlotClause(measures=measures):
            return node.replace(measures=tuple(resolved(measure, words, report) for measure in measures))
        case tree.Binary(left=left, right=right):
            return node.replace(left=resolved(left, words, report), right=resolved(right, words, report))
        case tree.Not(operand=operand):
            return node.replace(operand=resolved(operand, words, report))
        case tree.Call(where=None, arguments=arguments):
            return node.replace(arguments=tuple(resolved(each, words, report) for each in arguments))
        case tree.Call(where=where, arguments=arguments) if where is not None:
            conditions = list(_conditions(where))
            compared = [(each, phase) for each in conditions if (phase := _compared(each, words)) is not None]
            if len(compared) != 1:
                return node
            ((own, phase),) = compared
            others = [each for each in conditions if each is not own]
            inside = tuple(_of(each, phase, words, report) for each in arguments)
            return node.replace(arguments=inside, where=_all_of(others))
        case _:
            return node


def _conditions(node: tree.Expr) -> Iterable[tree.Expr]:
    match node:
        case tree.Binary(operator="and", left=left, right=right):
            yield from _conditions(left)
            yield from _conditions(right)
        case _:
            yield node


def _all_of(conditions: list[tree.Expr]) -> tree.Expr | None:
    if not conditions:
        return None
    first, *others = conditions
    for other in others:
        first = tree.Binary(first.span, "and", first, other)
    return first


def _compared(node: tree.Expr, words: Vocabulary) -> _Written | None:
    """Return the phase in `phase == NAME` or `phase == [NAME, …]`; also return a text, which is not a phase."""
    match node:
        case tree.Binary(operator="==", left=left, right=right):
            own = right if is_phase(left, words) else left if is_phase(right, words) else None
            return own if isinstance(own, _Written) else None
        case _:
            return None


def _text(phase: str) -> str:
    """Return a phase as a program writes it."""
    events = phase.split("+")
    return f"[{', '.join(events)}]" if len(events) > 1 else phase


def _of(node: tree.Expr, phase: _Written | str, words: Vocabulary, report: Report) -> tree.Expr:
    """Return an expression over the metrics of a phase."""
    name = overlap(map(str, phase.items)) if isinstance(phase, tree.ListOf) else str(phase)
    if name not in phases_of(words):
        assert not isinstance(phase, str), "BUG: a phase that nobody wrote"
        if not words.is_partial:
            names = [_text(each) for each in phases_of(words)]
            phases = ", ".join(f"`{each}`" for each in names)
            hint = did_you_mean(phase.span.text, names) or (f"its phases are {phases}" if phases else NONE)
            if phases and isinstance(phase, tree.Text):
                hint = f"its phases are {phases}, without quotes"
            elif phases and name == QUIET:
                hint = "an event begins with the workloads: write when all of them begin, such as `at = 30s`"
            report(Code.NOT_ALLOWED.at(phase.span, name=PHASE, value=f"`{phase.span.text}`", hint=hint))
        return node
    match node:
        case tree.Binary(left=left, right=right):
            inside = [_of(each, phase, words, report) for each in (left, right)]
            return node.replace(left=inside[0], right=inside[1])
        case tree.Call(arguments=arguments):
            return node.replace(arguments=tuple(_of(each, phase, words, report) for each in arguments))
        case tree.Name(path=path) if str(node) in words.measured:
            metric = node.replace(path=(PHASE, name, *path))
            if str(metric) not in words.metrics:
                of_phase = sorted(
                    each.split(".", 2)[2] for each in words.metrics if each.startswith(f"{PHASE}.{name}.")
                )
                of_distribution = [each for each in of_phase if each == f"{node}_p99"]
                hint = (
                    f"phases have percentiles as metrics: `median({of_distribution[0]} where phase == {_text(name)})`"
                    if of_distribution
                    else did_you_mean(str(node), of_phase) or "only rates, and latencies until completion, are known"
                )
                expected = "a metric that phases have"
                report(Code.WRONG_ARGUMENTS.at(node.span, name=PHASE, expected=expected, found=f"`{node}`", hint=hint))
                return node
            return metric
        case _:
            return node
