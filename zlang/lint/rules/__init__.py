"""All rules, in the order of their ids. A new one is a function in the file of its family, with its page."""

from __future__ import annotations

from zlang.lint.rule import Rule
from zlang.lint.rules import blocks, caches, data, load, settings, timing, tools
from zlang.lint.rules.excluded import EXCLUDED

__all__ = ["EXCLUDED", "RULES"]

RULES: tuple[Rule, ...] = tuple(
    sorted(
        [*caches.RULES, *data.RULES, *blocks.RULES, *settings.RULES, *load.RULES, *timing.RULES, *tools.RULES],
        key=lambda rule: rule.lint.id,
    )
)
