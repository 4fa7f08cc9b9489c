"""The interface to the steps of a check. This version runs all of them; `increments` skips those with known results."""

from __future__ import annotations

from collections.abc import Callable

from zlang.diagnostics import Diagnostic
from zlang.hints import TYPE_CHECKING
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
"""The findings about an experiment, and a sentence about its size."""


class Afresh:
    """Runs every step of a check."""

    paths: frozenset[str] = frozenset()
    """The paths of factors that a part would have noted, had it been carried out."""

    def parsed(self, source: Source) -> Parsed:
        """Parse a file."""
        return parse.program(source)

    def begin(self, names: ProgramNames, root: Module) -> None:
        """Start with a program whose files have been read."""

    def entry(self, name: str, resolve: Callable[[str], object]) -> None:
        """Resolve a named entry."""
        resolve(name)

    def experiment(self, node: tree.ExperimentDef, check: Callable[[], Experiment | None]) -> Experiment | None:
        """Check an experiment."""
        del node
        return check()

    def findings(self, experiment: Experiment, subject: str, find: Callable[[], SubjectResult]) -> SubjectResult:
        """Find the problems of an experiment; each subject has its own findings."""
        del experiment, subject
        return find()

    def place(self, experiment: Experiment, span: Span) -> Span:
        """Return the current place of text that an experiment refers to."""
        del experiment
        return span

    def end(self, findings: Findings) -> None:
        """Finish, after all names and experiments have been checked."""


AFRESH = Afresh()
