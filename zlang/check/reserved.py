"""The reserved words of DuckDB's SQL: a column of such a name must be quoted in queries.

Source: `duckdb_keywords()` of DuckDB 1.5.5.
"""

from __future__ import annotations

RESERVED = frozenset(
    """
    all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
    default deferrable desc describe distinct do else end except false fetch for foreign from group having in
    initially intersect into lambda lateral leading limit not null offset on only or order pivot pivot_longer
    pivot_wider placing primary qualify references returning select show some summarize symmetric table then to
    trailing true union unique unpivot using variadic when where window with
    """.split()  # noqa: SIM905 - a list of words is read as words
)
