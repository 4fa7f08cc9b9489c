"""The rules about results, for after a run: their ids, names and severities.

They are implemented in `zlang/report/findings`, and named here because a program or a project file can allow them
before there are any results.
"""

from __future__ import annotations

from zlang.diagnostics import Lint, Severity

AFTER = {
    lint.name: lint
    for lint in (
        Lint("R101", "drift", Severity.WARNING),
        Lint("R102", "outlier", Severity.WARNING),
        Lint("R103", "two-modes", Severity.WARNING),
        Lint("R104", "first-differs", Severity.WARNING),
        Lint("R105", "too-few-trials-count", Severity.NOTE),
        Lint("R106", "confounded-with-order", Severity.WARNING),
        Lint("R107", "confounded-with-host", Severity.WARNING),
        Lint("R109", "depth-not-reached", Severity.WARNING),
        Lint("R110", "coordinated-omission", Severity.WARNING),
        Lint("R111", "start-skew", Severity.WARNING),
        Lint("ZL044", "generator-limited", Severity.WARNING),
        Lint("ZL045", "roofline", Severity.WARNING),
        Lint("ZL076", "littles-law", Severity.WARNING),
    )
}
"""By name."""
