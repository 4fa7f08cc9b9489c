"""Rules that look for problems in the results of a run.

`RULES` are all rules by id. A new rule is a function in the file of its family; its docstring is its page.
"""

from __future__ import annotations

from zlang.report.findings import load, order, values
from zlang.report.findings.rule import ResultFinding, ResultRule, Results

RULES: tuple[ResultRule, ...] = tuple(sorted([*values.RULES, *order.RULES, *load.RULES], key=lambda rule: rule.lint.id))


def find(results: Results) -> list[ResultFinding]:
    """All findings about a run."""
    return [finding for rule in RULES for finding in rule(results)]
