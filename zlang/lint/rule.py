"""Rules: functions from a trial to findings, with their pages.

A rule is a function from a trial to a finding or None. Its docstring is its page, in the format of those in
`zlang/explanations`: a title, an explanation with its source, a program that has the finding, and one that does not.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from zlang.diagnostics import Diagnostic, Lint, Severity
from zlang.lint.trial import Thing, TrialView
from zlang.record import Record
from zlang.source import Span
from zlang.units import DURATION, SHARE, SIZE, Quantity, show, show_rounded

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


class TrialFinding(Record):
    """A finding about a trial: a thing, the traits that cause it, a message and a hint.

    A finding about the experiment itself has a place in the program instead of a thing.
    """

    thing: Thing | Span
    traits: tuple[str, ...]
    message: str
    hint: str = ""


Find = Callable[[TrialView], TrialFinding | None]


class Rule(Record):
    """A rule with the name by which it is allowed; the findings of one that is `of_machine` depend on the machine."""

    lint: Lint
    find: Find
    of_machine: bool = False

    def __call__(self, trial: TrialView) -> tuple[Diagnostic, ...]:
        """Return the findings at a trial."""
        try:
            instance = self.find(trial)
        except ZeroDivisionError:  # a trait that is 0 gives no information about what it measures
            instance = None
        if instance is None:
            return ()
        thing = instance.thing
        if isinstance(thing, Thing):
            place = thing if thing.instance.span else Thing(trial.run.instance)  # this machine is in no program
            thing = place.place(*instance.traits)
        return (self.lint.at(thing, instance.message, instance.hint),)


class Rules(list[Rule]):
    """The rules of a family, in order."""

    def add(self, id_: str, name: str, severity: Severity, *, of_machine: bool = False) -> Callable[[Find], Find]:
        """Register a function as a rule."""

        def take(find: Find) -> Find:
            self.append(Rule(Lint(id_, name, severity), find, of_machine))
            return find

        return take


def write(*forms: str) -> str:
    """A hint to write one of those forms that kinds name: "write `a`, `b` or `c`"."""
    quoted = [f"`{form}`" for form in forms if form]
    return f"write {' or '.join(filter(None, [', '.join(quoted[:-1]), *quoted[-1:]]))}" if quoted else ""


def size(amount: Fraction) -> str:
    """A number of bytes as text for people."""
    return show_rounded(Quantity(amount, SIZE))


def time(amount: Fraction) -> str:
    """A number of seconds as text for people."""
    return show(Quantity(amount, DURATION))


def share(amount: Fraction) -> str:
    """A share between 0 and 1 as text for people."""
    return show(Quantity(amount, SHARE))


def times(amount: Fraction) -> str:
    """A number of times in words."""
    return f"{amount.numerator:,}" if amount.denominator == 1 else f"{float(amount):.1f}"
