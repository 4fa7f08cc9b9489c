"""The interface to the parts of a check. Here all of them run; `increments` skips those whose result is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from zlang.diagnostics import Diagnostic
from zlang.source import Source, Span
from zlang.syntax import parse
from zlang.syntax.parse import Parsed

if TYPE_CHECKING:
    from zlang.check.findings import Findings
    from zlang.check.module import Module
    from zlang.check.program import Experiment
    from zlang.check.program_names import ProgramNames
    from zlang.syntax import tree

SubjectResult = tuple[tuple[Diagnostic, ...], str]
"""Findings, and a sentence about what was looked at."""


class Afresh:
    """Carries out every part of a check."""

    paths: frozenset[str] = frozenset()
    """The paths of factors that a part would have noted, had it been carried out."""

    def parsed(self, source: Source) -> Parsed:
        """Parse a file."""
        return parse.program(source)

    def begin(self, names: ProgramNames, root: Module) -> None:
        """Take a program whose files were read."""

    def entry(self, name: str, resolve: Callable[[str], object]) -> None:
        """Resolve a named entry."""
        resolve(name)

    def experiment(self, node: tree.ExperimentDef, check: Callable[[], Experiment | None]) -> Experiment | None:
        """Check an experiment."""
        del node
        return check()

    def findings(self, experiment: Experiment, subject: str, find: Callable[[], SubjectResult]) -> SubjectResult:
        """Find what there is to say of an experiment; a subject has findings of its own."""
        del experiment, subject
        return find()

    def place(self, experiment: Experiment, span: Span) -> Span:
        """A place that an experiment names, in the text as it is now."""
        del experiment
        return span

    def end(self, findings: Findings) -> None:
        """Take note that all names and experiments were checked."""


AFRESH = Afresh()
