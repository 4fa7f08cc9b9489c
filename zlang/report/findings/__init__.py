"""What makes a run's figures doubtful, found without being asked for.

`RULES` are all rules, in the order of their ids. A new one is a function in the file of its family, with its page.
"""

from __future__ import annotations

from zlang.report.findings import load, order, values
from zlang.report.findings.rule import Doubt, ResultRule, Results

RULES: tuple[ResultRule, ...] = tuple(sorted([*values.RULES, *order.RULES, *load.RULES], key=lambda rule: rule.lint.id))


def find(results: Results) -> list[Doubt]:
    """All that is found in a run."""
    return [finding for rule in RULES for finding in rule(results)]
