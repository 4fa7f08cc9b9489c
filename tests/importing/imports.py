"""List the faults in the program that an import produces."""

from __future__ import annotations

from zlang.check.check import Overrides
from zlang.diagnostics import Severity
from zlang.pipeline import plans, programs
from zlang.source import Source


def errors(text: str) -> list[str]:
    """Return the errors that `zlang check` finds in a program."""
    checked = programs.check(Source("study.zexp", text), Overrides())
    findings, _ = plans.all_findings(checked)
    findings += programs.lint(checked)
    return [
        f"{finding.message}: {finding.span.text}" for finding in findings if finding.code.severity is Severity.ERROR
    ]
