"""The state that the names of a program share during resolution: factors, settings, effort."""

from __future__ import annotations

from collections.abc import Mapping

from zlang.check.expressions import Context
from zlang.check.modules import Modules
from zlang.check.program import Effort, FactorDef
from zlang.check.resolve import new_context
from zlang.check.scope import Scope
from zlang.diagnostics import Code, Diagnostic
from zlang.source import Span
from zlang.syntax import tree
from zlang.syntax.parse import DEEPEST

MOST_PENDING = 40
"""The longest chain of names, each used by the one before it, that is followed to the first one's value."""


class ProgramNames:
    """The names of a program: its files, the factors and risks so far, and the functions that are being called."""

    def __init__(self, modules: Modules, settings: Mapping[str, tree.Expr]) -> None:
        self.modules, self.settings = modules, settings
        self.report = modules.findings.report
        self.factors: dict[str, FactorDef] = {}
        self.risks: set[frozenset[str]] = set()
        self.calling: list[tree.FunctionDef] = []
        self.effort = Effort()

    def silent(self) -> ProgramNames:
        """Return the same names, with factors and risks of their own, that report nothing."""
        made = ProgramNames(self.modules, self.settings)
        made.report, made.factors = _leave_unreported, dict(self.factors)
        made.calling, made.effort = self.calling, self.effort
        return made

    def context(self, scope: Scope) -> Context:
        """Return a context that resolves names in a scope."""
        return new_context(scope, self.report, self.factors, self.risks, self.modules.table, self.effort)

    def follow(self, span: Span) -> bool:
        """Whether another name may be followed; report names that refer to each other endlessly once."""
        if sum(len(module.pending) for module in self.modules.files.values()) < MOST_PENDING:
            return True
        if not any(finding.code is Code.TOO_DEEP for finding in self.modules.findings.items):
            self.modules.findings.report(too_deep(span))
        return False


def _leave_unreported(finding: Diagnostic) -> None:
    del finding


def too_deep(span: Span) -> Diagnostic:
    """Return the finding about names that refer to each other endlessly."""
    hint = "declare names before you use them, and name parts of long expressions"
    return Code.TOO_DEEP.at(span, limit=DEEPEST, hint=hint)
