"""Pitfalls that no program can have, because the language, its types or the plan exclude them.

Each has a page in `zlang/explanations` that proves it: a program that is an error, what stands in every plan, or what
zlang answers about results.
"""

from __future__ import annotations

from zlang.record import Record


class Excluded(Record):
    """A pitfall that is excluded: its id and its name among the rules."""

    id: str
    name: str


EXCLUDED = (
    Excluded("ZL008", "l2arc-survives-export"),
    Excluded("ZL010", "export-flush-is-asynchronous"),
    Excluded("ZL019", "copy-makes-clones"),
    Excluded("ZL027", "unknown-property-or-value"),
    Excluded("ZL028", "setting-altered-silently"),
    Excluded("ZL029", "property-needs-rewrite"),
    Excluded("ZL030", "dedup-off-keeps-the-ddt"),
    Excluded("ZL031", "create-only-property"),
    Excluded("ZL056", "order-effects"),
    Excluded("ZL061", "unit-suffix"),
    Excluded("ZL062", "missing-size"),
    Excluded("ZL063", "device-typo-makes-a-ram-file"),
    Excluded("ZL064", "destructive-target"),
    Excluded("ZL065", "duplicate-or-wrapped-line"),
    Excluded("ZL066", "unset-variable"),
    Excluded("ZL070", "steadystate-not-attained"),
    Excluded("ZL071", "json-polluted"),
    Excluded("ZL074", "percent-base"),
    Excluded("ZL075", "unit-or-locale"),
    Excluded("ZL077", "mean-not-reproducible"),
)
